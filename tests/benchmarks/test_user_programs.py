"""The programs of benchmarks/users compile to few kernels, run, and give what they give in JAX.

    python tests/benchmarks/test_user_programs.py

writes the kernels and partitions of every program to `user_programs.txt` anew, on a machine with
AVX-512: how much of a program is one kernel depends on what vectors there are.
"""

import json
import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import jitney
from jitney.backend.host import host_target
from jitney.fuse.partition import Partition

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from users import catalogue, first_calls  # noqa: E402

RECORD = Path(__file__).with_name("user_programs.txt")
LIB = catalogue.library("jitney")
PROGRAMS = catalogue.programs()
# more than two seconds: of any compiler, and of JAX's (its tests alone are slow)
SLOW = {"quantum_circuit_vqe"}
SLOW_IN_JAX = SLOW | {
    "lda_gibbs_like_random_families",
    "simulation_based_inference_count_models",
    "zinb_count_regression_grad",
}


def each(slow: set[str]):
    """A test of every program; those that are slow are marked."""
    marked = [pytest.param(p, marks=pytest.mark.slow if p.name in slow else ()) for p in PROGRAMS]
    return pytest.mark.parametrize("made", marked, ids=lambda p: f"{p.subject}.{p.name}")


@pytest.fixture(autouse=True)
def compiled_anew(monkeypatch):
    """Nothing comes from the disk, where counts would be of what was left to do."""
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")


@pytest.fixture(scope="module")
def recorded() -> dict[str, tuple[int, int]]:
    """Kernels and partitions by name."""
    lines = (line.split() for line in RECORD.read_text().splitlines() if line[:1] != "#")
    return {name: (int(kernels), int(partitions)) for name, kernels, partitions in lines}


def compiled(made: catalogue.Program) -> tuple:
    """The arguments, what was traced, what was compiled, and how many partitions that took."""
    arguments = LIB.tree_map(jitney.numpy.asarray, made.arguments())
    traced = jitney.jit(made.build(LIB)).trace(*arguments)
    runs, run = [], Partition.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Partition, "run", lambda self: (runs.append(1), run(self))[1])
        executable = traced.lower().compile()
    return arguments, traced, executable, len(runs)


def kernels(executable) -> int:
    return executable.as_text().count("] kernel ")


def most(count: int) -> int:
    """What a recorded count may grow to: small changes of the compiler move it a little."""
    return math.floor(count * 1.1 + 2)


@each(SLOW)
def test_takes_few_kernels_and_gives_what_was_traced(made, recorded):
    arguments, traced, executable, partitions = compiled(made)
    leaves = [np.asarray(x) for x in LIB.tree_leaves(executable(*arguments))]
    wanted = [(aval.shape, aval.dtype) for aval in traced.jaxpr.out_avals]
    assert [(x.shape, x.dtype) for x in leaves] == wanted
    assert not made.finite or all(np.isfinite(x).all() for x in leaves)
    if host_target().avx512:
        limits = tuple(map(most, recorded[made.name]))
        assert kernels(executable) <= limits[0]
        assert partitions <= limits[1]


@pytest.mark.jax
@each(SLOW_IN_JAX)
def test_gives_what_jax_gives(made):
    pytest.importorskip("jax")
    found = []
    for name in ("jitney", "jax"):
        lib = catalogue.library(name)
        arguments = lib.tree_map(lib.jnp.asarray, made.arguments())
        out = lib.jax.jit(made.build(lib))(*arguments)
        found.append([np.asarray(x) for x in lib.tree_leaves(out)])
    catalogue.compare(made, *found)


def test_every_program_says_what_it_is_and_was_recorded(recorded):
    assert len(PROGRAMS) >= 263
    assert {p.subject for p in PROGRAMS} == set(catalogue.SUBJECTS)
    assert all(len(p.text) > 10 and p.text.endswith(".") for p in PROGRAMS)
    assert set(recorded) == {p.name for p in PROGRAMS}


def test_arguments_are_the_same_each_time():
    made = PROGRAMS[0]
    for a, b in zip(*(LIB.tree_leaves(made.arguments()) for _ in range(2)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("got", [np.array([1.0, 2.1]), np.array([1.0, np.nan]), np.ones(3)])
def test_results_that_differ_are_told(got):
    made = next(p for p in PROGRAMS if p.name == "kmeans_lloyd")
    catalogue.compare(made, [np.array([1.0, 2.0])], [np.array([1.0, 2.001])])
    with pytest.raises(AssertionError, match="kmeans_lloyd, leaf 0"):
        catalogue.compare(made, [got], [np.array([1.0, 2.0])])


def test_first_calls_are_timed_by_stage(tmp_path, capsys):
    report = tmp_path / "report.json"
    first_calls.main(["--subject", "kmeans_lloyd,lion", "--slowest", "1", "--json", str(report)])
    printed = capsys.readouterr().out
    assert "classical (1)" in printed and "training (1)" in printed and "all (2)" in printed
    for row in json.loads(report.read_text())["stages"]:
        times = row["milliseconds"]
        assert set(times) == set(first_calls.STAGES) and row["kernels"] > 1
        parts = sum(times[k] for k in ("trace", "graph", "fuse", "code", "assemble"))
        assert 0 < parts <= times["total"]


def test_the_two_sides_are_asked_by_turns():
    options = first_calls.options_from(["--rounds", "2", "--jax-python", sys.executable])
    side = first_calls.Side("jitney", sys.executable, options)
    made = next(p for p in PROGRAMS if p.name == "kmeans_lloyd")
    row = first_calls.run.measure(made, [side], options.rounds)
    assert "KeyError" in side.ask(do="prepare", name="no such program")["error"]
    side.stop()
    assert 0 < row.median("jitney") < row.first["jitney"] and not row.errors
    row.times["jax"], row.first["jax"] = [2 * t for t in row.times["jitney"]], row.first["jitney"]
    found = first_calls.pair_as_json(row)
    assert (found["ratio"], found["first_ratio"]) == (0.5, 1.0)
    assert "classical (1)" in first_calls.pair_summary([found])
    assert first_calls.pair_line(row).endswith("0.500")


def record() -> None:
    """Write the counts of all programs."""
    if not host_target().avx512:
        raise SystemExit("counts are recorded on a machine with AVX-512")
    os.environ["JITNEY_CACHE_DIR"] = ""
    lines = ["# name, kernels, partitions; with AVX-512"]
    for made in PROGRAMS:
        _, _, executable, partitions = compiled(made)
        lines.append(f"{made.name} {kernels(executable)} {partitions}")
    RECORD.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    record()
