"""Iterations of a few numbers, many side by side: fractals, differential equations, roots."""

import numpy as np

from .catalogue import program


@program(size=400, small=16)
class Mandelbrot:
    """How long each of n x n points stays bounded, at most 50 steps; the Computer Language
    Benchmarks Game's mandelbrot."""

    def make(rng, n):
        x, y = np.linspace(-1.5, 0.5, n, dtype=np.float32), np.linspace(-1, 1, n, dtype=np.float32)
        return x, y

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def run(x, y):
            def steps(cx, cy):
                def more(state):
                    a, b, count = state
                    return (a * a + b * b <= 4.0) & (count < 50)

                def step(state):
                    a, b, count = state
                    return a * a - b * b + cx, 2.0 * a * b + cy, count + 1

                start = jnp.float32(0.0), jnp.float32(0.0), jnp.int32(0)
                return lax.while_loop(more, step, start)[2]

            return jax.vmap(lambda cy: jax.vmap(lambda cx: steps(cx, cy))(x))(y)

        return run

    def reference(x, y):
        a = np.zeros((len(y), len(x)), np.float32)
        b, counts = a.copy(), a.astype(np.int32)
        for _ in range(50):
            on = a * a + b * b <= 4
            a, b = (
                np.where(on, a * a - b * b + x, a),
                np.where(on, np.float32(2) * a * b + y[:, None], b),
            )
            counts += on
        return counts

    def loops(numba):
        @numba.njit(parallel=True)
        def run(x, y):
            f = np.float32
            out = np.empty((y.shape[0], x.shape[0]), np.int32)
            for i in numba.prange(y.shape[0]):
                for j in range(x.shape[0]):
                    a, b, count = f(0), f(0), 0
                    while a * a + b * b <= f(4) and count < 50:
                        a, b = a * a - b * b + x[j], f(2) * a * b + y[i]
                        count += 1
                    out[i, j] = count
            return out

        return run


@program(size=300, small=10, rtol=1e-3)
class NewtonFractal:
    """To which root of z**3 = 1 Newton's method leads from each of n x n complex numbers, 20
    steps."""

    def make(rng, n):
        x = np.linspace(-1.2, 1.3, n, dtype=np.float32)
        return ((x[None, :] + 1j * x[:, None]).astype(np.complex64),)

    def array(jax):
        jnp = jax.numpy

        def run(z):
            z = jax.lax.fori_loop(0, 20, lambda _, z: z - (z**3 - 1.0) / (3.0 * z**2), z)
            roots = jnp.exp(2j * jnp.pi * jnp.arange(3) / 3)
            return jnp.argmin(jnp.abs(z[..., None] - roots), axis=-1).astype(jnp.int8)

        return run

    def reference(z):
        for _ in range(20):
            z = z - (z * z * z - 1) / (np.float32(3) * z * z)
        roots = np.exp(2j * np.pi * np.arange(3) / 3)
        return np.abs(z[..., None] - roots).argmin(-1).astype(np.int8)

    def loops(numba):
        roots = np.exp(2j * np.pi * np.arange(3) / 3).astype(np.complex64)

        @numba.njit(parallel=True)
        def run(z):
            one, three = np.complex64(1), np.complex64(3)
            out = np.empty(z.shape, np.int8)
            for i in numba.prange(z.shape[0]):
                for j in range(z.shape[1]):
                    w = z[i, j]
                    for _ in range(20):
                        w = w - (w * w * w - one) / (three * w * w)
                    best = 0
                    for k in range(1, 3):
                        if abs(w - roots[k]) < abs(w - roots[best]):
                            best = k
                    out[i, j] = best
            return out

        return run


