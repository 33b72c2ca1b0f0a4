"""Histograms in one and more dimensions.

In: samples, bins (a number or edges), optional range and weights. Out: counts and edges.
Invariant: the last bin includes its right edge.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney.api.jit import jit
from jitney.numpy import reductions
from jitney.numpy.creation import asarray
from jitney.numpy.differences import diff
from jitney.numpy.flat_positions import ravel_multi_index
from jitney.numpy.jitted import is_eager
from jitney.numpy.joining import stack
from jitney.numpy.manipulation import ravel
from jitney.numpy.promotion import (
    array_arguments,
    as_value,
    check_arraylike,
    convert,
    dtype_of,
    promote_dtypes_inexact,
    shape_of,
)
from jitney.numpy.ranges import linspace
from jitney.numpy.searching import bincount, searchsorted
from jitney.numpy.ufuncs import constant
from jitney.numpy.where import where_value


def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges `histogram` would use (weights do not move them)."""
    found = _edges_now if _is_one_program(a, bins, range, weights) else _edges
    return found(a, bins, range, weights)


def _is_one_program(a: Any, bins: Any, range: Any, weights: Any) -> bool:
    """Whether this is an eager call with a number of bins, whose shapes alone say what to do."""
    ends = range if isinstance(range, (tuple, list)) else () if range is None else (range,)
    return type(bins) is int and is_eager(a, weights, *ends)


def _are_edges(bins: Any) -> bool:
    return isinstance(bins, (list, tuple)) or getattr(bins, "ndim", 0) == 1


def _edges(a, bins, range, weights):
    if weights is not None:
        check_arraylike("histogram_bin_edges", weights)
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    a = ravel(array_arguments("histogram_bin_edges", a))
    a, = promote_dtypes_inexact(a)
    dtype = dtype_of(a)
    given = asarray(bins)
    if len(shape_of(given)) == 1:
        return convert(given, dtype)
    if len(shape_of(given)) > 1:
        raise ValueError("`bins` must be 1d, when an array")
    if range is None:
        if not shape_of(a)[0]:
            ends = [constant(0, a), constant(1, a)]
        else:
            ends = [reductions.min(a), reductions.max(a)]
    else:
        ends = [convert(x, dtype) for x in range] if not hasattr(range, "ndim") else list(
            asarray(range, dtype=dtype))
    low, high = as_value(ends[0]), as_value(ends[1])
    flat = lax.eq(lax.sub(high, low), constant(0, a))
    low = where_value(flat, lax.sub(low, constant(0.5, a)), low)
    high = where_value(flat, lax.add(high, constant(0.5, a)), high)
    return linspace(low, high, operator.index(bins) + 1, dtype=dtype)


def histogram(a, bins=10, range=None, weights=None, density=None):
    """Counts (or sums of weights, or densities) of values in bins, and the edges."""
    if _are_edges(bins) and is_eager(a, weights, bins):
        return _histogram_at(a, asarray(bins), None, weights, bool(density))
    found = _histogram_now if _is_one_program(a, bins, range, weights) else _histogram
    return found(a, bins, range, weights, bool(density))


def _histogram(a, bins, range, weights, density):
    if weights is None:
        a = array_arguments("histogram", a)
        a, = promote_dtypes_inexact(a)
        weights = lax.full(shape_of(a), constant(1, a))
    else:
        a, weights = array_arguments("histogram", a, weights)
        if shape_of(a) != shape_of(weights):
            raise ValueError("weights should have the same shape as a.")
        a, weights = promote_dtypes_inexact(a, weights)
    a, weights = ravel(a), ravel(weights)
    edges = _edges(a, bins, range, weights)
    count = shape_of(edges)[0]
    index = searchsorted(edges, a, side="right")
    index = where_value(lax.eq(a, convert(edges[-1], dtype_of(a))), count - 1, index)
    zeros = lax.full((count,), constant(0, weights))
    counts = zeros.at[index].add(weights)[1:]
    if density:
        width = convert(diff(edges), dtype_of(counts))
        counts = counts / width / reductions.sum(counts)
    return counts, edges


_edges_now = jit(_edges, static_argnums=(1,))
_histogram_now = jit(_histogram, static_argnums=(1, 4))
_histogram_at = jit(_histogram, static_argnums=(2, 4))


def histogram2d(x, y, bins=10, range=None, weights=None, density=None):
    """Counts of pairs in a grid of bins, and the edges of both axes."""
    check_arraylike("histogram2d", x, y)
    try:
        given = len(bins)
    except TypeError:
        given = 1
    if given != 1 and given != 2:
        bins = [asarray(bins), asarray(bins)]
    sample = stack([ravel(asarray(x)), ravel(asarray(y))], axis=1)
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(sample, bins=10, range=None, weights=None, density=None):
    """Counts of points in a grid of bins, and the edges of all axes."""
    sample = array_arguments("histogramdd", sample)
    sample, = promote_dtypes_inexact(sample)
    if len(shape_of(sample)) != 2:
        raise ValueError("sample must be a 2D array")
    points, rank = shape_of(sample)
    if weights is not None:
        weights = array_arguments("histogramdd", weights)
        if shape_of(weights) != (points,):
            raise ValueError("should have one weight for each sample.")
    if range is not None and (len(range) != rank or any(
            r is not None and len(r) != 2 for r in range)):
        raise ValueError(f"For sample.shape={shape_of(sample)}, range should have shape "
                         f"({rank}, 2)")
    if isinstance(bins, (list, tuple)):
        if len(bins) != rank:
            raise ValueError("should be a bin for each dimension.")
        per_axis = list(bins)
    else:
        per_axis = [bins] * rank
    edges, numbers, widths = [], [], []
    for i, given in enumerate(per_axis):
        column = sample[:, i]
        edge = histogram_bin_edges(column, given, None if range is None else range[i], weights)
        position = searchsorted(edge, column, side="right")
        position = where_value(lax.eq(column, convert(edge[-1], dtype_of(column))), position - 1,
                               position)
        edges.append(edge)
        numbers.append(position)
        widths.append(diff(edge))
    sizes = tuple(shape_of(e)[0] + 1 for e in edges)
    flat = ravel_multi_index(tuple(numbers), sizes, mode="clip")
    counts = lax.reshape(bincount(flat, weights, length=int(np.prod(sizes))), sizes)
    counts = counts[(slice(1, -1),) * rank]
    if density:
        counts = convert(counts, dtype_of(sample))
        total = reductions.sum(counts)
        for i, width in enumerate(widths):
            shape = tuple(shape_of(width)[0] if j == i else 1 for j in _axes(rank))
            counts = counts / lax.reshape(convert(width, dtype_of(counts)), shape)
        counts = counts / total
    return counts, edges


def _axes(rank: int) -> list[int]:
    return list(np.arange(rank))
