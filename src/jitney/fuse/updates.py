"""What an update of a part of an array reads of that array, and what can happen in place.

In: nodes `dynamic_update_slice` and scatters, chains of them above all. Out: nodes for which it is
safe to overwrite the array: whatever reads it elsewhere is computed beforehand.
"""

import math

from ..graph.elementwise import is_elementwise
from ..graph.graph import Graph
from ..ir.types import nbytes_of
from .alternate import LEAST_BYTES
from .frame import fixed_corner, is_most

FEW = 16  # so many numbers more to store do not matter: indices, and whether they are inside


def separate_updates(inner, graph, beside: bool = False):
    """The body with chains of updates stored one by one, and with updates that read what they
    overwrite elsewhere computed beforehand, so that each of them can happen in place.

    `beside`: the state may be in two buffers by turns; updates of the greater part of it that read
    their neighbours are then left as they are.
    """
    outputs, windows = [], set()
    if beside:
        windows = {n.id for n in graph.outputs if _is_window(n, graph.inputs)}
    inner.kept = windows | {n.id for n in graph.outputs if _is_in_place(n, graph.inputs)}
    for node in graph.outputs:
        if node.id in windows:
            inner.separated.add(node.id)
            outputs.append(node)
        else:
            outputs.append(_separated(inner, node))
    return Graph(graph.inputs, graph.constants, outputs, graph.name)


def _is_in_place(node, inputs) -> bool:
    """Whether an output is an update of an array of the state that reads nothing of it but what it
    overwrites: it is stored as it is."""
    if node.op != "dynamic_update_slice" or not any(node.args[0] is x for x in inputs):
        return False
    operand, update, *starts = node.args
    return not reads_elsewhere(update, operand, starts)


def _is_window(node, inputs) -> bool:
    if node.op != "dynamic_update_slice" or not any(node.args[0] is x for x in inputs):
        return False
    operand, update, *starts = node.args
    is_large = operand.size * nbytes_of(operand.dtype) >= LEAST_BYTES
    return is_large and is_most(operand, update) and (
        fixed_corner(operand, update, starts) is not None
    )


def separated_update(inner, node):
    """An update somewhere in a loop's body such that it can happen in place, like its outputs."""
    if not inner.is_nested or node.id in inner.separated:
        return node
    return _separated(inner, node)


def _separated(inner, node):
    if node.op == "reshape" and node.args[0].op in ("dynamic_update_slice", "part"):
        return inner.reshape(_separated(inner, node.args[0]), node.shape)
    if node.op == "part" and node.args[0].attrs[0] == "scatter":
        operand = node.args[0].args[0]
        if _is_update(operand):
            inner.views[operand.id] = inner.request(_separated(inner, operand))
        return node
    if node.op != "dynamic_update_slice":
        return node
    found = _separated_slice(inner, node)
    inner.separated |= {node.id, found.id}
    return found


def _separated_slice(inner, node):
    table = inner.table
    operand, update, *starts = node.args
    if _is_update(operand):
        inner.views[operand.id] = inner.request(_separated(inner, operand))
    older = _older(operand)
    if not _depends_on_any(update, older) and not _reads_unkept(inner, node):
        return node
    if _elements_elsewhere(update, operand, starts, older) > update.size + FEW:
        inner.request(update)  # one value less to store than what it is computed from
        update = table.intern("copy", (update,), update.shape, update.dtype)
    else:
        update = _detached(inner, update, operand, starts, older)
    return table.intern(node.op, (operand, update, *starts), node.shape, node.dtype, node.attrs)


def _reads_unkept(inner, node) -> bool:
    """Whether an update reads its array elsewhere, but for what other updates have made of it that
    are stored before (of fields that follow from one another by turns): outputs have their places
    when the first kernel is written, and these are outputs as they are."""
    operand, update, *starts = node.args
    return reads_elsewhere(update, operand, starts, lambda x: is_part_of_kept(inner, x, node))


