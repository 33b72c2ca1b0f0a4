"""Language models: training, decoding, sampling of tokens."""

import functools
import math

import numpy as np

from .catalogue import program
from .shared import (
    adamw,
    clip_by_global_norm,
    f32,
    key,
    layer_norm,
    map_arrays,
    norm_params,
    ones,
    rms_norm,
    transformer_block,
    transformer_params,
    zeros,
)

WIDTH, HEADS, KEY_HEADS = 128, 8, 2  # of the blocks like Llama's
CACHE_HEADS, CACHE_WIDTH = 4, 32  # of the layers that keep keys and values


def gpt_params(rng):
    return {
        "wte": rng.normals(256, 128, scale=0.02), "wpe": rng.normals(64, 128, scale=0.02),
        "blocks": [transformer_params(rng, 128) for _ in range(2)], "lnf": norm_params(128),
    }  # fmt: skip


def gpt(lib, p, tok, heads=4):
    x = p["wte"][tok] + p["wpe"][: tok.shape[1]]
    for b in p["blocks"]:
        x = transformer_block(lib, b, x, heads)
    return layer_norm(lib, x, p["lnf"]) @ p["wte"].T


def gpt_training(rng):
    params = gpt_params(rng)
    first = map_arrays(np.zeros_like, params)
    second = map_arrays(lambda a: np.full_like(a, 1e-4), params)
    return params, first, second, np.int32(10), rng.ints(256, 8, 65)


def llama_params(rng):
    width, head = WIDTH, WIDTH // HEADS
    return {
        "n1": ones(width),
        "wq": rng.weights(width, width).reshape(width, HEADS, head),
        "wk": rng.weights(width, KEY_HEADS * head).reshape(width, KEY_HEADS, head),
        "wv": rng.weights(width, KEY_HEADS * head).reshape(width, KEY_HEADS, head),
        "wo": rng.weights(width, width).reshape(HEADS, head, width),
        "n2": ones(width),
        "w1": rng.weights(width, 352), "w3": rng.weights(width, 352),
        "w2": rng.weights(352, width),
    }  # fmt: skip


def llama_stack(rng):
    """Parameters of four blocks, stacked."""
    scale = np.linspace(0.8, 1.1, 4, dtype=f32)
    stacked = lambda a: np.stack([a] * 4) * scale.reshape((4,) + (1,) * a.ndim)
    return map_arrays(stacked, llama_params(rng)), rng.normals(2, 64, WIDTH)


def rope_table(lib, T, d, base=10000.0):
    jnp = lib.jnp
    inv = 1.0 / base ** (jnp.arange(0, d, 2) / d)
    a = jnp.arange(T)[:, None] * inv[None]
    return jnp.cos(a), jnp.sin(a)


def rope(lib, x, cos, sin):
    """Pairs of neighbours turned."""
    x1, x2 = x[..., ::2], x[..., 1::2]
    c, s = cos[None, :, None], sin[None, :, None]
    return lib.jnp.stack([x1 * c - x2 * s, x1 * s + x2 * c], -1).reshape(x.shape)


def rope_half(lib, x, cos, sin):
    """Pairs from two halves turned."""
    a, b = lib.jnp.split(x, 2, -1)
    c, s = cos[None, :, None], sin[None, :, None]
    return lib.jnp.concatenate([a * c - b * s, b * c + a * s], -1)


def llama_block(lib, p, x, mask, turn=rope):
    jnp, nn = lib.jnp, lib.nn
    B, T, _ = x.shape
    h = rms_norm(lib, x, p["n1"])
    q = jnp.einsum("btd,dhk->bthk", h, p["wq"])
    k = jnp.einsum("btd,dhk->bthk", h, p["wk"])
    v = jnp.einsum("btd,dhk->bthk", h, p["wv"])
    cs = rope_table(lib, T, q.shape[-1])
    q, k = turn(lib, q, *cs), turn(lib, k, *cs)
    G = q.shape[2] // k.shape[2]
    q = q.reshape(B, T, k.shape[2], G, -1)
    s = jnp.einsum("btkgd,bskd->bkgts", q, k) * q.shape[-1] ** -0.5
    s = jnp.where(mask, s, -1e30)
    w = nn.softmax(s.astype(jnp.float32), -1)
    a = jnp.einsum("bkgts,bskd->btkgd", w, v).reshape(B, T, -1, v.shape[-1])
    x = x + jnp.einsum("bthk,hkd->btd", a, p["wo"])
    h = rms_norm(lib, x, p["n2"])
    return x + (nn.silu(h @ p["w1"]) * (h @ p["w3"])) @ p["w2"]


