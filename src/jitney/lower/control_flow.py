"""Lowering of loops and branches: their bodies become graphs of their own.

A loop is a `call` of "loop" with operands (constants…, initial state…) and the final state as
results; its `LoopBody` has inputs (counter for counted loops, constants…, state…) and the next
state as outputs. A loop or branch with effects carries the token (see python_steps.py) as the last
part of its state. A scan is a counted loop: each step reads its slice of the inputs and writes its
slice of the stacked results in place. Complex values travel as their two parts.
"""

from dataclasses import dataclass

from ..core.describe_jaxpr import count_equations
from ..graph.cancel_transposes import cancel_transposes
from ..graph.graph import Graph, GraphBuilder
from ..graph.split_joined_reductions import split_joined_reductions
from ..graph.split_short_groups import split_short_groups
from ..ir.types import is_complex, is_small, part_code, physical_type
from .counted_while import known_turns
from .halving import halving_search
from .inline import lower_jaxpr
from .rules import Context, LoweringError, Pair, lower_rule
from .select_branches import are_cheap, select_values


@dataclass(eq=False)
class LoopBody:
    """One step of a loop (or a branch): its graph and the table of its nodes."""

    graph: Graph
    table: object
    captured: list  # its const nodes, bound like inputs
    values: list  # the arrays they stand for


def flatten_values(values):
    """Nodes of values, both parts of pairs."""
    flat = []
    for v in values:
        flat.extend(v if isinstance(v, Pair) else [v])
    return flat


def rebuild_values(like, nodes):
    """Nodes put together as `like` (a list of values) was."""
    nodes = iter(nodes)
    return [
        Pair(next(nodes), next(nodes)) if isinstance(v, Pair) else next(nodes) for v in like
    ]


def _copy_inputs(builder, values):
    """Inputs of a new graph for each value."""
    return [
        Pair(*[builder.input(p.shape, p.dtype) for p in v])
        if isinstance(v, Pair)
        else builder.input(v.shape, v.dtype)
        for v in values
    ]


def _hoisted(ctx, closed):
    """Captured arrays of a body, as values outside it."""
    return [
        ctx.constant(value, v.aval)
        for v, value in zip(closed.jaxpr.constvars, closed.consts, strict=True)
    ]


@lower_rule("while")
def lower_while(ctx, eqn, *values):
    p = eqn.params
    cond, body = p["cond_jaxpr"], p["body_jaxpr"]
    split = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
    cond_consts = _hoisted(ctx, cond) + list(values[: split[0]])
    body_consts = _hoisted(ctx, body) + list(values[split[0] : split[1]])
    init = list(values[split[1] :])
    has_effects = bool(eqn.effects)
    consts = cond_consts + body_consts
    n_cond = len(cond_consts)

    def test(inner, constants, state):
        k = len(cond.jaxpr.constvars)
        state = _state_of(inner, state, has_effects)
        return lower_jaxpr(
            inner, cond.jaxpr, constants[:k], [*constants[k:n_cond], *state]
        )

    def step(inner, constants, state):
        mine, k = constants[n_cond:], len(body.jaxpr.constvars)
        state = _state_of(inner, state, has_effects)
        results = lower_jaxpr(inner, body.jaxpr, mine[:k], [*mine[k:], *state])
        return _with_token(inner, results, has_effects)

    if any(e.effects for e in cond.eqns):
        raise LoweringError("effects in the condition of a while loop are not compiled")
    turns = known_turns(eqn, values)
    if turns == 0:
        return init
    init = _with_token(ctx, init, has_effects)
    if turns is not None:
        counted = _trace(lambda inner, _, *rest: step(inner, *rest), consts, init, counted=True)
        bodies = (None, counted, turns)
    else:
        bodies = (
            _trace(test, consts, init, counted=False), _trace(step, consts, init, counted=False), -1
        )
    return _state_of(ctx, _loop(ctx, consts, init, bodies), has_effects)


def _with_token(ctx, values, has_effects):
    """Values, and the token as the last of them."""
    return [*values, ctx.token()] if has_effects else list(values)


def _state_of(ctx, values, has_effects):
    """Values without the token, which becomes the current one."""
    if not has_effects:
        return values
    ctx.set_token(values[-1])
    return values[:-1]


