"""scatter: writing or combining many windows into an array, the mirror image of gather.

In: an operand, indices of shape `(*batch, k)`, one update window for each batch position, and
`ScatterDimensionNumbers`. Out: the operand with every window combined into it.
Invariants: a window that does not lie inside the operand is dropped whole (mode clip moves it
inside instead); where windows overlap, they are applied in the order of their batch positions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jitney.base import dtypes
from jitney.core import interpret
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.jaxpr import DebugInfo, Jaxpr
from jitney.core.primitive import Primitive, named
from jitney.core.staging import trace_flat
from jitney.lax.gather import (
    GatherDimensionNumbers,
    GatherScatterMode,
    check_batching,
    check_dims,
    check_disjoint,
    gather_p,
    index_vectors,
    shifted,
    window_positions,
)
from jitney.lax.shape import broadcast_in_dim, canonical_shape, full, full_like, shape_of
from jitney.lax.slicing import batched_box_write, dynamic_update_slice_p
from jitney.transforms.jvp import Zero, add_tangents, define_jvp, instantiate_zeros
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import at_front, batch_size, define_batch, move_dimension

_CLIP = GatherScatterMode.CLIP
_DROP = GatherScatterMode.FILL_OR_DROP


class ScatterDimensionNumbers(NamedTuple):
    """How operand, indices and updates of a scatter correspond.

    update_window_dims: axes of the updates that run inside a window. inserted_window_dims:
    operand axes (window size 1) absent from the updates. scatter_dims_to_operand_dims: the
    operand axis each component of an index refers to. operand_batching_dims,
    scatter_indices_batching_dims: axes of operand and indices that advance together.
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


def _bind(primitive: Primitive, combine: str | None, operand, indices, updates, numbers,
          indices_are_sorted, unique_indices, mode):
    dtype = get_aval(operand).dtype
    return primitive.bind(
        operand, indices, updates, update_jaxpr=_combiner(combine, dtype), update_consts=(),
        dimension_numbers=ScatterDimensionNumbers(*map(canonical_shape, numbers)),
        indices_are_sorted=bool(indices_are_sorted), unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode))


@functools.lru_cache(maxsize=1024)
def _combiner(name: str | None, dtype: Any) -> Jaxpr | None:
    """The program on scalars that combines an element with an update."""
    if name is None:
        return None
    primitive = named(name)
    scalar = ShapedArray((), dtype)
    jaxpr, _ = trace_flat(lambda a, b: [primitive.bind(a, b)], [scalar, scalar],
                          DebugInfo("scatter"))
    return jaxpr


def scatter(operand, scatter_indices, updates, dimension_numbers: ScatterDimensionNumbers, *,
            indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: str | GatherScatterMode | None = None):
    """Replace windows of `operand` by `updates`."""
    return _bind(scatter_p, None, operand, scatter_indices, updates, dimension_numbers,
                 indices_are_sorted, unique_indices, mode)


def scatter_add(operand, scatter_indices, updates, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None):
    """Add `updates` to windows of `operand`."""
    return _bind(scatter_add_p, "add", operand, scatter_indices, updates, dimension_numbers,
                 indices_are_sorted, unique_indices, mode)


def scatter_sub(operand, scatter_indices, updates, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None):
    """Subtract `updates` from windows of `operand`."""
    return _bind(scatter_sub_p, "sub", operand, scatter_indices, updates, dimension_numbers,
                 indices_are_sorted, unique_indices, mode)


def scatter_mul(operand, scatter_indices, updates, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None):
    """Multiply windows of `operand` by `updates`."""
    return _bind(scatter_mul_p, "mul", operand, scatter_indices, updates, dimension_numbers,
                 indices_are_sorted, unique_indices, mode)


def scatter_min(operand, scatter_indices, updates, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None):
    """The lesser of windows of `operand` and `updates`."""
    return _bind(scatter_min_p, "min", operand, scatter_indices, updates, dimension_numbers,
                 indices_are_sorted, unique_indices, mode)


def scatter_max(operand, scatter_indices, updates, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None):
    """The greater of windows of `operand` and `updates`."""
    return _bind(scatter_max_p, "max", operand, scatter_indices, updates, dimension_numbers,
                 indices_are_sorted, unique_indices, mode)


