"""While loops whose number of turns is known before they begin: the same results, and no test."""

import operator

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.core.jaxpr import Literal
from jitney.graph.graph import GraphBuilder
from jitney.lower.counted_while import MOST_TURNS, known_turns
from jitney.lower.rules import Context

TESTS = [operator.lt, operator.le, operator.gt, operator.ge, operator.ne, operator.eq]


def known(fun, *arguments):
    """What is known of the loops of a function, those within loops included."""
    found, waiting = [], [jitney.make_jaxpr(fun)(*arguments).jaxpr]
    while waiting:
        for eqn in waiting.pop().eqns:
            if eqn.primitive.name == "while":
                ctx = Context(GraphBuilder())
                values = [
                    ctx.literal(v.val, v.aval) if isinstance(v, Literal)
                    else ctx.g.input(v.aval.shape, "f32") for v in eqn.invars
                ]  # fmt: skip
                found.append(known_turns(eqn, values))
                waiting.append(eqn.params["body_jaxpr"].jaxpr)
    return found


def turns_of(test, start, step, bound):
    count = 0
    while test(start, bound) and count < 200:
        start, count = start + step, count + 1
    return start, count


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("size", [3, 100])
def test_numbers(test, size):
    x = jnp.zeros(size)
    for start in (-7, 0, 9, 10):
        for step in (-3, -1, 1, 2, 3):
            for bound in (-10, 0, 9, 10, 30):
                end, count = turns_of(test, start, step, bound)
                if count == 200:  # without an end
                    continue
                def fun(x, start=start, step=step, bound=bound):
                    return lax.while_loop(lambda s: test(s[0], bound),
                                          lambda s: (s[0] + step, s[1] + 1), (start, x))

                found, sums = jitney.jit(fun)(x)
                assert int(found) == end, (start, step, bound)
                np.testing.assert_array_equal(sums, np.full(size, count, "float32"))


@pytest.mark.parametrize("fun", [
    lambda x: lax.while_loop(lambda s: s[0] < 50, lambda s: (s[0] + 1, s[1] * 0.9), (0, x)),
    lambda x: lax.while_loop(lambda s: 50 > s[0], lambda s: (1 + s[0], s[1] * 0.9), (0, x)),
    lambda x: lax.while_loop(lambda s: s[1] >= 0, lambda s: (s[0] * 0.9, s[1] - 2), (x, 99)),
    lambda x: lax.while_loop(lambda s: s[0] != s[2], lambda s: (s[0] + 1, s[1] * 0.9, s[2]),
                             (0, x, 50)),
    lambda x: lax.while_loop(lambda s: s[0] < 50, lambda s: (s[0] + 1, s[1] * s[0] + x), (0, x)),
    lambda x: lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, lax.while_loop(
        lambda t: t[0] < 5, lambda t: (t[0] + 1, t[1] * 0.9 + s[0]), (0, s[1]))[1]), (0, x)),
    lambda x: lax.while_loop(lambda s: s[0] < 20, lambda s: (s[0] + 1, s[1] * (1 + 0.1j)),
                             (0, x + 0j)),
])  # fmt: skip
@pytest.mark.parametrize("size", [1, 7, 100, 5000])
def test_counted(fun, size):
    x = jnp.asarray(np.random.default_rng(0).normal(size=size).astype("float32"))
    assert known(fun, x) and None not in known(fun, x)
    found = jitney.tree.leaves(jitney.jit(fun)(x))
    with jitney.disable_jit():
        want = jitney.tree.leaves(fun(x))
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("fun", [
    lambda x, n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 0.9), (0, x)),
    lambda x, n: lax.while_loop(lambda s: s[0] < 50, lambda s: (s[0] + 1, s[1] * 0.9), (n, x)),
    lambda x, n: lax.while_loop(lambda s: s[0] < 50, lambda s: (s[0] * 2, s[1] * 0.9), (1, x)),
    lambda x, n: lax.while_loop(lambda s: s[0] < 50, lambda s: (s[0] + n, s[1] * 0.9), (0, x)),
    lambda x, n: lax.while_loop(lambda s: s[0] < 5.0, lambda s: (s[0] + 1, s[1] * 0.9), (0.0, x)),
    lambda x, n: lax.while_loop(lambda s: s[0] < s[2], lambda s: (s[0] + 1, s[1] * 0.9, s[2] - 1),
                                (0, x, 50)),
    lambda x, n: lax.while_loop(lambda s: (s[0] < 50) & (s[1][0] < 9),
                                lambda s: (s[0] + 1, s[1] * 0.9), (0, x)),
    lambda x, n: lax.while_loop(lambda s: s[0] <= MOST_TURNS, lambda s: (s[0] + 1, s[1] * 0.9),
                                (0, x)),
    lambda x, n: lax.while_loop(lambda s: s[0] != 51, lambda s: (s[0] + 2, s[1] * 0.9), (0, x)),
    lambda x, n: lax.while_loop(lambda s: s[0] <= 2**31 - 1, lambda s: (s[0] + 1, s[1]),
                                (2**31 - 9, x)),
])  # fmt: skip
def test_not_counted(fun):
    assert known(fun, jnp.ones(100), 3) == [None]


def test_integers_that_overflow():
    """-128 follows 127, and ends this loop."""
    run = jitney.jit(lambda x: lax.while_loop(
        lambda s: s[0] > 0, lambda s: (s[0] + jnp.int8(1), s[1] + 1), (jnp.int8(100), x)))
    found, turns = run(jnp.zeros(100))
    assert int(found) == -128 and float(turns[3]) == 28.0


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32"])
def test_limits_of_types(dtype):
    with jitney.enable_x64(True):
        last = np.iinfo(dtype).max
        number = np.dtype(dtype).type
        fun = jitney.jit(lambda x: lax.while_loop(
            lambda s: s[0] < number(last), lambda s: (s[0] + number(1), s[1] + 1),
            (number(last - 20), x)))
        found, turns = fun(jnp.zeros(40))
        assert found == last and float(turns[7]) == 20.0


def test_derivatives_and_effects():
    def fun(x):
        return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * x), (0, x))[1]

    x = jnp.arange(1.0, 40.0)
    np.testing.assert_allclose(jitney.jvp(fun, (x,), (jnp.ones(39),))[1], 6 * x**5, rtol=1e-5)
    seen = []

    def body(s):
        jitney.debug.callback(lambda i: seen.append(int(i)), s[0])
        return s[0] + 1, s[1] * 2

    jitney.jit(lambda x: lax.while_loop(lambda s: s[0] < 4, body, (0, x)))(x)[1].block_until_ready()
    jitney.effects_barrier()
    assert seen == [0, 1, 2, 3]
