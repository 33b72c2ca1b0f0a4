"""Derivatives of derivatives, implicit ones, and those of each example."""

import functools

import numpy as np

from .catalogue import program
from .shared import cross_entropy, f32, key, mlp, mlp_params


@program(lambda rng: (
    mlp_params(rng, 1, 40, 40, 1), rng.uniforms(16, 10, 1, lo=-3, hi=3),
    rng.uniforms(16, lo=0.5, hi=3), rng.uniforms(16, lo=0, hi=3),
), seed=50)
def maml_sine_meta_grad(lib, p, x, amp, ph):
    """The gradient through two inner steps, for sixteen tasks."""
    jax, jnp, tree_map = lib.jax, lib.jnp, lib.tree_map
    y = amp[:, None, None] * jnp.sin(x + ph[:, None, None])
    mse = lambda p, x, y: jnp.mean((mlp(lib, p, x, jnp.tanh) - y) ** 2)

    def inner(p, x, y):
        for _ in range(2):
            p = tree_map(lambda a, g: a - 0.05 * g, p, jax.grad(mse)(p, x[:5], y[:5]))
        return mse(p, x[5:], y[5:])
    return jax.value_and_grad(lambda p: jax.vmap(inner, (None, 0, 0))(p, x, y).mean())(p)


@program(lambda rng: (
    mlp_params(rng, 32, 64, 64, 5), rng.normals(256, 32), rng.ints(5, 256), key(52),
), seed=5002)
def hessian_vector_power_iteration(lib, p, x, y, k):
    """The largest curvature of a loss."""
    jax, jnp, lax, random, ravel_pytree = lib.jax, lib.jnp, lib.lax, lib.random, lib.ravel_pytree
    flat, un = ravel_pytree(p)
    f = lambda w: cross_entropy(lib, mlp(lib, un(w), x, jnp.tanh), y)
    hvp = lambda v: jax.jvp(jax.grad(f), (flat,), (v,))[1]
    v0 = random.normal(k, flat.shape)

    def body(_, c):
        v, _l = c
        v = v / jnp.linalg.norm(v)
        hv = hvp(v)
        return hv, jnp.vdot(v, hv)
    v, lam = lax.fori_loop(0, 10, body, (v0, jnp.float32(0)))
    return lam, hvp(v0)


@program(lambda rng: (mlp_params(rng, 6, 24, 24, 4), rng.normals(64, 6)), seed=5003)
def small_net_jacfwd_jacrev_hessian(lib, p, x):
    """Jacobians both ways and Hessians of a small network."""
    jax, jnp = lib.jax, lib.jnp
    f = lambda x: mlp(lib, p, x, jnp.tanh)
    jf = jax.vmap(jax.jacfwd(f))(x)
    jr = jax.vmap(jax.jacrev(f))(x)
    h = jax.vmap(jax.hessian(lambda x: jnp.sum(f(x) ** 2)))(x)
    return jf, jf - jr, h, jax.vmap(jnp.trace)(h)


@program(lambda rng: (
    mlp_params(rng, 2, 16, 1), rng.uniforms(200, 2, lo=-1),
    np.sin(np.arange(200)).astype(f32)[:, None],
), seed=5004)
def gauss_newton_levenberg_marquardt(lib, p, x, y):
    """Four damped least-squares steps."""
    jax, jnp, lax, linalg, ravel_pytree = lib.jax, lib.jnp, lib.lax, lib.linalg, lib.ravel_pytree
    flat, un = ravel_pytree(p)
    res = lambda w: (mlp(lib, un(w), x, jnp.tanh) - y)[:, 0]

    def body(c, _):
        w, lam = c
        J = jax.jacrev(res)(w)
        e = res(w)
        A = J.T @ J + lam * jnp.eye(w.size)
        d = linalg.cho_solve(linalg.cho_factor(A), J.T @ e)
        w2 = w - d
        better = jnp.sum(res(w2) ** 2) < jnp.sum(e ** 2)
        return (jnp.where(better, w2, w), jnp.where(better, lam * 0.5, lam * 3)), jnp.sum(e ** 2)
    (w, lam), ls = lax.scan(body, (flat, jnp.float32(1.0)), None, length=4)
    return w, lam, ls


@program(lambda rng: (rng.normals(6, 6), rng.normals(100, 6), rng.normals(100)), seed=20011)
def influence_functions_inverse_hvp_and_fisher(lib, W0, x, y):
    """What each example does to others, and third derivatives."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def loss1(w, x, y):
        return nn.softplus(-jnp.sign(y) * (x @ w)) + 0.05 * w @ w
    w = lax.fori_loop(0, 30, lambda _, w: w - 0.5
                      * jax.grad(lambda w: jax.vmap(loss1, (None, 0, 0))(w, x, y).mean())(w), W0[0])
    Hs = jax.hessian(lambda w: jax.vmap(loss1, (None, 0, 0))(w, x, y).mean())(w)
    G = jax.vmap(jax.grad(loss1), (None, 0, 0))(w, x, y)
    inf = -G @ jnp.linalg.inv(Hs) @ G[:5].T
    third = jax.jacfwd(jax.hessian(lambda w: loss1(w, x[0], y[0])))(w)
    ntk = jax.vmap(
        lambda a: jax.vmap(lambda b: jnp.vdot(jax.grad(lambda w: jnp.tanh(a @ w))(w),
                                              jax.grad(lambda w: jnp.tanh(b @ w))(w)))(x[:10]))(
                                                  x[:10])
    return w, Hs, inf, G.T @ G / 100, third, ntk


@program(lambda rng: (
    rng.normals(64, 64, scale=.05), rng.weights(32, 64), rng.normals(16, 32), rng.normals(16, 64),
), seed=14005)
def deep_equilibrium_implicit_diff(lib, W, U, x, t):
    """A fixed point, differentiated implicitly."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    f = lambda W, U, x, zz: jnp.tanh(zz @ W + x @ U)

    def solve(g, z0):
        def cond(s):
            z0, z1, i = s
            return (jnp.max(jnp.abs(z1 - z0)) > 1e-6) & (i < 60)
        return lax.while_loop(cond, lambda s: (s[1], g(s[1]), s[2] + 1), (z0, g(z0), 0))[1]

    @functools.partial(jax.custom_vjp, nondiff_argnums=())
    def deq(W, U, x):
        return solve(lambda zz: f(W, U, x, zz), jnp.zeros((16, 64)))

    def fwd(W, U, x):
        zs = deq(W, U, x)
        return zs, (W, U, x, zs)

    def bwd(res, g):
        W, U, x, zs = res
        _, pb = jax.vjp(lambda zz: f(W, U, x, zz), zs)
        u = solve(lambda u: g + pb(u)[0], g)
        return jax.vjp(lambda W, U, x: f(W, U, x, zs), W, U, x)[1](u)
    deq.defvjp(fwd, bwd)
    return jax.value_and_grad(lambda *a: jnp.mean((deq(*a) - t) ** 2), (0, 1, 2))(W, U, x)


