"""Generative and contrastive models."""

import functools
import math

import numpy as np

from .catalogue import program
from .shared import f32, key, mlp, mlp_params, zeros


@program(lambda rng: (
    {"enc": mlp_params(rng, 784, 256, 40), "dec": mlp_params(rng, 20, 256, 784)},
    rng.uniforms(64, 784), key(31),
), seed=31)
def vae_train_step(lib, p, x, k):
    """A step of a variational autoencoder."""
    jax, jnp, random, tree_map = lib.jax, lib.jnp, lib.random, lib.tree_map

    def loss(p, k):
        mu, lv = jnp.split(mlp(lib, p["enc"], x), 2, -1)
        zz = mu + jnp.exp(0.5 * lv) * random.normal(k, mu.shape)
        lg = mlp(lib, p["dec"], zz)
        bce = jnp.sum(jnp.maximum(lg, 0) - lg * x + jnp.log1p(jnp.exp(-jnp.abs(lg))), -1)
        kl = -0.5 * jnp.sum(1 + lv - mu ** 2 - jnp.exp(lv), -1)
        return jnp.mean(bce + kl), (bce.mean(), kl.mean())
    k1, k2 = random.split(k)
    (l, aux), g = jax.value_and_grad(loss, has_aux=True)(p, k1)
    return l, aux, tree_map(lambda p, g: p - 1e-4 * g, p, g), k2


@program(lambda rng: (
    mlp_params(rng, 32, 128, 256), mlp_params(rng, 256, 128, 1), rng.normals(64, 256), key(32),
), seed=32)
def wgan_gp_step(lib, G, Dp, real, k):
    """A step of both sides of a Wasserstein GAN, with a penalty on gradients."""
    jax, jnp, nn, random, tree_map = lib.jax, lib.jnp, lib.nn, lib.random, lib.tree_map
    lrelu = functools.partial(nn.leaky_relu, negative_slope=0.2)
    k1, k2, k3 = random.split(k, 3)

    def dloss(Dp):
        fake = jnp.tanh(mlp(lib, G, random.normal(k1, (64, 32))))
        e = random.uniform(k2, (64, 1))
        mix = e * real + (1 - e) * fake
        gx = jax.vmap(jax.grad(lambda x: mlp(lib, Dp, x, lrelu)[0]))(mix)
        gp = jnp.mean((jnp.sqrt(jnp.sum(gx ** 2, -1) + 1e-12) - 1) ** 2)
        return mlp(lib, Dp, fake, lrelu).mean() - mlp(lib, Dp, real, lrelu).mean() + 10 * gp
    ld, gd = jax.value_and_grad(dloss)(Dp)
    Dp = tree_map(lambda p, g: p - 1e-3 * g, Dp, gd)
    lg, gg = jax.value_and_grad(
        lambda G: -mlp(lib, Dp, jnp.tanh(mlp(lib, G, random.normal(k3, (64, 32)))), lrelu).mean())(
            G)
    G = tree_map(lambda p, g: p - 1e-3 * g, G, gg)
    return ld, lg, G, Dp


@program(lambda rng: (
    mlp_params(rng, 2 + 32, 128, 128, 2), key(33), np.linspace(1e-4, 0.05, 100, dtype=f32),
), seed=33)
def ddpm_sampling_loop(lib, p, k, betas):
    """A hundred steps from noise to samples."""
    jnp, lax, nn, random = lib.jnp, lib.lax, lib.nn, lib.random
    al = 1 - betas
    ab = jnp.cumprod(al)

    def temb(t):
        f = jnp.exp(-jnp.arange(16) * (math.log(1000.0) / 15))
        a = t * f
        return jnp.concatenate([jnp.sin(a), jnp.cos(a)])

    def body(i, c):
        x, k = c
        t = betas.shape[0] - 1 - i
        k, s = random.split(k)
        e = mlp(lib, p,
                jnp.concatenate([x, jnp.broadcast_to(temb(t.astype(x.dtype)), (x.shape[0], 32))],
                                -1), nn.swish)
        x = (x - betas[t] / jnp.sqrt(1 - ab[t]) * e) / jnp.sqrt(al[t])
        n = random.normal(s, x.shape)
        return x + jnp.where(t > 0, jnp.sqrt(betas[t]), 0.0) * n, k
    k, s = random.split(k)
    x, _ = lax.fori_loop(0, 100, body, (random.normal(s, (128, 2)), k))
    return x


