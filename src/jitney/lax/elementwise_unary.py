"""Elementary functions of one variable: rounding, exponentials, logarithms, trigonometry, roots.

In: floating or complex numbers. Out: the same dtype. Sixteen-bit types are computed in float32.
Invariant: each paragraph is function, primitive, derivative, in that order.
"""

from __future__ import annotations

import numpy as np

from jitney.lax.accuracy import RoundingMethod, checked_accuracy
from jitney.lax.arithmetic import add, div, integer_pow, mul, neg, reciprocal, square, sub
from jitney.lax.nary import FLOATING, INEXACT, constant, hide_none, to_boolean, unary, widened
from jitney.transforms.jvp import define_jvp_each, define_jvp_from_answer, define_zero_jvp


def _plain(name, function, accepts=INEXACT):
    """An elementary function without parameters."""
    return unary(name, accepts, widened(function))


def _tunable(name, function, accepts=INEXACT):
    """An elementary function with the parameter `accuracy` (shown only when stated)."""
    compute = widened(function)
    primitive = unary(name, accepts, lambda x, accuracy=None: compute(x))
    hide_none(primitive, "accuracy")
    return primitive


def _jvp(primitive, rule):
    """`rule(t, x)`, ignoring parameters."""
    define_jvp_each(primitive, lambda t, x, **params: rule(t, x))


def _jvp_from_answer(primitive, rule):
    """`rule(t, answer, x)`, ignoring parameters."""
    define_jvp_from_answer(primitive, lambda t, ans, x, **params: rule(t, ans, x))


def _one(x):
    return constant(x, 1)


# --- rounding --------------------------------------------------------------------------------


def floor(x):
    """The greatest integer not above x."""
    return floor_p.bind(x)


floor_p = _plain("floor", np.floor, FLOATING)
define_zero_jvp(floor_p)


def ceil(x):
    """The least integer not below x."""
    return ceil_p.bind(x)


ceil_p = _plain("ceil", np.ceil, FLOATING)
define_zero_jvp(ceil_p)


def round(x, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO):
    """The nearest integer; halves go away from zero, or to the even neighbour."""
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


def _round_away(x: np.ndarray) -> np.ndarray:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole)


def _round_reference(x, *, rounding_method):
    even = rounding_method == RoundingMethod.TO_NEAREST_EVEN
    return widened(np.rint if even else _round_away)(x)


round_p = unary("round", FLOATING, _round_reference)
define_zero_jvp(round_p)


def is_finite(x):
    """Whether x is neither infinite nor NaN."""
    return is_finite_p.bind(x)


is_finite_p = unary("is_finite", FLOATING, lambda x: np.isfinite(x.astype(np.float64)), to_boolean)
define_zero_jvp(is_finite_p)

# --- exponentials ----------------------------------------------------------------------------


def exp(x, *, accuracy=None):
    """eˣ."""
    return exp_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


exp_p = _tunable("exp", np.exp)
_jvp_from_answer(exp_p, lambda t, ans, x: mul(t, ans))                       # d eˣ = eˣ dx


def exp2(x, *, accuracy=None):
    """2ˣ."""
    return exp2_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


def _exp2(x):
    return np.exp(x * np.log(2.0)) if x.dtype.kind == "c" else np.exp2(x)


exp2_p = _tunable("exp2", _exp2)
_jvp_from_answer(exp2_p, lambda t, ans, x: mul(log(constant(x, 2)), mul(t, ans)))


def expm1(x, *, accuracy=None):
    """eˣ - 1, accurate near 0."""
    return expm1_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


expm1_p = _tunable("expm1", np.expm1)
_jvp_from_answer(expm1_p, lambda t, ans, x: mul(t, add(ans, _one(ans))))


def logistic(x, *, accuracy=None):
    """1 / (1 + e⁻ˣ)."""
    return logistic_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


logistic_p = _tunable("logistic", lambda x: 1 / (1 + np.exp(-x)))
_jvp_from_answer(logistic_p, lambda t, ans, x: mul(t, mul(ans, sub(_one(ans), ans))))

# --- logarithms ------------------------------------------------------------------------------


def log(x, *, accuracy=None):
    """The natural logarithm; NaN for negative numbers."""
    return log_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


log_p = _tunable("log", np.log)
_jvp(log_p, lambda t, x: div(t, x))                                          # d log x = dx/x


def log1p(x, *, accuracy=None):
    """log(1 + x), accurate near 0."""
    return log1p_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


def _log1p(x):
    if x.dtype.kind != "c":
        return np.log1p(x)
    re, im = x.real, x.imag                                # |1+x|² - 1 without cancellation
    return 0.5 * np.log1p(re * (2 + re) + im * im) + 1j * np.arctan2(im, 1 + re)


log1p_p = _tunable("log1p", _log1p)
_jvp(log1p_p, lambda t, x: div(t, add(x, _one(x))))

# --- trigonometry ----------------------------------------------------------------------------


def sin(x, *, accuracy=None):
    """Sine."""
    return sin_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


