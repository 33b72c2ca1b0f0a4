"""The objects of the package: dtype makers, ufuncs, index tricks, methods, constants."""

import operator
import pickle

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

x = jnp.arange(12.0).reshape(3, 4)
v = jnp.arange(4.0)


def test_scalar_makers():
    assert jnp.float32 == np.float32 and jnp.float32 == np.dtype("float32")
    assert hash(jnp.float32) == hash(np.float32) and np.dtype(jnp.bfloat16).name == "bfloat16"
    assert isinstance(np.float32(1), jnp.float32) and repr(jnp.int8) == "<class 'jax.numpy.int8'>"
    made = jnp.int8([1, 2])
    assert made.dtype == np.int8 and not jnp.float32(3).weak_type
    assert jnp.zeros(2, jnp.float16).dtype == np.float16
    assert {np.float32: 1}[jnp.float32] == 1


def test_ufunc_objects():
    assert repr(jnp.add) == "<jnp.ufunc 'add'>" and isinstance(jnp.add, jnp.ufunc)
    assert (jnp.add.nin, jnp.add.nout, jnp.add.identity) == (2, 1, 0)
    np.testing.assert_array_equal(jnp.add.reduce(x), np.add.reduce(np.asarray(x)))
    np.testing.assert_array_equal(jnp.maximum.reduce(x, axis=1), [3, 7, 11])
    np.testing.assert_array_equal(jnp.add.accumulate(v), [0, 1, 3, 6])
    np.testing.assert_array_equal(jnp.multiply.outer(v, v), np.multiply.outer(np.arange(4),
                                                                             np.arange(4)))
    at = jnp.add.at(v, jnp.array([0, 0, 1]), 1.0, inplace=False)
    np.testing.assert_array_equal(at, [2, 2, 2, 3])


@pytest.mark.skipif(not hasattr(jitney.lax, "scan"), reason="control flow is not in this build")
def test_ufunc_methods_by_loops():
    np.testing.assert_array_equal(jnp.subtract.reduce(v), -6)
    np.testing.assert_array_equal(jnp.maximum.accumulate(v[::-1]), [3, 3, 3, 3])
    np.testing.assert_array_equal(jnp.add.reduceat(v, jnp.array([0, 2])), [1, 5])


def test_index_tricks():
    np.testing.assert_array_equal(jnp.r_[1:4, 0, 4], [1, 2, 3, 0, 4])
    np.testing.assert_array_equal(jnp.c_[v, v], np.c_[np.arange(4.0), np.arange(4.0)])
    np.testing.assert_array_equal(jnp.mgrid[0:2, 0:3], np.mgrid[0:2, 0:3])
    assert jnp.s_[1:2, 3] == (slice(1, 2), 3)
    np.testing.assert_array_equal(x[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 3]))],
                                  [[1, 3], [9, 11]])


METHODS = [
    lambda a: a.sum(0), lambda a: a.mean(axis=1, keepdims=True), lambda a: a.std(ddof=1),
    lambda a: a.max(), lambda a: a.argmin(1), lambda a: a.cumsum(1), lambda a: a.reshape(4, -1),
    lambda a: a.reshape((2, 6), order="F"), lambda a: a.transpose(1, 0), lambda a: a.T,
    lambda a: a.flatten(), lambda a: a.ravel(), lambda a: a.squeeze(), lambda a: a.swapaxes(0, 1),
    lambda a: a.clip(1, 5), lambda a: a.round(1), lambda a: a.astype("int32"), lambda a: a.real,
    lambda a: a.take(1, axis=0), lambda a: a.repeat(2, axis=1), lambda a: a.diagonal(1),
    lambda a: a.trace(), lambda a: a.dot(a.T), lambda a: a.conj(), lambda a: a.prod(),
    lambda a: a.any(), lambda a: a.var(0), lambda a: a.argsort(1), lambda a: a.nonzero()[0],
    lambda a: a.view("int32"), lambda a: a.searchsorted(2.0) if a.ndim == 1 else a.copy(),
]


