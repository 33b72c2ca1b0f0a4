"""Rules of the elementwise, reducing, sorting and choosing primitives agree with their meaning."""

import numpy as np
import op_table
import pytest
from rule_checks import array, check_rules, normal

import jitney
from jitney import lax
from jitney.core.primitive import Primitive, all_primitives
from jitney.transforms.jvp import Zero, jvp_rules
from jitney.transforms.vmap import batch_rules

X = normal(3, 4)
Y = normal(3, 4, seed=1)
V = normal(5, seed=2)
S = array(np.float32(0.7))
I = array(np.arange(12).reshape(3, 4) * 7 - 30, "int32")
B = array(np.arange(12).reshape(3, 4) % 3 == 0)
SMOOTH = [row for row in op_table.ROWS if row.smooth and "float32" in row.dtypes]


@pytest.mark.parametrize("row", SMOOTH, ids=lambda row: row.name)
def test_batches_of_the_table(row):
    args = [array(a) for a in op_table.operands(row, np.dtype(np.float32))]
    check_rules(row.call, *args, jvp=False)


def _slope_by_rule(f, args, which):
    """The tangent of an elementwise function of one equation, along one operand."""
    eqn, = jitney.make_jaxpr(f)(*args).eqns
    tangents = [np.ones_like(a) if i == which else Zero.from_primal_value(a)
                for i, a in enumerate(args)]
    return np.asarray(jvp_rules[eqn.primitive](list(args), tangents, **eqn.params)[1])


def _slope_by_quotient(f, args, which, h=1e-6):
    def moved(by):
        return np.asarray(f(*[a + by * np.maximum(1e-3, np.abs(a)) if i == which else a
                              for i, a in enumerate(args)]))

    return (moved(h) - moved(-h)) / (2 * h * np.maximum(1e-3, np.abs(args[which])))


@pytest.mark.parametrize("row", SMOOTH, ids=lambda row: row.name)
def test_derivatives_of_the_table(row):
    with jitney.enable_x64(True):
        args = op_table.operands(row, np.dtype(np.float64))
        for which in range(len(args)):
            found = _slope_by_rule(row.call, args, which)
            want = _slope_by_quotient(row.call, args, which)
            flat = row.name in ("sign", "floor", "ceil")
            np.testing.assert_allclose(np.zeros_like(want) if flat else found, want, rtol=2e-5,
                                       atol=1e-7)


PARTLY_DIFFERENTIABLE = {
    "igamma": ((0.7, 1.5, 3.0), (0.5, 2.0, 3.5), (0, 1)),
    "igammac": ((0.7, 1.5, 3.0), (0.5, 2.0, 3.5), (0, 1)),
    "igamma_grad_a": ((0.7, 1.5, 3.0), (0.5, 2.0, 3.5), (1,)),
    "zeta": ((2.5, 3.0, 4.0), (1.4, 0.6, 2.0), (1,)),
    "polygamma": ((1.0, 2.0, 0.0), (1.4, 0.6, 2.0), (1,)),
    "betainc": ((0.7, 1.5, 3.0), (0.5, 2.0, 3.5), (0.3, 0.5, 0.8), (2,)),
}


@pytest.mark.parametrize("name", PARTLY_DIFFERENTIABLE)
def test_derivatives_of_special_functions(name):
    *columns, which = PARTLY_DIFFERENTIABLE[name]
    f = getattr(lax, name)
    with jitney.enable_x64(True):
        args = [np.array(c) for c in columns]
        for i in range(len(args)):
            if i in which:
                np.testing.assert_allclose(_slope_by_rule(f, args, i),
                                           _slope_by_quotient(f, args, i), rtol=1e-5)
            else:
                with pytest.raises(ValueError, match="not supported"):
                    _slope_by_rule(f, args, i)


SCALAR_PAIRS = ("add", "sub", "mul", "div", "max", "min", "atan2", "pow", "rem")


@pytest.mark.parametrize("name", SCALAR_PAIRS)
@pytest.mark.parametrize("which", ["left", "right", "ones"])
def test_operands_that_are_repeated(name, which):
    wide = array(np.abs(np.asarray(X)) + 0.5)
    narrow = array(np.full((3, 1), 1.3, np.float32)) if which == "ones" else S
    args = (narrow, wide) if which == "left" else (wide, narrow)
    check_rules(getattr(lax, name), *args)


