"""Stacks that are reduced along their own axis are not stored."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

RNG = np.random.default_rng(0)


def parts_of(dtype, count, shape=(40, 5)):
    made = RNG.integers(-3 if dtype[0] in "if" else 0, 4, (count, *shape)).astype(dtype)
    if dtype[0] == "f":
        made[RNG.random(made.shape) < 0.2] = np.nan
        made[RNG.random(made.shape) < 0.2] = -0.0
        made[:, 0, 0] = [-np.inf] * count
    return list(made)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64", "float16", "float32"])
@pytest.mark.parametrize("count", [2, 3, 16, 17])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_first_extreme(name, axis, count, dtype):
    with jitney.enable_x64():
        parts = parts_of(dtype, count)
        found = jitney.jit(lambda *p: getattr(jnp, name)(jnp.stack(p, axis), axis))(*parts)
        stack = np.stack(parts, axis)
        np.testing.assert_array_equal(found, getattr(np, name)(stack, axis=axis))
        assert found.dtype == np.int64


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float32"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (0, 1, 2), (1, 2)])
def test_further_axes(axes, name, dtype):
    parts = [np.where(np.isnan(p), 1, p).astype(dtype) for p in parts_of(dtype, 3, (7, 6))]
    parts = [np.where(np.isinf(p), 1, p).astype(dtype) for p in parts]
    found = jitney.jit(lambda *p: getattr(jnp, name)(jnp.stack(p), axis=axes))(*parts)
    wide = np.stack(parts).astype("float64") if dtype[0] == "f" else np.stack(parts)
    np.testing.assert_allclose(found, getattr(wide, name)(axis=axes), rtol=2e-3)


@pytest.mark.parametrize("fun", [
    lambda x, y: jnp.select([x < -1, x < 0, x < y], [x, y, 3 * x], 0.5),
    lambda x, y: jnp.argmax(jnp.stack([x, y, x * y]), 0),
    lambda x, y: jnp.stack([x, y, x * y]).sum(),
], ids=["select", "argmax", "sum"])  # fmt: skip
def test_nothing_is_stored(fun):
    x = jnp.asarray(RNG.normal(size=100_000), jnp.float32)
    text = jitney.jit(fun).lower(x, x[::-1]).compile().as_text()
    assert int(text.split("workspace ")[1].split()[0]) < x.nbytes // 8, text
