"""x times a power of two, written out as a program of integers and floats, becomes one operation.

In: `select(x is infinite or zero, x, mantissa * 2**total)`. Out: `ldexp(x, n)`, or None. This is
what `numpy.ldexp` writes: x is taken apart into a mantissa and an exponent, n is added, and the sum
is cut in two so that neither the power nor the product leaves the range too early.
Keeps: the value, bit for bit: the formula rounds once, in its last product, as `ldexp` does; its
powers of two are exact, n being a whole number. Nodes are interned, so the formula is recognised by
writing it again, for the x and the n that the node at hand would have, and comparing nodes.
"""

from typing import Any

from ..ir.node import Node
from ..ir.types import bits_of, kind_of

_PLACES = {"f32": (8, 23), "f64": (11, 52)}  # bits of the exponent and of the mantissa


def scaled_by_power(g: Any, predicate: Node, if_true: Node, if_false: Node) -> Node | None:
    """See the module's text."""
    x, product = if_true, if_false
    if x.dtype not in _PLACES or product.op != "mul" or product.args[1].op != "exp2":
        return None
    n = _added(product.args[1].args[0])
    if n is None or not _is_whole(n) or (predicate, product) != _written_out(g, x, n):
        return None
    return g.ew("ldexp", x, n)


def _added(total):
    """n of `select(e + n > 0, (e + n) - 1, e + n)`."""
    whole = total.args[-1] if total.op == "select" else total
    return whole.args[1] if whole.op == "add" else None


def _is_whole(n) -> bool:
    while n.op == "broadcast":
        n = n.args[0]
    return n.op == "convert" and kind_of(n.args[0].dtype) in "iu"


def _written_out(g, x, n):
    """(predicate, product) of the formula."""
    full = lambda value, code=x.dtype: g.full(value, x.shape, code)
    mantissa, exponent, infinite, zero = _apart(g, x, full)
    total = g.add(g.convert(exponent, x.dtype), n)
    positive = g.compare("gt", total, full(0.0))
    mantissa = g.select(positive, g.mul(mantissa, full(2.0)), mantissa)
    total = g.select(positive, g.sub(total, full(1.0)), total)
    return g.ew("or", infinite, zero), g.mul(mantissa, g.ew("exp2", total))


def _apart(g, x, full):
    """(mantissa, exponent, whether infinite, whether zero), as `numpy.frexp` writes them."""
    exponent_bits, places = _PLACES[x.dtype]
    bias, integer = 2 ** (exponent_bits - 1) - 1, f"i{bits_of(x.dtype)}"
    size = g.ew("abs", x)
    tiny = g.compare("lt", size, full(2.0 ** (1 - bias)))
    shift = g.select(tiny, full(-places, "i32"), full(0, "i32"))
    bits = g.bitcast(g.select(tiny, g.mul(x, full(2.0**places)), x), integer)
    field = g.ew("shift_right_arithmetic", bits, full(places, integer))
    field = g.convert(g.ew("and", field, full(2**exponent_bits - 1, integer)), "i32")
    exponent = g.add(g.sub(field, full(bias, "i32")), full(1, "i32"))
    kept = g.ew("and", bits, full(~((2**exponent_bits - 1) << places), integer))
    half = g.bitcast(g.ew("or", kept, full((bias - 1) << places, integer)), x.dtype)
    infinite = g.compare("eq", size, full(float("inf")))
    zero = g.compare("eq", x, full(0.0))
    special = g.ew("or", g.ew("or", infinite, g.compare("ne", x, x)), zero)
    exponent = g.select(special, full(0, "i32"), g.add(shift, exponent))
    return g.select(special, x, half), exponent, infinite, zero
