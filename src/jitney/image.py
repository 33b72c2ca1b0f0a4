"""Images at another size, by the names in `jax.image`.

In: an image (an array of any number of axes), the new shape, and how to interpolate. Out: an array
of the new shape. Along each axis that changes, an output sample is a weighted sum of input
samples: the weights are a kernel's values at the distances, divided by their sum, so that a
resized image is the image contracted with one matrix an axis, or, where few weights of a long axis
are not zero, a sum of few neighbours (image_bands.py). Nearest neighbours are gathered.
Invariant: sample i of an axis lies at i + 1/2 (half-pixel centres); samples that fall outside the
input give zero. Derivatives are those of the contractions.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.image_bands import Bands, neighbours, sampled
from jitney.lax.precision import Precision, canonicalize_precision
from jitney.numpy.promotion import (
    array_arguments,
    canonical_axis,
    canonical_shape,
    check_flag,
    dtype_of,
    promote_dtypes_inexact,
    shape_of,
)


class ResizeMethod(enum.Enum):
    """How samples between the given ones are found; see `resize`."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method a name means ("linear", "bicubic", …); ValueError for others."""
        for method, names in _NAMES.items():
            if s in names:
                return method
        known = ", ".join(f'"{n}"' for names in _NAMES.values() for n in names)
        raise ValueError(f'Unknown resize method "{s}"; known are {known}')


_NAMES = {
    ResizeMethod.NEAREST: ("nearest",),
    ResizeMethod.LINEAR: ("linear", "bilinear", "trilinear", "triangle"),
    ResizeMethod.LANCZOS3: ("lanczos3",),
    ResizeMethod.LANCZOS5: ("lanczos5",),
    ResizeMethod.CUBIC: ("cubic", "bicubic", "tricubic"),
    ResizeMethod.CUBIC_PYTORCH: ("cubic-pytorch", "bicubic-pytorch"),
    ResizeMethod.AREA: ("area",),
}


def resize(image, shape: Sequence[int], method: str | ResizeMethod, antialias: bool = True,
           precision=Precision.HIGHEST):
    """The image with `shape`, which has as many entries as the image has axes.

    method: "nearest"; "linear"; "cubic" (Keys's kernel with a = -1/2); "cubic-pytorch" (the same
    with antialias, else a = -3/4 and the border repeated); "lanczos3", "lanczos5" (windowed sinc
    of that radius); "area" (means over the area of an output sample); or a `ResizeMethod`.
    antialias: whether the kernel is widened where samples become fewer. precision: of the
    contractions. Axes whose length stays are left alone.

    Gives the image's dtype for "nearest", else integers and booleans become floating.
    ValueError for a shape of another length or with negative entries, for an unknown method, and
    for an empty axis that should get entries.

    >>> resize(jnp.arange(4.0), (2,), "linear", antialias=False)
    Array([0.5, 2.5], dtype=float32)
    """
    return _resize(array_arguments("resize", image), canonical_shape(shape), _method(method),
                   _flag("resize", antialias), canonicalize_precision(precision))


def scale_and_translate(image, shape: Sequence[int], spatial_dims: Sequence[int], scale,
                        translation, method: str | ResizeMethod, antialias: bool = True,
                        precision=Precision.HIGHEST):
    """The image scaled and moved: what was at x is at x · scale + translation.

    shape: that of the result. spatial_dims: the axes that scale and translation are for; they are
    arrays of as many numbers, and may be traced. method, antialias: as for `resize`, "nearest"
    excepted. Samples from outside the image are zero.

    ValueError for shapes or axes that do not fit, or for "nearest".

    >>> scale_and_translate(jnp.arange(4.0), (4,), (0,), jnp.ones(1), jnp.ones(1), "linear")
    Array([0., 0., 1., 2.], dtype=float32)
    """
    method = _method(method)
    if method is ResizeMethod.NEAREST:
        raise ValueError("Nearest neighbor resampling is not currently supported for "
                         "scale_and_translate; use another method, or resize.")
    image, scale, translation = (array_arguments("scale_and_translate", x)
                                 for x in (image, scale, translation))
    shape, axes = _checked_shape(image, shape), _spatial_axes(image, spatial_dims)
    for name, x in (("scale", scale), ("translation", translation)):
        if shape_of(x) not in ((), (len(axes),)):
            raise ValueError(f"scale_and_translate: {name} must have one entry for each of the "
                             f"{len(axes)} spatial_dims, got the shape {shape_of(x)}")
    (image,) = promote_dtypes_inexact(image)
    (scale,), (translation,) = promote_dtypes_inexact(scale), promote_dtypes_inexact(translation)
    scales, moves = (jnp.broadcast_to(x, (len(axes),)) for x in (scale, translation))
    return _sampled(image, shape, axes, list(scales), list(moves), method,
                    _flag("scale_and_translate", antialias), canonicalize_precision(precision))


