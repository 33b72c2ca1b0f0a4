"""Registers that are kept on the stack must not lie across two cache lines there."""

import os
import subprocess
import sys

import pytest

from jitney.backend.host import highest_level


@pytest.mark.parametrize(("target", "text"), [("x86-64-v4", "alignstack(64)"),
                                              ("x86-64-v3", "alignstack(32)")])  # fmt: skip
def test_costly_kernels_align_their_stack(tmp_path, target, text):
    if target == "x86-64-v4" != highest_level():
        pytest.skip("this processor cannot run it")
    path = tmp_path / "program.py"
    path.write_text("import jitney.numpy as jnp\n\ndef costly(x):\n    return jnp.tan(x)\n\n"
                    "def cheap(x):\n    return x + 1.0\n")  # fmt: skip
    for name, expected in (("costly", True), ("cheap", False)):
        command = [sys.executable, "-m", "jitney", "explain", f"{path}:{name}", "--shapes",
                   "f32[1000]", "--ir", "llvm"]  # fmt: skip
        done = subprocess.run(command, env={**os.environ, "JITNEY_TARGET": target},
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert (text in done.stdout) == expected