@program(lambda rng: (
    mlp_params(rng, 8, 64, 2 * 16 + 16 + 16 * 3 + 3), rng.normals(32, 8), rng.uniforms(32, 64, 2),
    rng.uniforms(32, 64, 3),
), seed=5503)
def hypernetwork_conditional_field_grad(lib, p, code, xy, rgb):
    """A network that makes the weights of another."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def f(p):
        w = mlp(lib, p, code)
        w1, b1, w2, b2 = jnp.split(w, [32, 48, 96], -1)
        h = jnp.sin(5 * jnp.einsum("bnd,bdh->bnh", xy, w1.reshape(-1, 2, 16)) + b1[:, None])
        out = jnp.einsum("bnh,bhc->bnc", h, w2.reshape(-1, 16, 3)) + b2[:, None]
        return jnp.mean((nn.sigmoid(out) - rgb) ** 2)
    return jax.value_and_grad(f)(p)


@program(lambda rng: (
    mlp_params(rng, 64, 64, 10), rng.normals(128, 64), rng.ints(10, 128), key(51),
), seed=5001)
def dp_sgd_per_example_grads(lib, p, x, y, k):
    """Gradients of each example, clipped and blurred by noise."""
    jax, jnp, random = lib.jax, lib.jnp, lib.random
    tree_map, tree_leaves = lib.tree_map, lib.tree_leaves
    g = jax.vmap(jax.grad(lambda p, x, y: cross_entropy(lib, mlp(lib, p, x[None]), y[None])),
                 (None, 0, 0))(p, x, y)
    nrm = jnp.sqrt(sum(jnp.sum(a.reshape(a.shape[0], -1) ** 2, 1) for a in tree_leaves(g)))
    s = 1 / jnp.maximum(1, nrm / 1.0)
    g = tree_map(lambda a: jnp.einsum("n...,n->...", a, s) / a.shape[0], g)
    lv, td = jax.tree_util.tree_flatten(g)
    ks = random.split(k, len(lv))
    g = jax.tree_util.tree_unflatten(td,
                                     [a + 0.01 * random.normal(q, a.shape) for a, q in zip(lv, ks)])
    return tree_map(lambda p, g: p - 0.1 * g, p, g), nrm


@program(lambda rng: (
    rng.normals(40, 16, 64), rng.weights(64, 64), rng.weights(64, 64), rng.normals(16, 64),
), seed=14004)
def spiking_lif_surrogate_gradient_scan(lib, x, w1, w2, t):
    """Leaky neurons that fire, with a smooth derivative in place of a step."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    @jax.custom_vjp
    def spike(v):
        return (v > 0).astype(v.dtype)
    spike.defvjp(lambda v: (spike(v), v), lambda v, g: (g / (1 + 10 * jnp.abs(v)) ** 2,))

    def f(w1, w2):
        def step(c, xt):
            v1, v2, acc = c
            v1 = 0.9 * v1 + xt @ w1
            s1 = spike(v1 - 1)
            v1 = v1 - lax.stop_gradient(s1)
            v2 = 0.9 * v2 + s1 @ w2
            s2 = spike(v2 - 1)
            return (v1, v2 * (1 - s2), acc + s2), s1.mean()
        zz = jnp.zeros((16, 64))
        (_, _, acc), rate = lax.scan(step, (zz, zz, zz), x)
        return jnp.mean((acc / 40 - nn.sigmoid(t)) ** 2), rate
    return jax.value_and_grad(f, (0, 1), has_aux=True)(w1, w2)


@program(lambda rng: (mlp_params(rng, 10, 20, 10), rng.normals(30, 8, 10)), seed=14006)
def rtrl_forward_mode_rnn_jvp_linearize(lib, p, xs):
    """A recurrent network differentiated forwards in three ways."""
    jax, jnp, lax, tree_map = lib.jax, lib.jnp, lib.lax, lib.tree_map

    def run(p):
        def step(h, x):
            h = jnp.tanh(mlp(lib, p, h, jnp.tanh) + x)
            return h, h
        return lax.scan(step, jnp.zeros((8, 10)), xs)[1]
    y, lin = jax.linearize(run, p)
    t = tree_map(lambda a: jnp.cos(a) * 0.1, p)
    dy = lin(t)
    y2, dy2 = jax.jvp(run, (p,), (t,))
    h2 = jax.jvp(lambda p: jax.grad(lambda p: jnp.sum(run(p) ** 2))(p), (p,), (t,))[1]
    return y, dy, dy - dy2, h2
