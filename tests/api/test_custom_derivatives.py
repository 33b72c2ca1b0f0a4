"""custom_jvp and custom_vjp: evaluation, staging, text, and rules on flat lists."""

import functools

import numpy as np
import pytest
import toy_language as toy

import jitney
from jitney.core import check_jaxpr, eval_closed


@jitney.custom_jvp
def scaled(x, y):
    """A product."""
    return toy.mul(toy.sin(x), y)


@scaled.defjvp
def scaled_jvp(primals, tangents):
    return scaled(*primals), tangents[0]


def text(fun, *args):
    closed = jitney.make_jaxpr(fun)(*args)
    check_jaxpr(closed)
    return " ".join(str(closed).split())


def test_evaluation_and_names():
    assert float(scaled(1.0, y=2.0)) == pytest.approx(2 * np.sin(1.0))
    assert float(jitney.jit(scaled)(1.0, 2.0)) == pytest.approx(2 * np.sin(1.0))
    assert scaled.__name__ == "scaled" and scaled.__doc__ == "A product."


def test_staging():
    assert text(lambda x: scaled(x, 2.0), 1.0) == (
        "{ lambda ; a:f32[]. let b:f32[] = custom_jvp_call[ name=scaled call_jaxpr={ lambda ; "
        "c:f32[] d:f32[]. let e:f32[] = toy_sin c f:f32[] = toy_mul e d in (f,) } jvp=scaled_jvp "
        "symbolic_zeros=False ] a 2.0:f32[] in (b,) }")


def test_captured_values_become_operands():
    def outer(x, z):
        inner = jitney.custom_jvp(lambda x: toy.mul(x, z))
        inner.defjvps(lambda t, ans, x: t)
        return inner(x)
    got = text(outer, 1.0, 2.0)
    assert "num_consts=1" in got and "] b a in (c,)" in got
    closed = jitney.make_jaxpr(outer)(1.0, 2.0)
    assert float(eval_closed(closed, 3.0, 4.0)[0]) == 12.0


def test_arguments_without_derivative():
    @functools.partial(jitney.custom_jvp, nondiff_argnums=(1,))
    def power(x, n):
        return x if n == 1 else toy.mul(power(x, n - 1), x)

    @power.defjvp
    def power_jvp(n, primals, tangents):
        return power(*primals, n), toy.mul(tangents[0], float(n))

    assert float(power(2.0, 3)) == 8.0
    eqn = jitney.make_jaxpr(lambda x: power(x, 2))(1.0).eqns[0]
    outs, tangents = eqn.params["jvp_jaxpr_fun"]([3.0], [1.0])
    assert float(outs[0]) == 9.0 and float(tangents[0]) == 2.0


def test_wrong_rules_are_refused():
    @jitney.custom_jvp
    def f(x):
        return x
    with pytest.raises(AttributeError, match="No JVP defined for custom_jvp function f"):
        f(1.0)
    f.defjvp(lambda primals, tangents: primals[0])
    rule = jitney.make_jaxpr(f)(1.0).eqns[0].params["jvp_jaxpr_fun"]
    with pytest.raises(TypeError, match="must produce a pair"):
        rule([1.0], [1.0])
    f.defjvp(lambda primals, tangents: (primals[0], np.ones(3, np.float32)))
    with pytest.raises(TypeError, match="corresponding shapes"):
        rule([1.0], [1.0])


def test_vjp():
    @jitney.custom_vjp
    def f(x, y):
        return toy.mul(x, y)
    with pytest.raises(AttributeError, match="No VJP defined"):
        f(1.0, 2.0)
    f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda res, g: (toy.mul(g, res[1]), g))
    assert float(f(2.0, 3.0)) == 6.0
    closed = jitney.make_jaxpr(f)(2.0, 3.0)
    assert "custom_vjp_call[ name=f bwd=<lambda> call_jaxpr={" in " ".join(str(closed).split())
    rule = closed.eqns[0].params["bwd"]
    outs, residuals, tree = rule.forward([2.0, 3.0], [True, True])
    assert float(outs[0]) == 6.0
    assert [float(c) for c in rule.backward(tree, residuals, [1.0])] == [3.0, 1.0]
    f.defvjp(lambda x, y: (f(x, y), ()), lambda res, g: g)
    with pytest.raises(TypeError, match="tuple of length"):
        rule.backward(tree, residuals, [1.0])
