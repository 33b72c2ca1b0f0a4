"""Classical learning: clustering, regression, neighbours, embeddings."""

import numpy as np

from .catalogue import program
from .shared import cross_entropy, f32, key


def labelled_by_logistic(rng):
    X = rng.normals(300, 8)
    return X, (X @ rng.normal(size=8) + rng.logistic(size=300) > 0).astype(f32)


def linear_data(rng):
    X = rng.normals(400, 30)
    return X, (X @ rng.normal(size=30) + rng.normal(size=400)).astype(f32)


def three_clusters(rng):
    points = [rng.normals(500, 4) + 3, rng.normals(500, 4) - 2, rng.normals(500, 4) * 0.5]
    return np.concatenate(points), np.stack([np.full(4, v, f32) for v in (2, -1, 0.3)])


def four_clusters(rng):
    centres = rng.normal(size=(4, 3)) * 3
    X = np.concatenate([rng.normal(size=(600, 3)) * 0.5 + c for c in centres]).astype(f32)
    return X, X[::600].copy() + f32(0.3)


@program(lambda rng: (rng.normals(4000, 8) + 4 * rng.normals(4000, 1), rng.normals(16, 8)), seed=37)
def kmeans_lloyd(lib, x, c0):
    """Ten rounds of assignment and means."""
    jnp, lax, nn = lib.jnp, lib.lax, lib.nn

    def step(c, _):
        d = ((x[:, None] - c[None]) ** 2).sum(-1)
        a = jnp.argmin(d, 1)
        oh = nn.one_hot(a, c.shape[0])
        n = oh.sum(0)
        new = jnp.where(n[:, None] > 0, (oh.T @ x) / jnp.maximum(n, 1)[:, None], c)
        return new, d.min(1).sum()
    c, inertia = lax.scan(step, c0, None, length=10)
    return c, inertia


@program(lambda rng: (
    rng.normals(1000, 2) @ rng.normals(2, 4), rng.normals(4, 4), key(1),
), seed=3701)
def kmeans_plusplus_while(lib, x, c0, k):
    """Centres drawn far apart, then means until they rest."""
    jnp, lax, random, ops = lib.jnp, lib.lax, lib.random, lib.ops

    def pp(k):
        def body(i, s):
            c, d, k = s
            k, sk = random.split(k)
            j = random.choice(sk, x.shape[0], p=d / d.sum())
            c = c.at[i].set(x[j])
            return c, jnp.minimum(d, jnp.sum((x - x[j]) ** 2, 1)), k
        c = jnp.zeros((4, 4)).at[0].set(x[0])
        return lax.fori_loop(1, 4, body, (c, jnp.sum((x - x[0]) ** 2, 1), k))[0]

    def cond(s):
        return (s[1] > 1e-4) & (s[2] < 50)

    def body(s):
        c, _, it = s
        a = jnp.argmin(jnp.linalg.norm(x[:, None] - c, axis=-1), 1)
        n = ops.segment_sum(jnp.ones_like(a, x.dtype), a, 4)
        new = ops.segment_sum(x, a, 4) / jnp.maximum(n, 1)[:, None]
        return new, jnp.max(jnp.abs(new - c)), it + 1
    return lax.while_loop(cond, body, (pp(k), jnp.float32(jnp.inf), 0))


@program(lambda rng: (rng.normals(400, 64) * np.linspace(3, .1, 64, dtype=f32),), seed=3702)
def pca_svd_whitening(lib, x):
    """Principal components by singular values."""
    jnp = lib.jnp
    xc = x - x.mean(0)
    u, s, vt = jnp.linalg.svd(xc, full_matrices=False)
    sign = jnp.sign(vt[:, 0])
    return (s, jnp.abs(vt[:4]), (u * sign)[:, :8] @ jnp.diag(s[:8]),
            jnp.cumsum(s ** 2) / jnp.sum(s ** 2))


@program(lambda rng: (rng.normals(2000, 30), (rng.uniforms(2000) < 0.4).astype(f32)), seed=3703)
def logistic_regression_newton(lib, x, y):
    """Six Newton steps."""
    jnp, lax, nn = lib.jnp, lib.lax, lib.nn

    def body(w, _):
        pr = nn.sigmoid(x @ w)
        g = x.T @ (pr - y) + 1e-1 * w
        Hs = (x * (pr * (1 - pr))[:, None]).T @ x + 1e-1 * jnp.eye(x.shape[1])
        step = jnp.linalg.solve(Hs, g)
        return w - step, jnp.linalg.norm(g)
    return lax.scan(body, jnp.zeros(x.shape[1]), None, length=6)