def _older(node):
    """What an array was before the updates that lead to it."""
    found = []
    while _is_update(node):
        while node.op == "reshape":
            node = node.args[0]
        node = node.args[0].args[0] if node.op == "part" else node.args[0]
        found.append(node)
    return found


def _elements_elsewhere(update, operand, starts, older) -> int:
    """How many elements `_detached` would compute beforehand."""
    seen, stack, count = set(), [update], 0
    while stack:
        node = stack.pop()
        if node.id in seen or _is_at_place(node, operand, starts):
            continue
        seen.add(node.id)
        here = node is operand or depends(node, operand)
        if here and is_elementwise(node) or node.op == "broadcast":
            stack.extend(node.args)
        elif here or _depends_on_any(node, older):
            count += node.size
    return count


def _is_at_place(node, operand, starts) -> bool:
    """Whether a node is what the update will overwrite."""
    return (
        node.op == "dynamic_slice" and node.args[0] is operand and list(node.args[1:]) == starts
    )


def _detached(inner, node, operand, starts, older):
    """An update in which whatever reads the array elsewhere, or before an earlier update, is
    computed beforehand; what is at the very place may be read there."""
    if _is_at_place(node, operand, starts):
        return node
    here = node is operand or depends(node, operand)
    if not here and not _depends_on_any(node, older):
        return node
    if here and is_elementwise(node) or node.op == "broadcast":
        args = tuple([_detached(inner, a, operand, starts, older) for a in node.args])
        return inner.table.intern(node.op, args, node.shape, node.dtype, node.attrs)
    inner.request(node)
    return inner.table.intern("copy", (node,), node.shape, node.dtype)


def _depends_on_any(node, others) -> bool:
    return any(node is other or depends(node, other) for other in others)


def _is_update(node) -> bool:
    while node.op == "reshape":
        node = node.args[0]
    return node.op == "dynamic_update_slice" or (
        node.op == "part" and node.args[0].attrs[0] == "scatter"
    )


def is_only_updated(graph, node) -> bool:
    """Whether nothing else reads what an update changes, so that it is computed in its place."""
    operand, _, *starts = node.args
    return all(
        user is node or _is_at_place(user, operand, starts) for user in graph.users_of(operand)
    )


def reads_elsewhere(update, operand, starts, is_stored=lambda node: False) -> bool:
    """Whether an update depends on its operand other than at the very place it overwrites, and
    other than through values that are stored beforehand."""
    seen, stack = set(), [update]
    while stack:
        node = stack.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        if node is operand:
            return node.op not in ("lit", "empty", "broadcast", "iota")
        if is_stored(node):
            continue
        if _is_at_place(node, operand, starts) and node.shape == update.shape:
            stack.extend(starts)
            continue
        if node.op == "reshape" or is_elementwise(node) or node.op == "dynamic_slice":
            stack.extend(node.args)
        elif depends(node, operand):
            return True
    return False


def is_part_of_kept(inner, node, update) -> bool:
    """Whether a node lies in memory, as part of another output than an update and what it updates,
    before that update happens."""
    while node.op in ("slice", "reshape"):
        node = node.args[0]
    return node.id in inner.kept and node is not update and node is not update.args[0]


def depends(node, operand) -> bool:
    """Whether a node is the operand, or computed from it."""
    return depends_on_any(node, {operand.id})


def found_to_depend(table, node, operand) -> bool:
    """The same, found out once: each of several partitions asks."""
    known = table.facts_about("depends")
    found = known.get((node.id, operand.id))
    if found is None:
        found = known[node.id, operand.id] = depends(node, operand)
    return found


def depends_on_any(node, operands: set[int]) -> bool:
    """Whether a node is one of the operands, or computed from some; their ids."""
    seen, stack, first = set(), [node], min(operands, default=math.inf)
    while stack:
        node = stack.pop()
        if node.id in operands:
            return True
        if node.id > first and node.id not in seen:
            seen.add(node.id)
            stack.extend(node.args)
    return False
