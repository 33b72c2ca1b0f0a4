"""Spectral methods: Fourier transforms, wavelets, cosine transforms of blocks.

Numba has no Fourier transforms; its versions call `scipy.fft` on all cores.
"""

import numpy as np

from .catalogue import program


@program(size=64, small=8, rtol=1e-3, atol=1e-5)
class NasFt:
    """Heat in a periodic cube by Fourier transforms in three dimensions: transform once, damp and
    transform back at 4 times; the NAS benchmark FT."""

    def make(rng, n):
        u = rng.standard_normal((n, n, n)) + 1j * rng.standard_normal((n, n, n))
        return (u.astype(np.complex64),)

    def array(jax):
        jnp = jax.numpy

        def run(u):
            k = jnp.fft.fftfreq(u.shape[0]) * u.shape[0]
            square = k[:, None, None] ** 2 + k[:, None] ** 2 + k**2
            damping = jnp.exp(-1e-3 * square)

            def step(waves, _):
                waves = waves * damping
                v = jnp.fft.ifftn(waves)
                return waves, (jnp.sum(v.real**2), jnp.sum(v.imag**2), v[0, 0, 0].real)

            return jax.lax.scan(step, jnp.fft.fftn(u), None, length=4)[1]

        return run

    def reference(u):
        import scipy.fft

        k = np.fft.fftfreq(len(u)).astype(np.float32) * len(u)
        damping = np.exp(np.float32(-1e-3) * (k[:, None, None] ** 2 + k[:, None] ** 2 + k**2))
        waves, out = scipy.fft.fftn(u), []
        for _ in range(4):
            waves = waves * damping.astype(np.float32)
            v = scipy.fft.ifftn(waves)
            out.append((np.sum(v.real**2), np.sum(v.imag**2), v[0, 0, 0].real))
        return tuple(np.array(out, np.float32).T)

    def loops(numba):
        import scipy.fft

        @numba.njit(parallel=True)
        def damp(waves, k):
            n = waves.shape[0]
            for i in numba.prange(n):
                for j in range(n):
                    for l in range(n):
                        square = k[i] ** 2 + k[j] ** 2 + k[l] ** 2
                        waves[i, j, l] *= np.exp(np.float32(-1e-3) * square)

        @numba.njit(parallel=True)
        def sums(v):
            real = imaginary = 0.0
            for i in numba.prange(v.shape[0]):
                real += (v[i].real ** 2).sum()
                imaginary += (v[i].imag ** 2).sum()
            return real, imaginary

        def run(u):
            k = np.fft.fftfreq(len(u)).astype(np.float32) * np.float32(len(u))
            waves, out = scipy.fft.fftn(u, workers=-1), []
            for _ in range(4):
                damp(waves, k)
                v = scipy.fft.ifftn(waves, workers=-1)
                out.append((*sums(v), v[0, 0, 0].real))
            return tuple(np.array(out, np.float32).T)

        return run


@program(size=512, small=12, atol=1e-3)
class Poisson:
    """Poisson's equation on a periodic square by real Fourier transforms."""

    def make(rng, n):
        f = rng.standard_normal((n, n), dtype=np.float32)
        return (f - f.mean(),)

    def array(jax):
        jnp = jax.numpy

        def run(f):
            n, m = f.shape
            x = jnp.sin(jnp.pi * jnp.fft.fftfreq(n)) ** 2
            y = jnp.sin(jnp.pi * jnp.fft.rfftfreq(m)) ** 2
            eigen = 4.0 * (x[:, None] + y[None, :])
            eigen = eigen.at[0, 0].set(1.0)
            waves = (jnp.fft.rfft2(f) / eigen).at[0, 0].set(0.0)
            return jnp.fft.irfft2(waves, s=f.shape)

        return run

    def reference(f):
        x = np.sin(np.pi * np.fft.fftfreq(f.shape[0])) ** 2
        y = np.sin(np.pi * np.fft.rfftfreq(f.shape[1])) ** 2
        eigen = 4 * (x[:, None] + y)
        eigen[0, 0] = np.inf
        return np.fft.irfft2(np.fft.rfft2(f) / eigen, s=f.shape).astype(np.float32)

    def loops(numba):
        import scipy.fft

        @numba.njit(parallel=True)
        def divide(waves, x, y):
            for i in numba.prange(waves.shape[0]):
                for j in range(waves.shape[1]):
                    eigen = np.float32(4) * (x[i] + y[j])
                    waves[i, j] = waves[i, j] / eigen if i + j else np.complex64(0)

        def run(f):
            waves = scipy.fft.rfft2(f, workers=-1)
            x = np.sin(np.pi * np.fft.fftfreq(f.shape[0])) ** 2
            y = np.sin(np.pi * np.fft.rfftfreq(f.shape[1])) ** 2
            divide(waves, x.astype(np.float32), y.astype(np.float32))
            return scipy.fft.irfft2(waves, s=f.shape, workers=-1)

        return run


