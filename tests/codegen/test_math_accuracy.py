"""Every vector function against references of higher precision, for every instruction set here."""

import kernel_harness as harness
import numpy as np
import pytest

from jitney.codegen import math as vector_math
from jitney.ir.scalar_ops import RAISED

values = pytest.importorskip("jitney.tools.reference_values")  # needs mpmath and scipy

LARGEST_ERROR = 2.0  # ulp, what docs/vector_math.md promises
TARGETS = list(harness.targets())
COMMON = ("exp", "log", "sin", "tanh", "erf", "log1p", "pow")


def build(name, type_name, target, lanes=None, copies=1):
    count = 3 if name in values.BINARY else 2
    return harness.compile_kernel(
        lambda e, *v: vector_math.evaluate(e, name, *v),
        (type_name,) * count,
        lanes,
        copies,
        harness.targets()[target],
    )


def worst(name, type_name, target, arguments, **options):
    """The largest error and where it is."""
    kernel = build(name, type_name, target, **options)
    assert not harness.undefined_symbols(kernel.object_code)
    with np.errstate(all="ignore"):
        got = kernel(*arguments)
    errors = values.scaled_error(name, got, values.reference(name, *arguments), *arguments)
    at = int(np.nanargmax(errors))
    return errors[at], [a[at] for a in arguments], got[at]


def check(name, type_name, target, arguments, **options):
    error, where, got = worst(name, type_name, target, arguments, **options)
    assert error <= LARGEST_ERROR, f"{name}{where} = {got!r}: {error} ulp"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", values.NAMES)
def test_float32_over_all_patterns(name, target):
    if name in values.BINARY:
        check(name, "float", target, values.pair_samples(np.float32, 4000))
    else:
        stride = 8 * 4099 if target == TARGETS[0] else 64 * 4099
        check(name, "float", target, (values.float32_patterns(stride),))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", values.NAMES)
def test_float64_samples(name, target):
    if name in values.BINARY:
        check(name, "double", target, values.pair_samples(np.float64, 4000))
    else:
        count = 700 if name in values.SLOW else 20_000
        check(name, "double", target, (values.float64_samples(name, count),))


@pytest.mark.parametrize("type_name", ["float", "double"])
@pytest.mark.parametrize("name", COMMON)
def test_scalars_and_copies_agree_with_the_bounds(name, type_name):
    dtype = harness.NUMPY_TYPES[type_name]
    if name in values.BINARY:
        arguments = values.pair_samples(dtype, 500)
    else:
        count = 200 if name in values.SLOW else 3000
        arguments = (values.float64_samples(name, count).astype(dtype),)
    check(name, type_name, TARGETS[0], arguments, lanes=1, copies=2)
    check(name, type_name, TARGETS[0], arguments, copies=4)


INF, NAN = np.inf, np.nan
SPECIAL_VALUES = {  # arguments and results, exact, signs of zeros included
    "lgamma": [(0.0, INF), (-0.0, INF), (1.0, 0.0), (2.0, 0.0), (-1.0, INF), (-7.0, INF),
               (-1e30, INF), (INF, INF), (-INF, INF), (NAN, NAN)],
    "digamma": [(0.0, NAN), (-0.0, NAN), (-1.0, NAN), (-8.0, NAN), (-1e30, NAN), (INF, INF),
                (-INF, NAN), (NAN, NAN)],
    "erf_inv": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN),
                (INF, NAN), (NAN, NAN)],
    "erfc": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (1e30, 0.0), (-40.0, 2.0),
             (NAN, NAN)],
    "bessel_i0e": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0), (NAN, NAN)],
    "bessel_i1e": [(0.0, 0.0), (-0.0, -0.0), (INF, 0.0), (-INF, -0.0), (NAN, NAN)],
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_name", ["float", "double"])
@pytest.mark.parametrize("name", sorted(SPECIAL_VALUES))
def test_special_values(name, type_name, target):
    dtype = harness.NUMPY_TYPES[type_name]
    x, expected = np.array(SPECIAL_VALUES[name]).astype(dtype).T
    for lanes in (None, 1) if target == TARGETS[0] else (None,):
        got = build(name, type_name, target, lanes)(np.ascontiguousarray(x))
        np.testing.assert_array_equal(got, expected)
        sign = np.signbit(got) == np.signbit(expected)
        assert (sign | np.isnan(expected)).all()


