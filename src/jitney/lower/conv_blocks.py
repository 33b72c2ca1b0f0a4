"""A convolution of a dilated image by a kernel that is as large as the dilation, block by block.

In: the operands of a transposed convolution (the gradient of patches that follow one another, an
upsampling) in which each pixel makes a block of results that no other pixel meets. Out: the result:
one product of the pixels and the kernel, and its blocks side by side. (The gradient of patches of
16 x 16 of four images of 64 x 64, one thread of an Emerald Rapids: 34 ms with the zeros.)

With dilation d, a window of d and d - 1 zeros before the first pixel, result r + d m meets pixel m
alone, by element d - 1 - r of the kernel.
"""

import math

from .conv_groups import grouped, product_of_groups
from .dot import operands_of


def is_blocks(p, k) -> bool:
    """Whether every pixel has a block of results of its own."""
    dilation, spatial = p["lhs_dilation"], p["dimension_numbers"].rhs_spec[2:]
    if math.prod(dilation) == 1 or p["batch_group_count"] > 1:
        return False
    alone = (1,) * len(dilation)
    return p["window_strides"] == alone == p["rhs_dilation"] and all(
        k.shape[axis] == d == low + 1
        for axis, d, (low, _) in zip(spatial, dilation, p["padding"], strict=True)
    )


def in_blocks(g, p, x, k, shape, code):
    """The result, of these dimensions."""
    numbers, groups, dilation = p["dimension_numbers"], p["feature_group_count"], p["lhs_dilation"]
    lhs, rhs, out = numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec
    rank = len(dilation)
    x, k = operands_of(g, x, k, code)
    x = g.transpose(x, [lhs[0], *lhs[2:], lhs[1]])
    k = g.reverse(g.transpose(k, [rhs[1], *rhs[2:], rhs[0]]), range(1, rank + 1))
    results = k.shape[-1]
    x, k = grouped(g, x, rank + 1, groups), grouped(g, k, rank + 1, groups)
    y = product_of_groups(g, x, k, ((rank + 2,), (1,)), code)
    # [G, N, *pixels, *window, O] -> N, G, O and each axis' pixels with their blocks, as in `out`
    places = {out[0]: [1], out[1]: [0, 2 + 2 * rank]}
    places |= {axis: [2 + a, 2 + rank + a] for a, axis in enumerate(out[2:])}
    y = g.transpose(y, [axis for place in range(rank + 2) for axis in places[place]])
    sizes = {out[0]: x.shape[1], out[1]: results}
    sizes |= {axis: x.shape[2 + a] * dilation[a] for a, axis in enumerate(out[2:])}
    y = g.reshape(y, [sizes[place] for place in range(rank + 2)])
    high = [n - m for n, m in zip(shape, y.shape, strict=True)]
    return g.pad(y, g.lit(0, code), [0] * len(high), high) if any(high) else y
