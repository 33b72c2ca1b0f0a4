"""Graphs, trees over tables, recommendation, ranking."""

import numpy as np

from .catalogue import program
from .shared import cross_entropy, f32, mlp, mlp_params


def skewed_edges(rng):
    """Edges whose ends are mostly among the first nodes, and weights."""
    nodes, edges = 5000, 40000
    src = rng.ints(nodes, edges)
    dst = np.minimum((nodes * rng.uniform(size=edges) ** 3).astype(np.int32), nodes - 1)
    return src, dst, rng.uniforms(edges, lo=0.5, hi=2)


def shuffled_edges(rng):
    src = rng.ints(5000, 6000)
    return src, rng.permutation(src).astype(np.int32)


@program(lambda rng: (
    {"e": mlp_params(rng, 3 * 32, 64, 32), "n": mlp_params(rng, 64, 64, 32),
     "o": rng.weights(32, 4)},
    rng.normals(1000, 32), rng.normals(6000, 32), rng.ints(1000, 6000), rng.ints(1000, 6000),
    rng.ints(4, 1000),
), seed=35)
def graphnet_message_passing_grad(lib, p, x, e, snd, rcv, y):
    """Two rounds of messages along edges with means at nodes."""
    jax, jnp, ops = lib.jax, lib.jnp, lib.ops
    N = x.shape[0]

    def f(p):
        h, ee = x, e
        for _ in range(2):
            m = mlp(lib, p["e"], jnp.concatenate([h[snd], h[rcv], ee], -1))
            agg = ops.segment_sum(m, rcv, N)
            deg = ops.segment_sum(jnp.ones(rcv.shape), rcv, num_segments=N)
            h = h + mlp(lib, p["n"], jnp.concatenate([h, agg / jnp.maximum(deg, 1)[:, None]], -1))
            ee = ee + m
        return cross_entropy(lib, h @ p["o"], y)
    return jax.value_and_grad(f)(p)


@program(lambda rng: (
    rng.weights(64, 4, 16), rng.normals(4, 16, scale=0.3), rng.normals(4, 16, scale=0.3),
    rng.normals(1000, 64), rng.ints(1000, 6000), rng.ints(1000, 6000),
), seed=3501)
def gat_segment_softmax_grad(lib, W, al, ar, x, s, d):
    """Attention among the neighbours of each node."""
    jax, jnp, lax, nn, ops = lib.jax, lib.jnp, lib.lax, lib.nn, lib.ops
    N = x.shape[0]

    def f(W, al, ar, x):
        h = jnp.einsum("nf,fhk->nhk", x, W)
        sc = nn.leaky_relu((h * al).sum(-1)[s] + (h * ar).sum(-1)[d], 0.2)
        mx = ops.segment_max(sc, d, N)
        ex = jnp.exp(sc - lax.stop_gradient(mx)[d])
        den = ops.segment_sum(ex, d, N)
        a = ex / (den[d] + 1e-9)
        return nn.elu(ops.segment_sum(a[..., None] * h[s], d, N)).reshape(N, -1)
    y, pb = jax.vjp(f, W, al, ar, x)
    return y, pb(jnp.sin(y))


@program(lambda rng: (
    mlp_params(rng, 3, 64, 128), mlp_params(rng, 128, 64, 10), rng.normals(16, 256, 3),
    rng.ints(256, 16, lo=100), rng.ints(10, 16),
), seed=36)
def deepsets_pointnet_masked_max_grad(lib, phi, rho, x, n, y):
    """Sets of several sizes, by the largest features of their points."""
    jax, jnp = lib.jax, lib.jnp

    def f(phi, rho):
        h = mlp(lib, phi, x)
        m = jnp.arange(x.shape[1])[None] < n[:, None]
        h = jnp.where(m[..., None], h, -jnp.inf).max(1)
        return cross_entropy(lib, mlp(lib, rho, h), y)
    return jax.value_and_grad(f, (0, 1))(phi, rho)


