"""psum, pmean, pmax, pmin: reductions over named axes.

In: a value on each member of the axes, or a tree of values. Out: the same result for all members of
a group. Under `vmap` they become reductions of the batch; under `pmap` and `shard_map` the
devices' threads meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.base.pytree import tree_map
from jitney.core.avals import get_aval
from jitney.core.primitive import Primitive
from jitney.core.trace import Tracer
from jitney.lax.arithmetic import div, mul
from jitney.lax.cast import convert_element_type
from jitney.lax.compare import eq
from jitney.lax.nary import constant, filled
from jitney.lax.parallel import meeting
from jitney.lax.parallel.grouped import in_groups
from jitney.lax.parallel.names import axis_size, groups_of, names_of, same_type
from jitney.lax.reduce import reduce_max, reduce_min
from jitney.lax.shape import sum_over
from jitney.transforms.jvp import Zero, define_jvp, define_linear
from jitney.transforms.vmap import define_batch_unary, define_collective_batch

psum_p, pmax_p, pmin_p = Primitive("psum"), Primitive("pmax"), Primitive("pmin")
_PYTHON_NUMBERS = (bool, int, float, complex)


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum of `x` over the members of the axis (of each group of `axis_index_groups`).

    Leaves keep shape and dtype; booleans are counted as int32. ValueError unless the groups hold
    each position once; NameError for an axis that is not in scope.

    >>> vmap(lambda x: lax.psum(x, "i"), axis_name="i")(jnp.arange(3.))
    Array([3., 3., 3.], dtype=float32)
    """
    names = names_of(axis_name)
    groups = groups_of(axis_index_groups, axis_size(names))
    return tree_map(lambda leaf: _psum(leaf, names, groups), x)


def _psum(x: Any, names: tuple, groups: Any) -> Any:
    same_size = groups is None or len({len(g) for g in groups}) == 1
    if not isinstance(x, Tracer) and same_size:
        size = len(groups[0]) if groups else axis_size(names)
        return x * size if isinstance(x, _PYTHON_NUMBERS) else mul(x, filled(x, size))
    if get_aval(x).dtype == np.bool_:
        x = convert_element_type(x, np.int32)
    return psum_p.bind(x, axes=names, axis_index_groups=groups)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean of `x` over the members of the axis (of each group); integers give floats."""
    size = psum(1, axis_name, axis_index_groups=axis_index_groups)

    def mean(total):
        if isinstance(total, _PYTHON_NUMBERS) and isinstance(size, int):
            return total / size
        if not dtypes.is_inexact(get_aval(total).dtype):
            total = convert_element_type(total, np.float32)
        if isinstance(size, int):
            return div(total, constant(total, size))
        return div(total, mul(filled(total, 1), convert_element_type(size, total.dtype)))

    return tree_map(mean, psum(x, axis_name, axis_index_groups=axis_index_groups))


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The largest `x` of the members of the axis (of each group); NaN if there is one."""
    return _extreme(pmax_p, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The smallest `x` of the members of the axis (of each group); NaN if there is one."""
    return _extreme(pmin_p, x, axis_name, axis_index_groups)


def _extreme(primitive: Primitive, x: Any, axis_name: Any, axis_index_groups: Any) -> Any:
    names = names_of(axis_name)
    groups = groups_of(axis_index_groups, axis_size(names))
    return tree_map(lambda leaf: primitive.bind(leaf, axes=names, axis_index_groups=groups)
                    if isinstance(leaf, Tracer) else leaf, x)


def _define(primitive: Primitive, operation: np.ufunc, reduce_one: Callable) -> None:
    def whole(size, x, dim):
        if dim is not None:
            return reduce_one(x, (dim,)), None
        return (mul(x, filled(x, size)) if primitive is psum_p else x), None

    def collective(size, args, dims, *, axes, axis_index_groups):
        (x,), (dim,) = args, dims
        if axis_index_groups is None:
            out = whole(size, x, dim)[0]
            if axes:
                out = primitive.bind(out, axes=axes, axis_index_groups=None)
            return out, None
        if axes:
            raise NotImplementedError(
                f"{primitive.name} with axis_index_groups over several named axes, one of which is "
                "an axis of vmap; use one axis")
        return in_groups(whole, axis_index_groups, size, x, dim), 0

    primitive.def_abstract(same_type)
    primitive.def_reference(lambda x, *, axes, axis_index_groups: meeting.all_reduce(
        primitive.name, operation, axes, axis_index_groups, x))
    define_batch_unary(primitive)
    define_collective_batch(primitive, "axes", collective)


_define(psum_p, np.add, sum_over)
_define(pmax_p, np.maximum, reduce_max)
_define(pmin_p, np.minimum, reduce_min)

# each member's result is the sum, so each cotangent flows to every member
define_linear(psum_p, lambda ct, x, **params: [psum_p.bind(ct, **params)])


def _extreme_jvp(primitive: Primitive) -> None:
    """The tangent of the members that hold the extreme value: their mean."""

    def rule(primals, tangents, **params):
        (x,), (t,) = primals, tangents
        out = primitive.bind(x, **params)
        if type(t) is Zero:
            return out, Zero.from_primal_value(out)
        holds = convert_element_type(eq(x, out), get_aval(x).dtype)
        total = psum_p.bind(mul(t, holds), **params)
        return out, div(total, psum_p.bind(holds, **params))

    define_jvp(primitive, rule)


_extreme_jvp(pmax_p)
_extreme_jvp(pmin_p)
