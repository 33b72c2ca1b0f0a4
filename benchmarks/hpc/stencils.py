"""Stencils: grids on which each point is computed from its neighbours, over many time steps."""

import numpy as np

from .catalogue import program


@program(size=512, small=19)
class Jacobi:
    """Laplace's equation on a square by Jacobi's method, fixed borders, 100 sweeps; the sweep of
    every textbook."""

    def make(rng, n):
        return (rng.standard_normal((n, n), dtype=np.float32),)

    def array(jax):
        def sweep(_, a):
            inner = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
            return a.at[1:-1, 1:-1].set(0.25 * inner)

        return lambda a: jax.lax.fori_loop(0, 100, sweep, a)

    def reference(a):
        a = a.copy()
        for _ in range(100):
            inner = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
            a[1:-1, 1:-1] = np.float32(0.25) * inner
        return a

    def loops(numba):
        @numba.njit(parallel=True)
        def run(a):
            n = a.shape[0]
            a, b = a.copy(), a.copy()
            for _ in range(100):
                for i in numba.prange(1, n - 1):
                    for j in range(1, n - 1):
                        total = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
                        b[i, j] = np.float32(0.25) * total
                a, b = b, a
            return a

        return run


@program(size=512, small=17, atol=1e-3)
class Hotspot:
    """Temperature of a chip from its power map, 60 steps of a five-point stencil with insulated
    borders; Rodinia's hotspot."""

    def make(rng, n):
        ambient = 320 + 10 * rng.random((n, n), dtype=np.float32)
        return ambient, rng.random((n, n), dtype=np.float32)

    def array(jax):
        jnp = jax.numpy

        def step(t, power):
            wide = jnp.pad(t, 1, mode="edge")
            vertical = wide[2:, 1:-1] + wide[:-2, 1:-1] - 2.0 * t
            horizontal = wide[1:-1, 2:] + wide[1:-1, :-2] - 2.0 * t
            return t + 0.1 * (power + vertical + horizontal + 0.05 * (300.0 - t))

        return lambda t, power: jax.lax.fori_loop(0, 60, lambda _, t: step(t, power), t)

    def reference(t, power):
        f = np.float32
        for _ in range(60):
            wide = np.pad(t, 1, mode="edge")
            vertical = wide[2:, 1:-1] + wide[:-2, 1:-1] - f(2) * t
            horizontal = wide[1:-1, 2:] + wide[1:-1, :-2] - f(2) * t
            t = t + f(0.1) * (power + vertical + horizontal + f(0.05) * (f(300) - t))
        return t

    def loops(numba):
        @numba.njit(parallel=True)
        def run(t, power):
            f = np.float32
            n, m = t.shape
            t, u = t.copy(), t.copy()
            for _ in range(60):
                for i in numba.prange(n):
                    up, down = max(i - 1, 0), min(i + 1, n - 1)
                    for j in range(m):
                        left, right = max(j - 1, 0), min(j + 1, m - 1)
                        here = t[i, j]
                        change = t[up, j] + t[down, j] + t[i, left] + t[i, right] - f(4) * here
                        u[i, j] = here + f(0.1) * (power[i, j] + change + f(0.05) * (f(300) - here))
                t, u = u, t
            return t

        return run


