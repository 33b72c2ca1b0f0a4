"""Graphs: searches, ranks and shortest paths over lists of edges, by gathers and scatters."""

import numpy as np

from .catalogue import program


def _edges(rng, n: int, degree: int):
    """A random directed graph whose edges are sorted by where they begin: (from, to)."""
    start = np.sort(rng.integers(0, n, degree * n, dtype=np.int32))
    end = rng.integers(0, n, degree * n, dtype=np.int32)
    return start, end


@program(size=50_000, small=60)
class Bfs:
    """Distances of all nodes from node 0, level by level over the list of edges; Rodinia's bfs."""

    def make(rng, n):
        start, end = _edges(rng, n, 6)
        return start, end, np.searchsorted(start, np.arange(n + 1)).astype(np.int32)

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def run(start, end, offsets):
            n = offsets.shape[0] - 1

            def level(state):
                cost, depth, _ = state
                front = cost[start] == depth
                reached = jnp.zeros(n, bool).at[end].max(front)
                fresh = reached & (cost < 0)
                return jnp.where(fresh, depth + 1, cost), depth + 1, jnp.any(fresh)

            cost = jnp.full(n, -1, jnp.int32).at[0].set(0)
            return lax.while_loop(lambda s: s[2], level, (cost, jnp.int32(0), True))[0]

        return run

    def reference(start, end, offsets):
        cost = np.full(len(offsets) - 1, -1, np.int32)
        cost[0], depth, more = 0, 0, True
        while more:
            reached = end[cost[start] == depth]
            reached = reached[cost[reached] < 0]
            cost[reached], depth, more = depth + 1, depth + 1, len(reached)
        return cost

    def loops(numba):
        @numba.njit
        def run(start, end, offsets):
            n = offsets.shape[0] - 1
            cost, queue = np.full(n, -1, np.int32), np.empty(n, np.int32)
            cost[0], queue[0] = 0, 0
            head, tail = 0, 1
            while head < tail:
                node = queue[head]
                head += 1
                for e in range(offsets[node], offsets[node + 1]):
                    if cost[end[e]] < 0:
                        cost[end[e]] = cost[node] + 1
                        queue[tail] = end[e]
                        tail += 1
            return cost

        return run


@program(size=50_000, small=50, rtol=1e-3, atol=1e-7)
class Pagerank:
    """Twenty rounds of page rank over a list of edges, sums by scattering."""

    def make(rng, n):
        start, end = _edges(rng, n, 8)
        return start, end, np.full(n, 1 / n, np.float32)

    def array(jax):
        jnp = jax.numpy

        def run(start, end, rank):
            n = rank.shape[0]
            degree = jnp.zeros(n).at[start].add(1.0)
            share = jnp.where(degree > 0, 1.0 / jnp.maximum(degree, 1.0), 0.0)

            def turn(_, rank):
                lost = jnp.sum(jnp.where(degree == 0, rank, 0.0))
                inflow = jnp.zeros(n).at[end].add((rank * share)[start])
                return 0.15 / n + 0.85 * (inflow + lost / n)

            return jax.lax.fori_loop(0, 20, turn, rank)

        return run

    def reference(start, end, rank):
        n = len(rank)
        degree = np.bincount(start, minlength=n)
        share = np.where(degree > 0, 1 / np.maximum(degree, 1), 0)
        for _ in range(20):
            lost = rank[degree == 0].sum()
            inflow = np.bincount(end, (rank * share)[start], n)
            rank = 0.15 / n + 0.85 * (inflow + lost / n)
        return rank.astype(np.float32)

    def loops(numba):
        @numba.njit
        def run(start, end, rank):
            f, n = np.float32, rank.shape[0]
            degree = np.zeros(n, f)
            for s in start:
                degree[s] += f(1)
            for _ in range(20):
                lost, out = f(0), np.zeros(n, f)
                share = np.zeros(n, f)
                for i in range(n):
                    if degree[i] > 0:
                        share[i] = rank[i] / degree[i]
                    else:
                        lost += rank[i]
                for e in range(start.shape[0]):
                    out[end[e]] += share[start[e]]
                for i in range(n):
                    out[i] = f(0.15) / f(n) + f(0.85) * (out[i] + lost / f(n))
                rank = out
            return rank

        return run


