"""Contractions against NumPy: sizes around every tile edge, layouts, strides, types, epilogues."""

import itertools
import os
import sys

import numpy as np
import pytest

from jitney.codegen.contraction import (
    ContractionShape,
    Epilogue,
    bias_epilogue,
    plan_contraction,
)
from jitney.codegen.contraction import plan as plans
from jitney.codegen.contraction.plan import _tile_of
from jitney.codegen.contraction.tiled import PARAMETERS as TILED_PARAMETERS
from jitney.ir.target import CpuTarget

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package

from contraction_harness import (  # noqa: E402
    assert_product,
    compile_kernel,
    contract,
    element_strides,
    expected,
    object_code,
    random_array,
    run_plan,
    shape_of,
    targets,
    tolerance,
)

SIZES = (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 130, 257)
DEPTHS = (0, 1, 2, 3, 5, 8, 16, 31, 64, 65, 100, 257)
LAYOUTS = tuple(itertools.product("CT", "CT"))
TARGETS = targets()
if "avx512" in TARGETS:  # with tiles of six rows, and results asked for
    TARGETS["avx512, far"] = TARGETS["avx512"]._replace(l2_bytes=2 << 20)
BEST = next(iter(TARGETS.values()))


def _some_sizes(count, seed=0):
    rng = np.random.default_rng(seed)
    grid = list(itertools.product(SIZES, SIZES, DEPTHS))
    return [grid[i] for i in rng.choice(len(grid), count, replace=False)]


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("layouts", LAYOUTS, ids="".join)
def test_sizes(name, layouts):
    rng = np.random.default_rng(1)
    for m, n, k in _some_sizes(80):
        a = random_array(rng, (1, m, k), "f32", layouts[0])
        b = random_array(rng, (1, k, n), "f32", layouts[1])
        c = np.full((1, m, n), np.nan, np.float32)
        contract(a, b, c, TARGETS[name])
        assert_product(c, a, b, "f32", "f32")


@pytest.mark.parametrize("layouts", LAYOUTS, ids="".join)
@pytest.mark.parametrize("size", [(1, 300, 700), (300, 1, 700), (6, 400, 300), (400, 6, 300),
                                  (9, 600, 1100), (300, 200, 1030), (1, 1, 5000)])  # fmt: skip
def test_large_and_skinny(size, layouts):
    rng = np.random.default_rng(2)
    m, n, k = size
    for threads in (1, 4):
        a = random_array(rng, (1, m, k), "f32", layouts[0])
        b = random_array(rng, (1, k, n), "f32", layouts[1])
        c = np.full((1, m, n), np.nan, np.float32)
        contract(a, b, c, BEST, threads=threads)
        assert_product(c, a, b, "f32", "f32")


TYPES = (
    ("f64", "f64"), ("bf16", "bf16"), ("bf16", "f32"), ("f16", "f16"), ("f16", "f32"),
    ("i8", "i32"), ("i8", "i8"), ("u8", "i32"), ("u8", "u8"), ("i16", "i16"), ("i16", "i32"),
    ("i32", "i32"), ("u32", "u32"), ("i64", "i64"), ("b1", "b1"), ("i8", "i64"),
)  # fmt: skip
NARROW_TYPES = TYPES[1:4:2] + TYPES[5:7] + TYPES[13:15]  # what smaller targets treat differently
TYPE_CASES = [
    pytest.param(name, codes, id="-".join((name, *codes)))
    for name in TARGETS
    for codes in (TYPES if name == next(iter(TARGETS)) else NARROW_TYPES)
]


@pytest.mark.parametrize(("name", "codes"), TYPE_CASES)
def test_types(name, codes):
    rng = np.random.default_rng(3)
    code, out = codes
    for m, n, k in (
        (1, 20, 70),
        (3, 5, 7),
        (17, 65, 33),
        (40, 36, 47),
        (50, 33, 600),
        (64, 64, 64),
    ):
        for la, lb in ("CC", "TT"):
            a = random_array(rng, (1, m, k), code, la)
            b = random_array(rng, (1, k, n), code, lb)
            c = np.zeros((1, m, n), expected(a[:, :0], b, out).dtype)
            acc = out if out in ("i32", "i64") else None
            contract(a, b, c, TARGETS[name], acc=acc)
            assert_product(c, a, b, code, out)


