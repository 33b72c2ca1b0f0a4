"""Sequences of letters and permutations: programs of bytes, tables and counting."""

import itertools

import numpy as np

from .catalogue import program


@program(size=8, small=5)
class Fannkuch:
    """How often the front of each permutation of n has to be flipped until 1 leads, the most and
    the alternating sum; the Computer Language Benchmarks Game's fannkuch-redux."""

    def make(rng, n):
        permutations = np.array(list(itertools.permutations(range(n))), np.int32)
        inversions = (permutations[:, :, None] > permutations[:, None, :]) & np.triu(
            np.ones((n, n), bool), 1
        )
        return permutations, (1 - 2 * (inversions.sum((1, 2)) % 2)).astype(np.int32)

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def run(permutations, signs):
            index = jnp.arange(permutations.shape[1])

            def flips(p):
                def flip(state):
                    p, count = state
                    return p[jnp.where(index <= p[0], p[0] - index, index)], count + 1

                return lax.while_loop(lambda s: s[0][0] != 0, flip, (p, jnp.int32(0)))[1]

            counts = jax.vmap(flips)(permutations)
            return jnp.max(counts), jnp.sum(counts * signs)

        return run

    def reference(permutations, signs):
        p, counts = permutations.copy(), np.zeros(len(permutations), np.int32)
        index = np.arange(p.shape[1])
        while (p[:, 0] > 0).any():
            first = p[:, :1]
            p = np.take_along_axis(p, np.where(index <= first, first - index, index), 1)
            counts += first[:, 0] > 0
        return counts.max(), (counts * signs).sum()

    def loops(numba):
        @numba.njit(parallel=True)
        def run(permutations, signs):
            total, n = permutations.shape
            counts = np.zeros(total, np.int32)
            for i in numba.prange(total):
                p = permutations[i].copy()
                while p[0] != 0:
                    low, high = 0, p[0]
                    while low < high:
                        p[low], p[high] = p[high], p[low]
                        low, high = low + 1, high - 1
                    counts[i] += 1
            return counts.max(), (counts * signs).sum()

        return run


@program(size=100_000, small=200)
class Fasta:
    """A random sequence of letters with given frequencies from a congruential generator, one after
    the other; the Computer Language Benchmarks Game's fasta."""

    def make(rng, n):
        shares = np.array([0.30, 0.20, 0.20, 0.27, 0.01, 0.01, 0.01])
        edges = np.cumsum(shares).astype(np.float32)
        return edges, np.frombuffer(b"acgtBDH", np.uint8).copy(), np.zeros(n, np.uint8)

    def array(jax):
        jnp = jax.numpy

        def run(edges, letters, space):
            def draw(seed, _):
                seed = (seed * 3877 + 29573) % 139968
                value = seed.astype(jnp.float32) / 139968.0
                where = jnp.sum(value >= edges).astype(jnp.int32)
                return seed, letters[jnp.minimum(where, 6)]

            return jax.lax.scan(draw, jnp.int32(42), None, length=space.shape[0])[1]

        return run

    def reference(edges, letters, space):
        seeds, seed = np.empty(len(space), np.int64), 42
        for i in range(len(space)):
            seed = (seed * 3877 + 29573) % 139968
            seeds[i] = seed
        value = seeds.astype(np.float32) / np.float32(139968)
        return letters[np.minimum((value[:, None] >= edges).sum(1), 6)]

    def loops(numba):
        @numba.njit
        def run(edges, letters, space):
            out, seed = np.empty_like(space), np.int32(42)
            for i in range(space.shape[0]):
                seed = np.int32((seed * 3877 + 29573) % 139968)
                value = np.float32(seed) / np.float32(139968)
                where = 0
                while where < 6 and value >= edges[where]:
                    where += 1
                out[i] = letters[where]
            return out

        return run


