"""`cond` and `switch`: run one of several functions, chosen by a value.

In: a predicate or index, functions of the same operands. Out: the result of the chosen one. The
equation's operands are (index, closed-over values…, operands…); branch 0 is `false_fun`.
Invariant: all branches have the same result structure, shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from jitney import _native
from jitney.base import config, dtypes
from jitney.base.pytree import treedef_tuple
from jitney.core.avals import ShapedArray, get_aval, is_value
from jitney.core.dce import dce_jaxpr, define_dce, prune_constants
from jitney.core.interpret import eval_closed, reference_of_closed
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var
from jitney.core.primitive import Primitive
from jitney.core.staging import trace_flat
from jitney.lax import compare
from jitney.lax.cast import convert
from jitney.lax.control_flow import common, messages
from jitney.lax.select import clamp, select_n
from jitney.lax.shape import broadcast_in_dim, shape_of
from jitney.placement import varying
from jitney.transforms import backward as backward_engine
from jitney.transforms import jvp as jvp_engine
from jitney.transforms import partial_eval as partial_engine
from jitney.transforms import vmap as vmap_engine
from jitney.transforms.jvp import Zero, define_jvp, instantiate_zeros, zeros_of
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import at_front, batch_size, define_batch

T = TypeVar("T")
_UNSET: Any = type("Unspecified", (), {"__repr__": lambda self: "<unspecified>"})()
_INDEX = np.dtype("int32")


def cond(pred, true_fun: Callable, false_fun: Callable, *operands: Any,
         operand: Any = _UNSET) -> Any:
    """`true_fun(*operands)` if `pred`, else `false_fun(*operands)`: only the chosen one runs.

    The older form `cond(pred, true_operand, true_fun, false_operand, false_fun)` is understood.

    >>> cond(True, lambda x: x + 1, lambda x: x * 2, 5).item()
    6
    """
    if len(operands) == 2 and callable(false_fun) and callable(operands[1]) \
            and not callable(true_fun):
        return _with_own_operands(pred, true_fun, false_fun, *operands)
    operands = _operands_of(operands, operand)
    common.require_callables("cond", "true_fun and false_fun arguments should be callable.",
                             true_fun, false_fun)
    index = _predicate_index(pred)
    if config.disable_jit.value:
        return (true_fun if index else false_fun)(*operands)
    return _choose("cond", index, ("true_fun", "false_fun"), (true_fun, false_fun), operands,
                   order=(1, 0))


def _with_own_operands(pred: Any, true_operand: Any, true_fun: Callable, false_operand: Any,
                       false_fun: Callable) -> Any:
    index = _predicate_index(pred)
    if config.disable_jit.value:
        return true_fun(true_operand) if index else false_fun(false_operand)
    wrappers = (lambda t, f: true_fun(t), lambda t, f: false_fun(f))
    return _choose("cond", index, ("true_fun", "false_fun"), wrappers,
                   (true_operand, false_operand), order=(1, 0), shown=(true_fun, false_fun))


def _operands_of(operands: tuple, operand: Any) -> tuple:
    if operand is _UNSET:
        return operands
    if operands:
        raise TypeError("if 'operand' keyword is passed then no positional operands can be passed, "
                        f"got operand={operand!r} and positional operands {operands}")
    return (operand,)


def _predicate_index(pred: Any) -> Any:
    """0 or 1 as an int32, from a boolean or a number."""
    if pred is None:
        raise TypeError("cond predicate is None")
    if not is_value(pred):
        raise TypeError(f"Pred must be a scalar, got {pred} of type {type(pred)}")
    aval = get_aval(pred)
    if aval.shape:
        raise TypeError(f"Pred must be a scalar, got {pred} of shape {aval.shape}. Reduce it with "
                        "jnp.all or jnp.any, or choose elementwise with jnp.where.")
    if aval.dtype != np.bool_ and not (dtypes.is_integer(aval.dtype)
                                       or dtypes.is_floating(aval.dtype)):
        raise TypeError(f"Pred type must be either boolean or number, got {aval.dtype}.")
    known = common.known_scalar(pred)
    if known is not None:
        return np.int32(bool(known))
    if aval.dtype != np.bool_:
        pred = compare.ne(pred, np.zeros((), aval.dtype)[()])
    return convert(pred, _INDEX, False)


def switch(index, branches: Sequence[Callable], *operands: Any, operand: Any = _UNSET) -> Any:
    """`branches[index](*operands)`; an index out of range is clamped.

    >>> switch(7, [lambda x: x, lambda x: x * 2], 3).item()
    6
    """
    if not all(callable(b) for b in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = _operands_of(operands, operand)
    branches = tuple(branches)
    if not branches:
        raise ValueError("Empty branch sequence")
    index = _branch_index(index, len(branches))
    if len(branches) == 1:
        return branches[0](*operands)
    if config.disable_jit.value:
        return branches[int(index)](*operands)
    names = ["branch 0", *[f"branch {i}" for i in range(1, len(branches))]]
    return _choose("switch", index, names, branches, operands)


def _branch_index(index: Any, count: int) -> Any:
    if not is_value(index):
        raise TypeError(f"Branch index must be scalar, got {index!r} of type {type(index)}")
    aval = get_aval(index)
    if aval.shape:
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")
    if not dtypes.is_integer(aval.dtype):
        raise TypeError(f"Index type must be an integer, got {index} as {aval.dtype}")
    if count == 1:
        return 0
    if _native.current_trace() is None:
        known = common.known_scalar(index)
        if known is not None:
            return np.int32(min(max(int(known), 0), count - 1))
    return clamp(np.int32(0), convert(index, _INDEX, False), np.int32(count - 1))


def _choose(what: str, index: Any, names: Sequence[str], funs: Sequence[Callable],
            operands: tuple, order: Sequence[int] | None = None,
            shown: Sequence[Callable] | None = None, **params: Any) -> Any:
    """Trace the functions, in this order, and apply; `order` gives that of the branches."""
    leaves, in_tree = [], []
    for i, operand in enumerate(operands):
        values, tree = common.flatten_operands(operand, what, f"operands[{i}]")
        leaves += values
        in_tree.append(tree)
    avals, tree = [get_aval(x) for x in leaves], treedef_tuple(in_tree)
    shown = funs if shown is None else shown
    varies = varying.entering(leaves, choice=index)

    def trace() -> list:
        return [common.trace_function(fun, tree, avals, what, None if fun is user else i, user,
                                      varies=varies)
                for i, (fun, user) in enumerate(zip(funs, shown))]

    bodies = trace()
    out_avals = [b.closed.out_avals for b in bodies]
    messages.check_branches(what, names, shown, [b.out_tree for b in bodies], out_avals)
    if varies is not None and varies.even_results(
            [b.closed.jaxpr for b in bodies], [b.consts for b in bodies]):
        bodies = trace()
    branches, consts = _with_common_constants(bodies)
    if varies is not None:
        consts, leaves = varies.matched_constants(consts), varies.matched(leaves)
    if order is not None:
        branches = [branches[i] for i in order]
    outs = _bind(index, branches, [*consts, *leaves], **params)
    return bodies[0].out_tree.unflatten(outs)


def _with_common_constants(bodies: Sequence[common.Body]) -> tuple[list[ClosedJaxpr], list]:
    """All branches take what any of them closes over, in order of first use."""
    consts: list = []
    position: dict[int, int] = {}
    for body in bodies:
        for value in body.consts:
            if id(value) not in position:
                position[id(value)] = len(consts)
                consts.append(value)
    branches = []
    for body in bodies:
        own = {position[id(v)]: i for i, v in enumerate(body.consts)}
        if list(own) == list(range(len(consts))):
            branches.append(body.closed)
            continue
        jaxpr = body.closed.jaxpr
        invars = [jaxpr.invars[own[i]] if i in own else Var(get_aval(v))
                  for i, v in enumerate(consts)]
        invars += jaxpr.invars[len(body.consts):]
        branches.append(ClosedJaxpr(Jaxpr(jaxpr.constvars, invars, jaxpr.outvars, jaxpr.eqns,
                                          jaxpr.effects), body.closed.consts))
    if type(_native.current_trace()) is not common.JaxprTrace:
        branches = [common.shared(b) for b in branches]
    return branches, consts


def _bind(index: Any, branches: list[ClosedJaxpr], operands: list, **params: Any) -> list:
    """Apply; a result that is the same operand in every branch is that operand."""
    count = len(branches[0].jaxpr.outvars)
    handed = {}
    for i in range(count):
        sources = {_operand_of(b.jaxpr, i) for b in branches}
        if len(sources) == 1 and None not in sources:
            handed[i] = sources.pop()
    wanted = [i for i in range(count) if i not in handed]
    if handed:
        branches = [common.rearrange(b, None, wanted) for b in branches]
    found = iter(cond_p.bind(index, *operands, branches=tuple(branches), **params))
    return [common.result_value(operands[handed[i]]) if i in handed else next(found)
            for i in range(count)]


def _operand_of(jaxpr: Jaxpr, i: int) -> int | None:
    out = jaxpr.outvars[i]
    if type(out) is Literal:
        return None
    return next((k for k, v in enumerate(jaxpr.invars) if v is out), None)


# --- by platform ---------------------------------------------------------------------------------

platform_index_p = Primitive("platform_index")
_PLATFORM = "cpu"


def _present(platforms: tuple) -> int:
    for i, names in enumerate(platforms):
        if names is None or _PLATFORM in names:
            return i
    raise NotImplementedError(f"platform_dependent: no branch for the platform {_PLATFORM!r} and "
                              "no default; give `default=` or `cpu=`")


@platform_index_p.def_abstract
def _platform_type(*, platforms):
    return ShapedArray((), _INDEX)


@platform_index_p.def_reference
def _platform_reference(*, platforms):
    return np.int32(_present(platforms))


def platform_dependent(*args: Any, default: Callable | None = None,
                       **per_platform: Callable) -> Any:
    """Apply the function given for the platform the program runs on, which is `cpu`.

    >>> platform_dependent(1, cpu=lambda x: x + 1, default=lambda x: x).item()
    2
    """
    names = [(name,) for name in per_platform]
    funs = list(per_platform.values())
    if default is not None:
        names.append(None)
        funs.append(default)
    common.require_callables("platform_dependent", "the functions should be callable.", *funs)
    platforms = tuple(names)
    chosen = _present(platforms)
    if config.disable_jit.value or len(funs) == 1:
        return funs[chosen](*args)
    index = platform_index_p.bind(platforms=platforms) \
        if _native.current_trace() is not None else np.int32(chosen)
    labels = ["default" if n is None else f"the function for {n[0]}" for n in names]
    return _choose("platform_dependent", index, labels, funs, args, branches_platforms=platforms)


# --- the primitive -------------------------------------------------------------------------------

cond_p = Primitive("cond", multiple_results=True)


@cond_p.def_abstract
def _cond_type(index, *avals, branches, branches_platforms=None):
    if index.shape or index.dtype != _INDEX:
        raise TypeError(f"cond takes an int32 scalar as index, got {index.str_short()}")
    for branch in branches:
        if len(avals) != len(branch.jaxpr.invars):
            raise TypeError(f"a branch of cond takes {len(branch.jaxpr.invars)} operands, got "
                            f"{len(avals)}")
    return [common.joined(each) for each in zip(*[b.out_avals for b in branches])]


@cond_p.def_reference
def _cond_reference(index, *args, branches, branches_platforms=None):
    chosen = min(max(int(index), 0), len(branches) - 1)
    return reference_of_closed(branches[chosen], *args)


def _cond_dce(used: list[bool], eqn: Any):
    branches = eqn.params["branches"]
    if not any(used) and not eqn.effects:
        return [False] * len(eqn.invars), None
    reads = [dce_jaxpr(b.jaxpr, used)[1] for b in branches]
    needed = [any(each) for each in zip(*reads)]
    if all(used) and all(needed):
        return [True, *needed], eqn
    smaller = []
    for branch in branches:
        jaxpr, _ = dce_jaxpr(branch.jaxpr, used, needed)
        smaller.append(ClosedJaxpr(*prune_constants(jaxpr, branch.consts)))
    new = eqn.replace(invars=[v for v, n in zip(eqn.invars, [True, *needed]) if n],
                      outvars=[v for v, u in zip(eqn.outvars, used) if u],
                      params={**eqn.params, "branches": tuple(smaller)})
    return [True, *needed], new


define_dce(cond_p, _cond_dce)


# --- derivative ----------------------------------------------------------------------------------


def _cond_jvp(primals, tangents, *, branches, **params):
    index, *operands = primals
    nonzero = [type(t) is not Zero for t in tangents[1:]]
    flows = [jvp_engine.jvp_jaxpr(b, nonzero, False)[1] for b in branches]
    out_nz = [any(each) for each in zip(*flows)]
    new = tuple([jvp_engine.jvp_jaxpr(b, nonzero, out_nz)[0] for b in branches])
    dots = [instantiate_zeros(t) for t, nz in zip(tangents[1:], nonzero) if nz]
    outs = cond_p.bind(index, *operands, *dots, branches=new, **params)
    outs, out_dots = common.split(outs, len(out_nz))
    return outs, common.spread_tangents(outs, out_dots, out_nz)


define_jvp(cond_p, _cond_jvp)


def _cond_transpose(cts, index, *operands, branches, **params):
    linear = [is_undefined_primal(x) for x in operands]
    known = [x for x, lin in zip(operands, linear) if not lin]
    flows = [type(ct) is not Zero for ct in cts]
    flowing = [ct for ct in cts if type(ct) is not Zero]
    new = tuple([backward_engine.transpose_jaxpr(b, linear, flows, True)[0] for b in branches])
    found = iter(cond_p.bind(index, *known, *flowing, branches=new, **params))
    return [None, *[next(found) if lin else None for lin in linear]]


define_transpose(cond_p, _cond_transpose)


def _cond_partial_eval(trace, args, unknown, params):
    """The branches' known parts now; what waits gets their residuals and the operands it reads."""
    if unknown[0]:
        return trace.record(cond_p, args, params)
    branches, flags = params["branches"], unknown[1:]
    first = [partial_engine.partial_eval_jaxpr(b, flags) for b in branches]
    out_unknown = [any(each) for each in zip(*[s.unknown_out for s in first])]
    splits = [partial_engine.partial_eval_jaxpr(b, flags, out_unknown) for b in branches]
    known = [x for x, u in zip(args[1:], flags) if not u]
    n_outs = len(out_unknown) - sum(out_unknown)
    slots, places = _shared_slots([s.residual_avals for s in splits])
    now = tuple([_with_slots(s.known, n_outs, slots, place) for s, place in zip(splits, places)])
    found = cond_p.bind(args[0], *known, **{**params, "branches": now})
    later = tuple([_from_slots(s.waiting, slots, place) for s, place in zip(splits, places)])
    waiting = iter(trace.record(
        cond_p, [args[0], *found[n_outs:], *[x for x, u in zip(args[1:], flags) if u]],
        {**params, "branches": later}))
    ready = iter(found)
    return [next(waiting) if u else next(ready) for u in out_unknown]


