"""One elementwise operation on `Value`s: graph names to machine operations.

In: an operation name, element codes and operand values. Out: the result value.
Half-precision operands are computed in float32 and rounded after every operation. Integer division
is made total here (x / 0 = -1, x % 0 = x, INT_MIN / -1 = INT_MIN, as XLA's CPU backend answers), so
that no lane can trap, not even one beyond the end of the data.
"""

import numpy as np

from ..ir.types import DTYPE_OF_CODE, ELEMENT_TYPES, bits_of, kind_of, nbytes_of
from . import integer_division, short_floats
from . import math as vector_math

_FLOAT_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INT_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_FLOAT_PREDICATE = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_FLOAT_SIMPLE = {"fma": "fma", "floor": "floor", "ceil": "ceil", "round_even": "roundeven"}
_FLOAT_SIMPLE.update({"copysign": "copysign", "sqrt": "sqrt", "trunc": "trunc"})
_OWN_BITS = frozenset(("nextafter",))  # about the bits of the type itself: never widened
# of bfloats these give bfloats: nothing is left to round (relu takes three fifths of the time)
_EXACT = frozenset(("max", "min", "neg", "abs", "floor", "ceil", "trunc", "round_even", "copysign"))
# Instructions of several arguments: their NaN is that of one of them, or the processor's own.
_OF_THE_PROCESSOR = frozenset(("add", "sub", "mul", "div", "fma", "fms", "fnma"))
_MATH_NAME = {"rem": "remainder"}
_SIGNED = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED = {"eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"}


def llvm_type(code: str) -> str:
    return ELEMENT_TYPES[code].llvm


def evaluate(e, op, code, arg_codes, args):
    """The value of `op` with result type `code`."""
    if op == "convert":
        return convert(e, args[0], arg_codes[0], code)
    if op == "bitcast":
        return _bitcast(e, args[0], arg_codes[0], code)
    if op == "select":
        return e.select(args[0], args[1], args[2])
    first = arg_codes[0]
    if op in _OWN_BITS and kind_of(first) == "f":
        return vector_math.evaluate(e, op, *args)
    if first in ("f16", "bf16"):
        result = short_floats.by_bits(e, op, args)
        if result is not None:
            return result
        wide = [widen(e, a, c) for a, c in zip(args, arg_codes, strict=True)]
        result = evaluate(e, op, "f32" if code == first else code, ("f32",) * len(args), wide)
        if code == first == "bf16" and op in _EXACT:
            return short_floats.upper_half(e, result)
        if code == first == "bf16" and (len(args) == 1 or op in _OF_THE_PROCESSOR):
            # of functions of one argument the tests try each bfloat, so each NaN there is
            return short_floats.float_to_bfloat(e, result, of_bfloats=True)
        return narrow(e, result, code) if code == first else result
    if op in _FLOAT_PREDICATE:
        return _compare(e, op, first, args)
    if kind_of(first) == "f":
        return _float(e, op, code, args)
    return _integer(e, op, first, args)


def constant_of_bits(e, code, bits):
    """A constant of an element type, from its bit pattern."""
    width = nbytes_of(code)
    if kind_of(code) == "f":
        number = np.asarray(bits, f"u{width}").view(DTYPE_OF_CODE[code])[()]
        return e.constant(llvm_type(code), float(number.astype(np.float64)), 1)
    bits &= (1 << (8 * width)) - 1
    negative = bits >> (8 * width - 1) and width > 1
    return e.constant(llvm_type(code), bits - (1 << (8 * width)) if negative else bits, 1)


def widen(e, value, code):
    """f16/bf16 as f32; others unchanged."""
    return e.fpext(value, "float") if code in ("f16", "bf16") else value


def narrow(e, value, code):
    return e.fptrunc(value, llvm_type(code)) if code in ("f16", "bf16") else value


def _compare(e, op, code, args):
    kind = kind_of(code)
    if kind == "f":
        return e.fcmp(_FLOAT_PREDICATE[op], *args)
    return e.icmp((_SIGNED if kind == "i" else _UNSIGNED)[op], *args)


