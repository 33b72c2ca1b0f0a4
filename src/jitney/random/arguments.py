"""Arguments of random functions: keys old and new, dtypes, shapes.

In: what the user passed. Out: a typed key array, a canonical dtype, a shape.
Invariant: raw keys (uint32 arrays) are wrapped at the door; behind it every key is typed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import _native, lax
from jitney.base import config, dtypes
from jitney.core.avals import Array, ShapedArray, get_aval
from jitney.core.trace import Tracer
from jitney.lax.random_bits import random_split, random_wrap
from jitney.lax.random_keys import PRNGImpl, implementation_named, is_key_dtype, key_dtype
from jitney.lax.shape import canonical_shape, shape_of

Shape = tuple[int, ...]

# --- keys --------------------------------------------------------------------------------------


def implementation(spec: Any) -> PRNGImpl:
    """The generator a user names (None: the configured one)."""
    if spec is None:
        return implementation_named(config.default_prng_impl.value)
    if isinstance(spec, (str, PRNGImpl)) or is_key_dtype(spec):
        return implementation_named(spec)
    raise TypeError(f"unrecognized type {type(spec)} for specifying PRNG implementation.")


def is_typed(x: Any) -> bool:
    """Whether `x` is an array (or tracer) of typed keys."""
    return is_key_dtype(getattr(x, "dtype", None))


def _check_raw(raw: Any, impl: PRNGImpl) -> None:
    if not all(hasattr(raw, name) for name in ("ndim", "shape", "dtype")):
        raise TypeError("JAX encountered invalid PRNG key data: expected key_data to have ndim, "
                        f"shape, and dtype attributes. Got {raw}")
    if raw.dtype != np.uint32:
        raise TypeError("JAX encountered invalid PRNG key data: expected key_data.dtype = uint32; "
                        f"got dtype={raw.dtype}")
    count = len(impl.key_shape)
    if raw.ndim < 1 or tuple(raw.shape[-count:]) != tuple(impl.key_shape):
        raise TypeError("JAX encountered invalid PRNG key data: expected key_data.shape to end "
                        f"with {impl.key_shape}; got shape={raw.shape} for impl={impl.name}")


def wrapped(raw: Any, impl: PRNGImpl) -> Any:
    """Raw key data as typed keys; no copy when concrete."""
    _check_raw(raw, impl)
    if type(raw) is Array and _native.current_trace() is None:
        shape = raw.shape[:raw.ndim - len(impl.key_shape)]
        return _native.array_view(raw, ShapedArray(shape, key_dtype(impl)))
    return random_wrap(raw, impl=impl)


def typed_keys(name: str, key: Any) -> tuple[Any, bool]:
    """Typed keys from typed or raw ones, and whether they were typed."""
    if is_typed(key):
        return key, True
    if not (isinstance(key, (Array, Tracer, np.ndarray)) or np.isscalar(key)):
        raise TypeError(f"unexpected PRNG key type {type(key)}")
    mode = config.legacy_prng_key.value
    if mode != "allow":
        text = ("Legacy uint32 key array passed as key to jax.random function. Please create keys "
                "using jax.random.key(). If use of a raw key array was intended, set "
                "jax_legacy_prng_key='allow'.")
        if mode == "error":
            raise ValueError(text)
        warnings.warn(text, stacklevel=4)
    return wrapped(key, implementation(None)), False


def checked_key(name: str, key: Any) -> tuple[Any, bool]:
    """One typed key, and whether it was typed; ValueError for arrays of keys."""
    typed, was_typed = typed_keys(name, key)
    if typed.shape:
        raise ValueError(f"{name} accepts a single key, but was given a key array of shape "
                         f"{tuple(key.shape)} != (). Use jax.vmap for batching.")
    return typed, was_typed


def one_key(name: str, key: Any) -> Any:
    """One typed key."""
    if type(key) is Array and is_key_dtype(key.dtype) and not key.shape:
        return key
    return checked_key(name, key)[0]


# --- dtypes ------------------------------------------------------------------------------------


def _canonical(dtype: Any) -> Any:
    wanted = dtypes.dtype_of_spec(dtype)
    found = dtypes.canonicalize_dtype(wanted)
    if found != wanted and dtype not in (int, float, complex):
        warnings.warn(
            f"Explicitly requested dtype {wanted.name} is not available, and will be truncated to "
            f"dtype {found.name}. To enable more dtypes, set the jax_enable_x64 configuration "
            "option or the JAX_ENABLE_X64 shell environment variable.", stacklevel=4)
    return found


def float_dtype(name: str, dtype: Any) -> np.dtype:
    """A floating dtype; float32 (or float64) by default."""
    found = _canonical(float if dtype is None else dtype)
    if not dtypes.is_floating(found):
        raise ValueError(f"dtype argument to `{name}` must be a float dtype, got {found}")
    return found


def inexact_dtype(name: str, dtype: Any) -> np.dtype:
    """A floating or complex dtype."""
    found = _canonical(float if dtype is None else dtype)
    if not dtypes.is_inexact(found):
        raise ValueError(f"dtype argument to `{name}` must be a float or complex dtype, got "
                         f"{found}")
    return found


def integer_dtype(name: str, dtype: Any) -> np.dtype:
    """An integer dtype; int32 (or int64) by default."""
    found = _canonical(int if dtype is None else dtype)
    if not dtypes.is_integer(found):
        raise ValueError(f"dtype argument to `{name}` must be an int dtype, got {found}")
    return found


def any_dtype(dtype: Any, default: Any) -> np.dtype:
    return _canonical(default if dtype is None else dtype)


# --- shapes ------------------------------------------------------------------------------------


def given_shape(shape: Any) -> Shape:
    """A shape given by the user."""
    if type(shape) is tuple:
        for n in shape:
            if type(n) is not int:
                break
        else:
            return _non_negative(shape)
    return _non_negative(canonical_shape(shape))


def _non_negative(shape: Shape) -> Shape:
    for n in shape:
        if n < 0:
            raise ValueError(f"shapes of random arrays cannot have negative sizes, got {shape}")
    return shape


def sample_shape(name: str, shape: Any, *parameters: Any) -> Shape:
    """The asked-for shape, checked against the parameters' shapes; theirs when None."""
    shapes = [shape_of(p) for p in parameters]
    if shape is None:
        return lax.broadcast_shapes(*shapes)
    shape = given_shape(shape)
    result = lax.broadcast_shapes(shape, *shapes)
    if result != shape:
        raise ValueError(
            f"{name} parameter shapes must be broadcast-compatible with shape argument, and the "
            f"result of broadcasting the shapes must equal the shape argument, but got result "
            f"{result} for shape argument {shape}.")
    return shape


# --- values ------------------------------------------------------------------------------------


def as_dtype(x: Any, dtype: Any) -> Any:
    """`x` in this dtype, not weakly typed."""
    return lax.convert_element_type(x, dtype)


def spread(x: Any, shape: Shape) -> Any:
    """`x` broadcast to `shape`, trailing axes aligned."""
    own = shape_of(x)
    if own == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - len(own), len(shape))))


def aligned(shape: Shape, x: Any) -> Any:
    """`x` given the rank of `shape`; scalars are left alone."""
    return lax.broadcast_to_rank(x, len(shape)) if shape_of(x) else x


def dtype_of(x: Any) -> Any:
    return get_aval(x).dtype


def split_keys(key: Any, count: int = 2) -> list:
    """`count` keys split off one key."""
    keys = random_split(key, (count,))
    return [lax.index_in_dim(keys, i, 0, keepdims=False) for i in range(count)]


def size_of(shape: Sequence[int]) -> int:
    return math.prod(shape)
