"""The place of a row's greatest or least element, found by blocks.

In: an emitter `k` at the loop of a stage whose one reduction is an argmax or argmin `by_blocks`
(fuse/find_by_blocks.py), of floats. Out: its value and place, as numbers.

Which element is best, and where, costs 21 instructions for four vectors: a load, two comparisons (a
NaN is never replaced) and two choices each. Which block of four has the best element costs 14: its
vectors are folded into one, and whether there was a NaN is all that is kept of those. So
one loop finds the best of each lane and the blocks they are in, of which the first that has the
best of all is compared with it again, all at once, and the first bit that is set is the place (what
is not a whole block is gone through by masked vectors, the whole row if there was a NaN). A block
takes another's place only if it is better.
"""

from . import reduce
from .elementwise import identity_of, llvm_type, widen
from .instructions import Value
from .staggered_loop import Bounds

BITS = 64  # of a number that has a bit for each element of a block


class ByBlocks:
    """Along loop `variable`; `prepare()` computes what is compared of the present vectors."""

    def __init__(self, k, variable: int, prepare):
        self.k, self.e, self.variable, self.prepare = k, k.e, variable, prepare
        (self.reduction,) = k._folded
        self.code = reduce.accumulator_code(self.reduction)
        self.place = reduce.position_type(self.reduction)
        self.greatest = self.reduction.kind == "argmax"
        self.worst = identity_of(self.reduction.kind, self.code)
        self.unset = reduce.UNSET[self.place]

    def find(self, low: str, high: str) -> list[Value]:
        """(best value, its place; UNSET where none is better than the worst there is)."""
        k, e = self.k, self.e
        e.copies = k._copies()
        span = k.lanes * e.copies
        found = self._blocks(low, high, span)
        best, block, met_nan = self._best(*found)
        return [best, self._where(low, high, span, best, block, met_nan)]

    def _where(self, low, high, span: int, best: Value, block: str, met_nan: str) -> Value:
        """The first place of the best element, which is in a block, or of a NaN, which may be
        anywhere."""
        k, e = self.k, self.e
        last = e.instruction(f"add i64 {block}, {span}")
        place, is_known = e.constant("i64", self.unset), "false"
        if span <= BITS:
            is_whole = e.instruction(f"icmp sle i64 {last}, {high}")
            is_known = e.instruction(f"select i1 {met_nan}, i1 false, i1 {is_whole}")
            place = self._of_whole(block, is_known, best, span // k.lanes)
        last = e.instruction(f"call i64 @llvm.smin.i64(i64 {last}, i64 {high})")
        last = e.instruction(f"select i1 {is_known}, i64 {block}, i64 {last}")
        block = e.instruction(f"select i1 {met_nan}, i64 {low}, i64 {block}")
        last = e.instruction(f"select i1 {met_nan}, i64 {high}, i64 {last}")
        return self._first(block, last, high, best, met_nan, place)

    def _of_whole(self, block: str, is_known: str, best: Value, copies: int) -> Value:
        """The place of the best element in a block that it is in, of whole vectors, if it is."""
        k, e, of_all = self.k, self.e, self.e.splat(best, self.k.lanes)

        def turn(_, __) -> list[Value]:
            e.copies = copies
            element, all_bits = self._element(block, None), None
            e.copies = 1
            for number, name in enumerate(element.names):
                one = Value((name,), element.type, element.lanes)
                bits = _bits(e, e.fcmp("oeq", one, of_all))
                bits = bits if bits.type == f"i{BITS}" else e.zext(bits, f"i{BITS}")
                bits = e.shl(bits, e.like(bits, number * k.lanes)) if number else bits
                all_bits = bits if all_bits is None else e.or_(all_bits, bits)
            return [e.binary("add", Value((block,), "i64", 1), _zeros_below(e, all_bits))]

        count = e.instruction(f"zext i1 {is_known} to i64")
        unset = e.constant("i64", self.unset)
        (place,) = k.loop("0", count, "1", [unset], turn, "whole")
        k.mask = k.vector_variable = None
        return place

    def _blocks(self, low: str, high: str, span: int) -> list[Value]:
        """(best of each lane, where its block begins, NaN met) of whole blocks, then of vectors."""
        k, e = self.k, self.e
        e.declare("declare i64 @llvm.smin.i64(i64, i64)")
        begun = [
            e.constant(llvm_type(self.code), self.worst, k.lanes),
            e.constant(self.place, self.unset, k.lanes),
            reduce.every_copy(e, e.constant("i1", 0, k.lanes)),
        ]
        end = k._advance(low, high, span)
        begun = k.loop(*Bounds(low, end, span), begun, self._block(None), "blocks")
        end, (best, at, flag) = self._last_block(low, end, high, span, begun)
        e.copies = 1
        begun = [best, at, _or(e, flag)]
        return k.loop(*Bounds(end, high, k.lanes), begun, self._block(high), "ends")

    def _last_block(self, low, end, high, span: int, begun) -> tuple[str, list[Value]]:
        """Where something is left, and as much as a block before it, a block more, which begins so
        early that it is whole: where the next element is, and what is known. (What it has in common
        with the block before it is no better than what is known.)"""
        e = self.e
        first = e.instruction(f"sub i64 {high}, {span}")
        is_there = e.instruction(f"icmp sge i64 {first}, {low}")
        is_left = e.instruction(f"icmp slt i64 {end}, {high}")
        both = e.instruction(f"and i1 {is_there}, {is_left}")
        count, block = e.instruction(f"zext i1 {both} to i64"), self._block(None)
        found = self.k.loop("0", count, "1", begun, lambda _, so_far: block(first, so_far), "last")
        return e.instruction(f"select i1 {both}, i64 {high}, i64 {end}"), found

    def _block(self, high: str | None):
        """What a block does; of those that end at `high`, a vector is one, under a mask."""

        def turn(index: str, found) -> list[Value]:
            k, e, copies = self.k, self.e, self.e.copies
            element = self._element(index, high)
            best, at, flag = found
            flag = reduce.nan_met(e, flag, element, "copies" if high is None else None)
            e.copies = 1
            vector = self._fold(element)
            wins = e.fcmp("ogt" if self.greatest else "olt", vector, best)
            here = Value((index,), "i64", 1)
            here = e.splat(here if self.place == "i64" else e.trunc_int(here, self.place), k.lanes)
            found = [e.select(wins, vector, best), e.select(wins, here, at), flag]
            e.copies = copies
            return found

        return turn

    def _element(self, index: str, high: str | None) -> Value:
        """The vectors from an index on; before `high`, beyond which is the worst there is."""
        k, e, r = self.k, self.e, self.reduction
        k.bind_vector(self.variable, index, high)
        self.prepare()
        element = reduce.every_copy(e, widen(e, k.element_of(r), r.expr.dtype))
        return element if high is None else e.select(k.mask, element, e.like(element, self.worst))

    def _best(self, best: Value, at: Value, flag: Value) -> tuple[Value, str, str]:
        """(best of all lanes, the first block that has it, whether a NaN was met)."""
        e = self.e
        of_all = self._over_lanes(best, self._better)
        is_best = e.fcmp("oeq", best, e.splat(of_all, best.lanes))
        at = e.select(is_best, at, e.like(at, self.unset))
        block = self._over_lanes(at, lambda a, b: e.select(e.icmp("slt", a, b), a, b))
        block = block if block.type == "i64" else e.sext(block, "i64")
        bits = _bits(e, flag)
        return of_all, block.names[0], e.icmp("ne", bits, e.like(bits, 0)).names[0]

    def _first(self, low, end, high, best: Value, met_nan: str, known: Value) -> Value:
        """The first place from `low` to `end` of the best element, or of a NaN, if it is not
        known."""
        k, e = self.k, self.e
        unset, of_all = e.constant("i64", self.unset), e.splat(best, k.lanes)

        def turn(index: str, found) -> list[Value]:
            element = self._element(index, high)
            hit, missing = e.fcmp("oeq", element, of_all), e.fcmp("uno", element, element)
            hit = e.select(Value((met_nan,), "i1", 1), missing, hit)
            bits = _bits(e, e.binary("and", hit, k.mask))
            place = e.binary("add", Value((index,), "i64", 1), _zeros_below(e, bits))
            place = e.select(e.icmp("eq", bits, e.like(bits, 0)), unset, place)
            return [e.select(e.icmp("slt", place, found[0]), place, found[0])]

        (place,) = k.loop(*Bounds(low, end, k.lanes), [known], turn, "first")
        k.mask = k.vector_variable = None
        return place if self.place == "i64" else e.trunc_int(place, self.place)

    def _over_lanes(self, value: Value, pick) -> Value:
        while value.lanes > 1:
            value = pick(reduce.half(self.e, value, 0), reduce.half(self.e, value, 1))
        return value

    def _fold(self, element: Value) -> Value:
        """All copies of a vector in one; what becomes of NaN is open."""
        parts = [Value((name,), element.type, element.lanes) for name in element.names]
        while len(parts) > 1:
            parts = [*parts[2:], self._better(*parts[:2])]
        return parts[0]

    def _better(self, a: Value, b: Value) -> Value:
        return (self.e.fast_max if self.greatest else self.e.fast_min)(a, b)


def _or(e, flag: Value) -> Value:
    """All copies of a flag in one."""
    first, *others = flag.names
    for name in others:
        first = e.instruction(f"or {flag.text} {first}, {name}")
    return Value((first,), flag.type, flag.lanes)


def _zeros_below(e, bits: Value) -> Value:
    """The number of the lowest bit that is set."""
    type_ = bits.type
    e.declare(f"declare {type_} @llvm.cttz.{type_}({type_}, i1 immarg)")
    name = e.instruction(f"call {type_} @llvm.cttz.{type_}({type_} {bits.names[0]}, i1 false)")
    return e.zext(Value((name,), type_, 1), "i64")


def _bits(e, flag: Value) -> Value:
    """All lanes of a flag as one number."""
    type_ = f"i{flag.lanes}"
    return Value((e.instruction(f"bitcast {flag.text} {flag.names[0]} to {type_}"),), type_, 1)
