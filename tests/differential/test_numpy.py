"""Functions of `jax.numpy`: values, dtypes, weak types, shapes and errors as JAX's."""

import pytest
from compare import cases, check, name_of, pool, seed_of
from known import TOLERANCES, expecting
from numpy_table import ELEMENTWISE, FUNCTIONS

CASES = cases(ELEMENTWISE, 1) + cases(FUNCTIONS, 2)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_numpy(case):
    line, dtype, other, jit = case
    with expecting(line, dtype):
        check(line, pool(dtype, other, seed_of(line)), jit, TOLERANCES.get(line))
