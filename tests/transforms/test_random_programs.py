"""Laws that hold for every program, on programs drawn by hypothesis, in float64."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_programs import SIZE, programs, vectors

import jitney
import jitney.numpy as jnp

# The same programs at every run: a failure is a fault, never a matter of luck or of speed.
PROFILE = settings(max_examples=14, derandomize=True, deadline=None, database=None,
                   suppress_health_check=list(HealthCheck))
STEP = 1e-6


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    with jitney.enable_x64(True):
        yield


def close(found, want, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(found), np.asarray(want), rtol=tolerance, atol=tolerance)


def pairing(a, b):
    return sum(float(np.vdot(np.asarray(p), np.asarray(q))) for p, q in zip(a, b, strict=True))


@PROFILE
@given(programs(), vectors(2))
def test_values_are_numpys(f, point):
    want = f.plain(*point)
    close(f(*map(jnp.asarray, point)), want)
    close(jitney.jit(f)(*point), want)


@PROFILE
@given(programs(), vectors(5))
def test_forward_and_reverse_mode_are_adjoint(f, drawn):
    """<J v, w> = <v, J^T w>, whichever way J is made."""
    point, v, w = list(drawn[:2]), list(drawn[2:4]), np.tile(drawn[4], 2)
    out, jv = jitney.jvp(f, point, v)
    again, pull = jitney.vjp(f, *point)
    close(out, again)
    by_forward, by_reverse = pairing([jv], [w]), pairing(v, pull(jnp.asarray(w)))
    close(by_forward, by_reverse)
    _, push = jitney.linearize(f, *point)
    close(push(*v), jv)
    back = jitney.linear_transpose(push, *point)(jnp.asarray(w))
    close(pairing(v, back), by_reverse)


@PROFILE
@given(programs(), vectors(4))
def test_derivatives_are_difference_quotients(f, drawn):
    point, v = drawn[:2], drawn[2:]
    want = (f.plain(*(point + STEP * v)) - f.plain(*(point - STEP * v))) / (2 * STEP)
    close(jitney.jit(lambda p, t: jitney.jvp(f, p, t)[1])(tuple(point), tuple(v)), want, 1e-6)
    weights = np.cos(np.arange(2.0 * SIZE))
    grads = jitney.jit(jitney.grad(lambda x, y: jnp.dot(f(x, y), weights), argnums=(0, 1)))(*point)
    close(pairing(grads, v), weights @ want, 1e-6)


@PROFILE
@given(programs(), vectors(6))
def test_vmap_is_a_stacked_loop(f, drawn):
    xs, ys = drawn[:3], drawn[3:]
    close(jitney.vmap(f)(xs, ys), np.stack([f.plain(x, y) for x, y in zip(xs, ys)]))
    close(jitney.vmap(f, in_axes=(1, None), out_axes=1)(xs.T, ys[0]),
          np.stack([f.plain(x, ys[0]) for x in xs], 1))


@settings(PROFILE, max_examples=6)
@given(programs(longest=4), vectors(4))
def test_second_derivatives_are_difference_quotients_of_gradients(f, drawn):
    point, v = drawn[:2], drawn[2:]
    gradient = jitney.jit(jitney.grad(lambda x, y: jnp.sum(jnp.sin(f(x, y))), argnums=(0, 1)))
    up, down = gradient(*(point + STEP * v)), gradient(*(point - STEP * v))
    want = (np.stack(up) - np.stack(down)) / (2 * STEP)
    _, forward_over_reverse = jitney.jvp(gradient, tuple(point), tuple(v))
    close(np.stack(forward_over_reverse), want, 2e-5)
    reverse_over_reverse = jitney.grad(
        lambda x, y: sum(jnp.vdot(g, d) for g, d in zip(gradient(x, y), v)), argnums=(0, 1))
    close(np.stack(reverse_over_reverse(*point)), want, 2e-5)


@PROFILE
@given(programs(longest=4), vectors(6))
def test_gradients_of_batches(f, drawn):
    """vmap of grad, grad of a summed vmap, and a loop of gradients are the same."""
    xs, ys = drawn[:3], drawn[3:]
    total = lambda x, y: jnp.sum(jnp.tanh(f(x, y)))
    each = np.stack([jitney.grad(total)(x, y) for x, y in zip(xs, ys)])
    close(jitney.vmap(jitney.grad(total))(xs, ys), each)
    close(jitney.grad(lambda xs: jnp.sum(jitney.vmap(total)(xs, ys)))(xs), each)
    close(jitney.jit(jitney.vmap(jitney.grad(jitney.checkpoint(total))))(xs, ys), each)
