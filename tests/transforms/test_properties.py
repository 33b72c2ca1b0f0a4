"""Laws of transformations, over a table of functions: derivatives against differences, forward
against reverse mode, batches against loops, and products of two transformations."""

import numpy as np
import pytest
from base_functions import FUNCTIONS, POINT, REVERSE_ONLY

import jitney
import jitney.numpy as jnp

ALL = {**FUNCTIONS, **REVERSE_ONLY}
RANDOM = np.random.RandomState(0)
BATCH = np.stack([POINT, POINT[::-1] * 0.7, POINT + 0.11])
DIRECTION = np.array([0.3, -1.1, 0.5, 0.8])


@pytest.fixture(autouse=True)
def double_precision():
    with jitney.enable_x64(True):
        yield


def value(f, x):
    return np.asarray(f(jnp.asarray(x)))


def close(got, want, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tolerance, atol=tolerance)


def scalar(f):
    """A scalar function that reads every entry of the result."""
    def g(x):
        out = f(x)
        return jnp.sum(out * jnp.cos(jnp.arange(float(out.size)).reshape(out.shape)))
    return g


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jvp_is_the_difference_quotient(name):
    f, h = FUNCTIONS[name], 1e-6
    out, tangent = jitney.jvp(f, (jnp.asarray(POINT),), (jnp.asarray(DIRECTION),))
    want = (value(f, POINT + h * DIRECTION) - value(f, POINT - h * DIRECTION)) / (2 * h)
    close(out, value(f, POINT))
    close(tangent, want, 1e-6)


@pytest.mark.parametrize("name", ALL)
def test_grad_is_the_difference_quotient(name):
    g, h = scalar(ALL[name]), 1e-6
    got = np.dot(np.asarray(jitney.grad(g)(jnp.asarray(POINT))), DIRECTION)
    want = (value(g, POINT + h * DIRECTION) - value(g, POINT - h * DIRECTION)) / (2 * h)
    close(got, want, 1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_and_reverse_are_adjoint(name):
    f, x, v = FUNCTIONS[name], jnp.asarray(POINT), jnp.asarray(DIRECTION)
    out, jv = jitney.jvp(f, (x,), (v,))
    w = RANDOM.randn(*out.shape)
    _, pull = jitney.vjp(f, x)
    close(np.sum(np.asarray(jv) * w), np.sum(np.asarray(pull(jnp.asarray(w))[0]) * DIRECTION))
    linear_out, push = jitney.linearize(f, x)
    close(linear_out, out)
    close(push(v), jv)
    close(jitney.linear_transpose(push, x)(jnp.asarray(w))[0], pull(jnp.asarray(w))[0])


@pytest.mark.parametrize("name", ALL)
def test_vmap_is_a_stacked_loop(name):
    f = ALL[name]
    want = np.stack([value(f, x) for x in BATCH])
    close(jitney.vmap(f)(jnp.asarray(BATCH)), want)
    close(jitney.vmap(f, in_axes=1, out_axes=-1)(jnp.asarray(BATCH.T)), np.moveaxis(want, 0, -1))


@pytest.mark.parametrize("name", ALL)
def test_jit_changes_nothing(name):
    f = ALL[name]
    close(jitney.jit(f)(jnp.asarray(POINT)), value(f, POINT))


def _loop_of_grads(g):
    return np.stack([np.asarray(jitney.grad(g)(jnp.asarray(x))) for x in BATCH])


def _hessian_by_differences(g, h=1e-5):
    rows = [(np.asarray(jitney.grad(g)(jnp.asarray(POINT + h * e)))
             - np.asarray(jitney.grad(g)(jnp.asarray(POINT - h * e)))) / (2 * h)
            for e in np.eye(4)]
    return np.stack(rows)


@pytest.mark.parametrize("name", ALL)
def test_products_with_grad(name):
    g, x, xs = scalar(ALL[name]), jnp.asarray(POINT), jnp.asarray(BATCH)
    gradient = np.asarray(jitney.grad(g)(x))
    close(jitney.jit(jitney.grad(g))(x), gradient)
    close(jitney.grad(jitney.jit(g))(x), gradient)
    each = _loop_of_grads(g)
    close(jitney.vmap(jitney.grad(g))(xs), each)
    close(jitney.jit(jitney.vmap(jitney.grad(g)))(xs), each)
    close(jitney.vmap(jitney.jit(jitney.grad(g)))(xs), each)
    close(jitney.grad(lambda xs: jnp.sum(jitney.vmap(g)(xs)))(xs), each)
    close(jitney.grad(lambda xs: jnp.sum(jitney.vmap(jitney.jit(g))(xs)))(xs), each)
    close(jitney.grad(jitney.checkpoint(g))(x), gradient)
    close(jitney.jit(jitney.grad(jitney.checkpoint(jitney.jit(g))))(x), gradient)


@pytest.mark.parametrize("name", ALL)
def test_second_derivatives(name):
    g, x = scalar(ALL[name]), jnp.asarray(POINT)
    want = _hessian_by_differences(g)
    close(jitney.hessian(g)(x), want, 2e-5)
    close(jitney.jacrev(jitney.jacrev(g))(x), want, 2e-5)
    close(jitney.jacrev(jitney.grad(jitney.jit(g)))(x), want, 2e-5)
    if name in FUNCTIONS:
        close(jitney.jacfwd(jitney.jacfwd(g))(x), want, 2e-5)
        close(jitney.jacrev(jitney.jacfwd(g))(x), want, 2e-5)
    close(jitney.jit(jitney.hessian(jitney.checkpoint(g)))(x), want, 2e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_products_with_jvp(name):
    f, xs = FUNCTIONS[name], jnp.asarray(BATCH)
    ts = jnp.asarray(RANDOM.randn(*BATCH.shape))
    push = lambda x, t: jitney.jvp(f, (x,), (t,))[1]  # noqa: E731
    want = np.stack([np.asarray(push(x, t)) for x, t in zip(xs, ts)])
    close(jitney.vmap(push)(xs, ts), want)
    close(jitney.jit(jitney.vmap(push))(xs, ts), want)
    close(jitney.jvp(jitney.vmap(f), (xs,), (ts,))[1], want)
    close(jitney.jvp(jitney.vmap(jitney.jit(f)), (xs,), (ts,))[1], want)
    close(jitney.vmap(jitney.vmap(f))(jnp.stack([xs, xs])),
          np.stack([np.asarray(jitney.vmap(f)(xs))] * 2))
