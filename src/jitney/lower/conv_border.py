"""The image of a convolution with its border around it, channels last, ready to be read by lines.

In: an image [N, *spatial, C] and its border's widths. Out: a node. An image whose channels lie far
apart in memory (NCHW) is put into zeros, so that it can be transposed by squares: a padding that is
computed element by element looks each one up (4 x 16 x 32 x 32 float32: 170 us instead of 28).
`phases` makes of a line dilated by d the d lines of its every d-th pixels, images of their own.
"""

from ..ir import scalar_ops

LEAST_TURNED = 4096  # elements; transposing fewer takes no time
_ELEMENTWISE = {"add", "sub", "mul", "div", "select", "convert", "tanh", "logistic", "exp"}


def widths(padding) -> tuple[list[int], list[int]]:
    """The border's widths before and after each axis of [N, *spatial, C]."""
    return [0, *[lo for lo, _ in padding], 0], [0, *[hi for _, hi in padding], 0]


def with_border(g, x, low, high):
    """x with zeros around it; negative widths cut."""
    if x.size < LEAST_TURNED or _is_minor(x):
        return g.pad(x, g.lit(0, x.dtype), low, high)
    return put_in_border(g, x, low, high)


def put_in_border(g, x, low, high):
    """The same, stored: what reads it many times asks for no borders."""
    if min(*low, *high) < 0 or not any(low + high):
        return g.pad(x, g.lit(0, x.dtype), low, high)
    shape = [lo + n + hi for lo, n, hi in zip(low, x.shape, high, strict=True)]
    return g.dynamic_update_slice(
        g.full(0, shape, x.dtype), x, [g.lit(start, "i32") for start in low]
    )


def _is_minor(x) -> bool:
    """Whether the last axis is the last one in memory, too, as far as can be seen."""
    axis = len(x.shape) - 1
    while x is not None:
        if x.op == "transpose":
            axis, x = x.attrs[0][axis], x.args[0]
        elif x.op in scalar_ops.REDUCERS or x.op in _ELEMENTWISE:
            x = next((a for a in x.args if a.shape == x.shape), None)
        else:
            return axis == len(x.shape) - 1
    return True


def phases(g, x, count: int):
    """[N, H, W * count, C] -> [N * count, H, W, C], of every line each `count`-th pixel."""
    n, *spatial, channels = x.shape
    rank = len(spatial)
    wide = g.reshape(x, (n, *spatial[:-1], spatial[-1] // count, count, channels))
    order = [0, rank + 1, *range(1, rank + 1), rank + 2]
    turned = g.transpose(wide, order)
    return g.reshape(turned, (n * count, *turned.shape[2:]))


def joined(g, y, count: int):
    """What `phases` has cut, in one again."""
    n, *spatial, channels = y.shape
    rank = len(spatial)
    wide = g.reshape(y, (n // count, count, *spatial, channels))
    turned = g.transpose(wide, [0, *range(2, rank + 2), 1, rank + 2])
    return g.reshape(turned, (n // count, *spatial[:-1], spatial[-1] * count, channels))
