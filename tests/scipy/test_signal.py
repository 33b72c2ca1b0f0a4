"""Convolutions, trends and spectra against SciPy; derivatives, batches, refusals."""

import warnings

import numpy as np
import pytest
import scipy.signal

import jitney
from jitney import numpy as jnp
from jitney.scipy import signal

RNG = np.random.default_rng(0)
MODES = ["full", "same", "valid"]
SHAPES = [((9,), (4,)), ((3,), (8,)), ((5, 6), (2, 3)), ((2, 2), (5, 4)), ((3, 4, 5), (2, 1, 3)),
          ((), ())]


def normal(shape, dtype=np.float32):
    x = RNG.normal(size=shape)
    x = x + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else x * 3
    return np.asarray(x).astype(dtype)


def close(ours, wanted, tolerance=2e-5):
    scale = np.abs(wanted).max(initial=1e-30)
    assert ours.shape == wanted.shape
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("shapes", SHAPES)
def test_convolutions(shapes, dtype, mode):
    one, two = normal(shapes[0], dtype), normal(shapes[1], dtype)
    wanted = scipy.signal.convolve(one, two, mode, "direct")
    for method in ("direct", "fft"):
        close(signal.convolve(one, two, mode, method), wanted)
        close(signal.correlate(one, two, mode, method),
              scipy.signal.correlate(one, two, mode, "fft"))
    if len(shapes[0]) == 2:
        close(signal.convolve2d(one, two, mode), scipy.signal.convolve2d(one, two, mode))
        if mode != "valid" or shapes[0] > shapes[1]:
            close(signal.correlate2d(one, two, mode), scipy.signal.correlate2d(one, two, mode))


@pytest.mark.parametrize("axes", [0, [1], (0, -1), []])
@pytest.mark.parametrize("mode", MODES)
def test_fftconvolve_along_axes(axes, mode):
    one = normal((7, 5))
    chosen = {a % 2 for a in np.atleast_1d(axes).astype(int)}
    two = normal(tuple(3 if a in chosen else n for a, n in enumerate(one.shape)))
    close(signal.fftconvolve(one, two, mode, axes),
          scipy.signal.fftconvolve(one, two, mode, axes) if len(chosen) else one * two)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "float16", "bfloat16"])
def test_dtypes_of_convolutions(dtype):
    one, two = jnp.array([1, 0, 3, 1]).astype(dtype), jnp.array([1, 0, 1]).astype(dtype)
    wanted = np.convolve(np.asarray(one).astype(float), np.asarray(two).astype(float))
    for convolve in (signal.convolve, signal.fftconvolve):
        found = convolve(one, two)
        assert found.dtype == (dtype if "float" in dtype else "float32")
        np.testing.assert_allclose(found.astype(float), wanted, atol=1e-5)


def test_nothing():
    for mode, length in (("full", 2), ("same", 0)):
        assert signal.fftconvolve(np.zeros(0), np.ones(3), mode).shape == (length,)
    assert signal.fftconvolve(np.ones((0, 2)), np.ones((0, 3)), axes=1).shape == (0, 4)
    assert signal.detrend(np.ones((0, 2)), axis=0).shape == (0, 2)
    assert all(x.shape == (0,) for x in signal.stft(np.ones(0)))
    assert all(x.shape == (2, 0) for x in signal.csd(np.ones((2, 0)), np.ones((1, 5))))


def test_convolutions_transformed():
    one, two = normal((6, 5)), normal((2, 3))
    for method in ("direct", "fft"):
        def loss(a, b, method=method):
            return (signal.convolve(a, b, "same", method) ** 2).sum()

        residual = 2 * scipy.signal.convolve(one, two, "same")
        in_one, in_two = jitney.jit(jitney.grad(loss, (0, 1)))(one, two)
        step = np.zeros_like(two)
        step[1, 2] = 1
        np.testing.assert_allclose(
            in_two[1, 2], (residual * scipy.signal.convolve(one, step, "same")).sum(), rtol=1e-4)
        assert in_one.shape == one.shape
        many = jitney.vmap(lambda b, m=method: signal.convolve(one, b, method=m))(
            np.stack([two, 2 * two]))
        close(many[1], scipy.signal.convolve(one, 2 * two))


