"""Lowering of convolutions to contractions.

An image that is dilated meets the kernel in phases (`conv_phases.py`), if it is not very small.
The image becomes [batch, *spatial, feature], padded and dilated. Then the cheapest of:
 - lines of results from lines of the image, no patches copied (`conv_lines.py`);
 - few kernel elements: patches side by side (im2col), one product with the kernel's matrix;
 - few results (a kernel's gradient): one product for each result position;
 - a sequence with one feature, many kernel elements on one, or few results of long sums: sums over
   windows (`conv_sums.py`);
 - none of these, or many kernel elements on a line: patches by a gather along every spatial axis.
Kernels with one input feature a group (depthwise) are sums of slices times numbers.
Invariant: groups are batch axes of the product, but by lines, where each is a product of its own.
"""

import itertools
import math

from ..graph.graph import READS_OF_A_COPY
from ..ir.types import is_complex, kind_of, part_code
from .conv_border import put_in_border, widths, with_border
from .conv_lines import by_lines, goes_by_lines
from .conv_phases import has_phases, in_phases
from .conv_sums import (
    FEW_TAPS,
    MAX_SLICES,
    are_few,
    few_results,
    gathered,
    is_summed,
    sequence,
    sum_of_windows,
)
from .dot import SHORT_SUM, operands_of, product
from .rules import Pair, lower_rule
from .shape import pad_node
from .short_products import short_sum

MOST_PATCHES = 1 << 25  # elements of the patches of a kernel's gradient that are multiplied at once
# On a line patches of so many elements are gathered, not copied side by side, each element by a
# kernel of its own (the gradient of 5 taps on two lines of 64: 25 to 9 us).
MANY_TAPS = 32


@lower_rule("conv_general_dilated")
def lower_conv(ctx, eqn, lhs, rhs):
    aval = eqn.outvars[0].aval
    code = part_code(aval.dtype)

    def convolve(x, k):
        return _convolve(ctx.g, eqn.params, x, k, aval.shape, code)

    if not is_complex(aval.dtype):
        return convolve(lhs, rhs)
    g = ctx.g
    re = g.sub(convolve(lhs.re, rhs.re), convolve(lhs.im, rhs.im))
    return Pair(re, g.add(convolve(lhs.re, rhs.im), convolve(lhs.im, rhs.re)))