@program(lambda rng: (
    [mlp_params(rng, 4, 64, 64, 8) for _ in range(6)], rng.normals(256, 8),
), seed=34)
def realnvp_logprob_grad(lib, ps, x):
    """The density of six coupling layers, with gradients of weights and points."""
    jax, jnp = lib.jax, lib.jnp

    def logp(ps, x):
        ld = jnp.zeros(x.shape[0])
        for i, p in enumerate(ps):
            a, b = jnp.split(x, 2, -1)
            if i % 2:
                a, b = b, a
            s, t = jnp.split(mlp(lib, p, a, jnp.tanh), 2, -1)
            s = jnp.tanh(s)
            b = b * jnp.exp(s) + t
            ld = ld + s.sum(-1)
            x = jnp.concatenate([b, a] if i % 2 else [a, b], -1)
        return -0.5 * jnp.sum(x ** 2, -1) - 4 * jnp.log(2 * jnp.pi) + ld
    lp = logp(ps, x)
    return lp, jax.grad(lambda p: -logp(p, x).mean())(ps), jax.grad(lambda x: logp(ps, x).sum())(x)


@program(lambda rng: (
    rng.normals(256, 64), rng.normals(512, 64), zeros(512) + 1, rng.normals(512, 64),
    rng.normals(256, 64),
), seed=100)
def vqvae_codebook_ema_straight_through(lib, ze, cb, cnt, emas, tgt):
    """Vectors replaced by the nearest of a codebook, which follows them."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def f(ze):
        d = jnp.sum(ze ** 2, 1, keepdims=True) - 2 * ze @ cb.T + jnp.sum(cb ** 2, 1)
        idx = jnp.argmin(d, 1)
        zq = cb[idx]
        commit = jnp.mean((lax.stop_gradient(zq) - ze) ** 2)
        st = ze + lax.stop_gradient(zq - ze)
        return jnp.mean((jnp.tanh(st) - tgt) ** 2) + 0.25 * commit, idx
    (l, idx), g = jax.value_and_grad(f, has_aux=True)(ze)
    oh = nn.one_hot(idx, 512)
    cnt = 0.99 * cnt + 0.01 * oh.sum(0)
    emas = 0.99 * emas + 0.01 * oh.T @ ze
    n = cnt.sum()
    sm = (cnt + 1e-5) / (n + 512 * 1e-5) * n
    pr = oh.mean(0)
    return l, g, emas / sm[:, None], cnt, jnp.exp(-jnp.sum(pr * jnp.log(pr + 1e-10)))


@program(lambda rng: (rng.normals(64, 10, 8), rng.normals(8, 16), key(101)), seed=10001)
def gumbel_softmax_straight_through_grad(lib, lg, emb, k):
    """Categories drawn by Gumbel noise, differentiated as if they were soft."""
    jax, jnp, lax, nn, random = lib.jax, lib.jnp, lib.lax, lib.nn, lib.random
    g = -jnp.log(-jnp.log(random.uniform(k, lg.shape, minval=1e-6, maxval=1.0 - 1e-6)))

    def f(lg, emb):
        y = nn.softmax((lg + g) / 0.5)
        hard = nn.one_hot(jnp.argmax(y, -1), 8)
        y = lax.stop_gradient(hard - y) + y
        return jnp.sum(jnp.sin(y @ emb))
    return jax.value_and_grad(f, (0, 1))(lg, emb)


@program(lambda rng: (
    rng.normals(8, 12, 12, 6), rng.normals(6, 6) + 3 * np.eye(6, dtype=f32), rng.normals(6),
    zeros(6),
), seed=12006)
def glow_invertible_1x1_slogdet_grad(lib, x, W, b, ls):
    """An invertible mixing of channels and its determinant."""
    jax, jnp = lib.jax, lib.jnp

    def f(W, b, ls):
        y = (x + b) * jnp.exp(ls)
        sg, ld = jnp.linalg.slogdet(W)
        y = y @ W
        logdet = 144 * (ld + ls.sum())
        return jnp.mean(0.5 * jnp.sum(y ** 2, (1, 2, 3)) - logdet) / 144 / 6, y @ jnp.linalg.inv(W)
    return jax.value_and_grad(f, (0, 1, 2), has_aux=True)(W, b, ls)


@program(lambda rng: (
    rng.uniforms(2, 64, 30), rng.normals(64), rng.normals(30), key(129),
), seed=12008)
def rbm_contrastive_divergence(lib, v2, b, c, k):
    """A Boltzmann machine's update after ten Gibbs steps."""
    jnp, lax, nn, random = lib.jnp, lib.lax, lib.nn, lib.random
    v0 = (v2[0, :, :] > .5).astype(jnp.float32)
    W = (v2[1] - .5) * .1

    def gibbs(cv, k):
        k1, k2 = random.split(k)
        ph = nn.sigmoid(cv @ W.T + b)
        h = random.bernoulli(k1, ph).astype(cv.dtype)
        pv = nn.sigmoid(h @ W + c)
        return random.bernoulli(k2, pv).astype(cv.dtype), None
    vk, _ = lax.scan(gibbs, v0, random.split(k, 10))
    p0, pk = nn.sigmoid(v0 @ W.T + b), nn.sigmoid(vk @ W.T + b)
    return W + 0.1 * (p0.T @ v0 - pk.T @ vk) / 64, b + (p0 - pk).mean(0), c + (v0 - vk).mean(0)


