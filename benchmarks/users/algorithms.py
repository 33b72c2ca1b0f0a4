"""Integers and discrete algorithms."""

import numpy as np

from .catalogue import program

SUDOKU = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"


def turned_grids(rng):
    """A puzzle turned and mirrored, 32 in all."""
    grid = np.array([int(digit) for digit in SUDOKU], np.int32).reshape(9, 9)
    return (np.stack([grid, grid.T, np.rot90(grid), grid[::-1]] * 8).astype(np.int32),)


@program(lambda rng: (np.arange(1, 4001).astype(np.int32),))
def sieve_collatz(lib, n):
    """Primes, lengths of Collatz orbits, common divisors."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    N = 20000
    s = jnp.ones(N, bool).at[:2].set(False)
    idx = jnp.arange(N)

    def strike(i, s):
        return jnp.where(s[i], s & ~((idx % i == 0) & (idx >= i * i)), s)
    s = lax.fori_loop(2, 142, strike, s)
    primes = jnp.nonzero(s, size=2300, fill_value=-1)[0]

    def length(x):
        return lax.while_loop(lambda c: c[0] != 1,
                              lambda c: (jnp.where(c[0] & 1, 3 * c[0] + 1, c[0] >> 1), c[1] + 1,
                                         jnp.maximum(c[0], c[2])),
                              (x, 0, x))[1]
    L = jax.vmap(length)(n)
    gcds = jnp.gcd(n, n[::-1])
    return primes, jnp.cumsum(s)[::100], L, jnp.argmax(L), gcds


@program(lambda rng: (rng.uniform(size=(256, 256)) < 0.3,), seed=4008)
def life_and_packed_rle(lib, g):
    """Sixty generations of Life, packed and run-length coded."""
    jnp, lax = lib.jnp, lib.lax

    def step(g, _):
        c = sum(jnp.roll(g, (i, j), (0, 1)).astype(jnp.uint8) for i in (-1, 0, 1)
                for j in (-1, 0, 1) if i or j)
        g = (c == 3) | (g & (c == 2))
        return g, g.sum()
    g, pop = lax.scan(step, g, None, length=60)
    packed = jnp.packbits(g, axis=1)
    popc = lax.population_count(packed).sum(dtype=jnp.int32)
    flat = g.ravel()
    start = jnp.concatenate([jnp.ones(1, bool), flat[1:] != flat[:-1]])
    rid = jnp.cumsum(start) - 1
    lens = jnp.zeros(flat.shape[0], jnp.int32).at[rid].add(1)
    vals = jnp.zeros(flat.shape[0], bool).at[rid].set(flat)
    dec = jnp.repeat(vals, lens, total_repeat_length=flat.shape[0])
    return g, pop, packed, popc, rid[-1], lens, jnp.all(dec == flat)


@program(lambda rng: (
    rng.integers(0, 2 ** 32, (512, 16), dtype=np.uint32),
    rng.integers(0, 256, 4096).astype(np.uint8),
), seed=4009)
def sha256_crc32(lib, msg, data):
    """Hashes of messages and a checksum by a table."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    k = jnp.array(
        np.floor(np.abs(np.sin(np.arange(1, 65))) * 2 ** 32).astype(np.uint64).astype(np.uint32))
    rotr = lambda x, n: (x >> n) | (x << (32 - n))
    h0 = jnp.array([0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                    0x1f83d9ab, 0x5be0cd19], jnp.uint32)

    def block(w16):
        def ext(w, _):
            s0 = rotr(w[1], 7) ^ rotr(w[1], 18) ^ (w[1] >> 3)
            s1 = rotr(w[14], 17) ^ rotr(w[14], 19) ^ (w[14] >> 10)
            new = w[0] + s0 + w[9] + s1
            return jnp.concatenate([w[1:], new[None]]), w[0]
        _, w = lax.scan(ext, w16, None, length=64)

        def rnd(s, kw):
            a, b, c, d, e, f, g, h = s
            t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + kw[0] + kw[1]
            t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
            return (t1 + t2, a, b, c, d + t1, e, f, g), None
        s, _ = lax.scan(rnd, tuple(h0), (k, w))
        return jnp.stack(s) + h0
    digest = jax.vmap(block)(msg)
    n = jnp.arange(256, dtype=jnp.uint32)
    table = lax.fori_loop(0, 8, lambda i,
                          c: jnp.where(c & 1, (c >> 1) ^ jnp.uint32(0xEDB88320), c >> 1), n)

    def crc(c, b):
        return table[(c ^ b) & 0xFF] ^ (c >> 8), None
    c, _ = lax.scan(crc, jnp.uint32(0xFFFFFFFF), data.astype(jnp.uint32))
    return digest, table, ~c


