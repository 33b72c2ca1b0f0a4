"""Lowering of gather (an index map) and scatter (element offsets for a routine), or as slices."""

import math

from ..graph.graph import is_literal
from ..ir.strides import contiguous_strides
from ..ir.types import DTYPE_OF_CODE, kind_of
from .counting import counts
from .known_places import gather_at_known, scatter_at_known
from .rules import LoweringError, Pair, lower_rule
from .scatter_one import scatter_one
from .scatter_window import is_single_window, scatter_window


def _mode_name(mode) -> str:
    name = str(getattr(mode, "name", mode)).upper()
    if "FILL" in name or "DROP" in name:
        return "fill"
    return "promise" if "PROMISE" in name else "clip"


@lower_rule("gather")
def lower_gather(ctx, eqn, x, indices):
    p = eqn.params
    d = p["dimension_numbers"]
    mode = _mode_name(p["mode"])
    sizes = tuple(p["slice_sizes"])
    attrs = (
        tuple(d.offset_dims),
        tuple(d.collapsed_slice_dims),
        tuple(getattr(d, "operand_batching_dims", ())),
        tuple(getattr(d, "start_indices_batching_dims", ())),
        tuple(d.start_index_map),
        sizes,
        mode,
    )
    shape = eqn.outvars[0].aval.shape

    def gather(n, value):
        value = _fill(n) if value is None else value
        if n.size == 0:
            return ctx.g.full(value, shape, n.dtype)
        known = gather_at_known(ctx.g, n, indices, attrs, tuple(shape))
        if known is not None:
            return known
        fill = ctx.g.lit(value, n.dtype)
        return ctx.g.table.intern("gather", (n, indices, fill), tuple(shape), n.dtype, attrs)

    value = p.get("fill_value")
    if isinstance(x, Pair):
        outside = complex(math.nan if value is None else value)
        return Pair(gather(x.re, outside.real), gather(x.im, outside.imag))
    return ctx.each(x, lambda n: gather(n, value))


def _fill(node):
    """An out-of-bounds element in mode 'fill': NaN, the least signed, the greatest unsigned."""
    kind = kind_of(node.dtype)
    if kind == "f":
        return float("nan")
    if kind == "b":
        return True
    import numpy as np

    info = np.iinfo(DTYPE_OF_CODE[node.dtype])
    return info.min if kind == "i" else info.max


# Sums of halves are rounded once, not at each update, where there are so many for each element on
# average, and so many of all: that is sooner done, and one by one 600 ones end at 256 in bfloat16.
LONG_LIST, MANY_SUMMED = 4, 4096
_SCATTER = {
    "scatter": "set",
    "scatter-add": "add",
    "scatter_add": "add",
    "scatter-sub": "sub",
    "scatter_sub": "sub",
    "scatter-mul": "mul",
    "scatter_mul": "mul",
    "scatter-min": "min",
    "scatter_min": "min",
    "scatter-max": "max",
    "scatter_max": "max",
}


@lower_rule(*_SCATTER)
def lower_scatter(ctx, eqn, x, indices, updates):
    kind = _SCATTER[eqn.primitive.name]
    if isinstance(x, Pair):
        if kind not in ("set", "add", "sub"):
            raise LoweringError(f"scatter {kind} of complex numbers")
        return Pair(
            _scatter(ctx.g, eqn.params, kind, x.re, indices, updates.re),
            _scatter(ctx.g, eqn.params, kind, x.im, indices, updates.im),
        )
    return _scatter(ctx.g, eqn.params, kind, x, indices, updates)


def _scatter(g, params, kind, x, indices, updates):
    if updates.size == 0 or x.size == 0:
        return x
    if kind == "sub":
        kind, updates = "add", g.neg(updates)
    d = params["dimension_numbers"]
    mode = _mode_name(params["mode"])
    if kind == "add" and x.dtype in _COUNTED and is_literal(x, 0) and is_literal(updates, 1):
        return _count(g, d, mode, x, indices, updates)
    if x.dtype == "b1":
        kind = {"add": "max", "mul": "min"}.get(kind, kind)
    if is_single_window(d, updates) and (x.dtype != "b1" or kind == "set"):
        return scatter_window(g, d, mode, kind, x, indices, updates)
    known = scatter_at_known(g, d, mode, kind, x, indices, updates)
    known = known or scatter_one(g, d, mode, kind, x, indices, updates)
    if known is not None:
        return known
    window, offsets, updates = _offsets(g, d, mode, x, indices, updates)
    if x.dtype == "b1":
        return _call_as(g, "u8", kind, x, offsets, updates, window)
    is_long = updates.size >= LONG_LIST * x.size and updates.size >= MANY_SUMMED
    if kind == "add" and x.dtype in ("f16", "bf16") and is_long:
        return _call_as(g, "f32", kind, x, offsets, updates, window)
    return _call(g, kind, x, offsets, updates, window)


