"""How near programs come to what the machine can do: bytes moved and operations done a second.

    python benchmarks/roofline.py [-k softmax,matmul] [--rounds 9] [--json F] [--plot roofline.png]

In: nothing. Out: a table (time, GB/s or GFLOP/s, share of the ceiling), optionally JSON and a
picture. The ceilings are measured in the same run, by as many threads as jitney uses: a copy that
stays in the caches and one that does not, and multiply-adds in registers (`ceilings.py`). A program
counts the bytes it must read and write once, products of matrices their arithmetic, and elementwise
programs and those of rows the vector instructions of their loops (`instructions.py`: so the many of
exp, sin or tanh count, as many as jitney chose to spend), whose multiplications, look-ups and
divisions have ceilings of their own. Its bound is the smallest of what memory and arithmetic allow.
Ceilings and programs are timed by turns, and a program's time is compared with the ceilings of its
own round, since machines that are shared are now faster and now slower: its share is the median of
the rounds'.
"""

import argparse
import json
import statistics
import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import truediv
from pathlib import Path

import ceilings
import instructions
import machine
import pictures

import jitney as jax
import jitney.numpy as jnp

SHAPES = (
    (64, 64, 64), (256, 256, 256), (1024, 1024, 1024), (1000, 333, 777),
    (16, 2048, 2048), (2048, 64, 2048), (4096, 32, 32), (1, 2048, 2048),
)  # fmt: skip
SECONDS = 0.03  # how long a measurement lasts, of as many trials as a ceiling has


@dataclass
class Task:
    """A program on given arguments, with the least work it can be done with."""

    name: str
    call: Callable
    nbytes: int  # arguments read once, results written once
    operations: int = 0  # floating-point, of the definition
    loops: list[instructions.Work] = field(default_factory=list)  # arithmetic, of machine code
    times: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return statistics.median(self.times)

    def arithmetic(self, found: ceilings.Ceilings) -> float:
        """Seconds that its arithmetic takes at least."""
        return max(self.operations / found.flops, sum(map(found.arithmetic, self.loops)))

    def memory(self, found: ceilings.Ceilings) -> float:
        return self.nbytes / found.bandwidth(self.nbytes)

    def share(self, rounds: list[ceilings.Ceilings]) -> float:
        """How much of its time the machine needed at least, by the ceilings of each round."""
        least = [max(self.memory(found), self.arithmetic(found)) for found in rounds]
        return statistics.median(map(truediv, least, self.times))

    def limit(self, found: ceilings.Ceilings) -> str:
        return "arithmetic" if self.arithmetic(found) > self.memory(found) else "memory"


def random(*shape: int) -> jax.Array:
    return jax.random.normal(jax.random.key(sum(shape)), shape)


def task(name: str, fun: Callable, *arguments, operations: int = 0, nbytes: int = 0) -> Task:
    jitted = jax.jit(fun)
    result = jax.block_until_ready(jitted(*arguments))
    moved = sum(a.nbytes for a in (*arguments, *jax.tree_util.tree_leaves(result)))
    call = lambda: jax.block_until_ready(jitted(*arguments))
    return Task(name, call, nbytes or moved, operations)


def counted(name: str, fun: Callable, *arguments) -> Task:
    """A task of one kernel whose instructions are counted, an element of the first argument."""
    made = task(name, fun, *arguments)
    explained = jax.explain(fun, *arguments, rounds=1)
    kernels = explained.as_text("kernels")
    rows = 2 if " pairs" in kernels else 1
    for work in instructions.work(explained.as_text("asm"), rows, " pipelined" in kernels):
        made.loops.append(instructions.Work(*(arguments[0].size * number for number in work)))
    return made


def layer_norm(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def blur(x):
    return x.at[1:-1, 1:-1].set(0.2 * (x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1]
                                       + x[1:-1, :-2] + x[1:-1, 2:]))  # fmt: skip


def periodic(u):
    return u + 0.1 * (sum(jnp.roll(u, s, a) for a in range(3) for s in (-1, 1)) - 6.0 * u)


def elementwise() -> list[Task]:
    x, y, big = random(1000, 1000), random(1000, 1000), random(4096, 4096)
    half = x.astype(jnp.bfloat16)
    return [
        counted("add, 4 MB", lambda x, y: x + y, x, y),
        counted("add, 64 MB", lambda x, y: x + y, big, big[::-1]),
        counted("x*x + y, then clip", lambda x, y: jnp.clip(x * x + y, 0.0, 1.0), x, y),
        counted("relu of bfloat16", lambda x: jax.nn.relu(x), half),
        counted("gelu", lambda x: jax.nn.gelu(x), x),
        counted("sin(x) exp(-x)", lambda x: jnp.sin(x) * jnp.exp(-x), x),
    ]