@program(lambda rng: (rng.integers(0, 2 ** 32, 1 << 15, dtype=np.uint32),), seed=4010)
def radix_sort_bitreverse(lib, x):
    """Sorting by digits, and permutations of bits."""
    jnp, lax = lib.jnp, lib.lax
    n = x.shape[0]

    def pas(s, shift):
        k, p = s
        d = (k >> shift) & 15
        oh = (d[:, None] == jnp.arange(16, dtype=jnp.uint32)).astype(jnp.int32)
        within = jnp.cumsum(oh, 0) - oh
        base = jnp.cumsum(oh.sum(0)) - oh.sum(0)
        di = d.astype(jnp.int32)
        pos = base[di] + jnp.take_along_axis(within, di[:, None], 1)[:, 0]
        return (jnp.zeros_like(k).at[pos].set(k), jnp.zeros_like(p).at[pos].set(p)), None
    (k, p), _ = lax.scan(pas, (x, jnp.arange(n)), jnp.arange(0, 32, 4, dtype=jnp.uint32))
    v = jnp.arange(n, dtype=jnp.uint32)
    for sh, m in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        v = ((v >> sh) & jnp.uint32(m)) | ((v & jnp.uint32(m)) << sh)
    v = ((v >> 16) | (v << 16)) >> 17
    gray = v ^ (v >> 1)
    return k, p, v, x[v], lax.population_count(gray)


@program(turned_grids, seed=4011)
def sudoku_propagation(lib, grids):
    """Candidates struck out until nothing changes."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def solve(g):
        cand = jnp.where(g[..., None] > 0, jax.nn.one_hot(g - 1, 9, dtype=bool), True)

        def units(x, op):
            row = jnp.broadcast_to(op(x, 1)[:, None], x.shape)
            col = jnp.broadcast_to(op(x, 0)[None], x.shape)
            b = op(x.reshape(3, 3, 3, 3, 9).swapaxes(1, 2).reshape(3, 3, 9, 9), 2)
            box = jnp.repeat(jnp.repeat(b, 3, 0), 3, 1)
            return row, col, box

        def body(s):
            c, _, n = s
            single = (c.sum(-1) == 1)[..., None] & c
            row, col, box = units(single, lambda v, a: jnp.any(v, axis=a))
            new = c & (single | ~(row | col | box))
            cnt = units(new.astype(jnp.int32), lambda v, a: jnp.sum(v, axis=a))
            hidden = new & ((cnt[0] == 1) | (cnt[1] == 1) | (cnt[2] == 1))
            new = jnp.where(hidden.any(-1, keepdims=True), hidden, new)
            return new, jnp.any(new != c), n + 1
        c, _, n = lax.while_loop(lambda s: s[1], body, (cand, True, 0))
        return jnp.where(c.sum(-1) == 1, c.argmax(-1) + 1, 0), n
    return jax.vmap(solve)(grids)


@program(lambda rng: (np.int32(8),))
def n_queens_stack(lib, n):
    """Solutions counted with a stack of its own."""
    jnp, lax = lib.jnp, lib.lax
    full = (1 << n) - 1

    def body(s):
        sp, cols, l, rr, cnt, it = s
        sp = sp - 1
        c, a, b = cols[sp], l[sp], rr[sp]
        cnt = cnt + (c == full)
        free = full & ~(c | a | b)

        def push(t):
            free, sp, cols, l, rr = t
            bit = free & -free
            return (free ^ bit, sp + 1, cols.at[sp].set(c | bit),
                    l.at[sp].set(((a | bit) << 1) & full), rr.at[sp].set((b | bit) >> 1))
        _, sp, cols, l, rr = lax.while_loop(lambda t: t[0] != 0, push, (free, sp, cols, l, rr))
        return sp, cols, l, rr, cnt, it + 1
    z = jnp.zeros(64, jnp.int32)
    s = lax.while_loop(lambda s: s[0] > 0, body, (1, z, z, z, 0, 0))
    return s[4], s[5]


@program(lambda rng: (rng.ints(4, 32, 120), rng.ints(4, 32, 150)), seed=4013)
def sequence_alignment_batch(lib, a, b):
    """Three ways to compare 32 pairs of sequences."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def edit(x, y):
        m = y.shape[0]
        j = jnp.arange(m + 1)

        def row(prev, xi):
            sub = prev[:-1] + (y != xi)
            t = jnp.minimum(sub, prev[1:] + 1)
            t = jnp.concatenate([prev[:1] + 1, t])
            return lax.cummin(t - j) + j, None
        return lax.scan(row, j, x)[0][-1]

    def smith_waterman(x, y):
        m = y.shape[0]

        def diag(s, k):
            h1, h2, best = s  # anti-diagonals, index = i
            i = jnp.arange(x.shape[0] + 1)
            jj = k - i
            ok = (i >= 1) & (jj >= 1) & (jj <= m)
            sc = jnp.where(x[jnp.clip(i - 1, 0)] == y[jnp.clip(jj - 1, 0, m - 1)], 2, -1)
            h = jnp.maximum(0,
                            jnp.maximum(jnp.roll(h2, 1) + sc, jnp.maximum(h1, jnp.roll(h1, 1)) - 1))
            h = jnp.where(ok, h, 0)
            return (h, h1, jnp.maximum(best, h.max())), None
        z = jnp.zeros(x.shape[0] + 1, jnp.int32)
        return lax.scan(diag, (z, z, jnp.int32(0)), jnp.arange(2, x.shape[0] + m + 1))[0][2]

    def lcs(x, y):
        def row(p, xi):
            def cell(left, t):
                yj, up, dg = t
                v = jnp.where(xi == yj, dg + 1, jnp.maximum(left, up))
                return v, v
            _, new = lax.scan(cell, 0, (y, p[1:], p[:-1]))
            return jnp.concatenate([jnp.zeros(1, jnp.int32), new]), None
        return lax.scan(row, jnp.zeros(y.shape[0] + 1, jnp.int32), x)[0][-1]
    return jax.vmap(edit)(a, b), jax.vmap(smith_waterman)(a, b), jax.vmap(lcs)(a, b)


