"""Loops made of `scan` and `while_loop`: fori_loop, map, associative_scan.

In: bounds or arrays, and a function of one step. Out: as the plain Python loop would give.
Invariant: a `fori_loop` whose bounds are known is a scan, so that it can be differentiated.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import _native
from jitney.base import config, dtypes
from jitney.base.pytree import treedef_tuple
from jitney.core.avals import get_aval, is_value
from jitney.core.interpret import eval_closed
from jitney.core.trace import Tracer
from jitney.lax import compare
from jitney.lax.arithmetic import add
from jitney.lax.bits import bitwise_or
from jitney.lax.cast import convert
from jitney.lax.control_flow import common, messages
from jitney.lax.control_flow.scan import length_of, row_aval, run_scan, scan, unroll_of
from jitney.lax.control_flow.while_loop import run_while, while_in_python
from jitney.lax.joining import concatenate, pad
from jitney.lax.shape import canonical_axis, reshape, rev, shape_of
from jitney.lax.slicing import slice, slice_in_dim
from jitney.transforms import vmap as vmap_engine

# --- fori_loop -----------------------------------------------------------------------------------


def fori_loop(lower, upper, body_fun: Callable, init_val: Any, *,
              unroll: int | bool | None = None, snapshots: int | None = None) -> Any:
    """`for i in range(lower, upper): val = body_fun(i, val)`.

    With known bounds this is a `scan`, otherwise a `while_loop`; what `snapshots` means to reverse
    mode is said there.

    >>> fori_loop(0, 4, lambda i, x: x + i, 10).item()
    16
    """
    common.require_callables("fori_loop", "body_fun argument should be callable.", body_fun)
    lower, upper = _bounds(lower, upper)
    limits = _known_bounds(lower, upper)
    if config.disable_jit.value and limits is not None:
        for i in range(*limits):
            init_val = body_fun(i, init_val)
        return init_val
    name = messages.parameter_name(body_fun, 1, "init_val")
    shared = {"name": name, "user_fun": body_fun, "function": "fori_loop",
              "argument": "init_val"}
    if limits is None:
        shared["snapshots"] = common.snapshots_of(snapshots)
        return _dynamic(lower, upper, body_fun, init_val, unroll, shared)
    length = max(limits[1] - limits[0], 0)
    steps = unroll_of(1 if unroll is None else unroll, length)

    def step(state, _):
        i, value = state
        following = add(i, 1)
        return (following, body_fun(i, value)), None

    empty = _native.tree_structure(None)
    (_, out), _ = run_scan(step, (limits[0], init_val), [], empty, length, False, steps,
                                key="fori", part=1, snapshots=snapshots, **shared)
    return out


def _dynamic(lower: Any, upper: Any, body_fun: Callable, init_val: Any, unroll: Any,
             shared: dict) -> Any:
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError("Can only use `unroll` in `fori_loop` if the loop bounds are statically "
                         "known.")

    def step(state):
        i, end, value = state
        following = add(i, _one(i))
        return following, end, body_fun(i, value)

    if config.disable_jit.value:
        return while_in_python(_unfinished, step, (lower, upper, init_val))[2]
    return run_while(_unfinished, step, (lower, upper, init_val), key="fori",
                                carry_paths=2, **shared)[2]


def _one(i: Any) -> Any:
    return 1 if get_aval(i).weak_type else np.ones((), get_aval(i).dtype)[()]


def _unfinished(state: Any) -> Any:
    return compare.lt(state[0], state[1])


def _bounds(lower: Any, upper: Any) -> tuple:
    """The bounds with one dtype; a Python integer takes that of the other."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if not is_value(bound):
            raise TypeError(f"fori_loop: {name} must be an integer, got {bound!r} of type "
                            f"{type(bound)}")
        if get_aval(bound).shape:
            raise TypeError(f"fori_loop: {name} must be a scalar, got type "
                            f"{get_aval(bound).str_short()}")
    a, b = get_aval(lower), get_aval(upper)
    if a.dtype == b.dtype:
        return lower, upper
    signed = all(dtypes.issubdtype(x.dtype, np.signedinteger) for x in (a, b))
    if signed and a.weak_type != b.weak_type:
        if a.weak_type:
            return convert(lower, b.dtype, False), upper
        return lower, convert(upper, a.dtype, False)
    raise TypeError("lower and upper arguments to fori_loop must have equal types, got "
                    f"{a.dtype.name} and {b.dtype.name}")


def _known_bounds(lower: Any, upper: Any) -> tuple[int, int] | None:
    if isinstance(lower, Tracer) or isinstance(upper, Tracer):
        return None
    try:
        return _integer(lower), _integer(upper)
    except TypeError:
        return None


def _integer(x: Any) -> int:
    return int(x) if isinstance(x, (bool, np.bool_)) else operator.index(x)


# --- map -----------------------------------------------------------------------------------------


