"""True values of the vector functions, and errors in units in the last place.

In: a function's name and arguments. Out: references (float64 for float32 arguments, long double or
mpmath for float64 ones) and `ulp_error`, which counts an infinity, a NaN or an overflow that should
not be there as a huge error, and the sign of a zero too.
"""

import mpmath
import numpy as np
import scipy.special as special

_NUMPY = {n: getattr(np, n) for n in (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "sqrt", "cbrt",
)}  # fmt: skip
_NUMPY.update(
    asin=np.arcsin, acos=np.arccos, atan=np.arctan, asinh=np.arcsinh, acosh=np.arccosh,
    atanh=np.arctanh, atan2=np.arctan2, pow=np.power, remainder=np.fmod,
)  # fmt: skip


def _logistic(x):
    power = np.exp(-np.abs(x))
    value = np.where(x < 0, power, x.dtype.type(1)) / (1 + power)
    return np.where(np.isnan(x), x, value)


_NUMPY["logistic"] = _logistic
_NUMPY["rsqrt"] = lambda x: 1 / np.sqrt(x)


def _digamma(x):
    return np.where((x <= 0) & (x == np.floor(x)), np.nan, special.digamma(x))


_SCIPY = {
    "erf": special.erf, "erfc": special.erfc, "bessel_i0e": special.i0e, "digamma": _digamma,
    "erf_inv": lambda x: np.copysign(special.erfinv(x), x),
    "lgamma": lambda x: np.where(np.isinf(x), np.inf, special.gammaln(x)),
    "bessel_i1e": lambda x: np.copysign(special.i1e(x), x),
}  # fmt: skip
_MPMATH = {
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "erf_inv": mpmath.erfinv,
    "lgamma": lambda x: mpmath.loggamma(x).real,
    "digamma": mpmath.digamma,
    "bessel_i0e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x),
    "bessel_i1e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
}
NAMES = (*_NUMPY, *_SCIPY)
BINARY = ("pow", "atan2", "remainder")
SLOW = tuple(_MPMATH)  # float64 references of these come one by one
# where float64 arguments are drawn for the slow ones (the references or the functions end there)
_INTERVALS = {"erf_inv": (-1.0, 1.0), "lgamma": (-1e4, 2.5e305), "digamma": (-1e4, 1e300)}
# functions with a zero between any two poles: for x < 0 errors are relative to max(1, |value|)
REFLECTED = ("lgamma", "digamma")
_ZEROS = {"lgamma": (1.0, 2.0), "digamma": (1.4616321449683622,)}


def reference(name, *arguments):
    """Values as float64 (of float32 arguments) or long double (of float64 arguments)."""
    with np.errstate(all="ignore"):
        if arguments[0].dtype == np.float32:
            wide = [a.astype(np.float64) for a in arguments]
            if name in _SCIPY:
                return _SCIPY[name](*wide)
            value = np.asarray(_NUMPY[name](*wide))
            if name in ("sin", "cos", "tan"):  # NumPy's own are weak for huge arguments
                huge = np.abs(wide[0]) > 1e5
                value[huge] = _NUMPY[name](wide[0][huge].astype(np.longdouble))
            return value
        if name in _MPMATH:
            return _one_by_one(name, arguments[0])
        return _NUMPY[name](*[a.astype(np.longdouble) for a in arguments])


def _one_by_one(name, x):
    values = np.full(x.shape, np.nan, np.longdouble)
    with mpmath.workprec(130):
        for i, v in enumerate(x):
            if np.isfinite(v):
                if name in REFLECTED and v <= 0 and v == np.floor(v):
                    values[i] = np.inf if name == "lgamma" else np.nan
                    continue
                exact = _MPMATH[name](mpmath.mpf(float(v)))
                high = float(exact)
                low = float(exact - high) if np.isfinite(high) else 0.0
                values[i] = np.longdouble(high) + np.longdouble(low)
    return values


