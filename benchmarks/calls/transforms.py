"""Calls of Fourier transforms and of spectra."""

from .arrays import complexes, normals
from .catalogue import case, variant

LENGTHS = (360, 1000, 1009, 4096, 100003, 131072)

_LINES = [
    case(f"fft of {length}, {max(1, 200000 // length)} lines", "jnp.fft.fft",
         complexes(max(1, 200000 // length), length))
    for length in LENGTHS
] + [
    case(f"rfft of {length}, {max(1, 200000 // length)} lines", "jnp.fft.rfft",
         normals(max(1, 200000 // length), length),
         variant=length < 100000)
    for length in (1000, 4096, 131072)
] + [
    variant("fft of real numbers, 1000 x 256", "jnp.fft.fft", normals(1000, 256)),
    case("fft of 16, 10000 lines", "jnp.fft.fft", complexes(10000, 16)),
    variant("ifft of 1024, 200 lines", "jnp.fft.ifft", complexes(200, 1024)),
    variant("irfft of 2048, 100 lines", "jnp.fft.irfft", complexes(100, 1025)),
    case("rfft of columns, 1024 x 256", "jnp.fft.rfft", normals(1024, 256), axis=0),
    case("fft along the middle, 64^3", "jnp.fft.fft", complexes(64, 64, 64), axis=1),
    variant("hfft of 513, 100 lines", "jnp.fft.hfft", complexes(100, 513)),
]  # fmt: skip

_PLANES = [
    case("fft2, 512 x 512", "jnp.fft.fft2", complexes(512, 512)),
    variant("rfft2, 512 x 512", "jnp.fft.rfft2", normals(512, 512)),
    variant("irfft2, 512 x 512", "jnp.fft.irfft2", complexes(512, 257)),
    case("ifftn, 64^3", "jnp.fft.ifftn", complexes(64, 64, 64)),
    variant("fft2 of batches, 64 x 64 x 64", "jnp.fft.fft2", complexes(64, 64, 64)),
    variant("fftshift, 1000 x 1000", "jnp.fft.fftshift", normals(1000, 1000)),
    case("dct, 100 x 1000", "scipy.fft.dct", normals(100, 1000), norm="ortho"),
    variant("dctn, 256 x 256", "scipy.fft.dctn", normals(256, 256)),
    variant("power spectrum, 100 x 4096", lambda jnp, x: jnp.abs(jnp.fft.rfft(x)) ** 2,
            normals(100, 4096)),
    variant("product of spectra, 131072",
            lambda jnp, x, y: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(y)), normals(131072),
            normals(131072)),
]  # fmt: skip

_SPECTRA = [
    case("stft, 100000", lambda scipy, x: scipy.signal.stft(x, nperseg=256)[2], normals(100000)),
    variant("istft, 129 x 780", lambda scipy, z: scipy.signal.istft(z, nperseg=256)[1],
            complexes(129, 780)),
    case("welch, 100000", lambda scipy, x: scipy.signal.welch(x, nperseg=256)[1], normals(100000)),
    variant("csd, 100000", lambda scipy, x, y: scipy.signal.csd(x, y, nperseg=256)[1],
            normals(100000), normals(100000)),
    variant("detrend, 100000", "scipy.signal.detrend", normals(100000)),
]  # fmt: skip

CASES = [*_LINES, *_PLANES, *_SPECTRA]
