"""Elementwise primitives: arithmetic, elementary functions, comparisons, choices, conversions.

In: operands of one shape, or scalars, or with axes of size 1. Out: one StableHLO operation where
there is one, a CHLO operation or a few operations otherwise.
Invariant: operands are broadcast explicitly, as StableHLO wants it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jitney.base import dtypes
from jitney.lax.accuracy import AccuracyMode, RoundingMethod, Tolerance
from jitney.lax.special_values import scipy_special
from jitney.stablehlo.builder import Builder
from jitney.stablehlo.ops import Value
from jitney.stablehlo.rules import Site, rule
from jitney.stablehlo.types import BOOL, is_unsigned

# --- one operation each --------------------------------------------------------------------------

_STABLEHLO = {
    "abs": "abs", "neg": "negate", "floor": "floor", "ceil": "ceil", "exp": "exponential",
    "expm1": "exponential_minus_one", "log": "log", "log1p": "log_plus_one", "cbrt": "cbrt",
    "logistic": "logistic", "sin": "sine", "cos": "cosine", "tan": "tan", "tanh": "tanh",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "not": "not", "population_count": "popcnt",
    "clz": "count_leading_zeros", "is_finite": "is_finite", "real": "real", "imag": "imag",
    "add": "add", "add_any": "add", "sub": "subtract", "div": "divide", "rem": "remainder",
    "atan2": "atan2", "and": "and", "or": "or", "xor": "xor", "shift_left": "shift_left",
    "shift_right_logical": "shift_right_logical",
    "shift_right_arithmetic": "shift_right_arithmetic", "complex": "complex",
}
_CHLO = {
    "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh",
    "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "lgamma": "lgamma",
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erf_inv": "erf_inv",
    "bessel_i1e": "bessel_i1e", "nextafter": "next_after",
    "polygamma": "polygamma", "zeta": "zeta", "mulhi": "mulhi",
}


def spread(b: Builder, site: Site, values: Sequence[Value]) -> list[Value]:
    """The operands with the result's shape."""
    return [b.broadcast_to(v, site.out.shape) for v in values]


@rule(*_STABLEHLO)
def _direct(b, site, *values):
    attributes = _accuracy(site.params.get("accuracy"))
    return b.one(f"stablehlo.{_STABLEHLO[site.name]}", spread(b, site, values), site.out,
                 attributes)


@rule(*_CHLO)
def _by_chlo(b, site, *values):
    return b.one(f"chlo.{_CHLO[site.name]}", spread(b, site, values), site.out)


def _accuracy(accuracy) -> dict[str, str]:
    """The attribute for an accuracy asked for."""
    if accuracy in (None, AccuracyMode.DEFAULT):
        return {}
    if isinstance(accuracy, Tolerance):
        body = (f"atol = {accuracy.atol:e}, rtol = {accuracy.rtol:e}, ulps = {accuracy.ulps}, "
                "mode = #stablehlo.result_accuracy_mode<TOLERANCE>")
    else:
        assert isinstance(accuracy, AccuracyMode)
        body = f"mode = #stablehlo.result_accuracy_mode<{accuracy.name}>"
    return {"result_accuracy": f"#stablehlo.result_accuracy<{body}>"}


# --- arithmetic --------------------------------------------------------------------------------


@rule("mul")
def _mul(b, site, x, y):
    if site.params.get("out_dtype") is not None:
        x, y = b.convert(x, site.out.dtype), b.convert(y, site.out.dtype)
    return b.multiply(*spread(b, site, (x, y)))


@rule("square")
def _square(b, site, x):
    return b.chlo("square", x) if dtypes.is_inexact(x.dtype) else b.multiply(x, x)


@rule("sign")
def _sign(b, site, x):
    if is_unsigned(x.dtype):
        zero = b.like(x, 0)
        return b.select(b.compare("EQ", x, zero), b.like(x, 0), b.like(x, 1))
    return b.one("stablehlo.sign", (x,), x.type)


@rule("round")
def _round(b, site, x):
    even = site.params["rounding_method"] == RoundingMethod.TO_NEAREST_EVEN
    return b.one(f"stablehlo.round_nearest_{'even' if even else 'afz'}", (x,), x.type)


@rule("pow")
def _pow(b, site, x, y):
    x, y = spread(b, site, (x, b.convert(y, x.dtype)))
    return b.one("stablehlo.power", (x, y), x.type)


@rule("exp2")
def _exp2(b, site, x):
    return b.exponential(b.multiply(b.like(x, math.log(2)), x))


@rule("integer_pow")
def _integer_pow(b, site, x):
    """Powers by repeated squaring."""
    exponent, power = abs(site.params["y"]), None
    base = x
    while exponent:
        if exponent & 1:
            power = base if power is None else b.multiply(power, base)
        exponent >>= 1
        if exponent:
            base = b.multiply(base, base)
    if power is None:
        return b.like(x, 1)
    return b.divide(b.like(x, 1), power) if site.params["y"] < 0 else power


@rule("max", "min")
def _extreme(b, site, x, y):
    return extreme(b, site.name, *spread(b, site, (x, y)))


