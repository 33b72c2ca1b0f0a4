"""The graph language, executed: the living definition of every operation.

In: a Graph and NumPy arrays for its inputs and constants. Out: the outputs as NumPy arrays. One
NumPy expression an operation, nothing shared with the code generator.
"""

import numpy as np

from ..ir import scalar_ops
from ..ir.types import DTYPE_OF_CODE
from .fft import interpret_fft
from .graph import Graph, literal_value
from .linalg import interpret_lapack
from .searches import SEARCHES

RULES: dict = {}


def interpret(graph: Graph, inputs, constants=()):
    """The outputs of a graph."""
    values: dict = {}
    for node in graph.nodes():
        if node.op == "input":
            value = _checked(node, np.asarray(inputs[node.attrs[0]]))
        elif node.op == "const":
            value = _checked(node, np.asarray(constants[node.attrs[0]]))
        else:
            value = evaluate(node, [values[a.id] for a in node.args])
        values[node.id] = value
    return [values[n.id] for n in graph.outputs]


def evaluate(node, args):
    """The value of a node of given operands; of a call, that of each of its parts."""
    rule = RULES.get(node.op)
    found = scalar_ops.evaluate(node.op, node.dtype, args) if rule is None else rule(node, *args)
    return found if node.op == "call" else _checked(node, np.asarray(found))


def _checked(node, value):
    if value.shape != node.shape:
        raise AssertionError(f"{node} has shape {value.shape} when interpreted")
    return value.astype(DTYPE_OF_CODE[node.dtype], copy=False)


def _rule(op):
    def register(function):
        RULES[op] = function
        return function

    return register


@_rule("lit")
def _lit(node):
    return literal_value(node.attrs[0], node.dtype)


@_rule("broadcast")
def _broadcast(node, x):
    dims = node.attrs[0]
    shape = [1] * len(node.shape)
    for d, n in zip(dims, x.shape, strict=True):
        shape[d] = n
    ordered = x.transpose(sorted(range(len(dims)), key=lambda i: dims[i]))
    return np.broadcast_to(ordered.reshape(shape), node.shape)


@_rule("reshape")
def _reshape(node, x):
    return x.reshape(node.shape)


@_rule("transpose")
def _transpose(node, x):
    return x.transpose(node.attrs[0])


@_rule("reverse")
def _reverse(node, x):
    return np.flip(x, node.attrs[0])


@_rule("slice")
def _slice(node, x):
    starts, strides = node.attrs
    index = [
        np.arange(n) * st + lo for n, lo, st in zip(node.shape, starts, strides, strict=True)
    ]
    return x[np.ix_(*index)] if index else x


@_rule("pad")
def _pad(node, x, value):
    result = np.full(node.shape, value, x.dtype)
    result[tuple(slice(lo, lo + n) for lo, n in zip(node.attrs[0], x.shape, strict=True))] = x
    return result


@_rule("concat")
def _concat(node, *parts):
    return np.concatenate(parts, node.attrs[0])


@_rule("empty")
def _empty(node):
    return np.zeros(node.shape, DTYPE_OF_CODE[node.dtype])


@_rule("iota")
def _iota(node):
    axis = node.attrs[0]
    shape = [1] * len(node.shape)
    shape[axis] = node.shape[axis]
    values = np.arange(node.shape[axis]).astype(DTYPE_OF_CODE[node.dtype])
    return np.broadcast_to(values.reshape(shape), node.shape)


def _clamped(x, starts, sizes):
    return [
        int(min(max(int(s), 0), n - size))
        for s, n, size in zip(starts, x.shape, sizes, strict=True)
    ]


@_rule("dynamic_slice")
def _dynamic_slice(node, x, *starts):
    lows = _clamped(x, starts, node.shape)
    return x[tuple(slice(lo, lo + n) for lo, n in zip(lows, node.shape, strict=True))]


@_rule("dynamic_update_slice")
def _dynamic_update_slice(node, x, update, *starts):
    lows = _clamped(x, starts, update.shape)
    result = x.copy()
    result[tuple(slice(lo, lo + n) for lo, n in zip(lows, update.shape, strict=True))] = update
    return result


@_rule("gather")
def _gather(node, x, indices, fill):
    offset_dims, collapsed, batching, indices_batching, start_map, sizes, mode = node.attrs
    batch_axes = [a for a in range(len(node.shape)) if a not in offset_dims]
    result = np.empty(node.shape, x.dtype)
    kept = [a for a in range(len(x.shape)) if a not in collapsed and a not in batching]
    for place in np.ndindex(*node.shape):
        batch = [place[a] for a in batch_axes]
        local = dict(zip(kept, [place[a] for a in offset_dims], strict=True))
        where, inside = [], True
        for axis, n in enumerate(x.shape):
            position = local.get(axis, 0)
            if axis in batching:
                position = batch[indices_batching[batching.index(axis)]]
            elif axis in start_map:
                start = int(indices[(*batch, start_map.index(axis))])
                limit = n - sizes[axis]
                if mode == "fill":
                    inside = inside and 0 <= start <= limit
                else:
                    start = min(max(start, 0), limit)
                position += start
            where.append(position)
        result[place] = x[tuple(where)] if inside else fill
    return result


