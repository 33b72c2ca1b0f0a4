"""`jax.experimental.pjit`: the name of `jit` with shardings before they were one function."""

from __future__ import annotations

import warnings
from typing import Any

from jitney.api.jit import jit


def pjit(fun: Any, *args: Any, **options: Any) -> Any:
    """`jax.jit(fun, **options)`; `in_shardings` and `out_shardings` may be given by position."""
    warnings.warn("jax.experimental.pjit.pjit is deprecated. Use jax.jit instead.",
                  DeprecationWarning, stacklevel=2)
    if len(args) > 2:
        raise TypeError("pjit takes fun, in_shardings and out_shardings by position; name other "
                        "options")
    return jit(fun, **dict(zip(("in_shardings", "out_shardings"), args)), **options)


__all__ = ["pjit"]
