"""A few primitives of our own, so that the front half is tested without `lax`."""

import numpy as np

from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive


def _unary(name, reference):
    p = Primitive(name)
    p.def_abstract(lambda x: ShapedArray(x.shape, x.dtype, x.weak_type))
    p.def_reference(reference)
    return p


def _binary(name, reference, dtype=None):
    p = Primitive(name)

    def rule(x, y):
        if x.shape and y.shape and x.shape != y.shape:
            raise TypeError(f"{name} got incompatible shapes {x.shape} and {y.shape}")
        return ShapedArray(x.shape or y.shape, dtype or x.dtype, x.weak_type and y.weak_type)

    p.def_abstract(rule)
    p.def_reference(reference)
    return p


sin_p = _unary("toy_sin", np.sin)
add_p = _binary("toy_add", np.add)
mul_p = _binary("toy_mul", np.multiply)
gt_p = _binary("toy_gt", np.greater, np.dtype(bool))

split_p = Primitive("toy_split", multiple_results=True)
split_p.def_abstract(lambda x: [ShapedArray((), x.dtype)] * x.shape[0])
split_p.def_reference(lambda x: list(x))

sum_p = Primitive("toy_sum")
sum_p.def_abstract(
    lambda x, *, axes: ShapedArray(
        tuple(n for i, n in enumerate(x.shape) if i not in axes), x.dtype, x.weak_type
    )
)
sum_p.def_reference(lambda x, *, axes: np.sum(x, axis=axes))

effect_p = Primitive("toy_effect", multiple_results=True)
effect_p.def_abstract(lambda *xs: [])
effect_p.def_effects(lambda *xs: {"toy"})


def sin(x):
    return sin_p.bind(x)


def add(x, y):
    return add_p.bind(x, y)


def mul(x, y):
    return mul_p.bind(x, y)


def gt(x, y):
    return gt_p.bind(x, y)


def total(x):
    return sum_p.bind(x, axes=(0,))
