"""Reinforcement learning, planning and control."""

import math

import numpy as np

from .catalogue import program
from .shared import clip_by_global_norm, f32, key, mlp, mlp_params, zeros


@program(lambda rng: (
    rng.normals(128, 64), rng.normals(129, 64), (rng.uniforms(128, 64) < 0.05).astype(f32),
), seed=40)
def gae_reverse_scan(lib, rew, val, done):
    """Advantages by a reverse scan, normalized."""
    jnp, lax = lib.jnp, lib.lax

    def step(a, t):
        r_, v, nv, d = t
        delta = r_ + 0.99 * nv * (1 - d) - v
        a = delta + 0.99 * 0.95 * (1 - d) * a
        return a, a
    _, adv = lax.scan(step, jnp.zeros(rew.shape[1]), (rew, val[:-1], val[1:], done), reverse=True,
                      unroll=4)
    ret = adv + val[:-1]
    return (adv - adv.mean()) / (adv.std() + 1e-8), ret


@program(lambda rng: (
    {"pi": mlp_params(rng, 24, 64, 64, 6), "v": mlp_params(rng, 24, 64, 64, 1), "ls": zeros(6)},
    rng.normals(1024, 24), rng.normals(1024, 6), rng.normals(1024), rng.normals(1024),
    rng.normals(1024, scale=0.3) - 8, key(40),
), seed=4001)
def ppo_minibatch_epochs(lib, p, obs, act, adv, ret, oldlp, k):
    """Two epochs of shuffled minibatches under the clipped objective."""
    jax, jnp, lax, random, tree_map = lib.jax, lib.jnp, lib.lax, lib.random, lib.tree_map

    def loss(p, b):
        obs, act, adv, ret, oldlp = b
        mu = mlp(lib, p["pi"], obs, jnp.tanh)
        sd = jnp.exp(p["ls"])
        lp = jnp.sum(-0.5 * ((act - mu) / sd) ** 2 - jnp.log(sd) - 0.5 * math.log(2 * math.pi), -1)
        ratio = jnp.exp(jnp.clip(lp - oldlp, -2, 2))
        pg = -jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv).mean()
        v = mlp(lib, p["v"], obs, jnp.tanh)[:, 0]
        ent = jnp.sum(p["ls"] + 0.5 * math.log(2 * math.pi * math.e))
        return pg + 0.5 * jnp.mean((v - ret) ** 2) - 0.01 * ent

    def mb(p, b):
        l, g = jax.value_and_grad(loss)(p, b)
        g = clip_by_global_norm(lib, g, 0.5)
        return tree_map(lambda p, g: p - 3e-3 * g, p, g), l

    def epoch(c, _):
        p, k = c
        k, s = random.split(k)
        perm = random.permutation(s, 1024)
        data = tree_map(lambda a: a[perm].reshape((4, 256) + a.shape[1:]),
                        (obs, act, adv, ret, oldlp))
        p, ls = lax.scan(mb, p, data)
        return (p, k), ls
    (p, _), ls = lax.scan(epoch, (p, k), None, length=2)
    return p, ls


@program(lambda rng: (
    mlp_params(rng, 16, 128, 128, 5), mlp_params(rng, 16, 128, 128, 5), rng.normals(256, 16),
    rng.ints(5, 256), rng.normals(256), rng.normals(256, 16), rng.uniforms(256) < 0.1,
), seed=4002)
def double_dqn_huber_update(lib, p, tp, s, a, rew, s2, done):
    """One network chooses, another values; the target follows slowly."""
    jax, jnp, lax, tree_map = lib.jax, lib.jnp, lib.lax, lib.tree_map

    def loss(p):
        q = jnp.take_along_axis(mlp(lib, p, s), a[:, None], 1)[:, 0]
        best = jnp.argmax(mlp(lib, p, s2), 1)
        nq = jnp.take_along_axis(mlp(lib, tp, s2), best[:, None], 1)[:, 0]
        t = lax.stop_gradient(rew + 0.99 * (1.0 - done) * nq)
        e = q - t
        h = jnp.where(jnp.abs(e) < 1, 0.5 * e * e, jnp.abs(e) - 0.5)
        return h.mean(), jnp.abs(e)
    (l, td), g = jax.value_and_grad(loss, has_aux=True)(p)
    p = tree_map(lambda p, g: p - 1e-3 * jnp.clip(g, -1, 1), p, g)
    tp = tree_map(lambda a, b: 0.995 * a + 0.005 * b, tp, p)
    return l, td, p, tp


