"""Functions that say themselves how they are batched: `custom_vmap`, `sequential_vmap`.

In: a function, and a rule for whole batches. Out: a function that is an equation
`custom_vmap_call` in programs: it runs as the function's program; `vmap` calls the rule instead.
Its jvp is again such an equation, whose rule is the jvp of the user's rule.
Invariant: a rule sees every batched argument with the batch axis in front.
Reverse-mode differentiation is refused, as in JAX; `vmap(grad(…))` needs a `custom_vjp` around it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from jitney.api import identity as identities
from jitney.api import signature as signatures
from jitney.api.jvp_vjp import as_primal, as_result, check_callable
from jitney.api.tracing import find_avals, read_call, traced_program
from jitney.base import source
from jitney.base.pytree import tree_flatten, tree_leaves, tree_structure
from jitney.core import interpret
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.jaxpr import ClosedJaxpr, JaxprEqn
from jitney.core.primitive import Primitive
from jitney.lax.control_flow import loops
from jitney.transforms.jvp import (
    Zero,
    define_jvp,
    define_linearize,
    instantiate_zeros,
    is_zero,
    jvp_flat,
    jvp_jaxpr,
)
from jitney.transforms.partial_eval import define_partial_eval
from jitney.transforms.vmap import at_front, batch_size, define_batch

custom_vmap_call_p = Primitive("custom_vmap_call", multiple_results=True)


class custom_vmap:
    """A function with a batching rule of its own.

    The rule is given by `def_vmap`: `rule(axis_size, in_batched, *args) -> (out, out_batched)`.
    `in_batched` is a list like `args` with a bool for every array: whether it has a batch axis,
    which is in front. `out_batched` has the structure of `out`, likewise.

    >>> @custom_vmap
    ... def f(x, y):
    ...     return x + y
    >>> @f.def_vmap
    ... def rule(axis_size, in_batched, xs, ys):
    ...     return xs * ys, True
    >>> jitney.vmap(f)(jnp.arange(3), jnp.arange(1, 4))
    Array([0, 2, 6], dtype=int32)
    """

    vmap_rule: Callable | None = None

    def __init__(self, fun: Callable):
        check_callable(fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self._own: dict = {}

    def __get__(self, instance: Any, _: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def def_vmap(self, vmap_rule: Callable) -> Callable:
        """Set the batching rule; gives it back, so that it may be used as a decorator."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = self._positional(args, kwargs)
        call = read_call(self.fun, args, {}, (), ())
        call.leaves = list(map(as_primal, call.leaves))
        find_avals(call, self.fun)
        traced = traced_program(self.fun, identities.identity_of(self.fun, self._own), call,
                                "custom_vmap")
        count = len(traced.hoisted)
        rule = _UserRule(self, count, tree_structure(args), traced.out_tree)
        outs = custom_vmap_call_p.bind(
            *traced.hoisted, *call.leaves, call=traced.jaxpr, rule=rule,
            in_tree=tree_structure(([0] * count, args)), out_tree=traced.out_tree)
        return traced.out_tree.unflatten([as_result(x) for x in outs])

    def _positional(self, args: tuple, kwargs: dict) -> tuple:
        signature = signatures.signature_of(self.fun)
        if signature is None and not kwargs:
            return args
        try:
            bound = (signature or inspect.signature(self.fun)).bind(*args, **kwargs)
        except (TypeError, ValueError) as error:
            raise TypeError(
                "The input arguments to the custom_vmap-decorated function "
                f"{source.function_name(self.fun)} could not be resolved to positional-only "
                f"arguments. Binding failed with the error:\n{error}") from None
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError("keyword-only arguments of the custom_vmap-decorated function "
                            f"{source.function_name(self.fun)} cannot be batched: {bound.kwargs}")
        return bound.args


