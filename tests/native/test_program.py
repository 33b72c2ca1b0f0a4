"""Programs: every kind of step, output and slot; donation; errors; the GIL and Ctrl-C."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

from jitney import _native as native


def run(program, *inputs, **options):
    return program.execute(list(inputs), **options)


def test_kernel_step(kit):
    (y,) = run(kit.add1(), kit.array(np.arange(16)))
    np.testing.assert_array_equal(y, np.arange(1, 17))
    assert y.aval is kit.aval(16) and y.unsafe_buffer_pointer() % 64 == 0


@pytest.mark.parametrize("grain", [0, 1, 7, 1000])
@pytest.mark.parametrize("cost", [10.0, 1e6])
def test_pieces(kit, grain, cost):
    n = 500
    (y,) = run(kit.add1((n,), grain=grain, cost=cost), kit.array(np.arange(n)))
    np.testing.assert_array_equal(y, np.arange(1, n + 1))


def test_scalars_and_numpy_as_inputs(kit):
    p = kit.add(())
    assert run(p, 1.5, np.float32(2))[0].item() == 3.5
    assert run(p, np.float64(1.5), np.array(2.0))[0].item() == 3.5
    p = kit.add((4,))
    (y,) = run(p, np.arange(4.0), np.arange(8, dtype=np.float32)[::2])
    np.testing.assert_array_equal(y, np.arange(4) * 3)


def test_offsets_constants_and_workspace(kit):
    constant = kit.array([10, 20, 30, 40])
    steps = [
        kit.kernel("add1_f32", (0, 1), extent=2),  # work = x[2:] + 1
        kit.kernel("add_f32", (1, 2, 3), extent=2),  # out[1:3] = work + constant[2:]
        (2, 0, (2, 4), kit.params(4), 0, 0, None),  # out[0] = constant[2]
    ]
    slots = [("in", 0, 8), ("work", 0, 64), ("const", 0, 8), ("out", 0, 4), ("out", 0, 0)]
    p = kit.program([(kit.aval(3), "new", 0)], 1, slots, steps, [constant], work=128)
    constant.delete()
    (y,) = run(p, kit.array([1, 2, 3, 4]))
    np.testing.assert_array_equal(y, [30, 34, 45])


def test_python_step(kit):
    import ctypes

    def double(x, y):
        for i in range(4):
            ctypes.c_float.from_address(y + 4 * i).value = 2 * ctypes.c_float.from_address(
                x + 4 * i).value

    for cost in (10.0, 1e6):
        steps = [(1, 0, (0, 1), b"", 0, 0, double)]
        p = kit.program([(kit.aval(4), "new", 0)], 1, [("in", 0, 0), ("out", 0, 0)], steps,
                        cost=cost)
        np.testing.assert_array_equal(run(p, kit.array([1, 2, 3, 4]))[0], [2, 4, 6, 8])


def test_errors_in_python_steps_propagate(kit):
    def fail(address):
        raise KeyError("from the step")

    for cost in (10.0, 1e6):
        p = kit.program([(kit.aval(4), "new", 0)], 0, [("out", 0, 0)],
                        [(1, 0, (0,), b"", 0, 0, fail)], work=100, cost=cost)
        native.set_allocator_limit(native.allocator_stats()["bytes_limit"])
        before = native.allocator_stats()["bytes_in_use"]
        for _ in range(10):
            with pytest.raises(KeyError, match="from the step"):
                run(p)
        assert native.allocator_stats()["bytes_in_use"] == before


# ---- control flow ---------------------------------------------------------------------------


def loop_program(kit, limit_is_input=True):
    """while x[0] < limit: x += 3"""
    slots = [("in", 0, 0), ("in", 1, 0), ("out", 0, 0), ("work", 0, 0)]
    steps = [
        (2, 0, (0, 2), kit.params(4), 0, 0, None),
        (16, 0, (), b"", 0, 0, (
            (kit.kernel("less_i32", (2, 1, 3)),),
            (kit.kernel("increment_i32", (2,), params=kit.params(3)),),
            3,
        )),
    ]
    out = native.ShapedArray((), np.int32)
    return kit.program([(out, "new", 0)], 2, slots, steps, work=64)


def test_while(kit):
    p = loop_program(kit)
    for start, limit, expect in [(0, 10, 12), (5, 5, 5), (0, 30000, 30000), (7, 0, 7)]:
        assert run(p, start, limit)[0].item() == expect


@pytest.mark.parametrize("size", [1, 4, 8])
def test_cond(kit, size):
    slots = [("in", 0, 0), ("out", 0, 0), ("in", 1, 0)]
    branches = tuple((kit.kernel("increment_i32", (1,), params=kit.params(10 * k)),)
                     for k in range(3))
    steps = [
        (2, 0, (2, 1), kit.params(4), 0, 0, None),
        (17, 0, (), kit.params(size), 0, 0, (0, branches)),
    ]
    p = kit.program([(native.ShapedArray((), np.int32), "new", 0)], 2, slots, steps)
    for index, expect in [(0, 1), (1, 11), (2, 21), (7, 21), (-3, 1)]:
        if index >= 0 or size > 1:  # a byte is a predicate: unsigned
            index = kit.array(index, np.dtype(f"i{size}"))
            assert run(p, index, 1)[0].item() == expect


def for_steps(kit, count_slot, counter_slot, params):
    return [(2, 0, (1, 2), kit.params(4), 0, 0, None),
            (18, 0, (), params, 0, 0,
             ((kit.kernel("accumulate_i32", (3, 2)),), count_slot, counter_slot))]


def for_program(kit, count_slot, params):
    slots = [("in", 0, 0), ("in", 1, 0), ("out", 0, 0), ("work", 0, 0)]
    return kit.program([(native.ShapedArray((), np.int32), "new", 0)], 2, slots,
                       for_steps(kit, count_slot, 3, params), work=64)


def test_for(kit):
    p = for_program(kit, 0, kit.params(0, 4, 4))
    assert run(p, 5, 100)[0].item() == 110
    assert run(p, 0, 100)[0].item() == 100 and run(p, -2, 100)[0].item() == 100
    p = for_program(kit, -1, kit.params(4, 8, 0, 10, -2))
    assert run(p, 0, 0)[0].item() == 10 + 8 + 6 + 4
    p = for_program(kit, None, kit.params(4))
    assert run(p, 0, 0)[0].item() == 6
    assert p.steps_info()[1]["bodies"][0][0]["operands"] == 2


def test_nested_control_flow(kit):
    slots = [("in", 0, 0), ("in", 1, 0), ("out", 0, 0), ("work", 0, 0), ("work", 0, 8)]
    inner = (18, 0, (), kit.params(3, 4), 0, 0, ((kit.kernel("accumulate_i32", (3, 2)),), -1, 4))
    outer = (18, 0, (), kit.params(4, 4), 0, 0, ((inner,), -1, 3))
    steps = [(2, 0, (1, 2), kit.params(4), 0, 0, None), outer]
    p = kit.program([(native.ShapedArray((), np.int32), "new", 0)], 2, slots, steps, work=64)
    assert run(p, 0, 0)[0].item() == 3 * (0 + 1 + 2 + 3)


def blocks_program(kit, blocks, turns, copied=5, grain=2):
    """out += 3, five times, of nine numbers by blocks of `grain` of them."""
    slots = [("in", 0, 0), ("out", 0, 0), ("work", 0, 0)]
    body = (kit.kernel("increment_i32", (1,), extent=9, grain=grain, params=kit.params(3)),
            (2, 0, (1, 2), kit.params(9 * 4), 9 * 4, grain * 4, None),
            (2, 0, (2, 1), kit.params(9 * 4), 9 * 4, grain * 4, None))
    steps = [(2, 0, (0, 1), kit.params(9 * 4), 0, 0, None),
             (18, 0, (), kit.params(copied), blocks, turns, (body, -1, -1))]
    out = native.ShapedArray((9,), np.int32)
    return kit.program([(out, "new", 0)], 1, slots, steps, work=64)


@pytest.mark.parametrize("turns", [1, 2, 5, 100])
def test_for_by_blocks(kit, turns):
    x = kit.array(np.arange(9), np.int32)
    assert np.array_equal(run(blocks_program(kit, 5, turns), x)[0], np.arange(9) + 15)


@pytest.mark.parametrize("blocks, turns, grain", [(4, 1, 2), (6, 1, 2), (5, 0, 2), (5, 1, 0)])
def test_blocks_that_do_not_fit(kit, blocks, turns, grain):
    with pytest.raises(ValueError, match="as many blocks"):
        blocks_program(kit, blocks, turns, grain=grain)


def test_errors_inside_loops(kit):
    def fail(address):
        raise ZeroDivisionError

    body = ((1, 0, (0,), b"", 0, 0, fail),)
    steps = [(16, 0, (), b"", 0, 0, ((kit.kernel("true_byte", (0,)),), body, 0))]
    p = kit.program([], 0, [("work", 0, 0)], steps, work=64)
    with pytest.raises(ZeroDivisionError):
        run(p)


def endless(kit):
    steps = [(16, 0, (), b"", 0, 0, ((kit.kernel("true_byte", (0,)),),
                                     (kit.kernel("nop", ()),), 0))]
    return kit.program([], 0, [("work", 0, 0)], steps, work=64, cost=1.0)


def test_ctrl_c_stops_an_endless_loop(kit):
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.time()
    with pytest.raises(KeyboardInterrupt):
        run(endless(kit))
    assert time.time() - start < 5


def test_other_threads_run_during_long_programs(kit):
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=tick)
    thread.start()
    threading.Timer(0.3, stop.set).start()
    with pytest.raises(KeyboardInterrupt):
        run(endless(kit))
    thread.join()
    assert len(ticks) >= 5


# ---- outputs: new, input, donate --------------------------------------------------------------


def passthrough(kit, kind, shape=(4,), dtype=np.float32):
    return kit.program([(native.ShapedArray(shape, dtype), kind, 0)], 1, [], [])


def test_input_outputs_return_the_same_array(kit):
    x = kit.array([1, 2, 3, 4])
    p = passthrough(kit, "input")
    assert run(p, x)[0] is x
    host = np.arange(4, dtype=np.float32)
    (y,) = run(p, host)
    host[:] = 9
    assert y.tolist() == [0, 1, 2, 3]
    (z,) = run(passthrough(kit, "input", (2, 2)), x)
    assert z.shape == (2, 2) and z.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert run(passthrough(kit, "input", ()), 2.5)[0].item() == 2.5


def test_donation_reuses_the_buffer(kit):
    p = kit.add((4,), "donate", 0)
    x, y = kit.array([1, 2, 3, 4]), kit.array([10, 10, 10, 10])
    address = x.unsafe_buffer_pointer()
    native.reset_counters()
    (z,) = run(p, x, y, donated=(0,))
    assert z.unsafe_buffer_pointer() == address and z.tolist() == [11, 12, 13, 14]
    assert x.is_deleted() and not y.is_deleted()
    assert native.counters()["buffer_reuses"] == 1 and native.counters()["copies"] == 0
    with pytest.raises(RuntimeError, match="deleted"):
        run(p, x, y)


def test_without_donation_the_input_is_copied(kit):
    p = kit.program([(kit.aval(4), "donate", 0)], 1, [("out", 0, 0)],
                    [kit.kernel("increment_i32", (0,), extent=0)])
    x = kit.array([1, 2, 3, 4])
    (z,) = run(p, x)
    assert not x.is_deleted() and z.tolist() == [1, 2, 3, 4]
    assert z.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()


@pytest.mark.parametrize("holder", ["view", "memory", "twin", "dlpack", "alias"])
def test_shared_buffers_are_copied_when_donated(kit, holder):
    import copy

    p = kit.add((4,), "donate", 0)
    x, y = kit.array([1, 2, 3, 4]), kit.array([1, 1, 1, 1])
    held = {"view": np.asarray, "memory": memoryview, "twin": copy.copy, "dlpack": np.from_dlpack,
            "alias": lambda a: native.array_view(a, native.ShapedArray((4,), np.int32))}[holder](x)
    (z,) = run(p, x, y, donated=(0,))
    assert x.is_deleted() and z.tolist() == [2, 3, 4, 5]
    if holder == "alias":
        held = np.asarray(held).view(np.float32)
    np.testing.assert_array_equal(np.asarray(held), [1, 2, 3, 4])


def test_the_same_array_twice(kit):
    p = kit.add((4,), "donate", 0)
    for donated in ((0,), (1,), (0, 1)):
        x = kit.array([1, 2, 3, 4])
        (z,) = run(p, x, x, donated=donated)
        assert x.is_deleted() and z.tolist() == [2, 4, 6, 8]


def test_donated_input_returned_as_is(kit):
    out = kit.aval(4)
    p = kit.program([(out, "donate", 0), (out, "input", 0)], 1, [("out", 0, 0)],
                    [kit.kernel("increment_i32", (0,), extent=4, params=kit.params(1))])
    x = kit.array([1, 2, 3, 4])
    changed, same = run(p, x, donated=(0,))
    assert x.is_deleted() and same.tolist() == [1, 2, 3, 4] and changed.tolist() != same.tolist()


def test_donating_memory_of_numpy_copies(kit):
    host = np.arange(4, dtype=np.float32)
    x = native.array_from_numpy(host, kit.aval(4), copy=False)
    (z,) = run(kit.add((4,), "donate", 0), x, kit.array([1, 1, 1, 1]), donated=(0,))
    assert z.tolist() == [1, 2, 3, 4] and host.tolist() == [0, 1, 2, 3]
    (z,) = run(kit.add((4,), "donate", 0), host, kit.array([1, 1, 1, 1]), donated=(0,))
    assert z.tolist() == [1, 2, 3, 4] and host.tolist() == [0, 1, 2, 3]


# ---- description ------------------------------------------------------------------------------


def test_attributes(kit):
    p = kit.add1(cost=5.0, name="plus")
    assert (p.name, p.num_inputs, p.cost_ns, p.workspace_bytes) == ("plus", 1, 5, 0)
    assert p.out_avals == (kit.aval(16),) and "plus" in repr(p)


@pytest.mark.parametrize("change", [
    {"outputs": ((1, "new", 0),)},
    {"outputs": [("x",)]},
    {"bad_kind": True},
    {"slots": (("in", 1, 0), ("out", 0, 0))},
    {"slots": (("nowhere", 0, 0), ("out", 0, 0))},
    {"slots": (("work", 0, 10), ("out", 0, 0))},
    {"steps": ((0, 0, (0, 1), b"", 1, 0, None),)},
    {"steps": ((0, 1, (0, 5), b"", 1, 0, None),)},
    {"steps": ((0, 1, (0, 1), b"123", 1, 0, None),)},
    {"steps": ((1, 0, (0, 1), b"", 1, 0, None),)},
    {"steps": ((2, 0, (0,), b"", 1, 0, None),)},
    {"steps": ((99, 0, (), b"", 1, 0, None),)},
    {"steps": ((16, 0, (), b"", 1, 0, ((), ())),)},
    {"steps": ((17, 0, (), b"", 1, 0, (0, ())),)},
    {"steps": (5,)},
    {"constants": (1,)},
    {"num_inputs": -1},
], ids=str)
def test_bad_descriptions_are_refused(kit, change):
    good = dict(outputs=((kit.aval(1), "new", 0),), num_inputs=1,
                slots=(("in", 0, 0), ("out", 0, 0)), workspace_bytes=0, steps=(), constants=(),
                cost_ns=1.0, name="bad")
    native.Program(**good)
    if change.pop("bad_kind", False):
        change = {"outputs": ((kit.aval(1), "old", 0),)}
    with pytest.raises((TypeError, ValueError)):
        native.Program(**{**good, **change})


def test_wrong_inputs_are_refused(kit):
    p = kit.add1()
    with pytest.raises(TypeError, match="takes 1 inputs"):
        run(p)
    with pytest.raises(TypeError, match="not an Array or a scalar"):
        run(p, "text")
    with pytest.raises(OverflowError):
        run(p, 1 << 40)
    with pytest.raises(IndexError):
        run(p, kit.array(np.zeros(16)), donated=(3,))


def test_programs_keep_what_they_need_and_no_more(kit):
    class Owner:
        def __call__(self, *addresses):
            pass

    owner = Owner()
    p = native.Program((), 0, (), 0, ((1, 0, (), b"", 0, 0, owner),), (), 1.0, "p", keep=Owner())
    owner.program = p  # a cycle
    refs = weakref.ref(owner), weakref.ref(p)
    del owner, p
    gc.collect()
    assert refs[0]() is None and refs[1]() is None


def test_failed_constructions_release_everything(kit):
    constant = kit.array(np.zeros(1000))
    address = constant.unsafe_buffer_pointer()
    with pytest.raises(ValueError):
        native.Program((), 0, (), 0, ((99, 0, (), b"", 0, 0, None),), (constant,), 1.0, "p")
    x, = run(kit.program([(kit.aval(1000), "donate", 0)], 1, [], []), constant, donated=(0,))
    assert x.unsafe_buffer_pointer() == address


FORK = """
import os, sys, threading
import numpy as np
sys.path.insert(0, {folder!r})
import conftest as kit
p = kit.add1((100000,), grain=1000, cost=1e6)
x = kit.array(np.arange(100000))
p.execute([x])
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        ok = np.asarray(p.execute([x])[0])[-1] == 100000
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
print("fine")
"""


def test_fork(kit):
    folder = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run([sys.executable, "-c", FORK.format(folder=folder)], timeout=60,
                          capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "fine", done.stderr