@program(lambda rng: (
    rng.normals(128, 16, 3), rng.normals(128, 32), rng.normals(3, 16),
    mlp_params(rng, 32 * 2 + 1, 32, 32), mlp_params(rng, 32, 32, 1),
), seed=18002)
def egnn_equivariant_dense_forces_grad(lib, xyz, h, _w, pm, px):
    """Energies of points that do not change when they are turned, and forces."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def energy(x, h):
        for _ in range(2):
            d = x[:, None] - x[None]
            d2 = jnp.sum(d * d, -1, keepdims=True)
            n = x.shape[0]
            e = jnp.concatenate([jnp.broadcast_to(h[:, None], (n, n, 32)),
                                 jnp.broadcast_to(h[None], (n, n, 32)), d2], -1)
            m = nn.silu(mlp(lib, pm, e, nn.silu)) * (1 - jnp.eye(n))[..., None]
            x = x + jnp.sum(d / (jnp.sqrt(d2 + 1e-8) + 1) * mlp(lib, px, m, nn.silu), 1) / n
            h = h + m.sum(1) / n
        return jnp.sum(jnp.tanh(h))
    x = xyz[:24].mean(1)
    return (jax.value_and_grad(energy)(x, h[:24]),
            jax.vmap(energy, (0, None))(jnp.stack([x, -x, x + 1]), h[:24]))


@program(lambda rng: (
    rng.normals(5, 512), rng.ints(512, 400), rng.ints(512, 400), rng.uniforms(400),
), seed=20001)
def pagerank_label_propagation_sparse_unique(lib, x, s, d, w):
    """Ranks, components by minima, and statistics of their labels."""
    jnp, lax, ops = lib.jnp, lib.lax, lib.ops
    deg = jnp.zeros(512).at[s].add(w)
    wn = w / jnp.maximum(deg[s], 1e-6)
    pr = lax.fori_loop(0, 30, lambda _, p: 0.15 / 512 + 0.85 * jnp.zeros(512).at[d].add(p[s] * wn),
                       jnp.full(512, 1 / 512))

    def cc(c):
        l, _ = c
        m = jnp.minimum(l[s], l[d])
        n = l.at[d].min(m).at[s].min(m)
        return n, jnp.any(n != l)
    lab, _ = lax.while_loop(lambda c: c[1], cc, (jnp.arange(512), True))
    u, inv, cnt = jnp.unique(lab, return_inverse=True, return_counts=True, size=512, fill_value=-1)
    top = jnp.nonzero(pr > jnp.quantile(pr, .95), size=32, fill_value=0)[0]
    return (pr, lab, u, inv, cnt, top, jnp.minimum(ops.segment_min(x[0], inv, 512), 1e6),
            ops.segment_prod(1 + 0.01 * x[1], lab, 512))


@program(skewed_edges, seed=4005, finite=False)
def pagerank_bellman_ford(lib, src, dst, w):
    """Ranks, shortest paths and breadth-first levels of a graph."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n = 5000
    deg = jax.ops.segment_sum(jnp.ones_like(w), src, n)

    def pr(x, _):
        y = jax.ops.segment_sum(x[src] / deg[src], dst, n)
        dang = jnp.sum(jnp.where(deg == 0, x, 0)) / n
        y = 0.85 * (y + dang) + 0.15 / n
        return y, jnp.abs(y - x).sum()
    x, err = lax.scan(pr, jnp.full(n, 1 / n), None, length=25)

    def relax(s):
        d, _, k = s
        nd = jnp.minimum(d, jax.ops.segment_min(d[src] + w, dst, n))
        return nd, jnp.any(nd < d), k + 1
    d, _, k = lax.while_loop(lambda s: s[1] & (s[2] < 100), relax,
                             (jnp.full(n, jnp.inf).at[0].set(0), True, 0))

    def bfs(s):
        lvl, front, depth = s
        hit = jnp.zeros(n, bool).at[dst].max(front[src])
        new = hit & (lvl < 0)
        return jnp.where(new, depth + 1, lvl), new, depth + 1
    f0 = jnp.zeros(n, bool).at[0].set(True)
    lvl, _, _ = lax.while_loop(lambda s: jnp.any(s[1]), bfs, (jnp.where(f0, 0, -1), f0, 0))
    return x, err, d, k, lvl, lax.top_k(x, 10)[0]


