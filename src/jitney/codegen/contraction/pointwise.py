"""A pointwise program as the epilogue of a contraction.

In: a `Tail` of `fuse/epilogue.py`: expressions over the finished sum, operands with strides, and
parameters. Out: an `Epilogue` that writes them with the instructions elementwise kernels use, so
that a fused product rounds as a product followed by a kernel does.
"""

from ..elementwise import constant_of_bits, convert, evaluate
from ..instructions import Value
from .shape import Epilogue


def pointwise_epilogue(tail) -> Epilogue:
    """The epilogue of a tail; equal texts give equal code."""

    def emit(point, sums):
        values = {}
        for x in tail.used:
            values[x.id] = _value(point, tail, x, sums, values)
        return values[tail.used[-1].id]

    # an instruction of the tail takes the place of one multiply-add
    return Epilogue(tail.text, emit, len(tail.loads), tail.params, 2 * tail.used[-1].cost)


def _value(point, tail, x, sums, values) -> Value:
    e = point.e
    if x.op == "sum":
        return convert(e, sums, point.acc, x.dtype)
    if x.op == "const":
        return constant_of_bits(e, x.dtype, x.attrs[0])
    if x.op == "param":
        return point.number(tail.slots[x.id], x.dtype)
    if x.op == "load":
        number, code, strides = tail.loads[x.id]
        batch, row, column = (_stride(point, s) for s in strides)
        return point.load(number, code, row, column, batch)
    return evaluate(e, x.op, x.dtype, [a.dtype for a in x.args], [values[a.id] for a in x.args])


def _stride(point, text: str):
    return point.param(int(text[1:])) if text[0] == "s" else int(text)
