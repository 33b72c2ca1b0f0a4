"""Times the programs of `hpc/` in jitney, JAX and Numba by turns, and prints ratios.

    python benchmarks/run.py --jax-python PATH --numba-python PATH [-k stencils,nas] [--rounds 7]

In: interpreters that have the other libraries. Out: a table of median times of a call and of
jitney's share of the others' times, geometric means by family, optionally JSON and a picture. Each
library works in a process of its own that lives throughout; in every round each runs for about the
same time, one after the other, and ratios are taken round by round, so that a drift of the
machine's speed falls on all. A program is first run at its small size and compared with NumPy.
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

import worker
from hpc import catalogue

PEERS = ("jax", "numba")
LIMIT = {"jax": 0.6, "numba": 1.0}  # what we want to stay below, as geometric means


class Side:
    """A library in its own process, which answers one line of JSON with another.

    A process that does not answer in time is killed.
    """

    def __init__(self, library: str, python: str, options: argparse.Namespace):
        self.library, self.python = library, python
        self.threads, self.timeout = options.threads, options.timeout
        self.process: subprocess.Popen | None = None
        self.start()

    def start(self) -> None:
        names = ("JITNEY_NUM_THREADS", "NUMBA_NUM_THREADS")
        environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
        if self.threads:
            environment |= {name: str(self.threads) for name in names}
        prefix = ["taskset", "-c", "0"] if self.threads == 1 and self.library == "jax" else []
        self.process = subprocess.Popen(
            [*prefix, self.python, worker.__file__, self.library], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        ready = self.process.stdout.readline()
        if not ready:
            raise SystemExit(f"{self.library} cannot be imported by {self.python}")

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
        if "error" in answer:
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
    notes = [f"{library}: {text}" for library, text in row.errors.items()]
    return "  ".join(cells + notes)


def geometric_mean(values: list[float]) -> float:
    values = [v for v in values if not math.isnan(v)]
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def summary(rows: list[Row], peers: list[str]) -> str:
    """Geometric means of ratios, all and by family."""
    lines = []
    for peer in peers:
        lines.append(f"jitney's time over that of {peer}, geometric means (wanted: {LIMIT[peer]}):")
        families = {row.program.family for row in rows}
        for family in [None, *(f for f in catalogue.FAMILIES if f in families)]:
            chosen = [r.ratio(peer) for r in rows if family in (None, r.program.family)]
            count = sum(not math.isnan(v) for v in chosen)
            lines.append(f"    {family or 'all':22} {geometric_mean(chosen):6.3f}  ({count})")
    return "\n".join(lines)


def as_json(rows: list[Row], libraries: list[str]) -> list[dict]:
    return [
        {
            "program": row.program.name, "family": row.program.family, "size": row.program.size,
            "seconds": {k: row.median(k) for k in libraries if k in row.times},
            "first_call": row.first, "errors": row.errors,
            "ratio": {k: row.ratio(k) for k in libraries[1:] if row.ratios(k)},
        }
        for row in rows
    ]  # fmt: skip


def draw(rows: list[Row], peers: list[str], path: Path) -> None:
    """One dot a program and peer: how many times as fast jitney is."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 1 + 0.19 * len(rows)), layout="constrained")
    places = range(len(rows), 0, -1)
    for peer, marker in zip(peers, "os"):
        axes.plot([1 / r.ratio(peer) for r in rows], places, marker, label=f"against {peer}", ms=4)
    axes.axvline(1, color="0.4", lw=1)
    axes.set_xscale("log")
    axes.set_yticks(list(places), [r.program.name.replace("_", " ") for r in rows], fontsize=7)
    axes.set_xlabel("how many times as fast jitney is")
    axes.grid(axis="x", color="0.9")
    if peers:
        axes.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def options_from(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="parts of names, with commas between")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--jax-python", help="an interpreter that has JAX")
    parser.add_argument("--numba-python", help="an interpreter that has Numba and SciPy")
    parser.add_argument("--threads", type=int, default=0, help="1: one thread each (0: all cores)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one answer")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="a picture, .png or .svg")
    parser.add_argument("--list", action="store_true", help="say what the programs are, and stop")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = options_from(arguments)
    chosen = catalogue.programs(options.k)
    if options.list:
        print("\n".join(f"{p.family}.{p.name} ({p.size}): {p.text}" for p in chosen))
        return
    pythons = {"jitney": sys.executable, "jax": options.jax_python, "numba": options.numba_python}
    libraries = [library for library, python in pythons.items() if python]
    sides = [Side(k, pythons[k], options) for k in libraries]
    titles = [f"{k:>9}" for k in libraries] + [f"{'jitney / ' + k:24}" for k in libraries[1:]]
    print("  ".join([f"{'':36}", *titles]))
    rows = []
    for made in chosen:
        rows.append(measure(made, sides, options.rounds))
        print(line(rows[-1], libraries), flush=True)
    for side in sides:
        side.stop()
    print(summary(rows, libraries[1:]))
    if options.json:
        options.json.write_text(json.dumps(as_json(rows, libraries), indent=1) + "\n")
    if options.plot:
        draw(rows, libraries[1:], options.plot)


if __name__ == "__main__":
    main()
