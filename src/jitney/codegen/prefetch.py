"""Asks for lines of memory that a strided walk will need: the machine's own prefetcher follows runs
within a page, and does not see where the next row begins.

In: an emitter and the place of a load. Out: prefetch instructions; nothing is computed.
"""

from typing import NamedTuple

from ..ir.types import nbytes_of
from . import memory
from .emitter import LINE_BYTES

ROWS_AHEAD = 3  # more would crowd a set of the first cache where rows lie 4 KiB apart
BYTES_ALONG = 512  # of a row: eight lines
# The same where a third cache is far (an Emerald Rapids, 1024 x 1024: softmax .95 to .97 of the
# time, log-sum-exp .97 to 1.0, layer norm .98; twice or half as many gain less).
BYTES_ALONG_FAR = 2048
# The same of a processor that begins four vector instructions a cycle, of rows of which the first
# cache holds three (a Zen 5, one thread and two, by turns: softmax of 512 x 2048 .98 and .96 of the
# time, its logarithm .94 and .94; softmax of 1000 x 1000 .98 and .97, of 300 x 3500 1.09 and .98;
# of longer rows, 200 x 5000, it would take 1.07 and 1.06).
BYTES_ALONG_SHORT, ROWS_OF_FIRST = 1024, 3
RESULTS_ALONG = 512  # bytes: of results, which 1024 and 2048 are as good for
NEAR, SECOND = 3, 2  # into the first cache, into the second
BYTES_AHEAD = 16384  # where one row of several comes from memory (from 4 KiB on all are as good)


def prefetch_line(e, pointer, level: int = NEAR, for_writing: bool = False) -> None:
    """Asks for the line at an address, wherever that is: a prefetch never faults."""
    e.declare("declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)")
    kind = f"i32 {int(for_writing)}, i32 {level}, i32 1"
    e.emit_raw(f"  call void @llvm.prefetch.p0(ptr {pointer}, {kind})")


def rows_ahead(e, code, stride, rows: int) -> str:
    """So many rows, as an operand; of few that lie multiples of 4 KiB apart one less: their lines
    share a set of the first cache with what is read and written of the rows before."""
    if rows > ROWS_AHEAD:
        return str(rows)
    within = e.instruction(f"and i64 {e.instruction(f'mul i64 {stride}, {nbytes_of(code)}')}, 4095")
    in_a_set = e.instruction(f"icmp eq i64 {within}, 0")
    return e.instruction(f"select i1 {in_a_set}, i64 {rows - 1}, i64 {rows}")


def along_rows(e, code, stride, extent, row: str) -> str:
    """How far ahead lines are asked for where rows in a pipeline come from a cache: those that
    follow one another in memory some lines, others a `row`. All of the next row would take a place
    of each set of the first cache (a Zen 4, two threads, by turns: layer norm of 1024 x 1024 .92 to
    .95 of the time, log-softmax of 256 x 4096 .86; by six or twelve lines less, or nothing)."""
    follows = e.instruction(f"icmp eq i64 {stride}, {extent}")
    lines = _elements_along(e, nbytes_of(code), extent)
    return e.instruction(f"select i1 {follows}, i64 {lines}, i64 {row}")


def _elements_along(e, nbytes: int, extent) -> str:
    """How far ahead, as an operand, of rows of so many elements that follow one another."""
    if e.target.has_far_third_cache:
        return str(BYTES_ALONG_FAR // nbytes)
    if e.target.vectors_a_cycle < 4:
        return str(BYTES_ALONG // nbytes)
    most = e.target.l1_bytes // ROWS_OF_FIRST // nbytes
    is_short = e.instruction(f"icmp slt i64 {extent}, {most}")
    near, far = BYTES_ALONG // nbytes, BYTES_ALONG_SHORT // nbytes
    return e.instruction(f"select i1 {is_short}, i64 {far}, i64 {near}")


class RowsAhead(NamedTuple):
    """How far ahead of a walk down columns lies what it reads some rows later (`within` them), or,
    of the last rows, in the first ones of the columns beside (`around`): those whose number and
    `missing` are not below 0. Operands."""

    missing: str
    within: str
    around: str


def columns_ahead(e, stride, rows, extent, beside) -> RowsAhead:
    """Of columns of `extent` rows, so many rows ahead; the columns `beside` are so many elements
    away. (What lies beyond an array may be on no page, of which a processor learns anew each time:
    sums of the columns of 10 x 3000 took 3 us or 61, as the array happened to lie.)"""
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    count = e.instruction(f"call i64 @llvm.smin.i64(i64 {rows}, i64 {extent})")
    missing = e.instruction(f"sub i64 {count}, {extent}")
    within = e.instruction(f"mul i64 {stride}, {count}")
    around = e.instruction(f"add i64 {e.instruction(f'mul i64 {stride}, {missing}')}, {beside}")
    return RowsAhead(missing, within, around)


def down_columns(e, ahead: RowsAhead, row: str) -> str:
    """How far ahead lines are asked for by a walk that is now at a `row`."""
    at = e.instruction(f"add i64 {row}, {ahead.missing}")
    is_within = e.instruction(f"icmp slt i64 {at}, 0")
    return e.instruction(f"select i1 {is_within}, i64 {ahead.within}, i64 {ahead.around}")


def prefetch_ahead(e, code, pointer, place, ahead, lanes, level=NEAR) -> None:
    """The lines of a load's vectors, so many elements later. Down columns, maxima take two thirds
    of the time, sums nine tenths (2000 x 1000, float32)."""
    type_ = memory.memory_type(code)
    start = memory.pointer_at(e, pointer, type_, e.instruction(f"add i64 {place.base}, {ahead}"))
    vectors = max(1, LINE_BYTES // (lanes * nbytes_of(code)))  # of a line
    for number in range(0, e.copies, vectors):
        prefetch_line(e, memory.pointer_at(e, start, type_, number * lanes), level)
