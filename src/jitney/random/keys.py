"""Random keys: made from seeds, split, mixed with numbers, looked into.

In: integer seeds, typed keys (`key<fry>[]`), or raw keys (uint32 arrays with a last axis of 2).
Out: keys of the kind that came in.
Invariant: a function of one key refuses arrays of keys; `vmap` is the way to many.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney.base import config, dtypes
from jitney.core.avals import get_aval, is_value
from jitney.lax.random_bits import (
    random_clone,
    random_fold_in,
    random_seed,
    random_split,
    random_unwrap,
)
from jitney.lax.random_keys import key_dtype as _dtype_of_keys
from jitney.lax.shape import canonical_shape
from jitney.random.arguments import (
    as_dtype,
    checked_key,
    implementation,
    is_typed,
    typed_keys,
    wrapped,
)


def key_dtype(impl_spec=None):
    """The dtype of keys of a generator (None: the configured one)."""
    return _dtype_of_keys(implementation(impl_spec))


def _chosen(name: str, impl: Any, dtype: Any) -> Any:
    if dtype is None:
        return implementation(impl)
    if impl is not None:
        raise ValueError(f"Cannot specify both `impl` and `dtype` arguments to {name}")
    return implementation(dtype)


# --- seeds -------------------------------------------------------------------------------------


def _seed_value(seed: Any, name: str) -> Any:
    """A scalar integer seed; Python integers keep their low 64 (or 32) bits."""
    offset = config.random_seed_offset.value
    if isinstance(seed, int):
        if not -2**63 <= seed < 2**63:
            raise OverflowError("Python int too large to convert to C long")
        wide = np.array((int(seed) + offset) % 2**64, np.uint64).view(np.int64)
        return wide.astype(dtypes.canonicalize_dtype(int))[()]
    if isinstance(seed, np.integer):
        seed = np.asarray(seed).astype(dtypes.canonicalize_dtype(seed.dtype))[()]
    if seed is None:
        raise ValueError("None is not a valid value for jnp.array")
    if not is_value(seed):
        seed = np.asarray(seed)
    elif isinstance(seed, float):
        seed = np.float32(seed)
    shape = get_aval(seed).shape
    if shape:
        raise TypeError(f"{name} accepts a scalar seed, but was given an array of shape {shape} != "
                        "(). Use jax.vmap for batching")
    return seed + offset if offset else seed


def _new_key(name: str, seed: Any, impl: Any) -> Any:
    if is_typed(seed):
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key array.")
    return random_seed(_seed_value(seed, name), impl)


def key(seed, *, impl=None, dtype=None):
    """A typed random key from an integer seed.

    >>> key(0)
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    """
    return _new_key("key", seed, _chosen("jax.random.key", impl, dtype))


def PRNGKey(seed, *, impl=None):
    """A raw random key (uint32[2]) from an integer seed; prefer `key`."""
    made = _new_key("PRNGKey", seed, implementation(impl))
    return made if config.enable_custom_prng.value else random_unwrap(made)


# --- looking inside ----------------------------------------------------------------------------


def key_data(keys):
    """The uint32 data of keys."""
    return random_unwrap(typed_keys("key_data", keys)[0])


def wrap_key_data(key_bits_array, *, impl=None, dtype=None):
    """Typed keys from uint32 data."""
    return wrapped(key_bits_array, _chosen("jax.random.wrap_key_data", impl, dtype))


def key_impl(keys):
    """The name of the generator keys belong to."""
    return typed_keys("key_impl", keys)[0].dtype._impl.name


# --- new keys from old -------------------------------------------------------------------------


def _like(keys: Any, was_typed: bool) -> Any:
    return keys if was_typed else random_unwrap(keys)


def split(key, num=2):
    """`num` new keys (or an array of them of shape `num`) from one."""
    typed, was_typed = checked_key("split", key)
    try:
        shape = (operator.index(num),)
    except TypeError:
        if not isinstance(num, (tuple, list)):
            raise
        shape = canonical_shape(num)
    if any(n < 0 for n in shape):
        raise ValueError(f"split: the number of keys cannot be negative, got {num}")
    return _like(random_split(typed, shape), was_typed)


def fold_in(key, data):
    """A new key from a key and an integer."""
    typed, was_typed = checked_key("fold_in", key)
    if np.ndim(data):
        raise TypeError("fold_in accepts a scalar, but was given an array of shape "
                        f"{np.shape(data)} != (). Use jax.vmap for batching.")
    if type(data) is int:
        if not 0 <= data < 2**32:
            raise OverflowError(f"Python integer {data} out of bounds for uint32")
        data = np.uint32(data)
    return _like(random_fold_in(typed, as_dtype(data, np.uint32)), was_typed)


def clone(key):
    """The same key, as a new one for the check against reuse."""
    typed, was_typed = typed_keys("clone", key)
    return _like(random_clone(typed), was_typed)