@pytest.mark.parametrize("function, arguments, options, error, text", [
    (signal.convolve, ((3,), (3,)), {"mode": "x"}, ValueError, "mode must be one of"),
    (signal.convolve, ((3,), (3,)), {"method": "x"}, ValueError, "expected 'auto'"),
    (signal.convolve, ((3,), (3, 3)), {}, ValueError, "same number of dimensions"),
    (signal.convolve, ((0,), (3,)), {}, ValueError, "zero-size"),
    (signal.correlate, ((3, 2), (2, 3)), {}, ValueError, "smaller than the other"),
    (signal.fftconvolve, ((3, 2), (2, 3)), {"mode": "valid"}, ValueError, "at least as large"),
    (signal.fftconvolve, ((3, 2), (2, 3)), {"axes": 0}, ValueError, "mapped axes"),
    (signal.fftconvolve, ((3,), (3,)), {"axes": [0, 0]}, ValueError, "duplicate"),
    (signal.convolve2d, ((3,), (3,)), {}, ValueError, "2-dimensional"),
    (signal.convolve2d, ((3, 3), (3, 3)), {"boundary": "wrap"}, NotImplementedError, "wrap"),
    (signal.correlate2d, ((3, 3), (3, 3)), {"fillvalue": 1}, NotImplementedError, "fillvalue=1"),
])
def test_convolutions_refuse(function, arguments, options, error, text):
    with pytest.raises(error, match=text):
        function(*map(np.ones, arguments), **options)


# --- trends --------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"type": "constant", "axis": 1}, {"bp": 4},
                                     {"bp": [2, 5]}, {"bp": np.array([7]), "axis": 1}])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int32])
def test_detrend(options, dtype):
    x = normal((8, 9), dtype) + 5 * np.arange(9).astype(dtype)
    found = signal.detrend(x, **options)
    assert found.dtype == (np.complex64 if dtype == np.complex64 else np.float32)
    close(found, scipy.signal.detrend(x, **options), 1e-5)


def test_detrend_refuses():
    x = np.ones(5)
    for options, error in [({"type": "x"}, ValueError), ({"bp": 6}, ValueError),
                           ({"bp": -1}, ValueError), ({"axis": 1}, ValueError),
                           ({"overwrite_data": True}, NotImplementedError)]:
        with pytest.raises(error):
            signal.detrend(x, **options)
    assert signal.detrend(x.astype(np.float16)).dtype == np.float16


# --- spectra -------------------------------------------------------------------------------------

SIGNAL, OTHER = normal((2, 150)), normal((2, 150))
SPECTRAL = [
    {}, {"fs": 10.0, "window": "hamming", "noverlap": 5}, {"window": ("kaiser", 4.0), "nfft": 40},
    {"detrend": "linear", "nperseg": 31}, {"return_onesided": False}, {"axis": 0, "nperseg": 2},
    {"window": np.hanning(32).astype(np.float32), "nperseg": None}, {"detrend": False},
]  # fmt: skip


@pytest.mark.parametrize("options", SPECTRAL)
def test_power(options):
    options = {"nperseg": 32, **options}
    for average in ("mean", "median"):
        for scaling in ("density", "spectrum"):
            more = {**options, "average": average, "scaling": scaling}
            for name, given in [("welch", (SIGNAL,)), ("csd", (SIGNAL, OTHER))]:
                frequencies, power = getattr(signal, name)(*given, **more)
                wanted = getattr(scipy.signal, name)(*given, **more)
                assert power.dtype == (np.float32 if name == "welch" else np.complex64)
                close(frequencies, wanted[0])
                close(power, wanted[1], 5e-5)


@pytest.mark.parametrize("options", [
    *SPECTRAL, {"boundary": None}, {"boundary": "even"}, {"boundary": "odd", "padded": False},
    {"boundary": "constant", "noverlap": 30}])
def test_spectra_over_time(options):
    options = {"nperseg": 32, **options}
    for ours, wanted in zip(signal.stft(SIGNAL, **options), scipy.signal.stft(SIGNAL, **options)):
        close(ours, wanted, 5e-5)


