"""The explicit Runge-Kutta method of Dormand and Prince, with steps that follow the error.

In: the right-hand side `f(y, t)` as a function of a vector [n] and a time, the state at the first
of several ascending times, bounds of the error. Out: the states at all times [times, n].
Invariant: one loop over times around one `while_loop` of steps; a step may go past a time, whose
state is then read from the step's polynomial.

Source: E. Hairer, S. Nørsett, G. Wanner, Solving Ordinary Differential Equations I (1993), II.4–6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jitney import lax
from jitney import numpy as jnp

# Table II.5.2: times of the stages, weights of earlier slopes in each stage. The last stage is the
# new state; its slope is the first of the next step.
TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
# Weights of the difference between the results of order 5 and 4.
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
# Weights of the highest term of the polynomial between two steps (II.6, as in `contd5`).
DENSE = (-12715105075 / 11282082432, 0.0, 87487479700 / 32700410799,
         -10690763975 / 1880347072, 701980252875 / 199316789632,
         -1453857185 / 822651844, 69997945 / 29380423)
ORDER = 5
SAFETY, SMALLEST, GREATEST = 0.9, 0.2, 10.0  # factors by which a step changes


class Options(NamedTuple):
    """Bounds: of the error (relative, absolute), of the steps between two times, of a step."""

    rtol: float
    atol: float
    mxstep: float
    hmax: float


class _State(NamedTuple):
    """What steps carry: state, slope and time, the next step, the last step's polynomial."""

    y: Any
    slope: Any
    t: Any
    step: Any
    before: Any
    polynomial: tuple


def _sum(weights: tuple, slopes: list) -> Any:
    terms = [w * k for w, k in zip(weights, slopes, strict=True) if w]
    return sum(terms[1:], terms[0])


def _size(x: Any) -> Any:
    """The root of the mean square; 0 of nothing."""
    return jnp.sqrt(jnp.sum(jnp.square(jnp.abs(x))) / max(x.size, 1))


def _first_step(f: Callable, y: Any, t: Any, slope: Any, options: Options) -> Any:
    """A step that is neither too long nor far too short (II.4, "Starting Step Size")."""
    scale = options.atol + options.rtol * jnp.abs(y)
    d0, d1 = _size(y / scale), _size(slope / scale)
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / jnp.where(d1 == 0, 1, d1))
    other = f(y + h0 * slope, t + h0.astype(t.dtype))
    greatest = jnp.maximum(d1, _size((other - slope) / scale) / h0)
    h1 = jnp.where(greatest <= 1e-15, jnp.maximum(1e-6, h0 * 1e-3),
                   (0.01 / jnp.where(greatest == 0, 1, greatest)) ** (1 / ORDER))
    return jnp.clip(jnp.minimum(100 * h0, h1), 0, options.hmax).astype(t.dtype)


def _next_step(step: Any, ratio: Any, options: Options) -> Any:
    """The step with which the error should become a little less than its bound."""
    smallest = jnp.where(ratio < 1, 1.0, SMALLEST)
    wanted = SAFETY * jnp.where(ratio == 0, 1, ratio) ** (-1 / ORDER)
    factor = jnp.where(ratio == 0, GREATEST, jnp.clip(wanted, smallest, GREATEST))
    return jnp.clip(step * factor.astype(step.dtype), 0, options.hmax)


def _advanced(f: Callable, state: _State, options: Options) -> _State:
    """The state after a step, or the same with a shorter step if the error was too great."""
    y, t = state.y, state.t
    h = state.step.astype(jnp.abs(y).dtype)
    slopes = [state.slope]
    new = y
    for time, weights in zip(TIMES, STAGES, strict=True):
        new = y + h * _sum(weights, slopes)
        slopes.append(f(new, t + time * state.step))
    bound = options.atol + options.rtol * jnp.maximum(jnp.abs(y), jnp.abs(new))
    ratio = _size(h * _sum(ERROR, slopes) / bound)
    good = ratio <= 1
    rise = new - y
    bend = h * slopes[0] - rise
    polynomial = (y, rise, bend, rise - h * slopes[-1] - bend, h * _sum(DENSE, slopes))

    def chosen(a: Any, b: Any) -> Any:
        return jnp.where(good, a, b)

    return _State(chosen(new, y), chosen(slopes[-1], state.slope), chosen(t + state.step, t),
                  _next_step(state.step, ratio, options), chosen(t, state.before),
                  tuple(map(chosen, polynomial, state.polynomial)))


def _between(state: _State, t: Any) -> Any:
    """The polynomial of order 4 through the last step, at a time."""
    length = state.t - state.before
    a = ((t - state.before) / jnp.where(length == 0, 1, length)).astype(jnp.abs(state.y).dtype)
    b = 1 - a
    start, rise, bend, other, last = state.polynomial
    return start + a * (rise + b * (bend + a * (other + b * last)))


def integrate(f: Callable, y0: Any, times: Any, options: Options) -> Any:
    """States [times, n] of dy/dt = f(y, t) with y = y0 [n] at times[0].

    A state is NaN where more than `mxstep` steps or steps too short to change the time would be
    needed, and at a time that lies before its predecessor.
    """
    if times.shape[0] == 1:
        return y0[None]

    def until(state, time):
        state, earlier = state

        def going(inner):
            now, count = inner
            on = (now.t < time) & (now.t + now.step > now.t)
            return on if options.mxstep == float("inf") else on & (count < options.mxstep)

        state, _ = lax.while_loop(going, lambda s: (_advanced(f, s[0], options), s[1] + 1),
                                  (state, 0))
        reached = (state.t >= time) & (time >= earlier)
        return (state, time), jnp.where(reached, _between(state, time), jnp.nan)

    slope, nothing = f(y0, times[0]), jnp.zeros_like(y0)
    step = _first_step(f, y0, times[0], slope, options)
    start = _State(y0, slope, times[0], step, times[0], (y0, *[nothing] * 4))
    _, states = lax.scan(until, (start, times[0]), times[1:])
    return jnp.concatenate([y0[None], states])
