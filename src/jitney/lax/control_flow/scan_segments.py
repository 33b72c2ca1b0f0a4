"""A scan cut into segments that reverse mode computes again: less memory for a second pass.

In: the operands of a `scan` and the length of a segment. Out: its results, from a scan of
rematerialised scans. With segments of length k, reverse mode of n steps keeps n/k carries and the
residuals of one segment at a time: least for k = sqrt(n) (Chen et al. 2016, "Training deep nets
with sublinear memory cost").
Invariant: values are those of the plain scan.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from jitney.core.avals import ShapedArray, get_aval
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.staging import trace_flat
from jitney.lax.control_flow import common
from jitney.lax.joining import concatenate
from jitney.lax.shape import reshape, shape_of
from jitney.lax.slicing import slice_in_dim
from jitney.transforms.remat import remat_p


def segment_length(snapshots: Any, length: int) -> int:
    """Steps in a segment, 0 for a scan in one piece."""
    if snapshots is None or snapshots is False:
        return 0
    if snapshots is True:
        return max(math.isqrt(length), 1)
    try:
        number = operator.index(snapshots)
    except TypeError:
        number = 0
    if number < 1:
        raise ValueError("snapshots must be a positive integer, the number of carries that "
                         "reverse-mode differentiation keeps, or True for the square root of the "
                         f"length; got {snapshots!r}")
    return max(-(-length // number), 1)


def bind_scan(scan_p: Any, consts: list, init: list, xs: list, closed: ClosedJaxpr, length: int,
              per_segment: int, **params: Any) -> list:
    """Apply the primitive, in segments if there is more than one: [*carry, *ys]."""
    params = {**params, "jaxpr": closed, "num_consts": len(consts), "num_carry": len(init)}
    if not 0 < per_segment < length:
        return scan_p.bind(*consts, *init, *xs, length=length, **params)
    whole = length - length % per_segment
    start = length - whole if params["reverse"] else 0
    first, rest = (start, start + whole), (0, start) if params["reverse"] else (whole, length)
    segment = _segment(scan_p, consts, init, xs, per_segment, params)
    blocks = [_blocked(_rows(x, *first), per_segment) for x in xs]
    outs = scan_p.bind(*consts, *init, *blocks, length=whole // per_segment,
                       **{**params, "jaxpr": segment, "unroll": 1})
    carry, ys = common.split(outs, len(init))
    ys = [_flat(y) for y in ys]
    if whole == length:
        return [*carry, *ys]
    outs = scan_p.bind(*consts, *carry, *[_rows(x, *rest) for x in xs], length=length - whole,
                       **params)
    carry, more = common.split(outs, len(init))
    pairs = zip(more, ys) if params["reverse"] else zip(ys, more)
    return [*carry, *[concatenate(pair, 0) for pair in pairs]]


def _segment(scan_p: Any, consts: list, init: list, xs: list, size: int,
             params: dict) -> ClosedJaxpr:
    """(consts, carry, rows of a segment) -> (carry, ys of the segment), to be computed again."""
    def inner(*args):
        return scan_p.bind(*args, length=size, **params)

    avals = [get_aval(x) for x in (*consts, *init)]
    for x in xs:
        aval = get_aval(x)
        avals.append(ShapedArray((size, *aval.shape[1:]), aval.dtype, aval.weak_type))
    program = ClosedJaxpr(*trace_flat(inner, avals))

    def again(*args):
        return remat_p.bind(*args, jaxpr=program, prevent_cse=False, differentiated=False,
                            policy=None)

    return ClosedJaxpr(*trace_flat(again, avals))


def _rows(x: Any, start: int, stop: int) -> Any:
    return x if (start, stop) == (0, shape_of(x)[0]) else slice_in_dim(x, start, stop)


def _blocked(x: Any, size: int) -> Any:
    shape = shape_of(x)
    return reshape(x, (shape[0] // size, size, *shape[1:]))


def _flat(y: Any) -> Any:
    shape = shape_of(y)
    return reshape(y, (shape[0] * shape[1], *shape[2:]))
