"""Groups of channels of a convolution, as an axis in front.

In: an image or a kernel that has its groups along one axis. Out: the same with that axis cut in two
and the groups in front (`grouped`), and products of such operands, group by group
(`product_of_groups`).
"""

import math

from ..ir.types import kind_of
from .dot import SHORT_SUM, product
from .short_products import short_sum


def grouped(g, x, axis, groups):
    """The major part of an axis as an axis of its own, in front."""
    if groups == 1:
        return g.reshape(x, (1, *x.shape))
    shape = x.shape[:axis] + (groups, x.shape[axis] // groups) + x.shape[axis + 1 :]
    wide = g.reshape(x, shape)
    return g.transpose(wide, [axis, *[a for a in range(len(shape)) if a != axis]])


def product_of_groups(g, a, b, contract, code):
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
