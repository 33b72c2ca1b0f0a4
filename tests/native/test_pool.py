"""The thread pool: every index once, fixed pieces, nesting, several callers, fork."""

import os
import subprocess
import sys
import threading

import pytest

from jitney import _native as native


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    native.set_num_threads(request.param)
    yield request.param
    native.set_num_threads(0)


def check(extent, grain, work=0, nested=False, joined=False):
    counts, wrong_pieces, total = native._pool_test(extent, grain, work, nested, joined)
    assert counts == b"\x01" * extent
    assert wrong_pieces == 0 and total == extent


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("extent", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("grain", [-1, 0, 1, 3, 1000, 2**62])
def test_every_index_once(threads, extent, grain, nested, joined):
    check(extent, grain, 0, nested, joined)


def test_joined_pieces_while_others_take_them(threads):
    for i in range(1000):
        check(1 + i % 300, 1 + i % 3, i % 11 * 50, joined=True)


def test_many_regions(threads):
    before = native.pool_stats()["regions"]
    for i in range(3000):
        check(1 + i % 40, 1 + i % 5, i % 7 * 20)
    assert (native.pool_stats()["regions"] > before) == (threads > 1)


def test_regions_after_workers_have_parked(threads):
    for _ in range(5):
        check(64, 1, 1000)
        threading.Event().wait(0.003)


def test_several_callers(threads):
    errors = []

    def run():
        try:
            for i in range(300):
                check(50 + i % 7, 3, 100, nested=bool(i % 2))
        except BaseException as error:
            errors.append(error)

    callers = [threading.Thread(target=run) for _ in range(4)]
    for c in callers:
        c.start()
    for c in callers:
        c.join()
    assert not errors


def test_changing_the_number_of_threads_while_in_use():
    stop = threading.Event()

    def run():
        while not stop.is_set():
            check(100, 3, 200)

    caller = threading.Thread(target=run)
    caller.start()
    for n in [2, 4, 1, 3] * 5:
        native.set_num_threads(n)
        assert native.num_threads() == n
    stop.set()
    caller.join()
    native.set_num_threads(0)
    with pytest.raises(ValueError):
        native.set_num_threads(-1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork():
    script = """
import os, threading
from jitney import _native as n
n.set_num_threads(3)
ok = b"\\x01" * 500
stop = threading.Event()
def run():
    while not stop.is_set():
        n._pool_test(500, 1, 50, False)
t = threading.Thread(target=run); t.start()
for _ in range(20):  # forks fall in the middle of the other thread's regions
    pid = os.fork()
    if pid == 0:
        for _ in range(20):
            if n._pool_test(500, 1, 50, False)[0] != ok: os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert n._pool_test(500, 1, 50, False)[0] == ok
stop.set(); t.join()
"""
    env = dict(os.environ, PYTHONWARNINGS="ignore")
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, env=env)


@pytest.mark.parametrize("text, limit", [("1", 1), ("100000", None), ("zero", None), ("-3", None)])
def test_environment_bounds_the_pool(text, limit):
    script = "from jitney import _native as n; print(n.num_threads())"
    env = {k: v for k, v in os.environ.items() if k != "JITNEY_NUM_THREADS"}
    free = int(subprocess.check_output([sys.executable, "-c", script], env=env))
    env["JITNEY_NUM_THREADS"] = text
    got = int(subprocess.check_output([sys.executable, "-c", script], env=env))
    assert got == (limit or free) and 1 <= free <= os.cpu_count()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs CPU affinity")
def test_affinity_bounds_the_pool():
    script = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from jitney import _native as n; assert n.num_threads() == 1"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


PLACES = """
import os, sys, time
from jitney import _native as native

def helpers():
    names = {int(t): open(f"/proc/self/task/{t}/comm").read().strip()
             for t in os.listdir("/proc/self/task")}
    return {t: os.sched_getaffinity(t) for t, name in names.items() if name == "jitney"}

def places_after_regions(good):
    for _ in range(200):  # a helper that is late, because others use its CPU, may go anywhere
        for _ in range(50):
            native._pool_test(64, 1, 500, False)
        if good(helpers()):
            break
    return helpers()

native.set_num_threads(2)
native._pool_test(64, 1, 500, False)  # helpers may run where this thread may now
everywhere = os.sched_getaffinity(0)
for cpu in list(everywhere)[:2]:
    os.sched_setaffinity(0, {cpu})
    kept_off = lambda found: found and all(cpu not in mask for mask in found.values())
    assert kept_off(places_after_regions(kept_off)), (cpu, helpers())
    assert set().union(*helpers().values()) == everywhere - {cpu}
for task in helpers():
    os.sched_setaffinity(task, {cpu})  # somebody else's wish is left alone
other = (everywhere - {cpu}).pop()
os.sched_setaffinity(0, {other})
assert set(map(frozenset, places_after_regions(lambda found: False).values())) == {frozenset({cpu})}
os.sched_setaffinity(0, {cpu})
assert set(map(frozenset, places_after_regions(lambda found: False).values())) == {frozenset({cpu})}
"""


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="one CPU"
)
def test_helpers_are_kept_off_the_cpu_of_their_caller():
    environment = {k: v for k, v in os.environ.items() if k != "JITNEY_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", PLACES], env=environment,
                          capture_output=True, text=True, timeout=100)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif("JITNEY_SANITIZED" in os.environ, reason="helpers sleep before a slow call")
def test_copies_are_shared_where_helpers_are_awake():
    """Of a size that one thread copies before another has woken: the first alone, then by all."""
    import numpy as np

    import jitney as jax

    native.set_num_threads(2)
    try:
        x = jax.numpy.asarray(np.arange(300_000, dtype=np.float32))
        put = jax.jit(lambda x: x.at[7].set(-1))
        put(x)
        for _ in range(100):
            before = native.pool_stats()["regions"]
            for _ in range(10):
                got = put(x)
            if native.pool_stats()["regions"] > before + 5:
                break
        assert native.pool_stats()["regions"] > before + 5
        threading.Event().wait(0.01)  # asleep
        before = native.pool_stats()["regions"]
        got = put(x)
        assert native.pool_stats()["regions"] == before
        expected = np.arange(300_000, dtype=np.float32)
        expected[7] = -1
        np.testing.assert_array_equal(got, expected)
    finally:
        native.set_num_threads(0)


def test_where_copies_leave_the_caches_is_a_number_of_bytes():
    with pytest.raises(ValueError, match="negative"):
        native.set_far_bytes(-1)
    with pytest.raises(TypeError):
        native.set_far_bytes("much")
