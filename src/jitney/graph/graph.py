"""`Graph`: a whole program as a DAG of array operations, and `GraphBuilder`, which writes it.

In: calls of the lowering rules. Out: a `Graph` whose nodes are interned, typed, and already
simplified by the local laws of `graph/laws.py` (each law looks at one node and its operands, so
building is linear in the size of the program and ends).
Invariant: operands precede users in `Graph.nodes()`; elementwise operands have equal shapes.

The operations (`attrs` in brackets):

    input[i] const[i] lit[bits]         a program input, a captured array, a scalar of the source
    <elementwise name>                  see ELEMENTWISE
    convert bitcast                     to node.dtype: value, or bits of equal width
    broadcast[dims] reshape transpose[perm] reverse[axes] slice[starts,strides]
    empty pad[low] concat[axis] iota[axis]    pad has operands (x, value); no interior padding
    dynamic_slice dynamic_update_slice  start indices are scalar operands
    gather[GatherSpec]                  JAX's gather
    reduce[kind,axes] argreduce[kind,axis]
    dot[contract,batch] cumulative[kind,axis,reverse]
    conv[strides,dilation]              image [N,*spatial,C] with its border, kernel [*window,C,O]
    call[name,…] part[i]                a routine with several results, and one of them
"""

import math
from functools import partial

import numpy as np

from ..ir.node import Node, NodeTable
from ..ir.scalar_ops import identity
from ..ir.types import DTYPE_OF_CODE, kind_of, nbytes_of
from . import laws
from .chosen_sum import sum_of_chosen
from .guarded_update import guarded_update
from .joined import JOINED
from .powers_of_two import scaled_by_power

# A copy of which so many parts are read is one in memory (fuse/choose_stored.py). For borders
# lower/conv.py counts on that: else each of so many elements of a kernel asks whether it is inside
# (a training step through a depthwise blur of 7 x 7 by one thread: 5.5 to 3.1 ms).
READS_OF_A_COPY = 16
COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))

_UINT_OF_BYTES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def with_operands(table: NodeTable, node: Node, args: tuple[Node, ...]) -> Node:
    """What a node is of other operands; itself if they are its own."""
    if all(a is b for a, b in zip(args, node.args, strict=True)):
        return node
    return table.intern(node.op, args, node.shape, node.dtype, node.attrs)


def literal_bits(value, code: str) -> int:
    """The bit pattern of a scalar as an int, so that NaN and -0.0 are told apart."""
    dtype = DTYPE_OF_CODE[code]
    array = np.asarray(value).astype(dtype)
    return int(array.reshape(()).view(_UINT_OF_BYTES[nbytes_of(code)])[()])


def literal_value(bits: int, code: str):
    """The NumPy scalar with that bit pattern."""
    unsigned = _UINT_OF_BYTES[nbytes_of(code)]
    return np.asarray(bits, unsigned).view(DTYPE_OF_CODE[code])[()]


class Graph:
    """A finished program: inputs, captured arrays and outputs; `effects` are nodes to be computed
    though no output needs them."""

    def __init__(self, inputs, constants, outputs, name="main", effects=()):
        self.inputs: list[Node] = inputs
        self.constants: list = constants
        self.outputs: list[Node] = outputs
        self.name = name
        self.effects: list[Node] = list(effects)
        self.together: dict[int, frozenset] = {}  # reductions of the same rows, by node
        self._users: dict[int, list[Node]] | None = None
        self._order: list[Node] = []  # known with the users

    def users_of(self, node: Node) -> list[Node]:
        """The nodes that read a node; the node itself as well if the graph returns it."""
        if self._users is None:
            self._order = self.nodes()
            self._users = {n.id: [n] for n in (*self.outputs, *self.effects)}
            for user in self._order:
                for a in user.args:
                    self._users.setdefault(a.id, []).append(user)
        return self._users.get(node.id, [])

    def with_nodes(self, new: dict[int, Node]) -> "Graph":
        """The same program of other nodes; `new`: each one's by the number of the one before."""
        result = Graph(self.inputs, self.constants, [new[n.id] for n in self.outputs], self.name)
        result.effects = [new[n.id] for n in self.effects]
        return result

    def nodes(self) -> list[Node]:
        """Every node an output or effect needs, operands first."""
        if self._users is not None:
            return list(self._order)
        seen, order, stack = set(), [], [*self.outputs, *self.effects]
        while stack:
            node = stack.pop()
            if node.id in seen:
                continue
            seen.add(node.id)
            order.append(node)
            stack.extend(node.args)
        order.sort(key=lambda n: n.id)
        return order

    def __str__(self):
        lines = [f"graph {self.name}"]
        for node in self.nodes():
            args = " ".join(f"%{a.id}" for a in node.args)
            attrs = f"{list(node.attrs)}" if node.attrs else ""
            shape = ",".join(map(str, node.shape))
            if node.op == "lit":
                args, attrs = repr(literal_value(node.attrs[0], node.dtype).item()), ""
            lines.append(f"  %{node.id}:{node.dtype}[{shape}] = {node.op}{attrs} {args}".rstrip())
        lines.append("  return " + " ".join(f"%{n.id}" for n in self.outputs))
        return "\n".join(lines)


