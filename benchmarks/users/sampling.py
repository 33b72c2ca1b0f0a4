"""Sampling: Markov chains, particles, resampling, variational inference."""

import numpy as np

from .catalogue import program
from .shared import f32, key


def labelled_by_logistic(rng):
    X = rng.normals(300, 8)
    t = (X @ rng.normal(size=8) + rng.logistic(size=300) > 0).astype(f32)
    return np.array([1, 2], np.uint32), X, t


def changing_volatility(rng):
    returns = rng.normal(size=120) * np.exp(0.5 * np.sin(np.arange(120) / 8))
    return returns.astype(f32), np.array([0, 7], np.uint32)


def correlated_pairs(rng):
    pairs = rng.multivariate_normal([0, 1], [[1, 0.6], [0.6, 2]], 300)
    return np.array([9, 9], np.uint32), pairs.astype(f32)


@program(lambda rng: (
    rng.normals(200, 5), (rng.uniforms(200) < .5).astype(f32), key(124),
), seed=12004)
def hmc_logistic_chains_vmap(lib, x, y, k):
    """Eight Hamiltonian chains for a logistic model."""
    jax, jnp, lax, nn, random = lib.jax, lib.jnp, lib.lax, lib.nn, lib.random

    def lp(w):
        lg = x @ w
        return (jnp.sum(y * nn.log_sigmoid(lg) + (1 - y) * nn.log_sigmoid(-lg))
                - 0.5 * jnp.sum(w * w))
    glp = jax.grad(lp)

    def chain(k):
        def step(c, k):
            w, acc = c
            k1, k2 = random.split(k)
            p0 = random.normal(k1, w.shape)
            def leap(_, s):
                w, p = s
                p = p + 0.05 * glp(w)
                w = w + 0.1 * p
                return w, p + 0.05 * glp(w)
            w2, p = lax.fori_loop(0, 5, leap, (w, p0))
            a = lp(w2) - 0.5 * p @ p - lp(w) + 0.5 * p0 @ p0
            ok = jnp.log(random.uniform(k2)) < a
            w = jnp.where(ok, w2, w)
            return (w, acc + ok), w
        (_, acc), ws = lax.scan(step, (jnp.zeros(5), 0), random.split(k, 15))
        return acc, ws
    return jax.vmap(chain)(random.split(k, 8))


@program(labelled_by_logistic, seed=3)
def hmc_logistic_chains(lib, key, A, t):
    """Sixteen Hamiltonian chains, and how well they agree."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def logp(w):
        z = A @ w
        return jnp.sum(t * z - jax.nn.softplus(z)) - 0.5 * jnp.sum(w ** 2)

    def sample(w, key):
        k1, k2 = jax.random.split(key)
        p = jax.random.normal(k1, w.shape)
        eps, L = 0.08, 6

        def leap(i, s):
            q, p = s
            p = p + 0.5 * eps * jax.grad(logp)(q)
            q = q + eps * p
            p = p + 0.5 * eps * jax.grad(logp)(q)
            return q, p

        qn, pn = lax.fori_loop(0, L, leap, (w, p))
        dH = logp(qn) - logp(w) - 0.5 * jnp.sum(pn ** 2) + 0.5 * jnp.sum(p ** 2)
        acc = jnp.log(jax.random.uniform(k2)) < dH
        return jnp.where(acc, qn, w), (jnp.where(acc, qn, w), acc)

    def chain(key):
        return lax.scan(sample, jnp.zeros(A.shape[1]), jax.random.split(key, 10))[1]

    qs, acc = jax.vmap(chain)(jax.random.split(key, 16))
    m = qs.mean(1)
    within = qs.var(1, ddof=1).mean(0)
    between = m.var(0, ddof=1)
    return m.mean(0), acc.mean(), jnp.sqrt((within + between) / within)


@program(lambda rng: (np.array([3, 4], np.uint32), rng.normals(512, 2)), seed=301)
def metropolis_banana(lib, key, x0):
    """Five hundred walkers on a bent density."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def logp(x):
        return -0.5 * (x[..., 0] ** 2 / 4 + (x[..., 1] - 0.5 * x[..., 0] ** 2 + 2) ** 2)

    def body(state, key):
        x, lp, n = state
        kp, ka = jax.random.split(key)
        prop = x + 0.8 * jax.random.normal(kp, x.shape)
        lpp = logp(prop)
        a = jnp.log(jax.random.uniform(ka, lp.shape)) < lpp - lp
        x = jnp.where(a[:, None], prop, x)
        return (x, jnp.where(a, lpp, lp), n + a), (x.mean(0), jnp.cov(x.T))

    (x, lp, n), (means, covs) = lax.scan(
        body, (x0, logp(x0), jnp.zeros(x0.shape[0], jnp.int32)), jax.random.split(key, 150))
    return x, n, means[-50:].mean(0), covs[-50:].mean(0)


