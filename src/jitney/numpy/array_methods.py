"""Methods and properties of arrays and tracers: `x.sum()`, `x.T`, `x.astype(…)`, `x.at[…]`.

In: the classes Array (native) and Tracer. Out: the same classes with these attributes.
A method whose signature is that of a jitted function *is* that function: calling it on an array
goes through the native dispatcher with the array as first argument.
Invariant: methods mean the same as the functions of this package.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy import (
    arithmetic,
    array_at,
    creation,
    diagonals,
    indexing,
    linear_products,
    manipulation,
    nan_reductions,
    reductions,
    searching,
    sorting,
    ufuncs,
)
from jitney.numpy.array_api import VERSIONS
from jitney.numpy.promotion import (
    dtype_of,
    requested_dtype,
    shape_of,
    static_axis,
)

# --- methods with signatures of their own ------------------------------------------------------


def _reshape(self, *args, order="C", out_sharding=None):
    """The elements in another shape, given as one sequence or as several lengths."""
    shape = args[0] if len(args) == 1 else args
    return manipulation.reshape(self, shape, order, out_sharding=out_sharding)


def _transpose(self, *args):
    """Axes in another order, reversed when none is given."""
    if not args:
        axes = None
    else:
        axes = args[0] if len(args) == 1 and (args[0] is None or np.ndim(args[0])) else args
    return manipulation.transpose_static(self, static_axis(axes))


def _flatten(self, order="C", *, out_sharding=None):
    """The elements in one axis."""
    return manipulation.ravel(self, order=order, out_sharding=out_sharding)


def _clip(self, min=None, max=None):
    """Values limited to [min, max]."""
    return arithmetic.clip(self, min=min, max=max)


def _compress(self, condition, axis=None, *, out=None, size=None, fill_value=0):
    """Slices along an axis at which the condition holds."""
    return searching.compress(condition, self, axis, out=out, size=size, fill_value=fill_value)


def _copy(self):
    """A copy."""
    return lax.copy_p.bind(self)


def _squeeze(self, axis=None):
    """Without axes of length one."""
    return manipulation.squeeze(self, axis)


def _repeat(self, repeats, axis=None, *, total_repeat_length=None, out_sharding=None):
    """Each element repeated along an axis."""
    return manipulation.repeat(self, repeats, axis, total_repeat_length=total_repeat_length,
                               out_sharding=out_sharding)


def _take(self, indices, axis=None, out=None, mode=None, unique_indices=False,
          indices_are_sorted=False, fill_value=None):
    """Elements at positions along an axis."""
    return indexing.take(self, indices, axis=axis, out=out, mode=mode,
                         unique_indices=unique_indices, indices_are_sorted=indices_are_sorted,
                         fill_value=fill_value)


def _nonzero(self, *, fill_value=None, size=None):
    """Positions of the elements other than zero."""
    return searching.nonzero(self, size=size, fill_value=fill_value)


def _choose(self, choices, out=None, mode="raise"):
    """Elements of several arrays, chosen by this one."""
    return searching.choose(self, choices, out=out, mode=mode)


def _dot(self, b, *, precision=None, preferred_element_type=None):
    """Sum of products."""
    return linear_products.dot(self, b, precision=precision,
                               preferred_element_type=preferred_element_type)


def _var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None,
         correction=None):
    """Variance along axes."""
    return nan_reductions.var(self, axis, dtype, out, ddof, keepdims, where=where,
                              correction=correction)


def _std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None,
         correction=None):
    """Standard deviation along axes."""
    return nan_reductions.std(self, axis, dtype, out, ddof, keepdims, where=where,
                              correction=correction)


def _view(self, dtype=None, type=None):
    """The same bits as another dtype; the last axis changes length with the item size."""
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    if dtype is None:
        return self
    wanted = requested_dtype(dtype, "view")
    have = dtype_of(self)
    if wanted == have:
        return self
    if have == np.bool_:
        return _view(lax.convert_element_type(self, np.uint8), wanted)
    if wanted == np.bool_:
        return lax.ne(_view(self, np.uint8), np.uint8(0))
    if dtypes.is_complex(have) or dtypes.is_complex(wanted):
        return _view_complex(self, have, wanted)
    old, new = dtypes.itemsize_bits(have), dtypes.itemsize_bits(wanted)
    shape = shape_of(self)
    if old == new:
        return lax.bitcast_convert_type(self, wanted)
    if not shape:
        raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
    if shape[-1] * old % new:
        raise ValueError("When changing to a larger dtype, its size must be a divisor of the total "
                         "size in bytes of the last axis of the array.")
    if old > new:
        parts = lax.bitcast_convert_type(self, wanted)
        return lax.reshape(parts, (*shape[:-1], shape[-1] * (old // new)))
    grouped = lax.reshape(self, (*shape[:-1], shape[-1] * old // new, new // old))
    return lax.bitcast_convert_type(grouped, wanted)


def _view_complex(x: Any, have: Any, wanted: Any) -> Any:
    if dtypes.is_complex(have):
        parts = lax.stack([lax.real(x), lax.imag(x)], len(shape_of(x)))
        if not shape_of(x):
            raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
        flat = lax.reshape(parts, (*shape_of(x)[:-1], 2 * shape_of(x)[-1]))
        return _view(flat, wanted)
    real = np.dtype(np.float32) if wanted == np.complex64 else np.dtype(np.float64)
    flat = _view(x, real)
    if shape_of(flat)[-1] % 2:
        raise ValueError("When changing to a larger dtype, its size must be a divisor of the total "
                         "size in bytes of the last axis of the array.")
    pairs = lax.reshape(flat, (*shape_of(flat)[:-1], shape_of(flat)[-1] // 2, 2))
    return lax.complex(pairs[..., 0], pairs[..., 1])


def _byteswap(self):
    """The bytes of every element reversed."""
    size = dtypes.itemsize_bits(dtype_of(self)) // 8
    if size == 1:
        return self
    parts = lax.bitcast_convert_type(self, np.uint8)
    return lax.bitcast_convert_type(lax.rev(parts, (len(shape_of(self)),)), dtype_of(self))


def _round_method(self, ndigits=None):
    """`round(x)`: to integers without digits, to floats with digits."""
    if ndigits is None:
        rounded = arithmetic.round(self)
        return lax.convert_element_type(rounded, dtypes.canonicalize_dtype(np.int64))
    return arithmetic.round(self, decimals=ndigits)


def _array_namespace(self, /, *, api_version=None):
    """The module of array functions (array API)."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"api_version={api_version!r} is not available; available versions are: "
                         f"{list(VERSIONS)}")
    return _NAMESPACE[0]


