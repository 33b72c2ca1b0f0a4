"""Statistics: processes, hidden states, likelihoods, densities."""

import numpy as np

from .catalogue import program
from .shared import f32, zeros


def noisy_sine(rng):
    """Parameters of a kernel, points with values, and points to predict at."""
    X = rng.normals(200, 3)
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=200)
    params = {"log_ell": zeros(3), "log_sf": f32(0.1), "log_sn": f32(-1.5)}
    return params, X, y.astype(f32), rng.normals(100, 3)


def softmax_rows(a):
    return (np.exp(a) / np.exp(a).sum(-1, keepdims=True)).astype(f32)


def hidden_chain(rng):
    moves = rng.dirichlet(np.ones(12), 12).astype(f32)
    emissions = rng.dirichlet(np.ones(20), 12).astype(f32)
    return np.log(moves), np.log(emissions), rng.ints(20, 16, 150)


@program(lambda rng: (
    rng.normals(200, 3), rng.normals(200), zeros(3), np.float32(0.0), np.float32(-1.0),
), seed=120)
def gp_ard_marginal_likelihood_grad_predict(lib, x, y, ls, amp, noise):
    """A Gaussian process with a scale for each feature."""
    jax, jnp, linalg = lib.jax, lib.jnp, lib.linalg

    def K(ls, amp, a, b):
        d = (a[:, None] - b[None]) / jnp.exp(ls)
        return jnp.exp(amp) * jnp.exp(-0.5 * jnp.sum(d * d, -1))

    def nll(ls, amp, noise):
        C = K(ls, amp, x, x) + (jnp.exp(noise) + 1e-4) * jnp.eye(x.shape[0])
        Lc = jnp.linalg.cholesky(C)
        al = linalg.solve_triangular(Lc, y, lower=True)
        return 0.5 * jnp.sum(al ** 2) + jnp.sum(jnp.log(jnp.diag(Lc))) + 100 * jnp.log(2 * jnp.pi)
    l, g = jax.value_and_grad(nll, (0, 1, 2))(ls, amp, noise)
    C = K(ls, amp, x, x) + jnp.exp(noise) * jnp.eye(200)
    cf = linalg.cho_factor(C, lower=True)
    ks = K(ls, amp, x[:50] * 0.9, x)
    return (l, g, ks @ linalg.cho_solve(cf, y),
            jnp.exp(amp) - jnp.sum(ks * linalg.cho_solve(cf, ks.T).T, 1))


@program(noisy_sine)
def gp_regression(lib, params, X, y, Xs):
    """A Gaussian process: likelihood, gradient, mean and variance."""
    jax, jnp = lib.jax, lib.jnp

    def kernel(p, A, B):
        A = A / jnp.exp(p["log_ell"])
        B = B / jnp.exp(p["log_ell"])
        d2 = jnp.sum((A[:, None, :] - B[None, :, :]) ** 2, -1)
        return jnp.exp(2 * p["log_sf"]) * jnp.exp(-0.5 * d2)

    def nlml(p):
        n = X.shape[0]
        K = kernel(p, X, X) + (jnp.exp(2 * p["log_sn"]) + 1e-5) * jnp.eye(n)
        L = jnp.linalg.cholesky(K)
        alpha = jax.scipy.linalg.cho_solve((L, True), y)
        return (0.5 * y @ alpha + jnp.sum(jnp.log(jnp.diag(L)))
                + 0.5 * n * jnp.log(2 * jnp.pi)), (L, alpha)

    (val, (L, alpha)), g = jax.value_and_grad(nlml, has_aux=True)(params)
    Ks = kernel(params, X, Xs)
    mu = Ks.T @ alpha
    v = jax.scipy.linalg.solve_triangular(L, Ks, lower=True)
    var = jnp.exp(2 * params["log_sf"]) - jnp.sum(v ** 2, axis=0)
    return val, g, mu, var


