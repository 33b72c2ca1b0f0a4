"""Discrete Fourier transforms over the last axes: fft and its type FftType.

In: an array, the type of the transform, and the lengths of the last axes (of the real side, where
there is one). Out: complex arrays; real ones for IRFFT. FFT and RFFT sum x[j] exp(-2πi jk / n);
IFFT and IRFFT sum with +, and divide by the product of the lengths.
Invariant: of RFFT's result, and of IRFFT's operand, the last axis holds the frequencies 0 … n // 2
only; IRFFT does not read the imaginary parts of those that must be real.
"""

from __future__ import annotations

import enum
import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.base import config, dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.calls import bind_jit
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.primitive import Primitive
from jitney.core.staging import trace_flat
from jitney.lax.arithmetic import div, mul
from jitney.lax.cast import convert
from jitney.lax.complex_parts import conj
from jitney.lax.promotion import as_operand
from jitney.lax.shape import broadcast_in_dim, full, linear, shape_of
from jitney.lax.slicing import dynamic_update_slice
from jitney.transforms.vmap import define_batch, move_dimension

_COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}
_REAL_OF = {c: r for r, c in _COMPLEX_OF.items()}


class FftType(enum.IntEnum):
    """Describes which FFT operation to perform."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


# --- the function ----------------------------------------------------------------------------


def _type_of(fft_type: Any) -> FftType:
    if isinstance(fft_type, FftType):
        return fft_type
    if not isinstance(fft_type, str):
        raise TypeError(f"Unknown FFT type value '{fft_type}'; expected a jax.lax.FftType or one "
                        "of the strings 'FFT', 'IFFT', 'RFFT', 'IRFFT'.")
    try:
        return FftType[fft_type.upper()]
    except KeyError:
        raise ValueError(f"Unknown FFT type '{fft_type}'; expected 'FFT', 'IFFT', 'RFFT' or "
                         "'IRFFT'.") from None


def _lengths_of(fft_lengths: Any) -> tuple[int, ...]:
    try:
        return tuple([operator.index(n) for n in fft_lengths])
    except TypeError:
        raise TypeError("fft_lengths must be a sequence of integers, one for each of the last axes "
                        f"to be transformed, got {fft_lengths!r}.") from None


def fft(x, fft_type: FftType | str, fft_lengths: Sequence[int]):
    """The discrete Fourier transform over the last len(fft_lengths) axes of x.

    x: [..., *fft_lengths] for FFT, IFFT (any numbers; computed as complex) and RFFT (real);
    [..., *fft_lengths[:-1], fft_lengths[-1] // 2 + 1] for IRFFT. Not scaled forwards, divided by
    the product of the lengths backwards. ValueError for shapes that do not fit and for RFFT of
    complex numbers; TypeError for what is no array.

    >>> fft(np.array([1.0, 2.0, 4.0]), "RFFT", (3,)).tolist()[0]
    (7+0j)
    """
    kind, lengths = _type_of(fft_type), _lengths_of(fft_lengths)
    x = as_operand(x, "fft", 0)
    if config.disable_jit.value:
        return _apply(x, kind, lengths)
    aval = get_aval(x)
    closed = _program(ShapedArray(aval.shape, aval.dtype), kind, lengths)
    return bind_jit(closed, [x], "fft")[0]


@functools.lru_cache(maxsize=1024)
def _program(aval: ShapedArray, kind: FftType, lengths: tuple[int, ...]) -> ClosedJaxpr:
    """The conversion and the transform as a program that equal calls share."""
    return ClosedJaxpr(*trace_flat(lambda x: [_apply(x, kind, lengths)], [aval]))


def _apply(x: Any, kind: FftType, lengths: tuple[int, ...]) -> Any:
    dtype = get_aval(x).dtype
    if kind is FftType.RFFT:
        if dtypes.is_complex(dtype):
            raise ValueError("only real valued inputs supported for rfft; got an array of dtype "
                             f"{dtype}. Use fft, or transform x.real and x.imag.")
        x = convert(x, dtypes.to_inexact_dtype(dtype), False)
    else:
        x = convert(x, dtypes.to_complex_dtype(dtype), False)
    return fft_p.bind(x, fft_type=kind, fft_lengths=lengths) if lengths else x


# --- the primitive ---------------------------------------------------------------------------

fft_p = Primitive("fft", kind="fft")


@fft_p.def_print
def _shown(params: dict, eqn: Any) -> dict:
    return {"fft_lengths": params["fft_lengths"], "fft_type": int(params["fft_type"])}


def _check_dtype(name: str, kind: FftType, dtype: Any) -> None:
    accepted = _COMPLEX_OF if kind is FftType.RFFT else _REAL_OF
    if dtype.name not in accepted:
        raise ValueError(f"{name} input must be {' or '.join(accepted)}, got {dtype}")


def _check_shape(name: str, kind: FftType, shape: tuple, lengths: tuple) -> None:
    rank = len(lengths)
    if len(shape) < rank:
        raise ValueError(f"{name} input shape {shape} must have at least as many input dimensions "
                         f"as fft_lengths {lengths}.")
    if any(n < 0 for n in lengths):
        raise ValueError(f"{name} fft_lengths must not be negative, got {lengths}.")
    minor = shape[len(shape) - rank:]
    if kind is not FftType.IRFFT:
        if minor != lengths:
            raise ValueError(f"{name} input shape {shape} minor dimensions must be equal to "
                             f"fft_lengths {lengths}")
        if kind is FftType.RFFT and rank and lengths[-1] == 0:
            raise ValueError(f"{name} of no data points: the last of fft_lengths {lengths} is 0, "
                             "and there is no frequency 0 to sum. Give n, or transform only "
                             "arrays that are not empty along that axis.")
        return
    if minor[:-1] != lengths[:-1]:
        raise ValueError(f"{name} input shape {shape} minor dimensions must be equal to all except "
                         f"the last fft_length, got fft_lengths={lengths}")
    if rank and minor[-1] != lengths[-1] // 2 + 1 and (lengths[-1] or minor[-1]):
        raise ValueError(f"{name} requires the innermost dimension to be fft_lengths[-1] // 2 + 1 "
                         f"= {lengths[-1] // 2 + 1}, got {minor[-1]} in the input shape {shape} "
                         f"with fft_lengths={lengths}. Slice or pad the input.")


@fft_p.def_abstract
def _fft_type_rule(x, *, fft_type, fft_lengths):
    name = fft_type.name
    _check_dtype(name, fft_type, x.dtype)
    _check_shape(name, fft_type, x.shape, fft_lengths)
    shape, dtype = x.shape, x.dtype
    if fft_type is FftType.RFFT and fft_lengths:
        shape, dtype = (*shape[:-1], shape[-1] // 2 + 1), np.dtype(_COMPLEX_OF[dtype.name])
    elif fft_type is FftType.IRFFT and fft_lengths:
        shape, dtype = (*shape[:-1], fft_lengths[-1]), np.dtype(_REAL_OF[dtype.name])
    return ShapedArray(shape, dtype)


@fft_p.def_reference
def _reference(x, *, fft_type, fft_lengths):
    out = _fft_type_rule(ShapedArray(x.shape, x.dtype), fft_type=fft_type, fft_lengths=fft_lengths)
    if not fft_lengths:
        return x
    if math.prod(out.shape) == 0:
        return np.zeros(out.shape, out.dtype)
    function = {FftType.FFT: np.fft.fftn, FftType.IFFT: np.fft.ifftn, FftType.RFFT: np.fft.rfftn,
                FftType.IRFFT: np.fft.irfftn}[fft_type]
    axes = tuple(range(-len(fft_lengths), 0))
    return function(x, s=fft_lengths, axes=axes).astype(out.dtype)


# --- transposition ---------------------------------------------------------------------------
# A complex transform is symmetric: it is its own transpose. Over the reals, RFFT is the first half
# of FFT; its transpose sums Re(ct[k] exp(-2πi jk / n)) over that half. IRFFT sums over both halves,
# so what counts twice in it (all but frequency 0 and, for even n, n / 2) is halved first.


def _twice(dtype: Any, n: int, rank: int) -> Any:
    """How often IRFFT of length n counts each frequency: 1 2 … 2 (1), along the last axis."""
    size = n // 2 + 1
    one = np.asarray(1, dtype)[()]
    weights = full((size,), 2, dtype)
    weights = dynamic_update_slice(weights, full((1,), one, dtype), (np.int32(0),))
    if n % 2 == 0:
        weights = dynamic_update_slice(weights, full((1,), one, dtype), (np.int32(size - 1),))
    shape = (1,) * (rank - 1) + (size,)
    return broadcast_in_dim(weights, shape, (rank - 1,)) if rank > 1 else weights


def _rfft_transpose(ct: Any, lengths: tuple[int, ...]) -> Any:
    dtype = get_aval(ct).dtype
    weights = _twice(dtype, lengths[-1], len(shape_of(ct)))
    x = fft(div(conj(ct), weights), FftType.IRFFT, lengths)
    return mul(np.asarray(math.prod(lengths), get_aval(x).dtype)[()], x)


@functools.lru_cache(maxsize=256)
def _rfft_transpose_program(aval: ShapedArray, lengths: tuple[int, ...]) -> ClosedJaxpr:
    return ClosedJaxpr(*trace_flat(lambda ct: [_rfft_transpose(ct, lengths)], [aval]))


def _irfft_transpose(ct: Any, lengths: tuple[int, ...]) -> Any:
    x = fft(ct, FftType.RFFT, lengths)
    dtype = get_aval(x).dtype
    weights = _twice(dtype, lengths[-1], len(shape_of(x)))
    scale = np.asarray(1 / math.prod(lengths), dtype)[()]
    return conj(mul(mul(scale, weights), x))


def _transpose(ct, x, *, fft_type, fft_lengths):
    if fft_type is FftType.RFFT:
        aval = get_aval(ct)
        program = _rfft_transpose_program(ShapedArray(aval.shape, aval.dtype), fft_lengths)
        return [bind_jit(program, [ct], "_rfft_transpose")[0]]
    if fft_type is FftType.IRFFT and math.prod(shape_of(ct)) == 0:
        return [full(x.aval.shape, 0, x.aval.dtype)]
    if fft_type is FftType.IRFFT:
        return [_irfft_transpose(ct, fft_lengths)]
    return [fft(ct, fft_type, fft_lengths)]


linear(fft_p, _transpose)


# --- batching --------------------------------------------------------------------------------


def _batch(args, dims, *, fft_type, fft_lengths):
    x = move_dimension(args[0], dims[0], 0)
    return fft(x, fft_type, fft_lengths), 0


define_batch(fft_p, _batch)

__all__ = ["FftType", "fft", "fft_p"]
