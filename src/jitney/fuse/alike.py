"""Whether the elements of a short row are all computed in the same way.

In: the expressions of neighbouring elements. Out: a `Pattern`, one expression for all of them,
whose loads say where each element's number lies, or None: the lanes of one vector can compute them
all, of as many rows as fit in (Larsen and Amarasinghe, 2000: superword-level parallelism).
"""

from dataclasses import dataclass
from enum import Enum, auto

from .affine import Affine, coefficient_of
from .kernel import Expr

NUMBERED = frozenset(("max", "min"))  # whose code depends on a constant


class Kind(Enum):
    """The same number for all elements of all rows; one read for each element, or a constant; an
    operation on patterns. (Maxima with a number have code that depends on it: not of several.)"""

    SAME = auto()
    READ = auto()
    COMPUTED = auto()


@dataclass(frozen=True, eq=False)
class Pattern:
    """`of`: the expression of each element. `step`: of what is read, from row to row; `first` the
    place from which `distances` are counted, None where an element is a constant."""

    kind: Kind
    of: tuple[Expr, ...]
    args: tuple["Pattern", ...] = ()
    step: int = 0
    first: Affine | None = None
    distances: tuple[int | None, ...] = ()

    @property
    def places(self) -> list[int]:
        """The distances, of constants that of some element, which lies in the array."""
        known = min(d for d in self.distances if d is not None)
        return [known if d is None else d for d in self.distances]


def find_pattern(elements: list[Expr], row: int) -> Pattern | None:
    """See the module's text; `row`: the loop over the rows."""
    return _Finder(row, _first_places(elements)).find(tuple(elements))


def parts_of(pattern: Pattern) -> list[Pattern]:
    """The patterns that a pattern is made of, itself last, each once."""
    found: dict[int, Pattern] = {}

    def visit(p: Pattern) -> None:
        if id(p) not in found:
            for a in p.args:
                visit(a)
            found[id(p)] = p

    visit(pattern)
    return list(found.values())


def _first_places(elements: list[Expr]) -> dict[tuple, Affine]:
    """Of places that differ by constants alone the first, by their terms: their distances from it
    are part of the kernel's text, in which an index has one form whatever array it is one of."""
    first: dict[tuple, Affine] = {}
    seen, stack = set(), list(elements)
    while stack:
        x = stack.pop()
        if x.id not in seen:
            seen.add(x.id)
            stack += x.args
            if x.op == "load":
                place = x.attrs[1]
                first[place[1]] = min(first.get(place[1], place), place, key=lambda p: p[0])
    return first


class _Finder:
    """The patterns found so far, by the numbers of their elements."""

    def __init__(self, row: int, first: dict[tuple, Affine]):
        self.row, self.first = row, first
        self.known: dict[tuple[int, ...], Pattern | None] = {}

    def find(self, elements: tuple[Expr, ...]) -> Pattern | None:
        key = tuple(x.id for x in elements)
        if key not in self.known:
            self.known[key] = self._found(elements)
        return self.known[key]

    def _found(self, elements: tuple[Expr, ...]) -> Pattern | None:
        x = elements[0]
        if all(y is x for y in elements) and self.row not in x.variables:
            return Pattern(Kind.SAME, elements)
        if {y.op for y in elements} <= {"load", "const"}:
            return self._read(elements)
        if x.op in ("index", "param", "reduced", "saved", "carry") or not x.args:
            return None
        if any((y.op, y.dtype, y.attrs, len(y.args)) != (x.op, x.dtype, x.attrs, len(x.args))
               for y in elements):  # fmt: skip
            return None
        args = []
        for same in zip(*[y.args for y in elements], strict=True):
            arg = self.find(same)
            if arg is None or len({y.dtype for y in same}) > 1:
                return None
            if x.op in NUMBERED and None in arg.distances:
                return None
            args.append(arg)
        return Pattern(Kind.COMPUTED, elements, tuple(args))

    def _read(self, elements: tuple[Expr, ...]) -> Pattern | None:
        loads = [y for y in elements if y.op == "load"]
        if any(y.args for y in loads) or len({y.dtype for y in elements}) > 1:
            return None
        if not loads:
            return Pattern(Kind.READ, elements, distances=(None,) * len(elements))
        if len({(y.attrs[0], y.attrs[1][1]) for y in loads}) > 1:
            return None
        terms = loads[0].attrs[1][1]
        if any(atom < 0 for atom, _ in terms):
            return None
        first = self.first[terms]
        distances = [y.attrs[1][0] - first[0] if y.op == "load" else None for y in elements]
        step = coefficient_of(first, self.row)
        return Pattern(Kind.READ, elements, (), step, first, tuple(distances))
