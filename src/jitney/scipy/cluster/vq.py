"""Vector quantization, under the names of `jax.scipy.cluster.vq`.

In: observations [m, d] and the entries of a code book [n, d]. Out: which entry is nearest.
"""

from __future__ import annotations

from typing import Any

from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.numpy.promotion import array_arguments, promote_dtypes_inexact
from jitney.scipy.linalg_factors import hints


@jit
def _nearest(obs, code_book):
    gaps = jnp.linalg.norm(obs[:, None, :] - code_book[None, :, :], axis=-1)
    code = jnp.argmin(gaps, axis=-1)
    return code, jnp.take_along_axis(gaps, code[:, None], axis=-1)[:, 0]


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """(index of the nearest entry, Euclidean distance to it) of each observation.

    obs: [m, d], or [m] for numbers; code_book: [n, d] or [n]. Out: int32 [m] (the first of
    several that are equally near), and [m] of the promoted floating dtype. `check_finite` is taken
    for compatibility: an observation with NaN has distance NaN.

    ValueError for other ranks, different ranks, or no entries; TypeError for different d.
    """
    hints(check_finite=check_finite)
    obs, code_book = promote_dtypes_inexact(*array_arguments("scipy.cluster.vq.vq", obs, code_book))
    obs, code_book = jnp.asarray(obs), jnp.asarray(code_book)
    if obs.ndim != code_book.ndim:
        raise ValueError("Observation and code_book should have the same rank; got shapes "
                         f"{obs.shape} and {code_book.shape}.")
    if obs.ndim not in (1, 2):
        raise ValueError("ndim different than 1 or 2 are not supported; got observations of shape "
                         f"{obs.shape}.")
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    if obs.shape[1] != code_book.shape[1]:
        raise TypeError("Observations and entries of the code book should have the same number "
                        f"of coordinates; got shapes {obs.shape} and {code_book.shape}.")
    if code_book.shape[0] == 0:
        raise ValueError("attempt to get argmin of an empty sequence: the code book has no entries")
    return _nearest(obs, code_book)


__all__ = ["vq"]
