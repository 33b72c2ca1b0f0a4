"""Asks for the lines of memory that the tile of the next rows will begin with.

In: the kernel of a register tile, and where its present tile is. Out: prefetch instructions; what
is computed does not change. Rows lie apart, so no prefetcher of the machine foresees where the next
ones begin, and a tile is too long for the processor to look beyond its end: it would wait for its
sums, and for the first elements of a, each time. (Zen 3, one core: 1024 x 1024 x 1024 takes 4 %
less time, 2048 x 2048 x 2048 8 %.) Where no sums wait, c is asked for as well, with AVX2: stores
wait for lines that are in no near cache (1000 x 333 x 777 .92 to .95, 2000 x 32 x 2000 .98); so
where the third cache is far and sums are short. Panels of a follow one another: asking for two or
eight of their lines gains nothing.
"""

from ..prefetch import NEAR, prefetch_line
from .writer import bytes_of

LINE = 64
LINES_OF_A = 2  # with these the machine sees where a row goes (four or eight are not better)


def fetch_next_tile(kernel, t, i, j, vectors: int, rows: int) -> None:
    """The tile of rows i + rows, ...: its sums if they wait in c, or its results; its rows of a if
    they are read in place. Rows that do not exist are asked for as well, which does no harm."""
    w, s, p, el = kernel.w, kernel.s, kernel.p, kernel.el
    if not s.asks_ahead:  # so short that there is little to wait for
        return
    following = w.add(i, rows)
    has_sums, has_results = s.sums == "c" and kernel.plain_sums, not s.blocked and s.c_unit
    if has_sums or has_results:
        start = w.at(t.c, w.add(w.mul(following, p["c_m"]), j), el.result_type)
        words = LINE // bytes_of(el.result_type)
        last = vectors * s.lanes - 1
        places = [*range(0, last, words), last]
        _fetch_rows(w, start, p["c_m"], el.result_type, rows, places, for_writing=True)
    if s.a == "rows" and s.a_unit and s.blocked and not s.segmented:
        start = w.at(t.a, w.add(w.mul(following, p["a_m"]), t.k0), el.word)
        words = LINE // el.word_bytes
        _fetch_rows(w, start, p["a_m"], el.word, rows, range(0, LINES_OF_A * words, words))


def _fetch_rows(w, start, stride, type_, rows, places, for_writing=False) -> None:
    for _ in range(rows):
        for place in places:
            prefetch_line(w.e, w.at(start, place, type_), NEAR, for_writing)
        start = w.at(start, stride, type_)
