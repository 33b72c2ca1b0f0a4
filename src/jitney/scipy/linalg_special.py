"""Matrices of special form: Toeplitz and its relatives, companions, Hilbert, Pascal, Fourier.

In: vectors (batches of them lead), or a size. Out: matrices. Those of a size alone are computed
exactly, in float64, before they are rounded to the default dtype.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.numpy.linalg_solve import inexact
from jitney.numpy.promotion import arraylike, promote_dtypes

# --- from vectors ----------------------------------------------------------------------------


def _vectors(name: str, *args: Any) -> tuple[Any, ...]:
    """The arguments as arrays of one dtype and rank at least 1."""
    values = arraylike(name, *args)
    values = values if isinstance(values, tuple) else (values,)
    return tuple(jnp.atleast_1d(x) for x in promote_dtypes(*values))


@jit
def _block_diag(*arrs):
    if not arrs:
        return jnp.zeros((1, 0))
    blocks = [jnp.atleast_2d(x) for x in promote_dtypes(*[jnp.asarray(a) for a in arrs])]
    columns = sum(b.shape[1] for b in blocks)
    rows, start = [], 0
    for b in blocks:
        rows.append(jnp.pad(b, ((0, 0), (start, columns - start - b.shape[1]))))
        start += b.shape[1]
    return jnp.concatenate(rows)


def block_diag(*arrs):
    """Matrices along the diagonal of a greater one; vectors are rows."""
    for i, a in enumerate(arrs):
        arraylike("block_diag", a)
        if np.ndim(a) > 2:
            raise ValueError("Arguments to jax.scipy.linalg.block_diag must have at most 2 "
                             f"dimensions, got {a} at argument {i}.")
    return _block_diag(*arrs)


@jit
def _toeplitz(c, r):
    batch = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c = jnp.broadcast_to(c, (*batch, c.shape[-1]))
    r = jnp.broadcast_to(r, (*batch, r.shape[-1]))
    m, n = c.shape[-1], r.shape[-1]
    if m == 0 or n == 0:
        return jnp.zeros((*batch, m, n), c.dtype)
    values = jnp.concatenate([jnp.flip(c, -1), r[..., 1:]], axis=-1)
    place = np.arange(n)[None, :] - np.arange(m)[:, None] + m - 1
    return values[..., place]


def toeplitz(c, r=None):
    """T[i, j] = c[i - j] for i >= j, else r[j - i]; r is the conjugate of c by default."""
    if r is None:
        (c,) = _vectors("toeplitz", c)
        r = jnp.conj(c)
    else:
        c, r = _vectors("toeplitz", c, r)
    return _toeplitz(c, r)


def hankel(c, r=None):
    """H[i, j] = c[i + j], continued by r[1:] (zeros by default)."""
    if r is None:
        (c,) = _vectors("hankel", c)
        r = jnp.zeros_like(c)
    else:
        c, r = _vectors("hankel", c, r)
    return jnp.flip(_toeplitz(jnp.flip(c, -1), jnp.concatenate(
        [c[..., -1:], jnp.broadcast_to(r, (*c.shape[:-1], r.shape[-1]))[..., 1:]], axis=-1)), -2)


def circulant(c):
    """C[i, j] = c[(i - j) mod n]."""
    (c,) = _vectors("circulant", c)
    n = c.shape[-1]
    place = (np.arange(n)[:, None] - np.arange(n)[None, :]) % max(n, 1)
    return c[..., place] if n else jnp.zeros((*c.shape, 0), c.dtype)


@jit
def _companion(a):
    n = a.shape[-1] - 1
    row = -a[..., 1:] / a[..., :1]
    shift = jnp.broadcast_to(jnp.eye(n - 1, n, dtype=row.dtype), (*a.shape[:-1], n - 1, n))
    return jnp.concatenate([row[..., None, :], shift], axis=-2)


def companion(a):
    """The matrix whose characteristic polynomial has coefficients a [..., n + 1]."""
    a = jnp.atleast_1d(inexact("companion", a))
    if a.shape[-1] < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2; got shape "
                         f"{a.shape}.")
    return _companion(a)


@jit
def _leslie(f, s):
    n = f.shape[-1]
    batch = np.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    survival = s[..., :, None] * jnp.eye(n - 1, n, dtype=s.dtype)
    return jnp.concatenate([jnp.broadcast_to(f[..., None, :], (*batch, 1, n)),
                            jnp.broadcast_to(survival, (*batch, n - 1, n))], axis=-2)


def leslie(f, s):
    """The Leslie matrix of fecundities f [..., n] and survival rates s [..., n - 1]."""
    f, s = _vectors("leslie", f, s)
    if f.shape[-1] != s.shape[-1] + 1 or s.shape[-1] == 0:
        raise ValueError("Length of f must be one greater than the length of s, and s not empty; "
                         f"got shapes {f.shape} and {s.shape}.")
    return _leslie(f, s)


def fiedler(a):
    """F[i, j] = |a[i] - a[j]|."""
    (a,) = _vectors("fiedler", a)
    return jnp.abs(a[..., :, None] - a[..., None, :])


def fiedler_companion(a):
    """Fiedler's pentadiagonal companion matrix of coefficients a [..., n + 1] (Fiedler 2003)."""
    a = jnp.atleast_1d(inexact("fiedler_companion", a))
    n = a.shape[-1] - 1
    if n < 1:
        return jnp.zeros((*a.shape[:-1], 0, 0), a.dtype)
    a = a / a[..., :1]
    if n == 1:
        return -a[..., 1:, None]
    out = jnp.zeros((*a.shape[:-1], n, n), a.dtype)
    out = out.at[..., np.arange(3, n, 2), np.arange(1, n - 2, 2)].set(1)
    out = out.at[..., np.arange(2, n, 2), np.arange(1, n - 1, 2)].set(-a[..., 3::2])
    out = out.at[..., np.arange(0, n - 2, 2), np.arange(2, n, 2)].set(1)
    out = out.at[..., np.arange(0, n - 1, 2), np.arange(1, n, 2)].set(-a[..., 2::2])
    return out.at[..., 0, 0].set(-a[..., 1]).at[..., 1, 0].set(1)


