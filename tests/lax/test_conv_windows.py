"""reduce_window and the derivative of its maxima."""

import numpy as np
import pytest
from rule_checks import array, check_rules, jaxpr_text, normal

import jitney  # noqa: F401
from jitney import lax

X = array(np.random.RandomState(0).permutation(84).reshape(2, 6, 7) / 8.0, "float32")
W = (1, 2, 3)
PADS = ((0, 0), (1, 1), (2, -1))

CASES = {
    "sum": (lambda x: lax.reduce_window(x, 0.0, lax.add, W, (1, 2, 1), "SAME"), X),
    "sum_dilated": (lambda x: lax.reduce_window(
        x, 0.0, lax.add, W, (1, 2, 1), PADS, (1, 2, 1), (1, 1, 2)), X),
    "max": (lambda x: lax.reduce_window(x, -np.inf, lax.max, W, (1, 2, 1), "SAME"), X),
    "max_holes": (lambda x: lax.reduce_window(
        x, -np.inf, lax.max, W, (1, 2, 1), PADS, (1, 2, 1)), X),
    "min": (lambda x: lax.reduce_window(x, np.inf, lax.min, W, W), X),
    "product": (lambda x: lax.reduce_window(x, 1.0, lax.mul, W, W), X),
}


@pytest.mark.parametrize("name", CASES)
def test_rules_agree_with_meaning(name):
    f, *args = CASES[name]
    check_rules(f, *args)


def test_sums_of_lambdas_are_sums():
    text = jaxpr_text(lambda x: lax.reduce_window(x, 0.0, lambda a, b: lax.add(a, b), W, W), X)
    assert "reduce_window_sum[" in text
    text = jaxpr_text(lambda x: lax.reduce_window(x, 2.0, lax.add, W, W), X)
    assert "reduce_window[" in text


def test_padding_is_not_combined():
    found = lax.reduce_window(array([1.0, 2.0]), 10.0, lax.add, (2,), (1,), ((1, 1),))
    assert found.tolist() == [11, 13, 12]


def test_several_operands():
    a, b = lax.reduce_window((X, X), (np.float32(0), np.float32(1)), lambda p, q: (
        lax.add(p[0], q[0]), lax.mul(p[1], q[1])), W, W)
    view = np.lib.stride_tricks.sliding_window_view(np.asarray(X), W)[:, ::2, ::3]
    np.testing.assert_allclose(a, view.sum((-1, -2, -3)), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(b, view.prod((-1, -2, -3)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bfloat16", "float16"])
def test_types(dtype):
    x = normal(6, dtype=dtype)
    found = lax.reduce_window(x, lax.full((), 0, dtype), lax.add, (3,), (3,))
    assert found.dtype == x.dtype and found.shape == (2,)
    assert lax.reduce_window_shape_tuple((6, 6), (2, 2), (1, 1), "VALID") == (5, 5)


@pytest.mark.parametrize("call, error, text", [
    (lambda: lax.reduce_window(X, 0.0, lax.add, (2, 2), (2, 2)), TypeError, "wrong number"),
    (lambda: lax.reduce_window(X, np.int32(0), lax.add, W), TypeError, "inconsistent dtypes"),
    (lambda: lax.reduce_window(X, normal(2), lax.add, W), TypeError, "scalars"),
    (lambda: lax.reduce_window(X, 0.0, lax.add, (0, 1, 1)), TypeError, "strictly positive"),
    (lambda: lax.reduce_window(X, 0.0, lambda a, b: (a, b), W), TypeError, "must return"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
