"""axis_index: the position of a member along a named axis.

In: names of axes. Out: an int32 scalar, different for each member.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive, named
from jitney.core.trace import axis_size as size_of_axis
from jitney.lax.parallel.names import names_of
from jitney.placement.members import current_member
from jitney.transforms.jvp import define_zero_jvp
from jitney.transforms.vmap import define_batch, define_collective_batch


def axis_index(axis_name: Any) -> Any:
    """The position of this member along the axis (row-major over several), an int32 scalar."""
    index: Any = None
    for name in names_of(axis_name):
        one = axis_index_p.bind(axis_name=name)
        index = one if index is None else index * size_of_axis(name) + one
    return np.int32(0) if index is None else index


axis_index_p = Primitive("axis_index")
axis_index_p.def_abstract(lambda *, axis_name: ShapedArray((), np.dtype(np.int32)))
axis_index_p.def_reference(lambda *, axis_name: np.int32(current_member().position((axis_name,))))
define_collective_batch(
    axis_index_p, "axis_name",
    lambda size, args, dims, *, axis_name: (named("iota").bind(
        dtype=np.dtype(np.int32), shape=(size,), dimension=0, sharding=None), 0))
define_zero_jvp(axis_index_p)
define_batch(axis_index_p, lambda args, dims, **params: (axis_index_p.bind(**params), None))
