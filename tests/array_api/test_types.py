"""Promotion of arrays and Python numbers, limits of types, and the namespace's answers."""

import itertools
import operator

import numpy as np
import pytest
from signatures import DTYPES

import jitney
import jitney.numpy as jnp

SIGNED, UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
REAL, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]


def promoted(a, b):
    """The standard's table; None where it leaves the result open."""
    if a == b:
        return a
    for family in (SIGNED, UNSIGNED):
        if a in family and b in family:
            return max(a, b, key=family.index)
    if a in SIGNED and b in UNSIGNED:
        if b == "uint64":
            return None
        return SIGNED[max(SIGNED.index(a), UNSIGNED.index(b) + 1)]
    if b in SIGNED and a in UNSIGNED:
        return promoted(b, a)
    if a in REAL + COMPLEX and b in REAL + COMPLEX:
        wide = a in ("float64", "complex128") or b in ("float64", "complex128")
        return (COMPLEX if a in COMPLEX or b in COMPLEX else REAL)[wide]
    return None


PAIRS = [(a, b) for a, b in itertools.product(DTYPES, DTYPES) if promoted(a, b)]


@pytest.mark.parametrize("a, b", PAIRS)
def test_promotion(a, b):
    wanted = promoted(a, b)
    x, y = jnp.ones(2, dtype=a), jnp.ones((3, 1), dtype=b)
    assert jnp.result_type(x, y) == jnp.result_type(x.dtype, getattr(jnp, b)) == wanted
    assert jnp.where(x == 1, x, y).dtype == wanted
    assert jnp.concat([x, y[0]]).dtype == jnp.stack([x[0], y[0, 0]]).dtype == wanted
    assert jnp.can_cast(x.dtype, wanted) and jnp.can_cast(getattr(jnp, b), wanted)
    if a != "bool":
        assert (x + y).dtype == jnp.multiply(x, y).dtype == wanted
        assert jnp.tensordot(x, y[:2, 0], axes=1).dtype == wanted
        assert jnp.vecdot(x, y[:2, 0]).dtype == wanted
        assert jnp.equal(x, y).dtype == "bool" and (x[0] - y[0, 0]).dtype == wanted
    if a in SIGNED + UNSIGNED or a == "bool":
        assert (x & y).dtype == wanted
    if a in REAL + COMPLEX:
        assert (x / y).dtype == jnp.pow(x, y).dtype == wanted


SCALARS = [(d, s) for d in DTYPES for s in (True, 1, 1.5, 2j)
           if (d == "bool") == (s is True)
           and not (isinstance(s, float) and d in SIGNED + UNSIGNED)
           and not (isinstance(s, complex) and d not in COMPLEX)]  # fmt: skip


