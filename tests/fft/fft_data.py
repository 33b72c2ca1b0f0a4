"""Arrays and tolerances of these tests."""

import numpy as np


def real(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(dtype)


def complex_(*shape, dtype="complex64", seed=0):
    return (real(*shape, dtype="float64", seed=seed)
            + 1j * real(*shape, dtype="float64", seed=seed + 1)).astype(dtype)


def close(got, want, factor=1.0):
    """As near as a transform in the result's precision has to be (relative to its largest)."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    single = got.dtype in (np.float32, np.complex64)
    scale = np.abs(want).max() if want.size else 1.0
    bound = factor * (5e-6 if single else 1e-13) * max(float(scale), 1e-3)
    np.testing.assert_allclose(got, want, rtol=0, atol=bound)
