"""Jitted: which calls an entry serves, what reaches _miss, life, threads, leaks."""

import collections
import enum
import functools
import gc
import resource
import threading
import types
import weakref

import ml_dtypes
import numpy as np
import pytest

from jitney import _native as native


def total(kit, **options):
    return kit.Counting(kit.sum_scalars, **options)


def add1_of(kit):
    def make(leaves, args, kwargs):
        (x,) = leaves
        return kit.add1(np.shape(x)), kit.LEAF

    return kit.Counting(make)


# ---- leaves ---------------------------------------------------------------------------------


def test_hit_after_miss(kit):
    f = add1_of(kit)
    x = kit.array(np.arange(16))
    for _ in range(3):
        np.testing.assert_array_equal(f(x), np.arange(1, 17))
    assert (f.misses, f.hits, f._entries()) == (1, 3, 1)
    assert f(kit.array(np.zeros(5))).shape == (5,)
    assert (f.misses, f._entries()) == (2, 2)
    f._clear()
    f(x)
    assert (f.misses, f._entries()) == (3, 1)


def test_arrays_numpy_and_numpy_scalars_share_an_entry(kit):
    f = add1_of(kit)
    f(kit.array(np.arange(4)))
    for values in (np.arange(4.0), np.arange(4, dtype="f4"), np.repeat(np.arange(4.0), 2)[::2],
                   np.arange(4, dtype=">f4"), np.arange(4, dtype="f4")[::-1][::-1]):
        np.testing.assert_array_equal(f(values), np.arange(1, 5))
    assert f.misses == 1
    f(np.arange(4))  # int32 after canonicalisation: another type
    assert f.misses == 2
    g = total(kit)
    g(kit.array(2))
    for value in (np.float32(2), np.float64(2), np.array(2.0)):
        assert g(value).item() == 2
    assert g.misses == 1


def test_python_scalars_have_weak_types(kit):
    f = total(kit)
    assert f(1.5).item() == 1.5 and f(2.5).item() == 2.5
    assert f.misses == 1
    f(kit.array(1.0))  # strong f32: a new type
    assert f.misses == 2
    seen = []

    class Record(native.Jitted):
        def _miss(self, args, kwargs):
            seen.append(args)

    g = Record()
    for value in (True, 1, 1.0, 1j):
        aval = {bool: "?", int: "i4", float: "f4", complex: "c8"}[type(value)]
        aval = native.ShapedArray((), aval, True)
        p = kit.program([(aval, "input", 0)], 1, [], [])
        assert g._install((value,), {}, (), (), p, (0,), (), kit.LEAF, (), None)
        assert g(value).item() == value and type(g(value).item()) is type(value)
    assert g(7).item() == 7 and g(-(2**31)).item() == -(2**31) and not seen
    g(2**31)
    assert seen == [(2**31,)]
    Color = enum.IntEnum("Color", "red")
    g(Color.red)
    assert seen[-1] == (Color.red,)


def test_integers_64_bits(kit):
    kinds = (np.bool_, np.int64, np.float64, np.complex128)
    native.set_scalar_avals(*(native.ShapedArray((), kind, True) for kind in kinds))
    try:
        f = native.Jitted()
        weak = native.ShapedArray((), np.int64, True)
        p = kit.program([(weak, "input", 0)], 1, [], [])
        assert f._install((1,), {}, (), (), p, (0,), (), kit.LEAF, (), None)
        assert f(2**62).item() == 2**62
        with pytest.raises(NotImplementedError, match="_miss"):
            f(2**63)
    finally:
        kinds = (np.bool_, np.int32, np.float32, np.complex64)
        native.set_scalar_avals(*(native.ShapedArray((), kind, True) for kind in kinds))
    with pytest.raises(TypeError):
        native.set_scalar_avals(weak, weak, weak, weak)


