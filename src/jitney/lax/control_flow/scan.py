"""`scan`: a loop over the leading axis of arrays, carrying a state and stacking results.

In: a function (carry, x) -> (carry, y), a first carry, arrays. Out: the last carry, stacked ys.
The equation's operands are (consts…, carry…, xs…), its results (carry…, ys…).
Invariant: the carry keeps structure, shapes and dtypes; parts of it the body hands on unchanged
are constants of the loop, and a y that is an x is that input itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from jitney import _native
from jitney.base import config, errors, pytree
from jitney.base.pytree import treedef_tuple
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.dce import dce_jaxpr, define_dce, prune_constants
from jitney.core.interpret import reference_of_closed
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.primitive import Primitive
from jitney.core.trace import Tracer
from jitney.lax.control_flow import common, messages, scan_partial, scan_segments, scan_transpose
from jitney.lax.joining import stack
from jitney.lax.shape import shape_of
from jitney.lax.slicing import index_in_dim
from jitney.placement import varying
from jitney.transforms import jvp as jvp_engine
from jitney.transforms import partial_eval as partial_engine
from jitney.transforms import vmap as vmap_engine
from jitney.transforms.jvp import Zero, define_jvp, instantiate_zeros
from jitney.transforms.transpose import define_transpose
from jitney.transforms.vmap import (
    at_front,
    batch_size,
    define_batch,
    move_dimension,
)

Carry, X, Y = TypeVar("Carry"), TypeVar("X"), TypeVar("Y")


def scan(f: Callable[[Carry, X], tuple[Carry, Y]], init: Carry, xs: X | None = None,
         length: int | None = None, reverse: bool = False, unroll: int | bool = 1,
         _split_transpose: bool = False, *,
         snapshots: int | bool | None = None) -> tuple[Carry, Y]:
    """`for x in xs: carry, y = f(carry, x)`, as one operation; the ys are stacked.

    `xs` and the ys are trees of arrays with a common leading axis; `length` is needed when there
    are no xs. The compiler writes out short scans of no more steps than `unroll`, and decides by
    itself about others. With `snapshots`, reverse mode keeps so many carries only (True: about the
    square root of the length, which needs the least memory) and computes what the steps between
    them need again, once.

    >>> last, sums = scan(lambda c, x: (c + x, c + x), 0.0, np.arange(3.0))
    >>> last.item(), sums.tolist()
    (3.0, [0.0, 1.0, 3.0])
    """
    common.require_callables("scan", "f argument should be a callable.", f)
    if not isinstance(_split_transpose, (bool, int)):
        raise TypeError(f"scan: _split_transpose takes True or False, not {_split_transpose!r}")
    xs_leaves, xs_tree = common.flatten_operands(xs, "scan", "xs")
    count = length_of(xs_leaves, xs, length)
    if config.disable_jit.value:
        return _in_python(f, init, xs_leaves, xs_tree, count, reverse)
    return run_scan(f, init, xs_leaves, xs_tree, count, reverse, unroll_of(unroll, count),
                    snapshots=snapshots)


def length_of(leaves: list, xs: Any, length: Any) -> int:
    for i, leaf in enumerate(leaves):
        if not shape_of(leaf):
            path = pytree.keystr(pytree.tree_leaves_with_path(xs)[i][0])
            raise ValueError(f"scan got value with no leading axis to scan over: {leaf} "
                             f"(xs{path}). Values that are the same in every step can be closed "
                             "over.")
    sizes = [shape_of(leaf)[0] for leaf in leaves]
    if isinstance(length, Tracer):
        raise errors.ConcretizationTypeError(
            length, "The `length` argument to `scan` expects a concrete `int` value. For "
                    "scan-like iteration with a dynamic length, use `while_loop` or `fori_loop`.")
    if length is not None:
        length = operator.index(length) if not isinstance(length, float) else int(length)
        if any(n != length for n in sizes):
            raise ValueError(f"scan got `length` argument of {length} which disagrees with "
                             f"leading axis sizes {sizes}.")
        return length
    if not sizes:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    if len(set(sizes)) > 1:
        paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(xs)]
        places = ", ".join(f"xs{p}: {n}" for p, n in zip(paths, sizes))
        raise ValueError("scan got values with different leading axis sizes: "
                         f"{', '.join(map(str, sizes))}. ({places})")
    return sizes[0]


def unroll_of(unroll: Any, length: int) -> int:
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    try:
        unroll = operator.index(unroll)
    except TypeError:
        unroll = -1
    if unroll < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")
    return unroll


def _in_python(f: Callable, carry: Any, leaves: list, tree: Any, length: int,
               reverse: bool) -> Any:
    if length == 0:
        raise ValueError("zero-length scan is not supported in disable_jit() mode because the "
                         "output type is unknown.")
    ys = []
    for i in reversed(range(length)) if reverse else range(length):
        row = tree.unflatten([index_in_dim(x, i, keepdims=False) for x in leaves])
        carry, y = f(carry, row)
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, pytree.tree_map(lambda *parts: stack(parts), *ys)


def run_scan(f: Callable, init: Any, xs: list, xs_tree: Any, length: int, reverse: bool,
             unroll: int, *, name: str | None = None, user_fun: Callable | None = None,
             key: Any = None, function: str = "scan", argument: str = "init",
             part: int | None = None, snapshots: int | bool | None = None) -> Any:
    """`scan` for the user's function or a wrapper of it; `part` says which component of the
    carry is the user's."""
    values, tree = common.flatten_operands(init, function, argument)
    avals = [get_aval(x) for x in values]
    rows = [row_aval(x) for x in xs]
    in_tree = treedef_tuple([tree, xs_tree])
    varies = varying.entering([*values, *xs], len(values))
    shown = user_fun or f
    name = name or messages.parameter_name(shown, 0, "carry")

    def trace():
        return common.trace_function(f, in_tree, [*avals, *rows], "scan", key, user_fun,
                                     None if part is not None else _check_pair, varies)

    body = trace()
    out_carry, y_tree = body.out_tree.children()
    messages.check_carry_structure(function, name, shown, *_parts(part, tree, out_carry))
    if not common.same_types(avals, body.closed.out_avals[:len(avals)]) \
            and common.promote_weak(values, avals, body.closed.out_avals):
        body = trace()
    outs = body.closed.out_avals[:len(avals)]
    start = 0 if part is None else sum(t.num_leaves for t in tree.children()[:part])
    messages.check_carry_types(function, name, shown, _parts(part, tree)[0], avals[start:],
                               outs[start:])
    if varies is not None:
        values = varies.matched(values)
    per_segment = scan_segments.segment_length(snapshots, length)
    results = _bind(body, values, xs, length, reverse, unroll, per_segment)
    return tree.unflatten(results[:len(values)]), y_tree.unflatten(results[len(values):])