def _trace(function, consts, state, counted):
    """The graph of `function(ctx, [counter], constants, state)`."""
    builder = GraphBuilder()
    inner = Context(builder)
    counter = [builder.input((), "i32")] if counted else []
    inner_consts = _copy_inputs(builder, consts)
    inner_state = _copy_inputs(builder, state)
    results = function(inner, *counter, inner_consts, inner_state)
    graph = builder.finish(flatten_values(results), "body")
    graph = split_joined_reductions(cancel_transposes(graph, builder.table), builder.table)
    graph = split_short_groups(graph, builder.table)
    captured = [n for n in builder.table.nodes if n.op == "const"]
    return LoopBody(graph, builder.table, captured, builder.constants)


def _captured(ctx, bodies):
    """Outer constants for the arrays that functions called in the bodies hold."""
    return [
        ctx.g.constant(body.values[n.attrs[0]], n.shape, n.dtype)
        for body in bodies
        if body is not None
        for n in body.captured
    ]


def _loop(ctx, consts, init, bodies):
    state = flatten_values(init)
    operands = [*flatten_values(consts), *_captured(ctx, bodies[:2]), *state]
    results = ctx.g.call(
        "loop", operands, [(n.shape, n.dtype) for n in state], (bodies, len(state))
    )
    return rebuild_values(init, results)


WRITTEN_OUT = 128  # equations, of all steps, of a scan that its caller wants unrolled


@lower_rule("scan")
def lower_scan(ctx, eqn, *values):
    p = eqn.params
    search = halving_search(ctx, eqn, values)
    if search is not None:
        return search
    closed, length, reverse = p["jaxpr"], p["length"], p["reverse"]
    hoisted = _hoisted(ctx, closed)
    consts = list(values[: p["num_consts"]])
    n_carry = p["num_carry"]
    carry = list(values[p["num_consts"] :][:n_carry])
    xs = list(values[p["num_consts"] + n_carry :])
    y_avals = [v.aval for v in closed.jaxpr.outvars[n_carry:]]
    stacked = [_empty(ctx, a, length) for a in y_avals]
    if length == 0:
        return carry + stacked
    has_effects = bool(eqn.effects)
    if not has_effects and length <= p["unroll"] and _is_short(closed.jaxpr, length):
        return _written_out(ctx, closed, length, reverse, [*hoisted, *consts], carry, xs)
    n_hoisted, n_consts = len(hoisted), len(consts)

    def step(inner, counter, constants, state):
        g = inner.g
        state = _state_of(inner, state, has_effects)
        index = counter
        if reverse:
            index = g.sub(g.lit(length - 1, "i32"), counter)
        sources = constants[n_hoisted + n_consts :]
        rows = [inner.each(x, lambda n: _row(g, n, index)) for x in sources]
        arguments = [*constants[n_hoisted : n_hoisted + n_consts], *state[:n_carry], *rows]
        results = lower_jaxpr(inner, closed.jaxpr, constants[:n_hoisted], arguments)
        written = [
            _put(inner, y, row, index)
            for y, row in zip(state[n_carry:], results[n_carry:], strict=True)
        ]
        return _with_token(inner, results[:n_carry] + written, has_effects)

    state = _with_token(ctx, carry + stacked, has_effects)
    body = _trace(step, [*hoisted, *consts, *xs], state, counted=True)
    results = _loop(ctx, [*hoisted, *consts, *xs], state, (None, body, length))
    return _state_of(ctx, results, has_effects)


def _is_short(jaxpr, length) -> bool:
    return length * max(1, count_equations(jaxpr, WRITTEN_OUT)) <= WRITTEN_OUT


def _written_out(ctx, closed, length, reverse, consts, carry, xs):
    """A scan that is to be unrolled, one step after the other."""
    g, n_hoisted, n_carry = ctx.g, len(closed.jaxpr.constvars), len(carry)
    rows = []
    for i in reversed(range(length)) if reverse else range(length):
        places = [ctx.each(x, lambda n, i=i: _known_row(g, n, i)) for x in xs]
        arguments = [*consts[n_hoisted:], *carry, *places]
        results = lower_jaxpr(ctx, closed.jaxpr, consts[:n_hoisted], arguments)
        carry = results[:n_carry]
        rows.append(results[n_carry:])
    stacks = zip(*(rows[::-1] if reverse else rows), strict=True)
    return [*carry, *[_stack(ctx, stack) for stack in stacks]]


