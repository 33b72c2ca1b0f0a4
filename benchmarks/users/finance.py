"""Finance: options, curves, volatility."""

import numpy as np

from .catalogue import program
from .shared import f32


@program(lambda rng: (np.array([1, 9], np.uint32), f32(100), f32(0.2), f32(0.03)))
def longstaff_schwartz(lib, key, S0, sig, rate):
    """An American option by regression along paths."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n, T = 8000, 25
    dt = 1.0 / T
    z = jax.random.normal(key, (T, n // 2))
    z = jnp.concatenate([z, -z], 1)
    S = S0 * jnp.exp(jnp.cumsum((rate - 0.5 * sig ** 2) * dt + sig * jnp.sqrt(dt) * z, 0))
    pay = lambda s: jnp.maximum(100.0 - s, 0)

    def back(v, s):
        v = v * jnp.exp(-rate * dt)
        itm = s < 100.0
        x = s / 100.0 - 1
        B = jnp.stack([jnp.ones_like(x), x, x ** 2, x ** 3], 1)
        Bw = B * itm[:, None]
        coef = jnp.linalg.solve(Bw.T @ Bw + 1e-3 * jnp.eye(4), Bw.T @ v)
        cont = B @ coef
        ex = itm & (pay(s) > cont)
        return jnp.where(ex, pay(s), v), ex.mean()
    v, ex = lax.scan(back, pay(S[-1]), S[:-1], reverse=True)
    v = v * jnp.exp(-rate * dt)
    return v.mean(), jnp.sum(ex) > 0


@program(lambda rng: (
    np.array([3, 9], np.uint32),
    {"v0": f32(0.04), "kappa": f32(1.5), "theta": f32(0.04), "xi": f32(0.3), "rho": f32(-0.7)},
))
def heston_greeks(lib, key, p):
    """Options under random volatility, with all first derivatives."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n, T = 4000, 40
    dt = 1.0 / T
    K = jnp.linspace(80.0, 120.0, 9)

    def price(S0, p):
        def step(s, k):
            x, v, avg = s
            z = jax.random.normal(k, (2, n))
            zs = p["rho"] * z[0] + jnp.sqrt(1 - p["rho"] ** 2) * z[1]
            vp = jnp.maximum(v, 1e-6)
            x = x - 0.5 * vp * dt + jnp.sqrt(vp * dt) * zs
            v = v + p["kappa"] * (p["theta"] - vp) * dt + p["xi"] * jnp.sqrt(vp * dt) * z[0]
            return (x, v, avg + jnp.exp(x) / T), None
        x0 = jnp.log(S0) * jnp.ones(n)
        (x, v, avg), _ = lax.scan(step, (x0, p["v0"] * jnp.ones(n), jnp.zeros(n)),
                                  jax.random.split(key, T))
        euro = jnp.mean(jnp.maximum(jnp.exp(x)[:, None] - K, 0), 0)
        asian = jnp.mean(jnp.maximum(avg - 100.0, 0))
        return asian, euro
    (asian, euro), (delta, dp) = jax.value_and_grad(price, argnums=(0, 1), has_aux=True)(100.0, p)
    return asian, euro, delta, dp


