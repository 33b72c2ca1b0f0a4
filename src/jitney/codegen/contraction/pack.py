"""Packing: copies of blocks of a and b in the order in which the register tile reads them.

In: a strided block in memory. Out: words (see `elements.py`), converted if need be.

    panels   b, and a when its rows lie along m: [column group][k words][columns of the group],
             so that a step along k is one straight line of vectors. [Note: panels together]
    rows     a when its rows lie along k: [row][k words], rows a fixed pitch apart, so that all
             rows of a tile are at constant distances and one register addresses them

A block's last words are filled with zeros along k (both operands', so that a NaN of one does not
meet the other's filling). Columns beyond the end hold anything: their sums are never stored.

[Note: panels together] A line of a wide matrix may be a page of its own, and no prefetcher looks
beyond a page: walking down 24 columns met each line of cache by itself, and those that two panels
share twice, if lines lie 8 KiB apart and crowd few sets of a cache. So `PANELS` panels are packed
side by side, line by line, and a line further down is asked for. (A Zen 3, one thread: with this
and narrower blocks 100 x 1000 x 1000 takes .88 of the time, 256 x 1024 x 1024 .95, 1024^3 .99.)
"""

from ..constants_text import type_text
from ..emitter import LINE_BYTES
from ..instructions import Value
from ..prefetch import NEAR, prefetch_line
from .elements import memory_type, widen
from .writer import bytes_of

PANELS = 8  # packed together; 16 are not better, of 4 less is gained
LINES_AHEAD = 4


