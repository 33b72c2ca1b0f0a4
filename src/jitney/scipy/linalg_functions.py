"""Functions of matrices: exponential, square root and others, polar factors, Sylvester equations.

In: square matrices. Out: matrices of the same shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.custom_derivatives import custom_jvp
from jitney.api.jit import jit
from jitney.api.jvp_vjp import jvp
from jitney.lax import linalg as lax_linalg
from jitney.lax.linalg.common import adjoint, is_complex, product
from jitney.numpy.linalg_solve import inexact
from jitney.scipy.linalg_factors import _rsf2csf, _schur, hints, solve_triangular

# --- expm ------------------------------------------------------------------------------------

# Padé approximants of degree m: coefficients, and norms up to which they are exact to rounding
# (Higham 2005, "The scaling and squaring method for the matrix exponential revisited", table 2.3).
_PADE = {
    3: (120.0, 60.0, 12.0, 1.0),
    5: (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0),
    7: (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
    9: (17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0,
        3960.0, 90.0, 1.0),
    13: (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
         129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
         40840800.0, 960960.0, 16380.0, 182.0, 1.0),
}
_LIMITS = {
    8: ((3, 1.495585217958292e-002), (5, 2.539398330063230e-001), (7, 9.504178996162932e-001),
        (9, 2.097847961257068e000), (13, 5.371920351148152e000)),
    4: ((3, 4.258730016922831e-001), (5, 1.880152677804762e000), (7, 3.925724783138660e000)),
}


def _pade(a: Any, degree: int) -> tuple[Any, Any]:
    """(U, V), odd and even part of the numerator."""
    b = [np.asarray(c, a.dtype)[()] for c in _PADE[degree]]
    eye = jnp.eye(a.shape[-1], dtype=a.dtype)
    powers = {0: eye, 2: product(a, a)}
    if degree == 13:
        powers[4] = product(powers[2], powers[2])
        powers[6] = product(powers[4], powers[2])
        high = product(powers[6], b[13] * powers[6] + b[11] * powers[4] + b[9] * powers[2])
        u = product(a, high + b[7] * powers[6] + b[5] * powers[4] + b[3] * powers[2] + b[1] * eye)
        high = product(powers[6], b[12] * powers[6] + b[10] * powers[4] + b[8] * powers[2])
        return u, high + b[6] * powers[6] + b[4] * powers[4] + b[2] * powers[2] + b[0] * eye
    for k in range(4, degree, 2):
        powers[k] = product(powers[k - 2], powers[2])
    odd = sum(b[k + 1] * powers[k] for k in powers)
    return product(a, odd), sum(b[k] * powers[k] for k in powers)


def _expm_one(a: Any, upper_triangular: bool, max_squarings: int) -> Any:
    real = jnp.finfo(a.dtype).dtype
    if np.dtype(real).itemsize not in _LIMITS:
        raise TypeError(f"A.dtype={a.dtype} is not supported.")
    limits = _LIMITS[np.dtype(real).itemsize]
    greatest = limits[-1][1]
    size = lax.stop_gradient(jnp.max(jnp.sum(jnp.abs(a), axis=0), initial=0))
    wanted = jnp.maximum(0, jnp.floor(jnp.log2(size / greatest)) + 1)
    count = jnp.where(size > greatest, wanted, 0)
    scaled = a / (2 ** count).astype(a.dtype)
    bounds = jnp.asarray([limit for _, limit in limits[:-1]], real)
    which = jnp.sum(size > bounds).astype(np.int32)
    u, v = lax.switch(which, [lambda x, m=m: _pade(x, m) for m, _ in limits], scaled)
    top, bottom = u + v, v - u
    if upper_triangular:
        r = solve_triangular(bottom, top, lower=False)
    else:
        r = jnp.linalg.solve(bottom, top)

    def square(i, r):
        return lax.cond(i < count, lambda x: product(x, x), lambda x: x, r)

    r = lax.fori_loop(0, max_squarings, square, r)
    return jnp.where(count > max_squarings, jnp.nan, r)


@jit(static_argnames=("upper_triangular", "max_squarings"))
def expm(A, *, upper_triangular=False, max_squarings=16):
    """The exponential of matrices A [..., n, n], by scaling, squaring and Padé approximants.

    NaN if more than `max_squarings` squarings would be needed. `upper_triangular`: A is taken to
    be so.
    """
    a = inexact("jax.scipy.linalg.expm", A)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got A.shape={a.shape}.")
    if a.size == 0:
        return a

    def one(x):
        return _expm_one(x, upper_triangular, max_squarings)

    return jnp.vectorize(one, signature="(n,n)->(n,n)")(a) if a.ndim > 2 else one(a)


def expm_frechet(A, E, *, method=None, compute_expm=True):
    """(expm(A), its derivative in direction E), or the derivative alone. `method` is SciPy's name
    of an algorithm; here it is forward-mode differentiation."""
    if method is not None and not isinstance(method, str):
        raise TypeError(f"method must be a string or None, got {method!r}")
    return _expm_frechet(A, E, bool(compute_expm))


@jit(static_argnames=("compute_expm",))
def _expm_frechet(a, e, compute_expm):
    a, e = inexact("jax.scipy.linalg.expm_frechet", a, e)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"expected A to be a square matrix, got A.shape={a.shape}")
    if a.shape != e.shape:
        raise ValueError("expected A and E to be the same shape, got "
                         f"A.shape={a.shape} E.shape={e.shape}")
    out, dot = jvp(expm, (a,), (e,))
    return (out, dot) if compute_expm else dot


# --- square root, any function ---------------------------------------------------------------


def _complex_schur(a: Any) -> tuple[Any, Any]:
    t, z = _schur(a, "real")
    return (t, z) if is_complex(a) else _rsf2csf(t, z)


def _distance(n: int) -> Any:
    """column - row of every element."""
    place = jnp.arange(n)
    return place[None, :] - place[:, None]


def _sqrt_triangular(t: Any) -> Any:
    """Björck and Hammarling (1983), one diagonal after the other."""
    n = t.shape[0]
    roots = jnp.sqrt(jnp.diagonal(t))
    sums = roots[:, None] + roots[None, :]
    sums = jnp.where(sums == 0, 1, sums)
    distance = _distance(n)

    def step(p, u):
        strict = jnp.triu(u, 1)
        values = (t - product(strict, strict)) / sums
        return jnp.where(distance == p, values, u)

    return lax.fori_loop(1, n, step, jnp.diag(roots))


@custom_jvp
def _sqrtm(a):
    t, z = _complex_schur(a)
    return product(product(z, _sqrt_triangular(t)), adjoint(z))


@_sqrtm.defjvp
def _sqrtm_jvp(primals, tangents):
    # X² = A: X dX + dX X = dA
    (a,), (t,) = primals, tangents
    x = _sqrtm(a)
    return x, _sylvester(x, x, t.astype(x.dtype), 0.0)


@jit
def _sqrtm_call(a):
    a = inexact("jax.scipy.linalg.sqrtm", a)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"Input must be a square matrix, got shape {a.shape}")
    small = a.dtype.itemsize == 2                          # float16 and bfloat16
    return _sqrtm(a.astype(np.float32) if small else a)


def sqrtm(A, blocksize=1):
    """The principal square root of A [n, n], complex. It has a derivative where it is regular."""
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    return _sqrtm_call(A)


def _parlett(t: Any, values: Any) -> tuple[Any, Any]:
    """(F, least difference of eigenvalues) with F of triangular T (Parlett 1976), by diagonals."""
    n = t.shape[0]
    diagonal = jnp.diagonal(t)
    gaps = diagonal[None, :] - diagonal[:, None]
    safe = jnp.where(gaps == 0, 1, gaps)
    rises = t * (values[None, :] - values[:, None])
    distance = _distance(n)
    strict_t = jnp.triu(t, 1)

    def step(p, f):
        strict = jnp.triu(f, 1)
        sums = rises + product(strict_t, strict) - product(strict, strict_t)
        return jnp.where(distance == p, sums / safe, f)

    least = jnp.min(jnp.where(distance > 0, jnp.abs(gaps), jnp.inf))
    return lax.fori_loop(1, n, step, jnp.diag(values)), least


def funm(A, func, disp=True):
    """func(A) for a function that works elementwise on complex arrays; A [n, n].

    `disp` False: (func(A), estimate of the error).
    """
    a = inexact("jax.scipy.linalg.funm", A)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"expected square array_like input, got shape {a.shape}")
    t, z = _complex_schur(a)
    f, least = _parlett(t, func(jnp.diagonal(t)))
    out = product(product(z, f), adjoint(z))
    if disp:
        return out
    real = jnp.finfo(a.dtype).dtype
    tol = float(jnp.finfo(a.dtype).eps)
    least = jnp.where(least == 0, tol, least)
    upper = jnp.linalg.norm(jnp.triu(t, 1), 1)
    error = jnp.minimum(1, jnp.maximum(tol, (tol / least) * upper))
    bad = jnp.logical_or(jnp.isnan(out).any(), jnp.isinf(out).any())
    return out, jnp.where(bad, jnp.inf, error).astype(real)


# --- polar -----------------------------------------------------------------------------------


@jit(static_argnames=("side", "method", "eps", "max_iterations"))
def polar(a, side="right", *, method="qdwh", eps=None, max_iterations=None):
    """(u, p): u with orthonormal columns or rows, p Hermitian positive semidefinite.

    a = u p (side "right") or p u ("left"), for a [m, n]. Both methods use singular vectors; "qdwh"
    keeps JAX's restriction of shapes. `eps` and `max_iterations` belong to its iteration.
    """
    hints(eps=eps, max_iterations=max_iterations)
    a = inexact("jax.scipy.linalg.polar", a)
    if a.ndim != 2:
        raise ValueError("The input `a` must be a 2-D array.")
    if side not in ("right", "left"):
        raise ValueError("The argument `side` must be either 'right' or 'left'.")
    m, n = a.shape
    if method == "qdwh":
        if (m < n) if side == "right" else (m > n):
            raise NotImplementedError("method='qdwh' only supports mxn matrices where m < n where "
                                      "side='right' and m >= n side='left', got "
                                      f"{a.shape} with {side=}")
    elif method != "svd":
        raise ValueError(f"Unknown polar decomposition method {method}.")
    left, s, vh = lax_linalg.svd(a, full_matrices=False)
    s = s.astype(left.dtype)
    u = product(left, vh)
    p = product(adjoint(vh) * s, vh) if side == "right" else product(left * s, adjoint(left))
    return u, p


# --- Sylvester's equation --------------------------------------------------------------------


def _sylvester(a: Any, b: Any, c: Any, tol: Any) -> Any:
    """X with A X + X B = C, by Schur forms (Bartels and Stewart 1972); complex."""
    r, u = _complex_schur(a)
    t, v = _complex_schur(b)
    f = product(product(adjoint(u), c.astype(u.dtype)), v)
    n, m = f.shape
    eye = jnp.eye(n, dtype=r.dtype)

    def column(k, y):
        factor = lax.dynamic_index_in_dim(t, k, 1)
        known = product(y, factor)
        shift = lax.dynamic_index_in_dim(factor, k, 0, keepdims=False)[0]
        right = lax.dynamic_index_in_dim(f, k, 1) - known
        found = lax_linalg.triangular_solve(r + shift * eye, right, left_side=True, lower=False)
        return lax.dynamic_update_slice(y, found, (0, k))

    y = lax.fori_loop(0, m, column, jnp.zeros_like(f))
    sums = jnp.diagonal(r)[:, None] + jnp.diagonal(t)[None, :]
    y = jnp.where(jnp.any(jnp.abs(sums) < tol), jnp.nan, y)
    return product(product(u, y), adjoint(v))


def _sylvester_by_eigenvectors(a: Any, b: Any, c: Any, tol: Any) -> Any:
    r, u = jnp.linalg.eig(a)
    t, v = jnp.linalg.eig(b)
    f = product(jnp.linalg.solve(u, c.astype(u.dtype)), v)
    sums = r[:, None] + t[None, :]
    y = jnp.where(jnp.any(jnp.abs(sums) < tol), jnp.nan, f / sums)
    return product(u, jnp.swapaxes(jnp.linalg.solve(v.T, y.T), 0, 1))


@jit(static_argnames=("method", "tol"))
def solve_sylvester(A, B, C, *, method="schur", tol=1e-8):
    """X with A X + X B = C, for A [m, m], B [n, n], C [m, n].

    `method` "schur" or "eigen". NaN if the sum of an eigenvalue of A and one of B is below `tol`.
    """
    a, b, c = inexact("jax.scipy.linalg.solve_sylvester", A, B, C)
    square = a.ndim == b.ndim == c.ndim == 2 and a.shape[0] == a.shape[1] \
        and b.shape[0] == b.shape[1]
    if not square or c.shape != (a.shape[0], b.shape[0]):
        raise ValueError("Incompatible shapes for Sylvester equation:\n"
                         f"A: {a.shape}\nB: {b.shape}\nC: {c.shape}")
    if method not in ("schur", "eigen"):
        raise ValueError(f"Unrecognized method {method}. The two valid methods are either "
                         "\"schur\" or \"eigen\".")
    x = (_sylvester if method == "schur" else _sylvester_by_eigenvectors)(a, b, c, tol)
    return x if is_complex(a) else jnp.real(x)


__all__ = ["expm", "expm_frechet", "funm", "polar", "solve_sylvester", "sqrtm"]
