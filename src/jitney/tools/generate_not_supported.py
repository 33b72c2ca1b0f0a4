"""Writes docs/not_supported.md: JAX's names that are here only to say no, and why.

In: every module of the package, searched for what `base/unsupported.py` made. Out: the page.
`python -m jitney.tools.generate_not_supported [FILE]`, in the repository's folder.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import jitney
from jitney.base.unsupported import name_of, reason_of

DOCUMENT = "docs/not_supported.md"
_INTERNAL = ("tools", "testing", "_native", "__main__")
_HEAD = """# Names that are not supported

These {count} public names of JAX 0.10 exist here, so that modules that mention them can be
imported; using one raises `NotImplementedError` with the text below. They are about several hosts,
services that watch a program, other hardware, or arrays that change. What behaves otherwise than
in JAX is in [sharp_edges.md](sharp_edges.md); `python -m jitney coverage` compares all names.

This page is written by `python -m jitney.tools.generate_not_supported`; a test fails when it is out
of date.
"""


def found() -> dict[str, str]:
    """JAX's name -> the reason, for every such name of the package."""
    names: dict[str, str] = {}
    for info in pkgutil.walk_packages(jitney.__path__, "jitney."):
        if info.name.split(".")[1] in _INTERNAL:
            continue
        for value in vars(importlib.import_module(info.name)).values():
            if reason_of(value):
                names[name_of(value)] = reason_of(value) or ""
    return dict(sorted(names.items()))


def write() -> str:
    """The page."""
    names = found()
    by_reason: dict[str, list[str]] = {}
    for name, reason in names.items():
        by_reason.setdefault(reason, []).append(name)
    lines = [_HEAD.format(count=len(names)), "| names | why, and what to do |", "|---|---|"]
    for reason, group in sorted(by_reason.items(), key=lambda pair: pair[1]):
        shown = reason[:1].upper() + reason[1:]
        lines.append(f"| {', '.join(f'`{n}`' for n in group)} | {shown} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    Path(arguments[0] if arguments else DOCUMENT).write_text(write())


if __name__ == "__main__":
    main(sys.argv[1:])
