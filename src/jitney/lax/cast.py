"""Changes of type: convert_element_type, bitcast_convert_type, reduce_precision.

In: an array and a dtype (or a format). Out: the same values in the other type, or the same bits.
Invariant: floats become integers by truncation, saturating at the limits; NaN becomes 0.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from jitney import _native
from jitney.base import dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive
from jitney.lax.nary import FLOATING, hide_none, unary
from jitney.lax.shape import linear
from jitney.transforms.jvp import Zero, define_jvp, define_zero_jvp
from jitney.transforms.transpose import define_transpose
from jitney.transforms.vmap import define_batch, define_batch_unary, move_dimension

# --- dtypes asked for by users ---------------------------------------------------------------


def checked_dtype(dtype: Any, context: str) -> Any:
    """The canonical dtype a user asked for, with a warning when 64 bits are not available."""
    wanted = dtypes.dtype_of_spec(dtype)
    found = dtypes.canonicalize_dtype(wanted, allow_extended_dtype=True)
    if found != wanted and not _is_python_type(dtype):
        warnings.warn(
            f"Explicitly requested dtype {wanted} requested in {context} is not available, and "
            f"will be truncated to dtype {found}. To enable more dtypes, set the jax_enable_x64 "
            "configuration option or the JAX_ENABLE_X64 shell environment variable.",
            stacklevel=4)
    return found


def _is_python_type(dtype: Any) -> bool:
    return dtype in (int, float, complex) if isinstance(dtype, type) else False


# --- convert_element_type --------------------------------------------------------------------


def convert_element_type(operand, new_dtype):
    """The values of `operand` as another type.

    >>> convert_element_type(2.7, int).item()
    2
    """
    if new_dtype is None:
        raise ValueError("dtype must be specified.")
    return convert(operand, checked_dtype(new_dtype, "convert_element_type"), False)


def convert(operand: Any, dtype: Any, weak_type: bool) -> Any:
    """Convert to a canonical dtype and weak type; nothing happens when the type is that already."""
    aval = get_aval(operand)
    if aval.dtype == dtype and aval.weak_type == weak_type and hasattr(operand, "aval"):
        return operand
    if dtypes.is_complex(aval.dtype) and not dtypes.is_complex(dtype):
        warnings.warn("Casting complex values to real discards the imaginary part",
                      np.exceptions.ComplexWarning, stacklevel=4)
    if not weak_type and _is_scalar_constant(operand, dtype) \
            and _native.current_trace() is not None:
        return converted_scalar(operand, aval, dtype)
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=weak_type, sharding=None)


def _is_scalar_constant(operand: Any, dtype: Any) -> bool:
    return isinstance(operand, (bool, int, float, complex, np.generic)) \
        and not dtypes.is_extended(dtype)


def converted_scalar(operand: Any, aval: ShapedArray, dtype: Any) -> np.generic:
    """A Python or NumPy scalar as a NumPy scalar of this dtype: a literal under a trace."""
    if type(operand) is int and dtypes.is_integer(dtype):
        limits = dtypes.iinfo(dtype)
        if not int(limits.min) <= operand <= int(limits.max):
            raise OverflowError(f"Python integer {operand} out of bounds for {dtype.name}")
        return np.asarray(operand).astype(dtype)[()]
    with np.errstate(all="ignore"):
        value = np.asarray(operand).astype(aval.dtype)
        return _convert_reference(value, new_dtype=dtype)[()]


convert_element_type_p = Primitive("convert_element_type", kind="elementwise")
hide_none(convert_element_type_p, "sharding")


@convert_element_type_p.def_abstract
def _convert_type(operand, *, new_dtype, weak_type, sharding=None):
    if (dtypes.is_extended(operand.dtype) or dtypes.is_extended(new_dtype)) \
            and operand.dtype != new_dtype:
        raise ValueError(
            f"Cannot convert_element_type from {operand.dtype} to {new_dtype}. Use "
            "jax.random.key_data and jax.random.wrap_key_data for random keys.")
    return ShapedArray(operand.shape, new_dtype, weak_type)


def _float_to_integer(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Truncate, saturate, and send NaN to 0."""
    limits = dtypes.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    x = x.astype(np.float64)
    inside = (x > float(low) - 1) & (x < float(high) + 1) & ~np.isnan(x)
    if high >= 2**53:                                       # float(high) rounds up to 2⁶³ or 2⁶⁴
        inside &= x < float(high)
    wide = np.uint64 if high == 2**64 - 1 else np.int64
    safe = np.trunc(np.where(inside, x, 0)).astype(wide)
    out = np.where(inside, safe, np.array(0, wide))
    out = np.where(~inside & (x < 0), np.array(low, wide), out)
    return np.where(~inside & (x > 0), np.array(high, wide), out).astype(dtype)


