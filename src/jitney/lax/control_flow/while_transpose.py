"""The transposition of `while`: the loop run backwards, though nobody knew how often it would run.

In: cotangents of a loop's results and its operands, some of them linear (`UndefinedPrimal`).
Out: cotangents of the linear operands.

The values that the steps saw come from a tape of at most `rows` snapshots of the nonlinear carry.
Forwards, a snapshot is taken every `stride` steps, and when half of the tape is full, every second
one is dropped and the stride doubles: the number of steps need not be known. Backwards, the last
snapshot is advanced to the step wanted, and on the way the free rows take snapshots in between
(a recursive form of Griewank and Walther's checkpointing, "Algorithm 799: Revolve", ACM TOMS 2000).
Invariant: up to rows/2 steps nothing is computed twice; n steps cost about log(n)/log(rows/4) more
forward passes, and never more memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import get_aval
from jitney.core.dce import dce_jaxpr
from jitney.core.interpret import eval_closed
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr
from jitney.lax import compare
from jitney.lax.arithmetic import add, div, mul, rem, sub
from jitney.lax.bits import bitwise_and
from jitney.lax.cast import convert_element_type
from jitney.lax.control_flow import common
from jitney.lax.select import select
from jitney.lax.shape import broadcast_in_dim, iota, shape_of
from jitney.lax.slicing import dynamic_index_in_dim, dynamic_update_index_in_dim, slice_in_dim
from jitney.lax.slicing import dynamic_update_slice_in_dim as update_rows
from jitney.transforms import backward as engine
from jitney.transforms import partial_eval as partial_engine
from jitney.transforms.jvp import add_tangents, instantiate_zeros, zeros_of
from jitney.transforms.transpose import is_undefined_primal

TAPE_BYTES = 1 << 26
MOST_ROWS, FEWEST_ROWS = 1024, 16


class Step(NamedTuple):
    """What a loop does to the carry that is not linear."""

    going: Callable[..., Any]
    advance: Callable[..., list]
    rows: int


def transpose_while(while_loop: Callable, cts: Sequence, args: Sequence, *, cond_nconsts: int,
                    cond_jaxpr: ClosedJaxpr, body_nconsts: int, body_jaxpr: ClosedJaxpr,
                    snapshots: int | None = None) -> list:
    """One cotangent an operand; None for those that are values."""
    cond_consts, consts, carry = common.split(args, cond_nconsts, body_nconsts)
    const_lin = [is_undefined_primal(c) for c in consts]
    carry_lin, split = _split(body_jaxpr, const_lin, [is_undefined_primal(c) for c in carry])
    _check_condition(cond_jaxpr.jaxpr, cond_consts, carry_lin)
    values = [common.result_value(c) for c, lin in zip(carry, carry_lin) if not lin]
    known = [c for c, lin in zip(consts, const_lin) if not lin]
    keep = [*range(cond_nconsts), *[cond_nconsts + i for i, lin in enumerate(carry_lin) if not lin]]
    cond = common.rearrange(cond_jaxpr, keep)
    step = Step(lambda state: eval_closed(cond, *cond_consts, *state)[0],
                _advance(split.known, known, len(values)), snapshots or _rows(values))
    sums = [instantiate_zeros(zeros_of(c.aval.to_tangent_aval()))
            for c, lin in zip(consts, const_lin) if lin]
    ct_carry = [instantiate_zeros(ct) for ct, lin in zip(cts, carry_lin) if lin]
    n_residuals = len(split.residual_avals)
    linear = [*[False] * n_residuals, *[True] * (len(sums) + len(ct_carry))]
    back, _ = engine.transpose_jaxpr(split.waiting, linear, [True] * len(ct_carry), True)

    def one_back(state: list, sums: list, ct_carry: list) -> tuple[list, list]:
        residuals = eval_closed(split.known, *known, *state)[len(values):]
        found = eval_closed(back, *residuals, *ct_carry)
        return [add_tangents(s, ct) for s, ct in zip(sums, found)], found[len(sums):]

    tape = _forwards(while_loop, step, values)
    sums, ct_carry = _backwards(while_loop, step, tape, one_back, sums, ct_carry)
    ct_consts, ct_init = iter(sums), iter(ct_carry)
    found = [next(ct_consts) if lin else None for lin in const_lin]
    for value, lin in zip(carry, carry_lin):
        ct = next(ct_init) if lin else None
        found.append(ct if is_undefined_primal(value) else None)
    return [*[None] * cond_nconsts, *found]


def _split(body: ClosedJaxpr, const_lin: list, carry_lin: list) -> tuple:
    """Which carries are linear, in whatever step, and the body cut in two accordingly."""
    while True:
        split = partial_engine.partial_eval_jaxpr(body, [*const_lin, *carry_lin], carry_lin)
        grown = [a or b for a, b in zip(carry_lin, split.unknown_out)]
        if grown == carry_lin:
            return carry_lin, split
        carry_lin = grown


def _check_condition(cond: Jaxpr, consts: list, carry_lin: list) -> None:
    _, reads = dce_jaxpr(cond)
    linear = [*[is_undefined_primal(c) for c in consts], *carry_lin]
    if any(r and lin for r, lin in zip(reads, linear)):
        raise ValueError("a while_loop whose condition depends on the values it is transposed in "
                         "is no linear function of them")


def _advance(program: ClosedJaxpr, known: list, count: int) -> Callable[[list], list]:
    """The body as far as the nonlinear carry goes (its first results)."""
    keep = [i < count for i in range(len(program.jaxpr.outvars))]
    n_known = len(known)
    must = [i >= n_known for i in range(n_known + count)]
    small, used = dce_jaxpr(program.jaxpr, keep, must)
    consts = [c for c, u in zip(known, used) if u]
    closed = ClosedJaxpr(small, program.consts)
    return lambda state: eval_closed(closed, *consts, *state)


def _rows(values: list) -> int:
    nbytes = 1
    for x in values:
        aval = get_aval(x)
        size = 8 if dtypes.is_extended(aval.dtype) else aval.dtype.itemsize
        nbytes += size * prod(aval.shape)
    return max(FEWEST_ROWS, min(MOST_ROWS, TAPE_BYTES // nbytes)) & ~1


# --- forwards ------------------------------------------------------------------------------------


def _forwards(while_loop: Callable, step: Step, values: list) -> tuple:
    """(steps, stride, the rows: row r is what step r * stride saw)."""
    half, spare = step.rows // 2, step.rows        # what is not to be kept goes to a spare row
    tape = [broadcast_in_dim(x, (step.rows + 1, *shape_of(x)),
                             tuple(range(1, 1 + len(shape_of(x))))) for x in values]

    def within(limit):
        return lambda s: bitwise_and(step.going(s[2]), compare.lt(s[0], limit))

    def one(state):
        i, stride, seen, tape = state
        row = select(_same(rem(i, stride), 0), div(i, stride), np.int32(spare))
        return add(i, np.int32(1)), stride, step.advance(seen), _write(tape, seen, row)

    def until_half_full(state):
        i, stride, seen, tape = state
        again = compare.gt(i, np.int32(0))
        stride = select(again, add(stride, stride), stride)
        tape = [select(again, _every_second(x, half), x) for x in tape]
        limit = mul(stride, np.int32(half))
        return while_loop(within(limit), one, (i, stride, seen, tape))

    start = (np.int32(0), np.int32(1), values, tape)
    steps, stride, _, tape = while_loop(lambda s: step.going(s[2]), until_half_full, start)
    return steps, stride, tape


def _every_second(x: Any, half: int) -> Any:
    return update_rows(x, slice_in_dim(x, 0, half, 2), 0, 0)


# --- backwards -----------------------------------------------------------------------------------


def _backwards(while_loop: Callable, step: Step, tape: tuple, one_back: Callable, sums: list,
               ct_carry: list) -> tuple[list, list]:
    steps, stride, rows = tape
    last, spare = step.rows, step.rows
    places = mul(iota(np.int32, last + 1), broadcast_in_dim(stride, (last + 1,), ()))
    top = div(sub(steps, np.int32(1)), stride)

    def towards(target, start, gap):
        def forward(state):
            place, top, places, rows, seen = state
            seen, place = step.advance(seen), add(place, np.int32(1))
            kept = bitwise_and(_same(rem(sub(place, start), gap), 0), compare.lt(place, target))
            top = add(top, convert_element_type(kept, np.int32))
            row = select(kept, top, np.int32(spare))
            return place, top, _write([places], [place], row)[0], _write(rows, seen, row), seen

        return lambda s: compare.lt(s[0], target), forward

    def back(state):
        left, top, places, rows, sums, cts = state
        target = sub(left, np.int32(1))
        start, *seen = _read([places, *rows], top)
        gap = _gap(sub(target, start), sub(np.int32(last - 1), top))
        going, forward = towards(target, start, gap)
        _, top, places, rows, seen = while_loop(going, forward, (start, top, places, rows, seen))
        sums, cts = one_back(seen, sums, cts)
        used_up = _same(_read([places], top)[0], target)
        return target, sub(top, convert_element_type(used_up, np.int32)), places, rows, sums, cts

    state = while_loop(lambda s: compare.gt(s[0], np.int32(0)), back,
                       (steps, top, places, rows, sums, ct_carry))
    return state[4], state[5]


def _gap(distance: Any, free: Any) -> Any:
    """How far apart the snapshots of a stretch are: 1 if they all fit, else they use half of the
    free rows; without any, the stretch has none."""
    one = np.int32(1)
    half = div(free, np.int32(2))
    wide = add(div(distance, select(_same(half, 0), one, half)), one)
    wide = select(_same(half, 0), add(distance, one), wide)
    return select(compare.le(distance, free), one, wide)


# --- rows ----------------------------------------------------------------------------------------


def _same(x: Any, number: Any) -> Any:
    return compare.eq(x, np.int32(number) if isinstance(number, int) else number)


def _write(rows: list, values: Sequence, row: Any) -> list:
    return [dynamic_update_index_in_dim(x, v, row, 0) for x, v in zip(rows, values, strict=True)]


def _read(rows: list, row: Any) -> list:
    return [dynamic_index_in_dim(x, row, 0, keepdims=False) for x in rows]
