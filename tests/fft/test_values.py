"""Values and types of lax.fft and numpy.fft, against NumPy."""

import inspect

import numpy as np
import pytest
from fft_data import close, complex_, real

import jitney
import jitney.numpy as jnp
from jitney import lax

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn")
LENGTHS = (1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 36, 49, 97, 100, 121, 128, 210, 211, 1009, 1024, 3001)
NORMS = (None, "backward", "ortho", "forward")


def given(name, *shape, dtype="float32"):
    """An operand the transform accepts."""
    if name.startswith(("r", "ih")):
        return real(*shape, dtype=dtype)
    return complex_(*shape, dtype="complex64" if dtype == "float32" else "complex128")


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", ONE)
def test_lengths(name, n):
    for rows in ((), (3,), (9,)):                          # alone, in part of a vector, in several
        x = given(name, *rows, n)
        if n == 1 and name in ("irfft", "hfft"):
            continue
        close(getattr(jnp.fft, name)(x), getattr(np.fft, name)(x), 3)
        if name in ("fft", "ifft"):                        # real numbers have a shorter way
            close(getattr(jnp.fft, name)(x.real), getattr(np.fft, name)(x.real), 3)


@pytest.mark.parametrize("n", (1, 7, 64, 101, 360))
@pytest.mark.parametrize("name", ONE)
def test_double_precision(name, n):
    with jitney.enable_x64(True):
        x = given(name, 5, n, dtype="float64")
        if n > 1 or name not in ("irfft", "hfft"):
            got = getattr(jnp.fft, name)(x)
            assert got.dtype == getattr(np.fft, name)(x).dtype
            close(got, getattr(np.fft, name)(x), 3)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", (None, 3, 8, 13))
@pytest.mark.parametrize("axis", (-1, 0, 1))
@pytest.mark.parametrize("name", ONE)
def test_axes_lengths_norms(name, axis, n, norm):
    x = given(name, 4, 6, 8)
    close(getattr(jnp.fft, name)(x, n, axis, norm), getattr(np.fft, name)(x, n, axis, norm))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ("fft2", "ifft2", "rfft2", "irfft2", *MANY))
def test_several_axes(name, norm):
    x = given(name, 4, 5, 6)
    ours, theirs = getattr(jnp.fft, name), getattr(np.fft, name)
    close(ours(x, norm=norm), theirs(x, norm=norm))
    for s, axes in (((3, 9), (0, 1)), ((5, 4), (2, 0)), ((8, 7), (-1, -2))):
        close(ours(x, s, axes, norm), theirs(x, s, axes, norm))
        close(ours(x, list(s), list(axes), norm), theirs(x, s, axes, norm))


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("shape", ((2, 3, 4, 2), (2, 2, 3, 2, 4), (2, 2, 2, 3, 2, 2, 3)))
def test_more_than_three_axes(name, shape):
    x = given(name, *shape)
    close(getattr(jnp.fft, name)(x), getattr(np.fft, name)(x, axes=range(len(shape))))


def test_a_subset_of_many_axes():
    x = real(2, 3, 4, 3, 5)
    for axes in ((3, 0, 1, 4), (4, 2), (1,)):
        close(jnp.fft.rfftn(x, axes=axes), np.fft.rfftn(x, axes=axes))


@pytest.mark.parametrize("shape", ((300, 70), (33, 1, 40), (5, 128, 19)))
def test_blocks_of_columns(shape):
    x = complex_(*shape)
    close(jnp.fft.fftn(x), np.fft.fftn(x), 3)
    close(jnp.fft.ifft(x, axis=0), np.fft.ifft(x, axis=0))