def _parts(part: int | None, *trees: Any) -> list:
    return list(trees) if part is None else [t.children()[part] for t in trees]


def row_aval(x: Any) -> ShapedArray:
    aval = get_aval(x)
    return ShapedArray(aval.shape[1:], aval.dtype, aval.weak_type)


def _check_pair(result: Any) -> None:
    children = _native.tree_structure(result).children() \
        if isinstance(result, (tuple, list)) else ()
    if len(children) == 2:
        return
    shown = pytree.tree_map(lambda x: get_aval(x) if common.is_value(x) else x, result)
    raise TypeError(f"scan body output must be a pair, got {shown}. Return (carry, y); with "
                    "nothing to stack, (carry, None).")


def _bind(body: common.Body, init: list, xs: list, length: int, reverse: bool,
          unroll: int, per_segment: int) -> list:
    """Apply; carries handed on unchanged become constants, xs handed on are not copied."""
    ins, outs = body.closed.jaxpr.invars, body.closed.jaxpr.outvars
    n_consts, n_carry = len(body.consts), len(init)
    first_x = n_consts + n_carry
    fixed = [i for i in range(n_carry) if outs[i] is ins[n_consts + i]]
    kept = [i for i in range(n_carry) if i not in fixed]
    of_xs = {v: i for i, v in enumerate(ins[first_x:])}
    handed = {i: of_xs[v] for i, v in enumerate(outs)
              if i >= n_carry and type(v) is not common.Literal and v in of_xs}
    closed = body.closed
    wanted = [*kept, *[i for i in range(n_carry, len(outs)) if i not in handed]]
    if fixed or handed:
        order = [*[n_consts + i for i in fixed], *range(n_consts),
                 *[n_consts + i for i in kept], *range(first_x, len(ins))]
        closed = common.rearrange(closed, order, wanted)
    found = scan_segments.bind_scan(
        scan_p, [*[init[i] for i in fixed], *body.consts], [init[i] for i in kept], xs, closed,
        length, per_segment, reverse=bool(reverse), unroll=unroll)
    results = {i: common.result_value(init[i]) for i in fixed}
    results.update((i, common.result_value(xs[j])) for i, j in handed.items())
    results.update(zip(wanted, found, strict=True))
    return [results[i] for i in range(len(outs))]


