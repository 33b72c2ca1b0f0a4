"""What is refused, with which exception, and what the text says."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

f, v, i = jnp.ones((3, 4)), jnp.ones(4), jnp.arange(4)

REFUSED = [
    (lambda: jnp.sin([1.0]), TypeError, "sin requires ndarray or scalar arguments"),
    (lambda: jnp.add(None, 2), TypeError, "at position 0"),
    (lambda: jnp.sum([1, 2]), TypeError, "sum requires ndarray"),
    (lambda: jnp.reshape([1, 2], 2), TypeError, "reshape requires ndarray"),
    (lambda: jnp.dot([1, 2], v), TypeError, "dot requires ndarray"),
    (lambda: jnp.where([1, 0], 1, 2), TypeError, "where requires ndarray"),
    (lambda: jnp.where(v, 1), TypeError, "at position 2"),
    (lambda: jnp.union1d(i, [5]), TypeError, "union1d requires ndarray"),
    (lambda: jnp.percentile(v, [10, 20]), TypeError, "percentile requires ndarray"),
    (lambda: jnp.sum(f, axis=5), ValueError, "axis 5 is out of bounds for array of dimension 2"),
    (lambda: jnp.sum(f, axis=(0, 0)), ValueError, "duplicate value in 'axis'"),
    (lambda: jnp.sum(f, out=1), NotImplementedError, "'out' argument"),
    (lambda: jnp.max(jnp.zeros((0,))), ValueError, "zero-size array to reduction operation max"),
    (lambda: jnp.max(f, where=f > 0), ValueError, "does not have an identity"),
    (lambda: jnp.argmax(jnp.zeros((0,))), ValueError, "argmax of an empty sequence"),
    (lambda: jnp.concatenate([]), ValueError, "Need at least one array"),
    (lambda: jnp.concatenate([1, 2]), ValueError, "Zero-dimensional arrays"),
    (lambda: jnp.concatenate([v, f]), TypeError, "different numbers of dimensions"),
    (lambda: jnp.stack([v, f]), ValueError, "different numbers of dimensions"),
    (lambda: jnp.reshape(f, 5), TypeError, "cannot reshape array of shape"),
    (lambda: jnp.reshape(f, (-1, -1)), TypeError, "only specify one unknown axis"),
    (lambda: jnp.squeeze(f, 0), ValueError, "size not equal to one"),
    (lambda: jnp.expand_dims(f, (0, 0)), ValueError, "repeated axis"),
    (lambda: jnp.moveaxis(f, 0, 5), ValueError, "out of bounds"),
    (lambda: jnp.array("a"), TypeError, "not a valid JAX array type"),
    (lambda: jnp.array([None]), ValueError, "None is not a valid value"),
    (lambda: jnp.array([1, [2, 3]]), ValueError, "inhomogeneous"),
    (lambda: jnp.array([1, 2**40]), OverflowError, "out of bounds"),
    (lambda: jnp.asarray(-1, dtype="uint8"), OverflowError, "out of bounds for uint8"),
    (lambda: jnp.zeros(2.5), TypeError, "concrete values of integer type"),
    (lambda: jnp.arange(0, 1, 0), ZeroDivisionError, ""),
    (lambda: jnp.linspace(0, 1, -1), ValueError, "must be non-negative"),
    (lambda: jnp.eye(-1), ValueError, "negative dimensions"),
    (lambda: jnp.split(v, 3), ValueError, "equal division"),
    (lambda: jnp.matmul(f, 2), ValueError, "must have ndim at least 1"),
    (lambda: jnp.clip(f, 1j), ValueError, "complex"),
    (lambda: jnp.power(i, -1), TypeError, "negative powers"),
    (lambda: i**-1, TypeError, "negative powers"),
    (lambda: -(f > 0), TypeError, "does not accept dtype bool"),
    (lambda: jnp.left_shift(f, 1), TypeError, "does not accept dtype float32"),
    (lambda: jnp.nonzero(jnp.array(3.0)), ValueError, "0d arrays"),
    (lambda: jnp.add.at(v, i, 1.0), NotImplementedError, "inplace=False"),
    (lambda: jnp.put(v, 1, 2), ValueError, "immutable"),
    (lambda: jnp.fromiter([1]), NotImplementedError, "not implemented"),
    (lambda: jnp.quantile(v, 0.5, method="foo"), ValueError, "method can only be"),
    (lambda: jnp.broadcast_shapes((2,), (3,)), ValueError, "Incompatible shapes"),
    (lambda: jnp.add(v, jnp.ones(3)), TypeError, "incompatible shapes for broadcasting"),
    (lambda: jnp.pad(f, 1, mode="edge", constant_values=2), ValueError, "unsupported keyword"),
    (lambda: f + [1], TypeError, "unsupported operand"),
    (lambda: f + "a", TypeError, "unsupported operand"),
    (lambda: i == [0, 1, 2, 3], TypeError, "unsupported operand"),
    (lambda: [1, 2] * jnp.array(2), TypeError, "unsupported operand"),
    (lambda: i < None, TypeError, ""),
    (lambda: v.flat, NotImplementedError, "flatten"),
    (lambda: v.mT, ValueError, "at least two-dimensional"),
    (lambda: hash(v), TypeError, "unhashable"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refused(case):
    call, kind, text = REFUSED[case]
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_item_assignment_points_to_at():
    with pytest.raises(TypeError, match=r"\.at\["):
        v[0] = 1


TRACED_SHAPES = [
    lambda n: jnp.zeros(n), lambda n: jnp.arange(n), lambda n: jnp.linspace(0, 1, n),
    lambda n: jnp.eye(n), lambda n: jnp.ones(3).reshape(n),
    lambda n: jnp.nonzero(n > jnp.arange(3)),
    lambda n: jnp.unique(n * jnp.arange(3)), lambda n: jnp.bincount(n * jnp.arange(3)),
]


@pytest.mark.parametrize("case", range(len(TRACED_SHAPES)))
def test_shapes_cannot_be_traced(case):
    with pytest.raises(TypeError):
        jitney.jit(TRACED_SHAPES[case])(3)


def test_foreign_operands_get_their_turn():
    class Unit:
        def __radd__(self, other):
            return "radd"

        def __rpow__(self, other):
            return "rpow"

        def __eq__(self, other):
            return "eq"

    assert v + Unit() == "radd" and v**Unit() == "rpow" and (v == Unit()) == "eq"


def test_jax_array_protocol():
    class Wrapped:
        def __jax_array__(self):
            return jnp.arange(3.0)

    np.testing.assert_array_equal(jnp.asarray(Wrapped()), [0, 1, 2])
    np.testing.assert_array_equal(jnp.ones(3) + Wrapped(), [1, 2, 3])
    assert jnp.concatenate([Wrapped(), jnp.ones(1)]).shape == (4,)


def test_rank_promotion_can_be_refused():
    with jitney.numpy_rank_promotion("raise"):
        with pytest.raises(ValueError, match="rank_promotion"):
            f + v
        assert (f + 1.0).shape == (3, 4)


def test_strict_dtype_promotion():
    with jitney.numpy_dtype_promotion("strict"):
        with pytest.raises(ValueError, match="promotion"):
            f + i
        assert (i + 1).dtype == i.dtype
