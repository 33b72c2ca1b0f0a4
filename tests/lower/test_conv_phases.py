"""Convolutions of dilated images are the same as of images with zeros put between their pixels."""

import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

SPATIAL = {1: ("NWC", "WIO", "NWC"), 2: ("NHWC", "HWIO", "NHWC"), 3: ("NHWDC", "HWDIO", "NHWDC")}


def integers(*shape):
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float32)


def dilated(x, rates):
    """Zeros put in by NumPy."""
    shape = [x.shape[0], *[(n - 1) * d + 1 for n, d in zip(x.shape[1:-1], rates, strict=True)]]
    wide = np.zeros((*shape, x.shape[-1]), x.dtype)
    wide[(slice(None), *[slice(None, None, d) for d in rates])] = x
    return wide


def compare(x, k, rates, padding, groups=1):
    numbers, ones = SPATIAL[len(rates)], (1,) * len(rates)

    def convolve(x, dilation):
        return jax.lax.conv_general_dilated(
            x, k, ones, padding, lhs_dilation=dilation, dimension_numbers=numbers,
            feature_group_count=groups,
        )  # fmt: skip

    found = jax.jit(lambda x: convolve(x, rates))(x)
    expected = jax.jit(lambda x: convolve(x, ones))(dilated(x, rates))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rate", [2, 3, 5])
@pytest.mark.parametrize("window", [1, 2, 3, 4, 7])
def test_lines(rate, window):
    for n, low, high in itertools.product([1, 2, 9], [0, 1, 4, -1], [0, 2, 5, -2]):
        if (n - 1) * rate + 1 + low + high >= window and min(low, high) + n > 0:
            x, k = integers(8, n, 16), integers(window, 16, 64)
            compare(x, k, (rate,), [(low, high)])


@pytest.mark.parametrize("rates", [(2, 2), (1, 3), (4, 1), (2, 3), (4, 4)])
@pytest.mark.parametrize("window", [(1, 1), (3, 3), (4, 2), (5, 3)])
@pytest.mark.parametrize("groups", [1, 4])
def test_pictures(rates, window, groups):
    x, k = integers(3, 7, 6, 8), integers(*window, 8 // groups, 16)
    for padding in ([(2, 1), (1, 2)], [(4, 4), (5, 3)], [(3, 0), (2, 0)]):
        compare(x, k, rates, padding, groups)


def test_blocks():
    compare(integers(2, 4, 5, 3, 6), integers(3, 2, 3, 6, 8), (2, 2, 2), [(1, 2), (1, 1), (2, 2)])


@pytest.mark.parametrize("strides", [(2, 2), (3, 2), (2, 1)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_gradients_of_strides(strides, padding):
    """What a convolution with strides gives back to its image: a product with itself, turned."""
    x, k = integers(2, 13, 12, 8), integers(3, 4, 8, 16)
    f = lambda x: jax.lax.conv_general_dilated(
        x, k, strides, padding, dimension_numbers=SPATIAL[2])  # fmt: skip
    ct = integers(*jax.eval_shape(f, x).shape)
    (found,) = jax.jit(lambda ct: jax.vjp(f, x)[1](ct))(ct)
    moved = integers(2, 13, 12, 8)[::-1]
    assert float((found * moved).sum()) == float((jax.jit(f)(jnp.asarray(moved)) * ct).sum())


def test_no_zeros_are_multiplied():
    x, k = jnp.ones((4, 16, 16, 32)), jnp.ones((4, 4, 32, 16))
    f = lambda x: jax.lax.conv_transpose(x, k, (2, 2), "SAME")
    text = jax.explain(f, x, rounds=1).as_text("kernels")
    assert text.count("] contraction") == 4 and "[4, 32, 32, 32" not in text
