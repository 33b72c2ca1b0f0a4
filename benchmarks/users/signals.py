"""Signals: filters, spectra, splines, alignments."""

import numpy as np

from .catalogue import program
from .shared import f32


def sampled_sine(rng):
    x = np.sort(rng.uniform(0, 10, 400)).astype(f32)
    return x, np.sin(x).astype(f32), rng.uniforms(20000, hi=10)


def noisy_slow_sine(rng):
    return ((np.sin(np.arange(5000) / 40) + 0.2 * rng.normal(size=5000)).astype(f32),)


def chirp(rng):
    return (np.sin(np.cumsum(np.linspace(0.05, 1.0, 8192))).astype(f32),)


@program(sampled_sine, seed=10)
def cubic_spline(lib, x, y, q):
    """A spline by a tridiagonal solve, read at 20000 places."""
    jnp, lax = lib.jnp, lib.lax
    n = x.shape[0]
    h = jnp.maximum(jnp.diff(x), 1e-3)
    a = h[:-1]
    b = 2 * (h[:-1] + h[1:])
    c = h[1:]
    d = 6 * ((y[2:] - y[1:-1]) / h[1:] - (y[1:-1] - y[:-2]) / h[:-1])

    def fw(carry, abcd):
        cp, dp = carry
        a, b, c, d = abcd
        m = b - a * cp
        cp, dp = c / m, (d - a * dp) / m
        return (cp, dp), (cp, dp)
    _, (cp, dp) = lax.scan(fw, (0.0, 0.0), (a, b, c, d))

    def bw(xn, cd):
        c, d = cd
        v = d - c * xn
        return v, v
    _, M = lax.scan(bw, 0.0, (cp, dp), reverse=True)
    M = jnp.pad(M, 1)
    i = jnp.clip(jnp.searchsorted(x, q) - 1, 0, n - 2)
    hi = h[i]
    u, v = x[i + 1] - q, q - x[i]
    s = (M[i] * u ** 3 + M[i + 1] * v ** 3) / (6 * hi) + (y[i] / hi - M[i] * hi / 6) * u \
        + (y[i + 1] / hi - M[i + 1] * hi / 6) * v
    return s, jnp.interp(q, x, y), M


@program(noisy_slow_sine, seed=1001)
def savgol_detrend(lib, x):
    """Smoothing by local polynomials, less a trend."""
    jnp = lib.jnp
    hw, order = 12, 3
    k = jnp.arange(-hw, hw + 1, dtype=jnp.float32)
    V = jnp.vander(k / hw, order + 1, increasing=True)
    C = jnp.linalg.pinv(V)
    xp = jnp.pad(x, hw, mode="reflect")
    smooth = jnp.convolve(xp, C[0][::-1], mode="valid")
    deriv = jnp.convolve(xp, C[1][::-1] / hw, mode="valid")
    tt = jnp.linspace(-1, 1, x.shape[0])
    p = jnp.polyfit(tt, smooth, 4)
    resid = smooth - jnp.polyval(p, tt)
    zc = jnp.sum(jnp.diff(jnp.signbit(resid)))
    return smooth, deriv, p, resid, zc


@program(lambda rng: (rng.normals(16, 4000), rng.normals(63) / 63), seed=1002)
def eeg_filter_bank(lib, x, taps):
    """Sixteen channels through a long filter and two recursive ones."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    # FIR by conv, then two biquads by scan over time
    win = jnp.hamming(taps.shape[0])
    fir = jax.vmap(lambda ch: jnp.convolve(ch, taps * win, mode="same"))(x)
    sos = jnp.array([[0.2, 0.4, 0.2, -0.37, 0.19], [1.0, -2.0, 1.0, -1.8, 0.83]], jnp.float32)

    def biquad(x, c):
        b0, b1, b2, a1, a2 = c

        def f(s, v):
            s1, s2 = s
            o = b0 * v + s1
            return (b1 * v - a1 * o + s2, b2 * v - a2 * o), o
        z = jnp.zeros(x.shape[0])
        _, o = lax.scan(f, (z, z), x.T)
        return o.T
    yv = fir
    for c in sos:
        yv = biquad(yv, c)
    power = (yv ** 2).reshape(16, -1, 250).mean(-1)
    return yv, jnp.log1p(power)


@program(chirp, seed=1003)
def griffin_lim(lib, x):
    """A signal from the magnitudes of its spectrum."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n, hop = 512, 128
    w = jnp.hanning(n)
    nf = (x.shape[0] - n) // hop + 1
    idx = jnp.arange(nf)[:, None] * hop + jnp.arange(n)

    def stft(x):
        return jax.vmap(jnp.fft.rfft)(x[idx] * w)

    def istft(S):
        fr = jnp.fft.irfft(S, n) * w
        o = jnp.zeros_like(x).at[idx].add(fr)
        nrm = jnp.zeros_like(x).at[idx].add(jnp.broadcast_to(w * w, fr.shape))
        return o / jnp.maximum(nrm, 1e-3)

    mag = jnp.abs(stft(x))

    def it(_, xr):
        S = stft(xr)
        return istft(mag * S / jnp.maximum(jnp.abs(S), 1e-6))

    xr = lax.fori_loop(0, 8, it, istft(mag.astype(jnp.complex64)))
    return mag, jnp.mean((jnp.abs(stft(xr)) - mag) ** 2)