@program(lambda rng: (
    rng.ints(26, 32, 24), rng.ints(26, 32, 30), rng.ints(25, 32, lo=5), rng.ints(31, 32, lo=5),
), seed=16001)
def edit_distance_batch_scan_int(lib, a, b, la, lb):
    """Edit distances of words of several lengths, cell by cell."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def one(a, b, la, lb):
        row0 = jnp.arange(b.size + 1)

        def row(prev, ai):
            def col(left, x):
                up, dg, bj = x
                v = jnp.minimum(jnp.minimum(up, left) + 1, dg + (ai != bj))
                return v, v
            first = prev[0] + 1
            _, rest = lax.scan(col, first, (prev[1:], prev[:-1], b))
            cur = jnp.concatenate([first[None], rest])
            return cur, cur
        _, rows = lax.scan(row, row0, a)
        return jnp.concatenate([row0[None], rows])[la, lb]
    return jax.vmap(one)(a, b, la, lb)


@program(lambda rng: (
    rng.ints(60, 100, lo=1), rng.ints(99, 100, lo=1), rng.uniforms(128, 128, lo=1, hi=10),
), seed=4014)
def knapsack_floyd_warshall(lib, wt, val, D):
    """A knapsack with its choice, and all shortest paths."""
    jnp, lax = lib.jnp, lib.lax
    cap = 1500
    c = jnp.arange(cap + 1)

    def item(dp, wv):
        w, v = wv
        cand = jnp.where(c >= w, dp[jnp.maximum(c - w, 0)] + v, 0)
        return jnp.maximum(dp, cand), cand > dp
    dp, took = lax.scan(item, jnp.zeros(cap + 1, jnp.int32), (wt, val))

    def back(rem, t):
        tk, w = t
        x = tk[rem]
        return rem - jnp.where(x, w, 0), x
    _, sel = lax.scan(back, cap, (took, wt), reverse=True)
    D = jnp.where(jnp.eye(128, dtype=bool), 0, jnp.where(D > 8, jnp.inf, D))

    def fw(k, s):
        D, nxt = s
        alt = D[:, k, None] + D[None, k]
        b = alt < D
        return jnp.where(b, alt, D), jnp.where(b, nxt[:, k, None], nxt)
    D, nxt = lax.fori_loop(0, 128, fw, (D, jnp.broadcast_to(jnp.arange(128), D.shape)))
    return dp[-1], sel, D, nxt
