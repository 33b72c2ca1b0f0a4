"""The machine's ceilings: speed of copies by their size, and of arithmetic in registers.

In: nothing; `ceilings.cpp` is compiled for this machine with the system's C++ compiler. Out:
`Ceilings`, whose measurements are repeated by the caller, between those of programs.
"""

import ctypes
import math
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from instructions import Work

from jitney import _native

SOURCE = Path(__file__).with_suffix(".cpp")
# bytes moved
SIZES = {"64 KiB": 2**16, "1 MiB": 2**20, "8 MiB": 2**23, "32 MiB": 2**25, "128 MiB": 2**27}
STREAMED = 2**24  # from here on copies that bypass the caches are tried, too
MOVED = 2**28  # bytes a measurement moves


@cache
def library() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ceilings.so"
        compiler = os.environ.get("CXX", "c++")
        flags = ["-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC", "-pthread"]
        subprocess.run([compiler, *flags, SOURCE, "-o", path], check=True)
        found = ctypes.CDLL(str(path))
    for name in ("copy_speed", "flops", "slots", "divisions", "look_ups", "comparisons"):
        getattr(found, name).restype = ctypes.c_double
    return found


class Ceilings:
    """Bytes and operations a second: medians of what copies reached, which share caches and memory
    with others, and the best that arithmetic in registers did, which others can only slow down."""

    def __init__(self):
        self.threads = _native.num_threads()
        self.copies: dict[str, list[float]] = {name: [] for name in SIZES}
        self.operations: list[float] = []
        self.instructions: list[float] = []
        self.quotients: list[float] = []
        self.mixtures: list[float] = []

    def measure_once(self) -> None:
        for name, nbytes in SIZES.items():
            ways = (0, 1) if nbytes >= STREAMED else (0,)
            self.copies[name].append(max(self._copy(nbytes, way) for way in ways))
        self.operations.append(self._best(lambda threads: library().flops(threads, 300_000)))
        self.instructions.append(self._best(lambda threads: library().slots(threads, 300_000)))
        self.quotients.append(self._best(lambda threads: library().divisions(threads, 50_000)))
        for mixture in (library().look_ups, library().comparisons):
            self.mixtures.append(self._best(lambda threads, of=mixture: of(threads, 300_000)))

    def _copy(self, nbytes: int, stream: int) -> float:
        count = ctypes.c_int64(max(1, MOVED // nbytes))
        size = ctypes.c_int64(nbytes)
        return self._best(lambda threads: library().copy_speed(size, threads, count, stream))

    def _best(self, speed: Callable[[int], float]) -> float:
        """By one thread or by all, whichever is faster."""
        return max(speed(threads) for threads in {1, self.threads})

    @property
    def flops(self) -> float:
        return max(self.operations)

    @property
    def slots(self) -> float:
        """32-bit lanes of vector arithmetic a second, of the fastest mixture of instructions."""
        return max(*self.instructions, self.flops / 2)

    @property
    def multipliers(self) -> float:
        """Lanes a second of products, look-ups and comparisons, of the fastest mixture."""
        return max(*self.mixtures, self.flops / 2)

    @property
    def divisions(self) -> float:
        """Quotients in float32 a second."""
        return max(self.quotients)

    def arithmetic(self, work: Work) -> float:
        """Seconds that the arithmetic of a loop takes at least: its busiest units decide."""
        beside = (work.multiplied + work.looked_up) / self.multipliers
        multiplied, divided = work.multiplied / (self.flops / 2), work.divided / self.divisions
        return max(work.slots / self.slots, multiplied, beside, divided)

    def speeds(self) -> dict[str, float]:
        return {name: statistics.median(found) for name, found in self.copies.items()}

    def bandwidth(self, nbytes: int) -> float:
        """The speed of a copy of this size, between the measured ones by logarithms."""
        points = [(math.log(SIZES[name]), speed) for name, speed in self.speeds().items()]
        at = math.log(max(nbytes, 1))
        if at <= points[0][0]:
            return points[0][1]
        for (x, low), (y, high) in zip(points, points[1:]):
            if at <= y:
                return low + (high - low) * (at - x) / (y - x)
        return points[-1][1]

    def text(self) -> str:
        copies = ", ".join(f"{v / 1e9:.0f} ({k})" for k, v in self.speeds().items())
        return (
            f"Ceilings by {self.threads} threads: {self.flops / 1e9:.0f} GFLOP/s in float32, "
            f"{self.slots / 1e9:.0f} billion lanes of vector arithmetic, "
            f"{self.multipliers / 1e9:.0f} of products, look-ups and comparisons, and "
            f"{self.divisions / 1e9:.0f} billion quotients a second; "
            f"copies, in GB/s read and written: {copies}."
        )

    def as_json(self) -> dict:
        return {
            "threads": self.threads, "flops": self.flops, "slots": self.slots,
            "divisions": self.divisions, "multipliers": self.multipliers, "copies": self.speeds(),
        }  # fmt: skip