@program(shuffled_edges, seed=4006)
def union_find_pointer_jump(lib, a, b):
    """Components by pointers that jump, then votes among neighbours."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n = 5000

    def body(s):
        p, _ = s
        pa, pb = p[a], p[b]
        lo, hi = jnp.minimum(pa, pb), jnp.maximum(pa, pb)
        q = p.at[hi].min(lo)
        q = lax.fori_loop(0, 3, lambda i, q: q[q], q)
        return q, jnp.any(q != p)
    p, _ = lax.while_loop(lambda s: s[1], body, (jnp.arange(n), True))
    size = jnp.zeros(n, jnp.int32).at[p].add(1)
    # label propagation with votes on a random graph
    lab = p % 16

    def vote(l, _):
        V = jnp.zeros((n, 16)).at[b].add(jax.nn.one_hot(l[a], 16)).at[a].add(
            jax.nn.one_hot(l[b], 16))
        return jnp.where(V.max(1) > 0, V.argmax(1), l), None
    lab, _ = lax.scan(vote, lab, None, length=5)
    return p, size.max(), lab


@program(lambda rng: (
    rng.ints(32, 5000, 12), rng.normals(5000), rng.uniforms(5000, lo=.1), rng.ints(8, 5000),
), seed=150)
def gbdt_histogram_best_split(lib, bins, g, h, node):
    """The best split of eight nodes from histograms of gradients."""
    jax, jnp, ops = lib.jax, lib.jnp, lib.ops

    def hist(b):
        ids = node * 32 + b
        return (ops.segment_sum(g, ids, 256).reshape(8, 32),
                ops.segment_sum(h, ids, num_segments=256).reshape(8, 32))
    G, Hh = jax.vmap(hist, in_axes=1)(bins)
    GL, HL = jnp.cumsum(G, -1), jnp.cumsum(Hh, -1)
    GT, HT = GL[..., -1:], HL[..., -1:]
    gain = GL ** 2 / (HL + 1) + (GT - GL) ** 2 / (HT - HL + 1) - GT ** 2 / (HT + 1)
    fl = gain.transpose(1, 0, 2).reshape(8, -1)
    best = jnp.argmax(fl, 1)
    feat, thr = best // 32, best % 32
    right = jnp.take_along_axis(bins, feat[node][:, None], 1)[:, 0] > thr[node]
    return fl.max(1), feat, thr, node * 2 + right


@program(lambda rng: (
    rng.ints(20, 64, 63), rng.normals(64, 63), rng.normals(64, 64), rng.normals(500, 20),
), seed=15001)
def random_forest_inference_fori_gather(lib, feat, thr, leaf, x):
    """Sixty-four trees of depth six walked by all rows at once."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def tree(f, t, v):
        def body(_, n):
            go = jnp.take_along_axis(x, f[n][:, None], 1)[:, 0] > t[n]
            return 2 * n + 1 + go.astype(n.dtype)
        n = lax.fori_loop(0, 6, body, jnp.zeros(x.shape[0], jnp.int32))
        return v[n - 63]
    return jax.vmap(tree)(feat, thr, leaf).mean(0)


@program(lambda rng: (
    [rng.normals(1000, 16, scale=.1) for _ in range(6)], mlp_params(rng, 13, 32, 16),
    mlp_params(rng, 16 + 21, 64, 1), rng.normals(256, 13), rng.ints(1000, 256, 6),
    (rng.uniforms(256) < .3).astype(f32),
), seed=15002)
def dlrm_interaction_bce_adagrad(lib, tabs, bot, top, dense, cat, y):
    """Embeddings of categories, their products, and an update of all tables."""
    jax, jnp, nn, tree_map = lib.jax, lib.jnp, lib.nn, lib.tree_map
    P = (tabs, bot, top)

    def f(P):
        tabs, bot, top = P
        e = [t[cat[:, i]] for i, t in enumerate(tabs)]
        d = mlp(lib, bot, dense)
        T = jnp.stack([d] + e, 1)
        Z = jnp.einsum("bid,bjd->bij", T, T)
        i, j = jnp.tril_indices(7, -1)
        lg = mlp(lib, top, jnp.concatenate([d, Z[:, i, j]], 1))[:, 0]
        return jnp.mean(nn.softplus(lg) - y * lg)
    l, g = jax.value_and_grad(f)(P)
    return l, tree_map(lambda p, g: p - 0.1 * g / (jnp.sqrt(g * g) + 1e-4), P, g)


