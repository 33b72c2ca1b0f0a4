"""Products of few rows with a large matrix, which is read where it lies: every edge of a tile,
layouts, strides, types, batches, epilogues, and bits that do not depend on threads."""

import itertools
import os
import sys

import numpy as np
import pytest

from jitney.codegen.contraction import ContractionShape, Epilogue, bias_epilogue, plan_contraction

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package

from contraction_harness import (  # noqa: E402
    assert_product,
    contract,
    expected,
    random_array,
    shape_of,
    targets,
    tolerance,
)

TARGETS = {name: target for name, target in targets().items() if name != "sse2"}
BEST = next(iter(targets().values()))
LAYOUTS = ("CC", "TC", "AC")  # of a and b; A: a with gaps

pytestmark = pytest.mark.skipif(not TARGETS, reason="needs masked loads")


def label(plan):
    return plan.steps[0].kernel.schedule.label


def operands(rng, batch, m, k, n, layout="CC", code="f32"):
    if layout[0] == "A":
        a = random_array(rng, (batch, 3 * m, 2 * k), code)[:, ::3, ::2]
    else:
        a = random_array(rng, (batch, m, k), code, layout[0])
    return a, random_array(rng, (batch, k, n), code, layout[1])


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_edges_of_tiles(name, layout):
    rng = np.random.default_rng(0)
    for m, k, n in (
        (5, 257, 300), (8, 300, 513), (9, 1000, 257), (11, 128, 2049), (12, 129, 1151),
        (16, 300, 700), (17, 511, 321), (33, 1024, 600), (41, 600, 1333), (48, 257, 2500),
    ):  # fmt: skip
        a, b = operands(rng, 1, m, k, n, layout)
        c = np.full((1, m, n), np.nan, np.float32)
        plan = contract(a, b, c, TARGETS[name])
        assert label(plan) == "stream" or (name == "avx2" and m > 12)
        assert_product(c, a, b, "f32", "f32")


@pytest.mark.parametrize("name", TARGETS)
def test_few_columns_are_the_rows_of_the_transposed_product(name):
    """c's rows are then strided, and a's columns are what is read in long runs."""
    rng = np.random.default_rng(1)
    for m, k, n in ((700, 300, 5), (300, 513, 12), (2100, 129, 9)):
        a, b = operands(rng, 1, m, k, n, "TC")
        for c in (
            np.full((1, m, n), np.nan, np.float32),
            np.swapaxes(np.full((1, n, m), np.nan, np.float32), 1, 2),
        ):
            assert label(contract(a, b, c, TARGETS[name])) == "stream"
            assert_product(c, a, b, "f32", "f32")


@pytest.mark.parametrize("name", TARGETS)
def test_vectors_run_along_the_few_when_the_large_matrix_is_contiguous_along_k(name):
    rng = np.random.default_rng(9)
    for m, k, n, layout in (
        (16, 1030, 301, "CT"), (32, 1100, 300, "TT"), (15, 1024, 130, "CT"),
        (301, 257, 16, "CC"), (700, 300, 13, "CT"),
    ):  # fmt: skip
        a, b = operands(rng, 1, m, k, n, layout)
        results = []
        for threads in (1, 4):
            c = np.full((1, m, n), np.nan, np.float32)
            assert label(contract(a, b, c, TARGETS[name], threads=threads)) == "gemm"
            assert_product(c, a, b, "f32", "f32")
            results.append(c)
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("codes", [("f64", "f64"), ("bf16", "bf16"), ("bf16", "f32"),
                                   ("f16", "f16"), ("f16", "f32")], ids="-".join)  # fmt: skip
def test_types(codes):
    rng = np.random.default_rng(2)
    code, out = codes
    sizes = ((5, 300, 513), (24, 400, 700), (31, 800, 1400))
    for (m, k, n), layout in itertools.product(sizes, ("CC", "TC")):
        a, b = operands(rng, 1, m, k, n, layout, code)
        c = np.zeros((1, m, n), expected(a[:, :0], b, out).dtype)
        plan = contract(a, b, c, BEST)
        assert label(plan) == "stream" or not BEST.avx512
        assert_product(c, a, b, code, out)


@pytest.mark.parametrize("name", TARGETS)
def test_batches_gaps_and_broadcasts(name):
    rng = np.random.default_rng(3)
    for kind in ("plain", "shared b", "gaps", "backwards", "strided c"):
        a, b = operands(rng, 3, 10, 130, 301)
        c = np.full((3, 10, 301), np.nan, np.float32)
        if kind == "shared b":
            b = np.broadcast_to(b[:1], b.shape)
        if kind == "gaps":
            b = random_array(rng, (3, 260, 400), "f32")[:, ::2, 7:308]
        if kind == "backwards":
            a, b = a[:, ::-1, ::-1], b[:, ::-1]
        if kind == "strided c":
            c = np.full((3, 20, 903), np.nan, np.float32)[:, ::2, ::3]
        for threads in (1, 3):
            assert label(contract(a, b, c, TARGETS[name], threads=threads)) == "stream"
            assert_product(c, a, b, "f32", "f32")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_threads_and_pieces_give_equal_bits(layout):
    rng = np.random.default_rng(4)
    for m, k, n in ((9, 300, 2050), (16, 1030, 600), (30, 256, 9000)):
        a, b = operands(rng, 1, m, k, n, layout)
        results = []
        for threads, pieces in ((1, None), (2, None), (2, 3), (16, None)):
            c = np.zeros((1, m, n), np.float32)
            plan = contract(a, b, c, BEST, threads=threads, pieces=pieces)
            results.append(c)
        assert plan.steps[0].extent > 1
        assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", TARGETS)
