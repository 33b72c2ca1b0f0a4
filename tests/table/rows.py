"""Reads the table: one line a function, in text.

    name: call ; call @ options => reference
    name = expression ; expression @ options => reference

`name` is a function of the table's module; a call is its arguments, in terms of the arrays of
`arrays.pool`. With `=` the whole expression is written out (several results, functions of
functions). Options: a group of dtypes (`GROUPS`, one is needed unless dtypes do not matter),
`grad` (differentiable: compared with difference quotients), `nojit` and `novmap` (shapes depend on
values, or arguments that no tracer can stand for), `nojax` (not compared with JAX), `same` (the
reference gets the very dtype, not a wide one), `tol=…` (against the reference, for float32).

The reference is a function (`np.sin`), an expression in which `...` stands for the call
(`np.round(...)`), `itself` for the expression with NumPy and SciPy in the place of JAX's modules, or
`-` for none: then only JAX is a reference. Left out, it is the function of the same name in the
table's reference module.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FLOATS = ("float32", "float16", "bfloat16")
GROUPS = {
    "f32": ("float32",),
    "none": (),
    "int": ("int32", "int8", "uint8", "uint32", "int16"),
    "bits": ("int32", "bool", "int8", "uint8", "uint32"),
    "float": FLOATS,
    "wide": ("float32", "complex64"),
    "inexact": ("float32", "complex64", "float16", "bfloat16"),
    "real": ("float32", "int32", "float16", "uint8", "bfloat16", "int8"),
    "number": ("float32", "int32", "complex64", "float16", "uint8", "bfloat16"),
    "any": ("float32", "int32", "bool", "complex64", "float16", "uint8", "bfloat16", "int8"),
}
_FLAGS = ("grad", "nojit", "novmap", "nojax", "same")


class Row(NamedTuple):
    """What is known about one function, and how it is called."""

    module: str
    name: str
    texts: tuple[str, ...]
    references: tuple[str | None, ...]
    dtypes: tuple[str, ...]
    flags: frozenset
    tolerance: float

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def table(module: str, prefix: str, reference: str | None, text: str) -> list[Row]:
    """The rows of a module. `prefix` names it in expressions, `reference` its reference module."""
    lines = [line.strip() for line in text.splitlines()]
    return [_row(module, prefix, reference, line) for line in lines
            if line and not line.startswith("#")]  # fmt: skip


def _row(module: str, prefix: str, reference: str | None, line: str) -> Row:
    """
    >>> _row("numpy", "jnp", "np", "sum: x ; x, axis=1 @ any grad tol=1e-5").texts
    ('jnp.sum(x)', 'jnp.sum(x, axis=1)')
    """
    line, _, given = line.partition(" => ")
    line, _, options = line.rpartition(" @ ")
    name, kind, calls = re.match(r"(\w+)\s*([=:])(.*)", line).groups()
    calls = [c.strip() for c in calls.split(" ; ")]
    whole = kind == "="
    texts = calls if whole else [f"{prefix}.{name}({c})" for c in calls]
    known = given.strip() or (f"{reference}.{name}" if reference and not whole else "-")
    dtypes, flags, tolerance = (), set(), 0.0
    for word in options.split():
        if word in GROUPS:
            dtypes = GROUPS[word]
        elif word.startswith("tol="):
            tolerance = float(word[4:])
        elif word in _FLAGS:
            flags.add(word)
        else:
            raise ValueError(f"{word!r} in the row of {name} is no option")
    return Row(module, name, tuple(texts), tuple(_reference(known, c, whole) for c in calls),
               dtypes or ("float32",), frozenset(flags), tolerance)


def _reference(known: str, call: str, whole: bool) -> str | None:
    if known == "-":
        return None
    if known == "itself":
        return re.sub(r"\bjnp\b", "np", re.sub(r"\bjsp\b", "sp", call))
    if re.fullmatch(r"[\w.]+", known) and not whole:
        return f"{known}({call})"
    return known.replace("...", call)
