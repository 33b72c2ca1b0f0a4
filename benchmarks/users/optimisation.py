"""Optimisation: quasi-Newton, direct search, convex programs, tours."""

import math

import numpy as np

from .catalogue import program
from .shared import f32, key, zeros


def sparse_regression(rng):
    A = rng.normals(200, 400)
    x = (rng.normal(size=400) * (rng.uniform(size=400) < 0.05)).astype(f32)
    return A, (A @ x).astype(f32)


def linear_program(rng):
    A = np.abs(rng.normal(size=(40, 80))).astype(f32)
    return A, (A @ np.ones(80)).astype(f32), rng.uniforms(80, lo=1, hi=2)


@program(lambda rng: (rng.normals(200, scale=0.5),), seed=30)
def lbfgs_rosenbrock(lib, x0):
    """A quasi-Newton method for 200 unknowns."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    f = lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    vg = jax.value_and_grad(f)
    m, n = 6, x0.shape[0]

    def direction(g, S, Y, rho, k):
        def b1(i, s):
            q, al = s
            j = (k - 1 - i) % m
            a = jnp.where(i < jnp.minimum(k, m), rho[j] * (S[j] @ q), 0.0)
            return q - a * Y[j], al.at[j].set(a)
        q, al = lax.fori_loop(0, m, b1, (g, jnp.zeros(m)))
        j = (k - 1) % m
        gam = jnp.where(k > 0, (S[j] @ Y[j]) / jnp.maximum(Y[j] @ Y[j], 1e-12), 1e-3)

        def b2(i, rr):
            j = (k - jnp.minimum(k, m) + i) % m
            b = jnp.where(i < jnp.minimum(k, m), rho[j] * (Y[j] @ rr), 0.0)
            return rr + jnp.where(i < jnp.minimum(k, m), al[j] - b, 0.0) * S[j]
        return -lax.fori_loop(0, m, b2, gam * q)

    def body(s):
        x, v, g, S, Y, rho, k = s
        d = direction(g, S, Y, rho, k)
        slope = g @ d
        t = lax.while_loop(lambda t: (f(x + t * d) > v + 1e-4 * t * slope) & (t > 1e-6),
                           lambda t: 0.5 * t, 1.0)
        xn = x + t * d
        vn, gn = vg(xn)
        sy = (xn - x) @ (gn - g)
        j = k % m
        S = S.at[j].set(xn - x)
        Y = Y.at[j].set(gn - g)
        rho = rho.at[j].set(jnp.where(sy > 1e-10, 1 / jnp.maximum(sy, 1e-10), 0.0))
        return xn, vn, gn, S, Y, rho, k + 1
    v, g = vg(x0)
    s = lax.while_loop(lambda s: (s[6] < 25), body,
                       (x0, v, g, jnp.zeros((m, n)), jnp.zeros((m, n)), jnp.zeros(m), 0))
    return s[1] < 0.2 * v, s[6]


@program(lambda rng: (rng.normals(64, 5, 4),), seed=3001)
def nelder_mead_vmap(lib, simp):
    """Sixty-four simplices at once."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    f = lambda x: jnp.sum((x - jnp.arange(4.0)) ** 2) + 0.3 * jnp.sum(jnp.cos(3 * x))

    def solve(sx):
        fx = jax.vmap(f)(sx)

        def step(s, _):
            sx, fx = s
            o = jnp.argsort(fx)
            sx, fx = sx[o], fx[o]
            c = sx[:-1].mean(0)
            xr = 2 * c - sx[-1]
            fr = f(xr)
            xe = 3 * c - 2 * sx[-1]
            xc = 0.5 * (c + sx[-1])
            case = jnp.select([fr < fx[0], fr < fx[-2]], [0, 1], 2)
            new = lax.switch(case, [lambda: jnp.where(f(xe) < fr, xe, xr), lambda: xr, lambda: xc])
            fn = f(new)
            shrink = (case == 2) & (fn >= fx[-1])
            ss = jnp.where(shrink, 0.5 * (sx + sx[0]), sx.at[-1].set(new))
            return (ss, jnp.where(shrink, jax.vmap(f)(ss), fx.at[-1].set(fn))), fx[0]
        (sx, fx), tr = lax.scan(step, (sx, fx), None, length=60)
        return fx.min(), tr
    best, tr = jax.vmap(solve)(simp)
    return best, tr[:, :20]