@program(lambda rng: (rng.normals(600, 20), rng.ints(5, 600)), seed=3704)
def softmax_regression_lbfgs_two_loop(lib, x, y):
    """A quasi-Newton method with a line search, written out."""
    jax, jnp, lax, ravel_pytree = lib.jax, lib.jnp, lib.lax, lib.ravel_pytree
    M = 5
    w0 = jnp.zeros((20, 5))
    flat0, unravel = ravel_pytree({"w": w0, "b": jnp.zeros(5)})

    def loss(f):
        p = unravel(f)
        return cross_entropy(lib, x @ p["w"] + p["b"], y) + 1e-3 * jnp.sum(f ** 2)
    vg = jax.value_and_grad(loss)

    def direction(g, S, Y, n):
        def back(i, c):
            q, al = c
            j = (n - 1 - i) % M
            ok = i < jnp.minimum(n, M)
            rho = jnp.where(ok, 1 / (jnp.vdot(Y[j], S[j]) + 1e-12), 0.0)
            a = rho * jnp.vdot(S[j], q)
            return q - a * Y[j] * ok, al.at[j].set(a)
        q, al = lax.fori_loop(0, M, back, (g, jnp.zeros(M)))
        j = (n - 1) % M
        gam = jnp.where(n > 0, jnp.vdot(S[j], Y[j]) / (jnp.vdot(Y[j], Y[j]) + 1e-12), 1.0)

        def fwd(i, r_):
            m = jnp.minimum(n, M)
            j = (n - m + i) % M
            ok = i < m
            rho = jnp.where(ok, 1 / (jnp.vdot(Y[j], S[j]) + 1e-12), 0.0)
            b = rho * jnp.vdot(Y[j], r_)
            return r_ + S[j] * (al[j] - b) * ok
        return -lax.fori_loop(0, M, fwd, q * gam)

    def body(n, c):
        w, f, g, S, Y = c
        d = direction(g, S, Y, n)

        def lcond(s):
            return (loss(w + s * d) > f + 1e-4 * s * jnp.vdot(g, d)) & (s > 1e-6)
        s = lax.while_loop(lcond, lambda s: s * 0.5, jnp.float32(1.0))
        w2 = w + s * d
        f2, g2 = vg(w2)
        i = n % M
        return w2, f2, g2, S.at[i].set(w2 - w), Y.at[i].set(g2 - g)
    f, g = vg(flat0)
    n = flat0.shape[0]
    w, f, g, S, Y = lax.fori_loop(0, 15, body, (flat0, f, g, jnp.zeros((M, n)), jnp.zeros((M, n))))
    return unravel(w), f


@program(lambda rng: (
    rng.normals(2000, 50), np.sign(rng.normals(2000)).astype(f32), key(5),
), seed=3705)
def svm_pegasos_sgd(lib, x, y, k):
    """A linear machine trained example by example."""
    jnp, lax, random = lib.jnp, lib.lax, lib.random
    idx = random.permutation(k, x.shape[0])

    def step(c, i):
        w, t = c
        lr = 1.0 / (0.01 * t)
        xi, yi = x[i], y[i]
        m = yi * jnp.dot(w, xi)
        w = (1 - lr * 0.01) * w + jnp.where(m < 1, lr * yi, 0.0) * xi
        nrm = jnp.sqrt(jnp.sum(w * w))
        w = w * jnp.minimum(1.0, 10.0 / (nrm + 1e-9))
        return (w, t + 1), m
    (w, _), m = lax.scan(step, (jnp.zeros(50), jnp.float32(1)), idx)
    return w, jnp.mean(m < 1)


@program(lambda rng: (rng.normals(3000, 32), rng.ints(10, 3000), rng.normals(200, 32)), seed=3706)
def knn_pairwise_topk_vote(lib, x, y, q):
    """Nine neighbours vote by distance."""
    jnp, lax, nn = lib.jnp, lib.lax, lib.nn
    d2 = jnp.sum(q ** 2, 1)[:, None] - 2 * q @ x.T + jnp.sum(x ** 2, 1)
    nd, idx = lax.top_k(-d2, 9)
    votes = nn.one_hot(y[idx], 10) * jnp.exp(0.1 * nd)[..., None]
    return jnp.argmax(votes.sum(1), -1), jnp.sqrt(-nd)


