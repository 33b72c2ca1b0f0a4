"""Options of elementwise functions: accuracy of approximations, ways of rounding.

In: what the user passes as `accuracy=` or `rounding_method=`. Out: the same, checked.
Invariant: an accuracy changes nothing here: every function already meets the tightest one offered.
"""

from __future__ import annotations

import enum
from typing import Any


class AccuracyMode(enum.Enum):
    """How accurate an approximation has to be."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """An accuracy stated as bounds: absolute, relative, and in units of the last place."""

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0):
        if atol < 0.0 or rtol < 0.0 or ulps < 0:
            raise ValueError("Tolerances must be non-negative.")
        if atol == 0.0 and rtol == 0.0 and ulps == 0:
            raise ValueError("At least one of atol, rtol, or ulps must be set.")
        self.atol, self.rtol, self.ulps = atol, rtol, ulps

    def __repr__(self):
        return f"Tolerance(atol={self.atol}, rtol={self.rtol}, ulps={self.ulps})"

    def __eq__(self, other):
        return type(other) is Tolerance and \
            (self.atol, self.rtol, self.ulps) == (other.atol, other.rtol, other.ulps)

    def __hash__(self):
        return hash((self.atol, self.rtol, self.ulps))


class RoundingMethod(enum.IntEnum):
    """What `lax.round` does with halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def checked_accuracy(accuracy: Any) -> Any:
    """The accuracy, when it is one; NotImplementedError otherwise."""
    if accuracy is not None and not isinstance(accuracy, (AccuracyMode, Tolerance)):
        raise NotImplementedError(
            f"Accuracy {accuracy} not supported: pass a lax.AccuracyMode or a lax.Tolerance.")
    return accuracy


__all__ = ["AccuracyMode", "RoundingMethod", "Tolerance"]
