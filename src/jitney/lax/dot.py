"""Contractions: dot_general, and dot and batch_matmul on top of it.

In: two arrays, which axes of each are summed over together and which advance together. Out: an
array with axes (batch…, free axes of lhs…, free axes of rhs…).
Invariant: small floats are accumulated in float32; integers wrap in the result's type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive, named
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.precision import canonicalize_precision, preferred_dtype
from jitney.lax.shape import canonical_shape, inverse_permutation, shape_of, transpose
from jitney.transforms.jvp import define_bilinear
from jitney.transforms.vmap import define_batch

DotDimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]],
                            tuple[Sequence[int], Sequence[int]]]


def _canonical_numbers(dimension_numbers: Any):
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    return ((canonical_shape(lhs_contract), canonical_shape(rhs_contract)),
            (canonical_shape(lhs_batch), canonical_shape(rhs_batch)))


def dot_general(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None, *,
                out_sharding=None):
    """Sum of products over contracting axes.

    `dimension_numbers` is `((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))`.
    """
    check_out_sharding("dot_general", out_sharding)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.canonicalize_dtype(preferred_element_type)
    return dot_general_p.bind(
        lhs, rhs, dimension_numbers=_canonical_numbers(dimension_numbers),
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type, out_sharding=out_sharding)


def dot(lhs, rhs, *, dimension_numbers=None, precision=None, preferred_element_type=None,
        out_sharding=None):
    """Product of vectors and matrices; with `dimension_numbers`, `dot_general`."""
    check_out_sharding("dot", out_sharding)
    if dimension_numbers is None:
        a, b = shape_of(lhs), shape_of(rhs)
        if not (1 <= len(a) <= 2 and 1 <= len(b) <= 2 and a[-1] == b[0]):
            raise ValueError(
                "jax.lax.dot: dimension_numbers must be specified when not performing simple "
                "un-batched matrix-matrix, matrix-vector, or vector-vector products; got "
                f"lhs_shape={a} rhs_shape={b}")
        dimension_numbers = (((len(a) - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type,
                       out_sharding=out_sharding)


def batch_matmul(lhs, rhs, precision=None):
    """Matrix products over equal leading axes."""
    a, b = len(shape_of(lhs)), len(shape_of(rhs))
    if a < 2 or b < 2:
        raise ValueError(f"Arguments to batch_matmul must be at least 2D, got {a}, {b}")
    if a != b:
        raise ValueError(f"Arguments to batch_matmul must have same ndim, got {a}, {b}")
    batch = tuple(range(a - 2))
    return dot_general(lhs, rhs, (((a - 1,), (a - 2,)), (batch, batch)), precision)


dot_general_p = Primitive("dot_general")


@dot_general_p.def_print
def _dot_general_print(params, eqn):
    contract, batch = params["dimension_numbers"]
    shown = {"dimension_numbers": (tuple(map(list, contract)), tuple(map(list, batch)))}
    shown.update((k, v) for k, v in params.items()
                 if k != "dimension_numbers" and v is not None)
    return shown


# --- type ------------------------------------------------------------------------------------


def _check_axes(side: str, contract: tuple, batch: tuple, ndim: int) -> None:
    if len(set(batch)) != len(batch):
        raise TypeError(f"dot_general requires {side} batch dimensions to be distinct, got "
                        f"{side}_batch {batch}.")
    if len(set(contract)) != len(contract):
        raise TypeError(f"dot_general requires {side} contracting dimensions to be distinct, got "
                        f"{side}_contracting {contract}.")
    if any(not 0 <= d < ndim for d in (*contract, *batch)):
        raise TypeError(
            f"dot_general requires {side} dimension numbers to be nonnegative and less than the "
            f"number of axes of the {side} value, got {side}_batch of {batch} and "
            f"{side}_contracting of {contract} for {side} of rank {ndim}")
    if set(batch) & set(contract):
        raise TypeError(f"dot_general requires {side} batch dimensions to be disjoint from "
                        f"contracting dimensions, got {side}_batch {batch} and "
                        f"{side}_contracting {contract}.")


def _free(ndim: int, contract: tuple, batch: tuple) -> tuple[int, ...]:
    return tuple([d for d in range(ndim) if d not in contract and d not in batch])


def combined_dtype(a: Any, b: Any) -> Any:
    """The dtype of products of mixed operands: always that of one of the two."""
    if a == b:
        return a
    try:
        found = dtypes.promote_types(a, b)
    except dtypes.TypePromotionError:
        return b
    return found if found in (a, b) else a


@dot_general_p.def_abstract
def _dot_general_type(lhs, rhs, *, dimension_numbers, precision, preferred_element_type,
                      out_sharding):
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    a, b = lhs.shape, rhs.shape
    _check_axes("lhs", lhs_contract, lhs_batch, len(a))
    _check_axes("rhs", rhs_contract, rhs_batch, len(b))
    if len(lhs_batch) != len(rhs_batch):
        raise TypeError("dot_general requires equal numbers of lhs_batch and rhs_batch dimensions, "
                        f"got lhs_batch {lhs_batch} and rhs_batch {rhs_batch}.")
    for what, left, right in (("lhs batch dimensions and rhs batch", lhs_batch, rhs_batch),
                              ("contracting", lhs_contract, rhs_contract)):
        sizes = tuple([a[d] for d in left]), tuple([b[d] for d in right])
        if sizes[0] != sizes[1]:
            raise TypeError(f"dot_general requires {what} dimensions to have the same shape, got "
                            f"{sizes[0]} and {sizes[1]}.")
    shape = (*[a[d] for d in lhs_batch],
             *[a[d] for d in _free(len(a), lhs_contract, lhs_batch)],
             *[b[d] for d in _free(len(b), rhs_contract, rhs_batch)])
    dtype = preferred_dtype(combined_dtype(lhs.dtype, rhs.dtype), preferred_element_type)
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)


# --- meaning ---------------------------------------------------------------------------------


def accumulation_dtype(*found: Any) -> np.dtype:
    """The NumPy dtype a reference computes in, wide enough for operands and result."""
    if all(d == np.bool_ for d in found):
        return np.dtype(bool)
    if all(dtypes.is_integer(d) or d == np.bool_ for d in found):
        return np.dtype(np.int64)                     # modular: the low bits are right
    wide = [np.dtype(np.float32) if dtypes.is_floating(d) and d.itemsize < 4 or
            d.kind == "V" else d for d in found if dtypes.is_inexact(d)]
    return np.result_type(*wide)


@dot_general_p.def_reference
def _dot_general_reference(lhs, rhs, *, dimension_numbers, precision, preferred_element_type,
                           out_sharding):
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    combined = combined_dtype(lhs.dtype, rhs.dtype)
    out = preferred_dtype(combined, preferred_element_type)
    wide = accumulation_dtype(lhs.dtype, rhs.dtype, out)
    lhs_free = _free(lhs.ndim, lhs_contract, lhs_batch)
    rhs_free = _free(rhs.ndim, rhs_contract, rhs_batch)
    batch = [lhs.shape[d] for d in lhs_batch]
    rows, columns = [lhs.shape[d] for d in lhs_free], [rhs.shape[d] for d in rhs_free]
    inner = int(np.prod([lhs.shape[d] for d in lhs_contract], dtype=np.int64))
    a = lhs.astype(wide).transpose(*lhs_batch, *lhs_free, *lhs_contract).reshape(
        *batch, int(np.prod(rows, dtype=np.int64)), inner)
    b = rhs.astype(wide).transpose(*rhs_batch, *rhs_contract, *rhs_free).reshape(
        *batch, inner, int(np.prod(columns, dtype=np.int64)))
    sums = np.matmul(a, b)
    if dtypes.is_integer(out) and dtypes.is_floating(combined):
        sums = sums.astype(combined)    # a number of the operands' dtype, and then an integer
    return sums.astype(out).reshape((*batch, *rows, *columns))


# --- derivatives -----------------------------------------------------------------------------


def _as_dtype(x: Any, dtype: Any) -> Any:
    if get_aval(x).dtype == dtype:
        return x
    return named("convert_element_type").bind(x, new_dtype=dtype, weak_type=False, sharding=None)


def _cotangent_of_lhs(ct, x_aval, y, numbers, precision, preferred, swapped: bool):
    """ct · y over the free axes of y, its axes brought into the order of x.

    `numbers` are those of (x, y); `swapped` says that ct has the free axes of y before x's.
    """
    (x_contract, y_contract), (x_batch, y_batch) = numbers
    y_ndim = len(shape_of(y))
    x_free = _free(len(x_aval.shape), x_contract, x_batch)
    y_free = _free(y_ndim, y_contract, y_batch)
    first = len(x_batch) if swapped else len(x_batch) + len(x_free)
    ct_y = tuple(range(first, first + len(y_free)))
    ct_batch = tuple(range(len(x_batch)))
    found = dot_general_p.bind(
        ct, y, dimension_numbers=((ct_y, y_free), (ct_batch, y_batch)), precision=precision,
        preferred_element_type=preferred, out_sharding=None)
    by_y = sorted(range(len(y_contract)), key=lambda i: y_contract[i])
    order = (*x_batch, *x_free, *[x_contract[i] for i in by_y])
    return _as_dtype(transpose(found, inverse_permutation(order)), x_aval.dtype)


def _swap_precision(precision: Any) -> Any:
    return precision[::-1] if type(precision) is tuple else precision


def _dot_general_left(ct, x, y, *, dimension_numbers, precision, preferred_element_type,
                      out_sharding):
    return _cotangent_of_lhs(ct, x.aval, y, dimension_numbers, precision, preferred_element_type,
                             swapped=False)


def _dot_general_right(ct, x, y, *, dimension_numbers, precision, preferred_element_type,
                       out_sharding):
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    numbers = (y_contract, x_contract), (y_batch, x_batch)
    return _cotangent_of_lhs(ct, y.aval, x, numbers, _swap_precision(precision),
                             preferred_element_type, swapped=True)


define_bilinear(dot_general_p, _dot_general_left, _dot_general_right)

# --- batching --------------------------------------------------------------------------------


def _moved(dims: Sequence[int], batch: int) -> tuple[int, ...]:
    return tuple([d + (d >= batch) for d in dims])


def _dot_general_batch(args, dims, *, dimension_numbers, **params):
    (lhs, rhs), (lhs_dim, rhs_dim) = args, dims
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if lhs_dim is not None:
        lhs_contract, lhs_batch = _moved(lhs_contract, lhs_dim), _moved(lhs_batch, lhs_dim)
    if rhs_dim is not None:
        rhs_contract, rhs_batch = _moved(rhs_contract, rhs_dim), _moved(rhs_batch, rhs_dim)
    if lhs_dim is not None and rhs_dim is not None:
        lhs_batch, rhs_batch, out_dim = (lhs_dim, *lhs_batch), (rhs_dim, *rhs_batch), 0
    else:
        # the batch axis is one more free axis of its operand
        lhs_free = _free(len(shape_of(lhs)), lhs_contract, lhs_batch)
        out_dim = len(lhs_batch)
        if lhs_dim is not None:
            out_dim += lhs_free.index(lhs_dim)
        else:
            rhs_free = _free(len(shape_of(rhs)), rhs_contract, rhs_batch)
            out_dim += len(lhs_free) + rhs_free.index(rhs_dim)
    numbers = (lhs_contract, rhs_contract), (lhs_batch, rhs_batch)
    return dot_general_p.bind(lhs, rhs, dimension_numbers=numbers, **params), out_dim


define_batch(dot_general_p, _dot_general_batch)
