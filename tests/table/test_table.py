"""Every row of the table: reference = jit = eager, vmap = loop, grad = difference quotient."""

import driver
import lax_arrays
import lax_elementwise
import linalg_fft
import numpy_arrays
import numpy_elementwise
import numpy_numbers
import others
import pytest
import random_nn
import scipy_special

MODULES = (numpy_elementwise, numpy_arrays, numpy_numbers, lax_elementwise, lax_arrays,
           linalg_fft, random_nn, scipy_special, others)  # fmt: skip
ROWS = [row for module in MODULES for row in module.ROWS]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    driver.check(row)
