"""Rows in three parts: what is known in the middle changes no result, at the edges or anywhere."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.fuse import interior
from jitney.fuse.interior import Border
from jitney.fuse.kernel import Expr

DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool",
          "complex64"]  # fmt: skip


def text_of(fun, *arguments) -> str:
    return jitney.jit(fun).lower(*arguments).compile().as_text()


def numbers(rng, shape, dtype):
    if dtype == "complex64":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return np.asarray(jnp.asarray(rng.integers(0, 2 if dtype == "bool" else 50, shape), dtype))


def rolled(np, x):
    return np.where(np.roll(x, 1, -1) == np.roll(x, -2, 0), np.roll(x, 3, -1), x)


def padded(np, x):
    wide = np.pad(x, [(2, 1), (3, 0)])
    return np.where(wide[:-3, 3:] == wide[3:, :-3], wide[2:-1, :-3], wide[2:-1, 3:])


def joined(np, x):
    side = np.concatenate([x[:, 1:], x[:, -1:]], 1)
    return np.where(side == x, np.concatenate([x[:1], x[:-1]], 0), side)


def reversed_and_padded(np, x):
    wide = np.pad(x, [(1, 1), (1, 1)])
    return np.where(wide[2:, 2:] == x, wide[:-2, ::-1][:, 2:], wide[1:-1, :-2])


@pytest.mark.parametrize("fun", [rolled, padded, joined, reversed_and_padded])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(fun, dtype):
    rng = np.random.default_rng(1)
    with jitney.enable_x64(True):
        for shape in ((40, 131), (30, 200)):
            x = numbers(rng, shape, dtype)
            got = jitney.jit(lambda x: fun(jnp, x))(x)
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(np.asarray(got), fun(np, x))


@pytest.mark.parametrize("columns", [64, 65, 79, 80, 127, 128, 129, 193, 1000, 4097])
@pytest.mark.parametrize("rows", [4, 33])
def test_every_length_of_a_row(rows, columns):
    x = np.random.default_rng(columns).normal(size=(rows, columns)).astype(np.float32)
    for fun in (rolled, padded, joined, reversed_and_padded):
        np.testing.assert_array_equal(jitney.jit(lambda x, f=fun: f(jnp, x))(x), fun(np, x))


@pytest.mark.parametrize("shift", [0, 1, 7, 16, 100, -3, 2500, 5000 - 1])
def test_one_axis_in_many_pieces(shift):
    x = np.random.default_rng(3).normal(size=100_000).astype(np.float32)
    got = jitney.jit(lambda x: jnp.roll(x, shift) - 2 * x)(x)
    np.testing.assert_array_equal(got, np.roll(x, shift) - 2 * x)


def test_three_axes_and_loops():
    def step(np, u):
        return u + 0.125 * (sum(np.roll(u, s, a) for a in range(3) for s in (-1, 1)) - 6 * u)

    u = np.random.default_rng(4).integers(0, 64, (9, 20, 70)).astype(np.float64)
    want = u
    for _ in range(3):
        want = step(np, want)
    with jitney.enable_x64(True):
        loop = jitney.jit(lambda u: jitney.lax.fori_loop(0, 3, lambda _, u: step(jnp, u), u))
        np.testing.assert_array_equal(loop(u), want)


def test_updates_of_the_inside():
    x = np.random.default_rng(5).normal(size=(50, 90)).astype(np.float32)
    want = x.copy()
    want[1:-1, 1:-2] = 2 * x[:-2, :-3]
    got = jitney.jit(lambda x: x.at[1:-1, 1:-2].set(2 * x[:-2, :-3]))(x)
    np.testing.assert_array_equal(got, want)


def test_borders_are_found_and_halves_are_not():
    x = jnp.ones((100, 300))
    assert "border" in text_of(lambda x: jnp.roll(x, 1, 1) + x, x)
    assert "border" not in text_of(lambda x: jnp.concatenate([x, 2 * x], 1), x)
    assert "border" not in text_of(lambda x: jnp.roll(x, 1, 1) + x, x[:, :20])


def test_a_new_size_has_the_same_text():
    def f(x):
        return jnp.roll(x, 1, 1) + jnp.pad(x, 1, mode="edge")[2:, 2:]

    texts = {text_of(f, jnp.ones(shape)).split("sizes")[0] for shape in ((100, 300), (157, 411))}
    assert len(texts) == 1


@pytest.mark.parametrize("rows, columns", [(200, 64), (3, 5000), (70, 131), (1, 9999), (90, 47)])
@pytest.mark.parametrize("left, right", [(1, 0), (0, 1), (2, 3), (9, 17), (40, 33)])
def test_borders_of_any_depth_at_both_ends(rows, columns, left, right):
    """Few elements or several vectors of them, in whole rows and in parts of long ones."""
    x = np.random.default_rng(columns).integers(-9, 9, (rows, columns)).astype(np.float32)

    def f(np, x):
        wide = np.pad(x, ((0, 0), (left, right)))
        turned = np.roll(x, left, 1) - np.roll(x, -right, 1)
        return 2 * wide[:, :columns] - wide[:, left + right :] + turned * np.pad(x, 1)[:-2, 2:]

    got = jitney.jit(lambda x: f(jnp, x))(x)
    np.testing.assert_array_equal(got, f(np, x))


@pytest.mark.parametrize("factor", [1, -1, 3, -2])
def test_where_a_condition_changes(factor):
    """Against all values one by one."""
    for base in range(-8, 12, 3):
        for limit in (0, 1, 4, 9):
            check_border(base, factor, limit, extent=11)


def check_border(base, factor, limit, extent):
    index = Expr("index", (), "u64", ((base, ((0, factor),)),), 0, 1, frozenset({0}))
    bound = Expr("const", (), "u64", (limit,), 1, 0, frozenset())
    condition = Expr("lt", (index, bound), "b1", (), 2, 2, frozenset({0}))
    middle = [0, extent]
    border = interior._border(condition, 0, extent, middle)
    truth = [0 <= base + factor * v < limit for v in range(extent)]
    low = high = extent // 2
    while low > 0 and truth[low - 1] == truth[extent // 2]:
        low -= 1
    while high < extent and truth[high] == truth[extent // 2]:
        high += 1
    assert border.holds == truth[extent // 2]
    assert isinstance(border, Border)
    if abs(factor) == 1:
        assert middle == [low, high] and border.ends == (low > 0, high < extent)
    assert low <= middle[0] <= extent // 2 < middle[1] <= high


@pytest.mark.parametrize("at", [0, 1, 5, -3, -2, -1])
def test_one_element_of_a_padded_concatenation(at):
    x = np.arange(2000.0, dtype=np.float32)

    def f(np, x):
        wide = np.pad(np.concatenate([x[-5:] * 2, x[:-5]]), (2, 3))
        return wide[at:][:1] + 1

    np.testing.assert_array_equal(jitney.jit(lambda x: f(jnp, x))(x), f(np, x))
