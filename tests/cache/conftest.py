"""Each test has a cache folder of its own."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cache_runner import Runner  # noqa: E402


@pytest.fixture
def cache(tmp_path):
    return Runner(tmp_path / "cache")
