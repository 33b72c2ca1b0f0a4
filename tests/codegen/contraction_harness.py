"""Compiles and runs contraction plans on NumPy arrays, through llvmlite's own loader.

In: a plan and arrays. Out: the result array. Kernels are compiled once for each key, as in the
product, so a test can count them; pieces run in any order and grouping the caller likes.
"""

import ctypes

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np

from jitney import _native
from jitney.codegen.contraction import ContractionShape, plan_contraction
from jitney.ir.target import CpuTarget
from jitney.ir.types import DTYPE_OF_CODE, code_of, kind_of

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
HOST_FEATURES = llvm.get_host_cpu_features()
_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_compiled: dict = {}


def targets() -> dict:
    """Targets this machine can run."""
    found = {}
    triple = llvm.get_process_triple()
    if HOST_FEATURES.get("avx512vl") and HOST_FEATURES.get("avx512dq"):
        features = [f for f in HOST_FEATURES.flatten().split(",") if "amx" not in f]
        found["avx512"] = CpuTarget(
            cpu=llvm.get_host_cpu_name(), features=",".join(features), vector_bits=512,
            avx512=True, avx2=True, fma=True, triple=triple,
            avx512_bf16=bool(HOST_FEATURES.get("avx512bf16")),
            avx512_vnni=bool(HOST_FEATURES.get("avx512vnni")),
        )  # fmt: skip
        if _native.request_tile_registers():
            features += [f"+amx-{kind}" for kind in ("tile", "int8", "bf16")]
            found["avx512, amx"] = found["avx512"]._replace(features=",".join(features))
    if HOST_FEATURES.get("avx2") and HOST_FEATURES.get("fma"):
        found["avx2"] = CpuTarget(
            cpu="x86-64-v3", vector_bits=256, avx2=True, fma=True, triple=triple
        )
    found["sse2"] = CpuTarget(triple=triple)
    return found


def _machine(target):
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=2, reloc="pic", codemodel="small"
    )


def object_code(kernel) -> bytes:
    """The kernel's relocatable object."""
    return _machine(kernel.target).emit_object(llvm.parse_assembly(kernel.emit("k")))


def compile_kernel(kernel):
    """The kernel as a ctypes function."""
    known = _compiled.get(kernel.key)
    if known is None:
        module = llvm.parse_assembly(kernel.emit("k"))
        engine = llvm.create_mcjit_compiler(module, _machine(kernel.target))
        engine.finalize_object()
        known = _compiled[kernel.key] = (engine, _KERNEL(engine.get_function_address("k")))
    return known[1]


BEHIND = 1 << 13  # bytes behind the workspace that must stay as they are


def run_plan(plan, a, b, c, extra=(), pieces=None):
    """Run a plan; `pieces`: how many to give to one call (None: the step's grain)."""
    room = np.full(plan.workspace_bytes + 64 + BEHIND, 0xFF, np.uint8)  # NaNs, should they be read
    start = room.ctypes.data + (-room.ctypes.data) % 64
    addresses = [a.ctypes.data, b.ctypes.data, c.ctypes.data, start]
    addresses += [x.ctypes.data for x in extra]
    pointers = (ctypes.c_void_p * len(addresses))(*addresses)
    for step in plan.steps:
        params = (ctypes.c_int64 * len(step.params))(*step.params)
        function = compile_kernel(step.kernel)
        size = pieces or step.grain
        for low in range(0, step.extent, size):
            function(pointers, params, low, min(low + size, step.extent))
    behind = room[start - room.ctypes.data + plan.workspace_bytes :]
    assert (behind == 0xFF).all(), "written behind the workspace"


def element_strides(array) -> tuple[int, ...]:
    return tuple(s // array.itemsize for s in array.strides)


def shape_of(a, b, c, acc=None) -> ContractionShape:
    """The shape of c = a @ b for 3-d arrays (batch axes may be broadcast)."""
    batch, m, n = c.shape
    code = code_of(a.dtype)
    acc = acc or {"f16": "f32", "bf16": "f32"}.get(code, code)
    return ContractionShape(
        batch, m, n, a.shape[2], code, acc, code_of(c.dtype),
        element_strides(a), element_strides(b), element_strides(c),
    )  # fmt: skip


def contract(a, b, c, target, acc=None, epilogue=None, extra=(), threads=1, pieces=None):
    """c = a @ b by the plan; returns it."""
    plan = plan_contraction(shape_of(a, b, c, acc), target, threads, epilogue)
    run_plan(plan, a, b, c, extra, pieces)
    return plan


def random_array(rng, shape, code, layout="C"):
    """Small numbers of a type, with the last two axes in C or transposed order."""
    dtype = DTYPE_OF_CODE[code]
    *rest, p, q = shape
    real = (*rest, q, p) if layout == "T" else tuple(shape)
    if kind_of(code) == "f":
        array = rng.standard_normal(real).astype(dtype)
    elif kind_of(code) == "b":
        array = rng.random(real) < 0.3
    else:
        info = np.iinfo(dtype)
        array = rng.integers(info.min, info.max, real, dtype=dtype, endpoint=True)
    return np.swapaxes(array, -1, -2) if layout == "T" else array


def expected(a, b, code_out):
    """The product in wide arithmetic, as the result's type (integers wrap)."""
    dtype = DTYPE_OF_CODE[code_out]
    if kind_of(code_out) == "f":
        return np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(dtype)
    if code_out == "b1":
        return np.matmul(a.astype(np.int64), b.astype(np.int64)) != 0
    with np.errstate(over="ignore"):
        return np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(dtype)


def tolerance(code_in, code_out, k):
    """Bound on the error of a sum of k products of numbers of size about 1."""
    if kind_of(code_out) != "f":
        return 0.0
    unit = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
    acc = unit["f64" if code_in == "f64" else "f32"]
    return 8 * acc * max(k, 1) + 4 * unit[code_out] * max(k, 1) ** 0.5


def assert_product(c, a, b, code_in, code_out):
    want, got = expected(a, b, code_out), np.asarray(c)
    bound = tolerance(code_in, code_out, a.shape[-1])
    if bound == 0:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(
            got.astype(np.float64), want.astype(np.float64), rtol=0, atol=bound
        )


assert ml_dtypes  # registers bfloat16 with NumPy
