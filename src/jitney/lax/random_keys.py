"""Random keys as a type: generator implementations and the extended dtype `key<fry>[]`.

In: the name of an implementation. Out: its `PRNGImpl`, and the dtype of arrays of its keys.
A key array lies in memory as uint32 with the key's shape appended.
Invariant: one implementation has one dtype object, so avals of keys stay interned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jitney.base import dtypes


class PRNGImpl(NamedTuple):
    """A generator: functions on raw key data (leading axes are batches), written with lax.

    seed(seeds) -> raw; split(raw, shape) -> raw; random_bits(raw, bit_width, shape) -> bits;
    fold_in(raw, data) -> raw.
    """

    key_shape: tuple[int, ...]
    seed: Callable
    split: Callable
    random_bits: Callable
    fold_in: Callable
    name: str
    tag: str

    def __str__(self):
        return self.tag

    def __repr__(self):
        return self.tag

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return self is other or (isinstance(other, PRNGImpl) and tuple(self) == tuple(other))

    def __reduce__(self):
        return implementation_named, (self.name,)


class KeyTy(dtypes.ExtendedDType):
    """The dtype of arrays of keys."""

    type = dtypes.prng_key
    physical_dtype = np.dtype(np.uint32)

    def __init__(self, impl: PRNGImpl):
        self._impl = impl
        self.name = f"key<{impl.tag}>"
        self.physical_shape = tuple(impl.key_shape)
        self.itemsize = 4 * math.prod(impl.key_shape)

    def __repr__(self):
        return self.name

    __str__ = __repr__

    def __eq__(self, other):
        return self is other or (type(other) is KeyTy and self._impl == other._impl)

    def __hash__(self):
        return hash((KeyTy, self._impl.name))

    def __reduce__(self):
        return key_dtype, (self._impl,)


_implementations: dict[str, PRNGImpl] = {}
_key_dtypes: dict[str, KeyTy] = {}


def register_implementation(impl: PRNGImpl) -> PRNGImpl:
    """Make an implementation known by its name."""
    if impl.name in _implementations:
        raise ValueError(f"PRNG with name {impl.name} already registered")
    _implementations[impl.name] = impl
    _key_dtypes[impl.name] = KeyTy(impl)
    return impl


def implementation_named(name: Any) -> PRNGImpl:
    """The implementation of that name (or the one given, or that of a key dtype)."""
    if isinstance(name, PRNGImpl):
        return name
    if isinstance(name, KeyTy):
        return name._impl
    found = _implementations.get(name) if isinstance(name, str) else None
    if found is None:
        known = ", ".join(f'"{n}"' for n in _implementations)
        raise ValueError(f'unrecognized PRNG implementation "{name}". Did you mean one of: '
                         f'{known}?')
    return found


def key_dtype(impl: Any) -> KeyTy:
    """The dtype of keys of an implementation."""
    impl = implementation_named(impl)
    return _key_dtypes.get(impl.name) or _key_dtypes.setdefault(impl.name, KeyTy(impl))


def is_key_dtype(dtype: Any) -> bool:
    return type(dtype) is KeyTy