@program(lambda rng: (
    rng.normals(256, 51), rng.normals(256), rng.uniforms(256) < 0.1, rng.normals(256, 51),
), seed=4003)
def c51_categorical_projection_loss(lib, logits_next, rew, done, logits):
    """Distributions of returns projected onto fixed atoms."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn
    zs = jnp.linspace(-10.0, 10.0, 51)
    dz = zs[1] - zs[0]
    pn = nn.softmax(logits_next)
    tz = jnp.clip(rew[:, None] + 0.99 * (1 - done[:, None]) * zs, -10, 10)
    b = (tz + 10) / dz
    lo, up = jnp.floor(b), jnp.ceil(b)
    lo = jnp.where((up > 0) & (lo == up), lo - 1, lo)
    up = jnp.where((lo < 0), 1.0, up)
    lo = jnp.maximum(lo, 0)

    def proj(pn, b, lo, up):
        m = jnp.zeros(51).at[lo.astype(int)].add(pn * (up - b))
        return m.at[up.astype(int)].add(pn * (b - lo))
    m = jax.vmap(proj)(pn, b, lo, up)
    return m, jax.value_and_grad(lambda l: -(m * nn.log_softmax(l)).sum(-1).mean())(logits)


@program(lambda rng: (rng.normals(64, 256, scale=0.1), rng.uniforms(64, 256), key(44)), seed=4004)
def mcts_batched_puct_select_backup(lib, prior, rew, k):
    """Thirty-two simulations of a tree search for a batch of trees."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn
    B, A, S = 64, 4, 64

    def sim(c, i):
        N, W, child, par, pact, nxt, k = c
        pri = nn.softmax(prior.reshape(B, S, A))

        def one(N, W, child, pri):
            def cond(s):
                return s[2] & (s[3] < 8)

            def body(s):
                node, _, _, d = s
                u = (W[node] / jnp.maximum(N[node], 1)
                     + 1.25 * pri[node] * jnp.sqrt(N[node].sum() + 1) / (1 + N[node]))
                a = jnp.argmax(u)
                ch = child[node, a]
                return jnp.where(ch >= 0, ch, node), a, ch >= 0, d + 1
            return lax.while_loop(cond, body, (0, 0, True, 0))[:2]
        node, a = jax.vmap(one)(N, W, child, pri)
        bi = jnp.arange(B)
        child = child.at[bi, node, a].set(i)
        par = par.at[bi, i].set(node)
        pact = pact.at[bi, i].set(a)
        v = rew[bi, (node * 7 + a * 3 + i) % 256]

        def back(s):
            n, N, W, d = s
            p_, a_ = par[bi, n], pact[bi, n]
            ok = (n > 0).astype(N.dtype)
            N = N.at[bi, p_, a_].add(ok)
            W = W.at[bi, p_, a_].add(ok * v)
            return jnp.where(n > 0, p_, n), N, W, d + 1
        _, N, W, _ = lax.while_loop(lambda s: jnp.any(s[0] > 0) & (s[3] < 40), back,
                                    (jnp.full(B, i), N, W, 0))
        return (N, W, child, par, pact, nxt, k), v
    st = (jnp.zeros((B, S, A)), jnp.zeros((B, S, A)), jnp.full((B, S, A), -1, jnp.int32),
          jnp.zeros((B, S), jnp.int32),
          jnp.zeros((B, S), jnp.int32), 1, k)
    st, vs = lax.scan(sim, st, jnp.arange(1, 33))
    return jnp.argmax(st[0][:, 0], -1), st[0][:, 0], st[1][:, 0], vs