def _known_row(g, x, i):
    """x[i] along the first axis."""
    starts, limits = (i, *[0] * (len(x.shape) - 1)), (i + 1, *x.shape[1:])
    return g.reshape(g.slice(x, starts, limits), x.shape[1:])


def _stack(ctx, rows):
    if isinstance(rows[0], Pair):
        return Pair(_stack(ctx, [row.re for row in rows]), _stack(ctx, [row.im for row in rows]))
    return ctx.g.concat([ctx.g.expand_dims(row, 0) for row in rows], 0)


def _empty(ctx, aval, length):
    """A result to be stacked, before any step has written to it."""
    shape = (length, *aval.shape)
    code = part_code(aval.dtype)
    if is_complex(aval.dtype):
        return Pair(ctx.g.empty(shape, code), ctx.g.empty(shape, code))
    if is_small(aval.dtype):
        return ctx.g.empty(shape, code)
    shape, code = physical_type(shape, aval.dtype)
    return ctx.g.empty(shape, code)


def _row(g, x, index):
    """x[index] along the first axis."""
    zero = g.lit(0, "i32")
    starts = (index, *[zero] * (len(x.shape) - 1))
    return g.reshape(g.dynamic_slice(x, starts, (1, *x.shape[1:])), x.shape[1:])


def _put(ctx, stacked, row, index):
    """stacked with row at [index]."""
    g = ctx.g

    def put(whole, part):
        zero = g.lit(0, "i32")
        starts = (index, *[zero] * (len(whole.shape) - 1))
        return g.dynamic_update_slice(whole, g.reshape(part, (1, *part.shape)), starts)

    if isinstance(stacked, Pair):
        return Pair(put(stacked.re, row.re), put(stacked.im, row.im))
    return put(stacked, row)


@lower_rule("cond")
def lower_cond(ctx, eqn, index, *operands):
    branches = eqn.params["branches"]
    consts, starts = [], []
    for closed in branches:
        starts.append(len(consts))
        consts.extend(_hoisted(ctx, closed))
    bodies, has_effects = [], bool(eqn.effects)
    operands = _with_token(ctx, operands, has_effects)
    for closed, start in zip(branches, starts, strict=True):
        def run(inner, constants, arguments, closed=closed, start=start):
            mine = constants[start : start + len(closed.jaxpr.constvars)]
            arguments = _state_of(inner, arguments, has_effects)
            results = lower_jaxpr(inner, closed.jaxpr, mine, arguments)
            return _with_token(inner, results, has_effects)

        bodies.append(_trace(run, consts, operands, counted=False))
    if index.dtype == "b1":
        index = ctx.g.convert(index, "i32")
    if not has_effects and are_cheap([body.graph for body in bodies]):
        return select_values(ctx, index, [
            lower_jaxpr(ctx, closed.jaxpr, consts[start : start + len(closed.jaxpr.constvars)],
                        list(operands))
            for closed, start in zip(branches, starts, strict=True)
        ])  # fmt: skip
    like = [ctx_value(ctx, v.aval) for v in branches[0].jaxpr.outvars]
    like = [*like, None] if has_effects else like
    shapes = [(n.shape, n.dtype) for n in bodies[0].graph.outputs]
    flat = [index, *flatten_values([*consts, *operands]), *_captured(ctx, bodies)]
    results = ctx.g.call("branch", flat, shapes, (tuple(bodies),))
    return _state_of(ctx, rebuild_values(like, results), has_effects)


def ctx_value(ctx, aval):
    """A value of the aval's structure (node or pair)."""
    return Pair(None, None) if is_complex(aval.dtype) else None


@lower_rule("platform_index")
def lower_platform_index(ctx, eqn):
    """Known here: the machine is a CPU."""
    platforms = eqn.params["platforms"]
    chosen = [i for i, names in enumerate(platforms) if names is None or "cpu" in names]
    if not chosen:
        raise LoweringError(f"no branch for the platform 'cpu' among {platforms}")
    return ctx.g.lit(chosen[0], "i32")