def _float(e, op, code, args):
    if op in _FLOAT_BINARY:
        return e.binary(_FLOAT_BINARY[op], *args)
    if op in ("max", "min"):
        return vector_math.forms.extreme(e, op, *args)
    if op == "neg":
        return e.fneg(args[0])
    if op == "abs":
        return e.fabs(args[0])
    if op == "fms":
        return e.fma(args[0], args[1], e.fneg(args[2]))
    if op == "fnma":
        return e.fma(e.fneg(args[0]), args[1], args[2])
    if op in ("fmax", "fmin"):
        return _of_numbers(e, op, *args)
    simple = _FLOAT_SIMPLE.get(op)
    if simple is not None:
        return getattr(e, simple)(*args)
    return vector_math.evaluate(e, _MATH_NAME.get(op, op), *args)


def extreme_of_number(e, op, a, number, is_zero):
    """The larger ("max") or smaller of a and a number that is neither NaN nor -0: NaN if a is, and
    -0 below +0. One instruction, which answers `a` if that is NaN; for zero a comparison."""
    if not is_zero:
        return (e.fast_max if op == "max" else e.fast_min)(number, a)
    a, number = e.match(a, number)
    return e.select(e.fcmp("ugt" if op == "max" else "ule", a, number), a, number)


def _of_numbers(e, op, a, b):
    """The greater (less) of two; NaN only if both are."""
    best = (e.fast_max if op == "fmax" else e.fast_min)(b, a)  # a, if either is NaN
    return e.select(e.fcmp("uno", a, a), b, best)


def _integer(e, op, code, args):
    if op in _INT_BINARY:
        return e.binary(_INT_BINARY[op], *args)
    if code == "b1":
        return _boolean(e, op, args)
    rule = _INTEGER_RULES.get(op)
    if rule is None:
        raise NotImplementedError(f"no machine code for {op} on {code}")
    return rule(e, code, *args)


def _boolean(e, op, args):
    a = args[0]
    if op == "not":
        return e.binary("xor", a, e.constant("i1", 1, a.lanes))
    if op in ("max",):
        return e.binary("or", *args)
    if op in ("min",):
        return e.binary("and", *args)
    raise NotImplementedError(f"no machine code for {op} on bool")


def _const(e, code, value, like):
    return e.constant(llvm_type(code), value, like.lanes)


def _min_max(pick):
    def rule(e, code, a, b):
        signed = kind_of(code) == "i"
        predicate = ("s" if signed else "u") + pick
        return e.select(e.icmp(predicate, a, b), a, b)

    return rule


def _shift(opcode):
    """Shifts by the width or more: 0, or the sign (XLA), where LLVM would be undefined."""

    def rule(e, code, a, b):
        width = _const(e, code, bits_of(code), b)
        inside = e.icmp("ult", b, width)
        if opcode == "ashr":
            last = _const(e, code, bits_of(code) - 1, b)
            return e.binary("ashr", a, e.select(inside, b, last))
        safe = e.select(inside, b, _const(e, code, 0, b))
        return e.select(inside, e.binary(opcode, a, safe), _const(e, code, 0, a))

    return rule


def _abs(e, code, a):
    if kind_of(code) == "u":
        return a
    return e.select(e.icmp("slt", a, _const(e, code, 0, a)), _neg(e, code, a), a)


def _neg(e, code, a):
    return e.binary("sub", _const(e, code, 0, a), a)


def _sign(e, code, a):
    zero, one = _const(e, code, 0, a), _const(e, code, 1, a)
    if kind_of(code) == "u":
        return e.select(e.icmp("eq", a, zero), zero, one)
    negative = e.select(e.icmp("slt", a, zero), _const(e, code, -1, a), one)
    return e.select(e.icmp("eq", a, zero), zero, negative)


def _not(e, code, a):
    return e.binary("xor", a, _const(e, code, -1, a))


def _rotate_left(e, code, a, b):
    return e.overloaded("fshl", a, a, b)


def _population_count(e, code, a):
    return e.overloaded("ctpop", a)


def _count_leading_zeros(e, code, a):
    suffix = a.type if a.lanes == 1 else f"v{a.lanes}{a.type}"
    return e.intrinsic(f"llvm.ctlz.{suffix}", a.type, [a, "i1 false"])


_INTEGER_RULES = {
    "max": _min_max("gt"),
    "min": _min_max("lt"),
    "div": integer_division.div,
    "rem": integer_division.rem,
    "mod": integer_division.mod,
    "shift_left": _shift("shl"),
    "shift_right_logical": _shift("lshr"),
    "shift_right_arithmetic": _shift("ashr"),
    "rotate_left": _rotate_left,
    "abs": _abs,
    "neg": _neg,
    "sign": _sign,
    "not": _not,
    "population_count": _population_count,
    "clz": _count_leading_zeros,
}


