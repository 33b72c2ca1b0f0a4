"""The machine's ceilings: speed of copies by their size, and of arithmetic in registers.

In: nothing; `ceilings.cpp` is compiled for this machine with the system's C++ compiler. Out:
`measure()`, the `Ceilings` of this moment, which the caller asks for again and again, between
measurements of programs; `typical(...)` of several.
"""

import ctypes
import math
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

from instructions import Work

from jitney import _native

SOURCE = Path(__file__).with_suffix(".cpp")
# bytes moved
SIZES = {
    "64 KiB": 2**16, "256 KiB": 2**18,
    **{f"{n} MiB": n * 2**20 for n in (1, 2, 4, 8, 16, 32, 64, 128)},
}  # fmt: skip
STREAMED = 2**24  # from here on copies that bypass the caches are tried, too
MOVED = 2**28  # bytes a measurement moves
TRIALS = 3  # of arithmetic and of programs, which others can only slow down: the best counts
# Repetitions in a trial: 10 ms, as long as a trial of a program, so that what disturbs a machine
# for shorter than that (others' work comes and goes within milliseconds) is in both or in neither.
MANY, DIVISIONS = 5_000_000, 800_000


@cache
def library() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ceilings.so"
        compiler = os.environ.get("CXX", "c++")
        flags = ["-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC", "-pthread"]
        subprocess.run([compiler, *flags, SOURCE, "-o", path], check=True)
        found = ctypes.CDLL(str(path))
    for name in ("copy_speed", "flops", "slots", "divisions", "look_ups", "comparisons",
                 "additions", "scalings"):  # fmt: skip
        getattr(found, name).restype = ctypes.c_double
    return found


@dataclass(frozen=True)
class Ceilings:
    """Bytes and operations a second, by as many threads as jitney uses."""

    threads: int
    copies: dict[str, float]  # bytes read and written, by the size of what is copied
    flops: float  # multiply-adds in float32, two operations each
    slots: float  # 32-bit lanes of vector arithmetic, of the fastest mixture of instructions
    multipliers: float  # lanes of products, look-ups and comparisons, of the fastest mixture
    divisions: float  # quotients in float32
    additions: float = math.inf  # lanes of sums alone
    places: float = 1  # additions that would begin in the time of a scaling, at least one

    def arithmetic(self, work: Work) -> float:
        """Seconds that the arithmetic of a loop takes at least: its busiest units decide."""
        beside = (work.multiplied + work.looked_up) / self.multipliers
        multiplied, divided = work.multiplied / (self.flops / 2), work.divided / self.divisions
        more = (self.places - 1) * work.scaled
        added = (work.added + more) / self.additions
        return max((work.slots + more) / self.slots, multiplied, beside, added, divided)

    def bandwidth(self, nbytes: int) -> float:
        """The speed of a copy of this size, between the measured ones by logarithms."""
        points = [(math.log(SIZES[name]), speed) for name, speed in self.copies.items()]
        at = math.log(max(nbytes, 1))
        if at <= points[0][0]:
            return points[0][1]
        for (x, low), (y, high) in zip(points, points[1:]):
            if at <= y:
                return low + (high - low) * (at - x) / (y - x)
        return points[-1][1]

    def text(self) -> str:
        copies = ", ".join(f"{v / 1e9:.0f} ({k})" for k, v in self.copies.items())
        return (
            f"Ceilings by {self.threads} threads: {self.flops / 1e9:.0f} GFLOP/s in float32, "
            f"{self.slots / 1e9:.0f} billion lanes of vector arithmetic, "
            f"{self.multipliers / 1e9:.0f} of products, look-ups and comparisons, "
            f"{self.additions / 1e9:.0f} of additions, and "
            f"{self.divisions / 1e9:.0f} billion quotients a second; "
            f"a scaling takes the place of {self.places:.1f}; "
            f"copies, in GB/s read and written: {copies}."
        )

    def as_json(self) -> dict:
        return asdict(self)


def measure() -> Ceilings:
    """What the machine can do at this moment."""
    speeds = library()
    flops = _best(lambda threads: speeds.flops(threads, MANY))
    mixtures = [_best(lambda threads, of=mixture: of(threads, MANY))
                for mixture in (speeds.slots, speeds.look_ups, speeds.comparisons)]  # fmt: skip
    added = _best(lambda threads: speeds.additions(threads, MANY))
    scaled = _best(lambda threads: speeds.scalings(threads, MANY))
    return Ceilings(
        threads=_native.num_threads(),
        copies={name: _copies(nbytes) for name, nbytes in SIZES.items()},
        flops=flops,
        slots=max(*mixtures, flops / 2),
        multipliers=max(*mixtures[1:], flops / 2),
        divisions=_best(lambda threads: speeds.divisions(threads, DIVISIONS)),
        additions=added,
        places=max(1.0, added / scaled) if scaled else 1.0,
    )


def typical(found: list[Ceilings]) -> Ceilings:
    """The median of every ceiling."""
    numbers = [f.name for f in fields(Ceilings) if f.name not in ("threads", "copies")]
    medians = {name: statistics.median(getattr(one, name) for one in found) for name in numbers}
    sizes = found[0].copies
    copies = {name: statistics.median(one.copies[name] for one in found) for name in sizes}
    return Ceilings(threads=found[0].threads, copies=copies, **medians)


def _copies(nbytes: int) -> float:
    """The faster of the ways to copy, by one thread or by all."""
    ways = (0, 1) if nbytes >= STREAMED else (0,)
    count, size = ctypes.c_int64(max(1, MOVED // nbytes)), ctypes.c_int64(nbytes)
    return max(
        library().copy_speed(size, threads, count, way) for way in ways for threads in _threads()
    )


def _best(speed: Callable[[int], float]) -> float:
    """By one thread or by all, whichever is faster."""
    return max(speed(threads) for threads in _threads() for _ in range(TRIALS))


def _threads() -> set[int]:
    return {1, _native.num_threads()}
