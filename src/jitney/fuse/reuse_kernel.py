"""Kernels written once for all roots whose surroundings look the same.

In: the roots of a kernel, the views they are stored in, and the partition. Out: the kernel step of
roots met before that looked the same, with what writing it had asked of the partition asked again
for these; or nothing, and then a recorder for what writing the kernel asks.

What a `KernelBuilder` does depends on the nodes between the roots and those that live in buffers
(or will, whatever happens), on which nodes of these are the same, and on the order they were made
in.
`describe` writes exactly that down. The layers of a network, the rounds of one partition and
programs compiled one after another share most of their kernels.
Invariant: a step found here is the step the builder would have written.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from ..graph.elementwise import is_elementwise
from ..ir.node import Node
from ..ir.types import kind_of
from .buffers import KernelStep, Late, MadeKernel, View
from .number_slots import signed
from .pull_rules import PULL_RULES
from .pull_views import is_structural
from .split_reductions import should_split, split

LIMIT = 2048  # kernels remembered
MAX_NODES = 1000  # larger surroundings are not worth the comparison
OUT = -1  # stands for the buffer the first root is stored in, -2 for the second's, and so on

_known: OrderedDict[tuple, Template] = OrderedDict()


class Description(NamedTuple):
    """A hashable account of roots' surroundings, the nodes it numbers, the roots first, and the
    literals that are parameters of the kernel ((type, bits), in order of appearance: only which are
    equal counts)."""

    key: tuple
    nodes: list[Node]
    literals: list[tuple]


class Template(NamedTuple):
    """A kernel without its buffers: `places` number the nodes whose buffers it uses, `literals` are
    those of the program it was written for."""

    log: list[tuple]
    made: Callable[[], MadeKernel]
    places: tuple[int, ...]
    modes: tuple[str, ...]
    literals: list[tuple]


def describe(partition: Any, roots: list[tuple[Node, View]]) -> Description | None:
    """None if there is too much to describe."""
    nodes = [node for node, _ in roots]
    numbers = {node.id: number for number, node in enumerate(nodes)}
    if len(numbers) < len(nodes):
        return None
    rows: list[tuple] = []
    buffers, routines = dict[int, int](), dict[int, int]()
    for _, out in roots:
        buffers.setdefault(out.buffer.id, len(buffers))
    forced, literals = partition.forced, []
    for number, node in enumerate(nodes):  # grows meanwhile
        is_root = number < len(roots)
        view = None if is_root else partition.view_of(node)
        if view is not None:
            buffer = buffers.setdefault(view.buffer.id, len(buffers))
            rows.append((node.op, node.dtype, node.shape, buffer, view.buffer.size, view.strides,
                         view.offset, view.shape))  # fmt: skip
        elif not is_root and node.id in forced:
            rows.append((node.op, node.dtype, node.shape, "forced"))
        elif node.op == "lit" and not partition.is_nested and _is_parameter(node):
            literal = node.dtype, node.attrs[0]
            if literal not in literals:
                literals.append(literal)
            rows.append(("parameter", node.dtype, node.shape, literals.index(literal)))
        elif node.op not in PULL_RULES and not is_elementwise(node):
            layout = partition.strides_for(node) if node.op == "dot" else ()
            if node.op == "part":  # results of one routine get their buffers together
                layout = (routines.setdefault(node.args[0].id, len(routines)),)
            rows.append((node.op, node.dtype, node.shape, layout))
        else:
            refs = []
            for a in node.args:
                ref = numbers.get(a.id)
                if ref is None:
                    ref = numbers[a.id] = len(nodes)
                    nodes.append(a)
                refs.append(ref)
            if len(nodes) > MAX_NODES:
                return None
            rows.append((node.op, node.dtype, node.shape, node.attrs, *refs))
    order = tuple(sorted(range(len(nodes)), key=lambda i: nodes[i].id))
    where = tuple([
        (buffers[out.buffer.id], out.buffer.code, out.buffer.size, out.strides, out.offset,
         out.shape, root.id in forced)
        for root, out in roots
    ])  # fmt: skip
    options = (partition.is_nested, partition.target)
    return Description((tuple(rows), order, where, options), nodes, literals)


def _is_parameter(node: Node) -> bool:
    return kind_of(node.dtype) == "f" and not is_structural(node.attrs[0], node.dtype)


class Recorder:
    """Answers a builder for the partition and notes what changes the partition."""

    should_split = staticmethod(should_split)

    def __init__(self, partition: Any, described: Description | None, notes: dict):
        self.partition = partition
        nodes = described.nodes if described is not None else []
        self.numbers = {node.id: i for i, node in enumerate(nodes)}
        self.described = self.count = len(nodes)
        self.log: dict[tuple, None] = dict(notes)
        self.complete = True
        self.view_of, self.target = partition.view_of, partition.target

    def notes(self) -> dict:
        """What stays when a kernel is begun again: notes, which change no buffer."""
        return {e: None for e in self.log if e[0] in ("computed", "place", "repeated")
                and e[1] < self.described}

    def _number(self, node: Node) -> int:
        number = self.numbers.get(node.id)
        if number is None:
            self.complete, number = False, 0
        return number

    def request(self, node: Node) -> View:
        self.log["request", self._number(node)] = None
        return self.partition.request(node)

    def is_forced(self, node: Node) -> bool:
        if node.id in self.partition.forced:
            self.request(node)
            return True
        return False

    def has_buffer(self, node: Node) -> bool:
        """Whether a node has a buffer, or will have; nothing is asked for."""
        return node.id in self.partition.forced or self.view_of(node) is not None

    def must_store(self, node: Node, builder: Any) -> bool:
        if node.id in self.partition.forced and node.id not in builder.roots:
            return True
        self.note_computed(node, builder)
        return False

    def note_computed(self, node: Node, builder: Any) -> None:
        self.log["computed", self._number(node)] = None
        self.partition.work.note_computed(node, builder.root_key)

    def note_place(self, node: Node, root: int, *where: Any) -> None:
        self.log["place", self._number(node), *where] = None
        self.partition.work.note_place(node, root, *where)

    def note_repeated(self, node: Node, cost: int) -> None:
        self.log["repeated", self._number(node), cost] = None
        self.partition.work.note_repeated(node, cost)

    def split(self, node: Node) -> Node:
        result = split(self.partition, node)
        self._derived(result, "split", self._number(node), None)
        return result

    def reshape(self, node: Node, shape: tuple) -> Node:
        result = self.partition.reshape(node, shape)
        self._derived(result, "reshape", self._number(node), tuple(shape))
        return result

    def _derived(self, result: Node, *entry: Any) -> None:
        """A node that the description does not number: numbered in the order of its making."""
        if entry in self.log:
            return
        self.log[entry] = None
        self.numbers.setdefault(result.id, self.count)
        self.count += 1
        if self._is_stored_otherwise(result):
            self.complete = False  # the description does not say so

    def _is_stored_otherwise(self, node: Node) -> bool:
        return node.op != "reshape" and self.partition.view_of(node) is not None


def remember(described: Description, recorder: Recorder, step: KernelStep, modes: tuple,
             outs: list[View]) -> None:
    """Keeps a step for roots to come, if everything it asked for can be asked again."""
    if not recorder.complete:
        return
    partition = recorder.partition
    places = dict[int, int]()
    for number, out in enumerate(outs):
        places.setdefault(out.buffer.id, OUT - number)
    by_id = {node.id: node for node in described.nodes}
    for i, number in recorder.numbers.items():
        node = by_id.get(i)
        view = partition.views.get(i) if node is None else partition.view_of(node)
        if view is not None:
            places.setdefault(view.buffer.id, number)
    if any(b.id not in places for b in step.buffers):
        return
    found = tuple([places[b.id] for b in step.buffers])
    _known[described.key] = Template(list(recorder.log), step.made, found, modes,
                                     described.literals)
    while len(_known) > LIMIT:
        _known.popitem(last=False)


def _with_literals(template: Template, literals: list[tuple]) -> MadeKernel:
    """The kernel with this program's literals in the slots of the other one's."""
    made = template.made()
    values, numbers = list(made.slotted.values), {x: i for i, x in enumerate(template.literals)}
    for x in made.used:
        if x.op == "param" and (x.dtype, x.attrs[0]) in numbers:
            slot = int(made.slotted.params[x.id][1:])
            values[slot] = signed(literals[numbers[x.dtype, x.attrs[0]]][1])
    return made._replace(slotted=dataclasses.replace(made.slotted, values=values))


def reuse(partition: Any, described: Description, outs: list[View]) -> KernelStep | None:
    """The step of roots described like this, if there were any."""
    template = _known.get(described.key)
    if template is None:
        return None
    nodes = list(described.nodes)
    first = nodes[0].id
    for entry in template.log:
        kind, node = entry[0], nodes[entry[1]]
        if kind == "request":
            partition.request(node)
        elif kind == "computed":
            partition.work.note_computed(node, first)
        elif kind == "place":
            partition.work.note_place(node, first, *entry[2:])
        elif kind == "repeated":
            partition.work.note_repeated(node, entry[2])
        elif kind == "split":
            nodes.append(split(partition, node))
        else:
            nodes.append(partition.reshape(node, entry[2]))
    buffers = [outs[OUT - i].buffer if i <= OUT else partition.view_of(nodes[i]).buffer
               for i in template.places]
    writes = {b.id for b, mode in zip(buffers, template.modes, strict=True) if mode != "in"}
    made, literals = template.made, described.literals
    if literals != template.literals:
        made = Late(lambda: _with_literals(template, literals))
    return KernelStep(made, buffers, writes)


def forget() -> None:
    """Drops what is remembered (`clear_caches`)."""
    _known.clear()