@program(lambda rng: (key(42), rng.choice(np.array([-1, 1], np.int8), (96, 96))), seed=4)
def ising_checkerboard(lib, key, spins):
    """Spins flipped on alternate squares."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    ii, jj = jnp.indices(spins.shape)
    black = (ii + jj) % 2 == 0
    beta = 0.44

    def half(s, mask, k):
        nb = sum(jnp.roll(s, sh, ax) for sh in (1, -1) for ax in (0, 1)).astype(jnp.int32)
        p = jax.nn.sigmoid(2.0 * beta * nb)
        new = jnp.where(jax.random.uniform(k, s.shape) < p, 1, -1).astype(jnp.int8)
        return jnp.where(mask, new, s)

    def sweep(s, k):
        k1, k2 = jax.random.split(k)
        s = half(s, black, k1)
        s = half(s, ~black, k2)
        E = -jnp.sum(s * (jnp.roll(s, 1, 0) + jnp.roll(s, 1, 1)).astype(jnp.int32))
        return s, (jnp.mean(s.astype(jnp.float32)), E)

    s, (m, E) = lax.scan(sweep, spins, jax.random.split(key, 40))
    return s, m, E


@program(changing_volatility, seed=2, loose=1.0)
def particle_filter_sv(lib, obs, key):
    """Particles that follow a changing volatility, drawn anew when few count."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    N = 2000

    def step(carry, inp):
        x, ll = carry
        y, k = inp
        k1, k2 = jax.random.split(k)
        x = 0.95 * x + 0.25 * jax.random.normal(k1, (N,))
        logw = -0.5 * (x + y ** 2 * jnp.exp(-x))
        lse = jax.nn.logsumexp(logw)
        w = jnp.exp(logw - lse)
        ess = 1.0 / jnp.sum(w ** 2)
        u = (jnp.arange(N) + jax.random.uniform(k2)) / N
        idx = jnp.clip(jnp.searchsorted(jnp.cumsum(w), u), 0, N - 1)
        x = lax.cond(ess < 0.9 * N, lambda: x[idx], lambda: x)
        return (x, ll + lse - jnp.log(N)), (jnp.mean(x), ess)

    x0 = jax.random.normal(jax.random.fold_in(key, 1), (N,))
    (x, ll), (means, ess) = lax.scan(step, (x0, 0.0), (obs, jax.random.split(key, obs.shape[0])))
    return ll, means, ess


@program(lambda rng: (rng.normals(100, 2), rng.normals(100, 2) + 3), seed=12007)
def svgd_median_heuristic_and_sliced_wasserstein(lib, x, tgt):
    """Particles moved by a kernel, and a distance by sorted projections."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def logp(x):
        return nn.logsumexp(jnp.array([-0.5 * jnp.sum((x - 2) ** 2), -0.5 * jnp.sum((x + 2) ** 2)]))

    def step(x, _):
        d2 = jnp.sum((x[:, None] - x[None]) ** 2, -1)
        h = jnp.median(d2) / jnp.log(x.shape[0])
        K = jnp.exp(-d2 / h)
        g = jax.vmap(jax.grad(logp))(x)
        gk = -2 / h * (K @ x - K.sum(1)[:, None] * x)
        return x + 0.1 * (K @ g + gk) / x.shape[0], h
    x, hs = lax.scan(step, x, None, length=10)
    th = jnp.linspace(0, jnp.pi, 32, endpoint=False)
    P = jnp.stack([jnp.cos(th), jnp.sin(th)])
    sw = lambda x: jnp.mean((jnp.sort(x @ P, 0) - jnp.sort(tgt @ P, 0)) ** 2)
    return x, hs, jax.value_and_grad(sw)(x)


@program(lambda rng: (rng.normals(6, 30, 30), rng.normals(30), key(204)), seed=20004)
def bayesian_linear_vi_reparam_natural_grad(lib, Xs, y, k):
    """A Gaussian fitted to a posterior, and log-densities."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn
    random, tree_map = lib.random, lib.tree_map
    X = Xs[0]

    def elbo(q, k):
        m, Lp = q
        Lt = jnp.tril(Lp, -1) + jnp.diag(nn.softplus(jnp.diag(Lp)))
        e = random.normal(k, (8, 30))
        w = m + e @ Lt.T
        ll = jnp.sum(-0.5 * (y - w @ X.T) ** 2, -1)
        S = Lt @ Lt.T
        kl = 0.5 * (jnp.trace(S) + m @ m - 30) - jnp.sum(jnp.log(jnp.diag(Lt)))
        return -(ll.mean() - kl)

    def step(q, k):
        l, g = jax.value_and_grad(elbo)(q, k)
        return tree_map(lambda a, b: a - 1e-3 * b, q, g), l
    q, ls = lax.scan(step, (jnp.zeros(30), 0.1 * jnp.eye(30)), random.split(k, 8))
    st = lib.module("scipy.stats")
    return (q, ls, st.norm.logpdf(y, 0.1, 2.0), st.t.logpdf(y, 3.0),
            st.gamma.logpdf(jnp.abs(y), 2.0),
            st.multivariate_normal.logpdf(Xs[1, :, :3], jnp.zeros(3), jnp.eye(3) * 2))


