"""Devices are threads: each position has its own, and none is left waiting when something fails."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.placement import members
from jitney.sharding import PartitionSpec as P

SCALAR = jitney.ShapeDtypeStruct((), jnp.float32)


def thread_numbers(count):
    """The ids of the threads that run a program of `count` positions."""
    found = []
    together = threading.Barrier(count)

    def note(x):
        together.wait(timeout=60)           # nobody goes on before all are here
        found.append(threading.get_ident())
        return x

    def f(x):
        return jitney.pure_callback(note, SCALAR, x)

    out = jitney.pmap(f)(np.arange(float(count), dtype="f4"))
    np.testing.assert_array_equal(out, np.arange(count))
    return found


@pytest.mark.parametrize("count", [2, 4, 8])
def test_positions_run_at_the_same_time_on_threads_of_their_own(count):
    found = thread_numbers(count)
    assert len(set(found)) == len(found) == count


def test_one_position_runs_on_the_calling_thread():
    assert thread_numbers(1) == [threading.get_ident()]


def test_threads_are_used_again():
    first = {*thread_numbers(8), *thread_numbers(8)}
    assert len(first) < 16


def test_an_error_in_one_position_releases_the_others(line):
    def fail_in_third(x):
        if x == 2:
            raise ValueError("third position")
        return np.float32(x)

    def f(x):
        y = jitney.pure_callback(fail_in_third, SCALAR, x[0])
        return lax.psum(y, "i")[None]

    run = jitney.shard_map(f, mesh=line, in_specs=P("i"), out_specs=P("i"), check_vma=False)
    for _ in range(3):
        with pytest.raises(jitney.errors.JaxRuntimeError, match="third position"):
            run(jnp.arange(4.0))
    again = jitney.pmap(lambda x: lax.psum(x, "i"), "i")(jnp.arange(4.0))
    np.testing.assert_array_equal(again, [6, 6, 6, 6])


def test_an_error_stops_positions_that_only_compute(line):
    def fail_in_second(x):
        if x == 1:
            raise ValueError("second position")
        return np.float32(x)

    def f(x):
        y = jitney.pure_callback(fail_in_second, SCALAR, x[0])
        return lax.while_loop(lambda c: c >= 0, lambda c: jnp.abs(jnp.sin(c)) + y * 0, y)[None]

    run = jitney.shard_map(f, mesh=line, in_specs=P("i"), out_specs=P("i"), check_vma=False)
    with pytest.raises(jitney.errors.JaxRuntimeError, match="second position"):
        run(jnp.arange(4.0))


def test_collectives_that_only_some_positions_run_are_an_error(line):
    def f(x):
        return lax.cond(x[0] > 1, lambda u: lax.psum(u, "i"), lambda u: u, x)

    run = jitney.shard_map(f, mesh=line, in_specs=P("i"), out_specs=P("i"), check_vma=False)
    with pytest.raises(jitney.errors.JaxRuntimeError, match="do not agree.*same collectives"):
        run(jnp.arange(4.0))


def test_different_collectives_at_the_same_place_are_an_error(line):
    def f(x):
        return lax.cond(x[0] > 1, lambda u: lax.psum(u, "i"), lambda u: lax.pmax(u, "i"), x)

    run = jitney.shard_map(f, mesh=line, in_specs=P("i"), out_specs=P("i"), check_vma=False)
    with pytest.raises(jitney.errors.JaxRuntimeError, match="do not agree"):
        run(jnp.arange(4.0))


def test_results_do_not_depend_on_who_comes_first(line):
    x = np.random.default_rng(0).standard_normal((4, 30000)).astype("f4") * 1e4
    run = jitney.pmap(lambda v: lax.psum(v, "i"), "i")
    want = np.asarray(run(x)).tobytes()
    total = x[0].copy()
    for row in x[1:]:
        total += row
    assert want == np.stack([total] * 4).tobytes()
    for _ in range(10):
        assert np.asarray(run(x)).tobytes() == want


def test_programs_of_several_python_threads():
    run = jitney.pmap(lambda v: lax.psum(v, "i") + lax.axis_index("i"), "i")
    failures = []

    def work(k):
        for _ in range(10):
            got = np.asarray(run(np.full(4, k, "f4")))
            if not np.array_equal(got, 4 * k + np.arange(4)):
                failures.append((k, got))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_members_meet_in_subgroups():
    def body(number):
        member = members.current_member()
        assert member.position(("a", "b")) == number
        along = member.meet(("b",), None, ("sum",), number, lambda v: [sum(v)] * len(v))
        return member.meet(("a",), None, ("list",), along, lambda v: [v] * len(v))

    out = members.run(body, {"a": 2, "b": 3})
    assert out == [[3, 12]] * 6
    with pytest.raises(NameError):
        members.current_member()


FORK = """
import os, jitney, jitney.numpy as jnp
from jitney import lax
run = jitney.pmap(lambda v: lax.psum(v, "i"), "i")
assert float(run(jnp.arange(4.0))[0]) == 6
child = os.fork()
if not child:
    os._exit(0 if float(run(jnp.arange(4.0))[0]) == 6 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert float(run(jnp.arange(4.0))[0]) == 6
"""

INTERRUPT = """
import jitney, jitney.numpy as jnp
from jitney import lax
def forever(v):
    return lax.while_loop(lambda c: c >= 0, lambda c: jnp.abs(jnp.sin(c)), v)
run = jitney.pmap(forever, "i")
print("ready", flush=True)
try:
    run(jnp.arange(4.0))
except KeyboardInterrupt:
    again = jitney.pmap(lambda v: lax.psum(v, "i"), "i")(jnp.arange(4.0))
    print("stopped", float(again[0]), flush=True)
"""


def start(program):
    here = os.path.dirname(os.path.dirname(jitney.__file__))
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "4", "PYTHONPATH": here}
    return subprocess.Popen([sys.executable, "-c", program], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_after_a_run():
    process = start(FORK)
    output = process.communicate(timeout=120)[0]
    assert process.returncode == 0, output


def test_interrupt_stops_all_positions():
    process = start(INTERRUPT)
    assert process.stdout.readline() == "ready\n"
    timer = threading.Timer(2.0, process.send_signal, [signal.SIGINT])
    timer.start()
    try:
        output = process.communicate(timeout=120)[0]
    finally:
        process.kill()
    assert output == "stopped 6.0\n"