@program(lambda rng: (np.array([2, 5], np.uint32), np.zeros(20, f32) + f32(2)))
def cma_es(lib, key, m0):
    """Fifteen generations of an adapted Gaussian."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n, lam = 20, 24
    mu = lam // 2
    w = jnp.log(mu + 0.5) - jnp.log(jnp.arange(1, mu + 1))
    w = w / w.sum()
    mueff = 1 / jnp.sum(w ** 2)
    cc, cs = 4 / (n + 4), (mueff + 2) / (n + mueff + 5)
    c1, cmu = 2 / ((n + 1.3) ** 2 + mueff), 0.05
    damps = 1 + cs
    chiN = n ** 0.5 * (1 - 1 / (4 * n) + 1 / (21 * n ** 2))
    f = lambda X: jnp.sum(jnp.logspace(0, 3, n) * X ** 2, -1)

    def gen(s, k):
        m, C, sig, pc, ps = s
        D2, B = jnp.linalg.eigh(C)
        D = jnp.sqrt(jnp.maximum(D2, 1e-12))
        z = jax.random.normal(k, (lam, n))
        y = z * D @ B.T
        # sign-free: use the symmetric square root so both eigenbases agree
        y = z @ (B * D) @ B.T
        X = m + sig * y
        fx = f(X)
        idx = jnp.argsort(fx)[:mu]
        ysel = y[idx]
        yw = w @ ysel
        m = m + sig * yw
        ps = (1 - cs) * ps + jnp.sqrt(cs * (2 - cs) * mueff) * ((B / D) @ B.T @ yw)
        sig = sig * jnp.exp(cs / damps * (jnp.linalg.norm(ps) / chiN - 1))
        pc = (1 - cc) * pc + jnp.sqrt(cc * (2 - cc) * mueff) * yw
        C = ((1 - c1 - cmu) * C + c1 * jnp.outer(pc, pc)
             + cmu * jnp.einsum("k,ki,kj->ij", w, ysel, ysel))
        return (m, C, sig, pc, ps), fx.min()
    s, best = lax.scan(gen, (m0, jnp.eye(n), 0.5, jnp.zeros(n), jnp.zeros(n)),
                       jax.random.split(key, 15))
    return s[0], s[2], best


@program(lambda rng: (
    rng.normals(10), np.eye(10, dtype=f32), zeros(10), zeros(10), np.float32(.5), key(175),
), seed=17004)
def cma_es_generation_eigh(lib, m, C, ps, pc, sig, k):
    """One generation of the same, on Rosenbrock's function."""
    jax, jnp, random = lib.jax, lib.jnp, lib.random
    lam, mu, n = 24, 12, 10
    w = jnp.log(mu + 0.5) - jnp.log(jnp.arange(1, mu + 1))
    w = w / w.sum()
    me = 1 / jnp.sum(w ** 2)
    cs, ds = (me + 2) / (n + me + 5), 1 + (me + 2) / (n + me + 5)
    chi = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
    rosen = lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    a = C + 0.1 * jnp.diag(jnp.arange(10.0))
    d, Bq = jnp.linalg.eigh(a)
    Bq = Bq * jnp.sign(Bq[jnp.argmax(jnp.abs(Bq), 0), jnp.arange(10)])
    zz = random.normal(k, (lam, n))
    y = (zz * jnp.sqrt(d)) @ Bq.T
    f = jax.vmap(rosen)(m + sig * y)
    o_ = jnp.argsort(f)[:mu]
    yw = w @ y[o_]
    ps = (1 - cs) * ps + jnp.sqrt(cs * (2 - cs) * me) * (Bq @ ((Bq.T @ yw) / jnp.sqrt(d)))
    pc = 0.8 * pc + jnp.sqrt(0.36 * me) * yw
    C = 0.8 * a + 0.1 * jnp.outer(pc, pc) + 0.1 * jnp.einsum("i,ij,ik->jk", w, y[o_], y[o_])
    return (m + sig * yw, C, ps, pc, sig * jnp.exp(cs / ds * (jnp.linalg.norm(ps) / chi - 1)),
            f.min())


