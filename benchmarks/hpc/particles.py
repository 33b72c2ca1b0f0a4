"""Particles: bodies that attract each other, molecules in boxes, random samples."""

import numpy as np

from .catalogue import program


@program(size=20_000, small=50, x64=True)
class Nbody:
    """Sun and four giant planets, n symplectic steps in float64; the Computer Language Benchmarks
    Game's n-body."""

    def make(rng, n):
        x, v = rng.standard_normal((5, 3)) * 10, rng.standard_normal((5, 3)) * 0.3
        x[0], v[0] = 0.0, 0.0
        return x, v, np.array([39.5, 0.04, 0.01, 0.002, 0.002]), np.int64(n)

    def array(jax):
        jnp = jax.numpy

        def run(x, v, mass, steps):
            def step(_, state):
                x, v = state
                d = x[:, None] - x[None]
                square = (d**2).sum(-1) + jnp.eye(5)
                pull = jnp.where(jnp.eye(5) > 0, 0.0, mass / (square * jnp.sqrt(square)))
                v = v - 0.01 * (d * pull[..., None]).sum(1)
                return x + 0.01 * v, v

            return jax.lax.fori_loop(0, steps, step, (x, v))

        return run

    def reference(x, v, mass, steps):
        for _ in range(steps):
            d = x[:, None] - x[None]
            square = (d**2).sum(-1) + np.eye(5)
            pull = np.where(np.eye(5) > 0, 0.0, mass / (square * np.sqrt(square)))
            v = v - 0.01 * (d * pull[..., None]).sum(1)
            x = x + 0.01 * v
        return x, v

    def loops(numba):
        @numba.njit
        def run(x, v, mass, steps):
            x, v, d = x.copy(), v.copy(), np.empty(3)
            for _ in range(steps):
                for i in range(5):
                    for j in range(i + 1, 5):
                        square = 0.0
                        for k in range(3):
                            d[k] = x[i, k] - x[j, k]
                            square += d[k] * d[k]
                        size = 0.01 / (square * np.sqrt(square))
                        for k in range(3):
                            v[i, k] -= d[k] * mass[j] * size
                            v[j, k] += d[k] * mass[i] * size
                for i in range(5):
                    for k in range(3):
                        x[i, k] += 0.01 * v[i, k]
            return x, v

        return run


@program(size=1024, small=20)
class Gravity:
    """All pairs of n bodies with softened gravity, 4 leapfrog steps in float32; the n-body kernel
    of GPU text books."""

    def make(rng, n):
        shape = (n, 3)
        return (
            rng.standard_normal(shape, dtype=np.float32),
            0.1 * rng.standard_normal(shape, dtype=np.float32),
            rng.random(n, dtype=np.float32) / n,
        )

    def array(jax):
        jnp = jax.numpy

        def acceleration(x, mass):
            d = x[None, :, :] - x[:, None, :]
            square = jnp.sum(d * d, axis=-1) + 0.01
            return jnp.sum(d * (mass / (square * jnp.sqrt(square)))[:, :, None], axis=1)

        def run(x, v, mass):
            def step(state, _):
                x, v = state
                v = v + 0.01 * acceleration(x, mass)
                return (x + 0.01 * v, v), None

            return jax.lax.scan(step, (x, v), None, length=4)[0]

        return run

    def reference(x, v, mass):
        f = np.float32
        for _ in range(4):
            d = x[None] - x[:, None]
            square = np.sum(d * d, -1) + f(0.01)
            v = v + f(0.01) * np.sum(d * (mass / (square * np.sqrt(square)))[:, :, None], 1)
            x = x + f(0.01) * v
        return x, v

    def loops(numba):
        @numba.njit(parallel=True)
        def run(x, v, mass):
            f = np.float32
            x, v, n = x.copy(), v.copy(), x.shape[0]
            for _ in range(4):
                for i in numba.prange(n):
                    ax = ay = az = f(0)
                    for j in range(n):
                        dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                        square = dx * dx + dy * dy + dz * dz + f(0.01)
                        pull = mass[j] / (square * np.sqrt(square))
                        ax += dx * pull
                        ay += dy * pull
                        az += dz * pull
                    v[i, 0] += f(0.01) * ax
                    v[i, 1] += f(0.01) * ay
                    v[i, 2] += f(0.01) * az
                for i in numba.prange(n):
                    for k in range(3):
                        x[i, k] += f(0.01) * v[i, k]
            return x, v

        return run


