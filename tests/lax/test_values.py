"""Values of every row of the table: the reference and the compiled program against the oracle."""

import numpy as np
import op_table
import pytest
from helpers import assert_close, by_reference, compiled, dtype_named

import jitney
from jitney import lax

CASES = [pytest.param(row, name, id=f"{row.name}-{name}")
         for row in op_table.ROWS for name in row.dtypes]


@pytest.mark.parametrize("row, name", CASES)
def test_reference_and_compiled(row, name):
    with jitney.enable_x64(True):
        args = op_table.operands(row, dtype_named(name))
        want = op_table.expected(row, args)
        reference, = by_reference(row.call, *args)
        assert_close(reference, want, row.ulp)
        assert_close(compiled(row.call, *args)[0], want, row.ulp)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "sqrt", "erf", "logistic", "log1p"])
def test_special_points(name):
    """Infinities, NaN and zeros go where the limits are."""
    points = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], np.float32)
    nan, inf = np.nan, np.inf
    want = {
        "exp": [1, 1, inf, 0, nan, np.e, 1 / np.e], "log": [-inf, -inf, inf, nan, nan, 0, nan],
        "sin": [0, -0.0, nan, nan, nan, np.sin(1), -np.sin(1)],
        "tanh": [0, -0.0, 1, -1, nan, np.tanh(1), -np.tanh(1)],
        "sqrt": [0, -0.0, inf, nan, nan, 1, nan],
        "erf": [0, -0.0, 1, -1, nan, 0.8427007929497149, -0.8427007929497149],
        "logistic": [0.5, 0.5, 1, 0, nan, 0.7310585786300049, 0.2689414213699951],
        "log1p": [0, -0.0, inf, nan, nan, np.log(2), -inf],
    }[name]
    function = getattr(lax, name)
    for found in (by_reference(function, points)[0], compiled(function, points)[0]):
        assert_close(found, np.array(want, np.float32), 2)
        np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(np.array(want[:2])))