@program(size=512, small=6, rtol=2e-3, atol=1e-3)
class HodgkinHuxley:
    """Nerve cells under n currents by Hodgkin and Huxley's equations, 500 explicit steps; of the
    kind of Rodinia's myocyte."""

    def make(rng, n):
        return (np.linspace(0, 20, n, dtype=np.float32),)

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def cell(current):
            def step(state, _):
                v, m, h, n = state
                am = 0.1 * (v + 40.1) / (1.0 - jnp.exp(-(v + 40.1) / 10.0))
                bm = 4.0 * jnp.exp(-(v + 65.0) / 18.0)
                ah = 0.07 * jnp.exp(-(v + 65.0) / 20.0)
                bh = 1.0 / (1.0 + jnp.exp(-(v + 35.0) / 10.0))
                an = 0.01 * (v + 55.1) / (1.0 - jnp.exp(-(v + 55.1) / 10.0))
                bn = 0.125 * jnp.exp(-(v + 65.0) / 80.0)
                flow = 120.0 * m**3 * h * (v - 50.0) + 36.0 * n**4 * (v + 77.0)
                flow = flow + 0.3 * (v + 54.4)
                dt = 0.01
                m, h = m + dt * (am * (1.0 - m) - bm * m), h + dt * (ah * (1.0 - h) - bh * h)
                n = n + dt * (an * (1.0 - n) - bn * n)
                v = v + dt * (current - flow)
                return (v, m, h, n), None

            start = tuple(jnp.float32(s) for s in (-65.0, 0.05, 0.6, 0.32))
            return lax.scan(step, start, None, length=500)[0]

        return jax.vmap(cell)

    def reference(current):
        exp = np.exp
        v, m, h, n = (np.full(len(current), s) for s in (-65.0, 0.05, 0.6, 0.32))
        for _ in range(500):
            am = 0.1 * (v + 40.1) / (1 - exp(-(v + 40.1) / 10))
            bm, ah = 4 * exp(-(v + 65) / 18), 0.07 * exp(-(v + 65) / 20)
            bh = 1 / (1 + exp(-(v + 35) / 10))
            an = 0.01 * (v + 55.1) / (1 - exp(-(v + 55.1) / 10))
            bn = 0.125 * exp(-(v + 65) / 80)
            flow = 120 * m**3 * h * (v - 50) + 36 * n**4 * (v + 77) + 0.3 * (v + 54.4)
            m, h = m + 0.01 * (am * (1 - m) - bm * m), h + 0.01 * (ah * (1 - h) - bh * h)
            n, v = n + 0.01 * (an * (1 - n) - bn * n), v + 0.01 * (current - flow)
        return v, m, h, n

    def loops(numba):
        @numba.njit(parallel=True)
        def run(current):
            f = np.float32
            out = np.empty((4, current.shape[0]), f)
            for i in numba.prange(current.shape[0]):
                v, m, h, n, dt = f(-65), f(0.05), f(0.6), f(0.32), f(0.01)
                for _ in range(500):
                    am = f(0.1) * (v + f(40.1)) / (f(1) - np.exp(-(v + f(40.1)) / f(10)))
                    bm = f(4) * np.exp(-(v + f(65)) / f(18))
                    ah = f(0.07) * np.exp(-(v + f(65)) / f(20))
                    bh = f(1) / (f(1) + np.exp(-(v + f(35)) / f(10)))
                    an = f(0.01) * (v + f(55.1)) / (f(1) - np.exp(-(v + f(55.1)) / f(10)))
                    bn = f(0.125) * np.exp(-(v + f(65)) / f(80))
                    flow = f(120) * m * m * m * h * (v - f(50))
                    flow += f(36) * n * n * n * n * (v + f(77)) + f(0.3) * (v + f(54.4))
                    m += dt * (am * (f(1) - m) - bm * m)
                    h += dt * (ah * (f(1) - h) - bh * h)
                    n += dt * (an * (f(1) - n) - bn * n)
                    v += dt * (current[i] - flow)
                out[0, i], out[1, i], out[2, i], out[3, i] = v, m, h, n
            return out[0], out[1], out[2], out[3]

        return run


