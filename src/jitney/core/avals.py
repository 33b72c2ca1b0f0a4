"""Avals: what is known of a value before it exists: shape, dtype, weak type.

In: any value (array, NumPy value, Python scalar, tracer). Out: its interned `ShapedArray`;
equal avals are one object, so comparing them is comparing pointers.
Invariant: an aval's dtype is canonical for the mode it was made in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import _native
from jitney.base import config, dtypes

ShapedArray = _native.ShapedArray
Array = _native.Array

float0_dtype = dtypes.float0


# --- methods of ShapedArray (the type is native; what is rarely called is written here) --------


def _str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
    name = dtypes.short_name(self.dtype) if short_dtypes else _dtype_name(self.dtype)
    return f"{name}[{','.join(map(str, self.shape))}]"


def _dtype_name(dtype: Any) -> str:
    return "float0" if dtype == dtypes.float0 else dtype.name


def _update(self, shape=None, dtype=None, weak_type=None) -> ShapedArray:
    return ShapedArray(self.shape if shape is None else shape,
                       self.dtype if dtype is None else dtype,
                       self.weak_type if weak_type is None else weak_type)


def _strip_weak_type(self) -> ShapedArray:
    return ShapedArray(self.shape, self.dtype) if self.weak_type else self


def _to_tangent_aval(self) -> ShapedArray:
    """The aval of tangents: the same, or float0 where values are not differentiable."""
    if dtypes.is_inexact(self.dtype):
        return ShapedArray(self.shape, self.dtype, self.weak_type)
    return ShapedArray(self.shape, dtypes.float0)


def _repr(self) -> str:
    weak = ", weak_type=True" if self.weak_type else ""
    return f"ShapedArray({self.str_short()}{weak})"


def _reduce(self):
    return ShapedArray, (self.shape, self.dtype, self.weak_type)


def _length(self) -> int:
    if not self.shape:
        raise TypeError("len() of unsized object")
    return self.shape[0]


for _name, _method in {
        "str_short": _str_short, "update": _update, "strip_weak_type": _strip_weak_type,
        "to_tangent_aval": _to_tangent_aval, "to_ct_aval": _to_tangent_aval,
        "at_least_vspace": _to_tangent_aval, "__repr__": _repr, "__str__": _str_short,
        "__reduce__": _reduce, "__len__": _length}.items():
    setattr(ShapedArray, _name, _method)


# --- avals of values -------------------------------------------------------------------------

_scalar_avals: dict[type, ShapedArray] = {}


def _refresh() -> None:
    """Keep the native tables in step with the present mode."""
    for kind in (bool, int, float, complex):
        dtype = dtypes.python_scalar_dtype(kind)
        _scalar_avals[kind] = ShapedArray((), dtype, kind is not bool)
    _native.set_scalar_avals(*(_scalar_avals[k] for k in (bool, int, float, complex)))
    _native.set_canonical_dtypes(dtypes.canonical_table())


config.watch(_refresh)


def scalar_aval(kind: type) -> ShapedArray:
    """The (weak) aval of Python scalars of type `kind` in this thread's mode."""
    return ShapedArray((), dtypes.python_scalar_dtype(kind), kind is not bool)


def _aval_of_numpy(x: Any) -> ShapedArray:
    """An array whose bytes are swapped has the type of what it is copied to."""
    dtype = x.dtype if x.dtype.isnative else x.dtype.newbyteorder("=")
    return ShapedArray(x.shape, dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True))


def _aval_of_attribute(x: Any) -> ShapedArray:
    return x.aval


_HANDLERS: dict[type, Callable[[Any], ShapedArray]] = {
    Array: _aval_of_attribute,
    np.ndarray: _aval_of_numpy,
    bool: lambda x: scalar_aval(bool), int: lambda x: scalar_aval(int),
    float: lambda x: scalar_aval(float), complex: lambda x: scalar_aval(complex),
}


def register_value_type(kind: type, aval_of: Callable[[Any], ShapedArray]) -> None:
    """Make values of exactly this type acceptable as data."""
    _HANDLERS[kind] = aval_of


def _handler_by_base(x: Any) -> Callable | None:
    if isinstance(x, (np.generic, np.ndarray)):          # np.float64 is a float as well
        return None if isinstance(x, (np.str_, np.bytes_)) else _aval_of_numpy
    for base in type(x).__mro__:
        found = _HANDLERS.get(base)
        if found is not None:
            return found
    return None


def get_aval(x: Any) -> ShapedArray:
    """The aval of a value; TypeError when `x` is not data.

    >>> get_aval(2.0)
    ShapedArray(float32[], weak_type=True)
    """
    handler = _HANDLERS.get(type(x))
    if handler is None:
        handler = _handler_by_base(x)
        if handler is None:
            raise TypeError(f"Value {x!r} with type {type(x)} is not a valid JAX type")
        _HANDLERS[type(x)] = handler
    return handler(x)


def is_value(x: Any) -> bool:
    """Whether `x` may be an operand: array, tracer, NumPy value or Python scalar."""
    if type(x) in _HANDLERS:
        return True
    handler = _handler_by_base(x)
    if handler is not None:
        _HANDLERS[type(x)] = handler
    return handler is not None


def valid_array_type(x: Any) -> bool:
    """Like `is_value`, and the dtype must be one arrays can have (no strings, no objects)."""
    if not is_value(x):
        return False
    dtype = getattr(x, "dtype", None)
    return dtype is None or dtypes.is_extended(dtype) or dtype in dtypes.supported


def aval_like(shape: Any, dtype: Any, weak_type: bool = False) -> ShapedArray:
    """An aval from a shape and a dtype specification, canonicalised."""
    return ShapedArray(tuple(shape),
                       dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True), weak_type)


def size_of(shape: tuple[int, ...]) -> int:
    return math.prod(shape)


# --- conversion of concrete values -----------------------------------------------------------

_INT_LIMITS = {np.dtype("int32"): (-2**31, 2**31 - 1), np.dtype("int64"): (-2**63, 2**63 - 1)}


def to_array(x: Any, aval: ShapedArray | None = None) -> Array:
    """A concrete value as an `Array` of its own (or the given) aval."""
    if type(x) is Array and (aval is None or x.aval is aval):
        return x
    if aval is None:
        aval = get_aval(x)
    if type(x) is Array:
        if x.aval.shape == aval.shape and x.aval.dtype == aval.dtype:
            return _native.array_view(x, aval)
        x = _native.numpy_view(x)
    elif type(x) is int:
        low, high = _INT_LIMITS.get(aval.dtype, (x, x))
        if not low <= x <= high:
            raise OverflowError(f"Python integer {x} out of bounds for {aval.dtype.name}")
    return _native.array_from_numpy(numpy_value(x, aval), aval)


def numpy_value(x: Any, aval: ShapedArray | None = None) -> np.ndarray:
    """A concrete value as an ndarray of the aval's shape and dtype."""
    if type(x) is Array:
        return _native.numpy_view(x)
    if aval is None:
        aval = get_aval(x)
    with np.errstate(all="ignore"):
        if type(x) is complex and not dtypes.is_complex(aval.dtype):
            x = x.real
        return np.asarray(x).astype(aval.dtype, copy=False)
