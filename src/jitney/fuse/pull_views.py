"""How an element of a view is an element of its operand: only the index changes.

One rule per operation, registered in `pull_rules.PULL_RULES`; each gets the builder, the node,
the index of the wanted element and the mask under which it is wanted, and returns an expression.
"""

import functools
import math

from ..graph.elementwise import is_elementwise
from ..graph.graph import literal_value
from ..ir.types import kind_of
from . import affine as af
from .kernel import Reduction
from .pull_rules import pull_rule
from .reshape_broadcast import reshaped_broadcast
from .reshaped_index import reshaped_index
from .split_axes import ask_for_split

# A literal with one of these values (or a small integer) stays in the code, any other becomes a
# parameter of the kernel, so that programs that differ only in constants share machine code.
MAX_SELECTS = 4  # parts of a concatenation that are joined by selects
MOST_LOOKED_AT = 40  # nodes below a reshape
_CUT = frozenset("slice transpose pad reverse".split())
_STRUCTURAL_FLOATS = {0.0, 1.0, -1.0, 2.0, 0.5}


@functools.lru_cache(maxsize=4096)
def is_structural(bits: int, code: str) -> bool:
    """Whether a literal stays in the code."""
    kind = kind_of(code)
    if kind == "f":
        value = float(literal_value(bits, code))
        return value in _STRUCTURAL_FLOATS or value != value or math.isinf(value)
    return kind == "b" or int(literal_value(bits, code)) in range(-64, 65)


def literal(builder, node):
    """The expression of a "lit" node: a number in the code, or a parameter of the kernel."""
    bits, code = node.attrs[0], node.dtype
    op = "const" if is_structural(bits, code) else "param"
    return builder.make(op, (), code, (bits,), cost=0)


@pull_rule("lit")
def pull_lit(builder, node, index, mask):
    return literal(builder, node)


@pull_rule("broadcast")
def pull_broadcast(builder, node, index, mask):
    operand = node.args[0]
    inner = tuple(
        [
            index[d] if n != 1 else af.ZERO
            for n, d in zip(operand.shape, node.attrs[0], strict=True)
        ]
    )
    return builder.value(operand, inner, mask)


@pull_rule("transpose")
def pull_transpose(builder, node, index, mask):
    inner = [af.ZERO] * len(index)
    for i, p in enumerate(node.attrs[0]):
        inner[p] = index[i]
    return builder.value(node.args[0], tuple(inner), mask)


@pull_rule("reverse")
def pull_reverse(builder, node, index, mask):
    inner = tuple(
        [
            af.offset(af.scale(a, -1), n - 1) if axis in node.attrs[0] else a
            for axis, (a, n) in enumerate(zip(index, node.shape, strict=True))
        ]
    )
    return builder.value(node.args[0], inner, mask)


@pull_rule("slice")
def pull_slice(builder, node, index, mask):
    starts, strides = node.attrs
    inner = tuple(
        [
            af.offset(af.scale(a, st), lo)
            for a, lo, st in zip(index, starts, strides, strict=True)
        ]
    )
    return builder.value(node.args[0], inner, mask)


def in_bounds(builder, position, extent):
    """The mask 0 <= position < extent (one unsigned comparison); None if always true."""
    if not position[1]:
        return builder.make("const", (), "b1", (int(0 <= position[0] < extent),), cost=0)
    return builder.make(
        "lt", (builder.index_expr(position, "u64"), builder.integer(extent, "u64")), "b1"
    )


@pull_rule("pad")
def pull_pad(builder, node, index, mask):
    operand, fill = node.args
    return _window_in(builder, node, operand, fill, (), index, mask)


def _window_in(builder, node, window, around, place, index, mask):
    """An element of `window`, which begins at node.attrs[0], or one of what is around it, there
    at `place`."""
    inner, inside = [], None
    for a, lo, n, whole in zip(index, node.attrs[0], window.shape, node.shape, strict=True):
        position = af.offset(a, -lo)
        inner.append(position)
        if not position[1] and not 0 <= position[0] < n:  # one known element around it
            return builder.value(around, place, mask)
        if n != whole:
            inside = builder.both(inside, in_bounds(builder, position, n))
    outside = builder.value(around, place, mask)
    element = builder.value(window, tuple(inner), builder.both(mask, inside))
    return builder.make("select", (inside, element, outside), node.dtype)


@pull_rule("framed")
def pull_framed(builder, node, index, mask):
    """An array in which a window at a fixed place has other elements (`frame.framed`)."""
    operand, update = node.args
    return _window_in(builder, node, update, operand, index, index, mask)


