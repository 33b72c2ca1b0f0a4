"""Modes that look for NaNs and infinities: where the first one was made."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax


def text_of(f, *args, infinities=False):
    mode = jitney.debug_infs if infinities else jitney.debug_nans
    with mode(True), pytest.raises(FloatingPointError) as found:
        np.asarray(f(*args))
    return str(found.value)


def test_a_while_loop_and_a_branch():
    def loop(x):
        return lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, jnp.log(c[1])), (0, x))[1]

    text = text_of(jitney.jit(loop), 3.0)
    assert "first made by log at" in text and "in turn 3 of the while loop at" in text
    branch = jitney.jit(lambda x: lax.cond(x > 0.0, jnp.sqrt, lambda x: jnp.sqrt(x) + 1.0, x))
    assert "first made by sqrt at" in text_of(branch, -1.0)
    assert float(branch(4.0)) == 2.0


def test_programs_within_programs():
    inner = jitney.jit(lambda x: jnp.log(x) * 2.0)
    text = text_of(jitney.jit(lambda x: jitney.checkpoint(lambda x: inner(x - 1.0))(x)), 0.5)
    assert "first made by log at" in text and "test_nan_location.py" in text
    backwards = jitney.jit(lambda x: lax.scan(lambda c, a: (c, jnp.log(a)), 0.0, x, reverse=True))
    text = text_of(lambda x: backwards(x)[1], jnp.array([1.0, -1.0, 2.0]))
    assert "in step 1 of the scan at" in text


def test_infinities():
    text = text_of(jitney.jit(lambda x: 1.0 / (x - 1.0)), 1.0, infinities=True)
    assert text.startswith("invalid value (inf)") and "first made by div at" in text
    with jitney.debug_nans(True):
        assert np.isinf(jitney.jit(lambda x: 1.0 / (x - 1.0))(1.0))


def test_effects_are_not_repeated():
    """A program with effects is not run again: the text says less."""
    seen: list = []

    @jitney.jit
    def f(x):
        jitney.debug.callback(lambda v: seen.append(float(v)), x)
        return jnp.log(x)

    text = text_of(f, -1.0)
    jitney.effects_barrier()
    assert seen == [-1.0] and "first made" not in text


def test_nans_that_come_in_are_named_by_the_function():
    assert text_of(jitney.jit(lambda x: x + 1.0), jnp.nan).startswith("invalid value (nan)")


def test_backward_passes_name_the_forward_line():
    text = text_of(jitney.grad(lambda x: jnp.sqrt(x * 0.0)), 1.0)
    assert "in the backward pass of" in text and "test_nan_location.py" in text
    text = text_of(jitney.jit(jitney.grad(lambda x: jnp.sqrt(x * 0.0))), 1.0)
    assert "first made by mul at" in text
