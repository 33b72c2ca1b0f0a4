"""Checks in programs become values; what they say is what JAX says (see `test_against_jax`)."""

import numpy as np
import pytest
from checkify_cases import cases

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.experimental import checkify as ck

CASES = cases(jitney, lax, ck)
X = jnp.array([1.0, -2.0, -3.0])


def positive(x):
    ck.check(x > 0, "got {}", x)
    return x + 1


@pytest.mark.parametrize("name", CASES)
def test_cases(name):
    function, errors, arguments, text = CASES[name]
    checked = ck.checkify(function, errors=errors)
    for run in (checked, jitney.jit(checked)):
        error, out = run(*arguments)
        assert error.get() == text
    if name in ("passes", "vmap, nobody", "nan moved", "nan, integers", "index inside"):
        error.throw()
        want = jitney.tree.leaves(function(*arguments))
        for a, b in zip(jitney.tree.leaves(out), want, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    elif text is not None:
        with pytest.raises(ck.JaxRuntimeError) as raised:
            error.throw()
        assert str(raised.value) == text and isinstance(raised.value, ValueError)


def test_the_program_runs_on():
    error, (carry, ys) = ck.checkify(CASES["scan"][0])(jnp.float32(1))
    assert error.get() == "y=3.0 (`check` failed)" and float(carry) == 11
    assert ys.tolist() == [1, 1, 2, 4, 7]


def test_without_checkify():
    assert float(positive(jnp.float32(1))) == 2
    with pytest.raises(ck.JaxRuntimeError, match=r"got -1.0 \(`check` failed\)"):
        positive(jnp.float32(-1))
    with pytest.raises(ck.JaxRuntimeError, match="at mapped index 1: got -2.0"):
        jitney.vmap(positive)(X)
    for function in (jitney.jit(jitney.vmap(positive)), lambda x: lax.map(positive, x)):
        with pytest.raises(ValueError, match="Cannot abstractly evaluate a checkify.check"):
            function(X)


def test_debug_checks_are_left_out():
    def f(x):
        ck.debug_check(x > 0, "debug {}", x)
        return x + 1
    minus = jnp.float32(-1)
    assert float(f(minus)) == float(jitney.jit(f)(minus)) == 0
    assert ck.checkify(f)(minus)[0].get() == "debug -1.0 (`check` failed)"


def test_batched_errors():
    error, out = jitney.jit(jitney.vmap(ck.checkify(positive)))(X)
    assert out.tolist() == [2, -1, -2]
    assert error.get() == ("at mapped index 1: got -2.0 (`check` failed)\n"
                           "at mapped index 2: got -3.0 (`check` failed)")
    nested, _ = jitney.vmap(jitney.vmap(ck.checkify(positive)))(X.reshape(1, 3))
    assert nested.get().startswith("at mapped index 0, 1: got -2.0")
    assert jitney.vmap(ck.checkify(positive))(-X[1:])[0].get() is None


def test_categories_and_exceptions():
    error, _ = ck.checkify(lambda x: x / 0.0, errors=ck.all_checks)(X)
    found = error.get_exception()
    assert type(found).__name__ == "DivisionByZeroError" and isinstance(found, Exception)
    assert "test_checkify.py" in found.__notes__[0]
    assert ck.all_checks == ck.automatic_checks | ck.user_checks
    assert ck.automatic_checks == ck.float_checks | ck.index_checks
    assert ck.float_checks == ck.nan_checks | ck.div_checks
    assert ck.init_error.get() is None and ck.init_error.throw() is None
    assert repr(ck.init_error) == "Error(None)"


def test_errors_are_values():
    error, _ = jitney.jit(ck.checkify(positive))(jnp.float32(-1))
    same = jitney.jit(lambda e: e)(error)
    assert same.get() == error.get() == "got -1.0 (`check` failed)"
    with pytest.raises(ck.JaxRuntimeError, match="got -1.0"):
        ck.check_error(same)
    again, _ = ck.checkify(lambda e: ck.check_error(e))(same)
    assert again.get() == error.get()
    seen = []
    jitney.jit(lambda e: seen.append(repr(e)))(error)
    assert "Error(" in seen[0]


def test_derivatives_pass_through():
    def loss(x):
        error, out = ck.checkify(lambda v: positive(v) ** 2)(x)
        return out, error
    (_, error), slope = jitney.value_and_grad(loss, has_aux=True)(jnp.float32(-3))
    assert float(slope) == -4 and error.get() == "got -3.0 (`check` failed)"


def test_no_second_trace_and_large_types():
    traces = []

    def f(x, n=2):
        traces.append(1)
        ck.check(jnp.all(x > 0), "message without values")
        return {"out": x * n}
    checked = ck.checkify(f)
    for value in (1.0, 2.0, -3.0):
        error, out = checked(jnp.full(4, value), n=3)
    assert len(traces) == 1 and out["out"].tolist() == [-9] * 4
    assert error.get() == "message without values (`check` failed)"
    with jitney.enable_x64(True):
        error, _ = ck.checkify(lambda x, i: x[i] / x[0], errors=ck.all_checks)(
            np.arange(1.0, 4.0), np.int64(5))
        assert "index 5 is out of bounds for axis 0 with size 3" in error.get()


def test_bad_arguments():
    for call, error, message in [
        (lambda: ck.check(X > 0, "x"), TypeError, "takes a scalar pred"),
        (lambda: ck.check(3, "x"), TypeError, "takes a scalar pred"),
        (lambda: ck.check(True, "x {}", 1), TypeError, "need to be PyTrees of arrays, but got 1"),
        (lambda: ck.check(True, "x {}", x="s"), TypeError, "need to be PyTrees of arrays"),
        (lambda: ck.check(True, 3), TypeError, "the message is a string"),
        (lambda: ck.check_error("x"), ValueError, "takes an Error as argument"),
        (lambda: ck.checkify(positive, errors=[ck.OOBError]), TypeError, "errors is a set"),
        (lambda: ck.checkify(positive, errors={ValueError}), TypeError, "errors is a set"),
        (lambda: ck.checkify(3), TypeError, "callable"),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_loops_of_batches():
    """Finished examples take steps that do not count, which must not fail."""
    def loop(x):
        def step(c):
            ck.check(c < 3.5, "c={}", c)
            return c + 1
        return lax.while_loop(lambda c: c < 4, step, x)
    starts = jnp.array([3.0, 1.0])
    with pytest.raises(ValueError, match=r"checkify-of-vmap-of-while.*vmap\(checkify\(f\)\)"):
        ck.checkify(jitney.vmap(loop))(starts)
    error, out = jitney.vmap(ck.checkify(loop))(starts)
    assert error.get() is None and out.tolist() == [4, 4]
    with pytest.raises(ValueError, match="checkify-of-vmap-of-while"):
        ck.checkify(jitney.jit(jitney.vmap(lambda x: 1 / loop(x))), errors=ck.all_checks)(starts)
    part = lambda x: lax.while_loop(lambda c: c[1] < 4, lambda c: (x / c[1], c[1] + 1, c[0]),
                                    (x, x, x))[1]
    with pytest.raises(ValueError, match="checkify-of-vmap-of-while"):
        ck.checkify(jitney.jit(jitney.vmap(part)), errors=ck.all_checks)(starts)
    same_length = jitney.vmap(lambda x: lax.fori_loop(0, 3, lambda i, c: positive(c) - 2, x))
    assert ck.checkify(same_length)(starts)[0].get() == "got 0.0 (`check` failed)"


def test_checks_where_nobody_looks():
    add = lambda a, b: (ck.check(a > b, "not sorted"), a + b)[1]
    with pytest.raises(NotImplementedError, match="cannot look into the programs of 'reduce'"):
        ck.checkify(lambda x: lax.reduce(x, 0.0, add, (0,)))(X)
