"""Local laws of arithmetic, applied while a graph is written.

In: an elementwise operation and its operands. Out: a simpler node, or None.
Keeps: IEEE results bit for bit (so `x + 0.0` stays: it turns -0.0 into 0.0; `x * 0` stays: NaN),
but of sums of equal numbers, which are products, rounded once.
Each law looks at one node and its operands and makes a node with fewer operations: building ends.
Literal operands are folded only by operations IEEE 754 rounds exactly.
"""

import itertools
import math
from bisect import bisect_right

import numpy as np

from ..ir.types import DTYPE_OF_CODE, bits_of, kind_of, nbytes_of
from .joined import is_place
from .joined_pads import joined_pads
from .moduli import modulus


def _scalar(node):
    """The literal under node (spread or not), or None."""
    if node.op == "lit":
        return node
    if node.op == "broadcast" and node.args[0].op == "lit":
        return node.args[0]
    return None


def _value(lit):
    raw = np.asarray(lit.attrs[0], dtype=f"u{DTYPE_OF_CODE[lit.dtype].itemsize}")
    return raw.view(DTYPE_OF_CODE[lit.dtype])[()]


def is_positive_literal(node) -> bool:
    """Whether every element is the same positive integer."""
    lit = _scalar(node)
    return lit is not None and kind_of(lit.dtype) in "iu" and _value(lit) > 0


def _spread(g, lit, like):
    return g.broadcast(lit, like.shape, ()) if like.shape != () else lit


def spread_later(g, make, args):
    """An operation on arrays that all repeat smaller ones alike: `make` of these, whose result
    repeats instead. `f(x[None]) + x[None]` is computed once for each element of x."""
    like = None
    for a in args:
        if a.op != "broadcast":
            return None
        if a.args[0].shape != ():
            like = like or a
            if (a.args[0].shape, a.attrs) != (like.args[0].shape, like.attrs):
                return None
    if like is None:
        return None
    inner = [a.args[0] if a.args[0].shape else _spread(g, a.args[0], like.args[0]) for a in args]
    return g.broadcast(make(*inner), like.shape, like.attrs[0])


def _is(lit, number) -> bool:
    """Whether the literal has exactly this value and sign."""
    if lit is None:
        return False
    value = _value(lit)
    if value != number:
        return False
    return kind_of(lit.dtype) != "f" or bool(np.signbit(value)) == bool(np.signbit(float(number)))


_EXACT = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "floor": np.floor,
    "ceil": np.ceil,
    "neg": np.negative,
    "abs": np.abs,
    "not": np.invert,
}


def _fold(g, op, args, dtype):
    """op on literals -> literal."""
    lits = [_scalar(a) for a in args]
    if any(lit is None for lit in lits):
        return None
    with np.errstate(all="ignore"):
        value = _EXACT[op](*[_value(lit) for lit in lits])
    return _spread(g, g.lit(value, dtype), args[0])


def _neutral(g, op, args, dtype, number):
    """The other operand where one is a number that changes nothing; else literals are folded."""
    a, b = args
    if _is(_scalar(b), number):
        return a
    return b if _is(_scalar(a), number) else _fold(g, op, args, dtype)


def fold_convert(g, lit, code):
    """convert of a literal -> literal (saturating like the machine's conversion)."""
    value, target = _value(lit), DTYPE_OF_CODE[code]
    if kind_of(lit.dtype) == "f" and kind_of(code) in "iu":
        info = np.iinfo(target)
        number = float(value)
        if number != number:
            return g.lit(0, code)
        clipped = min(max(int(np.clip(number, -(2.0**70), 2.0**70)), info.min), info.max)
        return g.lit(clipped, code)
    with np.errstate(all="ignore"):
        if code == "b1":
            return g.lit(bool(value != 0), code)
        return g.lit(np.asarray(value).astype(target), code)


