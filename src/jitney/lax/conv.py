"""Convolution: conv_general_dilated, its helpers, derivatives and batching.

In: an image batch `lhs`, kernels `rhs`, and how their axes are laid out. Out: a batch of images.
Like all such libraries it computes correlations: the kernel is not reversed.
Invariant: `ConvDimensionNumbers` are (batch, feature, *spatial) positions for lhs and out, and
(out feature, in feature, *spatial) for rhs; spatial axes correspond in this order.
Read next: padding.py (sizes), conv_functions.py (conv, conv_transpose, patches).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive, named
from jitney.lax.dot import accumulation_dtype
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.padding import (
    canonical_pads,
    dilated,
    padtype_to_pads,
    spread_and_pad,
    strided_count,
    transposed_pads,
    windows_of,
)
from jitney.lax.precision import canonicalize_precision, preferred_dtype
from jitney.lax.shape import canonical_shape, reshape, rev, shape_of
from jitney.transforms.jvp import define_bilinear
from jitney.transforms.vmap import define_batch, move_dimension


class ConvDimensionNumbers(NamedTuple):
    """Positions of batch, feature and spatial axes in lhs, rhs and the result."""

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]

# --- layouts ---------------------------------------------------------------------------------


def _check_letters(numbers: Sequence[str], lhs_shape, rhs_shape) -> None:
    for i, spec in enumerate(numbers):
        if not isinstance(spec, str):
            raise TypeError(f"convolution dimension_numbers elements must be strings, got {spec!r}")
        if len(set(spec)) != len(spec):
            raise TypeError(f"convolution dimension_numbers[{i}] cannot have duplicate characters, "
                            f"got {spec}.")
        a, b = ("O", "I") if i == 1 else ("N", "C")
        if a not in spec or b not in spec:
            raise TypeError(f"convolution dimension_numbers[{i}] must contain the characters '{a}' "
                            f"and '{b}' exactly once, got {spec}.")
        if len(spec) != len(lhs_shape):
            raise TypeError(
                f"convolution dimension_numbers[{i}] must have len equal to the ndim of lhs and "
                f"rhs, got {len(spec)} for lhs and rhs shapes {tuple(lhs_shape)} and "
                f"{tuple(rhs_shape)}.")
    spatial = [set(spec) - {"N", "C", "O", "I"} for spec in numbers]
    if not spatial[0] == spatial[1] == spatial[2]:
        raise TypeError("convolution dimension_numbers elements must each have the same set of "
                        f"spatial characters, got {tuple(numbers)}.")


def conv_general_permutations(dimension_numbers: Sequence[str]):
    """Letters such as ("NHWC", "HWIO", "NHWC") as axis positions."""
    lhs, rhs, out = dimension_numbers
    spatial = [c for c in rhs if c not in "OI"]

    def positions(spec: str, first: str, second: str) -> tuple[int, ...]:
        return tuple([spec.index(c) for c in (first, second, *spatial)])

    return positions(lhs, "N", "C"), positions(rhs, "O", "I"), positions(out, "N", "C")


def conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers) -> ConvDimensionNumbers:
    """Any way of writing a layout as `ConvDimensionNumbers`; None is NCHW, OIHW, NCHW."""
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return ConvDimensionNumbers(*map(canonical_shape, dimension_numbers))
    if len(lhs_shape) != len(rhs_shape):
        raise TypeError("convolution requires lhs and rhs ndim to be equal, got "
                        f"{len(lhs_shape)} and {len(rhs_shape)}.")
    if dimension_numbers is None:
        identity = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(identity, identity, identity)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError("convolution dimension_numbers must be tuple/list or None, got "
                        f"{type(dimension_numbers)}.")
    if len(dimension_numbers) != 3:
        raise TypeError("convolution dimension_numbers list/tuple must be length 3, got "
                        f"{len(dimension_numbers)}.")
    _check_letters(dimension_numbers, lhs_shape, rhs_shape)
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


# --- the function ----------------------------------------------------------------------------


def _spatial(shape: Sequence[int], spec: Sequence[int]) -> list[int]:
    return [shape[d] for d in spec[2:]]


def _resolve_padding(padding, lhs_shape, rhs_shape, numbers, strides, lhs_dilation,
                     rhs_dilation):
    if not isinstance(padding, str):
        try:
            return canonical_pads(padding)
        except TypeError as error:
            raise ValueError(
                "padding argument to conv_general_dilated must be a string or a sequence of "
                f"(low, high) pairs, got {padding!r}.") from error
    if any(d != 1 for d in lhs_dilation):
        raise ValueError("String padding is not implemented for transposed convolution using this "
                         "op. Please either exactly specify the required padding or use "
                         "conv_transpose.")
    kernel = [dilated(k, d) for k, d in zip(_spatial(rhs_shape, numbers.rhs_spec), rhs_dilation,
                                            strict=True)]
    return tuple(padtype_to_pads(_spatial(lhs_shape, numbers.lhs_spec), kernel, strides, padding))


def conv_general_dilated(lhs, rhs, window_strides: Sequence[int],
                         padding: str | Sequence[tuple[int, int]],
                         lhs_dilation: Sequence[int] | None = None,
                         rhs_dilation: Sequence[int] | None = None, dimension_numbers=None,
                         feature_group_count: int = 1, batch_group_count: int = 1,
                         precision=None, preferred_element_type=None, out_sharding=None):
    """Convolution with strides, padding, dilations of image and kernel, and groups."""
    check_out_sharding("conv_general_dilated", out_sharding)
    lhs_shape, rhs_shape = shape_of(lhs), shape_of(rhs)
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    spatial = len(numbers.lhs_spec) - 2
    window_strides = canonical_shape(window_strides)
    lhs_dilation = (1,) * spatial if lhs_dilation is None else canonical_shape(lhs_dilation)
    rhs_dilation = (1,) * spatial if rhs_dilation is None else canonical_shape(rhs_dilation)
    _check_counts(len(lhs_shape), spatial, window_strides, lhs_dilation, rhs_dilation)
    padding = _resolve_padding(padding, lhs_shape, rhs_shape, numbers, window_strides,
                               lhs_dilation, rhs_dilation)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.canonicalize_dtype(preferred_element_type)
    return conv_general_dilated_p.bind(
        lhs, rhs, window_strides=window_strides, padding=padding, lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation, dimension_numbers=numbers,
        feature_group_count=int(feature_group_count), batch_group_count=int(batch_group_count),
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type, out_sharding=out_sharding)


conv_general_dilated_p = Primitive("conv_general_dilated")

# --- type ------------------------------------------------------------------------------------


def _check_counts(ndim: int, spatial: int, strides, lhs_dilation, rhs_dilation) -> None:
    if len(strides) != spatial:
        raise ValueError("conv_general_dilated window and window_strides must have the same number "
                         f"of dimensions, but got {spatial} and {len(strides)}")
    for name, dilation in (("lhs_dilation", lhs_dilation), ("rhs_dilation", rhs_dilation)):
        if len(dilation) != spatial:
            raise ValueError(f"conv_general_dilated {name} must have one entry a spatial "
                             f"dimension, but got {len(dilation)} for {spatial}")
    if any(s <= 0 for s in strides):
        raise ValueError(f"conv_general_dilated window_strides must be positive, got {strides}")
    if any(d <= 0 for d in (*lhs_dilation, *rhs_dilation)):
        raise TypeError("All dilations must be positive, got "
                        f"{lhs_dilation if min(lhs_dilation) <= 0 else rhs_dilation}.")


def _check_groups(lhs, rhs, numbers, groups: int, batch_groups: int) -> None:
    for name, count in (("feature_group_count", groups), ("batch_group_count", batch_groups)):
        if count <= 0:
            raise ValueError(f"conv_general_dilated {name} must be a positive integer, got "
                             f"{count}.")
    if groups > 1 and batch_groups > 1:
        raise ValueError("At most one of batch_group_count and feature_group_count may be > 1, got "
                         f"batch_group_count={batch_groups} and feature_group_count={groups}")
    features, images = lhs.shape[numbers.lhs_spec[1]], lhs.shape[numbers.lhs_spec[0]]
    if features % groups:
        raise ValueError("conv_general_dilated feature_group_count must divide lhs feature "
                         f"dimension size, but {groups} does not divide {features}.")
    if images % batch_groups:
        raise ValueError("conv_general_dilated batch_group_count must divide lhs batch dimension "
                         f"size, but {batch_groups} does not divide {images}.")
    if features // groups != rhs.shape[numbers.rhs_spec[1]]:
        raise ValueError(
            "conv_general_dilated lhs feature dimension size divided by feature_group_count must "
            f"equal the rhs input feature dimension size, but {features} // {groups} != "
            f"{rhs.shape[numbers.rhs_spec[1]]}.")
    out_features = rhs.shape[numbers.rhs_spec[0]]
    for name, count in (("feature_group_count", groups), ("batch_group_count", batch_groups)):
        if out_features % count:
            raise ValueError("conv_general_dilated rhs output feature dimension size must be a "
                             f"multiple of {name}, but {out_features} is not a multiple of "
                             f"{count}.")


def _out_sizes(lhs_sizes, rhs_sizes, strides, padding, lhs_dilation, rhs_dilation) -> list[int]:
    out = []
    for n, k, s, (lo, hi), a, b in zip(lhs_sizes, rhs_sizes, strides, padding, lhs_dilation,
                                       rhs_dilation, strict=True):
        padded = dilated(n, a) + lo + hi
        if padded < 0:
            raise ValueError("Negative padding is larger than the size of the corresponding "
                             f"dimension: got padding={tuple(padding)} for spatial sizes "
                             f"{tuple(lhs_sizes)}")
        out.append(strided_count(padded, dilated(k, b), s))
    return out


@conv_general_dilated_p.def_abstract
def _conv_type(lhs, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation,
               dimension_numbers, feature_group_count, batch_group_count, precision,
               preferred_element_type, out_sharding):
    numbers = dimension_numbers
    if lhs.ndim != rhs.ndim:
        raise TypeError("convolution requires lhs and rhs ndim to be equal, got "
                        f"{lhs.ndim} and {rhs.ndim}.")
    if len(padding) != lhs.ndim - 2:
        raise TypeError("Wrong number of explicit pads for convolution: expected "
                        f"{lhs.ndim - 2}, got {len(padding)}.")
    if lhs.dtype != rhs.dtype:
        raise TypeError("lax.conv_general_dilated requires arguments to have the same dtypes, got "
                        f"{lhs.dtype}, {rhs.dtype}. Convert one with astype.")
    _check_counts(lhs.ndim, lhs.ndim - 2, window_strides, lhs_dilation, rhs_dilation)
    _check_groups(lhs, rhs, numbers, feature_group_count, batch_group_count)
    sizes = _out_sizes(_spatial(lhs.shape, numbers.lhs_spec), _spatial(rhs.shape, numbers.rhs_spec),
                       window_strides, padding, lhs_dilation, rhs_dilation)
    shape = [0] * lhs.ndim
    values = (lhs.shape[numbers.lhs_spec[0]] // batch_group_count,
              rhs.shape[numbers.rhs_spec[0]], *sizes)
    for d, size in zip(numbers.out_spec, values, strict=True):
        shape[d] = size
    dtype = preferred_dtype(lhs.dtype, preferred_element_type)
    return ShapedArray(tuple(shape), dtype, lhs.weak_type and rhs.weak_type)


# --- meaning ---------------------------------------------------------------------------------


@conv_general_dilated_p.def_reference
def _conv_reference(lhs, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation,
                    dimension_numbers, feature_group_count, batch_group_count, precision,
                    preferred_element_type, out_sharding):
    out_dtype = preferred_dtype(lhs.dtype, preferred_element_type)
    wide = accumulation_dtype(lhs.dtype, out_dtype)
    x = lhs.transpose(dimension_numbers.lhs_spec).astype(wide)        # N C spatial
    k = rhs.transpose(dimension_numbers.rhs_spec).astype(wide)        # O I spatial
    x = spread_and_pad(x, 0, ((0, 0), (0, 0), *padding), (1, 1, *lhs_dilation))
    spatial = k.ndim - 2
    groups = max(feature_group_count, batch_group_count)
    parts = []
    for xs, ks in zip(np.split(x, groups, axis=1 if feature_group_count > 1 else 0),
                      np.split(k, groups, axis=0), strict=True):
        windows = windows_of(xs, (1, 1, *ks.shape[2:]), (1, 1, *window_strides),
                             (1, 1, *rhs_dilation))
        # (N, C, out…, 1, 1, k…) · (O, C, k…) -> (N, out…, O)
        windows = windows.reshape(windows.shape[:2 + spatial] + ks.shape[2:])
        inner = [1, *range(2 + spatial, 2 + 2 * spatial)]
        product = np.tensordot(windows, ks, (inner, [1, *range(2, 2 + spatial)]))
        parts.append(np.moveaxis(product, -1, 1))
    out = np.concatenate(parts, axis=1)
    return out.transpose(np.argsort(dimension_numbers.out_spec)).astype(out_dtype)


# --- derivatives -----------------------------------------------------------------------------


def _axis_into(x: Any, source: int, target: int) -> Any:
    """Merge axis `source` into axis `target` (of the array without it), as its major part."""
    shape = shape_of(x)
    order = [d for d in range(len(shape)) if d != source]
    order.insert(target, source)
    sizes = [shape[d] for d in order]
    sizes[target:target + 2] = [sizes[target] * sizes[target + 1]]
    return reshape(x, sizes, order)


def _axis_out_of(x: Any, source: int, size: int) -> Any:
    """Split axis `source` in a major part of this size and the rest."""
    shape = list(shape_of(x))
    shape[source:source + 1] = [size, shape[source] // size]
    return reshape(x, shape)


def _swapped(spec: Sequence[int]) -> tuple[int, ...]:
    return (spec[1], spec[0], *spec[2:])


def _like(x: Any, dtype: Any) -> Any:
    if get_aval(x).dtype == dtype:
        return x
    return named("convert_element_type").bind(x, new_dtype=dtype, weak_type=False, sharding=None)


def _conv_left(ct, lhs, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation,
               dimension_numbers, feature_group_count, batch_group_count, precision,
               preferred_element_type, out_sharding):
    """The image's cotangent: the cotangent convolved with the reversed, transposed kernel."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    lhs_sizes = _spatial(lhs.aval.shape, lhs_spec)
    rhs_sizes = _spatial(shape_of(rhs), rhs_spec)
    pads = tuple([transposed_pads(*sizes) for sizes in zip(
        lhs_sizes, rhs_sizes, window_strides, _spatial(shape_of(ct), out_spec), padding,
        lhs_dilation, rhs_dilation, strict=True)])
    groups = max(feature_group_count, batch_group_count)
    if groups > 1:
        rhs = _axis_into(_axis_out_of(rhs, rhs_spec[0], groups), rhs_spec[0], rhs_spec[1])
    ct_dtype = get_aval(ct).dtype
    out = conv_general_dilated_p.bind(
        ct, _like(rev(rhs, rhs_spec[2:]), ct_dtype), window_strides=lhs_dilation, padding=pads,
        lhs_dilation=window_strides, rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, _swapped(rhs_spec), lhs_spec),
        feature_group_count=groups, batch_group_count=1, precision=precision,
        preferred_element_type=preferred_element_type, out_sharding=None)
    if batch_group_count > 1:
        out = _axis_out_of(out, lhs_spec[1], batch_group_count)
        out = _axis_into(out, lhs_spec[1], lhs_spec[0])
    return _like(out, lhs.aval.dtype)