@program(lambda rng: (rng.normals(300, 20), rng.normals(300, 2, scale=1e-1)), seed=3707)
def tsne_perplexity_search_and_grad(lib, x, y):
    """Widths by bisection, then a step of the embedding."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n = x.shape[0]
    d = jnp.sum((x[:, None] - x[None]) ** 2, -1)
    eye = jnp.eye(n, dtype=bool)
    target = jnp.log(30.0)

    def Hp(di, beta, i):
        p = jnp.where(jnp.arange(n) == i, 0.0, jnp.exp(-(di - di.min()) * beta))
        s = p.sum()
        p = p / s
        return -jnp.sum(jnp.where(p > 1e-12, p * jnp.log(jnp.maximum(p, 1e-12)), 0)), p

    def row(di, i):
        di = jnp.where(jnp.arange(n) == i, 1e4, di)

        def body(_, c):
            lo, hi = c
            mid = jnp.sqrt(lo * hi)
            h, _p = Hp(di, mid, i)
            return jnp.where(h > target, mid, lo), jnp.where(h > target, hi, mid)
        lo, hi = lax.fori_loop(0, 25, body, (jnp.float32(1e-4), jnp.float32(1e2)))
        return Hp(di, jnp.sqrt(lo * hi), i)[1]
    P = jax.vmap(row)(d, jnp.arange(n))
    P = (P + P.T) / (2 * n)

    def kl(y):
        q = jnp.where(eye, 0.0, 1 / (1 + jnp.sum((y[:, None] - y[None]) ** 2, -1)))
        Q = jnp.maximum(q / q.sum(), 1e-12)
        return jnp.sum(jnp.where(eye, 0.0, P * (jnp.log(jnp.maximum(P, 1e-12)) - jnp.log(Q))))
    l, g = jax.value_and_grad(kl)(y)
    return l, y - 50.0 * g


@program(linear_data, seed=6)
def ridge_path_ols(lib, X, y):
    """Ridge regression for forty penalties by singular values, and least squares by QR."""
    jax, jnp = lib.jax, lib.jnp
    n, p = X.shape
    mu, sd = X.mean(0), X.std(0)
    Z = (X - mu) / sd
    yc = y - y.mean()
    U, s, Vt = jnp.linalg.svd(Z, full_matrices=False)
    lams = jnp.logspace(-2, 4, 40)

    def one(lam):
        d = s / (s ** 2 + lam)
        beta = Vt.T @ (d * (U.T @ yc))
        dof = jnp.sum(s ** 2 / (s ** 2 + lam))
        res = yc - Z @ beta
        return beta, n * jnp.sum(res ** 2) / (n - dof) ** 2

    betas, gcv = jax.vmap(one)(lams)
    best = jnp.argmin(gcv)
    Q, Rm = jnp.linalg.qr(jnp.column_stack([jnp.ones(n), Z]))
    b = jax.scipy.linalg.solve_triangular(Rm, Q.T @ y)
    res = y - Q @ (Q.T @ y)
    s2 = res @ res / (n - p - 1)
    Ri = jax.scipy.linalg.solve_triangular(Rm, jnp.eye(p + 1))
    se = jnp.sqrt(s2 * jnp.sum(Ri ** 2, 1))
    return betas[best], gcv, b, se, b / se


@program(labelled_by_logistic, seed=3)
def logistic_irls(lib, X, y):
    """Weighted least squares until they rest, and the area under the curve."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    X1 = jnp.concatenate([jnp.ones((X.shape[0], 1)), X], 1)

    def body(s):
        w, _, i = s
        p = jax.nn.sigmoid(X1 @ w)
        W = p * (1 - p) + 1e-6
        H = (X1 * W[:, None]).T @ X1 + 1e-3 * jnp.eye(X1.shape[1])
        g = X1.T @ (y - p) - 1e-3 * w
        dw = jax.scipy.linalg.solve(H, g, assume_a="pos")
        return w + dw, jnp.max(jnp.abs(dw)), i + 1

    w, d, it = lax.while_loop(lambda s: (s[1] > 1e-4) & (s[2] < 30), body,
                              (jnp.zeros(X1.shape[1]), jnp.inf, 0))
    p = jax.nn.sigmoid(X1 @ w)
    order = jnp.argsort(-p)
    tpr = jnp.cumsum(y[order]) / y.sum()
    fpr = jnp.cumsum(1 - y[order]) / (1 - y).sum()
    return w, it, jnp.trapezoid(tpr, fpr)


