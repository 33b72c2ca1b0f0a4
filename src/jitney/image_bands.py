"""Samples of an axis at other places as sums of a few neighbours, of which weights are known.

In: how many samples there are and are wanted, and how far the kernel reaches. Out: each result's
neighbours (known while tracing: the places do not depend on data); and, with what these weigh, an
array sampled with them. Where the ratio of lengths is p / q with a small p, every p-th result has
its neighbours q samples further, so that each of p phases is a weighted sum of slices; else
neighbours are gathered.
(A matrix of weights has mostly zeros: of 1024 x 1024, a Zen 5, two threads and one, beside a
contraction an axis, doubled by a triangle .01 and .02 of the time, halved .02 and .02, to
1500 x 1500 by a cubic .21 and .23.)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.numpy.promotion import dtype_of, shape_of

MOST_TAPS, MOST_PHASES, MOST_TERMS = 24, 8, 64
LEAST_LENGTH = 64  # of the axis: shorter ones are soon contracted


class Bands(NamedTuple):
    """The first neighbour of each result, and what it and those after it weigh (taps, results)."""

    first: np.ndarray
    weights: np.ndarray


def neighbours(n: int, m: int, radius: float) -> np.ndarray | None:
    """The places (taps, results) of what m results of n samples are made of, some of them outside;
    None if a matrix is as good."""
    reach = math.ceil(radius)
    taps = 2 * reach
    if n < LEAST_LENGTH or taps > MOST_TAPS or 8 * taps > n:
        return None
    # floor((i + 1/2) n / m - 1/2), in whole numbers: the same in every period
    first = (n * (2 * np.arange(m) + 1) - m) // (2 * m) - reach + 1
    return first + np.arange(taps)[:, None]


def sampled(image: Any, band: Bands, axis: int) -> Any:
    """The image at the results' places along an axis. Sums of short floats are rounded once."""
    dtype = dtype_of(image)
    is_short = dtype.itemsize < 4
    image = image.astype(np.float32) if is_short else image
    n, (taps, m) = shape_of(image)[axis], band.weights.shape
    phases = m // math.gcd(n, m)
    is_regular = phases <= MOST_PHASES and phases * taps <= MOST_TERMS
    out = (_by_phases if is_regular else _gathered)(image, band, axis)
    return out.astype(dtype) if is_short else out


def _by_phases(image: Any, band: Bands, axis: int) -> Any:
    n, (taps, m) = shape_of(image)[axis], band.weights.shape
    count = math.gcd(n, m)
    step, phases = n // count, m // count
    low, high = max(0, -band.first[0]), max(0, band.first[-1] + taps - n)
    widths = [(0, 0, 0)] * len(shape_of(image))
    widths[axis] = (int(low), int(high), 0)
    padded = lax.pad(image, np.zeros((), dtype_of(image)), widths)
    parts = []
    for r in range(phases):
        begin = int(band.first[r] + low)
        terms = [
            _weighed(lax.slice_in_dim(padded, at, at + step * (count - 1) + 1, step, axis),
                     band.weights[t, r::phases], axis)
            for t, at in enumerate(range(begin, begin + taps))
        ]  # fmt: skip
        parts.append(sum(terms[1:], terms[0]))
    if phases == 1:
        return parts[0]
    shape = shape_of(image)
    return jnp.stack(parts, axis + 1).reshape(*shape[:axis], m, *shape[axis + 1 :])


def _gathered(image: Any, band: Bands, axis: int) -> Any:
    places = np.arange(len(band.weights))[:, None] + band.first
    places = np.clip(places, 0, shape_of(image)[axis] - 1).astype(np.int32)
    terms = [
        _weighed(jnp.take(image, own, axis, mode="clip"), weights, axis)
        for own, weights in zip(places, band.weights, strict=True)
    ]
    return sum(terms[1:], terms[0])


def _weighed(x: Any, weights: np.ndarray, axis: int) -> Any:
    weights = weights.astype(dtype_of(x))
    if (weights == weights[0]).all():
        return x * weights[0]
    return x * lax.broadcast_in_dim(weights, shape_of(x), (axis,))
