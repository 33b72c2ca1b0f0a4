"""Convolutions of many kernel elements on one feature: sums over windows, wherever channels lie."""

import itertools
import re

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax


def reference(x, k, strides, dilation, padding):
    """[N, H, W, C] with [h, w, 1, C], in float64."""
    x = np.pad(x.astype(np.float64), [(0, 0), *padding, (0, 0)])
    h, w = k.shape[:2]
    rows = (x.shape[1] - (h - 1) * dilation[0] - 1) // strides[0] + 1
    columns = (x.shape[2] - (w - 1) * dilation[1] - 1) // strides[1] + 1
    total = np.zeros((x.shape[0], rows, columns, x.shape[3]))
    for i, j in itertools.product(range(h), range(w)):
        top, left = i * dilation[0], j * dilation[1]
        part = x[:, top : top + (rows - 1) * strides[0] + 1 : strides[0]]
        part = part[:, :, left : left + (columns - 1) * strides[1] + 1 : strides[1]]
        total += part * k[i, j, 0].astype(np.float64)
    return total


def convolved(x, k, layout, strides=(1, 1), dilation=(1, 1), padding=((0, 0), (0, 0))):
    channels = x.shape[-1]
    numbers = ("NHWC", "HWIO", "NHWC")
    if layout == "NCHW":
        x, k = x.transpose(0, 3, 1, 2), k.transpose(3, 2, 0, 1)
        numbers = ("NCHW", "OIHW", "NCHW")

    def fun(x, k):
        return lax.conv_general_dilated(
            x, k, strides, padding, rhs_dilation=dilation, dimension_numbers=numbers,
            feature_group_count=channels,
        )  # fmt: skip

    compiled = jitney.jit(fun).lower(jnp.asarray(x), jnp.asarray(k)).compile()
    y = np.asarray(compiled(jnp.asarray(x), jnp.asarray(k)))
    return (y.transpose(0, 2, 3, 1) if layout == "NCHW" else y), compiled


CASES = [
    # image, channels, window, strides, dilation, padding
    ((40, 37), 1, (9, 9), (1, 1), (1, 1), ((4, 4), (4, 4))),
    ((40, 37), 1, (3, 31), (2, 1), (1, 1), ((0, 1), (15, 15))),
    ((30, 31), 16, (5, 5), (1, 1), (1, 1), ((2, 2), (2, 2))),
    ((30, 31), 17, (7, 3), (1, 2), (2, 1), ((3, 2), (1, 0))),
    ((30, 31), 20, (5, 5), (1, 1), (3, 2), ((-1, 2), (6, -2))),
    ((24, 24), 3, (9, 8), (1, 1), (1, 1), ((8, 8), (7, 7))),
    ((70, 9), 33, (17, 1), (1, 1), (1, 1), ((8, 8), (0, 0))),
]


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[1]} channels, {c[2]}")
def test_against_numpy(case, layout):
    image, channels, window, strides, dilation, padding = case
    rng = np.random.default_rng(channels)
    x = rng.standard_normal((2, *image, channels)).astype(np.float32)
    k = rng.standard_normal((*window, 1, channels)).astype(np.float32)
    cut = [(max(lo, 0), max(hi, 0)) for lo, hi in padding]
    inside = tuple(
        slice(max(-lo, 0), n - max(-hi, 0)) for (lo, hi), n in zip(padding, image, strict=True)
    )
    wanted = reference(x[:, inside[0], inside[1]], k, strides, dilation, cut)
    found, _ = convolved(x, k, layout, strides, dilation, padding)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_halves_are_summed_in_float32(dtype):
    rng = np.random.default_rng(0)
    x = np.asarray(jnp.asarray(rng.standard_normal((1, 20, 20, 16)), dtype))
    k = np.asarray(jnp.asarray(rng.standard_normal((7, 7, 1, 16)), dtype))
    wanted = reference(x, k, (1, 1), (1, 1), ((3, 3), (3, 3)))
    found, _ = convolved(x, k, "NHWC", padding=((3, 3), (3, 3)))
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=1e-2, atol=2e-2)


def test_what_is_not_a_number_reaches_what_it_should():
    x = np.zeros((1, 30, 30, 16), np.float32)
    x[0, 10, 12, 5] = np.nan
    found, _ = convolved(x, np.ones((5, 5, 1, 16), np.float32), "NCHW", padding=((2, 2), (2, 2)))
    wanted = np.zeros((30, 30, 16), bool)
    wanted[8:13, 10:15, 5] = True
    np.testing.assert_array_equal(np.isnan(found[0]), wanted)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("channels", [1, 16])
