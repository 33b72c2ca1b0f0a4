"""pvary, psum_invariant and pcast: values that differ between devices, and values that do not.

In a `shard_map` that checks (`check_vma=True`) every value has a set of axes along which it varies.
`pvary` says that a value varies from here on, and computes nothing; `psum_invariant` is the sum
over axes along which the value varies, and its result does not. They are each other's transposes:
that is why a cotangent of a weight that all devices share is summed, and a cotangent of a sum is
not (`placement.varying` says where they are put).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.base.pytree import tree_map
from jitney.core.primitive import Primitive
from jitney.lax.arithmetic import mul
from jitney.lax.nary import filled
from jitney.lax.parallel import meeting
from jitney.lax.parallel.names import names_of, same_type
from jitney.lax.shape import sum_over
from jitney.placement import varying
from jitney.transforms.jvp import define_linear
from jitney.transforms.vmap import define_batch_unary, define_collective_batch

pvary_p, psum_invariant_p = Primitive("pvary"), Primitive("psum_invariant")


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """`x`, known to vary along the axes from here on (`to="varying"`).

    Where types of values do not say along which axes they vary (`vmap`, `pmap`, and `shard_map`
    with `check_vma=False`), this is `x` itself. Other kinds of `to` raise NotImplementedError.
    """
    names = names_of(axis_name)
    if to != "varying":
        raise NotImplementedError(f"pcast(to={to!r}): only 'varying' is supported; to get a value "
                                  "that does not vary use psum, pmax or pmean")
    mode = varying.mode()
    if mode is None:
        return x
    return tree_map(lambda leaf: mode.vary(leaf, set(names) & mode.axes), x)


pvary_p.def_abstract(same_type)
pvary_p.def_reference(lambda x, *, axes: x)
define_batch_unary(pvary_p)
define_linear(pvary_p, lambda ct, x, *, axes: [psum_invariant_p.bind(ct, axes=axes)])


def _vary_collective(size, args, dims, *, axes):
    out = pvary_p.bind(args[0], axes=axes) if axes else args[0]
    return out, dims[0]


define_collective_batch(pvary_p, "axes", _vary_collective)

psum_invariant_p.def_abstract(same_type)
psum_invariant_p.def_reference(
    lambda x, *, axes: meeting.all_reduce("psum", np.add, axes, None, x))
define_batch_unary(psum_invariant_p)
define_linear(psum_invariant_p, lambda ct, x, *, axes: [pvary_p.bind(ct, axes=axes)])


def _sum_collective(size, args, dims, *, axes):
    (x,), (dim,) = args, dims
    x = mul(x, filled(x, size)) if dim is None else sum_over(x, (dim,))
    return (psum_invariant_p.bind(x, axes=axes) if axes else x), None


define_collective_batch(psum_invariant_p, "axes", _sum_collective)
