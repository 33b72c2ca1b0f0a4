"""Forward-mode rules: the table, and the combinators `lax` fills it with.

A rule takes `(primals, tangents, **params)`, two lists of equal length, where a tangent may be
a symbolic `Zero`, and returns `(primal_out, tangent_out)` (lists for primitives with several
results). Rules are written with bound primitives, so they can themselves be transformed.

    define_jvp_each(sin_p, lambda t, x: mul(t, cos(x)))          # d sin x = cos x dx
    define_jvp_from_answer(exp_p, lambda t, ans, x: mul(t, ans))
    define_linear(neg_p, lambda ct, x: [neg(ct)])
Invariant: a tangent has the shape of its primal, and its dtype or float0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive, named
from jitney.transforms.transpose import define_transpose, is_undefined_primal

jvp_rules: dict[Primitive, Callable] = {}


class Zero:
    """A tangent or cotangent known to be zero, without an array behind it."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self):
        return f"Zero({self.aval.str_short()})"

    @staticmethod
    def from_primal_value(value: Any) -> Zero:
        return Zero(get_aval(value).to_tangent_aval())


def is_zero(tangent: Any) -> bool:
    return type(tangent) is Zero


def zeros_of(aval: ShapedArray) -> Any:
    """An array (or scalar) of zeros of this aval."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    scalar = np.zeros((), aval.dtype)[()]
    if not aval.shape:
        return scalar
    return named("broadcast_in_dim").bind(
        scalar, shape=aval.shape, broadcast_dimensions=(), sharding=None)


def instantiate_zeros(tangent: Any) -> Any:
    """A symbolic zero as an array; anything else unchanged."""
    return zeros_of(tangent.aval) if type(tangent) is Zero else tangent


def add_tangents(a: Any, b: Any) -> Any:
    """The sum of two tangents or cotangents, either of which may be symbolic zero."""
    if type(a) is Zero:
        return b
    if type(b) is Zero:
        return a
    return named("add_any").bind(a, b)


# --- combinators -----------------------------------------------------------------------------


def define_jvp(primitive: Primitive, rule: Callable) -> None:
    """Attach a full rule `(primals, tangents, **params) -> (out, tangent_out)`."""
    jvp_rules[primitive] = rule


def define_jvp_each(primitive: Primitive, *each: Callable | None) -> None:
    """One rule an operand, `(tangent, *primals, **params)`; None where nothing flows."""

    def rule(primals, tangents, **params):
        answer = primitive.bind(*primals, **params)
        parts = [partial(t, *primals, **params) for partial, t in zip(each, tangents)
                 if partial is not None and type(t) is not Zero]
        return answer, _sum_of(parts, answer)

    _check_count(primitive, each)
    jvp_rules[primitive] = rule


def define_jvp_from_answer(primitive: Primitive, *each: Callable | None) -> None:
    """Like `define_jvp_each`, the rules being `(tangent, answer, *primals, **params)`."""

    def rule(primals, tangents, **params):
        answer = primitive.bind(*primals, **params)
        parts = [partial(t, answer, *primals, **params) for partial, t in zip(each, tangents)
                 if partial is not None and type(t) is not Zero]
        return answer, _sum_of(parts, answer)

    _check_count(primitive, each)
    jvp_rules[primitive] = rule


def define_zero_jvp(primitive: Primitive) -> None:
    """The result carries no derivative (comparisons, floor, integers)."""

    def rule(primals, tangents, **params):
        answer = primitive.bind(*primals, **params)
        if primitive.multiple_results:
            return answer, [Zero.from_primal_value(a) for a in answer]
        return answer, Zero.from_primal_value(answer)

    jvp_rules[primitive] = rule


def define_linear(primitive: Primitive, transpose: Callable | None = None) -> None:
    """Linear in all operands together: the jvp is the primitive applied to the tangents.

    `transpose(ct, *operands, **params)` gives the list of cotangents.
    """

    def rule(primals, tangents, **params):
        answer = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            if primitive.multiple_results:
                return answer, [Zero.from_primal_value(a) for a in answer]
            return answer, Zero.from_primal_value(answer)
        return answer, primitive.bind(*map(instantiate_zeros, tangents), **params)

    jvp_rules[primitive] = rule
    if transpose is not None:
        define_transpose(primitive, transpose)


def define_bilinear(primitive: Primitive, left: Callable, right: Callable) -> None:
    """Linear in each of two operands; `left(ct, x, y, **params)` is the cotangent of x, where
    x is an UndefinedPrimal; `right` likewise for y."""
    define_jvp_each(primitive,
                    lambda t, x, y, **params: primitive.bind(t, y, **params),
                    lambda t, x, y, **params: primitive.bind(x, t, **params))

    def transpose(ct, x, y, **params):
        if is_undefined_primal(x):
            return [Zero(x.aval) if type(ct) is Zero else left(ct, x, y, **params), None]
        return [None, Zero(y.aval) if type(ct) is Zero else right(ct, x, y, **params)]

    define_transpose(primitive, transpose)


def _sum_of(parts: list, answer: Any) -> Any:
    if not parts:
        return Zero.from_primal_value(answer)
    total = parts[0]
    for part in parts[1:]:
        total = add_tangents(total, part)
    return total


def _check_count(primitive: Primitive, each: tuple) -> None:
    if not each:
        raise ValueError(f"{primitive}: state one rule an operand (None where nothing flows)")
