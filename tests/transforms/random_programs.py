"""Random smooth programs on a few vectors, drawn by hypothesis, each with its meaning in NumPy.

A program is a list of steps; step k reads earlier values and appends one vector of length SIZE.
Every step is bounded and smooth, so that values stay near 1 and difference quotients are good.
"""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import jitney
import jitney.numpy as jnp
from jitney import lax

SIZE = 3
MIX = np.array([[0.5, -0.3, 0.2], [0.1, 0.4, -0.6], [-0.2, 0.7, 0.3]])
EVEN = np.array([True, False, True])


class Step(NamedTuple):
    """What a step does with `arity` vectors, in jitney and in NumPy."""

    arity: int
    traced: object
    plain: object


def _same(arity, f):
    """A step whose text is the same for both."""
    return Step(arity, lambda *xs: f(jnp, *xs), lambda *xs: f(np, *xs))


def _scanned(x, y):
    def body(carry, row):
        carry = jnp.sin(carry + row * y[0])
        return carry, carry * row

    return lax.scan(body, y[1] * 0.5, x)[1]


def _scanned_plain(x, y):
    carry, rows = y[1] * 0.5, []
    for row in x:
        carry = np.sin(carry + row * y[0])
        rows.append(carry * row)
    return np.array(rows)


def _looped(x):
    return lax.fori_loop(0, 3, lambda i, c: jnp.cos(c + 0.3 * i) * x, x)


def _looped_plain(x):
    c = x
    for i in range(3):
        c = np.cos(c + 0.3 * i) * x
    return c


def _chosen(x, y):
    return lax.switch(1, [lambda a, b: a, lambda a, b: jnp.sin(a) * b], x, y)


def _updated(x, y):
    return x.at[np.array([0, 2])].add(y[1:]).at[1].multiply(0.5)


def _updated_plain(x, y):
    out = x.copy()
    out[[0, 2]] += y[1:]
    out[1] *= 0.5
    return out


@jitney.custom_jvp
def _soft(x):
    return jnp.log1p(jnp.exp(x))


_soft.defjvps(lambda t, out, x: t * (1.0 - jnp.exp(-out)))

STEPS = {
    "sin": _same(1, lambda m, x: m.sin(x)),
    "tanh": _same(1, lambda m, x: m.tanh(x)),
    "root": _same(1, lambda m, x: m.sqrt(1.0 + x * x)),
    "gauss": _same(1, lambda m, x: m.exp(-x * x)),
    "log": _same(1, lambda m, x: m.log1p(x * x)),
    "mean": _same(2, lambda m, x, y: (x + y) / 2.0),
    "product": _same(2, lambda m, x, y: x * y * 0.5),
    "quotient": _same(2, lambda m, x, y: x / (1.5 + y * y)),
    "angle": _same(2, lambda m, x, y: m.arctan2(x, 2.0 + m.cos(y))),
    "matrix": _same(1, lambda m, x: MIX @ x),
    "outer": _same(2, lambda m, x, y: m.outer(x, y) @ m.sin(y)),
    "reverse": _same(1, lambda m, x: x[::-1]),
    "gather": _same(1, lambda m, x: x[np.array([1, 1, 0])]),
    "cumsum": _same(1, lambda m, x: m.cumsum(x) / 3.0),
    "where": _same(2, lambda m, x, y: m.where(EVEN, x, m.cos(y))),
    "pad": _same(1, lambda m, x: m.pad(x, (1, 1))[:-2]),
    "total": _same(2, lambda m, x, y: m.sum(x * y) * m.cos(x)),
    "scan": Step(2, _scanned, _scanned_plain),
    "loop": Step(1, _looped, _looped_plain),
    "switch": Step(2, _chosen, lambda x, y: np.sin(x) * y),
    "update": Step(2, _updated, _updated_plain),
    "custom_jvp": Step(1, _soft, lambda x: np.log1p(np.exp(x))),
    "jit": Step(2, jitney.jit(lambda x, y: jnp.sin(x * y) + x), lambda x, y: np.sin(x * y) + x),
    "remat": Step(1, jitney.checkpoint(lambda x: jnp.sin(jnp.cos(x))),
                  lambda x: np.sin(np.cos(x))),
}  # fmt: skip


class Program(NamedTuple):
    """Two input vectors, steps by name with the places they read; the result is the last two
    values one after the other."""

    steps: tuple

    def _run(self, which, joined, x, y):
        values = [x, y]
        for name, places in self.steps:
            values.append(getattr(STEPS[name], which)(*[values[p] for p in places]))
        return joined(values[-2:])

    def __call__(self, x, y):
        return self._run("traced", jnp.concatenate, x, y)

    def plain(self, x, y):
        return self._run("plain", np.concatenate, x, y)


@st.composite
def programs(draw, longest=7):
    steps = []
    for i in range(draw(st.integers(1, longest))):
        name = draw(st.sampled_from(sorted(STEPS)))
        # mostly recent values, so that programs are deep
        places = [max(0, i + 1 - draw(st.integers(0, 3))) for _ in range(STEPS[name].arity)]
        steps.append((name, tuple(places)))
    return Program(tuple(steps))


def vectors(count: int):
    """`count` vectors of moderate numbers, kept away from each other's symmetries."""
    return st.integers(0, 2**16).map(
        lambda seed: np.random.RandomState(seed).uniform(-1.5, 1.5, (count, SIZE)))