def _conv_right(ct, lhs, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation,
                dimension_numbers, feature_group_count, batch_group_count, precision,
                preferred_element_type, out_sharding):
    """The kernel's cotangent: the image convolved with the cotangent, images as features."""
    if 0 in rhs.aval.shape:
        return named("broadcast_in_dim").bind(
            np.zeros((), rhs.aval.dtype)[()], shape=rhs.aval.shape, broadcast_dimensions=(),
            sharding=None)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = []
    for n, k, s, m, (lo, _), a, b in zip(
            _spatial(shape_of(lhs), lhs_spec), _spatial(rhs.aval.shape, rhs_spec), window_strides,
            _spatial(shape_of(ct), out_spec), padding, lhs_dilation, rhs_dilation, strict=True):
        pads.append((lo, dilated(m, s) + dilated(k, b) - dilated(n, a) - lo - 1))
    ct_dtype = get_aval(ct).dtype
    out = conv_general_dilated_p.bind(
        _like(lhs, ct_dtype), ct, window_strides=rhs_dilation, padding=tuple(pads),
        lhs_dilation=lhs_dilation, rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(*map(_swapped, (lhs_spec, out_spec, rhs_spec))),
        feature_group_count=batch_group_count, batch_group_count=feature_group_count,
        precision=precision[::-1] if type(precision) is tuple else precision,
        preferred_element_type=preferred_element_type, out_sharding=None)
    return _like(out, rhs.aval.dtype)