class GraphBuilder:
    """Writes a graph, one operation a call; every method returns the (simplified) result node."""

    def __init__(self):
        self.table = NodeTable()
        self.inputs: list[Node] = []
        self.constants: list = []

    # ------------------------------------------------------------------ leaves
    def input(self, shape, code) -> Node:
        node = self.table.intern("input", (), tuple(shape), code, (len(self.inputs),))
        self.inputs.append(node)
        return node

    def constant(self, value, shape, code) -> Node:
        """A captured array (`value` is what the program will hold on to)."""
        node = self.table.intern("const", (), tuple(shape), code, (len(self.constants),))
        self.constants.append(value)
        return node

    def lit(self, value, code) -> Node:
        """A scalar of type `code`."""
        return self.table.intern("lit", (), (), code, (literal_bits(value, code),))

    def full(self, value, shape, code) -> Node:
        """A scalar spread over `shape`."""
        return self.broadcast(self.lit(value, code), shape, ())

    def empty(self, shape, code) -> Node:
        """An array every element of which is written before it is read (zeros, if it is not)."""
        return self.table.intern("empty", (), tuple(shape), code)

    # ------------------------------------------------------------------ elementwise
    def ew(self, op, *args, dtype=None) -> Node:
        """An elementwise operation; the result has the type of its last operand unless given."""
        if dtype is None:
            dtype = "b1" if op in COMPARISONS else args[-1].dtype
        law = laws.LAWS.get(op)
        if law is not None:
            found = law(self, args, dtype)
            if found is not None:
                return found
        spread = laws.spread_later(self, partial(self.ew, op, dtype=dtype), args)
        return spread or self.table.intern(op, args, args[0].shape, dtype)

    def add(self, a, b):
        return self.ew("add", a, b)

    def sub(self, a, b):
        return self.ew("sub", a, b)

    def mul(self, a, b):
        return self.ew("mul", a, b)

    def div(self, a, b):
        return self.ew("div", a, b)

    def neg(self, a):
        return self.ew("neg", a)

    def compare(self, op, a, b):
        return self.ew(op, a, b)

    def select(self, predicate, if_true, if_false) -> Node:
        """`if_true` where predicate, else `if_false`; all of one shape."""
        if if_true is if_false:
            return if_true
        if is_literal(predicate, True) or is_literal(predicate, False):
            return if_true if is_literal(predicate, True) else if_false
        guarded = guarded_update(self, predicate, if_true, if_false)
        if guarded is not None:
            return guarded
        scaled = scaled_by_power(self, predicate, if_true, if_false)
        if scaled is not None:
            return scaled
        wrapped = laws.wrapped(self, predicate, if_true, if_false)
        if wrapped is not None:
            return wrapped
        args = predicate, if_true, if_false
        spread = laws.spread_later(self, self.select, args)
        return spread or self.table.intern("select", args, if_true.shape, if_true.dtype)

    def convert(self, x, code) -> Node:
        """The values of x as `code` (floats to ints truncate and saturate, as XLA does)."""
        if x.dtype == code:
            return x
        if x.op == "lit":
            return laws.fold_convert(self, x, code)
        if x.op == "broadcast":
            return self.broadcast(self.convert(x.args[0], code), x.shape, x.attrs[0])
        fewer = laws.fewer_bits(self, x, code)
        return fewer or self.table.intern("convert", (x,), x.shape, code)

    def bitcast(self, x, code) -> Node:
        """The bits of x as another type of the same width."""
        if x.dtype == code:
            return x
        if x.op == "lit":
            return self.table.intern("lit", (), (), code, x.attrs)
        return self.table.intern("bitcast", (x,), x.shape, code)

    # ------------------------------------------------------------------ views
    def broadcast(self, x, shape, dims) -> Node:
        """Operand axis i becomes result axis dims[i]; other axes, and axes of extent 1, repeat."""
        shape, dims = tuple(shape), tuple(dims)
        if x.shape == shape and dims == tuple(range(len(shape))):
            return x
        if x.op == "broadcast":
            inner = x.args[0]
            new_dims = tuple([dims[d] for d in x.attrs[0]])
            if all(
                e == x.shape[d] or e == 1 for e, d in zip(inner.shape, x.attrs[0], strict=True)
            ):
                return self.broadcast(inner, shape, new_dims)
        return self.table.intern("broadcast", (x,), shape, x.dtype, (dims,))

    def broadcast_to(self, x, shape) -> Node:
        """NumPy broadcasting: trailing axes are aligned."""
        shape = tuple(shape)
        return self.broadcast(x, shape, range(len(shape) - len(x.shape), len(shape)))

    def reshape(self, x, shape) -> Node:
        shape = tuple(shape)
        if x.shape == shape:
            return x
        if x.op == "reshape":
            return self.reshape(x.args[0], shape)
        if x.op == "broadcast" and x.args[0].shape == ():
            return self.broadcast(x.args[0], shape, ())
        return self.table.intern("reshape", (x,), shape, x.dtype)

    def transpose(self, x, permutation) -> Node:
        """Result axis i is operand axis permutation[i]."""
        permutation = tuple(permutation)
        if permutation == tuple(range(len(permutation))):
            return x
        if x.op == "transpose":
            inner = x.attrs[0]
            return self.transpose(x.args[0], tuple([inner[p] for p in permutation]))
        if x.op == "broadcast":
            position = {p: i for i, p in enumerate(permutation)}
            shape = tuple([x.shape[p] for p in permutation])
            return self.broadcast(x.args[0], shape, tuple([position[d] for d in x.attrs[0]]))
        shape = tuple([x.shape[p] for p in permutation])
        return self.table.intern("transpose", (x,), shape, x.dtype, (permutation,))

    def reverse(self, x, axes) -> Node:
        axes = tuple(sorted(a for a in axes if x.shape[a] > 1))
        if not axes:
            return x
        return self.table.intern("reverse", (x,), x.shape, x.dtype, (axes,))

    def slice(self, x, starts, limits, strides=None) -> Node:
        starts = tuple(starts)
        strides = tuple(strides) if strides else (1,) * len(starts)
        shape = tuple(
            [
                max(0, -(-(hi - lo) // st))
                for lo, hi, st in zip(starts, limits, strides, strict=True)
            ]
        )
        if shape == x.shape:
            return x
        if x.op == "broadcast" and x.args[0].shape == ():
            return self.broadcast(x.args[0], shape, ())
        if x.op == "concat" and (parts := laws.slice_of_joined(self, x, starts, limits, strides)):
            return parts
        return self.table.intern("slice", (x,), shape, x.dtype, (starts, strides))

    def pad(self, x, value, low, high) -> Node:
        """Pads with `value`; negative amounts cut."""
        starts = [max(0, -lo) for lo in low]
        limits = [n - max(0, -hi) for n, hi in zip(x.shape, high, strict=True)]
        if any(starts) or any(lim != n for lim, n in zip(limits, x.shape, strict=True)):
            limits = [max(s, lim) for s, lim in zip(starts, limits, strict=True)]
            x = self.slice(x, starts, limits)
        low = tuple([max(0, lo) for lo in low])
        high = tuple([max(0, hi) for hi in high])
        if not any(low) and not any(high):
            return x
        shape = tuple([lo + n + hi for lo, n, hi in zip(low, x.shape, high, strict=True)])
        node = self.table.intern("pad", (x, value), shape, x.dtype, (low,))
        self.table.facts_about(JOINED)[node.id] = True
        return node

    def concat(self, parts, axis) -> Node:
        parts = [p for p in parts if p.shape[axis] > 0] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        shape = list(parts[0].shape)
        shape[axis] = sum(p.shape[axis] for p in parts)
        node = self.table.intern("concat", tuple(parts), tuple(shape), parts[0].dtype, (axis,))
        self.table.facts_about(JOINED)[node.id] = True
        return node

    def iota(self, shape, axis, code) -> Node:
        return self.table.intern("iota", (), tuple(shape), code, (axis,))

    def expand_dims(self, x, axis) -> Node:
        shape = x.shape[:axis] + (1,) + x.shape[axis:]
        return self.reshape(x, shape)

    # ------------------------------------------------------------------ dynamic access
    def dynamic_slice(self, x, starts, sizes) -> Node:
        """A window of static size at traced starts, clamped into bounds."""
        if tuple(sizes) == x.shape:
            return x
        return self.table.intern("dynamic_slice", (x, *starts), tuple(sizes), x.dtype)

    def dynamic_update_slice(self, x, update, starts) -> Node:
        if update.shape == x.shape:
            return update
        if update.size == 0:
            return x
        return self.table.intern("dynamic_update_slice", (x, update, *starts), x.shape, x.dtype)

    # ------------------------------------------------------------------ reductions and contractions
    def reduce(self, kind, x, axes) -> Node:
        """sum prod max min and or xor over axes (removed)."""
        axes = tuple(sorted(axes))
        if not axes:
            return x
        shape = tuple([n for i, n in enumerate(x.shape) if i not in axes])
        count = math.prod(x.shape[a] for a in axes)
        if count == 1:
            return self.reshape(x, shape)
        if count == 0:
            return self.full(identity(kind, x.dtype), shape, x.dtype)
        chosen = sum_of_chosen(self, x, axes) if kind == "sum" else None
        found = chosen or laws.reduce_of_equals(self, kind, x, axes)
        return found or self.table.intern("reduce", (x,), shape, x.dtype, (kind, axes))

    def argreduce(self, kind, x, axis, code) -> Node:
        """Index of the first max or min along an axis (NaN counts as the extreme)."""
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        if x.shape[axis] == 1:
            return self.full(0, shape, code)
        return self.table.intern("argreduce", (x,), shape, code, (kind, axis))

    def dot(self, a, b, contract, batch, code) -> Node:
        (ca, cb), (ba, bb) = contract, batch
        free_a = [i for i in range(len(a.shape)) if i not in ca and i not in ba]
        free_b = [i for i in range(len(b.shape)) if i not in cb and i not in bb]
        shape = [a.shape[i] for i in ba] + [a.shape[i] for i in free_a]
        shape += [b.shape[i] for i in free_b]
        attrs = ((tuple(ca), tuple(cb)), (tuple(ba), tuple(bb)))
        return self.table.intern("dot", (a, b), tuple(shape), code, attrs)

    def conv(self, x, kernel, out, strides, dilation) -> Node:
        """[N, *out, O]: for each place the products of window and kernel, summed."""
        shape = (x.shape[0], *out, kernel.shape[-1])
        return self.table.intern("conv", (x, kernel), shape, x.dtype,
                                 (tuple(strides), tuple(dilation)))  # fmt: skip

    def cumulative(self, kind, x, axis, reverse) -> Node:
        return self.table.intern("cumulative", (x,), x.shape, x.dtype, (kind, axis, reverse))

    # ------------------------------------------------------------------ routines
    def call(self, name, args, results, attrs=()) -> list[Node]:
        """A routine outside the language: `results` is a list of (shape, code)."""
        results = tuple((tuple(s), c) for s, c in results)
        node = self.table.intern("call", tuple(args), (), "b1", (name, results, *attrs))
        return [
            self.table.intern("part", (node,), shape, code, (i,))
            for i, (shape, code) in enumerate(results)
        ]

    def finish(self, outputs, name, effects=()) -> Graph:
        return Graph(self.inputs, self.constants, list(outputs), name, effects)


def is_literal(node, value=None) -> bool:
    """Whether node is a scalar of the source (spread or not), equal to `value` if given."""
    if node.op == "broadcast":
        node = node.args[0]
    if node.op != "lit":
        return False
    if value is None:
        return True
    if kind_of(node.dtype) == "b":
        return bool(node.attrs[0]) == value
    return node.attrs[0] == literal_bits(value, node.dtype)
