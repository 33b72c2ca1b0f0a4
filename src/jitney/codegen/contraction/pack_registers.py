"""What a block packs for registers that hold tiles: panels of words, and tiles of rows of a.

In: the kernel of `tile_registers.py` and the block's place. Out: code that fills the block's
`packed_a` and `packed_b`. What is missing along k, up to whole registers, is filled with zeros.

    b               panels of 32 columns: [k words][32 words]
    a, 'k'          rows: [row][k words], a fixed pitch apart
    a, 'm'          panels of 16 rows, [k words][16 words], of which each 16 words by 16 rows are
                    then transposed where they are: [16 words along k together][row][16 words]
"""

from ..transpose_registers import Vectors, transpose_registers
from . import pack
from .pack_operands import pack_a, pack_vectors_of_columns, start_of_b

HALF = 16  # words of a register's row, and its rows
COLUMNS = 2 * HALF  # of a panel of b
PANELS, WORDS_AHEAD = 4, 2  # packed together, and how far down k lines are asked for


def pack_b_for_registers(kernel, t, words) -> None:
    """The columns of b; so many words along k hold elements."""
    if kernel.s.b == "n":
        start = lambda j: start_of_b(kernel, t, j)
        _pack_lines(kernel, t, start, kernel.p["b_k"], kernel.el, t.n0, t.n1, COLUMNS, words)
    else:
        pack_vectors_of_columns(kernel, t, kernel.w.add(t.n1, COLUMNS))
        _fill(kernel, t.n0, t.n1, COLUMNS, lambda j: start_of_b(kernel, t, j), words)


def pack_a_for_registers(kernel, t, words) -> None:
    """The rows of a, unless they are read where they lie."""
    if kernel.s.a != "m":
        pack_a(kernel, t)  # vectors are whole registers, their ends zeros
        return
    w, p, el = kernel.w, kernel.p, kernel.el
    first = w.at(t.a, w.add(w.mul(t.k0, p["a_k"]), t.m0), el.source_type)

    def start(i):
        source = w.at(first, w.sub(i, t.m0), el.source_type)
        return source, w.at(t.packed_a, w.mul(w.sub(i, t.m0), kernel.words), el.word)

    _pack_lines(kernel, t, start, p["a_k"], el, t.m0, t.m1, HALF, words)
    _transpose_blocks(kernel, t)


def _pack_lines(kernel, t, start, step, el, low, high, width, words):
    """Panels of `width` words of what is contiguous across them; `start`: (source, target)."""
    w, lanes = kernel.w, kernel.s.lanes
    together = PANELS * COLUMNS

    def panels(j, _):
        source, target = start(j)
        size = w.mul(kernel.words, width)
        pack.pack_word_panels(
            w, el, source, step, t.depth, target, lanes, width, together, size, WORDS_AHEAD
        )

    def panel(j, _):
        source, target = start(j)
        pack.pack_columns(
            w, el, source, step, t.depth, target, lanes, width // lanes, w.sub(high, j),
            is_last_only=False,
        )  # fmt: skip

    are_whole = w.compare("eq", w.mul(words, el.group), t.depth)
    many = w.select(are_whole, w.udiv(w.sub(high, low), together), 0)
    end = w.add(low, w.mul(many, together))
    w.for_range(low, end, together, panels)
    w.for_range(end, high, width, panel)
    _fill(kernel, low, high, width, start, words)


def _fill(kernel, low, high, width, start, words):
    """Zeros behind the words of each panel."""
    w, s, word = kernel.w, kernel.s, kernel.el.word

    def panel(j, _):
        _, target = start(j)

        def line(k, _):
            for at in range(0, width, s.lanes):
                place = w.at(target, w.add(w.mul(k, width), at), word)
                w.store(word, "zeroinitializer", place, s.lanes)

        w.for_range(words, kernel.words, 1, line)

    missing = w.compare("ne", words, kernel.words)
    w.when(missing, lambda: w.for_range(low, high, width, panel, runs_once=True) and None)


def _transpose_blocks(kernel, t):
    w, word, lanes = kernel.w, kernel.el.word, kernel.s.lanes
    size = HALF * HALF
    panels = w.udiv(w.add(w.sub(t.m1, t.m0), HALF - 1), HALF)
    blocks = w.mul(panels, w.udiv(kernel.words, HALF))

    def block(i, _):
        place = w.at(t.packed_a, w.mul(i, size), word)
        lines = [w.at(place, r * lanes, word) for r in range(HALF)]
        rows = [w.load(word, line, lanes) for line in lines]
        turned = transpose_registers(w.e, rows, Vectors(word, lanes, 1, 4))
        for line, row in zip(lines, turned, strict=True):
            w.store(word, row, line, lanes)

    w.for_range(0, blocks, 1, block, runs_once=True)
