"""Programs that between them use every primitive that has a StableHLO form.

A row is (name, function, arguments, tolerance, x64); the tolerance is in units of the result
dtype's epsilon, relative to the greatest magnitude of 1 and the value; 0 asks for equality.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.core.primitive import named
from jitney.lax.identity import copy_p
from jitney.lax.partition import argpartition, partition
from jitney.lax.random_bits import (
    random_bits,
    random_fold_in,
    random_seed,
    random_split,
    random_unwrap,
    random_wrap,
)


class Program(NamedTuple):
    name: str
    fun: Any
    args: tuple
    tolerance: float = 8.0
    x64: bool = False
    expected: Any = None              # what the result is, where there is no NumPy reference


RNG = np.random.default_rng(0)
V = np.array([-2.5, -1.0, -0.3, 0.0, 0.5, 0.9, 1.5, 4.0], np.float32)
W = np.array([1.5, -0.5, 2.0, 3.0, -0.25, 0.75, 1.0, -2.0], np.float32)
UNIT = np.array([-0.9, -0.5, -0.1, 0.0, 0.2, 0.6, 0.95], np.float32)
POSITIVE = np.array([0.1, 0.5, 1.0, 1.5, 3.0, 20.0], np.float32)
ABOVE = np.array([1.0, 1.5, 3.0, 20.0], np.float32)
Z = (V + 1j * W).astype(np.complex64)
Y = (W - 0.5j * V).astype(np.complex64)
I = np.array([5, -3, 0, 7, -128, 127, 1, 2], np.int32)
J = np.array([2, 2, 0, -3, -1, 5, 31, 40], np.int32)
U = I.astype(np.uint32)
S8, U8 = I.astype(np.int8), I.astype(np.uint8)
B = V > 0
M = RNG.normal(size=(4, 5)).astype(np.float32)
N = RNG.normal(size=(5, 3)).astype(np.float32)
T = RNG.normal(size=(2, 3, 4)).astype(np.float32)
SPECIAL = np.array([np.nan, -np.inf, np.inf, -0.0, 0.0, 1.5, -np.nan, 1e-30], np.float32)
BF = V.astype(ml_dtypes.bfloat16)
H = V.astype(np.float16)


def _rows(names: str, args: tuple, tolerance: float = 8.0, tag: str = "", x64: bool = False):
    return [Program(f"{name}{tag}", getattr(lax, name), args, tolerance, x64)
            for name in names.split()]


ELEMENTWISE = [
    *_rows("neg floor ceil sign abs exp expm1 logistic sin cos tan tanh atan sinh cosh asinh cbrt "
           "erf erfc is_finite square exp2 round", (V,)),
    *_rows("log sqrt rsqrt lgamma digamma", (POSITIVE,), 16),
    *_rows("log1p asin acos atanh erf_inv", (UNIT,), 16),
    *_rows("acosh", (ABOVE,)),
    *_rows("bessel_i0e bessel_i1e", (np.linspace(-30, 30, 41).astype(np.float32),), 32),
    *_rows("add sub mul div rem max min atan2 nextafter eq ne lt le gt ge", (V, W)),
    *_rows("add sub mul div max min eq ne", (Z, Y), 16, "_complex"),
    *_rows("neg sign abs exp log sin cos tanh sqrt rsqrt logistic expm1 log1p real imag conj "
           "asin acos atan sinh square", (Z,), 64, "_complex"),
    *_rows("conj", (V,), 0, "_of_real"),
    *_rows("add sub mul max min div rem bitwise_and bitwise_or bitwise_xor shift_left "
           "shift_right_logical shift_right_arithmetic mulhi lt", (I, J), 0, "_int"),
    *_rows("add sub mul div rem max shift_right_logical shift_right_arithmetic mulhi ge",
           (U8, U8[::-1].copy()), 0, "_uint8"),
    *_rows("bitwise_not population_count clz sign abs neg square", (I,), 0, "_int"),
    *_rows("sign bitwise_not population_count clz", (U,), 0, "_uint"),
    *_rows("bitwise_not", (B,), 0, "_bool"),
    *_rows("bitwise_and bitwise_or bitwise_xor eq lt max min", (B, B[::-1].copy()), 0, "_bool"),
    *_rows("exp log1p tanh erf lgamma erf_inv sin", (BF / BF.dtype.type(8),), 2, "_bf16"),
    *_rows("exp tanh sqrt sign floor", (np.abs(H),), 2, "_f16"),
    *_rows("exp sin erf erf_inv lgamma", (UNIT.astype(np.float64),), 64, "_f64", True),
    *_rows("bessel_i0e", (np.linspace(-30, 30, 41),), 64, "_f64", True),
    *_rows("exp sqrt abs", (Z.astype(np.complex128),), 64, "_c128", True),
    *_rows("add mul mulhi div", (I.astype(np.int64), J.astype(np.int64)), 0, "_i64", True),
    *_rows("add mul mulhi", (U.astype(np.uint64), U.astype(np.uint64)), 0, "_u64", True),
    Program("round_even", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), (V,), 0),
    Program("pow", lax.pow, (POSITIVE, W[:6]), 32),
    Program("pow_int", lambda x: lax.pow(x, np.int32(3)), (V,), 16),
    Program("integer_pow", lambda x: [lax.integer_pow(x, y) for y in (0, 1, 2, 5, -1, -3)],
            (W,), 8),
    Program("integer_pow_int", lambda x: lax.integer_pow(x, 5), (I,), 0),
    Program("integer_pow_complex", lambda x: lax.integer_pow(x, -2), (Y,), 16),
    Program("mul_out_dtype", lambda x: lax.mul(x, x, out_dtype="int32"), (S8,), 0),
    Program("add_any", lax.add_any_p.bind, (V, W), 0),
    Program("scalars", lambda x: lax.add(lax.mul(x, 2.0), 1.0), (V,), 0),
    Program("accuracy", lambda x: lax.exp(x, accuracy=lax.AccuracyMode.DEFAULT), (V,), 8),
    Program("polygamma", lambda x: lax.polygamma(np.float32(2) * np.ones_like(POSITIVE), x),
            (POSITIVE,), 64),
    Program("zeta", lax.zeta, (ABOVE + 1, ABOVE), 64),
    Program("select", lambda p, x, y: lax.select(p, x, y), (B, V, W), 0),
    Program("select_scalar", lambda p, x, y: lax.select(p, x, y), (np.bool_(True), V, W), 0),
    Program("select_n", lambda w, x, y: lax.select_n(w, x, y, lax.neg(x), lax.neg(y)),
            (np.array([0, 1, 2, 3, -1, 9, 1, 0], np.int32), V, W), 0),
    Program("clamp", lambda x: lax.clamp(-1.0, x, 1.0), (V,), 0),
    Program("clamp_arrays", lambda x, y: lax.clamp(y, x, lax.add(y, 1.0)), (V, W), 0),
    Program("special_values", lambda x: [lax.max(x, 0.0), lax.min(x, 0.0), lax.sign(x),
                                         lax.abs(x), lax.is_finite(x)], (SPECIAL,), 0),
    Program("total_order", lambda x, y: [lax.compare.lt_to_p.bind(x, y),
                                         lax.compare.eq_to_p.bind(x, y),
                                         lax.compare.le_to_p.bind(x, y)],
            (SPECIAL, SPECIAL[::-1].copy()), 0),
]

A = np.array([0.1, 0.5, 1.5, 3.0, 20.0, 2.0, 0.0, -1.0, 5.0, 100.0, np.nan], np.float32)
X = np.array([0.3, 0.3, 2.0, 1.0, 25.0, 7.0, 1.0, 2.0, 0.0, 90.0, 1.0], np.float32)
P = np.array([0.1, 0.5, 0.9, 0.7, 0.5, 0.2, 0.3, 0.4, 1.0, 0.4, 0.5], np.float32)
SPECIAL_FUNCTIONS = [
    *_rows("igamma igammac", (A, X), 128), *_rows("igamma_grad_a", (A, X), 256),
    *_rows("random_gamma_grad", (A, X), 2048),
    *_rows("igamma igammac igamma_grad_a", (A.astype(np.float64), X.astype(np.float64)), 2048,
           "_f64", True),
    *_rows("igamma", (A.astype(np.float16)[:6], X.astype(np.float16)[:6]), 2, "_f16"),
    *_rows("betainc", (A, np.abs(X), P), 256),
    *_rows("betainc", (A.astype(np.float64), np.abs(X).astype(np.float64), P.astype(np.float64)),
           4096, "_f64", True),
    *_rows("igamma", (np.float32(1.5), np.float32(0.5)), 32, "_scalars"),
]

_TARGETS = ("bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32",
            "complex64", "int16", "uint16")
CONVERSIONS = [
    *[Program(f"convert_{a}", lambda x: [lax.convert_element_type(x, t) for t in _TARGETS],
              (V.astype(getattr(ml_dtypes, a, a)),), 0)
      for a in ("float32", "bfloat16", "float16", "bool")],
    Program("convert_ints", lambda x: [lax.convert_element_type(x, t) for t in _TARGETS], (I,), 0),
    Program("convert_unsigned", lambda x: [lax.convert_element_type(x, t) for t in _TARGETS],
            (U8,), 0),
    Program("convert_outside", lambda x: [lax.convert_element_type(x, "int32"),
                                          lax.convert_element_type(x, bool)],
            (np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, 0.0, -0.0], np.float32),), 0),
    Program("convert_small_floats", lambda x: lax.convert_element_type(
        lax.convert_element_type(x, ml_dtypes.float8_e4m3fn), "float32"), (V,), 0),
    Program("convert_int4", lambda x: lax.convert_element_type(
        lax.convert_element_type(x, ml_dtypes.int4), "int32"), (np.arange(-8, 8, dtype=np.int32),),
        0),
    Program("bitcast", lambda x: lax.bitcast_convert_type(x, "int32"), (SPECIAL,), 0),
    Program("bitcast_narrow", lambda x: lax.bitcast_convert_type(x, "uint8"), (V,), 0),
    Program("bitcast_wide", lambda x: lax.bitcast_convert_type(x, "uint32"),
            (np.arange(8, dtype=np.uint8).reshape(2, 4),), 0),
    Program("reduce_precision", lambda x: lax.reduce_precision(x, 5, 3), (V,), 0),
    Program("complex", lambda x, y: lax.complex(x, y), (V, W), 0),
]

SHAPES = [
    Program("broadcast", lambda x: lax.broadcast_in_dim(x, (3, 4, 5), (1, 2)), (M,), 0),
    Program("broadcast_ones", lambda x: lax.broadcast_in_dim(x, (4, 5), (0, 1)), (M[:, :1],), 0),
    Program("reshape", lambda x: lax.reshape(x, (2, 10)), (M,), 0),
    Program("reshape_permuted", lambda x: lax.reshape(x, (2, 10), (1, 0)), (M,), 0),
    Program("squeeze", lambda x: lax.squeeze(x, (1,)), (M[:, :1],), 0),
    Program("expand_dims", lambda x: lax.expand_dims(x, (0, 2)), (M,), 0),
    Program("transpose", lambda x: lax.transpose(x, (2, 0, 1)), (T,), 0),
    Program("rev", lambda x: lax.rev(x, (0, 2)), (T,), 0),
    Program("tile", lambda x: lax.tile(x, (2, 3)), (M,), 0),
    Program("iota", lambda: [lax.iota("float32", 4), lax.broadcasted_iota("int32", (2, 3), 1),
                             lax.iota("complex64", 3), lax.iota("uint8", 3)], (), 0),
    Program("full", lambda x: [lax.full((2, 3), x), lax.full((0, 3), 1.5), lax.full((), 2)],
            (np.float32(2.5),), 0),
    Program("slice", lambda x: lax.slice(x, (1, 0), (4, 5), (2, 3)), (M,), 0),
    Program("dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3)),
            (M, np.int32(3)), 0),
    Program("dynamic_slice_negative", lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3)),
            (M, np.int32(-1)), 0),
    Program("dynamic_slice_uint", lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3)),
            (M, np.uint8(200)), 0),
    Program("dynamic_update_slice", lambda x, u, i: lax.dynamic_update_slice(x, u, (i, i)),
            (M, N[:2, :2], np.int32(3)), 0),
    Program("pad", lambda x: lax.pad(x, 0.5, ((1, 2, 1), (-1, -2, 0))), (M,), 0),
    Program("concatenate", lambda x, y: lax.concatenate([x, y, x], 1), (M, N[:4]), 0),
    Program("stack", lambda x: lax.stack([x, lax.neg(x)], 1), (M,), 0),
    Program("unstack", lambda x: lax.unstack(x, 1), (T,), 0),
    Program("split", lambda x: lax.split(x, (1, 0, 4), 1), (M,), 0),
    Program("barrier", lambda x, y: lax.optimization_barrier((x, y)), (V, I), 0),
    Program("copy", lambda x: lax.stop_gradient(copy_p.bind(x)), (V,), 0),
    Program("zero_size", lambda x: [lax.add(x, 1.0), lax.reduce_sum(x, (0,)),
                                    lax.cumsum(x, 0), lax.transpose(x, (1, 0))],
            (np.zeros((0, 3), np.float32),), 0),
    Program("sink", lambda x: [lax.dce_sink(x), lax.neg(x)][1:], (V,), 0),
    Program("empty", lambda: lax.mul(lax.empty((2, 2), "float32"), 0.0), (), 0),
]

BITS = np.array([[True, False], [True, True]])
REDUCTIONS = [
    *[Program(f"reduce_{n}", lambda x, n=n: getattr(lax, f"reduce_{n}")(x, (0, 2)), (T,), 16)
      for n in ("sum", "prod", "max", "min")],
    *[Program(f"reduce_{n}_int", lambda x, n=n: getattr(lax, f"reduce_{n}")(x, (1,)),
              (I.reshape(2, 4),), 0) for n in ("sum", "prod", "max", "min", "and", "or", "xor")],
    *[Program(f"reduce_{n}_uint", lambda x, n=n: getattr(lax, f"reduce_{n}")(x, (0,)),
              (U8.reshape(2, 4),), 0) for n in ("sum", "max", "min", "and", "xor")],
    *[Program(f"reduce_{n}_bool", lambda x, n=n: getattr(lax, f"reduce_{n}")(x, (0,)),
              (BITS,), 0) for n in ("and", "or", "xor", "max", "min")],
    *[Program(f"reduce_{n}_complex", lambda x, n=n: getattr(lax, f"reduce_{n}")(x, (0,)),
              (Z.reshape(4, 2),), 32) for n in ("sum", "prod")],
    Program("reduce_max_nan", lambda x: [lax.reduce_max(x, (0,)), lax.reduce_min(x, (0,))],
            (SPECIAL,), 0),
    Program("reduce_of_nothing", lambda x: [lax.reduce_max(x, (0,)), lax.reduce_min(x, (0,)),
                                            lax.reduce_prod(x, (0,))],
            (np.zeros((0, 2), np.float32),), 0),
    Program("reduce_bf16", lambda x: lax.reduce_max(x, (0,)), (BF,), 0),
    Program("reduce_function", lambda x: lax.reduce(x, 1.0, lambda a, b: a * b * 1.5 / 1.5, (0,)),
            (M,), 16),
    Program("reduce_two", lambda x, i: lax.reduce(
        (x, i), (-np.inf, np.int32(0)),
        lambda a, b: (lax.max(a[0], b[0]), lax.add(a[1], b[1])), (0,)), (V, I), 0),
    *[Program(f"{n}{k}", lambda x, n=n: getattr(lax, n)(x, 0, "int32"), (a,), 0)
      for n in ("argmax", "argmin")
      for k, a in (("", M), ("_nan", SPECIAL), ("_bool", B), ("_uint8", U8), ("_ties", V * 0))],
    *[Program(f"{n}{'_reverse' if r else ''}",
              lambda x, n=n, r=r: getattr(lax, n)(x, 1, r), (T,), 32)
      for n in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp") for r in (False, True)],
    *[Program(f"{n}_int", lambda x, n=n: getattr(lax, n)(x, 0), (I,), 0)
      for n in ("cumsum", "cumprod", "cummax", "cummin")],
    Program("cumlogsumexp_infinite", lambda x: lax.cumlogsumexp(x, 0),
            (np.array([-np.inf, -np.inf, 1.0, 2.0, np.inf], np.float32),), 8),
    Program("cumlogsumexp_complex", lambda x: lax.cumlogsumexp(x, 0), (Z / 4,), 64),
    Program("cumsum_long", lambda x: lax.cumsum(x, 0), (np.arange(300, dtype=np.int32),), 0),
    *[Program(f"reduce_window_{n}", lambda x, c=c, i=i: lax.reduce_window(
        x, i, c, (2, 3), (1, 2), ((1, 0), (0, 1)), (1, 2), (2, 1)), (M,), 8)
      for n, c, i in (("sum", lax.add, 0.0), ("max", lax.max, -np.inf), ("min", lax.min, np.inf),
                      ("generic", lambda a, b: a * b, 1.0))],
    *[Program(f"select_and_gather_{n}", lambda t, x, n=n: lax.select_and_gather_add_p.bind(
        t, x, select_prim=named(n), window_dimensions=(2, 3), window_strides=(1, 2),
        padding=((1, 0), (0, 1)), base_dilation=(1, 1), window_dilation=(1, 1)),
        (M, M[::-1].copy()), 0) for n in ("ge", "le")],
    *[Program(f"select_and_scatter_{n}_{p[0][0]}", lambda s, x, n=n, p=p:
              lax.select_and_scatter_add_p.bind(
                  s, x, select_prim=named(n), window_dimensions=(2, 2), window_strides=(1, 1),
                  padding=p), (RNG.normal(size=(3 + p[0][0], 4 + p[1][1])).astype(np.float32), M),
              8) for n in ("ge", "le") for p in (((0, 0), (0, 0)), ((1, 0), (0, 1)))],
    Program("reduce_window_sum_int", lambda x: lax.reduce_window(
        x, np.int32(0), lax.add, (3,), (1,), "SAME"), (I,), 0),
]

NUMBERS = lax.GatherDimensionNumbers
ROWS = np.array([[0], [3], [-1], [2], [9]], np.int32)
BLOCKS = np.array([[0, 0], [3, 4], [1, 2], [-1, 0]], np.int32)
BATCHED = NUMBERS((), (1,), (1,), (0,), (0,))


def _gather_rows(mode):
    return lambda x, i: lax.gather(x, i, NUMBERS((1,), (0,), (0,)), (1, 5), mode=mode)


def _gather_blocks(mode):
    return lambda x, i: lax.gather(x, i, NUMBERS((1, 2), (), (0, 1)), (2, 3), mode=mode)


def _scatter_rows(name, mode):
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return lambda x, i, u: getattr(lax, name)(x, i, u, numbers, mode=mode)


UPDATES = RNG.normal(size=(5, 5)).astype(np.float32)
BLOCK_UPDATES = RNG.normal(size=(4, 2, 3)).astype(np.float32)
INDEXING = [
    *[Program(f"gather_{m}", _gather_rows(m), (M, ROWS), 0) for m in ("clip", "fill")],
    *[Program(f"gather_blocks_{m}", _gather_blocks(m), (M, BLOCKS), 0) for m in ("clip", "fill")],
    Program("gather_int_fill", _gather_rows("fill"), (M.astype(np.int32), ROWS), 0),
    Program("gather_uint8", _gather_rows("fill"), (M, ROWS.astype(np.uint8)), 0),
    Program("gather_int8_long", lambda x, i: lax.gather(x, i, NUMBERS((), (0,), (0,)), (1,),
                                                        mode="clip"),
            (np.arange(300, dtype=np.float32), np.array([[5], [-1], [127]], np.int8)), 0),
    Program("gather_batched", lambda x, i: lax.gather(x, i, BATCHED, (1, 1), mode="clip"),
            (M, np.array([[0], [4], [2], [1]], np.int32)), 0),
    *[Program(f"{n}_{m}", _scatter_rows(n, m), (M, ROWS, UPDATES), 4)
      for n in ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min",
                "scatter_max") for m in ("clip", "drop")],
    *[Program(f"scatter_blocks_{m}", lambda x, i, u, m=m: lax.scatter_add(
        x, i, u, lax.ScatterDimensionNumbers((1, 2), (), (0, 1)), mode=m),
        (M, BLOCKS, BLOCK_UPDATES), 4) for m in ("clip", "drop")],
    Program("scatter_uint8", _scatter_rows("scatter_add", "drop"),
            (M, ROWS.astype(np.uint8), UPDATES), 4),
    Program("scatter_uint32", _scatter_rows("scatter_add", "drop"),
            (M, ROWS.astype(np.uint32), UPDATES), 4),
    Program("scatter_batched", lambda x, i, u: lax.scatter_add(
        x, i, u, lax.ScatterDimensionNumbers((), (1,), (1,), (0,), (0,)), mode="drop"),
        (M, np.array([[0], [4], [2], [9]], np.int32), M[:, 0]), 4),
    Program("scatter_apply", lambda x, i: lax.scatter_apply(
        x, i, lambda y: lax.mul(y, 2.0), lax.ScatterDimensionNumbers((1,), (0,), (0,)),
        update_shape=(2, 5)), (M, ROWS[:2]), 4),
    Program("index_take", lambda x, i: lax.index_take(x, (i,), (0,)), (M, ROWS[:, 0]), 0),
]

SORTING = [
    Program("sort", lambda x: lax.sort(x, 1), (M,), 0),
    Program("partition", lambda x: partition(x, 1, 1)[:, 1], (M,), 0),
    Program("argpartition", lambda x: jnp.take_along_axis(x, argpartition(x, 1, 1), 1)[:, 1],
            (M,), 0),
    Program("sort_special", lambda x: lax.is_finite(lax.sort(x)), (SPECIAL,), 0),
    Program("sort_int", lambda x: lax.sort(x), (I,), 0),
    Program("sort_bool", lambda x: lax.sort(x), (B,), 0),
    Program("sort_complex", lambda x: lax.sort(x), (Z,), 0),
    Program("sort_bf16", lambda x: lax.sort(x), (BF[::-1].copy(),), 0),
    Program("sort_key_val", lambda x, i: lax.sort_key_val(x, i), (W, I), 0),
    Program("sort_two_keys", lambda x, y, i: lax.sort((x, y, i), num_keys=2),
            (np.floor(V), W, I), 0),
    Program("top_k", lambda x: lax.top_k(x, 3), (M,), 0),
    Program("top_k_axis", lambda x: lax.top_k(x, 2, axis=0), (M,), 0),
    Program("top_k_special", lambda x: lax.top_k(x, 5)[1], (SPECIAL[1:6],), 0),
    Program("top_k_int", lambda x: lax.top_k(x, 3), (I,), 0),
    Program("approx_max_k", lambda x: lax.approx_max_k(x, 2), (M,), 0),
    Program("approx_min_k", lambda x: lax.approx_min_k(x, 2, reduction_dimension=0), (M,), 0),
]

IMAGE = RNG.normal(size=(2, 4, 7, 6)).astype(np.float32)
KERNEL = RNG.normal(size=(6, 4, 3, 2)).astype(np.float32)
CONTRACTIONS = [
    Program("dot", lambda x, y: lax.dot(x, y), (M, N), 16),
    Program("dot_precision", lambda x, y: lax.dot(x, y, precision="highest"), (M, N), 16),
    Program("dot_algorithm", lambda x, y: lax.dot(
        x, y, precision=lax.DotAlgorithmPreset.F32_F32_F32), (M, N), 16),
    Program("dot_batched", lambda x, y: lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))),
            (T, RNG.normal(size=(2, 4, 3)).astype(np.float32)), 16),
    Program("dot_outer", lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))), (V, W), 4),
    Program("dot_int", lambda x, y: lax.dot(x, y), (I.reshape(2, 4), J.reshape(4, 2)), 0),
    Program("dot_int8_to_int32", lambda x, y: lax.dot(x, y, preferred_element_type="int32"),
            (S8.reshape(2, 4), S8.reshape(4, 2)), 0),
    Program("dot_complex", lambda x, y: lax.dot(x, y), (Z.reshape(2, 4), Y.reshape(4, 2)), 32),
    Program("dot_bf16_to_f32", lambda x, y: lax.dot(x, y, preferred_element_type="float32"),
            (BF.reshape(2, 4), BF.reshape(4, 2)), 16),
    Program("dot_bool", lambda x, y: lax.dot(x, y), (B.reshape(2, 4), B.reshape(4, 2)), 0),
    Program("conv", lambda x, k: lax.conv_general_dilated(x, k, (1, 2), "SAME"),
            (IMAGE, KERNEL), 64),
    Program("conv_dilated", lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), ((2, 1), (0, -1)), (2, 1), (1, 2)), (IMAGE, KERNEL), 64),
    Program("conv_layout", lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        (IMAGE.transpose(0, 2, 3, 1).copy(), KERNEL.transpose(2, 3, 1, 0).copy()), 64),
    Program("conv_groups", lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), "VALID", feature_group_count=2), (IMAGE, KERNEL[:, :2].copy()), 64),
    Program("conv_batch_groups", lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), "VALID", batch_group_count=2), (IMAGE, KERNEL), 64),
    Program("conv_1d_complex", lambda x, k: lax.conv_general_dilated(x, k, (1,), "SAME"),
            (Z.reshape(1, 2, 4), Y.reshape(2, 2, 2)), 64),
    Program("conv_int", lambda x, k: lax.conv_general_dilated(
        x, k, (1,), "SAME", preferred_element_type="int32"),
        (S8.reshape(1, 2, 4), S8.reshape(2, 2, 2)), 0),
]

KEY = np.array([12, 34], np.uint32)
KEYS = np.arange(6, dtype=np.uint32).reshape(3, 2)


def _wrap(raw, impl="threefry2x32"):
    return random_wrap(raw, impl=impl)


CAPTURED = _wrap(KEYS)
KEY_MOVES = [
    (lambda x: lax.slice(x, (1,), (3,)), lambda k: k[1:3]),
    (lambda x: lax.rev(x, (0,)), lambda k: k[::-1]),
    (lambda x: lax.reshape(x, (3, 1)), lambda k: k.reshape(3, 1, 2)),
    (lambda x: lax.concatenate([x, x], 0), lambda k: np.concatenate([k, k])),
    (lambda x: lax.broadcast_in_dim(x, (2, 3), (1,)), lambda k: np.stack([k, k])),
    (lambda x: lax.dynamic_slice(x, (np.int32(1),), (1,)), lambda k: k[1:2]),
    (lambda x: lax.select(np.array([True, False, True]), x, lax.rev(x, (0,))),
     lambda k: np.stack([k[0], k[1], k[2]])),
    (lambda x: named("random_clone").bind(x), lambda k: k),
    (lambda x: lax.unstack(x, 0)[2], lambda k: k[2]),
]
RANDOM = [
    Program("seed", lambda s: random_unwrap(random_seed(s, "threefry2x32")), (np.int32(-7),), 0),
    Program("key_split", lambda k: random_unwrap(random_split(_wrap(k), (3,))), (KEY,), 0),
    Program("fold_in", lambda k: random_unwrap(random_fold_in(_wrap(k), np.uint32(5))), (KEY,), 0),
    *[Program(f"bits_{w}", lambda k, w=w: random_bits(_wrap(k), w, (3, 2)), (KEY,), 0, w == 64)
      for w in (8, 16, 32, 64)],
    Program("bits_many_keys", lambda k: random_bits(_wrap(k), 32, (4,)), (KEYS,), 0),
    Program("threefry", lambda k, c: lax.threefry.threefry2x32(k, k, c, lax.add(c, np.uint32(1))),
            (np.uint32(3), np.arange(5, dtype=np.uint32)), 0),
    Program("rbg", lambda k: random_bits(_wrap(k, "rbg"), 32, (5,)),
            (np.arange(4, dtype=np.uint32),), 0),
    Program("rng_bit_generator", lambda k: lax.rng_bit_generator(k, (6,), "uint32"),
            (np.arange(4, dtype=np.uint32),), 0),
    Program("keys_moved", lambda k: [random_unwrap(f(_wrap(k))) for f, _ in KEY_MOVES], (KEYS,), 0,
            expected=lambda k: [move(k) for _, move in KEY_MOVES]),
    Program("rng_uniform", lambda a: lax.ge(lax.rng_uniform(a, np.float32(3), (2, 2)), 1.0),
            (np.float32(1),), 0),
    Program("captured_keys", lambda x: lax.add(random_bits(CAPTURED, 32, (2,)), x),
            (np.uint32(3),), 0,
            expected=lambda x: [np.asarray(random_bits(CAPTURED, 32, (2,))) + x]),
    Program("keys_compared", lambda k: [lax.eq(_wrap(k), lax.rev(_wrap(k), (0,))),
                                        lax.ne(_wrap(k), lax.rev(_wrap(k), (0,)))], (KEYS,), 0,
            expected=lambda k: [(k == k[::-1]).all(-1), (k != k[::-1]).any(-1)]),
]

CONTROL_FLOW = [
    Program("while", lambda x, step: lax.while_loop(
        lambda c: lax.lt(c[0], 50.0), lambda c: (lax.mul(c[0], step), lax.add(c[1], 1)), (x, 0)),
        (np.float32(1), np.float32(2)), 0),
    Program("fori_loop", lambda x: lax.fori_loop(
        0, 4, lambda i, c: lax.add(c, lax.convert_element_type(i, "float32")), x), (V,), 0),
    Program("fori_loop_traced", lambda n, x: lax.fori_loop(0, n, lambda i, c: lax.mul(c, 2.0), x),
            (np.int32(5), V), 0),
    *[Program(f"scan{'_reverse' if r else ''}", lambda c, x, r=r: lax.scan(
        lambda c, x: (lax.add(lax.mul(c, 0.5), x), lax.mul(c, x)), c, x, reverse=r),
        (M[0], M), 4) for r in (False, True)],
    Program("scan_of_nothing", lambda c: lax.scan(lambda c, x: (c, lax.mul(c, x)), c,
                                                  np.zeros((0, 5), np.float32)), (M[0],), 0),
    Program("scan_length", lambda c: lax.scan(lambda c, _: (lax.mul(c, 2.0), c), c, None, 3),
            (M[0],), 0),
    Program("scan_of_complex", lambda c, x: lax.scan(lambda c, x: (lax.mul(c, x), c), c, x),
            (Z[0], Y), 64),
    Program("scan_of_keys", lambda k: lax.scan(
        lambda c, k: (c, random_bits(k, 32, (2,))), np.int32(0), _wrap(k))[1], (KEYS,), 0,
        expected=lambda k: [np.asarray(random_bits(_wrap(k), 32, (2,)))]),
    Program("map", lambda x: lax.map(lambda r: lax.reduce_sum(r, (0,)), x), (M,), 4),
    Program("associative_scan", lambda x: lax.associative_scan(lax.mul, x), (V,), 8),
    Program("cond", lambda p, x: lax.cond(p, lax.sin, lax.cos, x), (np.bool_(True), V), 8),
    *[Program(f"switch_{i}", lambda i, x: lax.switch(i, [lax.neg, lax.square, lax.abs], x),
              (np.int32(i), V), 0) for i in (-3, 0, 1, 9)],
    Program("loop_in_branch_in_loop", lambda n, x: lax.fori_loop(0, n, lambda i, c: lax.cond(
        lax.gt(i, 1), lambda c: lax.fori_loop(0, i, lambda j, d: lax.add(d, 1.0), c), lax.neg, c),
        x), (np.int32(4), V), 0),
    Program("platform_dependent", lambda x: lax.platform_dependent(
        x, tpu=lax.cos, cpu=lax.neg, default=lax.sin), (V,), 0),
]

PROGRAMS = [*ELEMENTWISE, *SPECIAL_FUNCTIONS, *CONVERSIONS, *SHAPES, *REDUCTIONS, *INDEXING,
            *SORTING, *CONTRACTIONS, *RANDOM, *CONTROL_FLOW]