@program(lambda rng: (mlp_params(rng, 4, 16, 1), key(46)), seed=4005)
def evolution_strategies_cartpole_vmap(lib, p, k):
    """Perturbed policies balance a pole; their ranks give a step."""
    jax, jnp, lax, random, ravel_pytree = lib.jax, lib.jnp, lib.lax, lib.random, lib.ravel_pytree
    flat, unravel = ravel_pytree(p)

    def env(s, f):
        x, xd, th, thd = s
        c, sn = jnp.cos(th), jnp.sin(th)
        tmp = (f + 0.05 * thd ** 2 * sn) / 1.1
        ta = (9.8 * sn - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
        xa = tmp - 0.05 * ta * c / 1.1
        return jnp.stack([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * ta])

    def rollout(f):
        p = unravel(f)

        def step(c, _):
            s, alive = c
            a = 10 * jnp.tanh(mlp(lib, p, s, jnp.tanh)[0])
            s = env(s, a)
            alive = alive * (jnp.abs(s[2]) < 0.21) * (jnp.abs(s[0]) < 2.4)
            return (jnp.clip(s, -10, 10), alive), alive
        return lax.scan(step, (jnp.array([0.01, 0, 0.02, 0]), jnp.float32(1)), None,
                        length=60)[1].sum()
    eps = random.normal(k, (64, flat.size))
    R_ = jax.vmap(lambda e: rollout(flat + 0.1 * e))(jnp.concatenate([eps, -eps]))
    rank = jnp.argsort(jnp.argsort(R_)) / (R_.size - 1) - 0.5
    g = (rank[:64] - rank[64:]) @ eps / (64 * 0.1)
    return flat + 0.01 * g, R_.mean(), R_.max()


@program(lambda rng: (
    np.eye(4, dtype=f32) + rng.normals(4, 4, scale=.05), rng.normals(4, 2, scale=.3),
    rng.normals(30, 2, scale=.1), rng.normals(4),
), seed=170, rtol=1e-2)
def ilqr_backward_forward_pass(lib, A, Bm, us, x0):
    """Four rounds of quadratic approximation along a path."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    dyn = lambda x, u: jnp.tanh(A @ x) + Bm @ u
    cost = lambda x, u: jnp.sum(x ** 2) + 0.1 * jnp.sum(u ** 2) + 0.01 * jnp.sum(jnp.cos(x))

    def it(us, _):
        def roll(x, u):
            return dyn(x, u), x
        xT, xs = lax.scan(roll, x0, us)
        fx, fu = jax.vmap(jax.jacfwd(dyn, (0, 1)))(xs, us)
        lx, lu = jax.vmap(jax.grad(cost, (0, 1)))(xs, us)
        (lxx, lxu), (lux, luu) = jax.vmap(jax.hessian(cost, (0, 1)))(xs, us)

        def back(c, t):
            Vx, Vxx = c
            fx, fu, lx, lu, lxx, lux, luu = t
            Qx, Qu = lx + fx.T @ Vx, lu + fu.T @ Vx
            Qxx, Quu, Qux = lxx + fx.T @ Vxx @ fx, luu + fu.T @ Vxx @ fu, lux + fu.T @ Vxx @ fx
            kK = -jnp.linalg.solve(Quu + 1e-4 * jnp.eye(2), jnp.concatenate([Qu[:, None], Qux], 1))
            k, K = kK[:, 0], kK[:, 1:]
            return (Qx + K.T @ Quu @ k + K.T @ Qu + Qux.T @ k,
                    Qxx + K.T @ Quu @ K + K.T @ Qux + Qux.T @ K), (k, K)
        _, (ks, Ks) = lax.scan(back, (2 * xT, 2 * jnp.eye(4)), (fx, fu, lx, lu, lxx, lux, luu),
                               reverse=True)

        def fwd(x, t):
            xr, u, k, K = t
            u = u + 0.5 * k + K @ (x - xr)
            return dyn(x, u), (u, cost(x, u))
        _, (us, cs) = lax.scan(fwd, x0, (xs, us, ks, Ks))
        return us, cs.sum()
    return lax.scan(it, us, None, length=4)


@program(lambda rng: (rng.normals(6, 2), key(172)), seed=17001)
def mppi_cem_planner_vmap_scan(lib, obst, k):
    """Plans drawn, weighed by cost, and drawn again."""
    jax, jnp, lax, nn, random = lib.jax, lib.jnp, lib.lax, lib.nn, lib.random

    def roll(us):
        def step(s, u):
            p, v = s[:2], s[2:]
            v = 0.95 * v + 0.1 * jnp.clip(u, -1, 1)
            p = p + 0.1 * v
            c = jnp.sum((p - 2) ** 2) + jnp.sum(jnp.exp(-10 * jnp.sum((p - obst) ** 2, -1)))
            return jnp.concatenate([p, v]), c
        return lax.scan(step, jnp.zeros(4), us)[1].sum()

    def it(c, k):
        mu, sd = c
        us = mu + sd * random.normal(k, (256, 20, 2))
        J = jax.vmap(roll)(us)
        top = jnp.argsort(J)[:32]
        el = us[top]
        w = nn.softmax(-J / 5)
        mu = 0.5 * el.mean(0) + 0.5 * jnp.tensordot(w, us, 1)
        return (mu, el.std(0) + 0.05), J.min()
    return lax.scan(it, (jnp.zeros((20, 2)), jnp.ones((20, 2))), random.split(k, 4))


@program(lambda rng: (rng.uniforms(4096), rng.normals(4096, 12), key(173)), seed=17002)
def prioritized_replay_sumtree_sampling(lib, pr, data, k):
    """Draws by priority from sums, from a tree and by Gumbel noise."""
    jax, jnp, lax, random = lib.jax, lib.jnp, lib.lax, lib.random
    p = (pr + 1e-3) ** 0.6
    cs = jnp.cumsum(p)
    u = (jnp.arange(64) + random.uniform(k, (64,))) / 64 * cs[-1]
    idx = jnp.searchsorted(cs, u)
    w = (4096 * p[idx] / cs[-1]) ** -0.4
    w = w / w.max()
    levels = [p]
    while levels[-1].size > 1:
        levels.append(levels[-1].reshape(-1, 2).sum(1))

    def descend(v):
        i = 0
        for l in levels[-2::-1]:
            left = l[2 * i]
            go = v > left
            i, v = 2 * i + go, v - jnp.where(go, left, 0)
        return i
    i2 = jax.vmap(descend)(u * 0.999)
    gum = lax.top_k(jnp.log(p) + random.gumbel(random.fold_in(k, 3), p.shape), 16)[1]
    return data[idx], w, i2, gum, levels[-1]


@program(lambda rng: (
    mlp_params(rng, 11, 64, 64, 6), mlp_params(rng, 14, 64, 64, 1), mlp_params(rng, 14, 64, 64, 1),
    rng.normals(128, 11), key(174), np.float32(-1),
), seed=17003)
def sac_tanh_gaussian_actor_alpha_grad(lib, pi, q1, q2, obs, k, la):
    """A squashed Gaussian policy and its temperature."""
    jax, jnp, lax, nn, random = lib.jax, lib.jnp, lib.lax, lib.nn, lib.random

    def act(pi, obs, k):
        mu, ls = jnp.split(mlp(lib, pi, obs), 2, -1)
        ls = jnp.clip(ls, -5, 2)
        u = mu + jnp.exp(ls) * random.normal(k, mu.shape)
        lp = (-0.5 * ((u - mu) / jnp.exp(ls)) ** 2 - ls - 0.5 * jnp.log(2 * jnp.pi)).sum(-1)
        return jnp.tanh(u), lp - (2 * (jnp.log(2.0) - u - nn.softplus(-2 * u))).sum(-1)

    def loss(pi, la):
        a, lp = act(pi, obs, k)
        xa = jnp.concatenate([obs, a], -1)
        q = jnp.minimum(mlp(lib, q1, xa), mlp(lib, q2, xa))[:, 0]
        al = lax.stop_gradient(jnp.exp(la))
        return jnp.mean(al * lp - q) - la * lax.stop_gradient(jnp.mean(lp + 3)), (a, lp)
    return jax.value_and_grad(loss, (0, 1), has_aux=True)(pi, la)


@program(lambda rng: (
    rng.normals(40, 32), rng.normals(41, 32), rng.normals(40, 32, scale=.3),
    rng.uniforms(40, 32) < .05,
), seed=17005)
def impala_vtrace_returns(lib, rew, v, logrho, done):
    """Corrected returns by a scan and by an associative scan."""
    jnp, lax = lib.jnp, lib.lax
    g = 0.99 * (1.0 - done)
    rho = jnp.minimum(1.0, jnp.exp(logrho))
    delta = rho * (rew + g * v[1:] - v[:-1])
    # associative form of the linear recurrence, against the scan
    _, a = lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (g * rho, delta),
                                reverse=True)
    b = lax.scan(lambda c, x: ((x[0] + x[1] * c,) * 2), jnp.zeros(32), (delta, g * rho),
                 reverse=True)[1]
    vs = v[:-1] + b
    pg = rho * (rew + g * jnp.concatenate([vs[1:], v[-1:]]) - v[:-1])
    return vs, pg, a - b
