"""Primitives that move elements: broadcasts, reshapes, slices, pads, joins, iota.

In: operands and static sizes. Out: the StableHLO operation of the same meaning; stack, unstack,
split and tile as slices, reshapes and concatenations.
"""

from __future__ import annotations

from jitney.stablehlo.rules import rule

# --- broadcast, reshape, transpose ---------------------------------------------------------------


@rule("broadcast_in_dim")
def _broadcast_in_dim(b, site, x, *sizes):
    return b.broadcast(x, site.out.shape, site.params["broadcast_dimensions"])


@rule("reshape")
def _reshape(b, site, x):
    if site.params["dimensions"] is not None:
        x = b.transpose(x, site.params["dimensions"])
    return b.reshape(x, site.out.shape)


@rule("squeeze", "expand_dims")
def _squeeze(b, site, x):
    return b.reshape(x, site.out.shape)


@rule("transpose")
def _transpose(b, site, x):
    return b.transpose(x, site.params["permutation"])


@rule("rev")
def _rev(b, site, x):
    return b.reverse(x, site.params["dimensions"])


@rule("tile")
def _tile(b, site, x):
    """Axes of size 1 between the axes are repeated, then merged."""
    reps = site.params["reps"]
    apart = [n for size in x.shape for n in (1, size)]
    spread = [n for size, count in zip(x.shape, reps, strict=True) for n in (count, size)]
    repeated = b.broadcast(b.reshape(x, apart), spread, range(len(spread)))
    return b.reshape(repeated, site.out.shape)


@rule("iota")
def _iota(b, site):
    return b.iota(site.out, site.params["dimension"])


@rule("empty", "empty2")
def _empty(b, site):
    return b.full(0, site.out)


# --- slices --------------------------------------------------------------------------------------


@rule("slice")
def _slice(b, site, x):
    p = site.params
    return b.slice(x, p["start_indices"], p["limit_indices"], p["strides"])


@rule("dynamic_slice")
def _dynamic_slice(b, site, x, *starts):
    return b.dynamic_slice(x, starts, site.params["slice_sizes"])


@rule("dynamic_update_slice")
def _dynamic_update_slice(b, site, x, update, *starts):
    return b.dynamic_update_slice(x, update, starts)


@rule("split")
def _split(b, site, x):
    axis, start, parts = site.params["axis"], 0, []
    for size in site.params["sizes"]:
        parts.append(b.slice_axis(x, axis, start, start + size))
        start += size
    return parts


@rule("unstack")
def _unstack(b, site, x):
    axis = site.params["axis"]
    return [b.reshape(b.slice_axis(x, axis, i, i + 1), out.shape)
            for i, out in enumerate(site.outs)]


# --- joins ---------------------------------------------------------------------------------------


@rule("pad")
def _pad(b, site, x, fill):
    return b.pad(x, fill, site.params["padding_config"])


@rule("concatenate")
def _concatenate(b, site, *parts):
    return b.concatenate(parts, site.params["dimension"])


@rule("stack")
def _stack(b, site, *parts):
    axis, shape = site.params["axis"], list(site.out.shape)
    shape[axis] = 1
    others = [d for d in range(len(shape)) if d != axis]
    return b.concatenate([b.broadcast(x, shape, others) for x in parts], axis)


@rule("optimization_barrier", keys=True)
def _barrier(b, site, *values):
    return b.op("stablehlo.optimization_barrier", values, [v.type for v in values])


@rule("device_put", "pvary", "sharding_constraint", keys=True)
def _placed(b, site, *values):
    """Where values are to be is no part of the program: the values themselves."""
    return list(values)


@rule("dce_sink", keys=True)
def _sink(b, site, x):
    return []
