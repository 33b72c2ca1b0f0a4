"""gather and the scatters.

In: an operand, indices whose last axis is the index vector, dimension numbers, a mode. Out:
`stablehlo.gather` (which clamps) and `stablehlo.scatter` (which drops what is outside).
Invariant: the other modes are written out: fill as a choice by a mask, clip of scatters as a clamp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.lax.gather import GatherScatterMode
from jitney.stablehlo.builder import Builder
from jitney.stablehlo.forms import array_attribute, numbers
from jitney.stablehlo.ops import Value
from jitney.stablehlo.reduce import _max, _min
from jitney.stablehlo.rules import rule, write_closed
from jitney.stablehlo.types import I32, is_unsigned

_FILLING = (GatherScatterMode.FILL_OR_DROP, GatherScatterMode.ONE_HOT)


def _wide_indices(b: Builder, indices: Value) -> Value:
    """Types of 8 and 16 bits may not hold the bounds they are compared with."""
    return b.convert(indices, I32) if indices.dtype.itemsize < 4 else indices


def _numbers_text(kind: str, lists: dict[str, Any], vector: int) -> str:
    parts = [f"{name} = {numbers(dims)}" for name, dims in lists.items() if dims]
    if vector:
        parts.append(f"index_vector_dim = {vector}")
    return f"#stablehlo.{kind}<{', '.join(parts)}>"


def _flag(value: bool) -> str:
    return "true" if value else "false"


# --- gather --------------------------------------------------------------------------------------


@rule("gather")
def _gather(b, site, x, indices):
    p = site.params
    n, vector = p["dimension_numbers"], len(indices.shape) - 1
    indices = _wide_indices(b, indices)
    inside = None
    if p["mode"] in _FILLING:
        last = [x.shape[d] - p["slice_sizes"][d] for d in n.start_index_map]
        inside = _all_inside(b, indices, last)
    text = _numbers_text("gather", {
        "offset_dims": n.offset_dims, "collapsed_slice_dims": n.collapsed_slice_dims,
        "operand_batching_dims": n.operand_batching_dims,
        "start_indices_batching_dims": n.start_indices_batching_dims,
        "start_index_map": n.start_index_map}, vector)
    found = b.one("stablehlo.gather", (x, indices), site.out, {
        "dimension_numbers": text, "indices_are_sorted": _flag(p["indices_are_sorted"]),
        "slice_sizes": array_attribute(p["slice_sizes"])})
    if inside is None:
        return found
    batch = [d for d in range(site.out.rank) if d not in n.offset_dims]
    fill = 0 if p["fill_value"] is None else p["fill_value"]
    mask = b.broadcast(inside, site.out.shape, batch)
    return b.select(mask, found, b.full(fill, site.out))


def _all_inside(b: Builder, indices: Value, last: list[int]) -> Value:
    """Where every component of an index is between 0 and its last admissible value."""
    vector = len(indices.shape) - 1
    bound = _bounds(b, indices, last)
    fits = b.compare("LE", indices, bound)
    if not is_unsigned(indices.dtype):
        fits = b.and_(b.compare("GE", indices, b.like(indices, 0)), fits)
    return b.reduce([fits], [b.constant(True)], (vector,), Builder.and_)[0]


def _bounds(b: Builder, indices: Value, last: list[int]) -> Value:
    """The last admissible values, with the shape of the indices."""
    bounds = b.constant(np.array(last).reshape(len(last)), indices.dtype)
    return b.broadcast(bounds, indices.shape, (len(indices.shape) - 1,))


# --- scatter -------------------------------------------------------------------------------------

_COMBINE = {
    "scatter-add": Builder.add, "scatter-sub": Builder.subtract, "scatter-mul": Builder.multiply,
    "scatter-max": _max, "scatter-min": _min,
}


def _combiner(site):
    """What makes a new element of the old one and the update."""
    name = site.name.replace("_", "-")
    if name in _COMBINE:
        return _COMBINE[name]
    if name == "scatter-apply":
        return lambda b, old, update: write_closed(b, site.params["update_jaxpr"], [old, update])
    return lambda b, old, update: update


@rule("scatter", "scatter_apply", *_COMBINE, *(name.replace("-", "_") for name in _COMBINE))
def _scatter(b, site, x, indices, updates):
    p = site.params
    n, vector = p["dimension_numbers"], len(indices.shape) - 1
    indices = _wide_indices(b, indices)
    if dtypes.issubdtype(indices.dtype, np.unsignedinteger):     # beyond the sign bit: outside
        signed = np.dtype(f"int{8 * indices.dtype.itemsize}")
        limit = np.iinfo(signed).max
        indices = b.convert(b.minimum(indices, b.like(indices, limit)), signed)
    if p["mode"] is GatherScatterMode.CLIP:
        last = _last_starts(x, updates, n)
        indices = b.clamp(b.like(indices, 0), indices, _bounds(b, indices, last))
    text = _numbers_text("scatter", {
        "update_window_dims": n.update_window_dims,
        "inserted_window_dims": n.inserted_window_dims,
        "input_batching_dims": n.operand_batching_dims,
        "scatter_indices_batching_dims": n.scatter_indices_batching_dims,
        "scatter_dims_to_operand_dims": n.scatter_dims_to_operand_dims}, vector)
    scalar = x.type.scalar
    return b.one("stablehlo.scatter", (x, indices, updates), site.out, {
        "indices_are_sorted": _flag(p["indices_are_sorted"]), "scatter_dimension_numbers": text,
        "unique_indices": _flag(p["unique_indices"])}, [b.region([scalar, scalar],
                                                                  _combiner(site))])


def _last_starts(x: Value, updates: Value, n: Any) -> list[int]:
    """For every component of an index the greatest start whose window lies inside."""
    absent = (*n.inserted_window_dims, *n.operand_batching_dims)
    sizes = [1] * len(x.shape)
    present = [d for d in range(len(x.shape)) if d not in absent]
    for d, u in zip(present, n.update_window_dims, strict=True):
        sizes[d] = updates.shape[u]
    return [x.shape[d] - sizes[d] for d in n.scatter_dims_to_operand_dims]
