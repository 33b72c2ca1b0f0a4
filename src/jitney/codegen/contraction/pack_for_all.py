"""A step before the register tile's: all rows of a, which lie along m, packed once for all pieces.

In: a `PanelsSchedule`. Out: one kernel whose pieces are `TOGETHER` panels each. A panel has the
rows of one tile, and the whole of k:

    [panel][k][rows of the tile], then what stores have too much

Pieces that pack their own rows pack each as often as there are pieces of columns, and blocks along
k must be shallow, for packed rows and columns are to fit a cache together. Panels are read like
rows in place, as deep as these. (An Emerald Rapids, a.T @ b of 1024 x 1024 x 1024: 1.2 to 1.3 times
as long as a @ b without this.)

Vectors are as long as a power of two: of a tile of six rows two elements too many are stored, and
the next line down k falls on them. Lines lie far apart, so several panels are packed side by side
(see [Note: panels together] in `pack.py`).
"""

from dataclasses import dataclass

from ..emitter import LINE_BYTES
from ..prefetch import NEAR, prefetch_line
from .elements import Elements
from .pack import LINES_AHEAD
from .writer import Parameters, Writer

PARAMETERS = ("m", "k", "a_k", "panel", "panels")
TOGETHER = 8  # 4 or 16 take as long within 2 % (an Emerald Rapids)


@dataclass(frozen=True)
class PanelsSchedule:
    """Panels of `rows` rows; `swapped`: whether a is the second operand."""

    elements: Elements
    rows: int
    swapped: bool
    label = "pack"

    def emit(self, target, epilogue, name) -> str:
        assert epilogue is None, "nothing is computed here"
        return _PanelsKernel(self, target).module(name)


def lanes_of_panel(rows: int) -> int:
    """Elements of a line that are moved at once.

    >>> [lanes_of_panel(rows) for rows in (4, 6, 8)]
    [4, 8, 8]
    """
    return 1 << (rows - 1).bit_length()


class _PanelsKernel:
    def __init__(self, schedule, target):
        self.s, self.el = schedule, schedule.elements
        self.w = Writer(target)
        self.p = Parameters(self.w, PARAMETERS)
        self.lanes = lanes_of_panel(schedule.rows)

    def module(self, name):
        self.w.for_range("%lo", "%hi", 1, self._piece)
        return self.w.module(name)

    def _piece(self, piece, _):
        w, p, rows = self.w, self.p, self.s.rows
        pointer = lambda i: w.load_constant("ptr", w.at("%ptrs", i, "ptr"))
        self.a, self.room = pointer(1 if self.s.swapped else 0), pointer(3)
        first = w.mul(piece, TOGETHER)
        end = w.add(w.mul(w.add(first, TOGETHER - 1), rows), self.lanes)  # what is read last
        w.choose(
            w.compare("sle", end, p["m"]),
            lambda: self._pack(first, TOGETHER, None),
            lambda: w.for_range(
                first, w.smaller(w.add(first, TOGETHER), p["panels"]), 1,
                lambda i, _: self._pack(i, 1, w.larger(w.sub(p["m"], w.mul(i, rows)), 0)),
            ),
        )  # fmt: skip

    def _pack(self, first, panels, count):
        """So many panels side by side; `count`: how many rows there are from the first on."""
        w, p, rows, word = self.w, self.p, self.s.rows, self.el.word
        source, step, size = w.at(self.a, w.mul(first, rows), word), p["a_k"], p["panel"]
        targets = [w.at(self.room, w.mul(first, size), word)]
        for _ in range(1, panels):
            targets.append(w.at(targets[-1], size, word))

        def line(k, values):
            (at,) = values
            if count is None:
                self._ask_for(w.at(at, w.mul(step, LINES_AHEAD), word), panels)
            place = w.mul(k, rows)
            for i, target in enumerate(targets):
                pointer = w.at(at, i * rows, word)
                if count is None:
                    value = w.load(word, pointer, self.lanes)
                else:
                    value = w.load_partial(word, pointer, self.lanes, count)
                w.store(word, value, w.at(target, place, word), self.lanes)
            return [w.at(at, step, word)]

        w.for_range(0, p["k"], 1, line, [("ptr", source)])

    def _ask_for(self, line, panels):
        w, word = self.w, self.el.word
        for place in range(0, panels * self.s.rows, LINE_BYTES // self.el.word_bytes):
            prefetch_line(w.e, w.at(line, place, word), NEAR)
