"""Programs that were sore points elsewhere: right values, and counts that do not grow."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.base import debug

STEPS, LEAVES = 614, 60


def many_leaves(weights, xs):
    """A scan whose carry is a dict of scalars."""
    def body(carry, x):
        return {k: 0.9 * v + weights[k] * jnp.sin(x + v) for k, v in carry.items()}, None

    start = {k: 0.0 * w for k, w in weights.items()}
    return sum(lax.scan(body, start, xs)[0].values())


def many_leaves_by_hand(weights, xs):
    """(value, gradient) by the derivative of the recurrence, pushed forward leaf by leaf."""
    w = np.array(list(weights.values()))
    carry, slope = 0.0 * w, 0.0 * w
    for x in xs:
        carry, slope = (0.9 * carry + w * np.sin(x + carry),
                        0.9 * slope + np.sin(x + carry) + w * np.cos(x + carry) * slope)
    return carry.sum(), slope


def equations(closed) -> int:
    """Equations of a program and of the programs in it."""
    inner = [p for eqn in closed.jaxpr.eqns for p in eqn.params.values() if hasattr(p, "jaxpr")]
    return len(closed.jaxpr.eqns) + sum(map(equations, inner))


@pytest.fixture(autouse=True)
def double_precision():
    with jitney.enable_x64(True):
        yield


def test_gradient_of_a_scan_with_sixty_leaves():
    weights = {f"w{i:02d}": 0.1 + 0.01 * i for i in range(LEAVES)}
    xs = np.linspace(0.0, 1.0, STEPS)
    value, grads = jitney.jit(jitney.value_and_grad(many_leaves))(weights, xs)
    want_value, want = many_leaves_by_hand(weights, xs)
    np.testing.assert_allclose(value, want_value, rtol=1e-10)
    np.testing.assert_allclose(list(map(float, grads.values())), want, rtol=1e-9)


def test_a_longer_scan_is_no_longer_program():
    weights = {f"w{i:02d}": 0.1 for i in range(LEAVES)}
    sizes = [equations(jitney.make_jaxpr(jitney.grad(many_leaves))(weights, np.zeros(n)))
             for n in (20, STEPS)]
    assert sizes[0] == sizes[1]


def product_of_matrices(a, turns):
    return lax.scan(lambda c, t: (jnp.cos(t) * (a @ c) + 0.1 * c, None), jnp.eye(3), turns)[0]


def test_a_scan_of_small_matrices():
    random = np.random.RandomState(0)
    a, da = 0.5 * random.randn(3, 3), random.randn(3, 3)
    turns, weights = np.linspace(0.0, 3.0, 400), random.randn(3, 3)
    want, want_dot = np.eye(3), np.zeros((3, 3))
    for t in turns:
        want, want_dot = (np.cos(t) * (a @ want) + 0.1 * want,
                          np.cos(t) * (da @ want + a @ want_dot) + 0.1 * want_dot)
    np.testing.assert_allclose(jitney.jit(product_of_matrices)(a, turns), want, rtol=1e-9,
                               atol=1e-14)
    scale = 1.0 / np.abs(want_dot).max()            # the product of 400 matrices is tiny or huge
    grad = jitney.jit(jitney.grad(
        lambda a: scale * jnp.sum(product_of_matrices(a, turns) * weights)))(a)
    np.testing.assert_allclose(np.sum(np.asarray(grad) * da), scale * np.sum(want_dot * weights),
                               rtol=1e-8)


def test_a_step_of_small_matrices_is_not_a_call_each():
    """The loop is one step of the program, whatever its length."""
    counts = []
    for n in (50, 400):
        compiled = jitney.jit(product_of_matrices).lower(np.eye(3), np.ones(n)).compile()
        counts.append(len(compiled.runtime_executable().reports))
    assert counts[0] == counts[1]


def unrolled(x, n):
    for i in range(n // 2):
        x = jnp.sin(x) * (1.5 if i % 2 else 1.2)
    return x


def test_gradient_of_an_unrolled_loop_of_a_thousand_operations():
    n, x = 1000, 0.7
    value, slope = x, 1.0
    for i in range(n // 2):
        factor = 1.5 if i % 2 else 1.2
        slope *= np.cos(value) * factor
        value = np.sin(value) * factor
    before = debug.counts().get("traces", 0)
    found, grad = jitney.jit(jitney.value_and_grad(lambda x: unrolled(x, n)))(x)
    assert debug.counts().get("traces", 0) - before <= 3
    np.testing.assert_allclose(found, value, rtol=1e-10)
    np.testing.assert_allclose(grad, slope, rtol=1e-8)


def test_the_gradient_of_an_unrolled_loop_is_linear_in_its_length():
    """Operations of the traced program: forward, derivative factors, backward."""
    sizes = [equations(jitney.make_jaxpr(jitney.grad(lambda x, n=n: unrolled(x, n)))(0.7))
             for n in (250, 500, 1000)]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])
    assert sizes[2] <= 3 * 1000


def test_forward_loop_with_updates_copies_nothing():
    """`x.at[t + 1].set(f(x[t]))` in a loop: values of the recurrence, at any length."""
    def run(n):
        body = lambda t, x: x.at[t + 1].set(0.5 * x[t] + 1.0)
        return lax.fori_loop(0, n - 1, body, jnp.zeros(n))

    found = np.asarray(jitney.jit(run, static_argnums=0)(2000))
    want = 2.0 * (1.0 - 0.5 ** np.minimum(np.arange(2000), 1000))
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_the_gradient_of_an_unrolled_loop_is_few_kernels():
    """What a backward pass reads of a chain is stored by few kernels, none of which computes the
    chain again from its beginning for one value."""
    counts = []
    for n in (500, 1000):
        compiled = jitney.jit(jitney.grad(lambda x, n=n: unrolled(x, n))).lower(0.7).compile()
        counts.append(len(compiled.runtime_executable().reports))
    assert counts[0] <= 12 and counts[1] <= 24