@program(size=384, small=15, rtol=5e-4)
class Srad:
    """Speckle-reducing anisotropic diffusion of an image, 20 steps, each with statistics of the
    whole image; Rodinia's srad."""

    def make(rng, n):
        return (np.exp(rng.random((n, n), dtype=np.float32)),)

    def array(jax):
        jnp = jax.numpy

        def step(_, image):
            q0 = jnp.var(image) / jnp.mean(image) ** 2
            wide = jnp.pad(image, 1, mode="edge")
            north, south = wide[:-2, 1:-1] - image, wide[2:, 1:-1] - image
            west, east = wide[1:-1, :-2] - image, wide[1:-1, 2:] - image
            gradient = (north**2 + south**2 + west**2 + east**2) / image**2
            laplace = (north + south + west + east) / image
            q = (0.5 * gradient - laplace**2 / 16.0) / (1.0 + 0.25 * laplace) ** 2
            c = jnp.clip(1.0 / (1.0 + (q - q0) / (q0 * (1.0 + q0))), 0.0, 1.0)
            below = jnp.concatenate([c[1:], c[-1:]])
            beside = jnp.concatenate([c[:, 1:], c[:, -1:]], axis=1)
            return image + 0.125 * (c * north + below * south + c * west + beside * east)

        return lambda image: jax.lax.fori_loop(0, 20, step, image)

    def reference(image):
        f = np.float32
        for _ in range(20):
            q0 = np.var(image) / np.mean(image) ** 2
            wide = np.pad(image, 1, mode="edge")
            north, south = wide[:-2, 1:-1] - image, wide[2:, 1:-1] - image
            west, east = wide[1:-1, :-2] - image, wide[1:-1, 2:] - image
            gradient = (north**2 + south**2 + west**2 + east**2) / image**2
            laplace = (north + south + west + east) / image
            q = (f(0.5) * gradient - laplace**2 / f(16)) / (f(1) + f(0.25) * laplace) ** 2
            c = np.clip(f(1) / (f(1) + (q - q0) / (q0 * (f(1) + q0))), f(0), f(1))
            below, beside = np.concatenate([c[1:], c[-1:]]), np.hstack([c[:, 1:], c[:, -1:]])
            image = image + f(0.125) * (c * north + below * south + c * west + beside * east)
        return image

    def loops(numba):
        @numba.njit(parallel=True)
        def run(image):
            f = np.float32
            n, m = image.shape
            image = image.copy()
            c = np.empty_like(image)
            for _ in range(20):
                mean = image.mean()
                q0 = image.var() / mean**2
                for i in numba.prange(n):
                    up, down = max(i - 1, 0), min(i + 1, n - 1)
                    for j in range(m):
                        here = image[i, j]
                        a, b = image[up, j] - here, image[down, j] - here
                        d = image[i, max(j - 1, 0)] - here
                        e = image[i, min(j + 1, m - 1)] - here
                        gradient = (a * a + b * b + d * d + e * e) / (here * here)
                        laplace = (a + b + d + e) / here
                        q = f(0.5) * gradient - laplace * laplace / f(16)
                        q /= (f(1) + f(0.25) * laplace) ** 2
                        value = f(1) / (f(1) + (q - q0) / (q0 * (f(1) + q0)))
                        c[i, j] = min(max(value, f(0)), f(1))
                out = np.empty_like(image)
                for i in numba.prange(n):
                    up, down = max(i - 1, 0), min(i + 1, n - 1)
                    for j in range(m):
                        here, right = image[i, j], min(j + 1, m - 1)
                        flow = c[i, j] * (image[up, j] + image[i, max(j - 1, 0)] - f(2) * here)
                        flow += c[down, j] * (image[down, j] - here)
                        flow += c[i, right] * (image[i, right] - here)
                        out[i, j] = here + f(0.125) * flow
                image = out
            return image

        return run


@program(size=64, small=6, x64=True)
class Heat3d:
    """Heat in a periodic cube, 20 explicit steps of a seven-point stencil in float64; the kernel
    of Polybench and many others."""

    def make(rng, n):
        return (rng.random((n, n, n)),)

    def array(jax):
        jnp = jax.numpy

        def step(_, u):
            total = sum(jnp.roll(u, s, axis) for axis in range(3) for s in (-1, 1))
            return u + 0.1 * (total - 6.0 * u)

        return lambda u: jax.lax.fori_loop(0, 20, step, u)

    def reference(u):
        for _ in range(20):
            total = sum(np.roll(u, s, axis) for axis in range(3) for s in (-1, 1))
            u = u + 0.1 * (total - 6.0 * u)
        return u

    def loops(numba):
        @numba.njit(parallel=True)
        def run(u):
            n = u.shape[0]
            u, v = u.copy(), np.empty_like(u)
            for _ in range(20):
                for i in numba.prange(n):
                    a, b = (i - 1) % n, (i + 1) % n
                    for j in range(n):
                        c, d = (j - 1) % n, (j + 1) % n
                        for k in range(n):
                            e, f = k - 1 if k else n - 1, k + 1 if k + 1 < n else 0
                            total = u[a, j, k] + u[b, j, k] + u[i, c, k] + u[i, d, k]
                            total += u[i, j, e] + u[i, j, f]
                            v[i, j, k] = u[i, j, k] + 0.1 * (total - 6.0 * u[i, j, k])
                u, v = v, u
            return u

        return run


