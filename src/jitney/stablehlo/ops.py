"""A StableHLO program as data: values, operations, blocks, functions, the module.

Rules build it (through `builder`), the writer names and prints it.
Invariant: values have identity only; names exist in the text alone. An operation's attributes are
the text of MLIR attributes, or Python values where `forms` knows how to write the operation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jitney.stablehlo.types import TensorType

Origin = tuple[str, str, int]                # name of an equation, file, line


class Value:
    """A result of an operation or an argument of a block."""

    __slots__ = ("type",)

    def __init__(self, type: TensorType):
        self.type = type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self):
        return self.type.dtype


class Block:
    """Arguments and operations; the body of a function or of a region."""

    __slots__ = ("args", "ops")

    def __init__(self, arg_types: Sequence[TensorType] = ()):
        self.args = [Value(t) for t in arg_types]
        self.ops: list[Op] = []


class Op:
    """`results = name operands {attributes} regions`; every region is one block.

    `origin` is the equation it was written for, as (name, file, line), or None.
    """

    __slots__ = ("name", "operands", "results", "attributes", "regions", "origin")

    def __init__(self, name: str, operands: Sequence[Value], results: Sequence[TensorType],
                 attributes: dict[str, Any] | None = None, regions: Sequence[Block] = (),
                 origin: Origin | None = None):
        self.name, self.operands, self.origin = name, list(operands), origin
        self.results = [Value(t) for t in results]
        self.attributes, self.regions = attributes or {}, list(regions)


class Function:
    """A function; its block ends with `func.return`."""

    __slots__ = ("name", "block", "results", "public", "arg_attributes", "result_attributes")

    def __init__(self, name: str, arg_types: Sequence[TensorType],
                 results: Sequence[TensorType], public: bool = False):
        self.name, self.block, self.public = name, Block(arg_types), public
        self.results = list(results)
        self.arg_attributes: list[dict[str, str]] = [{} for _ in arg_types]
        self.result_attributes: list[dict[str, str]] = [{} for _ in results]


class Module:
    """Functions with distinct names."""

    def __init__(self, name: str):
        self.name = name
        self.functions: list[Function] = []
        self.shared: dict[Any, Function] = {}         # what a function was made from -> it
        self.kept: list[Any] = []                     # objects whose ids are keys of `shared`
        self.origin: Origin | None = None             # of the operations being written
        self._names: set[str] = set()
        self._clashes = 0

    def add_function(self, name: str, arg_types: Sequence[TensorType],
                     results: Sequence[TensorType], public: bool = False) -> Function:
        """A new, empty function; a name in use gets a number."""
        unique = name
        while unique in self._names:
            unique = f"{name}_{self._clashes}"
            self._clashes += 1
        self._names.add(unique)
        function = Function(unique, arg_types, results, public)
        self.functions.append(function)
        return function


_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")


def symbol_text(name: str) -> str:
    """`@name`, quoted where it has to be."""
    return f"@{name}" if _BARE.fullmatch(name) else f"@{string_text(name)}"


def string_text(text: str) -> str:
    """A string literal; quotes, backslashes and what is not printable as two hex digits a byte."""
    out = []
    for byte in text.encode():
        plain = 32 <= byte < 127 and byte not in (34, 92)
        out.append(chr(byte) if plain else f"\\{byte:02X}")
    return f'"{"".join(out)}"'
