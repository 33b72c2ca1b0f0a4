"""The iterations of Krylov-space solvers on one vector.

In: the linear map and a preconditioner as functions of vectors [n], the right-hand side, a first
guess, tolerances, the greatest number of steps. Out: (the solution [n], whether it failed, None
where a method does not say). Invariant: each is one `while_loop`, so that it runs under any
transformation that loops do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitney import lax
from jitney import numpy as jnp


def _inner(x: Any, y: Any) -> Any:
    return jnp.vdot(x, y, precision=lax.Precision.HIGHEST)


def _square(x: Any) -> Any:
    """|x|²."""
    return _inner(x, x).real


def _bound(b: Any, tol: Any, atol: Any) -> Any:
    """The square of the residual's norm at which to stop."""
    square = _square(b)
    return jnp.maximum(jnp.square(tol) * square, jnp.square(atol)).astype(square.dtype)


def cg_iterations(A: Callable, b: Any, x0: Any, M: Callable, tol: Any, atol: Any,
                  maxiter: Any) -> tuple[Any, None]:
    """Conjugate gradients."""
    bound = _bound(b, tol, atol)

    def going(state):
        _, r, *_, k = state
        return (_square(r) > bound) & (k < maxiter)

    def step(state):
        x, r, gamma, p, k = state
        Ap = A(p)
        alpha = gamma / _inner(p, Ap).real
        x, r = x + alpha * p, r - alpha * Ap
        z = M(r)
        after = _inner(r, z).real
        return x, r, after, z + (after / gamma) * p, k + 1

    r = b - A(x0)
    z = M(r)
    return lax.while_loop(going, step, (x0, r, _inner(r, z).real, z, 0))[0], None


def bicgstab_iterations(A: Callable, b: Any, x0: Any, M: Callable, tol: Any, atol: Any,
                        maxiter: Any) -> tuple[Any, None]:
    """Stabilized biconjugate gradients; ends where a denominator vanishes."""
    bound = _bound(b, tol, atol)
    shadow = b - A(x0)

    def going(state):
        _, r, *_, k, broken = state
        return (_square(r) > bound) & (k < maxiter) & ~broken

    def step(state):
        x, r, p, q, alpha, rho, omega, k, _ = state
        new_rho = _inner(shadow, r)
        p = r + (new_rho / rho) * (alpha / omega) * (p - omega * q)
        p_hat = M(p)
        q = A(p_hat)
        denominator = _inner(shadow, q)
        broken = (new_rho == 0) | (denominator == 0)
        alpha = new_rho / jnp.where(broken, 1, denominator)
        s = r - alpha * q
        done = _square(s) <= bound
        s_hat = M(s)
        t = A(s_hat)
        length = _square(t)
        omega = jnp.where(done | (length == 0), 0, _inner(t, s) / jnp.where(length == 0, 1, length))
        x = jnp.where(broken, x, x + alpha * p_hat + omega * s_hat)
        r = jnp.where(broken, r, s - omega * t)
        return x, r, p, q, alpha, new_rho, omega, k + 1, broken | (omega == 0)

    one, nothing = jnp.ones((), b.dtype), jnp.zeros_like(b)
    state = (x0, shadow, nothing, nothing, one, one, one, 0, False)
    return lax.while_loop(going, step, state)[0], None


# --- GMRES ---------------------------------------------------------------------------------------


def gmres_iterations(A: Callable, b: Any, x0: Any, M: Callable, tol: Any, atol: Any, maxiter: Any,
                     restart: int, incremental: bool) -> tuple[Any, Any]:
    """Generalized minimal residuals, restarted after `restart` vectors."""
    if not b.size:
        return x0, jnp.zeros((), bool)
    restart = min(restart, b.size)
    bound = _preconditioned_bound(b, M(b), tol, atol)

    def going(state):
        _, _, length, k = state
        return (length > bound) & (k < maxiter)

    def cycle(state):
        x, r, length, k = state
        basis, y = _minimize(lambda v: M(A(v)), r, length, bound, restart, incremental)
        x = x + jnp.dot(basis[:, :-1], y, precision=lax.Precision.HIGHEST)
        r = M(b - A(x))
        return x, r, jnp.sqrt(_square(r)), k + 1

    r = M(b - A(x0))
    x, _, length, _ = lax.while_loop(going, cycle, (x0, r, jnp.sqrt(_square(r)), 0))
    return x, ~(jnp.isfinite(x).all() & jnp.isfinite(length))


