"""Times single calls in jitney and in JAX by turns, and prints them from the worst ratio on.

    python benchmarks/calls/first_and_later.py [--jax-python PATH] [-k sort,random_numbers.]
                                               [--variants] [--drawn SEED:COUNT] [--threads 1]
                                               [--rounds 3] [--json FILE] [--list]

In: an interpreter that has JAX; parts of `family.name`, or a seed and a number of programs drawn by
chance. Out: for each case the times of a later call of both and their ratio (the median of the
rounds' ratios), the first calls of both and their ratio, and a note if results differ; geometric
means by family. Without JAX, jitney's times alone, from the slowest. Measured lines go to standard
error as they come, the table to standard output. Nothing is taken from the disk or left there, so
first calls are compiled ones.
"""

import argparse
import json
import math
import pickle
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import machine  # noqa: E402
import run  # noqa: E402
from summaries import families, geometric_mean  # noqa: E402

from calls import catalogue, drawn, one_side  # noqa: E402

TITLES = ("jitney", "jax", "ratio", "first", "jax's", "ratio")


class Side(run.Side):
    """A library in its own process, asked for cases."""

    script = one_side.__file__
    variables = run.Side.variables | {"JITNEY_CACHE_DIR": ""}


@dataclass
class Measured:
    """What was measured of a case, and where the libraries' results differ."""

    row: run.Row
    note: str

    def first_ratio(self) -> float:
        first = self.row.first
        return first["jitney"] / first["jax"] if len(first) == 2 else math.nan

    def worst_first(self) -> tuple:
        """A key for sorting: errors, then what has the largest ratio, or takes longest alone."""
        ratio = self.row.ratio("jax")
        return not self.row.errors, -(self.seconds() if math.isnan(ratio) else ratio)

    def seconds(self) -> float:
        return self.row.median("jitney")


def measure(made: catalogue.Case, sides: list[Side], rounds: int) -> Measured:
    row = run.measure(made, sides, rounds)
    compared = len(sides) == 2 and not row.errors
    return Measured(row, comparison(made, sides) if compared else "")


def comparison(made: catalogue.Case, sides: list[Side]) -> str:
    """What is different in the results of the case that was timed last."""
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for side in sides:
            file = Path(folder) / side.library
            answer = side.ask(do="results", file=str(file))
            if "error" in answer:
                return f"{side.library} gives no results: {answer['error']}"
            found.append(pickle.loads(file.read_bytes()))
    text = catalogue.differences(*found, loose=made.loose)
    return f"results differ: {text}" if text else ""


def line(measured: Measured, libraries: list[str]) -> str:
    """A case's later calls and first calls, and what there is to say."""
    row = measured.row
    name = f"{row.program.family + '.' + row.program.name:68}"
    if row.errors:
        return name + "; ".join(f"{k}: {text}" for k, text in row.errors.items())
    cells = [f"{run.duration(row.median(k)):>9}" for k in libraries]
    cells += [f"{row.ratio('jax'):7.2f}"] if len(libraries) == 2 else []
    cells += [f"{run.duration(row.first[k]):>9}" for k in libraries]
    cells += [f"{measured.first_ratio():7.2f}"] if len(libraries) == 2 else []
    return " ".join([name, *cells, measured.note]).rstrip()


def table(found: list[Measured], libraries: list[str]) -> str:
    """All cases, the worst first."""
    titles = TITLES if len(libraries) == 2 else TITLES[::3]
    heads = [f"{title:>{7 if title == 'ratio' else 9}}" for title in titles]
    rows = sorted(found, key=Measured.worst_first)
    return "\n".join([" ".join([f"{'':68}", *heads]), *(line(m, libraries) for m in rows)])


def summary(rows: list[dict]) -> str:
    """Geometric means of ratios, by family and of all."""
    lines = ["jitney's time over that of jax, geometric means: later calls, first calls"]
    rows = [row for row in rows if not row["errors"]]
    for family in [*families(rows), None]:
        chosen = [row for row in rows if family in (None, row["family"])]
        means = [geometric_mean([row[k] for row in chosen]) for k in ("ratio", "first_ratio")]
        title = f"{family or 'all'} ({len(chosen)})"
        lines.append(f"    {title:34} {means[0]:7.3f} {means[1]:7.3f}")
    return "\n".join(lines)


def as_json(measured: Measured, libraries: list[str]) -> dict:
    row = measured.row
    found = {"case": row.program.name, "family": row.program.family, "errors": row.errors}
    if row.errors:
        return found
    found |= {"seconds": {k: row.median(k) for k in libraries}, "first_call": row.first}
    if len(libraries) == 2:
        found |= {
            "ratio": row.ratio("jax"), "first_ratio": measured.first_ratio(), "note": measured.note,
        }  # fmt: skip
    return found


def options_from(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("-k", default="", help="parts of family.name, with commas between")
    which.add_argument("--drawn", type=drawn.some_drawn, metavar="SEED:COUNT",
                       help="programs drawn by chance instead of the cases")  # fmt: skip
    parser.add_argument("--variants", action="store_true", help="all cases, not only the main ones")
    parser.add_argument("--jax-python", help="an interpreter that has JAX")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="1: one thread each (0: all cores)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one answer")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--list", action="store_true", help="say what the cases are, and stop")
    options = parser.parse_args(arguments)
    if options.drawn and options.variants:
        parser.error("drawn programs have no variants")
    return options


def measure_all(
    chosen: list[catalogue.Case], options: argparse.Namespace
) -> tuple[list[Measured], dict]:
    """Each case by turns in the libraries there are, and what these say about themselves."""
    pythons = {"jitney": sys.executable, "jax": options.jax_python}
    sides = [Side(library, python, options) for library, python in pythons.items() if python]
    libraries = [side.library for side in sides]
    found = []
    for made in chosen:
        found.append(measure(made, sides, options.rounds))
        print(line(found[-1], libraries), file=sys.stderr, flush=True)
    for side in sides:
        side.stop()
    return found, {side.library: side.about for side in sides}


def main(arguments: list[str] | None = None) -> None:
    options = options_from(arguments)
    chosen = options.drawn or catalogue.cases(options.k, options.variants)
    if options.list:
        print("\n".join(f"{made.family}.{made.name}" for made in chosen))
        return
    found, libraries = measure_all(chosen, options)
    rows = [as_json(measured, list(libraries)) for measured in found]
    print(table(found, list(libraries)))
    if len(libraries) == 2:
        print(summary(rows))
    if options.json:
        about = {"machine": machine.describe(), "date": machine.today(), "rounds": options.rounds}
        about |= {"libraries": libraries, "cases": rows}
        options.json.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