# --- arguments -------------------------------------------------------------------------------


def _method(method: Any) -> ResizeMethod:
    if isinstance(method, str):
        return ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise TypeError(f"method must be a string or a ResizeMethod, got {method!r}")
    return method


def _flag(name: str, antialias: Any) -> bool:
    check_flag(name, "antialias", antialias)
    return bool(antialias)


def _checked_shape(image: Any, shape: Any) -> tuple[int, ...]:
    shape, before = canonical_shape(shape), shape_of(image)
    if len(shape) != len(before):
        raise ValueError("shape must have length equal to the number of dimensions of x;  "
                         f"{shape} vs {before}")
    if any(n < 0 for n in shape):
        raise ValueError(f"shape must have no negative entries, got {shape}")
    return shape


def _spatial_axes(image: Any, spatial_dims: Any) -> tuple[int, ...]:
    axes = tuple(canonical_axis(d, len(shape_of(image))) for d in spatial_dims)
    if len(set(axes)) != len(axes):
        raise ValueError(f"spatial_dims must be different axes, got {tuple(spatial_dims)}")
    return axes


# --- the two ways ----------------------------------------------------------------------------


@jit(static_argnums=(1, 2, 3, 4))
def _resize(image, shape, method, antialias, precision):
    shape, before = _checked_shape(image, shape), shape_of(image)
    axes = tuple(d for d, (n, m) in enumerate(zip(before, shape)) if n != m)
    if any(before[d] == 0 for d in axes):
        raise ValueError(f"resize: an axis without entries cannot get any: from the shape {before} "
                         f"to {shape}")
    if method is ResizeMethod.NEAREST:
        return _nearest(image, shape, axes)
    (image,) = promote_dtypes_inexact(image)
    scales = [1.0 if shape[d] == 0 else shape[d] / before[d] for d in axes]
    return _sampled(image, shape, axes, scales, [0.0] * len(axes), method, antialias, precision)


def _nearest(image: Any, shape: tuple, axes: tuple) -> Any:
    for d in axes:
        n, m = shape_of(image)[d], shape[d]
        centres = (lax.iota(np.float32, m) + 0.5) * n / max(m, 1)
        index = jnp.floor(centres).astype(np.int32)
        image = jnp.take(image, index, axis=d, mode="clip")
    return image


def _sampled(image: Any, shape: tuple, axes: tuple, scales: list, moves: list,
             method: ResizeMethod, antialias: bool, precision: Any) -> Any:
    """The image contracted with a matrix of weights along each axis."""
    before = shape_of(image)
    untouched = [d for d in range(len(shape)) if d not in axes and shape[d] != before[d]]
    if untouched:
        raise ValueError(f"the axes {untouched} change their length from {before} to {shape}, but "
                         "are not among the spatial_dims")
    by_growth = sorted(range(len(axes)), key=lambda k: shape[axes[k]] / max(before[axes[k]], 1))
    for k in by_growth:            # those that shrink come first: less is left for the others
        d = axes[k]
        band = _bands(before[d], shape[d], scales[k], moves[k], method, antialias)
        if band is not None:
            image = sampled(image, band, d)
            continue
        weights = _weights(before[d], shape[d], scales[k], moves[k], method, antialias)
        image = _contracted(image, weights.astype(dtype_of(image)), d, precision)
    return image


def _bands(n: int, m: int, scale: Any, move: Any, method: ResizeMethod,
           antialias: bool) -> Bands | None:
    """The few samples that each of the results is made of, for a resized image."""
    if not isinstance(scale, float) or scale != m / n or move != 0 or method not in _RADII:
        return None
    width = max(1.0 / scale, 1.0) if antialias else 1.0
    places = neighbours(n, m, _RADII[method] * width)
    if places is None:
        return None
    dtype = np.dtype(np.float64 if jnp.zeros(()).dtype == np.float64 else np.float32)
    centre = (np.arange(m, dtype=dtype) + dtype.type(0.5)) * dtype.type(1.0 / scale)
    centre -= dtype.type(0.5)
    raw = _KERNELS[method](np.abs(places - centre).astype(dtype) / dtype.type(width), np)
    weights = _normalised(np.where((places >= 0) & (places < n), raw, 0), dtype, np)
    return Bands(places[0], np.where((centre >= -0.5) & (centre <= n - 0.5), weights, 0))


