"""AVX-512: logarithms from tables of cells, sixteen or thirty-two of them between 3/4 and 3/2.

In: float or double `Value`s that fill registers, finite and above 0. Out: log2 of a float in two
parts (good to 2^-30 of its value); log of a double in two parts (good to 2^-61).
x = 2^k m, m = (1 + f) / r with r of the cell that m lies in, so that f is small: few terms.
The cells beside 1 have r = 1 and a logarithm of 0: nothing cancels near 1.
"""

from .coefficients import TABLES
from .forms import (
    HEX,
    exponent,
    fast_two_sum,
    integer_like,
    mantissa,
    polynomial,
    table_lookup,
    two_product,
)

_LOG2_E = (HEX("0x1.715476p+0"), HEX("0x1.4ae0cp-26"))


def cell_of(e, m, name):
    """(r, high, low) of the table `name` for mantissas m in [3/4, 3/2)."""
    rows = TABLES[name]
    bits = e.bits(m)
    places = {32: 18, 16: 48}[len(rows[0])]  # where the five, or four, leading bits end
    index = e.lshr(bits, integer_like(e, bits, places))
    return [table_lookup(e, index, m.type, row) for row in rows]


def log2_two_parts(e, x):
    """(high, low): log2 of floats above 0."""
    m = mantissa(e, x)
    r, high, low = cell_of(e, m, "log2_cells_f32")
    f = e.fma(m, r, e.like(m, -1.0))
    whole, q = e.fadd(exponent(e, x), high), polynomial(e, f, "log2_cell_f32")
    # log2 x = whole + f log2(e) + low + q f^2, where whole and f are exact
    high_slope, low_slope = (e.like(f, c) for c in _LOG2_E)
    a, a_low = two_product(e, f, high_slope)
    square, square_low = two_product(e, f, f)
    b, b_low = two_product(e, square, q)
    low = e.fadd(e.fma(f, low_slope, a_low), e.fma(square_low, q, e.fadd(b_low, low)))
    total, error = fast_two_sum(e, a, b)
    total, second_error = fast_two_sum(e, whole, total)
    return total, e.fadd(low, e.fadd(error, second_error))


def log_two_parts(e, x):
    """(high, low): log of doubles above 0."""
    m = mantissa(e, x)
    r, high, low = cell_of(e, m, "log_cells_f64")
    k = exponent(e, x)
    one = e.like(x, 1.0)
    p, p_low = two_product(e, m, r)
    f = e.fsub(p, one)  # exact; log m = log(1 + f + p_low) - log r
    half, half_low = two_product(e, f, e.fmul(f, e.like(f, -0.5)))
    total = e.fma(k, e.like(k, HEX("0x1.62e42fefa3800p-1")), high)  # exact
    total, error = fast_two_sum(e, total, f)
    total, half_error = fast_two_sum(e, total, half)
    # -f^3/2 times the polynomial, whose coefficients are those of f^3 times -2
    q = polynomial(e, f, "log_cell_f64")
    cubic, cubic_low = two_product(e, f, half)
    cubic_low = e.fma(f, half_low, cubic_low)
    cubic = e.fma(cubic, q, e.fma(cubic_low, q, half_low))
    rest = e.fma(k, e.like(k, HEX("0x1.ef35793c76730p-45")), low)
    rest = e.fadd(rest, e.fma(e.fma(f, f, e.fneg(f)), p_low, p_low))  # p_low / (1 + f)
    return fast_two_sum(e, total, e.fadd(e.fadd(rest, cubic), e.fadd(error, half_error)))
