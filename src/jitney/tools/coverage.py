"""`python -m jitney.tools.coverage FILE`: which of JAX's names are here, with which signatures.

In: a JSON file of JAX's public names by module, `{"modules": {"jax.lax": {"add": {"kind":
"function", "signature": "(x: 'ArrayLike', y: 'ArrayLike') -> 'Array'"}}}}`, made once where JAX is
installed; JAX is never imported here. `jax.X` is looked up as `jitney.X`. Out: a line for each
module; on request the missing names, the functions that only say that they are not supported
(`base/unsupported.py`), and the signatures that differ.

Exit status: 0 if everything asked about agrees; 1 if names are missing (or, with `--signatures`,
signatures differ); 2 if the file cannot be read.
"""

from __future__ import annotations
import __future__

import argparse
import importlib
import inspect
import json
import re
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from jitney.base.unsupported import reason_of
from jitney.core.primitive import Primitive

_OPEN, _CLOSE = "([{<", ")]}>"
_SAYS_NOTHING = "(*args, **kwargs)"
_NO_DEFAULT = ""
_OBJECT = "…"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a signature: its name, its kind's mark and its default's text."""

    name: str
    kind: str  # 'positional', 'either', 'rest', 'keyword' or 'keywords'
    default: str = _NO_DEFAULT

    def __str__(self) -> str:
        star = {"rest": "*", "keywords": "**"}.get(self.kind, "")
        return star + self.name + (f"={self.default}" if self.default else "")


@dataclass
class ModuleCoverage:
    """What was found for one module."""

    name: str
    total: int
    missing: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    compared: int = 0
    differing: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def present(self) -> int:
        return self.total - len(self.missing)


# ---------------------------------------------------------------------- signatures as text
def parse_signature(text: str) -> list[Parameter]:
    """The parameters of a signature's text; annotations are dropped.

    Of a text that is cut short (it ends in an ellipsis) the last parameter is dropped as well.

    >>> [str(p) for p in parse_signature("(x: 'A | None', /, *, n: 'int' = 3) -> 'A'")]
    ['x', 'n=3']
    """
    kind, found = "either", []
    inside = _inside(text.strip())
    for part in _split(inside)[: -1 if is_cut(text) else None]:
        if part == "/":
            found = [Parameter(p.name, "positional", p.default) for p in found]
        elif part == "*":
            kind = "keyword"
        elif part.startswith("**"):
            found.append(Parameter(_name(part[2:]), "keywords"))
        elif part.startswith("*"):
            found.append(Parameter(_name(part[1:]), "rest"))
            kind = "keyword"
        else:
            found.append(Parameter(_name(part), kind, _default(part)))
    return found


def is_cut(text: str) -> bool:
    """Whether the text of a signature ends before the signature does."""
    return text.rstrip().endswith("…")


def _inside(text: str) -> str:
    """What stands between the first parenthesis and the one that closes it."""
    depth = 0
    if is_cut(text):
        return text[1:]
    for i, c in _outside_strings(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text[1:i]
    raise ValueError(f"{text!r} is not a signature: its parentheses do not close")


def _outside_strings(text: str):
    """(position, character) of the text outside of quotes; `->` is no closing bracket."""
    quote = ""
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif not (c == ">" and text[i - 1 : i] == "-"):
            yield i, c


def _split(text: str) -> list[str]:
    """Parts at the commas outside of brackets and quotes."""
    depth, start, parts = 0, 0, []
    for i, c in _outside_strings(text):
        depth += (c in _OPEN) - (c in _CLOSE)
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in [*parts, text[start:]] if p.strip()]


def _name(part: str) -> str:
    return re.split(r"[:=\s]", part.strip(), maxsplit=1)[0]


def _default(part: str) -> str:
    depth = 0
    for i, c in _outside_strings(part):
        depth += (c in _OPEN) - (c in _CLOSE)
        if c == "=" and depth == 0:
            return plain_default(part[i + 1 :].strip())
    return _NO_DEFAULT


def plain_default(text: str) -> str:
    """A default's text without what says in which package or at which address it lives.

    >>> plain_default("<function add at 0x7f>"), plain_default("jax.numpy.float32"), \