def decoder_params(rng, layers):
    return [
        {"n1": ones(128), "qkv": rng.weights(128, 384), "o": rng.weights(128, 128),
         "n2": ones(128), "up": rng.weights(128, 512), "dn": rng.weights(512, 128)}
        for _ in range(layers)
    ]  # fmt: skip


def decode_step(lib, ps, emb, kc, vc, tok, pos):
    """Logits of the next token, and keys and values with those of this one."""
    jnp, lax, nn = lib.jnp, lib.lax, lib.nn
    x = emb[tok]
    nk, nv = [], []
    for l, p in enumerate(ps):
        h = rms_norm(lib, x, p["n1"]) @ p["qkv"]
        q, k, v = (t.reshape(-1, CACHE_HEADS, CACHE_WIDTH) for t in jnp.split(h, 3, -1))
        K = lax.dynamic_update_slice(kc[l], k[:, None], (0, pos, 0, 0))
        V = lax.dynamic_update_slice(vc[l], v[:, None], (0, pos, 0, 0))
        s = jnp.einsum("bhd,bthd->bht", q, K) / math.sqrt(CACHE_WIDTH)
        s = jnp.where(jnp.arange(K.shape[1]) <= pos, s, -1e9)
        a = jnp.einsum("bht,bthd->bhd", nn.softmax(s, -1), V)
        x = x + a.reshape(-1, CACHE_HEADS * CACHE_WIDTH) @ p["o"]
        x = x + nn.gelu(rms_norm(lib, x, p["n2"]) @ p["up"]) @ p["dn"]
        nk.append(K)
        nv.append(V)
    return x @ emb.T, jnp.stack(nk), jnp.stack(nv)


@program(lambda rng: (gpt_params(rng), rng.ints(256, 8, 64)), seed=12)
def nanogpt_forward(lib, p, tok):
    """Logits of a small GPT."""
    return gpt(lib, p, tok)


@program(gpt_training, seed=12)
def nanogpt_train_step(lib, p, m, v, step, tok):
    """A step of AdamW with warm-up and a cosine schedule for a small GPT."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn
    x, y = tok[:, :-1], tok[:, 1:]

    def loss_fn(p):
        lp = nn.log_softmax(gpt(lib, p, x))
        return -jnp.take_along_axis(lp, y[..., None], -1).mean()
    l, g = jax.value_and_grad(loss_fn)(p)
    g = clip_by_global_norm(lib, g, 1.0)
    warm = jnp.minimum(1.0, (step + 1) / 100.0)
    lr = 3e-4 * warm * 0.5 * (1 + jnp.cos(jnp.pi * step / 1000.0))
    p, m, v, step = adamw(lib, p, g, m, v, step, lr=lr, wd=0.1, eps=1e-6)
    return l, p, m, v, step


@program(lambda rng: (llama_params(rng), rng.normals(4, 96, WIDTH)), seed=13)
def llama_gqa_rope_block_fwd(lib, p, x):
    """A block with grouped queries, rotary positions and a gated layer."""
    jnp = lib.jnp
    return llama_block(lib, p, x, jnp.tril(jnp.ones((x.shape[1],) * 2, bool)))


@program(lambda rng: (llama_params(rng), rng.normals(4, 96, WIDTH)), seed=13)
def llama_sliding_window_block_grad(lib, p, x):
    """The gradient of such a block that sees 32 tokens back."""
    jax, jnp = lib.jax, lib.jnp
    i = jnp.arange(x.shape[1])
    mask = (i[:, None] >= i) & (i[:, None] - i < 32)
    return jax.value_and_grad(lambda p, x: jnp.mean(llama_block(lib, p, x, mask, rope_half) ** 2),
                              (0, 1))(p, x)


@program(llama_stack, seed=13)
def llama_scan_layers_remat_grad(lib, stack, x):
    """Four such blocks as a scan that computes again what it does not keep."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    mask = jnp.tril(jnp.ones((x.shape[1],) * 2, bool))

    @jax.checkpoint
    def layer(x, p):
        return llama_block(lib, p, x, mask), None

    def f(stack):
        y, _ = lax.scan(layer, x, stack)
        return jnp.mean(jnp.square(y)), y
    (l, y), g = jax.value_and_grad(f, has_aux=True)(stack)
    return l, y, g