@program(lambda rng: (rng.normals(32, 40), rng.ints(5, 32, 40)), seed=15004)
def lambdarank_ndcg_and_grad(lib, s, rel):
    """Pairs weighed by what exchanging them would change."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def one(s, rel):
        g = 2.0 ** rel - 1
        rank = jnp.argsort(jnp.argsort(-lax.stop_gradient(s)))
        disc = 1 / jnp.log2(rank + 2.0)
        ideal = jnp.sum(jnp.sort(g)[::-1] / jnp.log2(jnp.arange(40) + 2.0))
        dg = jnp.abs((g[:, None] - g) * (disc[:, None] - disc)) / ideal
        pair = rel[:, None] > rel
        l = jnp.sum(jnp.where(pair, dg * nn.softplus(-(s[:, None] - s)), 0))
        return l, jnp.sum(g * disc) / ideal

    def f(s):
        l, nd = jax.vmap(one)(s, rel)
        return l.mean(), nd
    return jax.value_and_grad(f, has_aux=True)(s)


@program(lambda rng: (
    rng.uniforms(5000), rng.uniforms(5000) < .3, rng.normals(5000, 10),
), seed=15005)
def metrics_auc_ece_confusion_quantile(lib, p, y, logits):
    """Area under a curve, calibration, confusion, quantiles."""
    jnp = lib.jnp
    o_ = jnp.argsort(-p)
    ys = y[o_]
    tp, fp = jnp.cumsum(ys), jnp.cumsum(~ys)
    auc = jnp.trapezoid(tp / tp[-1], fp / fp[-1])
    b = jnp.clip(jnp.digitize(p, jnp.linspace(0, 1, 16)) - 1, 0, 14)
    cnt = jnp.bincount(b, length=15)
    acc = jnp.bincount(b, weights=y.astype(jnp.float32), length=15)
    conf = jnp.bincount(b, weights=p, length=15)
    ece = jnp.sum(jnp.abs(acc - conf)) / p.size
    pred = logits.argmax(1)
    cm = jnp.zeros((2, 10), jnp.int32).at[y.astype(int), pred].add(1)
    return (auc, cnt, ece, cm, jnp.quantile(p, jnp.array([.05, .5, .95])),
            jnp.histogram(p, 20, (0.0, 1.0))[0], jnp.percentile(logits, 90, axis=0))


@program(lambda rng: (
    rng.ints(1 << 30, 512, 20), rng.normals(4096, 16, scale=.1), rng.normals(512, 16),
), seed=15006)
def feature_hashing_embedding_uint32_grad(lib, tok, tab, t):
    """Words hashed to rows and signs, and signatures by minima of hashes."""
    jax, jnp = lib.jax, lib.jnp
    h = tok.astype(jnp.uint32)
    h = (h ^ (h >> 16)) * jnp.uint32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * jnp.uint32(0xC2B2AE35)
    h = h ^ (h >> 16)
    idx = (h % 4096).astype(jnp.int32)
    sg = jnp.where(h >> 31, 1.0, -1.0)
    f = lambda tab: jnp.mean((jnp.sum(tab[idx] * sg[..., None], 1) - t) ** 2)
    mh = jnp.min((h[..., None] * (2 * jnp.arange(16, dtype=jnp.uint32) + 1) + 12345) >> 3, 1)
    return jax.value_and_grad(f)(tab), mh


@program(lambda rng: (
    rng.normals(5000, 64, scale=0.1), rng.normals(5000, 64, scale=0.1), rng.ints(5000, 256),
    rng.ints(5000, 256), rng.ints(5000, 256, 5),
), seed=3708)
def word2vec_negative_sampling_sparse_step(lib, E, C, w, c, neg):
    """Rows of two tables changed where they were looked up."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn
    ew, ec, en = E[w], C[c], C[neg]

    def f(ew, ec, en):
        pos = nn.log_sigmoid(jnp.sum(ew * ec, -1))
        ng = nn.log_sigmoid(-jnp.einsum("bd,bkd->bk", ew, en)).sum(-1)
        return -jnp.sum(pos + ng)
    l, (a, b, n) = jax.value_and_grad(f, (0, 1, 2))(ew, ec, en)
    E = E.at[w].add(-0.025 * a)
    C = C.at[c].add(-0.025 * b).at[neg.reshape(-1)].add(-0.025 * n.reshape(-1, 64))
    return l, E, C


@program(lambda rng: (
    rng.normals(20000, 64), rng.ints(20000, 32, 64), rng.weights(64, 2), rng.ints(2, 32),
), seed=19)
def embedding_bag_classifier_sgd(lib, E, tok, w, y):
    """A classifier of masked means of embeddings."""
    jax, jnp = lib.jax, lib.jnp

    def f(E, w):
        e = jnp.take(E, tok, axis=0)
        m = (tok % 7 != 0)[..., None].astype(e.dtype)
        return cross_entropy(lib, (e * m).sum(1) / jnp.maximum(m.sum(1), 1) @ w, y)
    l, (gE, gw) = jax.value_and_grad(f, (0, 1))(E, w)
    return l, E - 0.5 * gE, w - 0.5 * gw
