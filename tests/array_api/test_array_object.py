"""The array object: Python numbers from it, operators in place, indices, memory, devices."""

import math
import operator

import numpy as np
import pytest
from signatures import DTYPES

import jitney.numpy as jnp

INTEGERS = [d for d in DTYPES if "int" in d]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype):
    x = jnp.asarray(7, dtype=dtype)
    for convert in (int, operator.index):
        assert type(convert(x)) is int and convert(x) == 7
    assert float(x) == 7.0 and bool(x) is True and complex(x) == 7
    assert list(range(10))[x] == 7
    limit = np.iinfo(dtype).max
    assert int(jnp.asarray(limit, dtype=dtype)) == limit


def test_floats_and_booleans():
    nan = jnp.asarray(math.nan)
    assert bool(nan) and bool(jnp.asarray(-math.inf)) and not bool(jnp.asarray(-0.0))
    assert bool(jnp.asarray(complex(0, math.nan))) and not bool(jnp.asarray(0j))
    assert complex(jnp.asarray(True)) == 1
    assert complex(jnp.asarray(-math.inf)) == complex(-math.inf, 0)
    assert math.isnan(complex(nan).real)
    assert (int(jnp.asarray(-0.0)), int(jnp.asarray(-3.7)), int(jnp.asarray(True))) == (0, -3, 1)
    assert (float(jnp.asarray(True)), float(jnp.asarray(False))) == (1.0, 0.0)


@pytest.mark.parametrize("convert, value, error", [
    (float, 1j, TypeError), (int, 1j, TypeError), (int, math.nan, ValueError),
    (int, math.inf, OverflowError), (operator.index, 1.0, TypeError),
    (operator.index, True, TypeError), (bool, [1, 2], ValueError), (float, [1.0, 2.0], TypeError),
    (complex, [1.0, 2.0], TypeError)])  # fmt: skip
def test_no_such_number(convert, value, error):
    with pytest.raises(error):
        convert(jnp.asarray(value))


def test_operators_in_place_bind_a_new_array():
    x = old = jnp.arange(6.0).reshape(2, 3)
    x += 1
    x -= jnp.ones(3)
    x *= 2
    x /= 4
    x //= 0.5
    x **= 2
    x %= 5
    x @= jnp.eye(3)
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3) ** 2 % 5)
    np.testing.assert_array_equal(old, np.arange(6.0).reshape(2, 3))
    i = j = jnp.asarray([1, 2, 3], dtype="int8")
    i <<= 2
    i |= 1
    i &= 13
    i ^= j
    i >>= 1
    assert i.tolist() == [((v << 2 | 1) & 13 ^ v) >> 1 for v in (1, 2, 3)] and i.dtype == "int8"


def test_elements_cannot_be_assigned():
    x = jnp.zeros(3)
    for key in (0, slice(None), x == 0, ...):
        with pytest.raises(TypeError, match=r"x = x\.at\[idx\]\.set\(y\)"):
            x[key] = 1.0
    assert x.tolist() == [0, 0, 0]


X = np.arange(24.0).reshape(2, 3, 4)
KEYS = [
    0, -1, (0, 2), (..., 1), (slice(None, None, -1), ..., slice(1, 3)), None, (None, 0, None),
    (1, slice(3, 0, -2)), slice(5, 9), (), Ellipsis, (0, 1, 2), np.True_, np.False_, X > 5,
    X[..., 0] > 5, X[:, 0, 0] > 100, np.array([1, 0, -1]), (np.array([1, 0]), np.array([2, -1])),
    (np.array([1, 0]), 2), (0, np.array([[0, 1], [2, 1]]), 3), np.zeros((2, 3, 4), bool),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=[str(k).replace("\n", "")[:40] for k in KEYS])
