"""Developing a photograph: the program of the demonstration, in plain array code.

In: `rgb`, bytes [height, width, 3]. Out: a grey picture with values in [0, 1], smaller by
half a window on each side, and its histogram. `xp` is `jitney.numpy` or `numpy`: the code is the
same, so results and times can be compared.
"""

import jitney.numpy as jnp

EYE = (0.299, 0.587, 0.114)  # how bright red, green and blue seem (ITU-R BT.601)
FINE, COARSE = 3, 49  # windows: against noise, and the neighbourhood that counts as local
BINS = 64
MARGIN = FINE // 2 + 1 + COARSE // 2 + 1  # lost on the left and at the top


def grey(rgb, xp):
    """Brightness in [0, 1]."""
    return rgb.astype(xp.float32) @ xp.asarray(EYE, xp.float32) / 255


def window_mean(x, n, xp):
    """The mean over a window of n x n points, by differences of running sums."""
    sums = xp.cumsum(x, axis=0)
    x = (sums[n:] - sums[:-n]) / n
    sums = xp.cumsum(x, axis=1)
    return (sums[:, n:] - sums[:, :-n]) / n


def local_contrast(x, xp):
    """How far a point is from the mean around it, in standard deviations; and that mean."""
    mean = window_mean(x, COARSE, xp)
    variance = window_mean(x * x, COARSE, xp) - mean * mean
    half = COARSE // 2
    centre = x[half + 1 : -half, half + 1 : -half]
    return (centre - mean) / xp.sqrt(xp.maximum(variance, 0) + 4e-3), mean


def tone_curve(x, xp):
    """SELU, then a logistic curve: shadows are compressed, nothing is clipped."""
    x = 1.05 * xp.where(x > 0, x, 1.67 * xp.exp(x) - 1.67)
    return 1 / (1 + xp.exp(-1.8 * x))


def histogram(x, xp):
    """How many points fall in each of `BINS` equal parts of [0, 1]."""
    level = xp.clip(x * BINS, 0, BINS - 1).astype(xp.int32).ravel()
    if xp is jnp:
        return xp.bincount(level, length=BINS)  # a traced program must know its result's size
    return xp.bincount(level, minlength=BINS)


def develop(rgb, xp=jnp):
    """The whole pipeline."""
    smooth = window_mean(grey(rgb, xp), FINE, xp)
    contrast, mean = local_contrast(smooth, xp)
    picture = tone_curve(0.8 * contrast + 4 * mean - 1.7, xp)
    return picture, histogram(picture, xp)
