"""Convolutions with few results: lanes are places, and one kernel reads the image for all."""

import itertools

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax


def reference(x, k, strides, dilation, padding):
    """[N, *spatial, C] with [*window, C, O], in float64."""
    x = np.pad(x.astype(np.float64), [(0, 0), *padding, (0, 0)])
    window, total = k.shape[:-2], 0
    out = [
        (n - (w - 1) * d - 1) // s + 1
        for n, w, d, s in zip(x.shape[1:-1], window, dilation, strides, strict=True)
    ]
    for place in itertools.product(*map(range, window)):
        at = tuple(
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(place, dilation, out, strides, strict=True)
        )
        total = total + x[(slice(None), *at)] @ k[place].astype(np.float64)
    return total


CASES = [
    # image, channels, results, window, strides, dilation, padding
    ((20, 33), 64, 3, (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
    ((20, 33), 9, 1, (5, 4), (2, 1), (1, 1), ((2, 2), (1, 2))),
    ((20, 40), 17, 4, (3, 3), (1, 1), (2, 3), ((0, 3), (3, 3))),
    ((20, 33), 64, 5, (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
    ((20, 33), 24, 7, (3, 3), (2, 2), (1, 1), ((1, 0), (0, 1))),
    ((20, 40), 40, 2, (3, 3), (1, 2), (1, 1), ((1, 1), (1, 1))),
    ((100,), 32, 2, (7,), (1,), (1,), ((3, 3),)),
    ((100,), 32, 3, (7,), (1,), (2,), ((6, 6),)),
    ((8, 9, 20), 8, 3, (3, 3, 3), (1, 1, 1), (1, 1, 1), ((1, 1), (1, 1), (1, 1))),
    ((9, 9), 64, 2, (3, 3), (1, 1), (1, 1), ((0, 0), (0, 0))),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("is_last", [True, False])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[1]} of {c[0]} to {c[2]}, {c[3]}")
def test_against_numpy(case, is_last, dtype):
    image, channels, results, window, strides, dilation, padding = case
    rng = np.random.default_rng(channels)
    with jitney.enable_x64():
        x = rng.standard_normal((2, *image, channels)).astype(dtype)
        k = rng.standard_normal((*window, channels, results)).astype(dtype)
        wanted = reference(x, k, strides, dilation, padding)
        rank = len(image)
        letters = "DHW"[3 - rank :]
        numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
        if not is_last:
            numbers = (f"NC{letters}", f"OI{letters}", f"NC{letters}")
            x = x.transpose(0, rank + 1, *range(1, rank + 1))
            k = k.transpose(rank + 1, rank, *range(rank))
        fun = jitney.jit(lambda x, k: lax.conv_general_dilated(
            x, k, strides, padding, rhs_dilation=dilation, dimension_numbers=numbers))  # fmt: skip
        found = np.asarray(fun(x, k))
        if not is_last:
            found = found.transpose(0, *range(2, rank + 2), 1)
        assert found.dtype == dtype
        tolerance = 1e-4 if dtype == "float32" else 1e-10
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=100 * tolerance)


def test_the_image_is_read_by_one_kernel():
    x, k = jnp.ones((8, 32, 32, 64)), jnp.ones((3, 3, 64, 3))
    fun = lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    text = jitney.jit(fun).lower(x, k).compile().as_text()
    sums = [part for part in text.split("\n[") if "sum" in part.splitlines()[0]]
    assert len(sums) == 1 and "contraction" not in text, "and no patches are multiplied"
    assert int(text.split("workspace ")[1].split()[0]) < 1.5 * x.nbytes