def test_small_float_dtypes(kit):
    values = np.ones(3, ml_dtypes.bfloat16)
    aval = native.ShapedArray((3,), ml_dtypes.bfloat16)
    f = native.Jitted()
    p = kit.program([(aval, "input", 0)], 1, [], [])
    assert f._install((values,), {}, (), (), p, (0,), (), kit.LEAF, (), None)
    assert f(values).aval is aval and f(native.array_from_numpy(values, aval)).aval is aval
    with pytest.raises(NotImplementedError):
        f(np.ones(3, ml_dtypes.float8_e5m2))


def test_what_is_not_a_leaf_goes_to_python(kit):
    f = native.Jitted()
    p = kit.program([], 0, [], [])
    empty = native.tree_structure(())
    for odd in ("text", object(), np.ma.ones(3), np.datetime64("now"), np.array("a"), b""):
        assert f._install((odd,), {}, (), (), p, (), (), empty, (), None) is False
    assert f._entries() == 0


def test_deleted_arrays_miss(kit):
    f = add1_of(kit)
    x = kit.array(np.arange(16))
    f(x)
    x.delete()
    f.make = lambda *a: (_ for _ in ()).throw(RuntimeError("saw the deleted array"))
    with pytest.raises(RuntimeError, match="saw the deleted"):
        f(x)


# ---- structure --------------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")


def test_containers(kit):
    f = total(kit)
    calls = [
        ({"a": 1.0, "b": (2.0, [3.0])}, 6), ((1.0, 2.0), 3), ([1.0, 2.0], 3), (Point(1.0, 2.0), 3),
        (None, 0), ((), 0), ({"a": None, "b": 4.0}, 4),
        (collections.OrderedDict(z=1.0, a=2.0), 3),
    ]
    for k, (argument, expect) in enumerate(calls):
        for _ in range(2):
            assert f(argument).item() == expect
        assert f.misses == k + 1
    assert f({"b": (2.0, [3.0]), "a": 1.0}).item() == 6  # another insertion order
    assert f.misses == len(calls)


class Pair:
    def __init__(self, a, b, tag):
        self.a, self.b, self.tag = a, b, tag


native.register_node(Pair, lambda p: ((p.a, p.b), p.tag), lambda tag, kids: Pair(*kids, tag))


def test_custom_nodes(kit):
    f = total(kit)
    assert f(Pair(1.0, 2.0, "t"), [Pair(3.0, 4.0, "u")]).item() == 10
    assert f(Pair(1.0, 2.0, "t"), [Pair(5.0, 4.0, "u")]).item() == 12
    assert f.misses == 1
    f(Pair(1.0, 2.0, "other"), [Pair(3.0, 4.0, "u")])
    assert f.misses == 2


def test_output_trees(kit):
    def make(leaves, args, kwargs):
        n = len(leaves)
        outs = [(native.ShapedArray((), np.float32), "donate", i) for i in range(n)]
        return kit.program(outs, n, [], []), native.tree_structure(args[0])

    f = kit.Counting(make)
    tree = {"b": kit.array(1), "a": (kit.array(2), None, [kit.array(3)])}
    out = f(tree)
    assert list(out) == ["a", "b"] or list(out) == ["b", "a"]
    assert out["b"].item() == 1 and out["a"][0].item() == 2 and out["a"][2][0].item() == 3
    assert out["a"][1] is None


def test_keywords(kit):
    f = total(kit)
    assert f(1.0, b=2.0, a=4.0).item() == 7
    assert f(1.0, b=3.0, a=4.0).item() == 8 and f.misses == 1
    assert f(1.0, a=4.0, b=3.0).item() == 8 and f.misses == 2  # another order: another entry
    assert f(1.0, a=4.0, b=3.0).item() == 8 and f.misses == 2
    assert f(1.0, 3.0, a=4.0).item() == 8 and f.misses == 3
    assert f(1.0, **{}).item() == 1


def test_keyword_leaves_are_in_sorted_order(kit):
    out = kit.aval()
    f = native.Jitted()
    p = kit.program([(out, "donate", 1), (out, "donate", 2)], 3, [], [])
    pair = native.tree_structure((0, 0))
    args, kwargs = (np.float32(0),), {"z": np.float32(26), "a": np.float32(1)}
    assert f._install(args, kwargs, (), (), p, (0, 1, 2), (), pair, (), None)
    first, second = f(*args, **kwargs)
    assert (first.item(), second.item()) == (1, 26)


