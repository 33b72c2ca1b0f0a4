"""One row an operation: what it accepts, where it is tested, what it must give, how exactly.

`oracle` is an independent statement of the meaning, for scalars: mpmath where there is a formula,
Python arithmetic otherwise. Rows drive `test_values`, `test_rules` and the completeness check.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import mpmath
import numpy as np

from jitney import lax

FLOATS = ("float16", "bfloat16", "float32", "float64")
WIDE = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
BOOL = ("bool",)


class Row(NamedTuple):
    """`domain` lists the test values of each operand (one list for all when single)."""

    name: str
    oracle: Callable
    domain: tuple
    dtypes: tuple = FLOATS
    ulp: float = 4.0
    smooth: bool = True                # its derivative is tested against finite differences
    function: Callable | None = None

    @property
    def call(self) -> Callable:
        return self.function or getattr(lax, self.name)


ANYWHERE = (-3.7, -1.25, -0.5, -1e-3, 1e-3, 0.25, 0.75, 1.5, 2.5, 5.5)
UNIT = (-0.95, -0.5, -1e-3, 0.01, 0.3, 0.9)
POSITIVE = (1e-3, 0.2, 0.7, 1.0, 1.5, 3.0, 20.0)
ABOVE_ONE = (1.001, 1.25, 2.0, 7.0)
SECOND = (1.5, -0.25, 3.0, 0.5, -2.0, 0.7, 1.1, -0.9, 2.2, 0.4)
WHOLE = (0, 1, 2, 3, 5, 7, 100, 127, -1, -2, -5, -128)
OTHER = (3, -1, 2, 0, -2, 7, 31, 5, 8, 1, -3, -1)


def _mp(function: Callable) -> Callable:
    def oracle(*args):
        with mpmath.workdps(40):
            value = function(*map(mpmath.mpmathify, args))
            return complex(value) if isinstance(value, mpmath.mpc) else float(value)

    return oracle


def _unary(name, function, domain, dtypes=FLOATS + COMPLEX, **options):
    return Row(name, _mp(function), (domain,), dtypes, **options)


def _round_half_away(x):
    return math.copysign(math.floor(abs(x) + 0.5), x)


ELEMENTARY = (
    _unary("exp", mpmath.exp, ANYWHERE),
    _unary("exp2", lambda x: mpmath.power(2, x), ANYWHERE),
    _unary("expm1", mpmath.expm1, ANYWHERE),
    _unary("log", mpmath.log, POSITIVE),
    _unary("log1p", lambda x: mpmath.log(1 + x), (-0.9, -1e-3, 1e-3, 0.5, 3.0, 1e4)),
    _unary("logistic", lambda x: 1 / (1 + mpmath.exp(-x)), ANYWHERE),
    _unary("tanh", mpmath.tanh, ANYWHERE),
    _unary("sin", mpmath.sin, ANYWHERE),
    _unary("cos", mpmath.cos, ANYWHERE),
    _unary("tan", mpmath.tan, UNIT),
    _unary("asin", mpmath.asin, UNIT),
    _unary("acos", mpmath.acos, UNIT),
    _unary("atan", mpmath.atan, ANYWHERE),
    _unary("sinh", mpmath.sinh, ANYWHERE),
    _unary("cosh", mpmath.cosh, ANYWHERE),
    _unary("asinh", mpmath.asinh, ANYWHERE),
    _unary("acosh", mpmath.acosh, ABOVE_ONE),
    _unary("atanh", mpmath.atanh, UNIT),
    _unary("sqrt", mpmath.sqrt, POSITIVE),
    _unary("rsqrt", lambda x: 1 / mpmath.sqrt(x), POSITIVE),
    _unary("cbrt", lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), ANYWHERE, FLOATS),
    _unary("square", lambda x: x * x, ANYWHERE),
    _unary("neg", lambda x: -x, ANYWHERE),
    _unary("reciprocal", lambda x: 1 / x, ANYWHERE),
    _unary("abs", abs, ANYWHERE, FLOATS),
    _unary("sign", mpmath.sign, ANYWHERE, FLOATS),
    _unary("floor", mpmath.floor, ANYWHERE, FLOATS),
    _unary("ceil", mpmath.ceil, ANYWHERE, FLOATS),
    Row("round", _round_half_away, ((-2.5, -0.5, 0.49, 0.5, 1.5, 2.5, 3.7),), FLOATS,
        smooth=False),
)

SPECIAL = (
    _unary("lgamma", lambda x: mpmath.log(abs(mpmath.gamma(x))), (0.1, 0.7, 1.5, 3.3, 20.0, -0.5),
           WIDE, ulp=64),
    _unary("digamma", mpmath.digamma, (0.1, 0.7, 2.5, 20.0, -0.5), WIDE, ulp=64),
    _unary("erf", mpmath.erf, ANYWHERE, WIDE),
    _unary("erfc", mpmath.erfc, ANYWHERE, WIDE, ulp=32),
    _unary("erf_inv", mpmath.erfinv, UNIT, WIDE, ulp=32),
    _unary("bessel_i0e", lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), ANYWHERE, WIDE,
           ulp=16),
    _unary("bessel_i1e", lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), ANYWHERE, WIDE,
           ulp=64),
    Row("igamma", _mp(lambda a, x: mpmath.gammainc(a, 0, x, regularized=True)),
        ((0.5, 1.5, 3.0, 20.0, 2.0), (0.3, 2.0, 1.0, 25.0, 7.0)), WIDE, ulp=64, smooth=False),
    Row("igammac", _mp(lambda a, x: mpmath.gammainc(a, x, regularized=True)),
        ((0.5, 1.5, 3.0, 20.0, 2.0), (0.3, 2.0, 1.0, 25.0, 7.0)), WIDE, ulp=64, smooth=False),
    Row("igamma_grad_a", _mp(lambda a, x: mpmath.diff(
        lambda b: mpmath.gammainc(b, 0, x, regularized=True), a)),
        ((0.5, 1.5, 3.0, 20.0, 2.0), (0.3, 2.0, 1.0, 25.0, 7.0)), WIDE, ulp=2048, smooth=False),
    Row("zeta", _mp(mpmath.zeta), ((1.5, 2.0, 3.5, 6.0), (1.0, 0.5, 2.5, 3.0)), WIDE, ulp=64,
        smooth=False),
    Row("polygamma", _mp(lambda m, x: mpmath.polygamma(int(m), x)),
        ((0.0, 1.0, 2.0, 3.0), (0.7, 1.5, 2.5, 3.0)), WIDE, ulp=64, smooth=False),
    Row("betainc", _mp(lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True)),
        ((0.5, 1.0, 2.0, 8.0), (0.5, 2.0, 3.0, 2.5), (0.1, 0.5, 0.9, 0.7)), WIDE, ulp=128,
        smooth=False),
)

BINARY = (
    Row("add", _mp(lambda x, y: x + y), (ANYWHERE, SECOND), FLOATS + COMPLEX),
    Row("sub", _mp(lambda x, y: x - y), (ANYWHERE, SECOND), FLOATS + COMPLEX),
    Row("mul", _mp(lambda x, y: x * y), (ANYWHERE, SECOND), FLOATS + COMPLEX),
    Row("div", _mp(lambda x, y: x / y), (ANYWHERE, SECOND), FLOATS + COMPLEX, ulp=6),
    Row("rem", math.fmod, (ANYWHERE, SECOND), FLOATS, smooth=False),
    Row("pow", _mp(lambda x, y: mpmath.power(x, y)), (POSITIVE, SECOND[:7]), FLOATS + COMPLEX,
        ulp=8),
    Row("max", max, (ANYWHERE, SECOND), FLOATS),
    Row("min", min, (ANYWHERE, SECOND), FLOATS),
    Row("atan2", _mp(mpmath.atan2), (ANYWHERE, SECOND), FLOATS),
    Row("nextafter", math.nextafter, (ANYWHERE, SECOND), ("float64",), ulp=0, smooth=False),
)


def _wrapped(function: Callable) -> Callable:
    """An oracle for Python integers; the caller reduces modulo the width."""
    return lambda *args: function(*map(int, args))


INTEGER = tuple(Row(name, _wrapped(function), (WHOLE,) * count if same else (WHOLE, OTHER)[:count],
                    dtypes, smooth=False)
                for name, function, count, dtypes, same in (
    ("add", lambda x, y: x + y, 2, INTS, False),
    ("sub", lambda x, y: x - y, 2, INTS, False),
    ("mul", lambda x, y: x * y, 2, INTS, False),
    ("neg", lambda x: -x, 1, INTS, False),
    ("square", lambda x: x * x, 1, INTS, False),
    ("abs", abs, 1, SIGNED, False),
    ("sign", lambda x: (x > 0) - (x < 0), 1, INTS, False),
    ("max", max, 2, INTS, False),
    ("min", min, 2, INTS, False),
    ("bitwise_and", lambda x, y: x & y, 2, INTS, False),
    ("bitwise_or", lambda x, y: x | y, 2, INTS, False),
    ("bitwise_xor", lambda x, y: x ^ y, 2, INTS, False),
    ("bitwise_not", lambda x: ~x, 1, INTS, False),
))

COMPARISONS = tuple(Row(name, function, (ANYWHERE, tuple(reversed(ANYWHERE))), WIDE + SIGNED,
                        smooth=False)
                    for name, function in (
    ("eq", lambda x, y: x == y), ("ne", lambda x, y: x != y), ("lt", lambda x, y: x < y),
    ("le", lambda x, y: x <= y), ("gt", lambda x, y: x > y), ("ge", lambda x, y: x >= y)))

ROWS = ELEMENTARY + SPECIAL + BINARY + INTEGER + COMPARISONS


def operands(row: Row, dtype: np.dtype) -> list[np.ndarray]:
    """The row's test values as arrays of a dtype; complex ones get imaginary parts."""
    out = []
    for column, values in enumerate(row.domain):
        x = np.array(values)
        if dtype.kind == "c":
            x = x + 1j * np.roll(x, column + 1) * 0.5
        out.append(x.astype(dtype))
    return out


def expected(row: Row, args: list[np.ndarray]) -> np.ndarray:
    """The oracle's values for these operands, unrounded (integers modulo the width)."""
    dtype = args[0].dtype
    scalars = [[a.item() if a.dtype.kind in "biufc" else float(a) for a in column]
               for column in args]
    values = [row.oracle(*point) for point in zip(*scalars, strict=True)]
    if dtype.kind in "iu" and not isinstance(values[0], (bool, np.bool_)):
        bits = 8 * dtype.itemsize
        values = [((v + 2**(bits - 1)) % 2**bits) - 2**(bits - 1) if dtype.kind == "i"
                  else v % 2**bits for v in values]
        return np.array(values, dtype)
    return np.array(values)
