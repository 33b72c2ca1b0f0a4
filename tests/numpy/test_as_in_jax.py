"""Weak types, named axes and error classes: what JAX answers, found by comparing with it."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax, nn

WEAK, INT, BOOL, F = jnp.asarray(2.0), jnp.asarray(2), jnp.array([True]), jnp.ones(2)
X = jnp.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("result,weak", [
    (lambda: WEAK < WEAK, True), (lambda: BOOL < 2.5, True), (lambda: F < 1.0, False),
    (lambda: jnp.less(WEAK, F), False), (lambda: lax.eq(WEAK, WEAK), True),
    (lambda: lax.eq(F, 1.0), False), (lambda: ~(WEAK < 1), True),
    (lambda: (WEAK < 1) & (WEAK < 2), False), (lambda: jnp.logical_and(WEAK, INT), True),
    (lambda: jnp.logical_or(WEAK < 1, WEAK < 1), False), (lambda: jnp.isnan(WEAK), True),
    (lambda: jnp.isinf(WEAK), False), (lambda: jnp.signbit(INT), False),
    (lambda: jnp.all(WEAK < 1), False), (lambda: jnp.any(WEAK < 1), False),
    (lambda: INT // INT, True), (lambda: BOOL // 2, True), (lambda: 2.5 // BOOL, True),
    (lambda: F // 2, False), (lambda: jnp.fmod(INT, BOOL), True),
    (lambda: jnp.remainder(INT, BOOL), True), (lambda: jnp.hypot(INT, BOOL), False),
    (lambda: jnp.hypot(WEAK, WEAK), True), (lambda: jnp.angle(jnp.asarray(2j)), True),
])  # fmt: skip
def test_weak_types(result, weak):
    assert result().weak_type is weak
    assert jitney.jit(result)().weak_type is weak


@pytest.mark.parametrize("call", [
    lambda v: X + v, lambda v: jnp.maximum(X, v), lambda v: X < v, lambda v: jnp.where(X > 0, X, v),
    lambda v: jnp.hypot(X, v), lambda v: jnp.clip(X, v, None), lambda v: jnp.isclose(X, v),
])  # fmt: skip
def test_shapes_that_do_not_fit_are_both_named(call):
    with pytest.raises(ValueError, match=r"\(3, 4\).*\(7,\)|\(7,\).*\(3, 4\)"):
        call(jnp.ones(7))


def test_shapes_of_one_rank_are_a_type_error():
    with pytest.raises(TypeError, match=r"\(3, 4\), \(2, 4\)"):
        X + jnp.ones((2, 4))
    with pytest.raises(ValueError, match=r"\(3, 4\), \(3, 4\), \(2, 4\)"):
        jnp.where(X > 0, X, jnp.ones((2, 4)))


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean"])
def test_reductions_over_mapped_axes(name):
    reduce = getattr(jnp, name)
    over = jitney.vmap(lambda row: reduce(row, axis="i"), axis_name="i")
    both = jitney.vmap(lambda row: reduce(row, axis=("i", 0)), axis_name="i")
    np.testing.assert_allclose(over(X)[0], reduce(X, axis=0))
    np.testing.assert_allclose(both(X)[1], reduce(X))
    with pytest.raises(NameError, match="unbound axis name: i"):
        reduce(X, axis="i")


def test_softmax_over_a_mapped_axis():
    mapped = jitney.vmap(lambda row: nn.softmax(row, axis="i"), axis_name="i")(X)
    np.testing.assert_allclose(mapped, nn.softmax(X, axis=0), rtol=1e-6)


def test_other_reductions_refuse_names():
    for reduce in (jnp.prod, jnp.all, jnp.any):
        with pytest.raises(NotImplementedError, match="Named reductions"):
            reduce(X, axis="i")


def test_swapaxes_of_a_missing_axis():
    with pytest.raises(IndexError, match="axis 3 is out of bounds"):
        jnp.swapaxes(X, 0, 3)


@pytest.mark.parametrize(("dtype", "wide"), [
    ("int8", "int32"), ("uint8", "uint32"), ("int16", "int32"), ("bool", "int32"),
    ("float16", "float16"), ("int32", "int32"),
])  # fmt: skip
def test_running_products_are_as_wide_as_products(dtype, wide):
    """Other than in JAX: the array API standard asks for it."""
    x = np.arange(1, 8).astype(dtype)
    found = jnp.cumulative_prod(x)
    assert found.dtype == wide
    np.testing.assert_array_equal(found, np.cumprod(x, dtype=wide))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32", "bool"])
def test_any_integer_selects(dtype):
    which = np.array([0, 1, 1]).astype(dtype)
    np.testing.assert_array_equal(lax.select(which, np.ones(3), np.zeros(3)), [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(
        jitney.jit(lambda w: lax.select_n(w, np.ones(3), np.zeros(3)))(which), [1.0, 0.0, 0.0])
    with pytest.raises(TypeError, match="boolean or integer"):
        lax.select(1.5, np.ones(3), np.zeros(3))


def test_hard_tanh_of_unsigned_integers():
    for dtype in ("uint8", "uint32"):
        np.testing.assert_array_equal(nn.hard_tanh(np.arange(4).astype(dtype)), [0, 1, 1, 1])


def test_complex_numbers_to_integer_powers():
    base, exponent = np.array([1j, 2 + 1j], np.complex64), np.arange(2)
    np.testing.assert_allclose(jnp.power(base, exponent), base ** exponent, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(jnp.power(jnp.asarray(2j), exponent), 2j ** exponent, atol=1e-6)