@pytest.mark.parametrize("case", range(len(METHODS)))
def test_methods(case):
    np.testing.assert_allclose(np.asarray(METHODS[case](x)), METHODS[case](np.asarray(x)),
                               rtol=1e-6)


def test_methods_of_tracers():
    found = jitney.jit(lambda a: a.T.reshape(-1)[:3].astype("int32").sum())(x)
    assert int(found) == 12


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
             operator.mod, operator.pow, operator.lt, operator.eq]


@pytest.mark.parametrize("apply", OPERATORS)
def test_operators_with_numpy_and_python_operands(apply):
    a = np.asarray(x) + 1
    for other in (2, 2.5, np.float32(2), np.asarray([1, 2, 3, 4], "float32")):
        np.testing.assert_allclose(np.asarray(apply(jnp.asarray(a), other)), apply(a, other),
                                   rtol=1e-5)
        np.testing.assert_allclose(np.asarray(apply(other, jnp.asarray(a))), apply(other, a),
                                   rtol=1e-5)


def test_operators_are_native():
    before = jnp.add.hits
    jnp.add(v, v), jnp.add(v, v)
    assert jnp.add.hits > before


def test_numpy_arrays_defer():
    assert type(np.ones(4, "float32") + v) is type(v)
    assert type(np.float32(2) * v) is type(v)


def test_constants_and_dtypes():
    assert jnp.pi == np.pi and jnp.newaxis is None and jnp.inf == np.inf
    assert jnp.finfo(jnp.bfloat16).bits == 16 and jnp.iinfo("int8").max == 127
    assert jnp.promote_types("int32", "float16") == np.float16
    assert jnp.result_type(1, 2.0) == np.float32 and jnp.issubdtype(jnp.bfloat16, jnp.floating)
    assert jnp.isdtype(jnp.int8, ("bool", "integral")) and isinstance(v, jnp.ndarray)


def test_copies_and_identity():
    assert jnp.asarray(v) is v and jnp.array(v) is not v
    source = np.zeros(3, "float32")
    large = jnp.zeros((100, 100)) + 1
    assert large.reshape(-1).unsafe_buffer_pointer() == large.unsafe_buffer_pointer()
    made = jnp.asarray(source)
    source[0] = 7
    assert float(made[0]) == 0


def test_weak_scalars():
    assert jnp.asarray(3).weak_type and not jnp.asarray([3]).weak_type
    assert (jnp.ones(2, "bfloat16") * 2.5).dtype == jnp.bfloat16
    assert (jnp.ones(2, "int8") + 1).dtype == jnp.int8


def test_pickled_functions_are_found_again():
    assert pickle.loads(pickle.dumps(np.asarray(jnp.sin(v)))).shape == (4,)


def test_lists_of_axes():
    assert float(jnp.sum(x, axis=[0, 1])) == 66 and x.sum([0]).shape == (4,)


def test_wide_types_on_request():
    with jitney.enable_x64(True):
        assert jnp.arange(3).dtype == np.int64 and jnp.zeros(2).dtype == np.float64
        assert jnp.mean(jnp.arange(3)).dtype == np.float64
        assert jnp.sum(jnp.ones(3, "uint8")).dtype == np.uint64
    assert jnp.arange(3).dtype == np.int32


def _vmap_is_there():
    try:
        jnp.vectorize(lambda a: a)(v)
    except NotImplementedError:
        return False
    return True


@pytest.mark.skipif(not _vmap_is_there(), reason="vmap is not in this build")
def test_vectorize():
    dots = jnp.vectorize(lambda a, b: jnp.dot(a, b), signature="(n),(n)->()")
    np.testing.assert_allclose(dots(x, v), np.asarray(x) @ np.arange(4.0), rtol=1e-6)
    add = jnp.frompyfunc(lambda a, b: a + b, 2, 1)
    np.testing.assert_array_equal(add(x, v), x + v)
    with pytest.raises(ValueError, match="signature"):
        jnp.vectorize(lambda a: a, signature="bad")(v)
    np.testing.assert_array_equal(jnp.apply_along_axis(lambda r: r[::-1], 1, x), x[:, ::-1])