@program(lambda rng: (
    softmax_rows(rng.normals(12, 12)), softmax_rows(rng.normals(12, 20)), rng.ints(20, 16, 60),
), seed=12002)
def hmm_baum_welch_step(lib, A, Bm, obs):
    """One round of estimation of a hidden Markov model."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn
    lA, lB = jnp.log(A), jnp.log(Bm)

    def fb(ob):
        e = lB[:, ob].T
        def fw(a, et):
            a = nn.logsumexp(a[:, None] + lA, axis=0) + et
            return a, a
        a0 = -jnp.log(12.0) + e[0]
        aT, al = lax.scan(fw, a0, e[1:])
        al = jnp.concatenate([a0[None], al])

        def bw(b, et):
            n = nn.logsumexp(lA + et + b, axis=1)
            return n, n
        _, be = lax.scan(bw, jnp.zeros(12), e[1:], reverse=True)
        be = jnp.concatenate([be, jnp.zeros((1, 12))])
        ll = nn.logsumexp(aT)
        g = jnp.exp(al + be - ll)
        xi = jnp.exp(al[:-1, :, None] + lA + (e[1:] + be[1:])[:, None] - ll).sum(0)
        return ll, g, xi
    ll, g, xi = jax.vmap(fb)(obs)
    xi = xi.sum(0)
    nB = jnp.zeros_like(Bm).T.at[obs.reshape(-1)].add(g.reshape(-1, 12)).T
    return ll, xi / xi.sum(1, keepdims=True), nB / nB.sum(1, keepdims=True)


@program(hidden_chain, seed=8)
def hmm_fb_viterbi(lib, logT, logE, obs):
    """Posteriors and best paths of sixteen hidden chains."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    k = logT.shape[0]

    def one(o):
        le = logE[:, o].T
        init = -jnp.log(k) + le[0]

        def f(a, e):
            a = jax.nn.logsumexp(a[:, None] + logT, axis=0) + e
            return a, a
        aT, al = lax.scan(f, init, le[1:])
        al = jnp.concatenate([init[None], al])

        def b(be, e):
            nb = jax.nn.logsumexp(logT + e + be, axis=1)
            return nb, nb
        _, be = lax.scan(b, jnp.zeros(k), le[1:], reverse=True)
        be = jnp.concatenate([be, jnp.zeros((1, k))])
        ll = jax.nn.logsumexp(aT)
        gamma = jnp.exp(al + be - ll)

        def v(d, e):
            s = d[:, None] + logT
            return s.max(0) + e, s.argmax(0)
        dT, bp = lax.scan(v, init, le[1:])
        last = jnp.argmax(dT)

        def back(s, p):
            return p[s], s
        first, path = lax.scan(back, last, bp, reverse=True)
        return ll, gamma, jnp.concatenate([first[None], path]), dT.max()

    return jax.vmap(one)(obs)


