"""`in_shardings` and `out_shardings` of `jit`.

In: trees of shardings, devices, PartitionSpecs (with a mesh in scope) or None, which are prefixes
of the arguments and of the result. Out: arguments and results placed so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitney.api.placed import committed, constrain, placed
from jitney.base.pytree import broadcast_prefix, prefix_errors
from jitney.core.avals import Array, get_aval, to_array
from jitney.core.trace import Tracer
from jitney.lax.placing import check_fits
from jitney.placement.devices import CpuDevice
from jitney.placement.partition_spec import PartitionSpec
from jitney.placement.shardings import Sharding, as_sharding


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, (Sharding, PartitionSpec, CpuDevice))


class JitShardings:
    """What one jitted function was told about places."""

    def __init__(self, inside: Any, outside: Any, unspecified: Any):
        self.inside = None if inside is unspecified else inside
        self.outside = None if outside is unspecified else outside
        if isinstance(self.inside, list):
            self.inside = tuple(self.inside)

    def place_inputs(self, leaves: Sequence, in_tree: Any, names: Sequence[str]) -> list:
        """The flat arguments where they should be."""
        if self.inside is None:
            return list(leaves)
        wanted = self.of_inputs(in_tree)
        return [self._input(x, s, name) for x, s, name in zip(leaves, wanted, names, strict=True)]

    def of_inputs(self, in_tree: Any) -> list[Sharding | None]:
        """What each flat argument was told; None: nothing."""
        if self.inside is None:
            return [None] * in_tree.num_leaves
        args, kwargs = in_tree.unflatten(list(range(in_tree.num_leaves)))
        if kwargs:
            raise ValueError("jit does not support kwargs when in_shardings is specified; pass the "
                             f"arguments by position. Got the keywords {sorted(kwargs)}")
        return _spread(self.inside, tuple(args), "in_shardings")

    def of_results(self, out_tree: Any) -> list[Sharding | None]:
        """What each flat result was told; None: nothing."""
        if self.outside is None:
            return [None] * out_tree.num_leaves
        return _spread(self.outside, out_tree.unflatten(list(range(out_tree.num_leaves))),
                       "out_shardings")

    def _input(self, x: Any, sharding: Sharding | None, name: str) -> Any:
        if sharding is None:
            return x
        check_fits("jit arguments", sharding, get_aval(x))
        if isinstance(x, Tracer):
            return constrain(x, sharding, "jit arguments")
        now = x._sharding if type(x) is Array and committed(x) else None
        if now is not None and not now.is_equivalent_to(sharding, get_aval(x).ndim):
            raise ValueError(
                "Sharding passed to jit does not match the sharding on the respective arg. Got jit "
                f"sharding: {sharding},\narg sharding: {now} for arg type: "
                f"{get_aval(x).str_short()}, argument {name}. Move it there first, with "
                "jax.device_put.")
        return placed(to_array(x), sharding)

    def place_results(self, outs: Sequence, out_tree: Any) -> list:
        """The flat results where they should be."""
        if self.outside is None:
            return list(outs)
        return [self._output(x, s) for x, s in zip(outs, self.of_results(out_tree), strict=True)]

    def _output(self, x: Any, sharding: Sharding | None) -> Any:
        if sharding is None:
            return x
        if isinstance(x, Tracer):
            return constrain(x, sharding, "jit outputs")
        check_fits("jit outputs", sharding, get_aval(x))
        return placed(x, sharding)


def _spread(tree: Any, full: Any, name: str) -> list[Sharding | None]:
    try:
        found = broadcast_prefix(tree, full, is_leaf=_is_spec)
    except (ValueError, TypeError, KeyError):
        error = next(iter(prefix_errors(tree, full, is_leaf=_is_spec)), None)
        raise ValueError(error(f"jit {name}") if error is not None else
                         f"jit {name} is no tree prefix of the values: {tree}") from None
    return [None if s is None else as_sharding(s, "jit") for s in found]


__all__ = ["JitShardings"]
