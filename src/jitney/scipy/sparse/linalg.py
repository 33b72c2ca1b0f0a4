"""Iterative solvers of linear systems, under the names of `jax.scipy.sparse.linalg`.

In: a square matrix or a linear function from trees of arrays to trees like them, and a right-hand
side. Out: the solution and a status. Solutions are differentiated as such (`custom_linear_solve`),
not the iterations: a derivative is another solve with the same method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.base import dtypes
from jitney.base.pytree import tree_flatten, tree_map
from jitney.flatten_util import ravel_pytree
from jitney.numpy.promotion import is_arraylike
from jitney.scipy.sparse.krylov import bicgstab_iterations, cg_iterations, gmres_iterations


def _operator(given: Any) -> Callable:
    """A linear function, of a function or a square matrix."""
    if callable(given):
        return given
    if not is_arraylike(given) or isinstance(given, (bool, int, float, complex)):
        raise TypeError(f"linear operator must be either a function or ndarray: {given}")
    if np.ndim(given) != 2 or given.shape[0] != given.shape[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {given.shape}")
    return lambda x: jnp.dot(given, x, precision=lax.Precision.HIGHEST)


def _preconditioners(given: Any) -> tuple[Callable | None, Callable | None]:
    """The preconditioner, and that of the transposed system (a function serves both)."""
    if given is None:
        return None, None
    forward = _operator(given)
    return forward, forward if callable(given) else _operator(given.T)


def _checked_start(x0: Any, b: Any) -> Any:
    """The first guess as a tree like b."""
    if x0 is None:
        return tree_map(jnp.zeros_like, b)
    x0 = tree_map(jnp.asarray, x0)
    found, tree = tree_flatten(x0)
    wanted, b_tree = tree_flatten(b)
    if tree != b_tree:
        raise ValueError(f"x0 and b must have matching tree structure: {tree} vs {b_tree}")
    shapes, b_shapes = [x.shape for x in found], [x.shape for x in wanted]
    if shapes != b_shapes:
        raise ValueError("arrays in x0 and b must have matching shapes: "
                         f"{shapes} vs {b_shapes}")
    for x, y in zip(found, wanted, strict=True):
        if x.dtype != y.dtype and not x.weak_type:
            raise TypeError("arrays in x0 and b must have matching dtypes: "
                            f"{x.dtype} vs {y.dtype}; convert x0 with astype")
    return tree_map(lambda x, y: x.astype(y.dtype), x0, b)


def _checked_b(name: str, b: Any) -> tuple[Any, list]:
    """b as a tree of arrays, and its leaves; a system has one kind of numbers."""
    b = tree_map(jnp.asarray, b)
    leaves, _ = tree_flatten(b)
    for leaf in leaves:
        if not dtypes.is_inexact(leaf.dtype):
            raise TypeError(f"{name}: b must have a floating or complex dtype, got {leaf.dtype}; "
                            "convert it with astype")
    if len({dtypes.is_complex(leaf.dtype) for leaf in leaves}) > 1:
        raise TypeError(f"{name}: the arrays in b must all be real or all be complex, got "
                        f"{[str(leaf.dtype) for leaf in leaves]}")
    return b, leaves


def _flat_solver(iterations: Callable, start: Any, precondition: Callable | None,
                 tol: Any, atol: Any, maxiter: Any) -> Callable:
    """A solver of trees, of iterations on one vector (in float32 at least)."""

    def solve(matvec: Callable, b: Any) -> Any:
        flat, unravel = ravel_pytree(b)
        work = dtypes.promote_types(flat.dtype, np.float32)

        def on_vectors(function: Callable | None) -> Callable:
            if function is None:
                return lambda v: v
            return lambda v: ravel_pytree(function(unravel(v.astype(flat.dtype))))[0].astype(work)

        first = jnp.zeros_like(flat) if start is None else ravel_pytree(start)[0]
        x, failed = iterations(on_vectors(matvec), flat.astype(work), first.astype(work),
                               on_vectors(precondition), tol, atol, maxiter)
        x = unravel(x.astype(flat.dtype))
        return x if failed is None else (x, jnp.where(failed, -1, 0))

    return solve


def _solve(name: str, iterations: Callable, A: Any, b: Any, x0: Any, tol: Any, atol: Any,
           maxiter: Any, M: Any, symmetric: bool = False, has_aux: bool = False) -> Any:
    """What all solvers share: arguments, derivatives."""
    b, leaves = _checked_b(name, b)
    start = _checked_start(x0, b)
    if maxiter is None:
        maxiter = 10 * sum(leaf.size for leaf in leaves)  # as in SciPy
    operator = _operator(A)
    forward, backward = _preconditioners(M)
    symmetric = symmetric and not any(dtypes.is_complex(leaf.dtype) for leaf in leaves)
    return lax.custom_linear_solve(
        operator, b, _flat_solver(iterations, start, forward, tol, atol, maxiter),
        _flat_solver(iterations, None, backward, tol, atol, maxiter), symmetric, has_aux)


def cg(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: Any = None,
       M: Any = None) -> tuple[Any, None]:
    """(x, None) with A x = b, by conjugate gradients; A must be Hermitian and positive definite.

    A: a matrix [n, n], or a linear function from trees like b to trees like b. b: a tree of
    floating arrays. x0: a first guess, a tree like b (zeros by default). It ends when
    |b - A x| <= max(tol * |b|, atol), or after `maxiter` steps (10 n by default). M: an
    approximate inverse of A, in the same forms. Derivatives take A to be symmetric (for real b).

    ValueError if shapes or structures do not fit, TypeError if dtypes do not.
    Source: Y. Saad, Iterative Methods for Sparse Linear Systems (2003), algorithm 9.1.
    """
    return _solve("cg", cg_iterations, A, b, x0, tol, atol, maxiter, M, symmetric=True), None


def bicgstab(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0,
             maxiter: Any = None, M: Any = None) -> tuple[Any, None]:
    """(x, None) with A x = b, by stabilized biconjugate gradients; A need not be symmetric.

    Arguments and errors are those of `cg`. Where the recurrence breaks down it ends.
    Source: H. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992), 631.
    """
    return _solve("bicgstab", bicgstab_iterations, A, b, x0, tol, atol, maxiter, M), None


def gmres(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, restart: int = 20,
          maxiter: Any = None, M: Any = None, solve_method: str = "batched") -> tuple[Any, Any]:
    """(x, info) with A x = b, by restarted generalized minimal residuals; A may be any matrix.

    Arguments and errors are those of `cg`, besides: restart: vectors of the Krylov space before it
    is built anew; maxiter: how often it is built. solve_method: "batched" builds the space to its
    end and then minimizes the residual; "incremental" keeps the factors up to date and ends
    earlier. info: int32, 0, or -1 if the iterations diverged (x or the
    residual is not finite).

    Source: Y. Saad, M. Schultz, SIAM J. Sci. Stat. Comput. 7 (1986), 856; M preconditions from the
    left.
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"invalid solve_method {solve_method}, must be either 'incremental' or "
                         "'batched'")
    if restart < 1:
        raise ValueError(f"gmres: restart must be at least 1, got {restart}")

    def iterations(*args: Any) -> Any:
        return gmres_iterations(*args, restart, solve_method == "incremental")

    return _solve("gmres", iterations, A, b, x0, tol, atol, maxiter, M, has_aux=True)


__all__ = ["bicgstab", "cg", "gmres"]
