"""Exponentials divided by their sum with multiplications: as division rounds, of any numbers."""

import re

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.testing.stages import check_all_stages


def shares(x, axis=-1):
    """Exponentials, their sums, and the quotients, which one kernel computes."""
    e = jnp.exp(x)
    s = e.sum(axis, keepdims=True)
    return e, s, e / s


def is_multiplied(fun, *arguments) -> bool:
    """Whether all that is divided is 1, by a row's sum."""
    text = jax.explain(fun, *arguments, rounds=1).as_text("kernels")
    ones = re.findall(r"(e\d+):f32=const 1065353216 ", text)
    divided = re.findall(r"=div  (e\d+) ", text)
    return bool(divided) and set(divided) <= set(ones)


def numbers(shape, scale=5.0, seed=0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype("float32")


def softmax(x, axis):
    return jax.nn.softmax(x, axis)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(300, 400), (128, 1000), (1001, 130), (64, 64)])
def test_softmax(shape, axis):
    x = numbers(shape)
    assert is_multiplied(lambda x: softmax(x, axis), x)
    wide = np.exp((x - x.max(axis, keepdims=True)).astype("f8"))
    expected = wide / wide.sum(axis, keepdims=True)
    np.testing.assert_allclose(jax.jit(lambda x: softmax(x, axis))(x), expected, rtol=1e-5)


def test_softmax_is_good_to_the_distances():
    """Each is off by what rounding its distance d from the greatest does, |d| 2^-24 of it, about as
    much again, and a few places."""
    x = numbers((500, 300), 20.0)
    got = np.asarray(jax.jit(lambda x: softmax(x, -1))(x), float)
    wide = x.astype(float) - x.max(-1, keepdims=True)
    expected = np.exp(wide) / np.exp(wide).sum(-1, keepdims=True)
    normal = expected > 2.0**-126
    off = np.abs(got - expected)[normal] / expected[normal] * 2.0**24
    assert (off <= 6 + 1.5 * np.abs(wide[normal])).all()
    equal = np.asarray(jax.jit(lambda x: softmax(x, -1))(np.full((70, 100), 7.0, "float32")))
    assert (equal == np.float32(0.01)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [0.1, 5.0, 20.0])
def test_as_division_rounds(dtype, scale):
    """Nothing is allowed but the last place, once in millions of quotients."""
    with jax.enable_x64(True):
        x = numbers((2000, 500), scale).astype(dtype)
        x = x - x.max(-1, keepdims=True)
        e, s, q = map(np.asarray, jax.jit(shares)(x))
        different = q != e / s
        assert different.sum() <= 2
        np.testing.assert_allclose(q, e / s, rtol=3e-7 if dtype == "float32" else 3e-16)


EXTREMES = {
    "subnormal": np.linspace(-103, -87, 256),
    "one that counts": np.where(np.arange(256) == 3, -80.0, -103.0),
    "all the least": np.full(256, -103.2),
    "nothing": np.full(256, -1000.0),
    "minus infinity": np.full(256, -np.inf),
    "some minus infinity": np.where(np.arange(256) % 3, -np.inf, 0.5),
    "infinity": np.where(np.arange(256) == 7, np.inf, 0.0),
    "too large": np.full(256, 89.0),
    "sum too large": np.full(256, 88.0),
    "nearly too large": np.full(256, 83.0),
    "NaN": np.where(np.arange(256) == 200, np.nan, 0.0),
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name, axis):
    x = np.stack([EXTREMES[name].astype("float32")] * 64)
    x = x.T.copy() if axis == 0 else x
    fun = lambda x: shares(x, axis)
    e, s, q = map(np.asarray, jax.jit(fun)(x))
    with np.errstate(all="ignore"):
        expected = e / s
    np.testing.assert_allclose(q, expected, rtol=2e-7, atol=1.5e-45)


def test_what_is_no_share_is_divided():
    x = numbers((100, 200))
    for fun in (
        lambda x: x / x.sum(-1, keepdims=True),
        lambda x: jnp.exp(x) / jnp.exp(2 * x).sum(-1, keepdims=True),
        lambda x: jnp.exp(x) / jnp.exp(x).max(-1, keepdims=True),
        lambda x: jax.nn.softmax(x[:, :16], -1),
    ):
        assert not is_multiplied(fun, x)


def test_every_stage_agrees():
    check_all_stages(jax.nn.softmax, numbers((6, 100)))