@program(three_clusters, seed=12001)
def gmm_em_full_covariance(lib, x, mu0):
    """Three Gaussians fitted in ten rounds, by batched triangular solves."""
    jax, jnp, lax, nn, linalg = lib.jax, lib.jnp, lib.lax, lib.nn, lib.linalg

    def step(c, _):
        mu, S, pi = c
        Lc = jnp.linalg.cholesky(S)
        d = x[None] - mu[:, None]
        s = jax.vmap(lambda L, d: linalg.solve_triangular(L, d.T, lower=True).T)(Lc, d)
        lp = (-0.5 * jnp.sum(s ** 2, -1)
              - jnp.log(jnp.diagonal(Lc, axis1=1, axis2=2)).sum(-1)[:, None] + jnp.log(pi)[:, None])
        ll = nn.logsumexp(lp, 0)
        rs = jnp.exp(lp - ll)
        n = rs.sum(1)
        mu = rs @ x / n[:, None]
        d = x[None] - mu[:, None]
        S = jnp.einsum("kn,kni,knj->kij", rs, d, d) / n[:, None, None] + 1e-3 * jnp.eye(4)
        return (mu, S, n / x.shape[0]), ll.mean()
    return lax.scan(step, (mu0, jnp.stack([jnp.eye(4)] * 3), jnp.ones(3) / 3), None, length=10)


@program(four_clusters, seed=7)
def gmm_em(lib, X, mu0):
    """Four Gaussians fitted in fifteen rounds."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n, d = X.shape
    k = mu0.shape[0]

    def logpdf(mu, S):
        L = jnp.linalg.cholesky(S)
        z = jax.scipy.linalg.solve_triangular(L, (X - mu).T, lower=True)
        return (-0.5 * jnp.sum(z ** 2, 0) - jnp.sum(jnp.log(jnp.diag(L)))
                - d / 2 * jnp.log(2 * jnp.pi))

    def em(carry, _):
        pi, mu, S = carry
        lp = jax.vmap(logpdf)(mu, S).T + jnp.log(pi)
        ll = jax.nn.logsumexp(lp, axis=1, keepdims=True)
        r = jnp.exp(lp - ll)
        Nk = r.sum(0)
        mu = (r.T @ X) / Nk[:, None]
        diff = X[:, None, :] - mu
        S = jnp.einsum("nk,nki,nkj->kij", r, diff, diff) / Nk[:, None, None] + 1e-4 * jnp.eye(d)
        return (Nk / n, mu, S), ll.sum()

    out, lls = lax.scan(em, (jnp.full(k, 1 / k), mu0, jnp.tile(jnp.eye(d), (k, 1, 1))), None,
                        length=15)
    return out, lls


@program(lambda rng: (rng.normals(300, 8), rng.normals(300), key(207)), seed=20007)
def kernel_ridge_nystrom_cg_lanczos(lib, x, y, k):
    """Kernel regression by conjugate gradients and by landmarks."""
    jnp, lax, random = lib.jnp, lib.lax, lib.random
    idx = random.choice(k, 300, (40,), replace=False)
    rbf = lambda a, b: jnp.exp(-0.1 * jnp.sum((a[:, None] - b) ** 2, -1))
    K = rbf(x, x) + 0.5 * jnp.eye(300)
    cg = lib.module("scipy.sparse.linalg").cg
    a, _ = cg(lambda v: K @ v, y, tol=1e-6, maxiter=60)
    Kmm, Knm = rbf(x[idx], x[idx]), rbf(x, x[idx])
    b = jnp.linalg.lstsq(Knm.T @ Knm + 0.5 * Kmm + 1e-2 * jnp.eye(40), Knm.T @ y)[0]

    def lan(c, _):
        v0, v1, beta = c
        w = K @ v1 - beta * v0
        al = w @ v1
        w = w - al * v1
        bn = jnp.linalg.norm(w)
        return (v1, w / bn, bn), (al, bn)
    v = jnp.ones(300) / jnp.sqrt(300.0)
    _, (al, be) = lax.scan(lan, (jnp.zeros(300), v, 0.0), None, length=6)
    Tm = jnp.diag(al) + jnp.diag(be[:-1], 1) + jnp.diag(be[:-1], -1)
    return (a, Knm @ b, jnp.linalg.eigvalsh(Tm)[-1], jnp.linalg.matrix_rank(Kmm),
            jnp.linalg.cond(Kmm + jnp.eye(40)))
