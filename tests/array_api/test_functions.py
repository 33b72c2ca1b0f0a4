"""What the standard says of single functions, beyond names, types and special cases."""

import math

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

X = jnp.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("axis", [3, -4, (0, 9), (-7, 0)])
def test_new_axes_out_of_bounds(axis):
    with pytest.raises(IndexError):
        jnp.expand_dims(X, axis)
    with pytest.raises(ValueError):
        jnp.expand_dims(X, axis)


def test_new_axes_that_coincide():
    with pytest.raises(ValueError, match="repeated"):
        jnp.expand_dims(X, (0, -4))
    assert jnp.expand_dims(X, (0, 2, -1)).shape == (1, 2, 1, 3, 1)
    assert jnp.permute_dims(X, (-1, 0)).shape == (3, 2)


@pytest.mark.parametrize("function", [
    lambda: jnp.squeeze(X, 0), lambda: jnp.broadcast_to(X, (3, 3)), lambda: jnp.nonzero(X[0, 0]),
    lambda: jnp.broadcast_shapes((2, 3), (4,)), lambda: jnp.flip(X, axis=2),
    lambda: jnp.cumulative_sum(X), lambda: jnp.max(X, axis=2), lambda: jnp.concat([X, X], axis=2),
    lambda: jnp.roll(X, 1, axis=5), lambda: jnp.stack([X], axis=4), lambda: jnp.unstack(X, axis=3),
    lambda: jnp.matmul(jnp.asarray(1), jnp.asarray(2)), lambda: jnp.moveaxis(X, 3, 0),
    lambda: jnp.linalg.inv(X), lambda: jnp.linalg.cross(jnp.ones(2), jnp.ones(2)),
    lambda: jnp.sort(X, axis=4), lambda: jnp.diff(X, axis=2), lambda: jnp.repeat(X, 2, axis=2),
])  # fmt: skip
def test_refused(function):
    with pytest.raises((ValueError, IndexError)):
        function()


def test_containers():
    assert isinstance(jnp.unstack(X), tuple) and isinstance(jnp.nonzero(X), tuple)
    assert jnp.broadcast_shapes() == () and len(jnp.meshgrid(X[0], X[0], X[0])) == 3
    assert isinstance(jnp.linalg.qr(X), tuple) and isinstance(jnp.linalg.slogdet(X[:, :2]), tuple)


def test_unique_of_nan_and_zeros():
    x = jnp.asarray([math.nan, 1.0, -0.0, math.nan, 0.0])
    found = jnp.unique_all(x)
    assert [len(part) for part in found[:2]] == [4, 4] and found.inverse_indices.shape == x.shape
    assert sorted(found.counts.tolist()) == [1, 1, 1, 2]
    assert len(jnp.unique_values(x)) == len(jnp.unique_counts(x).values) == 4
    z = jnp.asarray([complex(math.nan, 1), 1j, 1j, complex(math.nan, 1)])
    assert len(jnp.unique_values(z)) == 3
    square = jnp.unique_inverse(jnp.asarray([[1, 2], [2, 1]]))
    assert square.inverse_indices.tolist() == [[0, 1], [1, 0]]


def test_indices_have_the_default_type():
    x = jnp.asarray([3, 1, 2], dtype="int8")
    for found in (jnp.argsort(x), jnp.argmax(x), jnp.argmin(x), jnp.count_nonzero(x),
                  jnp.searchsorted(jnp.sort(x), x), jnp.searchsorted(jnp.sort(x), 2),
                  *jnp.nonzero(x), *jnp.unique_all(x)[1:]):  # fmt: skip
        assert found.dtype == jnp.__array_namespace_info__().default_dtypes()["indexing"]


def test_sorted_places():
    x = jnp.asarray([5.0, 1.0, 3.0])
    places = jnp.argsort(x)
    assert jnp.searchsorted(x, jnp.asarray([[1.0], [4.0]]), sorter=places).tolist() == [[0], [2]]
    assert int(jnp.searchsorted(x, 3, sorter=places, side="right")) == 2
    ties = jnp.asarray([1, 0, 1, 0])
    assert jnp.argsort(ties, descending=True).tolist() == [0, 2, 1, 3]


