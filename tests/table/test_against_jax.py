"""Every row of the table by JAX and by this package."""

import pytest
from test_table import ROWS

pytest.importorskip("jax")
pytestmark = pytest.mark.jax


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    import against_jax

    against_jax.check(row)