define_bilinear(conv_general_dilated_p, _conv_left, _conv_right)

# --- batching --------------------------------------------------------------------------------


def _conv_batch(args, dims, *, dimension_numbers, feature_group_count, batch_group_count,
                **params):
    lhs_dim, rhs_dim = dims
    rule = _batch_both if None not in dims else _batch_left if rhs_dim is None else _batch_right
    return rule(*args, dims, dimension_numbers, feature_group_count, batch_group_count, params)


def _convolve(lhs, rhs, numbers, groups, batch_groups, params):
    return conv_general_dilated_p.bind(
        lhs, rhs, dimension_numbers=numbers, feature_group_count=groups,
        batch_group_count=batch_groups, **params)


def _batch_both(lhs, rhs, dims, numbers, groups, batch_groups, params):
    """Each example has kernels of its own: examples become groups."""
    lhs_spec, rhs_spec, out_spec = numbers
    size = shape_of(lhs)[dims[0]]
    if batch_groups > 1:
        new_lhs = _axis_into(lhs, dims[0], lhs_spec[0])
        batch_groups *= size
    else:
        new_lhs = _axis_into(lhs, dims[0], lhs_spec[1])
        groups *= size
    new_rhs = _axis_into(rhs, dims[1], rhs_spec[0])
    out = _convolve(new_lhs, new_rhs, numbers, groups, batch_groups, params)
    return _axis_out_of(out, out_spec[1], size), out_spec[1]


