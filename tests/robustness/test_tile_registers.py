"""Registers that hold tiles (AMX): their state survives signals, threads and forks, and the process
asks for them once."""

import subprocess
import sys

import pytest

from jitney.backend import host
from jitney.backend.host import host_target

PROGRAM = """
import faulthandler, os, signal, threading
faulthandler.enable()  # has a stack for signals
import numpy as np, jitney as jax, jitney.numpy as jnp
rng = np.random.default_rng(0)
a, b = (rng.integers(-128, 128, (300, 300), dtype=np.int8) for _ in range(2))
want = a.astype(np.int32) @ b.astype(np.int32)
product = jax.jit(lambda a, b: jax.lax.dot(a, b, preferred_element_type=jnp.int32))
ticks = []
signal.signal(signal.SIGALRM, lambda *_: ticks.append(0))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
wrong = []
def work():
    for _ in range(400):
        if not np.array_equal(np.asarray(product(a, b)), want):
            wrong.append(1)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
work()
for thread in threads: thread.join()
signal.setitimer(signal.ITIMER_REAL, 0)
child = os.fork()
if child == 0:
    work()
    os._exit(len(wrong) != 0)
_, status = os.waitpid(child, 0)
work()
faulthandler.disable(); faulthandler.enable()
print(len(wrong), status, len(ticks) > 0)
"""


@pytest.mark.skipif(not host_target().amx, reason="needs a processor with AMX")
def test_signals_threads_and_forks():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "0", "True"]


@pytest.mark.parametrize("granted", [True, False])
@pytest.mark.parametrize("asked", [None, "x86-64-v4", "x86-64-v3"])
def test_used_if_the_system_grants_them(monkeypatch, granted, asked):
    """Nothing asks for them where the instruction set is restricted."""
    requests = []
    flags = host._V3 | host._V4 | {"amx_tile", "amx_int8", "amx_bf16"}
    monkeypatch.setattr(host, "_cpu_flags", lambda: frozenset(flags))
    monkeypatch.setattr(host.platform, "machine", lambda: "x86_64")
    answer = lambda: requests.append(1) or granted
    monkeypatch.setattr(host._native, "request_tile_registers", answer)
    monkeypatch.delenv("JITNEY_TARGET", raising=False)
    if asked:
        monkeypatch.setenv("JITNEY_TARGET", asked)
    target = host._target_of_host()
    assert target.amx == (granted and asked is None)
    assert len(requests) == (asked is None)
    assert ("amx" in target.describe()) == target.amx
