"""`python -m jitney demo`: one photograph, developed three ways.

In: an image file (or the one that comes with matplotlib). Out: on the terminal the program, its
jaxpr, the kernels it became and a table of times; and a PNG. The times are of this machine at this
moment: medians over interleaved rounds, with extremes.
"""

import argparse
import importlib
import importlib.util
import inspect
import time

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney import _native
from jitney.backend import object_cache
from jitney.tools import journey, photo
from jitney.tools.measure import measure, nbytes, seconds

ADVICE = "the demonstration needs {}: pip install 'jitney[demo]' (or: pip install rich matplotlib)"
JAXPR_LINES = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image", metavar="FILE", help="a photograph of your own (JPEG, PNG, …)")
    parser.add_argument("--output", metavar="PNG", default="jitney_demo.png")
    parser.add_argument("--size", metavar="N", type=int, help="resize: points of the longer side")
    parser.add_argument("--rounds", metavar="N", type=int, default=30, help="rounds of measuring")


def run(options) -> int:
    """The command."""
    missing = [name for name in ("rich", "matplotlib") if not importlib.util.find_spec(name)]
    if missing:
        print(ADVICE.format(" and ".join(missing)))
        return 1
    picture = importlib.import_module("jitney.tools.picture")
    try:
        name, rgb = picture.load(options.image, options.size)
    except (OSError, ValueError) as error:
        print(f"demo: {error}")
        return 1
    show = Show()
    show.program(name, rgb)
    jitted = jitney.jit(photo.develop)
    given = jnp.asarray(rgb)
    before = dict(object_cache.counters)
    begin = time.perf_counter()
    developed, counts = [np.asarray(x) for x in jitted(given)]
    first = f"{seconds(time.perf_counter() - begin)} ({origins(before)})"
    story = journey.explain(jitted, given, rounds=options.rounds)
    show.story(story)
    calls = {
        "NumPy": lambda: photo.develop(rgb, np),
        "jitney, eager": lambda: photo.develop(given),
        "jitney, jitted": lambda: jitted(given),
    }
    show.times(measure(calls, options.rounds), first, difference(developed, rgb))
    show.another_size(*another_size(jitted, rgb))
    text = f"{rgb.shape[1]} x {rgb.shape[0]} points, {len(story.steps)} steps of machine code"
    picture.save(options.output, rgb, developed, counts, text)
    show.console.print(f"\nPicture written to [bold]{options.output}[/bold]")
    return 0


def difference(developed, rgb) -> float:
    """The largest difference from NumPy's picture."""
    return float(np.max(np.abs(developed - photo.develop(rgb, np)[0])))


def origins(before: dict[str, int]) -> str:
    """Where the kernels since then have come from."""
    compiled, read = [object_cache.counters[k] - before[k] for k in ("compiled", "disk_hits")]
    return f"{journey.plural(compiled, 'kernel')} compiled, {read} read from disk"


def another_size(jitted, rgb) -> tuple[tuple[int, int], float, int]:
    """Develops a smaller cut of the photograph: shape, seconds of the first call, new kernels."""
    cut = jnp.asarray(np.ascontiguousarray(rgb[: rgb.shape[0] - 6, : rgb.shape[1] - 4]))
    before = object_cache.counters["compiled"]
    begin = time.perf_counter()
    jitted(cut)
    took = time.perf_counter() - begin
    return cut.shape[:2], took, object_cache.counters["compiled"] - before


def readable(step) -> str:
    """A step's operations in words."""
    if step.kind == "contraction":
        return "matrix product"
    return step.name.removeprefix("fused_").replace("_", " ")


class Show:
    """What is printed, by `rich`."""

    def __init__(self):
        self.console = importlib.import_module("rich.console").Console()
        self.table = importlib.import_module("rich.table").Table
        self.syntax = importlib.import_module("rich.syntax").Syntax

    def title(self, text: str) -> None:
        self.console.print()
        self.console.rule(f"[bold]{text}", align="left")

    def program(self, name: str, rgb) -> None:
        """The photograph and the code."""
        self.title("The program")
        height, width = rgb.shape[:2]
        self.console.print(f"{name}, {width} x {height} points. The last steps of the program:\n")
        parts = (photo.local_contrast, photo.tone_curve, photo.develop)
        code = "\n\n".join(inspect.getsource(f).rstrip() for f in parts)
        self.console.print(
            self.syntax(code, "python", theme="ansi_dark", background_color="default")
        )

    def story(self, story) -> None:
        """The jaxpr and the kernels."""
        self.title(f"Traced: {story.equations} equations")
        lines = story.as_text("jaxpr").splitlines()
        text = "\n".join(lines[:JAXPR_LINES])
        self.console.print(text, markup=False, highlight=False, style="dim", no_wrap=True,
                           overflow="ellipsis")  # fmt: skip
        if len(lines) > JAXPR_LINES:
            self.console.print(f"… {len(lines) - JAXPR_LINES} more lines")
        if not journey.is_compiled(story.executable):
            self.console.print("No machine code: the NumPy references run this program.")
            return
        self.title(f"Compiled: {journey.plural(len(story.steps), 'step')}")
        table = self.table(box=None, pad_edge=False)
        table.add_column("what")
        table.add_column("operations", overflow="fold")
        for heading in ("elements", "bytes moved", "machine code", "time alone"):
            table.add_column(heading, justify="right")
        for s in story.steps:
            alone = seconds(s.run_seconds) if s.run_seconds is not None else ""
            code = nbytes(s.code_bytes) if s.code_bytes else ""
            table.add_row(
                s.kind, readable(s), f"{s.iterations or ''}", nbytes(s.nbytes), code, alone
            )
        self.console.print(table)
        memory = ", ".join(f"{k} {nbytes(v)}" for k, v in story.memory.items())
        self.console.print(f"\nMemory: {memory}.")

    def times(self, spreads, first: str, worst: float) -> None:
        """The table of times."""
        self.title("Measured")
        table = self.table(box=None, pad_edge=False)
        for heading in ("", "median", "fastest", "slowest", "against NumPy"):
            table.add_column(heading, justify="left" if not heading else "right")
        numpy = spreads["NumPy"]
        for name, s in spreads.items():
            table.add_row(name, seconds(s.median), seconds(s.low), seconds(s.high),
                          f"{numpy.median / s.median:.2f} x")  # fmt: skip
        self.console.print(table)
        self.console.print(
            f"\n{numpy.count} interleaved rounds. jitney may use {_native.num_threads()} threads, "
            "NumPy does in matrix products only. "
            f"The first jitted call, with tracing and compiling, took {first}. "
            f"Largest difference between the pictures: {worst:.1g}."
        )

    def another_size(self, shape, took: float, kernels: int) -> None:
        """A second size needs no second compilation."""
        made = "no kernel had" if not kernels else f"{journey.plural(kernels, 'kernel')} had"
        self.console.print(
            f"A photograph of another size ({shape[1]} x {shape[0]}): its first call took "
            f"{seconds(took)}, and {made} to be compiled (sizes are arguments of kernels)."
        )
