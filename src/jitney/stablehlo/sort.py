"""Sorting and selection of the greatest.

In: arrays of one shape and an axis. Out: `stablehlo.sort` with a comparator, `chlo.top_k`.
Invariant: the order is that of `lax.sort`: NaN last whatever its sign, -0 equal to +0, complex
numbers by real, then by imaginary part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.base import dtypes
from jitney.stablehlo.builder import Builder
from jitney.stablehlo.ops import Value
from jitney.stablehlo.rules import rule
from jitney.stablehlo.types import I32

# --- sort ----------------------------------------------------------------------------------------


@rule("sort")
def _sort(b, site, *operands):
    p = site.params
    return _sorted(b, operands, p["dimension"], p["num_keys"], p["is_stable"])


@rule("partition")
def _partition(b, site, x):
    return _sorted(b, [x], site.params["axis"], 1, False)       # sorted is divided at every rank


@rule("argpartition")
def _argpartition(b, site, x):
    axis = site.params["axis"]
    positions = b.iota(x.type.with_dtype(I32), axis)
    return _sorted(b, [x, positions], axis, 1, True)[1]


def _sorted(b: Builder, operands: Sequence[Value], axis: int, num_keys: int, stable: bool) -> list:
    scalars = [x.type.scalar for x in operands for _ in (0, 1)]

    def before(inner, *pairs):
        keys = pairs[:2 * num_keys]
        return _lexicographic(inner, keys[::2], keys[1::2])

    return b.op("stablehlo.sort", operands, [x.type for x in operands],
                {"dimension": f"{axis} : i64", "is_stable": "true" if stable else "false"},
                [b.region(scalars, before)])


def _columns(b: Builder, keys: Sequence[Value]) -> list[Value]:
    """Keys in a form that compares as wanted; complex numbers are two."""
    found = []
    for key in keys:
        if dtypes.is_complex(key.dtype):
            found += [_canonical(b, b.real(key)), _canonical(b, b.imag(key))]
        else:
            found.append(_canonical(b, key) if dtypes.is_floating(key.dtype) else key)
    return found


def _canonical(b: Builder, x: Value) -> Value:
    """One zero and one NaN, so that the total order is the order wanted."""
    is_zero = b.compare("EQ", x, b.like(x, 0))
    x_or_zero = b.select(is_zero, b.like(x, 0), x)
    is_nan = b.compare("NE", x, x)
    return b.select(is_nan, b.like(x, np.nan), x_or_zero)


def _compare(b: Builder, direction: str, x: Value, y: Value) -> Value:
    kind = "TOTALORDER" if dtypes.is_floating(x.dtype) else None
    return b.compare(direction, x, y, kind)


def _lexicographic(b: Builder, left: Sequence[Value], right: Sequence[Value]) -> Value:
    """Whether `left` comes before `right`; the first keys count most."""
    pairs = list(zip(_columns(b, left), _columns(b, right), strict=True))
    found = _compare(b, "LT", *pairs[-1])
    for x, y in reversed(pairs[:-1]):
        less = _compare(b, "LT", x, y)
        found = b.or_(less, b.and_(_compare(b, "EQ", x, y), found))
    return found


# --- top_k ---------------------------------------------------------------------------------------


@rule("top_k")
def _top_k(b, site, x):
    return _greatest(b, x, site.params["k"], site.params.get("axis", -1))


@rule("approx_top_k")
def _approx_top_k(b, site, x):
    p = site.params
    axis = p["reduction_dimension"] % x.type.rank
    count = p["k"] if p["aggregate_to_topk"] else x.shape[axis]
    values, positions = _greatest(b, x if p["is_max_k"] else b.negate(x), count, axis)
    return [values if p["is_max_k"] else b.negate(values), positions]


def _greatest(b: Builder, x: Value, k: int, axis: int) -> list[Value]:
    """The k greatest along an axis and their positions."""
    rank = x.type.rank
    axis = axis % rank
    order = [*(d for d in range(rank) if d != axis), axis]
    back = [order.index(d) for d in range(rank)]
    moved = x if axis == rank - 1 else b.transpose(x, order)
    out = moved.type.with_shape((*moved.shape[:-1], k))
    found = b.op("chlo.top_k", (moved,), [out, out.with_dtype(I32)], {"k": k})
    return found if moved is x else [b.transpose(v, back) for v in found]
