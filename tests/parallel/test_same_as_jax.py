"""Programs for eight devices give what they give in JAX: values, shardings, texts, errors."""

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import parallel_programs
import pytest

import jitney

pytestmark = [pytest.mark.jax, pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="JAX is not installed")]
SCRIPT = Path(parallel_programs.__file__)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What all programs gave, by JAX and by this package."""
    found = []
    for name in ("jax", "jitney"):
        path = tmp_path_factory.mktemp("programs") / name
        environment = {**os.environ, "PYTHONPATH": str(Path(jitney.__file__).parents[1])}
        subprocess.run([sys.executable, SCRIPT, name, path], check=True, env=environment,
                       timeout=300)
        found.append(pickle.loads(path.read_bytes()))
    return found


def compare(got, want, path):
    if isinstance(want, np.ndarray):
        assert got.dtype == want.dtype and got.shape == want.shape, path
        np.testing.assert_allclose(np.float64(got), np.float64(want), rtol=2e-5, atol=2e-5,
                                   err_msg=path)
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want), path
        for i, pair in enumerate(zip(got, want)):
            compare(*pair, f"{path}[{i}]")
    else:
        assert got == want, path


@pytest.mark.parametrize("name", parallel_programs.PROGRAMS)
def test_program(both, name):
    theirs, ours = both
    assert not isinstance(theirs[name], str), theirs[name]
    compare(ours[name], theirs[name], name)