@program(size=5, small=3, rtol=1e-3, atol=1e-4)
class LavaMd:
    """Particles in n x n x n boxes of 32; each meets those of its own and the 26 boxes around;
    Rodinia's lavaMD."""

    def make(rng, n):
        box = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), -1).reshape(-1, 3)
        shifts = np.stack(np.meshgrid(*[[-1, 0, 1]] * 3, indexing="ij"), -1).reshape(-1, 3)
        near = (box[:, None] + shifts) % n
        near = (near[..., 0] * n + near[..., 1]) * n + near[..., 2]
        x = rng.random((n**3, 32, 3), dtype=np.float32)
        return x, rng.random((n**3, 32), dtype=np.float32), near.astype(np.int32)

    def array(jax):
        jnp = jax.numpy

        def run(x, charge, near):
            def of_box(mine, neighbours):
                theirs, q = x[neighbours].reshape(-1, 3), charge[neighbours].reshape(-1)

                def of_particle(p):
                    d = p - theirs
                    u = jnp.exp(-0.5 * jnp.sum(d * d, -1)) * q
                    return jnp.sum(u), jnp.sum(2.0 * u[:, None] * d, 0)

                return jax.vmap(of_particle)(mine)

            return jax.vmap(of_box)(x, near)

        return run

    def reference(x, charge, near):
        theirs = x[near].reshape(len(x), 1, -1, 3)
        q = charge[near].reshape(len(x), 1, -1)
        d = x[:, :, None] - theirs
        u = np.exp(np.float32(-0.5) * (d * d).sum(-1)) * q
        return u.sum(-1), (2 * u[..., None] * d).sum(2)

    def loops(numba):
        @numba.njit(parallel=True)
        def run(x, charge, near):
            f = np.float32
            boxes, count = charge.shape
            energy, force = np.zeros((boxes, count), f), np.zeros((boxes, count, 3), f)
            for b in numba.prange(boxes):
                for i in range(count):
                    for other in near[b]:
                        for j in range(count):
                            dx = x[b, i, 0] - x[other, j, 0]
                            dy = x[b, i, 1] - x[other, j, 1]
                            dz = x[b, i, 2] - x[other, j, 2]
                            square = dx * dx + dy * dy + dz * dz
                            u = np.exp(f(-0.5) * square) * charge[other, j]
                            energy[b, i] += u
                            force[b, i, 0] += f(2) * u * dx
                            force[b, i, 1] += f(2) * u * dy
                            force[b, i, 2] += f(2) * u * dz
            return energy, force

        return run


@program(size=2048, small=16, x64=True)
class NasEp:
    """Pairs of normal deviates by the polar method from a congruential generator modulo 2**46, n
    sequences of 128 pairs, counted by annuli; the NAS benchmark EP."""

    def make(rng, n):
        return (rng.integers(1, 2**45, n, dtype=np.uint64) * np.uint64(2) + np.uint64(1),)

    def array(jax):
        jnp = jax.numpy
        mask, factor, scale = 2**46 - 1, 5**13, 2.0**-46

        def run(seeds):
            def draw(s):
                s = (s * jnp.uint64(factor)) & jnp.uint64(mask)
                return s, 2.0 * (scale * s.astype(jnp.float64)) - 1.0

            def pair(state, _):
                s, sums, counts = state
                s, x = draw(s)
                s, y = draw(s)
                t = x * x + y * y
                inside = t <= 1.0
                t = jnp.where(inside, t, 1.0)
                size = jnp.sqrt(-2.0 * jnp.log(t) / t)
                x, y = x * size, y * size
                sums = sums + jnp.where(inside, jnp.stack([x, y]), 0.0)
                ring = jnp.maximum(jnp.abs(x), jnp.abs(y)).astype(jnp.int32)
                counts = counts + ((jnp.arange(10) == ring) & inside)
                return (s, sums, counts), None

            def of_seed(s):
                start = s, jnp.zeros(2), jnp.zeros(10, jnp.int64)
                return jax.lax.scan(pair, start, None, length=128)[0][1:]

            sums, counts = jax.vmap(of_seed)(seeds)
            return sums.sum(0), counts.sum(0)

        return run

    def reference(s):
        sums, counts = np.zeros(2), np.zeros(10, np.int64)
        for _ in range(128):
            values = []
            for _ in range(2):
                s = (s * np.uint64(5**13)) & np.uint64(2**46 - 1)
                values.append(2.0 * (2.0**-46 * s.astype(np.float64)) - 1.0)
            x, y = values
            t = x * x + y * y
            x, y, t = x[t <= 1], y[t <= 1], t[t <= 1]
            size = np.sqrt(-2.0 * np.log(t) / t)
            x, y = x * size, y * size
            sums += x.sum(), y.sum()
            ring = np.maximum(abs(x), abs(y)).astype(int)
            counts += np.bincount(ring, minlength=10)
        return sums, counts

    def loops(numba):
        factor, mask = np.uint64(5**13), np.uint64(2**46 - 1)

        @numba.njit(parallel=True)
        def run(seeds):
            n = seeds.shape[0]
            sums, counts = np.zeros((n, 2)), np.zeros((n, 10), np.int64)
            for i in numba.prange(n):
                s = seeds[i]
                for _ in range(128):
                    s = (s * factor) & mask
                    x = 2.0 * (2.0**-46 * np.float64(s)) - 1.0
                    s = (s * factor) & mask
                    y = 2.0 * (2.0**-46 * np.float64(s)) - 1.0
                    t = x * x + y * y
                    if t <= 1.0:
                        size = np.sqrt(-2.0 * np.log(t) / t)
                        x, y = x * size, y * size
                        sums[i, 0] += x
                        sums[i, 1] += y
                        counts[i, int(max(abs(x), abs(y)))] += 1
            return sums.sum(0), counts.sum(0)

        return run