# --- the primitive -------------------------------------------------------------------------------

scan_p = Primitive("scan", multiple_results=True)


@scan_p.def_abstract
def _scan_type(*avals, jaxpr, length, reverse, unroll, num_consts, num_carry):
    if len(avals) != len(jaxpr.jaxpr.invars):
        raise TypeError(f"scan takes {len(jaxpr.jaxpr.invars)} operands, got {len(avals)}")
    outs = jaxpr.out_avals
    return [*outs[:num_carry], *[stacked(a, length) for a in outs[num_carry:]]]


def stacked(aval: ShapedArray, length: int) -> ShapedArray:
    return ShapedArray((length, *aval.shape), aval.dtype, aval.weak_type)


@scan_p.def_reference
def _scan_reference(*args, jaxpr, length, reverse, unroll, num_consts, num_carry):
    consts, carry, xs = common.split(args, num_consts, num_carry)
    avals = jaxpr.out_avals[num_carry:]
    rows: list[list] = [[] for _ in avals]
    for i in reversed(range(length)) if reverse else range(length):
        outs = reference_of_closed(jaxpr, *consts, *carry, *[x[i] for x in xs])
        carry = outs[:num_carry]
        for row, y in zip(rows, outs[num_carry:], strict=True):
            row.append(y)
    ys = [np.stack(row[::-1] if reverse else row) if row else _no_rows(aval)
          for row, aval in zip(rows, avals)]
    return [*carry, *ys]


def _no_rows(aval: ShapedArray) -> np.ndarray:
    dtype = aval.dtype
    return np.zeros((0, *aval.shape), dtype if isinstance(dtype, np.dtype) else np.uint32)


def _scan_dce(used: list[bool], eqn: Any):
    params = eqn.params
    closed: ClosedJaxpr = params["jaxpr"]
    n_consts, n_carry = params["num_consts"], params["num_carry"]
    if not any(used) and not eqn.effects:
        return [False] * len(eqn.invars), None
    carry, ys = used[:n_carry], used[n_carry:]
    while True:
        _, reads = dce_jaxpr(closed.jaxpr, [*carry, *ys])
        grown = [u or r for u, r in zip(carry, reads[n_consts:])]
        if grown == carry:
            break
        carry = grown
    rest = len(closed.jaxpr.invars) - n_consts - n_carry
    jaxpr, reads = dce_jaxpr(closed.jaxpr, [*carry, *ys],
                             [*[False] * n_consts, *carry, *[False] * rest])
    if all(reads) and all(carry) and all(ys):
        return reads, eqn
    jaxpr, consts = prune_constants(jaxpr, closed.consts)
    new = eqn.replace(
        invars=[v for v, u in zip(eqn.invars, reads) if u],
        outvars=[v for v, u in zip(eqn.outvars, [*carry, *ys]) if u],
        params={**params, "jaxpr": ClosedJaxpr(jaxpr, consts),
                "num_consts": sum(reads[:n_consts]), "num_carry": sum(carry)})
    return reads, new


define_dce(scan_p, _scan_dce)


# --- derivative ----------------------------------------------------------------------------------