def scatter_apply(operand, scatter_indices, func: Callable,
                  dimension_numbers: ScatterDimensionNumbers, *, update_shape: Sequence[int] = (),
                  indices_are_sorted: bool = False, unique_indices: bool = False,
                  mode: str | GatherScatterMode | None = None):
    """Apply an elementwise function to windows of `operand` (once for each time one occurs)."""
    aval = get_aval(operand)
    scalar = ShapedArray((), aval.dtype)
    try:
        jaxpr, consts = trace_flat(lambda a, b: [func(a)], [scalar, scalar],
                                   DebugInfo("scatter_apply", func))
    except TypeError as error:
        raise ValueError("scatter_apply: func must be an elementwise function of one array, "
                         f"applied here to a scalar; it failed: {error}") from error
    if any(shape_of(c) for c in consts):
        raise NotImplementedError("scatter_apply: func closes over arrays; it may use scalars "
                                  "only. Write x.at[i].set(func(x[i])) instead")
    if consts:
        jaxpr = _with_scalars_inside(jaxpr, consts)
    updates = full(canonical_shape(update_shape), 0, aval.dtype)
    return scatter_apply_p.bind(
        operand, scatter_indices, updates, update_jaxpr=jaxpr, update_consts=(),
        dimension_numbers=ScatterDimensionNumbers(*map(canonical_shape, dimension_numbers)),
        indices_are_sorted=bool(indices_are_sorted), unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode))


def _with_scalars_inside(jaxpr: Jaxpr, consts: Sequence[Any]) -> Jaxpr:
    """The program with its (scalar, concrete) constants written in place."""
    values = [np.asarray(c)[()] for c in consts]
    closed, _ = trace_flat(lambda a, b: interpret.eval_jaxpr(jaxpr, values, a, b),
                           jaxpr.in_avals, jaxpr.debug_info)
    return closed


scatter_p = Primitive("scatter")
scatter_add_p = Primitive("scatter-add")
scatter_sub_p = Primitive("scatter-sub")
scatter_mul_p = Primitive("scatter-mul")
scatter_min_p = Primitive("scatter-min")
scatter_max_p = Primitive("scatter-max")
# Differs from JAX: its own name, so that no back end takes it for a plain scatter.
scatter_apply_p = Primitive("scatter_apply")

# --- type ------------------------------------------------------------------------------------


def _check_windows(operand, numbers, updates, batch) -> None:
    absent = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    if len(numbers.update_window_dims) + len(absent) != operand.ndim:
        raise TypeError(
            "Scatter op has window of size "
            f"{len(numbers.update_window_dims) + len(absent)}; doesn't match operand of rank "
            f"{operand.ndim}.")
    if updates.ndim != len(batch) + len(numbers.update_window_dims):
        raise TypeError(
            f"Updates tensor must be of rank {len(batch) + len(numbers.update_window_dims)}; got "
            f"{updates.ndim}.")
    present = [d for d in range(operand.ndim) if d not in absent]
    for d, u in zip(present, numbers.update_window_dims, strict=True):
        if updates.shape[u] > operand.shape[d]:
            raise TypeError(
                "Bounds of the window dimensions of updates must not exceed the bounds of the "
                f"corresponding dimensions of operand. For dimension {u}, updates bound is "
                f"{updates.shape[u]}, operand bound is {operand.shape[d]}.")
    rest = [d for d in range(updates.ndim) if d not in numbers.update_window_dims]
    for i, (d, n) in enumerate(zip(rest, batch, strict=True)):
        if updates.shape[d] != n:
            raise TypeError(
                "Bounds of the scatter dimensions of updates must be the same as the bounds of the "
                f"corresponding dimensions of scatter indices. For scatter dimension {i}, updates "
                f"bound is {updates.shape[d]}, indices bound is {n}.")