@program(size=20_000, small=64, rtol=1e-3, atol=1e-4)
class ParticleFilter:
    """A target is followed through 20 noisy observations by n weighted particles that are drawn
    again systematically; after Rodinia's particlefilter."""

    def make(rng, n):
        f = np.float32
        path = np.cumsum(1 + 0.3 * rng.standard_normal((20, 2)), 0).astype(f)
        return path, rng.standard_normal((20, n, 2), dtype=f), rng.random(20, dtype=f)

    def array(jax):
        jnp = jax.numpy

        def run(path, noise, offsets):
            n = noise.shape[1]

            def observe(x, inputs):
                seen, noise, offset = inputs
                x = x + 1.0 + 0.5 * noise
                score = -0.5 * jnp.sum((x - seen) ** 2, axis=1)
                weight = jnp.exp(score - jnp.max(score))
                weight = weight / jnp.sum(weight)
                guess = weight @ x
                edges = jnp.cumsum(weight)
                chosen = jnp.searchsorted(edges, (jnp.arange(n) + offset) / n * edges[-1])
                return x[jnp.minimum(chosen, n - 1)], guess

            return jax.lax.scan(observe, jnp.zeros((n, 2)), (path, noise, offsets))[1]

        return run

    def reference(path, noise, offsets):
        n = noise.shape[1]
        x, guesses = np.zeros((n, 2), np.float32), []
        for seen, step, offset in zip(path, noise, offsets):
            x = x + np.float32(1) + np.float32(0.5) * step
            score = np.float32(-0.5) * np.sum((x - seen) ** 2, axis=1)
            weight = np.exp(score - score.max())
            weight = weight / weight.sum()
            guesses.append(weight @ x)
            edges = np.cumsum(weight)
            aims = (np.arange(n, dtype=np.float32) + offset) / n * edges[-1]
            chosen = np.searchsorted(edges, aims)
            x = x[np.minimum(chosen, n - 1)]
        return np.stack(guesses).astype(np.float32)

    def loops(numba):
        @numba.njit(parallel=True)
        def run(path, noise, offsets):
            f = np.float32
            steps, n = noise.shape[0], noise.shape[1]
            x, guesses = np.zeros((n, 2), f), np.zeros((steps, 2), f)
            for t in range(steps):
                score = np.empty(n, f)
                for i in numba.prange(n):
                    for k in range(2):
                        x[i, k] += f(1) + f(0.5) * noise[t, i, k]
                    a, b = x[i, 0] - path[t, 0], x[i, 1] - path[t, 1]
                    score[i] = f(-0.5) * (a * a + b * b)
                weight = np.exp(score - score.max())
                weight /= weight.sum()
                guesses[t, 0] = (weight * x[:, 0]).sum()
                guesses[t, 1] = (weight * x[:, 1]).sum()
                edges = np.cumsum(weight)
                out = np.empty_like(x)
                for i in numba.prange(n):
                    aim = (f(i) + offsets[t]) / f(n) * edges[n - 1]
                    out[i] = x[min(np.searchsorted(edges, aim), n - 1)]
                x = out
            return guesses

        return run
