"""Loops and branches compute what the plain Python loop computes: references and compiled code."""

import gc
import math
import weakref

import ml_dtypes
import numpy as np
import pytest
from helpers import assert_close, by_reference, compiled, leaves

import jitney
import jitney.numpy as jnp
from jitney import lax, pipeline
from jitney.core.dce import dce_jaxpr
from jitney.fuse.buffers import BranchStep, CopyStep, KernelStep, LoopStep
from jitney.lax.control_flow import common

X = np.arange(1, 7, dtype=np.float32)
W = (np.arange(9, dtype=np.float32).reshape(3, 3) - 4) / 5
BF = np.arange(4).astype(ml_dtypes.bfloat16)


def _rnn(w, c, xs):
    return lax.scan(lambda c, x: (jnp.tanh(w @ c + x), (c, c.sum())), c, xs)


def _fibonacci(n):
    return lax.fori_loop(0, n, lambda i, c: (c[1], c[0] + c[1]), (0, 1))


def _sieve(x):
    def cross_out(i, marks):
        return lax.fori_loop(0, 10, lambda j, m: m.at[i * (j + 2)].set(0, mode="drop"), marks)

    return lax.fori_loop(2, 20, cross_out, x)


def _swap_ends(x):
    def step(i, y):
        low, high = y[i], y[5 - i]
        return y.at[i].set(high).at[5 - i].set(low)

    return lax.fori_loop(0, 3, step, x)


