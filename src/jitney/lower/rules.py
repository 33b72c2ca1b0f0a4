"""The table of lowering rules and the context they get.

A rule is `rule(ctx, eqn, *values) -> value | list of values`, registered by the primitive's name.
A value is a graph `Node`, or a `Pair` of nodes for a complex array. `ctx.g` is the graph builder.
"""

from typing import NamedTuple

from ..core.avals import to_array
from ..ir.node import Node
from ..ir.types import code_of, is_complex, is_small, is_small_float, part_code, physical_type
from . import small_types

RULES: dict = {}


class Pair(NamedTuple):
    """A complex array as its real and imaginary parts."""

    re: Node
    im: Node

    @property
    def shape(self):
        return self.re.shape

    @property
    def dtype(self):
        """Element code of the parts."""
        return self.re.dtype


class LoweringError(NotImplementedError):
    """A primitive that cannot be compiled (yet), with the user's line."""


def lower_rule(*names: str):
    """Registers a rule for primitives of these names."""

    def register(rule):
        for name in names:
            RULES[name] = rule
        return rule

    return register


class Context:
    """What rules see: the builder and a few conversions."""

    def __init__(self, builder):
        self.g = builder
        self._token = None
        self._bytes: dict[tuple, Node] = {}  # values of small types that came from memory

    def token(self):
        """What the next effect waits for (see python_steps.py)."""
        if self._token is None:
            self._token = self.g.lit(0, "u8")
        return self._token

    def set_token(self, node):
        """`node` stands for all effects up to now."""
        self._token = node

    @property
    def effects(self) -> list:
        """Nodes that must be computed though no result needs them."""
        return [] if self._token is None else [self._token]

    def input(self, aval):
        """A program input of an aval."""
        shape, code = physical_type(aval.shape, aval.dtype)
        return self.logical(self.g.input(shape, code), aval)

    def constant(self, value, aval):
        shape, code = physical_type(aval.shape, aval.dtype)
        return self.logical(self.g.constant(to_array(value, aval), shape, code), aval)

    def literal(self, value, aval):
        """A scalar of the source, spread over the aval's shape (normally scalar)."""
        if is_complex(aval.dtype):
            code = part_code(aval.dtype)
            number = complex(value)
            parts = [self.g.full(p, aval.shape, code) for p in (number.real, number.imag)]
            return Pair(*parts)
        if is_small(aval.dtype):
            value = float(value) if is_small_float(aval.dtype) else int(value)
        return self.g.full(value, aval.shape, code_of(aval.dtype))

    def logical(self, node, aval):
        """The value of a stored (physical) array."""
        if is_small(aval.dtype):
            value = small_types.decode(self.g, node, aval.dtype)
            self._bytes[value.id, aval.dtype] = node
            return value
        return self.split_pair(node) if is_complex(aval.dtype) else node

    def split_pair(self, node) -> Pair:
        """[..., 2] -> its two parts."""
        shape = node.shape[:-1]
        zeros = (0,) * len(shape)
        parts = []
        for i in range(2):
            part = self.g.slice(node, zeros + (i,), shape + (i + 1,))
            parts.append(self.g.reshape(part, shape))
        return Pair(*parts)

    def physical(self, value, aval=None):
        """The stored form of a value: parts of a pair side by side in a last axis."""
        if aval is not None and is_small(aval.dtype):
            stored = self._bytes.get((value.id, aval.dtype))
            return small_types.encode(self.g, value, aval.dtype) if stored is None else stored
        if not isinstance(value, Pair):
            return value
        stored = stored_whole(value)
        if stored is not None:
            return stored
        last = value.shape + (1,)
        parts = [self.g.reshape(p, last) for p in value]
        return self.g.concat(parts, len(last) - 1)

    def each(self, value, function):
        """function on a node, or on both parts of a pair."""
        if isinstance(value, Pair):
            return Pair(function(value.re), function(value.im))
        return function(value)

    def spread(self, value, shape):
        """A node over a shape: a scalar, or with axes of extent 1 where the shape has others."""
        if value.shape == tuple(shape):
            return value
        return self.g.broadcast(value, shape, range(len(value.shape)))


def stored_whole(pair):
    """The stored array that a pair is, when it comes straight from `split_pair`."""
    slices = [p.args[0] if p.op == "reshape" else p for p in pair]
    if any(s.op != "slice" for s in slices) or slices[0].args[0] is not slices[1].args[0]:
        return None
    node, zeros = slices[0].args[0], (0,) * len(pair.shape)
    if node.shape != pair.shape + (2,):
        return None
    for i, s in enumerate(slices):
        starts, strides = s.attrs
        if s.shape != pair.shape + (1,) or starts != zeros + (i,) or set(strides) != {1}:
            return None
    return node


def run_rule(ctx, eqn, values):
    """Lowers one equation; returns the list of its results."""
    rule = RULES.get(eqn.primitive.name)
    if rule is None:
        raise LoweringError(f"the compiler has no rule for the primitive {eqn.primitive.name!r}")
    small = any(is_small(v.aval.dtype) for v in (*eqn.invars, *eqn.outvars))
    if small and not small_types.can_run(eqn):
        raise LoweringError(f"no machine code for {eqn.primitive.name!r} of so small a dtype")
    result = rule(ctx, eqn, *values)
    results = result if eqn.primitive.multiple_results else [result]
    return small_types.settle(ctx.g, eqn, results) if small else results
