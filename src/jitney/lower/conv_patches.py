"""The patches of a convolution: for each result the window of the image under the kernel.

In: an image [G, N, *spatial, C] with its border around it, a kernel's window and a geometry (places
of results, strides, dilation). Out: `patches` [G, N, *out, window * C], and for gradients of
kernels, with few places and large windows, `patches_by_position` in either order. Each is one node,
and one kernel, that copies whole lines of windows: the elements of a line that follow one another
and their channels are one run of the image. (3 x 3 x 3 on two channels of 2 x 12 x 16 x 16, one
thread of an Emerald Rapids: 150 us; a kernel for each of the 27 elements 520.)
"""

import math

LONG_LIVED = 1 << 20  # elements of patches beyond which a gradient copies them again


def patches(g, x, window, geometry):
    """[G, N, *out, window * C], rows of a product with the kernel's matrix."""
    out, strides, dilation = geometry
    y = _looked_up(g, x, out, window, strides, dilation)
    return g.reshape(y, (*y.shape[:2], *out, math.prod(y.shape[2 + len(out) :])))


def patches_of_channels_last(g, x, window, geometry):
    """[G, C, *window, out * N] of x [G, C, *spatial, N]: what is `patches` of the image itself in
    the convolution that a gradient belongs to. Few of them are shared with it; many would occupy
    memory until then."""
    out, strides, dilation = geometry
    size = math.prod(x.shape[:2]) * math.prod(out) * math.prod(window) * x.shape[-1]
    code = "i64" if size > LONG_LIVED else "i32"  # places of another type are other nodes
    y = _looked_up(g, x, window, out, dilation, strides, code)
    return g.reshape(y, (*y.shape[:2], *window, math.prod(y.shape[2 + len(window) :])))


def patches_by_position(g, x, window, geometry):
    """[G, *out, N, C, *window] of x [G, N, C, *spatial]."""
    out, strides, dilation = geometry
    rank = len(out)
    places = _places(g, out, window, strides, dilation, "i32")
    return _gather(g, x, places, range(3, 3 + rank), (0, 1 + rank, 2 + rank))


def _looked_up(g, x, counts, elements, strides, dilation, code="i32"):
    """[G, N, *counts, *elements, C] of x [G, N, *spatial, C], at each position each element; the
    last two in one if they follow one another."""
    rank, channels = len(counts), x.shape[-1]
    offsets = (0, 1, 2 + 2 * rank)
    if rank and (dilation[-1] == 1 or elements[-1] == 1):
        *others, width, _ = x.shape
        x = g.reshape(x, (*others, width * channels))
        elements = (*elements[:-1], elements[-1] * channels)
        strides = (*strides[:-1], strides[-1] * channels)
        dilation = (*dilation[:-1], 1)
        offsets = (0, 1)
    places = _places(g, counts, elements, strides, dilation, code)
    return _gather(g, x, places, range(2, 2 + rank), offsets)


def _places(g, counts, elements, strides, dilation, code):
    """Indices [*counts, *elements, axis]: position * stride + element * dilation."""
    shape, rank = (*counts, *elements), len(counts)
    parts = []
    for a in range(rank):
        ramps = [(a, strides[a]), (rank + a, dilation[a])]
        terms = [g.mul(g.iota(shape, axis, code), g.full(n, shape, code)) for axis, n in ramps]
        parts.append(g.reshape(g.add(*terms), (*shape, 1)))
    return g.concat(parts, 2 * rank)


def _gather(g, x, places, axes, offsets):
    """x at these places along `axes`; its other axes are at `offsets` of the result."""
    axes = tuple(axes)
    sizes = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
    rest = iter([n for i, n in enumerate(x.shape) if i not in axes])
    found = iter(places.shape[:-1])
    rank = len(places.shape) - 1 + len(offsets)
    shape = tuple([next(rest if i in offsets else found) for i in range(rank)])
    attrs = (tuple(offsets), axes, (), (), axes, sizes, "promise")
    return g.table.intern("gather", (x, places, g.lit(0, x.dtype)), shape, x.dtype, attrs)
