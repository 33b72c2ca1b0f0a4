"""The table of rules, and the walk over the equations of a program.

A rule is `rule(b, site, *values) -> value | list of values`, registered by the primitive's name;
`b` is the builder, `site` says what the equation is. Rules never see random keys unless they ask
for them: an equation on keys is written once for each word of a key.
Invariant: an equation without a rule is an error that names the primitive and the user's line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jitney import _native
from jitney.base import dtypes, source
from jitney.core.avals import ShapedArray, get_aval, numpy_value
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from jitney.stablehlo.builder import Builder
from jitney.stablehlo.ops import Value
from jitney.stablehlo.types import U32, TensorType, type_of


class Rule(NamedTuple):
    """How a primitive is written; `keys`: it takes arrays of keys as they are stored."""

    write: Callable
    keys: bool


RULES: dict[str, Rule] = {}


def rule(*names: str, keys: bool = False):
    """Register a rule for the primitives of these names."""

    def register(write):
        for name in names:
            RULES[name] = Rule(write, keys)
        return write

    return register


class Site(NamedTuple):
    """An equation as its rule sees it."""

    name: str
    params: dict[str, Any]
    in_avals: Sequence[ShapedArray]
    out_avals: Sequence[ShapedArray]

    @property
    def outs(self) -> list[TensorType]:
        return [type_of(a) for a in self.out_avals]

    @property
    def out(self) -> TensorType:
        return type_of(self.out_avals[0])


# --- programs --------------------------------------------------------------------------------


def write_jaxpr(b: Builder, jaxpr: Jaxpr, constants: Sequence[Value],
                arguments: Sequence[Value]) -> list[Value]:
    """The equations of a program, in place; its results."""
    env = dict(zip(jaxpr.constvars, constants, strict=True))
    env.update(zip(jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> Value:
        return literal(b, atom) if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, write_equation(b, eqn, list(map(read, eqn.invars))),
                       strict=True))
    return list(map(read, jaxpr.outvars))


def write_closed(b: Builder, closed: ClosedJaxpr | Jaxpr,
                 arguments: Sequence[Value]) -> list[Value]:
    """A program with its constants, in place."""
    if isinstance(closed, Jaxpr):
        return write_jaxpr(b, closed, [], arguments)
    return write_jaxpr(b, closed.jaxpr, constants_of(b, closed), arguments)


def constants_of(b: Builder, closed: ClosedJaxpr) -> list[Value]:
    return [b.constant(_stored(c)) for c in closed.consts]


def _stored(constant: Any) -> np.ndarray:
    """The data of a captured array; keys as their words."""
    aval = get_aval(constant)
    if dtypes.is_extended(aval.dtype):
        stored = type_of(aval)
        constant = _native.array_view(constant, ShapedArray(stored.shape, stored.dtype))
    return numpy_value(constant)


def literal(b: Builder, atom: Literal) -> Value:
    return b.constant(atom.as_numpy())


def write_equation(b: Builder, eqn: JaxprEqn, values: list[Value]) -> list[Value]:
    """One equation by the rule of its primitive."""
    name = eqn.primitive.name
    found = RULES.get(name)
    if found is None:
        raise unsupported(eqn, f"the primitive {name!r} has no StableHLO form")
    site = Site(name, eqn.params, [v.aval for v in eqn.invars], [v.aval for v in eqn.outvars])
    write = found.write
    if not found.keys and any(dtypes.is_extended(a.dtype)
                              for a in (*site.in_avals, *site.out_avals)):
        write = _for_each_word(write)
    before, b.module.origin = b.module.origin, (name, *source.file_and_line(eqn.source))
    try:
        results = write(b, site, *values)
    except Unsupported as error:
        raise unsupported(eqn, str(error)) from None
    finally:
        b.module.origin = before
    return results if isinstance(results, list) else [results]


class Unsupported(Exception):
    """Raised by a rule: this use of the primitive has no StableHLO form."""


def unsupported(eqn: JaxprEqn, reason: str) -> NotImplementedError:
    return NotImplementedError(f"as_text(): {reason}; it is applied at {eqn.source_summary()}. "
                               "as_text('jaxpr') shows the program.")


# --- arrays of keys ----------------------------------------------------------------------------


def _for_each_word(write: Callable) -> Callable:
    """The rule applied to every word of the keys, as to arrays of ui32."""

    def by_words(b: Builder, site: Site, *values: Value) -> list[Value]:
        everything = (*site.in_avals, *site.out_avals)
        dtype = next(a.dtype for a in everything if dtypes.is_extended(a.dtype))
        count = math.prod(dtype.physical_shape)
        plain = site._replace(in_avals=[_word_aval(a) for a in site.in_avals],
                              out_avals=[_word_aval(a) for a in site.out_avals])
        rows = []
        for i in range(count):
            operands = [word(b, v, i) if dtypes.is_extended(a.dtype) else v
                        for v, a in zip(values, site.in_avals, strict=True)]
            found = write(b, plain, *operands)
            rows.append(found if isinstance(found, list) else [found])
        return [_joined(b, site, aval, column)
                for aval, column in zip(site.out_avals, zip(*rows, strict=True), strict=True)]

    return by_words


def _word_aval(aval: ShapedArray) -> ShapedArray:
    return ShapedArray(aval.shape, np.dtype(np.uint32)) if dtypes.is_extended(aval.dtype) else aval


def _joined(b: Builder, site: Site, aval: ShapedArray, column: Sequence[Value]) -> Value:
    if dtypes.is_extended(aval.dtype):
        return join_words(b, column)
    if site.name in ("eq", "ne"):
        found = column[0]
        for other in column[1:]:
            found = (b.and_ if site.name == "eq" else b.or_)(found, other)
        return found
    return column[0]


def word(b: Builder, keys: Value, i: int) -> Value:
    """One word of each key."""
    outer = keys.shape[:-1]
    return b.reshape(b.slice_axis(keys, len(outer), i, i + 1), outer)


def join_words(b: Builder, words: Sequence[Value]) -> Value:
    """Keys from arrays of their words."""
    assert all(w.dtype == U32 for w in words)
    outer = words[0].shape
    return b.concatenate([b.reshape(w, (*outer, 1)) for w in words], len(outer))
