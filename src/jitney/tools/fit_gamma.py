"""The fits of the gamma family: log-gamma, digamma and the functions of pi they need.

In: nothing. Out: tuples for `fit_polynomials`, as of `fit_special`. Everything on the positive axis
is divided by its zeros, so that what is fitted is smooth and positive.
"""

import mpmath as mp


def _digamma_zero():
    return mp.findroot(mp.digamma, mp.mpf("1.4616321449683623"))


def _lgamma_quotient(v):
    """log gamma(v) / ((v-1) (v-2))."""
    return mp.loggamma(v) / ((v - 1) * (v - 2))


def _octaves():
    """Quarters of the octaves from 1/2 to 8, at the place their leading bits give."""
    for place in range(16):
        octave, quarter = divmod((place - 8) % 16, 4)
        width = mp.mpf(2) ** (octave - 3)
        yield 4 * width + (quarter + mp.mpf(1) / 2) * width, width / 2 * mp.mpf("1.0001")


def tables():
    """Tables of this family: tuples (name, function, intervals, terms, format, whether a head)."""
    zero = _digamma_zero()
    intervals = tuple(_octaves())
    for name, f, wide_terms in (
        ("lgamma", _lgamma_quotient, 7), ("digamma", lambda v: mp.digamma(v) / (v - zero), 8),
    ):
        yield f"{name}_f64", f, intervals, 14, "double"
        yield f"{name}_wide", f, intervals, wide_terms, "double", False


def _lgamma_remainder(u):
    """What Stirling's formula leaves of log gamma, times x, at x = 1/sqrt(u)."""
    x = 1 / mp.sqrt(u)
    return (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


def _digamma_remainder(u):
    """(log x - 1/(2x) - digamma(x)) x^2 at x = 1/sqrt(u)."""
    x = 1 / mp.sqrt(u)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / u


def _sine_tail(z):
    """((sin(pi d) / (pi d) - 1) / z + pi^2/6) / z with z = d^2."""
    y = mp.pi * mp.sqrt(z)
    return ((mp.sin(y) / y - 1) / z + mp.pi**2 / 6) / z


def _cotangent_tail(z):
    """(pi d cot(pi d) - 1) / z with z = d^2."""
    y = mp.pi * mp.sqrt(z)
    return (y * mp.cot(y) - 1) / z


def _tangent(z):
    """pi tan(pi d) / d with z = d^2."""
    d = mp.sqrt(z)
    return mp.pi * mp.tan(mp.pi * d) / d if z else mp.pi**2


def fits():
    """Polynomials of this family."""
    eighth = mp.mpf("0.01565")
    for suffix, l_terms, d_terms in (("f64", 6, 6), ("wide", 3, 3)):
        yield (
            f"lgamma_stirling_{suffix}", _lgamma_remainder, lambda u: mp.sqrt(u) / 8, "1e-12",
            eighth, tuple(range(l_terms)), "double",
        )
        yield (
            f"digamma_stirling_{suffix}", _digamma_remainder, lambda u: u / 2, "1e-12", eighth,
            tuple(range(d_terms)), "double",
        )
    quarter, sixteenth = mp.mpf("0.2501"), mp.mpf("0.06252")
    yield (
        "sine_pi_f64", _sine_tail, lambda z: z * z, "1e-12", quarter, tuple(range(7)), "double"
    )
    yield (
        "cotangent_pi_f64", _cotangent_tail, lambda z: z, "1e-12", sixteenth, tuple(range(11)),
        "double",
    )
    yield (
        "tangent_pi_f64", _tangent, lambda z: 1 / _tangent(z), 0, sixteenth, tuple(range(16)),
        "double", (), True,
    )