@program(lambda rng: (
    decoder_params(rng, 4), rng.normals(512, 128), rng.normals(4, 8, 256, CACHE_HEADS, CACHE_WIDTH),
    rng.normals(4, 8, 256, CACHE_HEADS, CACHE_WIDTH), rng.ints(512, 8), np.int32(130),
), seed=16)
def kv_cache_decode_step(lib, ps, emb, kc, vc, tok, pos):
    """One token through four layers that keep keys and values."""
    return decode_step(lib, ps, emb, kc, vc, tok, pos)


@program(lambda rng: (
    decoder_params(rng, 2), rng.normals(128, 128), zeros(2, 2, 32, CACHE_HEADS, CACHE_WIDTH),
    rng.ints(128, 2), key(3),
), seed=1601)
def kv_cache_generate_temperature_sampling(lib, ps, emb, cache, tok, k):
    """Thirty-two tokens drawn one after the other."""
    jnp, lax, random = lib.jnp, lib.lax, lib.random

    def body(carry, i):
        kc, vc, tok, k = carry
        logits, kc, vc = decode_step(lib, ps, emb, kc, vc, tok, i)
        k, sk = random.split(k)
        tok = random.categorical(sk, logits / 0.8)
        return (kc, vc, tok, k), tok
    (_, _, _, _), toks = lax.scan(body, (cache, cache, tok, k), jnp.arange(32))
    return toks.T


@program(lambda rng: (key(17), rng.normals(16, 8192, scale=3.0)), seed=17)
def sample_top_k_categorical(lib, k, logits):
    """Tokens drawn among the forty likeliest."""
    jnp, lax, random = lib.jnp, lib.lax, lib.random
    v, i = lax.top_k(logits, 40)
    c = random.categorical(k, v / 0.7)
    return jnp.take_along_axis(i, c[:, None], 1)[:, 0], v


@program(lambda rng: (key(18), rng.normals(8, 4096, scale=3.0)), seed=1701)
def sample_top_p_nucleus(lib, k, logits):
    """Tokens drawn among the fewest that have nine tenths of the weight."""
    jax, jnp, nn, random = lib.jax, lib.jnp, lib.nn, lib.random

    def one(k, lg):
        srt = jnp.sort(lg)[::-1]
        cum = jnp.cumsum(nn.softmax(srt))
        cut = srt[jnp.sum(cum < 0.9)]
        lg = jnp.where(lg < cut, -jnp.inf, lg)
        return random.categorical(k, lg), jnp.sum(jnp.isfinite(lg))
    return jax.vmap(one)(random.split(k, 8), logits)


