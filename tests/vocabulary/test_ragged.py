"""Contractions of groups, scaled numbers and composite operations."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax

Numbers = lax.RaggedDotDimensionNumbers
RNG = np.random.default_rng(0)


def small(*shape):
    return RNG.integers(-4, 5, shape).astype(np.float32)


def by_rows(lhs, rhs, sizes):
    out, row = np.zeros((len(lhs), rhs.shape[2]), np.float32), 0
    for matrix, n in zip(rhs, sizes, strict=True):
        out[row:row + n] = lhs[row:row + n] @ matrix
        row += n
    return out


@pytest.mark.parametrize("sizes", [[1, 2, 2], [0, 6, 0], [2, 2, 2], [0, 0, 0], [3, 9, 1]])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16"])
def test_groups_of_rows(sizes, dtype):
    lhs, rhs = small(6, 2).astype(dtype), small(3, 2, 5).astype(dtype)
    want = by_rows(lhs, rhs, sizes)
    for run in (lax.ragged_dot, jitney.jit(lax.ragged_dot)):
        got = run(jnp.asarray(lhs, dtype), jnp.asarray(rhs, dtype), jnp.asarray(sizes))
        assert got.dtype.name == dtype
        np.testing.assert_array_equal(np.asarray(got, np.float32), want)


def test_groups_of_batches():
    lhs, rhs = small(4, 6, 2), small(3, 2, 4, 5)
    numbers = Numbers((((2,), (1,)), ((0,), (2,))), [1], [0])
    per_batch = np.array([[1, 2, 2], [3, 1, 2], [0, 0, 6], [2, 2, 1]], np.int8)
    for sizes in (np.array([2, 1, 3]), per_batch):
        want = np.stack([by_rows(lhs[b], rhs[:, :, b], np.broadcast_to(sizes, (4, 3))[b])
                         for b in range(4)])
        np.testing.assert_array_equal(lax.ragged_dot_general(lhs, rhs, sizes, numbers), want)
    # two free axes: the groups of the second one may differ along the first
    numbers = Numbers((((2,), (1,)), ((), ())), [1], [0])
    got = lax.ragged_dot_general(lhs, rhs[..., 0], per_batch, numbers)
    np.testing.assert_array_equal(got, np.stack([by_rows(lhs[b], rhs[..., 0], per_batch[b])
                                                 for b in range(4)]))


def test_batch_axes_in_another_order():
    lhs, rhs = small(2, 3, 6, 2), small(4, 3, 2, 2, 5)
    sizes = RNG.integers(0, 2, (3, 2, 4))
    numbers = Numbers((((3,), (3,)), ((1, 0), (1, 2))), [2], [0])
    got = lax.ragged_dot_general(lhs, rhs, sizes, numbers)
    want = [[by_rows(lhs[a, b], rhs[:, b, a], sizes[b, a]) for a in range(2)] for b in range(3)]
    np.testing.assert_array_equal(got, want)


def test_sums_within_groups():
    lhs, rhs, sizes = small(4, 6, 2), small(4, 6, 3), [1, 0, 4]
    numbers = Numbers((((1,), (1,)), ((0,), (0,))), [1], [])
    got = lax.ragged_dot_general(lhs, rhs, jnp.array(sizes), numbers)
    bounds = np.cumsum([0, *sizes])
    want = [np.einsum("bkm,bkn->bmn", lhs[:, i:j], rhs[:, i:j])
            for i, j in zip(bounds, bounds[1:], strict=False)]
    np.testing.assert_array_equal(got, want)
    batch = Numbers((((1,), (1,)), ((0,), (0,))), [0], [])
    np.testing.assert_array_equal(lax.ragged_dot_general(lhs, rhs, jnp.array(sizes), batch),
                                  np.einsum("bkm,bkn->bmn", lhs, rhs))


def test_ragged_transformations():
    lhs, rhs, sizes = small(6, 2), small(3, 2, 5), jnp.array([1, 2, 2])
    loss = lambda a, b: jnp.sum(lax.ragged_dot(a, b, sizes) ** 2)
    left, right = jitney.grad(loss, (0, 1))(lhs, rhs)
    out = 2 * by_rows(lhs, rhs, sizes)
    np.testing.assert_allclose(left, by_rows(out, rhs.transpose(0, 2, 1), sizes), rtol=1e-6)
    np.testing.assert_allclose(right[1], lhs[1:3].T @ out[1:3], rtol=1e-6)
    many = jitney.vmap(lax.ragged_dot, (None, None, 0))(lhs, rhs, jnp.array([[1, 2, 2], [0, 1, 4]]))
    np.testing.assert_array_equal(many[1], by_rows(lhs, rhs, [0, 1, 4]))


def test_ragged_errors():
    lhs, rhs, sizes = jnp.ones((6, 2)), jnp.ones((3, 2, 5)), jnp.array([1, 2, 2])
    for arguments, message in [
        ((lhs, rhs, sizes[:2]), "expected rhs group dimension size to be 2, got 3"),
        ((lhs, rhs[:, :1], sizes), "contracting dimensions to have the same shape"),
        ((lhs, rhs, sizes * 1.0), "subtype of np.integer, got float32"),
        ((lhs, rhs, sizes[0]), "rank of group_sizes"),
        ((lhs, rhs, jnp.ones((2, 3), int)), "expected group_sizes to have shape"),
    ]:
        with pytest.raises(TypeError, match=message):
            lax.ragged_dot(*arguments)
    with pytest.raises(TypeError, match="exactly one lhs ragged dimension"):
        lax.ragged_dot_general(lhs, rhs, sizes, Numbers((((1,), (1,)), ((), ())), [0, 1], [0]))
    with pytest.raises(TypeError, match="expects 0 rhs group dimensions"):
        lax.ragged_dot_general(lhs, rhs, sizes, Numbers((((1,), (1,)), ((), ())), [1], [0]))
    with pytest.raises(NotImplementedError, match="group_offset"):
        lax.ragged_dot(lhs, rhs, sizes, group_offset=jnp.array([1]))


def test_scaled_dot():
    lhs, rhs = small(3, 2, 8), small(3, 8, 4)
    left, right = np.float32(2.0) ** small(3, 2, 2), np.float32(2.0) ** small(3, 4, 4)
    got = lax.scaled_dot(lhs, rhs, lhs_scale=left, rhs_scale=right,
                         preferred_element_type=jnp.float32)
    want = (lhs * np.repeat(left, 4, 2)) @ (rhs * np.repeat(right, 2, 1))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    eight = jnp.asarray(lhs[0], jnp.float8_e4m3fn)
    assert lax.scaled_dot(eight, eight.T).dtype == jnp.bfloat16
    np.testing.assert_array_equal(lax.scaled_dot(eight, eight.T).astype(float), lhs[0] @ lhs[0].T)
    numbers = (((0,), (1,)), ((), ()))
    np.testing.assert_array_equal(
        lax.scaled_dot(lhs[0], lhs[0].T, dimension_numbers=numbers).astype(float),
        lhs[0].T @ lhs[0])
    for scale, message in [(jnp.ones((2, 8)), r"\(1\) must be at least 2"),
                           (jnp.ones((2, 3)), "must be divisible"),
                           (jnp.ones((1, 4)), "must have the same shape outside")]:
        with pytest.raises(TypeError, match=message):
            lax.scaled_dot(lhs[0], rhs[0], lhs_scale=scale)
    with pytest.raises(TypeError, match="give dimension_numbers"):
        lax.scaled_dot(lhs, rhs[0])


# --- composite ---------------------------------------------------------------------------------
def scaled_sum(x, /, *, axis, scale=3):
    return jnp.cumsum(x, axis=axis) * (1 if scale is None else scale)


def test_composite():
    f = lax.composite(scaled_sum, "my.scaled_sum", 2)
    x = jnp.arange(3.0)
    assert f(x, axis=0).tolist() == jitney.jit(lambda x: f(x, axis=0))(x).tolist() == [0, 3, 9]
    assert f(x, axis=0, scale=None).tolist() == [0, 1, 3]
    text = str(jitney.make_jaxpr(lambda x: f(x, axis=0, scale=None))(x))
    assert "composite[" in text and "name=my.scaled_sum" in text and "version=2" in text
    assert "attributes=(('axis', 0),)" in text
    assert jitney.grad(lambda x: f(x, axis=0).sum())(x).tolist() == [9, 6, 3]
    assert jitney.vmap(lambda x: f(x, axis=0))(jnp.ones((2, 3))).tolist() == [[3, 6, 9]] * 2
    scale = jnp.float32(2)
    tree = lax.composite(lambda d: {"out": d["x"] * scale, "same": d["x"]}, name="my.tree")
    assert jitney.jit(tree)({"x": 3.0}) == {"out": 6, "same": 3}
    assert "stablehlo" in jitney.jit(tree).lower({"x": 3.0}).as_text()
    for bad in [("not callable", "name"), (scaled_sum, 3), (scaled_sum, "name", "2")]:
        with pytest.raises(TypeError):
            lax.composite(*bad)
