"""Jaxprs as text, as JAX 0.10 prints them.

Names are given in order of appearance: a, b, …, z, ba, bb, …. A jaxpr that occurs in several
equations, or is long, is printed once, above, under a name of its own. Inside the equations of
a `jit` the inner program uses the outer names of its arguments and results.
Invariant: the text depends on the program only, never on addresses or on history.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from jitney.base.text import NOTE as _NOTE
from jitney.base.text import group, join, line, nest, render
from jitney.core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    _printers,
    jaxprs_in_params,
    literal_text,
)

_LONG = 10                          # equations; longer programs are printed on their own
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _variable_name(count: int) -> str:
    name = _LETTERS[count % 26]
    while count >= 26:
        count //= 26
        name = _LETTERS[count % 26] + name
    return name


class Options(NamedTuple):
    """What is shown."""

    print_shapes: bool = True            # types of variables
    custom_pp_eqn_rules: bool = True     # hide parameters with their usual values
    print_effects: bool = False          # effects of whole programs
    source_info: bool = False            # the user's line, behind each equation
    width: int = 80


class _Context:
    """Names given so far, and the options."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.names: dict[Var, str] = {}
        self.shared: dict[int, str] = {}          # id of a jaxpr printed above -> its name
        self.count = self.depth = 0
        self.taken: set[str] = set()

    def name(self, var: Var) -> str:
        if type(var) is DropVar and not (var.by_tracing and self.depth > 1):
            return "_"
        found = self.names.get(var)
        if found is None:
            found = _variable_name(self.count)
            self.count += 1
            while found in self.taken:
                found = _variable_name(self.count)
                self.count += 1
            self.names[var] = found
        return found

    def atom(self, atom: Any) -> str:
        return literal_text(atom) if type(atom) is Literal else self.name(atom)

    def bind(self, inner: Any, name: str) -> None:
        if type(inner) is Var:
            self.names.setdefault(inner, name)


def _typed(context: _Context, variables: list) -> list:
    docs: list = []
    for var in variables:
        name = context.name(var)
        docs.append([group([line(), name]) if docs else name,
                     ":" + var.aval.str_short(short_dtypes=True)
                     if context.options.print_shapes else ""])
    return docs


def _jaxpr_doc(jaxpr: Jaxpr, context: _Context) -> Any:
    context.depth += 1
    head = ["{ lambda ", _typed(context, jaxpr.constvars), "; ",
            _typed(context, jaxpr.invars), ". let"]
    eqns = join(line("; "), [_eqn_doc(eqn, context) for eqn in jaxpr.eqns])
    outs = [context.atom(v) for v in jaxpr.outvars]
    listed = [group([line(), out, ","]) if i else out + "," for i, out in enumerate(outs)]
    if len(outs) > 1:
        listed[-1] = group([line(), outs[-1]])
    context.depth -= 1
    effects = ""
    if context.options.print_effects:
        effects = f" : {{ {', '.join(sorted(map(str, jaxpr.effects)))} }}"
    return group([nest(4, [*head, line(), eqns]),
                  nest(2, line()), "in (", nest(4, listed), f"){effects} }}"])


def _eqn_doc(eqn: JaxprEqn, context: _Context) -> Any:
    left = [*nest(2, _typed(context, eqn.outvars))[2], " = "] if eqn.outvars else []
    params = shown_params(eqn, context.options.custom_pp_eqn_rules)
    if eqn.primitive.name == "jit":
        _share_names(eqn, context)
    note = f"{_NOTE}{eqn.source_summary()}" if context.options.source_info else ""
    return group([nest(2, left), _application_doc(eqn, params, context), note])


def _application_doc(eqn: JaxprEqn, params: dict, context: _Context) -> Any:
    args: list[Any] = [group([line(), context.atom(v)]) for v in eqn.invars]
    return [eqn.primitive.name, _params_doc(params, context), nest(2, list(args) or [" "])]


def _share_names(eqn: JaxprEqn, context: _Context) -> None:
    """Let the program inside a `jit` use the names around it, unless it is printed above."""
    inner = eqn.params["jaxpr"].jaxpr
    if id(inner) in context.shared:
        return
    given: set[str] = set()
    for outer_var, inner_var in zip(eqn.invars, inner.invars):
        name = context.names.get(outer_var) if type(outer_var) is Var else None
        if name is not None and name not in given:
            given.add(name)
            context.bind(inner_var, name)
    for outer_var, inner_var in zip(eqn.outvars, inner.outvars):
        context.bind(inner_var, context.name(outer_var))


