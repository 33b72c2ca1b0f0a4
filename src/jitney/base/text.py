"""A small pretty printer: documents with groups that are laid out flat when they fit.

A document is a string, a list of documents, `line(flat)` (a newline, or `flat` inside a flat
group), `nest(n, doc)` or `group(doc)`. A group is flat when its own text fits in what is left of
the line; what follows it does not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

LINE, NEST, GROUP = "line", "nest", "group"


NOTE = "\0"                # a string that begins so takes no room: the caller will move it


def line(flat: str = " ") -> tuple:
    return (LINE, flat)


def nest(by: int, doc: Any) -> tuple:
    return (NEST, by, doc)


def group(doc: Any) -> tuple:
    return (GROUP, doc)


def join(separator: Any, docs: Iterable[Any]) -> list:
    out: list = []
    for doc in docs:
        if out:
            out.append(separator)
        out.append(doc)
    return out


def _fits(doc: Any, room: int) -> bool:
    pending = [doc]
    while pending:
        doc = pending.pop()
        if isinstance(doc, str):
            room -= 0 if doc.startswith(NOTE) else len(doc)
            if room < 0:
                return False
        elif isinstance(doc, list):
            pending.extend(reversed(doc))
        elif doc[0] is LINE:
            room -= len(doc[1])
            if room < 0:
                return False
        else:
            pending.append(doc[-1])
    return True


def render(doc: Any, width: int = 80) -> str:
    """The document as text, broken to stay within `width` columns where groups allow."""
    out: list[str] = []
    column = 0
    pending: list[tuple[int, bool, Any]] = [(0, False, doc)]
    while pending:
        indent, flat, doc = pending.pop()
        if isinstance(doc, str):
            out.append(doc)
            newline = doc.rfind("\n")
            column = column + len(doc) if newline < 0 else len(doc) - newline - 1
        elif isinstance(doc, list):
            pending.extend((indent, flat, d) for d in reversed(doc))
        elif doc[0] is LINE:
            if flat:
                out.append(doc[1])
                column += len(doc[1])
            else:
                out.append("\n" + " " * indent)
                column = indent
        elif doc[0] is NEST:
            pending.append((indent + doc[1], flat, doc[2]))
        else:
            pending.append((indent, flat or _fits(doc[1], width - column), doc[1]))
    return "".join(out)
