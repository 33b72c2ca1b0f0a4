"""Lowering of sort, top_k, partition: routines along the last axis, other axes transposed to it."""

from ..core.jaxpr import DropVar
from ..ir.types import kind_of
from .rules import LoweringError, Pair, lower_rule
from .short_sorts import places_of_top, sort_short


def _last(g, x, axis):
    """x with axis moved to the end, and the permutation that puts it back."""
    rank = len(x.shape)
    order = [a for a in range(rank) if a != axis] + [axis]
    back = [order.index(a) for a in range(rank)]
    return g.transpose(x, order), back


@lower_rule("sort")
def lower_sort(ctx, eqn, *operands):
    g, p = ctx.g, eqn.params
    axis, keys = p["dimension"], p["num_keys"]
    if any(isinstance(x, Pair) for x in operands[keys:]) or isinstance(operands[0], Pair):
        return _sort_complex(ctx, operands, axis, keys)
    wanted = [type(v) is not DropVar for v in eqn.outvars]
    if sum(wanted) == 1:  # of several, kernels that read one each would sort each
        short = sort_short(g, operands, keys, axis)
        if short is not None:
            return short
    if len(operands) == 1:
        x, back = _last(g, operands[0], axis)
        return [g.transpose(_sort_one(g, x), back)]
    moved = [_last(g, x, axis) for x in operands]
    back = moved[0][1]
    order = _order(g, [x for x, _ in moved[:keys]])
    return [g.transpose(_take_along(g, x, order), back) for x, _ in moved]


def _sort_one(g, x):
    code = x.dtype
    if x.shape[-1] <= 1:
        return x
    source = g.convert(x, "u8") if code == "b1" else x
    (result,) = g.call("sort", (source,), [(source.shape, source.dtype)])
    return g.convert(result, "b1") if code == "b1" else result


def _order(g, keys):
    """Stable order of rows by several keys: sort by the last key first."""
    order = None
    for key in reversed(keys):
        key = g.convert(key, "u8") if key.dtype == "b1" else key
        current = key if order is None else _take_along(g, key, order)
        (step,) = g.call("argsort", (current,), [(key.shape, "i32")])
        order = step if order is None else _take_along(g, order, step)
    return order


def _take_along(g, x, order):
    """x[..., order[..., i]] row by row, as a gather."""
    rank = len(x.shape)
    shape = order.shape
    indices = g.reshape(order, shape + (1,))
    batching = tuple(range(rank - 1))
    attrs = ((), (rank - 1,), batching, batching, (rank - 1,), (1,) * rank, "promise")
    if x.size == 0:
        return x
    fill = g.lit(0, x.dtype)
    return g.table.intern("gather", (x, indices, fill), shape, x.dtype, attrs)


def _sort_complex(ctx, operands, axis, keys):
    """Complex keys sort by real part, then imaginary part."""
    g, flat = ctx.g, []
    for x in operands[:keys]:
        flat.extend([x.re, x.im] if isinstance(x, Pair) else [x])
    moved = [_last(g, x, axis)[0] for x in flat]
    back = _last(g, flat[0], axis)[1]
    order = _order(g, moved)

    def arrange(n):
        return g.transpose(_take_along(g, _last(g, n, axis)[0], order), back)

    return [ctx.each(x, arrange) for x in operands]


@lower_rule("top_k")
def lower_top_k(ctx, eqn, x):
    g, k = ctx.g, eqn.params["k"]
    axis = eqn.params.get("axis", len(x.shape) - 1)
    x, back = _last(g, x, axis % len(x.shape))
    if isinstance(x, Pair):
        raise LoweringError("top_k of complex numbers")
    places = places_of_top(g, x, k)
    if places is not None:
        return [g.transpose(found, back) for found in (_take_along(g, x, places), places)]
    shape = x.shape[:-1] + (k,)
    source = g.convert(x, "u8") if kind_of(x.dtype) == "b" else x
    values, indices = g.call("top_k", (source,), [(shape, source.dtype), (shape, "i32")], (k,))
    return [g.transpose(g.convert(values, x.dtype), back), g.transpose(indices, back)]


@lower_rule("partition", "argpartition")
def lower_partition(ctx, eqn, x):
    g, name = ctx.g, eqn.primitive.name
    if isinstance(x, Pair):
        raise LoweringError(f"{name} of complex numbers")
    x, back = _last(g, x, eqn.params["axis"])
    source = g.convert(x, "u8") if kind_of(x.dtype) == "b" else x
    code = source.dtype if name == "partition" else "i32"
    (found,) = g.call(name, (source,), [(x.shape, code)], (eqn.params["k"],))
    return g.transpose(g.convert(found, x.dtype) if name == "partition" else found, back)