def _preconditioned_bound(b: Any, Mb: Any, tol: Any, atol: Any) -> Any:
    """The bound of the preconditioned residual's norm that stands for the residual's own."""
    length, after = jnp.sqrt(_square(b)), jnp.sqrt(_square(Mb))
    bound = jnp.maximum(tol * length, atol)
    share = jnp.minimum(1.0, bound / jnp.where(length == 0, 1, length))
    return jnp.where(length == 0, bound, after * share).astype(length.dtype)


def _minimize(A: Callable, r: Any, length: Any, bound: Any, size: int,
              incremental: bool) -> tuple[Any, Any]:
    """(basis [n, size + 1], coordinates [size]) of the shift of smallest residual.

    The basis is orthonormal, with A basis[:, :size] = basis H (Arnoldi). Columns that were not
    reached are zeros in the basis and unit vectors in H, so that their coordinates are 0. With
    `incremental`, `factor` is Q H, upper triangular in the columns reached, Q being `rotation`.
    """
    basis = jnp.zeros((r.size, size + 1), r.dtype).at[:, 0].set(r / length)
    factor = jnp.eye(size + 1, size, dtype=r.dtype)
    rotation = jnp.eye(size + 1, dtype=r.dtype)

    def going(state):
        *_, rotation, k, broken = state
        on = (k < size) & ~broken
        return on & (length * jnp.abs(rotation[k, 0]) > bound) if incremental else on

    def step(state):
        basis, factor, rotation, k, _ = state
        basis, column, broken = _arnoldi_step(A, basis, k)
        if incremental:
            column = jnp.dot(rotation, column, precision=lax.Precision.HIGHEST)
            turn = _givens(column[k], column[k + 1])
            column = _turned(turn, column[:, None], k)[:, 0]
            rotation = _turned(turn, rotation, k)
        return basis, factor.at[:, k].set(column), rotation, k + 1, broken

    basis, factor, rotation, k, _ = lax.while_loop(
        going, step, (basis, factor, rotation, 0, False))
    if incremental:
        target = jnp.where(jnp.arange(size) < k, length * rotation[:size, 0], 0)
        factor = factor[:size]
    else:
        q, factor = jnp.linalg.qr(factor)
        target = length * q[0].conj()
    return basis, lax.linalg.triangular_solve(factor, target[:, None], left_side=True)[:, 0]


def _arnoldi_step(A: Callable, basis: Any, k: Any) -> tuple[Any, Any, Any]:
    """(basis with column k + 1, column k of H, whether the space is exhausted).

    Classical Gram-Schmidt, twice, which is as good as orthogonal (Giraud et al., 2005).
    """
    w = A(basis[:, k])
    before = jnp.sqrt(_square(w))
    column = jnp.zeros(basis.shape[1], basis.dtype)
    for _ in range(2):
        part = jnp.dot(basis.conj().T, w, precision=lax.Precision.HIGHEST)
        w = w - jnp.dot(basis, part, precision=lax.Precision.HIGHEST)
        column = column + part
    after = jnp.sqrt(_square(w))
    broken = after <= jnp.finfo(after.dtype).eps * before
    basis = basis.at[:, k + 1].set(jnp.where(broken, 0, w / jnp.where(broken, 1, after)))
    return basis, column.at[k + 1].set(jnp.where(broken, 0, after)), broken


def _givens(a: Any, b: Any) -> tuple[Any, Any]:
    """(c, s), c real, with -conj(s) a + c b = 0 and c² + |s|² = 1."""
    length = jnp.hypot(jnp.abs(a), jnp.abs(b))
    safe = jnp.where(length == 0, 1, length)
    phase = jnp.where(a == 0, 1, a / jnp.where(a == 0, 1, jnp.abs(a)))
    return jnp.where(length == 0, 1, jnp.abs(a) / safe), phase * jnp.conj(b) / safe


def _turned(turn: tuple[Any, Any], rows: Any, k: Any) -> Any:
    """Rows k and k + 1 rotated."""
    c, s = turn
    upper, lower = rows[k], rows[k + 1]
    return rows.at[k].set(c * upper + s * lower).at[k + 1].set(c * lower - jnp.conj(s) * upper)
