"""The benchmarks run (small sizes, without JAX), and none of NumPy's functions is forgotten."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import jitney.numpy as jnp

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPT = BENCHMARKS / "sore_points.py"


def test_sore_points(tmp_path):
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(SCRIPT), "--quick", "--rounds", "1", "--output",
               str(tmp_path / "picture.png"), "--jax-python", ""]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "grad of 200 unrolled operations: first call" in done.stdout
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_never_slower_accounts_for_every_function_of_numpy(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    cases = importlib.import_module("numpy_cases")
    assert not cases.unaccounted(numpy, jnp)
    assert not set(cases.LEFT_OUT) & {case.name for case in cases.CASES}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_never_slower(dtype):
    command = [sys.executable, str(BENCHMARKS / "never_slower.py"), "--size", "2500", "--rounds",
               "1", "--dtype", dtype, "-k", "^(sin|sort|put|linalg.inv|unique)"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "linalg.inv [batch]" in done.stdout
    assert "failed" not in done.stdout


@pytest.mark.slow
def test_never_slower_runs_every_case():
    command = [sys.executable, str(BENCHMARKS / "never_slower.py"), "--size", "2500", "--rounds",
               "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "failed" not in done.stdout