def _scatter_type(operand, indices, updates, *, update_jaxpr, update_consts, dimension_numbers,
                  indices_are_sorted, unique_indices, mode):
    numbers, ndim = dimension_numbers, operand.ndim
    if not dtypes.is_integer(indices.dtype):
        raise ValueError(f"indices must have an integer type, got {indices.dtype}")
    if operand.dtype != updates.dtype:
        raise TypeError("lax.scatter requires arguments to have the same dtypes, got "
                        f"{operand.dtype}, {updates.dtype}.")
    if indices.ndim == 0:
        raise TypeError("scatter indices must have an axis for the components of an index (the "
                        "last one); got a scalar")
    check_dims("scatter", "update_window_dims", numbers.update_window_dims, updates.ndim)
    check_dims("scatter", "inserted_window_dims", numbers.inserted_window_dims, ndim)
    check_dims("scatter", "operand_batching_dims", numbers.operand_batching_dims, ndim)
    check_disjoint("scatter", "inserted_window_dims", numbers.inserted_window_dims,
                   "operand_batching_dims", numbers.operand_batching_dims)
    check_disjoint("scatter", "scatter_dims_to_operand_dims",
                   numbers.scatter_dims_to_operand_dims, "operand_batching_dims",
                   numbers.operand_batching_dims)
    check_batching("scatter", operand.shape, indices.shape, numbers.operand_batching_dims,
                   numbers.scatter_indices_batching_dims,
                   ("operand_batching_dims", "scatter_indices_batching_dims"))
    if len(numbers.scatter_dims_to_operand_dims) != indices.shape[-1]:
        raise TypeError(
            f"Scatter op has {len(numbers.scatter_dims_to_operand_dims)} elements in "
            "scatter_dims_to_operand_dims and the bound of dimension index_vector_dim="
            f"{indices.ndim - 1} of indices is {indices.shape[-1]}. These two numbers must be "
            "equal")
    for i, d in enumerate(numbers.scatter_dims_to_operand_dims):
        if not 0 <= d < ndim:
            raise TypeError("Invalid scatter_dims_to_operand_dims mapping; domain is "
                            f"[0, {ndim}), got: {i}->{d}.")
    check_dims("scatter", "scatter_dims_to_operand_dims", numbers.scatter_dims_to_operand_dims,
               ndim, is_sorted=False)
    _check_windows(operand, numbers, updates, indices.shape[:-1])
    return ShapedArray(operand.shape, operand.dtype, operand.weak_type)


# --- meaning ---------------------------------------------------------------------------------


def window_sizes(operand_ndim: int, update_shape, numbers) -> tuple[list[int], list[int]]:
    """Operand axes present in a window, and the window's extent along every operand axis."""
    absent = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    present = [d for d in range(operand_ndim) if d not in absent]
    sizes = [1] * operand_ndim
    for d, u in zip(present, numbers.update_window_dims, strict=True):
        sizes[d] = update_shape[u]
    return present, sizes


def _targets(operand, indices, updates, numbers, mode):
    """Flat positions in the operand and the values for them, in order of application."""
    present, sizes = window_sizes(operand.ndim, updates.shape, numbers)
    positions, inside = window_positions(
        operand.shape, indices, numbers.scatter_dims_to_operand_dims, sizes, present,
        numbers.operand_batching_dims, numbers.scatter_indices_batching_dims,
        clamp=mode is _CLIP)
    window = list(numbers.update_window_dims)
    batch = [d for d in range(updates.ndim) if d not in window]
    values = updates.transpose(batch + window)
    strides = [int(np.prod(operand.shape[d + 1:])) for d in range(operand.ndim)]
    flat = sum((p * s for p, s in zip(positions, strides, strict=True)), np.int64(0))
    flat = np.broadcast_to(flat, values.shape)
    if mode is not _CLIP:
        mask = inside.reshape(inside.shape + (1,) * len(window))
        mask = np.broadcast_to(mask, values.shape)
        return flat[mask], values[mask]
    return flat.ravel(), values.ravel()


def _reference(combine: Callable | None) -> Callable:
    def reference(operand, indices, updates, *, update_jaxpr, update_consts, dimension_numbers,
                  indices_are_sorted, unique_indices, mode):
        flat, values = _targets(operand, indices, updates, dimension_numbers, mode)
        out = np.array(operand).reshape(-1)
        if combine is not None:
            combine.at(out, flat, values)
        elif update_jaxpr is None:
            out[flat] = values                      # NumPy: the last of equal positions wins
        else:                                       # scatter_apply, one occurrence at a time
            for i, value in zip(flat, values, strict=True):
                out[i] = interpret.eval_reference(update_jaxpr, (), out[i:i + 1].reshape(()),
                                                  np.asarray(value))[0]
        return out.reshape(operand.shape)

    return reference


