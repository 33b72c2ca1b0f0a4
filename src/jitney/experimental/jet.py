"""Taylor mode: how a function moves when its arguments move along polynomials of t.

In: a function, primals, and for each primal the derivatives along t of the path through it. Out:
the function's value and its derivatives along t, of all orders at once.
A value under the trace carries its coefficients x_0 + x_1 t + x_2 t² + …; `jet_rules` says what
each primitive makes of them.

    y0, (y1, y2) = jet(jnp.sin, (x,), ((1.0, 0.0),))     # sin x, cos x, -sin x
Invariant: coefficients of one value have one shape and dtype; a coefficient None is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.base import dtypes, source
from jitney.base.pytree import tree_flatten, tree_structure
from jitney.core.avals import get_aval, to_array, valid_array_type
from jitney.core.primitive import Primitive
from jitney.core.trace import Trace, Tracer
from jitney.experimental import jet_rules
from jitney.experimental.jet_rules import Series
from jitney.lax.arithmetic import mul
from jitney.lax.cast import convert_element_type
from jitney.lax.nary import broadcast_to, constant
from jitney.transforms.jvp import zeros_of

_swap_trace = _native.swap_trace


class JetTracer(Tracer):
    """A value with its Taylor coefficients (the first one is the value)."""

    __slots__ = ("aval", "series")

    def __init__(self, trace: JetTrace, series: Series):
        self._trace, self.series = trace, series
        self.aval = get_aval(series[0])

    def _concrete(self) -> Any:
        primal = self.series[0]
        if isinstance(primal, Tracer):
            return primal._concrete()
        return to_array(primal)

    def _origin_text(self) -> str:
        primal = self.series[0]
        return primal._origin_text() if isinstance(primal, Tracer) else ""


class JetTrace(Trace):
    """Pushes Taylor coefficients up to `order` forward; all arithmetic is done under `parent`."""

    __slots__ = ("order",)

    def __init__(self, parent: Trace | None, order: int):
        super().__init__(parent)
        self.order = order

    def split(self, x: Any) -> Series:
        if type(x) is JetTracer and x._trace is self:
            return x.series
        return [x, *[None] * self.order]

    def join(self, series: Series) -> Any:
        if all(c is None for c in series[1:]):
            return series[0]
        return JetTracer(self, series)

    def process_primitive(self, primitive: Primitive, args: tuple, params: dict) -> Any:
        series = [self.split(x) for x in args]
        before = _swap_trace(self.parent)
        try:
            if all(c is None for s in series for c in s[1:]):
                return primitive.bind(*[s[0] for s in series], **params)
            out = jet_rules.apply(primitive, self.order, series, params, jet_flat)
        finally:
            _swap_trace(before)
        return [self.join(s) for s in out] if primitive.multiple_results else self.join(out)

    def process_custom_jvp_call(self, fun: Callable, rule: Any, args: list) -> list:
        """By the user's rule: y' = rule(x, x')."""
        series = [self.split(x) for x in args]
        before = _swap_trace(self.parent)
        try:
            if all(c is None for s in series for c in s[1:]):
                return fun(*[s[0] for s in series])
            out = jet_rules.integrated(lambda primals, tangents: rule(primals, tangents),
                                       self.order, series, jet_flat)
        finally:
            _swap_trace(before)
        return [self.join(s) for s in out]

    def process_custom_vjp_call(self, fun: Callable, rule: Any, args: list) -> list:
        """The function itself: its rule says nothing about moving forward."""
        before = _swap_trace(self)
        try:
            return fun(*args)
        finally:
            _swap_trace(before)


def jet_flat(fun: Callable, order: int, series: Sequence[Series]) -> list[Series]:
    """Series of the results of `fun(*values) -> list`, under the current trace."""
    trace = JetTrace(_native.current_trace(), order)
    before = _swap_trace(trace)
    try:
        outs = fun(*[trace.join(list(s)) for s in series])
    finally:
        _swap_trace(before)
    found = [trace.split(x) for x in outs]
    trace.close()
    return found


# --- the public function -----------------------------------------------------------------------


def jet(fun: Callable, primals: Sequence[Any], series: Sequence[Any],
        factorial_scaled: bool = True, **_: Any) -> tuple[Any, Any]:
    """`(fun(*primals), derivatives of fun along the paths through the primals)`.

    `series[i]` holds as many terms for `primals[i]` as derivatives are wanted: a sequence of
    trees like the primal (for a primal that is an array: of arrays). They are derivatives of the
    path along t, and so are the results; with `factorial_scaled=False` both are Taylor
    coefficients instead (derivatives divided by k!). See Griewank and Walther, "Evaluating
    Derivatives" (2008), chapter 13.

    TypeError for arguments that are not sequences or not arrays, ValueError for series that do
    not fit their primals.

    >>> import jitney.numpy as jnp
    >>> y, (dy, ddy) = jet(lambda x: x ** 3, (2.0,), ((1.0, 0.0),))
    >>> float(y), float(dy), float(ddy)
    (8.0, 12.0, 12.0)
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    for name, value in (("primals", primals), ("series", series)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"jet: {name} must be a tuple or list, got {type(value).__name__}")
    leaves, in_tree = tree_flatten(tuple(primals))
    terms, order = _terms_of_leaves(primals, series)
    factors = [1 / math.factorial(k) if factorial_scaled else 1.0 for k in range(1, order + 1)]
    given = [[x, *[_scaled(_like(t, x), f) for t, f in zip(column, factors, strict=True)]]
             for x, column in zip(map(_value, leaves), terms, strict=True)]
    out_tree: list = []

    def flat(*values: Any) -> list:
        outs, tree = tree_flatten(fun(*in_tree.unflatten(values)))
        out_tree.append(tree)
        for x in outs:
            if not valid_array_type(x):
                raise TypeError(f"jet: {source.function_location(fun)} must return arrays or "
                                f"scalars, got {x!r} of type {type(x)}")
        return outs

    found = jet_flat(flat, order, given)
    tree = out_tree[0]
    columns = [[_scaled(_instantiated(c, s[0]), 1 / f)
                for c, f in zip(s[1:], factors, strict=True)] for s in found]
    values = tree.unflatten([_value(s[0]) for s in found])
    if tree == tree_structure(0):
        return values, columns[0]
    return values, tree.unflatten(columns)


def _terms_of_leaves(primals: Sequence, series: Sequence) -> tuple[list[list], int]:
    """For each leaf of the primals its terms, and how many there are."""
    if len(primals) != len(series):
        raise ValueError(f"jet: {len(primals)} primals, but series for {len(series)}")
    orders = set()
    columns: list[list] = []
    for i, (primal, terms) in enumerate(zip(primals, series)):
        leaves, tree = tree_flatten(primal)
        rows = _rows(terms, tree, i)
        orders.add(len(rows))
        for k, row in enumerate(rows):
            for leaf, term in zip(leaves, row, strict=True):
                _check_term(leaf, term, f"series[{i}][{k}]")
        columns += [[row[j] for row in rows] for j in range(len(leaves))]
    if len(orders) > 1:
        raise ValueError(f"jet: all series must have one length, got {sorted(orders)}")
    return columns, orders.pop() if orders else 0


def _rows(terms: Any, tree: Any, position: int) -> list[list]:
    """The terms, each as flat leaves."""
    if not isinstance(terms, (tuple, list)):
        raise TypeError(f"jet: series[{position}] must be a sequence of terms, got "
                        f"{type(terms).__name__}")
    rows = []
    for term in terms:
        leaves, found = tree_flatten(term)
        if found != tree:
            raise ValueError(f"jet: a term of series[{position}] has structure {found}, its primal "
                             f"{tree}")
        rows.append(leaves)
    return rows


def _check_term(primal: Any, term: Any, place: str) -> None:
    for x in (primal, term):
        if not valid_array_type(x):
            raise TypeError(f"jet: {place}: {x!r} of type {type(x)} is not an array or a scalar")
    a, b = get_aval(primal), get_aval(term)
    if b.shape not in ((), a.shape):
        raise ValueError(f"jet: {place} has shape {b.shape}, its primal {a.shape}")
    if not dtypes.is_inexact(a.dtype) and np.any(np.asarray(term) != 0):
        raise ValueError(f"jet: {place} is not zero, but its primal is of dtype {a.dtype}, which "
                         "carries no derivative")


def _value(x: Any) -> Any:
    return x if isinstance(x, Tracer) else to_array(x)


def _like(term: Any, primal: Any) -> Any:
    """A term with the shape and dtype of its primal; None (zero) for those without derivatives."""
    aval = get_aval(primal)
    if not dtypes.is_inexact(aval.dtype):
        return None
    return broadcast_to(convert_element_type(_value(term), aval.dtype), aval.shape)


def _scaled(term: Any, factor: float) -> Any:
    if term is None or not dtypes.is_inexact(get_aval(term).dtype):
        return term
    return _value(term) if factor == 1.0 else mul(_value(term), constant(term, factor))


def _instantiated(coefficient: Any, primal: Any) -> Any:
    if coefficient is not None:
        return coefficient
    return _value(zeros_of(get_aval(primal)))


__all__ = ["jet"]