def ulp_error(got, true):
    """Errors in units of the last place of the true value, in got's type."""
    dtype = got.dtype.type
    places, least, largest = (
        (24, -149, 3.4028234e38) if dtype is np.float32 else (53, -1074, 1.79769313e308)
    )
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(true), true, 1))
        unit = np.ldexp(true.dtype.type(1), np.maximum(exponent - places, least))
        nearest = true.astype(dtype)
        error = np.abs(got.astype(true.dtype) - true) / unit
        regular = np.isfinite(got) & np.isfinite(nearest)
        same = (got == nearest) | (np.isnan(got) & np.isnan(nearest))
        edge = (np.abs(true) > largest) & (np.sign(got) == np.sign(true))
        irregular = np.where(same, 0, np.where(edge, 1, 1e9))
        wrong_zero = (got == 0) & (true == 0) & (np.signbit(got) != np.signbit(true))
        error = np.where(regular, error, irregular)
    return np.where(wrong_zero, 1e9, error).astype(np.float64)


def scaled_error(name, got, true, *arguments):
    """`ulp_error`; for lgamma and digamma of negative numbers, relative to max(1, |value|)."""
    error = ulp_error(got, true)
    if name not in REFLECTED:
        return error
    places = 23 if got.dtype == np.float32 else 52
    with np.errstate(all="ignore"):
        reflected = np.isfinite(got) & np.isfinite(true) & (arguments[0] < 0)
        against = np.maximum(1, np.abs(true))
        relative = np.abs(got - true) / against * 2.0**places
    return np.where(reflected, relative.astype(np.float64), error)


SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, np.inf, -np.inf, np.nan, 1e-310, -1e-310, 5e-324,
    1e-40, -1e-40, 1e300, -1e300, 709.5, -745.0, 88.7, -103.9, 1e22, 3e38,
)  # fmt: skip


def float32_patterns(stride, start=0):
    """Every stride-th float32, by bit pattern, with the special ones."""
    patterns = np.arange(start, 1 << 32, stride, dtype=np.uint64).astype(np.uint32)
    with np.errstate(all="ignore"):
        return np.concatenate([patterns.view(np.float32), np.array(SPECIAL).astype(np.float32)])


def float64_samples(name, count, seed=0):
    """Arguments over all scales, dense where functions of the real line are interesting."""
    rng = np.random.default_rng(seed)
    n = count // 7
    signs = rng.choice([-1.0, 1.0], n)
    x = np.concatenate([
        rng.standard_normal(n) * rng.choice([1e-3, 0.1, 1, 3, 10], n),
        np.exp(rng.uniform(-744, 709, n)) * signs,
        np.exp(rng.uniform(-30, 8, n)) * signs,
        rng.uniform(-1, 1, n),
        rng.uniform(-1.2, 1.2, n),
        1 + rng.standard_normal(n) * 10.0 ** rng.uniform(-10, 0, n),
        rng.uniform(-750, 750, n),
        *[zero + rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-17, -1, n)
          for zero in _ZEROS.get(name, ())],
        np.array(SPECIAL),
    ])  # fmt: skip
    if name in _MPMATH:
        low, high = _INTERVALS.get(name, (-700.0, 700.0))
        x = x[np.isfinite(x) & (x > low) & (x < high) & (np.abs(x) > 1e-290)]
    return x


def pair_samples(dtype, count, seed=0):
    """Two columns of arguments: moderate ones, random bit patterns, every pair of special ones."""
    rng = np.random.default_rng(seed)
    word = np.uint32 if dtype == np.float32 else np.uint64
    top = np.iinfo(word).max
    patterns = rng.integers(0, top, count, dtype=word, endpoint=True).view(dtype)
    with np.errstate(all="ignore"):
        few = np.array(SPECIAL[:20]).astype(dtype)
    a, b = (g.ravel() for g in np.meshgrid(few, few))
    scale = np.exp(rng.uniform(-80, 80, count))
    x = np.concatenate([rng.standard_normal(count), scale, 1 + rng.normal(0, 1e-3, count)])
    y = np.concatenate([
        rng.standard_normal(count) * rng.choice([1e-3, 1.0, 50.0], count),
        rng.uniform(-1.1, 1.1, count), rng.normal(0, 1e4, count),
    ])  # fmt: skip
    return (
        np.concatenate([x.astype(dtype), patterns, a]),
        np.concatenate([y.astype(dtype), rng.permutation(patterns), b]),
    )