def test_extreme_integers_wrap():
    for code, n in (("i8", 64), ("i16", 64), ("u8", 64)):
        info = np.iinfo({"i8": np.int8, "i16": np.int16, "u8": np.uint8}[code])
        for low, high in ((info.min, info.min), (info.max, info.min), (info.max, info.max)):
            a = np.full((1, n, n), low, info.dtype)
            b = np.full((1, n, n), high, info.dtype)
            c = np.zeros((1, n, n), np.int32)
            contract(a, b, c, BEST, acc="i32")
            assert_product(c, a, b, code, "i32")


@pytest.mark.parametrize("name", TARGETS)
def test_batches_and_strides(name):
    rng = np.random.default_rng(4)
    for batch, m, n, k in (
        (7, 4, 4, 4),
        (20, 32, 32, 32),
        (3, 5, 70, 40),
        (5, 1, 33, 64),
        (4, 60, 90, 80),
    ):
        for kind in (
            "plain",
            "broadcast a",
            "broadcast b",
            "gaps",
            "reversed",
            "strided c",
            "rows c",
        ):
            a = random_array(rng, (batch, m, k), "f32")
            b = random_array(rng, (batch, k, n), "f32")
            c = np.full((batch, m, n), np.nan, np.float32)
            if kind == "broadcast a":
                a = np.broadcast_to(a[:1], a.shape)
            if kind == "broadcast b":
                b = np.broadcast_to(b[:1], b.shape)
            if kind == "gaps":
                a = random_array(rng, (batch, 2 * m, 3 * k), "f32")[:, ::2, ::3]
                b = random_array(rng, (batch, 2 * k, 2 * n), "f32")[:, ::2, ::2]
            if kind == "reversed":
                a, b = a[:, ::-1, ::-1], b[:, :, ::-1]
            if kind == "strided c":
                c = np.full((batch, m, 3 * n), np.nan, np.float32)[:, :, ::3]
            if kind == "rows c":
                c = np.swapaxes(np.full((batch, n, m), np.nan, np.float32), 1, 2)
            for threads in (1, 3):
                contract(a, b, c, TARGETS[name], threads=threads)
                assert_product(c, a, b, "f32", "f32")


def test_strided_result_of_blocked_sums():
    rng = np.random.default_rng(5)
    for la, lb in LAYOUTS:
        a = random_array(rng, (1, 70, 1100), "f32", la)
        b = random_array(rng, (1, 1100, 70), "f32", lb)
        c = np.full((1, 70, 140), np.nan, np.float32)[:, :, ::2]
        contract(a, b, c, BEST)
        assert_product(c, a, b, "f32", "f32")


def test_two_batch_axes():
    """Attention scores 'bqhd,bkhd->bhqk' without a copy of either operand."""
    rng = np.random.default_rng(6)
    batch, heads, q, k, d = 2, 3, 20, 24, 16
    x = rng.standard_normal((batch, q, heads, d)).astype(np.float32)
    y = rng.standard_normal((batch, k, heads, d)).astype(np.float32)
    c = np.full((batch, heads, q, k), np.nan, np.float32)
    xb, xq, xh, xd = element_strides(x)
    yb, yk, yh, yd = element_strides(y)
    cb, ch, cq, ck = element_strides(c)
    shape = ContractionShape(
        batch * heads, q, k, d, "f32", "f32", "f32",
        (xb, xq, xd), (yb, yd, yk), (cb, cq, ck), heads, (xh, yh, ch),
    )  # fmt: skip
    run_plan(plan_contraction(shape, BEST, 2), x, y, c)
    np.testing.assert_allclose(c, np.einsum("bqhd,bkhd->bhqk", x, y), atol=1e-4)


@pytest.mark.parametrize(
    "size", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0), (40, 300, 0), (1, 40, 0)]
)
def test_empty(size):
    m, n, k = size
    a, b = np.zeros((1, m, k), np.float32), np.zeros((1, k, n), np.float32)
    c = np.full((1, m, n), np.nan, np.float32)
    contract(a, b, c, BEST)
    np.testing.assert_array_equal(c, np.zeros((1, m, n)))


