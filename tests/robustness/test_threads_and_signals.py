"""Threads, interruptions, and errors in the middle of things."""
# ruff: noqa: B023  (functions made in a loop are called in it)

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import _native, lax

SOURCE = Path(jitney.__file__).resolve().parents[1]  # installed, or the working tree


def run_threads(work, count=6):
    """work(i) in `count` threads that start together."""
    errors, ready = [], threading.Barrier(count)

    def body(i):
        ready.wait()
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


@pytest.fixture
def quick_switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_process(code, timeout=60, **env):
    merged = {**os.environ, "PYTHONPATH": str(SOURCE), **env}
    merged.pop("JITNEY_BACKEND", None)
    return subprocess.run([sys.executable, "-c", code], env=merged, text=True, timeout=timeout,
                          capture_output=True, check=False)


@pytest.mark.parametrize("attempt", range(5))
def test_first_calls_at_once(quick_switching, attempt):
    f = jitney.jit(lambda x, y: jnp.sort(jnp.sin(x) * y + attempt).cumsum() - x.sum())
    x = np.arange(50, dtype=np.float32)
    want = np.cumsum(np.sort(np.sin(x) * 2 + attempt)) - x.sum()

    def work(i):
        for k in range(10):
            assert np.allclose(f(x, 2.0), want, rtol=1e-4, atol=1e-2)
            assert f(x[: 10 + k % 3], i).shape == (10 + k % 3,)

    run_threads(work)


def test_many_functions_at_once(quick_switching):
    x = jnp.arange(12.0).reshape(3, 4)

    def work(i):
        for k in range(12):
            f = jitney.jit(lambda x: (x * k + i).sum(k % 2) @ jnp.ones((3, 4)[1 - k % 2]))
            want = (np.asarray(x) * k + i).sum()
            assert np.allclose(f(x), want)
            assert float((x + k)[0, 0]) == k
            assert float(jnp.linspace(0, 1, 5 + k)[-1]) == 1

    run_threads(work)


def test_traces_of_threads_do_not_mix(quick_switching):
    def work(i):
        for k in range(20):
            def f(x):
                y = x
                for _ in range(i + 1):
                    y = y * 1.5 + k
                return y
            jaxpr = jitney.make_jaxpr(f)(1.0)
            assert len(jaxpr.eqns) == 2 * (i + 1)
            assert _native.current_trace() is None

    run_threads(work)


def test_large_parallel_calls_from_many_threads():
    f = jitney.jit(lambda x: jnp.exp(-x * x).sum())
    x = jnp.linspace(-3, 3, 400_001)
    want = np.asarray(f(x)).tobytes()

    def work(i):
        for _ in range(20):
            assert np.asarray(f(x)).tobytes() == want

    run_threads(work)


def test_config_of_one_thread_is_not_that_of_others(quick_switching):
    f = jitney.jit(lambda x: x * 2)
    x = np.arange(3.0)

    def work(i):
        for _ in range(50):
            if i % 2:
                with jitney.enable_x64(True):
                    assert f(x).dtype == np.float64
            else:
                assert f(x).dtype == np.float32

    run_threads(work)


def test_a_donated_array_is_taken_once(quick_switching):
    """Of several threads that donate one array, at most one may get its memory."""
    f = jitney.jit(lambda x: x + 1, donate_argnums=0)
    f(jnp.zeros(20_000))
    for _ in range(30):
        x, results = jnp.zeros(20_000), []

        def work(i):
            try:
                results.append(f(x))
            except RuntimeError as error:
                assert "deleted" in str(error)

        run_threads(work, 4)
        assert results and x.is_deleted()
        for r in results:
            assert float(r.min()) == float(r.max()) == 1


# --- errors -------------------------------------------------------------------------------------


class Unlucky(Exception):
    pass


def test_errors_while_tracing_leave_no_trace():
    @jitney.jit
    def outer(x):
        @jitney.jit
        def inner(y):
            raise Unlucky
        return inner(x * 2) + 1

    for _ in range(3):
        with pytest.raises(Unlucky):
            outer(1.0)
        with pytest.raises(Unlucky):
            jitney.make_jaxpr(outer)(1.0)
        assert _native.current_trace() is None
    assert float(jnp.ones(2).sum()) == 2


def test_an_error_only_the_first_time():
    tries = []

    @jitney.jit
    def f(x):
        tries.append(1)
        if len(tries) < 3:
            raise Unlucky
        return x + 1

    for _ in range(2):
        with pytest.raises(Unlucky):
            f(1.0)
    assert float(f(1.0)) == 2 and float(f(3.0)) == 4 and len(tries) == 3


def test_errors_in_a_callback_come_out_and_leave_things_in_order():
    if not hasattr(jitney, "pure_callback"):
        pytest.skip("no callbacks in this build")

    def host(x):
        if x[0] > 1:
            raise Unlucky("host")
        return x

    f = jitney.jit(lambda x: jitney.pure_callback(
        host, jitney.ShapeDtypeStruct((3,), np.float32), x) * 2)
    assert np.array_equal(f(np.ones(3, np.float32)), [2, 2, 2])
    for _ in range(3):
        with pytest.raises(Exception, match="host"):
            f(np.full(3, 2, np.float32))
    assert np.array_equal(f(np.ones(3, np.float32)), [2, 2, 2])
    assert _native.current_trace() is None


