"""Loops around emitted functions, compiled through llvmlite and called on NumPy arrays.

In: a function that emits code for `Value`s, an element type, lanes, copies, a target.
Out: `CompiledKernel`, callable on arrays (whole blocks of lanes*copies elements at a time; the rest
is done by padding). The engine lives as long as the kernel.
"""

import ctypes
import functools
from types import SimpleNamespace

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np

from ..codegen.constants_text import type_text
from ..codegen.emitter import Emitter
from ..codegen.instructions import Value

NUMPY_TYPES = {
    "float": np.float32,
    "double": np.float64,
    "half": np.float16,
    "bfloat": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}


@functools.cache
def _host():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@functools.cache
def targets() -> dict:
    """Targets this machine can run: 'avx512', 'avx2', 'sse4' (no FMA) and 'sse2'."""
    cpu, features = _host()

    def make(cpu, features, bits, **flags):
        has = {**dict(avx512=False, avx2=False, fma=False), **flags}
        has["has_dear_masks"] = has["avx2"] and not has["avx512"]
        has["has_dear_denormals"] = has["avx512"] and not cpu.startswith("znver")
        return SimpleNamespace(cpu=cpu, features=features, vector_bits=bits, **has)

    found = {}
    if "+avx512dq" in features and "+avx512vl" in features:
        found["avx512"] = make(cpu, features, 512, avx512=True, avx2=True, fma=True)
    if "+avx2" in features and "+fma" in features:
        found["avx2"] = make("x86-64-v3", "", 256, avx2=True, fma=True)
    found["sse4"] = make("x86-64-v2", "+sse4.1", 128)
    found["sse2"] = make("x86-64", "", 128)
    return found


def best_target():
    """The widest target of this machine."""
    return next(iter(targets().values()))


class CompiledKernel:
    """A compiled loop `void k(inputs…, output, n)` with its module text."""

    def __init__(self, text, object_code, address, engine, types, block):
        self.text = text
        self.object_code = object_code
        self.address = address
        self._engine = engine
        self._types = types
        self._block = block
        self._call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(types), ctypes.c_int64)(
            address
        )

    def run_into(self, *arrays):
        """Call on arrays whose size is a multiple of the block; the last one is the output."""
        self._call(*[a.ctypes.data for a in arrays], arrays[-1].size)

    def __call__(self, *inputs):
        size = inputs[0].size
        padded = -(-max(size, 1) // self._block) * self._block
        columns = []
        for x, t in zip(inputs, self._types):
            column = np.ones(padded, NUMPY_TYPES[t])
            column[:size] = x.ravel()
            columns.append(column)
        out = np.empty(padded, NUMPY_TYPES[self._types[-1]])
        self.run_into(*columns, out)
        return out[:size].reshape(inputs[0].shape)


def module_text(emit, types, lanes, copies, target) -> str:
    """LLVM module with a loop that applies `emit(emitter, *values)` to every block of elements."""
    e = Emitter(target, copies, block="loop")
    arguments = ", ".join(f"ptr noalias %p{j}" for j in range(len(types)))
    e.emit_raw("  %i = phi i64 [ 0, %entry ], [ %next, %latch ]")
    columns = []
    for j, t in enumerate(types[:-1]):
        names = []
        for u in range(copies):
            at = e.instruction(f"add i64 %i, {u * lanes}")
            pointer = e.instruction(f"getelementptr {t}, ptr %p{j}, i64 {at}")
            kind = type_text(t, lanes)
            names.append(e.instruction(f"load {kind}, ptr {pointer}, align 1"))
        columns.append(Value(tuple(names), t, lanes))
    result = emit(e, *columns)
    if result.type == "i1":
        result = e.zext(result, types[-1])
    result = e.splat(result, lanes)
    for u in range(copies):
        at = e.instruction(f"add i64 %i, {u * lanes}")
        pointer = e.instruction(f"getelementptr {result.type}, ptr %p{len(types) - 1}, i64 {at}")
        name = result.names[u % len(result.names)]
        e.emit_raw(f"  store {result.text} {name}, ptr {pointer}, align 1")
    return "\n".join(
        [
            f'target triple = "{llvm.get_default_triple()}"',
            *e.declarations,
            *e.definitions.values(),
            f"define void @k({arguments}, i64 %n) alignstack(64) {{",
            "entry:\n  %some = icmp sgt i64 %n, 0\n  br i1 %some, label %loop, label %exit\nloop:",
            *e.lines,
            f"  br label %latch\nlatch:\n  %next = add i64 %i, {lanes * copies}",
            "  %more = icmp slt i64 %next, %n\n  br i1 %more, label %loop, label %exit",
            "exit:\n  ret void\n}",
        ]
    )


def compile_kernel(emit, types, lanes=None, copies=1, target=None) -> CompiledKernel:
    """Compile a loop; `types` are the element types of the inputs and, last, of the output."""
    _host()
    target = target or best_target()
    if lanes is None:
        widest = max(np.dtype(NUMPY_TYPES[t]).itemsize for t in types)
        lanes = target.vector_bits // 8 // widest
    text = module_text(emit, types, lanes, copies, target)

    def machine():
        return llvm.Target.from_default_triple().create_target_machine(
            cpu=target.cpu, features=target.features, opt=2, reloc="pic", codemodel="small"
        )

    module = llvm.parse_assembly(text)
    module.verify()
    object_code = machine().emit_object(module)
    engine = llvm.create_mcjit_compiler(module, machine())
    engine.finalize_object()
    address = engine.get_function_address("k")
    return CompiledKernel(text, object_code, address, engine, types, lanes * copies)


def undefined_symbols(object_code: bytes) -> list[str]:
    """Names an ELF64 object needs from outside (there must be none)."""
    offset = int.from_bytes(object_code[40:48], "little")
    size, count = object_code[58] | object_code[59] << 8, object_code[60] | object_code[61] << 8
    sections = [object_code[offset + i * size : offset + (i + 1) * size] for i in range(count)]

    def field(header, at, width):
        return int.from_bytes(header[at : at + width], "little")

    missing = []
    for header in sections:
        if field(header, 4, 4) != 2:  # SHT_SYMTAB
            continue
        start, length = field(header, 24, 8), field(header, 32, 8)
        strings = field(sections[field(header, 40, 4)], 24, 8)
        for at in range(start + 24, start + length, 24):
            symbol = object_code[at : at + 24]
            if field(symbol, 6, 2) == 0:
                name = strings + field(symbol, 0, 4)
                missing.append(object_code[name : object_code.index(b"\0", name)].decode())
    return missing