def shown_params(eqn: JaxprEqn, custom: bool = True) -> dict:
    """The parameters a reader sees: `name` first, then by alphabet; all unless `custom`."""
    params = eqn.params
    if custom and eqn.primitive.params_for_print is not None:
        params = eqn.primitive.params_for_print(params, eqn)
    ordered = {"name": params["name"]} if "name" in params else {}
    ordered.update((k, params[k]) for k in sorted(params) if k != "name")
    return ordered


def _params_doc(params: dict, context: _Context) -> Any:
    if not params:
        return ""
    docs = [[f"{name}=", _value_doc(value, context)] for name, value in params.items()]
    return group(["[", nest(2, [line(""), join(line(), docs)]), line(""), "]"])


def _value_doc(value: Any, context: _Context) -> Any:
    if isinstance(value, ClosedJaxpr):
        value = value.jaxpr
    if isinstance(value, Jaxpr):
        name = context.shared.get(id(value))
        return name if name is not None else _jaxpr_doc(value, context)
    if type(value) in (tuple, list) and value and all(
            isinstance(v, (Jaxpr, ClosedJaxpr)) for v in value):
        docs = [_value_doc(v, context) for v in value]
        return group(["(", nest(2, [line(""), join(line(), docs)]), line(""), ")"])
    if callable(value) and hasattr(value, "__name__") and not isinstance(value, type):
        return value.__name__
    if hasattr(value, "names_for_print"):
        return value.names_for_print()
    return "frozenset({})" if value == frozenset() else str(value)


# --- jaxprs that occur several times ---------------------------------------------------------


def _occurrences(jaxpr: Jaxpr, seen: set[int]) -> Iterator[tuple[Jaxpr, str]]:
    """Every occurrence of a jaxpr in an equation, in order; a repeated one is entered once."""
    for eqn in jaxpr.eqns:
        for inner in jaxprs_in_params(eqn.params):
            yield inner, _proposed_name(eqn)
            if id(inner) not in seen:
                seen.add(id(inner))
                yield from _occurrences(inner, seen)


def _proposed_name(eqn: JaxprEqn) -> str:
    if eqn.primitive.name != "jit":
        return "jaxpr"
    return re.sub(r"\W+", "", str(eqn.params.get("name") or "")) or "jaxpr"


def _shared_jaxprs(jaxpr: Jaxpr, context: _Context) -> list[Jaxpr]:
    times: Counter[int] = Counter()
    first: dict[int, tuple[Jaxpr, str]] = {}
    for inner, name in _occurrences(jaxpr, set()):
        times[id(inner)] += 1
        first.setdefault(id(inner), (inner, name))
    used: Counter[str] = Counter()
    found = []
    for key, (inner, name) in first.items():
        if times[key] > 1 or len(inner.eqns) > _LONG:
            number = used[name]
            used[name] += 1
            context.shared[key] = name if number == 0 else f"{name}{number}"
            found.append(inner)
    context.taken = set(context.shared.values())
    return found


def print_program(jaxpr: Jaxpr, *, source_info: bool = False, print_shapes: bool = True,
                  custom_pp_eqn_rules: bool = True, name_stack: bool = False,
                  print_effects: bool = False, use_color: bool | None = None,
                  width: int = 80) -> str:
    """The text of a program.

    `source_info` shows the user's line behind each equation, `print_shapes` the types of variables,
    `print_effects` the effects of each program; without `custom_pp_eqn_rules` all parameters are
    shown. NotImplementedError for `name_stack` and `use_color`: neither is there.
    """
    if name_stack or use_color:
        what = "name_stack" if name_stack else "use_color"
        raise NotImplementedError(f"pretty_print({what}=True): equations keep no stack of names, "
                                  "and text is plain; source_info=True shows the user's lines")
    options = Options(print_shapes, custom_pp_eqn_rules, print_effects, source_info, width)
    return _with_notes_aligned(_print_jaxpr(jaxpr, options))


def _with_notes_aligned(text: str) -> str:
    if _NOTE not in text:
        return text
    rows = [row.partition(_NOTE) for row in text.split("\n")]
    longest = max(len(row) for row, note, _ in rows if note)
    return "\n".join(f"{row:{longest}}  # {rest}" if note else row for row, note, rest in rows)


def _print_jaxpr(jaxpr: Jaxpr, options: Options) -> str:
    context = _Context(options)
    parts = []
    context.depth = 1                    # programs printed above are inside others
    for inner in _shared_jaxprs(jaxpr, context):
        parts.append([f"let {context.shared[id(inner)]} = ", _jaxpr_doc(inner, context), " in\n"])
    context.depth = 0
    return render([*parts, _jaxpr_doc(jaxpr, context)], options.width)


def _print_equation(eqn: JaxprEqn) -> str:
    context = _Context(Options())
    for atom in eqn.invars:
        context.atom(atom)
    return render(_eqn_doc(eqn, context))


_printers["jaxpr"] = print_program
_printers["equation"] = _print_equation
