"""Arrays from values: array, asarray, zeros, ones, full, empty and their `_like` forms, copies.

In: Python numbers, nested lists, NumPy values, buffers, arrays, tracers. Out: arrays.
Invariant: NumPy input is copied (its owner may still write to it); lists that hold tracers are
built by recorded operations, everything else becomes a value at once.
"""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any

import numpy as np

from jitney import _native, lax
from jitney.api.devices import device_put
from jitney.api.jit import JitFunction
from jitney.api.placed import on_new_place
from jitney.base import dtypes
from jitney.core import avals
from jitney.core.trace import Tracer
from jitney.lax.out_sharding import check_out_sharding
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import (
    array_arguments,
    arraylike,
    canonical_shape,
    check_arraylike,
    convert,
    convert_with_weak_type,
    dtype_of,
    is_arraylike,
    requested_dtype,
    shape_of,
    unwrapped,
)

_PYTHON_SCALARS = frozenset((bool, int, float, complex))
_RANK = {bool: 0, int: 1, float: 2, complex: 3}
_WIDE = (np.bool_, np.int64, np.float64, np.complex128)
_EXACT = frozenset((bool, int))
_DIRECT_LIMIT = 1 << 16         # elements; smaller constants are made without a program
Array, ShapedArray = _native.Array, _native.ShapedArray


def may_make_directly(size: int) -> bool:
    """Whether a constant of this size is better made by NumPy than by a compiled program."""
    return size <= _DIRECT_LIMIT and _native.current_trace() is None


def from_numpy(value: np.ndarray, dtype: Any = None) -> Any:
    """An Array with these contents, strongly typed."""
    if dtype is None:
        dtype = dtypes.canonicalize_dtype(value.dtype)
    if value.dtype != dtype:
        value = value.astype(dtype)
    return _native.array_from_numpy(value, ShapedArray(value.shape, dtype))


def _refuse(value: Any, dtype: Any) -> None:
    raise TypeError(f"Value '{value}' with dtype {dtype} is not a valid JAX array type. Only "
                    "arrays of numeric types are supported by JAX.")


# --- placement ---------------------------------------------------------------------------------


def placed(name: str, x: Any, device: Any, out_sharding: Any = None) -> Any:
    """`x` where the arguments `device` and `out_sharding` of a function want it.

    At most one of the two may be given: a device or a sharding, and a layout of the result.
    """
    if device is None and out_sharding is None:
        return on_new_place(x)
    if device is not None and out_sharding is not None:
        raise ValueError("Only one of `device` or `out_sharding` can be set. Got "
                         f"device={device!r} and out_sharding={out_sharding!r}")
    check_out_sharding(name, out_sharding)
    return device_put(x, out_sharding if device is None else device)


# --- array and asarray -------------------------------------------------------------------------


def array(object, dtype=None, *args, copy=True, order="K", ndmin=0, device=None,
          out_sharding=None):
    """An array from numbers, nested sequences, NumPy values, buffers or arrays; always a copy."""
    if args:
        raise TypeError("array() takes from 1 to 2 positional arguments")
    if order not in (None, "K", "C", "A"):
        raise NotImplementedError("Only implemented for order='K'")
    found = _make(object, requested_dtype(dtype, "array"), copy)
    missing = ndmin - len(shape_of(found))
    if missing > 0:
        found = lax.expand_dims(found, tuple(range(missing)))
    return placed("jnp.array", found, device, out_sharding)


def asarray(a, dtype=None, order=None, *, copy=None, device=None, out_sharding=None):
    """As `array`, without a copy when `a` is already an array of that dtype.

    ValueError with `copy=False` for anything else: the memory of other objects is always copied,
    since their owners may write to it.
    """
    if order not in (None, "K", "C", "A"):
        raise NotImplementedError("Only implemented for order='K'")
    wanted = None if dtype is None else requested_dtype(dtype, "asarray")
    if copy is False:
        _refuse_copy(unwrapped(a), wanted)
    return placed("jnp.asarray", _make(a, wanted, bool(copy)), device, out_sharding)