def sequential_vmap(f: Callable) -> custom_vmap:
    """A function that is batched by calling it once for each example, in a loop.

    >>> jitney.vmap(sequential_vmap(lambda x: x + 1))(jnp.arange(3))
    Array([1, 2, 3], dtype=int32)
    """
    function = custom_vmap(f)

    def rule(_, in_batched, *args):
        leaves, tree = tree_flatten(args)
        flags = tree_leaves(in_batched)
        if not any(flags):
            out = function(*args)
            return out, tree_structure(out).unflatten([False] * tree_structure(out).num_leaves)

        def one(examples):
            given = iter(examples)
            return function(*tree.unflatten([next(given) if b else x
                                             for x, b in zip(leaves, flags)]))

        # batches of no examples are traced all the same: lax.map makes empty results
        out = loops.map(one, [x for x, b in zip(leaves, flags) if b])
        structure = tree_structure(out)
        return out, structure.unflatten([True] * structure.num_leaves)

    function.def_vmap(rule)
    return function


# --- rules on flat lists: rule(axis_size, batched, leaves) -> (outs, batched) ----------------


class _UserRule:
    """The user's rule. Values the function has taken from around it come first."""

    def __init__(self, function: custom_vmap, count: int, in_tree: Any, out_tree: Any):
        self.function, self.count = function, count
        self.in_tree, self.out_tree = in_tree, out_tree

    def __repr__(self) -> str:
        rule = self.function.vmap_rule
        return "None" if rule is None else f"<function {source.function_name(rule)}>"

    def _key(self) -> tuple:
        return self.function, self.function.vmap_rule, self.count, self.in_tree, self.out_tree

    def __eq__(self, other: Any) -> bool:
        return type(other) is _UserRule and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, axis_size: int, batched: Sequence, leaves: Sequence) -> tuple[list, list]:
        rule, name = self.function.vmap_rule, source.function_name(self.function.fun)
        if rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {name} using def_vmap.")
        if any(batched[:self.count]):
            raise ValueError(
                f"the custom_vmap function {name} uses a value from outside that is batched; its "
                "rule cannot see that. Pass the value as an argument.")
        pair = rule(axis_size, list(self.in_tree.unflatten(list(batched[self.count:]))),
                    *self.in_tree.unflatten(list(leaves[self.count:])))
        where = f"custom vmap rule ({source.function_name(rule)})"
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"the {where} for {name} must return a pair (out, out_batched), got "
                             f"{type(pair).__name__}: {pair!r}")
        return self._checked(where, *pair)

    def _checked(self, where: str, out: Any, out_batched: Any) -> tuple[list, list]:
        outs, tree = tree_flatten(out)
        flags, flag_tree = tree_flatten(out_batched)
        if tree != flag_tree:
            raise ValueError(f"structure of output value and output batching specification "
                             f"returned by {where} do not match.\nOutput values: {tree}\n"
                             f"Batching spec: {flag_tree}")
        if tree != self.out_tree:
            raise ValueError(f"structure of output returned by {where} does not match that of "
                             f"original custom-vmapped function.\nOriginal output: "
                             f"{self.out_tree}\nRule output: {tree}")
        return [as_primal(x) for x in outs], [bool(f) for f in flags]


class _JvpRule:
    """The jvp of a rule: operands are followed by their tangents, where these are not zero."""

    def __init__(self, rule: Callable, nonzero: tuple, nonzero_out: tuple):
        self.rule, self.nonzero, self.nonzero_out = rule, nonzero, nonzero_out

    def __repr__(self) -> str:
        return f"jvp of {self.rule!r}"

    def __call__(self, axis_size: int, batched: Sequence, leaves: Sequence) -> tuple[list, list]:
        count = len(self.nonzero)
        given = iter(zip(leaves[count:], batched[count:], strict=True))
        primals, tangents, flags, out_flags = [], [], [], []
        for x, b, nonzero in zip(leaves, batched, self.nonzero):
            t, t_batched = next(given) if nonzero else (None, False)
            both = b or t_batched
            primals.append(at_front(x, None, axis_size) if both and not b else x)
            if nonzero and both and not t_batched:
                t = at_front(t, None, axis_size)
            tangents.append(t if nonzero else Zero(get_aval(primals[-1]).to_tangent_aval()))
            flags.append(both)

        def run(*xs):
            outs, out_flags[:] = self.rule(axis_size, flags, xs)
            return outs

        outs, out_tangents = jvp_flat(run, primals, tangents)
        kept = [i for i, nonzero in enumerate(self.nonzero_out) if nonzero]
        return ([*outs, *(instantiate_zeros(out_tangents[i]) for i in kept)],
                [*out_flags, *(out_flags[i] for i in kept)])


