"""Transposition rules of primitives that are linear in some operands.

A rule takes `(ct, *operands, **params)`: `ct` is the cotangent of the result (a list for
several results; a symbolic Zero is possible), and an operand is an `UndefinedPrimal` where the
primitive is to be transposed, a value elsewhere. It returns one cotangent an operand, None
for those that are values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive

transpose_rules: dict[Primitive, Callable] = {}


class UndefinedPrimal:
    """Stands for a linear operand: only its aval is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self):
        return f"UndefinedPrimal({self.aval.str_short()})"


def is_undefined_primal(x: Any) -> bool:
    return type(x) is UndefinedPrimal


def define_transpose(primitive: Primitive, rule: Callable) -> None:
    """Attach `rule(ct, *operands, **params) -> [cotangent or None, …]`."""
    transpose_rules[primitive] = rule
