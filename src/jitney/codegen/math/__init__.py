"""Vector mathematics written as LLVM IR: `evaluate(emitter, name, *values)`.

In: an `Emitter`, a function's name and `Value`s (any lanes, any copies). Out: a `Value`.
half and bfloat arguments are computed as float and rounded once. The functions, with their measured
errors and times, are listed in docs/vector_math.md. Some end the current basic block (see
`Emitter.rare_path`) and some add module-level `definitions` to the emitter.
"""

from . import (
    bessel,
    error_functions,
    exact,
    exponential,
    gamma,
    inverse_hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    roots,
    trigonometric,
)
from .threefry import threefry2x32


def _sqrt(e, x):
    """Square root."""
    return e.sqrt(x)


FUNCTIONS = {
    "exp": exponential.exp,
    "exp_nonpositive": exponential.exp_nonpositive,
    "exp_distance": exponential.exp_distance,
    "exp_distance_any": exponential.exp_distance_any,
    "exp_raised": exponential.exp_raised,
    "exp_raised_any": exponential.exp_raised_any,
    "exp_raised_kept": exponential.exp_raised_kept,
    "exp_raised_kept_any": exponential.exp_raised_kept_any,
    "exp_raised_kept_near": exponential.exp_raised_kept_near,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "sinh": exponential.sinh,
    "cosh": exponential.cosh,
    "tanh": exponential.tanh,
    "logistic": exponential.logistic,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "asinh": inverse_hyperbolic.asinh,
    "acosh": inverse_hyperbolic.acosh,
    "atanh": inverse_hyperbolic.atanh,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "asin": inverse_trigonometric.asin,
    "acos": inverse_trigonometric.acos,
    "atan": inverse_trigonometric.atan,
    "atan2": inverse_trigonometric.atan2,
    "sqrt": _sqrt,
    "rsqrt": roots.rsqrt,
    "cbrt": roots.cbrt,
    "pow": power.pow,
    "integer_pow": power.integer_pow,
    "erf": error_functions.erf,
    "erfc": error_functions.erfc,
    "erf_inv": error_functions.erf_inv,
    "erf_inv_published": error_functions.erf_inv_published,
    "lgamma": gamma.lgamma,
    "digamma": gamma.digamma,
    "bessel_i0e": bessel.bessel_i0e,
    "bessel_i1e": bessel.bessel_i1e,
    "remainder": exact.remainder,
    "ldexp": exact.ldexp,
}
# integers, or bits of floats: the type is left as it is
DIRECT = {
    "nextafter": exact.nextafter,
    "population_count": exact.population_count,
    "clz": exact.count_leading_zeros,
    "ctz": exact.count_trailing_zeros,
}
# exact results, in the type of the argument; `sign` and `abs` take integers too
WIDENED = {
    "sign": exact.sign,
    "abs": exact.absolute,
    "floor": exact.floor,
    "ceil": exact.ceil,
    "trunc": exact.trunc,
    "round_half_even": exact.round_half_even,
    "round_half_away": exact.round_half_away,
    "is_finite": exact.is_finite,
}


def evaluate(emitter, function_name, *values, **params):
    """Emit the named function of `values`; KeyError for a name that is not in the tables.

    `params`: integer_pow takes `exponent`.
    """
    direct = DIRECT.get(function_name)
    if direct is not None:
        return direct(emitter, *values, **params)
    function = FUNCTIONS.get(function_name) or WIDENED[function_name]
    first = values[0].type
    if first not in ("half", "bfloat"):
        return function(emitter, *values, **params)
    wide = [emitter.fpext(v, "float") for v in values]
    result = function(emitter, *wide, **params)
    return result if result.type == "i1" else emitter.fptrunc(result, first)


__all__ = ["DIRECT", "FUNCTIONS", "WIDENED", "evaluate", "threefry2x32"]