def fewer_bits(g, x, code):
    """convert of an integer to one of no more bits, whose low bits are known before: those of what
    was widened, and of a sum or product of what was widened from `code` (they need no others)."""
    if x.op == "reduce" and x.attrs[0] in ("sum", "prod"):
        inner = x.args[0]
        if inner.op == "convert" and inner.args[0].dtype == code and _are_cut(inner, code):
            return g.reduce(x.attrs[0], inner.args[0], x.attrs[1])
    if x.op == "convert" and kind_of(x.args[0].dtype) in "iub" and _are_cut(x, code):
        return g.convert(x.args[0], code)
    return None


def _are_cut(x, code):
    whole = kind_of(x.dtype) in "iu" and kind_of(code) in "iu"
    return whole and bits_of(x.dtype) >= bits_of(code)


def reduce_of_equals(g, kind, x, axes):
    """A reduction of elements that are all the same number."""
    if x.op != "broadcast" or x.args[0].shape != () or x.dtype in ("f16", "bf16", "b1"):
        return None
    shape = tuple([n for axis, n in enumerate(x.shape) if axis not in axes])
    if kind in ("max", "min", "and", "or"):
        return g.broadcast(x.args[0], shape, ())
    if kind != "sum":
        return None
    count = math.prod([x.shape[axis] for axis in axes])
    return g.broadcast(g.mul(x.args[0], g.lit(count, x.dtype)), shape, ())


def slice_of_joined(g, joined, starts, limits, strides):
    """A slice of a stack that is some of its parts, or of longer parts what lies within one, if
    that is stored. (Of others, each slice would make its part again: of halves that a transform's
    stages put together, say.)"""
    (axis,), known = joined.attrs, g.table.facts_about("where parts begin")
    if joined.id not in known:
        extents = [part.shape[axis] for part in joined.args]
        known[joined.id] = list(itertools.accumulate(extents, initial=0))
    places, first, end = known[joined.id], starts[axis], limits[axis]
    if first >= end:
        return None
    if len(places) == places[-1] + 1:
        chosen, first, end = joined.args[first : end : strides[axis]], 0, 1
        if len(chosen) == len(joined.args) or is_place(chosen[0]):
            return None
    else:
        i = bisect_right(places, first) - 1
        chosen, first, end = joined.args[i : i + 1], first - places[i], end - places[i]
        if end > chosen[0].shape[axis] or not is_place(chosen[0]):
            return None
    low = (*starts[:axis], first, *starts[axis + 1 :])
    high = (*limits[:axis], end, *limits[axis + 1 :])
    return g.concat([g.slice(part, low, high, strides) for part in chosen], axis)


def add(g, args, dtype):
    """a + 0 -> a for integers; a + -0.0 -> a for floats; neighbours padded with 0 are joined."""
    joined = joined_pads(g, *args)
    return joined or _neutral(g, "add", args, dtype, 0 if kind_of(dtype) != "f" else -0.0)


def sub(g, args, dtype):
    """a - 0 -> a (also for floats: x - 0.0 is x for every x)."""
    a, b = args
    if _is(_scalar(b), 0 if kind_of(dtype) != "f" else 0.0):
        return a
    return _fold(g, "sub", args, dtype)


def mul(g, args, dtype):
    """a * 1 -> a; 1 * a -> a."""
    return _neutral(g, "mul", args, dtype, 1)


def div(g, args, dtype):
    """a / 1 -> a; a / 2^k -> a * 2^-k (exact)."""
    a, b = args
    lit = _scalar(b)
    if lit is None:
        return None
    if _is(lit, 1):
        return a
    if kind_of(dtype) == "f" and dtype in ("f32", "f64"):
        value = float(_value(lit))
        mantissa, exponent = np.frexp(value)
        if abs(mantissa) == 0.5 and abs(exponent) < 100:
            return g.mul(a, _spread(g, g.lit(1.0 / value, dtype), a))
    return None


def neg(g, args, dtype):
    """-(-a) -> a."""
    if args[0].op == "neg":
        return args[0].args[0]
    return _fold(g, "neg", args, dtype)


