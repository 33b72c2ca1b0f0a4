"""Ordinary differential equations, under the names of `jax.experimental.ode`.

In: the right-hand side as a function of a tree of arrays and a time, the tree at the first time,
times. Out: the tree at all times. Derivatives in reverse mode are solutions of the adjoint
equation, backward in time; they need memory for the states at the times asked for only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.custom_derivatives import custom_vjp
from jitney.api.custom_gradients import closure_convert
from jitney.api.jvp_vjp import vjp
from jitney.api.vmap import vmap
from jitney.base import dtypes
from jitney.base.pytree import tree_flatten
from jitney.core.trace import Tracer
from jitney.experimental.dopri5 import Options, integrate
from jitney.flatten_util import ravel_pytree
from jitney.numpy.promotion import is_arraylike


def odeint(func: Callable, y0: Any, t: Any, *args: Any, rtol: float = 1.4e-8, atol: float = 1.4e-8,
           mxstep: float = math.inf, hmax: float = math.inf) -> Any:
    """The solution of dy/dt = func(y, t, *args) at the times t, y being y0 at t[0].

    func: gives the time derivative of y, a tree like y0 (as many numbers in the same order will
    do). y0: a tree of floating or complex arrays. t: [k] floats, ascending or descending. args:
    trees of arrays. Out: a tree like y0, each array with a leading axis of k times.

    The error of a step is kept below atol + rtol |y| (root of the mean square over all numbers);
    at most `mxstep` steps are taken from one time to the next, none longer than `hmax`. Where that
    does not lead to a time, its state is NaN. Computed in float32 at least, by Dormand and Prince.

    Reverse mode with respect to y0, t, args and what func closes over; no forward mode.
    TypeError for dtypes, arguments or results of func that do not fit; ValueError for times of
    another rank, no times, or times without an order.
    Source of the adjoint equation: L. Pontryagin et al. (1962); R. Chen et al., arXiv:1806.07366.
    """
    _check_callable(func)
    for leaf in tree_flatten(args)[0]:
        if not is_arraylike(leaf):
            raise TypeError("The contents of odeint *args must be arrays or scalars, but got "
                            f"{leaf}.")
    options = _checked_options(rtol, atol, mxstep, hmax)
    t = _checked_times(t)
    flat, unravel = ravel_pytree(y0)
    if not dtypes.is_inexact(flat.dtype):
        raise TypeError(f"odeint: y0 must be of floating or complex dtype, got {flat.dtype}; "
                        "convert it with astype")
    work = dtypes.promote_types(flat.dtype, np.float32)
    direction = lax.stop_gradient(jnp.where(t[-1] < t[0], -1, 1).astype(t.dtype))

    def right_side(y, s):
        found = func(unravel(y.astype(flat.dtype)), direction * s, *args)
        return direction * _checked_slope(found, y)

    start, times = flat.astype(work), direction * t
    converted, values = closure_convert(right_side, start, times[0])
    states = _solution(converted, options)(start, times, *values)
    return vmap(unravel)(states.astype(flat.dtype))


# --- arguments -----------------------------------------------------------------------------------


def _check_callable(func: Any) -> None:
    if not callable(func):
        raise TypeError(f"odeint: func must be callable, got {func!r}")


def _checked_options(rtol: Any, atol: Any, mxstep: Any, hmax: Any) -> Options:
    given = {"rtol": rtol, "atol": atol, "mxstep": mxstep, "hmax": hmax}
    for name, value in given.items():
        if isinstance(value, Tracer) or np.ndim(value) or not is_arraylike(value):
            raise TypeError(f"odeint: {name} must be a number known while tracing, got {value!r}")
    return Options(*map(float, given.values()))


def _checked_times(t: Any) -> Any:
    if not is_arraylike(t) or not dtypes.is_floating(dtypes.dtype(t)):
        raise TypeError(f"t must be an array of floats, but got {t}.")
    if np.ndim(t) != 1 or np.shape(t)[0] == 0:
        raise ValueError("odeint: t must be a vector of at least one time, got shape "
                         f"{np.shape(t)}")
    if not isinstance(t, Tracer):
        rise = np.diff(np.asarray(t).astype(np.float64))
        if (rise > 0).any() and (rise < 0).any():
            raise ValueError("odeint: the times t must be ascending or descending; sort them")
    t = jnp.asarray(t)
    return t.astype(dtypes.promote_types(t.dtype, np.float32))


def _checked_slope(found: Any, y: Any) -> Any:
    """The result of the user's function as a vector like y."""
    slope, _ = ravel_pytree(found)
    if slope.shape != y.shape:
        raise TypeError(f"odeint: func must give as many numbers as y0 has, {y.shape[0]}, got "
                        f"{slope.shape[0]}")
    if dtypes.is_complex(slope.dtype) and not dtypes.is_complex(y.dtype):
        raise TypeError(f"odeint: func gives {slope.dtype} for a y0 of {y.dtype}; make y0 complex")
    return slope.astype(y.dtype)


# --- solution and adjoint ------------------------------------------------------------------------


def _paired(ct: Any, x: Any) -> Any:
    """The pairing of a cotangent with a tangent, as the derivative by a real number."""
    return jnp.sum(ct * x).real


def _solution(right_side: Callable, options: Options) -> Callable:
    """`solve(y0, times, *values)` of dy/dt = right_side(y, t, *values), differentiable backward."""

    @custom_vjp
    def solve(y0, times, *values):
        return integrate(lambda y, t: right_side(y, t, *values), y0, times, options)

    def forward(y0, times, *values):
        states = solve(y0, times, *values)
        return states, (states, times, values)

    def backward(residuals, cts):
        return _adjoint(right_side, options, *residuals, cts)

    solve.defvjp(forward, backward)
    return solve


def _adjoint(right_side: Callable, options: Options, states: Any, times: Any, values: tuple,
             cts: Any) -> tuple:
    """Cotangents of (y0, times, *values) from those of the states [times, n].

    With a the cotangent of the state: -da/dt = aᵀ ∂f/∂y, and that of a value grows by aᵀ ∂f/∂v.
    The state itself is solved backward along with them, anew from each known state.
    """
    nothing = tuple(jnp.zeros_like(v) for v in values)
    _, unravel = ravel_pytree((states[0], cts[0], nothing))

    def backward_side(vector, s, *values):
        y, a, _ = unravel(vector)
        slope, pull = vjp(lambda y, *v: right_side(y, -s, *v), y, *values)
        in_y, *in_values = pull(a)
        return ravel_pytree((-slope, in_y, tuple(in_values)))[0]

    solve = _solution(backward_side, options)

    def interval(carry, given):
        a, in_values = carry
        y, ct, end, start = given
        a = a + ct
        in_time = _paired(ct, right_side(y, end, *values))
        vector, _ = ravel_pytree((y, a, in_values))
        _, a, in_values = unravel(solve(vector, jnp.stack([-end, -start]), *values)[1])
        return (a, in_values), in_time

    (a, in_values), in_times = lax.scan(
        interval, (jnp.zeros_like(cts[0]), nothing),
        (states[1:], cts[1:], times[1:], times[:-1]), reverse=True)
    first = -_paired(a, right_side(states[0], times[0], *values))
    in_times = jnp.concatenate([first[None].astype(times.dtype), in_times.astype(times.dtype)])
    return a + cts[0], in_times, *in_values


__all__ = ["odeint"]
