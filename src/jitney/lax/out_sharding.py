"""The argument `out_sharding`: how a result is to be spread over devices.

In: what a caller passed. Out: nothing, or a TypeError or ValueError. Values never depend on it:
every device of a process reads the same memory, so it is checked, kept in equations that have a
place for it, and otherwise without effect.
"""

from __future__ import annotations

from typing import Any


def check_out_sharding(name: str, out_sharding: Any) -> None:
    """Raise unless `out_sharding` is None, a NamedSharding, or a PartitionSpec.

    Layouts are known by the names of their classes, which belong to a higher layer.
    """
    if out_sharding is None:
        return
    kinds = {kind.__name__ for kind in type(out_sharding).__mro__}
    if not kinds & {"NamedSharding", "PartitionSpec"}:
        raise TypeError(f"`out_sharding` argument of {name} only supports instances of "
                        f"`NamedSharding` or `PartitionSpec`. Got {out_sharding} of type: "
                        f"{type(out_sharding)}")


__all__ = ["check_out_sharding"]
