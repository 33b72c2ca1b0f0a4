"""Types of StableHLO values: `tensor<3x4xf32>`, from avals.

In: a shape and a NumPy dtype, or an aval. Out: `TensorType`, whose text is MLIR's.
Invariant: arrays of random keys are tensors of ui32, the key's words last; float0 is i1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray

BOOL, I32, U32 = np.dtype(np.bool_), np.dtype(np.int32), np.dtype(np.uint32)

_SMALL_FLOATS = {
    "bfloat16": "bf16", "float4_e2m1fn": "f4E2M1FN", "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3", "float8_e8m0fnu": "f8E8M0FNU",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ", "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2", "float8_e5m2fnuz": "f8E5M2FNUZ",
}
_PART = {np.dtype(np.complex64): np.dtype(np.float32),
         np.dtype(np.complex128): np.dtype(np.float64)}


class TensorType(NamedTuple):
    """A shape and the dtype of the elements (never an extended one)."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def __str__(self):
        return f"tensor<{''.join(f'{n}x' for n in self.shape)}{element_text(self.dtype)}>"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def scalar(self) -> TensorType:
        return TensorType((), self.dtype)

    def with_shape(self, shape: Any) -> TensorType:
        return TensorType(tuple(shape), self.dtype)

    def with_dtype(self, dtype: Any) -> TensorType:
        return TensorType(self.shape, np.dtype(dtype))


def element_text(dtype: np.dtype) -> str:
    """`f32`, `ui8`, `i1`, `complex<f64>`: MLIR's name of an element type.

    >>> element_text(np.dtype(np.uint8))
    'ui8'
    """
    if dtype in _PART:
        return f"complex<{element_text(_PART[dtype])}>"
    if dtype == BOOL or dtype == dtypes.float0:
        return "i1"
    found = _SMALL_FLOATS.get(dtype.name)
    if found is not None:
        return found
    short = dtypes.short_name(dtype)
    return f"ui{short[1:]}" if short.startswith("u") else short


def part_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of a complex dtype."""
    return _PART[dtype]


def type_of(aval: ShapedArray) -> TensorType:
    """The type of the data behind an aval; keys as their words."""
    dtype = aval.dtype
    if dtypes.is_extended(dtype):
        return TensorType(aval.shape + tuple(dtype.physical_shape), np.dtype(dtype.physical_dtype))
    if dtype == dtypes.float0:
        return TensorType(aval.shape, BOOL)
    return TensorType(aval.shape, dtype)


def is_unsigned(dtype: np.dtype) -> bool:
    """Unsigned integers and booleans."""
    return dtype == BOOL or (dtypes.is_integer(dtype)
                             and not dtypes.issubdtype(dtype, np.signedinteger))


def comparison_kind(dtype: np.dtype) -> str:
    """How the elements of a dtype are compared."""
    if dtypes.is_inexact(dtype):
        return "FLOAT"
    return "UNSIGNED" if is_unsigned(dtype) else "SIGNED"


def limit(dtype: np.dtype, sign: int) -> Any:
    """The greatest (sign = 1) or least (-1) value of a dtype; an infinity where there is one."""
    if dtype == BOOL:
        return sign > 0
    if dtypes.is_integer(dtype):
        info = dtypes.iinfo(dtype)
        return int(info.max if sign > 0 else info.min)
    if dtypes.is_complex(dtype):
        return complex(sign * np.inf, sign * np.inf)
    infinite = np.isinf(np.asarray(np.inf).astype(dtype).astype(np.float32))
    return sign * np.inf if infinite else sign * float(dtypes.finfo(dtype).max)
