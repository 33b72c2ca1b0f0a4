"""Which row a piece is, counted on from the piece before.

In: a kernel whose pieces are numbered, its row loops one digit each, the last one fastest. Out: the
values of the row loops' variables in the turns of the loop over pieces: divisions give those of the
first piece, additions and comparisons the others. Of rows of 8 vectors divisions would take a tenth
of the time (a stencil on 128 x 128 x 128, float32).
"""

from .accesses import operand
from .instructions import Value


class RowCounters:
    """`loops`: the row loops, outermost first; `chunks`: whether the pieces run through all rows
    once for each chunk of a further loop, whose number comes first then."""

    def __init__(self, k, loops, chunks: bool):
        self.k, self.loops, self.chunks = k, loops, chunks
        self.counted = loops if chunks else loops[1:]  # the outermost digit has no limit

    def first(self, piece: str) -> list[Value]:
        """The digits of a piece; none where the piece's number is the only one."""
        if not self.counted and not (self.chunks and self.loops):
            return []
        divide, rest, digits = self.k.e.instruction, piece, []
        for loop in reversed(self.counted):
            extent = self._extent(loop)
            digits.append(divide(f"urem i64 {rest}, {extent}"))
            rest = divide(f"udiv i64 {rest}, {extent}")
        return [Value((name,), "i64", 1) for name in (rest, *reversed(digits))]

    def following(self, digits: list[Value]) -> list[Value]:
        """Those of the next piece."""
        e, carry, found = self.k.e, "1", []
        for loop, digit in zip(reversed(self.counted), reversed(digits), strict=False):
            more = e.instruction(f"add i64 {digit.names[0]}, {carry}")
            wraps = e.instruction(f"icmp eq i64 {more}, {self._extent(loop)}")
            found.append(e.instruction(f"select i1 {wraps}, i64 0, i64 {more}"))
            carry = e.instruction(f"zext i1 {wraps} to i64")
        if digits:
            found.append(e.instruction(f"add i64 {digits[0].names[0]}, {carry}"))
        return [Value((name,), "i64", 1) for name in reversed(found)]

    def bind(self, piece: str, digits: list[Value]) -> str:
        """Gives the row variables their values; the number of the chunk."""
        names = [d.names[0] for d in digits] or [piece]
        for loop, name in zip(reversed(self.loops), reversed(names), strict=False):
            self.k.scalars[loop.variable] = name
        return names[0]

    def _extent(self, loop) -> str:
        return operand(self.k.slotted.extents[loop.variable])