def convolution_matrix(a, n, mode="full"):
    """The matrix that convolves vectors of n elements with a [..., m] ("full", "same", "valid")."""
    n = operator.index(n)
    (a,) = _vectors("convolution_matrix", a)
    if n <= 0:
        raise ValueError(f"n must be a positive integer; got {n}.")
    if a.shape[-1] == 0:
        raise ValueError("len(a) must be at least 1.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got '{mode}'.")
    m = a.shape[-1]
    zeros = jnp.zeros((*a.shape[:-1], n - 1), a.dtype)
    whole = _toeplitz(jnp.concatenate([a, zeros], axis=-1),
                      jnp.concatenate([a[..., :1], zeros], axis=-1))
    if mode == "full":
        return whole
    length = max(m, n) if mode == "same" else max(m, n) - min(m, n) + 1
    start = (whole.shape[-2] - length) // 2
    return whole[..., start: start + length, :]


# --- from a size -----------------------------------------------------------------------------


def _rounded(values: np.ndarray) -> Any:
    """A float64 matrix in the default floating dtype."""
    return jnp.asarray(values.astype(dtypes.canonicalize_dtype(np.float64)))


def _size(name: str, n: Any, least: int = 0) -> int:
    n = operator.index(n)
    if n < least:
        raise ValueError(f"{name}: n must be at least {least}, got {n}")
    return n


def hilbert(n):
    """H[i, j] = 1 / (i + j + 1)."""
    place = np.arange(_size("hilbert", n))
    return _rounded(1.0 / (place[:, None] + place[None, :] + 1))


def invhilbert(n):
    """The inverse of the Hilbert matrix, whose elements are integers."""
    n = _size("invhilbert", n)
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            s = i + j
            out[i, j] = ((-1) ** s * (s + 1) * math.comb(n + i, n - j - 1)
                         * math.comb(n + j, n - i - 1) * math.comb(s, i) ** 2)
    return _rounded(out)


def _lower_pascal(n: int) -> np.ndarray:
    return np.array([[math.comb(i, j) for j in range(n)] for i in range(n)], float).reshape(n, n)


def _kind(kind: Any) -> str:
    kind = "symmetric" if kind is None else kind
    kinds = ["symmetric", "lower", "upper"]
    if kind not in kinds:
        raise ValueError(f"Expected kind to be on of: {kinds}; got {kind}")
    return kind


def pascal(n, kind=None):
    """Pascal's triangle as a "symmetric" (default), "lower" or "upper" matrix."""
    n, kind = _size("pascal", n), _kind(kind)
    low = _lower_pascal(n)
    return _rounded({"lower": low, "upper": low.T}.get(kind, low @ low.T))


def invpascal(n, kind=None):
    """The inverse of `pascal(n, kind)`."""
    n, kind = _size("invpascal", n), _kind(kind)
    place = np.arange(n)
    low = _lower_pascal(n) * (-1.0) ** (place[:, None] + place[None, :])
    return _rounded({"lower": low, "upper": low.T}.get(kind, low.T @ low))


def hadamard(n, dtype=int):
    """Sylvester's matrix of ones and minus ones with orthogonal rows; n a power of 2."""
    n = operator.index(n)
    if n < 1 or n & (n - 1):
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    out = np.ones((1, 1))
    while out.shape[0] < n:
        out = np.block([[out, out], [out, -out]])
    return jnp.asarray(out.astype(np.int8)).astype(dtype)


def helmert(n, full=False):
    """Orthonormal rows: differences of the first elements and the next; `full`: the mean too."""
    n = _size("helmert", n, 1)
    out = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    out[0] += 1
    scale = np.arange(n) * np.arange(1, n + 1.0)
    scale[0] = n
    out = out / np.sqrt(scale)[:, None]
    return _rounded(out if full else out[1:])


def dft(n, scale=None, *, dtype=None):
    """The matrix of the discrete Fourier transform, divided by nothing, "sqrtn" or "n"."""
    n = _size("dft", n)
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got '{scale}'.")
    place = np.arange(n)
    out = np.exp(-2j * np.pi * ((place[:, None] * place[None, :]) % max(n, 1)) / max(n, 1))
    out = out / {"sqrtn": np.sqrt(max(n, 1)), "n": max(n, 1)}.get(scale or "", 1)
    wanted = dtypes.canonicalize_dtype(np.complex128 if dtype is None else np.dtype(dtype))
    return jnp.asarray(out.astype(wanted))


__all__ = ["block_diag", "circulant", "companion", "convolution_matrix", "dft", "fiedler",
           "fiedler_companion", "hadamard", "hankel", "helmert", "hilbert", "invhilbert",
           "invpascal", "leslie", "pascal", "toeplitz"]