@program(lambda rng: (
    {"ada": rng.normals(64, 6 * 64, scale=.02), "t": mlp_params(rng, 64, 64, 64),
     "y": rng.normals(11, 64, scale=.02), "qkv": rng.weights(64, 192), "o": rng.weights(64, 64),
     "m1": rng.weights(64, 256), "m2": rng.weights(256, 64)},
    rng.normals(4, 64, 64), rng.ints(1000, 4), rng.ints(10, 4),
), seed=18003)
def dit_adaln_classifier_free_guidance_ddim(lib, p, x, t, y):
    """A diffusion transformer, guided by a class, in ten steps."""
    jnp, lax, nn = lib.jnp, lib.lax, lib.nn

    def temb(t):
        f = jnp.exp(-math.log(10000) * jnp.arange(32) / 32)
        a = t[:, None] * f
        return jnp.concatenate([jnp.cos(a), jnp.sin(a)], -1)

    def ln(x):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)

    def net(x, t, y):
        c = nn.silu(mlp(lib, p["t"], temb(t), nn.silu) + p["y"][y])
        s1, b1, g1, s2, b2, g2 = jnp.split((c @ p["ada"])[:, None], 6, -1)
        h = ln(x) * (1 + s1) + b1
        B, T, C = h.shape
        q, k, v = jnp.moveaxis((h @ p["qkv"]).reshape(B, T, 3, 4, 16), 2, 0)
        a = nn.softmax(jnp.einsum("bihd,bjhd->bhij", q, k) / 4)
        x = x + g1 * (jnp.einsum("bhij,bjhd->bihd", a, v).reshape(B, T, C) @ p["o"])
        return x + g2 * (nn.gelu((ln(x) * (1 + s2) + b2) @ p["m1"]) @ p["m2"])
    ab = jnp.cos(jnp.linspace(0.02, 1.5, 11)) ** 2

    def step(x, i):
        e = net(jnp.concatenate([x, x]), jnp.full(8, 100.0) * i,
                jnp.concatenate([y, jnp.full_like(y, 10)]))
        c, u = jnp.split(e, 2)
        e = u + 3.0 * (c - u)
        x0 = (x - jnp.sqrt(1 - ab[i]) * e) / jnp.sqrt(ab[i])
        x0 = jnp.clip(x0, -3, 3)
        return jnp.sqrt(ab[i - 1]) * x0 + jnp.sqrt(1 - ab[i - 1]) * e, jnp.mean(x0 ** 2)
    return lax.scan(step, x, jnp.arange(10, 0, -1))