@program(lambda rng: (
    rng.normals(4, 6, 1000), rng.normals(4, 6), rng.ints(1000, 4, 6, 20), np.int32(7),
    rng.uniforms(4, 6) < 0.2, rng.normals(4, 6, 64),
), seed=65)
def beam_search_step(lib, logits, score, seq, t, done, cache):
    """One step of a search that keeps six beams."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn
    lp = nn.log_softmax(logits)
    eos = jnp.where(jnp.arange(1000) == 2, 0.0, -1e9)
    lp = jnp.where(done[..., None], eos, lp)
    tot = (score[..., None] + lp).reshape(4, -1)
    s, i = lax.top_k(tot, 6)
    beam, tok = i // 1000, i % 1000
    seq = jnp.take_along_axis(seq, beam[..., None], 1)
    seq = lax.dynamic_update_slice_in_dim(seq, tok[..., None].astype(seq.dtype), t, 2)
    done = jnp.take_along_axis(done, beam, 1) | (tok == 2)
    cache = jax.vmap(lambda c, b: c[b])(cache, beam)
    pen = ((5.0 + t) / 6.0) ** 0.6
    return s, seq, done, cache, s / pen


@program(lambda rng: (
    rng.normals(4, 1000), rng.ints(1000, 4, 30), rng.normals(4, 30, 8), key(166),
), seed=16004)
def logits_processors_repetition_ngram_minp(lib, lg, seq, _e, k):
    """Logits with penalties for what was said, and unlikely tokens left out."""
    jnp, nn, random = lib.jnp, lib.nn, lib.random
    B = jnp.arange(4)[:, None]
    s = jnp.take_along_axis(lg, seq, 1)
    s = jnp.where(s < 0, s * 1.3, s / 1.3)
    lg = lg.at[B, seq].set(s)
    cnt = jnp.zeros_like(lg).at[B, seq].add(1.0)
    lg = lg - 0.2 * cnt - 0.1 * (cnt > 0)
    big = (seq[:, :-2] == seq[:, -2:-1]) & (seq[:, 1:-1] == seq[:, -1:])
    lg = lg.at[B, seq[:, 2:]].min(jnp.where(big, -jnp.inf, jnp.inf))
    p = nn.softmax(lg / 0.9)
    lg = jnp.where(p < 0.05 * p.max(-1, keepdims=True), -jnp.inf, lg)
    return random.categorical(k, lg), jnp.isfinite(lg).sum(-1), p


@program(lambda rng: (
    rng.normals(4, 8, 500), rng.normals(4, 9, 500), rng.ints(500, 4, 8), key(167),
), seed=16005)
def speculative_decoding_accept_resample(lib, dl, tl, draft, k):
    """Drafted tokens accepted or drawn again from the difference."""
    jax, jnp, nn, random = lib.jax, lib.jnp, lib.nn, lib.random
    k1, k2 = random.split(k)
    q, p = nn.softmax(dl * 2), nn.softmax(tl * 2)
    pt = jnp.take_along_axis(p[:, :-1], draft[..., None], -1)[..., 0]
    qt = jnp.take_along_axis(q, draft[..., None], -1)[..., 0]
    ok = random.uniform(k1, pt.shape) < pt / qt
    n = jnp.sum(jnp.cumprod(ok.astype(jnp.int32), 1), 1)
    qpad = jnp.concatenate([q, jnp.zeros((4, 1, 500))], 1)
    res = jax.vmap(lambda p, q, i: jnp.maximum(p[i] - q[i], 0))(p, qpad, n)
    res = res / res.sum(-1, keepdims=True)
    nxt = random.categorical(k2, jnp.log(res + 1e-20))
    out = jnp.where(jnp.arange(9)[None] < n[:, None], jnp.pad(draft, ((0, 0), (0, 1))), -1)
    return out.at[jnp.arange(4), n].set(nxt), n


@program(lambda rng: (
    rng.normals(3, 64, 48), rng.normals(48, 48, scale=.2), rng.ints(64, 3, lo=20),
), seed=20009)
def decoder_with_jnp_vectorize_apply_along_axis(lib, x, w, n):
    """Pooling by `vectorize`, and a dozen array functions beside it."""
    jnp, nn = lib.jnp, lib.nn

    @functools.partial(jnp.vectorize, signature="(t,d),(d,d),()->(d),(t)")
    def pool(x, w, n):
        s = jnp.where(jnp.arange(x.shape[0]) < n, (x @ w).sum(-1) / 7, -jnp.inf)
        a = nn.softmax(s)
        return a @ x, a
    y, a = pool(x, w, n)
    e = jnp.apply_along_axis(lambda v: jnp.cumsum(jnp.sort(v))[::4], 1, x)
    t = jnp.tensordot(x, w, ((2,), (0,)))
    b = jnp.einsum("btd,bsd,ts->bd", x, x, jnp.tri(64), optimize="optimal")
    c = (jnp.kron(w[:4, :4], w[:3, :3])
         + jnp.block([[w[:6, :6], w[6:12, :6]], [w[:6, 6:12], w[6:12, 6:12]]]))
    sel = jnp.select([x > 1, x < -1], [x ** 2, -x], 0.0)
    pw = jnp.piecewise(x, [x < 0, x >= 0], [lambda v: jnp.exp(v), lambda v: v + 1])
    return y, a, e, t, b, c, sel, pw, jnp.take(x, n, axis=1), x[:, np.arange(64) % 3 == 0]


@program(lambda rng: (
    rng.normals(32, 50), rng.weights(50, 50), rng.normals(50), rng.ints(50, 64, 32, lo=0),
    rng.normals(64, 32, 50),
), seed=6501)
def crf_nll_viterbi(lib, _x, trans, init, tags, emis):
    """A linear chain's likelihood with gradient, and its best paths."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def nll(trans, emis):
        def one(e, y):
            def step(a, et):
                return nn.logsumexp(a[:, None] + trans, 0) + et, None
            a, _ = lax.scan(step, init + e[0], e[1:])
            gold = init[y[0]] + e[jnp.arange(e.shape[0]), y].sum() + trans[y[:-1], y[1:]].sum()
            return nn.logsumexp(a) - gold
        return jax.vmap(one)(emis, tags).mean()

    def viterbi(e):
        def step(a, et):
            s = a[:, None] + trans
            return s.max(0) + et, s.argmax(0)
        a, bp = lax.scan(step, init + e[0], e[1:])
        last = a.argmax()
        _, path = lax.scan(lambda c, b: (b[c], c), last, bp, reverse=True)
        return a.max(), path
    return jax.value_and_grad(nll, (0, 1))(trans, emis), jax.vmap(viterbi)(emis[:8])