@program(lambda rng: (
    np.eye(4, dtype=f32) + 0.1 * np.eye(4, k=2, dtype=f32), rng.normals(2, 4), rng.normals(100, 2),
    np.float32(-2.0), np.float32(-1.0),
), seed=12003)
def kalman_filter_rts_smoother_loglik_grad(lib, A, C, ys, lq, lr):
    """Filter and smoother, with the gradient of the likelihood in the noises."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def filt(lq, lr):
        Q, Rr = jnp.exp(lq) * jnp.eye(4), jnp.exp(lr) * jnp.eye(2)

        def step(c, y):
            m, P, ll = c
            m, P = A @ m, A @ P @ A.T + Q
            S = C @ P @ C.T + Rr
            K = jnp.linalg.solve(S, C @ P).T
            e = y - C @ m
            ll = ll - 0.5 * (e @ jnp.linalg.solve(S, e) + jnp.linalg.slogdet(S)[1])
            m, P = m + K @ e, P - K @ S @ K.T
            P = 0.5 * (P + P.T)
            return (m, P, ll), (m, P)
        return lax.scan(step, (jnp.zeros(4), jnp.eye(4), 0.0), ys), Q
    ((_, _, ll), (ms, Ps)), Q = filt(lq, lr)

    def back(c, x):
        m2, P2 = c
        m, P = x
        Pp = A @ P @ A.T + Q
        G = jnp.linalg.solve(Pp, A @ P).T
        m = m + G @ (m2 - A @ m)
        P = P + G @ (P2 - Pp) @ G.T
        return (m, P), m
    _, sm = lax.scan(back, (ms[-1], Ps[-1]), (ms[:-1], Ps[:-1]), reverse=True)
    return ll, sm, jax.grad(lambda a, b: filt(a, b)[0][0][2], (0, 1))(lq, lr)


@program(lambda rng: (
    np.cumsum(rng.normal(size=(400, 2)), 0).astype(f32), f32(0.1), f32(1.0),
), seed=1)
def kalman_rts(lib, zs, dt, rr):
    """Filter and smoother of a track in the plane."""
    jnp, lax = lib.jnp, lib.lax
    F = jnp.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]], jnp.float32)
    F = F.at[0, 2].set(dt).at[1, 3].set(dt)
    H = jnp.eye(2, 4)
    Q = 0.1 * jnp.eye(4)
    Rm = rr * jnp.eye(2)

    def fwd(carry, z):
        m, C, ll = carry
        mp = F @ m
        Cp = F @ C @ F.T + Q
        S = H @ Cp @ H.T + Rm
        K = jnp.linalg.solve(S, H @ Cp).T
        e = z - H @ mp
        m = mp + K @ e
        I_KH = jnp.eye(4) - K @ H
        C = I_KH @ Cp @ I_KH.T + K @ Rm @ K.T
        _, ld = jnp.linalg.slogdet(S)
        ll = ll - 0.5 * (e @ jnp.linalg.solve(S, e) + ld + 2 * jnp.log(2 * jnp.pi))
        return (m, C, ll), (m, C, mp, Cp)

    (m, C, ll), (ms, Cs, mps, Cps) = lax.scan(fwd, (jnp.zeros(4), 10 * jnp.eye(4), 0.0), zs)

    def bwd(carry, x):
        ms_, Cs_ = carry
        m, C, mp, Cp = x
        G = jnp.linalg.solve(Cp, F @ C).T
        ms_ = m + G @ (ms_ - mp)
        Cs_ = C + G @ (Cs_ - Cp) @ G.T
        return (ms_, Cs_), (ms_, jnp.diag(Cs_))

    _, (sm, sv) = lax.scan(bwd, (m, C), (ms[:-1], Cs[:-1], mps[1:], Cps[1:]), reverse=True)
    return ll, sm, sv


@program(lambda rng: (
    rng.normals(64, 10), rng.weights(10, 3), rng.poisson(3.0, (64, 3)).astype(f32), zeros(3),
), seed=12005)
def zinb_count_regression_grad(lib, x, w, cnt, logr):
    """Counts with too many zeros, with Hessian and special functions."""
    jax, jnp, nn, special = lib.jax, lib.jnp, lib.nn, lib.special

    def f(w, logr):
        mu = jnp.exp(x @ w)
        rr = jnp.exp(logr)
        ll = (special.gammaln(cnt + rr) - special.gammaln(rr) - special.gammaln(cnt + 1)
              + rr * jnp.log(rr / (rr + mu)) + cnt * jnp.log(mu / (rr + mu)))
        zi = jnp.logaddexp(jnp.log(0.1), jnp.log(0.9) + ll)
        return -jnp.mean(jnp.where(cnt == 0, zi, jnp.log(0.9) + ll))
    l, g = jax.value_and_grad(f, (0, 1))(w, logr)
    return (l, g, jax.hessian(f, 1)(w, logr), special.digamma(cnt + 1.5),
            special.betainc(2.0, 3.0, nn.sigmoid(x)))


@program(lambda rng: (rng.dirichlet(np.linspace(.5, 4, 64), 400).astype(f32),), seed=220)
def dirichlet_mle_newton_trigamma(lib, p):
    """A Dirichlet distribution fitted by Newton's method."""
    jnp, lax, special = lib.jnp, lib.lax, lib.special
    s = jnp.log(p + 1e-8).mean(0)

    def step(a, _):
        g = special.digamma(a.sum()) - special.digamma(a) + s
        q = -special.polygamma(1, a)
        zc = special.polygamma(1, a.sum())
        b = jnp.sum(g / q) / (1 / zc + jnp.sum(1 / q))
        return jnp.maximum(a - (g - b) / q, 1e-2), jnp.abs(g).max()
    return lax.scan(step, jnp.ones(64), None, length=10)


@program(lambda rng: (
    rng.normals(4000, 8, scale=.3), rng.uniforms(4000, lo=.1, hi=4), rng.uniforms(4000) < .3,
    rng.normals(8, scale=.2),
), seed=22001)
def gamma_survival_censored_loglik_grad(lib, x, t, cens, w):
    """Survival times, some of them cut off, and the gradient in weights."""
    jax, jnp, special = lib.jax, lib.jnp, lib.special

    def f(w, la):
        a, rate = jnp.exp(la), jnp.exp(x @ w)
        dens = a * jnp.log(rate) + (a - 1) * jnp.log(t) - rate * t - special.gammaln(a)
        surv = jnp.log(special.gammaincc(a, rate * t) + 1e-12)
        return -jnp.mean(jnp.where(cens, surv, dens))
    return jax.value_and_grad(f)(w, jnp.float32(.4))


@program(lambda rng: (
    rng.normals(500, 6, scale=.3), rng.uniforms(500, lo=.2, hi=4), rng.uniforms(500) < .3,
    rng.normals(6, scale=.2),
), seed=22002)
def gamma_survival_shape_gradient(lib, x, t, cens, w):
    """The gradient in the shape, through the incomplete gamma function."""
    jax, jnp, special = lib.jax, lib.jnp, lib.special

    def f(la):
        a, rate = jnp.exp(la), jnp.exp(x @ w)
        dens = a * jnp.log(rate) + (a - 1) * jnp.log(t) - rate * t - special.gammaln(a)
        return -jnp.mean(jnp.where(cens, jnp.log(special.gammaincc(a, rate * t) + 1e-12), dens))
    return jax.value_and_grad(f)(jnp.float32(.4))


