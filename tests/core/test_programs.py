"""Tracing, checking, running and shrinking jaxprs."""

import numpy as np
import pytest
import toy_language as toy

import jitney
from jitney.base import errors
from jitney.core import check_jaxpr, dce_jaxpr, eval_closed
from jitney.core.avals import ShapedArray, get_aval, to_array
from jitney.core.interpret import reference_of_closed
from jitney.core.jaxpr import ClosedJaxpr, DropVar, Literal

F32 = ShapedArray((), "float32")


def trace(fun, *args):
    closed = jitney.make_jaxpr(fun)(*args)
    check_jaxpr(closed)
    return closed


def test_avals_are_interned_and_describe_themselves():
    a = ShapedArray((2, 3), "float32")
    assert a is ShapedArray((2, 3), np.float32)
    assert str(a) == "float32[2,3]" and repr(a) == "ShapedArray(float32[2,3])"
    assert repr(get_aval(1)) == "ShapedArray(int32[], weak_type=True)"
    assert get_aval(np.float64(1)) is ShapedArray((), "float32")
    assert a.update(shape=(3,)).shape == (3,) and get_aval(1.0).strip_weak_type() is F32


def test_everything_done_under_a_trace_is_recorded_also_on_constants():
    closed = trace(lambda x: toy.add(x, toy.sin(2.0)), 1.0)
    assert [e.primitive.name for e in closed.eqns] == ["toy_sin", "toy_add"]
    assert type(closed.eqns[0].invars[0]) is Literal


def test_interpreters_agree():
    c = to_array(np.float32([1, 2, 3]))
    closed = trace(lambda x: (toy.mul(toy.add(c, x), x), 3.0, x), np.float32([1, 1, 2]))
    by_bind = eval_closed(closed, np.float32([4, 5, 6]))
    by_reference = reference_of_closed(closed, np.float32([4, 5, 6]))
    for a, b in zip(by_bind, by_reference):
        np.testing.assert_array_equal(np.asarray(a), b)


def test_interpreting_under_a_trace_writes_the_program_again():
    closed = trace(lambda x: toy.mul(toy.sin(x), x), 1.0)
    again = trace(lambda x: eval_closed(closed, x), 1.0)
    assert str(again) == str(closed)


def test_dead_code():
    closed = trace(lambda x, y: (toy.sin(x), toy.sin(y), toy.add(x, y)), 1.0, 2.0)
    jaxpr, used = dce_jaxpr(closed.jaxpr, [False, True, False])
    assert used == [False, True] and len(jaxpr.eqns) == 1 and len(jaxpr.invars) == 1
    kept, used = dce_jaxpr(closed.jaxpr, [False, True, False], instantiate=True)
    assert used == [True, True] and len(kept.invars) == 2


def test_dead_code_inside_jit_and_effects():
    inner = jitney.jit(lambda x, y: (toy.sin(x), toy.sin(y)))
    closed = trace(lambda x, y: inner(x, y)[1], 1.0, 2.0)
    jaxpr, used = dce_jaxpr(closed.jaxpr)
    assert used == [False, True]
    assert len(jaxpr.eqns[0].params["jaxpr"].eqns) == 1

    def f(x):
        toy.effect_p.bind(x)
        return x

    closed = trace(f, 1.0)
    assert closed.effects == {"toy"} and len(dce_jaxpr(closed.jaxpr)[0].eqns) == 1
    nested = trace(lambda x: jitney.jit(f)(x), 1.0)
    assert nested.effects == {"toy"} and len(dce_jaxpr(nested.jaxpr, [False])[0].eqns) == 1


def test_unused_results_are_drop_vars():
    closed = trace(lambda x: toy.split_p.bind(x)[1], np.ones(3, np.float32))
    kinds = [type(v) is DropVar for v in closed.eqns[0].outvars]
    assert kinds == [True, False, True]


def test_the_checker_shows_where():
    closed = trace(lambda x: toy.mul(toy.sin(x), x), 1.0)
    jaxpr = closed.jaxpr
    with pytest.raises(errors.JaxprTypeError, match="read but not bound"):
        check_jaxpr(jaxpr.replace(eqns=jaxpr.eqns[1:]))
    with pytest.raises(errors.JaxprTypeError, match="bound twice"):
        check_jaxpr(jaxpr.replace(eqns=[*jaxpr.eqns, jaxpr.eqns[0]]))
    wrong = jaxpr.eqns[0].outvars[0]
    wrong.aval = ShapedArray((2,), "float32")
    with pytest.raises(errors.JaxprTypeError) as error:
        check_jaxpr(jaxpr)
    assert "toy_sin gives f32[], the variable is f32[2]" in str(error.value)
    assert "toy_language.py" in str(error.value)


def test_closed_jaxprs_count_their_constants():
    closed = trace(lambda x: x, 1.0)
    with pytest.raises(ValueError, match="constvars"):
        ClosedJaxpr(closed.jaxpr, [1])
    assert closed.in_avals == closed.out_avals == [get_aval(1.0)]


def test_compile_time_evaluation_inside_a_trace():
    def f(x):
        with jitney.ensure_compile_time_eval():
            assert toy.gt(2.0, 1.0)
        return x

    assert not trace(f, 1.0).eqns