@program(size=2**14, small=64, rtol=1e-3, atol=1e-3)
class Stockham:
    """Sixteen Fourier transforms of a power of two, written out by Stockham's method as reshapes,
    sums and turns."""

    def make(rng, n):
        x = rng.standard_normal((16, n)) + 1j * rng.standard_normal((16, n))
        return (x.astype(np.complex64),)

    def array(jax):
        jnp = jax.numpy

        def run(x):
            batch, n = x.shape
            x = x.reshape(batch, n, 1)
            while x.shape[1] > 1:
                half = x.shape[1] // 2
                a, b = x[:, :half], x[:, half:]
                turns = jnp.exp(-1j * jnp.pi * jnp.arange(half, dtype=jnp.float32) / half)
                turns = turns.astype(jnp.complex64)[:, None]
                x = jnp.concatenate([a + b, (a - b) * turns], axis=2)
            return x.reshape(batch, n)

        return run

    def reference(x):
        return np.fft.fft(x).astype(np.complex64)

    def loops(numba):
        @numba.njit(parallel=True)
        def run(x):
            batch, n = x.shape
            out = np.empty_like(x)
            turns = np.exp(-1j * np.pi * np.arange(n // 2) / (n // 2)).astype(np.complex64)
            for r in numba.prange(batch):
                a, b = x[r].copy(), np.empty(n, np.complex64)
                half, width = n // 2, 1
                while half >= 1:
                    for i in range(half):
                        turn = turns[i * width]
                        for w in range(width):
                            u, v = a[i * width + w], a[(i + half) * width + w]
                            b[2 * i * width + w] = u + v
                            b[(2 * i + 1) * width + w] = (u - v) * turn
                    a, b = b, a
                    half, width = half // 2, width * 2
                out[r] = a
            return out

        return run


@program(size=1024, small=16)
class Wavelet:
    """Four levels of the 5/3 wavelet transform of an image by lifting, first along rows, then
    along columns; Rodinia's dwt2d."""

    def make(rng, n):
        return (rng.random((n, n), dtype=np.float32),)

    def array(jax):
        return lambda image: _wavelet(jax.numpy, image)

    def reference(image):
        return _wavelet(np, image)

    def loops(numba):
        @numba.njit
        def lift(line, out):
            half = line.shape[0] // 2
            for i in range(half):
                after = line[2 * i + 2] if i + 1 < half else line[2 * i]
                out[half + i] = line[2 * i + 1] - np.float32(0.5) * (line[2 * i] + after)
            for i in range(half):
                before = out[half + i - 1] if i else out[half]
                out[i] = line[2 * i] + np.float32(0.25) * (before + out[half + i])

        @numba.njit(parallel=True)
        def along(image, out):
            for i in numba.prange(image.shape[0]):
                lift(image[i], out[i])

        @numba.njit(parallel=True)
        def down(image, out):
            n, half = image.shape[1], image.shape[0] // 2
            for block in numba.prange((n + 63) // 64):
                low, high = 64 * block, min(64 * block + 64, n)
                for i in range(half):
                    after = 2 * i + 2 if i + 1 < half else 2 * i
                    for j in range(low, high):
                        mean = np.float32(0.5) * (image[2 * i, j] + image[after, j])
                        out[half + i, j] = image[2 * i + 1, j] - mean
                for i in range(half):
                    before = half + i - 1 if i else half
                    for j in range(low, high):
                        mean = np.float32(0.25) * (out[before, j] + out[half + i, j])
                        out[i, j] = image[2 * i, j] + mean

        def run(image):
            image = image.copy()
            for level in range(4):
                size = image.shape[0] >> level
                part = image[:size, :size]
                rows = np.empty_like(part)
                along(part, rows)
                down(rows, part)
            return image

        return run


def _wavelet(np, image):
    """The same text for NumPy and for JAX's arrays."""

    def lift(a):
        even, odd = a[:, 0::2], a[:, 1::2]
        after = np.concatenate([even[:, 1:], even[:, -1:]], axis=1)
        odd = odd - np.float32(0.5) * (even + after)
        before = np.concatenate([odd[:, :1], odd[:, :-1]], axis=1)
        return np.concatenate([even + np.float32(0.25) * (before + odd), odd], axis=1)

    def level(a, left):
        if not left:
            return a
        a = lift(lift(a).T).T
        n = a.shape[0] // 2
        top = np.concatenate([level(a[:n, :n], left - 1), a[:n, n:]], axis=1)
        return np.concatenate([top, a[n:]], axis=0)

    return level(image, 4)


@program(size=2**13, small=32, rtol=2e-3, atol=2e-3)
class SplitStep:
    """The nonlinear Schroedinger equation by the split-step Fourier method, 40 steps."""

    def make(rng, n):
        x = np.linspace(-20, 20, n)
        noise = 0.01 * rng.standard_normal(n)
        return ((1 / np.cosh(x) + noise).astype(np.complex64),)

    def array(jax):
        jnp = jax.numpy

        def run(u):
            k = 2.0 * jnp.pi * jnp.fft.fftfreq(u.shape[0], 40.0 / u.shape[0])
            turn = jnp.exp(-0.5j * k**2 * 0.002)

            def step(_, u):
                u = jnp.fft.ifft(jnp.fft.fft(u) * turn)
                return u * jnp.exp(0.002j * jnp.abs(u) ** 2)

            return jax.lax.fori_loop(0, 40, step, u)

        return run

    def reference(u):
        k = 2.0 * np.pi * np.fft.fftfreq(len(u), 40.0 / len(u))
        turn = np.exp(-0.5j * k**2 * 0.002)
        for _ in range(40):
            u = np.fft.ifft(np.fft.fft(u) * turn)
            u = u * np.exp(0.002j * np.abs(u) ** 2)
        return u.astype(np.complex64)

    def loops(numba):
        import scipy.fft

        @numba.njit
        def times(u, turn):
            for i in range(u.shape[0]):
                u[i] *= turn[i]

        @numba.njit(parallel=True)
        def rotate(u):
            for i in numba.prange(u.shape[0]):
                angle = np.float32(0.002) * (u[i].real ** 2 + u[i].imag ** 2)
                u[i] *= np.complex64(complex(np.cos(angle), np.sin(angle)))

        def run(u):
            k = 2.0 * np.pi * np.fft.fftfreq(len(u), 40.0 / len(u))
            turn = np.exp(-0.5j * k**2 * 0.002).astype(np.complex64)
            for _ in range(40):
                waves = scipy.fft.fft(u)
                times(waves, turn)
                u = scipy.fft.ifft(waves)
                rotate(u)
            return u

        return run


@program(size=512, small=16, atol=1e-3)
class BlockCosine:
    """The cosine transform of all 8 x 8 blocks of an image, coarsely rounded, and back: what JPEG
    does to a channel."""

    def make(rng, n):
        return (256 * rng.random((n, n), dtype=np.float32),)

    def array(jax):
        jnp = jax.numpy

        def run(image):
            n, m = image.shape
            c = jnp.asarray(_cosines())
            blocks = image.reshape(n // 8, 8, m // 8, 8)
            waves = jnp.einsum("ki,aibj,lj->akbl", c, blocks, c)
            waves = jnp.floor(waves / 16.0 + 0.5) * 16.0
            return jnp.einsum("ki,akbl,lj->aibj", c, waves, c).reshape(n, m)

        return run

    def reference(image):
        n, m = image.shape
        c = _cosines()
        blocks = image.reshape(n // 8, 8, m // 8, 8)
        waves = np.einsum("ki,aibj,lj->akbl", c, blocks, c, optimize=True)
        waves = np.floor(waves / np.float32(16) + np.float32(0.5)) * np.float32(16)
        return np.einsum("ki,akbl,lj->aibj", c, waves, c, optimize=True).reshape(n, m)

    def loops(numba):
        cosines = _cosines()

        @numba.njit(parallel=True)
        def run(image):
            f = np.float32
            n, m = image.shape
            out = np.empty_like(image)
            for a in numba.prange(n // 8):
                half, waves = np.empty((8, 8), f), np.empty((8, 8), f)
                for b in range(m // 8):
                    block = image[8 * a : 8 * a + 8, 8 * b : 8 * b + 8]
                    for k in range(8):
                        for j in range(8):
                            total = f(0)
                            for i in range(8):
                                total += cosines[k, i] * block[i, j]
                            half[k, j] = total
                    for k in range(8):
                        for l in range(8):
                            total = f(0)
                            for j in range(8):
                                total += cosines[l, j] * half[k, j]
                            waves[k, l] = np.floor(total / f(16) + f(0.5)) * f(16)
                    for i in range(8):
                        for l in range(8):
                            total = f(0)
                            for k in range(8):
                                total += cosines[k, i] * waves[k, l]
                            half[i, l] = total
                    for i in range(8):
                        for j in range(8):
                            total = f(0)
                            for l in range(8):
                                total += cosines[l, j] * half[i, l]
                            out[8 * a + i, 8 * b + j] = total
            return out

        return run


def _cosines() -> np.ndarray:
    """The orthonormal cosine transform of length 8, one wave a row."""
    k, i = np.arange(8)[:, None], np.arange(8)
    c = 0.5 * np.cos(np.pi * k * (2 * i + 1) / 16)
    c[0] /= np.sqrt(2)
    return c.astype(np.float32)