@program(size=1_000_000, small=100)
class ReverseComplement:
    """A strand of letters is turned around and each letter replaced by its partner, by a table;
    the Computer Language Benchmarks Game's reverse-complement."""

    def make(rng, n):
        table = np.arange(256, dtype=np.uint8)
        for a, b in zip(b"ACGTacgt", b"TGCAtgca"):
            table[a] = b
        return np.frombuffer(b"ACGTacgtN", np.uint8)[rng.integers(0, 9, n)], table

    def array(jax):
        return lambda strand, table: table[strand][::-1]

    def reference(strand, table):
        return table[strand][::-1]

    def loops(numba):
        @numba.njit(parallel=True)
        def run(strand, table):
            n = strand.shape[0]
            out = np.empty_like(strand)
            for i in numba.prange(n):
                out[i] = table[strand[n - 1 - i]]
            return out

        return run


@program(size=500_000, small=100)
class KNucleotide:
    """Frequencies of all pieces of 1, 2, 4 and 6 letters of a strand; the Computer Language
    Benchmarks Game's k-nucleotide."""

    def make(rng, n):
        return (rng.integers(0, 4, n).astype(np.uint8),)

    def array(jax):
        jnp = jax.numpy

        def run(strand):
            letters = strand.astype(jnp.int32)
            counts = []
            for k in (1, 2, 4, 6):
                n = letters.shape[0] - k + 1
                code = sum(letters[i : i + n] << (2 * i) for i in range(k))
                counts.append(jnp.bincount(code, length=4**k))
            return tuple(counts)

        return run

    def reference(strand):
        letters, counts = strand.astype(np.int64), []
        for k in (1, 2, 4, 6):
            n = len(letters) - k + 1
            code = sum(letters[i : i + n] << (2 * i) for i in range(k))
            counts.append(np.bincount(code, minlength=4**k))
        return tuple(counts)

    def loops(numba):
        @numba.njit
        def count(strand, k):
            counts, code = np.zeros(4**k, np.int32), 0
            for i in range(strand.shape[0]):
                code = (code >> 2) | (np.int64(strand[i]) << (2 * (k - 1)))
                if i >= k - 1:
                    counts[code] += 1
            return counts

        @numba.njit
        def run(strand):
            return count(strand, 1), count(strand, 2), count(strand, 4), count(strand, 6)

        return run


@program(size=1_000_000, small=50)
class RunLengths:
    """Runs of equal letters: how long each is and where the longest begins, by running maxima and
    scattered counts."""

    def make(rng, n):
        return (np.repeat(rng.integers(0, 3, n), rng.integers(1, 6, n))[:n].astype(np.uint8),)

    def array(jax):
        jnp = jax.numpy

        def run(letters):
            n = letters.shape[0]
            fresh = jnp.concatenate([jnp.array([True]), letters[1:] != letters[:-1]])
            number = jnp.cumsum(fresh) - 1
            lengths = jnp.zeros(n, jnp.int32).at[number].add(1)
            begin = jax.lax.cummax(jnp.where(fresh, jnp.arange(n, dtype=jnp.int32), 0))
            longest = jnp.argmax(jnp.arange(n) - begin)
            return lengths, begin[longest]

        return run

    def reference(letters):
        n = len(letters)
        begins = np.r_[0, 1 + np.flatnonzero(letters[1:] != letters[:-1])]
        found = np.diff(np.r_[begins, n])
        lengths = np.zeros(n, np.int32)
        lengths[: len(found)] = found
        return lengths, begins[found.argmax()]

    def loops(numba):
        @numba.njit
        def run(letters):
            n = letters.shape[0]
            lengths = np.zeros(n, np.int32)
            number, start, best, where = 0, 0, 0, 0
            for i in range(n):
                if i and letters[i] != letters[i - 1]:
                    number, start = number + 1, i
                lengths[number] += 1
                if i - start + 1 > best:
                    best, where = i - start + 1, start
            return lengths, where

        return run