EDGES = {  # where one formula or one interval of a table ends and the next begins
    "bessel_i0e": np.arange(-16, 18) / 2,
    "bessel_i1e": np.arange(-16, 18) / 2,
    "erfc": np.array([-0.5, 0.5, 2.0, 26.5]),
    "erf_inv": np.sqrt(-np.expm1(-np.array([1.0, 5.0, 5.5, 15.0]))),
    "lgamma": np.outer(2.0 ** np.arange(-2, 5), np.arange(4, 8) / 4).ravel(),
    "digamma": np.outer(2.0 ** np.arange(-2, 5), np.arange(4, 8) / 4).ravel(),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_name", ["float", "double"])
@pytest.mark.parametrize("name", sorted(EDGES))
def test_where_formulas_meet(name, type_name, target):
    edges = EDGES[name].astype(harness.NUMPY_TYPES[type_name])[:, None]
    steps = np.arange(-2, 3).astype(edges.dtype)
    check(name, type_name, target, ((edges + steps * np.spacing(edges)).ravel(),))


LAST_FINITE = float.fromhex("0x1.754d9278b51a7p+1014")  # of log gamma
ENDS = {  # tiny and huge arguments, the largest with a finite result, numbers beside far poles
    "lgamma": [LAST_FINITE, np.nextafter(LAST_FINITE, INF), 1e308, 5e-324, -5e-324, 2.3e-308,
               1e-200, -1e-200, 2.0**52 - 0.5, -1e10 - 0.5, -(2.0**52) + 0.5, -1e5 - 1e-11],
    "digamma": [1e308, 2.0**1000, 5e-324, -5e-324, 6e-309, -6e-309, 2.3e-308, 1e-200, -1e-200,
                -1e10 - 0.5, -(2.0**52) + 0.5, -1e13 + 0.498046875, -1e5 - 1e-11],
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted(ENDS))
def test_ends_of_the_range(name, target):
    check(name, "double", target, (np.array(ENDS[name]),))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_name", ["float", "double"])
@pytest.mark.parametrize(
    "name, zero", [("lgamma", 1.0), ("lgamma", 2.0), ("digamma", 1.4616321449683622)]
)
def test_beside_positive_zeros(name, zero, type_name, target):
    dtype = harness.NUMPY_TYPES[type_name]
    x = dtype(zero) + np.arange(-40, 41).astype(dtype) * np.spacing(dtype(zero))
    wide = values.reference(name, x.astype(np.float64))  # as exact for float32 arguments
    got = build(name, type_name, target)(x)
    assert values.ulp_error(got, wide).max() <= LARGEST_ERROR


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted(set(values.NAMES) - set(values.BINARY)))
def test_float32_densely(name, target):
    for start in range(0, 64, 8):
        check(name, "float", target, (values.float32_patterns(512, start),))


@pytest.mark.parametrize("target", TARGETS)
def test_remainder_is_exact(target):
    for type_name in ("float", "double"):
        arguments = values.pair_samples(harness.NUMPY_TYPES[type_name], 3000)
        assert worst("remainder", type_name, target, arguments)[0] == 0


@pytest.mark.parametrize("target", TARGETS)
def test_sine_and_cosine_of_hard_angles(target):
    # near multiples of pi/2 and the double closest to one
    x = np.array([6381956970095103.0 * 2.0**797, 5.319372648326541e255, 1e22, 2.0**1000, np.pi,
                  11 * np.pi / 2, 355.0, 2.0**26, 2.0**26 + 1, 1.7976931348623157e308])  # fmt: skip
    x = np.concatenate([x, -x])
    for name in ("sin", "cos", "tan"):
        check(name, "double", target, (x,))
        with np.errstate(all="ignore"):
            check(name, "float", target, (x.astype(np.float32),))


