"""Windows, strides, dilations and paddings: the arithmetic convolutions and windowed sums share.

In: static sizes. Out: paddings as (low, high) pairs, result sizes, and NumPy views of windows.
Invariant: all sizes are Python integers; a window that does not fit gives a result of size 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.lax.shape import canonical_shape


def dilated(size: int, dilation: int) -> int:
    """Extent after placing `dilation - 1` holes between elements."""
    return 0 if size == 0 else (size - 1) * dilation + 1


def strided_count(size: int, window: int, stride: int) -> int:
    """How many windows fit."""
    return 0 if size < window or stride == 0 else (size - window) // stride + 1


def padtype_to_pads(in_shape, window_shape, window_strides, padding) -> list[tuple[int, int]]:
    """SAME, SAME_LOWER or VALID as (low, high) for each spatial axis.

    >>> padtype_to_pads((8, 9), (3, 3), (2, 1), "SAME")
    [(0, 1), (1, 1)]
    """
    kind = getattr(padding, "name", padding)
    kind = kind.upper() if isinstance(kind, str) else kind
    sizes = list(zip(map(int, in_shape), map(int, window_shape), map(int, window_strides),
                     strict=True))
    if kind == "VALID":
        return [(0, 0)] * len(sizes)
    if kind not in ("SAME", "SAME_LOWER"):
        raise RuntimeError("Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', "
                           f"got {padding}.")
    pads = []
    for n, window, stride in sizes:
        total = max((-(-n // stride) - 1) * stride + window - n, 0)
        small, large = total // 2, total - total // 2
        pads.append((small, large) if kind == "SAME" else (large, small))
    return pads


def canonical_pads(padding: Sequence[Any]) -> tuple[tuple[int, int], ...]:
    """Explicit pads as a hashable tuple of pairs of Python integers."""
    pads = tuple([canonical_shape(p) for p in padding])
    if any(len(p) != 2 for p in pads):
        raise ValueError(f"padding must be a sequence of (low, high) pairs, got {padding}")
    return pads


def transposed_pads(in_size: int, window: int, stride: int, out_size: int, padding,
                    in_dilation: int, window_dilation: int) -> tuple[int, int]:
    """Padding of the convolution of the (dilated) cotangent that gives the operand's."""
    k = dilated(window, window_dilation)
    before = k - padding[0] - 1
    after = dilated(in_size, in_dilation) + k - 1 - dilated(out_size, stride) - before
    return before, after


def spread_and_pad(x: np.ndarray, fill: Any, padding, dilation) -> np.ndarray:
    """`x` with holes of `fill` between elements and (possibly negative) padding around."""
    out = x
    for axis, ((lo, hi), step) in enumerate(zip(padding, dilation, strict=True)):
        n = out.shape[axis]
        spread = np.full((*out.shape[:axis], dilated(n, step), *out.shape[axis + 1:]), fill,
                         out.dtype)
        spread[(slice(None),) * axis + (slice(None, None, step),)] = out
        size = spread.shape[axis] + lo + hi
        cut = spread[(slice(None),) * axis + (slice(max(-lo, 0), spread.shape[axis]
                                                    - max(-hi, 0)),)]
        out = np.full((*out.shape[:axis], max(size, 0), *out.shape[axis + 1:]), fill, out.dtype)
        start = max(lo, 0)
        out[(slice(None),) * axis + (slice(start, start + cut.shape[axis]),)] = cut
    return out


def windows_of(x: np.ndarray, window, strides, window_dilation) -> np.ndarray:
    """All windows as a view of shape (*positions, *window)."""
    counts = [strided_count(n, dilated(w, d), s) for n, w, s, d in zip(
        x.shape, window, strides, window_dilation, strict=True)]
    if 0 in counts or x.size == 0:
        return np.zeros((*counts, *window), x.dtype)
    moves = [b * s for b, s in zip(x.strides, strides, strict=True)]
    inside = [b * d for b, d in zip(x.strides, window_dilation, strict=True)]
    return np.lib.stride_tricks.as_strided(x, (*counts, *window), (*moves, *inside),
                                           writeable=False)