@pytest.mark.parametrize("dtype, number", SCALARS)
@pytest.mark.parametrize("shape", [(), (2,), (0,)])
def test_python_numbers_do_not_widen(dtype, number, shape):
    x = jnp.ones(shape, dtype=dtype)
    assert jnp.result_type(x, number) == jnp.result_type(number, x.dtype) == dtype
    assert jnp.where(x == x, x, number).dtype == jnp.where(x == x, number, x).dtype == dtype
    if dtype == "bool":
        assert (x & number).dtype == (number | x).dtype == (x ^ number).dtype == dtype
        return
    for operation in (operator.add, operator.sub, operator.mul):
        assert operation(x, number).dtype == operation(number, x).dtype == dtype
    if dtype not in COMPLEX:
        assert jnp.maximum(x, number).dtype == jnp.minimum(number, x).dtype == dtype
        assert jnp.clip(x, number, number).dtype == jnp.clip(x, min=number).dtype == dtype
        assert (x // number).dtype == (x % number).dtype == (number // x).dtype == dtype
    if dtype in REAL + COMPLEX:
        assert (x / number).dtype == (number / x).dtype == (x**number).dtype == dtype


MOST = 2**64 - 1
WIDE = [lambda x: x + MOST, lambda x: MOST - x, lambda x: x * MOST, lambda x: x // MOST,
        lambda x: MOST % x, lambda x: x == MOST, lambda x: x < MOST, lambda x: MOST & x,
        lambda x: jnp.maximum(x, MOST), lambda x: jnp.where(x == 1, x, MOST),
        lambda x: jnp.clip(x, 0, MOST), lambda x: jnp.searchsorted(x, MOST),
        lambda x: jnp.equal(MOST, x), lambda x: jnp.bitwise_right_shift(MOST, x)]  # fmt: skip


@pytest.mark.parametrize("function", WIDE)
def test_numbers_wider_than_the_default_integer(function):
    """Any number the arrays' type holds will do."""
    plain = np.array([1, MOST], np.uint64)
    with np.errstate(all="ignore"):
        wanted = function(plain) if function not in WIDE[8:] else None
    found = function(jnp.asarray(plain))
    np.testing.assert_array_equal(found, jitney.jit(function)(jnp.asarray(plain)))
    if wanted is not None:
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_wide_numbers_of_other_types():
    x = jnp.ones(2, dtype="float32")
    assert (x * 2**100).dtype == "float32" and float((2**100 + x)[0]) == 2.0**100
    assert (jnp.ones(2, dtype="complex64") * 2**70).dtype == "complex64"
    assert jnp.isin(jnp.asarray([1, MOST], dtype="uint64"), MOST).tolist() == [False, True]
    assert float(jnp.asarray([2**70], dtype="float64")[0]) == 2.0**70
    impossible = (lambda: jnp.ones(2, dtype="int8") + MOST, lambda: jnp.asarray(MOST),
                  lambda: jnp.asarray([MOST]), lambda: jitney.jit(lambda a: a)(MOST))  # fmt: skip
    for function in impossible:
        with pytest.raises(OverflowError):
            function()
    with jitney.enable_x64(False):
        y = jnp.asarray([1, 2**32 - 1], dtype="uint32")
        assert (y == 2**32 - 1).tolist() == [False, True]


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_sums_and_products_are_wide(dtype):
    x, wide = jnp.ones((2, 3), dtype=dtype), "int64" if dtype in SIGNED else "uint64"
    for function in (jnp.sum, jnp.prod, jnp.cumulative_sum, jnp.cumulative_prod):
        assert function(x, axis=0).dtype == wide
        assert function(x, axis=0, dtype=x.dtype).dtype == dtype
    assert jnp.linalg.trace(x).dtype == wide
    many = jnp.full(7, 7, dtype=dtype)
    assert int(jnp.cumulative_prod(many)[-1]) == 7**7


def test_means_of_integers_have_the_default_float():
    assert jnp.mean(jnp.arange(3, dtype="int8")).dtype == "float64"
    with jitney.enable_x64(False):
        assert jnp.mean(jnp.arange(3, dtype="int8")).dtype == "float32"


LIMITS = {"eps": float, "max": float, "min": float, "smallest_normal": float, "bits": int}


@pytest.mark.parametrize("dtype", REAL + COMPLEX)
def test_finfo(dtype):
    part = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    wanted = np.finfo(part)
    x = jnp.ones(2, dtype=dtype)
    for given in (getattr(jnp, dtype), x, x.dtype, dtype):
        found = jnp.finfo(given)
        assert found.dtype == part and isinstance(found.dtype, np.dtype)
        for name, kind in LIMITS.items():
            value = getattr(found, name)
            assert isinstance(value, kind) and value == getattr(wanted, name)
        assert repr(found) == repr(wanted) and isinstance(found, np.finfo)
    assert jnp.finfo("float16").max == 65504 and float(jnp.finfo(jnp.bfloat16).eps) == 2.0**-7


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_iinfo(dtype):
    wanted = np.iinfo(dtype)
    for given in (getattr(jnp, dtype), jnp.ones(2, dtype=dtype), jnp.ones(2, dtype=dtype).dtype):
        found = jnp.iinfo(given)
        assert (found.bits, found.max, found.min, found.dtype) == (
            wanted.bits, wanted.max, wanted.min, wanted.dtype)
        assert all(type(v) is int for v in (found.bits, found.max, found.min))


KINDS = {"bool": ["bool"], "signed integer": SIGNED, "unsigned integer": UNSIGNED,
         "integral": SIGNED + UNSIGNED, "real floating": REAL, "complex floating": COMPLEX,
         "numeric": SIGNED + UNSIGNED + REAL + COMPLEX}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind):
    for name in DTYPES:
        assert jnp.isdtype(getattr(jnp, name), kind) is (name in KINDS[kind])
        assert jnp.isdtype(jnp.ones(1, dtype=name).dtype, (kind, "bool")) is (
            name in [*KINDS[kind], "bool"])
    found = jnp.__array_namespace_info__().dtypes(kind=kind)
    assert sorted(found) == sorted(KINDS[kind])
    assert all(jnp.empty(1, dtype=dtype).dtype == name for name, dtype in found.items())


