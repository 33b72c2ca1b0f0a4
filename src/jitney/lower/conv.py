"""Lowering of convolutions to contractions.

An image that is dilated meets the kernel in phases (`conv_phases.py`), if it is not very small.
The image becomes [batch, *spatial, feature], padded and dilated. Then the cheapest of:
 - lines of results from lines of the image, no patches copied (`conv_lines.py`);
 - patches of the image, all copied by one kernel (`conv_patches.py`), and one product with the
   kernel's matrix;
 - few results of large windows (a kernel's gradient): the same by result position;
 - a sequence with one feature, many kernel elements on one, or few results of long sums: sums over
   windows (`conv_sums.py`).
Kernels with one input feature a group (depthwise) are sums of slices times numbers.
Invariant: groups are batch axes of the product, but by lines, where each is a product of its own.
"""

import itertools
import math

from ..graph.graph import READS_OF_A_COPY
from ..ir.types import is_complex, part_code
from .conv_blocks import in_blocks, is_blocks
from .conv_border import put_in_border, widths, with_border
from .conv_groups import grouped, product_of_groups
from .conv_lines import by_lines, goes_by_lines
from .conv_patches import patches, patches_by_position, patches_of_channels_last
from .conv_phases import has_phases, in_phases
from .conv_sums import (
    FEW_TAPS,
    MAX_SLICES,
    are_few,
    few_results,
    is_summed,
    sequence,
    sum_of_windows,
)
from .dot import operands_of
from .rules import Pair, lower_rule
from .shape import pad_node