_NAMESPACE: list[Any] = [None]


def set_namespace(module: Any) -> None:
    """The module `__array_namespace__` gives."""
    _NAMESPACE[0] = module


def _tobytes(self, order="C"):
    """The bytes of the elements."""
    return np.asarray(self).tobytes(order)


def _flat(self):
    raise NotImplementedError("JAX Arrays do not implement the arr.flat property: consider "
                              "arr.flatten() instead.")


# --- tables ------------------------------------------------------------------------------------

METHODS: dict[str, Any] = {
    "all": reductions.all, "any": reductions.any, "argmax": reductions.argmax,
    "argmin": reductions.argmin, "cumprod": reductions.cumprod, "cumsum": reductions.cumsum,
    "max": reductions.max, "mean": reductions.mean, "min": reductions.min,
    "prod": reductions.prod, "sum": reductions.sum, "ptp": reductions.ptp,
    "std": _std, "var": _var, "argsort": sorting.argsort, "sort": sorting.sort,
    "argpartition": sorting.argpartition, "searchsorted": searching.searchsorted,
    "diagonal": diagonals.diagonal, "trace": linear_products.trace, "dot": _dot,
    "swapaxes": manipulation.swapaxes, "ravel": manipulation.ravel, "round": arithmetic.round,
    "astype": creation.astype_static, "byteswap": _byteswap, "choose": _choose, "clip": _clip,
    "compress": _compress, "conj": ufuncs.conjugate, "conjugate": ufuncs.conjugate,
    "copy": _copy, "clone": _copy,
    "flatten": _flatten, "nonzero": _nonzero, "repeat": _repeat, "reshape": _reshape,
    "squeeze": _squeeze, "take": _take, "transpose": _transpose, "view": _view,
    "tobytes": _tobytes, "__round__": _round_method, "__array_namespace__": _array_namespace,
}
PROPERTIES: dict[str, Any] = {
    "T": property(manipulation.transpose_static, doc="Axes in reverse order."),
    "mT": property(manipulation.matrix_transpose, doc="The last two axes exchanged."),
    "real": property(ufuncs.real, doc="Real part."),
    "imag": property(ufuncs.imag, doc="Imaginary part."),
    "at": property(lambda self: array_at.IndexUpdateHelper(self), doc="x.at[idx].set(y) …"),
    "flat": property(_flat),
}
