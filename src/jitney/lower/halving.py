"""The search by halving (lax/sorted_search.py), known by its text, as one call of a routine.

In: a `scan` equation and the values of its operands. Out: the values of its results, or None if the
loop is another one: the body must be the search's letter by letter, its bounds the whole vector.
The routine computes the place where elements are about equally spaced; its result is the search's.
"""

from ..core.avals import ShapedArray
from ..graph.graph import is_literal
from ..ir.types import is_small
from ..lax.sorted_search import halving_text, levels_of

MOST = 4095     # edges whose spacing the routine uses; among more, lanes search three times as fast
_SEARCHED = ("f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def halving_search(ctx, eqn, values):
    """See the module's text."""
    p = eqn.params
    if (p["num_consts"], p["num_carry"], len(values)) != (2, 3, 5) or p["reverse"]:
        return None
    (a, v), (counter, low, high) = eqn.invars[:2], values[2:]
    edges, wanted = a.aval, v.aval
    if len(edges.shape) != 1 or edges.dtype != wanted.dtype or is_small(edges.dtype):
        return None
    n = edges.shape[0]
    if not 0 < n <= MOST or p["length"] != levels_of(n) or values[0].dtype not in _SEARCHED:
        return None
    if not (is_literal(counter, 0) and is_literal(low, 0) and is_literal(high, n)):
        return None
    right = _side(str(p["jaxpr"]), edges, wanted)
    if right is None:
        return None
    g = ctx.g
    (found,) = g.call("searchsorted", tuple(values[:2]), [(wanted.shape, "i32")], (right,))
    high = g.convert(found, "u32")
    one = g.full(1, wanted.shape, "u32")
    low = g.sub(g.ew("max", high, one), one)  # the last place known not to be too far
    return [g.lit(p["length"], "i32"), low, high]


def _side(text, edges, wanted):
    """Whether equal elements come before the place; None if the text is not the search's."""
    edges, wanted = (ShapedArray(x.shape, x.dtype) for x in (edges, wanted))
    for right in (False, True):
        if text == halving_text(edges, wanted, right):
            return right
    return None
