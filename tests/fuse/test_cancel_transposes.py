"""Transposes that work between them can do without: the same bits, and no transposes left."""

import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.graph.cancel_transposes import cancel_transposes
from jitney.lower import control_flow
from jitney.testing.stages import check_all_stages

RNG = np.random.default_rng(0)
X, Y = (RNG.integers(-9, 9, (40, 56)).astype("float32") for _ in range(2))


def graph_of(f, *args) -> str:
    return jax.explain(f, *args, rounds=1).as_text("graph")


def along_rows(m, a):
    """What a filter of rows is made of, for NumPy and jitney."""
    padded = m.pad(a, ((0, 0), (1, 2)))
    sums = padded[:, :-3] + 2 * a - padded[:, 2:-1] * m.float32(0.5)
    halves = m.concatenate([sums[:, ::2], sums[:, 1::2]], axis=1)
    return m.where(halves > 0, halves[:, ::-1], m.arange(a.shape[1]) * m.float32(0.25) + a)


def twice(m, a):
    return along_rows(m, along_rows(m, a).T).T


def test_rows_then_columns():
    np.testing.assert_array_equal(jax.jit(lambda a: twice(jnp, a))(X), twice(np, X))
    assert "transpose" not in graph_of(lambda a: twice(jnp, a), X)
    check_all_stages(lambda a: twice(jnp, a), X[:8, :12])


def test_one_after_the_other():
    """Of pairs that share a transpose one is left out."""
    three = lambda m, a: twice(m, twice(m, twice(m, a)[:20, :24]))
    np.testing.assert_array_equal(jax.jit(lambda a: three(jnp, a))(X), three(np, X))
    assert "transpose" not in graph_of(lambda a: three(jnp, a), X)
    odd = lambda m, a: along_rows(m, twice(m, a).T)
    np.testing.assert_array_equal(jax.jit(lambda a: odd(jnp, a))(X), odd(np, X))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_orders_of_three_axes(order):
    x = RNG.integers(-9, 9, (6, 10, 14)).astype("float32")
    back = tuple(np.argsort(order))

    def program(m, x):
        t = m.transpose(x, order)
        u = m.concatenate([t[1:, ::2] * 2, m.flip(t[:-1, 1::2], 1)], axis=1)
        v = m.pad(u, ((1, 0), (0, 0), (2, 1)))[:, :, 1:-2] + m.arange(t.shape[1])[:, None]
        return m.transpose(m.where(v > 3, v, -t), back)

    np.testing.assert_array_equal(jax.jit(lambda a: program(jnp, a))(x), program(np, x))
    assert "transpose" not in graph_of(lambda a: program(jnp, a), x)


def test_not_where_one_is_wanted():
    """Sums, products, the other order of a node between, or of one below."""
    programs = [
        lambda m, x, y: ((x.T * 2) + y.T.sum(0)).T,
        lambda m, x, y: (x.T * 2) @ (y * 3),
        lambda m, x, y: ((x.T + 1).T, (x.T + 1) * 2),
        lambda m, x, y: (m.sin(x.T).T + 1, m.cumsum(m.sin(x.T), 0)),
        lambda m, x, y: ((m.sin(x.T) * 2).T, m.sin(x.T)),
        lambda m, x, y: (m.sin(x.T), (m.sin(x.T)[3:] * y.T[3:]).T),
        lambda m, x, y: (x.reshape(56, 40) + y.T).T,
        lambda m, x, y: (m.transpose(x.reshape(8, 5, 56), (1, 2, 0)) + 1).transpose(1, 2, 0),
    ]
    for number, program in enumerate(programs):
        found = jax.jit(lambda x, y, p=program: p(jnp, x, y))(X, Y)
        wanted = program(np, X, Y)
        for one, other in zip(jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(wanted)):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-4, err_msg=str(number))


def test_gradients_and_batches():
    loss = lambda a: (jnp.tanh(twice(jnp, a)) ** 2).sum()
    step, direction = 1e-5, RNG.normal(size=X.shape)
    with jax.enable_x64(True):
        x = X.astype("float64") * 0.1 + 0.03
        slope = (jax.grad(loss)(x) * direction).sum()
        ends = [loss(x + sign * step * direction) for sign in (1, -1)]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-2)
    many = jax.jit(jax.vmap(lambda a: twice(jnp, a)))(np.stack([X, Y]))
    np.testing.assert_array_equal(many, np.stack([twice(np, X), twice(np, Y)]))


def test_in_loops(monkeypatch):
    """Of each turn, and of a branch."""
    bodies = []

    def cancel(graph, table):
        bodies.append(cancel_transposes(graph, table))
        return bodies[-1]

    monkeypatch.setattr(control_flow, "cancel_transposes", cancel)
    turns = jax.jit(lambda a: jax.lax.fori_loop(0, 5, lambda i, a: twice(jnp, a) / 4, a))
    wanted = X
    for _ in range(5):
        wanted = twice(np, wanted) / np.float32(4)
    np.testing.assert_allclose(turns(X), wanted, rtol=1e-4, atol=1e-4)
    half = lambda a: twice(jnp, a) / 4
    chosen = jax.jit(lambda b, a: jax.lax.cond(b, half, lambda a: a.T.T, a))
    np.testing.assert_array_equal(chosen(True, X), twice(np, X) / np.float32(4))
    assert len(bodies) >= 2 and not any("transpose" in str(body) for body in bodies)
