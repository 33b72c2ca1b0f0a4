"""Functions with derivative rules of their own: `custom_jvp` and `custom_vjp`.

In: a function and its rules. Out: a callable that runs the function when evaluated, becomes a
`custom_jvp_call` (`custom_vjp_call`) equation when traced, and hands itself to any other
interpretation through `Trace.process_custom_jvp_call` (`…_vjp_call`).

    @custom_jvp
    def f(x): return jnp.sin(x)
    @f.defjvp
    def f_jvp(primals, tangents): (x,), (t,) = primals, tangents; return f(x), t * jnp.cos(x)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jitney.api import signature as signatures
from jitney.base import dtypes, source
from jitney.base.pytree import tree_flatten, tree_map
from jitney.core.avals import get_aval
from jitney.core.jaxpr import DebugInfo
from jitney.transforms.custom_rules import apply_custom_jvp, apply_custom_vjp
from jitney.transforms.jvp import Zero, add_tangents, instantiate_zeros


class SymbolicZero:
    """A tangent or cotangent known to be zero, as rules with `symbolic_zeros=True` see it."""

    def __init__(self, aval: Any):
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __add__

    def __repr__(self):
        return f"SymbolicZero({self.aval.str_short()})"


class CustomVJPPrimal:
    """An operand of a forward rule with `symbolic_zeros=True`."""

    def __init__(self, value: Any, perturbed: bool):
        self.value, self.perturbed = value, perturbed


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """A tree of CustomVJPPrimals as the tree of their values."""
    return tree_map(lambda leaf: leaf.value if type(leaf) is CustomVJPPrimal else leaf, tree)


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of a value."""
    aval = get_aval(val).to_tangent_aval()
    return SymbolicZero(aval) if symbolic_zeros else instantiate_zeros(Zero(aval))


def _shown_zeros(tangents: Sequence, symbolic: bool) -> list:
    """Tangents as the user's rule gets them."""
    if symbolic:
        return [SymbolicZero(t.aval) if type(t) is Zero else t for t in tangents]
    return [instantiate_zeros(t) for t in tangents]


class _CustomFunction:
    """What both kinds share: arguments that carry no derivative, and names."""

    def __init__(self, fun: Callable, nondiff_argnums: Sequence[int] = (),
                 nondiff_argnames: Sequence[str] = ()):
        functools.update_wrapper(self, fun)
        self.fun = fun
        numbers, _ = signatures.resolve(fun, nondiff_argnums or None, nondiff_argnames or None,
                                        "nondiff") if nondiff_argnums or nondiff_argnames \
            else ((), ())
        self.nondiff_argnums = numbers
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _positional(self, args: tuple, kwargs: dict) -> tuple:
        """All arguments by position, defaults filled in."""
        signature = signatures.signature_of(self.fun)
        if signature is None:
            if kwargs:
                raise TypeError(f"{self.__name__} takes positional arguments only")
            return args
        if not kwargs and len(args) == len(signature.parameters):
            return args
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"keyword-only arguments of {source.function_location(self.fun)} could not be "
                "resolved to positions, which derivative rules need")
        return bound.args

    def _flatten(self, args: tuple) -> tuple[tuple, list, Any]:
        """(nondifferentiable values, flat differentiable ones, their structure)."""
        fixed = tuple(args[i] for i in self.nondiff_argnums)
        dynamic = tuple(a for i, a in enumerate(args) if i not in self.nondiff_argnums)
        leaves, tree = tree_flatten(dynamic)
        return fixed, leaves, tree

    def _flat_function(self, fixed: tuple, tree: Any, out_trees: list) -> Callable:
        def flat(*leaves):
            outs, out_tree = tree_flatten(self.fun(*self._merged(fixed, tree, leaves)))
            out_trees[:] = [out_tree]
            return outs
        return flat

    def _merged(self, fixed: tuple, tree: Any, leaves: Sequence) -> list:
        args = list(tree.unflatten(list(leaves)))
        for i, value in zip(self.nondiff_argnums, fixed):
            args.insert(i, value)
        return args


