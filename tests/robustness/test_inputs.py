"""Arguments of every unusual kind: right, or refused with an error that names them."""
# ruff: noqa: B023  (functions made in a loop are called in it)

import re
import warnings

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import _native

double = jitney.jit(lambda x: x * 2)
BASE = np.arange(24, dtype=np.float32).reshape(4, 6)


class Sub(np.ndarray):
    pass


def unaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    raw[1:] = np.frombuffer(x.tobytes(), np.uint8)
    out = np.frombuffer(raw.data, x.dtype, x.size, 1).reshape(x.shape)
    assert not out.flags.aligned or x.itemsize == 1
    return out


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


VIEWS = {
    "plain": lambda x: x,
    "fortran": np.asfortranarray,
    "reversed": lambda x: x[::-1, ::-1],
    "strided": lambda x: x[::2, 1::3],
    "transposed": lambda x: x.T,
    "swapped bytes": lambda x: x.astype(x.dtype.newbyteorder()),
    "broadcast": lambda x: np.broadcast_to(x[0], (5, 6)),
    "read only": read_only,
    "subclass": lambda x: x.view(Sub),
    "masked": lambda x: np.ma.array(x).data,
    "matrix": lambda x: x.view(np.matrix),
    "memmap": lambda x: _memmap(x),
    "unaligned": unaligned,
    "zero size": lambda x: x[:0],
    "0-d": lambda x: x[1, 2, ...],
    "scalar": lambda x: x[1, 2],
    "field of a record": lambda x: _record(x)["b"],
    "complex part": lambda x: (x + 1j).astype(np.complex64).real,
}


def _memmap(x):
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        m = np.memmap(file.name, x.dtype, "w+", shape=x.shape)
        m[:] = x
        return m


def _record(x):
    record = np.zeros(x.shape, [("a", "i1"), ("b", x.dtype)])
    record["b"] = x
    return record


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1", "f2", "c8", "?"])
def test_numpy_arrays(view, dtype):
    x = VIEWS[view](BASE.astype(dtype))
    want = np.asarray(x)
    if want.dtype == bool:
        want = want.astype(np.int32)
    for _ in range(3):                                    # the miss, then the fast path
        got = np.asarray(double(x))
        assert got.shape == want.shape
        assert np.array_equal(got.astype(np.complex128), (want * want.dtype.type(2))
                              .astype(np.complex128))
    if view == "swapped bytes" and dtype not in ("u1", "?"):
        return                                            # jnp.asarray refuses them, as in JAX
    assert np.array_equal(np.asarray(jnp.asarray(x)), np.asarray(x))
    eager = np.asarray(jnp.add(x, x)).astype(np.complex128)
    assert np.array_equal(eager, np.add(np.asarray(x), np.asarray(x)).astype(np.complex128))


def test_swapped_bytes_on_a_first_call():
    """No entry of another layout is there to serve them."""
    for dtype in (">f4", ">i4", ">f8", ">c8"):
        x = np.arange(5).astype(dtype)
        assert np.array_equal(jitney.jit(lambda x: x * 2 + 1)(x), x * 2 + 1)
        assert np.array_equal(jnp.add(x, x), x + x)


def test_an_entry_for_one_layout_serves_the_others():
    f = jitney.jit(lambda x: x.sum(1) + x[:, 0])
    for view in ("plain", "fortran", "reversed", "swapped bytes", "unaligned", "read only"):
        x = VIEWS[view](BASE)
        assert np.array_equal(f(x), np.asarray(x).sum(1) + np.asarray(x)[:, 0]), view
    for view in ("plain", "unaligned"):
        for dtype in (np.float64, np.float32):
            x = VIEWS[view](BASE.astype(dtype))
            assert np.array_equal(f(x), x.sum(1) + x[:, 0])
    assert f.misses <= 2


def test_what_the_caller_changes_later_does_not_show():
    x = BASE.copy()
    a, b = jnp.asarray(x), jnp.array(x)
    c = jitney.jit(lambda v: v)(x)
    d = jitney.jit(lambda v: (v, v + 0))(x)
    kept = jitney.jit(lambda: a + 0)
    x[:] = -1
    for y in (a, b, c, *d, kept()):
        assert np.array_equal(y, BASE)
    view = np.asarray(a)
    assert not view.flags.writeable
    with pytest.raises(ValueError):
        view[0, 0] = 5