def test_tracers_that_leak_are_explained():
    leaked = []

    @jitney.jit
    def f(x):
        leaked.append(x * 2)
        return x

    f(jnp.ones(3))
    for use in (lambda: leaked[0] + 1, lambda: jnp.sin(leaked[0]), lambda: leaked[0].sum(),
                lambda: jitney.jit(lambda y: y + leaked[0])(jnp.ones(3)),
                lambda: f(leaked[0])):
        with pytest.raises(jitney.errors.UnexpectedTracerError):
            use()
    assert _native.current_trace() is None and float(f(jnp.ones(3))[0]) == 1


def test_concrete_values_are_asked_for_in_vain():
    for fun, error in [
        (lambda x: 1 if x > 0 else 2, jitney.errors.TracerBoolConversionError),
        (lambda x: float(x), jitney.errors.ConcretizationTypeError),
        (lambda x: np.asarray(x), jitney.errors.TracerArrayConversionError),
        (lambda x: [1, 2, 3][x], jitney.errors.TracerIntegerConversionError),
    ]:
        with pytest.raises(error):
            jitney.jit(fun)(1)
        assert _native.current_trace() is None


# --- interruption -------------------------------------------------------------------------------

INTERRUPT = """
import os, signal, sys, threading, time
import jitney, jitney.numpy as jnp
from jitney import lax
{setup}
threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.time()
try:
    while time.time() - begin < 30:
        {call}
    print("never")
except KeyboardInterrupt:
    print("interrupted", time.time() - begin < 5)
assert jitney._native.current_trace() is None
assert float(jitney.jit(lambda x: jnp.sin(x) + 1)(0.0)) == 1
print("fine")
"""
CASES = {
    "short calls": ("f = jitney.jit(lambda x: x + 1); x = jnp.ones(10)", "f(x)"),
    "long calls": ("f = jitney.jit(lambda x: jnp.sort(x) + jnp.exp(x))\nx = jnp.ones(3_000_000)",
                   "f(x)"),
    "tracing and compiling": (
        "n = iter(range(10**9))",
        "k = next(n); jitney.jit(lambda x: jnp.exp(x[: k % 7 + 1] * k).sum() * x)(jnp.ones(9))"),
    "eager": ("x = jnp.ones(10)", "x = (x + 1) * 2 - x"),
}
if hasattr(lax, "fori_loop"):
    CASES["one long loop"] = (
        "f = jitney.jit(lambda x: lax.fori_loop(0, 2_000_000_000, lambda i, c: c * 0.5 + i, x))",
        "f(1.0)")
    CASES["a long loop by blocks of rows"] = (
        "step = lambda i, u: u + (jnp.roll(u, 1) - u) / 8\n"
        "f = jitney.jit(jitney.vmap(lambda u: lax.fori_loop(0, 2_000_000_000, step, u)))\n"
        "x = jnp.ones((256, 512))",
        "f(x)")


@pytest.mark.parametrize("name", CASES)
def test_ctrl_c(name):
    setup, call = CASES[name]
    done = in_process(INTERRUPT.format(setup=setup, call=call, delay=0.9))
    assert done.stdout.split("\n")[:2] == ["interrupted True", "fine"], done.stderr


def test_signal_handlers_run_in_the_middle_of_everything():
    """Also inside tracing and compiling; there they may not use the trace, but must not harm it."""
    hits = []

    def handler(*_):
        hits.append(_native.current_trace() is not None)
        if not hits[-1]:
            assert float((jnp.ones(3) * 2).sum()) == 6

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        end, k = time.time() + 0.7, 0
        while time.time() < end:
            k += 1
            out = jitney.jit(lambda x: jnp.cos(x) * k + x[::-1])(jnp.zeros(4))
            assert float(out[0]) == k
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert hits


def test_threads_still_computing_at_exit():
    code = """
import threading, time, jitney, jitney.numpy as jnp
f = jitney.jit(lambda x: jnp.sort(x).sum())
def forever():
    while True:
        f(jnp.ones(300_000))
for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.5)
print("end")
"""
    for _ in range(2):
        done = in_process(code)
        assert done.returncode == 0 and done.stdout == "end\n", done.stderr


def test_fork_of_a_process_with_a_pool():
    code = """
import os, json, numpy as np, jitney, jitney.numpy as jnp
f = jitney.jit(lambda x: jnp.exp(x).sum())
x = jnp.ones(1_000_000)
want = float(f(x))
codes = []
for _ in range(5):
    child = os.fork()
    if child == 0:
        os._exit(0 if float(f(x)) == want and float(jnp.tan(x)[0]) > 1 else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps([codes, float(f(x)) == want]))
"""
    done = in_process(code)
    assert json.loads(done.stdout) == [[0] * 5, True], done.stderr