@pytest.mark.parametrize("n", (255, 256, 272, 512, 544, 1000, 1350, 4096, 7 * 640, 2**14 + 2**13))
def test_medium_transforms(n):
    """Within vectors, where both factors near the root are large enough."""
    x, y = real(3, n), complex_(3, n)
    exact = x.astype("float64")
    close(jnp.fft.rfft(x), np.fft.rfft(exact), 2)
    close(jnp.fft.fft(x), np.fft.fft(exact), 2)
    close(jnp.fft.irfft(y[:, : n // 2 + 1], n), np.fft.irfft(y[:, : n // 2 + 1], n), 2)
    close(jnp.fft.fft(y), np.fft.fft(y.astype("complex128")), 2)
    close(jnp.fft.ifft(y), np.fft.ifft(y.astype("complex128")), 2)
    close(jnp.fft.fft(y.T, axis=0), np.fft.fft(y.T.astype("complex128"), axis=0), 2)
    with jitney.enable_x64(True):
        z = real(2, n, dtype="float64")
        close(jnp.fft.rfft(z), np.fft.rfft(z), 5)
        close(jnp.fft.irfft(jnp.fft.rfft(z), n), z, 5)


@pytest.mark.parametrize("n", (2**15, 2**18, 2 * 3**9, 4 * 3**9, 2**16 + 2, 98_000, 65_537,
                               2 * 225**2))                # parts that do not fill the lanes
def test_long_transforms(n):
    """In two parts where n has small factors, in one where it has not."""
    x, y = real(n), complex_(2, n)
    close(jnp.fft.rfft(x), np.fft.rfft(x.astype("float64")), 2)
    close(jnp.fft.irfft(jnp.fft.rfft(x), n), x, 2)
    close(jnp.fft.fft(x), np.fft.fft(x.astype("float64")), 2)
    close(jnp.fft.fft(y), np.fft.fft(y.astype("complex128")), 2)
    close(jnp.fft.ifft(y), np.fft.ifft(y.astype("complex128")), 2)
    with jitney.enable_x64(True):
        z = real(2, n, dtype="float64")
        close(jnp.fft.rfft(z), np.fft.rfft(z), 5)


@pytest.mark.parametrize("dtype", ("bool", "int8", "uint16", "int32", "float16", "bfloat16"))
def test_other_numbers_become_complex(dtype):
    x = jnp.asarray(np.arange(6) % 2, dtype)
    got = jnp.fft.fft(x)
    assert got.dtype == np.complex64
    close(got, np.fft.fft(np.arange(6.0) % 2))


def test_wide_integers():
    with jitney.enable_x64(True):
        assert jnp.fft.rfft(np.arange(4)).dtype == np.complex128
        assert jnp.fft.irfft(np.arange(4)).dtype == np.float64
        assert jnp.fft.fft(np.arange(4, dtype="int32")).dtype == np.complex64


@pytest.mark.parametrize("name", ("fft", "ifft"))
def test_nothing_to_transform(name):
    function = getattr(jnp.fft, name)
    for shape in ((3, 0), (0, 3), (0, 0), (0, 5, 4)):
        got = function(jnp.zeros(shape))
        assert got.shape == shape and got.dtype == np.complex64


def test_empty_batches_of_real_transforms():
    assert jnp.fft.rfft(jnp.zeros((0, 5))).shape == (0, 3)
    assert jnp.fft.irfft(jnp.zeros((0, 5))).shape == (0, 8)
    assert jnp.fft.irfft(jnp.zeros((3, 0))).shape == (3, 0)
    assert jnp.fft.irfft(jnp.zeros((3, 1))).shape == (3, 0)
    assert jnp.fft.rfft2(jnp.zeros((0, 4))).shape == (0, 3)
    assert jnp.fft.rfft(jnp.zeros((3, 0)), n=4).tolist() == [[0, 0, 0]] * 3


def test_no_axes():
    x = real(3, 4)
    assert np.array_equal(jnp.fft.fftn(x, axes=()), x.astype("complex64"))
    assert jnp.fft.fftn(np.float32(2.0)).item() == 2
    assert jnp.fft.fft(x, axis=None).shape == (3, 4)
    close(jnp.fft.fft(x, axis=None), np.fft.fftn(x))


def test_unread_imaginary_parts():
    x = np.array([1 + 5j, 2 + 1j, 3 + 7j], "complex64")
    close(jnp.fft.irfft(x), np.fft.irfft(np.array([1, 2 + 1j, 3])))
    close(jnp.fft.irfft(x, 5), np.fft.irfft(np.array([1, 2 + 1j, 3 + 7j]), 5))


def test_nan_and_infinity_spread():
    for bad in (np.nan, np.inf):
        got = np.asarray(jnp.fft.fft(np.array([1, bad, 2, 3], "float32")))
        assert not np.isfinite(got).any()
        rows = real(6, 8)
        rows[2, 3] = bad                                   # and not into other rows
        found = np.asarray(jnp.fft.rfft(rows))
        good = [0, 1, 3, 4, 5]
        assert not np.isfinite(found[2]).any()
        close(found[good], np.fft.rfft(rows[good]))


def test_lax_types():
    x = complex_(3, 4, 6)
    for kind in ("FFT", "fft", lax.FftType.FFT):
        close(lax.fft(x, kind, (4, 6)), np.fft.fft2(x))
    close(lax.fft(x, "IFFT", [3, 4, 6]), np.fft.ifftn(x))
    close(lax.fft(x.real, lax.FftType.RFFT, (6,)), np.fft.rfft(x.real))
    close(lax.fft(x, "IRFFT", (4, 11)), np.fft.irfft2(x, (4, 11)))
    assert lax.fft(x, "FFT", ()).shape == x.shape
    assert [int(t) for t in lax.FftType] == [0, 1, 2, 3]


# --- frequencies and shifts ------------------------------------------------------------------


@pytest.mark.parametrize("n", (0, 1, 2, 7, 8))
@pytest.mark.parametrize("d", (1.0, 0.3, 2))
def test_frequencies(n, d):
    if n:
        close(jnp.fft.fftfreq(n, d), np.fft.fftfreq(n, d))
        close(jnp.fft.rfftfreq(n, d), np.fft.rfftfreq(n, d))
    else:
        assert jnp.fft.fftfreq(n, d).shape == (0,)


def test_frequencies_of_other_types():
    assert jnp.fft.fftfreq(4, dtype="float16").dtype == np.float16
    assert jnp.fft.rfftfreq(4, dtype="complex64").dtype == np.complex64
    assert jnp.fft.fftfreq(4).dtype == np.float32
    d = jnp.float32(0.5)
    close(jitney.jit(lambda d: jnp.fft.fftfreq(6, d))(d), np.fft.fftfreq(6, 0.5))
    close(jitney.jit(lambda d: jnp.fft.rfftfreq(6, d))(d), np.fft.rfftfreq(6, 0.5))
    assert np.isnan(jnp.fft.fftfreq(2, 0.0)[0])


@pytest.mark.parametrize("shape", ((5,), (6,), (4, 5, 6), (0, 3), ()))
def test_shifts(shape):
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    if not shape:
        assert jnp.fft.fftshift(x) == x and jnp.fft.ifftshift(x, ()) == x
        return
    for axes in (None, 0, (0, -1), [0]):
        assert np.array_equal(jnp.fft.fftshift(x, axes), np.fft.fftshift(x, axes))
        assert np.array_equal(jnp.fft.ifftshift(x, axes), np.fft.ifftshift(x, axes))


def test_names_and_documents():
    names = ("fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 "
             "irfftn rfft rfft2 rfftfreq rfftn").split()
    assert sorted(jnp.fft.__all__) == names
    assert all(getattr(jnp.fft, n).__doc__ for n in names)
    assert str(inspect.signature(jnp.fft.rfft)) == "(a, n=None, axis=-1, norm=None)"
    assert str(inspect.signature(jnp.fft.fft2)) == "(a, s=None, axes=(-2, -1), norm=None)"
    assert str(inspect.signature(jnp.fft.fftfreq)) == "(n, d=1.0, *, dtype=None, device=None)"
