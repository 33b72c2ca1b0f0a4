"""A program run by NumPy references, in the shape the dispatcher expects.

`JITNEY_BACKEND=reference` uses it instead of the compiler: slow, and by definition right.
The native Program has one Python step that reads and writes the arrays' memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.base import dtypes
from jitney.core import interpret
from jitney.core.avals import ShapedArray
from jitney.core.jaxpr import ClosedJaxpr


def storage_of(aval: ShapedArray) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and NumPy dtype by which an array of this aval lies in memory."""
    if dtypes.is_extended(aval.dtype):
        return aval.shape + tuple(aval.dtype.physical_shape), aval.dtype.physical_dtype
    return aval.shape, aval.dtype


def _view(address: int, aval: ShapedArray) -> np.ndarray:
    shape, dtype = storage_of(aval)
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if nbytes == 0:
        return np.empty(shape, dtype)
    buffer: Any = (ctypes.c_char * nbytes).from_address(address)
    return np.frombuffer(buffer, np.uint8).view(dtype).reshape(shape)


class ReferenceExecutable:
    """What `pipeline.compile_jaxpr` gives, by references."""

    def __init__(self, closed: ClosedJaxpr, name: str):
        self.closed, self.name, self.kernels = closed, name, ()
        in_avals, out_avals = closed.in_avals, closed.out_avals
        count = len(in_avals)

        def run(*addresses: int) -> None:
            args = [_view(a, t) for a, t in zip(addresses, in_avals)]
            outs = interpret.eval_reference(closed.jaxpr, closed.consts, *args)
            for address, aval, out in zip(addresses[count:], out_avals, outs):
                if aval.size:
                    _view(address, aval)[...] = out

        slots = [("in", i, 0) for i in range(count)] + [
            ("out", i, 0) for i in range(len(out_avals))]
        step = (1, 0, tuple(range(len(slots))), b"", 0, 0, run)
        self.program = _native.Program(
            tuple((aval, "new", -1) for aval in out_avals), count, tuple(slots), 0, (step,), (), 0,
            name)

    def as_text(self, stage: str = "jaxpr") -> str:
        return f"reference interpreter, nothing is fused\n{self.closed}"

    def cost_analysis(self) -> dict[str, float]:
        return {"flops": float(sum(_work(eqn) for eqn in self.closed.eqns))}

    def memory_analysis(self) -> dict[str, int]:
        return {"temp_size_in_bytes": 0}


def _work(eqn: Any) -> int:
    return max((v.aval.size for v in (*eqn.invars, *eqn.outvars)), default=0)


def compile_reference(closed: ClosedJaxpr, *, name: str = "main",
                      donated: Sequence[bool] = ()) -> ReferenceExecutable:
    return ReferenceExecutable(closed, name)
