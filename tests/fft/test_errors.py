"""What is refused, with which words."""

import numpy as np
import pytest
from fft_data import complex_, real

import jitney as jax
import jitney.numpy as jnp
import jitney.scipy.fft as scipy_fft
from jitney import lax

X, C = real(4, 6, 8), complex_(4, 6, 8)
ERRORS = [
    (lambda: jnp.fft.rfft(C), ValueError, "only real valued inputs supported for rfft.*complex64"),
    (lambda: jnp.fft.ihfft(C), ValueError, "only real valued inputs"),
    (lambda: jnp.fft.fft(X, n=0), ValueError, "Shape should be positive"),
    (lambda: jnp.fft.irfft(X, n=-2), ValueError, "Shape should be positive"),
    (lambda: jnp.fft.fft(X, n=2.5), TypeError, "n must be an integer, got 2.5"),
    (lambda: jnp.fft.fft(X, axis=3), ValueError, "axis 3 is out of bounds for array of dimension"),
    (lambda: jnp.fft.hfft(X, axis=-4), ValueError, "axis -4 is out of bounds"),
    (lambda: jnp.fft.hfft(X, axis=None), TypeError, "hfft needs one axis"),
    (lambda: jnp.fft.fft(X, axis=(0, 1)), ValueError, "multiple axes. Please use jax.numpy.fft.f"),
    (lambda: jnp.fft.ihfft(X, axis=(0, 1)), ValueError, "does not support multiple axes"),
    (lambda: jnp.fft.fft(X, axis=1.5), TypeError, "axis must be an integer"),
    (lambda: jnp.fft.fft(X, norm="unitary"), ValueError, "Invalid norm value unitary"),
    (lambda: jnp.fft.fft(np.float32(1)), ValueError, "axis -1 is out of bounds"),
    (lambda: jnp.fft.fft([1.0, 2.0]), TypeError, "jax.numpy.fft.fft requires ndarray or scalar"),
    (lambda: jnp.fft.rfft(X.astype("float16")), ValueError, "must be float32 or float64, got flo"),
    (lambda: jnp.fft.rfft(X[..., :0]), ValueError, "RFFT of no data points"),
    (lambda: jnp.fft.fft2(X, axes=(1,)), ValueError, "only supports 2 axes. Got axes = .1,"),
    (lambda: jnp.fft.fft2(X, axes=None), ValueError, "only supports 2 axes"),
    (lambda: jnp.fft.fft2(X, s=(2,)), ValueError, "Shape and axes have different lengths"),
    (lambda: jnp.fft.fftn(X, axes=(1, 1)), ValueError, "repeated axes. Got axes .1, 1"),
    (lambda: jnp.fft.fftn(X, axes=(1, -2)), ValueError, "repeated axes. Got axes .1, -2"),
    (lambda: jnp.fft.fftn(X, axes=(0, 5)), ValueError, "axis 5 is out of bounds"),
    (lambda: jnp.fft.fftn(X, axes=1), TypeError, "axes must be a sequence of integers, got 1"),
    (lambda: jnp.fft.fftn(X, s=4), TypeError, "s must be a sequence of integers, got 4"),
    (lambda: jnp.fft.fftn(X, s=(None, 3)), TypeError, "s must be an integer, got None"),
    (lambda: jnp.fft.fftn(X, s=(2, 2, 2, 2)), ValueError, "at most as many lengths"),
    (lambda: jnp.fft.fftfreq([3]), ValueError, "n argument.*only takes an int. Got n = .3"),
    (lambda: jnp.fft.rfftfreq(2.5), TypeError, "n argument.*only takes an int. Got n = 2.5"),
    (lambda: jnp.fft.fftfreq(4, [1, 2]), ValueError, "d argument.*only takes a single value"),
    (lambda: jnp.fft.fftfreq(4, np.ones(2)), TypeError, "d argument.*single value.*shape .2,"),
    (lambda: jnp.fft.fftfreq(4, 1j), TypeError, "d argument.*must be real"),
    (lambda: jnp.fft.fftshift([1, 2]), TypeError, "fftshift requires ndarray"),
    (lambda: jnp.fft.fftshift(X, 5), ValueError, "axis 5 is out of bounds"),
    (lambda: jnp.fft.fftshift(X, 1.5), TypeError, "axes must be an integer or a sequence"),
    (lambda: lax.fft(C, 0, (8,)), TypeError, "Unknown FFT type value '0'.*FftType"),
    (lambda: lax.fft(C, "DFT", (8,)), ValueError, "Unknown FFT type 'DFT'"),
    (lambda: lax.fft(C, "FFT", 8), TypeError, "fft_lengths must be a sequence of integers"),
    (lambda: lax.fft(C, "FFT", (7,)), ValueError, "minor dimensions must be equal to fft_lengths"),
    (lambda: lax.fft(X, "RFFT", (7,)), ValueError, "RFFT input shape .4, 6, 8. minor dimensions"),
    (lambda: lax.fft(C[0], "FFT", (4, 6, 8)), ValueError, "at least as many input dimensions"),
    (lambda: lax.fft(C, "IRFFT", (5, 14)), ValueError, "equal to all except the last fft_length"),
    (lambda: lax.fft(C, "IRFFT", (16,)), ValueError, "innermost dimension.*9, got 8"),
    (lambda: lax.fft(C, "IRFFT", (-1,)), ValueError, "must not be negative"),
    (lambda: lax.fft([1.0], "FFT", (1,)), TypeError, "fft requires ndarray or scalar"),
    (lambda: lax.fft_p.bind(X, fft_type=lax.FftType.FFT, fft_lengths=(8,)), ValueError,
     "FFT input must be complex64 or complex128, got float32"),
    (lambda: scipy_fft.dct(X, type=3), NotImplementedError, "Only DCT type 2 is implemented"),
    (lambda: scipy_fft.idctn(X, type=1), NotImplementedError, "Only DCT type 2 is implemented"),
    (lambda: scipy_fft.dct(X, norm="forward"), ValueError, "dct: norm='forward' is not implement"),
    (lambda: scipy_fft.dct(X, axis=3), ValueError, "axis 3 is out of bounds"),
    (lambda: scipy_fft.dct(X, n=0), ValueError, "lengths must be positive"),
    (lambda: scipy_fft.dct(X, n=2.5), TypeError, "n must be made of integers, got 2.5"),
    (lambda: scipy_fft.dct(X[..., :0]), ValueError, "no data points along the axes"),
    (lambda: scipy_fft.dct([1.0]), TypeError, "dct requires ndarray or scalar"),
    (lambda: scipy_fft.dctn(X, axes=(0, 0)), ValueError, "repeated axis: .0, 0"),
    (lambda: scipy_fft.dctn(X, s=(3, 3, 3, 3)), ValueError, "at most x.ndim .3. elements, got 4"),
    (lambda: scipy_fft.dctn(X, s=(3,), axes=(0, 1)), ValueError, "s and axes must have the same"),
    (lambda: scipy_fft.dctn(X, s=1.5), TypeError, "s must be an integer or a sequence"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_words(number):
    call, kind, words = ERRORS[number]
    with pytest.raises(kind, match=words):
        call()


def test_under_jit_as_well():
    with pytest.raises(ValueError, match="Shape should be positive"):
        jax.jit(lambda x: jnp.fft.fft(x, n=0))(X)
    with pytest.raises(ValueError, match="only real valued"):
        jax.jit(jnp.fft.rfft)(C)
