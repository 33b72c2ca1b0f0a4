"""Promotion, canonical widths, subtype tests."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from jitney.base import config, dtypes

D = np.dtype


@pytest.mark.parametrize(
    "a, b, want",
    [
        ("int32", "float32", "float32"),
        ("int8", "uint8", "int16"),
        ("uint32", "int32", "int64"),
        ("bfloat16", "float16", "float32"),
        ("int64", "float16", "float16"),
        ("uint64", "int8", "float"),
        ("float32", "complex64", "complex64"),
        ("float64", "complex64", "complex128"),
        ("bool", int, int),
        ("int8", int, "int8"),
        ("int8", float, float),
        ("bfloat16", float, "bfloat16"),
        ("float16", complex, "complex64"),
        ("float8_e4m3fn", float, "float8_e4m3fn"),
        ("int4", int, "int4"),
        (bool, float, float),
    ],
)
def test_promotion(a, b, want):
    with config.enable_x64(True):
        weak = want in (int, float)
        want = {int: "int64", float: "float64", "float": "float64"}.get(want, want)
        for pair in ((a, b), (b, a)):
            got, flag = dtypes.result_type(*pair, return_weak_type_flag=True)
            assert got == D(want) if want != "float64" else got == D("float64")
            assert flag == weak or pair == ("uint64", "int8") or pair == ("int8", "uint64")


def test_promotion_is_associative_enough_and_commutative():
    names = [
        "bool",
        "int8",
        "uint8",
        "int32",
        "uint32",
        "bfloat16",
        "float16",
        "float32",
        int,
        float,
    ]
    for a, b in itertools.product(names, names):
        assert dtypes.result_type(a, b) == dtypes.result_type(b, a)


def test_narrowing_without_x64():
    assert dtypes.canonicalize_dtype("float64") == D("float32")
    assert dtypes.canonicalize_dtype(int) == D("int32")
    with config.enable_x64(True):
        assert dtypes.canonicalize_dtype("float64") == D("float64")
        assert dtypes.result_type(1.0) == D("float64")
    assert dtypes.result_type(1.0) == D("float32")


def test_refusals_say_what_to_write():
    with pytest.raises(dtypes.TypePromotionError, match="astype"):
        dtypes.result_type("int4", "int32")
    with pytest.raises(dtypes.TypePromotionError, match="8-bit floats"):
        dtypes.result_type("float8_e4m3fn", "float8_e5m2")
    with config.numpy_dtype_promotion("strict"):
        with pytest.raises(dtypes.TypePromotionError, match="strict"):
            dtypes.result_type("int32", "float32")
        assert dtypes.result_type("float16", 2.0) == D("float16")


def test_subtypes():
    assert dtypes.issubdtype("bfloat16", np.floating)
    assert dtypes.issubdtype("int4", np.signedinteger)
    assert dtypes.issubdtype(ml_dtypes.uint4, np.unsignedinteger)
    assert not dtypes.issubdtype("int4", np.floating)
    assert dtypes.issubdtype(dtypes.prng_key, dtypes.extended)

    class KeyDType(dtypes.ExtendedDType):
        type, name, itemsize = dtypes.prng_key, "key<toy>", 8

    assert dtypes.issubdtype(KeyDType(), dtypes.prng_key)
    assert dtypes.issubdtype(KeyDType(), np.generic)
    assert not dtypes.issubdtype(KeyDType(), np.floating)
    assert dtypes.short_name(KeyDType()) == "key<toy>"


@pytest.mark.parametrize(
    "dtype, name",
    [
        ("float32", "f32"),
        ("bfloat16", "bf16"),
        ("uint8", "u8"),
        ("bool", "bool"),
        ("complex64", "c64"),
        ("float8_e4m3fn", "f8_e4m3fn"),
        ("int4", "i4"),
    ],
)
def test_short_names(dtype, name):
    assert dtypes.short_name(dtypes.dtype_of_spec(dtype)) == name


def test_limits():
    assert dtypes.finfo("bfloat16").bits == 16
    assert dtypes.iinfo("int4").max == 7
    assert dtypes.itemsize_bits("int4") == 4 and dtypes.itemsize_bits("float32") == 32