# ---------------------------------------------------------------------- conversions
def convert(e, value, source: str, target: str):
    """The values of one element type in another: truncating, saturating; NaN becomes 0."""
    if source == target:
        return value
    from_kind, to_kind = kind_of(source), kind_of(target)
    if from_kind == "f" and to_kind == "f":
        return _convert_float(e, value, source, target)
    if from_kind == "f":
        return _float_to_integer(e, widen(e, value, source), widen_code(source), target)
    if to_kind == "f":
        return _integer_to_float(e, value, source, target)
    if target == "b1":
        return e.icmp("ne", value, _const(e, source, 0, value))
    return _resize(e, value, source, target)


def widen_code(code):
    return "f32" if code in ("f16", "bf16") else code


def _convert_float(e, value, source, target):
    wide = widen(e, value, source)
    source = widen_code(source)
    if target == source:
        return wide
    if bits_of(target) > bits_of(source):
        return e.fpext(wide, llvm_type(target))
    return e.fptrunc(wide, llvm_type(target))


def _resize(e, value, source, target):
    if bits_of(source) == bits_of(target):
        return value
    if bits_of(source) > bits_of(target):
        return e.trunc_int(value, llvm_type(target))
    if kind_of(source) == "i":
        return e.sext(value, llvm_type(target))
    return e.zext(value, llvm_type(target))


def _integer_to_float(e, value, source, target):
    through = "f32" if target in ("f16", "bf16") else target
    convert_op = e.sitofp if kind_of(source) == "i" else e.uitofp
    return narrow(e, convert_op(value, llvm_type(through)), target)


def _float_to_integer(e, value, source, target):
    """fptosi is undefined out of range, so the value is clamped first (in the float type)."""
    if target == "b1":
        return e.fcmp("une", value, _const(e, source, 0.0, value))
    bits, signed = bits_of(target), kind_of(target) == "i"
    low = -(2.0 ** (bits - 1)) if signed else 0.0
    high = 2.0 ** (bits - 1) if signed else 2.0**bits
    # vectors of unsigned words are made of two signed ones before AVX-512
    op = e.fptosi if signed or bits < 32 else e.fptoui
    too_high = e.fcmp("oge", value, _const(e, source, high, value))
    in_range = e.binary(
        "and", e.fcmp("oge", value, _const(e, source, low, value)),
        e.binary("xor", too_high, e.constant("i1", 1, value.lanes)),
    )
    safe = e.select(in_range, value, _const(e, source, 0.0, value))
    result = op(safe, llvm_type(target) if bits >= 32 else "i32")
    if bits < 32:
        result = e.trunc_int(result, llvm_type(target))
    top = (1 << (bits - 1)) - 1 if signed else -1
    result = e.select(too_high, _const(e, target, top, value), result)
    if signed:
        below = e.fcmp("olt", value, _const(e, source, low, value))
        result = e.select(below, _const(e, target, -(1 << (bits - 1)), value), result)
    return result


def _bitcast(e, value, source, target):
    if llvm_type(source) == llvm_type(target):
        return value
    return e.bitcast(llvm_type(target), value)


def identity_of(kind: str, code: str):
    """The neutral element of a reduction."""
    is_float = kind_of(code) == "f"
    if kind in ("sum", "or", "xor", "any"):
        return 0
    if kind == "prod":
        return 1
    if kind in ("and", "all"):
        return 1 if code == "b1" else -1
    if is_float:
        return float("-inf") if kind in ("max", "argmax", "fmax") else float("inf")
    if code == "b1":
        return 0 if kind in ("max", "argmax") else 1
    bits = 8 * DTYPE_OF_CODE[code].itemsize
    if kind_of(code) == "u":
        return 0 if kind in ("max", "argmax") else (1 << bits) - 1
    return -(1 << (bits - 1)) if kind in ("max", "argmax") else (1 << (bits - 1)) - 1


COMBINE = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "and": "and", "or": "or"}
COMBINE.update({"xor": "xor", "any": "or", "all": "and", "fmax": "fmax", "fmin": "fmin"})
