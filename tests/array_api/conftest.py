"""The standard's types are 64 bits wide by default: every test here runs with x64 on."""

import sys
from pathlib import Path

import pytest

import jitney

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture(autouse=True)
def wide():
    with jitney.enable_x64(True):
        yield