def _collatz(n):
    return lax.while_loop(
        lambda s: s[0] != 1,
        lambda s: (lax.cond(s[0] % 2 == 0, lambda v: v // 2, lambda v: 3 * v + 1, s[0]), s[1] + 1),
        (n, 0))


def _power(a, k):
    def step(s):
        k, base, out = s
        return k // 2, base @ base, jnp.where(k % 2 == 1, out @ base, out)

    return lax.while_loop(lambda s: s[0] > 0, step, (k, a, jnp.eye(3)))[2]


def _old_and_new(x):
    def step(i, s):
        y, total = s
        return y.at[i].set(total), total + y[i] + y[0]

    return lax.fori_loop(0, 6, step, (x, jnp.float32(0)))


def _branch_updates(x, i):
    def step(k, y):
        return lax.switch((k + i) % 3, [lambda y: y.at[k].add(10.0), lambda y: y,
                                        lambda y: y.at[k].set(y[k - 1]).at[0].add(1.0)], y)

    return lax.fori_loop(0, 6, step, x)


def _same_result_twice(x):
    return lax.cond(x[0] > 0, lambda x: (x * 2, x * 2, x), lambda x: (x, x + 1, x + 1), x)


def _state_twice(x):
    return lax.fori_loop(0, 4, lambda i, s: ((s[0] + s[1], s[0] + s[1])), (x, x * 2))


def _exchange(x):
    return lax.fori_loop(0, 3, lambda i, s: (s[1], s[0], s[2]), (x, x * 2, x + 3))


def _shifted(x):
    """Every step reads a box beside the one it overwrites."""
    def step(i, y):
        return lax.dynamic_update_slice(y, lax.dynamic_slice(y, (i,), (3,)) + 1, (i + 1,))

    return lax.fori_loop(0, 3, step, x)


def _table(x):
    y = jnp.zeros((5, 6)).at[0].set(x)
    return lax.fori_loop(1, 5, lambda i, y: y.at[i].set(y[i - 1] * 2 + y[0, i]), y)


def _two_stacks(x):
    def step(c, v):
        return c + v, (lax.cond(v > 3, lambda: v * c, lambda: -v), v > 2, (c, v))

    return lax.scan(step, jnp.float32(0), x)


def _loop_in_branch(x):
    return lax.scan(lambda c, v: (lax.cond(
        v > 2, lambda c: lax.fori_loop(0, 3, lambda i, d: d.at[i].add(v), c), lambda c: c * 2, c),
        c.sum()), jnp.zeros(4), x)


CASES = {
    "fori": (lambda x: lax.fori_loop(0, 5, lambda i, c: c * x + i, 1.0), (np.float32(1.5),)),
    "fori_dynamic": (_fibonacci, (np.int32(20),)),
    "fori_backwards": (lambda n: lax.fori_loop(n, 2, lambda i, c: c + 1, 0), (np.int32(5),)),
    "nested": (_sieve, (np.ones(20, np.int32),)),
    "two_updates": (_swap_ends, (X,)),
    "old_and_new": (_old_and_new, (X,)),
    "collatz": (_collatz, (np.int32(27),)),
    "matrix_power": (_power, (W, np.int32(5))),
    "branch_updates": (_branch_updates, (X, np.int32(1))),
    "same_result_twice": (_same_result_twice, (X,)),
    "state_twice": (_state_twice, (X,)),
    "exchange": (_exchange, (X,)),
    "shifted": (_shifted, (X,)),
    "table": (_table, (X,)),
    "two_stacks": (_two_stacks, (X,)),
    "loop_in_branch": (_loop_in_branch, (X,)),
    "rnn": (_rnn, (W, X[:3], X.reshape(2, 3))),
    "scan_reverse": (lambda x: lax.scan(lambda c, v: (c * v, c + v), 1.0, x, reverse=True), (X,)),
    "scan_empty": (lambda x: lax.scan(lambda c, v: (c + v, c), 2.0, x), (X[:0],)),
    "scan_of_nothing": (lambda x: lax.scan(lambda c, _: (c * 2, c), x, None, length=3), (X,)),
    "scan_bool": (lambda x: lax.scan(
        lambda c, v: (jnp.logical_not(c), c & (v > 2)), True, x), (X,)),
    "scan_complex": (lambda x: lax.scan(lambda c, v: (c * (1 + 2j) + v, c), 1j, x), (X,)),
    "scan_bf16": (lambda x: lax.scan(lambda c, v: (c + v, c * v), x[1], x), (BF,)),
    "scan_i8": (lambda x: lax.scan(lambda c, v: (c + v, c), x[0], x),
                (np.arange(5, dtype=np.int8) * 40,)),
    "bool_updates": (lambda x: lax.fori_loop(0, 3, lambda i, y: y.at[2 * i].set(True), x > 9),
                     (X,)),
    "gather_in_body": (lambda x, p: lax.fori_loop(
        0, 6, lambda i, s: (p[s[0]], s[1] + x[s[0]] * i), (0, 0.0)),
        (X, np.array([3, 0, 1, 5, 2, 4], np.int32))),
    "jit_in_body": (lambda x: lax.scan(
        lambda c, v: (jitney.jit(lambda a, b: a * b)(c, v), c), 1.0, x), (X,)),
    "matrices": (lambda w, x: lax.scan(lambda c, v: (w @ c, v @ c), w, x),
                 (W + 1, np.ones((4, 3), np.float32))),
    "cond": (lambda p, x: lax.cond(p, jnp.sin, lambda v: v + W[0, 0], x), (np.bool_(True), X)),
    "cond_number": (lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), (np.float32(0), X)),
    "switch_low": (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x), (np.int32(-5), X)),
    "switch_high": (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.abs], x), (np.int32(9), X)),
    "map": (lambda x: lax.map(lambda v: {"a": v * 2, "b": v > 3}, x), (X,)),
    "map_batches": (lambda x: lax.map(lambda v: jnp.sin(v) + W[0], x, batch_size=4), (X,)),
    "associative_scan": (lambda x: lax.associative_scan(jnp.multiply, x), (X,)),
    "associative_reverse": (lambda x: lax.associative_scan(
        lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])), (x, -x), reverse=True), (X[:5],)),
    "platform": (lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos), (X,)),
}


def _by_python(fun, args):
    with jitney.disable_jit():
        return [np.asarray(v) for v in leaves(fun(*map(jnp.asarray, args)))]


@pytest.mark.parametrize("name", CASES)
def test_value(name):
    fun, args = CASES[name]
    found = compiled(fun, *args)
    expected = by_reference(fun, *args)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        assert_close(a, b, 40)
    if name != "scan_empty":
        for a, b in zip(expected, _by_python(fun, args), strict=True):
            assert_close(a, b.astype(a.dtype), 40)


# --- in place ------------------------------------------------------------------------------------


def _largest_step(steps, inside=False):
    """The most bytes copied, or elements computed, by one step of a turn of any loop."""
    most = 0
    for step in steps:
        if isinstance(step, LoopStep):
            most = max(most, _largest_step([*step.test, *step.body], True))
        elif isinstance(step, BranchStep):
            most = max([most, *[_largest_step(b, inside) for b in step.branches]])
        elif inside and isinstance(step, CopyStep):
            most = max(most, step.nbytes)
        elif inside and isinstance(step, KernelStep):
            most = max(most, math.prod(loop.extent for loop in step.slotted.kernel.rows))
    return most


