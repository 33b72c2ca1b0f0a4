"""Loops and branches.

In: `while`, `scan` and `cond` with the programs of their bodies. Out: `stablehlo.while` and
`stablehlo.case`.
Invariant: what a loop's body reads from outside is carried along unchanged, so that regions of
loops are closed; branches see the values around them.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitney.stablehlo.builder import Builder
from jitney.stablehlo.ops import Block, Value
from jitney.stablehlo.rules import Unsupported, rule, write_closed
from jitney.stablehlo.types import BOOL, I32, type_of


def _loop(b: Builder, carried: Sequence[Value], test, step) -> list[Value]:
    """`stablehlo.while`; `test` and `step` are bodies of regions."""
    types = [v.type for v in carried]
    regions: list[Block] = [b.region(types, test), b.region(types, step)]
    return b.op("stablehlo.while", carried, types, {}, regions)


# --- while ---------------------------------------------------------------------------------------


@rule("while", keys=True)
def _while(b, site, *values):
    p = site.params
    n_test, n_step = p["cond_nconsts"], p["body_nconsts"]
    n_consts = n_test + n_step

    def predicate(inner, args):
        return write_closed(inner, p["cond_jaxpr"], [*args[:n_test], *args[n_consts:]])[0]

    def test(inner, *args):
        found = predicate(inner, args)
        if found.shape:                                    # some example goes on
            axes = range(len(found.shape))
            found = inner.reduce([found], [inner.constant(False)], axes, Builder.or_)[0]
        return found

    def step(inner, *args):
        state = args[n_consts:]
        new = write_closed(inner, p["body_jaxpr"], [*args[n_test:n_consts], *state])
        going = predicate(inner, args) if p["cond_jaxpr"].out_avals[0].shape else None
        if going is not None:                              # examples that are done stay
            new = [_where_going(inner, going, n, o) for n, o in zip(new, state, strict=True)]
        return [*args[:n_consts], *new]

    return _loop(b, values, test, step)[n_consts:]


def _where_going(b: Builder, going: Value, new: Value, old: Value) -> Value:
    mask = going if going.shape == new.shape else \
        b.broadcast(going, new.shape, range(len(going.shape)))
    return b.select(mask, new, old)


# --- scan ----------------------------------------------------------------------------------------


@rule("scan", keys=True)
def _scan(b, site, *values):
    """A counted loop; each step reads its rows and writes its rows of the results."""
    p = site.params
    n_consts, n_carry, length = p["num_consts"], p["num_carry"], p["length"]
    consts, carry = values[:n_consts], values[n_consts:n_consts + n_carry]
    rows = values[n_consts + n_carry:]
    stacked = [b.full(0, type_of(a)) for a in site.out_avals[n_carry:]]
    if length == 0:
        return [*carry, *stacked]
    counter = b.constant(0, I32)
    fixed = n_consts + len(rows)

    def test(inner, *args):
        return inner.compare("LT", args[fixed], inner.constant(length, I32))

    def step(inner, *args):
        i, state, outs = args[fixed], args[fixed + 1:][:n_carry], args[fixed + 1 + n_carry:]
        place = inner.subtract(inner.constant(length - 1, I32), i) if p["reverse"] else i
        taken = [_row(inner, x, place) for x in args[n_consts:fixed]]
        new = write_closed(inner, p["jaxpr"], [*args[:n_consts], *state, *taken])
        written = [_put(inner, whole, row, place)
                   for whole, row in zip(outs, new[n_carry:], strict=True)]
        following = inner.add(i, inner.constant(1, I32))
        return [*args[:fixed], following, *new[:n_carry], *written]

    return _loop(b, [*consts, *rows, counter, *carry, *stacked], test, step)[fixed + 1:]


def _starts(b: Builder, place: Value, rank: int) -> list[Value]:
    zero = b.constant(0, I32)
    return [place, *[zero] * (rank - 1)]


def _row(b: Builder, x: Value, place: Value) -> Value:
    found = b.dynamic_slice(x, _starts(b, place, x.type.rank), (1, *x.shape[1:]))
    return b.reshape(found, x.shape[1:])


def _put(b: Builder, whole: Value, row: Value, place: Value) -> Value:
    update = b.reshape(row, (1, *row.shape))
    return b.dynamic_update_slice(whole, update, _starts(b, place, whole.type.rank))


# --- cond ----------------------------------------------------------------------------------------


@rule("platform_index")
def _platform_index(b, site):
    """The place of the CPU's branch, or of the default."""
    for i, platforms in enumerate(site.params["platforms"]):
        if platforms is None or "cpu" in platforms:
            return b.constant(i, I32)
    raise Unsupported("platform_dependent without a branch for the CPU and without a default")


@rule("cond", keys=True)
def _cond(b, site, index, *values):
    branches = site.params["branches"]
    if len(branches) == 1:
        return write_closed(b, branches[0], values)
    if index.dtype == BOOL:
        index = b.convert(index, I32)
    regions = [b.region([], lambda inner, closed=closed: write_closed(inner, closed, values))
               for closed in branches]
    return b.op("stablehlo.case", (index,), site.outs, {}, regions)
