"""Times every function that NumPy has, too, side by side with NumPy.

    python benchmarks/never_slower.py [-k NAME] [--rounds 7] [--dtype float32 float64] [--size N]
                                      [--threads 1]

In: nothing. Out: a table of medians and ratios (jitney's time over NumPy's), the largest first;
ratios above 1.2 are marked. One process; in each round the eager call, NumPy's, and the jitted one
are timed in turn, so that a drift of the machine's speed hits all of them; ratios are taken round
by round. First calls (tracing, compiling) are not counted. Arrays have 10^6 elements, or what is
natural: `numpy_cases` holds the calls, and the functions that are left out, with reasons. For
float64, jitney runs with 64-bit types enabled.

Both libraries get one thread, or as many as `--threads` says (0: what the environment says): the
threads of NumPy's OpenBLAS go on spinning after a call and take the cores that the other library's
next call needs, so that on a machine with as many cores as threads two times taken in turn are not
comparable.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

_THREADS = ("JITNEY_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def _set_threads(arguments: list[str]) -> None:
    """As `--threads` says; libraries read this when they are imported."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--threads", type=int, default=1)
    threads = parser.parse_known_args(arguments)[0].threads
    if threads:
        os.environ.update({name: str(threads) for name in _THREADS})


if __name__ == "__main__":
    _set_threads(sys.argv[1:])

import numpy as np  # noqa: E402

import jitney  # noqa: E402
import jitney.numpy as jnp  # noqa: E402
from jitney.tools.measure import seconds  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

from numpy_cases import CASES, LEFT_OUT, VIEWS, unaccounted  # noqa: E402
from numpy_cases.case import Case, arrays_of  # noqa: E402

LIMIT = 1.2
ROUND_SECONDS = 0.004  # a round calls as often as fits in here
CASE_SECONDS = 6.0  # after this, no further round (but three)


@dataclass(frozen=True)
class Row:
    """Median seconds of one case; ratios are medians over rounds."""

    title: str
    dtype: str
    eager: float = float("nan")
    numpy: float = float("nan")
    jitted: float = float("nan")
    ratio: float = float("nan")
    jitted_ratio: float = float("nan")
    failure: str = ""

    @property
    def over(self) -> bool:
        return bool(self.failure) or self.ratio > LIMIT


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    missing = sorted(unaccounted(np, jnp))
    if missing:
        print("neither timed nor left out with a reason:", *missing)
    wanted = [case for case in CASES if re.search(options.k, case.title)]
    rows = []
    for dtype in options.dtype:
        with jitney.enable_x64(dtype == "float64"):
            arrays = arrays_of(options.size, dtype)
            rows += [_row(case, arrays, dtype, options) for case in wanted
                     if case.floats or dtype == options.dtype[0]]
    rows.sort(key=lambda row: (not row.failure, -row.ratio))
    print(_table(rows))
    print(_summary(rows))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 1 if missing else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="only cases whose title has this (a regex)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dtype", nargs="+", default=["float32", "float64"],
                        choices=("float32", "float64"))
    parser.add_argument("--threads", type=int, default=1,
                        help="threads of both libraries (0: as the environment says)")
    parser.add_argument("--size", type=int, default=1_000_000, help="elements of the arrays")
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    parser.add_argument("--no-jit", action="store_true", help="without the jitted calls")
    return parser.parse_args(arguments)


# --- one case -------------------------------------------------------------------------------------


def _row(case: Case, arrays: dict[str, np.ndarray], dtype: str, options) -> Row:
    """The times of one case."""
    calls = _calls(case, arrays, options)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            times = _interleaved(calls, options.rounds)
    except Exception as error:  # a case that fails is a row of the table
        return Row(case.title, dtype, failure=f"{type(error).__name__}: {error}".splitlines()[0])
    medians = {name: statistics.median(found) for name, found in times.items()}
    row = Row(case.title, dtype, **medians, ratio=_ratio(times, "eager"),
              jitted_ratio=_ratio(times, "jitted"))
    print(_line(row, 40), file=sys.stderr)
    return row


def _calls(case: Case, arrays: dict[str, np.ndarray], options) -> dict[str, Callable]:
    """The calls without arguments, by name; those of jitney wait for their result."""
    theirs = [arrays[name] for name in case.arguments]
    ours = [jnp.asarray(array) for array in theirs]
    wait = jitney.block_until_ready
    calls = {"eager": lambda: wait(case.call(jnp, *ours)),
             "numpy": lambda: (case.numpy or case.call)(np, *theirs)}
    if case.jit and not options.no_jit:
        jitted = jitney.jit(lambda *given: case.call(jnp, *given))
        calls["jitted"] = lambda: wait(jitted(*ours))
    return calls


def _interleaved(calls: dict[str, Callable], rounds: int) -> dict[str, list[float]]:
    """Seconds a call, for each round."""
    for call in calls.values():
        call()
        call()
    inner = {name: max(1, int(ROUND_SECONDS / _seconds(call, 1))) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    begin = time.perf_counter()
    for number in range(rounds):
        for name, call in calls.items():
            times[name].append(_seconds(call, inner[name]))
        if number >= 2 and time.perf_counter() - begin > CASE_SECONDS:
            break
    return times


def _seconds(call: Callable, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def _ratio(times: dict[str, list[float]], name: str) -> float:
    if name not in times:
        return float("nan")
    return statistics.median(a / b for a, b in zip(times[name], times["numpy"], strict=True))


# --- report ---------------------------------------------------------------------------------------


def _line(row: Row, width: int) -> str:
    start = f"{row.title:{width}}  {row.dtype}"
    if row.failure:
        return f"{start}  failed: {row.failure}"
    jitted = f"{seconds(row.jitted):>9}  {row.jitted_ratio:6.2f}" if row.jitted == row.jitted \
        else f"{'-':>9}  {'-':>6}"
    return (f"{start}  {seconds(row.eager):>9}  {seconds(row.numpy):>9}  {row.ratio:6.2f}"
            f"  {jitted}{'  over' if row.over else ''}")


def _table(rows: list[Row]) -> str:
    width = max([len(row.title) for row in rows], default=0)
    head = (f"{'':{width}}  {'dtype':7}  {'eager':>9}  {'NumPy':>9}  {'ratio':>6}  {'jitted':>9}"
            f"  {'ratio':>6}")
    return "\n".join([head, *[_line(row, width) for row in rows]])


def _summary(rows: list[Row]) -> str:
    over = sum(row.over for row in rows)
    reasons: dict[str, list[str]] = {}
    for name, reason in LEFT_OUT.items():
        reasons.setdefault(reason, []).append(name)
    lines = [f"{len(rows)} rows, {over} above {LIMIT} x NumPy.",
             f"NumPy's view is copied in: {', '.join(VIEWS)}.", "Not timed:",
             *[f"  {', '.join(names)}: {reason}" for reason, names in reasons.items()]]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