def _call_as(g, code, kind, x, offsets, updates, window):
    """The scatter in numbers of another type, converted back."""
    operand, new = (g.convert(n, code) for n in (x, updates))
    return g.convert(_call(g, kind, operand, offsets, new, window), x.dtype)


# what a count is converted to; sums of ones in fewer bits would have stopped growing, or do not
_COUNTED = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64")


def _count(g, d, mode, x, indices, updates):
    """Ones added to zeros: how often each element is meant, as whole numbers."""
    window, offsets, updates = _offsets(g, d, mode, x, indices, updates)
    if window != 1 or updates.shape[0] >= 2**31:
        return _call(g, "add", x, offsets, updates, window)
    return g.reshape(g.convert(counts(g, offsets, x.size), x.dtype), x.shape)


def _call(g, kind, x, offsets, updates, window):
    attrs = (kind, window)
    (result,) = g.call("scatter", (x, offsets, updates), [(x.shape, x.dtype)], attrs)
    return result


def _offsets(g, d, mode, x, indices, updates):
    """(window, offsets[n] of i32 or i64 with -1 for dropped, updates[n, window]).

    Update axes are brought into the order (scatter axes, window axes). The last window axes that
    cover whole trailing operand axes are contiguous in memory and form the window.
    """
    window_dims = tuple(d.update_window_dims)
    batching = tuple(getattr(d, "operand_batching_dims", ()))
    indices_batching = tuple(getattr(d, "scatter_indices_batching_dims", ()))
    skipped = set(d.inserted_window_dims) | set(batching)
    operand_axes = [a for a in range(len(x.shape)) if a not in skipped]
    scatter_dims = [a for a in range(len(updates.shape)) if a not in window_dims]
    updates = g.transpose(updates, [*scatter_dims, *window_dims])
    batch_shape = updates.shape[: len(scatter_dims)]
    window_shape = updates.shape[len(scatter_dims) :]
    strides = contiguous_strides(x.shape)
    whole = len(window_shape)
    while whole > 0:
        axis = operand_axes[whole - 1]
        trailing = axis == len(x.shape) - (len(window_shape) - whole) - 1
        if not trailing or window_shape[whole - 1] != x.shape[axis]:
            break
        whole -= 1
    window = math.prod(window_shape[whole:])
    space = batch_shape + window_shape[:whole]
    total = _starts(g, d, mode, x, indices, batch_shape, window_shape, operand_axes, strides)
    total, inside = total
    total = g.broadcast(total, space, range(len(batch_shape)))
    for k in range(whole):
        position = g.iota(space, len(batch_shape) + k, total.dtype)
        stride = g.full(strides[operand_axes[k]], space, total.dtype)
        total = g.add(total, g.mul(position, stride))
    for k, axis in enumerate(batching):
        position = g.iota(space, indices_batching[k], total.dtype)
        total = g.add(total, g.mul(position, g.full(strides[axis], space, total.dtype)))
    if inside is not None:
        inside = g.broadcast(inside, space, range(len(batch_shape)))
        total = g.select(inside, total, g.full(-1, space, total.dtype))
    count = math.prod(space)
    return window, g.reshape(total, (count,)), g.reshape(updates, (count, window))


def _starts(g, d, mode, x, indices, batch_shape, window_shape, operand_axes, strides):
    """Linear offset of each window's first element, and whether the window fits."""
    extent = dict(zip(operand_axes, window_shape, strict=True))
    code = _offset_type(x, indices)
    total, inside = g.full(0, batch_shape, code), None
    last = len(indices.shape) - 1
    for k, axis in enumerate(d.scatter_dims_to_operand_dims):
        lows, highs = [0] * len(indices.shape), list(indices.shape)
        lows[last], highs[last] = k, k + 1
        start = g.reshape(g.slice(indices, lows, highs), indices.shape[:last])
        start = g.reshape(g.convert(start, code), batch_shape)
        limit = g.full(x.shape[axis] - extent.get(axis, 1), batch_shape, code)
        zero = g.full(0, batch_shape, code)
        if mode == "clip":
            start = g.ew("min", g.ew("max", start, zero), limit)
        else:
            fits = g.ew("and", g.compare("ge", start, zero), g.compare("le", start, limit))
            inside = fits if inside is None else g.ew("and", inside, fits)
        total = g.add(total, g.mul(start, g.full(strides[axis], batch_shape, code)))
    return total, inside


def _offset_type(x, indices):
    """i32 where all offsets and indices fit it (half the bytes, twice the lanes), else i64."""
    fits = x.size < 2**31 and indices.dtype in ("i8", "i16", "i32", "u8", "u16")
    return "i32" if fits else "i64"
