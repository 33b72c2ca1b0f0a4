"""What is counted where ones are added to zeros: numbers as they come, or values between edges.

In: the offsets of such a scatter. Out: a call "count" or "histogram", whose result is how often
each offset occurs. What the routines do by themselves is taken off the offsets, so that they read
the program's own array: leaving out what is outside, negative numbers as 0 (`bincount`), the ranks
among edges, whose last belongs to the last bin (`histogram`).
"""

from ..graph.graph import is_literal, literal_value

_BITS = {"i8": 7, "i16": 15, "i32": 31, "i64": 63, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
MOST_EDGES = 1024           # Tally::kMost in csrc/routines/tally.h
LEAST_PER_EDGE = 16


def counts(g, offsets, length):
    """i32[length]: how often each of the numbers from 0 on occurs among the offsets."""
    numbers = _without_bounds(offsets, length)
    result = [((length,), "i32")]
    ranked = _ranks(numbers, length)
    if ranked is not None:
        return g.call("histogram", ranked, result)[0]
    raised = _raised(numbers)
    numbers = _as_it_was(numbers if raised is None else raised)
    return g.call("count", (numbers,), result, (int(raised is not None),))[0]


def _without_bounds(node, length):
    """The numbers before what is outside became -1, and negative ones were counted from the end."""
    while True:
        if node.op == "reshape" or node.op == "broadcast" and node.args[0].size == node.size:
            node = node.args[0]
        elif node.op == "select" and _only_outside(*node.args, length):
            node = node.args[1]
        elif node.op == "select" and _never_wraps(*node.args):
            node = node.args[2]
        else:
            return node


def _only_outside(condition, number, other, length) -> bool:
    """select(0 <= number <= length - 1, number, -1)"""
    if condition.op != "and" or not is_literal(other, -1):
        return False
    low, high = condition.args
    return (low.op == "ge" and low.args[0] is number and is_literal(low.args[1], 0)
            and high.op == "le" and high.args[0] is number
            and is_literal(high.args[1], length - 1))  # fmt: skip


def _never_wraps(condition, wrapped, number) -> bool:
    """select(number < 0, anything, number) of a number that is not negative"""
    return (condition.op == "lt" and condition.args[0] is number
            and is_literal(condition.args[1], 0) and _is_natural(number))  # fmt: skip


def _is_natural(node) -> bool:
    """Whether no element can be negative."""
    return _value_bits(node) is not None


def _value_bits(node):
    """k, if all elements are in [0, 2**k); None if they may be negative, or nobody knows."""
    if node.op in ("reshape", "broadcast"):
        return _value_bits(node.args[0])
    if node.op == "lit" and node.dtype in _BITS:
        value = int(literal_value(node.attrs[0], node.dtype))
        return value.bit_length() if value >= 0 else None
    if node.op == "part" and node.args[0].attrs[0] == "searchsorted":
        return 31
    if node.op == "convert" and node.dtype in _BITS:
        bits = _value_bits(node.args[0])
        return bits if bits is not None and bits <= _BITS[node.dtype] else None
    if node.op == "select":
        bits = [_value_bits(a) for a in node.args[1:]]
        return None if None in bits else max(bits)
    if node.op == "max" and any(_is_natural(a) for a in node.args):
        return _BITS.get(node.dtype)
    return None


def _raised(node):
    """x of max(x, 0), or None."""
    if node.op != "max":
        return None
    first, second = node.args
    if is_literal(first, 0):
        return second
    return first if is_literal(second, 0) else None


def _as_it_was(node):
    """The numbers before they became wider integers of the same value."""
    while node.op == "reshape" or node.op == "convert" and _keeps(node.args[0].dtype, node.dtype):
        node = node.args[0]
    return node


def _keeps(source, wider) -> bool:
    """Whether every number of a type is one of another."""
    if source not in _BITS or wider not in _BITS or (source[0], wider[0]) == ("i", "u"):
        return False
    return _BITS[source] <= _BITS[wider]


def _ranks(node, length):
    """(edges, values) of select(values == last edge, length - 1, searchsorted(edges, values))."""
    if node.op != "select" or node.args[0].op != "eq" or not is_literal(node.args[1], length - 1):
        return None
    values, last = node.args[0].args
    found = node.args[2]
    while found.op == "convert" and _is_natural(found):
        found = found.args[0]
    if found.op != "part" or found.args[0].attrs[0] != "searchsorted":
        return None
    edges, wanted = found.args[0].args
    if wanted is not values or edges.shape != (length,) or not found.args[0].attrs[2]:
        return None
    if values.dtype not in ("f32", "f64") or length > MOST_EDGES:
        return None
    if values.size < LEAST_PER_EDGE * length or not _is_last(last, edges):
        return None
    return edges, values


def _is_last(node, edges) -> bool:
    while node.op in ("broadcast", "reshape"):
        node = node.args[0]
    if node.op != "slice" or node.args[0] is not edges or node.size != 1:
        return False
    return node.attrs[0] == (edges.size - 1,)
