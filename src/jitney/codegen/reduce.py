"""Accumulators of reductions: start, combine, fold copies and lanes.

Every fold has a fixed order (copies first to last, then lanes by halves), so a result depends on
the kernel and the size, never on the number of threads. Half precision accumulates in float32.
argmax and argmin carry a pair (value, position); the smaller position wins ties, NaN wins values.
max and min of floats carry (value, whether a NaN was met): one max instruction and one comparison
an element, where a NaN-propagating maximum takes five. fmax and fmin leave NaN out, and carry
whether a number was met. Which zero they give for {0, -0} is open.
"""

from typing import NamedTuple

from ..ir.types import kind_of
from .elementwise import COMBINE, evaluate, identity_of, llvm_type, narrow, widen, widen_code
from .instructions import Value

UNSET = {"i64": 1 << 62, "i32": 1 << 30}  # the position before any element


def accumulator_code(reduction) -> str:
    return widen_code(reduction.expr.dtype)


def _tracks_nan(reduction) -> bool:
    is_extreme = reduction.kind in ("max", "min") and kind_of(accumulator_code(reduction)) == "f"
    return is_extreme and not reduction.unwatched


def _has_flag(reduction) -> bool:
    """Whether an accumulator is a value and whether a NaN (fmax, fmin: a number) was met."""
    return _tracks_nan(reduction) or reduction.kind in ("fmax", "fmin")


def width(reduction) -> int:
    """How many values an accumulator has."""
    return 2 if reduction.index is not None or _has_flag(reduction) else 1


def start(e, reduction, lanes):
    """The values an accumulator begins with."""
    code = accumulator_code(reduction)
    value = _per_copy(e, e.constant(llvm_type(code), identity_of(reduction.kind, code), lanes))
    if _has_flag(reduction):
        return [value, _per_copy(e, e.constant("i1", 0, lanes))]
    if reduction.index is None:
        return [value]
    type_ = position_type(reduction)
    return [value, _per_copy(e, e.constant(type_, UNSET[type_], lanes))]


def position_type(reduction) -> str:
    """Integers as wide as the values, mostly: then a vector of one goes with a vector of others."""
    return "i32" if reduction.narrow else "i64"


def _per_copy(e, value):
    return Value((value.names[0],) * e.copies, value.type, value.lanes)


def every_copy(e, value):
    if len(value.names) == e.copies:
        return value
    return Value(value.names * e.copies, value.type, value.lanes)


class Unasked(Value):
    """A flag, and an element not yet asked whether it is a NaN: one comparison asks two."""

    __slots__ = ("element",)

    def __init__(self, flag, element):
        super().__init__(flag.names, flag.type, flag.lanes)
        self.element = element


def asked(e, accumulator):
    """The accumulator with nothing left to ask."""
    return [
        e.binary("or", Value(v.names, v.type, v.lanes), e.fcmp("uno", v.element, v.element))
        if isinstance(v, Unasked) else v
        for v in accumulator
    ]  # fmt: skip


class Product(NamedTuple):
    """An element that is a product: it is added with one rounding."""

    first: Value
    second: Value


def combine(e, reduction, accumulator, element, position, mask, pairs=None):
    """The accumulator after one more element (per lane), unchanged where mask is false. `pairs`: of
    what two elements that share a comparison for NaN are: "copies", where all copies belong to one
    result, or "turns", where the next element follows in this block (see `asked`)."""
    code = accumulator_code(reduction)
    if isinstance(element, Product):
        result = [evaluate(e, "fma", code, (code,) * 3, (*element, accumulator[0]))]
        return _masked(e, mask, result, accumulator)
    element = widen(e, element, reduction.expr.dtype)
    if _tracks_nan(reduction):
        pick = e.fast_max if reduction.kind == "max" else e.fast_min
        flag = nan_met(e, accumulator[1], element, pairs if mask is None else None)
        result = [pick(accumulator[0], element), flag]
        if pairs == "turns" and mask is None:
            return [every_copy(e, result[0]), flag]
    elif _has_flag(reduction):
        met = [element, e.fcmp("ord", element, element)]
        result = _extreme(e, reduction.kind, met, accumulator)
    elif reduction.index is not None:
        result = _better(e, reduction.kind, code, accumulator, [element, position], first=True)
    else:
        result = [_apply(e, reduction, code, accumulator[0], element)]
    return _masked(e, mask, result, accumulator)


def _masked(e, mask, result, accumulator):
    """The result where the mask is true, the accumulator elsewhere."""
    if mask is not None:
        result = [
            e.select(mask, new, old) for new, old in zip(result, accumulator, strict=True)
        ]
    return [every_copy(e, v) for v in result]


def nan_met(e, flag, element, pairs):
    """The flag after an element."""
    if pairs == "turns" and not isinstance(flag, Unasked):
        return Unasked(flag, element)
    if pairs == "turns":
        met = e.fcmp("uno", flag.element, element)
        return every_copy(e, e.binary("or", Value(flag.names, flag.type, flag.lanes), met))
    if pairs != "copies" or e.copies % 2 or len(element.names) != e.copies:
        return e.binary("or", flag, e.fcmp("uno", element, element))
    names = list(every_copy(e, flag).names)
    for u in range(0, e.copies, 2):
        first, second = element.names[u : u + 2]
        met = e.instruction(f"fcmp uno {element.text} {first}, {second}")
        names[u] = e.instruction(f"or {flag.text} {names[u]}, {met}")
    return Value(tuple(names), flag.type, flag.lanes)


