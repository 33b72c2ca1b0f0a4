"""Masks of the first or last lanes, for any count and any width of vectors."""

import kernel_harness as harness
import numpy as np
import pytest

from jitney.codegen import memory

COUNTS = (0, 1, 3, 7, 8, 15, 16, 31, 32, 33, 127, 128, 256, 2**31, 2**32 + 1, 2**62)
NEGATIVE = (-1, -128, -129, -256, -(2**16), -(2**32), -(2**62))


@pytest.mark.parametrize("target", sorted(harness.targets()))
@pytest.mark.parametrize("type_name", ["float", "double", "i16", "i8"])
@pytest.mark.parametrize("copies", [1, 2])
def test_first_and_last_lanes(type_name, copies, target):
    for mask_of, counts, is_chosen in (
        (memory.first_lanes, COUNTS, lambda lane, count: lane < count),
        (memory.lanes_from, (*COUNTS, *NEGATIVE), lambda lane, count: lane >= count),
    ):
        for count in counts:
            lanes = []

            def emit(e, v, mask_of=mask_of, count=count, lanes=lanes):
                lanes.append(v.lanes)
                return e.select(mask_of(e, str(count), v.lanes), v, e.like(v, 0))

            kernel = harness.compile_kernel(
                emit, (type_name, type_name), copies=copies, target=harness.targets()[target]
            )
            together = lanes[0] * copies
            x = np.ones(2 * together, harness.NUMPY_TYPES[type_name])
            wanted = np.tile(is_chosen(np.arange(together), count), 2)
            np.testing.assert_array_equal(kernel(x), wanted.astype(x.dtype), f"{count}")
