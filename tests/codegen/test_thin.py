"""A few rows times a matrix with a short side: sizes around vectors, layouts, ends, epilogues."""

import os
import sys

import numpy as np
import pytest

from jitney.codegen.contraction import bias_epilogue, plan_contraction
from jitney.codegen.contraction.thin import picks

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package

from contraction_harness import (  # noqa: E402
    assert_product,
    contract,
    random_array,
    run_plan,
    shape_of,
    targets,
)

TARGETS = {name: t for name, t in targets().items() if t.avx2}
SHORT = (1, 2, 3, 4, 5, 7, 8, 9, 10, 15, 16, 17, 24, 31, 32, 33, 63, 64)
LONG = (16, 17, 21, 100)


def _label(plan) -> str:
    return plan.steps[0].kernel.schedule.label


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("code", ["f32", "f64", "i32", "i64"])
@pytest.mark.parametrize("rows", [1, 2, 4, 5])
def test_sizes(name, code, rows):
    rng, seen = np.random.default_rng(0), set()
    for short in SHORT:
        for long in LONG:
            for n, k, layout in ((long, short, "T"), (short, long, "C")):
                for of_a in "CT":
                    a = random_array(rng, (3, rows, k), code, of_a)
                    b = random_array(rng, (3, k, n), code, layout)
                    c = np.zeros((3, rows, n), a.dtype)
                    seen.add(_label(contract(a, b, c, TARGETS[name], threads=2)))
                    assert_product(c, a, b, code, code)
    assert {"thin_dot", "thin_axpy"} <= seen or rows > 2


@pytest.mark.parametrize("name", TARGETS)
def test_transposed_results(name):
    rng = np.random.default_rng(1)
    for k in SHORT[1:]:
        a, b = random_array(rng, (1, 2, k), "f32"), random_array(rng, (1, k, 50), "f32", "T")
        c = np.swapaxes(np.zeros((1, 50, 2), np.float32), 1, 2)
        contract(a, b, c, TARGETS[name])
        assert_product(c, a, b, "f32", "f32")


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("k", [5, 10, 13, 29])
def test_infinities_count_once(name, k):
    """Where two vectors overlap, an infinite element is in both, a zero for one of them would make
    it NaN."""
    for at in range(k):
        a, b = np.ones((1, 1, k), np.float32), np.ones((1, k, 24), np.float32)
        b = np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
        b[0, at, 3], b[0, at, 4], a[0, 0, at] = np.inf, -np.inf, 2
        c = np.zeros((1, 1, 24), np.float32)
        assert _label(contract(a, b, c, TARGETS[name])) == "thin_dot"
        wanted = np.full(24, k + 1, np.float32)
        wanted[3], wanted[4] = np.inf, -np.inf
        np.testing.assert_array_equal(c[0, 0], wanted)
        a[0, 0, at], b[0, at] = np.inf, 1
        contract(a, b, c, TARGETS[name])
        assert (c == np.inf).all()


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("layout", ["C", "T"])
def test_an_epilogue_is_applied_once(name, layout):
    """Also where the last vector overlaps the one before, and in the place of what it reads."""
    rng = np.random.default_rng(2)
    for short in [n for n in SHORT if 1 < n <= 32]:
        n, k = (short, 40) if layout == "C" else (40, short)
        a, b = random_array(rng, (1, 1, k), "f32"), random_array(rng, (1, k, n), "f32", layout)
        c = random_array(rng, (1, 1, n), "f32")
        wanted = c + (a.astype(float) @ b).astype(np.float32)
        plan = plan_contraction(shape_of(a, b, c), TARGETS[name], 1, bias_epilogue("f32"))
        run_plan(plan, a, b, c, [c])
        np.testing.assert_allclose(c, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("layout", ["C", "T"])
def test_threads_and_pieces_leave_the_bits(name, layout):
    rng = np.random.default_rng(3)
    for short in (3, 8, 10, 30):
        n, k = (short, 50001) if layout == "C" else (50001, short)
        a, b = random_array(rng, (1, 1, k), "f32"), random_array(rng, (1, k, n), "f32", layout)
        found = []
        for threads, pieces in ((1, None), (2, 1), (8, 1)):
            c = np.zeros((1, 1, n), np.float32)
            contract(a, b, c, TARGETS[name], threads=threads, pieces=pieces)
            found.append(c)
        assert all((c == found[0]).all() for c in found)


@pytest.mark.parametrize(("lanes", "block"), [(2, 2), (4, 2), (8, 2), (4, 4), (8, 4), (16, 4)])
def test_picks_add_up(lanes, block):
    vectors, count = list(np.random.default_rng(4).integers(0, 99, (lanes, lanes))), 1
    wanted = np.array([v.sum() for v in vectors])
    while len(vectors) > 1:
        one, other = (np.array(p) for p in picks(lanes, block, count))
        pairs = [np.concatenate(pair) for pair in zip(vectors[::2], vectors[1::2], strict=True)]
        vectors, count = [p[one] + p[other] for p in pairs], 2 * count
    np.testing.assert_array_equal(vectors[0], wanted)
