"""The benchmark of sore points runs (small sizes, without JAX)."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "sore_points.py"


def test_sore_points(tmp_path):
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(SCRIPT), "--quick", "--rounds", "1", "--output",
               str(tmp_path / "picture.png"), "--jax-python", ""]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "grad of 200 unrolled operations: first call" in done.stdout
    assert (tmp_path / "picture.png").stat().st_size > 1000
