"""A convolution of a dilated image (a transposed one, the gradient of one with strides), in phases.

In: the operands of a convolution whose image is dilated by d along some axes, d - 1 zeros between
its pixels. Out: the result, made of d convolutions of the image as it is: each d-th result meets
each d-th element of the kernel alone, at pixels that follow one another. The zeros are neither
stored nor multiplied: with d = 2 along both axes of a picture, a quarter of the work.

Result i = r + d m and element t of the kernel meet pixel (i + t - low) / d of the image if that is
an integer: t = (low - r) mod d + d s, and the pixel is m + s + (r + t mod d - low) / d.
"""

import itertools
import math
from typing import NamedTuple

MOST_PHASES = 16
LEAST_WORK = 1 << 16  # multiplications, of zeros as well, that are worth several products


class Phase(NamedTuple):
    """Along one axis: the kernel's first element, how many, the border's widths, the results."""

    first: int
    count: int
    low: int
    high: int
    results: int


def has_phases(p, k, shape) -> bool:
    """Whether a convolution with these parameters is done in phases."""
    dilation, spatial = p["lhs_dilation"], p["dimension_numbers"].rhs_spec[2:]
    if not 1 < math.prod(dilation) <= MOST_PHASES:
        return False
    others = zip(dilation, p["window_strides"], p["rhs_dilation"], strict=True)
    if any(d > 1 and (stride, apart) != (1, 1) for d, stride, apart in others):
        return False
    window = math.prod(k.shape[a] for a in spatial)
    features = k.shape[p["dimension_numbers"].rhs_spec[1]]
    return math.prod(shape) * window * features >= LEAST_WORK


def in_phases(g, p, x, k, shape, code, convolve):
    """The result; `convolve(g, params, x, k, shape, code)` does one phase."""
    numbers, dilation = p["dimension_numbers"], p["lhs_dilation"]
    along = list(zip(numbers.lhs_spec[2:], numbers.rhs_spec[2:], numbers.out_spec[2:], strict=True))
    choices = []
    for (a, b, c), d, widths in zip(along, dilation, p["padding"], strict=True):
        sizes = x.shape[a], k.shape[b], shape[c]
        choices.append([_phase(*sizes, d, r, *widths) for r in range(d)])
    most = [max(phase.results for phase in some) for some in choices]
    parts = []
    for chosen in itertools.product(*choices):
        part = list(shape)
        for (_, _, c), phase in zip(along, chosen, strict=True):
            part[c] = phase.results
        y = _one(g, p, x, k, chosen, tuple(part), code, convolve)
        high = [0] * len(shape)
        for (_, _, c), phase, n in zip(along, chosen, most, strict=True):
            high[c] = n - phase.results
        parts.append(g.pad(y, g.lit(0, code), [0] * len(shape), high) if any(high) else y)
    return _woven(g, parts, shape, [c for _, _, c in along], dilation)


def _phase(n: int, window: int, out: int, d: int, r: int, low: int, high: int) -> Phase:
    """The phase of the results r, r + d, …; with no dilation, all there is."""
    if d == 1:
        return Phase(0, window, low, high, out)
    first = (low - r) % d
    count = max(0, -(-(window - first) // d))
    results = max(0, -(-(out - r) // d))
    before = -((r + first - low) // d)
    return Phase(first, count, before, results + count - 1 - n - before, results)


def _one(g, p, x, k, chosen, shape, code, convolve):
    if math.prod(shape) == 0 or any(phase.count == 0 for phase in chosen):
        return g.full(0, shape, code)
    starts, limits, steps = [0] * len(k.shape), list(k.shape), [1] * len(k.shape)
    axes = p["dimension_numbers"].rhs_spec[2:]
    for axis, phase, d in zip(axes, chosen, p["lhs_dilation"], strict=True):
        starts[axis], steps[axis] = phase.first, d
        limits[axis] = phase.first + (phase.count - 1) * d + 1
    params = dict(
        p, lhs_dilation=(1,) * len(chosen), padding=tuple([(h.low, h.high) for h in chosen])
    )
    return convolve(g, params, x, g.slice(k, starts, limits, steps), shape, code)


def _woven(g, parts, shape, axes, dilation):
    """The phases' results, those of the last axis fastest, each where it belongs."""
    for axis, d in reversed(list(zip(axes, dilation, strict=True))):
        if d > 1:
            some = [parts[i : i + d] for i in range(0, len(parts), d)]
            parts = [_weave(g, group, axis) for group in some]
    (whole,) = parts
    return g.slice(whole, [0] * len(shape), shape)


def _weave(g, parts, axis: int):
    """Arrays of one shape, element by element along an axis."""
    shape = parts[0].shape
    wide = [g.reshape(y, (*shape[: axis + 1], 1, *shape[axis + 1 :])) for y in parts]
    joined = g.concat(wide, axis + 1)
    return g.reshape(joined, (*shape[:axis], shape[axis] * len(parts), *shape[axis + 1 :]))