@program(lambda rng: (rng.normals(64, 2000),), seed=1004)
def hilbert_autocorr(lib, x):
    """Envelopes, frequencies and periods."""
    jnp = lib.jnp
    n = x.shape[-1]
    X = jnp.fft.fft(x)
    h = jnp.zeros(n).at[0].set(1).at[n // 2].set(1).at[1:n // 2].set(2)
    an = jnp.fft.ifft(X * h)
    env = jnp.abs(an)
    ph = jnp.unwrap(jnp.angle(an), axis=-1)
    freq = jnp.diff(ph, axis=-1) / (2 * jnp.pi)
    F = jnp.fft.rfft(x - x.mean(-1, keepdims=True), 4096)
    ac = jnp.fft.irfft(jnp.abs(F) ** 2)[:, :200]
    ac = ac / ac[:, :1]
    return env, jnp.mean(freq, -1), ac, jnp.argmax(ac[:, 10:], -1)


@program(lambda rng: (rng.normals(256, 256),), seed=1005)
def haar_denoise(lib, img):
    """Wavelets of four levels, small ones removed."""
    jnp = lib.jnp

    def fwd(a):
        s = (a[0::2] + a[1::2]) / jnp.sqrt(2.0)
        d = (a[0::2] - a[1::2]) / jnp.sqrt(2.0)
        return s, d

    def inv(s, d):
        return jnp.stack([(s + d), (s - d)], 1).reshape(-1, *s.shape[1:]) / jnp.sqrt(2.0)
    a, bands = img, []
    for _ in range(4):
        lo, hi = fwd(a)
        ll, lh = [v.T for v in fwd(lo.T)]
        hl, hh = [v.T for v in fwd(hi.T)]
        bands.append((lh, hl, hh))
        a = ll
    sigma = jnp.median(jnp.abs(bands[0][2])) / 0.6745
    th = sigma * jnp.sqrt(2 * jnp.log(img.size))
    soft = lambda v: jnp.sign(v) * jnp.maximum(jnp.abs(v) - th, 0)
    for lh, hl, hh in reversed(bands):
        lo = inv(a.T, soft(lh).T).T
        hi = inv(soft(hl).T, soft(hh).T).T
        a = inv(lo, hi)
    return a, sigma


@program(lambda rng: (rng.normals(2, 8000), rng.normals(257, 40).__abs__() * .01), seed=16006)
def mel_spectrogram_framing_rfft_specaugment(lib, x, mel):
    """Features of speech with bands removed."""
    jnp, random = lib.jnp, lib.random
    n, hop = 512, 128
    i = jnp.arange(0, 8000 - n + 1, hop)[:, None] + jnp.arange(n)
    fr = x[:, i] * jnp.hanning(n)
    S = jnp.abs(jnp.fft.rfft(fr)) ** 2
    M = jnp.log(S @ mel + 1e-6)
    M = (M - M.mean(1, keepdims=True)) / (M.std(1, keepdims=True) + 1e-5)
    k = random.PRNGKey(0)
    t0, f0 = random.randint(k, (), 0, 40), random.randint(random.fold_in(k, 1), (), 0, 30)
    m = (jnp.arange(M.shape[1]) >= t0) & (jnp.arange(M.shape[1]) < t0 + 10)
    g = (jnp.arange(40) >= f0) & (jnp.arange(40) < f0 + 5)
    dct = jnp.cos(jnp.pi / 40 * (jnp.arange(40)[:, None] + 0.5) * jnp.arange(13))
    return jnp.where(m[:, None] | g, 0.0, M) @ dct, S


@program(lambda rng: (rng.normals(4, 32, 8), rng.normals(4, 40, 8)), seed=160)
def soft_dtw_antidiagonal_scan_grad(lib, a, b):
    """A smooth alignment cost by diagonals."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def one(a, b):
        n, m = a.shape[0], b.shape[0]
        D = jnp.sum((a[:, None] - b[None]) ** 2, -1)
        i = jnp.arange(n)
        skew = jax.vmap(lambda d: D[i, jnp.clip(d - i, 0, m - 1)])(jnp.arange(n + m - 1))
        ok = (jnp.arange(n + m - 1)[:, None] - i >= 0) & (jnp.arange(n + m - 1)[:, None] - i < m)
        inf = 1e6

        def step(c, x):
            p1, p2 = c
            d, ok, k = x
            up = jnp.concatenate([jnp.array([inf]), p1[:-1]])
            dg = jnp.concatenate([jnp.array([inf]), p2[:-1]])
            dg = jnp.where((i == 0) & (k == 0), 0.0, dg)
            s = -nn.logsumexp(-jnp.stack([up, p1, dg]), 0)
            cur = jnp.where(ok, d + s, inf)
            return (cur, p1), None
        (l, _), _ = lax.scan(step, (jnp.full(n, inf), jnp.full(n, inf)),
                             (skew, ok, jnp.arange(n + m - 1)))
        return l[-1]
    f = lambda a, b: jax.vmap(one)(a, b).mean()
    return jax.value_and_grad(f, (0, 1))(a, b)
