"""Products in registers that hold tiles (AMX), against NumPy, where the processor has them."""

import itertools

import numpy as np
import pytest
from contraction_harness import (
    contract,
    object_code,
    random_array,
    run_plan,
    shape_of,
    targets,
)

from jitney.codegen.contraction import bias_epilogue, plan_contraction
from jitney.ir.target import CpuTarget

AMX = targets().get("avx512, amx")
needs_amx = pytest.mark.skipif(AMX is None, reason="needs a processor with AMX")
LAYOUTS = ("CC", "CT", "TC", "TT")
SIZES = (  # (rows, columns, depth): whole registers, and less than whole ones of each
    (32, 32, 512), (64, 64, 64), (33, 147, 70), (100, 130, 1000), (65, 200, 5000), (147, 63, 33),
    (257, 300, 260), (48, 160, 2048), (300, 80, 4160),
)  # fmt: skip
FEATURES = "+avx512f,+avx512bw,+avx512vl,+avx512dq,+amx-tile,+amx-int8,+amx-bf16"
ANY = CpuTarget(
    cpu="x86-64-v4", features=FEATURES, vector_bits=512, avx512=True, avx2=True, fma=True,
    l2_bytes=2 << 20,
)  # fmt: skip


def _product(m, n, k, code, layouts="CC", batch=1, seed=0):
    """(a, b, an empty c, what it is to be)."""
    rng = np.random.default_rng(seed)
    a = random_array(rng, (batch, m, k), code, layouts[0])
    b = random_array(rng, (batch, k, n), code, layouts[1])
    if code == "bf16":
        return a, b, np.zeros((batch, m, n), a.dtype), np.matmul(a.astype("f8"), b.astype("f8"))
    return a, b, np.zeros((batch, m, n), np.int32), np.matmul(a.astype("i4"), b.astype("i4"))


def _check(c, want):
    if c.dtype == np.int32:
        np.testing.assert_array_equal(c, want)
    else:
        c = c.astype(np.float64)
        np.testing.assert_allclose(c, want, rtol=2**-8, atol=1e-5 * np.abs(want).max())


def _label(plan):
    return plan.steps[0].kernel.schedule.label


@needs_amx
@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize("code", ["i8", "u8", "b1", "bf16"])
def test_sizes_layouts_and_batches(code, layouts):
    acc = "f32" if code == "bf16" else "i32"
    for (m, n, k), batch in itertools.product(SIZES, (1, 3)):
        a, b, c, want = _product(m, n, k, code, layouts, batch)
        plan = contract(a, b, c, AMX, acc=acc, threads=2)
        assert _label(plan) == "amx"
        _check(c, want)


@needs_amx
@pytest.mark.parametrize("size", [(300, 600, 700), (64, 2000, 300), (1500, 70, 5000)])
@pytest.mark.parametrize("code", ["i8", "bf16"])
def test_threads_and_pieces_give_equal_bits(code, size):
    acc = "f32" if code == "bf16" else "i32"
    a, b, c, want = _product(*size, code)
    contract(a, b, c, AMX, acc=acc)
    _check(c, want)
    for threads, pieces in ((2, None), (3, 2), (16, 1)):
        other = np.zeros_like(c)
        contract(a, b, other, AMX, acc=acc, threads=threads, pieces=pieces)
        assert c.tobytes() == other.tobytes()


@needs_amx
@pytest.mark.parametrize("out", ["i1", "i2", "i8", "f4"])
def test_results_of_other_types(out):
    """Bytes wrap around; what is wider is converted."""
    a, b, _, want = _product(70, 90, 200, "i8")
    c = np.zeros((1, 70, 90), out)
    contract(a, b, c, AMX, acc="i32")
    np.testing.assert_array_equal(c, want.astype(out))


