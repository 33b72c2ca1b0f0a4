"""Denormal numbers: kept, or zero with JITNEY_FLUSH_DENORMALS=1, by every thread alike."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np, jitney as jax, jitney.numpy as jnp
jax._native.set_num_threads(2)
x = np.full(1_000_000, 3e-39, np.float32)
x[0] = 1.0
kept = np.asarray(jax.jit(lambda x: x * 0.5)(x))
seen = []
def callback(x):
    seen.append(np.float32(1e-39) * np.float32(0.5) > 0)
    return x
shape = jax.ShapeDtypeStruct((), jnp.float32)
jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(callback, shape, x) + 1)(jnp.float32(1)))
turns = jax.jit(lambda x: jax.lax.fori_loop(0, 200, lambda i, v: v * 0.5, x))(jnp.float32(1e-8))
print(int((kept[1:] > 0).sum()), seen[0], float(turns) > 0, np.float32(1e-39) * np.float32(.5) > 0)
"""


def answers(setting: str | None) -> list[str]:
    environment = {k: v for k, v in os.environ.items() if k != "JITNEY_FLUSH_DENORMALS"}
    if setting is not None:
        environment["JITNEY_FLUSH_DENORMALS"] = setting
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("setting", [None, "", "0"])
def test_kept(setting):
    assert answers(setting)[0] == "999999"


def test_flushed():
    """By kernels of both threads; not in callbacks, nor after the call."""
    assert answers("1") == ["0", "True", "False", "True"]
