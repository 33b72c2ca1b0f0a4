"""Einstein summation, as a sequence of pairwise contractions.

In: subscripts and operands. Out: one array. opt_einsum chooses the order of contractions (once
for a given text and shapes); each step is one `dot_general`, after sums over lonely indices.
Invariant: every operand's index text is as long as its rank at every step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.core.avals import Array
from jitney.lax.out_sharding import check_out_sharding
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import (
    array_arguments,
    check_arraylike,
    dtype_of,
    requested_dtype,
    shape_of,
)
from jitney.numpy.ufuncs import constant


def einsum(subscripts, /, *operands, out=None, optimize="auto", precision=None,
           preferred_element_type=None, _dot_general=lax.dot_general, out_sharding=None):
    """Sum of products over the indices named in `subscripts` ("ij,jk->ik")."""
    if (type(subscripts) is str and _dot_general is lax.dot_general and optimize == "auto"
            and out is precision is preferred_element_type is out_sharding is None
            and operands and all([type(x) is Array for x in operands])):
        return _einsum_of_arrays(subscripts, *operands)
    check_out_sharding("einsum", out_sharding)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.einsum is not supported.")
    subscripts, operands = _as_text(subscripts, operands)
    check_arraylike("einsum", *operands)
    values = tuple(array_arguments("einsum", x) for x in operands)
    plan = _plan(subscripts, tuple(shape_of(x) for x in values), _optimize_key(optimize))
    if preferred_element_type is not None:
        preferred_element_type = requested_dtype(preferred_element_type, "einsum")
    return _einsum(values, plan, precision, preferred_element_type, _dot_general)


@inlined(static_argnums=(0,))
def _einsum_of_arrays(subscripts, *operands):
    """Without options: the plan is made once for each text and types, and not looked up again."""
    plan = _plan(subscripts, tuple([shape_of(x) for x in operands]), "auto")
    return _einsum(operands, plan, None, None, lax.dot_general)


def einsum_path(subscripts, /, *operands, optimize="auto"):
    """The order of contractions, and a text that describes it."""
    import opt_einsum
    optimize = "optimal" if optimize is True else optimize
    return opt_einsum.contract_path(subscripts, *operands, optimize=optimize)


def _optimize_key(optimize: Any) -> Any:
    if optimize is True:
        return "optimal"
    return tuple(tuple(p) if isinstance(p, (list, tuple)) else p for p in optimize) \
        if isinstance(optimize, (list, tuple)) else optimize


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _as_text(subscripts: Any, operands: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """The form with interleaved index lists turned into the form with a text."""
    if isinstance(subscripts, str):
        return subscripts, operands
    given = [subscripts, *operands]
    arrays, lists = given[: len(given) - len(given) % 2][0::2], given[1::2]
    names: dict[Any, str] = {}

    def text(indices: Sequence[Any]) -> str:
        return "".join("..." if i is Ellipsis else names.setdefault(i, _LETTERS[len(names)])
                       for i in indices)

    known = sorted({i for one in lists for i in one if i is not Ellipsis})
    names.update((i, _LETTERS[k]) for k, i in enumerate(known))
    result = ",".join(text(one) for one in lists)
    if len(given) % 2:
        result += "->" + text(given[-1])
    return result, arrays


@functools.lru_cache(maxsize=1024)
def _plan(subscripts: str, shapes: tuple, optimize: Any) -> tuple:
    """((operand positions, contracted indices, "ij,jk->ik"), …)"""
    import opt_einsum
    if isinstance(optimize, tuple):
        optimize = [list(p) if isinstance(p, tuple) else p for p in optimize]
        optimize = [tuple(p) if isinstance(p, list) else p for p in optimize]
    _, steps = opt_einsum.contract_path(subscripts, *shapes, shapes=True, einsum_call=True,
                                        use_blas=True, optimize=optimize)
    return tuple((tuple(step[0]), tuple(sorted(step[1])), step[2]) for step in steps)


@inlined(static_argnums=(1, 2, 3, 4))
def _einsum(operands, plan, precision, preferred_element_type, _dot_general):
    if preferred_element_type is None:
        dtype = dtypes.result_type(*operands)
    else:
        dtype = preferred_element_type
    dot = functools.partial(_dot_general, precision=precision, preferred_element_type=dtype)
    remaining = list(operands)
    for positions, contracted, text in plan:
        inputs, result = text.split("->")
        names = inputs.split(",")
        taken = [remaining.pop(i) for i in positions]
        if len(taken) == 1:
            done, order = _reduce_one(taken[0], names[0], result, set(contracted))
        elif len(taken) == 2:
            done, order = _contract(taken, names, result, contracted, dot)
        else:
            raise NotImplementedError("einsum contracts at most two operands at a time")
        if order != result:
            done = lax.transpose(done, tuple(order.index(n) for n in result))
        remaining.append(done)
    final = remaining[0]
    return final if dtype_of(final) == dtype else lax.convert_element_type(final, dtype)


def _sum_over(x: Any, names: str, gone: Sequence[str]) -> tuple[Any, str]:
    """Sum over named indices."""
    axes = tuple(names.index(n) for n in gone)
    if not axes:
        return x, names
    if dtype_of(x) == np.bool_:
        x = lax.reduce_or(x, axes)
    else:
        x = lax.reduce_sum(x, axes)
    return x, "".join(n for n in names if n not in gone)


def _diagonals(x: Any, names: str, keep: Callable[[str], bool]) -> tuple[Any, str]:
    """Take the diagonal of indices that occur more than once (or sum it)."""
    for name in dict.fromkeys(names):
        places = [i for i, n in enumerate(names) if n == name]
        if len(places) < 2:
            continue
        mask = _equal_indices(shape_of(x), places)
        x = lax.select(mask, x, lax.full_like(x, constant(0, x)))
        gone = tuple(places[:-1]) if keep(name) else tuple(places)
        x = lax.reduce_or(x, gone) if dtype_of(x) == np.bool_ else lax.reduce_sum(x, gone)
        names = "".join(n for i, n in enumerate(names) if i not in gone)
    return x, names


def _equal_indices(shape: tuple[int, ...], places: Sequence[int]) -> Any:
    """Whether the indices at these axes are the same, broadcast to `shape`."""
    small = tuple(shape[i] for i in places)
    first = lax.broadcasted_iota(np.uint32, small, 0)
    mask = None
    for k in range(1, len(places)):
        same = lax.eq(first, lax.broadcasted_iota(np.uint32, small, k))
        mask = same if mask is None else lax.bitwise_and(mask, same)
    return mask if small == shape else lax.broadcast_in_dim(mask, shape, tuple(places))


def _reduce_one(x: Any, names: str, result: str, contracted: set[str]) -> tuple[Any, str]:
    x, names = _diagonals(x, names, lambda n: n in result)
    return _sum_over(x, names, [n for n in names if n not in result])


def _squeeze_broadcast(x: Any, names: str, other: Any, other_names: str) -> tuple[Any, str]:
    """Drop axes of length one whose index has another length in the other operand."""
    gone = [i for i, n in enumerate(names) if shape_of(x)[i] == 1 and n in other_names
            and shape_of(other)[other_names.index(n)] != 1]
    if not gone:
        return x, names
    return lax.squeeze(x, tuple(gone)), "".join(n for i, n in enumerate(names) if i not in gone)


def _contract(taken: list[Any], names: list[str], result: str, contracted: Sequence[str],
              dot: Callable) -> tuple[Any, str]:
    (left, right), (left_names, right_names) = taken, names
    left, left_names = _diagonals(left, left_names,
                                  lambda n: n in result or n in right_names)
    right, right_names = _diagonals(right, right_names,
                                    lambda n: n in result or n in left_names)
    squeezed = _squeeze_broadcast(left, left_names, right, right_names)
    right, right_names = _squeeze_broadcast(right, right_names, left, left_names)
    left, left_names = squeezed
    left, left_names = _sum_over(left, left_names, [
        n for n in left_names if n in contracted and n not in right_names])
    right, right_names = _sum_over(right, right_names, [
        n for n in right_names if n in contracted and n not in left_names])
    common = [n for n in left_names if n in right_names]
    summed = [n for n in contracted if n in common]
    batch = [n for n in common if n not in summed]
    first = _product_order(batch, right_names, left_names, summed)
    if first == result:
        return _dot(right, right_names, left, left_names, summed, batch, dot), first
    order = _product_order(batch, left_names, right_names, summed)
    return _dot(left, left_names, right, right_names, summed, batch, dot), order


def _product_order(batch: list[str], one: str, other: str, summed: list[str]) -> str:
    gone = {*batch, *summed}
    return "".join([*batch, *(n for n in one if n not in gone),
                    *(n for n in other if n not in gone)])


def _dot(left: Any, left_names: str, right: Any, right_names: str, summed: list[str],
         batch: list[str], dot: Callable) -> Any:
    contracting = (tuple(left_names.index(n) for n in summed),
                   tuple(right_names.index(n) for n in summed))
    batching = (tuple(left_names.index(n) for n in batch),
                tuple(right_names.index(n) for n in batch))
    return dot(left, right, (contracting, batching))
