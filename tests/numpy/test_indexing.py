"""Reading with brackets: values against NumPy, programs against JAX's text."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import errors
from jitney.numpy import index_parsing

X = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)
I2 = np.array([0, 2])
PAIR = np.array([[0, 1], [2, -1]])
MASK = np.array([True, False, True])

INDICES = {
    "int": 1, "negative": -1, "numpy_int": np.int64(2), "ints": (1, 2), "all_ints": (1, 2, -3),
    "whole": slice(None), "ellipsis": Ellipsis, "nothing": (), "new": None,
    "slice": slice(1, 3), "negative_bounds": slice(-2, -1), "beyond": slice(1, 99),
    "empty": slice(2, 1), "stride": slice(None, None, 2), "backwards": slice(None, None, -1),
    "backwards_stride": slice(None, None, -2), "backwards_empty": slice(0, 0, -1),
    "boxes": (slice(1, 2), slice(0, 3, 2), slice(4, 1, -1)),
    "int_and_slices": (1, slice(None, None, -1), slice(1, 4)),
    "dots": (Ellipsis, 2), "dots_between": (0, Ellipsis, slice(1, 3)),
    "new_axes": (None, 1, None, Ellipsis, None, slice(0, 2)),
    "array": I2, "array_negative": np.array([-1, 0, -3]), "array_2d": PAIR,
    "array_u8": I2.astype(np.uint8), "array_i8": I2.astype(np.int8),
    "array_0d": np.array(1), "array_empty": np.zeros((0,), int),
    "array_second": (slice(None), I2), "array_last": (Ellipsis, I2),
    "array_slice": (I2, slice(1, 3)), "slice_array": (slice(1, 3), I2),
    "stride_array": (slice(None, None, 2), I2), "backwards_array": (slice(None, None, -1), I2),
    "two_arrays": (I2, I2), "apart": (I2, slice(None), I2), "apart_new": (I2, None, I2),
    "array_int": (I2, 1), "int_apart_array": (0, slice(None), I2), "int_array": (0, I2),
    "outer": (np.array([[0], [2]]), np.array([1, 3, 0])), "dots_array_new": (I2, Ellipsis, None),
    "array_stride_after": (slice(None), I2, None, slice(None, None, -2)),
    "list_in_tuple": ([0, 2], 1), "empty_list": ([], 0), "tuple_in_tuple": ((0, 1),),
    "mask": MASK, "mask_list": ([True, False, True], 0), "mask_slice": (MASK, slice(1, None)),
    "mask_array": (MASK, np.array([0, 3])), "mask_full": X % 7 < 3, "mask_2d": X[..., 0] > 20,
    "mask_second": (slice(None), np.array([True, False, True, True])), "mask_new": (None, MASK),
    "true": True, "false": False, "true_int": (True, 0), "numpy_true": np.True_,
}


@pytest.mark.parametrize("name", INDICES)
def test_values_are_those_of_numpy(name):
    idx = INDICES[name]
    x = jnp.asarray(X)
    want = X[idx]
    found = x[idx]
    assert found.shape == want.shape and found.dtype == X.dtype
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(jax.jit(lambda x: x[idx])(x), want)


def test_traced_positions():
    x = jnp.asarray(X)
    f = jax.jit(lambda x, i, j: (x[i], x[i, 1:3], x[1:3, i], x[..., i], x[i, None, j], x[i, ::2],
                                 x[::-1, j], x[j, :, i], x[i, ::-1]))
    i, j = 2, I2
    want = (X[i], X[i, 1:3], X[1:3, i], X[..., i], X[i, None, j], X[i, ::2], X[::-1, j],
            X[j, :, i], X[i, ::-1])
    for found, expected in zip(f(x, i, j), want):
        np.testing.assert_array_equal(found, expected)


def test_outside_is_clamped():
    x = jnp.asarray(X)
    np.testing.assert_array_equal(x[7], X[2])
    np.testing.assert_array_equal(x[-9], X[0])
    np.testing.assert_array_equal(x[0, 9, 1:3], X[0, 3, 1:3])
    np.testing.assert_array_equal(jax.jit(lambda x: x[7])(x), X[2])
    np.testing.assert_array_equal(x[np.array([7, -9])], X[[2, 0]])
    assert np.isnan(x.at[7].get(mode="fill")).all()
    assert (np.asarray(x.at[np.array([7])].get(mode="fill", fill_value=-1)) == -1).all()
    np.testing.assert_array_equal(x.at[7].get(mode="clip"), X[2])
    np.testing.assert_array_equal(x.at[-1].get(wrap_negative_indices=False), X[0])


def test_one_program_for_all_positions():
    x = jnp.arange(50.0)
    x[3], x[3:9], x[4:30:5]
    jax.make_jaxpr(lambda x: x)(x)
    from jitney.numpy import indexing
    before = indexing._jitted_ints.misses, indexing._jitted_box.misses
    for i in range(40):
        assert float(x[i]) == i
        assert x[i:i + 6].shape == (min(6, 50 - i),)
    assert indexing._jitted_ints.misses == before[0]
    assert indexing._jitted_box.misses == before[1]


def test_the_whole_is_the_array_itself():
    x = jnp.arange(4.0)
    assert x[:] is x and x[...] is x and x[()] is x


def test_weak_type_is_kept():
    x = jnp.full((4,), 1.0) if not jnp.full((4,), 1.0).weak_type else jnp.full((4,), 1.0)
    assert x[1].weak_type == x.weak_type and x[::2].weak_type == x.weak_type


def test_iteration():
    assert [float(v) for v in jnp.arange(3.0)] == [0, 1, 2]
    a, b = jax.jit(lambda x: tuple(x))(jnp.arange(4.0).reshape(2, 2))
    np.testing.assert_array_equal(b, [2, 3])
    with pytest.raises(TypeError):
        iter(jnp.float32(1))


GOLDEN = {
    "int": (lambda x: x[0], """\
{ lambda ; a:f32[3,4]. let
    b:f32[1,4] = slice[limit_indices=(1, 4) start_indices=(0, 0) strides=None] a
    c:f32[4] = squeeze[dimensions=(0,)] b
  in (c,) }"""),
    "outside": (lambda x: x[3], """\
{ lambda ; a:f32[3,4]. let
    b:bool[] = lt 3:i32[] 0:i32[]
    c:i32[] = add 3:i32[] 3:i32[]
    d:i32[] = select_n b 3:i32[] c
    e:bool[] = lt 0:i32[] 0:i32[]
    f:i32[] = add 0:i32[] 4:i32[]
    g:i32[] = select_n e 0:i32[] f
    h:f32[1,4] = dynamic_slice[slice_sizes=(1, 4)] a d g
    i:f32[4] = squeeze[dimensions=(0,)] h
  in (i,) }"""),
    "whole": (lambda x: x[...], "{ lambda ; a:f32[3,4]. let  in (a,) }"),
    "reverse": (lambda x: x[::-1],
                "{ lambda ; a:f32[3,4]. let b:f32[3,4] = rev[dimensions=(0,)] a in (b,) }"),
    "new": (lambda x: x[1:, None, 0], """\
{ lambda ; a:f32[3,4]. let
    b:f32[2,1] = slice[limit_indices=(3, 1) start_indices=(1, 0) strides=None] a
    c:f32[2] = squeeze[dimensions=(1,)] b
    d:f32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,)] c
  in (d,) }"""),
    "list": (lambda x: x[np.array([0, 2])], """\
{ lambda a:i32[2] b:bool[2]; c:f32[3,4]. let
    d:i32[2] = add a 3:i32[]
    e:i32[2] = select_n b a d
    f:i32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,)] e
    g:f32[2,4] = gather[
      dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), \
