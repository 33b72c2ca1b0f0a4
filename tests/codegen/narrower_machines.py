"""Runs a file of tests again, by the instructions of a narrower machine."""

import os
import subprocess
import sys


def run_tests(file: str, target: str) -> None:
    """All tests of the file but those called narrower, in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", file, "-k", "not narrower"]
    done = subprocess.run(command, env={**os.environ, "JITNEY_TARGET": target},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
