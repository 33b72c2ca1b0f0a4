"""Fit the polynomials of the vector mathematics and write `codegen/math/coefficients.py`.

In: the list of `Fit`s below (a function, its domain, a weight, the powers wanted, a format).
Out: hexadecimal coefficients, near-minimax in the weighted error, rounded one after another to the
format with the rest refitted each time, so that rounding costs little.
Invariant: everything is computed with mpmath at 300 bits; no coefficient comes from elsewhere.

Run: `python -m jitney.tools.fit_polynomials [name-prefix …]` (needs mpmath; minutes in all).
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import mpmath as mp
import numpy as np

from . import fit_gamma, fit_inverse, fit_special

mp.mp.prec = 300
TARGET = Path(__file__).resolve().parent.parent / "codegen" / "math" / "coefficients.py"
TINY = mp.mpf(10) ** -20


@dataclass
class Fit:
    """sum of c[i] * x^powers[i] ~ function(x) on [low, high], error times weight(x) minimised."""

    name: str
    function: object
    weight: object
    low: object
    high: object
    powers: tuple
    format: str  # 'float' or 'double'
    fixed: tuple = ()  # coefficients of the first powers, given
    head: object = False  # True (the value at 0, rounded) or a number: it comes first, and the
    # other coefficients are of what remains


def round_to(format_name, value):
    """Nearest number of the format, as mpf."""
    wide = float(value)
    return mp.mpf(float(np.float32(wide))) if format_name == "float" else mp.mpf(wide)


def solve_least_squares(rows, target, weights):
    """Coefficients minimising the weighted sum of squares, by normal equations."""
    scaled = [[v * w for v in row] for row, w in zip(rows, weights)]
    a = mp.matrix(scaled)
    b = mp.matrix([t * w for t, w in zip(target, weights)])
    return list(mp.lu_solve(a.T * a, a.T * b))


def fit(spec: Fit, iterations=7):
    """Rounded coefficients and the largest weighted error at the nodes."""
    low, high = mp.mpf(spec.low), mp.mpf(spec.high)
    count = 4 * (len(spec.powers) + 1)
    nodes = [
        (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count))
        for k in range(count)
    ]
    target = [mp.mpf(spec.function(x)) for x in nodes]
    weight = [abs(mp.mpf(spec.weight(x))) for x in nodes]
    rows = [[x**p for p in spec.powers] for x in nodes]
    lawson = [mp.mpf(1) / count] * count
    for _ in range(iterations):  # Lawson's iteration toward the minimax solution
        c = solve_least_squares(rows, target, [w * mp.sqrt(s) for w, s in zip(weight, lawson)])
        errors = [
            w * abs(mp.fdot(row, c) - t) for row, t, w in zip(rows, target, weight)
        ]
        total = mp.fdot(lawson, errors)
        if total == 0:
            break
        lawson = [s * e / total + mp.mpf(10) ** -9 / count for s, e in zip(lawson, errors)]
    final = [w * mp.sqrt(s) for w, s in zip(weight, lawson)]
    rounded, remaining, rest = [], list(target), [list(r) for r in rows]
    for step in range(len(spec.powers)):
        if step < len(spec.fixed):
            value = mp.mpf(spec.fixed[step])
        else:
            value = round_to(spec.format, solve_least_squares(rest, remaining, final)[0])
        rounded.append(value)
        remaining = [t - value * r[0] for t, r in zip(remaining, rest)]
        rest = [r[1:] for r in rest]
    worst = max(
        w * abs(mp.fdot(row, rounded) - t) for row, t, w in zip(rows, target, weight)
    )
    return rounded, worst


def fit_with_head(spec: Fit, iterations=7):
    """As `fit`; for a spec with a head (head, low part of the constant, c1, c2…)."""
    if not spec.head:
        return fit(spec, iterations)
    head = round_to(spec.format, spec.function(mp.mpf(0)) if spec.head is True else spec.head)
    rest = replace(spec, function=lambda x: spec.function(x) - head, head=False)
    coefficients, error = fit(rest, iterations)
    return [head, *coefficients], error


def series_quotient(function, limit):
    """`function` with its value at (nearly) zero given, where the formula would be 0/0."""
    return lambda x: mp.mpf(limit) if abs(x) < TINY else function(x)


def _log_cubic():
    return series_quotient(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, mp.mpf(1) / 3)


def _atanh_tail(z):
    """(log((1+s)/(1-s)) / s - 2) / z with z = s^2."""
    s = mp.sqrt(z)
    return (mp.log((1 + s) / (1 - s)) / s - 2) / z


def _odd_tail(function):
    """(function(s)/s - 1) / z with z = s^2: the tail of an odd function of slope 1."""

    def tail(z):
        s = mp.sqrt(z)
        return (function(s) / s - 1) / z

    return tail


def _odd_weight(function):
    def weight(z):
        s = mp.sqrt(z)
        return z * s / function(s)

    return weight


def _elementary():
    half_ln2 = mp.log(2) / 2 * mp.mpf("1.0005")
    for suffix, kind, e_terms, m_terms, two_terms in (
        ("f32", "float", 5, 5, 6),
        ("f64", "double", 10, 11, 11),
        ("wide", "double", 0, 0, 8),
    ):
        yield Fit(
            f"exp2_{suffix}", series_quotient(lambda r: (mp.mpf(2) ** r - 1) / r, mp.log(2)),
            lambda r: r / mp.mpf(2) ** r, mp.mpf("-0.5005"), mp.mpf("0.5005"),
            tuple(range(two_terms)), kind,
        )
        if not e_terms:
            continue
        yield Fit(
            f"exp_{suffix}", series_quotient(lambda r: (mp.expm1(r) - r) / r**2, "0.5"),
            lambda r: r**2 / mp.exp(r), -half_ln2, half_ln2, tuple(range(e_terms)), kind,
        )
        yield Fit(
            f"expm1_{suffix}", series_quotient(lambda r: (mp.expm1(r) - r) / r**2, "0.5"),
            lambda r: r if abs(r) < TINY else r**2 / mp.expm1(r), -half_ln2, half_ln2,
            tuple(range(m_terms)), kind,
        )
    sixteenth = mp.log(2) / 32 * mp.mpf("1.001")
    yield Fit(
        "exp_sixteenth_f32", series_quotient(lambda r: (mp.expm1(r) - r) / r**2, "0.5"),
        lambda r: r**2 / mp.exp(r), -sixteenth, sixteenth, (0, 1), "float",
    )
    eighth = mp.log(2) / 16 * mp.mpf("1.001")
    yield Fit(
        "exp_eighth_f32", series_quotient(lambda r: (mp.expm1(r) - r) / r**2, "0.5"),
        lambda r: r**2 / mp.exp(r), -eighth, eighth, (0, 1), "float",
    )
    half = mp.mpf(1) / 16 * mp.mpf("1.001")
    yield Fit(
        "exp2_eighth_f32", series_quotient(lambda r: (mp.mpf(2) ** r - 1) / r, mp.log(2)),
        lambda r: r / mp.mpf(2) ** r, -half, half, (0, 1, 2), "float",
    )
    half = mp.mpf(1) / 64 * mp.mpf("1.001")
    yield Fit(
        "exp2_32nd_f32", series_quotient(lambda r: (mp.mpf(2) ** r - 1) / r, mp.log(2)),
        lambda r: r / mp.mpf(2) ** r, -half, half, (0, 1), "float",
    )
    yield Fit(
        "exp2_in_32nd_f32", series_quotient(lambda r: (mp.mpf(2) ** r - 1) / r, mp.log(2)),
        lambda r: r / mp.mpf(2) ** r, "1e-30", 2 * half, (0, 1), "float",
    )
    cubic_weight = lambda f: f**2 if abs(f) < TINY else f**3 / mp.log1p(f)
    yield Fit("log_f32", _log_cubic(), cubic_weight, "-0.2501", "0.5001", tuple(range(9)), "float")
    yield Fit(
        "log_f64", _atanh_tail, lambda z: z / (2 + z * _atanh_tail(z)), "1e-30",
        mp.mpf("0.2002") ** 2, tuple(range(7)), "double",
    )
    ratio = series_quotient(lambda f: mp.log1p(f) / f, 1)
    yield Fit(
        "log_wide", ratio, lambda f: 1 / ratio(f), "-0.2501", "0.5001", tuple(range(16)), "double"
    )
    yield Fit(
        "log2_wide", lambda f: ratio(f) / mp.log(2), lambda f: mp.log(2) / ratio(f), "-0.2501",
        "0.5001", tuple(range(16)), "double",
    )


def _trigonometric():
    top = (mp.pi / 2 * mp.mpf("1.002")) ** 2
    for suffix, kind, terms in (("wide", "double", 5), ("f64", "double", 9)):
        yield Fit(
            f"sin_{suffix}", _odd_tail(mp.sin), _odd_weight(mp.sin), "1e-30", top,
            tuple(range(terms)), kind,
        )
    quarter = (mp.pi / 4 * mp.mpf("1.0005")) ** 2
    for suffix, kind, terms in (("f32", "float", 7), ("f64", "double", 14)):
        yield Fit(
            f"tan_{suffix}", _odd_tail(mp.tan), _odd_weight(mp.tan), "1e-30", quarter,
            tuple(range(terms)), kind,
        )
    eighth = (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.001")
    yield Fit(
        "atan_f32", _odd_tail(mp.atan), _odd_weight(mp.atan), "1e-30", eighth, tuple(range(5)),
        "float",
    )
    yield Fit(
        "atan_f64", _odd_tail(mp.atan), _odd_weight(mp.atan), "1e-30", eighth, tuple(range(11)),
        "double",
    )
    for suffix, kind, terms in (("f32", "float", 5), ("f64", "double", 12)):
        yield Fit(
            f"asin_{suffix}", _odd_tail(mp.asin), _odd_weight(mp.asin), "1e-30", "0.2501",
            tuple(range(terms)), kind,
        )
    for suffix, kind, terms in (("f32", "float", 4), ("f64", "double", 8)):
        yield Fit(
            f"sinh_{suffix}", _odd_tail(mp.sinh), _odd_weight(mp.sinh), "1e-30", "1.01",
            tuple(range(terms)), kind,
        )


def _error_function():
    def small(z):
        s = mp.sqrt(z)
        return mp.erf(s) / s - 1

    for suffix, kind, terms, edge in (("f32", "float", 6, "0.93"), ("f64", "double", 13, "1.01")):
        yield Fit(
            f"erf_small_{suffix}", small, lambda z: 1 / (1 + small(z)), "1e-30",
            mp.mpf(edge) ** 2, tuple(range(terms)), kind,
        )
    exponent = lambda a: -mp.log(mp.erfc(a))
    weight = lambda a: mp.erfc(a) / mp.erf(a)
    yield Fit(
        "erf_exponent_f32", series_quotient(lambda a: exponent(a) / a - 1, 2 / mp.sqrt(mp.pi) - 1),
        series_quotient(lambda a: a * weight(a), mp.sqrt(mp.pi) / 2), "0", "3.95",
        tuple(range(9)), "float",
    )
    yield Fit(
        "erf_large_f64", lambda t: exponent(t + 1), lambda t: weight(t + 1), "-0.01", "5",
        tuple(range(19)), "double",
    )


@dataclass
class Table:
    """Coefficients of a function on intervals (middle, half of the width), as a table.

    The interval that begins at 0: a + a*q(t), with a the argument itself and t its distance from
    the middle. Another: value + t*q(t). Row 0 of the output is `value`, rows 1… the coefficients
    of q.
    """

    name: str
    function: object
    intervals: tuple
    terms: int
    format: str


def equal_intervals(width, count) -> tuple:
    """Middles and half widths of `count` intervals from 0 on."""
    width = mp.mpf(width)
    return tuple(((number + mp.mpf(1) / 2) * width, width / 2) for number in range(count))


def graded_intervals(offset, least, places, octaves) -> tuple:
    """Middles and half widths of a >= 0 by the last bits of the exponent of a + offset, which is
    `least` (a power of two) or more, and the first bits of its mantissa, `places` of them."""
    least, steps = mp.mpf(least), 2**places
    turned = 1 - int(mp.log(least, 2))  # exponent 1 is written 128: its last bits are 0
    found = []
    for index in range(octaves * steps):
        width = least * mp.mpf(2) ** ((index // steps + turned) % octaves) / steps
        found.append(((steps + index % steps + mp.mpf(1) / 2) * width - offset, width / 2))
    return tuple(found)


def fit_interval(spec: Table, number):
    """(value, q…) on one interval and the error relative to the function."""
    middle, half = (mp.mpf(v) for v in spec.intervals[number])
    powers = tuple(range(spec.terms))
    if middle != half:

        def shifted(t):
            return spec.function(middle + t)

        powers = (0, *[p + 1 for p in powers])
        return fit(
            Fit("", shifted, lambda t: 1 / shifted(t), -half, half, powers, spec.format), 5
        )
    ratio = series_quotient(lambda a: spec.function(a) / a - 1, mp.diff(spec.function, 0) - 1)
    weight = lambda t: 1 / (1 + ratio(middle + t))
    q, error = fit(
        Fit("", lambda t: ratio(middle + t), weight, -half, half, powers, spec.format), 5
    )
    return [mp.mpf(0), *q], error


@dataclass
class Pieces:
    """Coefficients of a function about the middle of each of `intervals`, as a table.

    Rows: the value in the middle (rounded; then its low part, if `head`), c1, c2… of the distance.
    """

    name: str
    function: object
    intervals: tuple  # (middle, half of the width) in the order of the table
    terms: int
    format: str
    head: bool = True


@dataclass
class Cells:
    """A table of numbers that are computed, not fitted."""

    name: str
    columns: list


def fit_piece(spec: Pieces, number):
    """The column of one interval and its error relative to the function."""
    middle, half = (mp.mpf(v) for v in spec.intervals[number])

    def shifted(t):
        return spec.function(middle + t)

    powers = tuple(range(spec.terms))
    weight = lambda t: 1 / shifted(t)
    return fit_with_head(
        Fit("", shifted, weight, -half, half, powers, spec.format, (), spec.head), 3
    )


def fit_table(spec):
    """Columns of the table, one for each interval, and the largest relative error."""
    if isinstance(spec, Cells):
        return spec.columns, mp.mpf(2) ** -106
    if isinstance(spec, Pieces):
        fitted = [fit_piece(spec, i) for i in range(len(spec.intervals))]
    else:
        fitted = [fit_interval(spec, i) for i in range(len(spec.intervals))]
    return [column for column, _ in fitted], max(error for _, error in fitted)


TABLES = (
    Pieces("erfcx_table_f32", lambda a: mp.exp(a * a) * mp.erfc(a),
           graded_intervals(0.5, 1, 2, 4), 7, "float"),
    Table("erf_table_f32", mp.erf, equal_intervals("0.25", 16), 5, "float"),
    Table("erf_table_f64", mp.erf, equal_intervals("0.375", 16), 13, "double"),
    Cells("exp_table_f32", [(round_to("float", mp.mpf(2) ** (mp.mpf(j) / 16)),)
                            for j in range(16)]),
    Cells("exp2_table_f32", [(round_to("float", mp.mpf(2) ** (mp.mpf(j) / 32)),)
                             for j in range(32)]),
    Table("tanh_table_f32", mp.tanh, graded_intervals(1, 1, 3, 4), 5, "float"),
    *(Pieces(*row) for row in (*fit_special.tables(), *fit_gamma.tables())),
    *(Cells(*row) for row in fit_inverse.cells()),
)


def all_fits():
    """Every polynomial of the library."""
    for family in (_elementary, _trigonometric, _error_function):
        yield from family()
    for row in (*fit_special.fits(), *fit_gamma.fits(), *fit_inverse.fits()):
        yield Fit(*row)


def format_numbers(values) -> str:
    """Python source of a tuple of exact floats."""
    text = ", ".join(f'"{float(v).hex()}"' for v in values)
    return f"_read({text})"


HEADER = '''"""Coefficients of the vector mathematics, by `tools/fit_polynomials.py`; do not edit.

