"""Lowering of Fourier transforms: one call of a native routine an axis.

In: `fft` equations. Out: "fft" calls whose attributes are the routine's name and its sizes
(csrc/routines/README.md, fuse/fft.py). Complex arrays travel in their stored form.
"""

import math

import numpy as np

from ..core.avals import ShapedArray
from ..graph.graph import is_literal
from ..ir.types import physical_type
from .rules import Pair, lower_rule, stored_whole

_NAMES = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}
_WHOLE = {"float32": "complex64", "float64": "complex128"}


@lower_rule("fft")
def lower_fft(ctx, eqn, x):
    kind, lengths = eqn.params["fft_type"].name, eqn.params["fft_lengths"]
    source, out = eqn.invars[0].aval, eqn.outvars[0].aval
    if not lengths:
        return x
    if out.size == 0:
        return ctx.literal(0, out)
    forward = kind in ("FFT", "RFFT")
    if kind in ("FFT", "IFFT") and len(lengths) == 1:
        turned = _along_turned(ctx, x, out, forward)
        if turned is not None:
            return turned
    is_real = kind == "FFT" and isinstance(x, Pair) and is_literal(x.im, 0)
    node, first = x.re if is_real else ctx.physical(x), len(out.shape) - len(lengths)
    others = range(len(out.shape) - 1, first - 1, -1)       # the axes of complex transforms
    if is_real or kind in ("RFFT", "IRFFT"):
        others = others[1:]
    if is_real:                                             # half the work, and no copy
        node = _along_last(ctx, "fft_real", _parts_of(out), out, lengths[-1], node)
    if kind == "RFFT":
        node = _along_last(ctx, "rfft", source, out, lengths[-1], node)
    along = source if kind == "IRFFT" else out
    for axis in others:
        node = _along(ctx, along, axis, forward, node)
    if kind == "IRFFT":
        node = _along_last(ctx, "irfft", out, out, lengths[-1], node)
    return ctx.logical(node, out)


def _parts_of(aval):
    """The type of the parts of a complex array."""
    return ShapedArray(aval.shape, np.empty(0, aval.dtype).real.dtype)


def _along_turned(ctx, x, aval, forward):
    """The transform of a stored array whose axes were exchanged (columns, say): along its own axis,
    where it lies. None for others."""
    if not isinstance(x, Pair) or {part.op for part in x} != {"transpose"}:
        return None
    order, before = x.re.attrs[0], Pair(*[part.args[0] for part in x])
    stored = stored_whole(before)
    if x.im.attrs[0] != order or stored is None:
        return None
    own = ShapedArray(before.shape, aval.dtype)
    found = ctx.logical(_along(ctx, own, order[-1], forward, stored), own)
    return ctx.each(found, lambda part: ctx.g.transpose(part, order))


def _along(ctx, aval, axis, forward, node):
    """The complex transform along one axis of a stored array."""
    n, inner = aval.shape[axis], math.prod(aval.shape[axis + 1 :])
    if n == 1:
        return node
    attrs = (f"fft_{_NAMES[aval.dtype.name]}", (n, inner, int(forward)))
    return ctx.g.call("fft", [node], [physical_type(aval.shape, aval.dtype)], attrs)[0]


def _along_last(ctx, routine, real, out, n, node):
    """The transform between real rows of n elements and complex ones (n of them in fft_real)."""
    attrs = (f"{routine}_{_NAMES[real.dtype.name]}", (n,))
    return ctx.g.call("fft", [node], [physical_type(out.shape, out.dtype)], attrs)[0]