@program(lambda rng: (
    rng.normals(8, scale=.3) + 1, rng.normals(8, scale=.3) + 1, rng.uniforms(32, 8) < .7, key(223),
), seed=22003)
def beta_bernoulli_implicit_reparam_vi(lib, la, lb, y, k):
    """Beta posteriors fitted through derivatives of their draws."""
    jax, jnp, lax, random = lib.jax, lib.jnp, lib.lax, lib.random
    special, tree_map = lib.special, lib.tree_map
    n1, n0 = y.sum(0).astype(jnp.float32), (~y).sum(0).astype(jnp.float32)

    def elbo(q, k):
        a, b = jnp.exp(q[0]), jnp.exp(q[1])
        th = jnp.clip(random.beta(k, a, b, (16, 8)), 1e-4, 1 - 1e-4)
        lq = (a - 1) * jnp.log(th) + (b - 1) * jnp.log1p(-th) - special.betaln(a, b)
        return jnp.mean(jnp.sum(lq - n1 * jnp.log(th) - n0 * jnp.log1p(-th), -1))

    def step(q, k):
        l, g = jax.value_and_grad(elbo)(q, k)
        return tree_map(lambda a, g: a - 0.02 * g, q, g), l
    return lax.scan(step, (la, lb), random.split(k, 3))


@program(lambda rng: (rng.uniforms(16, 20, lo=.1, hi=3), key(205)), seed=20005)
def lda_gibbs_like_random_families(lib, alpha, k):
    """Draws of many families, as in a topic model."""
    jax, jnp, random = lib.jax, lib.jnp, lib.random
    ks = random.split(k, 10)
    th = random.dirichlet(ks[0], alpha)
    zt = jax.vmap(lambda k,
                  p: random.categorical(k, jnp.log(p), shape=(50,)))(random.split(ks[1], 16), th)
    cnt = jax.vmap(lambda zz: jnp.bincount(zz, length=20))(zt)
    g = random.gamma(ks[2], alpha)
    gr = jax.grad(lambda a: jnp.sum(random.gamma(ks[2], a)))(alpha)
    po = random.poisson(ks[3], alpha * 4)
    ch = random.choice(ks[4], 100, (16,), replace=False)
    tn = random.truncated_normal(ks[5], -1.0, 2.0, (64,))
    mv = random.multivariate_normal(ks[6], jnp.zeros(3), jnp.eye(3) + 0.3, (32,))
    return (th, zt, cnt, g, gr, po, ch, tn, mv, random.laplace(ks[7], (8,)),
            random.orthogonal(ks[8], 5) ** 2, random.ball(ks[9], 3, 2.0, (4,)))


@program(lambda rng: (rng.normals(64, 8), key(225)), seed=22005)
def simulation_based_inference_count_models(lib, w, k):
    """Counts of several kinds drawn from random rates."""
    jnp, nn, random, special = lib.jnp, lib.nn, lib.random, lib.special
    ks = random.split(k, 6)
    lam = jnp.exp(0.3 * w) * 3
    po = random.poisson(ks[0], lam)
    nb = random.poisson(ks[1], lam * random.gamma(ks[2], 2.0, lam.shape) / 2)
    bi = random.binomial(ks[3], 20.0, nn.sigmoid(w))
    ge = random.geometric(ks[4], nn.sigmoid(w) * .8 + .1)
    t = random.t(ks[5], 4.0, (64,))
    return (po, nb, bi, ge, jnp.mean((po - lam) ** 2), t, special.gammainc(po + 1.0, lam),
            special.ndtri(nn.sigmoid(w)), special.log_ndtr(w * 3))


@program(correlated_pairs, seed=5)
def bootstrap_ci(lib, key, xy):
    """Intervals of three statistics from 400 resamples."""
    jax, jnp = lib.jax, lib.jnp
    n = xy.shape[0]

    def stat(k):
        idx = jax.random.randint(k, (n,), 0, n)
        d = xy[idx]
        c = jnp.corrcoef(d.T)[0, 1]
        return jnp.stack([c, jnp.median(d[:, 0]), d[:, 1].std(ddof=1)])

    b = jax.vmap(stat)(jax.random.split(key, 400))
    return jnp.percentile(b, jnp.array([2.5, 50.0, 97.5]), axis=0), b.mean(0)


@program(lambda rng: (
    np.array([5, 6], np.uint32), rng.normals(150), (rng.normal(size=120) + 0.2).astype(f32),
), seed=501)
def permutation_test(lib, key, a, b):
    """A difference of means against 500 shuffles, and ranks."""
    jax, jnp = lib.jax, lib.jnp
    z = jnp.concatenate([a, b])
    na = a.shape[0]
    obs = a.mean() - b.mean()

    def one(k):
        p = jax.random.permutation(k, z)
        return p[:na].mean() - p[na:].mean()

    d = jax.vmap(one)(jax.random.split(key, 500))
    ranks = jnp.argsort(jnp.argsort(z)) + 1
    U = jnp.sum(ranks[:na]) - na * (na + 1) / 2
    return obs, jnp.mean(jnp.abs(d) >= jnp.abs(obs)), U, jnp.sort(d)[::50]
