"""Rows in a pipeline whose stages are two rows apart: the same, whatever their number."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target
from jitney.fuse import write_kernel

WIDE = host_target().avx512  # else rows with exponentials are done stage after stage
COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 33, 70)


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def of_first_sums(x):
    """What the first stage saves the second one reads."""
    powers = jnp.exp(jnp.sin(x))
    return powers / powers.sum(-1, keepdims=True)


def gradient(x):
    """Two saved rows, and two arrays of which each stage reads one."""
    weights = jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape)
    return jax.vjp(layer_norm, x)[1](weights)[0]


PROGRAMS = {
    "softmax": jax.nn.softmax,
    "its logarithm": jax.nn.log_softmax,
    "with a mask": lambda x: jax.nn.softmax(jnp.where(x > -0.5, x, -jnp.inf)),
    "entropy": lambda x: -(jax.nn.softmax(x) * jax.nn.log_softmax(x)).sum(-1),
    "layer norm": layer_norm,
    "its gradient": gradient,
    "the logarithm of variances": lambda x: jnp.log(x.var(-1)),
    "of first sums": of_first_sums,
    "and of columns": lambda x: jax.nn.softmax(x.T, 0),
    "two results": lambda x: (jax.nn.softmax(x), x - x.max(-1, keepdims=True)),
    "three axes": lambda x: jax.nn.softmax(x.reshape(1, *x.shape)[:, ::-1]),
}
APART = ("softmax", "its logarithm", "layer norm", "of first sums")


def rows(count, width, dtype="float32"):
    return np.random.default_rng(count).standard_normal((count, width)).astype(dtype)


def is_apart(fun, x) -> bool:
    return " apart 2" in jax.explain(fun, x, rounds=1).as_text("kernels")


@pytest.fixture
def close_together(monkeypatch):
    """Makes programs whose stages are one row apart, of which nothing is kept."""
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")

    def make(fun):
        monkeypatch.setattr(write_kernel, "space_rows", lambda *_: None)
        jax.clear_caches()
        return jax.jit(lambda x: fun(x))  # noqa: PLW0108 - of its own, which nothing knows

    yield make
    jax.clear_caches()


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_bit(name, close_together):
    cases = [rows(count, width) for width in (100, 128, 301) for count in COUNTS]
    program = jax.jit(PROGRAMS[name])
    found = [jax.tree.leaves(program(x)) for x in cases]
    other = close_together(PROGRAMS[name])
    assert not is_apart(other, cases[-1])
    for x, leaves in zip(cases, found, strict=True):
        for a, b in zip(leaves, jax.tree.leaves(other(x)), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", APART)
def test_which_are_apart(name):
    assert is_apart(PROGRAMS[name], rows(200, 200)) or not WIDE
    assert not is_apart(PROGRAMS[name], rows(64, 4000))  # which the first cache would not hold
    assert not is_apart(PROGRAMS[name], rows(64, 40))  # turned


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_number_of_threads(name):
    x = rows(1003, 200)
    program, results = jax.jit(PROGRAMS[name]), []
    for threads in (1, 2, 3):
        jax._native.set_num_threads(threads)
        results.append(jax.tree.leaves(program(x)))
    jax._native.set_num_threads(0)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_numbers_that_are_none(dtype):
    """They stay in their rows, as do those of rows that are redone."""
    x = rows(40, 130)
    x[0, 7], x[1], x[5, 3], x[38], x[39, 129], x[20, 4] = np.nan, -np.inf, np.inf, 0, np.nan, 80.0
    x = jnp.asarray(x).astype(dtype)
    for fun in (jax.nn.softmax, jax.nn.log_softmax, layer_norm):
        whole = np.asarray(jax.jit(fun)(x).astype(jnp.float32))
        parts = [jax.jit(fun)(x[i : i + 1]).astype(jnp.float32) for i in range(40)]
        tolerance = 2e-5 if dtype == "float32" else 2e-2
        np.testing.assert_allclose(whole, np.concatenate(parts), rtol=tolerance, atol=tolerance)
