"""Slices of a known length from a start that may be traced."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import ds

X = np.arange(60.0, dtype=np.float32).reshape(10, 6)


def window(start, size, stride, length):
    """Positions by hand: negative from the end, moved inside."""
    start = start + length if start < 0 else start
    start = min(max(start, 0), length - ((size - 1) * stride + 1)) if size else 0
    return start + stride * np.arange(size)


@pytest.mark.parametrize("size, stride", [(1, 1), (3, 1), (4, 2), (10, 1), (0, 1)])
@pytest.mark.parametrize("start", [0, 2, 6, 9, 25, -1, -3, -25])
def test_reading_and_writing(start, size, stride):
    rows = window(start, size, stride, 10)
    want = X.copy()
    want[rows, 1:] += 2
    read = lambda x, i: (x[ds(i, size, stride)], x[ds(i, size, stride), 2], x[..., None][ds(
        i, size, stride)], x.T[:, ds(i, size, stride)], x[ds(i, size, stride), np.array([3, 1])[
            :, None] if size == 1 else 0])
    write = lambda x, i: x.at[ds(i, size, stride), 1:].add(2)
    for run in (lambda f: f, jitney.jit, lambda f: lambda x, i: f(x, jnp.int32(i)),
                lambda f: lambda x, i: jitney.jit(f, static_argnums=1)(x, i)):
        got = run(read)(jnp.asarray(X), start)
        np.testing.assert_array_equal(got[0], X[rows])
        np.testing.assert_array_equal(got[1], X[rows, 2])
        np.testing.assert_array_equal(got[2], X[rows, :, None])
        np.testing.assert_array_equal(got[3], X.T[:, rows])
        np.testing.assert_array_equal(run(write)(jnp.asarray(X), start), want)


def test_two_slices_and_gradients():
    x = jnp.asarray(X)
    f = jitney.jit(lambda x, i, j: x[ds(i, 3), ds(j, 2)])
    np.testing.assert_array_equal(f(x, 4, 3), X[4:7, 3:5])
    got = jitney.grad(lambda x: f(x, 4, 3).sum())(x)
    want = np.zeros_like(X)
    want[4:7, 3:5] = 1
    np.testing.assert_array_equal(got, want)
    rows = jitney.vmap(lambda i: x[ds(i, 2), 0])(jnp.arange(3))
    np.testing.assert_array_equal(rows, [X[i:i + 2, 0] for i in range(3)])
    np.testing.assert_array_equal(x.at[ds(1, 2), ds(0, 3)].set(0), np.where(
        (np.arange(10)[:, None] // 3 == 0) & (np.arange(10)[:, None] > 0)
        & (np.arange(6) < 3), 0, X))
    np.testing.assert_array_equal(x[None, ds(2, 3)][:, :, ds(1)], X[None, 2:5, :1])


def test_what_ds_is():
    assert ds(None) == slice(None) and repr(ds(3)) == "Slice(start=0, size=3, stride=1)"
    assert repr(ds(1, 3, 2)) == "Slice(start=1, size=3, stride=2)"
    assert jitney.tree.leaves(ds(7, 3)) == [7]
    for arguments, error, message in [
        ((None, 3), TypeError, "takes nothing else"), ((1.5, 2), TypeError, "start is an integer"),
        ((1, 2.5), TypeError, ""), ((0, -1), ValueError, "size is at least 0"),
        ((0, 2, 0), ValueError, "stride at least 1"),
        ((np.arange(2), 2), TypeError, "start is an integer"),
    ]:
        with pytest.raises(error, match=message or None):
            ds(*arguments)
    with pytest.raises(TypeError, match="the size is part of the result's shape"):
        jitney.jit(lambda n: jnp.arange(9)[ds(0, n)])(3)
    with pytest.raises(IndexError, match="does not fit into axis 0 of length 10"):
        jnp.asarray(X)[ds(0, 11)]
    with pytest.raises(IndexError, match="Too many indices"):
        jnp.asarray(X)[ds(0, 1), ds(0, 1), ds(0, 1)]
    with pytest.raises(NotImplementedError, match="dynamic_update_slice"):
        jitney.jit(lambda x, i: x.at[ds(i, 2), ds(i, 2)].set(0))(jnp.asarray(X), 1)
