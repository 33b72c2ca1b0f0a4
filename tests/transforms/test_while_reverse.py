"""Reverse mode through loops whose number of steps nobody knew, and loops with few snapshots."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax


@pytest.fixture(autouse=True)
def wide():
    with jitney.enable_x64(True):
        yield


def step(i, y, x):
    return y + 0.01 * jnp.sin(y * 3.0 + 0.01 * i) * x


def by_while(x, n, snapshots=None):
    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, step(s[0], s[1], x)), (0, x),
                          snapshots=snapshots)[1]


def by_scan(x, n, snapshots=None, reverse=False):
    return lax.scan(lambda c, i: (step(i, c, x), c * 2), x, jnp.arange(n), snapshots=snapshots,
                    reverse=reverse)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 511, 512, 513, 1500, 5000])
def test_any_number_of_steps(n):
    want = jitney.grad(lambda x: by_scan(x, n)[0])(0.3)
    assert np.isclose(jitney.grad(by_while)(0.3, n), want, rtol=1e-12)
    found = jitney.jit(jitney.grad(lambda x, n: lax.fori_loop(0, n, lambda i, y: step(i, y, x),
                                                              x)))(0.3, n)
    assert np.isclose(found, want, rtol=1e-12)


@pytest.mark.parametrize("snapshots", [4, 5, 16, 100])
@pytest.mark.parametrize("n", [0, 1, 3, 50, 777])
def test_few_snapshots(n, snapshots):
    want = jitney.grad(lambda x: by_scan(x, n)[0])(0.3)
    found = jitney.jit(jitney.grad(by_while), static_argnums=2)(0.3, n, snapshots)
    assert np.isclose(found, want, rtol=1e-12)


def test_the_condition_decides():
    def newton(a):
        return lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)

    assert np.isclose(jitney.grad(newton)(2.0), 0.5 / np.sqrt(2), rtol=1e-9)


def test_products_with_other_transforms():
    n = 60
    want = jitney.jacfwd(jitney.jacfwd(by_while))(0.3, n)
    for outer in (jitney.grad, jitney.jacfwd, jitney.jacrev):
        assert np.isclose(outer(jitney.grad(by_while))(0.3, n), want, rtol=1e-9)
    xs, ns = jnp.array([0.3, 0.4, 0.5]), jnp.array([60, 3, 700])
    want = [jitney.grad(by_while)(x, k) for x, k in zip(xs, ns)]
    assert np.allclose(jitney.vmap(jitney.grad(by_while))(xs, ns), want, rtol=1e-12)
    batched = jitney.vmap(by_while)
    assert np.allclose(jitney.grad(lambda x: batched(x, ns).sum())(xs), want, rtol=1e-12)


def test_a_carry_with_integers_keys_and_arrays():
    key = jitney.random.key(0)

    def noisy(x):
        def body(s):
            i, key, y = s
            key, sub = jitney.random.split(key)
            return i + 1, key, y * jitney.random.uniform(sub, (3,)) + x

        return lax.while_loop(lambda s: s[0] < 5, body, (0, key, x))[2].sum()

    def unrolled(x):
        k, y = key, x
        for _ in range(5):
            k, sub = jitney.random.split(k)
            y = y * jitney.random.uniform(sub, (3,)) + x
        return y.sum()

    x = jnp.array([1.0, 2.0, 3.0])
    assert np.allclose(jitney.grad(noisy)(x), jitney.grad(unrolled)(x), rtol=1e-12)


def test_complex_carry_and_closed_over_matrix():
    a = jnp.array([[0.3, 0.1j], [0.2, -0.4]])
    x = jnp.array([1.0 + 1j, 0.5])

    def by(loop):
        return lambda a, x: jnp.abs(loop(a, x)).sum()

    def looped(a, x):
        return lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, a @ s[1] + x), (0, x))[1]

    def unrolled(a, x):
        y = x
        for _ in range(4):
            y = a @ y + x
        return y

    for found, want in zip(jitney.grad(by(looped), (0, 1))(a, x),
                           jitney.grad(by(unrolled), (0, 1))(a, x)):
        assert np.allclose(found, want, rtol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("snapshots", [True, 1, 3, 100])
@pytest.mark.parametrize("n", [1, 7, 50])
def test_a_scan_in_segments(n, snapshots, reverse):
    def loss(x, snapshots):
        last, ys = by_scan(x, n, snapshots, reverse)
        return last + (ys * jnp.arange(n)).sum()

    want = jitney.value_and_grad(loss)(0.3, None)
    found = jitney.value_and_grad(loss)(0.3, snapshots)
    assert np.allclose(found, want, rtol=1e-12)


def test_segments_save_memory():
    def temporary(snapshots):
        loss = jitney.grad(lambda x: by_scan(x * jnp.ones(1000), 900, snapshots)[0].sum())
        return jitney.jit(loss).lower(0.3).compile().memory_analysis().temp_size_in_bytes

    assert temporary(True) < temporary(None) / 4


@pytest.mark.parametrize("snapshots", [0, 3, 2.5, "many", True])
def test_bad_snapshots(snapshots):
    with pytest.raises(ValueError, match="snapshots must be an integer, 4 or more"):
        by_while(0.3, 2, snapshots)


def test_bad_snapshots_of_a_scan():
    with pytest.raises(ValueError, match="snapshots must be a positive integer"):
        by_scan(0.3, 2, -1)
