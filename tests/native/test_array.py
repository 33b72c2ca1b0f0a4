"""Array and ShapedArray: interning, conversion from NumPy, views, scalars, protocols, deletion."""

import copy
import gc
import pickle
import weakref

import ml_dtypes
import numpy as np
import pytest

from jitney import _native as native

ShapedArray = native.ShapedArray


class KeyType:
    _is_extended_dtype = True
    itemsize = 8
    name = "key<fry>"

    def __eq__(self, other):
        return isinstance(other, KeyType)

    def __hash__(self):
        return 1


def from_numpy(values, dtype=None):
    values = np.asarray(values, dtype)
    return native.array_from_numpy(values, ShapedArray(values.shape, values.dtype))


# ---- ShapedArray -------------------------------------------------------------------------


def test_equal_types_are_one_object():
    a = ShapedArray((2, 3), np.float32)
    assert a is ShapedArray([2, np.int64(3)], "float32")
    assert a is ShapedArray(shape=(2, 3), dtype=np.dtype("<f4"), weak_type=False)
    assert a is ShapedArray((2, 3), np.dtype(">f4"))
    assert a is not ShapedArray((2, 3), np.float32, True)
    assert a != ShapedArray((3, 2), np.float32)
    assert ShapedArray((), np.longlong) is ShapedArray((), np.int64)


def test_shaped_array_attributes():
    a = ShapedArray((2, 3), ml_dtypes.bfloat16, weak_type=True)
    assert (a.shape, a.ndim, a.size, a.itemsize, a.nbytes) == ((2, 3), 2, 6, 2, 12)
    assert a.dtype is np.dtype(ml_dtypes.bfloat16) and a.weak_type is True
    assert repr(a) == "ShapedArray(bfloat16[2,3], weak_type=True)"
    assert type(a.shape[0]) is int
    assert ShapedArray((0, 5), bool).nbytes == 0


def test_shaped_array_pickles_and_copies_to_itself():
    for dtype in (np.int8, ml_dtypes.float8_e4m3fn, ml_dtypes.int4):
        a = ShapedArray((4,), dtype)
        assert pickle.loads(pickle.dumps(a)) is a
        assert copy.copy(a) is a and copy.deepcopy(a) is a


def test_types_are_dropped_when_unused():
    ref = weakref.ref(ShapedArray((123457, 3), np.int16))
    gc.collect()
    assert ref() is None


def test_many_types_stay_distinct():
    avals = [ShapedArray((i, j), t) for i in range(60) for j in range(60) for t in ("f4", "i4")]
    assert len(set(map(id, avals))) == 7200
    assert all(a is ShapedArray(a.shape, a.dtype) for a in avals)


def test_extended_and_structured_dtypes():
    a = ShapedArray((3,), KeyType())
    assert a is ShapedArray((3,), KeyType()) and a.nbytes == 24
    float0 = np.dtype([("float0", np.void, 0)])
    assert ShapedArray((2,), float0) is ShapedArray((2,), np.dtype([("float0", np.void, 0)]))
    keys = native.array_from_numpy(np.arange(6, dtype=np.uint32).reshape(3, 2), a)
    assert keys.dtype == KeyType() and keys.shape == (3,)
    with pytest.raises(TypeError, match="cannot be viewed"):
        np.asarray(native.numpy_view(keys))
    bits = native.array_view(keys, ShapedArray((3, 2), np.uint32))
    np.testing.assert_array_equal(bits, np.arange(6).reshape(3, 2))


@pytest.mark.parametrize("shape", [(2.0,), ("a",), (-1,), 1 << 65, (1 << 40, 1 << 40), [[1]]])
def test_bad_shapes(shape):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        ShapedArray(shape, np.float32)


def test_methods_can_be_attached():
    native.ShapedArray._test_method = lambda self: self.size
    native.Array._test_method = lambda self: self.size
    try:
        assert ShapedArray((3, 2), bool)._test_method() == 6
        assert from_numpy([1, 2])._test_method() == 2
    finally:
        del native.ShapedArray._test_method, native.Array._test_method


# ---- from and to NumPy --------------------------------------------------------------------

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
SMALL_DTYPES = [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.int4]


