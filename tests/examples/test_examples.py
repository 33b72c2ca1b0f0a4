"""The examples run, in a hurry, and find what they look for."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_picture(path) -> bool:
    return path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def drawing():
    pytest.importorskip("matplotlib")


def test_digits(tmp_path, capsys):
    pytest.importorskip("sklearn")
    pytest.importorskip("rich")
    accuracy = load("digits").main(["--quick", "--output", str(tmp_path / "digits.png")])
    assert accuracy > 0.8                              # 97 % and more after all thirty epochs
    assert is_picture(tmp_path / "digits.png")
    assert "test accuracy" in capsys.readouterr().out


def test_lorenz(tmp_path):
    lorenz = load("lorenz")
    points = lorenz.main(["--count", "2000", "--output", str(tmp_path / "lorenz.png")])
    assert points.shape == (2000, 3) and np.isfinite(points).all()
    assert np.ptp(points[:, 0]) > 20                   # they have gone apart, onto both wings
    assert is_picture(tmp_path / "lorenz.png")
    start, x = np.array([1.0, 1.1, 0.9], np.float32), np.array([1.0, 1.1, 0.9])
    for _ in range(10):                                # the same steps in NumPy
        k1 = np.array(lorenz.slope(x))
        k2 = np.array(lorenz.slope(x + lorenz.STEP / 2 * k1))
        k3 = np.array(lorenz.slope(x + lorenz.STEP / 2 * k2))
        k4 = np.array(lorenz.slope(x + lorenz.STEP * k3))
        x = x + lorenz.STEP * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    np.testing.assert_allclose(lorenz.trajectory_end(start, 10), x, rtol=1e-5)


def test_pendulum(tmp_path):
    pendulum = load("pendulum")
    found, losses = pendulum.main(["--quick", "--output", str(tmp_path / "pendulum.png")])
    assert losses[-1] < 0.1 * losses[0]
    assert abs(found["length"] - pendulum.TRUE["length"]) < 0.15
    assert is_picture(tmp_path / "pendulum.png")