sin_p = _tunable("sin", np.sin)
_jvp(sin_p, lambda t, x: mul(t, cos(x)))                                     # d sin x = cos x dx


def cos(x, *, accuracy=None):
    """Cosine."""
    return cos_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


cos_p = _tunable("cos", np.cos)
_jvp(cos_p, lambda t, x: neg(mul(t, sin(x))))


def tan(x, *, accuracy=None):
    """Tangent."""
    return tan_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


tan_p = _tunable("tan", np.tan)
_jvp_from_answer(tan_p, lambda t, ans, x: mul(t, add(_one(ans), square(ans))))


def asin(x):
    """Arc sine."""
    return asin_p.bind(x)


asin_p = _plain("asin", np.arcsin)
_jvp(asin_p, lambda t, x: mul(t, rsqrt(sub(_one(x), square(x)))))


def acos(x):
    """Arc cosine."""
    return acos_p.bind(x)


acos_p = _plain("acos", np.arccos)
_jvp(acos_p, lambda t, x: mul(t, neg(rsqrt(sub(_one(x), square(x))))))


def atan(x):
    """Arc tangent."""
    return atan_p.bind(x)


atan_p = _plain("atan", np.arctan)
_jvp(atan_p, lambda t, x: div(t, add(_one(x), square(x))))

# --- hyperbolic functions --------------------------------------------------------------------


def sinh(x):
    """Hyperbolic sine."""
    return sinh_p.bind(x)


sinh_p = _plain("sinh", np.sinh)
_jvp(sinh_p, lambda t, x: mul(t, cosh(x)))


def cosh(x):
    """Hyperbolic cosine."""
    return cosh_p.bind(x)


cosh_p = _plain("cosh", np.cosh)
_jvp(cosh_p, lambda t, x: mul(t, sinh(x)))


def tanh(x, *, accuracy=None):
    """Hyperbolic tangent."""
    return tanh_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


tanh_p = _tunable("tanh", np.tanh)
# (1 + y)(1 - y) keeps its accuracy where y is near ±1; 1 - y² would not.
_jvp_from_answer(tanh_p, lambda t, ans, x: mul(add(t, mul(t, ans)), sub(_one(ans), ans)))


def asinh(x):
    """Inverse hyperbolic sine."""
    return asinh_p.bind(x)


asinh_p = _plain("asinh", np.arcsinh)
_jvp(asinh_p, lambda t, x: mul(t, rsqrt(add(square(x), _one(x)))))


def acosh(x):
    """Inverse hyperbolic cosine."""
    return acosh_p.bind(x)


acosh_p = _plain("acosh", np.arccosh)
_jvp(acosh_p, lambda t, x: mul(t, rsqrt(sub(square(x), _one(x)))))


def atanh(x):
    """Inverse hyperbolic tangent."""
    return atanh_p.bind(x)


atanh_p = _plain("atanh", np.arctanh)
_jvp(atanh_p, lambda t, x: mul(reciprocal(add(_one(x), x)), div(t, sub(_one(x), x))))

# --- roots -----------------------------------------------------------------------------------


def sqrt(x, *, accuracy=None):
    """The square root; NaN for negative numbers."""
    return sqrt_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


sqrt_p = _tunable("sqrt", np.sqrt)
_jvp_from_answer(sqrt_p, lambda t, ans, x: mul(t, div(constant(x, 0.5), ans)))


def rsqrt(x, *, accuracy=None):
    """1 / √x."""
    return rsqrt_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


def _rsqrt(x):
    out = 1 / np.sqrt(x)
    return np.where(np.isinf(x), 0, out) if x.dtype.kind == "c" else out


rsqrt_p = _tunable("rsqrt", _rsqrt)
_jvp_from_answer(rsqrt_p, lambda t, ans, x: mul(t, mul(constant(x, -0.5), div(ans, x))))


def cbrt(x, *, accuracy=None):
    """The real cube root, also of negative numbers."""
    return cbrt_p.bind(x, accuracy=accuracy and checked_accuracy(accuracy))


cbrt_p = _tunable("cbrt", np.cbrt, FLOATING)
_jvp_from_answer(cbrt_p, lambda t, ans, x: mul(t, mul(constant(x, 1 / 3), integer_pow(ans, -2))))

__all__ = [
    "acos", "acos_p", "acosh", "acosh_p", "asin", "asin_p", "asinh", "asinh_p", "atan", "atan_p",
    "atanh", "atanh_p", "cbrt", "cbrt_p", "ceil", "ceil_p", "cos", "cos_p", "cosh", "cosh_p",
    "exp", "exp2", "exp2_p", "exp_p", "expm1", "expm1_p", "floor", "floor_p", "is_finite",
    "is_finite_p", "log", "log1p", "log1p_p", "log_p", "logistic", "logistic_p", "round",
    "round_p", "rsqrt", "rsqrt_p", "sin", "sin_p", "sinh", "sinh_p", "sqrt", "sqrt_p", "tan",
    "tan_p", "tanh", "tanh_p",
]
