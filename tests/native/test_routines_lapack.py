"""Routines of linear algebra, called directly: pieces, workspaces, pointers that must be bound."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package
from routine_caller import DTYPES, call, native, scratch  # noqa: E402

from jitney.fuse.lapack import bind_library  # noqa: E402

NAMES = ("f32", "f64", "c64", "c128")
BATCH = 5


@pytest.fixture(scope="module", autouse=True)
def library():
    bind_library()


def matrices(name, m, n):
    rng = np.random.default_rng(m + n)
    values = rng.normal(size=(BATCH, m, n)) + 1j * rng.normal(size=(BATCH, m, n))
    dtype = np.dtype(DTYPES[name])
    return (values if dtype.kind == "c" else values.real).astype(dtype)


def with_work(routine, arrays, sizes, grain):
    """Calls a routine with the workspace it asks for."""
    lwork, nbytes = native.lapack_needs(routine, np.array(sizes, np.int64).tobytes())
    work = scratch(nbytes, -(-BATCH // grain))
    call(routine, [*arrays, work], [*sizes, lwork, nbytes, grain], BATCH, grain)


def close(a, b, name):
    tolerance = 1e-4 if name in ("f32", "c64") else 1e-10
    np.testing.assert_allclose(a, b, tolerance, tolerance)


@pytest.mark.parametrize("grain", (1, 2, 5))
@pytest.mark.parametrize("n", (3, 11))
@pytest.mark.parametrize("name", NAMES)
def test_lu_in_pieces(name, n, grain):
    a = matrices(name, n, n)
    packed, rows = np.empty_like(a), np.empty((BATCH, n), np.int32)
    pivots = np.empty((BATCH, n), np.int32)
    with_work(f"lu_{name}", [a, packed, pivots, rows], [n, n], grain)
    low = np.tril(packed, -1) + np.eye(n, dtype=a.dtype)
    close(low @ np.triu(packed), np.take_along_axis(a, rows[..., None], 1), name)
    b, x = matrices(name, n, 2), np.empty((BATCH, n, 2), a.dtype)
    with_work(f"lu_solve_{name}", [packed, rows, b, x], [n, 2, 1], grain)
    close(np.swapaxes(a, 1, 2) @ x, b, name)


@pytest.mark.parametrize("grain", (2, 5))
@pytest.mark.parametrize("name", NAMES)
def test_factors_in_pieces(name, grain):
    m, n = 6, 4
    a = matrices(name, m, n)
    real = a.real.dtype
    q, r = np.empty((BATCH, m, n), a.dtype), np.empty((BATCH, n, n), a.dtype)
    with_work(f"qr_{name}", [a, q, r, None], [m, n, 0, 0], grain)
    close(q @ r, a, name)
    s, vt = np.empty((BATCH, n), real), np.empty((BATCH, n, n), a.dtype)
    for by_qr in (0, 1):
        with_work(f"svd_{name}", [a, s, q, vt], [m, n, 1, by_qr], grain)
        close((q * s[:, None, :]) @ vt, a, name)
    h = np.swapaxes(a.conj(), 1, 2) @ a
    w = np.empty((BATCH, n), real)
    with_work(f"eigh_{name}", [h, vt, w], [n, 1, 1], grain)
    close((vt * w[:, None, :]) @ np.swapaxes(vt.conj(), 1, 2), h, name)


def test_binding_takes_capsules_only():
    with pytest.raises(KeyError, match="no function 'strsm'"):
        native.lapack_bind({}, {})
    with pytest.raises(KeyError, match="no function"):
        native.lapack_bind({}, {"strsm": 1})
    with pytest.raises(KeyError, match="'sort_f32'"):
        native.lapack_needs("sort_f32", b"")