@program(size=512, small=13)
class Life:
    """Conway's game of life on a torus of bytes, 50 generations."""

    def make(rng, n):
        return ((rng.random((n, n)) < 0.35).astype(np.uint8),)

    def array(jax):
        jnp = jax.numpy

        def generation(_, cells):
            column = cells + jnp.roll(cells, 1, 0) + jnp.roll(cells, -1, 0)
            around = column + jnp.roll(column, 1, 1) + jnp.roll(column, -1, 1) - cells
            alive = (around == 3) | ((around == 2) & (cells == 1))
            return alive.astype(cells.dtype)

        return lambda cells: jax.lax.fori_loop(0, 50, generation, cells)

    def reference(cells):
        for _ in range(50):
            column = cells + np.roll(cells, 1, 0) + np.roll(cells, -1, 0)
            around = column + np.roll(column, 1, 1) + np.roll(column, -1, 1) - cells
            cells = ((around == 3) | ((around == 2) & (cells == 1))).astype(np.uint8)
        return cells

    def loops(numba):
        @numba.njit(parallel=True)
        def run(cells):
            n, m = cells.shape
            cells, after = cells.copy(), np.empty_like(cells)
            for _ in range(50):
                for i in numba.prange(n):
                    up, down = (i - 1) % n, (i + 1) % n
                    for j in range(m):
                        left, right = j - 1 if j else m - 1, j + 1 if j + 1 < m else 0
                        around = cells[up, left] + cells[up, j] + cells[up, right]
                        around += cells[i, left] + cells[i, right]
                        around += cells[down, left] + cells[down, j] + cells[down, right]
                        after[i, j] = around == 3 or (around == 2 and cells[i, j] == 1)
                cells, after = after, cells
            return cells

        return run


DIRECTIONS = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
WEIGHTS = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


@program(size=192, small=8)
class LatticeBoltzmann:
    """A periodic flow by nine populations a cell (D2Q9): stream, then relax to equilibrium, 40
    steps; the kernel of SPEC's lbm in two dimensions."""

    def make(rng, n):
        w = np.array(WEIGHTS, np.float32)[:, None, None]
        return ((w * (1 + 0.1 * rng.random((9, n, n)))).astype(np.float32),)

    def array(jax):
        jnp = jax.numpy

        def step(_, f):
            moved = [jnp.roll(f[k], c, (0, 1)) for k, c in enumerate(DIRECTIONS)]
            density = sum(moved)
            u = sum(cx * m for (cx, _), m in zip(DIRECTIONS, moved) if cx) / density
            v = sum(cy * m for (_, cy), m in zip(DIRECTIONS, moved) if cy) / density
            speed = 1.5 * (u * u + v * v)
            out = []
            for (cx, cy), w, m in zip(DIRECTIONS, WEIGHTS, moved):
                along = 3.0 * (cx * u + cy * v)
                rest = w * density * (1.0 + along + 0.5 * along * along - speed)
                out.append(m + 0.6 * (rest - m))
            return jnp.stack(out)

        return lambda f: jax.lax.fori_loop(0, 40, step, f)

    def reference(f):
        c = np.array(DIRECTIONS, np.float32)
        w = np.array(WEIGHTS, np.float32)[:, None, None]
        for _ in range(40):
            m = np.stack([np.roll(f[k], s, (0, 1)) for k, s in enumerate(DIRECTIONS)])
            density = m.sum(0)
            u, v = (np.einsum("k,kxy->xy", c[:, axis], m) / density for axis in (0, 1))
            along = np.float32(3) * (c[:, 0, None, None] * u + c[:, 1, None, None] * v)
            speed = np.float32(1.5) * (u * u + v * v)
            rest = w * density * (1 + along + np.float32(0.5) * along * along - speed)
            f = m + np.float32(0.6) * (rest - m)
        return f

    def loops(numba):
        offsets = np.array(DIRECTIONS)
        weights = np.array(WEIGHTS, np.float32)

        @numba.njit(parallel=True)
        def run(f):
            one, n = np.float32(1), f.shape[1]
            f, g = f.copy(), np.empty_like(f)
            for _ in range(40):
                for x in numba.prange(n):
                    m = np.empty(9, np.float32)
                    for y in range(n):
                        density = u = v = np.float32(0)
                        for k in range(9):
                            value = f[k, (x - offsets[k, 0]) % n, (y - offsets[k, 1]) % n]
                            m[k] = value
                            density += value
                            u += np.float32(offsets[k, 0]) * value
                            v += np.float32(offsets[k, 1]) * value
                        u, v = u / density, v / density
                        speed = np.float32(1.5) * (u * u + v * v)
                        for k in range(9):
                            along = np.float32(offsets[k, 0]) * u + np.float32(offsets[k, 1]) * v
                            along *= np.float32(3)
                            bent = one + along + np.float32(0.5) * along * along - speed
                            rest = weights[k] * density * bent
                            g[k, x, y] = m[k] + np.float32(0.6) * (rest - m[k])
                f, g = g, f
            return f

        return run


