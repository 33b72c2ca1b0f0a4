"""Calls native routines from tests: NumPy arrays in, the kernel calling convention underneath."""

import ctypes

import ml_dtypes
import numpy as np

from jitney import _native as native

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "bool": np.bool_,
    "c64": np.complex64,
    "c128": np.complex128,
}
FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]


def call(name, arrays, params, extent, grain=0):
    """Runs a routine over [0, extent), in pieces of grain if that is positive."""
    fn = KERNEL(native.routine_address(name))
    for a in arrays:
        assert a is None or a.flags.c_contiguous
    ptrs = (ctypes.c_void_p * len(arrays))(*[None if a is None else a.ctypes.data for a in arrays])
    numbers = np.array(params, np.int64)
    step = grain if grain > 0 else max(extent, 1)
    for lo in range(0, extent, step):
        fn(ptrs, numbers.ctypes.data, lo, min(lo + step, extent))


def scratch(bytes_a_piece, pieces=1):
    """Work memory as the planner gives it: 64-byte parts, one a piece, with arbitrary contents."""
    size = (bytes_a_piece + 63) // 64 * 64 * pieces
    raw = np.full(size + 64, 0xA5, np.uint8)
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + size]


def samples(dtype_name, shape, seed=0, special=True):
    """Random values with duplicates; floats with NaN of both signs, infinities and both zeros."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(DTYPES[dtype_name])
    if dtype_name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype_name in INTEGERS:
        info = np.iinfo(dtype)
        wide = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        narrow = rng.integers(0, 5, shape).astype(dtype)
        return np.where(rng.random(shape) < 0.5, wide, narrow)
    values = np.where(rng.random(shape) < 0.3, rng.integers(-3, 4, shape), rng.normal(size=shape))
    if special and values.size:
        odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0])
        values = np.where(rng.random(shape) < 0.15, rng.choice(odd, shape), values)
    return values.astype(dtype)


def same_bits(a, b):
    """Equal bit patterns, except that any NaN equals any NaN."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype and a.shape == b.shape
    if a.dtype.kind in "fcV" and a.size:
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        nan = np.isnan(a.astype(wide)) & np.isnan(b.astype(wide))
        unsigned = np.dtype(f"u{min(a.dtype.itemsize, 8)}")
        equal = np.ascontiguousarray(a).view(unsigned) == np.ascontiguousarray(b).view(unsigned)
        return bool(np.all(equal.reshape(nan.shape + (-1,)).all(-1) | nan))
    return bool(np.array_equal(a, b))