@program(size=2000, small=8, x64=True, rtol=1e-6)
class Kepler:
    """Kepler's equation E - e sin E = M for n orbits at 64 times by Newton's method, each until it
    converges, in float64."""

    def make(rng, n):
        return rng.random(n) * 0.9, np.linspace(0.01, 6.2, 64)

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def solve(e, mean):
            def step(state):
                angle, _ = state
                change = (angle - e * jnp.sin(angle) - mean) / (1.0 - e * jnp.cos(angle))
                return angle - change, jnp.abs(change)

            start = jnp.where(e < 0.8, mean, jnp.pi), jnp.asarray(1.0)
            return lax.while_loop(lambda s: s[1] > 1e-10, step, start)[0]

        return jax.vmap(jax.vmap(solve, (None, 0)), (0, None))

    def reference(e, mean):
        e, mean = np.broadcast_arrays(e[:, None], mean)
        angle = np.where(e < 0.8, mean, np.pi)
        for _ in range(60):
            angle = angle - (angle - e * np.sin(angle) - mean) / (1 - e * np.cos(angle))
        return angle

    def loops(numba):
        @numba.njit(parallel=True)
        def run(e, mean):
            out = np.empty((e.shape[0], mean.shape[0]))
            for i in numba.prange(e.shape[0]):
                for j in range(mean.shape[0]):
                    angle, change = mean[j] if e[i] < 0.8 else np.pi, 1.0
                    while abs(change) > 1e-10:
                        change = angle - e[i] * np.sin(angle) - mean[j]
                        change /= 1.0 - e[i] * np.cos(angle)
                        angle -= change
                    out[i, j] = angle
            return out

        return run


@program(size=10_000, small=100, x64=True, rtol=1e-6)
class Pendulum:
    """A double pendulum over n steps of the classical Runge-Kutta method in float64, with its
    whole path."""

    def make(rng, n):
        return np.array([1.2, -0.4, 0.0, 0.1]), np.zeros(n)

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def run(start, space):
            def step(s, _):
                s = _runge_kutta(lambda s: jnp.stack(_pendulum(jnp, *s)), s, 0.002)
                return s, s

            return lax.scan(step, start, None, length=space.shape[0])[1]

        return run

    def reference(start, space):
        path, s = [], start
        for _ in range(len(space)):
            s = _runge_kutta(lambda s: np.stack(_pendulum(np, *s)), s, 0.002)
            path.append(s)
        return np.stack(path)

    def loops(numba):
        @numba.njit
        def slope(s, out):
            a, b, u, v = s
            d = a - b
            scale = 2.0 + 1.0 - np.cos(2.0 * d)
            out[0], out[1] = u, v
            out[2] = -29.43 * np.sin(a) - 9.81 * np.sin(a - 2.0 * b)
            out[2] -= 2.0 * np.sin(d) * (v * v + u * u * np.cos(d))
            out[2] /= scale
            out[3] = 2.0 * np.sin(d) * (2.0 * u * u + 19.62 * np.cos(a) + v * v * np.cos(d)) / scale

        @numba.njit
        def run(start, space):
            n, h = space.shape[0], 0.002
            path, s = np.empty((n, 4)), start.copy()
            k1, k2, k3, k4 = np.empty(4), np.empty(4), np.empty(4), np.empty(4)
            for t in range(n):
                slope(s, k1)
                slope(s + 0.5 * h * k1, k2)
                slope(s + 0.5 * h * k2, k3)
                slope(s + h * k3, k4)
                s = s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
                path[t] = s
            return path

        return run


def _runge_kutta(slope, s, h):
    k1 = slope(s)
    k2 = slope(s + 0.5 * h * k1)
    k3 = slope(s + 0.5 * h * k2)
    k4 = slope(s + h * k3)
    return s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def _pendulum(np, a, b, u, v):
    """Angular accelerations of two equal masses on equal rods; for NumPy and for JAX's arrays."""
    d = a - b
    scale = 2.0 + 1.0 - np.cos(2.0 * d)
    first = -29.43 * np.sin(a) - 9.81 * np.sin(a - 2.0 * b)
    first = (first - 2.0 * np.sin(d) * (v * v + u * u * np.cos(d))) / scale
    second = 2.0 * np.sin(d) * (2.0 * u * u + 19.62 * np.cos(a) + v * v * np.cos(d)) / scale
    return u, v, first, second
