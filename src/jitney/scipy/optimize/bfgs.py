"""The quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno.

In: a function from a vector to a number and a start. Out: the fields of `OptimizeResults`.
Invariant: steps go where the value falls; the estimated inverse stays positive definite, because
steps that would spoil it do not change it. Derivatives go through the iterations, whose step
lengths count as constants: what remains tends to the derivative of the minimum.

Source: J. Nocedal, S. Wright, Numerical Optimization (2006), algorithm 6.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jitney import lax
from jitney import numpy as jnp
from jitney.api.grad import value_and_grad
from jitney.scipy.optimize.line_search import Point, line_search

_HIGHEST = lax.Precision.HIGHEST


class _State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    inverse: Any
    previous: Any  # the value one step before
    converged: Any
    failure: Any  # 0, or the status of a line search without progress
    evaluations: Any
    steps: Any


def minimize_bfgs(fun: Callable, x0: Any, maxiter: int | None = None, norm: Any = float("inf"),
                  gtol: float = 1e-5, line_search_maxiter: int = 10) -> tuple:
    """The fields of `OptimizeResults`, after steps until the gradient's norm is below `gtol`."""
    maxiter = 200 * x0.size if maxiter is None else maxiter
    function = value_and_grad(fun)

    def small(gradient: Any) -> Any:
        return jnp.linalg.norm(gradient, ord=norm) < gtol if gradient.size else True

    def going(state: _State) -> Any:
        return ~state.converged & (state.failure == 0) & (state.steps < maxiter)

    def step(state: _State) -> _State:
        direction = -jnp.dot(state.inverse, state.gradient, precision=_HIGHEST)
        slope = jnp.vdot(state.gradient, direction).astype(state.value.dtype)
        start = Point(0.0, state.value, slope, state.gradient)
        found = line_search(function, state.x, direction, start, _first_step(state, slope),
                            line_search_maxiter)
        point = found.point
        progress = found.good | (found.zoomed & (point.value < state.value))
        moved = progress | (point.value < state.value)
        shift = point.step.astype(state.x.dtype) * direction
        return _State(
            jnp.where(moved, state.x + shift, state.x), point.value, point.gradient,
            _updated(state.inverse, shift, point.gradient - state.gradient), state.value,
            small(point.gradient), jnp.where(progress, 0, jnp.where(found.zoomed, 3, 5)),
            state.evaluations + found.count, state.steps + 1)

    value, gradient = function(x0)
    # as if the last step had gained half the gradient's length
    before = value + jnp.linalg.norm(lax.stop_gradient(gradient)).astype(value.dtype) / 2
    state = _State(x0, value, gradient, jnp.eye(x0.size, dtype=x0.dtype), before,
                   jnp.asarray(small(gradient)), 0, 1, 0)
    state = lax.while_loop(going, step, state)
    status = jnp.where(state.converged, 0, jnp.where(state.failure == 0, 1, state.failure))
    return (state.x, state.converged, status, state.value, state.gradient, state.inverse,
            state.evaluations, state.evaluations, state.steps)


def _first_step(state: _State, slope: Any) -> Any:
    """The step that would gain as much as the last one (equation 3.60), at most 1."""
    wanted = 1.01 * 2 * (state.value - state.previous) / slope
    return lax.stop_gradient(jnp.where(wanted > 0, jnp.minimum(1.0, wanted), 1.0))


def _updated(inverse: Any, shift: Any, change: Any) -> Any:
    """The inverse that maps the gradient's change to the shift (equation 6.17)."""
    product = jnp.vdot(shift, change, precision=_HIGHEST)
    usable = product > 0
    rho = 1 / jnp.where(usable, product, 1)
    left = jnp.eye(shift.size, dtype=shift.dtype) - rho * jnp.outer(shift, change)
    new = jnp.dot(jnp.dot(left, inverse, precision=_HIGHEST), left.T, precision=_HIGHEST)
    new = new + rho * jnp.outer(shift, shift)
    return jnp.where(usable & jnp.isfinite(new).all(), new, inverse)