@program(lambda rng: (
    rng.vonmises(1.0, 3.0, 4000).astype(f32), rng.zipf(2.2, 3000).clip(1, 10**6).astype(f32),
), seed=22004, rtol=2e-2)
def vonmises_mixture_em_zipf_mle_grad(lib, th, zc):
    """Angles from two directions, and a power law by the zeta function."""
    jnp, lax, nn, special = lib.jnp, lib.lax, lib.nn, lib.special

    def step(c, _):
        mu, kap, pi = c
        lp = (jnp.log(pi) + kap * (jnp.cos(th[:, None] - mu) - 1)
              - jnp.log(2 * jnp.pi * special.i0e(kap)))
        ll = nn.logsumexp(lp, 1, keepdims=True)
        rs = jnp.exp(lp - ll)
        n = rs.sum(0)
        C, S = (rs * jnp.cos(th)[:, None]).sum(0), (rs * jnp.sin(th)[:, None]).sum(0)
        Rb = jnp.hypot(C, S) / n
        for _ in range(2):
            A = special.i1e(kap) / special.i0e(kap)
            kap = kap - (A - Rb) / (1 - A * A - A / kap)
        return (jnp.arctan2(S, C), jnp.clip(kap, .1, 50), n / th.size), ll.mean()
    em = lax.scan(step, (jnp.array([0., 2.]), jnp.ones(2), jnp.ones(2) / 2), None, length=8)
    nll = lambda s: jnp.mean(s * jnp.log(zc)) + jnp.log(special.zeta(s, 1.0))
    h = 1e-2
    return em, nll(2.2), (nll(2.2 + h) - nll(2.2 - h)) / (2 * h), special.zeta(jnp.float32(2.2), zc)


@program(lambda rng: (rng.normals(2000, 2), rng.normals(400, 2)), seed=502)
def kde_mutual_info(lib, data, q):
    """A density by kernels, and what two columns say of each other."""
    jax, jnp = lib.jax, lib.jnp
    n, d = data.shape
    cov = jnp.cov(data, rowvar=False) * n ** (-2.0 / (d + 4))
    L = jnp.linalg.cholesky(cov)
    w = jax.scipy.linalg.solve_triangular(L, data.T, lower=True)
    v = jax.scipy.linalg.solve_triangular(L, q.T, lower=True)
    d2 = jnp.sum((v[:, :, None] - w[:, None, :]) ** 2, 0)
    logpdf = (jax.scipy.special.logsumexp(-0.5 * d2, axis=1) - jnp.log(n)
              - jnp.log(jnp.diag(L)).sum() - d / 2 * jnp.log(2 * jnp.pi))
    h, ex, ey = jnp.histogram2d(data[:, 0], data[:, 1], bins=24, range=[[-3, 3], [-3, 3]])
    p = h / h.sum()
    px, py = p.sum(1, keepdims=True), p.sum(0, keepdims=True)
    mi = jnp.sum(jnp.where(p > 0, p * jnp.log(jnp.where(p > 0, p / (px * py), 1.0)), 0.0))
    return logpdf, h, mi, ex


@program(lambda rng: (
    np.repeat(rng.normal(size=8) * 3, 60).astype(f32) + rng.normals(480),
), seed=9)
def changepoint_dp(lib, x):
    """Where the mean of a series changes, by dynamic programming."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n = x.shape[0]
    c1 = jnp.concatenate([jnp.zeros(1), jnp.cumsum(x)])
    c2 = jnp.concatenate([jnp.zeros(1), jnp.cumsum(x * x)])
    pen = 3.0 * jnp.log(n)
    idx = jnp.arange(n + 1)

    def step(F, t):
        m = jnp.maximum(t - idx, 1)
        cost = (c2[t] - c2) - (c1[t] - c1) ** 2 / m
        tot = jnp.where(idx < t, F + cost + pen, jnp.inf)
        j = jnp.argmin(tot)
        return F.at[t].set(tot[j]), j

    F, prev = lax.scan(step, jnp.zeros(n + 1).at[0].set(-pen), jnp.arange(1, n + 1))

    def back(s):
        t, mask = s
        t2 = prev[t - 1]
        return t2, mask.at[t2].set(True)

    _, mask = lax.while_loop(lambda s: s[0] > 0, back, (jnp.int32(n), jnp.zeros(n + 1, bool)))
    seg = jnp.cumsum(mask[:n]) - 1
    means = (jax.ops.segment_sum(x, seg, 32)
             / jnp.maximum(jax.ops.segment_sum(jnp.ones(n), seg, 32), 1))
    return F[-1], mask, means[seg]
