"""Attention in many forms, mixtures of experts, transformer blocks."""

import math

import numpy as np

from .catalogue import program
from .shared import (
    cross_entropy,
    f32,
    layer_norm,
    norm_params,
    transformer_block,
    transformer_params,
)


@program(lambda rng: (
    rng.normals(2, 8, 128, 32), rng.normals(2, 1, 128, 32), rng.normals(2, 1, 128, 32),
    np.array([128, 77], np.int32),
), seed=14)
def alibi_multiquery_attention_padmask(lib, q, k, v, lens):
    """Queries that share one key and value, biased by distance, with padding."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn
    H, T = q.shape[1], q.shape[2]
    slopes = 2.0 ** (-8.0 * (jnp.arange(H) + 1) / H)
    pos = jnp.arange(T)
    bias = -slopes[:, None, None] * jnp.abs(pos[:, None] - pos[None])

    def f(q, k, v):
        s = jnp.einsum("bhtd,bosd->bhts", q, k) / jnp.sqrt(q.shape[-1]) + bias
        m = (pos[None] < lens[:, None])[:, None, None, :] & (pos[:, None] >= pos[None])
        s = jnp.where(m, s, jnp.finfo(s.dtype).min)
        return jnp.einsum("bhts,bosd->bhtd", nn.softmax(s), v)
    y = f(q, k, v)
    return y, jax.grad(lambda *a: jnp.sum(f(*a) * jnp.sin(y)), (0, 1, 2))(q, k, v)


@program(lambda rng: (
    rng.normals(2, 64, 4, 24), rng.normals(2, 64, 4, 24), rng.normals(2, 64, 4, 24),
), seed=23)
def linear_attention_scan_grad(lib, q, k, v):
    """Causal attention with positive features, as a scan over its state."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn
    phi = lambda t: nn.elu(t) + 1

    def f(q, k, v):
        def step(c, a):
            S, zz = c
            q, k, v = a
            S = S + jnp.einsum("bhd,bhe->bhde", k, v)
            zz = zz + k
            y = (jnp.einsum("bhd,bhde->bhe", q, S)
                 / (jnp.einsum("bhd,bhd->bh", q, zz)[..., None] + 1e-6))
            return (S, zz), y
        B, T, H, d = q.shape
        xs = tuple(jnp.moveaxis(t, 1, 0) for t in (phi(q), phi(k), v))
        _, y = lax.scan(step, (jnp.zeros((B, H, d, d)), jnp.zeros((B, H, d))), xs)
        return jnp.moveaxis(y, 0, 1)
    return f(q, k, v), jax.grad(lambda *a: jnp.sum(f(*a) ** 2), (0, 1, 2))(q, k, v)


@program(lambda rng: (
    rng.weights(64, 8), rng.normals(8, 64, 128, scale=0.1), rng.normals(8, 128, 64, scale=0.1),
    rng.normals(256, 64),
), seed=24)
def moe_top2_capacity_dispatch_grad(lib, wg, w1, w2, x):
    """Tokens sent to two of eight experts of bounded capacity."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn
    E, C = 8, 80

    def f(wg, w1, w2, x):
        gates = nn.softmax(x @ wg)
        v, idx = lax.top_k(gates, 2)
        v = v / v.sum(-1, keepdims=True)
        oh = nn.one_hot(idx, E)  # T 2 E
        flat = oh.transpose(1, 0, 2).reshape(-1, E)
        pos = jnp.cumsum(flat, 0) * flat - flat
        pos = pos.reshape(2, -1, E).transpose(1, 0, 2)
        keep = (pos < C) * oh
        slot = nn.one_hot(pos.sum(-1).astype(jnp.int32), C)
        disp = jnp.einsum("tke,tkc->tec", keep, slot)
        comb = jnp.einsum("tk,tke,tkc->tec", v, keep, slot)
        h = jnp.einsum("tec,td->ecd", disp, x)
        h = nn.gelu(jnp.einsum("ecd,edf->ecf", h, w1))
        h = jnp.einsum("ecf,efd->ecd", h, w2)
        y = jnp.einsum("tec,ecd->td", comb, h)
        aux = E * jnp.sum(gates.mean(0) * oh[:, 0].mean(0))
        return jnp.mean((y - x) ** 2) + 0.01 * aux
    return jax.value_and_grad(f, (0, 1, 2))(wg, w1, w2, x)


@program(lambda rng: (
    rng.normals(4, 96, 32), rng.normals(4, 96, 32), rng.normals(4, 96, 32),
), seed=6805)
def sinkhorn_attention_grad(lib, q, k, v):
    """Attention weights made doubly stochastic by alternate normalization."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def f(q, k, v):
        s = jnp.einsum("bid,bjd->bij", q, k) / math.sqrt(32)

        def step(s, _):
            s = s - nn.logsumexp(s, -1, keepdims=True)
            s = s - nn.logsumexp(s, -2, keepdims=True)
            return s, None
        s, _ = lax.scan(step, s, None, length=5)
        return jnp.exp(s) @ v
    y = f(q, k, v)
    return y, jax.grad(lambda *a: jnp.mean(f(*a) ** 2), (0, 1, 2))(q, k, v)