@pytest.mark.parametrize("n", range(15, 26))
def test_about_three_vectors_of_columns(n):
    rng = np.random.default_rng(n)
    for m, k in ((1, 40), (3, 9), (7, 700), (n, 600), (50, 33), (130, 5)):
        for la, lb in LAYOUTS:
            a = random_array(rng, (2, m, k), "f32", la)
            b = random_array(rng, (2, k, n), "f32", lb)
            c = np.full((2, m, n), np.nan, np.float32)
            contract(a, b, c, BEST)
            np.testing.assert_allclose(c, np.matmul(a, b), rtol=2e-4, atol=2e-4)


def test_nan_and_infinity_stay_in_their_rows_and_columns():
    for m, n, k in ((5, 20, 7), (33, 100, 65), (70, 70, 600), (1, 40, 80), (6, 300, 300)):
        for la, lb in LAYOUTS:
            rng = np.random.default_rng(7)
            a = random_array(rng, (1, m, k), "f32", la)
            b = random_array(rng, (1, k, n), "f32", lb)
            a[0, m - 1, k - 1], b[0, 0, n - 1] = np.nan, np.inf
            c = np.zeros((1, m, n), np.float32)
            contract(a, b, c, BEST)
            want = np.matmul(a, b)
            np.testing.assert_array_equal(np.isnan(c), np.isnan(want))
            np.testing.assert_array_equal(np.isinf(c), np.isinf(want))


@pytest.mark.parametrize(
    "size", [(64, 64, 64), (200, 700, 600), (1, 3000, 500), (700, 40, 1030), (8, 900, 900)]
)
def test_threads_and_pieces_give_equal_bits(size):
    rng = np.random.default_rng(8)
    m, n, k = size
    for la, lb in LAYOUTS:
        a = random_array(rng, (1, m, k), "f32", la)
        b = random_array(rng, (1, k, n), "f32", lb)
        results = []
        for threads, pieces in ((1, None), (2, None), (2, 3), (16, None)):
            c = np.zeros((1, m, n), np.float32)
            contract(a, b, c, BEST, threads=threads, pieces=pieces)
            results.append(c)
        assert all(np.array_equal(results[0], other) for other in results[1:])


def _relu_bias(point, value):
    e = point.e
    bias = point.load(0, "f32", column_stride=1)
    scale = point.load(1, "f32", row_stride=point.param(0))
    total = e.fadd(*e.match(e.fmul(*e.match(value, scale)), bias))
    return e.maximum(total, e.like(total, 0.0))


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(
    "size",
    [
        (5, 7, 9),
        (33, 100, 40),
        (64, 64, 700),
        (1, 300, 200),
        (1, 200, 300),
        (6, 300, 300),
        (300, 1, 128),
    ],
)
def test_epilogue(name, size):
    rng = np.random.default_rng(9)
    m, n, k = size
    epilogue = Epilogue("relu(row*acc+bias)", _relu_bias, 2, (2,))
    bias = rng.standard_normal(n).astype(np.float32)
    scale = rng.standard_normal(2 * m).astype(np.float32)
    for (la, lb), out in itertools.product(LAYOUTS, ("f32", "bf16")):
        code = "f32" if out == "f32" else "bf16"
        a = random_array(rng, (1, m, k), code, la)
        b = random_array(rng, (1, k, n), code, lb)
        c = np.zeros((1, m, n), expected(a[:, :0], b, out).dtype)
        contract(a, b, c, TARGETS[name], epilogue=epilogue, extra=(bias, scale))
        want = np.maximum(expected(a, b, "f64") * scale[::2, None] + bias, 0)
        bound = 4 * tolerance(code, out, k) * (1 + np.abs(scale).max())
        np.testing.assert_allclose(c.astype(np.float64), want, rtol=0, atol=bound)


def test_bias_epilogue():
    rng = np.random.default_rng(10)
    a, b = random_array(rng, (2, 9, 30), "f32"), random_array(rng, (2, 30, 70), "f32")
    for axis, size in (("column", 70), ("row", 9)):
        bias = rng.standard_normal(size).astype(np.float32)
        c = np.zeros((2, 9, 70), np.float32)
        contract(a, b, c, BEST, epilogue=bias_epilogue("f32", axis), extra=(bias,))
        want = a @ b + (bias if axis == "column" else bias[:, None])
        np.testing.assert_allclose(c, want, atol=1e-4)


