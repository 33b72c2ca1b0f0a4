"""Rows of the arrays that a loop stacks: one kernel writes them, whatever they are made of."""

import re

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

RNG = np.random.default_rng(0)
XS = RNG.normal(size=(7, 4, 12)).astype(np.float32)
W = (RNG.normal(size=(12, 12)) / 4).astype(np.float32)
START = (np.ones((4, 12), np.float32), np.full((4, 12), 0.5, np.float32))


def several(c, x):
    h, d = c
    a = jnp.tanh(x + h @ W)
    new = a * d + 0.1 * h
    return (new, d * 0.9), (a, 1 - a, a * (1 - a), jnp.exp(a))


def old_and_new(c, x):
    """Of what is read some is the state before this turn, and some the state after it."""
    h, d = c
    new = jnp.tanh(h @ W + x)
    return (new, d + new), (h, new, h * new, d, d + new, jnp.sin(new))


def made_of_the_new(c, x):
    h, d = c
    new = jnp.tanh(h @ W + x)
    return (new, d + h), (jnp.sin(new @ W), h * 2.0, jnp.cos(new @ W), d * h)


def of_several_kinds(c, x):
    h, d = c
    new = jnp.tanh(h @ W + x)
    return (new, d), (new[0], new > 0, new.astype(jnp.int32), new.sum(1), new[::-1], new * 2, x)


def with_sums(c, x):
    h, d = c
    p = jnp.exp(x - x.max(1, keepdims=True))
    p = p / p.sum(1, keepdims=True)
    return (h * 0.5 + p, d + h), (p, jnp.log(p), p * h)


BODIES = [several, old_and_new, made_of_the_new, of_several_kinds, with_sums]


def by_hand(body, xs, reverse):
    c, rows = START, []
    for x in xs[::-1] if reverse else xs:
        c, row = body(c, x)
        rows.append(row)
    rows = rows[::-1] if reverse else rows
    return c, tuple(np.stack([np.asarray(r[i]) for r in rows]) for i in range(len(rows[0])))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("body", BODIES)
def test_stacks_are_those_of_a_python_loop(body, reverse):
    found = jax.jit(lambda c, xs: lax.scan(body, c, xs, reverse=reverse))(START, XS)
    wanted = by_hand(body, XS, reverse)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)


@pytest.mark.parametrize("body", BODIES[:3])
def test_gradients(body):
    def total(run, w):
        (h, d), ys = run(lambda c, x: body((c[0] * w, c[1]), x))
        return h.sum() + d.sum() + sum(y.sum() for y in ys)

    looped = lambda f: lax.scan(f, START, XS)

    def unrolled(f):
        c, rows = START, []
        for x in XS:
            c, row = f(c, x)
            rows.append(row)
        return c, [jnp.stack(r) for r in zip(*rows, strict=True)]

    found = jax.jit(jax.grad(lambda w: total(looped, w)))(0.9)
    wanted = jax.grad(lambda w: total(unrolled, w))(0.9)
    np.testing.assert_allclose(found, wanted, 1e-3)


def test_one_kernel_writes_rows_of_a_kind():
    text = jax.explain(lambda c, xs: lax.scan(several, c, xs), START, XS, rounds=1)
    found = [k for k in text.as_text("kernels").split("\n[") if "kernel" in k.split("\n")[0]]
    assert sum(len(re.findall(r"\n    b\d+\[", k)) >= 4 for k in found) == 1


def test_gates_of_an_lstm():
    """The residuals of a turn are two kernels: what the new state is needed for comes later."""

    def cell(c, x):
        h, c = c
        z = x @ W4 + h @ W4
        i, f, g, o = jnp.split(z, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    W4 = np.tile(W, (1, 4))
    loss = lambda c, xs: (lax.scan(cell, c, xs)[1] ** 2).sum()
    text = jax.explain(jax.grad(loss), START, XS, rounds=1).as_text("kernels")
    assert text.count("=logistic") <= 6 and text.count("=tanh") <= 4, text
