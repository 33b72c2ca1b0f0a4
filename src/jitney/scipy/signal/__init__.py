"""Signals: convolution, trends, spectra, under the names of `jax.scipy.signal`.

In: sampled signals of any rank. Out: convolved signals, spectra with their frequencies and times.
"""

from jitney.scipy.signal.convolution import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
)
from jitney.scipy.signal.spectra import csd, istft, stft, welch
from jitney.scipy.signal.trends import detrend

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve",
           "istft", "stft", "welch"]
