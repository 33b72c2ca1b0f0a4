"""Calls of elementwise functions, on vectors.

Read next: reductions.py.
"""

from __future__ import annotations

import operator

from .case import Case, cases_of

_UNARY = {
    "x": "abs absolute angle arcsinh arctan around asinh atan cbrt ceil conj conjugate cos cosh "
         "deg2rad degrees exp exp2 expm1 fabs floor frexp i0 iscomplex isfinite isinf isnan "
         "isneginf isposinf isreal modf nan_to_num negative positive rad2deg radians "
         "reciprocal rint round sign signbit sin sinc sinh spacing square tan tanh trunc",
    "unit": "acos arccos arcsin arctanh asin atanh",
    "positive": "log log10 log1p log2 sqrt",
    "above": "acosh arccosh",
}
_UNARY_INTEGER = {
    "i": "abs absolute bitwise_count bitwise_invert bitwise_not invert negative sign square",
    "b": "logical_not",
    "z": "abs absolute angle conj exp log sin sqrt square",
}
_BINARY = {
    ("x", "y"): "add arctan2 atan2 copysign divide divmod equal float_power floor_divide fmax fmin "
                "fmod greater greater_equal heaviside hypot isclose less less_equal logaddexp "
                "logaddexp2 maximum minimum mod multiply nextafter not_equal remainder subtract "
                "true_divide",
    ("positive", "y"): "pow power",
}
_BINARY_INTEGER = {
    ("i", "j"): "add bitwise_and bitwise_or bitwise_xor equal gcd lcm less maximum minimum "
                "multiply subtract",
    ("i", "counts"): "divmod floor_divide fmod mod remainder true_divide",
    ("counts", "digit"): "power",
    ("i", "shift"): "bitwise_left_shift bitwise_right_shift left_shift right_shift",
    ("b", "b2"): "logical_and logical_or logical_xor",
}


def _unary(argument: str, name: str, label: str = "", **options) -> Case:
    call = eval(f"lambda np, {argument}: np.{name}({argument})")
    return Case(name, call, label, **options)


def _binary(pair: tuple[str, str], name: str, label: str = "", **options) -> Case:
    one, two = pair
    # A divisor must not be zero, a base not negative.
    first, second = one, f"{two} + 1" if (one, two) == ("i", "counts") else two
    if name == "float_power":
        first = f"np.abs({one})"
    call = eval(f"lambda np, {one}, {two}: np.{name}({first}, {second})")
    return Case(name, call, label, **options)


_KINDS = {"i": "int32", "b": "bool", "z": "complex", "counts": "int32"}

CASES: list[Case] = [
    *[_unary(a, n) for a, names in _UNARY.items() for n in names.split()],
    *[_unary(a, n, _KINDS[a], floats=a == "z") for a, names in _UNARY_INTEGER.items()
      for n in names.split()],
    *[_binary(p, n) for p, names in _BINARY.items() for n in names.split()],
    *[_binary(p, n, _KINDS[p[0]], floats=False) for p, names in _BINARY_INTEGER.items()
      for n in names.split()],
    *cases_of("multiply", ("complex", lambda np, z: np.multiply(z, z)),
              ("by a row", lambda np, m, row: np.multiply(m, row)),
              ("by a column", lambda np, m, column: np.multiply(m, column)),
              ("by a number", lambda np, x: np.multiply(x, 3))),
    *cases_of("add", ("transposed", lambda np, m, m2: np.add(m, m2.T))),
    *cases_of("divide", ("complex", lambda np, z: np.divide(z, z))),
    *cases_of("power", ("squares", lambda np, x: np.power(x, 2)),
              ("cubes", lambda np, x: np.power(x, 3))),
    *cases_of("round", ("two digits", lambda np, x: np.round(x, 2))),
    *cases_of("ldexp", lambda np, x, digit: np.ldexp(x, digit)),
    *cases_of("clip", lambda np, x: np.clip(x, -1, 1),
              ("arrays", lambda np, x, y, positive: np.clip(x, y, positive))),
    *cases_of("where", lambda np, b, x, y: np.where(b, x, y),
              ("number", lambda np, b, x: np.where(b, x, 0))),
    *cases_of("select", lambda np, x: np.select([x < -1, x < 0, x < 1], [x, x * 2, -x], 0)),
    *cases_of("choose", lambda np, digit, x, y: np.choose(
        digit, [x, y, x, y], mode="clip")),
    *cases_of("piecewise", lambda np, x: np.piecewise(
        x, [x < 0, x >= 0], [lambda v: -v, lambda v: v])),
    *cases_of("astype", ("float to int32", lambda np, x: np.astype(x, "int32")),
              ("int32 to float32", lambda np, i: np.astype(i, "float32")),
              ("float to bool", lambda np, x: np.astype(x, "bool"))),
    *cases_of("unwrap", lambda np, angles: np.unwrap(angles)),
    *cases_of("packbits", lambda np, bits: np.packbits(bits), floats=False),
    *cases_of("unpackbits", lambda np, bytes: np.unpackbits(bytes), floats=False),
    *cases_of("allclose", lambda np, x, same: np.allclose(x, same)),
    *cases_of("array_equal", lambda np, x, same: np.array_equal(x, same)),
    *cases_of("array_equiv", lambda np, x, same: np.array_equiv(x, same)),
    *cases_of("frompyfunc", lambda np, x: np.frompyfunc(operator.neg, 1, 1)(x), jit=False),
]  # fmt: skip