def _scan_jvp(primals, tangents, *, jaxpr, length, reverse, unroll, num_consts, num_carry):
    nonzero = [type(t) is not Zero for t in tangents]
    const_nz, carry_nz, x_nz = common.split(nonzero, num_consts, num_carry)
    n_ys = len(jaxpr.jaxpr.outvars) - num_carry
    while True:                             # a carry has a tangent once anything flows into it
        closed, out_nz = jvp_engine.jvp_jaxpr(jaxpr, [*const_nz, *carry_nz, *x_nz],
                                              [*carry_nz, *[False] * n_ys])
        grown = [a or b for a, b in zip(carry_nz, out_nz)]
        if grown == carry_nz:
            break
        carry_nz = grown
    y_nz = list(out_nz[num_carry:])
    n, n_dots = len(primals), sum(const_nz) + sum(carry_nz)
    d_carry = n + sum(const_nz)
    # (consts, carry, xs, dots of each) -> (consts, their dots, carry, its dots, xs, their dots)
    order = [*range(num_consts), *range(n, d_carry),
             *range(num_consts, num_consts + num_carry), *range(d_carry, n + n_dots),
             *range(num_consts + num_carry, n),
             *range(n + n_dots, n + n_dots + sum(x_nz))]
    n_out = num_carry + n_ys
    outs_order = [*range(num_carry), *range(n_out, n_out + sum(carry_nz)),
                  *range(num_carry, n_out),
                  *range(n_out + sum(carry_nz), n_out + sum(carry_nz) + sum(y_nz))]
    groups = []
    for values, dots, flags in zip(common.split(primals, num_consts, num_carry),
                                   common.split(tangents, num_consts, num_carry),
                                   (const_nz, carry_nz, x_nz)):
        groups += [*values, *[instantiate_zeros(t) for t, nz in zip(dots, flags) if nz]]
    outs = scan_p.bind(
        *groups, jaxpr=common.rearrange(closed, order, outs_order), length=length,
        reverse=reverse, unroll=unroll, num_consts=num_consts + sum(const_nz),
        num_carry=num_carry + sum(carry_nz))
    carry, carry_dots, ys, y_dots = common.split(outs, num_carry, sum(carry_nz), n_ys)
    return [*carry, *ys], [*common.spread_tangents(carry, carry_dots, carry_nz),
                           *common.spread_tangents(ys, y_dots, y_nz)]


define_jvp(scan_p, _scan_jvp)


def _scan_partial_eval(trace, args, unknown, params):
    return scan_partial.partial_eval_scan(scan_p, trace, args, unknown, params)


partial_engine.define_partial_eval(scan_p, _scan_partial_eval)


def _scan_transpose(cts, *args, **params):
    return scan_transpose.transpose_scan(scan_p, cts, args, **params)


define_transpose(scan_p, _scan_transpose)


# --- batching ------------------------------------------------------------------------------------


def _scan_batch(args, dims, *, jaxpr, length, reverse, unroll, num_consts, num_carry):
    size = batch_size(args, dims)
    const_b, carry_b, x_b = common.split([d is not None for d in dims], num_consts, num_carry)
    n_ys = len(jaxpr.jaxpr.outvars) - num_carry
    while True:
        closed, out_b = vmap_engine.batch_jaxpr(
            jaxpr, size, [*const_b, *carry_b, *x_b], [*carry_b, *[False] * n_ys])
        grown = [a or b for a, b in zip(carry_b, out_b)]
        if grown == carry_b:
            break
        carry_b = grown
    consts, carry, xs = common.split(args, num_consts, num_carry)
    const_d, carry_d, x_d = common.split(dims, num_consts, num_carry)
    consts = [move_dimension(x, d, 0) if b else x for x, d, b in zip(consts, const_d, const_b)]
    carry = [at_front(x, d, size) if b else x for x, d, b in zip(carry, carry_d, carry_b)]
    xs = [move_dimension(x, d, 1) if b else x for x, d, b in zip(xs, x_d, x_b)]
    outs = scan_p.bind(*consts, *carry, *xs, jaxpr=closed, length=length, reverse=reverse,
                       unroll=unroll, num_consts=num_consts, num_carry=num_carry)
    return outs, [*[0 if b else None for b in carry_b],
                  *[1 if b else None for b in out_b[num_carry:]]]


define_batch(scan_p, _scan_batch)
