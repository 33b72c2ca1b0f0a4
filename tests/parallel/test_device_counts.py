"""How many devices there are: set before anybody asks, and fixed from then on."""

import os
import subprocess
import sys

import pytest

import jitney

HERE = os.path.dirname(os.path.dirname(jitney.__file__))


def run(program, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=120, env={**clean, "PYTHONPATH": HERE, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PMAP = """
import sys, jitney
if len(sys.argv) == 1 and {update!r}:
    jitney.config.update("jax_num_cpu_devices", {update!r})
import jitney.numpy as jnp
n = jitney.local_device_count()
out = jitney.pmap(lambda x: x + jitney.lax.psum(x, "i"), "i")(jnp.arange(float(n)))
assert out.shape == (n,) and float(out.sum()) == sum(i + n * (n - 1) / 2 for i in range(n))
print(n, jitney.device_count(), len(out.devices()), jitney.devices()[-1])
"""


@pytest.mark.parametrize("update, environment, count", [
    (0, {}, 1), (8, {}, 8),
    (0, {"XLA_FLAGS": "--a=b --xla_force_host_platform_device_count=8"}, 8),
    (2, {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}, 2)])
def test_counts(update, environment, count):
    assert run(PMAP.format(update=update), **environment) == f"{count} {count} {count} cpu:" \
        f"{count - 1}"


REFUSED = """
import jitney
jitney.devices()
for wanted, kind in ((4, RuntimeError), (0, ValueError), ("many", ValueError)):
    try:
        jitney.config.update("jax_num_cpu_devices", wanted)
    except kind as error:
        print(type(error).__name__)
jitney.config.update("jax_num_cpu_devices", 1)
print(jitney.device_count())
"""


def test_too_late_or_impossible():
    assert run(REFUSED).split() == ["RuntimeError", "ValueError", "ValueError", "1"]