@pytest.mark.parametrize("target", TARGETS)
def test_trigonometry_beside_multiples_of_half_pi(target):
    # the results are tiny there, and all the digits of pi count
    k = np.arange(1, 41_700, 7, dtype=np.longdouble)
    x = (k * np.longdouble(np.pi) / 2 + k * np.longdouble(6.123233995736766e-17)).astype(np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(0)), np.nextafter(x, np.float32(np.inf))])
    for name in ("sin", "cos", "tan"):
        check(name, "float", target, (x,))
        check(name, "double", target, (x.astype(np.float64)[:3000],))


def powers_over_the_range(dtype, count):
    """Bases beside 1 and elsewhere, and exponents for results of every size."""
    rng, info = np.random.default_rng(3), np.finfo(dtype)
    top, bottom = np.log2(float(info.max)), np.log2(float(info.smallest_subnormal))
    beside = [1 + rng.uniform(-1, 1, count) * 2.0**-places for places in (info.nmant, 12, 5, 4, 3)]
    x = np.concatenate([*beside, np.exp2(rng.uniform(bottom, top, count))]).astype(dtype)
    x = x[(x > 0) & (x != 1)]
    powers = rng.uniform(bottom - 3, top + 3, x.size)
    return x, (powers / np.log2(x.astype(np.longdouble))).astype(dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_name", ["float", "double"])
def test_powers_of_every_size(type_name, target):
    count = 40_000 if target == "avx512" else 4000
    check("pow", type_name, target, powers_over_the_range(harness.NUMPY_TYPES[type_name], count))


@pytest.mark.parametrize("type_name", ["float", "double"])
def test_powers_do_not_depend_on_the_lanes(type_name):
    x, y = powers_over_the_range(harness.NUMPY_TYPES[type_name], 500)
    expected = build("pow", type_name, TARGETS[0])(x, y)
    for lanes in (1, 2, 4, 8):
        got = build("pow", type_name, TARGETS[0], lanes)(x, y)
        np.testing.assert_array_equal(got, expected)


FLOAT_EDGES = {  # where a formula ends, and arguments at which cancellation would show
    "acosh": [1.0, 1.1252, 1.1270, 1.25, 2.125, 1e19, 3.4028235e38],
    "asinh": [1e-42, 2.0**-12, 0.75, 1.1527, 1.875, 3.4984, 1e19, 3.4028235e38],
    "atanh": [1e-42, 2.0**-12, 0.3, 0.333333, 0.5737, 0.6, 1 - 2.0**-22, 1.0, 1.0000001],
    "cbrt": [1e-45, 1.1754942e-38, 0.75, 1.4999999, 1.5, 8.0, 27.0, 3.4028235e38],
    "log2": [1e-45, 0.75, 0.984375, 1.0, 1.03125, 1.5, 3.4028235e38],
    "tan": [1e-45, 0.78539819, 1.5707964, 26860.617, 1807.9866, 110029.57, 131072.0, 2.0**26],
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted(FLOAT_EDGES))
def test_floats_beside_the_edges(name, target):
    patterns = np.array(FLOAT_EDGES[name], np.float32).view(np.int32)[:, None]
    steps = np.arange(-3000, 3001, dtype=np.int32)
    x = np.unique(np.clip(patterns.astype(np.int64) + steps, 0, 0x7FC00000))
    x = x.astype(np.int32).view(np.float32)
    check(name, "float", target, (np.concatenate([x, -x]),))


def test_cosine_never_exceeds_one():
    x = np.linspace(-0.01, 0.01, 20_001).astype(np.float32)
    for target in TARGETS:
        assert np.abs(build("cos", "float", target)(x)).max() <= 1


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_name", ["half", "bfloat"])
def test_short_floats_are_computed_in_float32(type_name, target):
    dtype = harness.NUMPY_TYPES[type_name]
    x = np.arange(1 << 16).astype(np.uint16).view(dtype)
    for name in ("exp", "tanh", "sin"):
        kernel = build(name, type_name, target)
        with np.errstate(all="ignore"):
            wide = build(name, "float", target)(x.astype(np.float32))
            expected = wide.astype(dtype)
        got = kernel(x)
        same = (got == expected) | (np.isnan(got) & np.isnan(expected))
        assert same.all()


def distances():
    """Numbers not above 0 that were rounded, as differences are."""
    return np.concatenate([np.linspace(-131, 0, 60_001), -np.geomspace(1e-30, 131, 5001)])


DISTANCES = [
    "exp_raised", "exp_raised_any", "exp_raised_kept", "exp_raised_kept_any", "exp_distance",
    "exp_distance_any",
]  # fmt: skip


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("lanes", [None, 1])
@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("target", TARGETS)
def test_exponential_of_a_distance(name, target, lanes, copies):
    """It is off by two ulp (two and a half if it is a product) and, with AVX-512, by what float32
    has not of log2(e)."""
    x = np.append(distances(), [0.0, -0.0]).astype(np.float32)
    got = build(name, "float", target, lanes=lanes, copies=copies)(x)
    exact = np.exp(x.astype(float)) * (2.0**RAISED if "raised" in name else 1)
    unit = np.spacing(np.maximum(exact, 2.0**-126).astype(np.float32))
    errors = (np.abs(got - exact) - np.abs(x) * 2.0**-26 * exact) / unit
    assert errors.max() <= LARGEST_ERROR + 0.5 * ("raised" in name)
    assert (got[-2:] == exact[-2:]).all()


@pytest.mark.parametrize("lanes", [None, 1])
@pytest.mark.parametrize("target", TARGETS)
def test_raised_exponential_far_away(target, lanes):
    x = np.array([-131.5, -200, -1e9, -3e38, -np.inf, np.nan], np.float32)
    for name in ("exp_raised", "exp_raised_any"):
        got = build(name, "float", target, lanes=lanes)(x)
        assert (got[:-1] >= 0).all() and (got[:-1] <= 2.0**-124).all() and np.isnan(got[-1])
    above = np.array([0.5, 39, 41, 1e3, 1e30, np.inf], np.float32)
    got = build("exp_raised_any", "float", target, lanes=lanes)(above)
    assert (got > 0).all()  # not NaN


@pytest.mark.parametrize("target", TARGETS)
def test_distance_far_away(target):
    x = np.array([-110, -1e9, -3e38, -np.inf, np.nan], np.float32)
    for name in ("exp_distance", "exp_distance_any", "exp_raised_kept", "exp_raised_kept_any"):
        x[0] = -140 if "raised" in name else -110
        got = build(name, "float", target)(x)
        assert (got[:-1] == 0).all() and np.isnan(got[-1])


@pytest.mark.parametrize("lanes", [None, 1])
@pytest.mark.parametrize("target", TARGETS)
def test_distance_above(target, lanes):
    """Right as far as a guess may be good, then as great, or greater. AVX-512 leaves out what
    float32 has not of log2(e): up to |x| 2^-26 (see `exp_distance`)."""
    x = np.linspace(0, 40, 20_001).astype(np.float32)
    above = np.array([40.5, 41, 50, 88, 89, 200, 1e9, 3e38, np.inf], np.float32)
    for name, power in (("exp_distance_any", 1.0), ("exp_raised_kept_any", 2.0**RAISED)):
        function = build(name, "float", target, lanes=lanes)
        exact = power * np.exp(x.astype(float))
        most = 2.0**-22 + x * 2.0**-26 if "avx512" in str(target) else np.full(x.shape, 2.0**-21)
        assert (np.abs(function(x) / exact - 1) <= most).all()
        assert (function(above) > 2e17 * power).all()


@pytest.mark.parametrize("type_name", ["float", "double"])
@pytest.mark.parametrize("target", TARGETS)
def test_exponential_of_any_size(type_name, target):
    dtype = harness.NUMPY_TYPES[type_name]
    x = np.array([-np.inf, -3e38, -1e9, -1e5, -800, 800, 1e5, 1e9, 3e38, np.inf, np.nan], dtype)
    got = build("exp", type_name, target)(x)
    np.testing.assert_array_equal(got, [0] * 5 + [np.inf] * 5 + [np.nan])