def _refuse_copy(a: Any, dtype: Any) -> None:
    """ValueError for what is not an array of that dtype already; tracers may be."""
    if isinstance(a, Array) and dtype not in (None, a.dtype):
        raise ValueError(f"jnp.asarray: an array of dtype {a.dtype} becomes one of dtype {dtype} "
                         "by copying. However copy=False. Set copy=True or copy=None.")
    if not isinstance(a, (Array, Tracer)):
        raise ValueError("jnp.asarray: cannot convert object of type "
                         f"{type(a)} to JAX Array without copying. Set copy=True or copy=None.")


def _make(object: Any, dtype: Any, copy: bool) -> Any:
    kind = type(object)
    if kind in _PYTHON_SCALARS:
        return _from_scalar(object, dtype)
    object = unwrapped(object)
    if isinstance(object, (Array, Tracer)):
        return _from_array(object, dtype, copy)
    if isinstance(object, (list, tuple)):
        return _from_sequence(object, dtype)
    if object is None:
        raise ValueError("None is not a valid value for jnp.array")
    return _from_foreign(object, dtype)


def _from_scalar(value: Any, dtype: Any) -> Any:
    if dtype is None:
        try:
            return avals.to_array(value)
        except OverflowError:
            raise OverflowError(f"Python int {value} too large to convert to "
                                f"{dtypes.python_scalar_dtype(int).name}") from None
    return from_numpy(_cast_scalar(value, dtype))


def _cast_scalar(value: Any, dtype: Any) -> np.ndarray:
    if dtypes.is_integer(dtype) and type(value) is int:
        return np.asarray(value, dtype=dtype)
    if type(value) is complex and not dtypes.is_complex(dtype):
        raise TypeError("a complex number cannot become a real one: use its .real attribute")
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)


def _from_array(x: Any, dtype: Any, copy: bool) -> Any:
    if dtype is not None:
        aval = avals.get_aval(x)
        if aval.dtype != dtype or aval.weak_type:
            return convert_with_weak_type(x, dtype, False)
    return lax.copy_p.bind(x) if copy else x


def _from_sequence(items: Any, dtype: Any) -> Any:
    leaves = _native.tree_leaves(items)
    kinds = set(map(type, leaves))
    if kinds <= _PYTHON_SCALARS:
        return from_numpy(_numbers_to_numpy(items, kinds, dtype))
    _refuse_none(items)
    for leaf in leaves:
        if not is_arraylike(leaf):
            _refuse_leaf(leaf)
    if dtype is None:
        dtype = dtypes.result_type(*leaves)
    if not any(isinstance(leaf, (Array, Tracer)) or hasattr(leaf, "__jax_array__")
               for leaf in leaves):
        return from_numpy(np.array(items, dtype=dtype))
    if _native.current_trace() is None and not any(
            isinstance(leaf, Tracer) or hasattr(leaf, "__jax_array__") for leaf in leaves):
        return from_numpy(np.array(_as_numpy_tree(items), dtype=dtype))
    parts = [lax.expand_dims(_element(item, dtype), (0,)) for item in items]
    return lax.concatenate(parts, 0)


def _element(item: Any, dtype: Any) -> Any:
    """One entry of a list that holds tracers; numbers stay numbers (literals)."""
    if type(item) in _PYTHON_SCALARS or isinstance(item, np.generic):
        return convert(item, dtype)
    return _make(item, dtype, False)


def _refuse_none(items: Any) -> None:
    if items is None:
        raise ValueError("None is not a valid value for jnp.array")
    if isinstance(items, (list, tuple)):
        for item in items:
            _refuse_none(item)


def _as_numpy_tree(items: Any) -> Any:
    if isinstance(items, (list, tuple)):
        return [_as_numpy_tree(item) for item in items]
    return np.asarray(items)


def _refuse_leaf(leaf: Any) -> None:
    value = np.asarray(leaf)
    _refuse(leaf, value.dtype)