def test_no_patches_are_stored(layout, channels):
    x = np.ones((1, 128, 128, channels), np.float32)
    _, compiled = convolved(x, np.ones((15, 15, 1, channels), np.float32), layout)
    workspace = int(re.search(r"workspace (\d+) bytes", compiled.as_text())[1])
    assert workspace <= 4 * x.nbytes


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_integers_are_summed_exactly(dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (1, 20, 21, 16)).astype(dtype)
    k = rng.integers(0, 9, (5, 5, 1, 16)).astype(dtype)
    wanted = reference(x, k, (1, 1), (1, 1), ((2, 2), (2, 2)))
    for layout in ("NHWC", "NCHW"):
        found, _ = convolved(x, k, layout, padding=((2, 2), (2, 2)))
        np.testing.assert_array_equal(found, wanted.astype(np.int64).astype(dtype))


@pytest.mark.parametrize("numbers", [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")])
def test_gradients(numbers):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 16, 17, 16)).astype(np.float32)
    k = rng.standard_normal((5, 5, 1, 16)).astype(np.float32) / 5
    is_last = numbers[0] == "NHWC"

    def loss(x, k):
        y = lax.conv_general_dilated(x, k, (1, 1), "SAME", feature_group_count=16,
                                     dimension_numbers=numbers)  # fmt: skip
        return jnp.sum(jnp.sin(y))

    given = (x, k) if is_last else (x.transpose(0, 3, 1, 2), k.transpose(3, 2, 0, 1))
    of_x, of_k = map(np.asarray, jitney.jit(jitney.grad(loss, (0, 1)))(*given))
    if not is_last:
        of_x, of_k = of_x.transpose(0, 2, 3, 1), of_k.transpose(2, 3, 1, 0)
    slope = np.cos(reference(x, k, (1, 1), (1, 1), ((2, 2), (2, 2))))
    wanted = reference(slope, k[::-1, ::-1], (1, 1), (1, 1), ((2, 2), (2, 2)))
    np.testing.assert_allclose(of_x, wanted, rtol=1e-3, atol=1e-3)
    padded = np.pad(x.astype(np.float64), [(0, 0), (2, 2), (2, 2), (0, 0)])
    for i, j in itertools.product(range(5), range(5)):
        part = padded[:, i : i + 16, j : j + 17]
        wanted = (part * slope).sum((0, 1, 2))
        np.testing.assert_allclose(of_k[i, j, 0], wanted, rtol=1e-3, atol=2e-3)


OF_KERNELS = [
    # image, channels, window, strides, dilation
    ((28, 27), 12, (7, 7), (1, 1), (1, 1)),
    ((30, 31), 16, (3, 3), (2, 1), (1, 1)),
    ((30, 31), 5, (3, 2), (1, 3), (2, 1)),
    ((3, 4), 8, (3, 3), (1, 1), (1, 1)),
    ((60, 1), 7, (4, 1), (1, 1), (1, 1)),
]


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("case", OF_KERNELS, ids=lambda c: f"{c[1]} channels, {c[2]}")
def test_gradients_of_kernels(case, layout):
    """Each element's is the product of the slope with what a kernel of that element alone gives."""
    image, channels, window, strides, dilation = case
    rng = np.random.default_rng(channels)
    x = rng.standard_normal((3, *image, channels)).astype(np.float32)
    padding = tuple((d * (n - 1) // 2, d * n // 2) for n, d in zip(window, dilation, strict=True))
    numbers = ("NHWC", "HWIO", "NHWC") if layout == "NHWC" else ("NCHW", "OIHW", "NCHW")
    turned = (lambda a, *axes: a) if layout == "NHWC" else np.transpose

    def fun(k):
        return lax.conv_general_dilated(
            turned(x, (0, 3, 1, 2)), k, strides, padding, rhs_dilation=dilation,
            dimension_numbers=numbers, feature_group_count=channels,
        )  # fmt: skip

    k = turned(np.ones((*window, 1, channels), np.float32), (3, 2, 0, 1))
    slope = rng.standard_normal(fun(jnp.asarray(k)).shape).astype(np.float32)
    compiled = jitney.jit(lambda k: jitney.vjp(fun, k)[1](jnp.asarray(slope))[0])
    found = turned(np.asarray(compiled(jnp.asarray(k))), (2, 3, 1, 0))
    slope = turned(slope, (0, 2, 3, 1)).astype(np.float64)
    for i, j in itertools.product(*map(range, window)):
        alone = np.zeros((*window, 1, channels))
        alone[i, j] = 1
        wanted = (reference(x, alone, strides, dilation, padding) * slope).sum((0, 1, 2))
        np.testing.assert_allclose(found[i, j, 0], wanted, rtol=1e-3, atol=1e-3)