@program(lambda rng: (np.array([8, 5], np.uint32),))
def differential_evolution(lib, key):
    """Twenty-five generations on a function of many minima."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    NP_, d = 80, 12
    f = lambda X: 10 * d + jnp.sum(X ** 2 - 10 * jnp.cos(2 * jnp.pi * X), -1)
    k0, key = jax.random.split(key)
    X = jax.random.uniform(k0, (NP_, d), minval=-5.12, maxval=5.12)

    def gen(s, k):
        X, fx = s
        ka, kb, kc = jax.random.split(k, 3)
        perm = jax.vmap(lambda kk: jax.random.permutation(kk, NP_ - 1)[:3])(
            jax.random.split(ka, NP_))
        perm = perm + (perm >= jnp.arange(NP_)[:, None])
        a, b, c = X[perm[:, 0]], X[perm[:, 1]], X[perm[:, 2]]
        cross = jax.random.bernoulli(kb, 0.9, X.shape)
        jr = jax.random.randint(kc, (NP_,), 0, d)
        cross = cross | jax.nn.one_hot(jr, d, dtype=bool)
        V = jnp.clip(jnp.where(cross, a + 0.5 * (b - c), X), -5.12, 5.12)
        fv = f(V)
        keep = fv <= fx
        return ((jnp.where(keep[:, None], V, X), jnp.where(keep, fv, fx)),
                jnp.min(jnp.minimum(fv, fx)))
    (X, fx), best = lax.scan(gen, (X, f(X)), jax.random.split(key, 25))
    return fx, best


@program(sparse_regression, seed=3004)
def admm_lasso(lib, A, b):
    """Sparse regression by splitting."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    rho = 50.0
    L = jnp.linalg.cholesky(jnp.eye(A.shape[0]) + A @ A.T / rho)
    Atb = A.T @ b

    def solve(q):
        return q / rho - A.T @ jax.scipy.linalg.cho_solve((L, True), A @ q) / rho ** 2

    def step(s, _):
        z, u = s
        x = solve(Atb + rho * (z - u))
        xh = 1.6 * x + (1 - 1.6) * z
        v = xh + u
        zn = jnp.sign(v) * jnp.maximum(jnp.abs(v) - 5.0 / rho, 0)
        return ((zn, v - zn),
                (0.5 * jnp.sum((A @ zn - b) ** 2) + 5.0 * jnp.abs(zn).sum(),
                 jnp.linalg.norm(x - zn)))
    (z, _), h = lax.scan(step, (jnp.zeros(A.shape[1]), jnp.zeros(A.shape[1])), None, length=60)
    return z, h, jnp.sum(z != 0) > 0