def test_isdtype_of_dtypes():
    assert jnp.isdtype(jnp.float32, jnp.float32) and not jnp.isdtype(jnp.float32, jnp.float64)
    assert jnp.isdtype(jnp.int8, (jnp.float32, "signed integer"))
    with pytest.raises(ValueError, match="Unrecognized kind"):
        jnp.isdtype(jnp.float32, "real")


@pytest.mark.parametrize("a, b", list(itertools.product(SIGNED + UNSIGNED, repeat=2)))
def test_casts_between_integers(a, b):
    fits = np.iinfo(a).min >= np.iinfo(b).min and np.iinfo(a).max <= np.iinfo(b).max
    x = jnp.ones(2, dtype=a)
    assert jnp.can_cast(x, getattr(jnp, b)) is jnp.can_cast(x.dtype, b) is fits


@pytest.mark.parametrize("a, b", list(itertools.product(REAL, REAL + COMPLEX)))
def test_casts_between_floats(a, b):
    fits = not (a == "float64" and b in ("float32", "complex64"))
    assert jnp.can_cast(jnp.ones(2, dtype=a), b) is jnp.can_cast(getattr(jnp, a), b) is fits


def test_result_type_refuses_nothing_at_all():
    with pytest.raises(ValueError):
        jnp.result_type()
    assert jnp.result_type(1, 1.0) == "float64" and jnp.result_type(jnp.float32, 1j) == "complex64"


def test_namespace():
    x = jnp.ones(2)
    assert x.__array_namespace__() is jnp and jnp.__array_api_version__ == "2025.12"
    for version in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12", None):
        assert x.__array_namespace__(api_version=version) is jnp
    with pytest.raises(ValueError, match="available versions are"):
        x.__array_namespace__(api_version="1999.01")


def test_namespace_info():
    info = jnp.__array_namespace_info__()
    found = info.capabilities()
    assert found.pop("max dimensions") == 64
    assert found == {"boolean indexing": False, "data-dependent shapes": False}
    assert info.default_device() in info.devices() and jnp.ones(1).device in info.devices()
    for device in info.devices():
        assert info.default_dtypes(device=device) == {
            "real floating": "float64", "complex floating": "complex128", "integral": "int64",
            "indexing": "int64"}
        assert jnp.zeros(2, device=device).shape == (2,)
        assert sorted(info.dtypes(device=device)) == sorted(DTYPES)
    assert sorted(info.dtypes(kind=("bool", "real floating"))) == ["bool", "float32", "float64"]


def test_namespace_info_of_narrow_mode():
    with jitney.enable_x64(False):
        info = jnp.__array_namespace_info__()
        assert info.default_dtypes()["integral"] == "int32" and "int64" not in info.dtypes()


@pytest.mark.parametrize("question", [
    lambda info: info.dtypes(kind="integer"), lambda info: info.dtypes(kind=("bool", "x")),
    lambda info: info.dtypes(kind=3), lambda info: info.default_dtypes(device="cpu"),
    lambda info: info.dtypes(device=3)])  # fmt: skip
def test_questions_that_have_no_answer(question):
    with pytest.raises(ValueError, match="takes"):
        question(jnp.__array_namespace_info__())
