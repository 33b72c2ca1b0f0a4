"""What is accepted, of which type the results are, and what the errors say."""

import numpy as np
import pytest
from helpers import dtype_named

import jitney
from jitney import lax
from jitney.lax.random_bits import random_seed, random_split, random_unwrap, random_wrap

F = np.ones(3, np.float32)
I = np.arange(3, dtype=np.int32)
B = np.array([True, False, True])


def test_weak_type_is_kept_only_when_all_operands_are_weak():
    assert lax.add(1, 2).weak_type and lax.add(1, 2).dtype == np.int32
    assert not lax.add(F, 2.0).weak_type
    assert lax.sin(1.0).weak_type
    assert lax.eq(1, 2).weak_type and lax.is_finite(1.0).weak_type      # as in JAX
    assert not lax.eq(F, 2.0).weak_type
    assert lax.complex(1.0, 2.0).weak_type
    assert lax.select(True, 1.0, 2.0).weak_type and lax.reduce_sum(1.0, ()).weak_type
    assert not lax.convert_element_type(1.0, np.float32).weak_type


@pytest.mark.parametrize("call, error, text", [
    (lambda: lax.add(F, np.ones(4, np.float32)), TypeError,
     r"add got incompatible shapes for broadcasting: \(3,\), \(4,\)"),
    (lambda: lax.add(F, np.ones((1, 3), np.float32)), TypeError,
     "arrays must have the same number of dimensions"),
    (lambda: lax.add(F, I), TypeError,
     r"lax.add requires arguments to have the same dtypes, got float32, int32. \(Tip: jnp.add"),
    (lambda: lax.add(F, 1), TypeError, "got float32, int32"),
    (lambda: lax.bitwise_and(True, I), TypeError, "lax.and requires"),
    (lambda: lax.sin(1), TypeError, "sin does not accept dtype int32. Accepted dtypes are subtypes "
     "of floating, complexfloating."),
    (lambda: lax.pow(I, 3), TypeError, "pow does not accept dtype int32 at position 0. Accepted "
     "dtypes at position 0 are subtypes of floating, complexfloating."),
    (lambda: lax.neg(True), TypeError, "neg does not accept dtype bool"),
    (lambda: lax.integer_pow(I, -1), TypeError, "Integers cannot be raised to negative powers"),
    (lambda: lax.exp(F, accuracy=3), NotImplementedError, "Accuracy 3 not supported"),
    (lambda: lax.convert_element_type(F, None), ValueError, "dtype must be specified"),
    (lambda: lax.reduce_precision(F, 0, 10), ValueError, "exponent_bits must be positive; got 0"),
    (lambda: lax.clamp(np.zeros(2, np.float32), F, 1.0), TypeError,
     r"clamp requires min.shape == operand.shape or min.shape == \(\)"),
    (lambda: lax.select(B, F, np.ones(4, np.float32)), TypeError,
     r"select cases must have the same shapes, got \[\(4,\), \(3,\)\]"),
    (lambda: lax.select(F, F, F), TypeError,
     "select `which` must be boolean or integer type, got float32"),
    (lambda: lax.select_n(B, F, F, F), TypeError, "cannot have > 2 cases"),
    (lambda: lax.select_n(B), ValueError, "at least one case"),
    (lambda: lax.select(B, 1.0, 2.0), TypeError, "must be scalar or have the same shape as cases"),
    (lambda: lax.reduce_sum(F, (1,)), ValueError,
     r"reduction axes \(1,\) contains out-of-bounds indices for float32\[3\]"),
    (lambda: lax.reduce_sum(F, (0, 0)), ValueError, "duplicate value in 'axes'"),
    (lambda: lax.reduce_sum(B, (0,)), TypeError,
     "reduce_sum does not accept dtype bool. Accepted dtypes are subtypes of number."),
    (lambda: lax.reduce_and(F, (0,)), TypeError,
     "logical reduction requires operand dtype bool or int, got float32"),
    (lambda: lax.argmax(np.ones(0, np.float32), 0, "int32"), ValueError, "non-empty reduced dim"),
    (lambda: lax.argmax(F, 0, "float32"), TypeError, "index_dtype must be an integer type"),
    (lambda: lax.cumsum(F, 1), ValueError, r"axis 1 is out of bounds for array of shape \(3,\)"),
    (lambda: lax.cumsum(F, -1), ValueError, "XLA operations do not allow negative axes"),
    (lambda: lax.cumsum(B), TypeError, "cumsum does not accept dtype bool"),
    (lambda: lax.sort((F, np.ones(4, np.float32))), TypeError,
     r"Arguments to sort must have equal shapes, got: \(3,\) \(4,\)"),
    (lambda: lax.sort(()), TypeError, "Sort requires at least one operand"),
    (lambda: lax.sort((F, F), num_keys=3), ValueError, "num_keys=3 must be between 1 and"),
    (lambda: lax.sort(F, dimension=4), ValueError, "axis 4 is out of bounds"),
    (lambda: lax.top_k(F, 4), ValueError, "k argument to top_k must be no larger than size"),
    (lambda: lax.top_k(F, -1), ValueError, "must be nonnegative, got -1"),
    (lambda: lax.approx_max_k(I, 2), ValueError, "operand must be a floating type"),
    (lambda: lax.bitcast_convert_type(np.ones((3, 3), np.uint16), np.float32), ValueError,
     r"3 \* 16 != 32"),
    (lambda: lax.bitcast_convert_type(I, np.bool_), TypeError, "does not support bool or complex"),
    (lambda: lax.reduce((F, F), 0.0, lambda a, b: a, (0,)), ValueError, "same tree structure"),
    (lambda: lax.reduce(F, 0.0, lambda a, b: (a, b), (0,)), TypeError, "must return"),
    (lambda: lax.Tolerance(), ValueError, "must be set"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_errors_about_keys():
    key = random_seed(0, "threefry2x32")
    for call in (lambda: lax.add(key, key), lambda: lax.neg(key), lambda: lax.lt(key, key),
                 lambda: lax.max(key, key), lambda: lax.sort(random_split(key, (2,))),
                 lambda: random_unwrap(F), lambda: random_wrap(F, impl="rbg"),
                 lambda: random_wrap(np.ones(3, np.uint32), impl="threefry2x32"),
                 lambda: random_seed(1.5, "rbg")):
        with pytest.raises(TypeError):
            call()
    for call in (lambda: lax.convert_element_type(key, np.uint32),
                 lambda: random_wrap(np.ones(3, np.uint32), impl="unknown"),
                 lambda: lax.bitcast_convert_type(key, np.uint32)):
        with pytest.raises(ValueError):
            call()


def test_64_bit_requests_warn_and_complex_parts_are_dropped_with_a_warning():
    with pytest.warns(UserWarning, match="will be truncated to dtype float32"):
        assert lax.convert_element_type(F, np.float64).dtype == np.float32
    with pytest.warns(np.exceptions.ComplexWarning):
        lax.convert_element_type(np.array([1 + 2j], np.complex64), np.float32)
    assert lax.convert_element_type(F, float).dtype == np.float32


ACCEPTS = {
    "add": "iufc", "sin": "fc", "floor": "f", "rem": "iuf", "max": "biufc", "bitwise_and": "biu",
    "population_count": "iu", "real": "c", "atan2": "fc", "eq": "biufc", "lt": "biuf",
    "lgamma": "f", "igamma": "f", "nextafter": "f", "shift_left": "iu",
}
KINDS = {"b": "bool", "i": "int16", "u": "uint32", "f": "bfloat16", "c": "complex64"}


@pytest.mark.parametrize("name", ACCEPTS)
@pytest.mark.parametrize("kind", KINDS)
def test_accepted_kinds(name, kind):
    x = jitney.ShapeDtypeStruct((2,), dtype_named(KINDS[kind]))
    unary = name in ("sin", "floor", "population_count", "real", "lgamma")
    make = jitney.make_jaxpr(getattr(lax, name))
    if kind in ACCEPTS[name]:
        make(*[x] * (1 if unary else 2))
    else:
        with pytest.raises(TypeError, match="does not accept dtype"):
            make(*[x] * (1 if unary else 2))
