"""How runs end along which vectors go, where masks are dear.

In: a scheduled kernel, its live expressions and the lanes of its vectors. Out: whether many short
runs are whole vectors each (`in_vectors`), or may end with one that begins `early` enough to be
whole: elements are met twice then, and sums leave out those that the vector before had.
Keeps: every value.
"""

import math

from .kernel import Expr, Kernel, Store, Stream

MANY_RUNS, SHORT_RUN = 16, 1024  # elements: what is left of longer ones is little
MOST_STORED = 512  # elements of rows that stages store or save: of 1001 there is little to gain
MOST_BESIDE = 4  # vectors
# elements of rows whose ends take longer than memory of their own (loops that change 20000 rows of
# 50 .89 of the time, 5000 of ten 1.06, but of 250 1.2)
MOST_ELSEWHERE = 128


def end_runs(kernel: Kernel, used: list[Expr], lanes: int) -> tuple[bool, bool]:
    """Whether many short runs, along which vectors go, are whole vectors each, or could end with
    one that begins `early`. A masked load takes a Zen 1 up to 17 cycles (distances from 16 points,
    one thread: 20000 of 16 coordinates 8.9 ms with masks, 1.6 without, 5000 of ten 2.2 and .7).
    Longer and fewer runs have a text for all sizes."""
    if kernel.lane == "none" or kernel.borders or kernel.near or kernel.stream == Stream.PARTS:
        return False, False
    by_rows = kernel.lane == "row"
    runs = kernel.rows[-1:] if by_rows else [stage.loops[-1] for stage in kernel.stages]
    lengths = [n for lo in runs for n in (lo.extent, lo.chunk) if n]
    around = [lo for stage in kernel.stages for lo in stage.loops] if by_rows else []
    around += kernel.rows[:-1] if by_rows else kernel.rows
    count = math.prod(lo.extent for lo in around)
    if not lengths or count < MANY_RUNS or max(lengths) > SHORT_RUN or min(lengths) < lanes:
        return False, False
    if all(n % lanes == 0 for n in lengths):  # none may be left by those side by side
        return bool(kernel.small or any(n % (MOST_BESIDE * lanes) for n in lengths)), False
    stores = any(stage.stores or stage.saves for stage in kernel.stages)
    if stores and max(lengths) > MOST_STORED:
        return False, False
    return False, _may_begin_early(kernel, used)


def _may_begin_early(kernel: Kernel, used: list[Expr]) -> bool:
    """Whether elements may be met twice: sums leave out those that were in the vector before, what
    stages save and store is the same again."""
    if kernel.tile or kernel.turned or kernel.beside:
        return False
    if any(s.carried or s.test or any(_is_masked(x) for x in s.stores) for s in kernel.stages):
        return False
    return kernel.lane == "stage" or may_overlap(kernel, used)


def _is_masked(store: Store) -> bool:
    return store.mask is not None


def may_overlap(kernel: Kernel, used: list[Expr]) -> bool:
    """Whether a row's elements may be computed and stored twice: not where the result may be put in
    the place of an array that is read nowhere but where it is written. (Of short rows it is then
    put elsewhere: see `meets_twice`.) A masked store takes a Zen 3 some 20 cycles (100 columns of
    rows of 160: 15 ns a row, with masks 20.5)."""
    if any(mode == "inout" for _, mode in kernel.buffers):
        return False
    if any(_is_masked(store) for store in kernel.stores):
        return False
    if kernel.rows[-1].extent <= MOST_ELSEWHERE:
        return True
    written = {store.position for store in kernel.stores}
    elsewhere: dict[int, bool] = {}
    for x in used:
        if x.op == "load":
            number, position = x.attrs
            elsewhere[number] = elsewhere.get(number, False) or position not in written
    return all(elsewhere.values())


def meets_twice(kernel: Kernel) -> bool:
    """Whether some elements are read again after their results are stored: these are not put in the
    place of what is read (plan_buffers.py, in_place.py)."""
    return kernel.overlaps or kernel.early or kernel.blocks > 0
