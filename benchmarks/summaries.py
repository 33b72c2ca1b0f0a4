"""Means of what was measured, from the dictionaries that `run.py` and `roofline.py` write.

In: such a dictionary, after JSON. Out: numbers by family.
"""

import math
import statistics


def geometric_mean(values: list[float]) -> float:
    """Of those that are numbers."""
    values = [v for v in values if not math.isnan(v)]
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def families(rows: list[dict]) -> list[str]:
    """In their order."""
    return list(dict.fromkeys(row["family"] for row in rows))


def peers(ratios: dict) -> list[str]:
    return list(ratios["libraries"])[1:]


def ratios_of(ratios: dict, peer: str, family: str | None = None) -> list[float]:
    """jitney's time over the peer's, of the programs of a family or of all."""
    rows = (r for r in ratios["programs"] if family in (None, r["family"]))
    found = (r["ratio"].get(peer, math.nan) for r in rows)
    return [v for v in found if not math.isnan(v)]


def shares_of(roof: dict, family: str | None = None) -> list[float]:
    """Shares of the ceiling of the tasks of a family or of all."""
    return [t["share"] for t in roof["tasks"] if family in (None, t["family"])]