`POLYNOMIALS[name]`: lowest power first. `TABLES[name]`: for each power, one number an interval.
The comment is the weighted (relative) error of the approximation itself.
"""

# ruff: noqa: E501


def _read(*texts):
    return tuple(float.fromhex(t) for t in texts)


POLYNOMIALS = {}
TABLES = {}
'''


def load_previous() -> dict:
    """Source lines of the coefficients already written, by name."""
    lines = {}
    if TARGET.exists():
        for line in TARGET.read_text().splitlines():
            if line.startswith(("POLYNOMIALS[", "TABLES[")):
                lines[line.split('"')[1]] = line
    return lines


def main(prefixes):
    """Refit the named families (all without arguments) and rewrite the file."""
    lines = load_previous() if prefixes else {}
    for spec in all_fits():
        if prefixes and not spec.name.startswith(tuple(prefixes)):
            continue
        c, error = fit_with_head(spec)
        bits = mp.nstr(mp.log(error, 2), 4)
        print(spec.name, bits, flush=True)
        lines[spec.name] = f'POLYNOMIALS["{spec.name}"] = {format_numbers(c)}  # 2^{bits}'
    for spec in TABLES:
        if prefixes and not spec.name.startswith(tuple(prefixes)):
            continue
        columns, error = fit_table(spec)
        bits = mp.nstr(mp.log(error, 2), 4)
        print(spec.name, bits, flush=True)
        rows = ", ".join(format_numbers(row) for row in zip(*columns))
        lines[spec.name] = f'TABLES["{spec.name}"] = ({rows},)  # 2^{bits}'
    body = "\n".join(lines[name] for name in sorted(lines))
    TARGET.write_text(HEADER + body + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