@pytest.mark.parametrize("bad", [
    "text", b"bytes", None, object(), np.array(["a", "b"]), np.array([None, 1]),
    np.array([1, "x"], object), np.datetime64("2020-01-01"), np.array(["2020"], "M8[D]"),
    np.zeros(2, [("a", "f4")]), {1, 2}, iter([1]), lambda: 1, ..., slice(1), range(3), type,
], ids=lambda bad: re.sub(" at 0x[0-9a-f]+", "", repr(bad)))  # equal names in every process
def test_what_is_no_array_is_refused(bad):
    f = jitney.jit(lambda x: jnp.sin(x))
    for _ in range(2):
        with pytest.raises((TypeError, ValueError)) as info:
            f(bad)
        assert ("x" in str(info.value) or bad is None) and len(str(info.value)) < 2000
        assert _native.current_trace() is None
    if not isinstance(bad, range):
        with pytest.raises((TypeError, ValueError)):
            jnp.sin(bad)
    assert float(f(0.0)) == 0


@pytest.mark.parametrize("ragged", [[[1, 2], [3]], [1, [2]], [[], [1]], [1, None], ["a", 1]])
def test_ragged_and_mixed_lists(ragged):
    with pytest.raises((TypeError, ValueError)):
        jnp.array(ragged)
    assert _native.current_trace() is None


def test_names_of_arguments_are_in_the_message():
    @jitney.jit
    def f(first, second, *, third=None):
        return first

    with pytest.raises(TypeError, match=r"second\['k'\]\[1\]"):
        f(1, {"k": [1, "no"]})
    with pytest.raises(TypeError, match="third"):
        f(1, 2, third="no")


def test_integers_out_of_range():
    f = jitney.jit(lambda x: x + 1)
    assert int(f(2**31 - 2)) == 2**31 - 1
    for n in (2**31, -2**31 - 1, 2**63, 2**64, 10**30):
        for _ in range(2):
            with pytest.raises(OverflowError):
                f(n)
    assert int(f(5)) == 6


def test_special_floats_travel_unchanged():
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 1e-38,
                       3.4028235e38], np.float32)
    f = jitney.jit(lambda x: x[::-1])
    assert np.asarray(f(values)).tobytes() == values[::-1].tobytes()
    for v in values:
        got = np.float32(jitney.jit(lambda x: x)(float(v)))
        assert np.isnan(v) and np.isnan(got) or got.tobytes() == v.tobytes()
    for bits in (0x7FA00001, 0xFFC12345, 0x7F800001):     # signalling and marked NaN
        x = np.full(37, bits, np.uint32).view(np.float32)
        assert np.asarray(f(x)).tobytes() == x.tobytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert float(double(1e39)) == np.inf


def test_bool_int_float_are_different_signatures():
    f = jitney.jit(lambda x: x)
    assert [f(v).dtype.name for v in (True, 1, 1.0, 1j)] == ["bool", "int32", "float32",
                                                            "complex64"]
    assert f(np.int8(1)).dtype == np.int8 and f(np.float64(1)).dtype == np.float32

    class Int(int):
        pass

    class Float(float):
        pass

    assert int(f(Int(3))) == 3 and float(f(Float(2.5))) == 2.5


def test_objects_that_know_how_to_be_arrays():
    class ByArray:
        def __array__(self, dtype=None, copy=None):
            return BASE

    assert np.array_equal(jnp.asarray(ByArray()), BASE)


def test_wrong_numbers_of_arguments():
    f = jitney.jit(lambda x, y=1, *, z=2: x + y + z)
    f(1)
    for args, kwargs in [((), {}), ((1, 2, 3), {}), ((1,), {"q": 1}), ((1,), {"x": 1})]:
        for _ in range(2):
            with pytest.raises(TypeError):
                f(*args, **kwargs)
    assert int(f(1, z=5)) == 7 and int(f(y=4, x=1)) == 7


