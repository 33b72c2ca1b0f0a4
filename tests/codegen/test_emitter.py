"""The emitter: constants, copies, splats, remembered instructions, rare paths, 16-bit floats."""

from fractions import Fraction

import kernel_harness as harness
import ml_dtypes
import numpy as np
import pytest

from jitney.codegen.constants_text import float_text, integer_text
from jitney.codegen.emitter import Emitter
from jitney.codegen.instructions import Value
from jitney.codegen.math.forms import extreme
from jitney.ir.target import CpuTarget

TARGETS = list(harness.targets())


def emitter(copies=1):
    return Emitter(harness.best_target(), copies)


def test_constants_are_exact():
    assert float_text("float", 0.1) == "0x3FB99999A0000000"
    assert float_text("double", float("-inf")) == "0xFFF0000000000000"
    assert float_text("bfloat", -0.0) == "-32768"  # bfloats are written as the bits they have
    assert integer_text("i32", 0xFFFFFFFF) == "-1"
    assert emitter().constant("float", 1.0, 8).names == ("splat (float 0x3FF0000000000000)",)


def test_only_whole_registers_are_sealed():
    target = CpuTarget(vector_bits=512, avx512=True)
    e, lanes = Emitter(target), 16
    assert e.sealed("%x", "float", lanes) == "%t1"
    assert f'call <{lanes} x float> asm ""' in e.lines[0]
    for type_, others in (("i1", 16), ("float", 2), ("float", 64), ("half", 16), ("float", 12)):
        assert e.sealed("%x", type_, others) == "%x"
    assert len(e.lines) == 1
    assert Emitter(target._replace(arch="aarch64")).sealed("%x", "float", lanes) == "%x"


def test_an_instruction_is_written_once():
    e = emitter()
    x = Value(("%x",), "float", 8)
    assert e.fadd(x, x) is not e.fadd(x, x)
    assert e.fadd(x, x).names == e.fadd(x, x).names
    assert len(e.lines) == 1
    e.reset_cse()
    e.fadd(x, x)
    assert len(e.lines) == 2


def test_copies_are_interleaved_and_common_values_written_once():
    e = emitter(copies=2)
    x = Value(("%a", "%b"), "float", 8)
    scale = e.sqrt(Value(("%s",), "float", 1))
    y = e.fmul(e.fadd(x, x), scale)
    assert len(y.names) == 2 and len(scale.names) == 1
    kinds = [line.split(" = ")[1].split()[0] for line in e.lines]
    assert kinds == ["call", "fadd", "fadd", "insertelement", "shufflevector", "fmul", "fmul"]


def test_rare_path_changes_the_block_and_keeps_what_dominates():
    e = emitter()
    x = Value(("%x",), "float", 8)
    doubled = e.fadd(x, x)
    mask = e.fcmp("ogt", x, doubled)
    r = e.rare_path(mask, doubled, lambda: e.fdiv(x, doubled))
    assert e.block != "entry"
    assert e.fadd(x, x).names == doubled.names  # still known
    assert e.fdiv(x, doubled).names not in (r.names,)  # computed on the branch only: written again


@pytest.mark.parametrize("target", TARGETS)
def test_rare_path_computes_lane_by_lane(target):
    def emit(e, x):
        one = e.like(x, 1.0)
        return e.rare_path(e.fcmp("ogt", x, one), e.fadd(x, one), lambda: e.fneg(x))

    x = np.linspace(-3, 3, 101).astype(np.float32)
    kernel = harness.compile_kernel(
        emit, ("float", "float"), copies=2, target=harness.targets()[target]
    )
    assert np.array_equal(kernel(x), np.where(x > 1, -x, x + np.float32(1)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("short", ["half", "bfloat"])
def test_short_floats_convert_as_numpy_does(short, target):
    dtype = np.float16 if short == "half" else ml_dtypes.bfloat16
    every = np.arange(1 << 16).astype(np.uint16).view(dtype)
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        x = rng.integers(0, 1 << 32, 50_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
        nudge = rng.choice([0, 2.0**-9, 2.0**-11, 2.0**-23], 1 << 16)
        near = every.astype(np.float32) * (1 + nudge)
        x = np.concatenate([x, near.astype(np.float32)])
        narrow = harness.compile_kernel(
            lambda e, v: e.fptrunc(v, short), ("float", short), target=harness.targets()[target]
        )
        widen = harness.compile_kernel(
            lambda e, v: e.fpext(v, "float"), (short, "float"), target=harness.targets()[target]
        )
        assert not harness.undefined_symbols(narrow.object_code + b"")
        assert np.array_equal(narrow(x), x.astype(dtype), equal_nan=True)
        assert np.array_equal(widen(every), every.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("target", TARGETS)
def test_double_to_half_is_rounded_once(target):
    x = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 1 + 3 * 2.0**-11 - 2.0**-40, 65519.9999999,
                  65520.0, 2.0**-25, 2.0**-25 * (1 + 2.0**-50), np.inf, -1e300])  # fmt: skip
    kernel = harness.compile_kernel(
        lambda e, v: e.fptrunc(v, "half"), ("double", "half"), target=harness.targets()[target]
    )
    with np.errstate(all="ignore"):
        assert np.array_equal(kernel(x), x.astype(np.float16))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_name", ["float", "double"])
@pytest.mark.parametrize("way", ["general", "of the target"])
def test_maximum_follows_ieee(way, type_name, target):
    dtype = harness.NUMPY_TYPES[type_name]
    tiny = np.finfo(dtype).smallest_subnormal
    few = np.array([0.0, -0.0, 1, -1, np.nan, -np.nan, np.inf, -np.inf, tiny, -tiny], dtype)
    x, y = (g.ravel() for g in np.meshgrid(few, few))
    for operation, sign in (("maximum", 1), ("minimum", -1)):
        kernel = harness.compile_kernel(
            lambda e, a, b, op=operation: getattr(e, op)(a, b) if way == "general"
            else extreme(e, op[:3], a, b),
            (type_name,) * 3,
            target=harness.targets()[target],
        )
        got = kernel(x, y)
        expected = getattr(np, operation)(x, y)
        zeros = (x == 0) & (y == 0)
        expected[zeros] = np.where(sign * np.copysign(1, x) > sign * np.copysign(1, y), x, y)[zeros]
        nan = np.isnan(x) | np.isnan(y)
        assert np.isnan(got[nan]).all()
        assert np.array_equal(got[~nan], expected[~nan])
        assert np.array_equal(np.signbit(got[~nan]), np.signbit(expected[~nan]))


@pytest.mark.parametrize("target", ["sse4", "sse2"])
def test_fma_without_the_instruction_is_nearly_exact(target):
    rng = np.random.default_rng(1)
    a = rng.standard_normal(1000)
    b = rng.standard_normal(1000)
    c = -(a * b)
    kernel = harness.compile_kernel(
        lambda e, x, y, z: e.fma(x, y, z), ("double",) * 4, target=harness.targets()[target]
    )
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c)]
    assert np.array_equal(kernel(a, b, c), exact)