for _primitive, _combine in ((scatter_p, None), (scatter_add_p, np.add),
                             (scatter_sub_p, np.subtract), (scatter_mul_p, np.multiply),
                             (scatter_min_p, np.minimum), (scatter_max_p, np.maximum),
                             (scatter_apply_p, None)):
    _primitive.def_abstract(_scatter_type)
    _primitive.def_reference(_reference(_combine))

# --- derivatives -----------------------------------------------------------------------------


def _gather_back(x, indices, updates_shape, params: dict, zero_outside: bool = False):
    """The windows a scatter with these parameters writes, read from `x`."""
    numbers = params["dimension_numbers"]
    _, sizes = window_sizes(len(shape_of(x)), updates_shape, numbers)
    mode = params["mode"]
    fill = 0 if zero_outside and mode is _DROP else None
    if not zero_outside and mode is _DROP:
        mode = GatherScatterMode.PROMISE_IN_BOUNDS
    gather_numbers = GatherDimensionNumbers(
        numbers.update_window_dims, numbers.inserted_window_dims,
        numbers.scatter_dims_to_operand_dims, numbers.operand_batching_dims,
        numbers.scatter_indices_batching_dims)
    return gather_p.bind(x, indices, dimension_numbers=gather_numbers, slice_sizes=tuple(sizes),
                         indices_are_sorted=params["indices_are_sorted"],
                         unique_indices=params["unique_indices"], mode=mode, fill_value=fill)


def _bind_combine(primitive: Primitive, name: str | None, operand, indices, updates, params):
    params = dict(params, update_jaxpr=_combiner(name, get_aval(operand).dtype), update_consts=())
    return primitive.bind(operand, indices, updates, **params)


def _both_zero(tangents) -> bool:
    return type(tangents[0]) is Zero and type(tangents[2]) is Zero


def _additive_jvp(primitive: Primitive) -> Callable:
    def rule(primals, tangents, **params):
        operand, indices, updates = primals
        out = primitive.bind(operand, indices, updates, **params)
        if _both_zero(tangents):
            return out, Zero.from_primal_value(out)
        return out, primitive.bind(instantiate_zeros(tangents[0]), indices,
                                   instantiate_zeros(tangents[2]), **params)

    return rule


def _zero_cotangents(operand, updates) -> list:
    return [Zero(operand.aval) if is_undefined_primal(operand) else None, None,
            Zero(updates.aval) if is_undefined_primal(updates) else None]


def _additive_transpose(negate: bool) -> Callable:
    def rule(ct, operand, indices, updates, **params):
        if type(ct) is Zero:
            return _zero_cotangents(operand, updates)
        ct_updates = None
        if is_undefined_primal(updates):
            ct_updates = _gather_back(ct, indices, updates.aval.shape, params, True)
            if negate:
                ct_updates = named("neg").bind(ct_updates)
        return [ct if is_undefined_primal(operand) else None, None, ct_updates]

    return rule


define_jvp(scatter_add_p, _additive_jvp(scatter_add_p))
define_jvp(scatter_sub_p, _additive_jvp(scatter_sub_p))
define_transpose(scatter_add_p, _additive_transpose(False))
define_transpose(scatter_sub_p, _additive_transpose(True))


def _gather_transpose(ct, operand, indices, *, dimension_numbers, slice_sizes,
                      indices_are_sorted, unique_indices, mode, fill_value):
    if type(ct) is Zero:
        return [Zero(operand.aval), None]
    numbers = ScatterDimensionNumbers(*dimension_numbers)
    zeros = full(operand.aval.shape, 0, get_aval(ct).dtype)
    return [_bind(scatter_add_p, "add", zeros, indices, ct, numbers, indices_are_sorted,
                  unique_indices, mode), None]


define_transpose(gather_p, _gather_transpose)


