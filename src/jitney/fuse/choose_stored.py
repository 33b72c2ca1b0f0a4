"""Which nodes live in buffers so that nothing costly is computed twice (rule 4 of `partition.py`).

In: a graph, or what a partition noted while its kernels were written: who computes what. Out: sets
of node numbers that the next round of the partition stores.
"""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from typing import Any

from ..graph.elementwise import is_elementwise
from ..graph.graph import READS_OF_A_COPY, Graph
from ..ir.node import Node
from .cut_chains import cut_chains
from .expressions import COST, SLOW
from .group_roots import may_be_merged, share_work, shares_source
from .read_apart import read_apart
from .store_ends import store_ends
from .store_wide import store_wide

TINY_PRODUCT = 4096
DEAR, LINKS = 200, 16  # instructions that one kernel more is worth; nodes looked at
LEAST_PARTS = 4096  # elements of a concatenation that is worth a kernel of its own
FEW_PARTS, MANY_TIMES = 64, 16  # elements of a small matrix; how often an array has each
SHORT_CHAIN = 6  # operations from places to an index
LEAVES = ("input", "const", "lit", "iota")
MOST_SOURCES = 2  # arrays that are read instead of one that is stored
AGAIN = 16  # what it may cost all its users to make it again
MUCH_AGAIN = 1 << 17  # elements to be summed up here and there that are worth one kernel more
MANY_READS = 16  # a gather that reads each element so often reads it from memory


def stored_anyhow(graph: Graph) -> tuple[frozenset, dict[int, int]]:
    """Nodes that live in buffers before anything is known of kernels: operands of routines, sums of
    many arrays, ends of rows, and where long chains are cut; the last with the numbers of their
    cuts."""
    stored = stored_operands(graph)
    stored |= store_wide(graph, stored) | store_ends(graph)
    cuts = cut_chains(graph, stored)
    return stored | cuts.keys(), cuts


def stored_operands(graph: Graph) -> frozenset:
    """Nodes that will live in buffers whatever happens, as operands of routines and large matrix
    products: other kernels read them there instead of computing them again. So do arrays that
    gathers read many times over once they are padded, and concatenations of computed parts that are
    read more than once: each reader would compute all parts everywhere, those of the next
    concatenation again; copies of which many parts are read; and what stencils read
    (`read_apart.py`)."""
    found = read_apart(graph)
    for node in graph.nodes():
        if node.op == "dot" and node.size * node.args[0].size <= TINY_PRODUCT:
            found |= _dear_operands(node)
            continue
        if node.op == "gather" and node.size >= MANY_READS * node.args[0].size:
            found |= {a.id for a in [_below_views(node.args[0])] if a.op == "pad"}
        if node.op == "gather":
            found |= _reduced_again(node)
        if node.op == "copy" and len(graph.users_of(node)) >= (node.attrs or (READS_OF_A_COPY,))[0]:
            found.add(node.id)  # its attribute: from how many readers on, if that is known better
        if node.op == "copy" and _is_of_groups(graph, node):
            found.add(node.id)
        if node.op == "concat" and _is_read_again(graph, node):
            found.add(node.id)
        if node.op == "broadcast":
            found |= _small_matrix(node)
        if node.op in ("dot", "conv", "call", "cumulative"):
            operands = [_below_views(a) for a in node.args]
            found |= {a.id for a in operands if is_elementwise(a)}
            put = operands if node.op == "dot" else node.args  # routines read what is not turned
            found |= {a.id for a in put if a.op in ("concat", "pad")}
    return frozenset(found)


def _is_of_groups(graph: Graph, node: Node) -> bool:
    """Whether a copy is of what graph/split_short_groups.py has stored: sums that are summed, and
    numbers that are spread again."""
    of = node.args[0].op
    return of in ("broadcast", "reduce") and any(u.op == of for u in graph.users_of(node))