def _contracted(image: Any, weights: Any, axis: int, precision: Any) -> Any:
    """Σ_k image[…, k, …] weights[k, i], the axis staying where it is."""
    numbers = (((axis,), (0,)), ((), ()))
    out = lax.dot_general(image, weights, numbers, precision=precision)
    return jnp.moveaxis(out, -1, axis)


def _weights(n: int, m: int, scale: Any, move: Any, method: ResizeMethod,
             antialias: bool) -> Any:
    """The matrix (n, m) of what input sample k contributes to output sample i."""
    inverse = 1.0 / scale
    dtype = np.dtype(np.float64 if jnp.zeros(()).dtype == np.float64 else np.float32)
    if not isinstance(inverse, float):
        dtype = dtype_of(inverse)
    centre = (lax.iota(dtype, m) + 0.5) * inverse - move * inverse - 0.5
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _normalised(_repeated_border(centre, n), dtype)
    if method is ResizeMethod.AREA:
        left, edge = lax.iota(dtype, n)[:, None], lax.iota(dtype, m) * inverse - move * inverse
        right = jnp.minimum((edge + inverse)[None], left + 1)
        raw = jnp.maximum(right - jnp.maximum(edge[None], left), 0)
    else:
        width = jnp.maximum(inverse, 1.0) if antialias else 1.0
        raw = _KERNELS[method](jnp.abs(centre[None] - lax.iota(dtype, n)[:, None]) / width)
    inside = (centre >= -0.5) & (centre <= n - 0.5)
    return jnp.where(inside[None], _normalised(raw, dtype), 0)


def _normalised(raw: Any, dtype: Any, xp: Any = jnp) -> Any:
    """Columns divided by their sums; zero where there is next to nothing to divide by."""
    total = xp.sum(raw, axis=0, keepdims=True)
    enough = xp.abs(total) > 1000.0 * float(np.finfo(np.float32).eps)
    return xp.where(enough, raw / xp.where(total != 0, total, 1), 0).astype(dtype)


def _repeated_border(centre: Any, n: int) -> Any:
    """Weights (n, m) of the cubic kernel with a = -3/4, the first and last sample repeated."""
    reach = 2
    place = lax.iota(dtype_of(centre), n + 2 * reach) - reach
    raw = _cubic(jnp.abs(centre[None] - place[:, None]), a=-0.75)
    rows = np.clip(np.arange(-reach, n + reach), 0, n - 1)
    return jnp.zeros((n, shape_of(centre)[0]), dtype_of(raw)).at[rows].add(raw)


# --- kernels, as functions of a distance: of arrays that are traced, or NumPy's ----------------


def _triangle(x: Any, xp: Any = jnp) -> Any:
    return xp.maximum(1 - x, 0)


def _cubic(x: Any, xp: Any = jnp, a: float = -0.5) -> Any:
    """Cubic convolution. Keys, IEEE Trans. ASSP 29 (1981), eq. 8 (a free, here -1/2 or -3/4)."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return xp.where(x >= 2, 0, xp.where(x >= 1, far, near))


def _lanczos(radius: float) -> Callable:
    """sinc(x) sinc(x / radius) for |x| < radius. Duchon, J. Appl. Meteorology 18 (1979)."""
    def kernel(x, xp=jnp):
        product = radius * xp.sin(math.pi * x) * xp.sin(math.pi * x / radius)
        bottom = xp.where(x != 0, math.pi**2 * x * x, 1)
        return xp.where(x > radius, 0, xp.where(x > 1e-3, product / bottom, 1))

    return kernel


_KERNELS: dict[ResizeMethod, Callable] = {
    ResizeMethod.LINEAR: _triangle, ResizeMethod.CUBIC: _cubic,
    ResizeMethod.CUBIC_PYTORCH: _cubic,
    ResizeMethod.LANCZOS3: _lanczos(3.0), ResizeMethod.LANCZOS5: _lanczos(5.0),
}
_RADII = {
    ResizeMethod.LINEAR: 1, ResizeMethod.CUBIC: 2, ResizeMethod.LANCZOS3: 3,
    ResizeMethod.LANCZOS5: 5,
}

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
