"""Classes of values in the special-case tables, and what a result of a table says of a number.

In: the tables of `special_cases`. Out: sample points with a check each.
"""

import itertools
import math

NAN, INF = math.nan, math.inf
POSITIVE = (0.375, 1.0, 2.0, 3.0, 7.5, 100.25, 2.0**-100, 2.0**31, 2.0**100)
NEGATIVE = tuple(-x for x in POSITIVE)
NONZERO = POSITIVE + NEGATIVE
FINITE = (0.0, -0.0) + NONZERO

MEMBERS = {
    "nan": (NAN,), "-nan": (math.copysign(NAN, -1.0),), "+inf": (INF,), "-inf": (-INF,),
    "inf": (INF, -INF), "+0": (0.0,), "-0": (-0.0,), "0": (0.0, -0.0), "1": (1.0,), "-1": (-1.0,),
    "pos": POSITIVE, "neg": NEGATIVE, "nonzero": NONZERO, "finite": FINITE,
    ">0": (*POSITIVE, INF), "<0": (*NEGATIVE, -INF), "any": (*FINITE, INF, -INF, NAN),
    "notnan": (*FINITE, INF, -INF), "not1": (0.0, -0.0, 0.5, -1.0, 2.0, INF, -INF, NAN),
    ">1": (1.5, 2.0, 1e30, INF), "<-1": (-1.5, -2.0, -1e30, -INF),
    "<1": (0.5, 0.0, -0.0, -1.0, -3.0, -INF), "|>1|": (1.5, -1.5, 300.0, -300.0, INF, -INF),
    "|<1|": (0.5, -0.5, 0.0, -0.0, 1e-30), "|1|": (1.0, -1.0), "odd": (1.0, 3.0, 7.0),
    "-odd": (-1.0, -3.0, -7.0), ">0notodd": (2.0, 0.5, 4.0, 2.5, INF),
    "<0notodd": (-2.0, -0.5, -4.0, -2.5, -INF), "fraction": (0.5, -0.5, 2.5, -1.25),
    "integer": (1.0, -1.0, 3.0, -17.0, 2.0**24, -(2.0**24)), "tie": (0.5, 1.5, 2.5, -0.5, -1.5),
}  # fmt: skip
PI = {"pi": 1.0, "pi/2": 0.5, "pi/4": 0.25, "3pi/4": 0.75}
EXACT = {"nan": NAN, "+inf": INF, "-inf": -INF, "+0": 0.0, "-0": -0.0, "0": 0.0, "1": 1.0,
         "-1": -1.0}  # fmt: skip


def same(got, wanted):
    """Equal, and zeros of the same sign."""
    if math.isnan(wanted):
        return math.isnan(got)
    return got == wanted and math.copysign(1, got) == math.copysign(1, wanted)


def floor_sign(a, b):
    """The sign a quotient rounded down has."""
    return math.copysign(1.0, a) * math.copysign(1.0, b)


def wanted_real(result, args):
    """What a real result should be, or a check of it."""
    x1, x2 = args[0], args[-1]
    sign, bare = (-1.0, result[1:]) if result[0] == "-" else (1.0, result.lstrip("+"))
    if bare in PI:
        return lambda got: math.isclose(got, sign * PI[bare] * math.pi, rel_tol=1e-3)
    if result in ("true", "false"):
        return float(result == "true")
    if bare == "nan" and result != "nan":
        return lambda got: math.isnan(got) and math.copysign(1, got) == sign
    if result == "signed":
        return lambda got: math.copysign(1, got) == floor_sign(x1, x2)
    values = {"x1": x1, "x2": x2, "-x1": -x1, "-x2": -x2, "|x1|": abs(x1), "-|x1|": -abs(x1),
              "|x2|": abs(x2)}  # fmt: skip
    if result in values:
        return values[result]
    if result == "even":
        return float(round(x1)) if round(x1) else math.copysign(0.0, x1)
    if result == "signed_inf":
        return floor_sign(x1, x2) * INF
    return EXACT[result]


def real_points(table):
    """(arguments, what the result should be, the case) for each member of each case."""
    for case in table.split():
        left, result = case.split("->", 1)
        names = left.split(",")
        for args in itertools.product(*(members(n, names) for n in names)):
            args = related(names, args)
            wanted = args[0] % args[1] if result == "python" else wanted_real(result, args)
            yield args, wanted, case


def members(name, names):
    return (0.0,) if name in ("x1", "-x1") and name in names[1:] else MEMBERS[name]


def related(names, args):
    """Second arguments that are the first one, or its negative."""
    if len(names) > 1 and names[1] in ("x1", "-x1"):
        return args[0], args[0] if names[1] == "x1" else -args[0]
    return args


def complex_points(table):
    """(a, b), wanted (re, im), the case; the wanted parts are numbers or checks."""
    for case in table.split():
        left, result = case.split("->", 1)
        for a, b in itertools.product(*(MEMBERS[n] for n in left.split(","))):
            yield (a, b), wanted_complex(result, b), case


def wanted_complex(result, b):
    if "*cis" in result:
        size = INF if result.startswith("+inf") else 0.0
        shift = -1.0 if result.endswith("-1") else 0.0
        re, im = math.copysign(size, math.cos(b)), math.copysign(size, b and math.sin(b))
        if b == 0:
            im = math.copysign(0.0, b)
        return (re + shift, im) if shift or size else (re, im)
    return tuple(wanted_part(part) for part in result.split(","))


def wanted_part(part):
    if part.startswith("?"):
        wanted = wanted_part(part[1:] if part[1:] in PI else "+" + part[1:])
        check = wanted if callable(wanted) else lambda got: same(abs(got), wanted)
        return lambda got: check(abs(got))
    return wanted_real(part, (0.0,))


def agrees(got, wanted):
    return wanted(got) if callable(wanted) else same(got, wanted)