def _dear_operands(node: Node) -> set[int]:
    """Operands of a tiny product that would take longer to compute again for each of its rows or
    columns than a kernel of their own."""
    found, depth = set(), math.prod(node.args[0].shape[axis] for axis in node.attrs[0][0])
    for operand in node.args:
        source, times = _below_views(operand), node.size * depth // max(operand.size, 1)
        if (times - 1) * source.size * _cost_of_chain(source) > DEAR:
            found.add(source.id)
    return found


def _reduced_again(node: Node) -> set[int]:
    """What a gather reads, if the places of its result would sum up more than twice the elements
    that all of it has (64 rows taken of 3, which are means of 200: 120 to 9 us)."""
    source = _below_views(node.args[0])
    chain = [source]
    while is_elementwise(chain[-1]) and chain[-1].args and len(chain) < LINKS:
        chain.append(max(chain[-1].args, key=lambda a: a.size))  # not a number that is spread
    last = _below_views(chain[-1])
    if last.op not in ("reduce", "argreduce"):
        return set()
    elements = last.args[0].size
    summed = node.size * (elements // max(1, last.size))
    return {source.id} if summed > max(MUCH_AGAIN, 2 * elements) else set()


def _cost_of_chain(node: Node) -> int:
    """What elementwise operations cost that end in this node, or the last `LINKS` of them; of
    concatenations each place computes all parts, and chooses."""
    waiting, seen, cost = [node], {node.id}, 0
    while waiting and len(seen) < LINKS:
        here = waiting.pop()
        if is_elementwise(here) or here.op == "concat":
            cost += COST.get(here.op, 1) if here.op != "concat" else 2 * len(here.args)
            waiting += [a for a in here.args if a.id not in seen]
            seen.update(a.id for a in here.args)
    return cost


def _is_read_again(graph: Graph, node: Node) -> bool:
    return (
        node.size >= LEAST_PARTS
        and len(graph.users_of(node)) > 1
        and any(is_elementwise(_below_views(a)) for a in node.args)
        and not all(_is_of_places(a) for a in node.args)
    )


def _is_of_places(node: Node, depth: int = SHORT_CHAIN) -> bool:
    """Whether each element follows from its place in a few steps: an index that nobody looks up."""
    if node.op in ("iota", "lit"):
        return True
    is_here = node.op in ("reshape", "transpose", "slice", "broadcast") or is_elementwise(node)
    return is_here and depth > 0 and all(_is_of_places(a, depth - 1) for a in node.args)


def _small_matrix(node: Node) -> set[int]:
    """What is spread over an array, if it is put together from a few numbers (a rotation, a gate of
    quantum bits): each row of the array would look which of them it has, and compute that."""
    source = _below_views(node.args[0])
    while is_elementwise(source) and len(source.args) == 1:
        source = _below_views(source.args[0])
    few = 1 < source.size <= FEW_PARTS and node.size >= MANY_TIMES * source.size
    is_made = any(not _is_leaf(_below_views(a)) for a in source.args)
    return {source.id} if few and source.op == "concat" and is_made else set()


def _is_leaf(node: Node) -> bool:
    while node.op in ("slice", "reshape"):
        node = node.args[0]
    return node.op in ("input", "const", "lit")


def _below_views(node: Node) -> Node:
    while node.op in ("transpose", "reshape"):
        node = node.args[0]
    return node


def heaviest(twice, node_of) -> frozenset:
    """Of the nodes computed twice, those that are not below another one."""
    below: set[int] = set()
    stack = [a for i in twice for a in node_of[i].args]
    while stack:
        node = stack.pop()
        if node.id not in below:
            below.add(node.id)
            stack.extend(node.args)
    return frozenset(_before_spreading(node_of[i]).id for i in twice - below)


def _before_spreading(node: Node) -> Node:
    """What is stored for a node: of cheap operations on something dear that is spread over more
    elements this (activations times weights), as the rest is soon done again; else the node."""
    here = node
    for _ in range(LINKS):
        if not is_elementwise(here) or COST.get(here.op, 1) >= SLOW:
            break
        sources = {s.id: s for s in map(_below_spreading, here.args) if not _is_leaf(s)}
        if len(sources) != 1:
            break
        (here,) = sources.values()
    return here if is_elementwise(here) and here.size < node.size else node


def _below_spreading(node: Node) -> Node:
    while node.op in ("transpose", "reshape", "broadcast"):
        node = node.args[0]
    return node


def _is_cut(graph: Graph, node: Node) -> bool:
    """Whether a node can have a kernel of its own only because others were too long with it."""
    users = graph.users_of(node)  # itself, too, if it is a result
    return is_elementwise(node) and all(is_elementwise(u) and u is not node for u in users)


class _Leaders:
    """Of each node that is stored, the first of those one kernel computes with it."""

    def __init__(self, forced):
        self.forced, self.known = forced, dict[int, set]()
        self.latest: dict[tuple, tuple[Node, int]] = {}  # by shape

    def leader_of(self, node: Node) -> int:
        before = self.latest.get(node.shape)
        leader = before[1] if before is not None and self._join(node, before[0]) else node.id
        self.latest[node.shape] = node, leader
        return leader

    def _join(self, node: Node, other: Node) -> bool:
        if may_be_merged(node):
            return shares_source(node, [other])
        return is_elementwise(node) and share_work(node, other, self.forced, self.known)


def worth_storing(twice, partition: Any, forced) -> frozenset:
    """Of the nodes computed twice, those that still are when those above them are stored.

    From the results down: `kernels[n]` are the nodes whose kernels will compute n, which are those
    that do now but for the ones that reach n only through a node that is stored now. Of a chain
    that two kernels compute this is the end; then what two such ends share, unless one kernel will
    compute both (the two words of a random key: each of twenty rounds would be a kernel).
    """
    computed, node_of = partition.work.computed, dict(partition.work.node_of)
    kernels: dict[int, set] = {}
    above: dict[int, set] = {}  # kernels that compute a node above n, of those computed twice
    stored: set[int] = set()
    waiting = [-i for i in twice]
    heapify(waiting)
    seen, left = set(twice), len(twice)
    leaders = _Leaders(forced)
    while left:
        node = node_of[-heappop(waiting)]
        mine, through = kernels.pop(node.id, set()), above.pop(node.id, set())
        if node.id in twice:
            left -= 1
            now = computed.get(node.id, set())
            if _is_cut(partition.graph, node):
                through = through | {node.id}
            mine, through = mine | (now - through), through | now
            if len(mine) > 1 or not mine <= stored:
                stored.add(node.id)
                mine = {leaders.leader_of(node)}
        for a in node.args:
            if a.id in forced or (a.id in partition.views and a.id not in twice):
                continue
            kernels.setdefault(a.id, set()).update(mine)
            above.setdefault(a.id, set()).update(through)
            if a.id not in seen:
                seen.add(a.id)
                node_of[a.id] = a
                heappush(waiting, -a.id)
    return frozenset(_before_spreading(node_of[i]).id for i in stored)


def needed(graph: Graph, shared: frozenset, kept: frozenset) -> frozenset:
    """Of nodes that several kernels compute, those that are not soon made of others that are stored
    (`kept`: in any case): the maximum of 0 and what is stored itself, say, which was the first that
    they were seen to compute."""
    stored = set(shared | kept)
    for node in graph.nodes():
        if node.id in shared - kept and is_elementwise(node):
            if _cost_from(node, stored) * len(graph.users_of(node)) < AGAIN:
                stored.discard(node.id)
    return shared & stored


def _cost_from(node: Node, stored: set) -> float:
    """What operations cost that make a node of one or two arrays that live in buffers; infinite if
    it is made of more, or in another way."""
    waiting, seen, cost, sources = [node], {node.id}, 0, 0
    for x in waiting:  # grows meanwhile
        if x is not node and (x.id in stored or x.op in LEAVES):
            sources += x.size == node.size
            continue
        if is_elementwise(x):
            cost += COST.get(x.op, 1)
        elif x.op not in ("broadcast", "reshape"):
            return math.inf
        if len(seen) > LINKS:
            return math.inf
        waiting += [a for a in x.args if a.id not in seen]
        seen.update(a.id for a in x.args)
    return cost if 1 <= sources <= MOST_SOURCES else math.inf
