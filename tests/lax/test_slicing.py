"""Static and dynamic slices."""

import numpy as np
import pytest
from rule_checks import array, check_rules, jaxpr_text, normal

import jitney  # noqa: F401
from jitney import lax

X = normal(5, 6)
I0, I1 = array(1, "int32"), array(2, "int32")

CASES = {
    "slice": (lambda x: lax.slice(x, (1, 0), (4, 5)), X),
    "slice_strides": (lambda x: lax.slice(x, (1, 0), (5, 6), (2, 4)), X),
    "slice_empty": (lambda x: lax.slice(x, (1, 0), (1, 6), (2, 4)), X),
    "dynamic_slice": (lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), X, I0, I1),
    "dynamic_slice_clamped": (lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), X,
                              array(4, "int32"), array(-9, "int32")),
    "dynamic_update_slice": (
        lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)), X, normal(2, 3, seed=1), I0,
        I1),
}


@pytest.mark.parametrize("name", CASES)
def test_rules_agree_with_meaning(name):
    f, *args = CASES[name]
    check_rules(f, *args)


def test_starts_are_clamped_and_negative_ones_counted_back():
    v = array(np.arange(5), "float32")
    assert lax.dynamic_slice(v, (array(4, "int32"),), (2,)).tolist() == [3, 4]
    assert lax.dynamic_slice(v, (-1,), (2,)).tolist() == [3, 4]
    assert lax.dynamic_slice(v, (-4,), (2,)).tolist() == [1, 2]
    assert lax.dynamic_slice(v, (-4,), (2,), allow_negative_indices=False).tolist() == [0, 1]
    assert lax.dynamic_slice(v, (array(250, "uint8"),), (2,)).tolist() == [3, 4]
    assert lax.dynamic_slice(v, (2**40,), (2,)).tolist() == [3, 4]
    assert lax.dynamic_update_slice(v, array([8, 9], "float32"), (array(9, "int32"),)).tolist() \
        == [0, 1, 2, 8, 9]


def test_short_index_types_reach_long_axes():
    v = array(np.arange(300), "float32")
    assert lax.dynamic_slice(v, (array(-1, "int8"),), (1,)).tolist() == [299]


def test_one_axis():
    x = np.asarray(X)
    np.testing.assert_array_equal(lax.slice_in_dim(X, -3, -1, axis=1), x[:, -3:-1])
    np.testing.assert_array_equal(lax.index_in_dim(X, -1, 1), x[:, -1:])
    np.testing.assert_array_equal(lax.index_in_dim(X, 2, 0, False), x[2])
    np.testing.assert_array_equal(lax.dynamic_index_in_dim(X, I1, 1, False), x[:, 2])
    np.testing.assert_array_equal(lax.dynamic_slice_in_dim(X, I1, 2, -1), x[:, 2:4])
    found = np.asarray(lax.dynamic_update_index_in_dim(X, lax.full((6,), 7.0), I0, 0))
    assert (found[1] == 7).all() and (found[2:] == x[2:]).all()


def test_jaxprs_are_those_of_jax():
    assert jaxpr_text(lambda x, i: lax.dynamic_slice(x, (i, -1), (2, 2)), X, I0) == """\
{ lambda ; a:f32[5,6] b:i32[]. let
    c:bool[] = lt b 0:i32[]
    d:i32[] = add b 5:i32[]
    e:i32[] = select_n c b d
    f:f32[2,2] = dynamic_slice[slice_sizes=(2, 2)] a e 5:i32[]
  in (f,) }"""
    assert jaxpr_text(lambda x: lax.slice(x, (1, 0), (4, 5)), X) == """\
{ lambda ; a:f32[5,6]. let
    b:f32[3,5] = slice[limit_indices=(4, 5) start_indices=(1, 0) strides=None] a
  in (b,) }"""


@pytest.mark.parametrize("call, error, text", [
    (lambda: lax.slice(X, (0, 1), (3, 7)), TypeError, "less than or equal to operand shape"),
    (lambda: lax.slice(X, (0, 3), (3, 2)), TypeError, "greater than or equal to start"),
    (lambda: lax.slice(X, (0, -1), (3, 2)), TypeError, "nonnegative"),
    (lambda: lax.slice(X, (0,), (3,)), TypeError, "length equal"),
    (lambda: lax.slice(X, (0, 0), (3, 3), (0, 1)), TypeError, "positive"),
    (lambda: lax.index_in_dim(X, 5), IndexError, "out of bounds"),
    (lambda: lax.dynamic_slice(X, (I0, 0), (9, 2)), TypeError, "less than or equal"),
    (lambda: lax.dynamic_slice(X, (I0,), (2,)), ValueError, "must match"),
    (lambda: lax.dynamic_slice(X, (I0, array(0.5)), (2, 2)), TypeError, "integers"),
    (lambda: lax.dynamic_update_slice(X, lax.full((2,), 1.0), (0, 0)), TypeError, "same rank"),
    (lambda: lax.dynamic_update_slice(X, lax.full((9, 1), 1.0), (0, 0)), TypeError, "smaller"),
    (lambda: lax.dynamic_update_slice(X, lax.full((1, 1), 1), (0, 0)), TypeError, "same dtypes"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