start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())
      fill_value=None
      indices_are_sorted=False
      mode=GatherScatterMode.PROMISE_IN_BOUNDS
      slice_sizes=(1, 4)
      unique_indices=False
    ] c f
  in (g,) }"""),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_jaxprs_are_those_of_jax(name):
    f, text = GOLDEN[name]
    assert str(jax.make_jaxpr(f)(jnp.zeros((3, 4)))) == text


def test_jaxpr_of_mixed_index():
    text = str(jax.make_jaxpr(lambda x, i, j: x[1:3:2, i])(jnp.zeros((3, 4)), jnp.int32(1), 0))
    assert text == """\
{ lambda ; a:f32[3,4] b:i32[] c:i32[]. let
    d:bool[] = lt b 0:i32[]
    e:i32[] = add b 4:i32[]
    f:i32[] = select_n d b e
    g:i32[1] = iota[dimension=0 dtype=int32 shape=(1,) sharding=None]\x20
    h:i32[1] = mul 2:i32[] g
    i:i32[1] = add 1:i32[] h
    j:i32[1,1] = broadcast_in_dim[broadcast_dimensions=(0,)] i
    k:i32[1,1] = broadcast_in_dim f
    l:i32[1,2] = concatenate[dimension=1] j k
    m:f32[1] = gather[
      dimension_numbers=GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0, 1), \
start_index_map=(0, 1), operand_batching_dims=(), start_indices_batching_dims=())
      fill_value=None
      indices_are_sorted=True
      mode=GatherScatterMode.PROMISE_IN_BOUNDS
      slice_sizes=(1, 1)
      unique_indices=True
    ] a l
  in (m,) }"""


@pytest.mark.parametrize("idx, error, text", [
    ([0, 1], TypeError, r"use `arr\[array\(seq\)\]`"),
    ([slice(0, 1)], TypeError, r"use `arr\[tuple\(seq\)\]`"),
    ("a", TypeError, "string indexing"), (1.0, TypeError, "integer or boolean type"),
    (np.array([1.0]), TypeError, "integer or boolean type"),
    ((0, 0, 0, 0), IndexError, "Too many indices"), ((..., ...), IndexError, "single ellipsis"),
    (slice(0, 1.0), TypeError, "integer"), (slice(0, 1, 0), ValueError, "step cannot be zero"),
    (np.array([True, False]), IndexError, "boolean index did not match"),
    (({1}, 0), IndexError, "only integers, slices"),
    ((np.array([0, 1]), np.array([0, 1, 2])), ValueError, "Incompatible shapes"),
])
def test_errors(idx, error, text):
    x = jnp.asarray(X)
    with pytest.raises(error, match=text):
        x[idx]
    with pytest.raises(error, match=text):
        jax.jit(lambda x: x[idx])(x)


def test_errors_about_traced_values():
    x = jnp.asarray(X)
    with pytest.raises(IndexError, match="Slice entries must be static integers") as found:
        jax.jit(lambda x, i: x[i:])(x, 1)
    assert "dynamic_slice_in_dim" in str(found.value)
    with pytest.raises(errors.NonConcreteBooleanIndexError):
        jax.jit(lambda x, m: x[m])(x, MASK)
    with pytest.raises(IndexError, match="size 0"):
        jnp.zeros((0, 3))[0]
    with pytest.raises(TypeError, match="immutable"):
        x[0] = 1


def test_take():
    x, i = jnp.asarray(X), np.array([[0, 2], [1, -1]])
    np.testing.assert_array_equal(jnp.take(x, i, axis=1), np.take(X, i, axis=1))
    np.testing.assert_array_equal(jnp.take(x, i), np.take(X, i))
    np.testing.assert_array_equal(jnp.take(x, np.array([9, -9]), axis=0, mode="wrap"),
                                  np.take(X, [9, -9], axis=0, mode="wrap"))
    np.testing.assert_array_equal(jnp.take(x, np.array([9, -9]), axis=0, mode="clip"),
                                  np.take(X, [9, -9], axis=0, mode="clip"))
    assert np.isnan(jnp.take(x, 9, axis=0)).all()
    with pytest.raises(NotImplementedError):
        jnp.take(x, 0, mode="raise")


@pytest.mark.parametrize("axis, shape, index", [
    (0, (3, 4), (2, 4)), (1, (3, 4), (3, 2)), (1, (3, 4), (1, 2)), (1, (1, 4), (3, 2)),
    (2, (2, 3, 4), (2, 1, 5)), (-1, (3, 1), (3, 6)), (None, (3, 4), (5,)), (0, (3, 4), (2, 1)),
])
def test_take_along_axis(axis, shape, index):
    random = np.random.RandomState(0)
    x = random.randn(*shape).astype(np.float32)
    n = x.size if axis is None else shape[axis]
    i = random.randint(-n, n, index)
    np.testing.assert_array_equal(jnp.take_along_axis(jnp.asarray(x), i, axis=axis),
                                  np.take_along_axis(x, i, axis=axis))


def test_boxes():
    assert index_parsing.box_of(slice(None, None, -2), 3) == (0, 2, -2)
    for n in range(5):
        for start in (None, -7, -2, 0, 1, 4, 9):
            for stop in (None, -7, -2, 0, 1, 4, 9):
                for step in (None, 1, 2, -1, -3):
                    s = slice(start, stop, step)
                    box = index_parsing.box_of(s, n)
                    places = [box.start + i * abs(box.step) for i in range(box.size)]
                    assert sorted(range(n)[s]) == places


@pytest.mark.parametrize("n", (0, 1, 3))
def test_backward_slices_without_elements(n):
    x = np.arange(n)
    for s in (slice(None, None, -2), slice(5, 3, -2), slice(0, 3, -3), slice(None, n, -1)):
        np.testing.assert_array_equal(jnp.asarray(x)[s], x[s])
        np.testing.assert_array_equal(jax.jit(lambda x, s=s: x[s])(x), x[s])
        filled = x.copy()
        filled[s] = 7
        np.testing.assert_array_equal(jax.jit(lambda x, s=s: x.at[s].set(7))(x), filled)
