"""Times programs that are sore points elsewhere, side by side with JAX where there is one.

    python benchmarks/sore_points.py [--rounds 5] [--jax-python PATH] [--output sore_points.png]

In: nothing. Out: a table of medians and ratios (JAX's time over jitney's), and a picture of the
time to the first result of an unrolled loop over its length. Each round is a fresh process of each
library by turns, so that neither profits from the other's warm caches; jitney's cache of compiled
kernels on disk is a temporary folder, empty at the start of each round. `--jax-python` names an
interpreter that has JAX, if this one has not.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEAVES, STEPS = 60, 614


# --- what is measured (runs in a worker process) --------------------------------------------------


def seconds_of(call, repeat: int) -> float:
    """The median time of a call."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def scan_of_many_leaves(api, jnp, lax, wait):
    """`grad` of a scan with 60 scalar leaves and 614 steps: (first call, later calls)."""
    def loss(weights, xs):
        def body(carry, x):
            return {k: 0.9 * v + weights[k] * jnp.sin(x + v) for k, v in carry.items()}, None

        start = {k: 0.0 * w for k, w in weights.items()}
        return sum(lax.scan(body, start, xs)[0].values())

    weights = {f"w{i:02d}": jnp.asarray(0.01 * i, "float64") for i in range(LEAVES)}
    xs = jnp.linspace(0.0, 1.0, STEPS)
    grad = api.jit(api.grad(loss))
    return first_and_later(lambda: wait(grad(weights, xs)), "grad of a scan, 60 leaves x 614")


def scan_of_small_matrices(api, jnp, lax, wait):
    """A scan over products of 3 x 3 matrices in float64."""
    @api.jit
    def run(a, turns):
        step = lambda c, t: (jnp.cos(t) * (a @ c) + 0.1 * c, None)
        return lax.scan(step, jnp.eye(3, dtype=a.dtype), turns)[0]

    a = 0.3 * jnp.arange(9.0, dtype="float64").reshape(3, 3) - 1.0
    turns = jnp.linspace(0.0, 3.0, 10_000, dtype="float64")
    return first_and_later(lambda: wait(run(a, turns)), "scan of 3 x 3 float64, 10 000 steps")


def first_and_later(call, name: str) -> dict:
    first = seconds_of(call, 1)
    return {f"{name}: first call": first, f"{name}: later": seconds_of(call, 20)}


def unrolled_loops(api, jnp, lengths, wait) -> dict:
    """Time to the first gradient of an unrolled loop, by its number of operations."""
    found = {}
    for n in lengths:
        def loss(x, n=n):
            for i in range(n // 2):
                x = jnp.sin(x) * (1.5 if i % 2 else 1.2)
            return x

        found[f"grad of {n} unrolled operations: first call"] = seconds_of(
            lambda loss=loss: wait(api.jit(api.grad(loss))(0.7)), 1)
    return found


def updates_in_loops(api, jnp, lax, sizes, wait) -> dict:
    """`fori_loop` with `.at[t + 1].set`."""
    @api.jit
    def recurrence(x):
        return lax.fori_loop(0, x.shape[0] - 1, lambda t, x: x.at[t + 1].set(0.5 * x[t] + 1.0), x)

    found = {}
    for n in sizes:
        start = jnp.zeros(n)
        wait(recurrence(start))
        found[f"fori_loop with .at[t + 1].set, n = {n}"] = seconds_of(
            lambda start=start: wait(recurrence(start)), 5)
    return found


def work(library: str, quick: bool) -> dict:
    """All times of one library, by name."""
    api = importlib.import_module(library)
    jnp, lax = (importlib.import_module(f"{library}.{part}") for part in ("numpy", "lax"))
    api.config.update("jax_enable_x64", True)
    wait = api.block_until_ready
    lengths = (50, 100, 150, 200) if quick else (250, 500, 1000, 2000)
    sizes = (200, 2_000) if quick else (2_000, 20_000, 200_000)
    return {
        **scan_of_many_leaves(api, jnp, lax, wait), **scan_of_small_matrices(api, jnp, lax, wait),
        **unrolled_loops(api, jnp, lengths, wait), **updates_in_loops(api, jnp, lax, sizes, wait),
    }  # fmt: skip


# --- rounds and report ----------------------------------------------------------------------------


def measured(python: str, library: str, quick: bool) -> dict:
    """The times of one round, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "JITNEY_CACHE_DIR": folder, "JAX_PLATFORMS": "cpu"}
        command = [python, __file__, "--worker", library, *(["--quick"] if quick else [])]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{library} failed (status {done.returncode}):\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def medians(rounds: list[dict]) -> dict:
    return {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}


def table(times: dict[str, dict]) -> str:
    """One line a measurement; ratios above 1 mean that jitney takes less time."""
    mine, other = times["jitney"], times.get("jax")
    width = max(map(len, mine))
    lines = [f"{'':{width}}  {'jitney':>11}" + (f"  {'JAX':>11}  JAX / jitney" if other else "")]
    for name, value in mine.items():
        line = f"{name:{width}}  {value * 1e3:8.3f} ms"
        if other:
            line += f"  {other[name] * 1e3:8.3f} ms  {other[name] / value:12.2f}"
        lines.append(line)
    return "\n".join(lines)


def draw(times: dict[str, dict], path: Path) -> None:
    """Time to the first result over the number of operations."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    names = [n for n in times["jitney"] if "unrolled" in n]
    lengths = [int(n.split()[2]) for n in names]
    for library, found in times.items():
        axes.plot(lengths, [found[n] for n in names], "o-", label=library)
    axes.set(xlabel="operations of the loop", ylabel="seconds to the first gradient",
             title="Gradient of an unrolled loop: trace and compile", ylim=(0, None))
    axes.set_xticks(lengths)
    axes.legend()
    figure.savefig(path, dpi=120)


def interpreter_with_jax(asked: str | None) -> str | None:
    if asked is not None:
        return asked
    return sys.executable if importlib.util.find_spec("jax") else None


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jax-python", help="an interpreter that has JAX ('': without JAX)")
    parser.add_argument("--output", type=Path, default=Path("sore_points.png"))
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--worker", choices=("jitney", "jax"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        print(json.dumps(work(options.worker, options.quick)))
        return
    pythons = {"jitney": sys.executable, "jax": interpreter_with_jax(options.jax_python)}
    rounds: dict[str, list[dict]] = {name: [] for name, python in pythons.items() if python}
    for number in range(options.rounds):
        for library, found in rounds.items():
            print(f"round {number + 1} of {options.rounds}: {library}", file=sys.stderr)
            found.append(measured(pythons[library], library, options.quick))
    times = {library: medians(found) for library, found in rounds.items()}
    print(table(times))
    draw(times, options.output)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()
