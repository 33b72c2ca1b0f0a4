"""Times the programs of `hpc/` in jitney and in other libraries by turns, and prints ratios.

    python benchmarks/run.py --jax-python PATH --numba-python PATH [--torch-python PATH]
                             [-k stencils,nas] [--rounds 7]

In: interpreters that have the other libraries (NumPy is always there). Out: a table of median times
of a call and of jitney's share of the others' times, geometric means by family, optionally JSON and
a picture. Each library works in a process of its own that lives throughout; in every round each
runs for about the same time, one after the other, and ratios are taken round by round, so that a
drift of the machine's speed falls on all. A program is first run at its small size and compared
with NumPy.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import machine
import pictures
import worker
from hpc import catalogue
from summaries import geometric_mean

LIMIT = {"jax": 0.6, "numba": 1.0}  # what we want to stay below, as geometric means
THREADS = ("JITNEY_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
NOT_WRITTEN = "not written"


class Side:
    """A library in its own process, which answers one line of JSON with another.

    A process that does not answer in time is killed.
    """

    script = worker.__file__
    variables: dict[str, str] = {"JAX_PLATFORMS": "cpu"}  # of the environment

    def __init__(self, library: str, python: str, options: argparse.Namespace):
        self.library, self.python = library, python
        self.threads, self.timeout = options.threads, options.timeout
        self.process: subprocess.Popen | None = None
        self.about: dict = {}
        self.start()

    def start(self) -> None:
        environment = {**os.environ, **self.variables}
        if self.threads:
            environment |= {name: str(self.threads) for name in THREADS}
        prefix = ["taskset", "-c", "0"] if self.threads == 1 and self.library == "jax" else []
        self.process = subprocess.Popen(
            [*prefix, self.python, self.script, self.library], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        ready = self.process.stdout.readline()
        if not ready:
            raise SystemExit(f"{self.library} cannot be imported by {self.python}")
        self.about = json.loads(ready)

    def ask(self, **question) -> dict:
        """The answer; a process that died is started again, and its death is the answer."""
        watch = threading.Timer(self.timeout, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if line:
            return json.loads(line)
        status = self.process.wait()
        self.start()
        return {"error": f"the process died (status {status})"}

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait()


@dataclass
class Row:
    """What was measured of a program: seconds a call of each library, and errors."""

    program: catalogue.Program
    times: dict[str, list[float]] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def median(self, library: str) -> float:
        return statistics.median(self.times.get(library) or [math.nan])

    def ratios(self, peer: str) -> list[float]:
        """jitney's time over the peer's, by round, sorted."""
        pairs = zip(self.times.get("jitney", []), self.times.get(peer, []))
        return sorted(a / b for a, b in pairs)

    def ratio(self, peer: str) -> float:
        return statistics.median(self.ratios(peer) or [math.nan])


def measure(made: catalogue.Program, sides: list[Side], rounds: int) -> Row:
    row = Row(made)
    ready = []
    for side in sides:
        answer = side.ask(do="prepare", name=made.name)
        if answer.get("not_written"):
            row.errors[side.library] = NOT_WRITTEN
        elif "error" in answer:
            row.errors[side.library] = answer["error"]
        else:
            row.first[side.library] = answer["first"]
            ready.append(side)
    for _ in range(rounds):
        for side in ready:
            answer = side.ask(do="time")
            row.times.setdefault(side.library, []).append(answer.get("seconds", math.nan))
    return row


def duration(seconds: float) -> str:
    for unit, factor in (("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def line(row: Row, libraries: list[str]) -> str:
    cells = [f"{row.program.family + '.' + row.program.name:36}"]
    for library in libraries:
        cells.append(f"{'-' if library in row.errors else duration(row.median(library)):>9}")
    for peer in libraries[1:]:
        ratios = row.ratios(peer)
        spread = f"({ratios[0]:5.2f} .. {ratios[-1]:5.2f})" if ratios else ""
        cells.append(f"{row.ratio(peer):7.3f} {spread:16}" if ratios else " " * 24)
    notes = [f"{k}: {text}" for k, text in row.errors.items() if text != NOT_WRITTEN]
    return "  ".join(cells + notes)


def summary(rows: list[Row], peers: list[str]) -> str:
    """Geometric means of ratios, all and by family."""
    lines = []
    for peer in peers:
        wanted = f" (wanted: {LIMIT[peer]})" if peer in LIMIT else ""
        lines.append(f"jitney's time over that of {peer}, geometric means{wanted}:")
        families = {row.program.family for row in rows}
        for family in [None, *(f for f in catalogue.FAMILIES if f in families)]:
            chosen = [r.ratio(peer) for r in rows if family in (None, r.program.family)]
            count = sum(not math.isnan(v) for v in chosen)
            lines.append(f"    {family or 'all':22} {geometric_mean(chosen):6.3f}  ({count})")
    return "\n".join(lines)


def as_json(rows: list[Row], sides: list[Side], rounds: int) -> dict:
    """What was measured, with what and on what: without names of machines and places."""
    libraries = [side.library for side in sides]
    return {
        "machine": machine.describe(), "date": machine.today(), "rounds": rounds,
        "libraries": {side.library: side.about for side in sides},
        "programs": [row_as_json(row, libraries) for row in rows],
    }  # fmt: skip


def row_as_json(row: Row, libraries: list[str]) -> dict:
    return {
        "program": row.program.name, "family": row.program.family, "size": row.program.size,
        "seconds": {k: row.median(k) for k in libraries if k in row.times},
        "first_call": row.first,
        "errors": {k: text.partition(":")[0] for k, text in row.errors.items()},
        "ratio": {k: row.ratio(k) for k in libraries[1:] if row.ratios(k)},
    }  # fmt: skip


def options_from(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="parts of names, with commas between")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--jax-python", help="an interpreter that has JAX")
    parser.add_argument("--numba-python", help="an interpreter that has Numba and SciPy")
    parser.add_argument("--torch-python", help="an interpreter that has PyTorch and SciPy")
    parser.add_argument("--no-numpy", action="store_true", help="do not time NumPy")
    parser.add_argument("--threads", type=int, default=0, help="1: one thread each (0: all cores)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one answer")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="a picture, .png or .svg")
    parser.add_argument("--list", action="store_true", help="say what the programs are, and stop")
    return parser.parse_args(arguments)


def interpreters(options: argparse.Namespace) -> dict[str, str]:
    """Who runs which library; jitney is the first."""
    here = sys.executable
    pythons = {
        "jitney": here, "jax": options.jax_python, "numba": options.numba_python,
        "numpy": None if options.no_numpy else here, "torch": options.torch_python,
    }  # fmt: skip
    return {library: python for library, python in pythons.items() if python}


def main(arguments: list[str] | None = None) -> None:
    options = options_from(arguments)
    chosen = catalogue.programs(options.k)
    if options.list:
        print("\n".join(f"{p.family}.{p.name} ({p.size}): {p.text}" for p in chosen))
        return
    pythons = interpreters(options)
    libraries, sides = list(pythons), [Side(k, p, options) for k, p in pythons.items()]
    titles = [f"{k:>9}" for k in libraries] + [f"{'jitney / ' + k:24}" for k in libraries[1:]]
    print("  ".join([f"{'':36}", *titles]))
    rows = []
    for made in chosen:
        rows.append(measure(made, sides, options.rounds))
        print(line(rows[-1], libraries), flush=True)
    for side in sides:
        side.stop()
    print(summary(rows, libraries[1:]))
    found = as_json(rows, sides, options.rounds)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.plot:
        pictures.draw_ratios(found, options.plot)


if __name__ == "__main__":
    main()