def _in_their_widest(items: Any, kinds: set, dtype: Any) -> np.ndarray:
    try:
        return np.array(items, dtype=_WIDE[max(map(_RANK.get, kinds))] if kinds else dtype)
    except OverflowError:
        if not dtypes.is_inexact(dtype):
            raise
        return np.array(items, dtype=dtype)


def _numbers_to_numpy(items: Any, kinds: set, dtype: Any) -> np.ndarray:
    if dtype is None:
        kind = next((k for k in (complex, float, int, bool) if k in kinds), float)
        dtype = dtypes.python_scalar_dtype(kind)
    if not kinds:
        _refuse_none(items)
    try:
        if kinds <= _EXACT and dtypes.is_integer(dtype):
            return np.array(items, dtype=dtype)          # raises OverflowError out of bounds
        value = _in_their_widest(items, kinds, dtype)
    except TypeError:
        _refuse_none(items)
        raise
    if value.dtype.kind == "c" and not dtypes.is_complex(dtype):
        value = value.real
    with np.errstate(all="ignore"):
        return value.astype(dtype)


def _from_foreign(x: Any, dtype: Any) -> Any:
    value = np.asarray(x)
    if value.dtype not in dtypes.supported:
        _refuse(x, value.dtype)
    wanted = dtypes.canonicalize_dtype(value.dtype) if dtype is None else dtype
    with np.errstate(all="ignore"):
        return from_numpy(value, wanted)


def copy(a, order=None):
    """A copy of an array."""
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)


def astype(x, dtype, /, *, copy=False, device=None):
    """`x` in another dtype; complex values lose their imaginary part (with a warning)."""
    return placed("jnp.astype", astype_static(x, dtype, copy), device)


class _Astype(JitFunction):
    """The method `astype`: jitted, and the result placed outside, so that it lies there."""

    def _miss(self, args: tuple, kwargs: dict) -> Any:
        device = args[3] if len(args) > 3 else kwargs.get("device")
        if device is None:
            return JitFunction._miss(self, args, kwargs)
        others = {name: value for name, value in kwargs.items() if name != "device"}
        return placed("astype", self(*args[:3], **others), device)


@inlined(static_argnames=("dtype", "copy", "device"))
def astype_static(self, dtype, copy=False, device=None):
    """The values in another dtype."""
    x = array_arguments("astype", self)
    if dtype is None:
        wanted = dtypes.canonicalize_dtype(float)
    else:
        wanted = requested_dtype(dtype, "astype")
    return placed("astype", cast(x, wanted, copy), device)


astype_static.__class__ = _Astype


def cast(x: Any, dtype: Any, copy: bool = False) -> Any:
    """A checked value in a canonical dtype, strongly typed."""
    source = dtype_of(x)
    if dtypes.is_complex(source):
        if dtype == np.bool_:
            return lax.ne(x, convert(0, source))
        if not dtypes.is_complex(dtype) and not dtypes.is_extended(dtype):
            warnings.warn("Casting from complex to real dtypes will soon raise a ValueError. "
                          "Please first use jnp.real or jnp.imag to take the real/imaginary "
                          "component of your input.", DeprecationWarning, stacklevel=3)
            return convert_with_weak_type(x, dtype, False)
    result = lax.convert_element_type(x, dtype)
    return lax.copy_p.bind(result) if copy and result is x else result


# --- constants ---------------------------------------------------------------------------------


def filled(shape: Any, value: Any, dtype: Any, weak: bool = False) -> Any:
    """A constant array of a canonical dtype."""
    size = math.prod(shape)
    if 0 <= size <= _DIRECT_LIMIT and _native.current_trace() is None and (
            not shape or min(shape) >= 0):
        made = np.zeros(shape, dtype)
        if value is not _ZERO:
            made.fill(value)
        return _native.array_from_numpy(made, ShapedArray(shape, dtype, weak))
    return lax.full(shape, 0 if value is _ZERO else value, None if weak else dtype)


_ZERO: Any = object()                # filled with this, fresh memory is left as it is