def not_(g, args, dtype):
    """~~a -> a; the negation of a comparison of integers is the opposite comparison."""
    a = args[0]
    if a.op == "not":
        return a.args[0]
    opposite = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
    if dtype == "b1" and a.op in opposite:
        if kind_of(a.args[0].dtype) != "f" or a.op in ("eq", "ne"):
            return g.ew(opposite[a.op], *a.args)
    return _fold(g, "not", args, dtype)


def and_(g, args, dtype):
    """a & a -> a; a & true -> a; a < b and a != b -> a < b."""
    a, b = args
    if a is b:
        return a
    for less, other in ((a, b), (b, a)):
        if less.op == "lt" and other.op == "ne" and less.args == other.args:
            return less
    if dtype == "b1":
        if _is(_scalar(b), True):
            return a
        if _is(_scalar(a), True):
            return b
    return _fold(g, "and", args, dtype)


def or_(g, args, dtype):
    """a | a -> a; a | false -> a."""
    return args[0] if args[0] is args[1] else _neutral(g, "or", args, dtype, 0)


def xor(g, args, dtype):
    """a ^ 0 -> a."""
    return _neutral(g, "xor", args, dtype, 0)


def is_nonnegative(node, depth=6) -> bool:
    """Whether an integer node is known to have no negative element: places in arrays, mostly."""
    if kind_of(node.dtype) not in "iu" or depth == 0:
        return False
    op, below = node.op, [is_nonnegative(a, depth - 1) for a in node.args[:3]]
    if kind_of(node.dtype) == "u" or op in ("argreduce", "lit"):
        return op != "lit" or _value(node) >= 0
    if op == "iota":
        return max(node.shape, default=0) < 1 << (8 * nbytes_of(node.dtype) - 1)
    if op == "convert":
        source = node.args[0]
        fits = nbytes_of(source.dtype) < nbytes_of(node.dtype) or source.op == "iota"
        return fits and below[0] and max(node.shape, default=0) < 1 << (
            8 * nbytes_of(node.dtype) - 1)
    if op in ("max", "and"):
        return any(below)
    if op == "mod":
        return True
    if op in ("min", "rem"):
        return all(below) if op == "min" else below[0]
    if op == "select":
        return all(below[1:])
    return op in ("broadcast", "reshape", "transpose", "reverse", "slice") and below[0]


def lt(g, args, dtype):
    """a < 0 -> false for places in arrays and other integers that are not negative."""
    if _is(_scalar(args[1]), 0) and is_nonnegative(args[0]):
        return _spread(g, g.lit(False, "b1"), args[0])
    return _fold(g, "lt", args, dtype)


def max_(g, args, dtype):
    """max(a, 0) -> a for integers that are not negative."""
    a, b = args
    if _is(_scalar(b), 0) and is_nonnegative(a):
        return a
    if _is(_scalar(a), 0) and is_nonnegative(b):
        return b
    return _fold(g, "max", args, dtype)


def rem(g, args, dtype):
    """The remainder of what is not negative has the sign of a positive divisor."""
    if is_positive_literal(args[1]) and is_nonnegative(args[0]):
        return mod(g, *args)
    return None


def wrapped(g, predicate, if_true, r):
    """select(r < 0, r + d, r) -> x mod d, if r is the remainder of x by a literal d > 0."""
    if r.op != "rem" or not is_positive_literal(r.args[1]) or if_true.op != "add":
        return None
    if r not in if_true.args or r.args[1] not in if_true.args or predicate.op != "lt":
        return None
    is_below = predicate.args[0] is r and _is(_scalar(predicate.args[1]), 0)
    return mod(g, *r.args) if is_below else None


def mod(g, x, divisor):
    """x mod d for a positive literal d."""
    return modulus(g, x, divisor, int(_value(_scalar(divisor))))


def _plain(op):
    def law(g, args, dtype):
        return _fold(g, op, args, dtype)

    return law


LAWS = {"add": add, "sub": sub, "mul": mul, "div": div, "neg": neg, "not": not_, "and": and_}
LAWS |= {"or": or_, "xor": xor, "lt": lt, "max": max_, "rem": rem}
for _op in _EXACT:
    LAWS.setdefault(_op, _plain(_op))