@convert_element_type_p.def_reference
def _convert_reference(operand, *, new_dtype, weak_type=False, sharding=None):
    if dtypes.is_extended(new_dtype) or operand.dtype == new_dtype:
        return operand
    if dtypes.is_complex(operand.dtype) and not dtypes.is_complex(new_dtype):
        operand = operand.real
    if new_dtype == np.bool_:
        return operand != np.zeros((), operand.dtype)
    if dtypes.is_floating(operand.dtype) and dtypes.is_integer(new_dtype):
        return _float_to_integer(operand, new_dtype)
    if operand.dtype.kind not in "biufc":                   # through a type NumPy knows
        is_integer = dtypes.is_integer(operand.dtype)
        operand = operand.astype(np.int32 if is_integer else np.float32)
    return operand.astype(new_dtype)


def _convert_jvp(primals, tangents, *, new_dtype, weak_type, sharding=None):
    (x,), (t,) = primals, tangents
    params = dict(new_dtype=new_dtype, weak_type=weak_type, sharding=sharding)
    out = convert_element_type_p.bind(x, **params)
    if type(t) is Zero or not dtypes.is_inexact(new_dtype):
        return out, Zero.from_primal_value(out)
    return out, convert_element_type_p.bind(t, **params)


def _convert_transpose(ct, x, *, new_dtype, weak_type, sharding=None):
    if type(ct) is Zero:
        return [Zero(x.aval)]
    aval = x.aval
    same = get_aval(ct)
    if same.dtype == aval.dtype and same.weak_type == aval.weak_type:
        return [ct]
    return [convert_element_type_p.bind(ct, new_dtype=aval.dtype, weak_type=aval.weak_type,
                                        sharding=None)]


define_jvp(convert_element_type_p, _convert_jvp)
define_transpose(convert_element_type_p, _convert_transpose)
define_batch_unary(convert_element_type_p)

# --- bitcast_convert_type --------------------------------------------------------------------


def bitcast_convert_type(operand, new_dtype):
    """The bits of `operand` read as another type.

    A wider type takes up the last axis, a narrower one adds one.
    """
    dtype = checked_dtype(new_dtype, "bitcast_convert_type")
    return bitcast_convert_type_p.bind(operand, new_dtype=dtype)


bitcast_convert_type_p = Primitive("bitcast_convert_type", kind="elementwise")


