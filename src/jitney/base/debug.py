"""Three debug variables and the counters tests rely on.

`JITNEY_DEBUG=topic,…[@function]` prints those topics, `JITNEY_DUMP=dir` writes a folder per
compilation, `JITNEY_CHECK=0|1|2` verifies, or verifies and interprets, every stage.
`count("traces")` and friends feed `counts()`, by which tests state performance contracts.
"""

from __future__ import annotations

import os
import sys
from collections import Counter

TOPICS = ("jaxpr", "graph", "kernels", "plan", "llvm", "asm", "time", "cache", "rules", "compile")


def _parse_topics(text: str) -> tuple[frozenset[str], str]:
    topics, _, function = text.partition("@")
    names = frozenset(t.strip() for t in topics.split(",") if t.strip())
    if "help" in names:
        print("JITNEY_DEBUG topics:", ", ".join(TOPICS), "(or all)", file=sys.stderr)
    if "all" in names:
        names = frozenset(TOPICS)
    return names, function.strip()


_topics, _function = _parse_topics(os.environ.get("JITNEY_DEBUG", ""))
_check = int(os.environ.get("JITNEY_CHECK", "0") or 0)
_dump = os.environ.get("JITNEY_DUMP", "")
_counts: Counter[str] = Counter()


def enabled(topic: str, function: str = "") -> bool:
    """Whether `topic` is to be printed (for this traced function)."""
    return topic in _topics and (not _function or not function or function == _function)


def any_enabled() -> bool:
    """Whether any topic is to be printed at all."""
    return bool(_topics)


def log(topic: str, text: str, function: str = "") -> None:
    if enabled(topic, function):
        print(f"[{topic}] {text}", file=sys.stderr)


def log_always(topic: str, text: str) -> None:
    print(f"[{topic}] {text}", file=sys.stderr)


def check_level() -> int:
    """0: trust; 1: verify after every stage; 2: also interpret every stage and compare."""
    return _check


def dump_directory() -> str:
    return _dump


def configure(*, debug: str | None = None, check: int | None = None, dump: str | None = None):
    """Set the three variables from Python (tests, notebooks)."""
    global _topics, _function, _check, _dump
    if debug is not None:
        _topics, _function = _parse_topics(debug)
    if check is not None:
        _check = check
    if dump is not None:
        _dump = dump


def count(event: str, by: int = 1) -> None:
    _counts[event] += by


def counts() -> dict[str, int]:
    """Events so far: traces, compiles, eager_compiles, …"""
    return dict(_counts)


def reset_counts() -> None:
    _counts.clear()
