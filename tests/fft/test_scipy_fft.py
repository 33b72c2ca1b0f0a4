"""Cosine transforms against SciPy."""

import numpy as np
import pytest
import scipy.fft as reference
from fft_data import close, complex_, real

import jitney as jax
import jitney.numpy as jnp
import jitney.scipy.fft as fft


@pytest.mark.parametrize("norm", (None, "backward", "ortho"))
@pytest.mark.parametrize("n", (None, 1, 4, 9))
@pytest.mark.parametrize("axis", (-1, 0, 1))
@pytest.mark.parametrize("name", ("dct", "idct"))
def test_one_axis(name, axis, n, norm):
    for x in (real(5, 6, 7), real(3, 1, 2)):
        want = getattr(reference, name)(x, n=n, axis=axis, norm=norm)
        got = getattr(fft, name)(x, n=n, axis=axis, norm=norm)
        assert got.dtype == np.float32
        close(got, want)


@pytest.mark.parametrize("norm", (None, "ortho"))
@pytest.mark.parametrize("s, axes", ((None, None), ((3, 9), None), ((3, 9), (0, 1)), (None, (2, 0)),
                                     (None, -1), (4, None), ((2, 3, 4), None), (None, (1, -1))))
@pytest.mark.parametrize("name", ("dctn", "idctn"))
def test_several_axes(name, s, axes, norm):
    x = real(4, 5, 6)
    close(getattr(fft, name)(x, s=s, axes=axes, norm=norm),
          getattr(reference, name)(x, s=s, axes=axes, norm=norm))


@pytest.mark.parametrize("name", ("dct", "idct", "dctn", "idctn"))
def test_kinds_of_numbers(name):
    ours, theirs = getattr(fft, name), getattr(reference, name)
    x = complex_(3, 4)
    got = ours(x)
    assert got.dtype == np.complex64
    close(got, theirs(x))
    close(ours(np.arange(6)), theirs(np.arange(6.0)))
    close(ours(np.arange(6) > 2), theirs((np.arange(6) > 2) * 1.0))
    assert ours(np.ones(4, "float16")).dtype == np.float32
    with jax.enable_x64(True):
        y = real(3, 4, 5, dtype="float64")
        close(ours(y, norm="ortho"), theirs(y, norm="ortho"))


@pytest.mark.parametrize("norm", (None, "ortho"))
def test_there_and_back(norm):
    x = real(3, 10)
    close(fft.idct(fft.dct(x, norm=norm), norm=norm), x)
    close(jax.jit(lambda x: fft.idctn(fft.dctn(x, norm=norm), norm=norm))(x), x, 3)


def test_derivatives_and_batches():
    x = real(4, 6)
    slope = jax.grad(lambda x: jnp.sum(fft.dct(x, norm="ortho") ** 2))(x)
    close(slope, 2 * x, 5)                                 # an orthogonal map
    close(jax.vmap(fft.dct)(x), reference.dct(x))
    close(jax.vmap(fft.idct, 1, 1)(x), reference.idct(x, axis=0))


def test_no_axes_and_empty_batches():
    assert fft.dctn(real(3, 4), axes=()).shape == (3, 4)
    assert fft.dct(np.zeros((0, 4), "float32")).shape == (0, 4)
