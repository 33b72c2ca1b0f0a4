"""What a contraction is, and what planning one gives.

In: `ContractionShape`, one batched matrix product with any strides. Out: `ContractionPlan`, steps
for the program: each a kernel (whose text and key know no size) with the sizes as parameters.
Invariant: two shapes of one schedule class give kernels with equal keys.

    c[b, i, j] = sum over l of a[b, i, l] * b[b, l, j]          (c is always overwritten)

Kernel operands: ptrs = [a, b, c, workspace, operands of the epilogue...]; each a, b, c pointer is
the address of the element with all indices zero, strides count elements and may be zero.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ContractionShape:
    """Sizes, element codes and strides. Strides: a=(batch,m,k), b=(batch,k,n), c=(batch,m,n).

    A batch of two axes with strides of their own: `batch` counts all items, `inner_batch` those of
    the inner axis, and `inner_strides` are its strides of a, b and c.

    With `segments`, k is so many runs of equal length: those of a are `a_segment` apart, those of b
    follow each other (the lines of an image under the window of a convolution). Such a shape must
    be `is_segmentable`.
    """

    batch: int
    m: int
    n: int
    k: int
    dtype_in: str
    dtype_acc: str
    dtype_out: str
    a: tuple[int, int, int]
    b: tuple[int, int, int]
    c: tuple[int, int, int]
    inner_batch: int = 1
    inner_strides: tuple[int, int, int] = (0, 0, 0)
    segments: int = 1
    a_segment: int = 0

    @property
    def is_segmentable(self) -> bool:
        """Whether runs along k can be read in place: unit strides, one element type."""
        same = self.dtype_in == self.dtype_acc == self.dtype_out
        return same and self.dtype_in in ("f32", "f64") and self.a[2] == self.b[2] == self.c[2] == 1

    @property
    def flops(self) -> int:
        return 2 * self.batch * self.m * self.n * self.k

    def transposed(self) -> "ContractionShape":
        """The same product seen as c^T = b^T a^T (not for segments)."""
        (ab, am, ak), (bb, bk, bn), (cb, cm, cn) = self.a, self.b, self.c
        ia, ib, ic = self.inner_strides
        return ContractionShape(
            self.batch, self.n, self.m, self.k, self.dtype_in, self.dtype_acc, self.dtype_out,
            (bb, bn, bk), (ab, ak, am), (cb, cn, cm), self.inner_batch, (ib, ia, ic),
        )  # fmt: skip


@dataclass(frozen=True)
class Epilogue:
    """A pointwise function of the finished sums, applied where they are stored.

    `emit(point, value)` gets a `StorePoint` and the accumulators of one row's vectors (a `Value`
    with one name for each vector), and returns the values to store: accumulators, or the result's
    type. `key` is the canonical text of what it does (its code must depend on nothing else);
    `operands` counts its own pointers; `params` are its integers; `flops` is about how many
    operations of a product an element's share of it takes as long as.
    """

    key: str
    emit: Callable = field(compare=False)
    operands: int = 0
    params: tuple[int, ...] = ()
    flops: int = 0


@dataclass(frozen=True)
class ContractionKernel:
    """One generated function. `schedule` is a frozen description without sizes."""

    schedule: object
    target: object
    epilogue: Epilogue | None = None

    @property
    def key(self) -> str:
        """Canonical text: equal for kernels with equal code."""
        tail = f" epilogue[{self.epilogue.key}]" if self.epilogue else ""
        return f"contraction {self.schedule!r}{tail} {self.target.describe()}"

    @property
    def name(self) -> str:
        """A readable name for profilers."""
        digest = hashlib.sha256(self.key.encode()).hexdigest()[:8]
        return f"k_{self.schedule.label}_{self.schedule.elements.text}_{digest}"

    def emit(self, name: str = "k") -> str:
        """The module's text."""
        return self.schedule.emit(self.target, self.epilogue, name)


@dataclass(frozen=True)
class ContractionStep:
    """One kernel call: pieces [0, extent), at most `grain` of them in one call."""

    kernel: ContractionKernel
    params: tuple[int, ...]
    extent: int
    grain: int


@dataclass(frozen=True)
class ContractionPlan:
    """Steps in order; `workspace_bytes` is what their workspace pointer must have, 64-aligned.

    The epilogue's operands, like a and b, must not overlap c.
    """

    steps: tuple[ContractionStep, ...]
    workspace_bytes: int
    flops: int