def _default_float(dtype: Any, name: str) -> Any:
    return dtypes.canonicalize_dtype(float) if dtype is None else requested_dtype(dtype, name)


def zeros(shape, dtype=None, *, device=None, out_sharding=None):
    """Zeros of a shape."""
    found = filled(canonical_shape(shape), _ZERO, _default_float(dtype, "zeros"))
    return placed("jnp.zeros", found, device, out_sharding)


def ones(shape, dtype=None, *, device=None, out_sharding=None):
    """Ones of a shape."""
    found = filled(canonical_shape(shape), 1, _default_float(dtype, "ones"))
    return placed("jnp.ones", found, device, out_sharding)


def empty(shape, dtype=None, *, device=None, out_sharding=None):
    """Zeros of a shape (memory is never handed out unset)."""
    found = filled(canonical_shape(shape), _ZERO, _default_float(dtype, "empty"))
    return placed("jnp.empty", found, device, out_sharding)


def full(shape, fill_value, dtype=None, *, device=None, out_sharding=None):
    """An array filled with a value, or with a value broadcast to the shape."""
    return placed("jnp.full", _full(shape, fill_value, dtype), device, out_sharding)


def _full(shape: Any, fill_value: Any, dtype: Any) -> Any:
    fill_value = arraylike("full", fill_value)
    wanted = None if dtype is None else requested_dtype(dtype, "full")
    shape = canonical_shape(shape)
    if shape_of(fill_value) == ():
        if wanted is None and type(fill_value) in _PYTHON_SCALARS:
            kind = type(fill_value)
            return filled(shape, fill_value, dtypes.python_scalar_dtype(kind), kind is not bool)
        if wanted is None:
            return lax.full(shape, fill_value)
        if type(fill_value) in _PYTHON_SCALARS:
            return filled(shape, _cast_scalar(fill_value, wanted), wanted)
        return lax.full(shape, fill_value, wanted)
    value = asarray(fill_value, dtype=wanted)
    return broadcast_value(value, shape)