@program(lambda rng: (
    rng.normals(4, 64, 64), norm_params(64), rng.weights(64, 256), rng.weights(256, 64),
), seed=6808)
def fnet_fft_mixing_grad(lib, x, ln, w1, w2):
    """A block that mixes tokens by a Fourier transform."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def f(x, w1, w2):
        h = jnp.fft.fft2(x, axes=(-2, -1)).real
        x = layer_norm(lib, x + h, ln)
        return layer_norm(lib, x + nn.gelu(x @ w1) @ w2, ln)
    y, pb = jax.vjp(f, x, w1, w2)
    return y, pb(jnp.sin(y))


@program(lambda rng: (
    rng.normals(2, 32, 32, 48), rng.weights(48, 144), rng.weights(48, 48),
    rng.normals(225, 3, scale=0.1),
), seed=103)
def swin_shifted_window_attention_grad(lib, x, wqkv, wo, tab):
    """Attention within shifted windows, with a table of relative positions."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn
    W, H = 8, 3
    co = np.stack(np.meshgrid(np.arange(W), np.arange(W), indexing="ij")).reshape(2, -1)
    rel = co[:, :, None] - co[:, None] + W - 1
    rel = rel[0] * (2 * W - 1) + rel[1]
    reg = np.zeros((32, 32))
    reg[-8:-4] += 1
    reg[-4:] += 2
    reg[:, -8:-4] += 3
    reg[:, -4:] += 6

    def part(t):
        b, h, w, c = t.shape
        return t.reshape(b, h // W, W, w // W, W,
                         c).transpose(0, 1, 3, 2, 4, 5).reshape(-1, W * W, c)
    rw = np.asarray(reg).reshape(4, W, 4, W).transpose(0, 2, 1, 3).reshape(16, W * W)
    mask = np.where(rw[:, None] == rw[:, :, None], 0.0, -100.0).astype(f32)

    def f(x, wqkv, wo, tab):
        s = jnp.roll(x, (-4, -4), (1, 2))
        w = part(s)
        qkv = (w @ wqkv).reshape(w.shape[0], W * W, 3, H, 16).transpose(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        a = q @ k.swapaxes(-1, -2) * 0.25 + tab[rel].transpose(2, 0, 1)
        a = (a.reshape(2, 16, H, 64, 64) + mask[None, :, None]).reshape(a.shape)
        y = (nn.softmax(a) @ v).swapaxes(1, 2).reshape(w.shape) @ wo
        y = y.reshape(2, 4, 4, W, W, 48).transpose(0, 1, 3, 2, 4, 5).reshape(x.shape)
        return x + jnp.roll(y, (4, 4), (1, 2))
    y = f(x, wqkv, wo, tab)
    return y, jax.grad(lambda *a: jnp.mean(f(*a) ** 2), (0, 1, 2, 3))(x, wqkv, wo, tab)


@program(lambda rng: (
    {"patch": rng.weights(8, 8, 3, 96), "cls": rng.normals(96, scale=.02),
     "pos": rng.normals(17, 96, scale=.02), "b": [transformer_params(rng, 96) for _ in range(2)],
     "head": rng.weights(96, 10)},
    rng.normals(8, 32, 32, 3), rng.ints(10, 8),
), seed=104)
def vit_train_grad_dot_product_attention(lib, p, img, y):
    """A vision transformer on the library's own attention."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def blk(b, x):
        h = layer_norm(lib, x, b["ln1"])
        q, k, v = jnp.split((h @ b["qkv"] + b["bqkv"]).reshape(*h.shape[:2], 12, 24), 3, 2)
        x = x + nn.dot_product_attention(q, k, v).reshape(h.shape) @ b["o"] + b["bo"]
        return x + nn.gelu(layer_norm(lib, x, b["ln2"]) @ b["fc"] + b["bfc"]) @ b["pr"] + b["bpr"]

    def f(p):
        x = lax.conv_general_dilated(img, p["patch"], (8, 8), "VALID",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = x.reshape(8, -1, 96)
        x = jnp.concatenate([jnp.broadcast_to(p["cls"], (8, 1, 96)), x], 1) + p["pos"]
        for b in p["b"]:
            x = blk(b, x)
        return cross_entropy(lib, x[:, 0] @ p["head"], y)
    return jax.value_and_grad(f)(p)


@program(lambda rng: (
    rng.normals(2, 4, 256, 32), rng.normals(2, 4, 256, 32), rng.normals(2, 4, 256, 32),
    rng.normals(2, 4, 256, 32),
), seed=105)
def flash_attention_blockwise_custom_vjp(lib, q, k, v, do):
    """Causal attention block by block, forwards and backwards by hand."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    Bk = 64
    sc = 1 / math.sqrt(32)

    def blocks(t):
        return jnp.moveaxis(t.reshape(2, 4, -1, Bk, 32), 2, 0)

    def fwd(q, k, v):
        qi = jnp.arange(256)

        def step(c, kv):
            m, l, acc = c
            kb, vb, j = kv
            s = jnp.einsum("bhqd,bhkd->bhqk", q, kb) * sc
            s = jnp.where(qi[:, None] >= j * Bk + jnp.arange(Bk), s, -1e30)
            m2 = jnp.maximum(m, s.max(-1))
            p = jnp.exp(s - m2[..., None])
            a = jnp.exp(m - m2)
            return (m2, l * a + p.sum(-1), acc * a[..., None] + p @ vb), None
        m0 = jnp.full(q.shape[:-1], -1e30)
        (m, l, acc), _ = lax.scan(step, (m0, jnp.zeros_like(m0), jnp.zeros_like(q)),
                                  (blocks(k), blocks(v), jnp.arange(256 // Bk)))
        y = acc / l[..., None]
        return y, (q, k, v, y, m + jnp.log(l))

    def bwd(res, do):
        q, k, v, y, lse = res
        D = jnp.sum(do * y, -1)
        qi = jnp.arange(256)

        def step(dq, kv):
            kb, vb, j = kv
            s = jnp.einsum("bhqd,bhkd->bhqk", q, kb) * sc
            p = jnp.where(qi[:, None] >= j * Bk + jnp.arange(Bk), jnp.exp(s - lse[..., None]), 0)
            dv = p.swapaxes(-1, -2) @ do
            ds = p * (do @ vb.swapaxes(-1, -2) - D[..., None]) * sc
            return dq + ds @ kb, (ds.swapaxes(-1, -2) @ q, dv)
        dq, (dk, dv) = lax.scan(step, jnp.zeros_like(q), (blocks(k), blocks(v), jnp.arange(4)))
        un = lambda t: jnp.moveaxis(t, 0, 2).reshape(q.shape)
        return dq, un(dk), un(dv)
    att = jax.custom_vjp(lambda q, k, v: fwd(q, k, v)[0])
    att.defvjp(fwd, bwd)
    y, pb = jax.vjp(att, q, k, v)
    return (y,) + pb(do)


@program(lambda rng: (
    rng.normals(4, 64, 64), rng.normals(64, 64, scale=.1), rng.normals(4, 32, 64),
    rng.normals(127 + 1, 4, 16, scale=.2), rng.weights(64, 192),
), seed=106)
def transformer_xl_relative_shift_memory(lib, x, _w, mem, rel, w):
    """Attention to a memory, relative positions obtained by a shift."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def relshift(s):
        b, h, i, j = s.shape
        s = jnp.pad(s, ((0, 0), (0, 0), (0, 0), (1, 0)))
        return s.reshape(b, h, j + 1, i)[:, :, 1:].reshape(b, h, i, j)

    def f(x, w, rel):
        ctx = jnp.concatenate([mem, x], 1)
        q, k, v = jnp.split((ctx @ w).reshape(4, 96, 12, 16), 3, 2)
        q = q[:, 32:]
        ac = jnp.einsum("bihd,bjhd->bhij", q, k)
        bd = relshift(jnp.einsum("bihd,jhd->bhij", q, rel[:96]))
        m = jnp.arange(96)[None] <= jnp.arange(64)[:, None] + 32
        a = nn.softmax(jnp.where(m, (ac + bd) / 4, -1e9))
        return jnp.einsum("bhij,bjhd->bihd", a, v).reshape(4, 64, 64)
    y, pb = jax.vjp(f, x, w, rel)
    return y, pb(y)


@program(lambda rng: (
    rng.normals(2, 512, 32), rng.normals(32, 16), rng.normals(2, 512, 32),
), seed=16003)
def reformer_lsh_sorted_bucket_attention_grad(lib, qk, rot, v):
    """Attention among tokens sorted by a random hash."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def f(qk, v):
        pr = lax.stop_gradient(qk) @ rot
        bucket = jnp.argmax(jnp.concatenate([pr, -pr], -1), -1)
        pos = jnp.arange(512)
        srt = jnp.argsort(bucket * 512 + pos, -1)
        inv = jnp.argsort(srt, -1)
        tk = lambda a, i: jnp.take_along_axis(a, i[..., None], 1)
        sq, sv = tk(qk, srt).reshape(2, 16, 32, 32), tk(v, srt).reshape(2, 16, 32, 32)
        sk = sq / jnp.linalg.norm(sq, axis=-1, keepdims=True)
        look = lambda a: jnp.concatenate([jnp.roll(a, 1, 1), a], 2)
        sb = jnp.take_along_axis(bucket, srt, 1).reshape(2, 16, 32)
        kb = look(sb)
        d = jnp.einsum("bcid,bcjd->bcij", sq, look(sk)) / math.sqrt(32)
        d = jnp.where(sb[..., :, None] == kb[..., None, :], d, -1e5)
        y = jnp.einsum("bcij,bcjd->bcid", nn.softmax(d), look(sv)).reshape(2, 512, 32)
        return tk(y, inv)
    y, pb = jax.vjp(f, qk, v)
    return y, pb(jnp.tanh(y))


@program(lambda rng: (
    rng.normals(8, 32, 64), rng.normals(8, 32, 64), rng.weights(64, 64),
), seed=20012)
def attention_variants_talking_heads_cosine_performer(lib, q, k, w):
    """Sparse maximum over mixed heads, and attention by features."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def f(q, k, w):
        H = lambda t: jnp.einsum("btd,de->bte", t, w).reshape(8, 32, 4, 16)
        a, b = H(q), H(k)
        nrm = lambda t: t * lax.rsqrt(jnp.sum(t * t, -1, keepdims=True) + 1e-6)
        s = jnp.einsum("bthd,bshd->bhts", nrm(a), nrm(b)) * 10
        s = jnp.einsum("bhts,hg->bgts", s, w[:4, :4])
        # entmax-like: sparsemax by sort
        zs = jnp.sort(s, -1)[..., ::-1]
        cs = jnp.cumsum(zs, -1)
        kk = jnp.arange(1, 33)
        sup = (1 + kk * zs > cs).sum(-1, keepdims=True)
        tau = (jnp.take_along_axis(cs, sup - 1, -1) - 1) / sup
        p = jnp.maximum(s - tau, 0)
        y1 = jnp.einsum("bhts,bshd->bthd", p, b)
        # performer features
        om = jnp.sin(jnp.arange(16 * 24.).reshape(16, 24) * 1.7)
        ph = lambda t: jnp.exp(t @ om * .5 - 0.125 * jnp.sum(t * t, -1, keepdims=True)) + 1e-4
        pq, pk = ph(a), ph(b)
        kv = jnp.cumsum(jnp.einsum("bshm,bshd->bshmd", pk, b), 1)
        y2 = (jnp.einsum("bthm,bthmd->bthd", pq, kv)
              / jnp.einsum("bthm,bthm->bth", pq, jnp.cumsum(pk, 1))[..., None])
        return y1 + y2
    y, pb = jax.vjp(f, q, k, w)
    return y, pb(y)


@program(lambda rng: (transformer_params(rng, 128), rng.normals(4, 64, 128)), seed=15, rtol=3e-2)
def bf16_transformer_block_mixed_precision_grad(lib, p, x):
    """A transformer block in bfloat16 with float32 weights."""
    jax, jnp, tree_map = lib.jax, lib.jnp, lib.tree_map

    def f(p):
        pb = tree_map(lambda a: a.astype(jnp.bfloat16), p)
        y = transformer_block(lib, pb, x.astype(jnp.bfloat16), 4)
        return jnp.mean(jnp.square(y.astype(jnp.float32)))
    l, g = jax.value_and_grad(f)(p)
    return l, tree_map(lambda a: a * 1.0, g)
