"""Lowering of elementwise primitives: one graph operation each, or a short formula.

Complex operands go to `complex_math.py`.
"""

from ..graph.graph import literal_value
from ..ir.types import bits_of, code_of, is_complex, is_small, kind_of, part_code
from . import complex_math
from .reduce import extreme_of_numbers
from .rules import LoweringError, Pair, lower_rule
from .small_types import clipped

# primitive -> graph operation
_UNARY = {
    "neg": "neg", "floor": "floor", "ceil": "ceil", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log", "log1p": "log1p", "tanh": "tanh", "logistic": "logistic",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan",
    "sinh": "sinh", "cosh": "cosh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "cbrt": "cbrt", "abs": "abs", "sign": "sign", "not": "not",
    "population_count": "population_count", "clz": "clz", "lgamma": "lgamma",
    "digamma": "digamma", "erf": "erf", "erfc": "erfc",
    "bessel_i0e": "bessel_i0e", "bessel_i1e": "bessel_i1e",
}  # fmt: skip
_BINARY = {
    "add": "add", "add_any": "add", "sub": "sub", "mul": "mul", "div": "div", "rem": "rem",
    "max": "max", "min": "min", "atan2": "atan2", "nextafter": "nextafter", "and": "and",
    "or": "or", "xor": "xor", "shift_left": "shift_left", "pow": "pow",
    "shift_right_logical": "shift_right_logical", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le",
    "shift_right_arithmetic": "shift_right_arithmetic", "gt": "gt", "ge": "ge",
}  # fmt: skip


def _register_unary(name, op):
    @lower_rule(name)
    def rule(ctx, eqn, x):
        if isinstance(x, Pair):
            return complex_math.unary(ctx.g, name, x)
        if op == "abs" and kind_of(x.dtype) in "ub":
            return x
        if kind_of(x.dtype) in "iu" and op in ("floor", "ceil"):
            return x
        return ctx.g.ew(op, x, dtype=x.dtype)


@lower_rule("erf_inv")
def lower_erf_inv(ctx, eqn, x):
    return ctx.g.ew("erf_inv_published" if eqn.params.get("published") else "erf_inv", x)


def _register_binary(name, op):
    @lower_rule(name)
    def rule(ctx, eqn, x, y):
        x, y = _same_shape(ctx, eqn, x, y)
        if isinstance(x, Pair):
            if not isinstance(y, Pair):                # a complex base, an integer exponent
                y = ctx.g.convert(y, x.re.dtype)
                y = Pair(y, ctx.g.full(0.0, y.shape, y.dtype))
            return complex_math.binary(ctx.g, name, x, y)
        if x.dtype == "b1" and op in _BOOLEAN:
            return _boolean(ctx.g, op, x, y)
        if op == "pow" and kind_of(x.dtype) != kind_of(y.dtype):
            y = ctx.g.convert(y, x.dtype)
        if op == "pow" and _is_two(x):
            return ctx.g.ew("exp2", y)
        return ctx.g.ew(op, x, y)


def _same_shape(ctx, eqn, x, y):
    shape = eqn.outvars[0].aval.shape
    return ctx.each(x, lambda n: ctx.spread(n, shape)), ctx.each(y, lambda n: ctx.spread(n, shape))


def _is_two(node):
    """Whether a node is the number 2 everywhere (its powers are exact in exp2, too)."""
    while node.op == "broadcast":
        node = node.args[0]
    if node.op != "lit" or kind_of(node.dtype) != "f":
        return False
    return literal_value(node.attrs[0], node.dtype) == 2


_BOOLEAN = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "max", "min", "add", "mul"))


def _boolean(g, op, x, y):
    """Comparisons and extremes of booleans as logic (false < true)."""
    not_x, not_y = (lambda: g.ew("not", x)), (lambda: g.ew("not", y))
    if op in ("max", "add"):
        return g.ew("or", x, y)
    if op in ("min", "mul"):
        return g.ew("and", x, y)
    if op == "ne":
        return g.ew("xor", x, y)
    if op == "eq":
        return g.ew("not", g.ew("xor", x, y))
    if op == "lt":
        return g.ew("and", not_x(), y)
    if op == "gt":
        return g.ew("and", x, not_y())
    return g.ew("or", not_x(), y) if op == "le" else g.ew("or", x, not_y())


for _name, _op in _UNARY.items():
    _register_unary(_name, _op)
for _name, _op in _BINARY.items():
    _register_binary(_name, _op)


@lower_rule("copy", "copy_p")
def lower_copy(ctx, eqn, x):
    """A result of its own, even if nothing is done to the operand."""
    return ctx.each(x, lambda n: ctx.g.table.intern("copy", (n,), n.shape, n.dtype))


