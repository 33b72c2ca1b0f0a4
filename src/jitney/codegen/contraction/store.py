"""The end of a contraction: finished accumulators through the epilogue into c.

In: the accumulators of one row, vectors along n. Out: stores of the result's element type. Every
schedule stores through `store_row`.
"""

from dataclasses import dataclass

from ..constants_text import type_text
from ..instructions import Value
from .elements import as_value, memory_type, narrow
from .shape import Epilogue
from .writer import bytes_of

FIRST_EPILOGUE_POINTER = 4  # after a, b, c and the workspace


@dataclass
class StorePoint:
    """Where an epilogue is: `e` is the emitter; batch, row and column are i64 operands.

    `row` and `column` are those of the planned shape, also when the kernel computes the transpose;
    `along` says which of them the lanes of a vector count ('column' or 'row').
    `copies` vectors of `lanes` lanes follow each other; `count` elements exist (None: all); `acc`
    is the sums' element code.
    """

    w: object
    batch: str
    row: str
    column: str
    lanes: int
    copies: int
    count: str | int | None
    along: str
    first_param: int
    acc: str

    @property
    def e(self):
        return self.w.e

    def param(self, i: int) -> str:
        """An integer of the epilogue, as an i64 operand."""
        return self.w.load_constant("i64", self.w.at("%params", self.first_param + i, "i64"))

    def number(self, i: int, code: str) -> Value:
        """A number of the epilogue: an integer's low bits as an element."""
        type_ = memory_type(code)
        address = self.w.at("%params", self.first_param + i, "i64")
        value = Value((self.w.load_constant(type_, address),), type_, 1)
        return as_value(self.w, code, value)

    def pointer(self, i: int) -> str:
        """The address of the epilogue's operand `i`."""
        address = self.w.at("%ptrs", FIRST_EPILOGUE_POINTER + i, "ptr")
        return self.w.load_constant("ptr", address)

    def load(self, i: int, code: str, row_stride=0, column_stride=0, batch_stride=0) -> Value:
        """Elements of operand `i` at this point; a stride is an int or an i64 operand.

        Slow if the stride along the lanes is neither 0 nor 1. Booleans come as i1.
        """
        return as_value(self.w, code, self._load(i, code, row_stride, column_stride, batch_stride))

    def _load(self, i, code, row_stride, column_stride, batch_stride) -> Value:
        w, type_ = self.w, memory_type(code)
        position = w.mul(self.batch, batch_stride)
        position = w.add(w.mul(self.row, row_stride), position)
        position = w.add(w.mul(self.column, column_stride), position)
        pointer = w.at(self.pointer(i), position, type_)
        along = row_stride if self.along == "row" else column_stride
        if along == 0:
            return Value((w.load_constant(type_, pointer),), type_, 1)
        names = []
        for v in range(self.copies):
            address = w.at(pointer, w.mul(v * self.lanes, along), type_)
            is_partial = self.count is not None and v == self.copies - 1
            left = w.sub(self.count, v * self.lanes) if is_partial else self.lanes
            if along != 1:
                names.append(w.load_strided(type_, address, self.lanes, left, along))
            elif is_partial:
                names.append(w.load_partial(type_, address, self.lanes, left))
            else:
                text = type_text(type_, self.lanes)
                names.append(w.load_constant(text, f"{address}, align {bytes_of(type_)}"))
        return Value(tuple(names), type_, self.lanes)


def bias_epilogue(code: str, axis: str = "column") -> Epilogue:
    """Adds a vector along the columns (or rows) of c, of the accumulator's element type."""

    def emit(point, value):
        strides = {"row_stride": 1} if axis == "row" else {"column_stride": 1}
        bias = point.load(0, code, **strides)
        op = "fadd" if value.type in ("float", "double") else "add"
        return point.e.binary(op, *point.e.match(value, bias))

    return Epilogue(f"bias {code} {axis}", emit, operands=1)


class Storer:
    """Applies one kernel's epilogue and stores; made once a kernel."""

    def __init__(self, w, elements, epilogue, swapped, first_param):
        self.w = w
        self.elements = elements
        self.epilogue = epilogue
        self.swapped = swapped
        self.first_param = first_param

    def finish(self, accumulators, lanes, batch, row, column, count=None, along="column") -> Value:
        """The values to store for some accumulators; row and column as the kernel counts them."""
        w, e = self.w, self.w.e
        copies = e.copies
        e.copies = len(accumulators)
        value = Value(tuple(accumulators), self.elements.acc_type, lanes)
        if self.epilogue is not None:
            if self.swapped:
                row, column = column, row
                along = "row" if along == "column" else "column"
            point = StorePoint(
                w,
                batch,
                row,
                column,
                lanes,
                len(accumulators),
                count,
                along,
                self.first_param,
                self.elements.acc,
            )
            value = self.epilogue.emit(point, value)
        value = narrow(w, self.elements, value)
        if value.lanes != lanes:
            value = e.splat(value, lanes)
        if len(value.names) < len(accumulators):
            value = Value(value.names * len(accumulators), value.type, value.lanes)
        e.copies = copies
        return value

    def store_row(
        self, accumulators, lanes, pointer, stride, batch, row, column, count=None, stored=None
    ) -> None:
        """Store vectors along n at `pointer`; `count` elements exist, so many are `stored` (None:
        as many); `stride` between elements."""
        w, type_ = self.w, self.elements.result_type
        value = self.finish(accumulators, lanes, batch, row, column, count)
        count = count if stored is None else stored
        for v, name in enumerate(value.names):
            offset = v * lanes
            address = w.at(pointer, w.mul(offset, stride), type_)
            is_last = v == len(value.names) - 1
            if stride == 1 and (count is None or not is_last):
                w.store(type_, name, address, lanes)
            else:
                left = lanes if count is None or not is_last else w.sub(count, offset)
                w.store_partial(type_, name, address, lanes, left, stride)
