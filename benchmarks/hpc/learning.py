"""Data mining and learning: clusters, neighbours, a trained network, histograms, ranks."""

import numpy as np

from .catalogue import program


@program(size=20_000, small=80, rtol=1e-3, atol=1e-4)
class Kmeans:
    """Eight rounds of Lloyd's method with 16 centres in 16 dimensions; Rodinia's kmeans."""

    def make(rng, n):
        points = rng.random((n, 16), dtype=np.float32)
        return points, points[:16].copy()

    def array(jax):
        jnp = jax.numpy

        def run(points, centres):
            def turn(_, centres):
                distance = jnp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=-1)
                nearest = jnp.argmin(distance, axis=1)
                sums = jnp.zeros_like(centres).at[nearest].add(points)
                counts = jnp.zeros(centres.shape[0]).at[nearest].add(1.0)
                means = sums / jnp.maximum(counts, 1.0)[:, None]
                return jnp.where(counts[:, None] > 0, means, centres)

            return jax.lax.fori_loop(0, 8, turn, centres)

        return run

    def reference(points, centres):
        for _ in range(8):
            nearest = ((points[:, None] - centres) ** 2).sum(-1).argmin(1)
            sums = np.zeros_like(centres, float)
            np.add.at(sums, nearest, points)
            counts = np.bincount(nearest, minlength=len(centres))[:, None]
            centres = np.where(counts > 0, sums / np.maximum(counts, 1), centres).astype(np.float32)
        return centres

    def loops(numba):
        @numba.njit(parallel=True)
        def run(points, centres):
            n, dims = points.shape
            count = centres.shape[0]
            centres, nearest = centres.copy(), np.empty(n, np.int32)
            for _ in range(8):
                for i in numba.prange(n):
                    best = np.float32(np.inf)
                    for c in range(count):
                        total = np.float32(0)
                        for k in range(dims):
                            total += (points[i, k] - centres[c, k]) ** 2
                        if total < best:
                            best = total
                            nearest[i] = c
                sums, counts = np.zeros_like(centres), np.zeros(count, np.int32)
                for i in range(n):
                    counts[nearest[i]] += 1
                    for k in range(dims):
                        sums[nearest[i], k] += points[i, k]
                for c in range(count):
                    if counts[c] > 0:
                        centres[c] = sums[c] / np.float32(counts[c])
            return centres

        return run


@program(size=100_000, small=100)
class NearestNeighbours:
    """The five nearest of n places on the sphere to each of 8 others; after Rodinia's nn."""

    def make(rng, n):
        places = rng.random((n, 2), dtype=np.float32) * np.float32(2)
        return places, rng.random((8, 2), dtype=np.float32) * np.float32(2)

    def array(jax):
        jnp = jax.numpy

        def run(places, targets):
            def nearest(target):
                d = jnp.sin(0.5 * (places - target)) ** 2
                h = d[:, 0] + jnp.cos(places[:, 0]) * jnp.cos(target[0]) * d[:, 1]
                values, where = jax.lax.top_k(-h, 5)
                return -values, where

            return jax.vmap(nearest)(targets)

        return run

    def reference(places, targets):
        d = np.sin(np.float32(0.5) * (places - targets[:, None])) ** 2
        cosines = np.cos(places[:, 0]) * np.cos(targets[:, :1])
        h = d[..., 0] + cosines * d[..., 1]
        where = np.argsort(h, axis=1, kind="stable")[:, :5].astype(np.int32)
        return np.take_along_axis(h, where, 1), where

    def loops(numba):
        @numba.njit(parallel=True)
        def run(places, targets):
            f = np.float32
            values = np.full((targets.shape[0], 5), np.inf, f)
            where = np.zeros((targets.shape[0], 5), np.int32)
            for t in numba.prange(targets.shape[0]):
                for i in range(places.shape[0]):
                    a = np.sin(f(0.5) * (places[i, 0] - targets[t, 0])) ** 2
                    b = np.sin(f(0.5) * (places[i, 1] - targets[t, 1])) ** 2
                    h = a + np.cos(places[i, 0]) * np.cos(targets[t, 0]) * b
                    if h < values[t, 4]:
                        k = 4
                        while k > 0 and values[t, k - 1] > h:
                            values[t, k], where[t, k] = values[t, k - 1], where[t, k - 1]
                            k -= 1
                        values[t, k], where[t, k] = h, i
            return values, where

        return run