@needs_amx
def test_float32_of_bfloat16():
    a, b, _, want = _product(70, 90, 2000, "bf16")
    c = np.zeros((1, 70, 90), np.float32)
    assert _label(contract(a, b, c, AMX, acc="f32")) == "amx"
    np.testing.assert_allclose(c, want, rtol=1e-5, atol=1e-6 * np.abs(want).max())


@needs_amx
@pytest.mark.parametrize("size", [(80, 50, 100), (64, 64, 3000), (33, 197, 64)])
def test_an_epilogue_and_results_that_lie_apart(size):
    m, n, k = size
    bias = np.arange(n, dtype=np.int32)
    a, b, c, want = _product(m, n, k, "i8")
    contract(a, b, c, AMX, acc="i32", epilogue=bias_epilogue("i32"), extra=(bias,))
    np.testing.assert_array_equal(c, want + bias)
    wide = np.full((1, m, n + 7), -1, np.int32)
    contract(a, b, wide[:, :, :n], AMX, acc="i32")
    np.testing.assert_array_equal(wide[:, :, :n], want)
    assert (wide[:, :, n:] == -1).all()
    turned = np.zeros((1, n, m), np.int32).transpose(0, 2, 1)
    contract(a, b, turned, AMX, acc="i32")
    np.testing.assert_array_equal(turned, want)


@needs_amx
def test_nan_and_infinity_stay_in_their_rows_and_columns():
    """Also beside what is filled with zeros."""
    a, b, c, _ = _product(50, 70, 77, "bf16")
    a[0, 3, 76], b[0, 5, 8] = np.nan, np.inf
    contract(a, b, c, AMX, acc="f32")
    got = c.astype(np.float32)[0]
    assert np.isnan(got[3]).all()
    rest = np.delete(got, 3, axis=0)
    assert np.isinf(rest[:, 8]).all() and np.isfinite(np.delete(rest, 8, axis=1)).all()


@needs_amx
def test_bytes_of_a_row_may_begin_anywhere():
    """Rows in place, that are part of longer ones."""
    rng = np.random.default_rng(1)
    large = rng.integers(-128, 128, (1, 80, 301), dtype=np.int8)
    a, b = large[:, 3:70, 5:261], rng.integers(-128, 128, (1, 256, 40), dtype=np.int8)
    c = np.zeros((1, 67, 40), np.int32)
    plan = contract(a, b, c, AMX, acc="i32")
    assert plan.steps[0].kernel.schedule.a == "rows"
    np.testing.assert_array_equal(c, np.matmul(a.astype("i4"), b.astype("i4")))


@pytest.mark.parametrize("code", ["i8", "bf16"])
def test_which_products_fill_such_registers(code):
    """From 32 rows, columns and elements along k on; kernels know no sizes, compile anywhere."""
    acc = "f32" if code == "bf16" else "i32"

    def plan(m, n, k, layouts="CC", target=ANY):
        a, b, c, _ = _product(m, n, k, code, layouts)
        return plan_contraction(shape_of(a, b, c, acc), target, 2)

    assert _label(plan(64, 64, 64)) == "amx" != _label(plan(31, 256, 64))
    assert _label(plan(256, 256, 16)) != "amx"
    assert _label(plan(64, 64, 64, target=ANY._replace(features="+avx512f"))) == "gemm"
    kernels = [plan(*size).steps[0].kernel for size in ((64, 64, 64), (300, 200, 256))]
    assert kernels[0].key == kernels[1].key
    for layouts in LAYOUTS:
        assert object_code(plan(100, 100, 100, layouts).steps[0].kernel)


@needs_amx
def test_kernels_with_and_without_such_registers_by_turns():
    """Each configures them anew, and leaves the vectors' registers to others."""
    a, b, c, want = _product(64, 64, 64, "i8")
    plain = AMX._replace(features=",".join(f for f in AMX.features.split(",") if "amx" not in f))
    for target in (AMX, plain, AMX):
        c[...] = 0
        run_plan(plan_contraction(shape_of(a, b, c, "i32"), target), a, b, c)
        np.testing.assert_array_equal(c, want)