@pytest.mark.parametrize("dtype", [np.dtype(t) for t in DTYPES + SMALL_DTYPES], ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_round_trip(dtype, shape):
    values = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    x = from_numpy(values)
    assert (x.shape, x.dtype, x.ndim, x.size) == (shape, dtype, len(shape), values.size)
    assert x.nbytes == values.nbytes and x.itemsize == dtype.itemsize
    for view in (np.asarray(x), native.numpy_view(x), np.array(x), x.__array__()):
        assert view.dtype == dtype and view.shape == shape
        np.testing.assert_array_equal(view, values)
    assert x.tolist() == values.tolist()
    y = pickle.loads(pickle.dumps(x))
    assert y.aval is x.aval
    np.testing.assert_array_equal(np.asarray(y), values)
    assert x.unsafe_buffer_pointer() % 64 == 0


@pytest.mark.parametrize("source, target", [("f8", "f4"), ("i8", "i4"), ("u8", "u4"),
                                            ("c16", "c8"), ("q", "i4"), ("Q", "u4")])
@pytest.mark.parametrize("layout", ["plain", "strided", "swapped", "fortran", "reversed"])
def test_conversion_to_32_bits(source, target, layout):
    values = np.arange(-8, 16).reshape(4, 6).astype(source)
    expect = values.astype(target)
    if layout == "strided":
        values, expect = values[::2, 1::2], expect[::2, 1::2]
    elif layout == "swapped":
        values = values.astype(values.dtype.newbyteorder(">"))
    elif layout == "fortran":
        values = np.asfortranarray(values)
    elif layout == "reversed":
        values, expect = values[::-1, ::-1], expect[::-1, ::-1]
    for copying in (True, False):
        x = native.array_from_numpy(values, ShapedArray(values.shape, target), copying)
        np.testing.assert_array_equal(np.asarray(x), expect)


def test_copies_unless_told():
    values = np.arange(4, dtype=np.float32)
    kept = native.array_from_numpy(values, ShapedArray((4,), np.float32))
    shared = native.array_from_numpy(values, ShapedArray((4,), np.float32), copy=False)
    values[0] = 9
    assert kept.tolist()[0] == 0 and shared.tolist()[0] == 9
    ref = weakref.ref(values)
    del values
    assert ref() is not None and shared.tolist() == [9, 1, 2, 3]
    del shared
    assert ref() is None


def test_size_mismatch_is_an_error():
    with pytest.raises(ValueError, match="does not make"):
        native.array_from_numpy(np.zeros(3, np.float32), ShapedArray((4,), np.float32))
    with pytest.raises(ValueError, match="does not make"):
        native.array_from_numpy(np.zeros(3, np.float64), ShapedArray((3,), np.int32))
    with pytest.raises(ValueError, match="bytes"):
        native.array_view(from_numpy([1, 2]), ShapedArray((3,), np.int64))


def test_array_view_shares_memory():
    x = from_numpy(np.arange(6, dtype=np.float32))
    y = native.array_view(x, ShapedArray((2, 3), np.int32))
    assert y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    x.delete()
    np.testing.assert_array_equal(np.asarray(y).view(np.float32).ravel(), np.arange(6))


def test_views_are_read_only_and_outlive_the_array():
    x = from_numpy(np.arange(1000, dtype=np.float32))
    view, memory = np.asarray(x), memoryview(x)
    assert not view.flags.writeable and memory.readonly
    with pytest.raises(ValueError):
        view[0] = 1
    del x
    for _ in range(5):
        from_numpy(np.zeros(1000, np.float32))
    np.testing.assert_array_equal(view, np.arange(1000))
    assert memory.tolist()[:3] == [0.0, 1.0, 2.0] and memory.format == "f"
    del view
    memory.release()


def test_array_method_follows_numpys_protocol():
    x = from_numpy(np.arange(3, dtype=np.float32))
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.array(x, copy=True).flags.writeable
    assert x.__array__(copy=True).flags.owndata
    assert x.__array__(np.float32).flags.owndata is False
    np.testing.assert_array_equal(np.asarray(x, copy=False), x.tolist())
    with pytest.raises(ValueError):
        x.__array__(np.int8, copy=False)
    with pytest.raises(TypeError):
        x.__array__("not a dtype")


def test_buffer_protocol_of_other_dtypes():
    assert np.asarray(from_numpy(np.array([1 + 2j], "c8"))).dtype == "c8"
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(from_numpy(np.zeros(2, ml_dtypes.bfloat16)))


def test_dlpack():
    x = from_numpy(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert tuple(x.__dlpack_device__()) == (1, 0)
    y = np.from_dlpack(x)
    np.testing.assert_array_equal(y, [[0, 1, 2], [3, 4, 5]])
    assert not y.flags.writeable
    x.delete()
    np.testing.assert_array_equal(y, [[0, 1, 2], [3, 4, 5]])
    for version in (None, (1, 0)):
        from_numpy([1.0]).__dlpack__(max_version=version)  # an unused capsule frees its share


# ---- scalars ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.dtype(t) for t in DTYPES + SMALL_DTYPES], ids=str)
def test_python_scalars(dtype):
    x = from_numpy(np.array(1).astype(dtype))
    item = np.array(1).astype(dtype).item()
    assert x.item() == item and type(x.item()) is type(item)
    assert bool(x) is True and complex(x) == 1
    if dtype.kind == "c":
        for convert in (int, float):
            with pytest.raises(TypeError, match="not 'complex'"):
                convert(x)
    else:
        assert int(x) == 1 and float(x) == 1.0
    if dtype.kind in "iu":
        assert [10, 20][x] == 20
    elif dtype.kind == "f":
        with pytest.raises(TypeError, match="Only integer scalar arrays"):
            x.__index__()


def test_scalar_rules_for_other_shapes():
    one, many, none = from_numpy([2.0]), from_numpy([1.0, 2.0]), from_numpy(np.zeros(0))
    assert bool(one) and one.item() == 2.0 and many.item(1) == 2.0
    for convert in (int, float, complex):
        with pytest.raises(TypeError, match=r"Only scalar arrays.*arr.ndim=1"):
            convert(one)
    with pytest.raises(ValueError, match="more than one element is ambiguous"):
        bool(many)
    with pytest.raises(ValueError, match="empty array is ambiguous"):
        bool(none)
    with pytest.raises(ValueError, match="size 1"):
        many.item()
    with pytest.raises(IndexError):
        many.item(5)
    assert len(many) == 2
    with pytest.raises(TypeError, match="unsized"):
        len(from_numpy(1.0))


def test_extreme_integers():
    for dtype in ("i8", "u8", "i4", "u4", "i1"):
        info = np.iinfo(dtype)
        for value in (info.min, info.max):
            assert from_numpy(np.array(value, dtype)).item() == value


# ---- identity, life -------------------------------------------------------------------------


def test_unhashable_weakref_copy():
    x = from_numpy([1.0, 2.0])
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    ref = weakref.ref(x)
    for twin in (copy.copy(x), copy.deepcopy(x)):
        assert twin is not x and twin.tolist() == x.tolist()
    del x
    assert ref() is None
    with pytest.raises(TypeError):
        native.Array()


def test_deleted_arrays_raise():
    x = from_numpy(np.arange(3, dtype=np.float32))
    assert x.block_until_ready() is x and native.block_until_ready(x) is x
    view = np.asarray(x)
    x.delete()
    x.delete()
    assert x.is_deleted() and x.shape == (3,) and x.dtype == np.float32
    uses = [lambda: np.asarray(x), lambda: memoryview(x), x.tolist, x.unsafe_buffer_pointer,
            x.block_until_ready, lambda: native.numpy_view(x), lambda: pickle.dumps(x),
            lambda: copy.copy(x), x.__dlpack__, lambda: native.array_view(x, x.aval)]
    for use in uses:
        with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[3\]"):
            use()
    np.testing.assert_array_equal(view, [0, 1, 2])


def test_operators_call_what_is_registered(operator):
    x = from_numpy([1.0])
    seen = []
    for name in ("add", "lt", "matmul"):
        operator(name, lambda a, b: seen.append((a, b)) or "done")
    operator("neg", lambda a: "negated")
    operator("getitem", lambda a, key: key)
    operator("iter", lambda a: iter("ab"))
    operator("pow", lambda a, b: NotImplemented)
    assert x + 2 == "done" and 3 + x == "done" and (x < 4) == "done" and x @ x == "done"
    assert np.float32(1) + x == "done" and np.ones(3) + x == "done"
    assert [type(a) for a, _ in seen[:2]] == [native.Array, int]
    assert -x == "negated" and x[1:2, ...] == (slice(1, 2), ...) and list(x) == ["a", "b"]
    with pytest.raises(TypeError):
        x**2
    with pytest.raises(TypeError):
        pow(x, 2, 3)
    operator("mul", None)
    with pytest.raises(TypeError):
        x * x
    operator("setitem", None)
    with pytest.raises(TypeError, match="immutable"):
        x[0] = 1
    with pytest.raises(ValueError, match="unknown operator"):
        native.set_operator("frob", len)


# ---- allocator ------------------------------------------------------------------------------


def test_buffers_are_recycled():
    big = ShapedArray((1 << 20,), np.float32)
    first = native.empty(big).unsafe_buffer_pointer()
    native.reset_counters()
    assert native.empty(big).unsafe_buffer_pointer() == first
    assert native.counters()["fresh_allocations"] == 0
    assert native.counters()["allocations"] == 1


def test_allocator_limit():
    stats = native.allocator_stats()
    limit = stats["bytes_limit"]
    try:
        native.set_allocator_limit(0)  # what this thread has kept of other tests is given back
        native.set_allocator_limit(8 << 20)
        arrays = [native.empty(ShapedArray((1 << 20,), np.float32)) for _ in range(6)]
        assert native.allocator_stats()["bytes_in_use"] >= 24 << 20
        del arrays
        assert native.allocator_stats()["bytes_cached"] <= 9 << 20
        native.set_allocator_limit(0)
        assert native.allocator_stats()["bytes_cached"] < 1 << 20
        x = from_numpy(np.arange(1 << 20, dtype=np.float32))
        assert np.asarray(x)[-1] == (1 << 20) - 1
        del x
    finally:
        native.set_allocator_limit(limit)
    with pytest.raises(ValueError):
        native.set_allocator_limit(-1)


def test_impossible_sizes_raise_memory_error():
    with pytest.raises(MemoryError):
        native.empty(ShapedArray((1 << 60,), np.int8))


def test_zero_size_arrays():
    x = native.empty(ShapedArray((0, 3), np.float32))
    assert np.asarray(x).shape == (0, 3) and x.tolist() == []
