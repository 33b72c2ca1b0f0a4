"""Convolutions of volumes, and of groups of channels, by lines of images, without patches."""

import itertools
import re

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax


def reference(x, k, strides, dilation, padding, groups=1):
    """[N, *spatial, C] with [*window, C / groups, O], in float64."""
    cut = tuple(
        slice(max(-lo, 0), n - max(-hi, 0))
        for (lo, hi), n in zip(padding, x.shape[1:-1], strict=True)
    )
    x = x[(slice(None), *cut)].astype(np.float64)
    x = np.pad(x, [(0, 0), *[(max(lo, 0), max(hi, 0)) for lo, hi in padding], (0, 0)])
    *window, features, results = k.shape
    geometry = list(zip(x.shape[1:-1], window, strides, dilation, strict=True))
    out = [(n - (w - 1) * d - 1) // s + 1 for n, w, s, d in geometry]
    total = np.zeros((x.shape[0], *out, results))
    for place in itertools.product(*map(range, window)):
        part = x
        for axis, (i, m, (_, _, s, d)) in enumerate(zip(place, out, geometry, strict=True), 1):
            part = np.take(part, i * d + s * np.arange(m), axis)
        for group in range(groups):
            mine = slice(group * results // groups, (group + 1) * results // groups)
            some = part[..., group * features : (group + 1) * features]
            total[..., mine] += some @ k[place][:, mine].astype(np.float64)
    return total


CASES = [
    # image, channels, results, groups, window, strides, dilation, padding
    ((7, 9, 20), 8, 8, 1, (3, 3, 3), (1, 1, 1), (1, 1, 1), ((1, 1), (1, 1), (1, 1))),
    ((9, 8, 40), 5, 9, 1, (2, 3, 4), (2, 1, 2), (1, 2, 1), ((0, 1), (2, 2), (3, 1))),
    ((9, 8, 40), 4, 16, 1, (3, 1, 5), (1, 1, 1), (2, 1, 2), ((-1, 2), (1, 0), (0, -3))),
    ((6, 7, 18), 16, 16, 2, (3, 3, 3), (1, 1, 1), (1, 1, 1), ((1, 1), (1, 1), (1, 1))),
    ((3, 4, 5, 17), 4, 8, 1, (2, 2, 2, 3), (1, 2, 1, 1), (1, 1, 2, 1), ((1, 0),) * 4),
    ((12, 18), 16, 24, 2, (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
    ((12, 40), 40, 80, 5, (1, 3), (2, 2), (1, 1), ((0, 2), (1, 1))),
    ((9, 32), 16, 16, 2, (3, 3), (1, 1), (1, 2), ((2, -1), (2, 2))),
    ((50,), 32, 64, 4, (5,), (1,), (3,), ((3, 4),)),
]


@pytest.mark.parametrize("first", [False, True], ids=["channels last", "channels first"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[1]}-{c[2]} in {c[3]}, {c[4]}")
def test_against_numpy(case, first):
    image, channels, results, groups, window, strides, dilation, padding = case
    rank, rng = len(image), np.random.default_rng(channels + len(image))
    x = rng.standard_normal((2, *image, channels)).astype(np.float32)
    k = rng.standard_normal((*window, channels // groups, results)).astype(np.float32)
    wanted = reference(x, k, strides, dilation, padding, groups)
    spatial = range(1, rank + 1)
    spec = (0, rank + 1, *spatial)
    if first:
        x, wanted, spec = np.moveaxis(x, -1, 1), np.moveaxis(wanted, -1, 1), range(rank + 2)
    spec = tuple(spec)
    numbers = lax.ConvDimensionNumbers(spec, (rank + 1, rank, *range(rank)), spec)
    found = jitney.jit(lambda x, k: lax.conv_general_dilated(
        x, k, strides, padding, rhs_dilation=dilation, dimension_numbers=numbers,
        feature_group_count=groups))(x, k)  # fmt: skip
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4)


def test_no_patches_of_volumes_are_stored():
    x = np.ones((1, 16, 32, 32, 16), np.float32)
    fun = lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")
    )
    compiled = jitney.jit(fun).lower(x, np.ones((3, 3, 3, 16, 16), np.float32)).compile()
    workspace = int(re.search(r"workspace (\d+) bytes", compiled.as_text())[1])
    assert workspace <= 6 * x.nbytes  # patches are 27 of it


@pytest.mark.parametrize("groups", [1, 2])
def test_gradients(groups):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 5, 6, 17, 16)).astype(np.float32)
    k = rng.standard_normal((3, 3, 3, 16 // groups, 16)).astype(np.float32) / 10

    def loss(x, k):
        y = lax.conv_general_dilated(
            x, k, (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"),
            feature_group_count=groups,
        )  # fmt: skip
        return jnp.sum(jnp.sin(y))

    slopes = jitney.jit(jitney.grad(loss, (0, 1)))(x, k)
    same = ((1, 1),) * 3
    for which, slope in enumerate(slopes):
        step = rng.standard_normal(slope.shape).astype(np.float32)
        ends = []
        for sign in (1, -1):
            moved = [x, k]
            moved[which] = moved[which].astype(np.float64) + sign * 1e-4 * step
            ends.append(np.sin(reference(*moved, (1,) * 3, (1,) * 3, same, groups)).sum())
        wanted = (ends[0] - ends[1]) / 2e-4
        np.testing.assert_allclose(np.vdot(slope, step), wanted, rtol=1e-3, atol=2e-2)