def _shared_slots(residuals: Sequence[Sequence[ShapedArray]]) -> tuple[list, list]:
    """Places for the residuals of all branches: residuals of one type share them."""
    slots: list[ShapedArray] = []
    places = []
    for avals in residuals:
        free, mine = list(range(len(slots))), []
        for aval in avals:
            aval = aval.strip_weak_type()
            place = next((k for k in free if slots[k] is aval), None)
            if place is None:
                place = len(slots)
                slots.append(aval)
            else:
                free.remove(place)
            mine.append(place)
        places.append(mine)
    return slots, places


def _with_slots(known: ClosedJaxpr, n_outs: int, slots: list, place: list) -> ClosedJaxpr:
    def run(*args):
        outs = eval_closed(known, *args)
        filled = dict(zip(place, outs[n_outs:], strict=True))
        return [*outs[:n_outs], *[filled[k] if k in filled else zeros_of(a)
                                  for k, a in enumerate(slots)]]

    jaxpr, consts = trace_flat(run, known.in_avals)
    return ClosedJaxpr(jaxpr, consts)


def _from_slots(waiting: ClosedJaxpr, slots: list, place: list) -> ClosedJaxpr:
    jaxpr, n = waiting.jaxpr, len(place)
    mine = dict(zip(place, jaxpr.invars[:n], strict=True))
    invars = [mine[k] if k in mine else Var(a) for k, a in enumerate(slots)]
    return ClosedJaxpr(Jaxpr(jaxpr.constvars, [*invars, *jaxpr.invars[n:]], jaxpr.outvars,
                             jaxpr.eqns, jaxpr.effects), waiting.consts)