def _mul_jvp(primals, tangents, **params):
    operand, indices, updates = primals
    t_operand, _, t_updates = tangents
    out = scatter_mul_p.bind(operand, indices, updates, **params)
    if _both_zero(tangents):
        return out, Zero.from_primal_value(out)
    total = Zero.from_primal_value(out)
    if type(t_operand) is not Zero:
        total = scatter_mul_p.bind(t_operand, indices, updates, **params)
    if type(t_updates) is not Zero:
        if not params["unique_indices"]:
            raise NotImplementedError(
                "scatter_mul gradients are only implemented if `unique_indices=True`: pass it if "
                "no position occurs twice")
        spread = _bind_combine(scatter_add_p, "add", full_like(operand, 0), indices, t_updates,
                               params)
        total = add_tangents(total, named("mul").bind(operand, spread))
    return out, total


def _mul_transpose(ct, operand, indices, updates, **params):
    if type(ct) is Zero:
        return _zero_cotangents(operand, updates)
    if is_undefined_primal(operand):
        return [scatter_mul_p.bind(ct, indices, updates, **params), None, None]
    if not params["unique_indices"]:
        raise NotImplementedError(
            "scatter_mul gradients are only implemented if `unique_indices=True`: pass it if no "
            "position occurs twice")
    through = named("mul").bind(ct, operand)
    return [None, None, _gather_back(through, indices, updates.aval.shape, params, True)]


define_jvp(scatter_mul_p, _mul_jvp)
define_transpose(scatter_mul_p, _mul_transpose)


def _constant_like(x, value):
    aval = get_aval(x)
    return full(aval.shape, value, aval.dtype)


def _select(condition, if_true, if_false):
    return named("select_n").bind(condition, if_false, if_true)


def _winners(operand, indices, updates, params):
    """Masks of the operand elements left alone, and of the updates that are not overwritten.

    Every update window gets a number; scattered like the updates, the numbers show who came last.
    """
    numbers, shape = params["dimension_numbers"], shape_of(updates)
    window = numbers.update_window_dims
    batch = tuple([d for d in range(len(shape)) if d not in window])
    ids_dtype = np.dtype(np.uint32)
    count = named("iota").bind(dtype=ids_dtype, dimension=0, sharding=None,
                               shape=(int(np.prod([shape[d] for d in batch], dtype=np.int64)),))
    count = named("reshape").bind(count, new_sizes=tuple([shape[d] for d in batch]),
                                  dimensions=None, sharding=None)
    ids = named("add").bind(broadcast_in_dim(count, shape, batch), full(shape, 1, ids_dtype))
    nobody = full(shape_of(operand), 0, ids_dtype)
    owner = scatter_p.bind(nobody, indices, ids, **params)
    untouched = named("eq").bind(owner, nobody)
    last = named("eq").bind(ids, _gather_back(owner, indices, shape, params, True))
    return untouched, last


def _set_jvp(primals, tangents, **params):
    operand, indices, updates = primals
    t_operand, _, t_updates = tangents
    out = scatter_p.bind(operand, indices, updates, **params)
    if _both_zero(tangents):
        return out, Zero.from_primal_value(out)
    if params["unique_indices"] or type(t_updates) is Zero:
        return out, scatter_p.bind(instantiate_zeros(t_operand), indices,
                                   instantiate_zeros(t_updates), **params)
    # Scatter is not linear in overlapping updates as one piece: the winner's tangent counts.
    untouched, last = _winners(operand, indices, updates, params)
    kept = _constant_like(operand, 0) if type(t_operand) is Zero else \
        _select(untouched, t_operand, _constant_like(operand, 0))
    written = _select(last, t_updates, _constant_like(updates, 0))
    return out, _bind_combine(scatter_add_p, "add", kept, indices, written, params)


def _apply_jvp(primals, tangents, **params):
    if type(tangents[0]) is not Zero:
        raise NotImplementedError("scatter_apply has no derivative; write "
                                  "x.at[i].set(func(x[i])) instead of x.at[i].apply(func)")
    out = scatter_apply_p.bind(*primals, **params)
    return out, Zero.from_primal_value(out)