@bitcast_convert_type_p.def_abstract
def _bitcast_type(operand, *, new_dtype):
    old = operand.dtype
    if old == new_dtype:
        return ShapedArray(operand.shape, new_dtype)
    if dtypes.is_extended(old) or dtypes.is_extended(new_dtype):
        raise ValueError(f"bitcast_convert_type does not take random keys, got {old} and "
                         f"{new_dtype}; jax.random.key_data gives their content.")
    if old == np.bool_ or new_dtype == np.bool_ or \
            dtypes.is_complex(old) or dtypes.is_complex(new_dtype):
        raise TypeError(
            "lax.bitcast_convert_type does not support bool or complex values unless the operand "
            f"and destination types match. Got operand dtype={old}, {new_dtype=}. Consider using "
            "the arr.view() method instead.")
    before, after = dtypes.itemsize_bits(old), dtypes.itemsize_bits(new_dtype)
    shape = operand.shape
    if before > after:
        return ShapedArray((*shape, before // after), new_dtype)
    if before < after:
        last = shape[-1] if shape else 1
        if not shape or last * before != after:
            raise ValueError(
                f"Attempting to convert array of shape {shape} from {old} of size {before} bits to "
                f"{new_dtype} of size {after}, bits but {last} * {before} != {after}")
        shape = shape[:-1]
    return ShapedArray(shape, new_dtype)


@bitcast_convert_type_p.def_reference
def _bitcast_reference(operand, *, new_dtype):
    before, after = dtypes.itemsize_bits(operand.dtype), dtypes.itemsize_bits(new_dtype)
    if before < 8 or after < 8:
        return _bitcast_small(operand, new_dtype, before, after)
    operand = np.ascontiguousarray(operand).reshape(operand.shape)   # keeps rank 0
    if before == after:
        return operand.view(new_dtype)
    if before > after:
        return operand[..., None].view(new_dtype)
    return operand.view(new_dtype)[..., 0]


def _bitcast_small(operand: np.ndarray, new_dtype: Any, before: int, after: int) -> np.ndarray:
    """Types narrower than a byte: by way of the single bits, least significant first."""
    if before < 8:
        raw = operand.astype(np.int8).view(np.uint8) & np.uint8(2**before - 1)
        bits = (raw[..., None] >> np.arange(before, dtype=np.uint8)) & 1
    else:
        raw = np.ascontiguousarray(operand)[..., None].view(np.uint8)
        bits = np.unpackbits(raw, axis=-1, bitorder="little")
    if before < after:
        bits = bits.reshape(*operand.shape[:-1], after)
    else:
        bits = bits.reshape(*operand.shape, before // after, after)
        bits = bits[..., 0, :] if before == after else bits
    if after >= 8:
        return np.packbits(bits, axis=-1, bitorder="little").view(new_dtype)[..., 0]
    value = (bits.astype(np.int8) << np.arange(after, dtype=np.int8)).sum(-1)
    if dtypes.issubdtype(new_dtype, np.signedinteger):
        value = np.where(value >= 2**(after - 1), value - 2**after, value)
    return value.astype(new_dtype)


def _bitcast_batch(args, dims, *, new_dtype):
    (x,), (dim,) = args, dims
    old = get_aval(x).dtype
    if dtypes.itemsize_bits(old) != dtypes.itemsize_bits(new_dtype):
        x, dim = move_dimension(x, dim, 0), 0              # the last axis has a meaning here
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), dim


define_zero_jvp(bitcast_convert_type_p)
define_batch(bitcast_convert_type_p, _bitcast_batch)

# --- reduce_precision ------------------------------------------------------------------------


def reduce_precision(operand, exponent_bits: int, mantissa_bits: int):
    """Round to a floating format with so many bits, keeping the type."""
    return reduce_precision_p.bind(operand, exponent_bits=operator.index(exponent_bits),
                                   mantissa_bits=operator.index(mantissa_bits))


def _reduce_precision_reference(x, *, exponent_bits, mantissa_bits):
    if x.dtype not in (np.float32, np.float64):
        wide = x.astype(np.float32)
        return _reduce_precision_reference(wide, exponent_bits=exponent_bits,
                                           mantissa_bits=mantissa_bits).astype(x.dtype)
    unsigned = np.dtype(f"u{x.dtype.itemsize}").type
    source_mantissa = 23 if x.dtype == np.float32 else 52
    source_exponent = 8 if x.dtype == np.float32 else 11
    bits = np.ascontiguousarray(x).reshape(x.shape).view(unsigned)
    sign = bits & unsigned(1 << (source_mantissa + source_exponent))
    if mantissa_bits < source_mantissa:                     # to nearest, halves to even
        drop = source_mantissa - mantissa_bits
        odd = (bits >> unsigned(drop)) & unsigned(1)
        bits = bits + unsigned((1 << (drop - 1)) - 1) + odd
        bits = bits & ~unsigned((1 << drop) - 1)
    if exponent_bits < source_exponent:
        mask = unsigned(((1 << source_exponent) - 1) << source_mantissa)
        bias, reduced = (1 << (source_exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        exponent = bits & mask
        bits = np.where(exponent > unsigned((bias + reduced) << source_mantissa), sign | mask, bits)
        bits = np.where(exponent <= unsigned((bias - reduced) << source_mantissa), sign, bits)
    return np.where(np.isnan(x), x, bits.view(x.dtype))


reduce_precision_p = unary("reduce_precision", FLOATING, _reduce_precision_reference)
_plain_reduce_precision_type = reduce_precision_p.abstract_rule


@reduce_precision_p.def_abstract
def _reduce_precision_type(x, *, exponent_bits, mantissa_bits):
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError("reduce_precision: mantissa_bits must be non-negative; got "
                         f"{mantissa_bits}")
    return _plain_reduce_precision_type(x)


linear(reduce_precision_p, lambda ct, x, **params: [reduce_precision_p.bind(ct, **params)])

__all__ = [
    "bitcast_convert_type", "bitcast_convert_type_p", "convert_element_type",
    "convert_element_type_p", "reduce_precision", "reduce_precision_p",
]
