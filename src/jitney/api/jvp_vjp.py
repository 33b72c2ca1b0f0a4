"""Derivatives as maps: `jvp`, `vjp`, `linearize`, `linear_transpose`.

In: a function on trees, and its arguments. Out: its result, and the derivative applied to
tangents (`jvp`), or as a function of tangents (`linearize`) or of cotangents (`vjp`).
Invariant: results are arrays (or tracers), with the types of the primals; nothing is computed
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.api.shapes import aval_of_argument
from jitney.base import dtypes, source
from jitney.base.pytree import register_pytree_node, tree_flatten
from jitney.core.avals import get_aval, to_array, valid_array_type
from jitney.core.jaxpr import Var, is_literal_value
from jitney.core.trace import Tracer, set_current_trace
from jitney.transforms.jvp import Zero, instantiate_zeros, jvp_flat
from jitney.transforms.linearize import Linear, linearize_flat
from jitney.transforms.partial_eval import Equation, PartialTrace


def check_callable(fun: Any) -> None:
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")


def as_primal(x: Any) -> Any:
    """An argument fit to be differentiated or batched; NumPy arrays are copied."""
    if isinstance(x, Tracer) or type(x) is _native.Array:
        return x
    if not valid_array_type(x):
        raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type.")
    if isinstance(x, np.ndarray) and x.dtype != dtypes.float0:
        return to_array(x)
    return x


def as_result(x: Any) -> Any:
    """A symbolic zero or a scalar as an array; under a staging trace scalars stay literals."""
    if type(x) is Zero:
        x = instantiate_zeros(x)
    if isinstance(x, Tracer) or type(x) is _native.Array:
        return x
    aval = get_aval(x)
    if aval.dtype == dtypes.float0 or _native.current_trace() is not None:
        return x
    return to_array(x, aval)


def flowing(leaves: Sequence) -> list[bool]:
    """Which values can carry a tangent."""
    return [dtypes.is_inexact(get_aval(x).dtype) for x in leaves]


class FlatFunction:
    """`fun` on flat arguments; remembers the structure of the result (and the auxiliary data)."""

    def __init__(self, fun: Callable, in_tree: Any, has_aux: bool = False):
        self.fun, self.in_tree, self.has_aux = fun, in_tree, has_aux
        self.out_tree: Any = None
        self.aux_leaves: list = []
        self.aux_tree: Any = None

    def __call__(self, *leaves: Any) -> list:
        out = self.fun(*self.in_tree.unflatten(leaves))
        if self.has_aux:
            out, aux = _pair(out)
            self.aux_leaves, self.aux_tree = tree_flatten(aux)
        outs, self.out_tree = tree_flatten(out)
        for x in outs:
            if not valid_array_type(x):
                raise TypeError(
                    f"Value {x!r} with type {type(x)} is not a valid JAX type: the result of "
                    f"{source.function_location(self.fun)} must be arrays or scalars.")
        count = len(outs)
        self.count = count
        return [*outs, *self.aux_leaves]

    def finish(self, outs: Sequence) -> tuple[Any, Any]:
        """(result, auxiliary data) from the flat primals."""
        out = self.out_tree.unflatten([as_result(x) for x in outs[:self.count]])
        if not self.has_aux:
            return out, None
        return out, self.aux_tree.unflatten([as_result(x) for x in outs[self.count:]])


def _pair(out: Any) -> tuple:
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        what = "" if not isinstance(out, (tuple, list)) else f" of length {len(out)}"
        raise TypeError("expected function with aux output to return a two-element tuple, but got "
                        f"type {type(out)}{what} with value {out!r}")
    return tuple(out)


# --- jvp ---------------------------------------------------------------------------------------


def jvp(fun: Callable, primals: Sequence, tangents: Sequence, has_aux: bool = False) -> tuple:
    """`(fun(*primals), derivative of fun at primals applied to tangents)` (and aux).

    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("primal and tangent arguments to jax.jvp must be tuples or lists; found "
                        f"{type(primals).__name__} and {type(tangents).__name__}.")
    leaves, in_tree = tree_flatten(tuple(primals))
    directions, tangent_tree = tree_flatten(tuple(tangents))
    if in_tree != tangent_tree:
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals "
            f"have tree structure {in_tree} whereas tangents have tree structure {tangent_tree}.")
    leaves, directions = list(map(as_primal, leaves)), list(map(as_primal, directions))
    for x, t in zip(leaves, directions):
        _check_tangent(get_aval(x), get_aval(t))
    flat = FlatFunction(fun, in_tree, has_aux)
    directions = [Zero(get_aval(t)) if get_aval(t).dtype == dtypes.float0 else t
                  for t in directions]
    outs, out_tangents = jvp_flat(flat, leaves, directions)
    out, aux = flat.finish(outs)
    tangent = flat.out_tree.unflatten([as_result(t) for t in out_tangents[:flat.count]])
    return (out, tangent, aux) if has_aux else (out, tangent)


