"""Runs small programs in processes of their own, each test with a cache folder of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jitney

SOURCE = Path(jitney.__file__).resolve().parents[1]  # installed, or the working tree

PROGRAM = """
import json, os, sys
import jitney, jitney.numpy as jnp
from jitney.backend import object_cache
x = jnp.arange(37.0)
a = jitney.jit(lambda x: jnp.sin(x) * 2 + x.sum())(x)
b = jitney.jit(lambda x: (x[:, None] * x).max(0) - 1)(x)
print(json.dumps({"sum": float(a.sum()) + float(b.sum()), **object_cache.counters,
                  "llvmlite": "llvmlite" in sys.modules, "scipy": "scipy" in sys.modules}))
"""


class Runner:
    """`cache()` runs PROGRAM and returns what it printed; `folder` is where it keeps code."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items()
                    if k not in ("JITNEY_BACKEND", "JITNEY_TARGET", "JITNEY_CACHE_BYTES")}
        self.env["PYTHONPATH"] = os.pathsep.join(
            [str(SOURCE), *filter(None, [self.env.get("PYTHONPATH")])])
        self.env["JITNEY_CACHE_DIR"] = str(folder)

    def start(self, code=PROGRAM, remove=(), **env):
        merged = {k: v for k, v in {**self.env, **env}.items() if k not in remove}
        return subprocess.Popen([sys.executable, "-c", code], env=merged, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __call__(self, code=PROGRAM, remove=(), cwd=None, **env):
        merged = {k: v for k, v in {**self.env, **env}.items() if k not in remove}
        done = subprocess.run([sys.executable, "-c", code], env=merged, text=True, cwd=cwd,
                              capture_output=True, timeout=120, check=False)
        return self.read(done.returncode, done.stdout, done.stderr)

    @staticmethod
    def read(code, out, err):
        assert code == 0, err
        assert "Traceback" not in err, err
        return json.loads(out.splitlines()[-1])

    def entries(self):
        return sorted(p for p in self.folder.glob("??/*") if not p.name.startswith("."))

    def temporaries(self):
        return list(self.folder.glob("??/.new*"))