@pull_rule("concat")
def pull_concat(builder, node, index, mask):
    """A chain of selects; a long concatenation is better stored (the parts side by side)."""
    axis = node.attrs[0]
    position = index[axis]
    if not position[1]:
        return _static_part(builder, node, index, axis, mask)
    if len(node.args) > MAX_SELECTS:
        return builder.load(builder.partition.request(node), index, mask)
    result, start = None, 0
    for part in node.args:
        local = af.offset(position, -start)
        inside = in_bounds(builder, local, part.shape[axis])
        inner = index[:axis] + (local,) + index[axis + 1 :]
        element = builder.value(part, inner, builder.both(mask, inside))
        if result is None:
            result = element
        else:
            result = builder.make("select", (inside, element, result), node.dtype)
        start += part.shape[axis]
    return result


def _static_part(builder, node, index, axis, mask):
    rest = index[axis][0]
    for part in node.args:
        if rest < part.shape[axis]:
            inner = index[:axis] + (af.constant(rest),) + index[axis + 1 :]
            return builder.value(part, inner, mask)
        rest -= part.shape[axis]
    raise AssertionError("index past the end of a concatenation")


@pull_rule("empty")
def pull_empty(builder, node, index, mask):
    return builder.make("const", (), node.dtype, (0,), cost=0)


@pull_rule("iota")
def pull_iota(builder, node, index, mask):
    position = builder.index_expr(index[node.attrs[0]])
    if node.dtype == "i64":
        return position
    return builder.make("convert", (position,), node.dtype)


# ---------------------------------------------------------------------- reshape
@pull_rule("reshape")
def pull_reshape(builder, node, index, mask):
    operand = node.args[0]
    inner = reshaped_index(builder, index, operand.shape, node.shape)
    if inner is not None:
        return builder.value(operand, inner, mask)
    is_computed = is_elementwise(operand) and not builder.is_stored(operand)
    if is_computed and (
        operand.id in builder.roots or not _would_store_many(builder, operand, node.shape)
    ):
        # reshape(f(x, y)) = f(reshape x, reshape y): the reshapes reach the buffers, where they
        # are free
        args = tuple([builder.partition.reshape(a, node.shape) for a in operand.args])
        values = tuple([builder.value(a, index, mask) for a in args])
        return builder.make(operand.op, values, operand.dtype)
    ask_for_split(builder, node, index)
    view = builder.partition.request(operand)
    return builder.load(view.reshaped(node.shape), index, mask)


def _would_store_many(builder, node, shape) -> bool:
    """Whether what an elementwise node is made of has several views that no reshape goes through:
    each would be stored under the new shape, where the node alone can be."""
    waiting, seen, stored = list(node.args), {node.id}, 0
    while waiting and len(seen) < MOST_LOOKED_AT:
        here = waiting.pop()
        if here.id in seen or here.size == 1 or builder.is_stored(here):
            continue
        seen.add(here.id)
        is_spread = here.op == "broadcast" and reshaped_broadcast(here, shape) is None
        stored += is_spread or here.op in _CUT
        if stored > 1:
            return True
        if is_elementwise(here):
            waiting += here.args
    return False


# ---------------------------------------------------------------------- reductions
@pull_rule("reduce")
def pull_reduce(builder, node, index, mask):
    kind, axes = node.attrs
    return builder.reduction(node, index, mask, kind, axes)


@pull_rule("argreduce")
def pull_argreduce(builder, node, index, mask):
    kind, axis = node.attrs
    return builder.reduction(node, index, mask, kind, (axis,))


@pull_rule("partial")
def pull_partial(builder, node, index, mask):
    """One piece of a long reduction: result axis 0 counts pieces of `chunk` elements."""
    kind, axes, chunk = node.attrs
    source = node.args[0]
    extents = tuple([source.shape[a] for a in axes])
    row = index[0][1][0][0] if index[0][1] else None
    stage, variables, position = builder.stage_along(0, extents, "partial")
    if row is not None:
        builder.chunked[variables[0]] = (row, chunk)
    element = builder.value(source, af.insert(index[1:], axes, position), mask)
    if builder.level(element) > 0:
        raise AssertionError("a partial reduction inside a staged kernel")
    from_kernel = _reduction_number(stage, kind, element, node.dtype)
    used = builder.variables_of(*index)
    where = builder.stage_list.index(stage)
    return builder.make("reduced", (), node.dtype, (where, from_kernel, 0), used, cost=0)


def _reduction_number(stage, kind, element, dtype) -> int:
    for number, known in enumerate(stage.reductions):
        if known.expr is element and known.kind == kind:
            return number
    stage.reductions.append(Reduction(kind, element, dtype))
    return len(stage.reductions) - 1