plain_default("1e-05")
    ('…', 'float32', '1e-05')
    """
    if text.startswith("<class "):
        return text.rstrip("'>").rpartition(".")[2]
    if text.startswith("<"):
        return _OBJECT
    return re.sub(r"\b(jax|jitney|numpy|np)(\.\w+)*\.(?=\w)", "", text)


def signature_of(value: Any) -> list[Parameter] | None:
    """The parameters of a function of this package; None where Python cannot tell."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    kinds = {
        inspect.Parameter.POSITIONAL_ONLY: "positional",
        inspect.Parameter.POSITIONAL_OR_KEYWORD: "either",
        inspect.Parameter.VAR_POSITIONAL: "rest",
        inspect.Parameter.KEYWORD_ONLY: "keyword",
        inspect.Parameter.VAR_KEYWORD: "keywords",
    }
    return [
        Parameter(p.name, kinds[p.kind],
                  _NO_DEFAULT if p.default is p.empty else plain_default(repr(p.default)))
        for p in found.parameters.values()
    ]  # fmt: skip


def same_signature(ours: list[Parameter], theirs: list[Parameter]) -> bool:
    """Whether every call that JAX takes means the same here (names, kinds, order, defaults).

    Further parameters of ours that may be left out do no harm, nor does a bare `*args` of JAX,
    which says nothing. Defaults that are objects without a text of their own are taken as equal.
    """
    ordered, named = _by_order(ours)
    expected, wanted = _by_order(theirs)
    if [p.kind for p in expected] == ["rest"] and not any(p.kind == "rest" for p in ordered):
        expected = ordered
    known = {_key(p): p for p in named}
    spare = ordered[len(expected):] + [p for p in named if _key(p) not in map(_key, wanted)]
    return (len(ordered) >= len(expected)
            and all(p.default or p.kind in ("rest", "keywords") for p in spare)
            and all(_matches(a, b) for a, b in zip(ordered, expected))
            and all(_matches(known.get(_key(p)), p) for p in wanted))


def _by_order(parameters: list[Parameter]) -> tuple[list[Parameter], list[Parameter]]:
    """Those whose place matters, and those given by name."""
    named = [p for p in parameters if p.kind in ("keyword", "keywords")]
    return [p for p in parameters if p not in named], named


def _key(p: Parameter) -> str:
    return "**" if p.kind == "keywords" else p.name


def _matches(a: Parameter | None, b: Parameter) -> bool:
    if a is None or a.kind != b.kind:
        return False
    named = a.kind in ("either", "keyword")
    known = b.default and _OBJECT not in (a.default, b.default)
    return ((a.name == b.name or not named) and bool(a.default) >= bool(b.default)
            and (a.default == b.default or not known))


def written(parameters: list[Parameter]) -> str:
    """Parameters as a signature's text.

    >>> written(parse_signature("(x, /, y, *, n=3)"))
    '(x, /, y, *, n=3)'
    """
    parts = [str(p) for p in parameters]
    kinds = [p.kind for p in parameters]
    if "keyword" in kinds and "rest" not in kinds:
        parts.insert(kinds.index("keyword"), "*")
    if "positional" in kinds:
        parts.insert(kinds.count("positional"), "/")
    return f"({', '.join(parts)})"


# ---------------------------------------------------------------------- comparison
def our_module(name: str) -> ModuleType | None:
    """The module that stands for `jax.X`; None if there is none."""
    ours = "jitney" + name.removeprefix("jax")
    try:
        return importlib.import_module(ours)
    except ModuleNotFoundError as error:
        if error.name is not None and (ours == error.name or ours.startswith(error.name + ".")):
            return None
        raise


def compare_module(name: str, names: dict[str, dict]) -> ModuleCoverage:
    """What this package has of the names of one module."""
    found, module = ModuleCoverage(name, len(names)), our_module(name)
    for entry, facts in names.items():
        value = getattr(module, entry, None)
        if not hasattr(module, entry):
            found.missing.append(entry)
        elif reason_of(value):
            found.unsupported.append(entry)
        elif facts.get("kind") == "function" and facts.get("signature") not in (
                None, _SAYS_NOTHING):
            _compare_signature(found, entry, value, facts["signature"])
    return found


def _compare_signature(found: ModuleCoverage, entry: str, value: Any, text: str) -> None:
    ours, theirs = signature_of(value), parse_signature(text)
    if ours is None:
        return
    found.compared += 1
    if is_cut(text):
        ours = ours[: len(theirs)]
    if not same_signature(ours, theirs):
        found.differing[entry] = (written(ours), written(theirs))


def compare(surface: dict) -> list[ModuleCoverage]:
    """The coverage of every module of a surface."""
    return [compare_module(name, names) for name, names in surface["modules"].items()]