def test_statics(kit):
    f = total(kit, static_argnums=(1,), static_argnames=("mode",))
    assert f(1.0, "add", mode=None).item() == 1
    f(2.0, "add", mode=None)
    assert f.misses == 1
    f(2.0, "mul", mode=None)
    f(2.0, "add", mode=3)
    f(2.0, "add", mode=3.0)
    f(2.0, "add", mode=True)
    assert f.misses == 5
    f(7.0, "".join(["a", "dd"]), mode=3)
    assert f.misses == 5


def test_errors_when_comparing_statics_propagate(kit):
    class Odd:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise ArithmeticError("no comparison")

    f = total(kit, static_argnums=(0,))
    f(Odd(), 1.0)
    with pytest.raises(ArithmeticError, match="no comparison"):
        f(Odd(), 1.0)


def test_kept_and_hidden(kit):
    captured = kit.array([10, 10])
    f = native.Jitted()
    x, unused = kit.array([1, 2]), kit.array([5, 5, 5])
    p = kit.add((2,))
    assert f._install((unused, x), {}, (), (), p, (1,), (captured,), kit.LEAF, (), None)
    assert f(unused, x).tolist() == [11, 12]
    captured.delete()
    assert f(unused, np.array([3.0, 4.0])).tolist() == [13, 14]
    p = kit.program([(kit.aval(3), "input", 0), (kit.aval(2), "input", 1)], 2, [], [])
    captured = kit.array([1, 2])
    pair = native.tree_structure((0, 0))
    assert f._install((unused,), {}, (), (), p, (0,), (captured,), pair, (), None)
    same, first = f(unused)
    first.delete()
    assert same is unused and f(unused)[1].tolist() == [1, 2]


def test_donation(kit):
    f = native.Jitted()
    make = lambda: kit.array([1, 2, 3, 4])  # noqa: E731
    p = kit.add((4,), "donate", 0)
    args = (make(), make(), make())
    assert f._install(args, {}, (), (), p, (0, 1), (), kit.LEAF, (0, 2), None)
    x, y, z = args
    address = x.unsafe_buffer_pointer()
    out = f(x, y, z)
    assert out.unsafe_buffer_pointer() == address and out.tolist() == [2, 4, 6, 8]
    assert x.is_deleted() and z.is_deleted() and not y.is_deleted()
    x = make()
    assert f(x, x, make()).tolist() == [2, 4, 6, 8] and x.is_deleted()
    assert f(np.ones(4), y, 1.0 * np.ones(4)).tolist() == [2, 3, 4, 5]
    state = make()
    for _ in range(100):
        state = f(state, y, make())
    assert state.unsafe_buffer_pointer() % 64 == 0 and state.tolist()[0] == 101
    assert f.misses == 0


# ---- many entries -----------------------------------------------------------------------------


def test_more_entries_than_are_scanned(kit):
    f = add1_of(kit)
    for n in range(1, 60):
        f(kit.array(np.arange(n)))
    assert f.misses == 59 and f._entries() == 59
    for n in range(1, 60):
        np.testing.assert_array_equal(f(kit.array(np.arange(n))), np.arange(1, n + 1))
        np.testing.assert_array_equal(f(np.arange(float(n))), np.arange(1, n + 1))
    assert f.misses == 59


def test_many_statics(kit):
    f = total(kit, static_argnums=(0,), static_argnames=("k",))
    for i in range(40):
        f(i, 1.0, k=str(i))
    for i in range(40):
        assert f(i, 2.0, k=str(i)).item() == 2
    assert f.misses == 40


def test_many_trees(kit):
    f = total(kit)
    for n in range(40):
        assert f({"a": [1.0] * n, "b": (2.0,)}).item() == n + 2
    for n in range(40):
        assert f({"b": (2.0,), "a": [1.0] * n}).item() == n + 2
    assert f.misses == 40


def test_mixed_statics_stop_hashing(kit):
    f = total(kit)
    for n in range(12):
        f([1.0] * n)
    f.static_argnums = (1,)
    f([1.0], "static")
    misses = f.misses
    for n in range(12):
        f([1.0] * n)
    f([2.0], "static")
    assert f.misses == misses


