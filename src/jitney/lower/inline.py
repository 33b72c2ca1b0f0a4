"""Walks the equations of a jaxpr and asks the rule of each primitive; nested calls are inlined.

In: a jaxpr and values (graph nodes) of its constants and arguments. Out: values of its results.
Below this line there are no functions.
"""

from ..core.jaxpr import ClosedJaxpr, Literal
from .python_steps import by_reference
from .rules import LoweringError, lower_rule, run_rule


def constants_of(ctx, closed):
    return [
        ctx.constant(value, v.aval)
        for v, value in zip(closed.jaxpr.constvars, closed.consts, strict=True)
    ]


def lower_jaxpr(ctx, jaxpr, constants, arguments):
    """The values of a jaxpr's results."""
    env = dict(zip(jaxpr.constvars, constants, strict=True))
    env.update(zip(jaxpr.invars, arguments, strict=True))

    def read(atom):
        if isinstance(atom, Literal):
            return ctx.literal(atom.val, atom.aval)
        return env[atom]

    table = ctx.g.table
    for eqn in jaxpr.eqns:
        table.source = eqn.source
        values = [read(a) for a in eqn.invars]
        try:
            results = _lower_equation(ctx, eqn, values)
        except LoweringError as error:
            raise _with_place(error, eqn) from None
        for v, value in zip(eqn.outvars, results, strict=True):
            env[v] = value
    return [read(a) for a in jaxpr.outvars]


def _lower_equation(ctx, eqn, values):
    """By its rule, or else by the primitive's NumPy reference."""
    try:
        return run_rule(ctx, eqn, values)
    except LoweringError as error:
        if getattr(error, "has_place", False):
            raise
        return by_reference(ctx, eqn, values, error)


def _with_place(error, eqn):
    if getattr(error, "has_place", False):
        return error
    placed = LoweringError(f"{error}\n  in: {eqn}\n  at: {eqn.source_summary()}")
    placed.has_place = True
    return placed


def inline(ctx, closed, arguments):
    """The results of a nested ClosedJaxpr."""
    return lower_jaxpr(ctx, closed.jaxpr, constants_of(ctx, closed), arguments)


@lower_rule("jit", "pjit", "closed_call", "core_call", "remat", "checkpoint", "remat2")
def lower_call(ctx, eqn, *values):
    closed = eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))
    if not isinstance(closed, ClosedJaxpr):
        return lower_jaxpr(ctx, closed, [], list(values))
    return inline(ctx, closed, list(values))


@lower_rule("custom_vmap_call")
def lower_custom_vmap(ctx, eqn, *values):
    return inline(ctx, eqn.params["call"], list(values))


@lower_rule("check")
def lower_check(ctx, eqn, *values):
    """Compiled programs cannot raise: the reference says so, or that the check is left out."""
    return eqn.primitive.reference_rule(**eqn.params)


@lower_rule("composite")
def lower_composite(ctx, eqn, *values):
    return inline(ctx, eqn.params["jaxpr"], list(values))


@lower_rule("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")
def lower_custom(ctx, eqn, *values):
    closed = eqn.params.get("call_jaxpr", eqn.params.get("fun_jaxpr", eqn.params.get("jaxpr")))
    return inline(ctx, closed, list(values))


@lower_rule("custom_linear_solve")
def lower_linear_solve(ctx, eqn, *values):
    """The program that solves; the others serve transformations."""
    lengths, programs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    first = lengths.matvec + lengths.vecmat
    consts = values[first : first + lengths.solve]
    return inline(ctx, programs.solve, [*consts, *values[sum(lengths) :]])
