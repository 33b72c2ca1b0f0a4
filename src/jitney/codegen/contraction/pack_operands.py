"""What a block of the register tile packs: rows of a, columns of b, in panels or row by row.

In: the kernel of a register tile and the block's place (`_Piece`). Out: code that fills the block's
`packed_a` and `packed_b`, as `pack.py` says. What is read in place is not packed.
"""

from . import pack

COLUMN_GROUP = 8  # rows of a in one packed panel


def pack_a(kernel, t) -> None:
    """The rows of a."""
    how = kernel.s.a
    if how in ("k", "any"):
        _pack_rows(kernel, t)
    elif how == "m":
        _pack_lines_of_rows(kernel, t)


def _pack_rows(kernel, t):
    w, p, s, el = kernel.w, kernel.p, kernel.s, kernel.el.of_a
    rows = w.sub(t.m1, t.m0)
    padded, step = w.round_up(rows, COLUMN_GROUP), 1 if s.a == "k" else p["a_k"]
    pack.pack_rows(
        w, el, _first_of_a(kernel, t), p["a_m"], step, rows, padded, t.depth, t.packed_a, s.pitch,
        s.lanes,
    )  # fmt: skip


def _first_of_a(kernel, t):
    w, p = kernel.w, kernel.p
    offset = w.add(w.mul(t.m0, p["a_m"]), w.mul(t.k0, p["a_k"]))
    return w.at(t.a, offset, kernel.el.of_a.source_type)


def _pack_lines_of_rows(kernel, t):
    w, el = kernel.w, kernel.el.of_a
    rows, first = w.sub(t.m1, t.m0), _first_of_a(kernel, t)
    whole = w.round_down(rows, COLUMN_GROUP)
    size = w.mul(kernel.words, COLUMN_GROUP)

    def start(i):
        return w.at(first, i, el.source_type), w.at(t.packed_a, w.mul(i, kernel.words), el.word)

    def panels(i, count, together=1):
        source, target = start(i)
        pack.pack_columns(
            w, el, source, kernel.p["a_k"], t.depth, target, COLUMN_GROUP, together, count, size
        )

    if _goes_line_by_line(kernel, el):
        _pack_panels(kernel, t, el, kernel.p["a_k"], start, 0, whole, COLUMN_GROUP, 1)
    else:
        size_together = COLUMN_GROUP * pack.PANELS
        together = w.round_down(rows, size_together)
        w.for_range(0, together, size_together, lambda i, _: panels(i, None, pack.PANELS))
        w.for_range(together, whole, COLUMN_GROUP, lambda i, _: panels(i, None))
    left = w.sub(rows, whole)
    w.when(w.compare("ne", left, 0), lambda: panels(whole, left))


def pack_b(kernel, t, whole) -> None:
    """The columns of b; those before `whole` are whole groups."""
    how = kernel.s.b
    if how == "n":
        _pack_lines_of_columns(kernel, t, whole)
    elif how != "columns":
        pack_vectors_of_columns(kernel, t, whole)


def start_of_b(kernel, t, j):
    """(address of the first element of column j, where its panel goes if it begins there)."""
    w, p, el = kernel.w, kernel.p, kernel.el
    offset = w.add(w.mul(t.k0, p["b_k"]), w.mul(j, p["b_n"]))
    target = w.at(t.packed_b, w.mul(w.sub(j, t.n0), kernel.words), el.word)
    return w.at(t.b, offset, el.source_type), target


def _pack_lines_of_columns(kernel, t, whole):
    w, s, el, step = kernel.w, kernel.s, kernel.el, kernel.p["b_k"]
    group, start = s.vectors * s.lanes, lambda j: start_of_b(kernel, t, j)

    def panel(j, vectors, count):
        source, target = start(j)
        pack.pack_columns(w, el, source, step, t.depth, target, s.lanes, vectors, count)

    if not s.tail_rows:
        panel(t.n0, s.vectors, w.sub(t.n1, t.n0))
        return
    if _goes_line_by_line(kernel, el):
        _pack_panels(kernel, t, el, step, start, t.n0, whole, s.lanes, s.vectors)
    else:
        w.for_range(t.n0, whole, group, lambda j, _: panel(j, s.vectors, None))
    w.for_range(whole, t.n1, s.lanes, lambda j, _: panel(j, 1, w.sub(t.n1, j)))


def _goes_line_by_line(kernel, elements) -> bool:
    """Whether panels are packed together. (With AVX-512 it was not measured.)"""
    return elements.group == 1 and not kernel.w.target.avx512


def _pack_panels(kernel, t, el, step, start, first, whole, lanes, vectors):
    """Whole panels, `pack.PANELS` at a time; `start`: (source, target) of a place."""
    w, width = kernel.w, lanes * vectors
    size = w.mul(kernel.words, width)

    def panels(i, _):
        source, target = start(i)
        count = w.smaller(w.udiv(w.sub(whole, i), width), pack.PANELS)
        pack.pack_panels(w, el, source, step, t.depth, target, lanes, vectors, count, size)

    w.for_range(first, whole, width * pack.PANELS, panels)


def pack_vectors_of_columns(kernel, t, whole):
    """One vector of columns at a time: in the middle of a whole panel, or a panel of its own."""
    w, p, s, el = kernel.w, kernel.p, kernel.s, kernel.el
    group = s.vectors * s.lanes

    def vector(j, _):
        at = w.sub(j, t.n0)
        lane, width = w.urem(at, group), group
        if s.tail_rows:
            inside = w.compare("slt", j, whole)
            lane, width = w.select(inside, lane, 0), w.select(inside, group, s.lanes)
        source, _ = start_of_b(kernel, t, j)
        base = w.add(w.mul(w.sub(at, lane), kernel.words), lane)
        target, count = w.at(t.packed_b, base, el.word), w.sub(t.n1, j)
        if s.b == "k":
            pack.pack_columns_transposed(
                w, el, source, p["b_n"], t.depth, target, width, s.lanes, count
            )
        else:
            pack.pack_one_by_one(
                w, el, source, p["b_k"], p["b_n"], 0, t.depth, target, width,
                w.smaller(count, s.lanes),
            )  # fmt: skip

    w.for_range(t.n0, t.n1, s.lanes, vector)