@lower_rule("name", "stop_gradient", "optimization_barrier", "sharding_constraint")
def lower_identity(ctx, eqn, *values):
    return list(values) if eqn.primitive.multiple_results else values[0]


@lower_rule("square")
def lower_square(ctx, eqn, x):
    return _multiply(ctx.g, x, x)


def _multiply(g, x, y):
    if isinstance(x, Pair):
        return complex_math.binary(g, "mul", x, y)
    return g.mul(x, y)


@lower_rule("integer_pow")
def lower_integer_pow(ctx, eqn, x):
    """x^y by repeated squaring; 1/x^-y for negative y."""
    g, y = ctx.g, eqn.params["y"]
    if y == 0:
        return ctx.literal(1, eqn.outvars[0].aval)
    result, power, n = None, x, abs(y)
    while n:
        if n & 1:
            result = power if result is None else _multiply(g, result, power)
        n >>= 1
        if n:
            power = _multiply(g, power, power)
    if y > 0:
        return result
    one = ctx.literal(1, eqn.outvars[0].aval)
    if isinstance(x, Pair):
        return complex_math.binary(g, "div", one, result)
    return g.div(one, result)


@lower_rule("round")
def lower_round(ctx, eqn, x):
    if kind_of(x.dtype) != "f":
        return x
    even = int(getattr(eqn.params["rounding_method"], "value", eqn.params["rounding_method"])) == 1
    if even:
        return ctx.g.ew("round_even", x)
    return _round_away(ctx.g, x)


def _round_away(g, x):
    """Half away from zero: trunc(x), one further where the rest is at least a half."""
    size = g.ew("abs", x)
    down = g.ew("floor", size)
    half = g.full(0.5, x.shape, x.dtype)
    up = g.add(down, g.full(1.0, x.shape, x.dtype))
    rounded = g.select(g.compare("ge", g.sub(size, down), half), up, down)
    return g.ew("copysign", rounded, x)


@lower_rule("is_finite")
def lower_is_finite(ctx, eqn, x):
    g = ctx.g
    if isinstance(x, Pair):
        return g.ew("and", _finite(g, x.re), _finite(g, x.im))
    return _finite(g, x)


def _finite(g, x):
    limit = g.full(float("inf"), x.shape, x.dtype)
    return g.compare("lt", g.ew("abs", x), limit)


@lower_rule("clamp")
def lower_clamp(ctx, eqn, low, x, high):
    g, shape = ctx.g, eqn.outvars[0].aval.shape
    low, high = [ctx.each(v, lambda n: ctx.spread(n, shape)) for v in (low, high)]
    if isinstance(x, Pair):
        return complex_math.binary(g, "min", complex_math.binary(g, "max", x, low), high)
    if x.dtype == "b1":
        return g.ew("and", g.ew("or", x, low), high)
    return g.ew("min", g.ew("max", x, low), high)


@lower_rule("select_n")
def lower_select_n(ctx, eqn, which, *cases):
    g, shape = ctx.g, eqn.outvars[0].aval.shape
    which = ctx.spread(which, shape)
    if len(cases) == 1:
        return cases[0]

    def choose(picked):
        if which.dtype == "b1":
            extreme = extreme_of_numbers(g, which, picked[1], picked[0])
            return extreme or g.select(which, picked[1], picked[0])
        result = picked[-1]
        for i in range(len(picked) - 2, -1, -1):
            wanted = g.compare("le", which, g.full(i, shape, which.dtype))
            result = g.select(wanted, picked[i], result)
        return result

    if isinstance(cases[0], Pair):
        return Pair(choose([c.re for c in cases]), choose([c.im for c in cases]))
    return choose(cases)


@lower_rule("convert_element_type")
def lower_convert(ctx, eqn, x):
    return convert_value(ctx, x, eqn.outvars[0].aval.dtype)


def convert_value(ctx, x, dtype):
    """A value as another dtype (complex to real drops the imaginary part)."""
    g = ctx.g
    if is_complex(dtype):
        code = part_code(dtype)
        if isinstance(x, Pair):
            return Pair(g.convert(x.re, code), g.convert(x.im, code))
        return Pair(g.convert(x, code), g.full(0.0, x.shape, code))
    code = code_of(dtype)
    if isinstance(x, Pair):
        x = x.re
    if is_small(dtype) and kind_of(x.dtype) == "f" and kind_of(code) != "f":
        x = clipped(g, x, dtype)
    return g.convert(x, code)


@lower_rule("bitcast_convert_type")
def lower_bitcast(ctx, eqn, x):
    g, code = ctx.g, code_of(eqn.outvars[0].aval.dtype)
    if isinstance(x, Pair):
        raise LoweringError("bitcast_convert_type of complex numbers is not supported")
    source, target = bits_of(x.dtype), bits_of(code)
    if source == target:
        return g.bitcast(x, code)
    if source > target:
        return _bitcast_narrower(g, x, code, source, target)
    return _bitcast_wider(g, x, code, source, target)


