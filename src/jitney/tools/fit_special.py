"""The fits of the special functions: pow's logarithm, erfc, the inverse error function, Bessel.

In: nothing. Out: tuples (name, function, weight, low, high, powers, format, the
first coefficients, whether there is a head) for `fit_polynomials`, and of its tables.
"""

import mpmath as mp


def _relative(function):
    return lambda x: 1 / function(x)


def _log_tail(z):
    """((log((1+s)/(1-s))/s - 2)/z - 2/3)/z with z = s^2."""
    s = mp.sqrt(z)
    return ((mp.log((1 + s) / (1 - s)) / s - 2) / z - mp.mpf(2) / 3) / z


def _erfc_scaled(t):
    """erfc(a) exp(a^2) (1 + 2a) at a = 2 (1+t)/(1-t)."""
    a = 2 * (1 + t) / (1 - t)
    return mp.erfc(a) * mp.exp(a * a) * (1 + 2 * a)


def _erf_inverse_ratio(w):
    """erfinv(x)/x at x = sqrt(1 - exp(-w))."""
    if abs(w) < mp.mpf(10) ** -30:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def _bessel_inner(order):
    def function(a):
        if order and abs(a) < mp.mpf(10) ** -30:
            return mp.mpf(1) / 2
        return mp.exp(-a) * mp.besseli(order, a) / (a if order else 1)

    return function


def _bessel_outer(order):
    def function(u):
        a = 16 / (u + 1)
        return mp.exp(-a) * mp.besseli(order, a) * mp.sqrt(a)

    return function


def tables():
    """Tables of this family: tuples (name, function, intervals, terms, format)."""
    halves = tuple((mp.mpf(2 * i + 1) / 4, mp.mpf("0.2501")) for i in range(16))
    for order in (0, 1):
        yield f"i{order}e_table_f64", _bessel_inner(order), halves, 13, "double"


def fits():
    """Polynomials of this family."""
    low = (mp.mpf("0.49") - 2) / (mp.mpf("0.49") + 2)
    yield (
        "log_tail_f64", _log_tail, lambda z: z * z / 2, "1e-12", mp.mpf("0.2002") ** 2,
        tuple(range(8)), "double",
    )
    for suffix, top, terms, kind, head in (
        ("f32", "10.6", 10, "float", 1.25), ("f64", "28.1", 24, "double", True),
    ):
        high = (mp.mpf(top) - 2) / (mp.mpf(top) + 2)
        yield (
            f"erfc_{suffix}", _erfc_scaled, _relative(_erfc_scaled), low, high,
            tuple(range(terms)), kind, (), head,
        )
    ratio = _erf_inverse_ratio
    amid = 1.375  # a head that leaves a rest below 3/4, whose roundings count less
    for name, middle, start, end, terms, kind, head in (
        ("central_f32", "1", "-1", "4.01", 11, "float", amid),
        ("tail_f32", "10", "-5.01", "6.1", 12, "float", True),
        ("central_f64", "1", "-1", "4.501", 23, "double", amid),
        ("middle_f64", "10", "-4.501", "5.001", 24, "double", True),
        ("far_f64", "26", "-11.001", "10.8", 24, "double", True),
    ):
        f = lambda t, middle=middle: ratio(t + mp.mpf(middle))
        yield (
            f"erf_inv_{name}", f, _relative(f), start, end, tuple(range(terms)), kind, (), head,
        )
    for order in (0, 1):
        f = _bessel_inner(order)
        shifted = lambda t, f=f: f(4 * (t + 1))
        yield (
            f"i{order}e_inner_wide", shifted, _relative(shifted), -1, 1, tuple(range(22)), "double"
        )
        g = _bessel_outer(order)
        for suffix, terms in (("wide", 8), ("f64", 24)):
            yield (
                f"i{order}e_outer_{suffix}", g, _relative(g), "-0.99999999", 1,
                tuple(range(terms)), "double", (), suffix == "f64",
            )