@program(lambda rng: (
    rng.uniforms(256, lo=80, hi=120), rng.uniforms(256, lo=0.1, hi=0.5),
), seed=3010)
def american_binomial_vmap(lib, K, sig):
    """256 options on trees of 128 steps."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    N, T, rr, S0 = 128, 1.0, 0.05, 100.0

    def price(K, sig):
        dt = T / N
        u = jnp.exp(sig * jnp.sqrt(dt))
        p = (jnp.exp(rr * dt) - 1 / u) / (u - 1 / u)
        j = jnp.arange(N + 1)
        V = jnp.maximum(K - S0 * u ** (2.0 * j - N), 0)

        def body(i, V):
            n = N - 1 - i
            S = S0 * u ** (2.0 * j - n)
            cont = jnp.exp(-rr * dt) * (p * jnp.roll(V, -1) + (1 - p) * V)
            return jnp.where(j <= n, jnp.maximum(cont, K - S), 0.0)
        return lax.fori_loop(0, N, body, V)[0]
    return jax.vmap(price)(K, sig)


@program(lambda rng: (
    rng.uniforms(20000, lo=70, hi=130), rng.uniforms(20000, lo=0.1, hi=2),
    rng.uniforms(20000, lo=0.1, hi=0.6),
), seed=3011)
def implied_vol_greeks(lib, K, T, sig):
    """Volatilities from prices, and first and second derivatives."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    N = jax.scipy.stats.norm.cdf

    def bs(S, K, T, s, rr):
        d1 = (jnp.log(S / K) + (rr + s * s / 2) * T) / (s * jnp.sqrt(T))
        d2 = d1 - s * jnp.sqrt(T)
        return S * N(d1) - K * jnp.exp(-rr * T) * N(d2)
    px = bs(100.0, K, T, sig, 0.02)

    def iv(p, K, T):
        vega = jax.grad(bs, 3)

        def body(_, s):
            s = s - (bs(100.0, K, T, s, 0.02) - p) / jnp.maximum(vega(100.0, K, T, s, 0.02), 1.0)
            return jnp.clip(s, 0.01, 2.0)
        return lax.fori_loop(0, 8, body, 0.35)
    vols = jax.vmap(iv)(px, K, T)
    g = jax.vmap(jax.grad(bs, (0, 2, 3, 4)), (None, 0, 0, 0, None))(100.0, K, T, sig, 0.02)
    gamma = jax.vmap(jax.grad(jax.grad(bs)), (None, 0, 0, 0, None))(100.0, K, T, sig, 0.02)
    return bs(100.0, K, T, vols, 0.02), g, gamma


@program(lambda rng: (
    np.sort(rng.uniform(0.01, 0.05, 30)).astype(f32), rng.uniforms(64, lo=0.01, hi=0.05),
), seed=3012)
def yield_curve_bootstrap_dv01(lib, swap, cpn):
    """A curve from swaps, bonds on it, and what a point is worth."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def discount(swap):
        def f(ann, s):
            d = (1 - s * ann) / (1 + s)
            return ann + d, d
        return lax.scan(f, 0.0, swap)[1]

    def book(swap):
        df = discount(swap)
        t = jnp.arange(1, 31)
        z = -jnp.log(df) / t
        tt = jnp.arange(1, 61) / 2.0
        dfi = jnp.exp(-jnp.interp(tt, t.astype(jnp.float32), z) * tt)
        mat = 1 + jnp.arange(cpn.shape[0]) % 58
        live = tt[None] * 2 <= mat[:, None] + 0.1
        return jnp.sum(jnp.where(live, cpn[:, None] / 2 * dfi, 0), 1) + dfi[mat - 1]
    return book(swap), jax.jacrev(book)(swap) * 1e-4, jax.jacfwd(discount)(swap)


@program(lambda rng: (
    np.array([0.05, -2.0, 1.5], f32), (rng.standard_t(5, 600) * 0.8).astype(f32),
), seed=901)
def garch_mle(lib, theta, ret):
    """Newton steps for a model of volatility."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def nll(th):
        omega = jnp.exp(th[0] - 3)
        alpha = jax.nn.sigmoid(th[1])
        beta = (1 - alpha) * jax.nn.sigmoid(th[2])

        def f(h, e):
            ll = -0.5 * (jnp.log(2 * jnp.pi * h) + e * e / h)
            return omega + alpha * e * e + beta * h, ll
        _, ll = lax.scan(f, jnp.var(ret), ret)
        return -jnp.mean(ll)

    def newton(th, _):
        v, g = jax.value_and_grad(nll)(th)
        H = jax.hessian(nll)(th)
        w, V = jnp.linalg.eigh(H)
        step = V @ ((V.T @ g) / jnp.maximum(jnp.abs(w), 1e-2))
        return th - jnp.clip(step, -0.5, 0.5), v

    return lax.scan(newton, theta, None, length=4)