def _bitcast_narrower(g, x, code, source, target):
    """The parts of each element, least significant first, in a new last axis."""
    word = g.bitcast(x, f"u{source}")
    shape = x.shape + (source // target,)
    spread = g.broadcast(word, shape, range(len(x.shape)))
    place = g.iota(shape, len(x.shape), f"u{source}")
    shift = g.mul(place, g.full(target, shape, f"u{source}"))
    part = g.ew("shift_right_logical", spread, shift)
    return g.bitcast(g.convert(part, f"u{target}"), code)


def _bitcast_wider(g, x, code, source, target):
    parts, last = target // source, len(x.shape) - 1
    word = g.convert(g.bitcast(x, f"u{source}"), f"u{target}")
    shape, total = x.shape[:-1], None
    for i in range(parts):
        part = g.reshape(g.slice(word, (0,) * last + (i,), shape + (i + 1,)), shape)
        part = g.ew("shift_left", part, g.full(i * source, shape, f"u{target}"))
        total = part if total is None else g.ew("or", total, part)
    return g.bitcast(total, code)


@lower_rule("reduce_precision")
def lower_reduce_precision(ctx, eqn, x):
    """Rounds the mantissa to fewer bits (ties to even) and bounds the exponent."""
    g = ctx.g
    exponent, mantissa = eqn.params["exponent_bits"], eqn.params["mantissa_bits"]
    own = {"f32": (8, 23), "f64": (11, 52), "f16": (5, 10), "bf16": (8, 7)}[x.dtype]
    if (exponent, mantissa) == own:
        return x
    if x.dtype == "f32" and (exponent, mantissa) == (8, 7):
        return g.convert(g.convert(x, "bf16"), "f32")
    if mantissa >= own[1]:
        return _bound_exponent(g, x, exponent, mantissa, own)
    unsigned = f"u{bits_of(x.dtype)}"

    def number(value):
        return g.full(value, x.shape, unsigned)

    drop = own[1] - mantissa
    bits = g.bitcast(x, unsigned)
    last = g.ew("and", g.ew("shift_right_logical", bits, number(drop)), number(1))
    bits = g.add(g.add(bits, last), number((1 << (drop - 1)) - 1))
    keep = ((1 << bits_of(x.dtype)) - 1) ^ ((1 << drop) - 1)
    rounded = g.bitcast(g.ew("and", bits, number(keep)), x.dtype)
    rounded = g.select(_finite(g, x), rounded, x)
    return _bound_exponent(g, rounded, exponent, mantissa, own)


def _bound_exponent(g, x, exponent, mantissa, own):
    if exponent >= own[0]:
        return x
    bias = (1 << (exponent - 1)) - 1
    largest = (2.0 - 2.0**-mantissa) * 2.0**bias
    size = g.ew("abs", x)
    infinite = g.ew("copysign", g.full(float("inf"), x.shape, x.dtype), x)
    zero = g.ew("copysign", g.full(0.0, x.shape, x.dtype), x)
    x = g.select(g.compare("gt", size, g.full(largest, x.shape, x.dtype)), infinite, x)
    return g.select(
        g.compare("lt", size, g.full(2.0 ** (1 - bias), x.shape, x.dtype)), zero, x
    )


@lower_rule("real")
def lower_real(ctx, eqn, x):
    return x.re


@lower_rule("imag")
def lower_imag(ctx, eqn, x):
    return x.im


@lower_rule("complex")
def lower_complex(ctx, eqn, re, im):
    shape = eqn.outvars[0].aval.shape  # an operand may be a scalar
    return Pair(ctx.spread(re, shape), ctx.spread(im, shape))


@lower_rule("conj")
def lower_conj(ctx, eqn, x):
    if isinstance(x, Pair):
        return Pair(x.re, ctx.g.neg(x.im))
    return Pair(x, ctx.g.full(0.0, x.shape, x.dtype))


@lower_rule("eq_to", "le_to", "lt_to")
def lower_total_order(ctx, eqn, x, y):
    """Comparison in IEEE total order: -NaN < -inf < … < -0 < 0 < … < inf < NaN."""
    g, op = ctx.g, eqn.primitive.name[:2]
    if kind_of(x.dtype) != "f":
        return g.compare(op, x, y)
    return g.compare(op, _ordered_bits(g, x), _ordered_bits(g, y))


def _ordered_bits(g, x):
    width = bits_of(x.dtype)
    bits = g.bitcast(x, f"i{width}")
    top = g.full((1 << (width - 1)) - 1, x.shape, f"i{width}")
    negative = g.compare("lt", bits, g.full(0, x.shape, f"i{width}"))
    return g.select(negative, g.ew("xor", bits, top), bits)
