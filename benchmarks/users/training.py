"""Training: optimizers, low precision, quantization."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from .catalogue import program
from .shared import adamw, cross_entropy, f32, global_norm, key, map_arrays, mlp, mlp_params


class LionState(NamedTuple):
    mom: Any
    count: Any


def weights_and_gradients(rng):
    params = mlp_params(rng, 256, 256, 256, 32)
    return params, map_arrays(lambda a: rng.normals(*a.shape, scale=0.1), params)


def lion_data(rng):
    params, grads = weights_and_gradients(rng)
    return params, grads, map_arrays(lambda a: (a * 0.1).astype(f32), params)


def adafactor_data(rng):
    params, grads = weights_and_gradients(rng)
    small = lambda n: np.full(n, 1e-2, f32)
    moments = [{"w": tuple(map(small, a["w"].shape)), "b": small(a["b"].shape)} for a in params]
    return params, grads, moments, np.int32(20)


def population(rng):
    sizes = np.linspace(0.5, 1.5, 8, dtype=f32)
    members = map_arrays(lambda a: np.stack([a * s for s in sizes]), mlp_params(rng, 16, 32, 4))
    rates = np.geomspace(1e-3, 1, 8).astype(f32)
    return members, rates, rng.normals(128, 16), rng.ints(4, 128), key(142)


@program(lion_data, seed=75)
def lion_optimizer_update(lib, p, g, mom):
    """Steps by the sign of a momentum."""
    jnp, tree_map = lib.jnp, lib.tree_map
    st = LionState(mom, jnp.zeros((), jnp.int32))
    upd = tree_map(lambda g, m: jnp.sign(0.9 * m + 0.1 * g), g, st.mom)
    mask = tree_map(lambda a: a.ndim > 1, p)
    p = tree_map(lambda p, u, k: p - 1e-4 * (u + (0.1 * p if k else 0.0)), p, upd, mask)
    return p, LionState(tree_map(lambda g, m: 0.99 * m + 0.01 * g, g, st.mom), st.count + 1)


@program(adafactor_data, seed=75)
def adafactor_update(lib, p, g, v, t):
    """Second moments kept as rows and columns."""
    jnp, lax = lib.jnp, lib.lax
    b2 = 1 - (t + 1.0) ** -0.8
    rmsc = lambda a: jnp.sqrt(jnp.mean(a * a))
    sc = lambda p, u: p - 1e-2 * jnp.maximum(1e-3, rmsc(p)) * u / jnp.maximum(1.0, rmsc(u))
    outp, outv = [], []
    for pi, gi, vi in zip(p, g, v):
        g2 = gi["w"] ** 2 + 1e-30
        vr = b2 * vi["w"][0] + (1 - b2) * g2.mean(1)
        vc = b2 * vi["w"][1] + (1 - b2) * g2.mean(0)
        u = gi["w"] * lax.rsqrt(vr / vr.mean())[:, None] * lax.rsqrt(vc)[None]
        vb = b2 * vi["b"] + (1 - b2) * (gi["b"] ** 2 + 1e-30)
        ub = gi["b"] / jnp.sqrt(vb)
        outp.append({"w": sc(pi["w"], u), "b": sc(pi["b"], ub)})
        outv.append({"w": (vr, vc), "b": vb})
    return outp, outv


@program(lambda rng: (
    rng.weights(96, 48), rng.normals(96, 48, scale=0.3), np.eye(96, dtype=f32) * 5,
    np.eye(48, dtype=f32) * 5,
), seed=7502)
def shampoo_eigh_preconditioner(lib, W, G, Lm, Rm):
    """A gradient between inverse roots of two matrices."""
    jnp = lib.jnp
    Lm = Lm + G @ G.T
    Rm = Rm + G.T @ G

    def invroot(A, p):
        w, V = jnp.linalg.eigh(A)
        return (V * jnp.maximum(w, 1e-6) ** (-1.0 / p)) @ V.T
    U = invroot(Lm, 4) @ G @ invroot(Rm, 4)
    return W - 0.1 * U, Lm, Rm


@program(lambda rng: (rng.normals(256, 128), rng.normals(256, 128, scale=0.1)), seed=7503)
def muon_newton_schulz_update(lib, G, M):
    """A momentum made nearly orthogonal by a polynomial."""
    jnp, lax = lib.jnp, lib.lax
    a, b, c = 3.4445, -4.7750, 2.0315
    M = 0.95 * M + G
    X = (0.95 * M + G).T.astype(jnp.float32)
    X = X / (jnp.linalg.norm(X) + 1e-7)

    def step(_, X):
        A = X @ X.T
        return a * X + (b * A + c * A @ A) @ X
    X = lax.fori_loop(0, 3, step, X).T
    return X * max(1, 256 / 128) ** 0.5, M


@program(lambda rng: (
    mlp_params(rng, 64, 128, 10), rng.normals(4, 64, 64), rng.ints(10, 4, 64),
), seed=7504)
def grad_accumulation_scan_sam(lib, p, xs, ys):
    """Gradients at the worst nearby weights, summed over four batches."""
    jax, jnp, lax, tree_map = lib.jax, lib.jnp, lib.lax, lib.tree_map
    loss = lambda p, x, y: cross_entropy(lib, mlp(lib, p, x), y)

    def acc(c, b):
        l, g = jax.value_and_grad(loss)(p, *b)
        gn = global_norm(lib, g)
        adv = tree_map(lambda p, g: p + 0.05 * g / (gn + 1e-12), p, g)
        g2 = jax.grad(loss)(adv, *b)
        return tree_map(jnp.add, c, (l, g2)), gn
    z0 = (0.0, tree_map(jnp.zeros_like, p))
    (l, g), gn = lax.scan(acc, z0, (xs, ys))
    return l / 4, tree_map(lambda p, g: p - 0.1 * g / 4, p, g), gn


@program(lambda rng: (
    {"a": {"w": rng.normals(40, 40), "b": rng.normals(40)},
     "c": (rng.normals(7, 5), [rng.normals(3)])},
    rng.normals(40, 40),
), seed=20006)
def optimizer_zoo_multi_steps(lib, p, t):
    """Clipping, rectified moments and trust ratios for twelve steps."""
    jax, jnp, lax, tree_map, tree_leaves = lib.jax, lib.jnp, lib.lax, lib.tree_map, lib.tree_leaves
    loss = lambda p: (jnp.mean((jnp.tanh(p["a"]["w"] @ t + p["a"]["b"]) - t) ** 2)
                      + jnp.sum(p["c"][0] ** 4) / 35 + jnp.sum(jnp.cosh(p["c"][1][0] * .3)))
    z0 = tree_map(jnp.zeros_like, p)

    def radam(c, i):
        p, m, v = c
        l, g = jax.value_and_grad(loss)(p)
        n = jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(g)))
        g = tree_map(lambda g: jnp.where(n > 1, g / n, g), g)
        # adaptive gradient clipping, unit-wise
        def agc(g, p):
            ax = tuple(range(p.ndim - 1)) if p.ndim > 1 else None
            pn = jnp.maximum(jnp.sqrt(jnp.sum(p * p, ax, keepdims=True)), 1e-3)
            gn = jnp.maximum(jnp.sqrt(jnp.sum(g * g, ax, keepdims=True)), 1e-6)
            return g * jnp.minimum(1, 0.1 * pn / gn)
        g = tree_map(agc, g, p)
        m = tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = tree_map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
        t_ = i + 1.0
        rinf = 2 / (1 - 0.99) - 1
        rt = rinf - 2 * t_ * 0.99 ** t_ / (1 - 0.99 ** t_)
        rect = jnp.sqrt(jnp.maximum((rt - 4) * (rt - 2) * rinf, 0)
                        / jnp.maximum((rinf - 4) * (rinf - 2) * rt, 1e-3))
        def up(p, m, v):
            mh = m / (1 - 0.9 ** t_)
            ad = rect * mh / (jnp.sqrt(v / (1 - 0.99 ** t_)) + 1e-6)
            u = jnp.where(rt > 5, ad, mh)
            tr = jnp.linalg.norm(p) / (jnp.linalg.norm(u) + 1e-6)  # LAMB
            return p - 0.01 * jnp.clip(tr, 0, 10) * u
        return (tree_map(up, p, m, v), m, v), l
    (p, m, v), ls = lax.scan(radam, (p, z0, z0), jnp.arange(12))
    return p, ls


@program(lambda rng: (mlp_params(rng, 8, 32, 32, 1), rng.normals(256, 8), key(141)), seed=14001)
def whole_training_loop_adam_fori(lib, p, x, k):
    """Sixty steps of Adam in one loop."""
    jax, jnp, lax, random, tree_map = lib.jax, lib.jnp, lib.lax, lib.random, lib.tree_map
    y = jnp.sin(x.sum(1, keepdims=True))

    def body(i, c):
        p, m, v, st, k, ls = c
        k, s = random.split(k)
        idx = random.randint(s, (32,), 0, 256)
        l, g = jax.value_and_grad(
            lambda p: jnp.mean((mlp(lib, p, x[idx], jnp.tanh) - y[idx]) ** 2))(p)
        p, m, v, st = adamw(lib, p, g, m, v, st, lr=3e-3, wd=0.0)
        return p, m, v, st, k, ls.at[i].set(l)
    zt = tree_map(jnp.zeros_like, p)
    c = lax.fori_loop(0, 60, body, (p, zt, zt, jnp.int32(0), k, jnp.zeros(60)))
    return c[0], c[-1]


@program(population, seed=14002)
def population_based_training_vmap(lib, pop, lr, x, y, k):
    """Eight networks trained, the worst replaced by the best."""
    jax, jnp, lax, random, tree_map = lib.jax, lib.jnp, lib.lax, lib.random, lib.tree_map

    def member(p, lr):
        def step(p, _):
            l, g = jax.value_and_grad(lambda p: cross_entropy(lib, mlp(lib, p, x), y))(p)
            return tree_map(lambda p, g: p - lr * g, p, g), l
        p, ls = lax.scan(step, p, None, length=10)
        return p, ls[-1]
    pop, l = jax.vmap(member)(pop, lr)
    order = jnp.argsort(l)
    src = order.at[-2:].set(order[:2])
    pop = tree_map(lambda a: a[src], pop)
    f = jnp.where(random.bernoulli(k, 0.5, (8,)), 1.2, 0.8)
    lr = jnp.where(jnp.arange(8) >= 6, lr[src] * f, lr[src])
    return pop, lr, l


@program(lambda rng: (
    mlp_params(rng, 64, 128, 128, 10), rng.normals(64, 64), rng.ints(10, 64), np.float32(1024.0),
    np.int32(1999),
), seed=140, rtol=1e-2)
def fp16_dynamic_loss_scaling_skip_step(lib, p, x, y, scale, good):
    """A step in float16 that is left out where gradients overflow."""
    jax, jnp, lax, tree_map, tree_leaves = lib.jax, lib.jnp, lib.lax, lib.tree_map, lib.tree_leaves

    def loss(p):
        h = tree_map(lambda a: a.astype(jnp.float16), p)
        return cross_entropy(lib, mlp(lib, h, x.astype(jnp.float16)).astype(jnp.float32), y) * scale
    l, g = jax.value_and_grad(loss)(p)
    g = tree_map(lambda a: a.astype(jnp.float32) / scale, g)
    fin = functools.reduce(jnp.logical_and, [jnp.all(jnp.isfinite(a)) for a in tree_leaves(g)])
    p = lax.cond(fin, lambda p, g: tree_map(lambda a, b: a - 0.1 * b, p, g), lambda p, g: p, p, g)
    scale, good = lax.cond(fin & (good + 1 >= 2000), lambda: (scale * 2, 0),
                           lambda: (jnp.where(fin, scale, scale / 2), jnp.where(fin, good + 1, 0)))
    return p, l / scale, scale, good


@program(lambda rng: (
    rng.normals(64, 128), rng.weights(128, 128), rng.normals(64, 128),
), seed=14003)
def fake_quant_custom_jvp_ste_qat_grad(lib, x, w, t):
    """Rounding to four bits with a derivative of its own."""
    jax, jnp = lib.jax, lib.jnp

    @jax.custom_jvp
    def q(x, s):
        return jnp.clip(jnp.round(x / s), -8, 7) * s

    @q.defjvp
    def _(pr, tg):
        x, s = pr
        dx, ds = tg
        v = x / s
        inr = (v >= -8) & (v <= 7)
        return (q(x, s), jnp.where(inr, dx, 0.0)
                + ds * jnp.where(inr, jnp.round(v) - v, jnp.clip(jnp.round(v), -8, 7)))

    def f(w, sx, sw):
        y = q(x, sx) @ q(w, sw)
        return jnp.mean((y - t) ** 2)
    s0 = 2 * jnp.mean(jnp.abs(x)) / math.sqrt(7)
    return jax.value_and_grad(f, (0, 1, 2))(w, s0, 2 * jnp.mean(jnp.abs(w)) / math.sqrt(7))


@program(lambda rng: (
    rng.normals(64, 512), rng.integers(-127, 127, (512, 512)).astype(np.int8),
    rng.uniforms(512, lo=0.01, hi=0.02),
), seed=68)
def int8_dynamic_quant_matmul(lib, x, wq, ws):
    """A product of bytes with scales by rows and columns."""
    jnp, lax = lib.jnp, lib.lax
    s = jnp.max(jnp.abs(x), -1, keepdims=True) / 127.0
    xq = jnp.clip(jnp.round(x / s), -127, 127).astype(jnp.int8)
    acc = lax.dot_general(xq, wq, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    return acc.astype(jnp.float32) * s * ws


@program(lambda rng: (
    rng.normals(64, 512), rng.integers(0, 256, (256, 512)).astype(np.uint8),
    rng.uniforms(8, 512, lo=0.01, hi=0.02),
), seed=6801)
def int4_groupwise_weight_unpack_matmul(lib, x, packed, sc):
    """Weights of four bits unpacked and scaled by groups."""
    jnp = lib.jnp
    lo = (packed & 0xF).astype(jnp.int8) - 8
    hi = (packed >> 4).astype(jnp.int8) - 8
    w = jnp.stack([lo, hi], 1).reshape(512, 512).astype(jnp.float32)
    w = (w.reshape(8, 64, 512) * sc[:, None]).reshape(512, 512)
    return x @ w


@program(lambda rng: (
    rng.normals(4, 128, 64), rng.weights(64, 64), rng.normals(4, 128, 64),
), seed=20008)
def fp8_and_bf16_fake_cast_matmul_grad(lib, x, w, ct):
    """Values rounded through narrow formats."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def q8(a):
        s = jnp.max(jnp.abs(a)) / 448.0
        return (a / s).astype(jnp.float8_e4m3fn).astype(jnp.float32) * s
    st = lambda a: a + lax.stop_gradient(q8(a) - a)
    f = lambda x, w: lax.reduce_precision(st(x) @ st(w), 8, 7)
    y, pb = jax.vjp(f, x, w)
    h = (x.astype(jnp.bfloat16) + ct.astype(jnp.bfloat16)) * jnp.bfloat16(0.5)
    return y, pb(ct), h.astype(jnp.float32), x.astype(jnp.float16).astype(jnp.float32)
