"""What single operations do wrong: indices out of bounds, and which operations make no NaNs.

In: an equation and its operands, as arrays. Out: whether it failed, and the numbers for the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.core.avals import get_aval
from jitney.core.jaxpr import JaxprEqn
from jitney.lax.scatter import window_sizes

# Operations that only move or choose values, or round them: a NaN that comes out was there before.
MOVING = frozenset("""
    abs ceil clamp complex conj floor imag max min neg nextafter real reduce_max reduce_min
    reduce_window_max reduce_window_min round scatter-max scatter-min sign square
    all_gather all_to_all argsort bitcast_convert_type broadcast_in_dim concatenate
    convert_element_type copy device_put dynamic_slice dynamic_update_slice empty expand_dims full
    gather iota name optimization_barrier ppermute reduce_precision reshape rev
    scatter select_n sharding_constraint slice sort split squeeze stack stop_gradient tile top_k
    transpose unstack debug_callback debug_print pure_callback io_callback
""".split())
_SCATTERS = frozenset(("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min",
                       "scatter-max", "scatter_apply"))
INDEXED = _SCATTERS | {"gather", "dynamic_slice", "dynamic_update_slice"}


def out_of_bounds(shape: tuple, payload: Any) -> str:
    """The text for an index (value, axis)."""
    index, axis = (int(n) for n in payload)
    return (f"out-of-bounds indexing for array of shape {shape}: index {index} is out of bounds "
            f"for axis {axis} with size {shape[axis]}. ")


def out_of_bounds_index(eqn: JaxprEqn, operands: Sequence) -> tuple[Any, Any]:
    """(whether an index is out of bounds, int32 [first such index, its axis])."""
    indices, axes, bounds = _indices(eqn, operands)
    if 0 in get_aval(indices).shape:
        return jnp.bool_(False), jnp.zeros(2, np.int32)
    flat = jnp.reshape(indices, (-1, len(axes)))
    wrong = jnp.logical_or(flat < 0, flat > jnp.asarray(bounds, flat.dtype)).ravel()
    first = jnp.argmax(wrong)
    axis = jnp.asarray(axes, np.int32)[first % len(axes)]
    payload = jnp.stack([flat.ravel()[first].astype(np.int32), axis])
    return jnp.any(wrong), payload


def _indices(eqn: JaxprEqn, operands: Sequence) -> tuple[Any, list[int], list[int]]:
    """Integers of shape (…, k), the k axes they are for, and the greatest allowed values."""
    name, params, shape = eqn.primitive.name, eqn.params, get_aval(operands[0]).shape
    if name in ("dynamic_slice", "dynamic_update_slice"):
        slicing = name == "dynamic_slice"
        sizes = params["slice_sizes"] if slicing else get_aval(operands[1]).shape
        starts = [_signed(x) for x in operands[1 if slicing else 2:]]
        axes = list(range(len(shape)))
        indices = jnp.stack(starts) if starts else jnp.zeros(0, np.int32)
    else:
        numbers, indices = params["dimension_numbers"], _signed(operands[1])
        if name == "gather":
            sizes, axes = params["slice_sizes"], list(numbers.start_index_map)
        else:
            _, sizes = window_sizes(len(shape), get_aval(operands[2]).shape, numbers)
            axes = list(numbers.scatter_dims_to_operand_dims)
    return indices, axes, [shape[d] - sizes[d] for d in axes]


def _signed(x: Any) -> Any:
    """Indices as integers that may be negative, of 32 bits or more."""
    wide = get_aval(x).dtype in (np.dtype(np.int64), np.dtype(np.uint64))
    return lax.convert_element_type(x, np.int64 if wide else np.int32)


def first_failure(code: Any, payload: Sequence, sites: Sequence) -> tuple[Any, list]:
    """The code and payload of a check; of a batched one, those of the first failing example."""
    rank = len(get_aval(code).shape)
    if not rank:
        return code, list(payload)
    flat = jnp.reshape(code, -1)
    if not flat.shape[0]:
        return jnp.int32(-1), [jnp.zeros(a.shape, a.dtype) for s in sites for a in s.avals]
    first = jnp.argmax(flat >= 0)
    return flat[first], [jnp.reshape(x, (-1, *get_aval(x).shape[rank:]))[first] for x in payload]