@program(size=256, small=16, x64=True)
class NasMg:
    """Poisson's equation by two V-cycles of multigrid on a periodic square, down to four points;
    after the NAS benchmark MG, in two dimensions."""

    def make(rng, n):
        f = rng.standard_normal((n, n))
        return (f - f.mean(),)

    def array(jax):
        jnp = jax.numpy
        return lambda f: _multigrid(jnp, f)

    def reference(f):
        return _multigrid(np, f)

    def loops(numba):
        @numba.njit(parallel=True)
        def residual(u, f):
            n = u.shape[0]
            r = np.empty_like(u)
            for i in numba.prange(n):
                a, b = (i - 1) % n, (i + 1) % n
                for j in range(n):
                    c, d = j - 1 if j else n - 1, j + 1 if j + 1 < n else 0
                    r[i, j] = f[i, j] - (4.0 * u[i, j] - u[a, j] - u[b, j] - u[i, c] - u[i, d])
            return r

        @numba.njit(parallel=True)
        def smooth(u, f):
            for _ in range(2):
                u = u + 0.2 * residual(u, f)
            return u

        @numba.njit(parallel=True)
        def coarse(r):
            n = r.shape[0] // 2
            out = np.empty((n, n))
            for i in numba.prange(n):
                for j in range(n):
                    out[i, j] = r[2 * i, 2 * j] + r[2 * i + 1, 2 * j]
                    out[i, j] += r[2 * i, 2 * j + 1] + r[2 * i + 1, 2 * j + 1]
            return out

        @numba.njit(parallel=True)
        def add_fine(u, e):
            n = u.shape[0]
            out = np.empty_like(u)
            for i in numba.prange(n):
                for j in range(n):
                    out[i, j] = u[i, j] + e[i // 2, j // 2]
            return out

        def cycle(u, f):
            u = smooth(u, f)
            if f.shape[0] > 4:
                r = coarse(residual(u, f))
                u = add_fine(u, cycle(np.zeros_like(r), r))
            return smooth(u, f)

        def run(f):
            return cycle(cycle(np.zeros_like(f), f), f)

        return run


def _multigrid(np, f):
    """The same text for NumPy and for JAX's arrays."""

    def residual(u, f):
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        return f - (4.0 * u - around)

    def smooth(u, f):
        for _ in range(2):
            u = u + 0.2 * residual(u, f)
        return u

    def cycle(u, f):
        u = smooth(u, f)
        n = f.shape[0] // 2
        if n > 2:
            r = residual(u, f).reshape(n, 2, n, 2).sum((1, 3))
            e = cycle(np.zeros_like(r), r)
            u = u + np.repeat(np.repeat(e, 2, 0), 2, 1)
        return smooth(u, f)

    return cycle(cycle(np.zeros_like(f), f), f)
