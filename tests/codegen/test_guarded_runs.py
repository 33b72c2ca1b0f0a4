"""Runs of memory that all lanes read or none: what is not there reads as zeros."""

import re

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.backend.host import host_target

RNG = np.random.default_rng(0)
DTYPES = ["bool", "int8", "uint16", "float16", "bfloat16", "float32", "int32", "float64",
          "complex64"]  # fmt: skip
PROGRAMS = {
    "stack": lambda np, x: np.stack([x[0], x[2], x[1]]),
    "concatenate": lambda np, x: np.concatenate([x, x[:, ::-1], x[1:]], 0),
    "turned": lambda np, x: np.concatenate([x, x[::-1]], 0)[:, ::-1],
    "rows of padding": lambda np, x: np.pad(x, ((2, 3), (0, 0))),
    "rolled": lambda np, x: np.roll(x, 2, 0),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_like_numpy(name, dtype):
    program = PROGRAMS[name]
    with jitney.enable_x64(True):
        for shape in ((3, 5), (3, 100), (5, 1003), (40, 64)):
            x = RNG.integers(0, 2, shape).astype(jnp.dtype(dtype))
            got = jitney.jit(lambda x: program(jnp, x) * program(jnp, x))(x)
            want = program(np, x)
            np.testing.assert_array_equal(np.asarray(got), want * want)


@pytest.mark.skipif(not host_target().has_dear_masks, reason="masks are cheap, or there are none")
def test_no_masks_for_what_all_lanes_agree_on():
    def turn(_, y):
        return y + jnp.stack([y[1], -y[0]]) * 0.01

    y = np.ones((2, 400), np.float32)
    story = jitney.explain(lambda y: jitney.lax.fori_loop(0, 50, turn, y), y).as_text("llvm")
    loop = re.search(r"^full\.body.*?:$(.*?)^full\.done", story, re.M | re.S)[1]
    assert "masked.load" not in loop and "jitney.zeros" in loop
