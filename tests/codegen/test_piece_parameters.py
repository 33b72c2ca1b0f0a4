"""A kernel loads the parameters it is given: those of its sizes, and those of its pieces."""

import re

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.backend.host import host_target
from jitney.codegen.emit_kernel import emit_kernel
from jitney.fuse.buffers import KernelStep
from jitney.fuse.pieces import count_parameters, cut_pieces
from jitney.fuse.schedule import lanes_of

X = np.random.default_rng(0).normal(size=(600, 700)).astype(np.float32)
PROGRAMS = {
    "row": lambda x: jnp.exp(x) + 1,
    "stage": lambda x: x - x.max(1, keepdims=True),
    "tile": lambda x: x.T + 1,
    "sweep": lambda x: x.sum(0),
    "registers": lambda x: jitney.lax.fori_loop(0, 9, lambda i, v: v * 0.5 + i, x[0, 0]),
    "small": lambda x: x[0, :3] * 2,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_parameters_are_those_given(name):
    target = host_target()
    executable = jitney.jit(PROGRAMS[name]).lower(X).compile().runtime_executable()
    steps = [r.step for r in executable.kernels if isinstance(r.step, KernelStep)]
    assert steps
    for step in steps:
        kernel = step.slotted.kernel
        of_pieces, _, _ = cut_pieces(kernel, step.cost, lanes_of(kernel, step.used, target))
        assert len(of_pieces) == count_parameters(kernel)
        text = emit_kernel(step.slotted, step.used, target)
        loaded = [int(i) for i in re.findall(r"ptr %params, i64 (\d+)", text)]
        assert max(loaded, default=-1) < len(step.slotted.values) + len(of_pieces)
