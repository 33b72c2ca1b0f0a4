"""Shardings of a program's results, from those of its inputs.

In: a jaxpr, and a sharding (or None: placed nowhere) for each input. Out: the same for each result.
Constraints, `device_put` and `shard_map` say where their results are. Elementwise operations keep
the sharding of their operands, structural ones move its entries with the dimensions, and
contractions take those of the dimensions that stay; everything else gives replicated results.
Since all devices share their memory, this is a description, and no choice of it costs anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, jaxprs_in_params
from jitney.placement.partition_spec import UNCONSTRAINED, PartitionSpec, axes_of
from jitney.placement.shardings import NamedSharding, Sharding, SingleDeviceSharding

Placed = Sharding | None
Entries = list      # one entry of a spec for each dimension

PLACING = {"sharding_constraint", "device_put", "shard_map"}


def places(jaxpr: Jaxpr) -> bool:
    """Whether some equation says where values are."""
    return any(eqn.primitive.name in PLACING or any(map(places, jaxprs_in_params(eqn.params)))
               for eqn in jaxpr.eqns)


def result_shardings(jaxpr: Jaxpr, shardings: Sequence[Placed]) -> list[Placed]:
    """The sharding of each result, or None."""
    env: dict[Any, Placed] = dict.fromkeys(jaxpr.constvars)
    env.update(zip(jaxpr.invars, shardings, strict=True))

    def read(atom: Any) -> Placed:
        return None if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, _of_equation(eqn, [read(v) for v in eqn.invars])))
    return [read(v) for v in jaxpr.outvars]


def _of_equation(eqn: JaxprEqn, ins: list[Placed]) -> list[Placed]:
    name = eqn.primitive.name
    rule = _WHOLE_RULES.get(name)
    if rule is not None:
        return rule(eqn, ins)
    first = next((s for s in ins if isinstance(s, NamedSharding)), None)
    if first is None:
        single = next((s for s in ins if isinstance(s, SingleDeviceSharding)), None)
        return [single] * len(eqn.outvars)
    known = [_entries(s, v.aval.shape) for s, v in zip(ins, eqn.invars)]
    entries = _ENTRY_RULES.get(name, _elementwise)(eqn, known)
    return [_sharding(first, entries if i == 0 or name in _SAME_FOR_ALL else None, v.aval.shape)
            for i, v in enumerate(eqn.outvars)]


def _entries(sharding: Placed, shape: tuple) -> Entries:
    if not isinstance(sharding, NamedSharding):
        return [None] * len(shape)
    spec = [None if e is UNCONSTRAINED else e for e in sharding.spec]
    return spec + [None] * (len(shape) - len(spec))


def _sharding(like: NamedSharding, entries: Entries | None, shape: tuple) -> NamedSharding:
    """The entries as a sharding; those that cannot be are dropped."""
    used: set = set()
    kept: Entries = []
    for entry, extent in zip(entries or [], shape):
        parts = NamedSharding(like.mesh, PartitionSpec(entry))._parts(1)[0]
        if entry is None or used & set(axes_of(entry)) or extent % parts:
            kept.append(None)
            continue
        used |= set(axes_of(entry))
        kept.append(entry)
    if kept == list(like.spec)[:len(kept)] and len(like.spec) <= len(kept):
        return like                                 # the very spec the user wrote
    while kept and kept[-1] is None:
        kept.pop()
    return NamedSharding(like.mesh, PartitionSpec(*kept))


# --- rules that give the entries of the (first) result --------------------------------------------


def _elementwise(eqn: JaxprEqn, known: list[Entries]) -> Entries | None:
    shape = eqn.outvars[0].aval.shape
    shapes = [v.aval.shape for v in eqn.invars]
    if any(s and (len(s) != len(shape) or any(n not in (1, m) for n, m in zip(s, shape)))
           for s in shapes):
        return None                                 # not elementwise
    wide = [[e if n == m else None for e, n, m in zip(entries, s, shape)]
            for entries, s in zip(known, shapes) if s]
    return [next((e for e in column if e is not None), None) for column in zip(*wide)]


def _broadcast(eqn: JaxprEqn, known: list[Entries]) -> Entries:
    out: Entries = [None] * len(eqn.outvars[0].aval.shape)
    for entry, at in zip(known[0], eqn.params["broadcast_dimensions"]):
        out[at] = entry
    return out


def _transpose(eqn: JaxprEqn, known: list[Entries]) -> Entries:
    return [known[0][i] for i in eqn.params["permutation"]]


def _without(parameter: str) -> Callable:
    def rule(eqn: JaxprEqn, known: list[Entries]) -> Entries:
        gone = set(eqn.params[parameter])
        return [e for i, e in enumerate(known[0]) if i not in gone]
    return rule


def _same_extent(eqn: JaxprEqn, known: list[Entries]) -> Entries | None:
    """Slices, pads, windows, …: dimensions that keep their extent keep their entry."""
    before, after = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    if len(before) != len(after):
        return None
    return [e if a == b else None for e, a, b in zip(known[0], before, after)]


def _except_dimension(eqn: JaxprEqn, known: list[Entries]) -> Entries:
    gone = eqn.params["dimension"]
    return [None if i == gone else next((e for e in column if e is not None), None)
            for i, column in enumerate(zip(*known))]


def _reshape(eqn: JaxprEqn, known: list[Entries]) -> Entries:
    """Equal leading dimensions keep their entries; the first that differs keeps it if it can."""
    before, after = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    out: Entries = [None] * len(after)
    for i, (a, b) in enumerate(zip(before, after)):
        out[i] = known[0][i]
        if a != b:
            break
    return out


def _dot(eqn: JaxprEqn, known: list[Entries]) -> Entries:
    (left_sum, right_sum), (left_batch, right_batch) = eqn.params["dimension_numbers"]
    left, right = known[:2]
    gone_left, gone_right = {*left_sum, *left_batch}, {*right_sum, *right_batch}
    return [left[i] if left[i] is not None else right[j] for i, j in zip(left_batch, right_batch)] \
        + [e for i, e in enumerate(left) if i not in gone_left] \
        + [e for i, e in enumerate(right) if i not in gone_right]


_ENTRY_RULES: dict[str, Callable] = {
    "broadcast_in_dim": _broadcast, "transpose": _transpose, "reshape": _reshape,
    "squeeze": _without("dimensions"), "dot_general": _dot, "concatenate": _except_dimension,
    "sort": _except_dimension,
    **{f"reduce_{k}": _without("axes") for k in ("sum", "max", "min", "prod", "and", "or", "xor")},
    "argmax": _without("axes"), "argmin": _without("axes"),
    **dict.fromkeys(("slice", "dynamic_slice", "pad", "rev", "dynamic_update_slice", "cumsum",
                     "cumprod", "cummax", "cummin", "cumlogsumexp", "scatter", "scatter-add",
                     "fft"),
                    _same_extent),
}
_SAME_FOR_ALL = {"sort"}


# --- rules that give the shardings of all results -------------------------------------------------


def _inside(parameter: str) -> Callable:
    def rule(eqn: JaxprEqn, ins: list[Placed]) -> list[Placed]:
        inner = eqn.params[parameter]
        jaxpr = inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner
        return result_shardings(jaxpr, ins)
    return rule


def _replicated(ins: list[Placed], count: int) -> list[Placed]:
    first = next((s for s in ins if isinstance(s, NamedSharding)), None)
    if first is None:
        return [next((s for s in ins if s is not None), None)] * count
    return [NamedSharding(first.mesh, PartitionSpec())] * count


def _loop(eqn: JaxprEqn, ins: list[Placed]) -> list[Placed]:
    """What a loop carries stays where it was."""
    params, count = eqn.params, len(eqn.outvars)
    out = _replicated(ins, count)
    if eqn.primitive.name == "scan":
        first, carried = params["num_consts"], params["num_carry"]
    else:
        first = params["cond_nconsts"] + params["body_nconsts"]
        carried = count
    for i, sharding in enumerate(ins[first:first + carried]):
        out[i] = sharding if sharding is not None else out[i]
    return out


def _branches(eqn: JaxprEqn, ins: list[Placed]) -> list[Placed]:
    return result_shardings(eqn.params["branches"][0].jaxpr, ins[1:])


_WHOLE_RULES: dict[str, Callable] = {
    "sharding_constraint": lambda eqn, ins: [eqn.params["sharding"]],
    "device_put": lambda eqn, ins: [s if d is None else d
                                    for s, d in zip(ins, eqn.params["devices"])],
    "shard_map": lambda eqn, ins: [NamedSharding(eqn.params["mesh"], spec)
                                   for spec in eqn.params["out_specs"]],
    **dict.fromkeys(("jit", "pjit", "closed_call", "remat", "checkpoint", "composite"),
                    _inside("jaxpr")),
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call"), _inside("call_jaxpr")),
    "custom_vmap_call": _inside("call"),
    "scan": _loop, "while": _loop, "cond": _branches,
}

__all__ = ["PLACING", "places", "result_shardings"]