@program(lambda rng: (rng.normals(150, 2), rng.normals(180, 2) + 1), seed=3005)
def sinkhorn_implicit_grad(lib, X, Y):
    """Transport between clouds of points, with the gradient of its cost."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    eps = 0.1

    def lse_step(C, f):
        g = -eps * jax.nn.logsumexp((f[:, None] - C) / eps - jnp.log(X.shape[0]), axis=0)
        return -eps * jax.nn.logsumexp((g[None] - C) / eps - jnp.log(Y.shape[0]), axis=1), g

    @jax.custom_vjp
    def pot(C):
        f = lax.fori_loop(0, 40, lambda i, f: lse_step(C, f)[0], jnp.zeros(C.shape[0]))
        return f, lse_step(C, f)[1]

    def fwd(C):
        o = pot(C)
        return o, (C, o)

    def bwd(res, ct):
        C, (f, g) = res
        Pm = jnp.exp((f[:, None] + g[None] - C) / eps - jnp.log(C.size))
        # envelope theorem: only valid for uniform cotangents
        return (Pm * (ct[0].mean() * C.shape[0]),)
    pot.defvjp(fwd, bwd)

    def cost(X):
        C = jnp.sum((X[:, None] - Y[None]) ** 2, -1)
        f, g = pot(C)
        return f.mean() + g.mean()
    v, gr = jax.value_and_grad(cost)(X)
    return v, gr


@program(lambda rng: (rng.uniforms(90, 2),), seed=3006)
def tsp_two_opt(lib, pts):
    """A tour from nearest neighbours, shortened by exchanges."""
    jnp, lax = lib.jnp, lib.lax
    n = pts.shape[0]
    D = jnp.linalg.norm(pts[:, None] - pts[None], axis=-1)

    def nn(s, _):
        cur, seen = s
        nxt = jnp.argmin(jnp.where(seen, jnp.inf, D[cur]))
        return (nxt, seen.at[nxt].set(True)), nxt
    _, tour = lax.scan(nn, (0, jnp.zeros(n, bool).at[0].set(True)), None, length=n - 1)
    tour = jnp.concatenate([jnp.zeros(1, tour.dtype), tour])
    I, J = jnp.indices((n, n))

    def body(s):
        t, _, k = s
        nx = jnp.roll(t, -1)
        dd = D[t[:, None], t[None]] + D[nx[:, None], nx[None]] - D[t, nx][:, None] - D[t, nx][None]
        dd = jnp.where(J > I + 1, dd, 0)
        m = jnp.argmin(dd)
        i, j = m // n, m % n
        best = dd.ravel()[m]
        pos = jnp.arange(n)
        rev = jnp.where((pos > i) & (pos <= j), i + 1 + j - pos, pos)
        return jnp.where(best < -1e-5, t[rev], t), best, k + 1
    t, _, k = lax.while_loop(lambda s: (s[1] < -1e-5) & (s[2] < 200), body, (tour, -1.0, 0))
    return t, D[t, jnp.roll(t, -1)].sum(), k


@program(linear_program, seed=3007)
def interior_point_lp(lib, A, b, c):
    """Eight steps of a linear program's predictor and corrector."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    m, n = A.shape

    def step(s, _):
        x, y, z = s
        rp, rd = b - A @ x, c - A.T @ y - z
        mu = x @ z / n
        d = x / z
        M = (A * d) @ A.T + 1e-5 * jnp.eye(m)
        F = jax.scipy.linalg.cho_factor(M)

        def direction(rc):
            dy = jax.scipy.linalg.cho_solve(F, rp + A @ (d * rd - rc / z))
            dz = rd - A.T @ dy
            return (rc - x * dz) / z, dy, dz

        def amax(v, dv):
            return jnp.minimum(1.0,
                               jnp.min(jnp.where(dv < 0, -v / jnp.where(dv < 0, dv, 1), jnp.inf)))
        dx, dy, dz = direction(-x * z)
        ap, ad = amax(x, dx), amax(z, dz)
        sig = (((x + ap * dx) @ (z + ad * dz)) / n / mu) ** 3
        dx, dy, dz = direction(sig * mu - x * z - dx * dz)
        ap, ad = 0.95 * amax(x, dx), 0.95 * amax(z, dz)
        return (x + ap * dx, y + ad * dy, z + ad * dz), (mu, c @ x)
    (x, y, z), h = lax.scan(step, (jnp.ones(n), jnp.zeros(m), jnp.ones(n)), None, length=8)
    return h[0], h[1], b @ y
