"""Logical buffers, strided views of them, and the steps of a program that use them.

A `Buffer` is one contiguous array of the program; where it lives (input, output, workspace) is
decided by `plan_buffers.py`. A `View` is how a node is found in a buffer.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..ir.types import nbytes_of
from . import affine as af


@dataclass(eq=False)
class Buffer:
    """`kind`: in, const, out (index = which) or temp."""

    id: int
    code: str
    size: int
    kind: str
    index: int = 0

    @property
    def nbytes(self) -> int:
        return self.size * nbytes_of(self.code)


@dataclass(eq=False)
class View:
    """Element i of the node is element offset + Σ i*strides of the buffer."""

    buffer: Buffer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the view is all of its buffer in row-major order."""
        return self.offset == 0 and self.is_contiguous and math.prod(self.shape) == self.buffer.size

    @property
    def is_contiguous(self) -> bool:
        return self.strides == af.contiguous_strides(self.shape)

    def reshaped(self, shape) -> "View":
        """The same elements under another shape (contiguous views only)."""
        assert self.is_contiguous
        return View(self.buffer, tuple(shape), af.contiguous_strides(shape), self.offset)

    def part(self, starts, shape) -> "View":
        """A box of the view."""
        offset = self.offset + sum(s * st for s, st in zip(starts, self.strides, strict=True))
        return View(self.buffer, tuple(shape), self.strides, offset)


def whole(buffer: Buffer, shape) -> View:
    """The view of all of a buffer."""
    return View(buffer, tuple(shape), af.contiguous_strides(shape))


class MadeKernel(NamedTuple):
    """A kernel after all passes: with its slots, its live expressions, nanoseconds (estimate)."""

    slotted: Any
    used: list
    cost: float


class Late:
    """What is made when it is first asked for."""

    def __init__(self, make: Callable[[], MadeKernel]):
        self._make: Callable[[], MadeKernel] | None = make
        self._found: MadeKernel | None = None

    def __call__(self) -> MadeKernel:
        if self._make is not None:
            self._found, self._make = self._make(), None
        assert self._found is not None
        return self._found


@dataclass
class KernelStep:
    """Run a fused kernel over its rows. `buffers[i]` is the kernel's buffer i. `alone`: by one
    thread (localize.py). `made` gives the kernel as the passes leave it; most kernels of a
    partition's first rounds are never looked at (of users' programs three in five)."""

    made: Callable[[], MadeKernel]
    buffers: list[Buffer]
    writes: set[int]
    name: str = ""
    alone: bool = False

    @property
    def slotted(self) -> Any:
        return self.made().slotted

    @property
    def used(self) -> list:
        return self.made().used

    @property
    def cost(self) -> float:
        return self.made().cost


@dataclass
class NativeStep:
    """Run machine code with the kernel ABI: a routine by name, or a generated contraction. Pieces
    of a negative grain may come in one call (csrc/pool.h)."""

    name: str
    refs: list[tuple[Buffer, int]]
    params: tuple[int, ...]
    extent: int
    grain: int
    writes: set[int]
    cost: float
    kernel: Any = None


@dataclass
class PythonStep:
    """Call Python with the addresses of buffers (FFT, LAPACK and the like)."""

    name: str
    function: Any
    refs: list[tuple[Buffer, int]]
    writes: set[int]
    cost: float = 5000.0


@dataclass
class CopyStep:
    """Copy bytes; dropped when the planner can let both be one place in memory."""

    source: tuple[Buffer, int]
    target: tuple[Buffer, int]
    nbytes: int
    cost: float = 0.0


class Blocks(NamedTuple):
    """`number` blocks of `size` of the `rows` that a loop's steps have in common; each does up to
    `turns` of the loop before the next one (block_turns.py). `private`: numbers of which
    each thread has its own."""

    rows: int
    size: int
    number: int
    turns: int
    private: tuple = ()


@dataclass
class LoopStep:
    """`test` steps leave a byte in `predicate`; with count >= 0 the loop is counted instead, from
    `first` on by steps of `by`."""

    test: list
    body: list
    predicate: object
    counter: object
    count: int
    reads: set[int]
    writes: set[int]
    cost: float
    blocks: Blocks | None = None
    first: int = 0
    by: int = 1


@dataclass
class BranchStep:
    """Runs branches[clamp(index)]; the index is a 32-bit integer or a byte."""

    index: tuple[Buffer, int]
    branches: list
    reads: set[int]
    writes: set[int]
    cost: float


@dataclass
class Item:
    """Steps that run in this order and together define some buffers. `merged`: the numbers of the
    nodes that they compute together, if these are several."""

    steps: list
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    merged: tuple[int, ...] = ()

    def add(self, step) -> None:
        self.steps.append(step)
        if isinstance(step, KernelStep):
            self.reads |= {b.id for b in step.buffers} - step.writes
            self.writes |= step.writes
        elif isinstance(step, CopyStep):
            self.reads.add(step.source[0].id)
            self.writes.add(step.target[0].id)
        elif hasattr(step, "reads"):
            self.reads |= step.reads
            self.writes |= step.writes
        else:
            self.reads |= {b.id for b, _ in step.refs} - step.writes
            self.writes |= step.writes


def step_buffers(step):
    """(buffers read, buffers written) of a step."""
    if isinstance(step, CopyStep):
        return {step.source[0].id}, {step.target[0].id}
    if hasattr(step, "reads"):
        return set(step.reads), set(step.writes)
    if isinstance(step, KernelStep):
        everything = {b.id for b in step.buffers}
    else:
        everything = {b.id for b, _ in step.refs}
    return everything - step.writes, set(step.writes)


def touched(steps) -> tuple[set[int], set[int]]:
    """(buffers read, buffers written) of steps."""
    reads: set[int] = set()
    writes: set[int] = set()
    for step in steps:
        r, w = step_buffers(step)
        reads |= r
        writes |= w
    return reads, writes


def choose_branch(index: tuple[Buffer, int], branches: list) -> BranchStep:
    """The step that runs one of some lists of steps."""
    reads, writes = touched([s for steps in branches for s in steps])
    cost = max([sum(s.cost for s in steps) for steps in branches], default=0.0)
    return BranchStep(index, branches, (reads | {index[0].id}) - writes, writes, cost)