def test_max_entries_drops_the_oldest(kit):
    f = add1_of(kit)
    f.max_entries = 10
    for n in range(1, 31):
        f(kit.array(np.zeros(n)))
    assert f._entries() == 10
    misses = f.misses
    f(kit.array(np.zeros(30)))
    assert f.misses == misses
    f(kit.array(np.zeros(1)))
    assert f.misses == misses + 1


# ---- context ----------------------------------------------------------------------------------


def test_a_current_trace_means_python(kit):
    f = add1_of(kit)
    x = kit.array(np.zeros(3))
    f(x)
    marker = object()
    f.make = lambda *a: (_ for _ in ()).throw(LookupError)
    assert native.current_trace() is None
    assert native.swap_trace(marker) is None
    try:
        assert native.current_trace() is marker
        with pytest.raises(LookupError):
            f(x)
        others = []
        thread = threading.Thread(target=lambda: others.append(native.current_trace()))
        thread.start()
        thread.join()
        assert others == [None]
    finally:
        assert native.swap_trace(None) is marker
    f(x)


def test_configuration_ids(kit):
    f = add1_of(kit)
    x = kit.array(np.zeros(3))
    f(x)
    start = native.config_id()
    try:
        native.set_config_id(77)
        f(x)
        assert f.misses == 2
        assert native.swap_thread_config_id(start) == 0
        f(x)
        assert f.misses == 2
        assert native.swap_thread_config_id(0) == start
    finally:
        native.set_config_id(start)
    f(x)
    assert f.misses == 2


# ---- the object -------------------------------------------------------------------------------


def test_behaves_as_a_function(kit):
    def original(x):
        """Adds one."""

    f = functools.wraps(original)(add1_of(kit))
    assert f.__name__ == "original" and f.__doc__ == "Adds one." and f.__wrapped__ is original

    class Holder:
        method = total(kit)
        static = staticmethod(total(kit))

    holder = Holder()
    assert isinstance(holder.method, types.MethodType) and isinstance(Holder.method, kit.Counting)
    native.register_node(Holder, lambda h: ((), None), lambda aux, kids: Holder())
    assert holder.method(1.0, 2.0).item() == 3 and Holder.static(4.0).item() == 4


def test_subclasses_of_subclasses_and_call(kit):
    class Deeper(kit.Counting):
        extra = 1

    class Overridden(kit.Counting):
        def __call__(self, *args):
            return "called"

    assert Deeper(kit.sum_scalars)(1.0).item() == 1
    assert Overridden(kit.sum_scalars)(1.0) == "called"
    vectorcall, method = 1 << 11, 1 << 17
    assert Deeper.__flags__ & vectorcall and Deeper.__flags__ & method
    assert not Overridden.__flags__ & vectorcall


def test_exceptions_of_miss_propagate():
    class Fails(native.Jitted):
        def _miss(self, args, kwargs):
            raise LookupError((args, kwargs))

    with pytest.raises(LookupError) as caught:
        Fails()(1, 2, a=3)
    assert caught.value.args[0] == ((1, 2), {"a": 3})
    with pytest.raises(NotImplementedError):
        native.Jitted()(1)


def test_install_checks(kit):
    f = native.Jitted()
    x = kit.array(np.zeros(16))
    p = kit.add1()
    with pytest.raises(IndexError):
        f._install((x,), {}, (), (), p, (1,), (), kit.LEAF, (), None)
    with pytest.raises(ValueError, match="takes 1 inputs"):
        f._install((x,), {}, (), (), p, (), (), kit.LEAF, (), None)
    with pytest.raises(ValueError, match="outputs for a tree"):
        f._install((x,), {}, (), (), p, (0,), (), native.tree_structure((0, 0)), (), None)
    with pytest.raises(IndexError):
        f._install((x,), {}, (), (), p, (0,), (), kit.LEAF, (4,), None)
    with pytest.raises(TypeError):
        f._install((x,), {}, (), (), "program", (0,), (), kit.LEAF, (), None)
    assert f._entries() == 0


