"""Plain NumPy versions of the programs whose reference is not what a user of NumPy would time.

In: the arguments of a program. Out: `version(made)`: its function of arrays for timing. Most
references are plain NumPy already and are timed themselves. Those that compute in float64 what the
program computes in float32, or slopes by differences, have a version here in the types and with the
formulas of the other libraries.
"""

from collections.abc import Callable

import numpy as np

from .catalogue import Program

f = np.float32
VERSIONS: dict[str, Callable] = {}


def version(made: Program) -> Callable:
    return VERSIONS.get(made.name, made.reference)


def plain(fun: Callable) -> Callable:
    """Registers a program under the function's name."""
    VERSIONS[fun.__name__] = fun
    return fun


def _cdf(x):
    import scipy.special

    return f(0.5) * (f(1) + scipy.special.erf(x * f(0.5**0.5)))


def _call(spot, paid, drift, width):
    """Price of a call; `drift` is the logarithm of forward over strike."""
    d = drift / width + f(0.5) * width
    return spot * _cdf(d) - paid * _cdf(d - width)


@plain
def black_scholes(spot, strike, years):
    paid = strike * np.exp(f(-0.02) * years)
    drift = np.log(spot / strike) + f(0.02) * years
    call = _call(spot, paid, drift, f(0.3) * np.sqrt(years))
    return call, call - spot + paid


@plain
def greeks(spot, strike, years):
    root, factor = np.sqrt(years), np.exp(f(-0.02) * years)
    width = f(0.3) * root
    d = (np.log(spot / strike) + f(0.02) * years) / width + f(0.5) * width
    delta, second = _cdf(d), _cdf(d - width)
    density = np.exp(f(-0.5) * d * d) * f(1 / np.sqrt(2 * np.pi))
    paid = strike * factor * second
    slope = spot * density * f(0.15) / root + f(0.02) * paid
    return spot * delta - paid, delta, -factor * second, slope


@plain
def implied_volatility(price, spot, strike, years):
    root, paid = np.sqrt(years), strike * np.exp(f(-0.02) * years)
    drift = np.log(spot / strike) + f(0.02) * years
    low, high = np.full_like(price, 0.01), np.full_like(price, 1.0)
    while (high - low).max() > 1e-4:
        middle = f(0.5) * (low + high)
        above = _call(spot, paid, drift, middle * root) > price
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return f(0.5) * (low + high)


@plain
def binomial(spot, strike, years):
    spot, strike, step = spot[:, None], strike[:, None], years[:, None] / f(256)
    up = np.exp(f(0.3) * np.sqrt(step))
    chance = (np.exp(f(0.02) * step) - f(1) / up) / (up - f(1) / up)
    fade, less = np.exp(f(-0.02) * step), f(1) - chance
    prices = spot * up ** (f(2) * np.arange(257, dtype=f) - f(256))
    value = np.maximum(strike - prices, f(0))
    for _ in range(256):
        prices = prices[:, :-1] * up
        held = fade * (chance * value[:, 1:] + less * value[:, :-1])
        value = np.maximum(held, strike - prices)
    return value[:, 0]


@plain
def asian_paths(normals):
    steps = f(-0.025 / 64) + f(0.3 / 8) * normals
    mean = f(100) * np.exp(np.cumsum(steps, 0)).mean(0)
    gain = np.maximum(mean - f(100), f(0))
    return gain.mean(), gain.std()


@plain
def heston(normals):
    n, dt = normals.shape[2], f(0.02)
    x, v = np.zeros(n, f), np.full(n, 0.04, f)
    for z, w in normals:
        positive = np.maximum(v, f(0))
        root = np.sqrt(positive * dt)
        x = x + (f(0.02) - f(0.5) * positive) * dt + root * z
        turned = f(-0.7) * z + f(0.51**0.5) * w
        v = v + f(2) * (f(0.04) - positive) * dt + f(0.3) * root * turned
    return f(100) * np.exp(x), v


@plain
def hodgkin_huxley(current):
    exp, dt = np.exp, f(0.01)
    v, m, h, n = (np.full(len(current), s, f) for s in (-65.0, 0.05, 0.6, 0.32))
    for _ in range(500):
        am = f(0.1) * (v + f(40.1)) / (f(1) - exp(-(v + f(40.1)) / f(10)))
        bm, ah = f(4) * exp(-(v + f(65)) / f(18)), f(0.07) * exp(-(v + f(65)) / f(20))
        bh = f(1) / (f(1) + exp(-(v + f(35)) / f(10)))
        an = f(0.01) * (v + f(55.1)) / (f(1) - exp(-(v + f(55.1)) / f(10)))
        bn = f(0.125) * exp(-(v + f(65)) / f(80))
        flow = f(120) * m * m * m * h * (v - f(50)) + f(36) * n * n * n * n * (v + f(77))
        flow = flow + f(0.3) * (v + f(54.4))
        m, h = m + dt * (am * (f(1) - m) - bm * m), h + dt * (ah * (f(1) - h) - bh * h)
        n, v = n + dt * (an * (f(1) - n) - bn * n), v + dt * (current - flow)
    return v, m, h, n


@plain
def poisson(field):
    x, y = np.fft.fftfreq(field.shape[0]), np.fft.rfftfreq(field.shape[1])
    x, y = (np.sin(np.pi * k.astype(f)) ** 2 for k in (x, y))
    eigen = f(4) * (x[:, None] + y)
    eigen[0, 0] = np.inf
    return np.fft.irfft2(np.fft.rfft2(field) / eigen, s=field.shape)


@plain
def split_step(u):
    k = 2.0 * np.pi * np.fft.fftfreq(len(u), 40.0 / len(u))
    turn = np.exp(-0.5j * k**2 * 0.002).astype(u.dtype)
    for _ in range(40):
        u = np.fft.ifft(np.fft.fft(u) * turn)
        u = u * np.exp(np.complex64(0.002j) * (u.real**2 + u.imag**2))
    return u