def _apply(e, reduction, code, a, b):
    if reduction.unwatched:
        return e.fast_max(a, b)
    return evaluate(e, COMBINE[reduction.kind], code, (code, code), (a, b))


def _extreme(e, kind, a, b):
    """(value, flag) of two: of the values the second if either is NaN."""
    pick = e.fast_max if kind in ("max", "fmax") else e.fast_min
    return [pick(a[0], b[0]), e.binary("or", a[1], b[1])]


def _better(e, kind, code, a, b, first=False):
    """The better of two (value, position) pairs; `first`: a's positions are known to be smaller (or
    to be UNSET, which loses to all but the worst value there is: `finish` knows)."""
    (av, ai), (bv, bi) = a, b
    if first:
        wins = _is_better(e, kind, code, bv, av)
        return [e.select(wins, bv, av), e.select(wins, bi, ai)]
    if kind_of(code) == "f":
        wins = e.fcmp("ogt" if kind == "argmax" else "olt", bv, av)
        b_nan, a_nan = e.fcmp("uno", bv, bv), e.fcmp("uno", av, av)
        wins = e.binary("or", wins, b_nan)
        tie = e.binary("or", e.fcmp("oeq", av, bv), e.binary("and", a_nan, b_nan))
        wins = e.binary("and", wins, _not(e, a_nan))
    else:
        predicate = ("s" if kind_of(code) == "i" else "u") + ("gt" if kind == "argmax" else "lt")
        wins, tie = e.icmp(predicate, bv, av), e.icmp("eq", av, bv)
    wins = e.binary("or", wins, e.binary("and", tie, e.icmp("slt", bi, ai)))
    return [e.select(wins, bv, av), e.select(wins, bi, ai)]


def _is_better(e, kind, code, b, a):
    """Whether b comes before a where ties do not: a NaN is never replaced, and replaces numbers."""
    more = kind == "argmax"
    if kind_of(code) == "f":
        return e.binary("and", e.fcmp("ugt" if more else "ult", b, a), e.fcmp("ord", a, a))
    return e.icmp(("s" if kind_of(code) == "i" else "u") + ("gt" if more else "lt"), b, a)


def _not(e, mask):
    return e.binary("xor", mask, e.constant("i1", 1, mask.lanes))


def fold_copies(e, reduction, accumulator):
    """All unrolled copies into one."""
    code = accumulator_code(reduction)
    copies = [[Value((v.names[u],), v.type, v.lanes) for v in accumulator] for u in range(e.copies)]
    while len(copies) > 1:
        half = (len(copies) + 1) // 2
        merged = [_merge(e, reduction, code, a, b) for a, b in zip(copies[:half], copies[half:])]
        copies = merged + copies[len(merged) : half]
    return copies[0]


def _merge(e, reduction, code, a, b):
    if _has_flag(reduction):
        return _extreme(e, reduction.kind, a, b)
    if reduction.index is not None:
        return _better(e, reduction.kind, code, a, b)
    return [_apply(e, reduction, code, a[0], b[0])]


def merge_values(e, reduction, a, b):
    """Two accumulators, of a value each, in one."""
    return _apply(e, reduction, accumulator_code(reduction), a, b)


def merged(e, reduction, a, b):
    """Two accumulators in one, copy by copy."""
    return _merge(e, reduction, accumulator_code(reduction), a, b)


def fold_lanes(e, reduction, accumulator):
    """A vector accumulator into scalars, by halves."""
    code = accumulator_code(reduction)
    lanes = accumulator[0].lanes
    while lanes > 1:
        lanes //= 2
        low = [half(e, v, 0) for v in accumulator]
        high = [half(e, v, 1) for v in accumulator]
        accumulator = _merge(e, reduction, code, low, high)
    return accumulator


def half(e, value, which):
    """The lower (0) or upper (1) half of a vector's lanes."""
    lanes = value.lanes // 2
    source = f"<{value.lanes} x {value.type}>"
    name = e.fresh()
    if lanes == 1:
        e.emit_raw(f"  {name} = extractelement {source} {value.names[0]}, i64 {which}")
        return Value((name,), value.type, 1)
    picks = ", ".join(f"i32 {which * lanes + i}" for i in range(lanes))
    e.emit_raw(
        f"  {name} = shufflevector {source} {value.names[0]}, {source} poison, "
        f"<{lanes} x i32> <{picks}>"
    )
    return Value((name,), value.type, lanes)


def finish(e, reduction, accumulator):
    """The result in the reduction's own type."""
    if reduction.index is not None:
        position = accumulator[1]
        unset = e.like(position, UNSET[position.type])  # where all have the worst value
        position = e.select(e.icmp("eq", position, unset), e.like(position, 0), position)
        return _as_wide(e, position, llvm_type(reduction.dtype))
    if _tracks_nan(reduction):
        value, met_nan = accumulator
        accumulator = [e.select(met_nan, e.like(value, float("nan")), value)]
    elif _has_flag(reduction):
        value, met_number = accumulator
        accumulator = [e.select(met_number, value, e.like(value, float("nan")))]
    if reduction.expr.dtype in ("f16", "bf16"):
        return narrow(e, accumulator[0], reduction.dtype)
    return accumulator[0]


def _as_wide(e, position, type_):
    if type_ == position.type:
        return position
    wider = int(type_[1:]) > int(position.type[1:])
    return e.sext(position, type_) if wider else e.trunc_int(position, type_)
