"""Products of integers keep their operands short: sums are modulo 2^32 or 2^64."""

import numpy as np
import pytest

import jitney
from jitney import lax

RNG = np.random.default_rng(0)
SIZES = [(3, 5, 7), (40, 70, 33), (1, 64, 300), (64, 64, 1), (2, 0, 3), (17, 300, 64)]


@pytest.mark.parametrize("wanted", [None, "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("given", ["int8", "uint8", "int16", "uint16", "int32"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_wraps_like_the_result(sizes, given, wanted):
    m, k, n = sizes
    info = np.iinfo(given)
    a = RNG.integers(info.min, info.max, (m, k), dtype=given, endpoint=True)
    b = RNG.integers(info.min, info.max, (k, n), dtype=given, endpoint=True)
    wide = [x.astype(np.int64).astype(np.uint64) for x in (a, b)]
    want = (wide[0] @ wide[1]).astype(np.int64).astype(wanted or given)
    with jitney.enable_x64(True):
        result = jitney.jit(lambda a, b: lax.dot(a, b, preferred_element_type=wanted))(a, b)
    np.testing.assert_array_equal(np.asarray(result), want)


def test_nothing_is_converted_in_memory():
    a = np.ones((64, 64), np.int8)
    program = jitney.jit(lambda a, b: lax.dot(a, b, preferred_element_type="int32")).lower(a, a)
    assert "1 fused steps" in program.compile().as_text()
