"""Collectives over named axes: psum, pmean, pmax, pmin, axis_index, all_gather, all_to_all, ….

In: a value on each member of a named axis (of `vmap(..., axis_name=...)`, `pmap` or `shard_map`),
or a tree of values. Out: what the members get. Where a batch owns the axis, a collective becomes an
ordinary operation on the batch dimension, and nothing of it reaches the compiler; where devices own
it, it stays an equation, and their threads meet in it (`meeting.py`).
Invariant: sizes of named axes are known while tracing.
"""

from jitney.lax.parallel.exchanging import (
    all_to_all,
    all_to_all_p,
    pbroadcast,
    ppermute,
    ppermute_p,
    pshuffle,
    pswapaxes,
)
from jitney.lax.parallel.gathering import (
    all_gather,
    all_gather_p,
    psum_scatter,
    reduce_scatter_p,
)
from jitney.lax.parallel.indices import axis_index, axis_index_p
from jitney.lax.parallel.names import axis_size
from jitney.lax.parallel.reductions import (
    pmax,
    pmax_p,
    pmean,
    pmin,
    pmin_p,
    psum,
    psum_p,
)
from jitney.lax.parallel.varying import pcast, psum_invariant_p, pvary_p

__all__ = [
    "all_gather", "all_gather_p", "all_to_all", "all_to_all_p", "axis_index", "axis_index_p",
    "axis_size", "pbroadcast", "pcast", "pmax", "pmax_p", "pmean", "pmin", "pmin_p", "ppermute",
    "ppermute_p", "pshuffle", "psum", "psum_invariant_p", "psum_p", "psum_scatter", "pswapaxes",
    "pvary_p", "reduce_scatter_p",
]
