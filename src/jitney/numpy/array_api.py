"""What the Python array API standard asks a namespace: its version, devices, data types.

In: nothing. Out: `__array_namespace_info__()` with the standard's five questions.
Invariant: data types are those of the present mode (64 bits only with `jax_enable_x64`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.api.devices import Device, devices
from jitney.base import dtypes
from jitney.placement.shardings import Sharding

VERSION = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", VERSION)

_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]
_DEFAULTS = {"real floating": "float64", "complex floating": "complex128", "integral": "int64",
             "indexing": "int64"}


def _check_device(device: Any) -> None:
    if device is not None and not isinstance(device, (Device, Sharding)):
        raise ValueError(f"device takes one of devices(), a sharding or None, not {device!r}")


def _names_of(kind: Any) -> tuple[str, ...]:
    if kind is None:
        return _KINDS["bool"] + _KINDS["numeric"]
    if isinstance(kind, tuple):
        return tuple(dict.fromkeys(name for one in kind for name in _names_of(one)))
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"kind takes None, a tuple or one of {sorted(_KINDS)}, not {kind!r}")
    return _KINDS[kind]


class ArrayNamespaceInfo:
    """The answers of this library to the array API standard's questions."""

    def capabilities(self) -> dict[str, Any]:
        """What is supported everywhere; indices and results of unknown size are not under `jit`."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Any:
        """None: arrays are placed where their operands are."""
        return None

    def devices(self) -> list[Any]:
        """What may be passed as `device`: None, and all devices."""
        return [None, *devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes of new arrays by kind; ValueError for what is no device."""
        _check_device(device)
        return {kind: dtypes.canonicalize_dtype(np.dtype(name))
                for kind, name in _DEFAULTS.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        """The standard's dtypes of one kind, or of several; ValueError for unknown kinds."""
        _check_device(device)
        named = {name: np.dtype(name) for name in _names_of(kind)}
        return {name: dtype for name, dtype in named.items()
                if dtypes.canonicalize_dtype(dtype) == dtype}


def namespace_info() -> ArrayNamespaceInfo:
    """Devices, data types and capabilities of this namespace, for the array API standard."""
    return ArrayNamespaceInfo()