@pytest.mark.parametrize("options", [
    {"nperseg": 32}, {"nperseg": 31}, {"nperseg": 32, "noverlap": 24, "window": "hamming"},
    {"nperseg": 20, "nfft": 32}, {"nperseg": 32, "return_onesided": False}])
def test_spectra_and_back(options):
    z = signal.stft(SIGNAL, 2.0, **options)[2]
    back = {k: v for k, v in options.items() if k != "return_onesided"}
    back["input_onesided"] = options.get("return_onesided", True)
    times, x = signal.istft(z, 2.0, **back)
    close(x[:, :150], SIGNAL, 1e-5)
    close(x, scipy.signal.istft(np.asarray(z), 2.0, **back)[1], 1e-5)
    close(times, np.arange(x.shape[-1]) / 2)
    swapped = signal.istft(jnp.moveaxis(z, 0, 1), 2.0, **back, freq_axis=0)[1]
    close(swapped, x, 1e-6)
    close(signal.istft(z[0].T, 2.0, **back, time_axis=0, freq_axis=1)[1], x[0], 1e-6)


def test_spectra_transformed():
    def loss(x):
        return (jnp.abs(signal.stft(x, nperseg=16)[2]) ** 2).sum()

    slope = jitney.jit(jitney.grad(loss))(SIGNAL[0, :64])
    step = np.zeros(64, np.float32)
    step[20] = 0.05
    rise = loss(SIGNAL[0, :64] + step) - loss(SIGNAL[0, :64] - step)
    np.testing.assert_allclose(slope[20], rise / 0.1, rtol=1e-2, atol=1e-3)
    many = jitney.vmap(lambda x: signal.welch(x, nperseg=32)[1])(SIGNAL)
    close(many, np.asarray(signal.welch(SIGNAL, nperseg=32)[1]))
    by_rate = jitney.jit(lambda fs: signal.welch(SIGNAL, fs, nperseg=32)[0])(10.0)
    close(by_rate, scipy.signal.welch(SIGNAL, 10.0, nperseg=32)[0])


def test_warnings():
    with pytest.warns(UserWarning, match="nperseg=256 is greater than input_length=150"):
        signal.stft(SIGNAL)
    with pytest.warns(UserWarning, match="switching to return_onesided=False"):
        assert signal.stft(1j * SIGNAL, nperseg=32)[2].shape[1] == 32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert signal.welch(SIGNAL.astype(np.float16))[1].dtype == np.float32


@pytest.mark.parametrize("options, text", [
    ({"nperseg": 0}, "positive integer"), ({"noverlap": 32}, "less than nperseg"),
    ({"nfft": 16}, "greater than or equal"), ({"window": "xyz"}, "window"),
    ({"window": np.ones((2, 16))}, "1-D"), ({"window": np.ones(31)}, "length of window"),
    ({"window": np.ones(300), "nperseg": None}, "longer than input"),
    ({"detrend": "x"}, "Trend type"), ({"detrend": True}, "Unsupported detrend"),
    ({"noverlap": -1}, "negative"),
])
def test_spectra_refuse(options, text):
    with pytest.raises(ValueError, match=text):
        signal.stft(SIGNAL, **{"nperseg": 32, **options})


def test_other_refusals():
    z = signal.stft(SIGNAL, nperseg=32)[2]
    for call, text in [
        (lambda: signal.stft(SIGNAL, boundary="x"), "Unknown boundary"),
        (lambda: signal.welch(SIGNAL, scaling="x"), "Unknown scaling"),
        (lambda: signal.welch(SIGNAL, average="x"), "average must be"),
        (lambda: signal.csd(SIGNAL, OTHER[0]), "same rank"),
        (lambda: signal.csd(SIGNAL, np.ones((3, 150))), "broadcast"),
        (lambda: signal.istft(z[0, 0]), "at least 2d"),
        (lambda: signal.istft(z, time_axis=1, freq_axis=1), "differing"),
        (lambda: signal.istft(z, nperseg=64), "FFT length"),
        (lambda: signal.istft(z, noverlap=32), "less than nperseg"),
        (lambda: signal.istft(z, window=np.ones(30)), "length of 32"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