CASES = {
    "convert": (lambda x: lax.convert_element_type(x, "float16"), X),
    "convert_int": (lambda x: lax.convert_element_type(x, "int32"), X),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 8, 23), X),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, "uint16"), X),
    "integer_pow_3": (lambda x: lax.integer_pow(x, 3), X),
    "integer_pow_0": (lambda x: lax.integer_pow(x, 0), X),
    "integer_pow_1": (lambda x: lax.integer_pow(x, 1), X),
    "integer_pow_-2": (lambda x: lax.integer_pow(x, -2), array(np.abs(np.asarray(X)) + 1)),
    "pow_int": (lambda x: lax.pow(x, array(np.arange(12).reshape(3, 4) % 4, "int32")),
                array(np.abs(np.asarray(X)) + 0.5)),
    "select": (lambda x, y: lax.select(B, x, y), X, Y),
    "select_scalar": (lambda x, y: lax.select(True, x, y), X, Y),
    "select_n": (lambda x, y: lax.select_n(array(np.arange(12).reshape(3, 4) % 3, "int32"),
                                           x, y, x), X, Y),
    "clamp": (lambda x: lax.clamp(-1.0, x, 2.0), X),
    "clamp_arrays": (lambda a, x, b: lax.clamp(a, x, b), array(np.full((3, 4), -1, "float32")), X,
                     array(np.full((3, 4), 2, "float32"))),
    "clamp_scalars": (lambda a, x, b: lax.clamp(a, x, b), array(np.float32(-1.0)), X, S),
    "reduce_sum": (lambda x: lax.reduce_sum(x, (0,)), X),
    "reduce_sum_both": (lambda x: lax.reduce_sum(x, (0, 1)), X),
    "reduce_prod": (lambda x: lax.reduce_prod(x, (1,)), array(np.asarray(X) * 0.3)),
    "reduce_prod_zero": (lambda x: lax.reduce_prod(x, (0,)), array([0.0, 2.0, 3.0], "float32")),
    "reduce_max": (lambda x: lax.reduce_max(x, (0,)), X),
    "reduce_min": (lambda x: lax.reduce_min(x, (1,)), X),
    "reduce_and": (lambda x: lax.reduce_and(x, (1,)), B),
    "reduce_or": (lambda x: lax.reduce_or(x, (0,)), I),
    "reduce_xor": (lambda x: lax.reduce_xor(x, (0, 1)), I),
    "argmax": (lambda x: lax.argmax(x, 1, "int32"), X),
    "argmin": (lambda x: lax.argmin(x, 0, "int32"), X),
    "cumsum": (lambda x: lax.cumsum(x, 1), X),
    "cumsum_reverse": (lambda x: lax.cumsum(x, 0, True), X),
    "cumprod": (lambda x: lax.cumprod(x, 1), array(np.asarray(X) * 0.4)),
    "cummax": (lambda x: lax.cummax(x, 1), X),
    "cummin_reverse": (lambda x: lax.cummin(x, 0, True), X),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, 1), X),
    "cumlogsumexp_odd": (lambda x: lax.cumlogsumexp(x, 0, True), V),
    "sort": (lambda x: lax.sort(x, 1), X),
    "sort_pair": (lambda x, y: lax.sort((x, y), 0, num_keys=1), X, Y),
    "sort_key_val": (lambda x, y: lax.sort_key_val(x, y), I, X),
    "top_k": (lambda x: lax.top_k(x, 2), X),
    "top_k_axis": (lambda x: lax.top_k(x, 2, axis=0), X),
    "approx_max_k": (lambda x: lax.approx_max_k(x, 2), X),
    "approx_min_k": (lambda x: lax.approx_min_k(x, 1, 0), X),
    "reduce": (lambda x: lax.reduce(x, np.float32(0), lambda a, b: lax.add(a, lax.mul(b, S_)),
                                    (1,)), X),
    "reduce_two": (lambda x, y: lax.reduce((x, y), (np.float32(0), np.float32(1)),
                                           lambda a, b: (lax.add(a[0], b[0]),
                                                         lax.mul(a[1], b[1])), (0,)),
                   X, array(np.asarray(Y) * 0.3)),
    "copy": (lax.copy_p.bind, X),
    "barrier": (lambda x, y: lax.optimization_barrier((x, y)), X, Y),
    "shift": (lambda x: lax.shift_left(x, array(np.full((3, 4), 2), "int32")), I),
    "mulhi": (lambda x: lax.mulhi(x, x), I),
    "not": (lax.bitwise_not, B),
    "clz": (lax.clz, I),
    "population_count": (lax.population_count, I),
    "is_finite": (lax.is_finite, X),
    "nextafter": (lax.nextafter, X, Y),
}
S_ = np.float32(1.0)
# Positions and bits are not differentiable, and a half-precision difference quotient is noise.
NO_QUOTIENT = {"convert", "convert_int", "bitcast", "nextafter"}
NOT_TRANSPOSED = {"argmax", "argmin", "sort_key_val", "top_k", "top_k_axis", "approx_max_k",
                  "approx_min_k", "is_finite"}