def test_sizes_are_not_in_the_key():
    def key(m, n, k):
        a, b = np.zeros((1, m, k), np.float32), np.zeros((1, k, n), np.float32)
        plan = plan_contraction(shape_of(a, b, np.zeros((1, m, n), np.float32)), BEST, 2)
        return plan.steps[0].kernel.key

    assert key(512, 512, 512) == key(300, 700, 500) == key(128, 2048, 257)
    assert key(1, 300, 500) == key(1, 1000, 70)
    assert key(64, 64, 64) == key(400, 64, 30)  # in tiles of two vectors where they have 8 lanes
    if BEST.avx512:
        assert key(4096, 64, 30) == key(20, 70, 40) == key(64, 64, 64)
        assert key(8, 3, 8) == key(9, 9, 9)
        return
    # with AVX2 loops are unrolled where there is much to do
    assert key(4096, 64, 30) == key(3000, 64, 80) != key(64, 64, 64)
    # tiles of whole vectors know of no others, and these are packed for many rows
    assert key(20, 72, 40) == key(64, 120, 64) != key(16, 70, 40) == key(17, 123, 64)
    assert key(20, 70, 40) == key(64, 123, 64) == key(100, 200, 70)
    assert key(8, 3, 8) == key(9, 5, 9)


@pytest.mark.parametrize("layouts", LAYOUTS, ids="".join)
def test_a_large_second_cache_changes_no_bits(layouts):
    """Blocks are deeper and narrower there; chains are as long."""
    rng = np.random.default_rng(3)
    a = random_array(rng, (1, 70, 2500), "f32", layouts[0])
    b = random_array(rng, (1, 2500, 300), "f32", layouts[1])
    found = []
    for nbytes in (1 << 20, 2 << 20):
        c = np.full((1, 70, 300), np.nan, np.float32)
        contract(a, b, c, BEST._replace(l2_bytes=nbytes))
        found.append(c)
    np.testing.assert_array_equal(*found)
    assert_product(found[0], a, b, "f32", "f32")


@pytest.mark.parametrize("gap", [0, 1, 3])
@pytest.mark.parametrize("code", ["f32", "bf16", "f64", "i32"])
@pytest.mark.parametrize("name", TARGETS)
def test_whole_stores_stay_within(name, code, gap):
    """Rows of c that follow one another, or not, and what is behind them and between."""
    rng = np.random.default_rng(13)
    for batch, m, n, k in (
        (1, 100, 5, 7), (1, 33, 6, 3), (2, 17, 3, 20), (1, 9, 7, 0), (3, 1, 5, 4), (1, 64, 1, 3),
        (1, 50, 10, 9), (2, 31, 17, 5), (1, 40, 23, 2), (1, 5, 2, 600), (1, 20, 9, 1100),
        (1, 30, 30, 30), (2, 19, 25, 3), (1, 33, 100, 8), (1, 3, 37, 5), (1, 60, 500, 40),
    ):  # fmt: skip
        a = random_array(rng, (batch, m, k), code)
        b = random_array(rng, (batch, k, n), code)
        for threads, pieces in ((1, None), (4, 1)):
            room = np.full((batch * m * (n + gap) + 64,), 77, a.dtype)
            c = room[: batch * m * (n + gap)].reshape(batch, m, n + gap)
            contract(a, b, c[:, :, :n], TARGETS[name], threads=threads, pieces=pieces)
            assert_product(c[:, :, :n], a, b, code, code)
            assert (room[c.size :] == 77).all() and (c[:, :, n:] == 77).all()


@pytest.mark.parametrize("code", ["f32", "f64", "bf16", "i32"])
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("layout", "CT")
def test_panels_packed_together(name, code, layout):
    """Fewer than go together, as many, more, and columns (or rows of a) beside the last one."""
    rng = np.random.default_rng(11)
    for m, n in itertools.product((30, 150), (95, 96, 97, 191, 192, 193, 215, 217, 409)):
        for k in (1, 5, 300) if m == 30 else (40,):
            a = random_array(rng, (1, m, k), code, layout)
            b = random_array(rng, (1, k, n + 7), code)[:, :, 3:-4]  # with what must not be read
            c = np.zeros((1, m, n), a.dtype)
            contract(a, b, c, TARGETS[name])
            assert_product(c, a, b, code, code)


