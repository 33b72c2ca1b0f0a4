"""Convolutions as sums over windows that nobody stores, lanes along places or channels.

In: an image [G, N, *spatial, C] and a kernel [G, *window, C, O] with groups in front, a geometry
(places of results, strides, dilation). Out: whether that is the way for them, and the results [G,
N, *out, O]: of many kernel elements on one feature (depthwise ones, a sequence's filter), of the
gradient of such kernels, and of so few results that most lanes of a product would be idle.
"""

import math

MAX_SLICES = 64  # elements of a kernel that are slices of the image, and results, in a program
FEW_TAPS = 16  # up to here a sequence's kernel is written out as a sum of slices
# From so many channels on more taps than those are summed in a loop, as more than MAX_SLICES of any
# number are. (An Emerald Rapids, two threads, channels last: 7 x 7 on 64 channels of 56 x 56 2.4 ms
# as slices, .7 so; 5 x 5 1.0 and .3; 7 x 7 on 8 channels of 128 x 128 .25 and .5.)
MANY_CHANNELS = 16
# Results, terms of a sum, and places in a line. (Two threads, 3 x 3 on 64 channels of 8 x 32 x 32:
# to three results 1.7 ms by patches, 1.0 by lines, .62 so; to six .9 by lines, 3.5 so.)
FEW_RESULTS, LONG_SUM, LANES = 4, 64, 8


def is_summed(window, out, groups, features, results) -> bool:
    """Whether results of many kernel elements on one feature are sums that nobody stores."""
    taps = math.prod(window)
    is_large = taps > (FEW_TAPS if groups >= MANY_CHANNELS else MAX_SLICES)
    return len(out) > 1 and is_large and math.prod(out) > MAX_SLICES and features == results == 1


def are_few(kernel, geometry, code) -> bool:
    """Whether results are so few, of so long sums, that lanes are better places than results."""
    *window, features, results = kernel
    out, strides, _ = geometry
    taps = math.prod(window)
    is_long = features * taps >= LONG_SUM and min(features, taps) > 1
    follow = bool(out) and strides[-1] == 1 and out[-1] >= LANES
    return code in ("f32", "f64") and is_long and results <= FEW_RESULTS and follow


def few_results(g, x, k, geometry, code):
    """[1, N, *out, O] of a few results: sums over channels and windows for lines of places, one for
    each result, which read the image together."""
    rank, results = len(geometry[0]), k.shape[-1]
    windows = gathered(g, x, k.shape[1:-2], *geometry, merged=False)
    windows = g.reshape(windows, windows.shape[1:])
    last = 1 + 2 * rank
    windows = g.transpose(windows, [*range(1 + rank), last, *range(1 + rank, last)])
    axes = tuple(range(1 + rank, last + 1))
    taps = g.transpose(g.reshape(k, k.shape[1:]), [rank + 1, rank, *range(rank)])
    parts = []
    for o in range(results):
        own = g.slice(taps, (o, *[0] * (rank + 1)), (o + 1, *taps.shape[1:]))
        own = g.broadcast(g.reshape(own, taps.shape[1:]), windows.shape, axes)
        parts.append(g.expand_dims(g.reduce("sum", g.mul(windows, own), axes), 1 + rank))
    y = g.concat(parts, 1 + rank)
    return g.reshape(y, (1, *y.shape))


def sum_of_windows(g, x, k, geometry, order, code):
    """[G, N, *out, 1] of kernels with one result: sums over windows and features, element by
    element, in the `order` of the result. (15 x 15 on 500 x 500, two threads: 42 ms by patches,
    which are 450 MB, so 2.9; 31 x 31 on 16 channels of 64 x 64 52 and 3.4. Both gradients of 7 x 7
    kernels of 96 channels of 8 x 28 x 28 .07 of the time by position, channels first .31.)"""
    wide = "f32" if code in ("f16", "bf16") else code
    rank = len(geometry[0])
    windows = gathered(g, x, k.shape[1:-2], *geometry, merged=False)
    last = 2 + 2 * rank
    kept = sorted(range(2 + rank), key=lambda axis: order[(1, 0, *range(2, 2 + rank))[axis]])
    windows = g.transpose(windows, [*kept, last, *range(2 + rank, last)])
    axes = tuple(range(2 + rank, last + 1))
    taps = g.transpose(g.convert(k, wide), [0, rank + 1, *range(1, rank + 1), rank + 2])
    taps = g.broadcast(g.reshape(taps, taps.shape[:-1]), windows.shape, (kept.index(0), *axes))
    y = g.reduce("sum", g.mul(g.convert(windows, wide), taps), axes)
    y = g.transpose(g.convert(y, code), [kept.index(axis) for axis in range(2 + rank)])
    return g.reshape(y, (*y.shape, 1))


def sequence(g, x, k, n, code):
    """One sequence a batch element and one kernel: sums over windows that nobody stores.

    As a product with a matrix of shifted kernels it would spread NaN to the neighbours.
    """
    wide = "f32" if code in ("f16", "bf16") else code
    windows = gathered(g, x, k.shape[1:2], (n,), (1,), (1,))
    taps = g.broadcast(g.reshape(g.convert(k, wide), k.shape[1:2]), windows.shape, (3,))
    y = g.reduce("sum", g.mul(g.convert(windows, wide), taps), (3,))
    return g.convert(g.reshape(y, (*windows.shape[:3], 1)), code)


def gathered(g, x, window, out, strides, dilation, merged=True):
    """Patches [G, N, *out, *window * C]: each spatial axis looked up at position and element. Not
    `merged`: [G, N, *out, *window], of one feature."""
    for a, (w, n, s, d) in enumerate(zip(window, out, strides, dilation, strict=True)):
        axis = 2 + 2 * a  # the axes before it are already (position, element) pairs
        shape = (n, w)
        place = g.add(
            g.mul(g.iota(shape, 0, "i32"), g.full(s, shape, "i32")),
            g.mul(g.iota(shape, 1, "i32"), g.full(d, shape, "i32")),
        )
        sizes = tuple([1 if i == axis else m for i, m in enumerate(x.shape)])
        offsets = tuple([i for i in range(len(x.shape) + 1) if i not in (axis, axis + 1)])
        attrs = (offsets, (axis,), (), (), (axis,), sizes, "promise")
        result = x.shape[:axis] + shape + x.shape[axis + 1 :]
        operands = (x, g.reshape(place, (n, w, 1)), g.lit(0, x.dtype))
        x = g.table.intern("gather", operands, result, x.dtype, attrs)
    rank = len(out)
    positions = [2 + 2 * a for a in range(rank)]
    x = g.transpose(x, [0, 1, *positions, *[p + 1 for p in positions], 2 + 2 * rank])
    if not merged:
        return x
    return g.reshape(x, (*x.shape[:2], *out, math.prod(window) * x.shape[-1]))
