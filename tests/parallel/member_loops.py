"""What collectives mean, as loops over the members' values, and three ways to run them."""

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney.placement.devices import cpu_devices
from jitney.sharding import Mesh
from jitney.sharding import PartitionSpec as P

N = 4


def groups_of(groups):
    return [list(range(N))] if groups is None else [list(g) for g in groups]


def reduced(operation):
    def reference(xs, groups=None):
        out = [None] * N
        for group in groups_of(groups):
            total = xs[group[0]].copy()
            for i in group[1:]:
                total = operation(total, xs[i])
            for i in group:
                out[i] = total
        return np.stack(out)
    return reference


def gathered(xs, groups=None, axis=0, tiled=False):
    out = [None] * N
    for group in groups_of(groups):
        parts = [xs[i] for i in group]
        for i in group:
            out[i] = np.concatenate(parts, axis) if tiled else np.stack(parts, axis)
    return np.stack(out)


def scattered(xs, groups=None, axis=0, tiled=False):
    out = [None] * N
    for group in groups_of(groups):
        total = sum(xs[i] for i in group[1:]) + xs[group[0]]
        for k, i in enumerate(group):
            out[i] = np.split(total, len(group), axis)[k] if tiled else np.take(total, k, axis)
    return np.stack(out)


def exchanged(xs, split, concat, groups=None, tiled=False):
    out = [None] * N
    for group in groups_of(groups):
        for k, i in enumerate(group):
            if tiled:
                parts = [np.split(xs[j], len(group), split)[k] for j in group]
                out[i] = np.concatenate(parts, concat)
            else:
                out[i] = np.stack([np.take(xs[j], k, split) for j in group], concat)
    return np.stack(out)


def permuted(xs, pairs):
    out = np.zeros_like(xs)
    for source, destination in pairs:
        out[destination] = xs[source]
    return out


# --- three ways to give each member its row ------------------------------------------------------


def by_vmap(f):
    return jitney.vmap(f, axis_name="i")


def by_pmap(f):
    return jitney.pmap(f, axis_name="i")


def by_shard_map(f):
    mesh = Mesh(np.array(cpu_devices()[:N]), ("i",))

    def one(x):
        return jitney.tree_util.tree_map(lambda y: jnp.asarray(y)[None],
                                         f(jitney.tree_util.tree_map(lambda y: y[0], x)))

    return jitney.shard_map(one, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False)


WAYS = {"vmap": by_vmap, "pmap": by_pmap, "shard_map": by_shard_map}
