"""Lowering of contractions: real `dot` nodes; a complex product is four of them."""

import math

from ..graph.joined import joined_along
from ..ir.types import bits_of, code_of, is_complex, is_small_float, kind_of, part_code
from ..lax.dot import combined_dtype
from .arrange_product import arrange_product
from .long_products import long_product
from .rules import Pair, lower_rule, stored_whole
from .short_products import short_sum
from .small_types import rounded

INNER_FROM = 1000  # complex numbers: shorter sums fuse with what is around them
SHORT_SUM = 4  # products summed over at most this many terms are not worth a matrix kernel
MANY, MATRIX_ROW = 16, 63  # matrices, and terms, that a kernel for matrices takes one by one


@lower_rule("dot_general")
def lower_dot_general(ctx, eqn, a, b):
    g, aval = ctx.g, eqn.outvars[0].aval
    contract, batch = eqn.params["dimension_numbers"]
    code = part_code(aval.dtype)

    def dot(x, y):
        x, y = operands_of(g, x, y, code)
        terms = math.prod(x.shape[i] for i in contract[0])
        most = MATRIX_ROW if _are_matrices_times_vectors(x, y, contract, batch) else SHORT_SUM
        few = terms <= most or _is_stack_times_vector(g, x, y, contract)
        if few and kind_of(code) != "b":
            return short_sum(g, x, y, contract, batch, code)
        if math.prod(aval.shape) == 1 and x.dtype == code and kind_of(code) in "fiu":
            return short_sum(g, x, y, contract, batch, code)    # one number: reading is all of it
        return product(g, x, y, contract, batch, code)

    if not is_complex(aval.dtype):
        if kind_of(code) in "iu" and "f" in (kind_of(a.dtype), kind_of(b.dtype)):
            code = "f32"                # an integer is made of the sum, not of each number
            return _integer_of_sum(g, dot(a, b), eqn, part_code(aval.dtype))
        return dot(a, b)
    a, b = _as_pair(g, a), _as_pair(g, b)
    if math.prod(aval.shape) == 1:
        whole = _inner_of_stored(g, a, b, contract, aval.shape, code)
        return whole or _inner(g, a, b, contract, aval.shape, code)
    re = g.sub(dot(a.re, b.re), dot(a.im, b.im))
    return Pair(re, g.add(dot(a.re, b.im), dot(a.im, b.re)))


def product(g, x, y, contract, batch, code):
    """A product of matrices, or of many, the way in which it is best computed."""
    found = None
    if contract[0] and not batch[0]:
        if x.dtype == y.dtype == code and kind_of(code) == "f":
            found = long_product(g, x, y, contract, code)
        found = found or arrange_product(g, x, y, contract, code)
    return found or g.dot(x, y, contract, batch, code)


def _are_matrices_times_vectors(x, y, contract, batch) -> bool:
    """Whether there are many small products, of which one operand is a vector each."""
    sizes = [
        math.prod(n for i, n in enumerate(v.shape) if i not in (*summed, *many))
        for v, summed, many in zip((x, y), contract, batch, strict=True)
    ]
    count = math.prod(x.shape[i] for i in batch[0])
    return min(sizes) == 1 and count >= MANY


def _is_stack_times_vector(g, x, y, contract) -> bool:
    """Whether numbers are a weighted sum of arrays that were stacked for it: no stack is stored."""
    for stack, weights, axes in ((x, y, contract[0]), (y, x, contract[1])):
        if len(axes) == 1 and len(weights.shape) == 1:
            joined = joined_along(g.table, stack, axes[0])
            if joined is not None and joined.is_stack:
                return True
    return False


def _integer_of_sum(g, total, eqn, code):
    """A sum as a number of the operands' dtype, and that as an integer."""
    own = combined_dtype(*[v.aval.dtype for v in eqn.invars])
    if is_small_float(own):
        total = rounded(g, total, own)
    elif code_of(own) in ("f16", "bf16"):
        total = g.convert(g.convert(total, code_of(own)), "f32")
    return g.convert(total, code)


def _inner_of_stored(g, a, b, contract, out, code):
    """One number, of vectors that lie in memory as they are (or are to be conjugated): a routine
    reads each once. None for others."""
    (x, first), (y, second) = _stored(a), _stored(b)
    in_order = all(list(axes) == sorted(axes) for axes in contract)
    same = x is not None and y is not None and x.dtype == y.dtype == code
    if not same or not in_order or x.size != y.size or x.size < 2 * INNER_FROM:
        return None
    attrs = (f"c{2 * bits_of(code)}", int(first), int(second))
    (found,) = g.call("inner", (x, y), [((2,), code)], attrs)
    return Pair(*[g.reshape(g.slice(found, (i,), (i + 1,)), out) for i in range(2)])


def _stored(pair):
    """(the array that a pair or its conjugate is in memory, whether it is the conjugate)."""
    node = stored_whole(pair)
    if node is None and pair.im.op == "neg":
        return stored_whole(Pair(pair.re, pair.im.args[0])), True
    return node, False


def _inner(g, a, b, contract, out, code):
    """One number: the parts lie side by side in memory and are read once for each of its parts."""
    order = [i for i in range(len(b.shape)) if i not in contract[1]] + list(contract[1])
    shape = [a.shape[i] for i in contract[0]]
    lines = [i for i in range(len(a.shape)) if i not in contract[0]] + list(contract[0])

    def line(x, axes):
        return g.convert(g.reshape(g.transpose(x, axes), shape), code)

    x, y = (Pair(line(v.re, axes), line(v.im, axes)) for v, axes in ((a, lines), (b, order)))
    axes = range(len(shape))
    re = g.sub(g.mul(x.re, y.re), g.mul(x.im, y.im))
    im = g.add(g.mul(x.re, y.im), g.mul(x.im, y.re))
    return Pair(*[g.reshape(g.reduce("sum", part, axes), out) for part in (re, im)])


def _as_pair(g, x):
    return x if isinstance(x, Pair) else Pair(x, g.full(0.0, x.shape, x.dtype))


def operands_of(g, x, y, code):
    """Both operands in one type from which products are accumulated exactly enough."""
    if x.dtype == y.dtype and (kind_of(x.dtype) == "f" and kind_of(code) == "f"):
        if x.dtype == code or x.dtype in ("bf16", "f16"):
            return x, y
    if x.dtype == y.dtype and kind_of(x.dtype) in "iu" and kind_of(code) in "iu":
        return x, y     # sums are modulo 2^32 or more, and exact in every narrower type
    return g.convert(x, code), g.convert(y, code)
