"""The text of a program: names for its values, then its lines.

In: an `ops.Module`. Out: the text MLIR itself prints for that module, so that parsing it and
printing it again gives the same text.
Invariant: names follow MLIR's way: the operations of a block are named before those of the
regions inside it; arguments are `%argN`, constants `%c` and `%cst`, other results numbers; a name
taken already gets `_N`.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitney.base import dtypes
from jitney.stablehlo.forms import FORMS, generic_form
from jitney.stablehlo.ops import Block, Function, Module, Op, Value, string_text, symbol_text

_MODULE_ATTRIBUTES = "mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32"
_RESULT_NAMES = {"chlo.top_k": ("values", "indices")}


def module_as_text(module: Module, debug_info: bool = False) -> str:
    """The whole module; with `debug_info`, where its operations come from."""
    lines = [f"module {symbol_text(module.name)} attributes {{{_MODULE_ATTRIBUTES}}} {{"]
    for function in module.functions:
        lines += _function_lines(function, debug_info)
    return "\n".join([*lines, "}", ""])


def _function_lines(function: Function, debug_info: bool) -> list[str]:
    printer = Printer(function.block, debug_info)
    args = [f"{printer.name(a)}: {a.type}{_attributes_text(attributes)}"
            for a, attributes in zip(function.block.args, function.arg_attributes, strict=True)]
    results = [f"{t}{_attributes_text(attributes)}"
               for t, attributes in zip(function.results, function.result_attributes, strict=True)]
    one_plain = len(results) == 1 and not function.result_attributes[0]
    outcome = results[0] if one_plain else f"({', '.join(results)})"
    arrow = f" -> {outcome}" if results else ""
    visibility = "public" if function.public else "private"
    head = f"  func.func {visibility} {symbol_text(function.name)}({', '.join(args)}){arrow} {{"
    return [head, *printer.lines(function.block, 4, top=True), "  }"]


def _attributes_text(attributes: dict[str, str]) -> str:
    if not attributes:
        return ""
    return f" {{{', '.join(f'{k} = {v}' for k, v in sorted(attributes.items()))}}}"


def result_info(text: str) -> dict[str, str]:
    """The attribute that says which part of the function's result this is."""
    return {"jax.result_info": string_text(text)}


def _origin_text(op: Op) -> str:
    if op.origin is None:
        return " loc(unknown)"
    name, file, line = op.origin
    return f" loc({string_text(name)}({string_text(file)}:{line}:0))"


# --- names -----------------------------------------------------------------------------------


class _Counters:
    """The next numbers for results, arguments and clashes."""

    __slots__ = ("value", "argument", "clash")

    def __init__(self, value: int = 0, argument: int = 0, clash: int = 0):
        self.value, self.argument, self.clash = value, argument, clash

    def copy(self) -> _Counters:
        return _Counters(self.value, self.argument, self.clash)


class Printer:
    """Names of the values of one function, and the lines of its blocks."""

    def __init__(self, block: Block, debug_info: bool = False):
        self._debug_info = debug_info
        self._names: dict[Value, str] = {}
        self._name_block(block, _Counters(), frozenset(), None)

    def name(self, value: Value) -> str:
        return self._names[value]

    def names(self, values: Sequence[Value]) -> str:
        return ", ".join([self._names[v] for v in values])

    def _name_block(self, block: Block, counters: _Counters, taken: frozenset,
                    parent: Op | None) -> None:
        used = set(taken)
        for arg in block.args:
            if parent is not None and parent.name == "stablehlo.while":
                self._names[arg] = "%" + _unique("iterArg", used, counters)
            else:
                self._names[arg] = "%" + _unique(f"arg{counters.argument}", used, counters)
                counters.argument += 1
        for op in block.ops:
            self._name_results(op, used, counters)
        inner = frozenset(used)
        for op in block.ops:
            for region in op.regions:
                self._name_block(region, counters.copy(), inner, op)

    def _name_results(self, op: Op, used: set, counters: _Counters) -> None:
        results = op.results
        if not results:
            return
        wanted = _RESULT_NAMES.get(op.name)
        if op.name == "stablehlo.constant":
            integral = not dtypes.is_inexact(results[0].dtype)
            wanted = ("c" if integral else "cst",)
        if wanted is not None:
            for result, name in zip(results, wanted, strict=True):
                self._names[result] = "%" + _unique(name, used, counters)
            return
        number = counters.value
        counters.value += 1
        if len(results) == 1:
            self._names[results[0]] = f"%{number}"
            return
        for i, result in enumerate(results):
            self._names[result] = f"%{number}#{i}"

    # --- lines

    def lines(self, block: Block, indent: int, top: bool = False) -> list[str]:
        """The lines of a block's operations; `top` for the body of a function."""
        out = []
        for op in block.ops:
            form = FORMS.get(op.name, generic_form)
            text = f"{' ' * indent}{self._bound(op)}{form(self, op, indent)}"
            if top and op.name.startswith("func."):
                text = text.replace("func.", "", 1)
            out.append(text + _origin_text(op) if self._debug_info else text)
        return out

    def _bound(self, op: Op) -> str:
        results = op.results
        if not results:
            return ""
        if len(results) == 1 or op.name in _RESULT_NAMES:
            return f"{self.names(results)} = "
        return f"{self._names[results[0]].partition('#')[0]}:{len(results)} = "

    def region(self, block: Block, indent: int, header: bool = True) -> str:
        """`{ … }` on lines of its own, with the arguments' line where there are arguments."""
        lines = ["{"]
        if header and block.args:
            args = ", ".join(f"{self._names[a]}: {a.type}" for a in block.args)
            lines.append(f"{' ' * indent}^bb0({args}):")
        lines += self.lines(block, indent + 2)
        return "\n".join([*lines, f"{' ' * indent}}}"])


def _unique(name: str, used: set, counters: _Counters) -> str:
    found = name
    while found in used:
        found = f"{name}_{counters.clash}"
        counters.clash += 1
    used.add(found)
    return found