def _convolve(g, p, x, k, shape, code):
    numbers = p["dimension_numbers"]
    order = numbers.out_spec
    if math.prod(shape) == 0 or x.size == 0 or k.size == 0:
        return g.full(0, shape, code)
    if has_phases(p, k, shape):
        return in_phases(g, p, x, k, shape, code, _convolve)
    x, k = operands_of(g, x, k, code)
    n_feature, n_batch = p["feature_group_count"], p["batch_group_count"]
    x = g.transpose(x, [numbers.lhs_spec[0], *numbers.lhs_spec[2:], numbers.lhs_spec[1]])
    k = g.transpose(k, [*numbers.rhs_spec[2:], numbers.rhs_spec[1], numbers.rhs_spec[0]])
    out = tuple([shape[d] for d in order[2:]])
    groups = max(n_feature, n_batch)
    rank = len(out)
    holes = [(0, 0, d - 1) for d in p["lhs_dilation"]]
    x = pad_node(g, x, g.lit(0, x.dtype), [(0, 0, 0), *holes, (0, 0, 0)])
    geometry = out, p["window_strides"], p["rhs_dilation"]
    is_few = groups == 1 and are_few(k.shape, geometry, code)
    if not is_few and goes_by_lines(x, k, out, p, groups, code):
        y = by_lines(g, x, k, out, p, groups)
        y = g.transpose(y, [0, rank + 1, *range(1, rank + 1)])
        return g.transpose(y, [order.index(d) for d in range(rank + 2)])
    minor = numbers.lhs_spec[0] == rank + 1
    sums = is_summed(k.shape[:-2], out, groups, k.shape[-2], k.shape[-1] // groups)
    is_kernel = x.shape[0] == n_batch == k.shape[-1] > 1 and math.prod(out) <= MAX_SLICES
    low, high = widths(p["padding"])
    if minor and groups == 1 and _is_by_position(k.shape[:-2], out):
        x = g.pad(x, g.lit(0, x.dtype), low, high)  # read as it lies in memory, not transposed
    elif is_kernel:  # the gradient of a kernel that each channel has one of
        x = _border_in_place(g, x, numbers.lhs_spec, low, high)
    elif is_few:
        x = _channels_first(g, x, low, high, True)
    elif k.shape[-2] == 1 < groups and numbers.lhs_spec[1] == 1:
        x = _channels_first(g, x, low, high, sums)
    else:
        x = (put_in_border if sums else with_border)(g, x, low, high)
    # groups in front: x [G, N, *spatial, C], k [G, *window, C, O]
    x = _grouped(g, x, 0 if n_batch > 1 else rank + 1, groups)
    k = _grouped(g, k, rank + 1, groups)
    if is_few:
        y = few_results(g, x, k, geometry, code)
    elif sums or is_kernel:
        y = sum_of_windows(g, x, k, geometry, order, code)
    else:
        y = _product(g, x, k, geometry, minor, code)
    # [G, N, *out, O] -> [N, G, O, *out], G and O one axis
    y = g.transpose(y, [1, 0, rank + 2, *range(2, rank + 2)])
    y = g.reshape(y, (y.shape[0], groups * y.shape[2], *out))
    return g.transpose(y, [order.index(d) for d in range(rank + 2)])


def _grouped(g, x, axis, groups):
    """The major part of an axis as an axis of its own, in front."""
    if groups == 1:
        return g.reshape(x, (1, *x.shape))
    shape = x.shape[:axis] + (groups, x.shape[axis] // groups) + x.shape[axis + 1 :]
    wide = g.reshape(x, shape)
    return g.transpose(wide, [axis, *[a for a in range(len(shape)) if a != axis]])


def _turned(g, x, order):
    """A transpose that leaves groups in front; where there is one, it may undo another one."""
    if x.shape[0] > 1:
        return g.transpose(x, order)
    inner = g.reshape(x, x.shape[1:])
    inner = g.transpose(inner, [axis - 1 for axis in order[1:]])
    return g.reshape(inner, (1, *inner.shape))


def _product(g, x, k, geometry, minor, code):
    """[G, N, *out, O] from x [G, N, *spatial, C] and k [G, *window, C, O].

    `minor`: whether N is the last axis in memory (the gradient of a kernel).
    """
    window = k.shape[1:-2]
    out, strides, dilation = geometry
    if len(out) == 1 and window[0] > FEW_TAPS and out[0] > MAX_SLICES and (
        x.shape[0] == x.shape[-1] == k.shape[-1] == 1 == strides[0] == dilation[0]
    ):
        return sequence(g, x, k, out[0], code)
    if math.prod(window) <= MAX_SLICES and not (len(out) == 1 and window[0] >= MANY_TAPS):
        if k.shape[-2] == 1 and math.prod(window) >= READS_OF_A_COPY and _is_padded(x):
            x = g.table.intern("copy", (x,), x.shape, x.dtype)  # stored: nothing asks for borders
        slices = [_tap(g, x, place, *geometry) for place in _places(window)]
        if k.shape[-2] == 1:
            return _sum_of_slices(g, slices, k, code)
        return _matrix_product(g, g.concat(slices, len(out) + 2), k, code)
    if _is_by_position(window, out):
        return _by_position(g, x, k, geometry, minor, code)
    return _matrix_product(g, gathered(g, x, window, *geometry), k, code)


def _is_padded(x) -> bool:
    while x.op in ("reshape", "transpose"):
        x = x.args[0]
    return x.op == "pad"


def _is_by_position(window, out) -> bool:
    """Whether windows are copied for each of a few results, of kernels with many elements."""
    return math.prod(window) > MAX_SLICES >= math.prod(out)


def _channels_first(g, x, low, high, is_stored):
    """A border around an image whose channels lie far apart in memory and do not meet: they stay
    there. (3 x 3 on 64 channels of 4 x 56 x 56: .44 ms, 3.7 with channels put last.)"""
    last = len(x.shape) - 1
    first = lambda of: [of[0], of[last], *of[1:last]]
    x = g.transpose(x, first(range(last + 1)))
    if is_stored:
        x = put_in_border(g, x, first(low), first(high))
    else:
        x = g.pad(x, g.lit(0, x.dtype), first(low), first(high))
    return g.transpose(x, [0, *range(2, last + 1), 1])


def _border_in_place(g, x, spec, low, high):
    """A border around an image that keeps its order in memory."""
    order = [spec[0], *spec[2:], spec[1]]
    back = [order.index(axis) for axis in range(len(order))]
    x = put_in_border(g, g.transpose(x, back), *([of[i] for i in back] for of in (low, high)))
    return g.transpose(x, order)


def _places(extents):
    return list(itertools.product(*[range(n) for n in extents]))


def _tap(g, x, place, out, strides, dilation):
    """The image under one element of the kernel, for every result position."""
    lows = [0, 0, *[i * d for i, d in zip(place, dilation, strict=True)], 0]
    highs = [lo + (n - 1) * s + 1 for lo, n, s in zip(lows[2:-1], out, strides, strict=True)]
    highs = [*x.shape[:2], *highs, x.shape[-1]]
    return g.slice(x, lows, highs, (1, 1, *strides, 1))


def _contract(g, a, b, contract, code):
    """A product whose first axes are the groups."""
    if a.shape[0] == 1:  # one group: no batch axis
        a, b = g.reshape(a, a.shape[1:]), g.reshape(b, b.shape[1:])
        contract = tuple([tuple([i - 1 for i in side]) for side in contract])
        numbers = contract, ((), ())
    else:
        numbers = contract, ((0,), (0,))
    if math.prod(a.shape[i] for i in contract[0]) <= SHORT_SUM and kind_of(code) != "b":
        y = short_sum(g, a, b, *numbers, code)
    else:
        y = product(g, a, b, *numbers, code)
    return g.reshape(y, (1, *y.shape)) if numbers[1] == ((), ()) else y


def _matrix_product(g, patches, k, code):
    """Patches [G, N, *out, window * C] times the kernel as a matrix."""
    groups, last = k.shape[0], len(patches.shape) - 1
    matrix = g.reshape(k, (groups, math.prod(k.shape[1:-1]), k.shape[-1]))
    rows = g.reshape(patches, (groups, math.prod(patches.shape[1:last]), patches.shape[last]))
    y = _contract(g, rows, matrix, ((2,), (1,)), code)
    return g.reshape(y, (*patches.shape[:last], k.shape[-1]))


def _sum_of_slices(g, slices, k, code):
    """One input feature a group: Σ slice * element, spread over batch, positions and O."""
    wide = "f32" if code in ("f16", "bf16") else code
    groups, features = k.shape[0], k.shape[-1]
    rank = len(slices[0].shape)
    shape = (*slices[0].shape[:-1], features)
    flat = g.reshape(g.convert(k, wide), (groups, len(slices), features))
    total = None
    for i, part in enumerate(slices):
        element = g.reshape(g.slice(flat, (0, i, 0), (groups, i + 1, features)), (groups, features))
        element = g.broadcast(element, shape, (0, rank - 1))
        term = g.mul(g.broadcast(g.convert(part, wide), shape, range(rank)), element)
        total = term if total is None else g.add(total, term)
    return g.convert(total, code)


def _by_position(g, x, k, geometry, minor, code):
    """For each result position the window of the image there, all side by side, times the kernel.

    `minor`: whether the image lies in memory with its batch axis last; the copies keep that.
    """
    out, rank = geometry[0], len(geometry[0])
    if minor and out and geometry[1][-1] == 1 < out[-1]:
        parts, places = _windows_of_lines(g, x, k.shape[1:-2], *geometry), out[-1]
    else:
        parts, places = _windows_at_places(g, x, k.shape[1:-2], geometry, minor), 1
    k = _turned(g, k, [0, rank + 1, *range(1, rank + 1), rank + 2])
    axis = rank + 2 if minor else 1
    contract = range(1, rank + 2) if minor else range(2, rank + 3), range(1, rank + 2)
    numbers = tuple([tuple(c) for c in contract])
    step = max(1, MOST_PATCHES // max(1, parts[0].size))
    products = []
    for i in range(0, len(parts), step):
        some = parts[i : i + step]
        y = _contract(g, g.concat(some, axis), k, numbers, code)
        y = g.reshape(y, (y.shape[0], len(some) * places, x.shape[1], y.shape[-1]))
        products.append(g.transpose(y, [0, 2, 1, 3]))
    y = g.concat(products, 2)
    return g.reshape(y, (y.shape[0], y.shape[1], *out, y.shape[3]))


def _windows_at_places(g, x, window, geometry, minor):
    """[G, features, *window, N] (`minor`) or [G, N, features, *window] at each result position."""
    out, strides, dilation = geometry
    spatial = range(2, len(out) + 2)
    feature = len(out) + 2
    order = [0, feature, *spatial, 1] if minor else [0, 1, feature, *spatial]
    parts = []
    for place in _places(out):
        lows = [i * s for i, s in zip(place, strides, strict=True)]
        highs = [lo + (w - 1) * d + 1 for lo, w, d in zip(lows, window, dilation, strict=True)]
        part = g.slice(
            x, (0, 0, *lows, 0), (*x.shape[:2], *highs, x.shape[-1]), (1, 1, *dilation, 1)
        )
        parts.append(_turned(g, part, order))
    return parts


def _windows_of_lines(g, x, window, out, strides, dilation):
    """The same for all positions of a line: [G, features, *window, position * N], of an image whose
    last axis in memory is N, so that these lie side by side. (Three channels of 8 x 32 x 32, a 3 x
    3 kernel's gradient, two threads: .7 of the time of runs of three elements.)"""
    last = len(out) + 1
    x = g.transpose(x, [0, last + 1, *range(2, last + 1), 1])
    n, step = x.shape[-1], dilation[-1]
    line = g.reshape(x, (*x.shape[:last], x.shape[last] * n))
    shape = (window[-1], out[-1] * n)
    place = g.add(
        g.mul(g.iota(shape, 0, "i32"), g.full(step * n, shape, "i32")), g.iota(shape, 1, "i32")
    )
    parts = []
    for where in _places(out[:-1]):
        lows = [i * s for i, s in zip(where, strides, strict=False)]
        highs = [lo + (w - 1) * d + 1 for lo, w, d in zip(lows, window, dilation, strict=False)]
        ends = (*line.shape[:2], *highs, line.shape[-1])
        part = g.slice(line, (0, 0, *lows, 0), ends, (1, 1, *dilation[:-1], 1))
        sizes = (*part.shape[:-1], 1)
        attrs = (tuple(range(last)), (last,), (), (), (last,), sizes, "promise")
        operands = part, g.reshape(place, (*shape, 1)), g.lit(0, x.dtype)
        result = (*part.shape[:-1], *shape)
        parts.append(g.table.intern("gather", operands, result, x.dtype, attrs))
    return parts