@_rule("reduce")
def _reduce(node, x):
    kind, axes = node.attrs
    wide = x.astype(np.float32) if x.dtype.name in ("bfloat16", "float16") else x
    if kind == "sum" and wide.dtype.kind == "f":
        return wide.sum(axis=axes)
    start = scalar_ops.identity(kind, node.dtype)
    return scalar_ops.REDUCERS[kind].reduce(wide, axis=axes, initial=start, dtype=wide.dtype)


@_rule("argreduce")
def _argreduce(node, x):
    kind, axis = node.attrs
    wide = x.astype(np.float32) if x.dtype.name in ("bfloat16", "float16") else x
    return (np.argmax if kind == "argmax" else np.argmin)(wide, axis=axis)


@_rule("dot")
def _dot(node, a, b):
    (contract_a, contract_b), (batch_a, batch_b) = node.attrs
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    left = [next(letters) for _ in a.shape]
    right = [next(letters) for _ in b.shape]
    for i, j in zip((*contract_a, *batch_a), (*contract_b, *batch_b), strict=True):
        right[j] = left[i]
    free_a = [c for i, c in enumerate(left) if i not in contract_a and i not in batch_a]
    free_b = [c for i, c in enumerate(right) if i not in contract_b and i not in batch_b]
    out = [left[i] for i in batch_a] + free_a + free_b
    dtype = DTYPE_OF_CODE[node.dtype]
    compute = np.float32 if dtype.name in ("bfloat16", "float16") else dtype
    return np.einsum(
        f"{''.join(left)},{''.join(right)}->{''.join(out)}",
        a.astype(compute), b.astype(compute), dtype=compute,
    )  # fmt: skip


@_rule("conv")
def _conv(node, x, kernel):
    strides, dilation = node.attrs
    total = np.zeros(node.shape, x.dtype)
    for place in np.ndindex(*kernel.shape[:-2]):
        where = [
            slice(i * d, i * d + (n - 1) * s + 1, s)
            for i, d, n, s in zip(place, dilation, node.shape[1:-1], strides, strict=True)
        ]
        total += x[(slice(None), *where)] @ kernel[place]
    return total


@_rule("cumulative")
def _cumulative(node, x):
    kind, axis, reverse = node.attrs
    functions = {
        "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
        "logsumexp": np.logaddexp,
    }  # fmt: skip
    x = np.flip(x, axis) if reverse else x
    wide = x.astype(np.float32) if x.dtype.name in ("bfloat16", "float16") else x
    result = functions[kind].accumulate(wide, axis=axis, dtype=wide.dtype)
    return np.flip(result, axis) if reverse else result


@_rule("call")
def _call(node, *args):
    name = node.attrs[0]
    if name not in CALLS:
        raise NotImplementedError(f"the routine {name} cannot be interpreted")
    return CALLS[name](node, *args)


@_rule("part")
def _part(node, results):
    return results[node.attrs[0]]


def _sort(node, x):
    return (np.sort(x + np.zeros((), x.dtype), axis=-1, kind="stable"),)


def _argsort(node, x):
    return (np.argsort(x, axis=-1, kind="stable").astype(np.int32),)


def _scatter(node, x, offsets, updates):
    kind, window = node.attrs[2:]
    flat = x.reshape(-1).copy()
    combine = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    for offset, row in zip(offsets, updates, strict=True):
        if 0 <= offset and offset + window <= flat.size:
            part = flat[offset : offset + window]
            part[...] = row if kind == "set" else combine[kind](part, row)
    return (flat.reshape(x.shape),)


def _top_k(node, x):
    k = node.attrs[2]
    order = np.argsort(np.flip(x, -1), axis=-1, kind="stable")
    order = np.flip(x.shape[-1] - 1 - order, -1)[..., :k]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


def _partition(node, x):
    return (np.sort(x, axis=-1),)


def _captured(args, *bodies):
    """args split before what the bodies captured: (rest, captured of each body)."""
    rest, parts = list(args), []
    for body in reversed(bodies):
        n = len(body.captured) if body is not None else 0
        parts.append(rest[len(rest) - n :] if n else [])
        rest = rest[: len(rest) - n]
    return rest, parts[::-1]


def _loop(node, *args):
    (test, body, count), n_state = node.attrs[2:]
    state, rest = list(args[len(args) - n_state :]), args[: len(args) - n_state]
    consts, (tested, own) = _captured(rest, test, body)
    turn = 0
    while turn != count:
        if test is not None and not interpret(test.graph, [*consts, *state], tested)[0]:
            break
        counter = [np.int32(turn)] if count >= 0 else []
        state = interpret(body.graph, [*counter, *consts, *state], own)
        turn += 1
    return tuple(state)


def _branch(node, index, *args):
    bodies = node.attrs[2]
    operands, captured = _captured(args, *bodies)
    which = min(max(int(index), 0), len(bodies) - 1)
    return tuple(interpret(bodies[which].graph, operands, captured[which]))


CALLS = {
    "loop": _loop, "branch": _branch, "sort": _sort, "argsort": _argsort, "scatter": _scatter,
    "top_k": _top_k, "partition": _partition, "argpartition": _argsort,
    "lapack": interpret_lapack, "fft": interpret_fft, **SEARCHES,
}  # fmt: skip