def _set_transpose(ct, operand, indices, updates, **params):
    if type(ct) is Zero:
        return _zero_cotangents(operand, updates)
    linear_updates = is_undefined_primal(updates)
    if linear_updates and not params["unique_indices"]:
        raise NotImplementedError(
            "scatter transpose is only implemented where unique_indices=True: pass it if no "
            "position occurs twice")
    aval = updates.aval if linear_updates else get_aval(updates)
    ct_operand = ct_updates = None
    if is_undefined_primal(operand):
        ct_operand = scatter_p.bind(ct, indices, full(aval.shape, 0, get_aval(ct).dtype), **params)
    if linear_updates:
        ct_updates = _gather_back(ct, indices, aval.shape, params, True)
    return [ct_operand, None, ct_updates]


define_jvp(scatter_p, _set_jvp)
define_jvp(scatter_apply_p, _apply_jvp)
define_transpose(scatter_p, _set_transpose)


def _extremal_jvp(primitive: Primitive) -> Callable:
    """The derivative goes to whoever attains the extremum, in equal parts.

    count = [operand attains] + number of updates that attain;
    d out = d operand · [operand attains]/count + sum of d update · [update attains]/count
    """

    def rule(primals, tangents, **params):
        operand, indices, updates = primals
        t_operand, _, t_updates = tangents
        out = primitive.bind(operand, indices, updates, **params)
        if _both_zero(tangents):
            return out, Zero.from_primal_value(out)
        eq, mul, div = named("eq"), named("mul"), named("div")

        def back(x):
            return _gather_back(x, indices, shape_of(updates), params)

        def attains(mask, like):
            return _select(mask, _constant_like(like, 1), _constant_like(like, 0))

        def spread(base, values):
            return _bind_combine(scatter_add_p, "add", base, indices, values, params)

        by_operand = attains(eq.bind(operand, out), operand)
        by_update = attains(eq.bind(updates, back(out)), updates)
        count = spread(by_operand, by_update)
        total = _constant_like(operand, 0) if type(t_operand) is Zero else mul.bind(
            t_operand, div.bind(by_operand, _at_least_one(count)))
        if type(t_updates) is not Zero:
            share = div.bind(by_update, _at_least_one(back(count)))
            total = spread(total, mul.bind(t_updates, share))
        return out, total

    return rule


def _at_least_one(count):
    return named("max").bind(count, _constant_like(count, 1))


define_jvp(scatter_min_p, _extremal_jvp(scatter_min_p))
define_jvp(scatter_max_p, _extremal_jvp(scatter_max_p))

# --- batching --------------------------------------------------------------------------------


def _scatter_batch(primitive: Primitive) -> Callable:
    def rule(args, dims, *, dimension_numbers, **params):
        operand, indices, updates = args
        numbers = dimension_numbers
        size = batch_size(args, dims)
        operand = at_front(operand, dims[0], size)
        updates = at_front(updates, dims[2], size)
        moved = ScatterDimensionNumbers(*map(shifted, numbers))
        if dims[1] is None:
            # the batch axis is one more axis of every window
            moved = moved._replace(
                update_window_dims=(0, *moved.update_window_dims),
                scatter_indices_batching_dims=numbers.scatter_indices_batching_dims)
        else:
            indices = move_dimension(indices, dims[1], 0)
            moved = moved._replace(
                operand_batching_dims=(0, *moved.operand_batching_dims),
                scatter_indices_batching_dims=(0, *moved.scatter_indices_batching_dims))
        return primitive.bind(operand, indices, updates, dimension_numbers=moved, **params), 0

    return rule


for _primitive in (scatter_p, scatter_add_p, scatter_sub_p, scatter_mul_p, scatter_min_p,
                   scatter_max_p, scatter_apply_p):
    define_batch(_primitive, _scatter_batch(_primitive))


def _dynamic_update_slice_batch(args, dims):
    """A batch of boxes written at different places is a scatter that clamps."""
    start_dims = dims[2:]
    if all(d is None for d in start_dims):
        return batched_box_write(args, dims)
    operand, update, *starts = args
    indices = index_vectors(starts, start_dims, batch_size(args, dims))
    everything = tuple(range(len(starts)))
    numbers = ScatterDimensionNumbers(everything, (), everything)
    return _scatter_batch(scatter_p)(
        (operand, indices, update), (dims[0], 0, dims[1]), dimension_numbers=numbers,
        indices_are_sorted=True, unique_indices=True, mode=_CLIP, update_jaxpr=None,
        update_consts=())


define_batch(dynamic_update_slice_p, _dynamic_update_slice_batch)