def test_indices(key):
    parts = tuple(jnp.asarray(k) if isinstance(k, (np.ndarray, np.bool_)) else k
                  for k in (key if isinstance(key, tuple) else (key,)))
    found = jnp.asarray(X)[parts if isinstance(key, tuple) else parts[0]]
    assert found.dtype == X.dtype
    np.testing.assert_array_equal(found, X[key])


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (2, 3, 0), (0, 0)])
def test_masks_without_elements_go_with_any_length(shape):
    assert jnp.asarray(X)[jnp.zeros(shape, dtype=bool)].shape == (0, *X.shape[len(shape):])


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 1), (2, 3, 4, 1), (0, 5)])
def test_masks_of_another_shape(shape):
    with pytest.raises(IndexError):
        jnp.asarray(X)[jnp.ones(shape, dtype=bool)]


def test_iteration():
    assert [float(v) for v in jnp.arange(3.0)] == [0, 1, 2]
    assert all(v.shape == () for v in jnp.arange(3.0)) and len(jnp.ones((4, 2))) == 4


def test_transposes():
    x = jnp.asarray(X)
    np.testing.assert_array_equal(x.mT, X.swapaxes(-1, -2))
    np.testing.assert_array_equal(x[0].T, X[0].T)
    with pytest.raises(ValueError, match="two-dimensional"):
        jnp.ones(3).mT  # noqa: B018
    assert (x.ndim, x.size, x.shape) == (3, 24, (2, 3, 4)) and type(x.size) is type(x.ndim) is int


def test_devices():
    x = jnp.ones(2)
    assert x.to_device(x.device).device == x.device == jnp.zeros(1, device=x.device).device
    made = [jnp.arange(3, device=x.device), jnp.asarray(1, device=x.device),
            jnp.empty(2, device=x.device), jnp.empty_like(x, device=x.device),
            jnp.eye(2, device=x.device), jnp.full(2, 1, device=x.device),
            jnp.full_like(x, 1, device=x.device), jnp.linspace(0, 1, 3, device=x.device),
            jnp.ones(2, device=x.device), jnp.ones_like(x, device=x.device),
            jnp.zeros_like(x, device=x.device), jnp.astype(x, "int8", device=x.device),
            jnp.fft.fftfreq(3, device=x.device), jnp.fft.rfftfreq(3, device=x.device),
            jnp.from_dlpack(x, device=x.device)]  # fmt: skip
    assert all(y.device == x.device for y in made)
    with pytest.raises(ValueError, match="takes"):
        x.to_device("gpu")


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack(dtype):
    x = jnp.asarray(np.arange(6).reshape(2, 3).astype(dtype))
    assert tuple(map(int, x.__dlpack_device__())) == (1, 0)
    for found in (np.from_dlpack(x), np.from_dlpack(x, copy=True), jnp.from_dlpack(x),
                  jnp.from_dlpack(np.asarray(x)), jnp.from_dlpack(x, copy=True)):  # fmt: skip
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, x)
    assert not np.from_dlpack(x).flags.writeable and np.from_dlpack(x, copy=True).flags.writeable
    assert "versioned" in str(x.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False))


def test_dlpack_that_is_impossible():
    x = jnp.ones(2)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="stream=None"):
        x.__dlpack__(stream=1)
    with pytest.raises(ValueError, match="copy=False"):
        jnp.from_dlpack(np.ones(2), copy=False)


def test_copies_on_request():
    x = jnp.arange(6.0)
    assert jnp.asarray(x, copy=False) is x and jnp.asarray(x) is x
    where = x.unsafe_buffer_pointer()
    assert jnp.asarray(x, copy=True).unsafe_buffer_pointer() != where
    assert jnp.reshape(x, (2, 3), copy=False).unsafe_buffer_pointer() == where
    assert jnp.reshape(x, (6,), copy=True).unsafe_buffer_pointer() != where
    large = jnp.zeros(100_000)
    assert jnp.reshape(large, (10, -1), copy=True).unsafe_buffer_pointer() \
        != large.unsafe_buffer_pointer()
    for impossible in (lambda: jnp.asarray(np.ones(2), copy=False),
                       lambda: jnp.asarray([1], copy=False), lambda: jnp.asarray(1.5, copy=False),
                       lambda: jnp.asarray(x, dtype="int8", copy=False),
                       lambda: jnp.reshape(x, (2, 3), order="F", copy=False)):  # fmt: skip
        with pytest.raises(ValueError):
            impossible()
