"""dot_general, dot, batch_matmul."""

import numpy as np
import pytest
from rule_checks import as_numpy, check_rules, jaxpr_text, normal

import jitney
import jitney.numpy as jnp
from jitney import lax

T = normal(3, 4, 5, 6)
X, Y = normal(3, 4), normal(4, 5, seed=1)

CASES = {
    "matrix": (lambda x, y: lax.dot(x, y), X, Y),
    "vector": (lambda x, y: lax.dot(x, y), normal(5), normal(5, seed=1)),
    "general": (lambda x, y: lax.dot_general(x, y, (((2, 1), (0, 2)), ((0,), (3,)))), T,
                normal(5, 2, 4, 3, seed=1)),
    "two_batch": (lambda x, y: lax.dot_general(x, y, (((2,), (0,)), ((3, 0), (1, 3)))), T,
                  normal(5, 6, 2, 3, seed=1)),
    "outer": (lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))), normal(3), normal(2)),
    "batch_matmul": (lambda x, y: lax.batch_matmul(x, y), normal(2, 3, 4), normal(2, 4, 5)),
    "empty": (lambda x, y: lax.dot(x, y), normal(3, 0), normal(0, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_rules_agree_with_meaning(name):
    f, *args = CASES[name]
    check_rules(f, *args)


def test_general_is_einsum():
    a, b = T, normal(5, 6, 2, 3, seed=1)
    found = lax.dot_general(a, b, (((2,), (0,)), ((3, 0), (1, 3))))
    want = np.einsum("abcd,cdea->dabe", np.asarray(a), np.asarray(b))
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype, preferred, out", [
    ("int8", None, "int8"), ("int8", "int32", "int32"), ("bfloat16", "float32", "float32"),
    ("bfloat16", None, "bfloat16"), ("bool", None, "bool"), ("complex64", None, "complex64"),
    ("float16", "float16", "float16"),
])
def test_types(dtype, preferred, out):
    a, b = normal(3, 4, dtype=dtype), normal(4, 2, dtype=dtype, seed=1)
    found = lax.dot(a, b, preferred_element_type=preferred)
    assert found.dtype == np.dtype(found.dtype) and str(found.dtype) == out
    wide = np.complex128 if out == "complex64" else np.float64
    want = np.asarray(a).astype(wide) @ np.asarray(b).astype(wide)
    want = want != 0 if out == "bool" else want.astype(np.int64).astype(out) \
        if "int" in out else want
    np.testing.assert_allclose(as_numpy(found), want, rtol=1e-2, atol=1e-1)


def test_mixed_types():
    assert lax.dot(X, normal(4, 5, dtype="int32")).dtype == np.float32
    assert str(lax.dot(normal(3, 4, dtype="bfloat16"), Y).dtype) == "float32"
    assert lax.dot(normal(3, 4, dtype="int8"), normal(4, 5, dtype="uint8")).dtype == np.int8


def test_jaxprs_are_those_of_jax():
    assert jaxpr_text(lambda x, y: lax.dot(x, y, precision="highest"), X, Y) == """\
{ lambda ; a:f32[3,4] b:f32[4,5]. let
    c:f32[3,5] = dot_general[
      dimension_numbers=(([1], [0]), ([], []))
      precision=(Precision.HIGHEST, Precision.HIGHEST)
    ] a b
  in (c,) }"""


def test_weak_types():
    weak = lax.full((4,), 1.0)
    assert lax.dot(weak, weak).weak_type and not lax.dot(weak, normal(4)).weak_type


@pytest.mark.parametrize("call, error, text", [
    (lambda: lax.dot(normal(3), normal(4, 3)), ValueError, "dimension_numbers must be specified"),
    (lambda: lax.dot_general(X, Y, (((0,), (0,)), ((), ()))), TypeError, "same shape"),
    (lambda: lax.dot_general(X, Y, (((4,), (0,)), ((), ()))), TypeError, "nonnegative and less"),
    (lambda: lax.dot_general(X, Y, (((1, 1), (0, 0)), ((), ()))), TypeError, "distinct"),
    (lambda: lax.dot_general(X, Y, (((1,), (0,)), ((1,), (1,)))), TypeError, "disjoint"),
    (lambda: lax.dot_general(X, Y, (((1,), (0,)), ((0,), ()))), TypeError, "equal numbers"),
    (lambda: lax.dot(X, Y, precision="bad"), ValueError, "Precision argument"),
    (lambda: lax.dot(normal(2, 2, dtype="int32"), normal(2, 2, dtype="int32"),
                     preferred_element_type="int8"), TypeError, "narrower"),
    (lambda: lax.batch_matmul(normal(2, 3, 4), Y), ValueError, "same ndim"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("columns", [1, 3, 5, 7, 10, 17, 30, 37])
def test_of_what_is_overwritten(columns):
    """A product beside what may lie in its place: a donated operand, the state of a loop."""
    x, w = normal(40, columns), normal(columns, columns, seed=1) / columns
    step = lambda x, w: jnp.tanh(lax.dot(x, w) + x)
    once = np.tanh(x @ w + x)
    donated = jitney.jit(step, donate_argnums=0)(jnp.array(x), jnp.array(w))
    np.testing.assert_allclose(donated, once, rtol=1e-5, atol=1e-6)
    turns = lambda x, w: lax.fori_loop(0, 3, lambda _, x: step(x, w), x)
    thrice = once
    for _ in range(2):
        thrice = np.tanh(thrice @ w + thrice)
    np.testing.assert_allclose(jitney.jit(turns)(x, w), thrice, rtol=1e-5, atol=1e-6)
