"""Dynamic programming: tables of which each entry is the best of some earlier ones."""

import numpy as np

from .catalogue import program


@program(size=2000, small=30)
class Pathfinder:
    """The cheapest way down a grid of integers, one step down or diagonally at a time; Rodinia's
    pathfinder."""

    def make(rng, n):
        return (rng.integers(0, 10, (n // 4, n), dtype=np.int32),)

    def array(jax):
        jnp = jax.numpy

        def run(wall):
            far = jnp.array([2**30], jnp.int32)

            def row(best, cost):
                left = jnp.concatenate([far, best[:-1]])
                right = jnp.concatenate([best[1:], far])
                return cost + jnp.minimum(best, jnp.minimum(left, right)), None

            return jax.lax.scan(row, wall[0], wall[1:])[0]

        return run

    def reference(wall):
        best = wall[0]
        for cost in wall[1:]:
            left, right = np.r_[2**30, best[:-1]], np.r_[best[1:], 2**30]
            best = (cost + np.minimum(best, np.minimum(left, right))).astype(np.int32)
        return best

    def loops(numba):
        @numba.njit(parallel=True)
        def run(wall):
            best, n = wall[0].copy(), wall.shape[1]
            after = np.empty_like(best)
            for t in range(1, wall.shape[0]):
                for j in numba.prange(n):
                    low = best[j]
                    if j > 0:
                        low = min(low, best[j - 1])
                    if j + 1 < n:
                        low = min(low, best[j + 1])
                    after[j] = wall[t, j] + low
                best, after = after, best
            return best

        return run


@program(size=1000, small=25)
class NeedlemanWunsch:
    """The score of the best alignment of two sequences, by anti-diagonals of the table, which do
    not depend on each other inside; Rodinia's nw."""

    def make(rng, n):
        a, b = rng.integers(0, 20, (2, n), dtype=np.int32)
        scores = rng.integers(-4, 10, (20, 20), dtype=np.int32)
        return a, b, scores + scores.T

    def array(jax):
        jnp = jax.numpy

        def run(a, b, scores):
            n = a.shape[0]
            i = jnp.arange(n + 1)

            def diagonal(carry, d):
                """Entry i of diagonal d is the cell (i, d - i)."""
                before, last = carry
                j = d - i
                match = scores[a[jnp.clip(i - 1, 0, n - 1)], b[jnp.clip(j - 1, 0, n - 1)]]
                up = jnp.roll(last, 1) - 10
                best = jnp.maximum(jnp.roll(before, 1) + match, jnp.maximum(up, last - 10))
                best = jnp.where((i == 0) | (j == 0), -10 * d, best)
                return (last, jnp.where((j < 0) | (j > n), 0, best)), None

            start = jnp.zeros(n + 1, jnp.int32), jnp.where(i <= 1, -10, 0).astype(jnp.int32)
            return jax.lax.scan(diagonal, start, jnp.arange(2, 2 * n + 1))[0][1][n]

        return run

    def reference(a, b, scores):
        n = len(a)
        table = np.zeros((n + 1, n + 1), np.int32)
        table[0] = table[:, 0] = -10 * np.arange(n + 1)
        for d in range(2, 2 * n + 1):
            i = np.arange(max(1, d - n), min(n, d - 1) + 1)
            j = d - i
            gap = np.maximum(table[i - 1, j], table[i, j - 1]) - 10
            table[i, j] = np.maximum(table[i - 1, j - 1] + scores[a[i - 1], b[j - 1]], gap)
        return table[n, n]

    def loops(numba):
        @numba.njit
        def run(a, b, scores):
            n = a.shape[0]
            row = np.empty(n + 1, np.int32)
            for j in range(n + 1):
                row[j] = -10 * j
            for i in range(1, n + 1):
                corner, row[0] = row[0], -10 * i
                for j in range(1, n + 1):
                    best = corner + scores[a[i - 1], b[j - 1]]
                    corner = row[j]
                    row[j] = max(best, max(row[j], row[j - 1]) - 10)
            return row[n]

        return run


@program(size=1000, small=25)
class EditDistance:
    """Levenshtein's distance by rows; the dependence along a row is a running minimum."""

    def make(rng, n):
        return tuple(rng.integers(0, 4, (2, n), dtype=np.int32))

    def array(jax):
        jnp = jax.numpy

        def run(a, b):
            j = jnp.arange(b.shape[0] + 1, dtype=jnp.int32)

            def row(previous, letter):
                change = previous[:-1] + (letter != b)
                inner = jnp.minimum(previous[1:] + 1, change)
                start = jnp.concatenate([previous[:1] + 1, inner])
                return jax.lax.cummin(start - j) + j, None

            return jax.lax.scan(row, j, a)[0][-1]

        return run

    def reference(a, b):
        j = np.arange(len(b) + 1, dtype=np.int32)
        row = j
        for letter in a:
            inner = np.minimum(row[1:] + 1, row[:-1] + (letter != b))
            row = np.minimum.accumulate(np.r_[row[0] + 1, inner] - j) + j
        return np.int32(row[-1])

    def loops(numba):
        @numba.njit
        def run(a, b):
            n = b.shape[0]
            row = np.arange(n + 1)
            for letter in a:
                corner = row[0]
                row[0] += 1
                for j in range(1, n + 1):
                    best = min(corner + (letter != b[j - 1]), min(row[j], row[j - 1]) + 1)
                    corner = row[j]
                    row[j] = best
            return row[n]

        return run


@program(size=200, small=12)
class Knapsack:
    """The most valuable choice of n things under each of 10,000 limits of weight."""

    def make(rng, n):
        return (
            rng.integers(1, 200, n, dtype=np.int32),
            rng.random(n, dtype=np.float32),
            np.zeros(10_000 if n > 50 else 100 * n, np.float32),
        )

    def array(jax):
        jnp = jax.numpy

        def run(weights, values, best):
            limit = jnp.arange(best.shape[0])

            def thing(best, wv):
                weight, value = wv
                taken = best[jnp.maximum(limit - weight, 0)] + value
                return jnp.where(limit >= weight, jnp.maximum(best, taken), best), None

            return jax.lax.scan(thing, best, (weights, values))[0]

        return run

    def reference(weights, values, best):
        best = best.copy()
        for weight, value in zip(weights, values):
            best[weight:] = np.maximum(best[weight:], best[:-weight] + value)
        return best

    def loops(numba):
        @numba.njit
        def run(weights, values, best):
            best = best.copy()
            for t in range(weights.shape[0]):
                weight, value = weights[t], values[t]
                for limit in range(best.shape[0] - 1, weight - 1, -1):
                    best[limit] = max(best[limit], best[limit - weight] + value)
            return best

        return run


@program(size=1000, small=12)
class Viterbi:
    """The most probable path of n observations through a hidden Markov model of 64 states, with
    the way back."""

    def make(rng, n):
        f = np.float32
        return np.log(rng.random((64, 64), dtype=f)), np.log(rng.random((n, 64), dtype=f))

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def run(transitions, emissions):
            def forward(score, emission):
                ways = score[:, None] + transitions
                return jnp.max(ways, axis=0) + emission, jnp.argmax(ways, axis=0)

            def back(state, origin):
                return origin[state], state

            score, origins = lax.scan(forward, emissions[0], emissions[1:])
            last = jnp.argmax(score)
            first, path = lax.scan(back, last, origins, reverse=True)
            return jnp.max(score), jnp.concatenate([first[None], path])

        return run

    def reference(transitions, emissions):
        score, origins = emissions[0], []
        for emission in emissions[1:]:
            ways = score[:, None] + transitions
            origins.append(ways.argmax(0))
            score = ways.max(0) + emission
        path = [score.argmax()]
        for origin in reversed(origins):
            path.append(origin[path[-1]])
        return score.max(), np.array(path[::-1], np.int32)

    def loops(numba):
        @numba.njit
        def run(transitions, emissions):
            n, states = emissions.shape
            score, after = emissions[0].copy(), np.empty(states, np.float32)
            origins = np.empty((n, states), np.int32)
            for t in range(1, n):
                origins[t] = 0
                after[:] = score[0] + transitions[0]
                for i in range(1, states):
                    for j in range(states):
                        way = score[i] + transitions[i, j]
                        if way > after[j]:
                            after[j] = way
                            origins[t, j] = i
                score, after = after + emissions[t], score
            path = np.empty(n, np.int32)
            path[n - 1] = np.argmax(score)
            for t in range(n - 1, 0, -1):
                path[t - 1] = origins[t, path[t]]
            return score.max(), path

        return run


@program(size=256, small=6)
class TimeWarping:
    """Distances of n pairs of short series by dynamic time warping, a scan in a scan mapped over
    the pairs."""

    def make(rng, n):
        return tuple(rng.standard_normal((2, n, 48 if n > 50 else 9), dtype=np.float32))

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def distance(x, y):
            def row(above, value):
                def cell(left, inputs):
                    up, corner, other = inputs
                    best = jnp.abs(value - other) + jnp.minimum(left, jnp.minimum(up, corner))
                    return best, best

                corner = jnp.concatenate([jnp.array([jnp.inf]), above[:-1]])
                return lax.scan(cell, jnp.inf, (above, corner, y))[1], None

            start = jnp.abs(x[0] - y).cumsum()
            return lax.scan(row, start, x[1:])[0][-1]

        return jax.vmap(distance)

    def reference(x, y):
        n, m = x.shape
        table = np.full((n, m + 1, m + 1), np.inf, np.float32)
        table[:, 0, 0] = 0
        for i in range(m):
            for j in range(m):
                near = np.minimum(table[:, i, j + 1], table[:, i + 1, j])
                near = np.minimum(near, table[:, i, j])
                table[:, i + 1, j + 1] = np.abs(x[:, i] - y[:, j]) + near
        return table[:, m, m]

    def loops(numba):
        @numba.njit(parallel=True)
        def run(x, y):
            n, m = x.shape
            out = np.empty(n, np.float32)
            for p in numba.prange(n):
                row = np.full(m + 1, np.inf, np.float32)
                row[0] = 0
                for i in range(m):
                    corner, row[0] = row[0], np.inf
                    for j in range(m):
                        best = abs(x[p, i] - y[p, j]) + min(corner, min(row[j + 1], row[j]))
                        corner, row[j + 1] = row[j + 1], best
                out[p] = row[m]
            return out

        return run
