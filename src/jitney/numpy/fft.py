"""Discrete Fourier transforms under the names of `jax.numpy.fft`. Imported when first used.

In: arrays, the axes to be transformed, and the lengths they are cropped or padded with zeros to.
Out: complex arrays (real ones of irfft… and hfft). Integers and booleans are computed in floating
point; the real transforms take no complex numbers, and float16 and bfloat16 only after conversion.
Invariant: `norm` says where the factor 1/n stands: "backward" (also None): in the inverse
transforms; "forward": in the others; "ortho": 1/√n in both.
"""

from jitney.numpy.fft_frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from jitney.numpy.fft_transforms import (
    fft,
    fft2,
    fftn,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]
