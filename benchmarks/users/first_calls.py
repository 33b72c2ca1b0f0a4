"""Times what a first call of each user's program is made of, and compares it with JAX's.

    python benchmarks/users/first_calls.py [--subject attention,kalman] [--json OUT]
                                           [--jax-python PATH [--rounds 5]]

In: parts of `subject.name`; an interpreter that has JAX. Out: milliseconds of tracing and of each
stage of compiling, and the number of kernels, of the slowest programs, and sums by subject; with
JAX, first calls of both and jitney's share of JAX's times of later calls, taken by turns in two
processes. Nothing is taken from the disk or left there.
"""

import argparse
import gc
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import machine  # noqa: E402
import run  # noqa: E402
from summaries import families, geometric_mean  # noqa: E402

from users import catalogue, one_side  # noqa: E402

# `llvm` is a part of `code`, summed over the threads that compile
STAGES = ("trace", "graph", "fuse", "code", "llvm", "assemble", "total")


@dataclass(frozen=True)
class Stages:
    """Milliseconds of each stage of a program's first call, without the run."""

    program: catalogue.Program
    times: dict[str, float]
    kernels: int


def compile_program(made: catalogue.Program, lib: catalogue.Library) -> Stages:
    """Trace and compile once, with the clock of each stage."""
    from jitney.backend import llvm

    arguments = one_side.arrays(made, lib)
    gc.collect()  # what others left is no part of this one's time
    in_llvm, compile_object, clock = [], llvm.compile_object, time.perf_counter

    def timed(*inputs):
        begin = clock()
        try:
            return compile_object(*inputs)
        finally:
            in_llvm.append(clock() - begin)

    with mock.patch.object(llvm, "compile_object", timed):
        begin = clock()
        traced = lib.jax.jit(made.build(lib)).trace(*arguments)
        traced_at = clock()
        compiled = traced.lower().compile()
        end = clock()
    stages = {name: ns / 1e6 for name, ns in compiled.runtime_executable().times.items()}
    stages |= {"trace": (traced_at - begin) * 1e3, "llvm": sum(in_llvm) * 1e3}
    stages["total"] = (end - begin) * 1e3
    return Stages(made, stages, compiled.as_text().count("] kernel "))


class Side(run.Side):
    """A library in its own process, asked for users' programs."""

    script = one_side.__file__
    variables = run.Side.variables | {"JITNEY_CACHE_DIR": ""}


def stage_line(title: str, times: dict[str, float], kernels: int) -> str:
    cells = "".join(f"{times.get(stage, 0.0):10.1f}" for stage in STAGES)
    return f"{title:52}{cells}{kernels:9d}"


def stage_table(found: list[Stages], slowest: int) -> str:
    """The slowest programs, and sums by subject and of all."""
    title = f"{'ms':52}" + "".join(f"{stage:>10}" for stage in STAGES) + f"{'kernels':>9}"
    rows = sorted(found, key=lambda s: -s.times["total"])[:slowest]
    lines = [title, *(stage_line(s.program.name, s.times, s.kernels) for s in rows), ""]
    for subject in [*dict.fromkeys(s.program.subject for s in found), None]:
        chosen = [s for s in found if subject in (None, s.program.subject)]
        sums = {name: sum(s.times.get(name, 0.0) for s in chosen) for name in STAGES}
        name = f"{subject or 'all'} ({len(chosen)})"
        lines.append(stage_line(name, sums, sum(s.kernels for s in chosen)))
    return "\n".join(lines)


PAIR = ("jitney", "jax")


def pair_line(row: run.Row) -> str:
    """First calls and later calls of both, and jitney's shares."""
    name = f"{row.program.name:52}"
    if row.errors:
        return name + "; ".join(f"{k}: {text}" for k, text in row.errors.items())
    cells = [f"{run.duration(row.first[k]):>9}" for k in PAIR]
    cells.append(f"{row.first['jitney'] / row.first['jax']:7.3f}  ")
    cells += [f"{run.duration(row.median(k)):>9}" for k in PAIR]
    return "  ".join([name, *cells, f"{row.ratio('jax'):7.3f}"])


def pair_summary(rows: list[dict]) -> str:
    """Geometric means of shares, by subject and of all."""
    lines = ["jitney's share of JAX's times, geometric means: first calls, later calls"]
    rows = [row for row in rows if not row["errors"]]
    for subject in [*families(rows), None]:
        chosen = [row for row in rows if subject in (None, row["family"])]
        means = [geometric_mean([row[k] for row in chosen]) for k in ("first_ratio", "ratio")]
        title = f"{subject or 'all'} ({len(chosen)})"
        lines.append(f"    {title:44} {means[0]:7.3f} {means[1]:7.3f}")
    return "\n".join(lines)


def pair_as_json(row: run.Row) -> dict:
    found = {"program": row.program.name, "family": row.program.subject, "errors": row.errors}
    if not row.errors:
        found |= {"first_call": row.first, "seconds": {k: row.median(k) for k in PAIR}}
        found |= {
            "first_ratio": row.first["jitney"] / row.first["jax"], "ratio": row.ratio("jax"),
        }  # fmt: skip
    return found


def against_jax(chosen: list[catalogue.Program], options: argparse.Namespace) -> list[dict]:
    """Each program by turns in both libraries; a line for each."""
    pythons = (sys.executable, options.jax_python)
    sides = [Side(library, python, options) for library, python in zip(PAIR, pythons)]
    print(f"{'':52}  first: jitney, jax, share    later: jitney, jax, share")
    rows = []
    for made in chosen:
        rows.append(run.measure(made, sides, options.rounds))
        print(pair_line(rows[-1]), flush=True)
    for side in sides:
        side.stop()
    found = [pair_as_json(row) for row in rows]
    print(pair_summary(found))
    return found


def options_from(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subject", default="", help="parts of subject.name, commas between")
    parser.add_argument("--slowest", type=int, default=20, help="how many are printed")
    parser.add_argument("--jax-python", help="an interpreter that has JAX")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    options.threads, options.timeout = 0, 300  # what `run.Side` asks for
    return options


def main(arguments: list[str] | None = None) -> None:
    options = options_from(arguments)
    os.environ["JITNEY_CACHE_DIR"] = ""
    chosen = catalogue.programs(options.subject)
    lib = catalogue.library("jitney")
    one_side.warm(lib)
    stages = [compile_program(made, lib) for made in chosen]
    print(stage_table(stages, options.slowest))
    found = {
        "machine": machine.describe(), "date": machine.today(),
        "stages": [
            {"program": s.program.name, "family": s.program.subject, "kernels": s.kernels,
             "milliseconds": s.times}
            for s in stages
        ],
    }  # fmt: skip
    if options.jax_python:
        found["against_jax"] = against_jax(chosen, options)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