@program(size=384, small=20)
class FloydWarshall:
    """Shortest paths between all pairs of n nodes of a dense graph."""

    def make(rng, n):
        d = 10 * rng.random((n, n), dtype=np.float32)
        np.fill_diagonal(d, 0)
        return (d,)

    def array(jax):
        jnp = jax.numpy

        def run(d):
            def through(k, d):
                return jnp.minimum(d, d[:, k, None] + d[k, None, :])

            return jax.lax.fori_loop(0, d.shape[0], through, d)

        return run

    def reference(d):
        for k in range(len(d)):
            d = np.minimum(d, d[:, k, None] + d[k])
        return d

    def loops(numba):
        @numba.njit(parallel=True)
        def run(d):
            d, n = d.copy(), d.shape[0]
            for k in range(n):
                for i in numba.prange(n):
                    first = d[i, k]
                    for j in range(n):
                        d[i, j] = min(d[i, j], first + d[k, j])
            return d

        return run


@program(size=50_000, small=60)
class Components:
    """Connected components: each node takes the smallest label of its neighbours, then of the node
    it points to, until nothing changes."""

    def make(rng, n):
        return _edges(rng, n, 2)

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def run(start, end):
            n = start.shape[0] // 2

            def hook(state):
                label, _ = state
                after = label.at[end].min(label[start]).at[start].min(label[end])
                after = after[after]
                return after, jnp.any(after != label)

            label = jnp.arange(n, dtype=jnp.int32)
            return lax.while_loop(lambda s: s[1], hook, (label, True))[0]

        return run

    def reference(start, end):
        label, more = np.arange(len(start) // 2, dtype=np.int32), True
        while more:
            after = label.copy()
            np.minimum.at(after, end, label[start])
            np.minimum.at(after, start, label[end])
            after = after[after]
            more, label = (after != label).any(), after
        return label

    def loops(numba):
        @numba.njit
        def run(start, end):
            n = start.shape[0] // 2
            label = np.arange(n).astype(np.int32)
            for e in range(start.shape[0]):
                a, b = start[e], end[e]
                while label[a] != a:
                    label[a] = label[label[a]]
                    a = label[a]
                while label[b] != b:
                    label[b] = label[label[b]]
                    b = label[b]
                label[max(a, b)] = min(a, b)
            for i in range(n):
                label[i] = label[label[i]]
            return label

        return run


@program(size=20_000, small=50)
class BellmanFord:
    """Shortest paths from node 0 by relaxing all edges until nothing changes."""

    def make(rng, n):
        start, end = _edges(rng, n, 8)
        return start, end, rng.random(8 * n, dtype=np.float32), np.full(n, np.inf, np.float32)

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def run(start, end, weight, far):
            def relax(state):
                distance, _ = state
                after = distance.at[end].min(distance[start] + weight)
                return after, jnp.any(after < distance)

            return lax.while_loop(lambda s: s[1], relax, (far.at[0].set(0.0), True))[0]

        return run

    def reference(start, end, weight, far):
        distance, more = far.copy(), True
        distance[0] = 0
        while more:
            after = distance.copy()
            np.minimum.at(after, end, distance[start] + weight)
            more, distance = (after < distance).any(), after
        return distance

    def loops(numba):
        @numba.njit
        def run(start, end, weight, far):
            distance, more = far.copy(), True
            distance[0] = 0
            while more:
                more = False
                for e in range(start.shape[0]):
                    way = distance[start[e]] + weight[e]
                    if way < distance[end[e]]:
                        distance[end[e]] = way
                        more = True
            return distance

        return run