def _batch_left(lhs, rhs, dims, numbers, groups, batch_groups, params):
    """Examples are further images."""
    lhs_spec, _, out_spec = numbers
    size = shape_of(lhs)[dims[0]]
    if batch_groups == 1:
        new_lhs = _axis_into(lhs, dims[0], lhs_spec[0])
        out = _convolve(new_lhs, rhs, numbers, groups, batch_groups, params)
        return _axis_out_of(out, out_spec[0], size), out_spec[0]
    # keep the group the major part of the image axis: (group, example, rest)
    dim, position = dims[0], lhs_spec[0]
    split_at = position + (dim <= position)
    split = _axis_out_of(lhs, split_at, batch_groups)
    dim = dim if dim < split_at else dim + 1
    new_lhs = _axis_into(_axis_into(split, dim, position + 1), position, position)
    out = _convolve(new_lhs, rhs, numbers, groups, batch_groups, params)
    return _axis_out_of(out, out_spec[0], size), out_spec[0]


def _batch_right(lhs, rhs, dims, numbers, groups, batch_groups, params):
    """Examples are further output features."""
    _, rhs_spec, out_spec = numbers
    size = shape_of(rhs)[dims[1]]
    count = max(groups, batch_groups)
    if count == 1:
        new_rhs = _axis_into(rhs, dims[1], rhs_spec[0])
        out = _convolve(lhs, new_rhs, numbers, groups, batch_groups, params)
        return _axis_out_of(out, out_spec[1], size), out_spec[1]
    # group major, then example, then the features of the group
    rhs = move_dimension(rhs, dims[1], 0)
    split = _axis_out_of(rhs, rhs_spec[0] + 1, count)
    merged = _axis_into(split, 0, rhs_spec[0] + 1)
    new_rhs = _axis_into(merged, rhs_spec[0], rhs_spec[0])
    out = _convolve(lhs, new_rhs, numbers, groups, batch_groups, params)
    out = _axis_out_of(out, out_spec[1], count)
    out = _axis_out_of(out, out_spec[1] + 1, size)
    out = _axis_into(out, out_spec[1], out_spec[1] + 1)
    return out, out_spec[1]


define_batch(conv_general_dilated_p, _conv_batch)
