"""Running sums, products and extremes along axes of up to 16 elements are written out."""

import ml_dtypes
import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax

SHORT = ("bfloat16", "float16")
KINDS = {
    "sum": (lax.cumsum, np.add), "prod": (lax.cumprod, np.multiply),
    "max": (lax.cummax, np.maximum), "min": (lax.cummin, np.minimum),
}  # fmt: skip


def numbers(shape, dtype):
    rng = np.random.default_rng(len(dtype) + shape[-1])
    x = rng.standard_normal(shape) * 30
    if np.dtype(dtype).kind in "iu":
        return x.astype(np.int64).astype(dtype)
    x = x.astype("float32")
    x[3, 0], x[5, 1], x[7, 0], x[9, -1] = np.nan, np.inf, -0.0, 60000
    return x.astype(dtype)


def accumulated(kind, x, axis, reverse):
    """One after the other; of short floats in float32, each rounded at the end."""
    short = x.dtype.name in SHORT
    wide = np.flip(x, axis) if reverse else x
    wide = wide.astype("float32") if short else wide
    with np.errstate(all="ignore"):
        found = KINDS[kind][1].accumulate(wide, axis=axis, dtype=wide.dtype).astype(x.dtype)
    return np.flip(found, axis) if reverse else found


def assert_equal(found, want):
    assert found.dtype == want.dtype
    if want.dtype.name == "bfloat16":  # which NumPy's comparison of NaN does not know
        found, want = found.astype("float32"), want.astype("float32")
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int8", "int32"])
@pytest.mark.parametrize("extent", [2, 3, 8, 9, 15, 16])
def test_against_numpy(extent, dtype, kind, reverse):
    with jitney.enable_x64():
        x = numbers((257, extent), np.dtype(dtype).name)
        found = np.asarray(jitney.jit(lambda x: KINDS[kind][0](x, 1, reverse))(x))
    assert_equal(found, accumulated(kind, x, 1, reverse))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(100, 3, 5), (70, 8, 2), (64, 2, 8), (90, 4, 5)])
def test_axes_before_the_last(shape, dtype):
    x = numbers(shape, dtype)
    found = jitney.jit(lambda x: jnp.cumsum(x, 1))(x)
    assert_equal(np.asarray(found), accumulated("sum", x, 1, False))


def test_short_floats_do_not_lose_what_they_add():
    """16 halves of the last place: added as bfloat16, nothing would change."""
    x = np.full((64, 16), 2.0**-8, ml_dtypes.bfloat16)
    x[:, 0] = 1
    found = np.asarray(jitney.jit(lambda x: jnp.cumsum(x, 1))(x), "float32")
    want = np.cumsum(x.astype("float32"), 1).astype(ml_dtypes.bfloat16).astype("float32")
    np.testing.assert_array_equal(found, want)
    assert found[0, -1] > 1.05


def test_no_routine_is_called():
    for dtype in ("float32", "bfloat16"):
        text = jitney.explain(lambda x: jnp.cumsum(x, 1), jnp.zeros((100, 16), dtype),
                              rounds=1).as_text("kernels")  # fmt: skip
        assert "cumsum" not in text and "1 fused steps" in text