def _words(w, elements, sources, lanes, count):
    """A vector of words: `lanes` columns from each of the `group` rows."""
    e, total = w.e, None
    for i, pointer in enumerate(sources):
        if count is None:
            name = w.load(elements.source_type, pointer, lanes)
        else:
            name = w.load_partial(elements.source_type, pointer, lanes, count)
        part = widen(w, elements, Value((name,), elements.source_type, lanes))
        if elements.group == 1:
            return part.names[0]
        part = e.zext(part, "i32")
        if i:
            part = e.shl(part, e.constant("i32", 32 // elements.group * i, lanes))
        total = part if total is None else e.or_(total, part)
    return total.names[0]


def pack_columns(
    w, elements, source, step_k, depth, target, lanes, vectors, count=None, panel=None,
    is_last_only=True,
):  # fmt: skip
    """One group of `vectors * lanes` columns, contiguous in `source`; `count`: how many exist.

    `source`: address of the group's first element; `depth` elements along k, `step_k` apart.
    `panel`: each vector is a panel of its own, so many words behind the one before.
    `is_last_only`: whether all vectors but the last are whole.
    """
    group, width = elements.group, lanes if panel else lanes * vectors

    def one_word(word_index, _):
        k = w.mul(word_index, group)
        rows = [
            w.at(source, w.mul(w.add(k, g), step_k), elements.source_type) for g in range(group)
        ]
        line = w.at(target, w.mul(word_index, width), elements.word)
        for v in range(vectors):
            offset = v * lanes
            parts = [w.at(row, offset, elements.source_type) for row in rows]
            left = None
            if count is not None and (v == vectors - 1 or not is_last_only):
                left = w.larger(w.sub(count, offset), 0) if v else count
            value = _words(w, elements, parts, lanes, left)
            w.store(elements.word, value, w.at(line, place[v], elements.word), lanes)

    place = [w.mul(panel, v) if panel else v * lanes for v in range(vectors)]
    full = w.udiv(depth, group)
    w.for_range(0, full, 1, one_word)
    if group > 1:
        first, columns = w.mul(full, group), w.smaller(width if count is None else count, width)

        def last_word():
            for v in range(vectors if panel else 1):
                begin = w.at(source, v * lanes, elements.source_type)
                into = w.at(target, place[v], elements.word)
                pack_one_by_one(
                    w, elements, begin, step_k, 1, first, depth, into, width, columns
                )

        w.when(w.compare("slt", first, depth), last_word)


def pack_panels(w, elements, source, step_k, depth, target, lanes, vectors, panels, size):
    """So many groups of columns, all of them whole and side by side in `source`, line by line.

    As `pack_columns`, of words that are one element each; `size`: words from a panel to the next.
    See [Note: panels together].
    """
    width, element = lanes * vectors, elements.source_type

    def one_panel(_, values):
        line, into = values
        far = w.at(line, w.mul(step_k, LINES_AHEAD), element)
        for place in range(0, width, LINE_BYTES // bytes_of(element)):
            prefetch_line(w.e, w.at(far, place, element), NEAR)
        for v in range(0, width, lanes):
            value = _words(w, elements, [w.at(line, v, element)], lanes, None)
            w.store(elements.word, value, w.at(into, v, elements.word), lanes)
        return [w.at(line, width, element), w.at(into, size, elements.word)]

    def one_line(k, _):
        line = w.at(source, w.mul(k, step_k), element)
        into = w.at(target, w.mul(k, width), elements.word)
        w.for_range(0, panels, 1, one_panel, [("ptr", line), ("ptr", into)], runs_once=True)

    w.for_range(0, depth, 1, one_line)


def pack_word_panels(
    w, elements, source, step_k, depth, target, lanes, width, columns, size, ahead
):
    """Panels of `width` columns (one vector of words or two), of bytes or 16-bit elements; all
    `columns` exist and are side by side in `source`, so that its lines are read whole.

    `size`: words from a panel to the next; `ahead`: words further down k that are asked for. The
    last word, if part of it does not exist, is left out.
    """
    group, element = elements.group, elements.source_type

    def one_word(k, _):
        lines = [w.mul(w.add(w.mul(k, group), g), step_k) for g in range(group)]
        rows = [w.at(source, line, element) for line in lines]
        for row in rows:
            far = w.at(row, w.mul(step_k, ahead * group), element)
            for place in range(0, columns, LINE_BYTES // bytes_of(element)):
                prefetch_line(w.e, w.at(far, place, element), NEAR)
        line = w.at(target, w.mul(k, width), elements.word)
        for first in range(0, columns, 2 * lanes):
            parts = [w.load_value(element, w.at(row, first, element), 2 * lanes) for row in rows]
            for v, words in enumerate(_interleaved(w.e, parts, lanes)):
                panel, inside = divmod(first + v * lanes, width)
                into = w.at(line, w.add(w.mul(size, panel), inside), elements.word)
                w.store(elements.word, words, into, lanes)

    w.for_range(0, w.udiv(depth, group), 1, one_word)


def _interleaved(e, rows, lanes):
    """Two vectors of so many words, of two rows of 16-bit elements or four of bytes."""
    if len(rows) == 4:
        wide = [e.zext(row, "i16") for row in rows]
        above = e.constant("i16", 8, 2 * lanes)
        rows = [e.or_(wide[i], e.shl(wide[i + 1], above)) for i in (0, 2)]
    for first in (0, lanes):
        order = [at + half for at in range(first, first + lanes) for half in (0, 2 * lanes)]
        pairs = e.shuffle(*rows, order)
        yield e.instruction(f"bitcast {pairs.text} {pairs.names[0]} to {type_text('i32', lanes)}")


def pack_columns_transposed(w, elements, source, step_n, depth, target, width, lanes, count):
    """One vector of `lanes` columns, each contiguous along k, into a panel of `width` columns.

    Blocks of words (16 bytes of each column) are transposed in registers; the last elements along
    k, fewer than a block, go one by one.
    """
    group, block = elements.group, 16 // elements.word_bytes
    last = w.sub(count, 1)
    columns = [
        w.at(source, w.mul(w.smaller(i, last), step_n), elements.source_type) for i in range(lanes)
    ]
    blocked = w.round_down(w.udiv(depth, group), block)

    def one_block(k, _):
        vectors = _transposed_block(w, elements, columns, w.mul(k, group), lanes, block)
        for i, vector in enumerate(vectors):
            line = w.at(target, w.mul(w.add(k, i), width), elements.word)
            w.store(elements.word, vector, line, lanes)

    w.for_range(0, blocked, block, one_block)
    first, columns = w.mul(blocked, group), w.smaller(count, lanes)
    pack_one_by_one(w, elements, source, 1, step_n, first, depth, target, width, columns)


def _transposed_block(w, elements, columns, k, lanes, block):
    """`block` vectors of `lanes` words: words k, k+1, ... of every column."""
    converts = memory_type(elements.packed) != elements.source_type
    stacked = []
    for r in range(block):
        pieces = []
        for chunk in range(lanes // block):
            pointer = w.at(columns[chunk * block + r], k, elements.source_type)
            if not converts:  # words are in memory as they are
                pieces.append(w.load_value(elements.word, pointer, block))
            else:
                length = block * elements.group
                pieces.append(w.load_value(elements.source_type, pointer, length))
        while len(pieces) > 1:
            pieces = [w.e.join_halves(pieces[i], pieces[i + 1]) for i in range(0, len(pieces), 2)]
        value = pieces[0]
        if converts:
            value = widen(w, elements, value)
            if elements.group > 1:
                cast = w.e.instruction(
                    f"bitcast {value.text} {value.names[0]} to {type_text('i32', lanes)}"
                )
                value = Value((cast,), "i32", lanes)
        stacked.append(value)
    return [v.names[0] for v in _transpose_in_lanes(w.e, stacked, block)]


def _transpose_in_lanes(e, rows, block):
    """Transposes each 16-byte lane: of `rows[r]`, lane L holds words 0.. of column 4L + r; of
    result c it holds word c of columns 4L .. 4L + 3."""
    lanes = rows[0].lanes

    def zipped(a, b, halves):
        """Interleave pairs of runs of `halves` words of each 16-byte lane, low or high ones."""
        low, high = [], []
        for start in range(0, lanes, block):
            for part, into in ((0, low), (1, high)):
                for i in range(0, block // 2, halves):
                    at = start + part * (block // 2) + i
                    into += [*range(at, at + halves), *range(lanes + at, lanes + at + halves)]
        return e.shuffle(a, b, low), e.shuffle(a, b, high)

    if block == 1:
        return rows
    if block == 2:
        return list(zipped(rows[0], rows[1], 1))
    low01, high01 = zipped(rows[0], rows[1], 1)
    low23, high23 = zipped(rows[2], rows[3], 1)
    first, second = zipped(low01, low23, 2)
    third, fourth = zipped(high01, high23, 2)
    return [first, second, third, fourth]


def pack_one_by_one(w, elements, source, step_k, step_n, first_k, depth, target, width, count):
    """Elements [first_k, depth) along k of `count` columns into a panel of `width` columns."""
    group, packed = elements.group, memory_type(elements.packed)
    end = w.round_up(depth, group) if group > 1 else depth

    def one_column(n, _):
        column = w.at(source, w.mul(n, step_n), elements.source_type)

        def one_element(k, _):
            def read():
                pointer = w.at(column, w.mul(k, step_k), elements.source_type)
                value = w.load_value(elements.source_type, pointer)
                return [widen(w, elements, value).names[0]]

            if group == 1:
                value = read()[0]
            else:
                inside = w.compare("slt", k, depth)
                value = w.choose(inside, read, lambda: ["0"], [packed])[0]
            word = w.add(w.mul(w.udiv(k, group), width), n)
            place = w.add(w.mul(word, group), w.urem(k, group)) if group > 1 else word
            w.store(packed, value, w.at(target, place, packed))

        w.for_range(first_k, end, 1, one_element)

    w.for_range(0, count, 1, one_column)


def pack_rows(w, elements, source, step_m, step_k, rows, padded_rows, depth, target, pitch, lanes):
    """Rows along k at a distance of `pitch` words; rows beyond the end repeat the last one.

    `step_k` is 1, or an operand when the rows are not contiguous.
    """
    packed, length = memory_type(elements.packed), lanes * elements.group
    last = w.sub(rows, 1)

    def one_row(r, _):
        row = w.at(source, w.mul(w.smaller(r, last), step_m), elements.source_type)
        into = w.at(target, w.mul(r, pitch * elements.word_bytes))
        if step_k != 1:
            _copy_strided(w, elements, row, step_k, depth, into)
            return

        def copy(k, count):
            pointer = w.at(row, k, elements.source_type)
            if count is None:
                name = w.load(elements.source_type, pointer, length)
            else:
                name = w.load_partial(elements.source_type, pointer, length, count)
            value = widen(w, elements, Value((name,), elements.source_type, length))
            w.store(packed, value.names[0], w.at(into, k, packed), length)

        whole = w.round_down(depth, length)
        w.for_range(0, whole, length, lambda k, _: copy(k, None))
        left = w.sub(depth, whole)
        w.when(w.compare("ne", left, 0), lambda: copy(whole, left))

    w.for_range(0, padded_rows, 1, one_row)


def _copy_strided(w, elements, row, step_k, depth, into):
    packed, group = memory_type(elements.packed), elements.group

    def copy(k, _):
        pointer = w.at(row, w.mul(k, step_k), elements.source_type)
        value = widen(w, elements, w.load_value(elements.source_type, pointer))
        w.store(packed, value.names[0], w.at(into, k, packed))

    for g in range(1, group):  # what the last word may lack
        w.store(packed, "0", w.at(into, w.add(depth, g - 1), packed))
    w.for_range(0, depth, 1, copy)


def panel_bytes(elements, columns: int, depth: int) -> int:
    """Bytes of panels of `columns` columns and `depth` elements along k."""
    words = -(-depth // elements.group)
    return columns * words * bytes_of(elements.word)