class custom_jvp(_CustomFunction):
    """A function whose jvp is given by a rule (`defjvp` or `defjvps`)."""

    jvp: Callable | None = None

    def defjvp(self, jvp: Callable, symbolic_zeros: bool = False) -> Callable:
        """`jvp(*nondiff, primals, tangents) -> (primal_out, tangent_out)`."""
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable | None) -> None:
        """One rule an argument: `rule(tangent, primal_out, *primals)`; None where none flows."""
        if self.nondiff_argnums:
            raise TypeError("defjvps cannot be combined with nondiff_argnums; use defjvp")

        def jvp(primals, tangents):
            out = self(*primals)
            parts = [rule(t, out, *primals) for rule, t in zip(jvps, tangents) if rule is not None]
            if not parts:
                return out, tree_map(lambda x: x * 0, out)
            total = functools.reduce(lambda a, b: tree_map(add_tangents, a, b), parts)
            return out, total

        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {self.__name__} using defjvp.")
        fixed, leaves, tree = self._flatten(self._positional(args, kwargs))
        out_trees: list = []
        flat = self._flat_function(fixed, tree, out_trees)
        rule = JvpRule(self, fixed, tree, out_trees)
        outs = apply_custom_jvp(flat, rule, leaves)
        return out_trees[0].unflatten(outs)


class JvpRule:
    """The user's rule on flat lists: `rule(primals, tangents) -> (primals_out, tangents_out)`.

    The user's function gets arrays as tangents (zeros where nothing flows; of integers they have
    dtype float0), or SymbolicZeros if it asked for them.
    """

    def __init__(self, function: custom_jvp, fixed: tuple, tree: Any, out_trees: list):
        self.function, self.fixed, self.tree = function, fixed, tree
        self.out_trees = out_trees
        self.name = source.function_name(function.fun)
        self.rule_name = source.function_name(function.jvp)
        self.symbolic_zeros = function.symbolic_zeros

    def debug_info(self) -> DebugInfo:
        return DebugInfo("custom_jvp", self.function.fun, names=_parameter_names)

    def __call__(self, primals: Sequence, tangents: Sequence) -> tuple[list, list]:
        jvp = self.function.jvp
        tangents = _shown_zeros(tangents, self.symbolic_zeros)
        pair = jvp(*self.fixed, tuple(self.tree.unflatten(list(primals))),
                   tuple(self.tree.unflatten(list(tangents))))
        where = f"Custom JVP rule {source.function_location(jvp)} for function {self.name}"
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(f"{where} must produce a pair (list or tuple of length two) "
                            f"representing primal and tangent outputs, but got {pair}.")
        outs, out_tree = tree_flatten(pair[0])
        out_tangents, tangent_tree = tree_flatten(pair[1])
        if out_tree != tangent_tree:
            raise TypeError(f"{where} must produce primal and tangent outputs with equal "
                            f"container (pytree) structures, but got {out_tree} and "
                            f"{tangent_tree} respectively.")
        if not self.out_trees:
            self.out_trees[:] = [out_tree]
        out_tangents = [Zero(t.aval) if type(t) is SymbolicZero else t for t in out_tangents]
        for out, tangent in zip(outs, out_tangents):
            if type(tangent) is Zero:
                continue
            want, have = get_aval(out).to_tangent_aval(), get_aval(tangent)
            if want.shape != have.shape or want.dtype != have.dtype:
                raise TypeError(
                    f"{where} must produce primal and tangent outputs with corresponding shapes "
                    f"and dtypes: the primal output has type {get_aval(out).str_short()}, whose "
                    f"tangents are {want.str_short()}, but the tangent is {have.str_short()}.")
        return outs, out_tangents


class custom_vjp(_CustomFunction):
    """A function whose vjp is given by a forward and a backward rule (`defvjp`)."""

    fwd: Callable | None = None
    bwd: Callable | None = None

    def defvjp(self, fwd: Callable, bwd: Callable, symbolic_zeros: bool = False,
               optimize_remat: bool = False) -> None:
        """`fwd(*args) -> (out, residuals)`, `bwd(*nondiff, residuals, cotangent) -> cotangents`.

        `optimize_remat` is checked and has no effect: under `checkpoint` what `fwd` computes and
        nobody needs is dropped in any case.
        """
        if not isinstance(optimize_remat, (bool, int)):
            raise TypeError(f"defvjp: optimize_remat takes True or False, not {optimize_remat!r}")
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {self.__name__} using defvjp.")
        fixed, leaves, tree = self._flatten(self._positional(args, kwargs))
        out_trees: list = []
        flat = self._flat_function(fixed, tree, out_trees)
        rule = VjpRule(self, fixed, tree, out_trees)
        outs = apply_custom_vjp(flat, rule, leaves)
        return out_trees[0].unflatten(outs)


