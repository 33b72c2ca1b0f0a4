"""Generated code reads and writes only what it was given (see memory_bounds_program.py)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jitney

HERE = Path(__file__).resolve().parent


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs mprotect")
@pytest.mark.parametrize("target", ["", "x86-64-v3"])
def test_programs_stay_in_their_memory(target):
    env = {**os.environ, "PYTHONPATH": str(Path(jitney.__file__).resolve().parents[1])}
    env.pop("JITNEY_BACKEND", None)
    names = []
    if target:
        with open("/proc/cpuinfo") as file:
            if " avx2" not in file.read():
                pytest.skip("this processor cannot run it")
        env["JITNEY_TARGET"] = target
        names = ["elementwise", "rows", "softmax", "softmax0", "standardize", "transpose",
                 "matmul", "matmul_t", "cumsum", "pad", "concatenate", "int8", "narrow_parts",
                 "parts_of_parts", "colours", "planes", "steps", "steps_back", "heads",
                 "transforms", "ranks"]
    done = subprocess.run([sys.executable, str(HERE / "memory_bounds_program.py"), *names],
                          env=env, text=True, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]
    assert done.stdout.endswith("all in bounds\n")