def test_a_small_second_cache_changes_no_bits(name, layout):
    """Blocks are half as deep there; chains are as long."""
    rng = np.random.default_rng(12)
    for m, k, n in ((9, 300, 2050), (12, 1030, 600), (5, 1000, 523)):
        a, b = operands(rng, 1, m, k, n, layout)
        found, depths = [], set()
        for nbytes in (512 << 10, 1 << 20):
            c = np.full((1, m, n), np.nan, np.float32)
            plan = contract(a, b, c, TARGETS[name]._replace(l2_bytes=nbytes))
            depths.add(plan.steps[0].kernel.schedule.depth)
            found.append(c)
        assert depths == {16, 32}
        np.testing.assert_array_equal(*found)
        assert_product(found[0], a, b, "f32", "f32")


@pytest.mark.parametrize("k", [300, 512, 540, 1025, 2100])
def test_bits_are_those_of_the_tile(k):
    """As many rows as the register tile takes, cut in two: the same bits."""
    rng = np.random.default_rng(5)
    a, b = operands(rng, 1, 96, k, 520)
    whole = np.zeros((1, 96, 520), np.float32)
    assert label(contract(a, b, whole, BEST)) == "gemm"
    parts = np.zeros((1, 12, 520), np.float32)
    for start in range(0, 96, 12):
        part = a[:, start : start + 12]
        assert label(contract(part, b, parts, BEST)) == "stream"
        np.testing.assert_array_equal(parts, whole[:, start : start + 12])


def test_nan_infinity_and_zeros_of_both_signs():
    rng = np.random.default_rng(6)
    for m, k, n in ((9, 300, 520), (17, 260, 513)):
        a, b = operands(rng, 1, m, k, n)
        a[0, m - 1, k - 1], b[0, 0, n - 1] = np.nan, np.inf
        c = np.zeros((1, m, n), np.float32)
        contract(a, b, c, BEST)
        with np.errstate(invalid="ignore"):
            want = np.matmul(a, b)
        np.testing.assert_array_equal(np.isnan(c), np.isnan(want))
        np.testing.assert_array_equal(np.isinf(c), np.isinf(want))
    a, b = np.full((1, 9, 300), -0.0, np.float32), np.ones((1, 300, 520), np.float32)
    c = np.ones((1, 9, 520), np.float32)
    contract(a, b, c, BEST)
    assert not np.signbit(c).any()  # 0 + -0 is 0


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
def test_epilogue(name, turned):
    def scaled(point, value):
        e = point.e
        scale = point.load(0, "f32", row_stride=point.param(0))
        bias = point.load(1, "f32", column_stride=1)
        total = e.fadd(*e.match(e.fmul(*e.match(value, scale)), bias))
        return e.maximum(total, e.like(total, 0.0))

    rng = np.random.default_rng(7)
    m, k, n = (515, 300, 9) if turned else (9, 300, 515)
    a, b = operands(rng, 1, m, k, n, "TC" if turned else "CC")
    scale = rng.standard_normal(2 * m).astype(np.float32)
    bias = rng.standard_normal(n).astype(np.float32)
    c = np.zeros((1, m, n), np.float32)
    epilogue = Epilogue("relu(scale*acc+bias)", scaled, 2, (2,))
    plan = contract(a, b, c, TARGETS[name], epilogue=epilogue, extra=(scale, bias))
    assert label(plan) == "stream"
    want = np.maximum(expected(a, b, "f64") * scale[::2, None] + bias, 0)
    bound = 4 * tolerance("f32", "f32", k) * (1 + np.abs(scale).max())
    np.testing.assert_allclose(c, want, rtol=0, atol=bound)


def test_bias_of_a_batch():
    rng = np.random.default_rng(8)
    a, b = operands(rng, 2, 12, 300, 520)
    for axis, size in (("column", 520), ("row", 12)):
        bias = rng.standard_normal(size).astype(np.float32)
        c = np.zeros((2, 12, 520), np.float32)
        contract(a, b, c, BEST, epilogue=bias_epilogue("f32", axis), extra=(bias,))
        want = a @ b + (bias if axis == "column" else bias[:, None])
        np.testing.assert_allclose(c, want, atol=1e-3)


def test_sizes_are_not_in_the_key():
    def key(m, k, n):
        a, b = np.zeros((1, m, k), np.float32), np.zeros((1, k, n), np.float32)
        plan = plan_contraction(shape_of(a, b, np.zeros((1, m, n), np.float32)), BEST, 2)
        return plan.steps[0].kernel.key

    m = 16 if BEST.avx512 else 12  # two tiles of registers
    assert key(m, 2048, 2048) == key(m, 300, 515) == key(m // 2, 900, 5000)


def test_workspace_and_pieces_are_bounded():
    n = 1 << 20
    shape = ContractionShape(
        1, 48, n, 256, "f32", "f32", "f32", (0, 256, 1), (0, n, 1), (0, n, 1)
    )
    plan = plan_contraction(shape, BEST, 2)
    assert plan.workspace_bytes < 4 << 20
    assert plan.steps[0].extent >= 4
