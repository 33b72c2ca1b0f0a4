"""Two rows of a stencil at a time, where the second reads what the first has read.

In: a kernel emitter whose kernel knows of such loads (`again`, fuse/find_rows_again.py), a range of
rows, and what changes with them. Out: the loop over them, in turns of two rows or of one: rows of
which not all is known (of the other axes' conditions, or of what rows choose to read), before and
after the others, and one that is left. All but the middles of two rows is a loop over the rows of
the turn, so that it is written once (five points of 1024 x 1024 take a third longer to compile
than without this; with texts of their own for single rows and for ends twice as long, and run no
faster). Both rows' middles begin where the first row's result begins a vector in memory.
Keeps: which elements are computed, and how.
"""

from functools import partial

from . import interior
from .begun_rows import Rows, of_row
from .instructions import Value
from .middle import Middle


def are_worth_it(k) -> bool:
    """Whether a row's middle needs what the middle of the row before has loaded. (Of four points
    the one in their midst is not read: by twos 512 x 512 of them take a fifth longer.)"""
    if not k.kernel.again.places:
        return False
    loaded = Middle(k, k.kernel.borders).places_loaded()
    return any(a in loaded and b in loaded for a, b in k.kernel.again.places.items())


def emit_rows(rows: Rows, low: str, high: str, ends: tuple[str, str]) -> None:
    """See the module's text; `ends`: of the part of each row."""
    k, e = rows.k, rows.k.e
    first, stop = _joined_range(rows, low, high)
    pairs = e.instruction(f"lshr i64 {e.instruction(f'sub i64 {stop}, {first}')}, 1")
    before, after = (e.instruction(f"sub i64 {n}") for n in (f"{first}, {low}", f"{high}, {stop}"))
    turns = e.instruction(f"add i64 {before}, {e.instruction(f'add i64 {pairs}, {after}')}")

    def turn(_, carried):
        index, begun = carried[0].names[0], carried[1:]
        tests = [f"icmp uge i64 {index}, {first}", f"icmp ult i64 {index}, {stop}"]
        is_pair = e.instruction("and i1 " + ", ".join([e.instruction(test) for test in tests]))
        count = e.instruction(f"select i1 {is_pair}, i64 2, i64 1")
        following = e.instruction(f"add i64 {index}, {count}")
        first_row, second_row = _entered(rows, index, begun)
        first_row()
        places = interior.places_of_middle(k, rows.along, *ends, 1)
        about = interior.Turn(is_pair, places)
        later = rows.loop(
            index, following, begun, lambda: interior.emit_parts(k, rows.along, *ends, about)
        )
        interior.emit_middles(k, rows.along, about, [first_row, second_row])
        return [Value((following,), "i64", 1), *later]

    k.loop("0", turns, "1", [Value((low,), "i64", 1), *rows.starts], turn, "turn")


def _joined_range(rows: Rows, low: str, high: str) -> tuple[str, str]:
    """The rows that go by twos, an even number; or none, at the end."""
    k, e = rows.k, rows.k.e
    known = [*k.kernel.borders, *k.kernel.again.borders]
    first, last = interior.ends_of_middle(k, rows.inner, low, high, known)
    fits = interior.rows_fit(k, known, rows.along, rows.inner)
    if fits is not None:
        first, last = (
            e.instruction(f"select i1 {fits}, i64 {n}, i64 {high}") for n in (first, last)
        )
    count = e.instruction(f"and i64 {e.instruction(f'sub i64 {last}, {first}')}, -2")
    return first, e.instruction(f"add i64 {first}, {count}")


def _entered(rows: Rows, index: str, begun: list[Value]) -> list:
    """For row `index` and the next: a function that says what is known of it."""
    k, before, found = rows.k, dict(rows.k.values), []

    def enter(number, begun_rows, values):
        k.scalars[rows.inner], k.begun_rows, k.values = number, begun_rows, dict(values)

    for number in (index, k.e.instruction(f"add i64 {index}, 1")):
        rows.begin(number, begun)
        begun_rows = of_row(k, rows.along)
        found.append(partial(enter, number, begun_rows, dict(k.values)))
        begun, k.values = rows.moved(begun), dict(before)
    return found
