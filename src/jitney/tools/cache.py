"""`python -m jitney cache info|trim|clear`: the machine code kept on disk.

In: the folder of `backend/object_cache.py` (`JITNEY_CACHE_DIR`). Out: what is in it; or fewer
files. Other processes may use the folder meanwhile: they compile again what they miss.
"""

import os
import time

from jitney.backend import object_cache
from jitney.tools.measure import nbytes

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def add_arguments(parser) -> None:
    parser.add_argument("action", choices=("info", "trim", "clear"))
    parser.add_argument(
        "--limit",
        metavar="SIZE",
        type=size_of,
        help="for trim: what to keep at most, e.g. 100M (default: JITNEY_CACHE_BYTES or 512M)",
    )


def size_of(text: str) -> int:
    """'100M' as bytes.

    >>> size_of("2k")
    2048
    """
    digits = text.lower().rstrip("ib").rstrip("kmg")
    unit = text.lower().rstrip("ib")[len(digits) :]
    return int(float(digits) * _UNITS[unit])


def run(options) -> int:
    """The command."""
    folder = object_cache.cache_folder()
    if folder is None:
        print(
            "no cache: JITNEY_CACHE_DIR is empty, or its folder belongs to someone else or is "
            "open to others"
        )
        return 1
    if options.action == "info":
        print("\n".join(info_lines(folder)))
    elif options.action == "trim":
        dropped = object_cache.trim(folder, options.limit)
        print(f"dropped {dropped} kernels; {summary(folder)}")
    else:
        dropped = object_cache.trim(folder, 0)
        print(f"dropped {dropped} kernels from {folder}")
    return 0


def info_lines(folder: str) -> list[str]:
    """Where, how many, how large, how old."""
    known = object_cache.entries(folder)
    bound = int(os.environ.get("JITNEY_CACHE_BYTES", object_cache.DEFAULT_BYTES))
    lines = [
        f"folder     {folder}",
        f"kernels    {len(known)}",
        f"size       {nbytes(sum(size for _, size, _ in known))}",
        f"bound      {nbytes(bound)}",
    ]
    if known:
        lines.append(f"last used  {age(max(used for used, _, _ in known))}")
        lines.append(f"first used {age(min(used for used, _, _ in known))}")
    return lines


def summary(folder: str) -> str:
    known = object_cache.entries(folder)
    return f"{len(known)} kernels, {nbytes(sum(size for _, size, _ in known))} are left"


def age(moment: float) -> str:
    """A point in time as how long ago it was."""
    passed = max(0.0, time.time() - moment)
    for word, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if passed >= length:
            n = int(passed // length)
            return f"{n} {word}{'' if n == 1 else 's'} ago"
    return "just now"
