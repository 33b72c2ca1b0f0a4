"""`python -m jitney doctor`: what is installed, what the machine is, and whether it works.

Out: facts to read or to paste into a report, and a small program compiled, run and compared with
NumPy. Exit status 1 if the comparison fails.
"""

import importlib.metadata
import os
import platform
import time

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney import _native
from jitney.backend import host, object_cache
from jitney.tools.measure import seconds

PACKAGES = ("numpy", "scipy", "llvmlite", "ml_dtypes", "opt_einsum", "rich", "matplotlib")


def add_arguments(parser) -> None:
    """There are none."""


def run(options) -> int:
    """The command."""
    for name, text in facts().items():
        print(f"{name:12s} {text}")
    good, text = check()
    print(f"{'check':12s} {text}")
    return 0 if good else 1


def facts() -> dict[str, str]:
    """One line a fact."""
    target = host.host_target()
    settings = {k: v for k, v in os.environ.items() if k.startswith("JITNEY_")}
    return {
        "jitney": f"{jitney.__version__} in {os.path.dirname(jitney.__file__)}",
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "processor": processor(),
        "target": f"{target.cpu}, vectors of {target.vector_bits} bits, "
        f"{'fused' if target.fma else 'no fused'} multiply-add",
        "threads": str(_native.num_threads()),
        "cache": object_cache.cache_folder() or "none (see python -m jitney cache info)",
        "settings": " ".join(f"{k}={v}" for k, v in sorted(settings.items())) or "none",
    }


def version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def processor() -> str:
    """The processor's name."""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return f"{line.split(':', 1)[1].strip()}, {os.cpu_count()} logical cores"
    except OSError:
        pass
    return platform.processor() or platform.machine()


def check() -> tuple[bool, str]:
    """Compiles and runs a program that NumPy can check."""
    x = np.linspace(-2.0, 2.0, 1001, dtype=np.float32)

    def program(x):
        return jnp.sum(jnp.exp(x) * jnp.where(x > 0, x, 0.5))

    before = dict(object_cache.counters)
    begin = time.perf_counter()
    got = float(jitney.jit(program)(x))
    took = time.perf_counter() - begin
    want = float(np.sum(np.exp(x.astype(np.float64)) * np.where(x > 0, x, 0.5)))
    compiled = object_cache.counters["compiled"] - before["compiled"]
    origin = "compiled" if compiled else "taken from the cache"
    if abs(got - want) > 1e-4 * abs(want):
        return False, f"FAILED: {got} instead of {want}"
    return True, f"a small program was {origin} and gave the right answer after {seconds(took)}"
