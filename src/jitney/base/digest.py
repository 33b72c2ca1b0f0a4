"""BLAKE2b for content addresses.

The interpreter's own module is taken where it has one: `hashlib` gives the same function and loads
OpenSSL on the way, which took 3 ms of the 20 ms that a program from disk takes.
"""

from __future__ import annotations

__all__ = ["blake2b"]

try:
    from _blake2 import blake2b  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    from hashlib import blake2b
