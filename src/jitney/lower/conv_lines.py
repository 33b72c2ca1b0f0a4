"""Convolutions by lines: lines of results are products of lines of the image, read where they lie.

In: an image [N, *spatial, C], undilated, a kernel [*window, C / groups, O] and the convolution's
parameters. Out: whether lines are long enough (`goes_by_lines`), and the results [N, *out, O], as
`conv` nodes of the graph. Volumes are sums of convolutions of their planes, groups of channels are
convolved by themselves, and a window dilated along lines meets them cut into those of every d-th
pixel (`conv_border.py`).
"""

import math

from .conv_border import joined, phases, widths, with_border

SHORT_RUN = 8  # elements in a line of the window, and results, below which patches are copied
LONG_RUN = 64  # elements in a line of the window for which any results are worth a product
FEW_PLACES = 16  # the same for the results along a line: the rows of a product
MOST_GROUPS, MOST_PLANES = 32, 32  # each is a step of its own


def goes_by_lines(x, k, out, p, groups, code):
    """Whether the window's lines are runs of the image long enough to be multiplied in place."""
    *window, features, results = k.shape
    if groups > (1 if p["batch_group_count"] > 1 else MOST_GROUPS):
        return False
    if math.prod(window[:-2]) > MOST_PLANES or code not in ("f32", "f64") or x.dtype != code:
        return False
    window, out, results = window[-2:], out[-2:], results // groups
    if math.prod(window) == 1:
        return False
    dilation, strides = p["rhs_dilation"][-2:], p["window_strides"][-2:]
    is_cut = _is_cut(window, dilation, strides)
    if len(out) == 2 and dilation[1] != 1 and window[1] > 1 and not is_cut:
        return False
    whole = dilation[-1] == 1 or window[-1] == 1 or is_cut
    run = features * (window[-1] if whole else 1)
    places = out[-1] // dilation[-1] if is_cut else out[-1]
    is_worth = results >= SHORT_RUN or run >= LONG_RUN
    return run >= SHORT_RUN and is_worth and places >= FEW_PLACES


def _is_cut(window, dilation, strides) -> bool:
    """Whether lines are cut into those of every d-th pixel, in which nothing is dilated."""
    return len(window) == 2 and dilation[-1] > 1 == strides[-1] and window[-1] > 1


def by_lines(g, x, k, out, p, groups):
    """[N, *out, O]. Of more than two spatial axes the first is a sum of a convolution of the others
    for each of the kernel's planes. (3 x 3 x 3 on 16 channels of 24^3, an Emerald Rapids, two
    threads, 1.4 ms, by patches 4.7; on 64 channels of 16^3 9.7 and 17.)"""
    if len(out) <= 2:
        return _of_groups(g, x, k, out, p, groups)
    along = ("window_strides", "rhs_dilation", "padding")
    stride, dilation, (before, after) = [p[name][0] for name in along]
    rest = {**p, **{name: p[name][1:] for name in along}}
    none, ones = [0] * len(x.shape), [1] * (len(x.shape) - 2)
    x = g.pad(x, g.lit(0, x.dtype), [0, before, *none[2:]], [0, after, *none[2:]])
    n, total = x.shape[0], None
    for i in range(k.shape[0]):
        low, high = i * dilation, i * dilation + (out[0] - 1) * stride + 1
        planes = g.slice(x, [0, low, *none[2:]], [n, high, *x.shape[2:]], (1, stride, *ones))
        planes = g.reshape(planes, (n * out[0], *x.shape[2:]))
        taps = g.reshape(g.slice(k, [i, *none[1:]], [i + 1, *k.shape[1:]]), k.shape[1:])
        y = by_lines(g, planes, taps, out[1:], rest, groups)
        total = y if total is None else g.add(total, y)
    return g.reshape(total, (n, *out, total.shape[-1]))


def _of_groups(g, x, k, out, p, groups):
    """The results of each group by themselves, side by side. (8 groups of 128 channels of 28 x 28:
    1.4 ms, by patches 3.2.)"""
    last, parts = len(x.shape) - 1, []
    for i in range(groups):
        some = [_part_of_last(g, a, i, groups) for a in (x, k)]
        parts.append(_of_image(g, *some, out, p))
    return g.concat(parts, last) if groups > 1 else parts[0]


def _part_of_last(g, a, i, groups):
    """The i-th of so many parts of the last axis."""
    width = a.shape[-1] // groups
    lows, highs = [0] * len(a.shape), list(a.shape)
    lows[-1], highs[-1] = i * width, (i + 1) * width
    return g.slice(a, lows, highs)


def _of_image(g, x, k, out, p):
    """One or two spatial axes; copied are the border, and the lines where they are cut."""
    strides, dilation, (low, high) = p["window_strides"], p["rhs_dilation"], widths(p["padding"])
    count = dilation[-1]
    if not _is_cut(k.shape[:-2], dilation, strides):
        return g.conv(with_border(g, x, low, high), k, out, strides, dilation)
    places = -(-out[-1] // count)
    whole = (places + k.shape[-3] - 1) * count
    high[-2] += whole - (low[-2] + x.shape[-2] + high[-2])
    lines = phases(g, with_border(g, x, low, high), count)
    y = g.conv(lines, k, (*out[:-1], places), strides, (*dilation[:-1], 1))
    y = joined(g, y, count)
    return g.slice(y, [0] * len(y.shape), (x.shape[0], *out, y.shape[-1]))