@program(lambda rng: (
    mlp_params(rng, 128, 256, 64), rng.normals(128, 128), rng.normals(128, 128),
), seed=30)
def infonce_simclr_grad(lib, p, a, b):
    """Pairs told from all other pairs of a batch."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def f(p):
        zz = jnp.concatenate([mlp(lib, p, a), mlp(lib, p, b)])
        zz = zz / jnp.linalg.norm(zz, axis=-1, keepdims=True)
        s = zz @ zz.T / 0.1
        n = s.shape[0]
        s = jnp.where(jnp.eye(n, dtype=bool), -1e9, s)
        pos = jnp.roll(jnp.arange(n), n // 2)
        return -jnp.mean(nn.log_softmax(s)[jnp.arange(n), pos])
    return jax.value_and_grad(f)(p)


@program(lambda rng: (
    mlp_params(rng, 64, 128, 32), rng.normals(192, 64), rng.ints(12, 192),
), seed=3001)
def triplet_batch_hard_grad(lib, p, x, y):
    """The farthest of a class against the nearest of the others."""
    jax, jnp = lib.jax, lib.jnp

    def f(p):
        e = mlp(lib, p, x, jnp.tanh)
        sq = jnp.sum(e * e, 1)
        d2 = sq[:, None] + sq[None] - 2 * e @ e.T
        d = jnp.sqrt(jnp.maximum(d2, 1e-6))
        same = y[:, None] == y[None]
        hp = jnp.max(jnp.where(same, d, -jnp.inf), 1)
        hn = jnp.min(jnp.where(same, jnp.inf, d), 1)
        l = jnp.maximum(hp - hn + 0.3, 0)
        return l.mean(), jnp.mean(l > 0)
    return jax.value_and_grad(f, has_aux=True)(p)


@program(lambda rng: (
    rng.normals(256, 64), rng.normals(256, 64), zeros(64), rng.normals(64, 128),
    rng.normals(64, 128),
), seed=18004)
def dino_sinkhorn_centering_swav_loss_grad(lib, s, t, center, proto1, proto2):
    """Codes balanced over prototypes; terms against collapse."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def sk(sc):
        Q = jnp.exp(sc / 0.05 - jnp.max(sc / 0.05)).T
        Q = Q / Q.sum()
        for _ in range(3):
            Q = Q / Q.sum(1, keepdims=True) / Q.shape[0]
            Q = Q / Q.sum(0, keepdims=True) / Q.shape[1]
        return (Q * Q.shape[1]).T

    def f(s, proto):
        zs = s / jnp.linalg.norm(s, axis=1, keepdims=True)
        pn = proto / jnp.linalg.norm(proto, axis=0)
        q = lax.stop_gradient(sk((t / jnp.linalg.norm(t, axis=1, keepdims=True)) @ pn))
        l = -jnp.mean(jnp.sum(q * nn.log_softmax(zs @ pn / 0.1), 1))
        # barlow twins and vicreg terms
        a, b = (s - s.mean(0)) / s.std(0), (t - t.mean(0)) / t.std(0)
        c = a.T @ b / 256
        off = jnp.sum(c ** 2) - jnp.sum(jnp.diag(c) ** 2)
        var = jnp.mean(nn.relu(1 - jnp.sqrt(s.var(0) + 1e-4)))
        return l + jnp.sum((1 - jnp.diag(c)) ** 2) * .01 + .005 * off + var
    new = 0.9 * center + 0.1 * t.mean(0)
    return jax.value_and_grad(f, (0, 1))(s, proto1), new


@program(lambda rng: (
    rng.normals(64, 32), rng.ints(4, 64), key(201), rng.weights(32, 16), rng.weights(16, 32),
), seed=200)
def simsiam_augment_switch_vmap_grad(lib, x, op, k, w1, w2):
    """Views by augmentations chosen for each example, pulled together."""
    jax, jnp, lax, nn, random = lib.jax, lib.jnp, lib.lax, lib.nn, lib.random
    augs = [lambda x, k: x + 0.1 * random.normal(k, x.shape), lambda x,
            k: jnp.roll(x, random.randint(k, (), 0, 32)),
            lambda x, k: random.permutation(k, x), lambda x,
            k: x * random.rademacher(k, x.shape, jnp.float32)]
    a = jax.vmap(lambda o_, x, k: lax.switch(o_, augs, x, k))(op, x, random.split(k, 64))
    cos = lambda p, q: -jnp.mean(
        jnp.sum(p * q, -1) / (jnp.linalg.norm(p, axis=-1) * jnp.linalg.norm(q, axis=-1) + 1e-6))

    def f(w1, w2):
        z1, z2 = nn.celu(x @ w1), nn.celu(a @ w1)
        return (0.5 * cos(z1 @ w2, lax.stop_gradient(z2 @ w2))
                + 0.5 * cos(z2 @ w2, lax.stop_gradient(z1 @ w2)))
    return a, jax.value_and_grad(f, (0, 1))(w1, w2)
