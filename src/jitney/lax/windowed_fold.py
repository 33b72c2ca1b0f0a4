"""`reduce_window` with an arbitrary function: its derivative, and batches of initial values.

In: the operands of a `reduce_window` equation. Out: the same values by ordinary primitives, one
step for every place of the window, which can be differentiated and batched as any program.
Invariant: as in `reduce_window`, padding and holes are not combined, and elements are combined in
row-major order. The size of the program grows with the size of a window, not with the operand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.core import interpret
from jitney.core.avals import get_aval
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr
from jitney.lax.joining import pad
from jitney.lax.padding import spread_and_pad
from jitney.lax.select import select
from jitney.lax.shape import broadcast_in_dim, reshape, shape_of
from jitney.lax.slicing import slice_p
from jitney.lax.windowed import reduce_window_p, window_output_shape, with_batch_axis
from jitney.transforms.jvp import Zero, define_jvp, jvp_flat
from jitney.transforms.vmap import at_front, batch_flat, batch_jaxpr, batch_size, define_batch


def fold_of_places(args: Sequence, jaxpr: Jaxpr, consts: Sequence, geometry: dict) -> list:
    """See the module's text; the operands, then their initial values."""
    half = len(args) // 2
    operands, inits = args[:half], args[half:]
    out_shape = window_output_shape(shape_of(operands[0]), **geometry)
    size = math.prod(out_shape)
    folded = [broadcast_in_dim(x, (size,), ()) for x in inits]
    if size:
        step, _ = batch_jaxpr(ClosedJaxpr(jaxpr, list(consts)), size, [True] * (2 * half), True)
        exists = np.ones(shape_of(operands[0]), np.bool_)
        for place in np.ndindex(*geometry["window_dimensions"]):
            there = _at_place(exists, place, out_shape, geometry).reshape(size)
            if there.any():
                found = [reshape(_at_place(x, place, out_shape, geometry), (size,))
                         for x in operands]
                folded = _where(there, interpret.eval_closed(step, *folded, *found), folded)
    return [reshape(x, out_shape) for x in folded]


def _where(there: np.ndarray, new: list, old: list) -> list:
    if there.all():
        return new
    return [select(there, a, b) for a, b in zip(new, old, strict=True)]


def _at_place(x: Any, place: Sequence[int], out_shape: Sequence[int], geometry: dict) -> Any:
    """What stands at one place of every window; zero (False) where there is nothing."""
    padding, dilation = geometry["padding"], geometry["base_dilation"]
    strides = geometry["window_strides"]
    first = [p * d for p, d in zip(place, geometry["window_dilation"], strict=True)]
    limits = [f + (n - 1) * s + 1 for f, n, s in zip(first, out_shape, strides, strict=True)]
    if type(x) is np.ndarray:
        where = tuple(map(slice, first, limits, strides))
        return spread_and_pad(x, False, padding, dilation)[where]
    padded = pad(x, np.zeros((), get_aval(x).dtype)[()],
                 [(lo, hi, d - 1) for (lo, hi), d in zip(padding, dilation, strict=True)])
    return slice_p.bind(padded, start_indices=tuple(first), limit_indices=tuple(limits),
                        strides=tuple(strides))


def _jvp(primals, tangents, *, jaxpr, consts, **geometry):
    outs = reduce_window_p.bind(*primals, jaxpr=jaxpr, consts=consts, **geometry)
    if all(type(t) is Zero for t in tangents):
        return outs, [Zero.from_primal_value(o) for o in outs]
    _, dots = jvp_flat(lambda *args: fold_of_places(args, jaxpr, consts, geometry),
                       primals, tangents)
    return outs, dots


def _batch(args, dims, *, jaxpr, consts, **geometry):
    half, size = len(args) // 2, batch_size(args, dims)
    if any(d is not None for d in dims[half:]):
        return batch_flat(lambda *xs: fold_of_places(xs, jaxpr, consts, geometry), args, dims,
                          size)
    operands = [at_front(x, d, size) for x, d in zip(args[:half], dims[:half], strict=True)]
    outs = reduce_window_p.bind(*operands, *args[half:], jaxpr=jaxpr, consts=consts,
                                **with_batch_axis(geometry))
    return outs, [0] * half


define_jvp(reduce_window_p, _jvp)
define_batch(reduce_window_p, _batch)