def test_collected_with_cycles(kit):
    class Static:
        pass

    f = total(kit, static_argnums=(0,))
    static = Static()
    static.f = f
    f(static, 1.0)
    f.me = f
    refs = weakref.ref(f), weakref.ref(static)
    del f, static
    gc.collect()
    assert refs[0]() is None and refs[1]() is None


def test_entries_changed_during_a_call(kit):
    """Comparing a static clears the list that is being scanned."""
    f = total(kit, static_argnums=(0,))

    class Clears:
        def __hash__(self):
            return 3

        def __eq__(self, other):
            f._clear()
            gc.collect()
            return True

    f(Clears(), 1.0)
    assert f(Clears(), 2.0).item() == 2 and f._entries() == 0
    for i in range(12):
        f(i, 1.0)
    f(Clears(), 1.0)
    assert f(Clears(), 5.0).item() == 5


def test_operators_through_jitted(kit, operator):
    def make(leaves, args, kwargs):
        return kit.add(), kit.LEAF

    f = kit.Counting(make)
    operator("add", f)
    x = kit.array(np.arange(16))
    np.testing.assert_array_equal(x + x, 2 * np.arange(16))
    np.testing.assert_array_equal(np.arange(16, dtype=np.float32) + x, 2 * np.arange(16))
    assert f.misses == 1


# ---- threads and leaks ------------------------------------------------------------------------


def test_threads(kit):
    f = add1_of(kit)
    big = add1_of(kit)
    big.make = lambda leaves, args, kwargs: (
        kit.add1(np.shape(leaves[0]), cost=1e6, grain=1000), kit.LEAF)
    errors = []

    def work(seed):
        try:
            for i in range(300):
                n = 1 + (seed * 7 + i) % 20
                if np.asarray(f(kit.array(np.arange(n))))[-1] != n:
                    errors.append(n)
                if i % 10 == 0 and np.asarray(big(kit.array(np.arange(5000.0))))[-1] != 5000:
                    errors.append("big")
                if i % 50 == 0:
                    f._clear()
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_inputs_survive_a_change_of_their_container(kit):
    """The leaf of a dict is dropped by another thread (here: by a step) while the program runs."""
    import ctypes

    tree = {}
    p = None

    def drop(source, target):
        tree.clear()
        for _ in range(3):
            kit.array(np.full(64, -1.0))
        ctypes.memmove(target, source, 256)

    def make(leaves, args, kwargs):
        slots = [("in", 0, 0), ("out", 0, 0)]
        steps = [(1, 0, (0, 1), b"", 0, 0, drop)]
        return kit.program([(kit.aval(64), "new", 0)], 1, slots, steps, cost=1e6), kit.LEAF

    f = kit.Counting(make)
    for maker in (kit.array, lambda v: np.array(v, np.float32), np.array):
        tree["x"] = maker(np.arange(64.0))
        np.testing.assert_array_equal(f(tree), np.arange(64))
    assert p is None and f.misses == 1


def rss_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def test_a_million_calls_leak_nothing(kit):
    f, g = add1_of(kit), total(kit)
    x = kit.array(np.arange(16))
    d = np.arange(16.0)
    tree = {"a": 1.0, "b": [2.0, np.float32(3)]}

    def calls(n):
        for _ in range(n):
            f(x)
            f(d)
            g(tree, k=1.0)
            np.asarray(x)

    calls(20000)
    objects, before = len(gc.get_objects()), rss_mib()
    calls(250000)
    assert rss_mib() - before < 4
    assert abs(len(gc.get_objects()) - objects) < 200
    assert native.allocator_stats()["bytes_in_use"] < 1 << 30


def test_the_fast_path_allocates_only_outputs(kit):
    f = add1_of(kit)
    x = kit.array(np.arange(16))
    f(x)
    native.reset_counters()
    for _ in range(100):
        f(x)
    counts = native.counters()
    assert counts["allocations"] == 100 and counts["calls"] == 100
    assert counts["copies"] == counts["conversions"] == counts["misses"] == 0
