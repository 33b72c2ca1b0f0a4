"""What the elementwise operations of graphs and kernels mean, in NumPy.

In: an operation name, the element code of its result, NumPy operands. Out: the value. These are the
definitions the interpreters of both languages use; machine code is tested against them.
"""

import math

import numpy as np

from .types import DTYPE_OF_CODE, bits_of, kind_of

RAISED = 64  # exp_raised(x), of float32 only, is 2^64 exp(x)


def evaluate(op: str, code: str, args):
    """The value of one elementwise operation."""
    dtype = DTYPE_OF_CODE[code]
    with np.errstate(all="ignore"):
        if op == "convert":
            return convert(np.asarray(args[0]), dtype)
        if op == "bitcast":
            x = np.asarray(args[0])
            return np.ascontiguousarray(x).view(dtype).reshape(x.shape)
        if op == "select":
            return np.where(args[0], args[1], args[2]).astype(dtype)
        if op == "copy":
            return np.asarray(args[0])
        first = np.asarray(args[0])
        if first.dtype.name in ("bfloat16", "float16"):
            wide = [np.asarray(a).astype(np.float32) for a in args]
            return np.asarray(_plain(op, wide)).astype(dtype)
        return np.asarray(_plain(op, [np.asarray(a) for a in args])).astype(dtype)


def convert(x, dtype):
    """Truncating and saturating, NaN to 0."""
    if dtype == np.bool_:
        return x != 0
    if x.dtype.kind in "fV" and np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        wide = x.astype(np.float64)
        inside = np.where(np.isnan(wide) | (wide >= info.max) | (wide <= info.min), 0, wide)
        result = np.trunc(inside).astype(dtype)
        result = np.where(wide >= info.max, dtype.type(info.max), result)
        return np.where(wide <= info.min, dtype.type(info.min), result).astype(dtype)
    return x.astype(dtype)


def _plain(op, args):
    rule = _RULES.get(op)
    if rule is None:
        raise NotImplementedError(f"no reference for the operation {op}")
    return rule(*args)


def _div(a, b):
    if a.dtype.kind == "f":
        return np.divide(a, b)
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    toward_zero = np.floor_divide(a - np.fmod(a, safe), safe)
    return np.where(b == 0, np.array(-1).astype(a.dtype), toward_zero).astype(a.dtype)


def _rem(a, b):
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b))).astype(a.dtype)


def _shift(function, fill_sign):
    def rule(a, b):
        bits = a.dtype.itemsize * 8
        amount = b.astype(np.uint64)
        inside = amount < bits
        if fill_sign:
            clipped = np.where(inside, amount, bits - 1).astype(a.dtype)
            return function(a, clipped)
        word = a.view(f"u{a.dtype.itemsize}")
        moved = function(word, np.where(inside, amount, 0).astype(word.dtype))
        return np.where(inside, moved, 0).astype(word.dtype).view(a.dtype)

    return rule


def _rotate_left(a, b):
    bits = a.dtype.itemsize * 8
    n = (b % bits).astype(a.dtype)
    other = ((bits - n) % bits).astype(a.dtype)
    return ((a << n) | (a >> other)).astype(a.dtype) if bits else a


def _not(a):
    return ~a


def _clz(a):
    bits = a.dtype.itemsize * 8
    word = a.view(f"u{a.dtype.itemsize}")
    return np.vectorize(lambda v: bits - int(v).bit_length(), otypes=[a.dtype])(word)


def _special(name):
    def rule(*args):
        import scipy.special

        if name in ("erf_inv", "erf_inv_published"):
            return scipy.special.erfinv(*args)
        if name == "lgamma":
            return scipy.special.gammaln(*args)
        return getattr(scipy.special, {"bessel_i0e": "i0e", "bessel_i1e": "i1e"}.get(name, name))(
            *args
        )

    return rule


def _wide(x):
    """Products of float32 are exact in float64."""
    return np.asarray(x).astype(np.float64)


def _ldexp(x, n):
    """n is a float that is a whole number."""
    return np.ldexp(x, np.clip(n, -10_000, 10_000).astype(np.int32))


def _logistic(x):
    return 1 / (1 + np.exp(-x))


def _exp_raised(x):
    """2^RAISED exp(x) of float32."""
    return np.ldexp(np.exp(_wide(x)), RAISED)


def _exp_raised_near(x, m):
    """2^RAISED exp(x - m) of float32, the distance without a rounding of its own."""
    return np.ldexp(np.exp(_wide(x) - _wide(m)), RAISED)


_RULES = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _div, "rem": _rem,
    "mod": lambda a, b, *_: np.mod(a, b),
    "fmax": np.fmax, "fmin": np.fmin,
    "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "not": _not, "neg": np.negative, "abs": np.abs, "sign": np.sign,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "floor": np.floor, "ceil": np.ceil, "round_even": np.rint,
    "trunc": np.trunc, "exp": np.exp, "exp_nonpositive": np.exp, "exp_distance": np.exp,
    "exp_distance_any": np.exp, "exp2": np.exp2, "exp_raised_near": _exp_raised_near,
    "exp_raised": _exp_raised, "exp_raised_any": _exp_raised, "exp_raised_kept": _exp_raised,
    "exp_raised_kept_any": _exp_raised, "exp_raised_kept_near": _exp_raised_near,
    "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "logistic": _logistic, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt,
    "pow": np.power, "copysign": np.copysign, "ldexp": _ldexp, "nextafter": np.nextafter,
    "shift_left": _shift(np.left_shift, False),
    "shift_right_logical": _shift(np.right_shift, False),
    "shift_right_arithmetic": _shift(np.right_shift, True), "rotate_left": _rotate_left,
    "population_count": np.bitwise_count, "clz": _clz, "erf": _special("erf"),
    "erfc": _special("erfc"), "erf_inv": _special("erf_inv"),
    "erf_inv_published": _special("erf_inv"), "lgamma": _special("lgamma"),
    "digamma": _special("digamma"), "bessel_i0e": _special("bessel_i0e"),
    "bessel_i1e": _special("bessel_i1e"), "fma": lambda a, b, c: _wide(a) * b + c,
    "fms": lambda a, b, c: _wide(a) * b - c, "fnma": lambda a, b, c: c - _wide(a) * b,
}  # fmt: skip

REDUCERS = {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "fmax": np.fmax,
    "fmin": np.fmin,
}  # fmt: skip


def identity(kind: str, code: str):
    """The neutral element of a reduction."""
    dtype = DTYPE_OF_CODE[code]
    if kind in ("sum", "or", "xor"):
        return dtype.type(0)
    if kind == "prod":
        return dtype.type(1)
    if kind in ("fmax", "fmin"):
        return dtype.type(math.nan)
    if kind == "and":
        return np.array(-1).astype(dtype)[()] if code != "b1" else np.True_
    if kind_of(code) == "f":
        return dtype.type(-math.inf if kind == "max" else math.inf)
    if code == "b1":
        return np.bool_(kind == "min")
    info = np.iinfo(dtype)
    return dtype.type(info.min if kind == "max" else info.max)


def unsigned_like(code: str) -> str:
    """u32 for f32 and i32, and so on."""
    return f"u{bits_of(code)}"
