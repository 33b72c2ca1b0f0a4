"""Measuring times so that they can be compared: interleaved rounds, medians, spread.

In: named functions without arguments. Out: a `Spread` each. Every round calls each function once,
so that whatever else the machine does hits all of them alike.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Seconds: the median, the extremes, and how many calls they are of."""

    median: float
    low: float
    high: float
    count: int

    def __str__(self):
        return f"{seconds(self.median)} ({seconds(self.low)} .. {seconds(self.high)})"


def spread_of(times: list[float]) -> Spread:
    """The summary of some times.

    >>> spread_of([3.0, 1.0, 2.0])
    Spread(median=2.0, low=1.0, high=3.0, count=3)
    """
    return Spread(statistics.median(times), min(times), max(times), len(times))


def measure(calls: dict[str, Callable], rounds: int, limit: float = 20.0) -> dict[str, Spread]:
    """Times of each call over interleaved rounds (fewer if they take longer than `limit` seconds).

    Each is called once beforehand, so no first call is counted.
    """
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    begin = time.perf_counter()
    for done in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
        if time.perf_counter() - begin > limit and done:
            break
    return {name: spread_of(found) for name, found in times.items()}


def seconds(value: float) -> str:
    """A time with three digits and a fitting unit.

    >>> seconds(0.00123)
    '1.23 ms'
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def nbytes(value: float) -> str:
    """A number of bytes with a fitting (decimal) unit.

    >>> nbytes(8_000_000)
    '8 MB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"