@pytest.mark.parametrize("code", ["f32", "f64", "i8", "bf16"])
@pytest.mark.parametrize("layouts", LAYOUTS, ids="".join)
@pytest.mark.parametrize("name", TARGETS)
def test_steps_at_once_change_no_bits(monkeypatch, name, layouts, code):
    """Depths that are no multiple of the steps of a turn, with one chain and with several."""
    rng = np.random.default_rng(5)
    for k in (30, 1050):
        a = random_array(rng, (1, 50, k), code, layouts[0])
        b = random_array(rng, (1, k, 70), code, layouts[1])
        assert_product(_same_by_turns(monkeypatch, TARGETS[name], a, b), a, b, code, code)


@pytest.mark.parametrize("name", TARGETS)
def test_steps_at_once_of_runs(monkeypatch, name):
    """A window of 3 x 3 of an image with 7 channels: three runs of 21 elements."""
    rng = np.random.default_rng(6)
    image, b = (rng.standard_normal(size, np.float32) for size in ((3, 60, 7), (63, 40)))
    shape = ContractionShape(
        1, 58, 40, 63, "f32", "f32", "f32", (0, 7, 1), (0, 40, 1), (0, 40, 1),
        segments=3, a_segment=420,
    )  # fmt: skip
    c = _same_by_turns(monkeypatch, TARGETS[name], image, b, shape, (58, 40))
    windows = np.stack([image[:, i : i + 3].reshape(-1) for i in range(58)])
    np.testing.assert_allclose(c, windows @ b, rtol=1e-4, atol=1e-4)


def _same_by_turns(monkeypatch, target, a, b, shape=None, size=None):
    """The product, which is the same by one step in a turn and by several."""
    found = []
    for least in (0, 1 << 60):
        monkeypatch.setattr(plans, "AT_ONCE_FLOPS", least)
        plan_contraction.cache_clear()
        c = np.zeros(size or (1, a.shape[1], b.shape[2]), a.dtype)
        plan = plan_contraction(shape or shape_of(a, b, c), target)
        run_plan(plan, a, b, c, (), None)
        found.append(c)
    plan_contraction.cache_clear()
    np.testing.assert_array_equal(*found)
    return found[0]


def test_workspace_is_bounded():
    """The workspace grows with the number of pieces in flight, not with the problem."""
    huge = ContractionShape(
        1, 1 << 20, 4096, 4096, "f32", "f32", "f32", (0, 4096, 1), (0, 4096, 1), (0, 4096, 1)
    )
    assert plan_contraction(huge, BEST, 2).workspace_bytes < 64 << 20
    batched = ContractionShape(
        5000, 100, 200, 300, "bf16", "f32", "bf16",
        (30000, 300, 1), (60000, 200, 1), (20000, 200, 1),
    )  # fmt: skip
    assert plan_contraction(batched, BEST, 2).workspace_bytes < 64 << 20


def test_errors():
    shape = ContractionShape(1, 2, 2, 2, "f32", "i32", "i32", (0, 2, 1), (0, 2, 1), (0, 2, 1))
    with pytest.raises(NotImplementedError, match="f32 with i32 sums"):
        plan_contraction(shape, BEST)


def test_names_are_readable():
    a = np.zeros((1, 64, 64), np.float32)
    kernel = plan_contraction(shape_of(a, a, a), BEST).steps[0].kernel
    assert kernel.name.startswith("k_gemm_f32_f32_f32_")
    assert compile_kernel(kernel)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("layouts", LAYOUTS, ids="".join)
@pytest.mark.parametrize("code", ["f32", "i8", "bf16"])
def test_blocks_along_k(name, layouts, code):
    """Depths about those of a block: sums wait in c or in the workspace between blocks; rows of a
    are packed eight panels at a time, by one, and in part."""
    rng = np.random.default_rng(12)
    for m, n, k in ((77, 60, 513), (64, 50, 1025), (139, 33, 2100), (4, 100, 1300)):
        a = random_array(rng, (1, m, k), code, layouts[0])
        b = random_array(rng, (1, k, n), code, layouts[1])
        acc = "i32" if code == "i8" else "f32"
        c = np.zeros((1, m, n), np.int32 if code == "i8" else a.dtype)
        contract(a, b, c, TARGETS[name], acc=acc)
        assert_product(c, a, b, code, "i32" if code == "i8" else code)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("rows", range(48, 60))
