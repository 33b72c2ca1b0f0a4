"""ldexp: its many operations are one in the graph, and its results those of C."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.lower.build_graph import build_graph


def numbers_and_powers(dtype, kind, count):
    """Every pattern of bits may come, denormals and NaN too; results below and above the range."""
    rng, word = np.random.default_rng(7), np.dtype(f"u{np.dtype(dtype).itemsize}")
    x = rng.integers(0, np.iinfo(word).max, count, dtype=word, endpoint=True).view(dtype)
    x = np.concatenate([x, np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], dtype)])
    limits = np.iinfo(kind)
    powers = rng.integers(max(limits.min, -2300), min(limits.max, 2300), x.size).astype(kind)
    return x, powers


def assert_same(got, expected):
    np.testing.assert_array_equal(got, expected)
    assert ((np.signbit(got) == np.signbit(expected)) | np.isnan(expected)).all()


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_number_by_powers_of_every_size(dtype, kind):
    with jitney.enable_x64(dtype == np.float64), np.errstate(all="ignore"):
        for count in (0, 1, 61, 5000):
            x, powers = numbers_and_powers(dtype, kind, count)
            expected = np.ldexp(x, powers.astype(np.int32))
            assert_same(np.asarray(jnp.ldexp(x, powers)), expected)
            assert_same(np.asarray(jitney.jit(jnp.ldexp)(x[::-1], powers[::-1])), expected[::-1])


def test_results_at_the_end_of_the_range_are_rounded_once():
    for dtype, least in ((np.float32, -149), (np.float64, -1074)):
        with jitney.enable_x64(dtype == np.float64):
            x = np.linspace(1, 2, 4001).astype(dtype)[:-1]
            x = np.concatenate([x, np.nextafter(x, dtype(0)), np.nextafter(x, dtype(2))])
            for power in range(least - 3, least + 12):
                powers = np.full(x.size, power, np.int32)
                assert_same(np.asarray(jnp.ldexp(x, powers)), np.ldexp(x, powers))


def test_one_power_for_all_and_one_number_for_all():
    x, powers = np.linspace(-2, 2, 100).astype(np.float32), np.arange(-50, 50, dtype=np.int32)
    assert_same(np.asarray(jitney.jit(lambda x: jnp.ldexp(x, 3))(x)), np.ldexp(x, 3))
    assert_same(np.asarray(jnp.ldexp(x, np.int32(-140))), np.ldexp(x, np.int32(-140)))
    third = np.float32(1 / 3)
    assert_same(np.asarray(jnp.ldexp(third, powers)), np.ldexp(third, powers))
    assert_same(np.asarray(jnp.ldexp(x[:, None], powers)), np.ldexp(x[:, None], powers))


def operations(function, *args):
    graph, _ = build_graph(jitney.make_jaxpr(function)(*args), "program")
    return [node.op for node in graph.nodes()]


def test_one_operation_of_the_graph():
    x, powers = np.ones((3, 4), np.float32), np.ones(4, np.int32)
    assert operations(jnp.ldexp, x, np.ones((3, 4), np.int32)) == [
        "input", "input", "convert", "ldexp"]  # fmt: skip
    assert "ldexp" in operations(lambda x, n: 2 * jnp.ldexp(x, n), x, powers)
    assert "ldexp" in operations(jnp.ldexp, np.float32(1), np.int32(3))
    with jitney.enable_x64(True):
        assert "exp2" not in operations(jnp.ldexp, np.ones(3), np.arange(3))


def test_another_formula_is_left_alone():
    def other(x, n):  # as ldexp, but for zero
        mantissa, exponent = jnp.frexp(x)
        total = exponent.astype(np.float32) + n
        positive = total > 0
        mantissa = jnp.where(positive, mantissa * 2, mantissa)
        product = mantissa * 2.0 ** jnp.where(positive, total - 1, total)
        return jnp.where(jnp.isinf(x), x, product)

    x = np.ones(3, np.float32)
    assert "ldexp" not in operations(other, x, x.astype(np.int32))


def test_the_slope_is_the_power():
    x, powers = np.float32([1.5, -3.0]), np.int32([3, -2])
    slope = jitney.grad(lambda x: jnp.ldexp(x, powers).sum())(x)
    np.testing.assert_array_equal(slope, np.float32([8.0, 0.25]))
