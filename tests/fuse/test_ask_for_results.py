"""Lines of results that are asked for where the third cache is far: the same results."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import pipeline
from jitney.backend.host import host_target

TARGET = host_target()
FAR, NEAR = TARGET._replace(l2_bytes=2 << 20), TARGET._replace(l2_bytes=1 << 20)


def layer_norm(x, axis):
    return (x - x.mean(axis, keepdims=True)) * jax.lax.rsqrt(x.var(axis, keepdims=True) + 1e-5)


def five_points(x):
    return x.at[1:-1, 1:-1].set(x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])


ASKED = {
    "softmax of rows": lambda x: jax.nn.softmax(x, -1),
    "softmax of columns": lambda x: jax.nn.softmax(x, 0),
    "layer norm of rows": lambda x: layer_norm(x, -1),
    "layer norm of columns": lambda x: layer_norm(x, 0),
    "short floats": lambda x: jax.nn.softmax(jnp.concatenate([x, x]), -1).astype(jnp.bfloat16),
    "in another array": lambda x: jnp.zeros((x.shape[0] + 9, x.shape[1])).at[4:-5].set(
        jax.nn.softmax(x, -1)),
    "five points": five_points,
    "differences along rows": lambda x: x[:, 1:] - x[:, :-1],
}  # fmt: skip
PIPELINES = ("softmax of rows", "short floats", "in another array")  # with AVX-512
NOT_ASKED = {
    "one array along another": lambda x: jnp.exp(x),
    "sums": lambda x: x.sum(-1),
    "log-sum-exp": lambda x: jax.nn.logsumexp(x, -1),
    "transposed": lambda x: x.T + x.T,
}


def numbers(shape=(450, 410), seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


@pytest.fixture
def machine(monkeypatch):
    """Calls that make it one or the other."""

    def become(target):
        monkeypatch.setenv("JITNEY_CACHE_DIR", "")
        monkeypatch.setattr(pipeline, "host_target", lambda: target)
        jax.clear_caches()

    yield become
    jax.clear_caches()


def asks(fun, x) -> bool:
    return " asks for results" in jax.explain(fun, x, rounds=1).as_text("kernels")


@pytest.mark.parametrize("name", ASKED)
def test_every_bit(name, machine):
    if name in PIPELINES and not TARGET.avx512:
        pytest.skip("its rows are no pipeline")
    fun, x = ASKED[name], numbers()
    machine(NEAR)
    assert not asks(fun, x)
    want = np.asarray(jax.jit(lambda x: fun(x))(x))
    machine(FAR)
    assert asks(fun, x)
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: fun(x))(x)), want)


@pytest.mark.parametrize("name", NOT_ASKED)
def test_others(name, machine):
    machine(FAR)
    assert not asks(NOT_ASKED[name], numbers())


@pytest.mark.parametrize("shape", [(200, 300), (4096, 3000)])
def test_what_lies_near_or_goes_past_the_caches(shape, machine):
    machine(FAR._replace(far_bytes=22 << 20))
    assert not asks(ASKED["softmax of rows"], numbers(shape))


@pytest.mark.parametrize("shape", [(16, 64, 128), (40, 33, 48)])
def test_stencils_of_three_axes_without_blocks(shape, machine):
    x = numbers(shape)
    fun = lambda x: sum(jnp.roll(x, s, a) for a in range(3) for s in (-1, 1)) - 6 * x
    want = sum(np.roll(x, s, a) for a in range(3) for s in (-1, 1)) - 6 * x
    for target in (FAR, NEAR):
        machine(target)
        got = jax.jit(lambda x: fun(x))(x)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [56, 57])
def test_windows_that_jump(size, machine):
    """Pooling by 2 x 2: rows that are read jump, those that are written follow one another."""
    x = np.random.default_rng(1).standard_normal((8, size, size, 64)).astype("float32")
    window = (1, 2, 2, 1)
    pool = lambda x: jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, window, "VALID")
    half = 2 * (size // 2)
    want = x[:, :half, :half].reshape(8, half // 2, 2, half // 2, 2, 64).max((2, 4))
    for target in (FAR, NEAR):
        machine(target)
        np.testing.assert_array_equal(jax.jit(lambda x: pool(x))(x), want)