MOST_PATCHES = 1 << 25  # elements of the patches of a kernel's gradient that are multiplied at once
FEW_EACH = 4  # results of each channel that are worth storing its border
LEAST_TAPS = 6  # of a kernel by channel whose results are stored if several operations read them
MANY_TAPS = 32  # on a line of one feature: so many terms are no longer written out


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
    if is_blocks(p, k):
        return in_blocks(g, p, x, k, shape, code)
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
    sums = is_summed(k.shape[:-2], out, groups, k.shape[-2], k.shape[-1] // groups)
    is_kernel = x.shape[0] == n_batch == k.shape[-1] > 1 and math.prod(out) <= MAX_SLICES
    by_position = groups == 1 and _is_by_position(k.shape[:-2], out, numbers.lhs_spec)
    if is_kernel or by_position:  # gradients of kernels
        x = _border_in_place(g, x, numbers.lhs_spec, *widths(p["padding"]))
    elif is_few:
        x = _channels_first(g, x, *widths(p["padding"]), True)
    else:
        x = _bordered(g, x, k, p, groups, sums)
    # groups in front: x [G, N, *spatial, C], k [G, *window, C, O]
    x = grouped(g, x, 0 if n_batch > 1 else rank + 1, groups)
    k = grouped(g, k, rank + 1, groups)
    if is_few:
        y = few_results(g, x, k, geometry, code)
    elif sums or is_kernel:
        y = sum_of_windows(g, x, k, geometry, order, code)
    else:
        y = _product(g, x, k, geometry, numbers, code)
    # [G, N, *out, O] -> [N, G, O, *out], G and O one axis
    if groups == 1:
        y = g.transpose(g.reshape(y, y.shape[1:]), [0, rank + 1, *range(1, rank + 1)])
    else:
        y = g.transpose(y, [1, 0, rank + 2, *range(2, rank + 2)])
        y = g.reshape(y, (y.shape[0], groups * y.shape[2], *out))
    y = g.transpose(y, [order.index(d) for d in range(rank + 2)])
    is_sum = k.shape[-2] == 1 < groups and not (sums or is_kernel)
    is_dear = is_sum and math.prod(k.shape[1:-2]) >= LEAST_TAPS
    return g.table.intern("copy", (y,), y.shape, y.dtype, (2,)) if is_dear else y  # read twice


def _bordered(g, x, k, p, groups, is_summed):
    """An image with its border around it: stored, unless few results read each channel a few times
    and it is not far from the others in memory."""
    low, high = widths(p["padding"])
    if k.shape[-2] == 1 < groups and p["dimension_numbers"].lhs_spec[1] == 1:
        return _channels_first(g, x, low, high, is_summed)
    if k.shape[-2] == 1 and k.shape[-1] < FEW_EACH * groups and not is_summed:
        return with_border(g, x, low, high)
    return put_in_border(g, x, low, high)


def _turned(g, x, order):
    """A transpose that leaves groups in front; where there is one, it may undo another one."""
    if x.shape[0] > 1:
        return g.transpose(x, order)
    inner = g.reshape(x, x.shape[1:])
    inner = g.transpose(inner, [axis - 1 for axis in order[1:]])
    return g.reshape(inner, (1, *inner.shape))


def _product(g, x, k, geometry, numbers, code):
    """[G, N, *out, O] from x [G, N, *spatial, C] and k [G, *window, C, O]."""
    window = k.shape[1:-2]
    out, strides, dilation = geometry
    if len(out) == 1 and window[0] > FEW_TAPS and out[0] > MAX_SLICES and (
        x.shape[0] == x.shape[-1] == k.shape[-1] == 1 == strides[0] == dilation[0]
    ):
        return sequence(g, x, k, out[0], code)
    if math.prod(window) == 1:
        return _matrix_product(g, _tap(g, x, [0] * len(window), *geometry), k, code)
    if k.shape[-2] == 1 and math.prod(window) <= (MANY_TAPS if len(out) == 1 else MAX_SLICES):
        if math.prod(window) >= READS_OF_A_COPY and _is_padded(x):
            x = g.table.intern("copy", (x,), x.shape, x.dtype)  # stored: nothing asks for borders
        slices = [_tap(g, x, place, *geometry) for place in _places(window)]
        return _sum_of_slices(g, slices, k, numbers.out_spec, code)
    if _is_by_position(window, out, numbers.lhs_spec):
        minor = numbers.lhs_spec[0] == len(out) + 1 and x.shape[1] > 1
        return _by_position(g, x, k, geometry, minor, code)
    return _matrix_product(g, patches(g, x, window, geometry), k, code)


def _is_padded(x) -> bool:
    while x.op in ("reshape", "transpose"):
        x = x.args[0]
    return x.op == "pad"


def _is_by_position(window, out, spec) -> bool:
    """Whether windows are copied for each of a few results: of kernels with many elements, or of a
    kernel's gradient, which sums over what is the first axis in memory."""
    return math.prod(out) <= MAX_SLICES and (math.prod(window) > MAX_SLICES or spec[1] == 0)


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


def _matrix_product(g, patches, k, code):
    """Patches [G, N, *out, window * C] times the kernel as a matrix."""
    groups, last = k.shape[0], len(patches.shape) - 1
    matrix = g.reshape(k, (groups, math.prod(k.shape[1:-1]), k.shape[-1]))
    rows = g.reshape(patches, (groups, math.prod(patches.shape[1:last]), patches.shape[last]))
    y = product_of_groups(g, rows, matrix, ((2,), (1,)), code)
    return g.reshape(y, (*patches.shape[:last], k.shape[-1]))


def _sum_of_slices(g, slices, k, order, code):
    """One input feature a group: Σ slice * element, spread over batch, positions and O, in the
    `order` of the result, in which it may be stored."""
    wide = "f32" if code in ("f16", "bf16") else code
    groups, features = k.shape[0], k.shape[-1]
    last = len(slices[0].shape) - 1
    kept = sorted(range(last), key=lambda axis: order[(1, 0, *range(2, last))[axis]])
    own = kept.index(0)  # groups; the features of each come next
    shape = [slices[0].shape[axis] for axis in kept]
    shape.insert(own + 1, features)
    spread = [i for i in range(last + 1) if i != own + 1]
    flat = g.reshape(g.convert(k, wide), (groups, len(slices), features))
    total = None
    for i, part in enumerate(slices):
        element = g.reshape(g.slice(flat, (0, i, 0), (groups, i + 1, features)), (groups, features))
        element = g.broadcast(element, shape, (own, own + 1))
        part = g.transpose(g.reshape(g.convert(part, wide), part.shape[:-1]), kept)
        wide_part = g.reshape(part, shape) if features == 1 else g.broadcast(part, shape, spread)
        term = g.mul(wide_part, element)
        total = term if total is None else g.add(total, term)
    places = [spread[kept.index(axis)] for axis in range(last)]
    return g.transpose(g.convert(total, code), [*places, own + 1])


def _by_position(g, x, k, geometry, minor, code):
    """For each result position the window of the image there, all side by side, times the kernel.

    `minor`: whether the image lies in memory with its batch axis last, of several elements; the
    copies keep that.
    """
    out, rank = geometry[0], len(geometry[0])
    last = rank + 2
    x = _turned(g, x, [0, last, *range(2, last), 1] if minor else [0, 1, last, *range(2, last)])
    k = _turned(g, k, [0, rank + 1, *range(1, rank + 1), rank + 2])
    first = 2 if minor else 3
    contract = range(1, rank + 2) if minor else range(rank + 2, 2 * rank + 3), range(1, rank + 2)
    numbers = tuple([tuple(c) for c in contract])
    batch = x.shape[-1] if minor else x.shape[1]
    copy = patches_of_channels_last if minor else patches_by_position
    products = []
    for low, high in _chunks(k.size // k.shape[-1] * math.prod(out) * batch, out):
        part, count = _lines_of(g, x, first, low, high, k.shape[2 : 2 + rank], geometry)
        y = product_of_groups(g, copy(g, part, k.shape[2 : 2 + rank], count), k, numbers, code)
        products.append(g.reshape(y, (y.shape[0], *count[0], batch, y.shape[-1])))
    y = g.concat(products, 1) if rank else products[0]
    return g.transpose(y, [0, rank + 1, *range(1, rank + 1), rank + 2])


def _chunks(size, out):
    """[low, high) of the positions along the first axis whose patches are made at once."""
    if not out:
        return [(0, 0)]
    step = max(1, MOST_PATCHES * out[0] // max(1, size))
    return [(low, min(low + step, out[0])) for low in range(0, out[0], step)]


def _lines_of(g, x, axis, low, high, window, geometry):
    """What the positions [low, high) of the first axis read, and their geometry."""
    out, strides, dilation = geometry
    if high - low == (out[0] if out else 0):
        return x, geometry
    lows, highs = [0] * len(x.shape), list(x.shape)
    lows[axis] = low * strides[0]
    highs[axis] = (high - 1) * strides[0] + (window[0] - 1) * dilation[0] + 1
    return g.slice(x, lows, highs), ((high - low, *out[1:]), strides, dilation)