def extreme(b: Builder, name: str, x: Value, y: Value) -> Value:
    """max or min; complex numbers are ordered by real, then by imaginary part."""
    if not dtypes.is_complex(x.dtype):
        return b.maximum(x, y) if name == "max" else b.minimum(x, y)
    direction = "GT" if name == "max" else "LT"
    re_x, re_y = b.real(x), b.real(y)
    same = b.compare("EQ", re_x, re_y)
    beyond = b.compare(direction, re_x, re_y)
    im_x, im_y = b.imag(x), b.imag(y)
    return b.select(b.select(same, b.compare(direction, im_x, im_y), beyond), x, y)


@rule("conj")
def _conj(b, site, x):
    if not dtypes.is_complex(x.dtype):
        return b.complex(x, b.like(x, 0))
    re, im = b.real(x), b.imag(x)
    return b.complex(re, b.negate(im))


@rule("copy", "copy_p", "name", "stop_gradient", "random_clone", keys=True)
def _same(b, site, x):
    return x


# --- comparisons and choices ---------------------------------------------------------------------

_TOTAL = {"eq_to": "EQ", "le_to": "LE", "lt_to": "LT"}


@rule("eq", "ne", "lt", "le", "gt", "ge", *_TOTAL)
def _compare(b, site, x, y):
    x, y = spread(b, site, (x, y))
    if site.name in _TOTAL:
        kind = "TOTALORDER" if dtypes.is_floating(x.dtype) else None
        return b.compare(_TOTAL[site.name], x, y, kind)
    return b.compare(site.name.upper(), x, y)


@rule("select_n")
def _select_n(b, site, which, *cases):
    if len(cases) == 1:
        return cases[0]
    if which.dtype == BOOL:
        return b.select(which, cases[1], cases[0])
    return _choose(b, which, cases, 0)


def _choose(b: Builder, which: Value, cases: Sequence[Value], first: int) -> Value:
    """`cases[which - first]` by bisection; choices out of range are clamped."""
    if len(cases) == 1:
        return cases[0]
    half = len(cases) // 2
    below = b.compare("LT", which, b.like(which, first + half))
    low, high = _choose(b, which, cases[:half], first), _choose(b, which, cases[half:],
                                                                 first + half)
    return b.select(below, low, high)


@rule("clamp")
def _clamp(b, site, low, x, high):
    return b.clamp(b.broadcast_to(low, x.shape), x, b.broadcast_to(high, x.shape))


# --- conversions -------------------------------------------------------------------------------


@rule("convert_element_type")
def _convert(b, site, x):
    new = site.out.dtype
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(new) and new != BOOL:
        x = b.real(x)
    if new == BOOL and x.dtype != BOOL:
        x = b.compare("NE", x, b.like(x, 0))
    return b.convert(x, new, always=True)


@rule("bitcast_convert_type")
def _bitcast(b, site, x):
    return b.bitcast(x, site.out)


@rule("reduce_precision")
def _reduce_precision(b, site, x):
    text = f"e{site.params['exponent_bits']}m{site.params['mantissa_bits']}"
    return b.one("stablehlo.reduce_precision", (x,), x.type, {"format": text})


# --- special functions without an operation ------------------------------------------------------


@rule("bessel_i0e")
def _bessel_i0e(b, site, x):
    """Chebyshev series of e^-|x| I₀(x): in x/4 - 1 up to 8, times √x in 16/x - 1 beyond."""
    wide = x.dtype if x.dtype.itemsize >= 4 else np.dtype(np.float32)
    y = b.abs_real(b.convert(x, wide))
    near = b.subtract(b.multiply(y, b.like(y, 0.25)), b.like(y, 1))
    safe = b.maximum(y, b.like(y, 8))
    far = b.subtract(b.divide(b.like(y, 16), safe), b.like(y, 1))
    low = chebyshev(b, near, _bessel_coefficients(False))
    high = b.divide(chebyshev(b, far, _bessel_coefficients(True)), b.sqrt(safe))
    found = b.select(b.compare("LE", y, b.like(y, 8)), low, high)
    return b.convert(found, x.dtype)


def chebyshev(b: Builder, t: Value, coefficients: Sequence[float]) -> Value:
    """Σ cₖ Tₖ(t) by Clenshaw's recurrence."""
    twice = b.add(t, t)
    last, before = b.like(t, 0), b.like(t, 0)
    for c in coefficients[:0:-1]:
        last, before = b.add(b.subtract(b.multiply(twice, last), before), b.like(t, c)), last
    return b.add(b.subtract(b.multiply(t, last), before), b.like(t, coefficients[0]))


def _bessel_coefficients(far: bool) -> list[float]:
    special = scipy_special()

    def near_zero(t):
        return special.i0e(4 * (t + 1))

    def far_away(t):
        x = 16 / np.maximum(t + 1, 1e-300)
        return special.i0e(x) * np.sqrt(x)

    return list(np.polynomial.chebyshev.chebinterpolate(far_away if far else near_zero, 32))

