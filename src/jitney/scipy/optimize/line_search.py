"""A step along a line after which value and slope have fallen enough (Wolfe's conditions).

In: value and gradient as one function of a vector, a start, a direction of descent. Out: the step.
Invariant: one `while_loop` that computes the function once a turn. In its first phase steps grow
until an interval holds good steps; in the second (`zoom`) the interval shrinks.

Source: J. Nocedal, S. Wright, Numerical Optimization (2006), algorithms 3.5 and 3.6; near the limit
of precision, where values say nothing, the approximate conditions of W. Hager, H. Zhang, SIAM J.
Optim. 16 (2005), 170.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jitney import lax
from jitney import numpy as jnp

DESCENT, CURVATURE = 1e-4, 0.9  # c1 and c2 of the conditions
CUBIC_MARGIN, QUADRATIC_MARGIN = 0.2, 0.1  # how near to an end of the interval is too near


class Point(NamedTuple):
    """A step, the value and the slope along the line there, and the gradient."""

    step: Any
    value: Any
    slope: Any
    gradient: Any


class Found(NamedTuple):
    """The best point; whether it is good; whether an interval was found; evaluations."""

    point: Point
    good: Any
    zoomed: Any
    count: Any


class _State(NamedTuple):
    low: Point  # the best point so far; in the first phase the one before
    high_step: Any
    high_value: Any
    old_step: Any  # a former end of the interval, for the cubic
    old_value: Any
    trial: Any
    zoom: Any
    good: Any
    turns: Any  # in this phase
    count: Any


def _cubic_minimum(low: Point, b: Any, value_b: Any, c: Any, value_c: Any) -> Any:
    """Where the cubic with the slope at `low` through three points is least; maybe NaN."""
    db, dc = b - low.step, c - low.step
    rest_b = value_b - low.value - low.slope * db
    rest_c = value_c - low.value - low.slope * dc
    scale = (db * dc) ** 2 * (db - dc)
    third = (dc**2 * rest_b - db**2 * rest_c) / scale
    second = (db**3 * rest_c - dc**3 * rest_b) / scale
    return low.step + (-second + jnp.sqrt(second**2 - 3 * third * low.slope)) / (3 * third)


def _quadratic_minimum(low: Point, b: Any, value_b: Any) -> Any:
    """Where the parabola with the slope at `low` through two points is least; maybe NaN."""
    d = b - low.step
    return low.step - low.slope * d**2 / (2 * (value_b - low.value - low.slope * d))


def _interpolated(state: _State) -> Any:
    """The next point of an interval: the best guess that is not too near to its ends."""
    width = jnp.abs(state.high_step - state.low.step)
    left = jnp.minimum(state.low.step, state.high_step)

    def inside(x, margin):
        return (x >= left + margin * width) & (x <= left + (1 - margin) * width)

    cubic = _cubic_minimum(state.low, state.high_step, state.high_value, state.old_step,
                           state.old_value)
    quadratic = _quadratic_minimum(state.low, state.high_step, state.high_value)
    middle = 0.5 * (state.low.step + state.high_step)
    fallback = jnp.where(inside(quadratic, QUADRATIC_MARGIN), quadratic, middle)
    return jnp.where((state.turns > 0) & inside(cubic, CUBIC_MARGIN), cubic, fallback)


def _chosen(condition: Any, a: tuple, b: tuple) -> Any:
    return type(b)(*[jnp.where(condition, x, y) for x, y in zip(a, b, strict=True)])


def line_search(function: Callable, x: Any, direction: Any, start: Point, first: Any,
                maxiter: int) -> Found:
    """The step along `direction` [n] from x [n]; `start` is the point at step 0."""
    dtype = start.value.dtype
    roundoff = 2 * jnp.finfo(dtype).eps * jnp.abs(start.value)

    def turn(state: _State) -> _State:
        value, gradient = function(x + state.trial.astype(x.dtype) * direction)
        here = Point(state.trial, value, jnp.vdot(gradient, direction).astype(dtype), gradient)
        low = state.low
        exact = value <= start.value + DESCENT * here.step * start.slope
        nearly = (value <= start.value + roundoff) & (here.slope <= (2 * DESCENT - 1) * start.slope)
        lower = (value < low.value) | (~state.zoom & (state.turns == 0)) | nearly
        descends = (exact | nearly) & lower
        good = descends & (jnp.abs(here.slope) <= -CURVATURE * start.slope)
        # On which side of `here` is the interval: between it and low, or beyond it?
        beyond = jnp.where(state.zoom, here.slope * (state.high_step - low.step) >= 0,
                           here.slope >= 0)
        zoom = state.zoom | ~descends | beyond
        shrunk = _State(low, here.step, here.value, state.high_step, state.high_value, 0, True,
                        False, 0, 0)
        turned = _State(here, low.step, low.value, state.high_step, state.high_value, 0, True,
                        False, 0, 0)
        moved = _State(here, state.high_step, state.high_value, low.step, low.value, 0, zoom,
                       False, 0, 0)
        new = _State(*[
            _chosen(~descends, a, _chosen(beyond, b, c)) if isinstance(a, Point)
            else jnp.where(~descends, a, jnp.where(beyond, b, c))
            for a, b, c in zip(shrunk, turned, moved, strict=True)])
        new = new._replace(
            low=_chosen(good, here, new.low), zoom=zoom, good=good, count=state.count + 1,
            turns=jnp.where(zoom & ~state.zoom, 0, state.turns + 1))
        trial = jnp.where(zoom, _interpolated(new), 2 * here.step)
        return new._replace(trial=lax.stop_gradient(trial.astype(dtype)))

    def going(state: _State) -> Any:
        return ~state.good & (state.turns < maxiter)

    zero = jnp.zeros((), dtype)
    state = _State(start._replace(step=zero), zero, start.value, zero, start.value,
                   jnp.asarray(first, dtype), False, False, 0, 0)
    state = lax.while_loop(going, turn, state)
    return Found(state.low, state.good, state.zoom, state.count)