def test_pytrees_of_every_kind_and_unhashable_statics():
    f = jitney.jit(lambda t, s: t, static_argnums=1)
    with pytest.raises((TypeError, ValueError), match="[Hh]ash"):
        f(1, [1])
    for tree in (None, (), [], {}, {"a": None}, [[[[]]]], (1, (2.0, {"k": [3j]}))):
        for _ in range(2):
            assert jitney.tree.structure(f(tree, 1)) == jitney.tree.structure(tree)


def test_trees_that_change_while_they_are_read():
    """Keys whose comparison runs Python code that empties the dict."""
    class Key(str):
        __slots__ = ()

        def __hash__(self):
            return hash(str(self))

        def __eq__(self, other):
            tree.pop("b", None)
            return str(self) == str(other)

    f = jitney.jit(lambda t: t["a"] + 1)
    f({"a": 1.0, "b": 2.0})
    for _ in range(20):
        tree = {Key("a"): np.ones(3), Key("b"): np.ones(2)}
        try:
            f(tree)
        except (TypeError, KeyError, ValueError, RuntimeError):
            pass
    assert float(f({"a": 1.0, "b": 2.0})) == 2


# --- sizes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (3, 0, 2), (0, 0)])
def test_zero_sizes(shape):
    x = jnp.zeros(shape)
    want = np.zeros(shape, np.float32)
    assert double(x).shape == shape and (x + x).shape == shape
    assert float(jitney.jit(jnp.sum)(x)) == 0 and float(jnp.prod(x)) == 1
    for axis in range(len(shape)):
        assert np.array_equal(jitney.jit(lambda v: v.sum(axis))(x), want.sum(axis))
        assert jnp.sort(x, axis=axis).shape == jnp.cumsum(x, axis).shape == shape
        assert jnp.concatenate([x, x], axis).shape == np.concatenate([want, want], axis).shape
    assert jnp.isnan(jnp.mean(x))
    with pytest.raises(ValueError):
        jnp.max(x)
    assert x.T.shape == shape[::-1] and x.reshape(-1).shape == (0,)
    if len(shape) == 2:
        assert np.array_equal(x @ x.T, want @ want.T)


def test_sizes_no_machine_has():
    with pytest.raises((MemoryError, RuntimeError, ValueError, OverflowError)):
        jnp.zeros((2**20, 2**20, 2**10)).block_until_ready()
    with pytest.raises((MemoryError, RuntimeError, ValueError, OverflowError)):
        jnp.zeros(2**60).block_until_ready()
    with pytest.raises((MemoryError, RuntimeError, ValueError, OverflowError)):
        jitney.jit(lambda: jnp.ones((2**31, 2**31)) + 1)()
    assert float(jnp.ones(3).sum()) == 3


def test_huge_shapes_that_need_no_memory():
    f = jitney.jit(lambda x: jnp.broadcast_to(x, (2**22, 2**10))[5, 3] + 1)
    assert float(f(2.0)) == 3
    assert int(jitney.jit(lambda: jnp.arange(3 * 10**9, dtype=jnp.uint32)[5])()) == 5
    aval = jitney.eval_shape(lambda x: (x @ x.T).sum(0), jitney.ShapeDtypeStruct(
        (10**7, 10**7), np.float32))
    assert aval.shape == (10**7,)


def test_many_dimensions():
    x = jnp.ones((1,) * 20 + (3,) + (1,) * 10)
    assert float((x + x).sum()) == 6
    assert double(x).shape == x.shape and x.T.shape == x.shape[::-1]
    y = jnp.arange(2**10).reshape((2,) * 10)
    assert np.array_equal(jitney.jit(lambda v: v.transpose(*range(9, -1, -1)) * 2)(y),
                          np.arange(2**10).reshape((2,) * 10).T * 2)


def test_many_arguments_and_results():
    f = jitney.jit(lambda *xs: [x + i for i, x in enumerate(xs)])
    for _ in range(2):
        out = f(*[float(i) for i in range(700)])
        assert [float(v) for v in out] == [2.0 * i for i in range(700)]