@pytest.mark.parametrize("name", CASES)
def test_rules(name):
    f, *args = CASES[name]
    check_rules(f, *args, jvp=name not in NO_QUOTIENT, transpose=name not in NOT_TRANSPOSED)


@pytest.mark.parametrize("name", ["exp", "sin", "tanh", "sqrt", "log", "square", "mul", "div",
                                  "integer_pow", "real", "imag", "conj", "abs", "logistic"])
def test_complex_derivatives_are_those_of_the_function(name):
    """d f(x)[t] from the rule against a difference quotient along t."""
    with jitney.enable_x64(True):
        x, t = np.array([1.5 - 0.7j, -0.3 + 2j, 0.4 + 0.1j]), np.array([0.3 + 1j, -1 + 0.2j, 0.5j])
        second = {"mul": [np.array([2 - 1j, 1j, 0.5 + 0j])], "div": [np.array([2 - 1j, 1j, 0.5])]}
        others = [np.asarray(o, np.complex128) for o in second.get(name, [])]
        f = getattr(lax, name) if name != "integer_pow" else lambda z: lax.integer_pow(z, 3)
        if name == "conj":
            f = lambda z: lax.conj_p.bind(z, input_dtype=np.dtype(np.complex128))
        eqns = jitney.make_jaxpr(f)(x, *others).eqns
        assert len(eqns) == 1
        from_rule = jvp_rules[eqns[0].primitive](
            [x, *others], [t] + [_zero(o) for o in others], **eqns[0].params)[1]
        h = 1e-6
        quotient = (np.asarray(f(x + h * t, *others)) - np.asarray(f(x - h * t, *others))) / (2 * h)
        np.testing.assert_allclose(np.asarray(from_rule), quotient, rtol=1e-6, atol=1e-8)


def _zero(x):
    return Zero.from_primal_value(x)


def test_ties_share_the_derivative():
    x = array([2.0, 1.0, 2.0], "float32")
    _, t = jvp_rules[lax.reduce_max_p]([x], [array([1.0, 5.0, 3.0], "float32")], axes=(0,))
    assert float(t) == 2.0
    ones = array([1.0, 1.0], "float32")
    _, t = jvp_rules[lax.max_p]([ones, ones], [ones, array([0.0, 0.0], "float32")])
    assert np.asarray(t).tolist() == [0.5, 0.5]


FAMILIES = [name for name in dir(lax) if isinstance(getattr(lax, name), Primitive)]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_primitive_has_its_rules(name):
    """Type rule, reference and batching; a derivative, or a rule saying that there is none."""
    primitive = getattr(lax, name)
    assert primitive.abstract_rule is not None
    assert primitive.reference_rule is not None
    assert primitive in batch_rules or not _has_operands(primitive), "no batching rule"
    assert primitive in jvp_rules or not _has_operands(primitive), "no jvp rule"
    assert all_primitives()[primitive.name] is primitive


def _has_operands(primitive) -> bool:
    return primitive.name not in ("iota", "empty", "rng_uniform")
