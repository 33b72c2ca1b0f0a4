"""The fits of the roots, the inverse hyperbolic functions, and of pow's logarithms.

In: nothing. Out: tuples (name, function, weight, low, high, powers, format) for `fit_polynomials`,
and the tables of the cells that pow's logarithms distinguish.
"""

import mpmath as mp
import numpy as np

_TINY = mp.mpf(10) ** -30
# cells of mantissas m by the first bits of their fraction: m in [1, 3/2), then in [3/4, 1)
_LOW, _HIGH = "-0.03126", "0.06251"  # what m / (middle of its cell) - 1 may be


def _relative(function):
    return lambda x: 1 / function(x)


def _odd_tail(function):
    """(function(s)/s - 1) / z with z = s^2."""

    def tail(z):
        s = mp.sqrt(z)
        return (function(s) / s - 1) / z

    return tail


def _odd_weight(function):
    def weight(z):
        s = mp.sqrt(z)
        return z * s / function(s)

    return weight


def _divided(function, limit):
    """function(f) / f, with its limit at 0."""
    return lambda f: mp.mpf(limit) if abs(f) < _TINY else function(f) / f


def _third_power(f):
    return (1 + f) ** (mp.mpf(1) / 3)


def _log_cubic(f):
    """(log(1+f) - f + f^2/2) / (-f^3/2)."""
    if abs(f) < _TINY:
        return -mp.mpf(2) / 3
    return -2 * (mp.log1p(f) - f + f * f / 2) / f**3


def _log2_quadratic(f):
    """(log2(1+f) - f log2(e)) / f^2."""
    if abs(f) < _TINY:
        return -1 / mp.log(4)
    return (mp.log1p(f) - f) / mp.log(2) / f**2


def fits():
    """Polynomials of this family."""
    yield (
        "atanh_f32", _odd_tail(mp.atanh), _odd_weight(mp.atanh), "1e-30", "0.1113",
        tuple(range(4)), "float",
    )
    root = _divided(lambda f: _third_power(f) - 1, mp.mpf(1) / 3)
    yield (
        "cbrt_f32", root, lambda f: f / _third_power(f), "-0.2501", "0.5001", tuple(range(8)),
        "float",
    )
    yield (
        "inverse_cbrt_f64", lambda f: 1 / _third_power(f), _third_power, "-0.2501", "0.5001",
        tuple(range(6)), "double",
    )
    yield (
        "log2_cell_f32", _log2_quadratic, lambda f: f**2, "-0.0264", "0.03126", tuple(range(4)),
        "float",
    )
    yield (
        "log_cell_f64", _log_cubic, lambda f: f * f / 2,
        _LOW, _HIGH, tuple(range(10)), "double",
    )


def _cell(number, count):
    """(middle, whether below 1) of a cell of mantissas; the first and the last count as 1."""
    below = number >= count // 2
    low, high = (1 + mp.mpf(i) / count for i in (number, number + 1))
    middle = mp.sqrt(low * high) / (2 if below else 1)
    return (mp.mpf(1) if number in (0, count - 1) else middle), below


def _column(reciprocal, log, quantum):
    """1/c, and -log(1/c) in two parts of which the first is a multiple of `quantum`."""
    high = mp.nint(log / quantum) * quantum
    return [reciprocal, high, log - high]


def cells():
    """(name, columns): for each cell r = 1/middle, and the parts of -log(r), or of -log2(r).

    Cells below 1 are of numbers that have been doubled: their logarithms have log 2 more. In the
    float table m r - 1 is exact; the high parts may be added to k or k log 2 without rounding.
    """
    columns = []
    for number in range(16):
        middle, below = _cell(number, 16)
        r = mp.nint(256 / middle) / 256
        log = -mp.log(r) + (mp.log(2) if below else 0)
        columns.append(_column(r, log, mp.mpf(2) ** -42))
    yield "log_cells_f64", columns
    columns = []
    for number in range(32):
        middle, below = _cell(number, 32)
        unit = 32 if below else 64
        r = mp.nint(unit / middle) / unit
        columns.append(_column(r, -mp.log(r, 2) + (1 if below else 0), mp.mpf(2) ** -15))
    short = lambda v: mp.mpf(float(np.float32(float(v))))
    yield "log2_cells_f32", [[short(v) for v in column] for column in columns]
