"""Scatters of windows of whole vectors: the bits of one element after the other."""

import numpy as np
import pytest

import jitney as jax

SPECIAL = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.5, -2.0]


def bits(x):
    return np.asarray(x).view(f"u{x.dtype.itemsize}")


def extreme(a, b, greatest):
    """NaN beats everything, the first NaN stays, -0 < +0."""
    less = (a < b) | ((a == b) & np.signbit(a) & ~np.signbit(b))
    found = np.where(less == greatest, b, a)
    return np.where(np.isnan(a), a, np.where(np.isnan(b), b, found))


STEPS = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "max": lambda a, b: extreme(a, b, True),
    "min": lambda a, b: extreme(a, b, False),
    "set": lambda a, b: b,
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [4, 8, 12, 16, 20, 24, 32, 36, 100])
def test_bits(width, dtype, name):
    rng = np.random.default_rng(width)
    with jax.enable_x64():
        is_extreme = name in ("max", "min")
        draw = lambda *s: rng.choice(SPECIAL, s) if is_extreme else rng.standard_normal(s)
        out, updates = draw(30, width).astype(dtype), draw(200, width).astype(dtype)
        places = rng.integers(0, 33, 200)
        apply = lambda o, i, u: getattr(o.at[i], name)(u, mode="drop")
        found = jax.jit(apply)(out, places, updates)
        want = out.copy()
        for i, u in zip(places, updates, strict=True):
            if 0 <= i < 30:
                want[i] = STEPS[name](want[i], u)
        np.testing.assert_array_equal(bits(found), bits(want))