def test_sums_of_all_rows_of_a_tile_have_room(name, rows):
    """Where they wait in the workspace, also those of rows that do not exist (run_plan checks what
    lies behind it). 64 columns: tiles of six rows with AVX2."""
    rng = np.random.default_rng(13)
    a, b = random_array(rng, (1, rows, 2100), "f32"), random_array(rng, (1, 2100, 64), "f32")
    c = np.zeros((1, rows, 64), np.float16)
    contract(a, b, c, TARGETS[name], acc="f32")
    assert_product(c, a, b, "f32", "f16")


@pytest.mark.parametrize("name", [n for n, t in TARGETS.items() if t.avx2 and not t.avx512])
def test_few_columns_fill_vectors_of_avx2(name):
    """Where results are contiguous along the few columns, the tile has no lanes to fold."""
    for n, k, label in (
        (2, 16, "thin_dot"), (3, 16, "gemm"), (4, 32, "gemm"), (4, 64, "thin_dot"), (5, 64, "gemm"),
        (8, 32, "gemm"), (12, 32, "gemm"), (16, 32, "gemm"),
    ):  # fmt: skip
        a, b = np.zeros((1, 2000, k), np.float32), np.zeros((1, k, n), np.float32)
        shape = shape_of(a, b, np.zeros((1, 2000, n), np.float32))
        kernel = plan_contraction(shape, TARGETS[name]).steps[0].kernel
        assert kernel.name.startswith(f"k_{label}_"), (n, kernel.name)


@pytest.mark.parametrize(("n", "tile"), [
    (8, (8, 1, 0)), (12, (4, 2, 0)), (16, (4, 2, 0)), (24, (4, 3, 8)), (32, (4, 2, 8)),
    (40, (6, 2, 8)), (64, (6, 2, 8)), (72, (4, 3, 8)), (112, (6, 2, 8)), (128, (4, 3, 8)),
])
def test_tiles_of_sixteen_registers(n, tile):
    """One or two vectors are one group, masked at its end; of more, few are left alone."""
    target = CpuTarget(vector_bits=256, avx2=True)
    assert _tile_of(8, 500, n, target, in_rows=True) == tile
    assert _tile_of(8, 500, n, target, in_rows=False)[0] != 6  # panels of eight rows


@pytest.mark.parametrize(("m", "rows"), [(16, 4), (36, 6), (50, 6), (64, 6), (1000, 6)])
def test_tall_tiles(m, rows):
    """Six rows behind a large second cache, unless more of the last tile's would be none."""
    target = CpuTarget(vector_bits=512, avx2=True, avx512=True, l2_bytes=2 << 20)
    assert _tile_of(16, m, 200, target, in_rows=True) == (rows, 4, 8)
    assert _tile_of(16, m, 200, target, in_rows=False)[0] == 4
    assert _tile_of(16, m, 200, target._replace(l2_bytes=1 << 20), in_rows=True)[0] == 4


def test_kernels_need_no_symbols():
    """Neither the C library nor compiler helpers: the loader could not resolve them."""
    native = pytest.importorskip("jitney._native")
    rng = np.random.default_rng(11)
    for name, code in itertools.product(TARGETS, ("f32", "bf16", "f16", "i8", "b1")):
        for (m, n, k), (la, lb) in itertools.product(((1, 90, 90), (70, 70, 600)), LAYOUTS[1:3]):
            a, b = random_array(rng, (1, m, k), code, la), random_array(rng, (1, k, n), code, lb)
            shape = shape_of(a, b, np.zeros((1, m, n), a.dtype))
            kernel = plan_contraction(shape, TARGETS[name]).steps[0].kernel
            _, symbols = native.link_object(object_code(kernel))
            assert "k" in symbols


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("n", [256, 500, 1000, 1024, 1536, 2048])
def test_no_thread_has_much_more_to_do(n, threads):
    """Columns of a product in pieces: what the busiest of the threads has, of what is fair."""
    most = 1.1 if threads == 2 else 1.2  # a piece has two tiles at least
    a, b = np.zeros((1, 900, 700), np.float32), np.zeros((1, 700, n), np.float32)
    shape = shape_of(a, b, np.zeros((1, 900, n), np.float32))
    for name, target in TARGETS.items():
        step = plan_contraction(shape, target, threads).steps[0]
        sizes = dict(zip(TILED_PARAMETERS, step.params))
        span, pieces = sizes["column_span"], sizes["column_pieces"]
        columns = [min(span, n - span * piece) for piece in range(pieces)]
        if sizes["row_pieces"] > 1 or pieces == 1:
            continue
        busiest = max(sum(columns[first::threads]) for first in range(threads))
        assert busiest <= most * n / threads, (name, columns)


