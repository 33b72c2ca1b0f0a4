"""Both layouts of counters, as a fixture; helper modules are found beside the tests."""

import sys
from pathlib import Path

import pytest

import jitney

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture(params=[True, False], ids=["by_index", "older"])
def partitionable(request):
    """The setting of jax_threefry_partitionable."""
    with jitney.threefry_partitionable(request.param):
        yield request.param
