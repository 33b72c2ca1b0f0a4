"""Convolutions that read the image where it lies, against patches in NumPy and as elsewhere."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.lower import conv
from jitney.testing.stages import check_all_stages

RNG = np.random.default_rng(0)
# (places, window, features, results, strides, padding, dilation of the window, of the image)
CASES = {
    "a square": ((2, 20, 24, 8), (3, 3), 12, (1, 1), "SAME", (1, 1), (1, 1)),
    "strides": ((2, 21, 41, 8), (3, 3), 12, (3, 2), "SAME", (1, 1), (1, 1)),
    "no border": ((1, 18, 20, 16), (2, 4), 9, (1, 1), "VALID", (1, 1), (1, 1)),
    "far lines": ((1, 24, 20, 8), (3, 2), 9, (1, 1), "SAME", (4, 1), (1, 1)),
    "one column": ((1, 24, 20, 8), (3, 1), 9, (1, 1), "SAME", (1, 3), (1, 1)),
    "transposed": ((1, 10, 12, 8), (3, 3), 9, (1, 1), [(2, 2), (1, 2)], (1, 1), (2, 2)),
    "negative border": ((1, 12, 30, 8), (3, 3), 9, (1, 1), [(-1, 1), (2, -3)], (1, 1), (1, 1)),
    "long sums": ((1, 5, 17, 260), (3, 3), 70, (1, 1), "SAME", (1, 1), (1, 1)),
    "cut lines": ((2, 20, 40, 8), (3, 3), 9, (1, 1), "SAME", (2, 2), (1, 1)),
    "cut in three": ((2, 20, 71, 8), (2, 4), 9, (1, 1), [(0, 1), (2, 3)], (1, 3), (1, 1)),
    "cut, narrower": ((2, 20, 64, 8), (1, 3), 9, (2, 1), [(0, 0), (-3, -1)], (1, 3), (1, 1)),
    "cut, strides": ((2, 20, 41, 8), (3, 3), 9, (1, 2), "SAME", (1, 2), (1, 1)),
    "a sequence": ((3, 50, 8), (5,), 12, (1,), "SAME", (1,), (1,)),
    "far elements": ((3, 50, 8), (5,), 12, (2,), "SAME", (3,), (1,)),
    "a long window": ((2, 200, 8), (90,), 8, (1,), "VALID", (1,), (1,)),
}  # fmt: skip
LAYOUTS = {
    1: [("NWC", "WIO", "NWC"), ("NCW", "OIW", "NCW")],
    2: [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW"), ("HWNC", "HWOI", "NCHW")],
}


def draw(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def arranged(array, given, wanted):
    return np.transpose(array, [given.index(c) for c in wanted])


def case(name, layout):
    shape, window, results, strides, padding, dilation, spread = CASES[name]
    rank = len(window)
    first = LAYOUTS[rank][0]
    x = arranged(draw(*shape), first[0], layout[0])
    k = arranged(draw(*window, shape[-1], results), first[1], layout[1])

    def convolve(x, k):
        return lax.conv_general_dilated(x, k, strides, padding, spread, dilation, layout)

    return convolve, x, k


NAMES = [(n, layout) for n in CASES for layout in LAYOUTS[len(CASES[n][1])]]


@pytest.mark.parametrize(("name", "layout"), NAMES, ids=lambda v: v if isinstance(v, str) else v[0])
def test_same_as_patches(name, layout, monkeypatch):
    convolve, x, k = case(name, layout)
    result = jitney.jit(convolve)(x, k)
    with jitney.enable_x64(True), monkeypatch.context() as patch:
        patch.setattr(conv, "goes_by_lines", lambda *args: False)
        want = jitney.jit(lambda *a: convolve(*a))(x.astype(np.float64), k.astype(np.float64))
    scale = np.abs(np.asarray(want)).max()
    np.testing.assert_allclose(np.asarray(result), np.asarray(want), rtol=0, atol=3e-6 * scale)


@pytest.mark.parametrize("name", ["a square", "far lines", "a sequence", "far elements"])
def test_all_stages(name):
    convolve, x, k = case(name, LAYOUTS[len(CASES[name][1])][0])
    check_all_stages(convolve, x, k)


@pytest.mark.parametrize(("name", "layout"), NAMES, ids=lambda v: v if isinstance(v, str) else v[0])
def test_gradients(name, layout, monkeypatch):
    convolve, x, k = case(name, layout)

    def gradients(x, k):
        return jitney.grad(lambda x, k: jnp.sum(jnp.sin(convolve(x, k))), (0, 1))(x, k)

    found = jitney.jit(gradients)(x, k)
    with jitney.enable_x64(True), monkeypatch.context() as patch:
        patch.setattr(conv, "goes_by_lines", lambda *args: False)
        patch.setattr(conv, "MOST_PATCHES", 1)
        want = jitney.jit(lambda *a: gradients(*a))(x.astype(np.float64), k.astype(np.float64))
    for a, b in zip(found, want, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-4 * np.abs(b).max())


def test_nothing_is_copied_and_the_epilogue_is_fused():
    convolve, x, k = case("no border", LAYOUTS[2][0])
    bias = draw(9)
    program = jitney.jit(lambda x, k, b: jnp.maximum(convolve(x, k) + b, 0)).lower(x, k, bias)
    text = program.compile().as_text()
    assert "1 fused steps" in text
    assert "what becomes of each sum" in text
    want = np.maximum(np.asarray(convolve(x, k)) + bias, 0)
    np.testing.assert_allclose(np.asarray(program.compile()(x, k, bias)), want, atol=1e-5)


def test_not_a_number_stays_under_its_windows():
    convolve, x, k = case("a square", LAYOUTS[2][0])
    x[0, 10, 10, 3] = np.nan
    result = np.isnan(np.asarray(jitney.jit(convolve)(x, k)))
    assert result[0, 9:12, 9:12].all()
    assert result.sum() == 9 * 12


def test_images_of_planes_are_transposed_by_squares():
    """Channels that lie far apart are not looked up one by one, whether there is a border or not;
    those that are the last axis in memory are copied with their border."""
    window = draw(32, 32, 3, 3)
    planes = draw(2, 32, 40, 40)
    convolve = jitney.jit(lambda x, k: lax.conv(x, k, (1, 1), "SAME"))
    text = convolve.lower(planes, window).compile().as_text()
    assert text.count(" tile ") >= 2 and "if e" not in text and " select " not in text
    last = LAYOUTS[2][0]
    pixels = jitney.jit(
        lambda x, k: lax.conv_general_dilated(
            jnp.maximum(x, 0), k, (1, 1), "SAME", dimension_numbers=last
        )
    ).lower(draw(2, 40, 40, 32), window.transpose(2, 3, 1, 0))
    assert " tile " not in pixels.compile().as_text()