LARGE = np.zeros(5000, np.float32)
IN_PLACE = {
    "set": lambda x: lax.fori_loop(0, 5000, lambda i, y: y.at[i].set(i * 2.0), x),
    "add": lambda x: lax.fori_loop(0, 5000, lambda i, y: y.at[i].add(i * 2.0), x),
    "prefix": lambda x: lax.fori_loop(1, 5000, lambda i, y: y.at[i].set(y[i - 1] + 1), x),
    "slice": lambda x: lax.fori_loop(0, 5000, lambda i, y: lax.dynamic_update_slice(
        y, lax.dynamic_slice(y, (i,), (1,)) * 2, (i,)), x),
    "slice_beside": lambda x: lax.fori_loop(0, 4000, lambda i, y: lax.dynamic_update_slice(
        y, lax.dynamic_slice(y, (i,), (50,)) * 2, (i + 7,)), x),
    "branch": lambda x: lax.fori_loop(0, 5000, lambda i, y: lax.cond(
        i % 2 == 0, lambda y: y.at[i].set(1.0), lambda y: y, y), x),
    "inner_loop": lambda x: lax.fori_loop(0, 50, lambda i, y: lax.fori_loop(
        0, 100, lambda j, z: z.at[i * 100 + j].set(j), y), x),
    "swap": lambda x: lax.fori_loop(0, 2500, lambda i, y: y.at[i].set(y[4999 - i]).at[
        4999 - i].set(y[i]), x),
    "read_and_write": lambda x: lax.fori_loop(0, 5000, lambda i, s: (
        s[0].at[i].set(s[1]), s[1] + s[0][i]), (x, 0.0)),
    "while": lambda x: lax.while_loop(lambda s: s[1] < 5000, lambda s: (
        s[0].at[s[1]].set(3.0), s[1] + 1), (x, 0)),
    "stacked": lambda x: lax.scan(lambda c, v: (c, jnp.outer(v, x[:40])), 0.0, x[:20]),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_updates_in_a_loop_copy_nothing_large(name):
    closed = jitney.make_jaxpr(IN_PLACE[name])(LARGE)
    executable = pipeline.compile_jaxpr(closed)
    assert _largest_step(executable.steps) <= 256


# --- functions -----------------------------------------------------------------------------------


def test_a_closure_that_changed_is_traced_again():
    def f(x):
        k = 1.0

        def body(c, _):
            return c * k, None

        x, _ = lax.scan(body, x, None, length=1)
        k = 10.0
        return lax.scan(body, x, None, length=1)[0]

    assert by_reference(f, np.float32(3))[0] == 30


def test_loops_run_eagerly_reuse_programs():
    def run():
        return lax.fori_loop(0, 4, lambda i, c: c + i * 3, 0)

    assert run() == 18
    before = len(common._shared)
    assert run() == 18
    assert len(common._shared) == before


def test_closed_over_tracers_become_operands():
    def f(x, y):
        return lax.scan(lambda c, v: (c + v * y, c * x), x, jnp.arange(3.0))

    got = by_reference(f, np.float32(2), np.float32(3))
    np.testing.assert_allclose(got[0], 11)
    np.testing.assert_allclose(got[1], [4, 4, 10])


def test_untouched_carries_come_back_as_arrays():
    (a, b), ys = lax.scan(lambda c, x: (c, x), (1.0, X), X)
    assert isinstance(a, jitney.Array) and a.weak_type and isinstance(b, jitney.Array)
    assert isinstance(ys, jitney.Array)


@pytest.mark.parametrize("used", [0, 1])
def test_dead_code(used):
    def f(x):
        a, b = lax.fori_loop(0, 3, lambda i, s: (s[0] + i, jnp.sin(s[1])), (x, x))
        return (a, b)[used]

    closed = jitney.make_jaxpr(f)(1.0)
    small, _ = dce_jaxpr(closed.jaxpr)
    (eqn,) = small.eqns
    assert eqn.params["num_carry"] == (2 if used == 0 else 1)


# --- derivatives and batches ---------------------------------------------------------------------


def _wave(x):
    return lax.scan(lambda c, v: (jnp.sin(c * v), c * c), x, X[:3])


def _chosen(x):
    return lax.scan(lambda c, v: (lax.cond(v > 1.5, lambda: c * v, lambda: jnp.sin(c)), c), x,
                    X[:3])[0]


def _counted(x):
    return lax.scan(lambda c, _: ((c[0] + 1, c[1] * x * c[0]), c[0]), (1, x), None, length=3)[0][1]


SMOOTH = {
    "wave": lambda x: _wave(x)[0] + _wave(x)[1].sum(),
    "reverse": lambda x: lax.scan(lambda c, v: (c * v + x, c), x, X[:3], reverse=True)[1].sum(),
    "chosen": _chosen,
    "integer_carry": _counted,
    "fori": lambda x: lax.fori_loop(0, 4, lambda i, c: jnp.sin(c * x) + i, 1.0),
    "updates": lambda x: lax.fori_loop(
        0, 3, lambda i, c: c.at[i].set(c[i] * x * x), jnp.arange(1.0, 4.0)).sum(),
    "switch": lambda x: lax.switch(jnp.int32(2), [jnp.sin, jnp.exp, lambda v: v * v * x], x),
    "nested": lambda x: lax.fori_loop(
        0, 3, lambda i, c: lax.fori_loop(0, 2, lambda j, d: d * x + j, c), 1.0),
    "constants": lambda x: lax.scan(
        lambda c, _: (jnp.cos(x * jnp.ones((3, 3))) @ c, None), jnp.arange(1.0, 4.0), None,
        length=2)[0].sum(),
    "map": lambda x: lax.map(lambda v: jnp.sin(v * x), jnp.arange(3.0)).sum(),
}


def _slope(fun, x):
    with jitney.enable_x64(True):
        high, low = (float(fun(np.float64(x + d))) for d in (1e-5, -1e-5))
    return (high - low) / 2e-5


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    fun = SMOOTH[name]
    expected = _slope(fun, 0.7)
    assert jitney.grad(fun)(0.7) == pytest.approx(expected, rel=2e-3)
    assert jitney.jit(jitney.grad(fun))(0.7) == pytest.approx(expected, rel=2e-3)
    assert jitney.jvp(fun, (0.7,), (1.0,))[1] == pytest.approx(expected, rel=2e-3)
    both = jitney.vmap(jitney.grad(fun))(jnp.array([0.7, 0.7]))
    np.testing.assert_allclose(both, [expected] * 2, rtol=2e-3)


def test_forward_derivative_of_while():
    def power(x):
        return lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * x), (0, 1.0))[1]

    assert jitney.jvp(power, (2.0,), (1.0,))[1] == 80
    assert jitney.linearize(power, 2.0)[1](1.0) == 80


