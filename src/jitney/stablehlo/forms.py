"""How each operation is written: StableHLO's short forms, and MLIR's generic form for the rest.

In: an operation and the printer that knows the names. Out: the text after `results = `.
Invariant: a form is the one the StableHLO printer uses; an operation without one is written
`"name"(operands) <{attributes}> ({regions}) : (types) -> types`, which every parser reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.stablehlo.constants import dense_text
from jitney.stablehlo.ops import Op, Value, symbol_text

FORMS: dict[str, Callable[[Any, Op, int], str]] = {}


def _form(*names: str):
    def register(function):
        for name in names:
            FORMS[name] = function
        return function

    return register


# --- types and lists ---------------------------------------------------------------------------


def types_text(values: Sequence[Value]) -> str:
    return ", ".join(str(v.type) for v in values)


def function_type(op: Op) -> str:
    """`(operand types) -> result types`."""
    results = types_text(op.results)
    outcome = results if len(op.results) == 1 else f"({results})"
    return f"({types_text(op.operands)}) -> {outcome}"


def short_type(op: Op) -> str:
    """One type where operands and result share it."""
    types = {v.type for v in (*op.operands, *op.results)}
    return str(op.results[0].type) if len(types) == 1 else function_type(op)


def numbers(values: Sequence[int]) -> str:
    """`[1, 2]`."""
    return f"[{', '.join(map(str, values))}]"


def array_attribute(values: Sequence[int]) -> str:
    """`array<i64: 1, 2>`."""
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


def generic_form(p: Any, op: Op, indent: int) -> str:
    attributes = ", ".join(f"{k} = {v}" for k, v in sorted(op.attributes.items()))
    properties = f" <{{{attributes}}}>" if attributes else ""
    regions = ", ".join(p.region(r, indent) for r in op.regions)
    inside = f" ({regions})" if regions else ""
    return f'"{op.name}"({p.names(op.operands)}){properties}{inside} : {function_type(op)}'


# --- elementwise -------------------------------------------------------------------------------

SAME_TYPE = (
    "abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "convert", "cosine",
    "count_leading_zeros", "divide", "exponential", "exponential_minus_one", "floor", "log",
    "log_plus_one", "logistic", "maximum", "minimum", "multiply", "negate", "not", "or", "popcnt",
    "power", "remainder", "round_nearest_afz", "round_nearest_even", "rsqrt", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sine", "sqrt", "subtract", "tan",
    "tanh", "xor")
_FUNCTION = ("bitcast_convert", "dynamic_update_slice", "imag", "is_finite", "real", "reshape")
CHLO = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "conj", "cosh", "digamma",
    "erf", "erf_inv", "erfc", "lgamma", "mulhi", "next_after", "polygamma", "sinh", "square",
    "zeta")


def _attribute_suffix(op: Op) -> str:
    text = ", ".join(f"{k} = {v}" for k, v in sorted(op.attributes.items()))
    return f" {{{text}}}" if text else ""


@_form(*(f"stablehlo.{name}" for name in SAME_TYPE))
def _same_type(p, op, indent):
    return f"{op.name} {p.names(op.operands)}{_attribute_suffix(op)} : {short_type(op)}"


@_form(*(f"stablehlo.{name}" for name in _FUNCTION))
def _function(p, op, indent):
    return f"{op.name} {p.names(op.operands)} : {function_type(op)}"


@_form(*(f"chlo.{name}" for name in CHLO))
def _chlo(p, op, indent):
    types = f"{types_text(op.operands)} -> {types_text(op.results)}"
    return f"{op.name} {p.names(op.operands)} : {types}"


@_form("chlo.top_k")
def _top_k(p, op, indent):
    return (f"{op.name}({p.names(op.operands)}, k = {op.attributes['k']}) : "
            f"{types_text(op.operands)} -> ({types_text(op.results)})")


@_form("stablehlo.complex")
def _complex(p, op, indent):
    return f"{op.name} {p.names(op.operands)} : {op.results[0].type}"


@_form("stablehlo.compare")
def _compare(p, op, indent):
    direction, kind = op.attributes["direction"], op.attributes["kind"]
    return f"{op.name} {direction}, {p.names(op.operands)}, {kind} : {function_type(op)}"


@_form("stablehlo.select")
def _select(p, op, indent):
    pred, chosen = op.operands[0].type, op.results[0].type
    return f"{op.name} {p.names(op.operands)} : {pred}, {chosen}"


@_form("stablehlo.rng")
def _rng(p, op, indent):
    return (f"{op.name} {p.names(op.operands)}, distribution = {op.attributes['distribution']} : "
            f"{function_type(op)}")


@_form("stablehlo.reduce_precision")
def _reduce_precision(p, op, indent):
    return (f"{op.name} {p.names(op.operands)}, format = {op.attributes['format']} : "
            f"{op.results[0].type}")


@_form("stablehlo.optimization_barrier")
def _barrier(p, op, indent):
    return f"{op.name} {p.names(op.operands)} : {types_text(op.results)}"


# --- constants and shapes ------------------------------------------------------------------------


@_form("stablehlo.constant")
def _constant(p, op, indent):
    return f"{op.name} {dense_text(op.attributes['value'])} : {op.results[0].type}"


@_form("stablehlo.iota")
def _iota(p, op, indent):
    return f"{op.name} dim = {op.attributes['dimension']} : {op.results[0].type}"


@_form("stablehlo.broadcast_in_dim", "stablehlo.transpose")
def _with_dims(p, op, indent):
    dims = numbers(op.attributes["dims"])
    return f"{op.name} {p.names(op.operands)}, dims = {dims} : {function_type(op)}"


@_form("stablehlo.reverse")
def _reverse(p, op, indent):
    dims = numbers(op.attributes["dims"])
    return f"{op.name} {p.names(op.operands)}, dims = {dims} : {op.results[0].type}"


@_form("stablehlo.concatenate")
def _concatenate(p, op, indent):
    return (f"{op.name} {p.names(op.operands)}, dim = {op.attributes['dimension']} : "
            f"{function_type(op)}")


@_form("stablehlo.slice")
def _slice(p, op, indent):
    a = op.attributes
    ranges = [f"{lo}:{hi}" if step == 1 else f"{lo}:{hi}:{step}"
              for lo, hi, step in zip(a["starts"], a["limits"], a["strides"], strict=True)]
    return f"{op.name} {p.names(op.operands)} [{', '.join(ranges)}] : {function_type(op)}"


@_form("stablehlo.dynamic_slice")
def _dynamic_slice(p, op, indent):
    sizes = numbers(op.attributes["sizes"])
    return f"{op.name} {p.names(op.operands)}, sizes = {sizes} : {function_type(op)}"


@_form("stablehlo.pad")
def _pad(p, op, indent):
    a = op.attributes
    edges = ", ".join(f"{name} = {numbers(a[name])}" for name in ("low", "high", "interior"))
    return f"{op.name} {p.names(op.operands)}, {edges} : {function_type(op)}"


# --- contractions, transforms --------------------------------------------------------------------


@_form("stablehlo.dot_general")
def _dot_general(p, op, indent):
    a = op.attributes
    parts = [p.names(op.operands)]
    for name in ("batching_dims", "contracting_dims"):
        left, right = a[name]
        if left or name == "contracting_dims":
            parts.append(f"{name} = {numbers(left)} x {numbers(right)}")
    parts.append(f"precision = [{', '.join(a['precision'])}]")
    if a.get("algorithm"):
        parts.append(f"algorithm = <{a['algorithm']}>")
    return f"{op.name} {', '.join(parts)} : {function_type(op)}"


@_form("stablehlo.convolution")
def _convolution(p, op, indent):
    a = op.attributes
    layout = "[{}]x[{}]->[{}]".format(*(", ".join(spec) for spec in a["dim_numbers"]))
    window = ", ".join(f"{name} = {text}" for name, text in a["window"].items())
    rest = ", ".join(f"{name} = {a[name]}" for name in (
        "batch_group_count", "feature_group_count", "precision_config"))
    return (f"{op.name}({p.names(op.operands)}) dim_numbers = {layout}, window = {{{window}}} "
            f"{{{rest}}} : {function_type(op)}")


@_form("stablehlo.fft")
def _fft(p, op, indent):
    a = op.attributes
    return (f"{op.name} {p.names(op.operands)}, type = {a['type']}, "
            f"length = {numbers(a['length'])} : {function_type(op)}")


@_form("stablehlo.cholesky")
def _cholesky(p, op, indent):
    return f"{op.name} {p.names(op.operands)}, lower = true : {op.results[0].type}"


# --- reductions, control flow, calls -------------------------------------------------------------

_APPLICABLE = ("add", "and", "maximum", "minimum", "multiply", "or", "xor")


def _applied(op: Op) -> str | None:
    """The operation a reduction's region consists of, when it is one of the usual ones."""
    block = op.regions[0]
    if len(op.results) != 1 or len(block.ops) != 2:
        return None
    inner, end = block.ops
    name = inner.name.removeprefix("stablehlo.")
    fits = name in _APPLICABLE and inner.operands == block.args and end.operands == inner.results
    return inner.name if fits else None


