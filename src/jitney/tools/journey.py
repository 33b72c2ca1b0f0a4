"""The journey of one function through the compiler, gathered for people.

In: a function and arguments. Out: an `Explanation`: its `str` is one scroll with the jaxpr, the
graph, the kernels, memory, what compiling cost by stage and what running costs; its attributes are
the same facts as data. The compiler itself is not changed by being looked at.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from jitney import pipeline
from jitney._native import Array, tree_leaves
from jitney.api.jit import jit
from jitney.base import source
from jitney.numpy.creation import array
from jitney.runtime.step_kinds import WHILE
from jitney.tools.measure import Spread, measure, nbytes, seconds, spread_of

STAGES = ("jaxpr", "graph", "kernels", "llvm", "asm")
LONGEST = 60  # lines of a stage shown on the scroll (`as_text` gives all), and steps
ROUNDS, LIMIT = 30, 2.0  # calls measured at most, and seconds


@dataclass
class Step:
    """One step of the compiled program."""

    name: str
    kind: str
    iterations: int
    nbytes: int
    code_bytes: int
    code_from: str
    compile_seconds: float
    run_seconds: float | None = None  # in one call, of which loops are made of several runs
    runs: int = 1


@dataclass
class Explanation:
    """What became of a function. `str(explanation)` is for reading, `as_text(stage)` for one."""

    name: str
    place: str
    signature: str
    equations: int
    steps: list[Step]
    times: dict[str, float]
    memory: dict[str, int]
    costs: dict[str, float]
    run: Spread
    executable: object = field(repr=False)
    traced: object = field(repr=False)

    def as_text(self, stage: str) -> str:
        """jaxpr | graph | kernels | llvm | asm: the program at one stage."""
        if stage not in STAGES:
            raise ValueError(f"stage {stage!r}: one of {', '.join(STAGES)}")
        if stage == "jaxpr":
            return str(self.traced.jaxpr)
        if not is_compiled(self.executable):
            return self.executable.as_text()
        if stage == "llvm":
            return pipeline.llvm_text(self.executable)
        if stage == "asm":
            return pipeline.assembly_text(self.executable)
        return self.executable.as_text(stage)

    def __str__(self):
        return "\n".join(scroll(self))

    __repr__ = __str__


def explain(f, *args, rounds: int = ROUNDS, **kwargs) -> Explanation:
    """Traces, compiles and times `f(*args, **kwargs)`, and tells the story."""
    jitted = f if hasattr(f, "lower") else jit(f)
    begin = time.perf_counter()
    traced = jitted.trace(*args, **kwargs)
    tracing = time.perf_counter() - begin
    compiled = traced.lower().compile()
    executable = compiled.runtime_executable()
    run = measure({"run": lambda: jitted(*args, **kwargs)}, rounds, limit=LIMIT)["run"]
    steps = steps_of(executable)
    for step, (runs, took) in zip(steps, step_times(compiled, args, kwargs, rounds), strict=False):
        step.runs, step.run_seconds = runs, took
    times = {"trace": tracing}
    times.update({k: ns / 1e9 for k, ns in getattr(executable, "times", {}).items()})
    return Explanation(
        name=traced.fun_name,
        place=source.function_location(getattr(f, "__wrapped__", f)),
        signature=signature_of(traced),
        equations=count_equations(traced.jaxpr.jaxpr),
        steps=steps,
        times=times,
        memory=memory_of(executable),
        costs=compiled.cost_analysis(),
        run=run,
        executable=executable,
        traced=traced,
    )


def is_compiled(executable) -> bool:
    """Whether there is machine code (and not the NumPy references)."""
    return hasattr(executable, "reports")


def signature_of(traced) -> str:
    """`f32[3], i32[] -> f32[3]`."""
    ins = ", ".join(a.str_short(True) for a in traced.jaxpr.in_avals)
    outs = ", ".join(a.str_short(True) for a in traced.jaxpr.out_avals)
    return f"{ins or '()'} -> {outs or '()'}"


def count_equations(jaxpr) -> int:
    """Equations, with those of nested programs."""
    count = 0
    for eqn in jaxpr.eqns:
        inner = [v for v in eqn.params.values() if hasattr(v, "eqns")]
        count += 1 if not inner else sum(count_equations(getattr(v, "jaxpr", v)) for v in inner)
    return count


def steps_of(executable) -> list[Step]:
    """The steps of a program as data."""
    found = []
    for report in getattr(executable, "reports", ()):
        code = report.code
        found.append(
            Step(
                report.name,
                report.kind,
                report.iterations,
                report.bytes_moved,
                code.size if code else 0,
                code.source if code else "",
                code.compile_ns / 1e9 if code else 0.0,
            )
        )
    return found


def memory_of(executable) -> dict[str, int]:
    """Bytes by purpose."""
    if not is_compiled(executable):
        return {}
    analysis = executable.memory_analysis()
    return {
        "arguments": analysis.argument_size_in_bytes,
        "results": analysis.output_size_in_bytes,
        "workspace": analysis.temp_size_in_bytes,
        "machine code": analysis.generated_code_size_in_bytes,
    }


# ---------------------------------------------------------------------- steps of a call
def step_times(compiled, args, kwargs, rounds) -> list[tuple[int, float | None]]:
    """(runs, median of all their seconds in a call) of each step, in the order of the reports.
    Steps of a loop that threads go through by themselves have no times: the loop has."""
    program = getattr(compiled.runtime_executable(), "program", None)
    leaves = tree_leaves((args, kwargs))
    runnable = compiled._runnable
    given = [array(x) if isinstance(x, np.ndarray) else x for x in leaves]
    inputs = [*[given[i] for i in runnable.kept], *runnable.hidden]
    if program is None or not all(isinstance(x, Array) for x in inputs):
        return []
    kinds, calls, begin = program.steps_info(), [], time.perf_counter()
    while len(calls) < max(3, rounds // 2) and time.perf_counter() - begin < LIMIT or not calls:
        calls.append(_flat_times(program.step_times(inputs), kinds))
    return [
        (runs, spread_of([call[i][1] / 1e9 for call in calls]).median if runs else None)
        for i, (runs, _) in enumerate(calls[0])
    ]


def _flat_times(times, kinds) -> list[tuple[int, int]]:
    """(runs, nanoseconds) of steps that are no loops or branches; the body of a loop comes before
    its test."""
    found = []
    for (runs, ns, bodies), info in zip(times, kinds, strict=True):
        if not bodies:
            found.append((runs, ns))
        pairs = list(zip(bodies, info["bodies"], strict=True))
        for body in reversed(pairs) if info["kind"] == WHILE else pairs:
            found += _flat_times(*body)
    return found


# ---------------------------------------------------------------------- text
def scroll(e: Explanation) -> list[str]:
    """The explanation as lines."""
    lines = [f"{e.name}   {e.signature}", f"  {e.place}"]
    lines += title(f"jaxpr: {e.equations} equations") + shortened(e.as_text("jaxpr"))
    if not is_compiled(e.executable):
        return [*lines, "", "no machine code: the NumPy references run this program"]
    nodes = len(e.executable.graph.nodes())
    lines += title(f"graph: {nodes} nodes") + shortened(e.as_text("graph"))
    lines += title(f"kernels: {plural(len(e.steps), 'step')}") + step_table(e)
    lines += [""] + shortened(e.as_text("kernels"))
    lines += title("memory") + [f"{k:14s}{nbytes(v):>10s}" for k, v in e.memory.items()]
    lines += title("time to the first result")
    lines += [f"{k:14s}{seconds(v):>10s}" for k, v in e.times.items()]
    return lines + title("one call") + run_lines(e)


def title(text: str) -> list[str]:
    return ["", f"== {text}"]


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def shortened(text: str) -> list[str]:
    lines = text.splitlines()
    if len(lines) <= LONGEST:
        return lines
    return [*lines[:LONGEST], f"... {len(lines) - LONGEST} more lines"]


def step_table(e: Explanation) -> list[str]:
    """One line a step; of very many those that take the longest."""
    width = max([8, *[len(s.name) for s in e.steps]])
    lines = [
        f" # {'kind':11s} {'name':{width}s} {'elements':>9s} {'bytes':>8s} {'code':>8s} "
        f"{'made by':>15s} {'time':>9s}"
    ]
    shown = sorted(enumerate(e.steps), key=lambda pair: -(pair[1].run_seconds or 0.0))[:LONGEST]
    for number, s in sorted(shown, key=lambda pair: pair[0]):
        made = seconds(s.compile_seconds) if s.code_from == "compiled" else s.code_from
        made = f"LLVM {made}" if s.code_from == "compiled" else made
        took = seconds(s.run_seconds) if s.run_seconds is not None else ""
        often = f" in {s.runs} runs" if s.runs > 1 else ""
        lines.append(
            f"{number:2d} {s.kind:11s} {s.name:{width}s} {s.iterations or '':>9} "
            f"{nbytes(s.nbytes):>8s} {nbytes(s.code_bytes) if s.code_bytes else '':>8s} "
            f"{made:>15s} {took:>9s}{often}".rstrip()
        )
    if len(e.steps) > LONGEST:
        lines.append(f"... and {len(e.steps) - LONGEST} more steps")
    return lines


def run_lines(e: Explanation) -> list[str]:
    """The measured call against what it has to move and to compute."""
    least = e.memory["arguments"] + e.memory["results"]
    moved = e.costs.get("bytes accessed", 0.0)
    lines = [
        f"median of {e.run.count}: {e.run}",
        f"arguments and results {nbytes(least)}: {rate(least, e.run)} GB/s",
    ]
    if moved > 1.01 * least:
        lines.append(f"moved between steps   {nbytes(moved)}: {rate(moved, e.run)} GB/s")
    heavy = e.costs.get("transcendentals", 0.0)
    lines.append(f"about {count(e.costs.get('flops', 0.0))} operations and {count(heavy)} "
                 "transcendental functions")  # fmt: skip
    return lines


def rate(amount: float, run: Spread) -> str:
    return f"{amount / run.median / 1e9:.3g}"


def count(value: float) -> str:
    for unit, size in ((" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.0f}"