def _check_tangent(primal: Any, tangent: Any) -> None:
    want = primal.to_tangent_aval()
    if want.dtype != tangent.dtype:
        raise TypeError(
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in "
            "case of int/bool primal dtype the tangent dtype must be float0.Got primal dtype "
            f"{primal.dtype} and so expected tangent dtype {want.dtype}, but got tangent dtype "
            f"{tangent.dtype} instead.")
    if want.shape != tangent.shape:
        raise ValueError(f"jvp called with different primal and tangent shapes;Got primal shape "
                         f"{primal.shape} and tangent shape as {tangent.shape}")


# --- vjp ---------------------------------------------------------------------------------------


class _LinearFunction:
    """A derivative as a function of trees; a pytree whose leaves are its residuals."""

    def __init__(self, linear: Linear, in_tree: Any, in_avals: list, out_tree: Any,
                 out_avals: list, name: str):
        self.linear, self.in_tree, self.in_avals = linear, in_tree, in_avals
        self.out_tree, self.out_avals, self.name = out_tree, out_avals, name

    def _flatten(self) -> tuple[list, Any]:
        table: dict[int, int] = {}
        values: list = []

        def place(x):
            if type(x) is Var or type(x) is Zero or is_literal_value(x):
                return x
            if id(x) not in table:
                table[id(x)] = len(values)
                values.append(x)
            return _Place(table[id(x)])

        eqns = [Equation(e.primitive, [place(x) for x in e.args], e.outs, e.params)
                for e in self.linear.eqns]
        skeleton = Linear(self.linear.invars, eqns, [place(x) for x in self.linear.outs])
        return values, _Skeleton(self, skeleton)


class _Place:
    """Where a residual stood."""

    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index


class _Skeleton:
    """The static part of a derivative: equal to itself only."""

    def __init__(self, function: _LinearFunction, linear: Linear):
        self.kind = type(function)
        self.rest = (function.in_tree, function.in_avals, function.out_tree, function.out_avals,
                     function.name)
        self.linear = linear

    def fill(self, values: Sequence) -> _LinearFunction:
        def read(x):
            return values[x.index] if type(x) is _Place else x

        eqns = [Equation(e.primitive, [read(x) for x in e.args], e.outs, e.params)
                for e in self.linear.eqns]
        return self.kind(Linear(self.linear.invars, eqns, [read(x) for x in self.linear.outs]),
                         *self.rest)


class VJP(_LinearFunction):
    """What `vjp` returns: cotangents of the result to a tuple of cotangents of the arguments."""

    def __call__(self, out_ct: Any) -> Any:
        cts, tree = tree_flatten(out_ct)
        if tree != self.out_tree:
            raise ValueError(
                "unexpected tree structure.\n\nThe argument to a VJP function returned by "
                "`jax.vjp` must match the pytree structure of the differentiated function "
                f"{self.name}: expected {self.out_tree}, got {tree}.")
        arriving = []
        for ct, aval in zip(cts, self.out_avals):
            ct = as_primal(ct)
            have, want = get_aval(ct), aval.to_tangent_aval()
            if want.dtype == dtypes.float0:
                arriving.append(Zero(want))
                continue
            if have.shape != want.shape or have.dtype != want.dtype:
                raise ValueError(
                    "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got "
                    f"{have.str_short()}, but expected {want.str_short()} because the "
                    f"corresponding output of the differentiated function had JAX type "
                    f"{aval.str_short()}")
            arriving.append(ct)
        found = self.linear.transpose(arriving)
        return self.in_tree.unflatten([
            as_result(Zero(a.to_tangent_aval()) if ct is None else ct)
            for ct, a in zip(found, self.in_avals)])


