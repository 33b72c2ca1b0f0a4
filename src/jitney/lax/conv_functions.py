"""Ways of calling a convolution: conv, conv_transpose, patches, unshared kernels, result shapes.

In: as for `conv_general_dilated`. Out: its result, or the shape that result would have.
Invariant: everything here is written with `conv_general_dilated` and other public operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import get_aval
from jitney.core.primitive import named
from jitney.lax.conv import (
    ConvDimensionNumbers,
    conv_dimension_numbers,
    conv_general_dilated,
    conv_general_permutations,
)
from jitney.lax.dot import dot_general
from jitney.lax.padding import dilated, padtype_to_pads, strided_count
from jitney.lax.precision import canonicalize_precision
from jitney.lax.shape import broadcast, broadcasted_iota, reshape, rev, shape_of, transpose


def conv(lhs, rhs, window_strides: Sequence[int], padding: str, precision=None,
         preferred_element_type=None):
    """Convolution in the layout NCHW, OIHW -> NCHW."""
    return conv_general_dilated(lhs, rhs, window_strides, padding, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_with_general_padding(lhs, rhs, window_strides: Sequence[int],
                              padding: str | Sequence[tuple[int, int]],
                              lhs_dilation: Sequence[int] | None,
                              rhs_dilation: Sequence[int] | None, precision=None,
                              preferred_element_type=None):
    """Like `conv`, with explicit padding and dilations."""
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                                precision=precision, preferred_element_type=preferred_element_type)


# --- transposed convolution ------------------------------------------------------------------

_DEFAULT_LAYOUTS = {3: ("NHC", "HIO", "NHC"), 4: ("NHWC", "HWIO", "NHWC"),
                    5: ("NHWDC", "HWDIO", "NHWDC")}


def _fractional_pads(kernel: int, stride: int, padding: str) -> tuple[int, int]:
    """Padding of a fractionally strided convolution whose result has the size of its name.

    SAME gives size · stride; VALID gives size · stride + max(kernel - stride, 0).
    """
    kind = padding.upper() if isinstance(padding, str) else padding
    total = kernel + stride - 2
    if kind == "SAME":
        before = kernel - 1 if stride > kernel - 1 else math.ceil(total / 2)
    elif kind == "VALID":
        total += max(kernel - stride, 0)
        before = kernel - 1
    else:
        raise ValueError(f"Padding mode must be `SAME` or `VALID`, got {padding!r}.")
    return before, total - before


def conv_transpose(lhs, rhs, strides: Sequence[int], padding, rhs_dilation=None,
                   dimension_numbers=None, transpose_kernel: bool = False, precision=None,
                   preferred_element_type=None, use_consistent_padding: bool = False):
    """Fractionally strided convolution ("deconvolution"); the layout is NHWC by default.

    `transpose_kernel` reverses the kernel and swaps its feature axes, so that this is the
    gradient of a convolution. With `use_consistent_padding`, explicit padding is that of the
    convolution this transposes.
    """
    lhs_shape, rhs_shape = shape_of(lhs), shape_of(rhs)
    if len(lhs_shape) != len(rhs_shape) or len(lhs_shape) < 3:
        raise ValueError("conv_transpose: lhs and rhs must have one rank, at least 3, got shapes "
                         f"{lhs_shape} and {rhs_shape}")
    if dimension_numbers is None:
        if len(lhs_shape) not in _DEFAULT_LAYOUTS:
            raise ValueError("No 4+ dimensional dimension_number defaults.")
        dimension_numbers = _DEFAULT_LAYOUTS[len(lhs_shape)]
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    spatial = numbers.rhs_spec[2:]
    rhs_dilation = (1,) * len(spatial) if rhs_dilation is None else tuple(rhs_dilation)
    kernels = [dilated(rhs_shape[d], r) for d, r in zip(spatial, rhs_dilation, strict=True)]
    if isinstance(padding, str):
        pads = [_fractional_pads(k, s, padding) for k, s in zip(kernels, strides, strict=True)]
    elif use_consistent_padding:
        pads = [(k - 1 - lo, k - 1 - hi) for k, (lo, hi) in zip(kernels, padding, strict=True)]
    else:
        pads = padding
    if transpose_kernel:
        for d in spatial:
            rhs = rev(rhs, (d,))
        order = list(range(len(rhs_shape)))
        out_axis, in_axis = numbers.rhs_spec[:2]
        order[out_axis], order[in_axis] = in_axis, out_axis
        rhs = transpose(rhs, order)
    return conv_general_dilated(lhs, rhs, (1,) * len(spatial), pads, strides, rhs_dilation,
                                numbers, precision=precision,
                                preferred_element_type=preferred_element_type)


# --- patches and unshared kernels ------------------------------------------------------------


def _spatial_numbers(ndim: int, dimension_numbers, lhs_shape) -> ConvDimensionNumbers:
    return conv_dimension_numbers(lhs_shape, (1,) * ndim, dimension_numbers)


def _identity_matrix(n: int, dtype):
    integer = dtypes.canonicalize_dtype(np.int64)
    rows = broadcasted_iota(integer, (n, n), 0)
    rows = named("add").bind(rows, integer.type(0))
    same = named("eq").bind(rows, broadcasted_iota(integer, (n, n), 1))
    return named("convert_element_type").bind(same, new_dtype=dtype, weak_type=False,
                                              sharding=None)


def conv_general_dilated_patches(lhs, filter_shape: Sequence[int], window_strides: Sequence[int],
                                 padding, lhs_dilation=None, rhs_dilation=None,
                                 dimension_numbers=None, precision=None,
                                 preferred_element_type=None):
    """The patches a convolution would see, as features in the order (channel, *filter)."""
    aval = get_aval(lhs)
    filter_shape = tuple(filter_shape)
    numbers = _spatial_numbers(aval.ndim, dimension_numbers, aval.shape)
    size, channels = math.prod(filter_shape), aval.shape[numbers.lhs_spec[1]]
    rhs = broadcast(_identity_matrix(size, aval.dtype), (channels,))
    rhs = reshape(rhs, (channels * size, 1, *filter_shape))
    out_axis, in_axis, *spatial = numbers.rhs_spec
    position = {out_axis: 0, in_axis: 1, **{d: i + 2 for i, d in enumerate(spatial)}}
    rhs = transpose(rhs, [position[d] for d in range(aval.ndim)])
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, numbers,
        feature_group_count=channels, precision=_doubled(precision),
        preferred_element_type=preferred_element_type)


def _doubled(precision):
    return None if precision is None else canonicalize_precision(precision)


def conv_general_dilated_local(lhs, rhs, window_strides: Sequence[int], padding,
                               filter_shape: Sequence[int], lhs_dilation=None, rhs_dilation=None,
                               dimension_numbers=None, precision=None):
    """A convolution with a kernel of its own at every place of the result.

    `rhs` has the patch features (channel times filter) where a kernel has its input features,
    and the result's spatial axes where a kernel has its spatial axes.
    """
    shape = shape_of(lhs)
    numbers = conv_dimension_numbers(shape, shape_of(rhs), dimension_numbers)
    pair = _doubled(precision)
    left = pair[0] if type(pair) is tuple else pair
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, numbers, left)
    lhs_spec, rhs_spec, out_spec = numbers
    product = dot_general(
        patches, rhs, (((out_spec[1],), (rhs_spec[1],)),
                       (tuple(out_spec[2:]), tuple(rhs_spec[2:]))), precision=pair)
    # (spatial…, images, features) -> the layout of the result
    spatial = len(shape) - 2
    position = {out_spec[0]: spatial, out_spec[1]: spatial + 1,
                **{d: i for i, d in enumerate(out_spec[2:])}}
    return transpose(product, [position[d] for d in range(len(shape))])


# --- shapes of results -----------------------------------------------------------------------


def conv_shape_tuple(lhs_shape, rhs_shape, strides, pads, batch_group_count=1):
    """The result's shape in the layout NCHW, OIHW."""
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError("Wrong number of explicit pads for convolution: expected "
                        f"{len(lhs_shape) - 2}, got {len(pads)}.")
    spatial = [strided_count(n + lo + hi, k, s) for n, k, s, (lo, hi) in zip(
        lhs_shape[2:], rhs_shape[2:], strides, pads, strict=True)]
    if lhs_shape[0] % batch_group_count:
        raise ValueError(f"batch_group_count {batch_group_count} does not divide {lhs_shape[0]}")
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def _permuted(lhs_shape, rhs_shape, dimension_numbers):
    lhs_perm, rhs_perm, out_perm = conv_general_permutations(dimension_numbers)
    return ([lhs_shape[d] for d in lhs_perm], [rhs_shape[d] for d in rhs_perm], out_perm)


def conv_general_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The result's shape in any layout."""
    lhs, rhs, out_perm = _permuted(lhs_shape, rhs_shape, dimension_numbers)
    found = conv_shape_tuple(lhs, rhs, window_strides, padding)
    return tuple([found[i] for i in np.argsort(out_perm)])


def conv_transpose_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The shape of a transposed convolution's result."""
    lhs, rhs, out_perm = _permuted(lhs_shape, rhs_shape, dimension_numbers)
    if isinstance(padding, str):
        padding = [_fractional_pads(k, s, padding)
                   for k, s in zip(rhs[2:], window_strides, strict=True)]
    spread = [dilated(n, s) for n, s in zip(lhs[2:], window_strides, strict=True)]
    found = conv_shape_tuple((*lhs[:2], *spread), rhs, (1,) * len(window_strides), padding)
    return tuple([found[i] for i in np.argsort(out_perm)])
