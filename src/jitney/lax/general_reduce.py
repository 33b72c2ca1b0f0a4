"""`reduce`: a reduction by any associative function of scalars, of several arrays at once.

In: arrays, one initial value each, a function `(accumulated, element) -> accumulated`, axes.
Out: the folds. Functions and initial values that make a sum, a product, an extreme or a logical
reduction become these; otherwise the function is traced once and kept as a program.
Invariant: the order of combination is not promised, so the function has to be associative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.base import dtypes
from jitney.core import interpret
from jitney.core.avals import Array, ShapedArray, get_aval, numpy_value
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo, Literal
from jitney.core.primitive import Primitive
from jitney.core.staging import trace_flat
from jitney.core.trace import Tracer
from jitney.lax import arithmetic, bits, elementwise_binary
from jitney.lax.nary import broadcast_to
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.reduce import (
    checked_axes,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
    reduced_shape,
)
from jitney.lax.shape import shape_of
from jitney.lax.tree_reduce import reduce_pairs
from jitney.transforms.jvp import Zero, define_jvp, instantiate_zeros, is_zero, jvp_rules
from jitney.transforms.vmap import at_front, batch_size, define_batch


def reduce(operands, init_values, computation: Callable, dimensions: Sequence[int],
           out_sharding=None):
    """Fold arrays along `dimensions` with an associative function of scalars.

    >>> reduce(np.arange(4.0), 0.0, lambda a, b: a + b, (0,)).item()
    6.0
    """
    check_out_sharding("reduce", out_sharding)
    xs, tree = _native.tree_flatten(operands)
    inits, init_tree = _native.tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError("Operands must have the same tree structure as init_values: "
                         f"{tree} vs. {init_tree}")
    if not xs:
        raise ValueError("reduce takes at least one operand")
    for init in inits:
        if shape_of(init):
            raise ValueError("reduce found non-scalar initial value: "
                             f"{[shape_of(i) for i in inits]}")
    axes = checked_axes(dimensions)
    if len(xs) == 1 and tree.num_nodes == 1:
        monoid = _monoid_reducer(computation, xs[0], inits[0])
        if monoid is not None:
            return monoid(xs[0], axes)
    jaxpr = _reducer_program(computation, xs, inits, tree)
    outs = reduce_p.bind(*xs, *inits, computation=computation, jaxpr=jaxpr, dimensions=axes)
    return _native.tree_unflatten(tree, outs)


# --- recognising the common ones ---------------------------------------------------------------


def _least(dtype: Any) -> Any:
    if dtype == np.bool_:
        return False
    return dtypes.iinfo(dtype).min if dtypes.is_integer(dtype) else -np.inf


def _greatest(dtype: Any) -> Any:
    if dtype == np.bool_:
        return True
    return dtypes.iinfo(dtype).max if dtypes.is_integer(dtype) else np.inf


def _all_ones(dtype: Any) -> Any:
    if dtype == np.bool_:
        return True
    return -1 if dtypes.issubdtype(dtype, np.signedinteger) else dtypes.iinfo(dtype).max


_MONOIDS: dict[Callable, tuple[Callable, Callable, Callable]] = {
    arithmetic.add: (reduce_sum, lambda d: 0, lambda d: d != np.bool_),
    arithmetic.mul: (reduce_prod, lambda d: 1, lambda d: d != np.bool_),
    elementwise_binary.max: (reduce_max, _least, lambda d: not dtypes.is_complex(d)),
    elementwise_binary.min: (reduce_min, _greatest, lambda d: not dtypes.is_complex(d)),
    bits.bitwise_and: (reduce_and, _all_ones, lambda d: not dtypes.is_inexact(d)),
    bits.bitwise_or: (reduce_or, lambda d: 0, lambda d: not dtypes.is_inexact(d)),
    bits.bitwise_xor: (reduce_xor, lambda d: 0, lambda d: not dtypes.is_inexact(d)),
}


def _monoid_reducer(computation: Callable, x: Any, init: Any) -> Callable | None:
    """The reduction this function makes from its neutral element, if it is one of ours."""
    try:
        found = _MONOIDS.get(computation)
    except TypeError:                                       # an unhashable callable
        return None
    if found is None or isinstance(init, Tracer):
        return None
    reducer, unit, accepts = found
    dtype = get_aval(x).dtype
    if dtypes.is_extended(dtype) or not accepts(dtype):
        return None
    value = numpy_value(init) if isinstance(init, Array) else np.asarray(init)
    return reducer if value == unit(dtype) else None


# --- tracing the function --------------------------------------------------------------------


def _reducer_program(computation: Callable, xs: list, inits: list, tree: Any) -> ClosedJaxpr:
    avals = []
    for x, init in zip(xs, inits, strict=True):
        dtype = get_aval(x).dtype
        if get_aval(init).dtype != dtype:
            raise TypeError(
                f"reduce: an operand of dtype {dtype} has an initial value of dtype "
                f"{get_aval(init).dtype}; they must be equal. Convert the initial value.")
        avals.append(ShapedArray((), dtype))
    count = len(avals)

    def flat(*scalars):
        out = computation(_native.tree_unflatten(tree, scalars[:count]),
                          _native.tree_unflatten(tree, scalars[count:]))
        leaves, out_tree = _native.tree_flatten(out)
        if out_tree != tree:
            raise TypeError(f"reduce: the function must return what it accumulates, a tree "
                            f"{tree}, but it returned {out_tree}.")
        return leaves

    jaxpr, consts = trace_flat(flat, avals * 2, DebugInfo("reduce", computation))
    if any(isinstance(c, Tracer) for c in consts):
        raise NotImplementedError("The function given to reduce closes over traced values; pass "
                                  "them as operands, or write the reduction with jnp functions.")
    for out, aval in zip(jaxpr.outvars, avals, strict=True):
        if out.aval.shape or out.aval.dtype != aval.dtype:
            raise TypeError(f"reduce: the function must return a scalar of dtype {aval.dtype}, but "
                            f"it returned {out.aval}.")
    return ClosedJaxpr(jaxpr, consts)


reduce_p = Primitive("reduce", multiple_results=True, kind="reduction")


@reduce_p.def_abstract
def _reduce_type(*avals, computation, jaxpr, dimensions):
    xs = avals[:len(avals) // 2]
    shape = xs[0].shape
    if any(x.shape != shape for x in xs):
        raise TypeError("reduce: operands must have the same shape, got "
                        f"{', '.join(str(x.shape) for x in xs)}.")
    if len(dimensions) != len(set(dimensions)) or \
            not all(0 <= d < len(shape) for d in dimensions):
        raise ValueError(f"reduce: dimensions {dimensions} must be distinct axes of an array of "
                         f"shape {shape}, counted from the front.")
    kept = reduced_shape(shape, dimensions)
    return [ShapedArray(kept, x.dtype) for x in xs]


# --- meaning ---------------------------------------------------------------------------------


def _is_elementwise(jaxpr: Any) -> bool:
    return all(eqn.primitive.attributes.get("kind") == "elementwise" for eqn in jaxpr.eqns)


def _applied_to_arrays(closed: ClosedJaxpr, *args: np.ndarray) -> list[np.ndarray]:
    """A program of elementwise scalar operations, on whole arrays."""
    jaxpr = closed.jaxpr
    env = dict(zip(jaxpr.constvars, map(numpy_value, closed.consts), strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom):
        return atom.as_numpy() if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        values = np.broadcast_arrays(*map(read, eqn.invars), args[0])[:-1]
        outs = interpret.apply_reference(eqn.primitive, values, eqn.params)
        env.update(zip(eqn.outvars, outs, strict=True))
    return [np.broadcast_to(read(v), args[0].shape) for v in jaxpr.outvars]


def _on_each_scalar(closed: ClosedJaxpr, *args: np.ndarray) -> list[np.ndarray]:
    outs = [np.empty(args[0].shape, v.aval.dtype) for v in closed.jaxpr.outvars]
    for index in np.ndindex(args[0].shape):
        results = interpret.reference_of_closed(closed, *[a[index] for a in args])
        for out, value in zip(outs, results, strict=True):
            out[index] = value
    return outs


@reduce_p.def_reference
def _reduce_reference(*args, computation, jaxpr, dimensions):
    count = len(args) // 2
    xs, inits = args[:count], args[count:]
    kept = [i for i in range(xs[0].ndim) if i not in dimensions]
    shape = tuple([xs[0].shape[i] for i in kept])
    rows = [x.transpose(*dimensions, *kept).reshape(-1, *shape) for x in xs]
    accumulated = [np.broadcast_to(i, shape) for i in inits]
    step = _applied_to_arrays if _is_elementwise(jaxpr.jaxpr) else _on_each_scalar
    for row in range(rows[0].shape[0]):
        accumulated = step(jaxpr, *accumulated, *[r[row] for r in rows])
    return [np.array(a) for a in accumulated]


# --- derivative, batching --------------------------------------------------------------------


def _push_forward(closed: ClosedJaxpr, primals: Sequence, tangents: Sequence) -> tuple:
    """Values and tangents of an elementwise program applied to arrays."""
    jaxpr = closed.jaxpr
    env = {v: (c, Zero.from_primal_value(c))
           for v, c in zip(jaxpr.constvars, closed.consts, strict=True)}
    env.update(zip(jaxpr.invars, zip(primals, tangents, strict=True), strict=True))

    def read(atom):
        if type(atom) is not Literal:
            return env[atom]
        value = interpret.literal_value(atom)
        return value, Zero.from_primal_value(value)

    for eqn in jaxpr.eqns:
        ins = [read(v) for v in eqn.invars]
        rule = jvp_rules.get(eqn.primitive)
        if rule is None:
            raise NotImplementedError(f"Differentiation rule for '{eqn.primitive}' not implemented")
        out, dot = rule([p for p, _ in ins], [t for _, t in ins], **eqn.params)
        pairs = zip(out, dot, strict=True) if eqn.primitive.multiple_results else [(out, dot)]
        env.update(zip(eqn.outvars, pairs, strict=True))
    results = [read(v) for v in jaxpr.outvars]
    return [p for p, _ in results], [t for _, t in results]


def _reduce_jvp(primals, tangents, *, computation, jaxpr, dimensions):
    outs = reduce_p.bind(*primals, computation=computation, jaxpr=jaxpr, dimensions=dimensions)
    if all(is_zero(t) for t in tangents):
        return outs, [Zero.from_primal_value(o) for o in outs]
    count = len(primals) // 2
    moving = [i for i in range(count) if dtypes.is_inexact(get_aval(primals[i]).dtype)]

    def combine(left, right):
        dots = []
        for side in (left, right):
            side_dots = dict(zip(moving, side[count:], strict=True))
            dots += [side_dots.get(i, Zero.from_primal_value(side[i])) for i in range(count)]
        values, out_dots = _push_forward(jaxpr, (*left[:count], *right[:count]), dots)
        return (*values, *[instantiate_zeros(out_dots[i]) for i in moving])

    x_dots = [instantiate_zeros(tangents[i]) for i in moving]
    init_dots = [instantiate_zeros(tangents[count + i]) for i in moving]
    start = tuple([broadcast_to(v, shape_of(outs[0])) for v in (*primals[count:], *init_dots)])
    shape = shape_of(primals[0])
    if any(shape[d] == 0 for d in dimensions):
        folded = start
    else:
        folded = combine(start, reduce_pairs(combine, (*primals[:count], *x_dots), (), dimensions))
    out_dots = dict(zip(moving, folded[count:], strict=True))
    return outs, [out_dots.get(i, Zero.from_primal_value(outs[i])) for i in range(count)]


def _reduce_batch(args, dims, *, computation, jaxpr, dimensions):
    count = len(args) // 2
    if any(d is not None for d in dims[count:]):
        raise NotImplementedError(
            "vmap of lax.reduce over its initial values: reduce from the neutral element, then "
            "combine the result with the batched initial value.")
    size = batch_size(args, dims)
    xs = [at_front(x, d, size) for x, d in zip(args[:count], dims[:count], strict=True)]
    outs = reduce_p.bind(*xs, *args[count:], computation=computation, jaxpr=jaxpr,
                         dimensions=tuple([d + 1 for d in dimensions]))
    return outs, [0] * count


define_jvp(reduce_p, _reduce_jvp)
define_batch(reduce_p, _reduce_batch)

__all__ = ["reduce", "reduce_p"]
