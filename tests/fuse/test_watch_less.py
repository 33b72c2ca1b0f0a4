"""Maxima that do not watch for NaN: rows with one are NaN all the same."""

import numpy as np
import pytest
import scipy.special

import jitney
import jitney.nn
import jitney.numpy as jnp

PROGRAMS = {
    "softmax": jitney.nn.softmax,
    "log softmax": jitney.nn.log_softmax,
    "log-sum-exp": jitney.nn.logsumexp,
    "entropy": lambda x, axis: (
        jitney.nn.log_softmax(x, axis) * jitney.nn.softmax(x, axis)
    ).sum(axis),
}
SHAPES = [(3, 7), (40, 20), (50, 90), (300, 300), (70, 1025), (9, 5000)]


def is_unwatched(fun, shape) -> bool:
    return " unwatched" in jitney.jit(fun).lower(np.ones(shape, np.float32)).compile().as_text()


def plain(name, x, axis):
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        power = np.exp(x - x.max(axis, keepdims=True))
        total = power.sum(axis, keepdims=True)
        logarithm = x - x.max(axis, keepdims=True) - np.log(total)
        return {"softmax": power / total, "log softmax": logarithm,
                "log-sum-exp": scipy.special.logsumexp(x, axis),
                "entropy": (logarithm * power / total).sum(axis)}[name]  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_with_nan_and_infinities(name, shape, axis):
    x = np.random.default_rng(shape[0]).normal(0, 3, shape).astype(np.float32)
    n = min(shape)
    for k, value in enumerate((np.nan, np.inf, 3e38, np.nan, -3e38)):
        x[k % n, (5 * k) % n] = value
    x[n - 1, n - 2], x[n - 2, 0] = np.nan, 1e30
    got = jitney.jit(lambda x: PROGRAMS[name](x, axis=axis))(x)
    np.testing.assert_allclose(got, plain(name, x, axis), rtol=2e-4, atol=2e-5)


def test_a_row_of_nan_alone():
    for shape in ((64, 300), (64, 30)):
        x = np.zeros(shape, np.float32)
        x[7] = np.nan
        got = np.asarray(jitney.jit(jitney.nn.softmax)(x))
        assert np.isnan(got[7]).all() and np.isfinite(np.delete(got, 7, 0)).all()


def test_which_maxima_are_unwatched():
    assert is_unwatched(jitney.nn.softmax, (64, 300))
    assert is_unwatched(lambda x: jitney.nn.log_softmax(x, 0), (300, 300))

    def with_powers(x):
        power = jnp.exp(x - x.max(-1, keepdims=True))
        return power, power.sum(-1)

    assert not is_unwatched(with_powers, (64, 300))  # elements beside a NaN are stored
    assert is_unwatched(lambda x: jitney.nn.logsumexp(x, -1), (64, 300))
    with jitney.enable_x64(True):  # infinity is told by the greatest alone
        wide = jitney.jit(lambda x: jitney.nn.logsumexp(x, -1)).lower(np.ones((64, 300)))
        assert " unwatched" not in wide.compile().as_text()
    assert not is_unwatched(lambda x: x.max(-1), (64, 300))
    assert not is_unwatched(lambda x: x == x.max(-1, keepdims=True), (64, 300))


def test_powers_beside_a_nan_are_nan():
    def with_powers(x):
        power = jnp.exp(x - x.max(-1, keepdims=True))
        return power, power / power.sum(-1, keepdims=True)

    x = np.zeros((64, 300), np.float32)
    x[3, 200] = np.nan
    for result in jitney.jit(with_powers)(x):
        assert np.isnan(np.asarray(result)[3]).all() and np.isfinite(np.asarray(result)[4]).all()
