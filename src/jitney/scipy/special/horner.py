"""Polynomials with constant coefficients, written out.

In: coefficients (highest first) and an array. Out: the values.
Invariant: no loop remains in the traced program, so that a polynomial fuses with its surroundings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitney.numpy.promotion import dtype_of


def polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """Σ c x^k, in the dtype of x."""
    kind = dtype_of(x).type
    total = kind(coefficients[0])
    for c in coefficients[1:]:
        total = total * x + kind(c)
    return total