class JVP(_LinearFunction):
    """What `linearize` returns: tangents of the arguments to the tangent of the result."""

    def __call__(self, *tangents: Any) -> Any:
        leaves, tree = tree_flatten(tuple(tangents))
        if tree != self.in_tree:
            raise TypeError(f"linearized function called with arguments of structure {tree}, "
                            f"expected {self.in_tree}")
        leaves = list(map(as_primal, leaves))
        for t, aval in zip(leaves, self.in_avals):
            have, want = get_aval(t), aval.to_tangent_aval()
            if have.shape != want.shape or have.dtype != want.dtype:
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the original "
                    f"primal values: got tangent aval {have.str_short()} for primal aval "
                    f"{aval.str_short()} (expected {want.str_short()})")
        return self.out_tree.unflatten([as_result(t) for t in self.linear.apply(leaves)])


for _kind in (VJP, JVP):
    register_pytree_node(_kind, lambda f: f._flatten(), lambda skeleton, xs: skeleton.fill(xs))


def vjp(fun: Callable, *primals: Any, has_aux: bool = False, reduce_axes: Any = ()) -> tuple:
    """`(fun(*primals), function from a cotangent to the tuple of the arguments' cotangents)`.

    >>> out, pull = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> pull(1.0)
    (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    return _linearized(VJP, fun, primals, has_aux, reduce_axes)


def linearize(fun: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """`(fun(*primals), derivative at primals as a function of tangents)` (and aux)."""
    return _linearized(JVP, fun, primals, has_aux, ())


def _linearized(kind: type, fun: Callable, primals: tuple, has_aux: bool, reduce_axes: Any):
    check_callable(fun)
    if reduce_axes:
        raise NotImplementedError("reduce_axes argument is deprecated")
    leaves, in_tree = tree_flatten(primals)
    leaves = list(map(as_primal, leaves))
    flat = FlatFunction(fun, in_tree, has_aux)
    outs, linear = linearize_flat(flat, leaves, flowing(leaves))
    linear.outs = linear.outs[:flat.count]
    out, aux = flat.finish(outs)
    derivative = kind(linear, in_tree, [get_aval(x) for x in leaves], flat.out_tree,
                      [get_aval(x) for x in outs[:flat.count]], source.function_location(fun))
    return (out, derivative, aux) if has_aux else (out, derivative)


# --- linear_transpose --------------------------------------------------------------------------


def linear_transpose(fun: Callable, *primals: Any, reduce_axes: Any = ()) -> Callable:
    """The transpose of a linear function; `primals` only say shapes and dtypes.

    >>> linear_transpose(lambda x: 2.0 * x, 1.0)(3.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    check_callable(fun)
    if reduce_axes:
        raise NotImplementedError("reduce_axes argument to transpose is deprecated: sum with psum "
                                  "inside the function instead")
    leaves, in_tree = tree_flatten(primals)
    avals = [aval_of_argument(x) for x in leaves]
    for aval in avals:
        if not dtypes.is_inexact(aval.dtype) and aval.dtype != dtypes.float0:
            raise TypeError("linear_transpose only supports [float or complex -> float or "
                            f"complex] functions, but got an argument of dtype {aval.dtype}.")
    flat = FlatFunction(fun, in_tree)
    trace = PartialTrace(_native.current_trace())
    ins = [trace.unknown(a) for a in avals]
    with set_current_trace(trace):
        outs = flat(*ins)
    trace.close()
    out_avals = [get_aval(x) for x in outs]
    for aval in out_avals:
        if not dtypes.is_inexact(aval.dtype):
            raise TypeError("linear_transpose only supports [float or complex -> float or "
                            f"complex] functions, but got a result of dtype {aval.dtype}.")
    linear = Linear([trace.atom(x) for x in ins], trace.eqns, [trace.atom(x) for x in outs])
    pull = VJP(linear, in_tree, avals, flat.out_tree, out_avals, source.function_location(fun))

    def transposed(out_ct: Any) -> Any:
        tree = tree_flatten(out_ct)[1]
        if tree != pull.out_tree:
            raise TypeError("cotangent tree does not match function output, expected "
                            f"{pull.out_tree} but got {tree}")
        return pull(out_ct)

    return transposed


__all__ = ["JVP", "VJP", "FlatFunction", "jvp", "linear_transpose", "linearize",
           "vjp"]