def _sizes_of(m, n, k, target, threads):
    """(how a is read, parameters by name) of a product whose a is contiguous along its rows."""
    a = np.zeros((1, k, m), np.float32).transpose(0, 2, 1)
    b, c = np.zeros((1, k, n), np.float32), np.zeros((1, m, n), np.float32)
    step = plan_contraction(shape_of(a, b, c), target, threads).steps[-1]
    if step.kernel.schedule.label != "gemm":  # 48 rows with AVX-512
        return "streamed", {}
    sizes = dict(zip(TILED_PARAMETERS, step.params))
    return step.kernel.schedule.a, sizes | {"extent": step.extent}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("threads", [2, 3, 16])
@pytest.mark.parametrize("size", [
    (64, 64, 1000), (2000, 10, 100), (512, 512, 512), (48, 2048, 2048), (1000, 64, 64),
    (784, 512, 128), (3000, 3000, 300), (256, 70, 5000),
])  # fmt: skip
def test_pieces_that_pack_both_operands(name, threads, size):
    """Two threads have something to do, and none of them much more than its share."""
    m, n, k = size
    how, sizes = _sizes_of(*size, TARGETS[name], threads)
    if how == "streamed":
        return
    rows, columns = sizes["row_span"], sizes["column_span"]
    assert sizes["extent"] == -(-m // rows) * -(-n // columns)
    assert 2 <= sizes["extent"] <= (12 if how == "panels" else 8) * threads
    if how == "panels":  # pieces pack columns only, and their last ones may be narrow
        areas = [
            min(rows, m - i) * min(columns, n - j)
            for i in range(0, m, rows) for j in range(0, n, columns)
        ]  # fmt: skip
        busiest = max(sum(areas[first::threads]) for first in range(threads))
        assert busiest <= 1.1 * m * n / min(threads, 2)
    if how == "m":
        rounds = -(-sizes["extent"] // threads)
        assert rounds * rows * min(columns, n) <= 1.1 * m * n / min(threads, 2)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("code", ["f32", "f64", "i32"])
@pytest.mark.parametrize("size", [
    (384, 384, 384), (257, 400, 700), (301, 513, 1100), (770, 1030, 90), (1000, 500, 129),
])  # fmt: skip
def test_rows_packed_once_for_all_pieces(name, code, size):
    """A large a that is contiguous along m: all rows are packed before, in panels as high as a
    tile, and the product has the bits of one whose rows of a are read in place."""
    m, n, k = size
    rng = np.random.default_rng(14)
    a, b = random_array(rng, (1, m, k), code, "T"), random_array(rng, (1, k, n), code)
    c, same = np.zeros((2, 1, m, n), a.dtype)
    plan = contract(a, b, c, TARGETS[name], acc=code, threads=2)
    assert [step.kernel.schedule.label for step in plan.steps] == ["pack", "gemm"]
    assert plan.steps[0].extent > 1
    assert plan.workspace_bytes <= 1.1 * a.nbytes + (8 << 20)
    contract(np.ascontiguousarray(a), b, same, TARGETS[name], acc=code)
    np.testing.assert_array_equal(c, same)
    assert_product(c, a, b, code, code)
    turned = np.zeros((1, n, m), a.dtype).transpose(0, 2, 1)
    contract(a, b, turned, TARGETS[name], acc=code, pieces=3)
    assert_product(turned, a, b, code, code)


@pytest.mark.parametrize("name", [n for n, t in TARGETS.items() if t.avx2])
def test_columns_of_a_are_read_in_place_where_they_are_read_once(name):
    """Packing would be all there is to gain."""
    target = TARGETS[name]
    for m, n, k in ((2000, 10, 100), (20, 20, 5000), (64, 64, 64), (128, 128, 128)):
        assert _sizes_of(m, n, k, target, 1)[0] == "rows"
    for m, n, k in ((1000, 64, 64), (300, 300, 300)):
        assert _sizes_of(m, n, k, target, 1)[0] == "m"
    for m, n, k in ((384, 384, 384), (300, 3000, 300)):
        assert _sizes_of(m, n, k, target, 1)[0] == "panels"
