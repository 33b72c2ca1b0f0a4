"""Lowering of primitives that move, repeat or make elements."""

import math

from ..ir.types import is_complex, part_code
from .rules import Pair, lower_rule


@lower_rule("broadcast_in_dim")
def lower_broadcast_in_dim(ctx, eqn, x, *_):
    shape, dims = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    return ctx.each(x, lambda n: ctx.g.broadcast(n, shape, dims))


@lower_rule("reshape")
def lower_reshape(ctx, eqn, x, *_):
    dimensions = eqn.params.get("dimensions")
    shape = eqn.outvars[0].aval.shape

    def reshape(n):
        return ctx.g.reshape(ctx.g.transpose(n, dimensions) if dimensions else n, shape)

    return ctx.each(x, reshape)


@lower_rule("squeeze", "expand_dims")
def lower_squeeze(ctx, eqn, x):
    shape = eqn.outvars[0].aval.shape
    return ctx.each(x, lambda n: ctx.g.reshape(n, shape))


@lower_rule("transpose")
def lower_transpose(ctx, eqn, x):
    return ctx.each(x, lambda n: ctx.g.transpose(n, eqn.params["permutation"]))


@lower_rule("rev")
def lower_rev(ctx, eqn, x):
    return ctx.each(x, lambda n: ctx.g.reverse(n, eqn.params["dimensions"]))


@lower_rule("concatenate")
def lower_concatenate(ctx, eqn, *parts):
    axis = eqn.params["dimension"]
    if isinstance(parts[0], Pair):
        return Pair(
            ctx.g.concat([p.re for p in parts], axis), ctx.g.concat([p.im for p in parts], axis)
        )
    return ctx.g.concat(parts, axis)


@lower_rule("stack")
def lower_stack(ctx, eqn, *parts):
    axis = eqn.params["axis"]

    def stack(nodes):
        return ctx.g.concat([ctx.g.expand_dims(n, axis) for n in nodes], axis)

    if isinstance(parts[0], Pair):
        return Pair(stack([p.re for p in parts]), stack([p.im for p in parts]))
    return stack(parts)


@lower_rule("unstack")
def lower_unstack(ctx, eqn, x):
    axis = eqn.params["axis"]
    shape = eqn.outvars[0].aval.shape

    def part(n, i):
        lows, highs = [0] * len(n.shape), list(n.shape)
        lows[axis], highs[axis] = i, i + 1
        return ctx.g.reshape(ctx.g.slice(n, lows, highs), shape)

    return [ctx.each(x, lambda n, i=i: part(n, i)) for i in range(x.shape[axis])]


@lower_rule("split")
def lower_split(ctx, eqn, x):
    axis, start, results = eqn.params["axis"], 0, []
    for size in eqn.params["sizes"]:
        lows = [0] * len(x.shape)
        highs = list(x.shape)
        lows[axis], highs[axis] = start, start + size
        results.append(ctx.each(x, lambda n, lo=lows, hi=highs: ctx.g.slice(n, lo, hi)))
        start += size
    return results


@lower_rule("tile")
def lower_tile(ctx, eqn, x):
    reps = eqn.params["reps"]

    def tile(n):
        spread = [e for r, m in zip(reps, n.shape, strict=True) for e in (r, m)]
        dims = range(1, 2 * len(n.shape), 2)
        wide = ctx.g.broadcast(n, spread, dims)
        return ctx.g.reshape(wide, eqn.outvars[0].aval.shape)

    return ctx.each(x, tile)


@lower_rule("pad")
def lower_pad(ctx, eqn, x, value):
    config = eqn.params["padding_config"]
    if isinstance(x, Pair):
        re = pad_node(ctx.g, x.re, value.re, config)
        return Pair(re, pad_node(ctx.g, x.im, value.im, config))
    return pad_node(ctx.g, x, value, config)


def pad_node(g, x, value, config):
    """Interior padding first: each element becomes a short row of itself and padding."""
    for axis, (_, _, interior) in enumerate(config):
        if interior and x.shape[axis] > 1:
            x = _pad_interior(g, x, value, axis, interior)
    return g.pad(x, value, [lo for lo, _, _ in config], [hi for _, hi, _ in config])


def _pad_interior(g, x, value, axis, interior):
    n = x.shape[axis]
    rank = len(x.shape) + 1
    column = g.expand_dims(x, axis + 1)
    if math.prod(x.shape[axis + 1 :]) > 1:  # whole rows of padding beside those of x
        rows = list(column.shape)
        rows[axis + 1] = interior
        wide = g.concat((column, g.broadcast(value, tuple(rows), ())), axis + 1)
    else:
        high = [0] * rank
        high[axis + 1] = interior
        wide = g.pad(column, value, [0] * rank, high)
    flat = g.reshape(wide, x.shape[:axis] + (n * (interior + 1),) + x.shape[axis + 1 :])
    limits = list(flat.shape)
    limits[axis] -= interior
    return g.slice(flat, [0] * len(limits), limits)


@lower_rule("iota")
def lower_iota(ctx, eqn, *_):
    aval = eqn.outvars[0].aval
    code = part_code(aval.dtype)
    x = ctx.g.iota(aval.shape, eqn.params["dimension"], code)
    if is_complex(aval.dtype):
        return Pair(x, ctx.g.full(0.0, aval.shape, code))
    return x


@lower_rule("empty", "empty2")
def lower_empty(ctx, eqn):
    aval = eqn.outvars[0].aval
    return ctx.literal(0, aval)
