"""Addresses in a loop: what no turn changes comes before it, products go on by sums.

In: the lines of a loop's body, of one basic block or more, its index and what it carries. Out:
`lift_addresses`: the arithmetic of addresses that belongs before the loop, the lines that are left,
and the values that the loop is to carry, products of its index and a stride that only the caller
knows. An element at the index and so much more is addressed from where that much more is: x86 adds
an index to an address for nothing. LLVM's reduction of strength does all this, and much that
nothing needs, for a third of the time that it takes to compile a kernel; without it, it moves no
addition out of a loop (its comparisons leave flags).
"""

import re
from typing import NamedTuple

from .loop_parts import NAME

# Of a loop: each takes a register. Softmax down columns of 64 MB, with four, takes .97 of the time
# by LLVM's reduction, with the products 1.10 (a Zen 3).
MOST_CARRIED = 4
MOST_POINTERS = 6
_OPERAND = r"(%[\w.]+|-?\d+)"
_SUM = re.compile(rf"  (%[\w.]+) = (add|sub|mul) i64 {_OPERAND}, {_OPERAND}$")
_ELEMENT = re.compile(rf"  (%[\w.]+) = getelementptr (\w+), ptr (%[\w.]+), i64 {_OPERAND}$")


class Stepped(NamedTuple):
    """`factor` times a loop's index, and `added` to it unless that is None."""

    factor: str
    added: str | None


class Lifted(NamedTuple):
    """Lines before the loop, lines of its body, and by name what the loop is to carry."""

    before: list[str]
    lines: list[str]
    carried: dict[str, Stepped]


def lift_addresses(lines: list[str], index: str, ends: dict[str, str]) -> Lifted:
    """`ends`: of what the loop carries already, the name at the beginning of a turn -> at its
    end."""
    body = _Body(lines, {index, *ends}, index)
    for line in lines:
        body.read(line)
    return body.result(set(ends.values()))


class _Body:
    """What is known of a body's names so far: those that `vary`, `stepped` products with what was
    added, and sums of the index, something `beside` it and a number."""

    def __init__(self, lines, varying: set[str], index: str):
        self.index = index
        self.varying = varying.union(line.partition(" = ")[0][2:] for line in lines)
        self.stepped: dict[str, Stepped] = {}
        self.beside: dict[str, tuple[str, int]] = {}
        self.before: list[str] = []
        self.lines: list[str] = []
        # (type, buffer, beside) -> lines of elements, with the number added to their place
        self.pointers: dict[tuple, list[tuple[int, int]]] = {}

    def read(self, line: str) -> None:
        found = _SUM.match(line)
        if found is not None:
            self._sum(line, *found.groups())
            return
        found = _ELEMENT.match(line)
        if found is not None:
            name, type_, pointer, at = found.groups()
            if pointer not in self.varying and at not in self.varying:
                self._lift(line, name)
                return
            if at in self.beside and pointer not in self.varying:
                beside, number = self.beside[at]
                places = self.pointers.setdefault((type_, pointer, beside), [])
                places.append((len(self.lines), number))
        self.lines.append(line)

    def _lift(self, line: str, name: str) -> None:
        self.varying.discard(name)
        self.before.append(line)

    def _sum(self, line, name, operation, left, right) -> None:
        if left not in self.varying and right not in self.varying:
            self._lift(line, name)
            return
        self.lines.append(line)
        if operation == "mul" and left == self.index and right.startswith("%s"):
            self.stepped[name] = Stepped(right, None)
        elif operation == "add":
            for value, other in ((left, right), (right, left)):
                if other in self.varying:
                    continue
                if value == self.index and other[0] == "%":
                    self.beside[name] = other, 0
                elif value in self.beside:
                    self.beside[name] = self._more_beside(value, other)
                elif value in self.stepped and self.stepped[value].added is None:
                    self.stepped[name] = Stepped(self.stepped[value].factor, other)

    def _more_beside(self, value: str, other: str) -> tuple[str, int]:
        beside, number = self.beside[value]
        if other[0] != "%":
            return beside, number + int(other)
        total = f"{beside}.{other[1:]}.{self.index[1:]}"  # no other loop makes this one
        line = f"  {total} = add i64 {beside}, {other}"
        if line not in self.before:
            self.before.append(line)
        return total, number

    def result(self, ends: set[str]) -> Lifted:
        if 0 < len(self.pointers) <= MOST_POINTERS:
            self._address_from_pointers()
        if not self.stepped and not self.beside:
            return Lifted(self.before, self.lines, {})
        used, kept, carried = set(ends), [], {}
        for line in reversed(self.lines):
            name, _, right = line[2:].partition(" = ")
            if name in self.stepped:
                if name in used:
                    carried[name] = self.stepped[name]
            elif name not in self.beside or name in used:
                kept.append(line)
                used.update(NAME.findall(right or line))
        if len(carried) > MOST_CARRIED:
            return Lifted(self.before, self.lines, {})
        return Lifted(self.before, kept[::-1], carried)

    def _address_from_pointers(self) -> None:
        at_first = []
        for (type_, pointer, beside), places in self.pointers.items():
            base = f"{pointer}.at.{beside[1:]}.{type_}.{self.index[1:]}"
            element = f"getelementptr {type_}, ptr"
            self.before.append(f"  {base} = {element} {pointer}, i64 {beside}")
            at_first.append(f"  {base}.at = {element} {base}, i64 {self.index}")
            for place, number in places:
                name = self.lines[place].partition(" = ")[0]
                self.lines[place] = f"{name} = {element} {base}.at, i64 {number}"
        self.lines[:0] = at_first