def map(f: Callable, xs: Any, *, batch_size: int | None = None) -> Any:
    """`stack([f(x) for x in xs])`, one after the other; with `batch_size`, so many at once.

    >>> map(lambda x: x * 2, np.arange(3)).tolist()
    [0, 2, 4]
    """
    common.require_callables("map", "f argument should be a callable.", f)
    if batch_size is not None:
        return _map_in_batches(f, xs, operator.index(batch_size))
    if config.disable_jit.value:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    leaves, tree = common.flatten_operands(xs, "map", "xs")
    length = length_of(leaves, xs, None)

    def step(carry, x):
        return carry, f(x)

    return run_scan(step, (), leaves, tree, length, False, 1, key="map", user_fun=f)[1]


def _map_in_batches(f: Callable, xs: Any, size: int) -> Any:
    if not hasattr(vmap_engine, "batch_jaxpr"):
        raise NotImplementedError("lax.map with batch_size needs vmap, which this version of "
                                  "jitney does not have; leave batch_size out")
    if size <= 0:
        raise ValueError(f"map: batch_size must be positive, got {size}")
    leaves, tree = common.flatten_operands(xs, "map", "xs")
    length = length_of(leaves, xs, None)
    avals = [row_aval(x) for x in leaves]
    body = common.trace_function(f, treedef_tuple([tree]), avals, "map", "batched")
    n_consts, whole = len(body.consts), length - length % size

    def batched(count: int, *rows):
        flags = [False] * n_consts + [True] * len(rows)
        closed, _ = vmap_engine.batch_jaxpr(body.closed, count, flags, True)
        return eval_closed(closed, *body.consts, *rows)

    if length <= size:
        return body.out_tree.unflatten(batched(length, *leaves))
    head, tail = [], []
    for x in leaves:
        shape = shape_of(x)
        first = x
        if whole < length:
            first = slice(x, (0,) * len(shape), (whole, *shape[1:]))
        head.append(reshape(first, (whole // size, size, *shape[1:])))
        if whole < length:
            tail.append(slice(x, (whole, *(0,) * (len(shape) - 1)), shape))
    rows = _native.tree_structure(tuple(range(len(head))))
    _, outs = run_scan(lambda c, x: (c, batched(size, *x)), (), head, rows, whole // size,
                            False, 1, user_fun=f, key=("batches", size))
    rest = batched(length - whole, *tail) if tail else None
    outs = [reshape(y, (whole, *shape_of(y)[2:])) for y in outs]
    if rest is not None:
        outs = [concatenate([y, r], 0) for y, r in zip(outs, rest, strict=True)]
    return body.out_tree.unflatten(outs)


# --- associative_scan ----------------------------------------------------------------------------


def associative_scan(fn: Callable, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Running results of an associative function along an axis, in logarithmic depth.

    `fn(a, b)` combines two trees like `elems` whose arrays have any size along the axis.

    >>> associative_scan(add, np.arange(4)).tolist()
    [0, 1, 3, 6]
    """
    common.require_callables("associative_scan", "fn argument should be callable.", fn)
    leaves, tree = common.flatten_operands(elems, "associative_scan", "elems")
    if not leaves:
        return elems
    if any(not shape_of(x) for x in leaves):
        raise ValueError("associative_scan needs arrays with an axis to scan over, got scalars")
    axis = canonical_axis(axis, len(shape_of(leaves[0])))
    if any(axis >= len(shape_of(x)) or shape_of(x)[axis] != shape_of(leaves[0])[axis]
           for x in leaves):
        raise ValueError("Array inputs to associative_scan must have the same first dimension. "
                         f"(saw: {[shape_of(x) for x in leaves]})")
    leaves = [common.result_value(x) for x in leaves]
    if reverse:
        leaves = [rev(x, (axis,)) for x in leaves]

    def combine(a: list, b: list) -> list:
        out = fn(tree.unflatten(a), tree.unflatten(b))
        found, structure = _native.tree_flatten(out)
        if structure != tree:
            raise TypeError(f"associative_scan: fn must return the structure of its arguments, "
                            f"{tree}, got {structure}")
        return found

    outs = _running(combine, leaves, axis)
    if reverse:
        outs = [rev(x, (axis,)) for x in outs]
    return tree.unflatten(outs)


def _running(combine: Callable, xs: list, axis: int) -> list:
    """Combine neighbours, run over the half, and fill in the places between."""
    size = shape_of(xs[0])[axis]
    if size < 2:
        return xs

    def cut(arrays, start, stop, stride=1):
        return [slice_in_dim(x, start, stop, stride, axis) for x in arrays]

    odd = _running(combine, combine(cut(xs, 0, size - 1, 2), cut(xs, 1, size, 2)), axis)
    before = odd
    if size % 2 == 0:
        before = cut(odd, 0, shape_of(odd[0])[axis] - 1)
    even = combine(before, cut(xs, 2, size, 2))
    even = [concatenate([first, rest], axis)
            for first, rest in zip(cut(xs, 0, 1), even, strict=True)]
    return [_by_turns(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _by_turns(even: Any, odd: Any, axis: int) -> Any:
    aval = get_aval(even)
    zero = np.zeros((), aval.dtype)[()]
    longer = int(shape_of(even)[axis] > shape_of(odd)[axis])

    def spread(x, low, high):
        padding = [(0, 0, 0)] * len(aval.shape)
        padding[axis] = (low, high, 1)
        return pad(x, zero, padding)

    join = bitwise_or if aval.dtype == np.bool_ else add
    return join(spread(even, 0, 1 - longer), spread(odd, 1, longer))
