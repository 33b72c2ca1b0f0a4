"""Traced positions: dynamic slices and gathers as loads at computed places.

Out-of-bounds starts are clamped; in mode 'fill' the elements of a window that would not fit are the
fill value (never read). Positions that are known to be inside, like those of `arange`, are plain
indices.
"""

from ..graph.graph import literal_value
from ..ir.types import kind_of
from . import affine as af
from .known_place import chosen, known_place, range_of
from .pull_rules import pull_rule


def as_i64(builder, expr):
    """An integer expression as i64 (unsigned values that do not fit become negative: clamped)."""
    if expr.dtype == "i64":
        return expr
    return builder.make("convert", (expr,), "i64")


def clamped(builder, start, limit):
    """An index: start clamped into [0, limit]."""
    if limit <= 0:
        return af.ZERO
    start = chosen(builder, start)
    if start.op in ("const", "param"):
        value = int(literal_value(start.attrs[0], start.dtype))
        return af.constant(min(max(value, 0), limit))
    place = known_place(builder, start)
    if place is not None and place.is_inside(limit):
        return place.affine
    least, greatest = range_of(builder, start)
    start = _as_narrow(builder, start, limit)
    if least < 0:
        start = builder.make("max", (start, builder.integer(0, start.dtype)), start.dtype)
    if greatest > limit:
        start = builder.make("min", (start, builder.integer(limit, start.dtype)), start.dtype)
    return builder.atom(as_i64(builder, start))


def _as_narrow(builder, expr, limit):
    """A start as i32 if it and its limit have no more bits, else as i64: a vector of sixteen is one
    register, and machines gather by 32-bit indices at once."""
    if expr.dtype == "i32" and limit < 1 << 31:
        return expr
    if expr.dtype in ("i8", "i16", "u8", "u16") and limit < 1 << 31:
        return builder.make("convert", (expr,), "i32")
    return as_i64(builder, expr)


@pull_rule("dynamic_slice")
def pull_dynamic_slice(builder, node, index, mask):
    operand, starts = node.args[0], node.args[1:]
    inner = []
    for a, start, n, size in zip(index, starts, operand.shape, node.shape, strict=True):
        first = clamped(builder, builder.value(start, (), mask), n - size)
        inner.append(af.add(a, first))
    return builder.value(operand, tuple(inner), mask)


@pull_rule("gather")
def pull_gather(builder, node, index, mask):
    """attrs: (offset_dims, collapsed, batching, indices_batching, start_map, sizes, mode, fill)."""
    operand, indices = node.args[:2]
    offset_dims, collapsed, batching, indices_batching, start_map, sizes, mode = node.attrs
    batch = [a for axis, a in enumerate(index) if axis not in offset_dims]
    offsets = iter([index[axis] for axis in offset_dims])
    inner, inside = [], None
    for axis, n in enumerate(operand.shape):
        if axis in batching:
            inner.append(batch[indices_batching[batching.index(axis)]])
            continue
        local = af.ZERO if axis in collapsed else next(offsets)
        if axis in start_map:
            where = (*batch, af.constant(start_map.index(axis)))
            start = chosen(builder, builder.value(indices, where, mask))
            place = known_place(builder, start)
            if place is not None and place.is_inside(n - sizes[axis]):
                local = af.add(local, place.affine)
            elif mode == "fill" and not _is_inside(builder, start, n - sizes[axis]):
                start = as_i64(builder, start)
                fits = _fits(builder, start, n - sizes[axis])
                inside = builder.both(inside, fits)
                local = af.add(local, builder.atom(start))
            else:
                local = af.add(local, clamped(builder, start, n - sizes[axis]))
        inner.append(local)
    element = builder.value(operand, tuple(inner), builder.both(mask, inside))
    if inside is None:
        return element
    fill = builder.value(node.args[2], (), mask)
    return builder.make("select", (inside, element, fill), node.dtype)


def _is_inside(builder, start, limit):
    low, high = range_of(builder, start)
    return low >= 0 and high <= limit


def _fits(builder, start, limit):
    """0 <= start <= limit as one unsigned comparison."""
    assert kind_of(start.dtype) == "i"
    if limit < 0:
        return builder.make("const", (), "b1", (0,), cost=0)
    unsigned = builder.make("bitcast", (start,), "u64")
    return builder.make("le", (unsigned, builder.integer(limit, "u64")), "b1")
