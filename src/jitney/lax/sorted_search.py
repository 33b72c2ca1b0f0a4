"""Search in a sorted vector by halving, as a program of primitives.

In: a sorted vector and values of its dtype. Out: for each value how many elements are before it, as
uint32. `lower/halving.py` knows this program when it sees it, letter by letter (`halving_text`).
Invariant: NaN comes after all numbers, -0 equals +0; complex numbers are ordered by their real,
then by their imaginary parts.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.staging import trace_flat
from jitney.lax.arithmetic import add, div, sub
from jitney.lax.bits import bitwise_and, bitwise_or
from jitney.lax.cast import convert_element_type
from jitney.lax.compare import eq, le, lt, ne
from jitney.lax.complex_parts import imag, real
from jitney.lax.control_flow.loops import fori_loop
from jitney.lax.gather import GatherDimensionNumbers, GatherScatterMode, gather
from jitney.lax.select import select
from jitney.lax.shape import expand_dims, full


def precedes(x: Any, y: Any, or_equal: bool) -> Any:
    """x before y in sorting order."""
    dtype = get_aval(x).dtype
    if dtypes.is_complex(dtype):
        re_x, re_y = real(x), real(y)
        tie = precedes(imag(x), imag(y), or_equal)
        return bitwise_or(precedes(re_x, re_y, False), bitwise_and(eq(re_x, re_y), tie))
    if not dtypes.is_floating(dtype):
        return le(x, y) if or_equal else lt(x, y)
    nan_y = ne(y, y)
    if or_equal:
        return bitwise_or(le(x, y), nan_y)
    return bitwise_or(lt(x, y), bitwise_and(nan_y, eq(x, x)))


def levels_of(length: int) -> int:
    """Halvings after which one place is left."""
    return max(1, math.ceil(math.log2(length + 1)))


def _halved(a: Any, v: Any, right: bool, bounds: tuple) -> tuple:
    """The half of [low, high) that each value belongs to."""
    low, high = bounds
    middle = add(low, div(sub(high, low), np.uint32(2)))
    left = precedes(v, _at_positions(a, middle), not right)
    return select(left, low, middle), select(left, middle, high)


def _at_positions(a: Any, index: Any) -> Any:
    """a[index] for a vector and indices in (or just out of) bounds."""
    rank = len(get_aval(index).shape)
    numbers = GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,),
                                     start_index_map=(0,))
    return gather(a, expand_dims(convert_element_type(index, np.int32), (rank,)),
                  dimension_numbers=numbers, slice_sizes=(1,), mode=GatherScatterMode.CLIP)


def search_by_halving(a: Any, v: Any, right: bool, unrolled: bool) -> Any:
    """Elements of `a` before each value (`right`: or equal to it); a loop unless `unrolled`."""
    length, shape = get_aval(a).shape[0], get_aval(v).shape
    bounds = (full(shape, np.uint32(0)), full(shape, np.uint32(length)))
    if unrolled:
        for _ in range(levels_of(length)):
            bounds = _halved(a, v, right, bounds)
    else:
        bounds = fori_loop(0, levels_of(length), lambda _, b: _halved(a, v, right, b), bounds)
    return bounds[1]


@functools.lru_cache(maxsize=256)
def halving_text(a: ShapedArray, v: ShapedArray, right: bool) -> str:
    """The text of the loop's body: a, v, counter, low and high in, the last three out."""
    body: list[str] = []

    def search(a: Any, v: Any) -> list:
        return [search_by_halving(a, v, right, False)]

    jaxpr, _ = trace_flat(search, [a, v])
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "scan":
            body.append(str(eqn.params["jaxpr"]))
    return body[0]
