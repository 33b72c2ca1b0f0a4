"""Integers at their limits: division, shifts, counting, conversion, bits; the numbers are XLA's."""

import numpy as np
import pytest
from helpers import by_reference, compiled, dtype_named

from jitney import lax


def both(fun, *args):
    """The value by reference and compiled, which must be equal."""
    reference, = by_reference(fun, *args)
    machine, = compiled(fun, *args)
    np.testing.assert_array_equal(machine, reference)
    assert machine.dtype == reference.dtype
    return reference.tolist()


def column(values, dtype):
    return np.array(values).astype(dtype_named(dtype))


@pytest.mark.parametrize("dtype, quotients, remainders", [
    ("int32", [-1, -1, -3, -1, 128], [5, -5, 1, 0, 0]),
    ("int8", [-1, -1, -3, -1, -128], [5, -5, 1, 0, 0]),
    ("uint8", [255, 255, 0, 255, 0], [5, 251, 7, 0, 128]),
    ("uint32", [2**32 - 1, 2**32 - 1, 0, 2**32 - 1, 0], [5, 2**32 - 5, 7, 0, 2**32 - 128]),
])
def test_division(dtype, quotients, remainders):
    x, y = column([5, -5, 7, 0, -128], dtype), column([0, 0, -2, 0, -1], dtype)
    assert both(lax.div, x, y) == quotients
    assert both(lax.rem, x, y) == remainders


def test_division_of_the_least_integer():
    x, y = column([-2**31, -2**31, 5], "int32"), column([-1, 0, 3], "int32")
    assert both(lax.div, x, y) == [-2**31, -1, 1]
    assert both(lax.rem, x, y) == [0, -2**31, 2]


def test_shifts():
    x, y = column([-7] * 6, "int32"), column([0, 1, 31, 32, 40, -1], "int32")
    assert both(lax.shift_left, x, y) == [-7, -14, -2**31, 0, 0, 0]
    assert both(lax.shift_right_logical, x, y) == [-7, 2147483644, 1, 0, 0, 0]
    assert both(lax.shift_right_arithmetic, x, y) == [-7, -4, -1, -1, -1, -1]
    x, y = column([250] * 6, "uint8"), column([0, 1, 7, 8, 40, 255], "uint8")
    assert both(lax.shift_left, x, y) == [250, 244, 0, 0, 0, 0]
    assert both(lax.shift_right_arithmetic, x, y) == [250, 253, 255, 255, 255, 255]


def test_counting_and_powers():
    assert both(lax.population_count, column([-1, 3], "int8")) == [8, 2]
    assert both(lax.clz, column([0, 1, -1], "int16")) == [16, 15, 0]
    assert both(lambda x: lax.integer_pow(x, 70), column([2, -3], "int32")) == [0, -102221863]
    assert both(lax.mulhi, column([2**30], "int32"), column([-9], "int32")) == [-3]
    assert both(lax.abs, column([-128], "int8")) == [-128]


POINTS = [np.nan, np.inf, -np.inf, -0.0, 2.5, -1e10, 3e9, 1e20, -3.7]


@pytest.mark.parametrize("dtype, want", [
    ("int32", [0, 2**31 - 1, -2**31, 0, 2, -2**31, 2**31 - 1, 2**31 - 1, -3]),
    ("uint32", [0, 2**32 - 1, 0, 0, 2, 0, 3000000000, 2**32 - 1, 0]),
    ("int8", [0, 127, -128, 0, 2, -128, 127, 127, -3]),
    ("uint8", [0, 255, 0, 0, 2, 0, 255, 255, 0]),
    ("bool", [True, True, True, False, True, True, True, True, True]),
])
def test_floats_become_integers_by_saturation(dtype, want):
    x = np.array(POINTS, np.float32)
    assert both(lambda v: lax.convert_element_type(v, dtype_named(dtype)), x) == want


def test_integers_wrap():
    x = column([300, -300], "int32")
    assert both(lambda v: lax.convert_element_type(v, np.int8), x) == [44, -44]


def test_bitcasts():
    ones = np.ones((3, 2), np.uint16)
    found = both(lambda x: lax.bitcast_convert_type(x, np.float32), ones)
    assert found == [pytest.approx(9.1837e-41, rel=1e-3)] * 3
    assert both(lambda x: lax.bitcast_convert_type(x, np.int32), np.array([1.0], "float32")) \
        == [0x3F800000]
    found, = by_reference(lambda x: lax.bitcast_convert_type(x, dtype_named("int4")),
                          np.ones(3, np.int8))
    assert found.astype(int).tolist() == [[1, 0]] * 3


def test_reduced_precision():
    x = np.array([1.2345678, 1e10, 1e-8, 65520, -70000, -0.0], np.float32)
    assert both(lambda v: lax.reduce_precision(v, 5, 10), x) == \
        [1.234375, np.inf, 0.0, np.inf, -np.inf, 0.0]


def test_extremes_and_rounding():
    nan = np.nan
    x, y = np.array([nan, 1, -0.0, 0], "float32"), np.array([1, nan, 0, -0.0], "float32")
    for name, zero in (("max", False), ("min", True)):
        for found in (by_reference(getattr(lax, name), x, y)[0],
                      compiled(getattr(lax, name), x, y)[0]):
            assert np.isnan(found[:2]).all()
            assert (np.signbit(found[2:]) == zero).all() and (found[2:] == 0).all()
    halves = np.array([.5, 1.5, -.5, 2.5, 0.49999997], "float32")
    assert both(lax.round, halves) == [1, 2, -1, 3, 0]
    assert both(lambda v: lax.round(v, lax.RoundingMethod.TO_NEAREST_EVEN), halves) == \
        [0, 2, -0.0, 2, 0]


def test_choices_out_of_range_are_clamped():
    x = np.zeros(3, np.float32)
    which = np.array([-1, 5, 1], np.int32)
    assert both(lambda w, v: lax.select_n(w, v, lax.add(v, np.float32(1)),
                                         lax.add(v, np.float32(2))), which, x) == [0, 2, 1]
