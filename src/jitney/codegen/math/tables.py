"""Rows of a table of sixteen columns, picked lane by lane.

In: integer `Value`s, of which the four low bits count, and a table of doubles. Out: a `Value` for
each row. Registers of AVX-512 hold a row; elsewhere the table lies in the module, column after
column, and each lane loads its own. Invariant: no index reaches outside the table.
"""

from ..constants_text import vector_text
from ..instructions import Value
from .coefficients import TABLES
from .forms import has_avx512_form, integer_like, table_lookup


def look_up(e, index, name):
    """The rows of the table `name` at `index` (i64 lanes)."""
    rows = TABLES[name]
    if has_avx512_form(e, Value(index.names, "double", index.lanes)):
        return [table_lookup(e, index, "double", row) for row in rows]
    table = _define(e, name, rows)
    index = e.and_(index, integer_like(e, index, len(rows[0]) - 1))
    columns = _columns(e, index, f"getelementptr [{len(rows)} x double], ptr @{table}")
    return [_gathered(e, columns, row) for row in range(len(rows))]


def _define(e, name, rows):
    """Put the table into the module, unless it is there; its name."""
    table = f"jitney.table.{name}"
    if table not in e.definitions:
        numbers = vector_text("double", [c for column in zip(*rows) for c in column])[1:-1]
        size = len(rows) * len(rows[0])
        e.definitions[table] = (
            f"@{table} = private unnamed_addr constant [{size} x double] [{numbers}], align 64"
        )
    return table


def _columns(e, index, address):
    """Pointers to the columns: a list for each lane with one for each copy."""
    lanes = [index] if index.lanes == 1 else [e.extract(index, i) for i in range(index.lanes)]
    return [[e.instruction(f"{address}, i64 {n}") for n in lane.names] for lane in lanes]


def _gathered(e, columns, row):
    """The doubles number `row` behind the pointers `columns[lane][copy]`."""
    return Value(tuple(_joined(e, lanes, row) for lanes in zip(*columns)), "double", len(columns))


def _joined(e, pointers, row):
    """The operand whose lanes are the doubles number `row` behind `pointers`."""
    joined = "poison"
    for lane, pointer in enumerate(pointers):
        at = e.instruction(f"getelementptr double, ptr {pointer}, i64 {row}")
        number = e.instruction(f"load double, ptr {at}")
        if len(pointers) == 1:
            return number
        vector = f"<{len(pointers)} x double>"
        joined = e.instruction(f"insertelement {vector} {joined}, double {number}, i64 {lane}")
    return joined