BATCHED = {
    "scan_carry": (lambda x: lax.scan(lambda c, v: (c + v, c * v), x, X), X),
    "scan_rows": (lambda x: lax.scan(lambda c, v: (c + v, c * v), 0.0, x), X.reshape(2, 3)),
    "scan_constant": (lambda x: lax.scan(lambda c, v: (c + v * x, c), 0.0, X), X),
    "while": (lambda x: lax.while_loop(lambda c: c < 30, lambda c: c * 2 + 1, x), X),
    "while_mixed": (lambda n: lax.while_loop(
        lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2, c[2]), (0.0, X, 1)), X[:3]),
    "bound": (lambda x: lax.fori_loop(0, x.astype(int), lambda i, c: c + i, 0), X),
    "operand": (lambda x: lax.cond(True, lambda v: v + 1, lambda v: v * 2, x), X),
    "predicate": (lambda x: lax.cond(x > 2, lambda v: (v + 1, 1), lambda v: (v * 2, 0), x), X),
    "index": (lambda x: lax.switch(x.astype(int) - 2, [jnp.sin, jnp.cos, jnp.abs], x), X),
}


@pytest.mark.parametrize("name", BATCHED)
def test_batches(name):
    fun, batch = BATCHED[name]
    found = leaves(jitney.vmap(fun)(batch))
    rows = [leaves(fun(jnp.asarray(x))) for x in batch]
    for i, value in enumerate(found):
        np.testing.assert_allclose(value, np.stack([np.asarray(r[i]) for r in rows]), rtol=1e-5)


def test_programs_of_bodies_are_let_go():
    def f(x):
        return lax.scan(lambda c, v: (c * v, c), x, X)[0]

    body = jitney.make_jaxpr(f)(2.0).eqns[0].params["jaxpr"]
    reference = weakref.ref(body)
    del body, f
    jitney.clear_caches()
    gc.collect()
    assert reference() is None
