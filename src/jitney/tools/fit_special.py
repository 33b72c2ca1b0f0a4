"""The fits of the special functions: pow's logarithm, erfc, the inverse error function, Bessel.

In: nothing. Out: tuples (name, function, weight, low, high, powers, format) for `fit_polynomials`.
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
    def function(t):
        a = 4 * (t + 1)
        if order and a < mp.mpf(10) ** -30:
            return mp.mpf(1) / 2
        return mp.exp(-a) * mp.besseli(order, a) / (a if order else 1)

    return function


def _bessel_outer(order):
    def function(u):
        a = 16 / (u + 1)
        return mp.exp(-a) * mp.besseli(order, a) * mp.sqrt(a)

    return function


def fits():
    """Polynomials of this family."""
    low = (mp.mpf("0.49") - 2) / (mp.mpf("0.49") + 2)
    yield (
        "log_tail_f64", _log_tail, lambda z: z * z / 2, "1e-12", mp.mpf("0.2002") ** 2,
        tuple(range(8)), "double",
    )
    for suffix, top, terms in (("wide", "10.6", 12), ("f64", "28.1", 24)):
        high = (mp.mpf(top) - 2) / (mp.mpf(top) + 2)
        yield (
            f"erfc_{suffix}", _erfc_scaled, _relative(_erfc_scaled), low, high,
            tuple(range(terms)), "double",
        )
    ratio = _erf_inverse_ratio
    for name, change, start, end, terms in (
        ("central", lambda t: t + mp.mpf("3.125"), "-3.125", "3.126", 23),
        ("middle", lambda t: (t + mp.mpf("3.25")) ** 2, "-0.7501", "0.7501", 18),
        ("far", lambda t: (t + 5) ** 2, "-1.0001", "1.1", 16),
    ):
        yield (
            f"erf_inv_{name}", lambda t, change=change: ratio(change(t)),
            lambda t, change=change: 1 / ratio(change(t)), start, end, tuple(range(terms)),
            "double",
        )
    for order in (0, 1):
        for suffix, inner_terms, outer_terms in (("wide", 22, 8), ("f64", 31, 23)):
            f = _bessel_inner(order)
            yield (
                f"i{order}e_inner_{suffix}", f, _relative(f), -1, 1, tuple(range(inner_terms)),
                "double",
            )
            g = _bessel_outer(order)
            yield (
                f"i{order}e_outer_{suffix}", g, _relative(g), "-0.99999999", 1,
                tuple(range(outer_terms)), "double",
            )
