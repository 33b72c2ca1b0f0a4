"""Minimization of functions of vectors, under the names of `jax.scipy.optimize`.

In: a function from a vector (and further arguments) to a number, and where to start. Out: where it
is least nearby, and how that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jitney import numpy as jnp
from jitney.base import dtypes
from jitney.numpy.promotion import check_arraylike
from jitney.scipy.optimize.bfgs import minimize_bfgs


class OptimizeResults(NamedTuple):
    """x: [n], where the search ended; fun, jac: value and gradient [n] there; hess_inv: [n, n], the
    estimated inverse of the matrix of second derivatives; success: whether the gradient is as small
    as asked for; status: 0 if so, 1 after `maxiter` steps, 3 or 5 if the search along a line ended
    without a good point (between two points, or without an end where values fall); nfev, njev, nit:
    how often the function and its gradient were computed, and steps.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(fun: Callable, x0: Any, args: tuple = (), *, method: str, tol: float | None = None,
             options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """A local minimum of `fun(x, *args)`, a floating number, from x = x0 [n] on.

    method: "BFGS" (in any case). tol: the bound of the gradient's norm, unless `options` has it.
    options: gtol (1e-5), norm (order of the norm: infinity), maxiter (200 n steps),
    line_search_maxiter (10 points tried along a line, in each of two phases).

    TypeError if args is no tuple, x0 no real floating vector, an option is unknown, or fun does
    not give a number; ValueError for other methods.
    """
    if not isinstance(args, tuple):
        raise TypeError("args argument to jax.scipy.optimize.minimize must be a tuple, got "
                        f"{args}")
    if not isinstance(method, str) or method.lower() != "bfgs":
        raise ValueError(f"Method {method} not recognized: the method available is 'BFGS'")
    check_arraylike("minimize", x0)
    x0 = jnp.asarray(x0)
    if x0.ndim != 1:
        raise TypeError(f"minimize: x0 must be a vector, got shape {x0.shape}; flatten it "
                        "(jax.flatten_util.ravel_pytree) and unflatten it in fun")
    if not dtypes.is_floating(x0.dtype):
        raise TypeError("minimize: x0 must have a real floating dtype, as the gradient by it "
                        f"requires, got {x0.dtype}")
    given = {} if tol is None else {"gtol": tol}
    given.update(options or {})
    return OptimizeResults(*minimize_bfgs(lambda x: fun(x, *args), x0, **given))


__all__ = ["OptimizeResults", "minimize"]
