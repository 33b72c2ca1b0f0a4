"""Every primitive has every rule, or a declared reason why not; and rules filled in later."""

import subprocess
import sys

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.core.primitive import Primitive
from jitney.tools import rule_matrix
from jitney.transforms.jvp import define_zero_jvp
from jitney.transforms.linearize import linearize_flat
from jitney.transforms.transpose import transpose_rules


def test_the_matrix_is_complete():
    """In a process of its own: tests define primitives."""
    done = subprocess.run([sys.executable, "-m", "jitney.tools.rule_matrix"], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    line = next(row for row in done.stdout.splitlines() if row.startswith("mul "))
    assert line.split() == ["mul"] + ["rule"] * 6


def test_a_forgotten_rule_is_a_hole():
    forgotten = Primitive("matrix_test_forgotten")
    forgotten.def_reference(np.sin)
    row = rule_matrix.row_of(forgotten)
    assert row.holes == ("type", "jvp", "transpose", "batch", "lower")
    assert len(rule_matrix.faults([row])) >= 5
    assert "HOLE" in rule_matrix.table([row])


def test_a_zero_derivative_needs_no_transpose():
    flat = Primitive("matrix_test_flat")
    define_zero_jvp(flat)
    row = rule_matrix.row_of(flat)
    assert row.cells["jvp"] == "0" and row.cells["transpose"] == "-"


def test_a_rule_that_only_raises_is_none(monkeypatch):
    def refuse(ct, *operands, **params):
        """Not this one."""
        raise NotImplementedError("no")

    monkeypatch.setitem(transpose_rules, lax.mul_p, refuse)
    assert rule_matrix.row_of(lax.mul_p).holes == ("transpose",)


def test_a_declaration_that_became_wrong_is_found(monkeypatch):
    monkeypatch.setitem(rule_matrix.ABSENT["transpose"], "mul", "n")
    row = rule_matrix.row_of(lax.mul_p)
    assert row.stale == ("transpose",)
    assert any("declared to have no rule for transpose, but there is one" in text
               for text in rule_matrix.faults([row]))


def test_unknown_names_are_refused():
    lines: list[str] = []
    assert rule_matrix.main(["sing"], lines.append) == 2
    assert lines == ["no such primitive: sing"]


X = np.linspace(0.3, 0.9, 6).reshape(2, 3)
UNARY = [name for name in rule_matrix._NONLINEAR
         if callable(getattr(lax, name, None)) and name not in (
             "atan2", "clamp", "igamma", "igamma_grad_a", "igammac", "integer_pow", "max", "min",
             "pmax", "pmin", "polygamma", "pow", "reduce", "reduce_window", "rem", "zeta",
             "random_gamma_grad", "top_k", "reduce_max", "reduce_min", "reduce_prod", "acosh")]


@pytest.mark.parametrize("name", UNARY)
def test_derivatives_of_nonlinear_primitives_are_made_of_transposable_ones(name):
    with jitney.enable_x64(True):
        _, linear = linearize_flat(lambda x: [getattr(lax, name)(x)], [jnp.asarray(X)], [True])
        assert linear.eqns
        for eqn in linear.eqns:
            assert eqn.primitive in transpose_rules, eqn.primitive
            assert eqn.primitive.name not in rule_matrix.ABSENT["transpose"]


# --- rules of reduce_window with any function --------------------------------------------------

GEOMETRY = ((2, 3), (1, 2), ((1, 1), (-1, 2)), (2, 1), (1, 2))


def folded(x, start):
    return lax.reduce_window(x, start, lambda a, b: a * b + lax.sin(a), *GEOMETRY)


def test_any_reduce_window_has_a_derivative():
    with jitney.enable_x64(True):
        random = np.random.RandomState(0)
        x, v, start, h = random.rand(5, 6) + 0.5, random.randn(5, 6), 0.3, 1e-6
        out, push = jitney.linearize(folded, x, start)
        np.testing.assert_allclose(out, folded(x, start))
        quotient = (folded(x + h * v, start + h) - folded(x - h * v, start - h)) / (2 * h)
        np.testing.assert_allclose(push(v, 1.0), quotient, rtol=1e-7, atol=1e-7)
        w = random.randn(*out.shape)
        by_x, by_start = jitney.jit(lambda w: jitney.vjp(folded, x, start)[1](w))(w)
        np.testing.assert_allclose(np.sum(by_x * v) + by_start, np.sum(w * push(v, 1.0)))


def test_any_reduce_window_has_batches_of_initial_values():
    random = np.random.RandomState(0)
    x = random.rand(3, 5, 6).astype(np.float32)
    starts = np.array([0.1, 0.2, 0.7], np.float32)
    for axes in ((None, 0), (0, 0), (0, None)):
        xs = x if axes[0] == 0 else x[0]
        given = starts if axes[1] == 0 else starts[0]
        want = [folded(xs[i] if axes[0] == 0 else xs, given[i] if axes[1] == 0 else given)
                for i in range(3)]
        np.testing.assert_allclose(jitney.vmap(folded, axes)(xs, given), np.stack(want), rtol=1e-5)


def test_reduce_window_without_positions():
    f = lambda x: lax.reduce_window(x, 2.0, lax.mul, (4,), (1,)).sum()
    assert jitney.grad(f)(jnp.arange(2.0)).tolist() == [0.0, 0.0]


# --- generators ----------------------------------------------------------------------------------


def test_batched_generator_draws_from_the_first_state():
    """JAX's rule: one state draws for all examples, and only that one moves on."""
    states = np.arange(12, dtype=np.uint32).reshape(3, 4)
    moved, bits = jitney.vmap(lambda s: lax.rng_bit_generator(s, (2,)))(states)
    want_state, want = lax.rng_bit_generator(states[0], (3, 2))
    assert np.array_equal(bits, want) and np.array_equal(moved[0], want_state)
    assert np.array_equal(moved[1:], states[1:])
    empty_states, none = jitney.vmap(lambda s: lax.rng_bit_generator(s, (2,)))(states[:0])
    assert empty_states.shape == (0, 4) and none.shape == (0, 2)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_batched_uniform_numbers_lie_in_their_intervals(dtype):
    low, high = np.array([0, 10, 20], dtype), np.array([5, 15, 21], dtype)
    f = jitney.vmap(lambda a, b: lax.rng_uniform(a, b, (50,)), in_axes=(0, 0))
    for found in (f(low, high), jitney.jit(f)(low, high)):
        found = np.asarray(found)
        assert found.shape == (3, 50) and found.dtype == dtype
        assert (found >= low[:, None]).all() and (found <= high[:, None]).all()
    one = jitney.vmap(lambda b: lax.rng_uniform(np.asarray(0, dtype)[()], b, (4,)))(high)
    assert one.shape == (3, 4)


def test_a_sink_is_compiled_inside_loops():
    def body(carry, x):
        lax.dce_sink(jnp.sin(x))
        return carry + x, None

    assert float(jitney.jit(lambda x: lax.scan(body, 0.0, x)[0])(jnp.arange(4.0))) == 6.0
