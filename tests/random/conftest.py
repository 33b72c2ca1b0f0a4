"""Both layouts of counters, as a fixture."""

import pytest

import jitney


@pytest.fixture(params=[True, False], ids=["by_index", "older"])
def partitionable(request):
    """The setting of jax_threefry_partitionable."""
    with jitney.threefry_partitionable(request.param):
        yield request.param
