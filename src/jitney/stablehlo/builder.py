"""Making operations: what the rules speak with.

In: values. Out: values; the operation is appended to the block being written.
Invariant: a method gives its result the type StableHLO's type rules give it; nothing is folded
away except a broadcast to the shape a value has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.stablehlo.forms import array_attribute
from jitney.stablehlo.ops import Block, Module, Op, Value
from jitney.stablehlo.types import BOOL, TensorType, comparison_kind, part_dtype


def _elementwise(name: str) -> Callable[..., Value]:
    """A method for an operation whose result has its first operand's type."""

    def method(self: Builder, *operands: Value) -> Value:
        return self.one(f"stablehlo.{name}", operands, operands[0].type)

    return method


class Builder:
    """Appends operations to one block of a module."""

    def __init__(self, module: Module, block: Block):
        self.module, self.block = module, block

    # --- operations of any kind

    def op(self, name: str, operands: Sequence[Value], results: Sequence[TensorType],
           attributes: dict[str, Any] | None = None,
           regions: Sequence[Block] = ()) -> list[Value]:
        made = Op(name, operands, results, attributes, regions, self.module.origin)
        self.block.ops.append(made)
        return made.results

    def one(self, name: str, operands: Sequence[Value], result: TensorType,
            attributes: dict[str, Any] | None = None, regions: Sequence[Block] = ()) -> Value:
        return self.op(name, operands, [result], attributes, regions)[0]

    def region(self, arg_types: Sequence[TensorType],
               body: Callable[..., Value | Sequence[Value]]) -> Block:
        """A block that returns what `body(builder, *arguments)` gives."""
        block = Block(arg_types)
        inner = Builder(self.module, block)
        outs = body(inner, *block.args)
        outs = [outs] if isinstance(outs, Value) else outs
        inner.op("stablehlo.return", outs, ())
        return block

    def call(self, function: Any, operands: Sequence[Value]) -> list[Value]:
        return self.op("func.call", operands, function.results, {"callee": function.name})

    # --- constants

    def constant(self, value: Any, dtype: Any = None) -> Value:
        """An array, or a scalar of a dtype."""
        with np.errstate(all="ignore"):
            array = np.asarray(value) if dtype is None else np.asarray(value).astype(dtype)
        shown = BOOL if array.dtype == dtypes.float0 else array.dtype
        return self.one("stablehlo.constant", (), TensorType(array.shape, shown),
                        {"value": array})

    def full(self, value: Any, type: TensorType) -> Value:
        """A scalar repeated to a type."""
        return self.broadcast_to(self.constant(value, type.dtype), type.shape)

    def like(self, x: Value, value: Any) -> Value:
        return self.full(value, x.type)

    def iota(self, type: TensorType, dimension: int) -> Value:
        return self.one("stablehlo.iota", (), type, {"dimension": dimension})

    # --- elementwise

    abs_real = _elementwise("abs")
    add, subtract, multiply = map(_elementwise, ("add", "subtract", "multiply"))
    divide, maximum, minimum = map(_elementwise, ("divide", "maximum", "minimum"))
    negate, exponential, log1p = map(_elementwise, ("negate", "exponential", "log_plus_one"))
    sqrt, sine, cosine, atan2 = map(_elementwise, ("sqrt", "sine", "cosine", "atan2"))
    log, floor = map(_elementwise, ("log", "floor"))
    and_, or_, xor, not_ = map(_elementwise, ("and", "or", "xor", "not"))
    shift_left, shift_right = map(_elementwise, ("shift_left", "shift_right_logical"))

    def clamp(self, low: Value, x: Value, high: Value) -> Value:
        return self.one("stablehlo.clamp", (low, x, high), x.type)

    def compare(self, direction: str, x: Value, y: Value, kind: str | None = None) -> Value:
        attributes = {"direction": direction, "kind": kind or comparison_kind(x.dtype)}
        return self.one("stablehlo.compare", (x, y), x.type.with_dtype(BOOL), attributes)

    def select(self, pred: Value, on_true: Value, on_false: Value) -> Value:
        return self.one("stablehlo.select", (pred, on_true, on_false), on_true.type)

    def convert(self, x: Value, dtype: Any, always: bool = False) -> Value:
        """The values as another type; nothing for the same type unless `always`."""
        if x.dtype == dtype and not always:
            return x
        return self.one("stablehlo.convert", (x,), x.type.with_dtype(dtype))

    def bitcast(self, x: Value, type: TensorType) -> Value:
        return self.one("stablehlo.bitcast_convert", (x,), type)

    def real(self, x: Value) -> Value:
        return self.one("stablehlo.real", (x,), x.type.with_dtype(part_dtype(x.dtype)))

    def imag(self, x: Value) -> Value:
        return self.one("stablehlo.imag", (x,), x.type.with_dtype(part_dtype(x.dtype)))

    def complex(self, re: Value, im: Value) -> Value:
        whole = np.complex128 if re.dtype == np.float64 else np.complex64
        return self.one("stablehlo.complex", (re, im), re.type.with_dtype(whole))

    def chlo(self, name: str, *operands: Value) -> Value:
        return self.one(f"chlo.{name}", operands, operands[0].type)

    # --- shapes

    def broadcast(self, x: Value, shape: Sequence[int], dims: Sequence[int]) -> Value:
        return self.one("stablehlo.broadcast_in_dim", (x,), x.type.with_shape(shape),
                        {"dims": tuple(dims)})

    def broadcast_to(self, x: Value, shape: Sequence[int]) -> Value:
        """A scalar, or an array with axes of size 1, repeated to a shape."""
        if x.shape == tuple(shape):
            return x
        return self.broadcast(x, shape, range(len(shape)) if x.shape else ())

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        return self.one("stablehlo.reshape", (x,), x.type.with_shape(shape))

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        shape = [x.shape[d] for d in permutation]
        return self.one("stablehlo.transpose", (x,), x.type.with_shape(shape),
                        {"dims": tuple(permutation)})

    def slice(self, x: Value, starts: Sequence[int], limits: Sequence[int],
              strides: Sequence[int] | None = None) -> Value:
        strides = strides or (1,) * len(starts)
        shape = [-(-(hi - lo) // s) for lo, hi, s in zip(starts, limits, strides, strict=True)]
        return self.one("stablehlo.slice", (x,), x.type.with_shape(shape),
                        {"starts": starts, "limits": limits, "strides": strides})

    def slice_axis(self, x: Value, axis: int, start: int, limit: int) -> Value:
        starts, limits = [0] * len(x.shape), list(x.shape)
        starts[axis], limits[axis] = start, limit
        return self.slice(x, starts, limits)

    def dynamic_slice(self, x: Value, starts: Sequence[Value], sizes: Sequence[int]) -> Value:
        return self.one("stablehlo.dynamic_slice", (x, *starts), x.type.with_shape(sizes),
                        {"sizes": tuple(sizes)})

    def dynamic_update_slice(self, x: Value, update: Value, starts: Sequence[Value]) -> Value:
        return self.one("stablehlo.dynamic_update_slice", (x, update, *starts), x.type)

    def pad(self, x: Value, fill: Value, config: Sequence[tuple[int, int, int]]) -> Value:
        shape = [n + lo + hi + max(n - 1, 0) * gap
                 for n, (lo, hi, gap) in zip(x.shape, config, strict=True)]
        low, high, interior = zip(*config, strict=True) if config else ((), (), ())
        return self.one("stablehlo.pad", (x, fill), x.type.with_shape(shape),
                        {"low": low, "high": high, "interior": interior})

    def concatenate(self, parts: Sequence[Value], axis: int) -> Value:
        shape = list(parts[0].shape)
        shape[axis] = sum(p.shape[axis] for p in parts)
        return self.one("stablehlo.concatenate", parts, parts[0].type.with_shape(shape),
                        {"dimension": axis})

    def reverse(self, x: Value, dims: Sequence[int]) -> Value:
        return self.one("stablehlo.reverse", (x,), x.type, {"dims": tuple(dims)})

    # --- reductions

    def reduce(self, xs: Sequence[Value], inits: Sequence[Value], axes: Sequence[int],
               body: Callable) -> list[Value]:
        """`body(builder, *accumulated, *elements)` folds the arrays along axes."""
        shape = [n for i, n in enumerate(xs[0].shape) if i not in axes]
        scalars = [x.type.scalar for x in xs]
        return self.op("stablehlo.reduce", [*xs, *inits],
                       [x.type.with_shape(shape) for x in xs], {"dims": tuple(axes)},
                       [self.region([*scalars, *scalars], body)])

    def reduce_window(self, xs: Sequence[Value], inits: Sequence[Value], shape: Sequence[int],
                      body: Callable, *, window: Sequence[int], strides: Sequence[int],
                      padding: Sequence[tuple[int, int]], base_dilation: Sequence[int],
                      window_dilation: Sequence[int]) -> list[Value]:
        scalars = [x.type.scalar for x in xs]
        attributes = {
            "base_dilations": array_attribute(base_dilation),
            "padding": pairs_attribute(padding), "window_dimensions": array_attribute(window),
            "window_dilations": array_attribute(window_dilation),
            "window_strides": array_attribute(strides)}
        return self.op("stablehlo.reduce_window", [*xs, *inits],
                       [x.type.with_shape(shape) for x in xs], attributes,
                       [self.region([*scalars, *scalars], body)])


def pairs_attribute(pairs: Sequence[tuple[int, int]]) -> str:
    """`dense<[[0, 1]]> : tensor<1x2xi64>`."""
    flat = [n for pair in pairs for n in pair]
    if not flat:
        text = "dense<>"
    elif len(set(flat)) == 1:
        text = f"dense<{flat[0]}>"
    else:
        text = f"dense<[{', '.join(f'[{lo}, {hi}]' for lo, hi in pairs)}]>"
    return f"{text} : tensor<{len(pairs)}x2xi64>"