partial_engine.define_partial_eval(cond_p, _cond_partial_eval)


# --- batching ------------------------------------------------------------------------------------


def _cond_batch(args, dims, *, branches, **params):
    size = batch_size(args, dims)
    (index, *operands), (index_dim, *operand_dims) = args, dims
    batched = [d is not None for d in operand_dims]
    operands = [at_front(x, d, size) if d is not None else x
                for x, d in zip(operands, operand_dims)]
    if index_dim is not None:
        return _all_branches(index, operands, branches, size, batched)
    flows = [vmap_engine.batch_jaxpr(b, size, batched, False)[1] for b in branches]
    out_b = [any(each) for each in zip(*flows)]
    new = tuple([vmap_engine.batch_jaxpr(b, size, batched, out_b)[0] for b in branches])
    outs = cond_p.bind(index, *operands, branches=new, **params)
    return outs, [0 if b else None for b in out_b]


def _all_branches(index: Any, operands: list, branches: tuple, size: int,
                  batched: list) -> tuple[list, list]:
    """Examples choose differently: every branch runs, and each example takes its own result."""
    if any(b.effects for b in branches):
        raise NotImplementedError("vmap of a cond whose predicate differs between examples and "
                                  "whose branches have side effects")
    results = [eval_closed(vmap_engine.batch_jaxpr(b, size, batched, True)[0], *operands)
               for b in branches]
    index = clamp(np.int32(0), index, np.int32(len(branches) - 1))
    if len(branches) == 2:
        index = compare.ne(index, broadcast_in_dim(np.int32(0), (size,), ()))
    outs = []
    for each in zip(*results):
        which = broadcast_in_dim(index, shape_of(each[0]), (0,))
        outs.append(select_n(which, *each))
    return outs, [0] * len(outs)


define_batch(cond_p, _cond_batch)
