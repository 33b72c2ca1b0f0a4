"""Steps for convolutions: products whose rows are places of an image, read where it lies.

A `conv` node has an image [N, *spatial, C] with its border already around it and a kernel
[*window, C, O]. One line of the window is a contiguous run of the image's line, and neighbouring
results' runs overlap: so the result's lines are matrix products whose rows are one pixel apart and
whose k goes through the window line by line. No patches are copied.
"""

import math

from ..ir.strides import contiguous_strides
from .contractions import ProductKind, product_kind


def plan_conv(partition, node, view, tail=None):
    """(plan, view of the image, view of the kernel); None without a planner of contractions."""
    if partition.plan_contraction is None or not view.is_contiguous:
        return None
    x, kernel = node.args
    *lead, m, n = node.shape
    inner = lead[-1] if len(lead) > 1 else 1
    image = contiguous_strides(x.shape)
    steps = [image[1 + i] * s for i, s in enumerate(node.attrs[0])]
    depth = math.prod(kernel.shape[:-1])
    up = steps[0] if len(steps) > 1 else 0
    plan = partition.plan_contraction(
        math.prod(lead), m, n, depth, node.dtype, node.dtype,
        (image[0], steps[-1], 1), (0, n, 1), (m * n * inner, n, 1),
        inner, (up, 0, m * n), tail, _segments(node, image),
    )  # fmt: skip
    return plan, _stored(partition, x), _stored(partition, kernel)


def _segments(node, image) -> tuple[int, int]:
    """(runs of the image under the window, how far they are apart)."""
    dilation, window = node.attrs[1], node.args[1].shape[:-2]
    if len(window) > 1:
        return window[0], image[1] * dilation[0]
    return (window[0], image[1] * dilation[0]) if dilation[0] > 1 else (1, 0)


def _stored(partition, x):
    """Where an operand lies in row-major order."""
    view = partition.view_of(x)
    if view is not None and not view.is_contiguous:
        view = partition.request(partition.table.intern("copy", (x,), x.shape, x.dtype))
    return view if view is not None else partition.request(x)


def _as_products(partition, node):
    """A sum of one product for each element of the window."""
    table, (x, kernel) = partition.table, node.args
    strides, dilation = node.attrs
    out, features = node.shape[1:-1], kernel.shape[-2:]
    numbers = ((len(x.shape) - 1,), (0,)), ((), ())
    total = None
    for flat in range(math.prod(kernel.shape[:-2])):
        place, rest = [], flat
        for extent in reversed(kernel.shape[:-2]):
            place.append(rest % extent)
            rest //= extent
        corner = (*place[::-1], 0, 0)
        tap = table.intern("slice", (kernel,), (*[1] * len(out), *features), node.dtype,
                           (corner, (1,) * len(corner)))  # fmt: skip
        tap = partition.reshape(tap, features)
        starts = (0, *[i * d for i, d in zip(place[::-1], dilation, strict=True)], 0)
        shape = (x.shape[0], *out, x.shape[-1])
        part = table.intern("slice", (x,), shape, node.dtype, (starts, (1, *strides, 1)))
        term = table.intern("dot", (part, tap), node.shape, node.dtype, numbers)
        if total is not None:
            term = table.intern("add", (total, term), node.shape, node.dtype)
        total = term
    return total


product_kind("conv", ProductKind(
    plan_conv,
    _as_products,
    lambda node: (len(node.shape) - 2, 1),
    lambda node: math.prod(node.args[1].shape[:-1]),
))  # fmt: skip
