"""Result types with x64 on, where the default types are wider than what goes in."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

REAL = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
        "float16", "float32", "float64"]  # fmt: skip
# Of integers: float64 of those of 64 bits, float32 of the others.
INEXACT = {d: d if d[0] == "f" else "float64" if "64" in d else "float32" for d in REAL}


@pytest.fixture(autouse=True)
def wide():
    with jitney.enable_x64(True):
        yield


@pytest.mark.parametrize("dtype", REAL)
def test_integers_rounded_have_the_default_float_type(dtype):
    x = jnp.asarray([1, 0], dtype=dtype)
    found = jnp.rint(x)
    assert found.dtype == (dtype if dtype[0] == "f" else "float64")
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize("exponent", [3, np.int8(3), np.uint32(3), np.int64(3)], ids=repr)
@pytest.mark.parametrize("dtype", REAL)
def test_exponents_do_not_widen(dtype, exponent):
    x = jnp.asarray([1, 0], dtype=dtype)
    for function in (jnp.ldexp, jitney.jit(jnp.ldexp)):
        found = function(x, exponent)
        assert found.dtype == INEXACT[dtype] and not found.weak_type
        assert found.tolist() == [8, 0]


@pytest.mark.parametrize("edges", ["bool", "int8", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize("dtype", REAL)
def test_edges_of_histograms_have_the_type_of_the_values(dtype, edges):
    x, given = jnp.asarray([0, 1, 1, 1], dtype=dtype), jnp.asarray([0, 1], dtype=edges)
    for found in (jnp.histogram_bin_edges(x, given), jnp.histogram(x, given)[1],
                  jnp.histogram(x, given, density=True)[1]):  # fmt: skip
        assert found.dtype == INEXACT[dtype] and found.tolist() == [0, 1]
    assert jnp.histogram(x, given)[0].tolist() == [4]
