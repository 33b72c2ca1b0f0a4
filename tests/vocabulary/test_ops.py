"""Reductions of segments, against loops in NumPy."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax, ops

OPERATIONS = {"segment_sum": (np.add, 0), "segment_prod": (np.multiply, 1),
              "segment_max": (np.maximum, "least"), "segment_min": (np.minimum, "greatest")}
DTYPES = ["float32", "float16", "int32", "int8", "uint8", "uint32"]


def neutral(value, dtype):
    if value not in ("least", "greatest"):
        return value
    if np.dtype(dtype).kind == "f":
        return -np.inf if value == "least" else np.inf
    return np.iinfo(dtype).min if value == "least" else np.iinfo(dtype).max


def reference(name, data, ids, count):
    """One entry after the other; ids outside are skipped."""
    combine, start = OPERATIONS[name]
    out = np.full((count, *data.shape[1:]), neutral(start, data.dtype), data.dtype)
    for x, i in zip(data, ids, strict=True):
        if 0 <= i < count:
            out[i] = combine(out[i], x)
    return out


@pytest.mark.parametrize("bucket_size", [None, 1, 3, 100])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_values(name, dtype, bucket_size):
    rng = np.random.default_rng(0)
    data = rng.integers(0, 4, (11, 2)).astype(dtype)
    ids = rng.integers(-2, 7, 11).astype(np.int32)
    want = reference(name, data, ids, 5)
    function = getattr(ops, name)
    for run in (function, jitney.jit(function, static_argnames=("num_segments", "bucket_size"))):
        got = run(data, ids, num_segments=5, bucket_size=bucket_size)
        assert got.dtype == want.dtype and not got.weak_type
        np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("name", OPERATIONS)
def test_default_number_of_segments_and_shapes(name):
    function = getattr(ops, name)
    for shape in [(4,), (4, 3), (4, 2, 1), (4, 0)]:
        data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        got = function(data, np.array([0, 2, 2, 4]))
        np.testing.assert_array_equal(got, reference(name, data, [0, 2, 2, 4], 5))
    empty = function(jnp.zeros((0, 3)), jnp.zeros(0, int), 2)
    np.testing.assert_array_equal(empty, reference(name, np.zeros((0, 3)), [], 2))
    assert function(jnp.ones(3), jnp.zeros(3, int), 0).shape == (0,)
    assert function(jnp.ones(2), jnp.full(2, -4), None).shape == (0,)


def test_booleans_nan_and_modes():
    flags = jnp.array([True, False, False])
    ids = jnp.array([0, 0, 1])
    assert ops.segment_max(flags, ids, 3).tolist() == [True, False, False]
    assert ops.segment_min(flags, ids, 3).tolist() == [False, False, True]
    nan = ops.segment_max(jnp.array([1.0, np.nan, 2.0]), ids, 2)
    assert np.isnan(nan[0]) and nan[1] == 2
    data, outside = jnp.arange(1.0, 5.0), jnp.array([-1, 0, 1, 5])
    assert ops.segment_sum(data, outside, 2).tolist() == [2, 3]
    assert ops.segment_sum(data, outside, 2, mode="clip").tolist() == [3, 7]
    assert ops.segment_sum(data, outside, 2, mode=lax.GatherScatterMode.CLIP).tolist() == [3, 7]
    assert ops.segment_sum(data, outside.astype("int8"), 2, bucket_size=2).tolist() == [2, 3]
    assert ops.segment_sum(2.0, jnp.array([0, 0, 1]), 2).tolist() == [4, 2]
    options = dict(indices_are_sorted=True, unique_indices=True)
    assert ops.segment_prod(data, jnp.arange(4), 4, **options).tolist() == data.tolist()


def test_transformations():
    data, ids = jnp.arange(12.0).reshape(6, 2) + 1, jnp.array([0, 0, 2, 1, 2, 7])
    weights = jnp.arange(6.0).reshape(3, 2)
    for name, bucket_size in [("segment_sum", None), ("segment_sum", 2), ("segment_max", None),
                              ("segment_min", 4)]:
        function = getattr(ops, name)
        def loss(x, f=function, bucket_size=bucket_size):
            out = f(x, ids, 3, bucket_size=bucket_size)
            return jnp.sum(jnp.where(jnp.isfinite(out), out * weights, 0))
        got = jitney.grad(loss)(data)
        chosen = {"segment_sum": [0, 1, 2, 3, 4], "segment_max": [1, 3, 4],
                  "segment_min": [0, 2, 3]}[name]
        want = np.zeros((6, 2))
        want[chosen] = np.asarray(weights)[np.asarray(ids)[chosen]]
        np.testing.assert_allclose(got, want)
    apart = lambda x: ops.segment_prod(x, jnp.arange(6), 6, unique_indices=True)
    jitney.test_util.check_grads(apart, (data / 12,), 1, atol=1e-2, rtol=1e-2)
    both = jitney.vmap(lambda d, i: ops.segment_sum(d, i, 3))(data.T, jnp.stack([ids, ids[::-1]]))
    np.testing.assert_array_equal(both[0], reference("segment_sum", np.asarray(data[:, 0]),
                                                     np.asarray(ids), 3))


def test_bad_arguments():
    data, ids = jnp.ones((6, 2)), jnp.zeros(6, int)
    with pytest.raises(ValueError, match="num_segments must be non-negative, got -1"):
        ops.segment_sum(data, ids, -1)
    with pytest.raises(ValueError, match="Incompatible types for broadcasting"):
        ops.segment_sum(data, ids[:5], 3)
    with pytest.raises(TypeError, match="segment_ids must have an integer dtype, got float32"):
        ops.segment_max(data, ids.astype(float), 3)
    with pytest.raises(ValueError, match="bucket_size must be at least 1, got 0"):
        ops.segment_sum(data, ids, 3, bucket_size=0)
    with pytest.raises(TypeError, match="requires ndarray or scalar arguments"):
        ops.segment_min([1, 2], ids)
    with pytest.raises(TypeError, match="segment_prod does not accept dtype bool"):
        ops.segment_prod(data > 0, ids)
    with pytest.raises(ValueError, match="without any segment_ids, give `num_segments`"):
        ops.segment_sum(jnp.zeros(0), jnp.zeros(0, int))
    with pytest.raises(jitney.errors.ConcretizationTypeError, match="num_segments"):
        jitney.jit(ops.segment_sum)(data, ids)
    with pytest.raises(ValueError, match='Unknown gather mode "x"'):
        ops.segment_sum(data, ids, 3, mode="x")
    with pytest.raises(TypeError, match="out_sharding"):
        ops.segment_sum(data, ids, 3, out_sharding=3)
