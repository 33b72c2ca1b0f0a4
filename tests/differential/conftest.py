"""Tests that compare with an installed JAX. Without one, or without `-m jax`, nothing is imported.

Run them with `python -m pytest -m jax tests/differential` in an environment that has both
packages. `JITNEY_DIFFERENTIAL=4` takes four times as many samples of each table.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

HAS_JAX = importlib.util.find_spec("jax") is not None


def pytest_collection_modifyitems(items):
    here = Path(__file__).resolve().parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.jax)
            if not HAS_JAX:
                item.add_marker(pytest.mark.skip(reason="JAX is not installed"))