class VjpRule:
    """The user's pair of rules on flat lists."""

    def __init__(self, function: custom_vjp, fixed: tuple, tree: Any, out_trees: list):
        self.function, self.fixed, self.tree = function, fixed, tree
        self.out_trees = out_trees
        self.name = source.function_name(function.fun)
        self.fwd_name = source.function_name(function.fwd)
        self.bwd_name = source.function_name(function.bwd)
        self.symbolic_zeros = function.symbolic_zeros

    def debug_info(self) -> DebugInfo:
        return DebugInfo("custom_vjp", self.function.fun, names=_parameter_names)

    def forward(self, primals: Sequence, perturbed: Sequence[bool]) -> tuple[list, list, Any]:
        """(flat results, flat residuals, what `backward` needs to know of them)."""
        fwd = self.function.fwd
        avals = [get_aval(x) for x in primals]
        if self.symbolic_zeros:
            primals = [CustomVJPPrimal(x, p) for x, p in zip(primals, perturbed)]
        pair = fwd(*self.function._merged(self.fixed, self.tree, primals))
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(
                f"Custom VJP fwd rule {source.function_location(fwd)} for function {self.name} "
                "must produce a pair (list or tuple of length two) where the first element "
                f"represents the primal output and the second residuals, but got {pair}.")
        outs, out_tree = tree_flatten(pair[0])
        if not self.out_trees:
            self.out_trees[:] = [out_tree]
        elif out_tree != self.out_trees[0]:
            raise TypeError(
                f"Custom VJP fwd rule {source.function_location(fwd)} for function {self.name} "
                "must produce a pair whose first element has the container (pytree) structure of "
                f"the function's result, but got {out_tree} instead of {self.out_trees[0]}.")
        residuals, residual_tree = tree_flatten(pair[1])
        return outs, residuals, (residual_tree, avals)

    def backward(self, structure: Any, residuals: Sequence, cotangents: Sequence) -> list:
        """The flat cotangents the user's `bwd` gives (None where it gives none)."""
        bwd, (residual_tree, avals) = self.function.bwd, structure
        cts = _shown_zeros(cotangents, self.symbolic_zeros)
        found = bwd(*self.fixed, residual_tree.unflatten(list(residuals)),
                    self.out_trees[0].unflatten(cts))
        where = f"Custom VJP bwd rule {source.function_location(bwd)}"
        children = self.tree.children()
        if isinstance(found, list):
            found = tuple(found)
        if not isinstance(found, tuple) or len(found) != len(children):
            raise TypeError(f"{where} must produce a tuple of length equal to the primal args "
                            f"tuple, {len(children)}, but got {found!r}.")
        flat: list = []
        for ct, child in zip(found, children):
            flat += _cotangent_leaves(ct, child, where)
        return [_checked_cotangent(ct, aval, where) for ct, aval in zip(flat, avals)]


def _cotangent_leaves(ct: Any, tree: Any, where: str) -> list:
    if ct is None or type(ct) is SymbolicZero:
        return [None] * tree.num_leaves
    try:
        return tree.flatten_up_to(ct)
    except (ValueError, TypeError, KeyError) as error:
        raise TypeError(f"{where} must produce cotangents with the container (pytree) structure "
                        f"of the function's arguments: {error}") from None


def _checked_cotangent(ct: Any, aval: Any, where: str) -> Any:
    """A cotangent of the type of the operand; None stands for zero."""
    if ct is None or type(ct) in (SymbolicZero, Zero) or not dtypes.is_inexact(aval.dtype):
        return None
    have = get_aval(ct)
    if have.dtype == dtypes.float0:
        return None
    if have.shape != aval.shape or have.dtype != aval.dtype:
        raise ValueError(
            f"{where} must produce cotangents of the shapes and dtypes of the arguments: the "
            f"argument has type {aval.str_short()}, the cotangent {have.str_short()}.")
    return ct


def _parameter_names(fun: Callable) -> tuple:
    parameters = signatures.parameters_of(fun)
    return tuple(parameters.positional) if parameters else ()
