"""SciPy is imported by the first program that needs LAPACK, and linear algebra when it is used."""

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import jitney as jax
assert "scipy" not in sys.modules and "jitney.lax.linalg" not in sys.modules
small = np.eye(4, dtype=np.float32) * 2
assert (np.asarray(jax.numpy.linalg.solve(small, small)) == np.eye(4)).all()
assert (np.asarray(jax.numpy.linalg.cholesky(small * 2)) == small).all()
assert "scipy" not in sys.modules, "matrices up to 8 x 8 need no LAPACK"
assert np.allclose(jax.numpy.linalg.eigvalsh(small), 2)
assert "scipy.linalg.cython_lapack" in sys.modules and "scipy.linalg.blas" not in sys.modules
import scipy.linalg                                     # the whole of it can still be imported
assert scipy.linalg.det(small) == 16
"""


def test_scipy_is_imported_late():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
