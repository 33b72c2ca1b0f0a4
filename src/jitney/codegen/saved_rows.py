"""Scratch rows: what a stage saves of its elements for the stage after it.

In: an emitter `k` of a kernel with `saved` rows. Out: their places on the stack (`allocate`), and
the stores and loads of the present elements.

Rows along which vectors run begin where they are no multiple of 4 KiB from what is read a little
later than they are written: processors take such a load for one of what is being stored, by the
last twelve bits of the addresses, and let it wait. Softmax of 1024 x 1024 by one thread of a Zen 4:
187 to 197 us; 201 to 220 where the row lies 256 to 1280 bytes behind the one it is computed from,
modulo 4 KiB, as the stack's random address may have it. Of rows in a pipeline that are two `apart`
there are two, of turns of even and of odd numbers (`turn_to`), a multiple of 4 KiB apart.
"""

from ..ir.types import nbytes_of
from . import memory

PAGE = 4096
APART = 2688  # the middle of what is as good
BESIDE = 1344  # from one row to the next: neither lies up to 1280 bytes behind the other


def allocate(k) -> None:
    """All scratch rows, at a kernel's beginning. Of columns each copy has a vector a row."""
    for number, (code, _) in enumerate(k.kernel.saved):
        type_, along = memory.memory_type(code), k.lane == "stage"
        per = 1 if along else k.lanes * k._copies()
        pad = k.lanes * 4 + (PAGE // nbytes_of(code) if along else 0)
        k.e.emit_raw(f"  %svn{number} = mul i64 {_extent(k, number)}, {per}")
        room = f"%svn{number}" if k.kernel.apart == 1 else _of_two(k, number, code, pad)
        k.e.emit_raw(f"  %svm{number} = add i64 {room}, {pad}")
        place = f"alloca {type_}, i64 %svm{number}, align 64"
        if along:
            k.e.emit_raw(f"  %sva{number} = {place}")
            place = f"getelementptr i8, ptr %sva{number}, i64 {_skip(k, number)}"
        k.e.emit_raw(f"  %sv{number} = {place}")
        k.saved_at[number] = f"%sv{number}"


def _of_two(k, number: int, code, pad: int) -> str:
    """Elements from one of two rows to the other and those of the second: an operand."""
    page, e = PAGE // nbytes_of(code), k.e
    whole = e.instruction(f"add i64 %svn{number}, {pad + page - 1}")
    k.saved_steps[number] = e.instruction(f"and i64 {whole}, {-page}")
    return e.instruction(f"add i64 {k.saved_steps[number]}, %svn{number}")


def turn_to(k, turn: str) -> None:
    """Makes those of two rows the present ones that belong to a turn."""
    for number, step in k.saved_steps.items():
        odd = k.e.instruction(f"and i64 {turn}, 1")
        away = k.e.instruction(f"mul i64 {odd}, {step}")
        type_ = memory.memory_type(k.kernel.saved[number][0])
        place = f"getelementptr {type_}, ptr %sv{number}, i64 {away}"
        k.saved_at[number] = k.e.instruction(place)


def _extent(k, number: int) -> str:
    """The operand of a row's length: their slots follow the row loops' own (number_slots.py)."""
    first = sum(1 + (loop.chunk_row is not None) for loop in k.kernel.rows)
    return f"%s{first + number}"


def _skip(k, number: int) -> str:
    """Bytes, whole lines, to where a row lies well apart from the first buffer that is read."""
    e, read = k.e, next((x.attrs[0] for x in k.used if x.op == "load"), 0)
    away = (APART + number * BESIDE) % PAGE
    wanted = e.instruction(f"add i64 {e.instruction(f'ptrtoint ptr %b{read} to i64')}, {away}")
    found = e.instruction(f"ptrtoint ptr %sva{number} to i64")
    return e.instruction(f"and i64 {e.instruction(f'sub i64 {wanted}, {found}')}, {PAGE - 64}")


def save(k, number: int, position, value) -> None:
    """A vector of what a stage leaves; of columns that are done again, for those only."""
    place, lanes = _place(k, position)
    if k.redone is not None:
        old = memory.load(k.e, k.kernel.saved[number][0], k.saved_at[number], place, lanes)
        value = k.e.select(k.redone, value, old)
    memory.store(k.e, k.kernel.saved[number][0], k.saved_at[number], place, value, lanes)


def load(k, x):
    """A vector of what the stage before has left."""
    number, position = x.attrs
    place, lanes = _place(k, position)
    return memory.load(k.e, k.kernel.saved[number][0], k.saved_at[number], place, lanes)


def _place(k, position):
    place = k._place(position)
    if k.lane != "row":
        return place, k.lanes
    base = k.e.instruction(f"mul i64 {place.base}, {k.lanes * k._copies()}")
    return memory.Place(base, "1", ()), k.lanes