def broadcast_value(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` broadcast to `shape`; ValueError when it does not fit."""
    have = shape_of(x)
    if have == shape:
        return x
    offset = len(shape) - len(have)
    if offset < 0 or any(n not in (1, m) for n, m in zip(have, shape[offset:])):
        raise ValueError(f"Incompatible shapes for broadcasting: {have} and requested shape "
                         f"{shape}")
    return lax.broadcast_in_dim(x, shape, tuple(range(offset, len(shape))))


def _shape_and_dtype(name: str, a: Any, dtype: Any, shape: Any) -> tuple[Any, Any, bool]:
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        a = arraylike(name, a)
    weak = dtype is None and bool(getattr(a, "weak_type", type(a) in (int, float, complex)))
    if dtype is not None:
        dtype = requested_dtype(dtype, name)
    else:
        dtype = a.dtype if hasattr(a, "dtype") else dtype_of(a)
        dtype = dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True)
    return (shape_of(a) if shape is None else canonical_shape(shape)), dtype, weak


def _constant_like(name: str, a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    shape, dtype, weak = _shape_and_dtype(name, a, dtype, shape)
    if weak:
        return lax.full_like(a, value, shape=shape)
    return filled(shape, value if value else _ZERO, dtype)


def zeros_like(a, dtype=None, shape=None, *, device=None, out_sharding=None):
    """Zeros with the shape and dtype of `a`."""
    found = _constant_like("zeros_like", a, 0, dtype, shape)
    return placed("jnp.zeros_like", found, device, out_sharding)


def ones_like(a, dtype=None, shape=None, *, device=None, out_sharding=None):
    """Ones with the shape and dtype of `a`."""
    found = _constant_like("ones_like", a, 1, dtype, shape)
    return placed("jnp.ones_like", found, device, out_sharding)


def empty_like(prototype, dtype=None, shape=None, *, device=None):
    """Zeros with the shape and dtype of `prototype`."""
    return placed("jnp.empty_like", _constant_like("empty_like", prototype, 0, dtype, shape),
                  device)


def full_like(a, fill_value, dtype=None, shape=None, *, device=None, out_sharding=None):
    """A constant with the shape and dtype of `a`."""
    return placed("jnp.full_like", _full_like(a, fill_value, dtype, shape), device, out_sharding)


def _full_like(a: Any, fill_value: Any, dtype: Any, shape: Any) -> Any:
    check_arraylike("full_like", 0, fill_value)
    fill_value = unwrapped(fill_value)
    shape, dtype, weak = _shape_and_dtype("full_like", a, dtype, shape)
    if shape_of(fill_value) == ():
        if weak:
            return lax.full_like(a, fill_value, shape=shape)
        return lax.full(shape, fill_value, dtype)
    return broadcast_value(asarray(fill_value, dtype=dtype), shape)


# --- from buffers, iterators, files, other libraries -------------------------------------------


def frombuffer(buffer, dtype=float, count=-1, offset=0):
    """An array from the bytes of a buffer."""
    return asarray(np.frombuffer(buffer=buffer, dtype=dtype, count=count, offset=offset))


def fromfile(*args, **kwargs):
    """Not offered: reading a file has side effects; use `jnp.asarray(np.fromfile(...))`."""
    raise NotImplementedError(
        "jnp.fromfile() is not implemented because it may be non-pure and thus unsafe for use "
        "with JIT and other JAX transformations. Consider using jnp.asarray(np.fromfile(...)) "
        "instead, although care should be taken if np.fromfile is used within jax transformations "
        "because of its potential side-effect of consuming the file object; for more information "
        "see [Common Gotchas: Pure Functions].")


def fromiter(*args, **kwargs):
    """Not offered: consuming an iterator has side effects; use `jnp.asarray(np.fromiter(...))`."""
    raise NotImplementedError(
        "jnp.fromiter() is not implemented because it may be non-pure and thus unsafe for use "
        "with JIT and other JAX transformations. Consider using jnp.asarray(np.fromiter(...)) "
        "instead, although care should be taken if np.fromiter is used within jax transformations "
        "because of its potential side-effect of consuming the iterable object; for more "
        "information see [Common Gotchas: Pure Functions].")


def fromstring(string, dtype=float, count=-1, *, sep):
    """An array from the numbers in a text."""
    return asarray(np.fromstring(string=string, dtype=dtype, count=count, sep=sep))


def from_dlpack(x, /, *, device=None, copy=None):
    """An array from an object with `__dlpack__`, on a CPU.

    Another Array shares its memory unless `copy` is true; any other memory is copied, since its
    owner may write to it: ValueError with `copy=False`. `device` places the result.
    """
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(f"from_dlpack: copy takes True, False or None, not {copy!r}")
    if type(x) is Array:
        return placed("from_dlpack", lax.copy_p.bind(x) if copy else x, device)
    if copy is False:
        raise ValueError(f"from_dlpack: the memory of {type(x)} may be written to by its "
                         "owner, so it has to be copied. However copy=False. Set copy=True or "
                         "copy=None to perform the requested operation.")
    value = np.from_dlpack(x)
    found = from_numpy(np.array(value), dtypes.canonicalize_dtype(value.dtype))
    return placed("from_dlpack", found, device)


def load(file, *args, **kwargs):
    """An array from a file written by `save`."""
    value = np.load(file, *args, **kwargs)
    if isinstance(value, np.ndarray):
        return asarray(value)
    return value


def fromfunction(function, shape, *, dtype=float, **kwargs):
    """An array whose elements are a function of their indices, called once with index arrays."""
    shape = tuple(operator.index(n) for n in (shape if np.ndim(shape) else (shape,)))
    wanted = requested_dtype(dtype, "fromfunction")
    vectors = [lax.iota(wanted, n) for n in shape]
    if not shape:
        return function(**kwargs)
    grids = [lax.broadcast_in_dim(v, shape, (i,)) for i, v in enumerate(vectors)]
    return function(*grids, **kwargs)