@program(size=4096, small=24, rtol=2e-3, atol=1e-5)
class Backprop:
    """A network with one hidden layer of 16 learns one example in 20 steps, derivatives written
    out; Rodinia's backprop."""

    def make(rng, n):
        f = np.float32
        x, hidden = rng.random(n, dtype=f), rng.standard_normal((n, 16), dtype=f)
        return x, hidden / f(n), rng.standard_normal(16, dtype=f), f(0.8)

    def array(jax):
        def loss(weights, x, y):
            hidden, out = weights
            answer = jax.nn.sigmoid(jax.nn.sigmoid(x @ hidden) @ out)
            return 0.5 * (y - answer) ** 2

        def run(x, hidden, out, y):
            def step(weights, _):
                change = jax.grad(loss)(weights, x, y)
                return jax.tree_util.tree_map(lambda w, g: w - 0.3 * g, weights, change), None

            return jax.lax.scan(step, (hidden, out), None, length=20)[0]

        return run

    def reference(x, hidden, out, y):
        f = np.float32
        for _ in range(20):
            h = 1 / (1 + np.exp(-(x @ hidden)))
            o = 1 / (1 + np.exp(-(h @ out)))
            d = (o - y) * o * (1 - o)
            inner = d * out * h * (1 - h)
            hidden, out = hidden - f(0.3) * np.outer(x, inner), out - f(0.3) * d * h
        return hidden.astype(f), out.astype(f)

    def loops(numba):
        @numba.njit(parallel=True)
        def run(x, hidden, out, y):
            f = np.float32
            hidden, out = hidden.copy(), out.copy()
            n, m = hidden.shape
            for _ in range(20):
                h = f(1) / (f(1) + np.exp(-np.dot(x, hidden)))
                o = f(1) / (f(1) + np.exp(-np.dot(h, out)))
                d = (o - y) * o * (f(1) - o)
                inner = d * out * h * (f(1) - h)
                for i in numba.prange(n):
                    for j in range(m):
                        hidden[i, j] -= f(0.3) * x[i] * inner[j]
                out = out - f(0.3) * d * h
            return hidden, out

        return run


@program(size=1024, small=40)
class HistogramEqualization:
    """An image of bytes is stretched so that all of its 256 grey levels are equally frequent."""

    def make(rng, n):
        return (np.clip(rng.normal(100, 25, (n, n)), 0, 255).astype(np.uint8),)

    def array(jax):
        jnp = jax.numpy

        def run(image):
            counts = jnp.bincount(image.ravel(), length=256)
            below = jnp.cumsum(counts)
            first = below[jnp.argmax(counts > 0)]
            scale = 255.0 / (image.size - first)
            table = jnp.clip(jnp.floor((below - first) * scale + 0.5), 0, 255).astype(jnp.uint8)
            return table[image]

        return run

    def reference(image):
        counts = np.bincount(image.ravel(), minlength=256)
        below = np.cumsum(counts).astype(np.float32)
        first = below[np.argmax(counts > 0)]
        scale = np.float32(255) / (np.float32(image.size) - first)
        table = np.floor((below - first) * scale + np.float32(0.5))
        return np.clip(table, 0, 255).astype(np.uint8)[image]

    def loops(numba):
        @numba.njit(parallel=True)
        def run(image):
            f = np.float32
            n, m = image.shape
            counts, table = np.zeros(256, np.int64), np.empty(256, np.uint8)
            for i in range(n):
                for j in range(m):
                    counts[image[i, j]] += 1
            below = np.cumsum(counts)
            first = below[counts > 0][0]
            scale = f(255) / f(n * m - first)
            for v in range(256):
                value = np.floor(f(below[v] - first) * scale + f(0.5))
                table[v] = np.uint8(min(max(value, f(0)), f(255)))
            out = np.empty_like(image)
            for i in numba.prange(n):
                for j in range(m):
                    out[i, j] = table[image[i, j]]
            return out

        return run


@program(size=2**18, small=200)
class NasIs:
    """Ranks of n integer keys below 2**11 by counting: how many are smaller, and the keys in
    order; the NAS benchmark IS."""

    def make(rng, n):
        keys = rng.integers(0, 2**9, (4, n)).sum(0)
        return (keys.astype(np.int32),)

    def array(jax):
        jnp = jax.numpy

        def run(keys):
            counts = jnp.bincount(keys, length=2**11)
            smaller = jnp.cumsum(counts) - counts
            order = jnp.argsort(keys)
            ranks = jnp.zeros_like(keys).at[order].set(jnp.arange(keys.shape[0], dtype=keys.dtype))
            return smaller, ranks, keys[order]

        return run

    def reference(keys):
        counts = np.bincount(keys, minlength=2**11)
        order = np.argsort(keys, kind="stable")
        ranks = np.empty_like(keys)
        ranks[order] = np.arange(len(keys))
        return np.cumsum(counts) - counts, ranks, keys[order]

    def loops(numba):
        @numba.njit
        def run(keys):
            counts = np.zeros(2**11, np.int64)
            for k in keys:
                counts[k] += 1
            smaller = np.cumsum(counts) - counts
            place, ranks, out = smaller.copy(), np.empty_like(keys), np.empty_like(keys)
            for i in range(keys.shape[0]):
                k = keys[i]
                ranks[i] = place[k]
                out[place[k]] = k
                place[k] += 1
            return smaller, ranks, out

        return run
