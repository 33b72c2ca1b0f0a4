"""Positions in flattened arrays and back, in every integer type: against NumPy's."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
SHAPES = [(2, 3), (7,), (2, 1, 3, 4), (127, 1), (300, 2), 24]


@pytest.fixture(autouse=True, params=[True, False], ids=["x64", "x32"])
def wide(request):
    with jitney.enable_x64(request.param):
        yield


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_unravelled(dtype, shape):
    total = int(np.prod(shape))
    index = np.arange(min(total, np.iinfo(dtype).max + 1)).astype(dtype)
    wanted = np.unravel_index(index.astype(np.int64), shape)
    for function in (jnp.unravel_index, jitney.jit(jnp.unravel_index, static_argnums=1)):
        found = function(jnp.asarray(index), shape)
        assert all(part.dtype == jnp.asarray(index).dtype for part in found)
        for part, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(part, want.astype(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_unravelled_out_of_bounds(dtype):
    """Positions past the end are the last one; negative ones count from the end."""
    past = np.array([6, 100, np.iinfo(dtype).max], dtype)
    assert np.asarray(jnp.unravel_index(past, (2, 3))).tolist() == [[1] * 3, [2] * 3]
    if np.iinfo(dtype).min < 0:
        before = np.array([-1, -6, -7, np.iinfo(dtype).min], dtype)
        assert np.asarray(jnp.unravel_index(before, (2, 3))).tolist() == [[1, 0, 0, 0],
                                                                          [2, 0, 0, 0]]
    assert all(part.shape == (0,) for part in jnp.unravel_index(np.zeros(0, dtype), (2, 3)))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_ravelled(dtype, mode, order):
    rows, columns = np.array([1, 0, 6, 3], dtype), np.array([[0], [17]], dtype)
    if mode != "raise":
        rows, columns = rows + dtype_of(dtype, 100), columns + dtype_of(dtype, 18)
    found = jnp.ravel_multi_index((rows, columns), (7, 18), mode=mode, order=order)
    wanted = np.ravel_multi_index((rows.astype(np.int64), columns.astype(np.int64)), (7, 18),
                                  mode=mode, order=order)  # fmt: skip
    assert found.dtype == jnp.asarray(rows).dtype
    np.testing.assert_array_equal(found, wanted)


def dtype_of(dtype, number):
    return np.dtype(dtype).type(number)


def test_type_of_ravelled_positions():
    small, wider = jnp.asarray([1], "int8"), jnp.asarray([2], "int16")
    assert jnp.ravel_multi_index((small, wider), (3, 4)).dtype == "int16"
    assert jnp.ravel_multi_index((small, 2), (3, 4)).dtype == "int8"
    assert jnp.ravel_multi_index((1, 2), (3, 4)).dtype == jnp.asarray(1).dtype
    assert jnp.ravel_multi_index((small, small), (30, 40), dtype="int32").tolist() == [41]
    assert jnp.ravel_multi_index((small, small), (2, 64)).tolist() == [65]
    assert jnp.ravel_multi_index((small, small + 126), (1, 128), mode="wrap").tolist() == [127]
    assert jnp.ravel_multi_index((small[:0], small[:0]), (0, 1000)).shape == (0,)
    assert jnp.ravel_multi_index((small[:0], small[:0]), (1000, 0), mode="clip").shape == (0,)


@pytest.mark.parametrize("index, dims, dtype, error", [
    ((np.int8(1), np.int8(2)), (1, 129), None, ValueError), ((1, 2), (3, 4), "float32", ValueError),
    ((np.int32(1), np.int32(2)), (30, 40), "int8", ValueError),
    ((1.0, 2), (3, 4), None, ValueError), ((True, 2), (3, 4), None, TypeError),
    ((3, 1), (3, 4), None, ValueError),
    ((-1, 1), (3, 4), None, ValueError), ((1, 2), (2**40, 2**40), None, ValueError),
    ((1, 2, 3), (3, 4), None, ValueError)])  # fmt: skip
def test_no_such_position(index, dims, dtype, error):
    with pytest.raises(error):
        jnp.ravel_multi_index(index, dims, dtype=dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_repeats_of_every_integer_type(dtype):
    x, counts = np.arange(6.0).reshape(2, 3), np.array([2, 0, 3], dtype)
    for repeats, axis in ((counts, 1), (counts[:1], 0), (counts[:2], 0), (counts[0], None),
                          (np.array([1, 0, 2, 1, 1, 3], dtype), None)):  # fmt: skip
        wanted = np.repeat(x, repeats.astype(np.int64), axis)
        np.testing.assert_array_equal(jnp.repeat(x, jnp.asarray(repeats), axis), wanted)
        length = wanted.shape[axis or 0]
        found = jitney.jit(jnp.repeat, static_argnames=("axis", "total_repeat_length"))(
            x, repeats, axis=axis, total_repeat_length=length)
        np.testing.assert_array_equal(found, wanted)
