"""Gathers lane by lane: every kind of number, of element and of mask, as NumPy has them."""

import re

import numpy as np
import pytest
from narrower_machines import run_tests

import jitney
import jitney.numpy as jnp
from jitney.backend.host import host_target

RNG = np.random.default_rng(0)
ELEMENTS = ["bool", "int8", "uint8", "int16", "bfloat16", "float16", "float32", "int32",
            "float64", "int64", "complex64"]  # fmt: skip
NUMBERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
LENGTHS = [1, 7, 8, 31, 33, 2500]


@pytest.fixture(autouse=True)
def wide():
    with jitney.enable_x64(True):
        yield


def some(shape, dtype):
    return RNG.integers(0, 100, shape).astype(jnp.dtype(dtype))


def places(shape, dtype, low, high):
    low = max(low, np.iinfo(dtype).min)
    return RNG.integers(low, min(high, np.iinfo(dtype).max), shape).astype(dtype)


def same(function, *args, want=None):
    got = np.asarray(jitney.jit(function)(*args))
    want = function(*args) if want is None else want
    assert got.dtype == want.dtype and np.array_equal(got, want)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("element", ELEMENTS)
def test_numbers_by_elements(element, number):
    table = some(120, element)
    for length in LENGTHS:
        same(lambda t, i: t[i], table, places(length, number, -120, 120))


@pytest.mark.parametrize("number", ["int8", "uint8", "int32", "int64"])
def test_beyond_the_ends(number):
    table = some(50, "float32")
    for length in LENGTHS:
        at = places(length, number, -80, 80)
        wrapped = np.where(at < 0, at.astype(np.int64) + 50, at)
        inside = (wrapped >= 0) & (wrapped < 50)
        want = np.where(inside, table[np.clip(wrapped, 0, 49)], np.float32(np.nan))
        got = np.asarray(jitney.jit(lambda t, i: jnp.take(t, i, mode="fill"))(table, at))
        assert np.array_equal(got, want, equal_nan=True)
        same(lambda t, i: jnp.take(t, i, mode="clip"), table, at, want=table[np.clip(at, 0, 49)])


@pytest.mark.parametrize("element", ELEMENTS)
def test_two_numbers_an_element(element):
    table = some((30, 17), element)
    for length in LENGTHS:
        i, j = places(length, "int16", -30, 30), places(length, "int32", -17, 17)
        same(lambda t, i, j: t[i, j], table, i, j)
        same(lambda t, i: t[i, 3], table, i)
        same(lambda t, i: t[:, i], table, j)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("step", [9, 40, -9, -40])
def test_far_apart(element, step):
    for length in LENGTHS:
        same(lambda x: x[::step], some(length * abs(step) - 3, element))


def test_of_nothing():
    assert jitney.jit(lambda t, i: t[i])(np.zeros(5, "f"), np.zeros(0, np.int32)).shape == (0,)


def test_narrowed_numbers_keep_their_meaning():
    """Only what a conversion keeps is taken from before it."""
    at = np.arange(-40, 2060, dtype=np.int32)
    table = some(256, "float32")
    same(lambda t, i: t[i.astype(np.uint8)], table, at)
    same(lambda t, i: t[i.astype(np.int8)], table, at)
    large = some(70000, "int32")
    same(lambda t, i: t[i.astype(np.uint16).astype(np.int32)], large, at)


def test_under_a_condition():
    table, at = some(60, "float32"), places(2500, "int32", 0, 60)
    same(lambda t, i: jnp.where(i % 3 == 0, t[i], -t[59 - i]), table, at,
         want=np.where(at % 3 == 0, table[at], -table[59 - at]))  # fmt: skip


@pytest.mark.skipif(not host_target().has_dear_masks, reason="gathers are quick, or there are none")
def test_no_addresses_in_vectors():
    story = jitney.explain(lambda t, i: t[i], np.zeros(60, "f"), np.zeros(5000, np.int32))
    loop = re.search(r"^full\.body.*?:$(.*?)^full\.done", story.as_text("llvm"), re.M | re.S)[1]
    assert "masked.gather" not in loop and "extractelement" in loop


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
def test_narrower_machines(target):
    """The same, by vectors of 16 and of 32 bytes."""
    run_tests(__file__, target)
