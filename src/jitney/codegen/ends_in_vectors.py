"""Ends of rows in vectors: what is made of rows' results, of as many rows at a time as lanes.

In: a pipeline (row_pipeline.py) of a kernel that is `gathered` (fuse/gather_ends.py). Out: `Ends`:
takes a row's results into lanes; where these are full, and after the last row, it computes and
stores what is made of them.
"""

from contextlib import contextmanager

from . import memory
from .elementwise import llvm_type
from .instructions import Value


class Ends:
    """The results of rows that wait, a vector for each, in the order of `keys`."""

    def __init__(self, pipeline):
        self.k, self.e, self.pipeline = pipeline.k, pipeline.k.e, pipeline
        self.keys = [
            (s, number)
            for s, stage in enumerate(pipeline.stages)
            for number in range(len(stage.reductions))
        ]

    def begin(self, count: str, first: list[Value]) -> list[Value]:
        """What nothing waits in: before the first of so many rows."""
        self.count, self.first = count, first[0].names[0]
        types = [llvm_type(self.pipeline.stages[s].reductions[n].dtype) for s, n in self.keys]
        return [self.e.constant(type_, 0, self.k.lanes) for type_ in types]

    def take(self, row: list[Value], results: dict, waiting: list[Value]) -> list[Value]:
        """The results of one more row beside those that wait."""
        e, lanes, at = self.e, self.k.lanes, row[0].names[0]
        number = e.instruction(f"sub i64 {at}, {self.first}")
        lane = e.instruction(f"and i64 {number}, {lanes - 1}")
        narrow = Value((e.instruction(f"trunc i64 {lane} to i32"),), "i32", 1)
        is_here = e.icmp("eq", memory.lane_numbers(e, lanes, "i32"), e.splat(narrow, lanes))
        waiting = [
            e.select(is_here, e.splat(results[key], lanes), old)
            for key, old in zip(self.keys, waiting, strict=True)
        ]
        last = e.instruction(f"sub i64 {self.count}, 1")
        is_full = e.instruction(f"icmp eq i64 {lane}, {lanes - 1}")
        is_last = e.instruction(f"icmp eq i64 {number}, {last}")
        turns = e.instruction(f"zext i1 {e.instruction(f'or i1 {is_full}, {is_last}')} to i64")
        begun = e.instruction(f"sub i64 {at}, {lane}")

        def write(_, __):
            self.write(begun, e.instruction(f"add i64 {at}, 1"), waiting)
            return []

        self.k.loop("0", turns, "1", [], write, "ends")
        return waiting

    def write(self, begun: str, high: str, results: list[Value]) -> None:
        """What is made of the rows [begun, high), lane by lane."""
        known = dict(zip(self.keys, results, strict=True))
        with self.in_lanes(begun, high, known, len(self.pipeline.stages) + 1):
            self.k.store_all(self.k.kernel.stores)

    @contextmanager
    def in_lanes(self, begun: str, high: str, results: dict, levels: int):
        """With the values of so many levels of the rows [begun, high), lane by lane."""
        k, before = self.k, (self.k.lane, self.k.tail, self.k.values, self.k.results)
        k.values, k.results = dict(self.pipeline.base), results
        k.lane, k.at_row_end = "row", True
        k.bind_vector(k.kernel.rows[0].variable, begun, high)
        for level in range(levels):
            k._emit_home(("row", level))
        yield
        k.lane, k.tail, k.values, k.results = before
        k.vector_variable = k.mask = None
        k.at_row_end = False
