"""Which loads of a stencil lie a few elements beside one another along the vector loop.

In: a scheduled kernel and its live expressions. Out: for the index of such a load, the index of the
one in their midst and how far away it is. Codegen then loads the vectors in the midst, and makes
the others of them in registers: a vector that crosses two lines of the cache takes longer than one,
and one load a cycle is what limits a stencil whose rows are in the cache. The kernel's text says
the distances, which are no slots. `find_woven`: the same for short strides, of stores as well.
"""

from . import affine as af
from .affine import Affine
from .kernel import Expr, Kernel

FAR = 4  # elements: stencils of higher order go no further


def find_near_loads(kernel: Kernel, used: list[Expr]) -> dict[Affine, tuple[Affine, int]]:
    """See the module's text."""
    if kernel.lane != "row" or kernel.stages or kernel.saved or kernel.tile is not None:
        return {}
    if kernel.small:
        return {}
    row = kernel.rows[-1].variable
    constants: dict[tuple, set[int]] = {}
    for x in used:
        if x.op == "load" and af.coefficient_of(x.attrs[1], row) == 1:
            constants.setdefault(x.attrs[1][1], set()).add(x.attrs[1][0])
    stored = {store.position for store in kernel.stores}
    found = {}
    for terms, places in constants.items():
        for place, midst in _midsts(sorted(places), {c for c, t in stored if t == terms}).items():
            found[place, terms] = ((midst, terms), place - midst)
    return found


def find_woven(kernel: Kernel, used: list[Expr]) -> dict[Affine, tuple[Affine, int]]:
    """Of loads and stores with a short stride along the vector loop (colours of a picture, say),
    those whose elements lie between those of another one, the first of them: all are picked from
    the vectors that are read for one, or woven with it. Where constants are less than the stride,
    the kernel's text says so already. Arrays with equal steps are looked at together: an index has
    one text, and the first place is one of each, as no place is below 0; those that are written
    begin with a store, so that they are written at once."""
    if kernel.lane != "row" or kernel.tile is not None:
        return {}
    stored = {store.position for store in kernel.stores if store.mask is None}
    found: dict[Affine, tuple[Affine, int]] = {}
    for (step, terms), places in _places_by_steps(kernel, used, stored).items():
        first: int | None = None
        for place in sorted(places):
            if 0 <= place < step:
                continue
            begins_stores = (place, terms) in stored and (first, terms) not in stored
            if first is None or place >= first + step or begins_stores:
                first = place
            else:
                found[place, terms] = ((first, terms), place - first)
    return found


def _places_by_steps(kernel, used: list[Expr], stored: set[Affine]) -> dict[tuple, set[int]]:
    """The constants of places with a short stride, by it and by their other terms; not of loads
    under conditions, for which what lies before their element in a row may not be there."""
    row = kernel.rows[-1].variable
    loads = {x.attrs[1] for x in used if x.op == "load"}
    conditional = {x.attrs[1] for x in used if x.op == "load" and x.args}
    found: dict[tuple, set[int]] = {}
    for constant, terms in (stored | loads) - conditional:
        step = dict(terms).get(row, 0)
        if 1 < step <= kernel.short_stride:
            found.setdefault((step, terms), set()).add(constant)
    return found


def _midsts(places: list[int], stored: set[int]) -> dict[int, int]:
    """For each of several places near one another, the place in their midst: that of a result, if
    one is there, for its vectors are aligned."""
    found = {}
    while places:
        group = [p for p in places if p - places[0] <= FAR]
        aligned = [p for p in places if p in stored and p - places[0] <= FAR]
        midst = aligned[0] if aligned else group[len(group) // 2]
        group = [p for p in places if p - midst <= FAR]
        if len(group) > 1:
            found.update({p: midst for p in group if p != midst})
        places = places[len(group) :]
    return found