def rows() -> list[Task]:
    x = random(1024, 1024)
    return [
        counted("softmax of rows", lambda x: jax.nn.softmax(x, axis=-1), x),
        counted("softmax of columns", lambda x: jax.nn.softmax(x, axis=0), x),
        counted("layer norm", layer_norm, x),
        counted("log-sum-exp of rows", lambda x: jax.nn.logsumexp(x, axis=-1), x),
    ]


def reductions() -> list[Task]:
    x, cube = random(2000, 1000), random(128, 128, 128)
    return [
        task("sum of all", lambda x: x.sum(), x),
        task("sum of rows", lambda x: x.sum(1), x),
        task("sum of columns", lambda x: x.sum(0), x),
        task("sum over the middle axis", lambda x: x.sum(1), cube),
        task("sum over the outer axes", lambda x: x.sum((0, 2)), cube),
        task("maximum of columns", lambda x: x.max(0), x),
        task("argmax of rows", lambda x: x.argmax(1), x),
        task("variance of all", lambda x: x.var(), x),
        task("dot product", lambda x: jnp.vdot(x, x), random(2_000_000)),
    ]


def layouts() -> list[Task]:
    x, cube = random(2048, 2048), random(128, 128, 128)
    index = jax.random.randint(jax.random.key(0), (50_000,), 0, 10_000)
    return [
        task("transpose", lambda x: x.T + 0.0, x),
        task("transpose of bytes", lambda x: x.T, x.astype(jnp.int8)),
        task("axes 0 and 2 exchanged", lambda x: jnp.swapaxes(x, 0, 2) + 0.0, cube),
        task("axes 0 and 1 exchanged", lambda x: jnp.swapaxes(x, 0, 1) + 0.0, cube),
        task("reverse", lambda x: x[::-1, ::-1], x),
        task("every second element", lambda x: x[:, ::2] + 0.0, x, nbytes=x.nbytes * 3 // 2),
        task("rolled by one", lambda x: jnp.roll(x, 1, 1), x),
        task("two side by side", lambda x: jnp.concatenate([x, x], 1), x),
        task("rows gathered", lambda t, i: t[i], random(10_000, 64), index,
             nbytes=2 * 50_000 * 64 * 4 + index.nbytes),
        task("numbers gathered", lambda t, i: t[i], random(10_000), index),
    ]  # fmt: skip


def neighbours() -> list[Task]:
    x, cube = random(1024, 1024), random(128, 128, 128)
    return [
        task("five points, fixed border", blur, x),
        task("seven points, periodic", periodic, cube),
        task("differences", lambda x: jnp.diff(x, axis=1), x),
        task("2 x 2 pooling", lambda x: x.reshape(512, 2, 512, 2).max((1, 3)), x),
        task("running sum of all", jnp.cumsum, random(1_000_000)),
        task("running sums of rows", lambda x: jnp.cumsum(x, 1), x),
        task("running sums of columns", lambda x: jnp.cumsum(x, 0), x),
        task("counts of bytes", lambda v: jnp.bincount(v, length=256),
             jax.random.randint(jax.random.key(1), (1_000_000,), 0, 256)),
        task("histogram", lambda x: jnp.histogram(x, bins=64, range=(-3, 3))[0], x),
    ]  # fmt: skip


def from_memory() -> list[Task]:
    """Arrays of 64 MiB: what of the programs above is bound by memory when no cache helps."""
    x, cube = random(4096, 4096), random(256, 256, 256)
    return [
        task("softmax of rows, 64 MB", lambda x: jax.nn.softmax(x, axis=-1), x),
        task("softmax of columns, 64 MB", lambda x: jax.nn.softmax(x, axis=0), x),
        task("layer norm, 64 MB", layer_norm, x),
        task("sum of all, 64 MB", lambda x: x.sum(), x),
        task("sum of columns, 64 MB", lambda x: x.sum(0), x),
        task("maximum of columns, 64 MB", lambda x: x.max(0), x),
        task("variance of all, 64 MB", lambda x: x.var(), x),
        task("transpose, 64 MB", lambda x: x.T + 0.0, x),
        task("axes 0 and 1 exchanged, 64 MB", lambda x: jnp.swapaxes(x, 0, 1) + 0.0, cube),
        task("rolled by one, 64 MB", lambda x: jnp.roll(x, 1, 1), x),
        task("five points, 64 MB", blur, x),
        task("seven points, 64 MB", periodic, cube),
        task("2 x 2 pooling, 64 MB", lambda x: x.reshape(2048, 2, 2048, 2).max((1, 3)), x),
        task("running sum of all, 64 MB", jnp.cumsum, random(4096 * 4096)),
        task("running sums of rows, 64 MB", lambda x: jnp.cumsum(x, 1), x),
        task("running sums of columns, 64 MB", lambda x: jnp.cumsum(x, 0), x),
    ]


def matmul_tasks() -> list[Task]:
    found = []
    for m, k, n in SHAPES:
        a, b = random(m, k), random(k, n)
        found.append(task(f"matmul {m} x {k} x {n}", jnp.matmul, a, b, operations=2 * m * k * n))
    a = random(256, 32, 32)
    found.append(task("256 of 32 x 32 x 32", jnp.matmul, a, a, operations=2 * 256 * 32**3))
    a, b = random(1024, 1024), random(1024, 1024)
    found.append(task("a.T @ b", lambda a, b: a.T @ b, a, b, operations=2 * 1024**3))
    found.append(task("gelu(a @ b)", lambda a, b: jax.nn.gelu(a @ b), a, b,
                      operations=2 * 1024**3))  # fmt: skip
    return found


FAMILIES = {
    "elementwise": elementwise, "rows": rows, "reductions": reductions, "layouts": layouts,
    "neighbours": neighbours, "from memory": from_memory, "matmul": matmul_tasks,
}  # fmt: skip


def tasks(keywords: str) -> dict[str, list[Task]]:
    """Tasks by family, those whose family or name has one of the keywords."""
    wanted, found = keywords.split(","), {}
    for family, make in FAMILIES.items():
        chosen = [t for t in make() if any(w in f"{family}: {t.name}" for w in wanted)]
        if chosen:
            found[family] = chosen
    return found


def seconds(call: Callable) -> float:
    """Seconds a call: of some trials the best counts, as it does for the ceilings."""
    start = clock.perf_counter()
    call()
    count = max(1, int(SECONDS / ceilings.TRIALS / (clock.perf_counter() - start)))
    return min(_average(call, count) for _ in range(ceilings.TRIALS))


def _average(call: Callable, count: int) -> float:
    start = clock.perf_counter()
    for _ in range(count):
        call()
    return (clock.perf_counter() - start) / count


def measure(found: dict[str, list[Task]], rounds: int) -> list[ceilings.Ceilings]:
    """Times everything by turns; answers the ceilings of each round. For some 20 ms after these,
    whose threads begin and end, what follows takes up to twice its time: that is not counted."""
    limits = []
    for _ in range(rounds):
        limits.append(ceilings.measure())
        for family in list(found.values())[:1]:
            seconds(family[0].call)
        for family in found.values():
            for t in family:
                t.times.append(seconds(t.call))
    return limits


def table(found: dict[str, list[Task]], rounds: list[ceilings.Ceilings]) -> str:
    limits = ceilings.typical(rounds)
    lines = [limits.text(), f"{'':34} {'time':>10} {'GB/s':>8} {'GFLOP/s':>8}  of the ceiling"]
    for family, chosen in found.items():
        lines.append(family)
        for t in chosen:
            flops = f"{t.operations / t.seconds / 1e9:8.1f}" if t.operations else " " * 8
            speed = t.nbytes / t.seconds / 1e9
            time = f"{t.seconds * 1e6:7.1f} us"
            share, limit = t.share(rounds), t.limit(limits)
            lines.append(f"  {t.name:32} {time} {speed:8.1f} {flops}  {share:5.0%} {limit}")
        shares = [t.share(rounds) for t in chosen]
        lines.append(f"  {'median of ' + family:32} {'':28} {statistics.median(shares):6.0%}")
    return "\n".join(lines)


def as_json(found: dict[str, list[Task]], rounds: list[ceilings.Ceilings]) -> dict:
    """What was measured, and on what: without names of machines and places."""
    limits = ceilings.typical(rounds)
    return {
        "machine": machine.describe(), "date": machine.today(), "rounds": len(rounds),
        "libraries": {"jitney": {"version": jax.__version__, "threads": limits.threads}},
        "ceilings": limits.as_json(),
        "tasks": [
            {"family": family, "name": t.name, "seconds": t.seconds, "bytes": t.nbytes,
             "operations": t.operations, "slots": sum(w.slots for w in t.loops),
             "share": t.share(rounds), "limit": t.limit(limits)}
            for family, chosen in found.items()
            for t in chosen
        ],
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="parts of names, with commas between")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="a picture, .png or .svg")
    options = parser.parse_args(arguments)
    found = tasks(options.k)
    rounds = measure(found, options.rounds)
    print(table(found, rounds))
    measured = as_json(found, rounds)
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1) + "\n")
    if options.plot:
        pictures.draw_roofline(measured, options.plot)


if __name__ == "__main__":
    main()