# --- the primitive's rules -------------------------------------------------------------------


@custom_vmap_call_p.def_abstract
def _type(*operands: ShapedArray, call: ClosedJaxpr, **params: Any) -> list:
    return call.out_avals


@custom_vmap_call_p.def_reference
def _reference(*operands: Any, call: ClosedJaxpr, **params: Any) -> list:
    return interpret.reference_of_closed(call, *operands)


@custom_vmap_call_p.def_print
def _shown(params: dict, eqn: JaxprEqn) -> dict:
    return {name: params[name] for name in ("call", "in_tree", "out_tree", "rule")}


def _batch(args: Sequence, dims: Sequence, *, call: ClosedJaxpr, rule: Callable, in_tree: Any,
           out_tree: Any) -> tuple[list, list]:
    size = batch_size(args, dims)
    leaves = [x if d is None else at_front(x, d, size) for x, d in zip(args, dims)]
    outs, batched = rule(size, [d is not None for d in dims], leaves)
    for x, b, aval in zip(outs, batched, call.out_avals, strict=True):
        _check_result(get_aval(x), b, aval, size)
    return outs, [0 if b else None for b in batched]


def _check_result(found: ShapedArray, batched: bool, aval: ShapedArray, size: int) -> None:
    wanted = (size, *aval.shape) if batched else aval.shape
    if found.shape != wanted or found.dtype != aval.dtype:
        raise ValueError(
            f"a custom vmap rule returned {found.str_short()} where the function gives "
            f"{aval.str_short()}{f' for each of the {size} examples' if batched else ''}: expected "
            f"{aval.update(shape=wanted).str_short()}")


def _jvp(primals: Sequence, tangents: Sequence, *, call: ClosedJaxpr, rule: Callable,
         in_tree: Any, out_tree: Any) -> tuple[list, list]:
    nonzero = tuple([not is_zero(t) for t in tangents])
    program, nonzero_out = jvp_jaxpr(call, nonzero)
    flowing = [t for t in tangents if not is_zero(t)]
    count = len(nonzero_out)
    found = custom_vmap_call_p.bind(
        *primals, *flowing, call=program, rule=_JvpRule(rule, nonzero, tuple(nonzero_out)),
        in_tree=tree_structure((in_tree.unflatten([0] * len(primals)), flowing)),
        out_tree=tree_structure((out_tree.unflatten([0] * count), [0] * sum(nonzero_out))))
    given = iter(found[count:])
    return found[:count], [next(given) if nz else Zero.from_primal_value(x)
                           for x, nz in zip(found, nonzero_out)]


def _refuse(trace: Any, *operands: Any) -> Any:
    rule = operands[-1]["rule"]
    raise ValueError(
        f"a custom_vmap function ({rule!r} is its batching rule) does not support reverse-mode "
        "differentiation. Put a jax.custom_vjp around it, or batch it before it is differentiated.")


define_batch(custom_vmap_call_p, _batch)
define_jvp(custom_vmap_call_p, _jvp)
define_linearize(custom_vmap_call_p, _refuse)
define_partial_eval(custom_vmap_call_p, _refuse)

__all__ = ["custom_vmap", "custom_vmap_call_p", "sequential_vmap"]