def read_surface(path: str) -> dict:
    """The file's content; ValueError if it is not a surface."""
    try:
        with open(path, encoding="utf-8") as file:
            surface = json.load(file)
    except (OSError, json.JSONDecodeError) as error:
        raise ValueError(f"cannot read {path!r}: {error}") from None
    modules = surface.get("modules") if isinstance(surface, dict) else None
    if not isinstance(modules, dict) or not all(isinstance(m, dict) for m in modules.values()):
        raise ValueError(f"{path!r} holds no {{'modules': {{'jax.lax': {{'add': …}}}}}}")
    return surface


def public_names(name: str) -> dict[str, Any]:
    """What the module that stands for `jax.X` offers, by name, modules apart.

    ValueError if there is no such module.
    """
    module = our_module(name)
    if module is None:
        raise ValueError(f"there is no module that stands for {name!r}")
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    found = {n: getattr(module, n) for n in sorted(names)}
    return {n: v for n, v in found.items() if not _is_borrowed(module, v)}


def _is_borrowed(module: ModuleType, value: Any) -> bool:
    """Whether a value only stands in a module because the module uses it."""
    if isinstance(value, (ModuleType, __future__._Feature)):
        return True
    whole = hasattr(module, "__all__") or hasattr(module, "__path__")  # it says what it offers
    return not whole and getattr(value, "__module__", module.__name__) != module.__name__


def present_functions(name: str) -> list[str]:
    """The functions of the module that stands for `jax.X`, without those that only refuse.

    >>> "sin" in present_functions("jax.numpy"), "float32" in present_functions("jax.numpy")
    (True, False)
    """
    return [n for n, v in public_names(name).items()
            if callable(v) and not isinstance(v, (type, Primitive)) and not reason_of(v)]


# ---------------------------------------------------------------------- the report
def percent(part: int, whole: int) -> str:
    """A share, never rounded up to all of it.

    >>> percent(999, 1000), percent(3, 3), percent(0, 0)
    ('99.9 %', '100 %', '100 %')
    """
    if part == whole:
        return "100 %"
    return f"{int(1000 * part / whole) / 10:.1f} %"


def table(found: list[ModuleCoverage]) -> list[str]:
    """One line a module, and their sum."""
    width = max([len(m.name) for m in found] + [len("module")])
    rows = [(m.name, m.present, m.total, len(m.unsupported), m.compared, len(m.differing))
            for m in found]  # fmt: skip
    rows.append(("all", *(sum(row[i] for row in rows) for i in range(1, 6))))
    lines = [f"{'module':{width}}  present           share  unsupported  signatures that differ"]
    for name, present, total, unsupported, compared, differing in rows:
        lines.append(f"{name:{width}}  {present:5d} of {total:5d}  {percent(present, total):>7}  "
                     f"{unsupported:11d}  {differing:6d} of {compared:5d}")
    return lines


def report(found: list[ModuleCoverage], missing: bool, signatures: bool) -> list[str]:
    """The table and what was asked for."""
    lines = table(found)
    if missing:
        for m in found:
            lines += [f"missing  {m.name}.{entry}" for entry in m.missing]
            lines += [f"unsupported  {m.name}.{entry}" for entry in m.unsupported]
    if signatures:
        for m in found:
            for entry, (ours, theirs) in m.differing.items():
                lines += [f"differs  {m.name}.{entry}", f"    here  {ours}", f"    JAX   {theirs}"]
    return lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="JAX's names and signatures, as JSON")
    parser.add_argument("--missing", action="store_true",
                        help="list the names that are missing or not supported")
    parser.add_argument("--signatures", action="store_true",
                        help="list the signatures that differ, and let them decide the status")
    parser.add_argument("--module", action="append", metavar="NAME",
                        help="look at this module only, e.g. jax.lax (may be repeated)")


def run(options) -> int:
    """The command."""
    try:
        surface = read_surface(options.file)
        unknown = set(options.module or ()) - set(surface["modules"])
        if unknown:
            raise ValueError(f"no module {sorted(unknown)[0]!r} in {options.file!r}; it has "
                             f"{', '.join(surface['modules'])}")
    except ValueError as error:
        print(f"coverage: {error}", file=sys.stderr)
        return 2
    if options.module:
        surface = {"modules": {m: surface["modules"][m] for m in options.module}}
    found = compare(surface)
    print("\n".join(report(found, options.missing, options.signatures)))
    return int(any(m.missing or (options.signatures and m.differing) for m in found))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(prog="python -m jitney.tools.coverage",
                                        description=__doc__.split("\n", 1)[0])
    add_arguments(arguments)
    sys.exit(run(arguments.parse_args()))
