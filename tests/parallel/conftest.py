"""Eight CPU devices for the tests of this folder, whatever the process has otherwise."""

import sys
from pathlib import Path

import numpy as np
import pytest

from jitney.placement import devices as devices_module
from jitney.sharding import Mesh

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture(autouse=True, scope="module")
def eight_devices():
    before = devices_module._devices
    first = devices_module.default_cpu_device()
    devices_module._devices = [first, *map(devices_module.CpuDevice, range(1, 8))]
    yield
    devices_module._devices = before


@pytest.fixture
def line():
    """A mesh of four devices in a row."""
    return Mesh(np.array(devices_module.cpu_devices()[:4]), ("i",))


@pytest.fixture
def grid():
    """A mesh of two by four devices."""
    return Mesh(np.array(devices_module.cpu_devices()).reshape(2, 4), ("x", "y"))