@_form("stablehlo.reduce")
def _reduce(p, op, indent):
    count = len(op.results)
    pairs = ", ".join(f"({p.name(x)} init: {p.name(i)})" if count > 1 else
                      f"{p.name(x)} init: {p.name(i)}"
                      for x, i in zip(op.operands[:count], op.operands[count:], strict=True))
    pairs = pairs if count > 1 else f"({pairs})"
    applied = _applied(op)
    dims = f"across dimensions = {numbers(op.attributes['dims'])} : {function_type(op)}"
    if applied is not None:
        return f"{op.name}{pairs} applies {applied} {dims}"
    args = op.regions[0].args
    shown = " ".join(f"({p.name(a)}: {a.type}, {p.name(b)}: {b.type})"
                     for a, b in zip(args[:count], args[count:], strict=True))
    body = p.region(op.regions[0], indent, header=False)
    return f"{op.name}{pairs} {dims}\n{' ' * indent} reducer{shown}  {body}"


@_form("stablehlo.while")
def _while(p, op, indent):
    test, step = op.regions
    pairs = ", ".join(f"{p.name(a)} = {p.name(x)}"
                      for a, x in zip(test.args, op.operands, strict=True))
    head = f"{op.name}({pairs}) : {types_text(op.operands)}"
    cond = p.region(test, indent, header=False)
    body = p.region(step, indent, header=False)
    return f"{head}\n{' ' * indent}cond {cond} do {body}"


@_form("func.call")
def _call(p, op, indent):
    callee = symbol_text(op.attributes["callee"])
    return f"{op.name} {callee}({p.names(op.operands)}) : {function_type(op)}"


@_form("func.return", "stablehlo.return")
def _return(p, op, indent):
    if not op.operands:
        return op.name
    return f"{op.name} {p.names(op.operands)} : {types_text(op.operands)}"