def test_empty_reductions():
    e = jnp.zeros((0, 2))
    assert jnp.sum(e, axis=0).tolist() == [0, 0] and jnp.prod(e, axis=0).tolist() == [1, 1]
    assert not bool(jnp.any(e)) and bool(jnp.all(e)) and math.isnan(jnp.mean(e))
    assert math.isnan(jnp.var(e)) and math.isnan(jnp.std(e))
    assert jnp.cumulative_sum(e, axis=0, include_initial=True).shape == (1, 2)
    nothing = complex(jnp.mean(jnp.zeros(0, dtype="complex64")))
    assert math.isnan(nothing.real) and math.isnan(nothing.imag)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_true_unless_both_parts_are_zero(dtype):
    x = np.array([[1j, complex(0, math.nan), 2 + 1j, -1j], [0, -0.0, 0, complex(0, -math.inf)]],
                 dtype)  # fmt: skip
    for axis in (None, 0, 1, (0, 1), ()):
        for keepdims in (False, True):
            for name in ("all", "any"):
                wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                found = getattr(jnp, name)(jnp.asarray(x), axis=axis, keepdims=keepdims)
                assert found.dtype == bool
                np.testing.assert_array_equal(found, wanted)
    mask = np.array([True, False, True, True])
    assert jnp.asarray(x).all(axis=1, where=mask).tolist() == [True, False]
    assert jitney.jit(jnp.any)(x[:, :1]).tolist() and not jnp.any(jnp.zeros(3, dtype=dtype))
    assert jnp.all(jnp.zeros(0, dtype=dtype)) and not jnp.any(jnp.zeros(0, dtype=dtype))


def test_membership():
    x = jnp.asarray([1.0, 2.0, math.nan])
    assert jnp.isin(x, jnp.asarray([2.0, math.nan])).tolist() == [False, True, False]
    assert jnp.isin(x, 2, invert=True).tolist() == [True, False, True]
    assert bool(jnp.isin(3, jnp.asarray([1, 3])))
    assert jnp.isin(x, jnp.zeros(0)).tolist() == [False] * 3


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (0, 0), (0, 2, 0, 0)])
def test_linear_algebra_of_nothing(shape, dtype):
    x = jnp.zeros(shape, dtype=dtype)
    batch, part = shape[:-2], {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    assert jnp.linalg.inv(x).shape == jnp.linalg.matrix_power(x, 3).shape == shape
    sign, logs = jnp.linalg.slogdet(x)
    assert sign.shape == logs.shape == batch and logs.dtype == part and sign.dtype == dtype
    assert (np.asarray(jnp.linalg.det(x)) == 1).all() and jnp.linalg.det(x).shape == batch
    assert jnp.linalg.solve(x, x).shape == jnp.linalg.cholesky(x).shape == shape
    assert jnp.linalg.eigh(x).eigenvalues.shape == jnp.linalg.svdvals(x).shape == shape[:-1]
    assert jnp.linalg.qr(x).Q.shape == jnp.linalg.svd(x).U.shape == shape
    assert jnp.linalg.pinv(x).shape == shape and jnp.linalg.matrix_norm(x).shape == batch


@pytest.mark.parametrize("axis", [(), (0,), (0, 1), None])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 3)])
def test_vector_norms_along_any_axes(axis, shape):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    wanted = np.sqrt(np.sum(x * x, axis=axis))
    np.testing.assert_allclose(jnp.linalg.vector_norm(jnp.asarray(x), axis=axis), wanted)
    kept = jnp.linalg.vector_norm(jnp.asarray(x), axis=axis, keepdims=True, ord=1)
    np.testing.assert_allclose(kept, np.sum(abs(x), axis=axis, keepdims=True))


def test_cross_kind_steps_keep_working():
    """Mixed kinds are open in the standard; they are as in JAX."""
    assert (jnp.ones(2, dtype="int8") + 1.5).dtype == jitney.dtypes.canonicalize_dtype("float64")
    assert (jnp.ones(2, dtype="int64") + jnp.ones(2, dtype="uint64")).dtype == "float64"
    assert jnp.divide(jnp.asarray(3), jnp.asarray(2)).dtype == "float64"
