"""Ordinary equations: adaptive, stiff, random, fitted; networks that solve or are equations."""

import numpy as np

from .catalogue import program
from .shared import f32, mlp, mlp_params


def predators_and_prey(rng):
    t = np.linspace(0, 10, 40).astype(f32)
    rates = {"a": f32(1.1), "b": f32(0.4), "c": f32(0.35), "d": f32(0.1)}
    return rates, np.stack([10 + 5 * np.sin(t), 5 + 3 * np.cos(t)], 1).astype(f32)


@program(lambda rng: (rng.uniforms(64, 2, lo=0.5, hi=3),), seed=2106)
def rk45_adaptive_vmap(lib, y0s):
    """Oscillators with steps chosen by error, 64 at once."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def f(t, y):
        return jnp.stack([y[1], 2.0 * (1 - y[0] ** 2) * y[1] - y[0]])
    c = [0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1]
    a = [[], [1 / 5], [3 / 40, 9 / 40], [44 / 45, -56 / 15, 32 / 9],
         [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
         [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
         [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]]
    e = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]

    def solve(y0):
        def cond(s):
            return (s[0] < 6.0) & (s[3] < 500)

        def body(s):
            t, y, h, n, rej = s
            h = jnp.minimum(h, 6.0 - t)
            ks = []
            for i in range(7):
                ks.append(f(t + c[i] * h,
                            y + h * sum((aij * k for aij, k in zip(a[i], ks)), jnp.zeros_like(y))))
            yn = y + h * sum(b * k for b, k in zip(a[6], ks))
            err = h * sum(b * k for b, k in zip(e, ks))
            en = jnp.sqrt(
                jnp.mean((err / (1e-4 + 1e-4 * jnp.maximum(jnp.abs(y), jnp.abs(yn)))) ** 2))
            ok = en < 1
            fac = jnp.clip(0.9 * en ** -0.2, 0.2, 5.0)
            return jnp.where(ok, t + h, t), jnp.where(ok, yn, y), h * fac, n + 1, rej + ~ok
        return lax.while_loop(cond, body, (0.0, y0, 0.01, 0, 0))
    t, y, h, n, rej = jax.vmap(solve)(y0s)
    return t, y


@program(lambda rng: (rng.uniforms(200, 3, lo=0.5, hi=2),), seed=2107)
def stiff_robertson_newton(lib, ks):
    """A stiff reaction by implicit steps, 200 at once."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def rhs(y, k):
        r1, r2, r3 = 0.04 * k[0] * y[0], 1e4 * k[1] * y[1] * y[2], 3e7 * k[2] * y[1] ** 2
        return jnp.array([-r1 + r2, r1 - r2 - r3, r3])

    def solve(k):
        def step(y, h):
            g = lambda z: z - y - h * rhs(z, k)

            def newton(z, _):
                return z - jnp.linalg.solve(jax.jacfwd(g)(z), g(z)), None
            z, _ = lax.scan(newton, y, None, length=4)
            return z, z
        return lax.scan(step, jnp.array([1., 0., 0.]), jnp.logspace(-5, 2, 40))[1]
    return jax.vmap(solve)(ks)


@program(predators_and_prey, seed=2108)
def lotka_volterra_fit(lib, p, data):
    """Rates of predator and prey fitted through the solution."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def f(y, p):
        return jnp.array(
            [p["a"] * y[0] - p["b"] * y[0] * y[1], p["d"] * y[0] * y[1] - p["c"] * y[1]])

    def simulate(p):
        h = 10.0 / 39 / 8

        def rk4(y, _):
            k1 = f(y, p)
            k2 = f(y + h / 2 * k1, p)
            k3 = f(y + h / 2 * k2, p)
            k4 = f(y + h * k3, p)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        def outer(y, _):
            return lax.scan(rk4, y, None, length=8)[0], y
        return lax.scan(outer, jnp.array([10.0, 5.0]), None, length=40)[1]
    loss = lambda p: jnp.mean((jnp.log1p(simulate(p)) - jnp.log1p(data)) ** 2)

    def adam(s, i):
        p, m, v = s
        l, g = jax.value_and_grad(loss)(p)
        m = jax.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree_util.tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        p = jax.tree_util.tree_map(lambda p, m, v: p - 0.01 * (m / (1 - 0.9 ** (i + 1)))
                                   / (jnp.sqrt(v / (1 - 0.999 ** (i + 1))) + 1e-8), p, m, v)
        return (p, m, v), l
    z = jax.tree_util.tree_map(jnp.zeros_like, p)
    (p, _, _), ls = lax.scan(adam, (p, z, z), jnp.arange(10.0))
    return p, ls


@program(lambda rng: (
    rng.uniforms(128, lo=5, hi=15), (rng.uniform(size=(128, 128)) < 0.1).astype(f32),
), seed=2109)
def hodgkin_huxley_network(lib, I, Wc):
    """Neurons that fire at each other."""
    jnp, lax = lib.jnp, lib.lax

    def rates(V):
        am = 0.1 * (V + 40.01) / (1 - jnp.exp(-(V + 40.01) / 10))
        bm = 4 * jnp.exp(-(V + 65) / 18)
        ah = 0.07 * jnp.exp(-(V + 65) / 20)
        bh = 1 / (1 + jnp.exp(-(V + 35) / 10))
        an = 0.01 * (V + 55.01) / (1 - jnp.exp(-(V + 55.01) / 10))
        bn = 0.125 * jnp.exp(-(V + 65) / 80)
        return am, bm, ah, bh, an, bn

    def step(s, _):
        V, m, h, n, g = s
        am, bm, ah, bh, an, bn = rates(V)
        INa = 120 * m ** 3 * h * (V - 50)
        IK = 36 * n ** 4 * (V + 77)
        Vn = V + 0.02 * (I - INa - IK - 0.3 * (V + 54.4) - g * V)
        spk = (Vn > 0) & (V <= 0)
        g = g * 0.996 + 0.02 * (Wc @ spk.astype(jnp.float32))
        return (Vn, m + 0.02 * (am * (1 - m) - bm * m), h + 0.02 * (ah * (1 - h) - bh * h),
                n + 0.02 * (an * (1 - n) - bn * n), g), spk
    V = jnp.full(128, -65.0)
    s, spk = lax.scan(step, (V, 0.05 + 0 * V, 0.6 + 0 * V, 0.32 + 0 * V, 0 * V), None, length=500)
    return s[0], spk.sum(0), jnp.argmax(spk, 0)


@program(lambda rng: (np.array([1, 77], np.uint32),))
def tau_leaping_sir(lib, key):
    """An epidemic by random counts, fifty times."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def one(key):
        def step(s, k):
            S, I, Rr = s
            k1, k2 = jax.random.split(k)
            inf = jnp.minimum(jax.random.poisson(k1, 0.4 * S * I / 1000.0 * 0.25), S)
            rec = jnp.minimum(jax.random.poisson(k2, 0.1 * I * 0.25), I)
            s = (S - inf, I + inf - rec, Rr + rec)
            return s, s[1]
        return lax.scan(step, (jnp.int32(980), jnp.int32(20), jnp.int32(0)),
                        jax.random.split(key, 60))
    (S, I, Rr), traj = jax.vmap(one)(jax.random.split(key, 50))
    return S, I, Rr, jnp.quantile(traj.astype(jnp.float32), jnp.array([0.1, 0.5, 0.9]), axis=0)


@program(lambda rng: (
    mlp_params(rng, 2, 50, 2), rng.normals(32, 2), rng.normals(32, 20, 2),
), seed=55)
def neural_ode_rk4_scan_grad(lib, p, x0, tgt):
    """A vector field trained through twenty Runge-Kutta steps."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    f = lambda x: mlp(lib, p_, x ** 3, jnp.tanh)

    def run(p, x0):
        nonlocal p_
        p_ = p

        def rk4(x, _):
            h = 0.05
            k1 = f(x)
            k2 = f(x + h / 2 * k1)
            k3 = f(x + h / 2 * k2)
            k4 = f(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return x, x
        return lax.scan(rk4, x0, None, length=20)[1].swapaxes(0, 1)
    p_ = p
    return jax.value_and_grad(lambda p: jnp.mean(jnp.abs(run(p, x0) - tgt)))(p)


@program(lambda rng: (mlp_params(rng, 3, 32, 2), rng.normals(16, 2)), seed=5501)
def neural_ode_adjoint_custom_vjp_while(lib, p, x0):
    """The same by solving the adjoint equation backwards."""
    jax, jnp, lax, tree_map = lib.jax, lib.jnp, lib.lax, lib.tree_map

    def vf(p, x, t):
        return mlp(lib, p, jnp.append(x, t), jnp.tanh)

    def integrate(fun, y, t0, t1, n=25):
        h = (t1 - t0) / n

        def body(s):
            i, t, y = s
            k1 = fun(y, t)
            k2 = fun(tree_map(lambda a, k: a + h / 2 * k, y, k1), t + h / 2)
            y = tree_map(lambda a, k: a + h * k, y, k2)
            return i + 1, t + h, y
        return lax.while_loop(lambda s: s[0] < n, body, (0, t0, y))[2]

    @jax.custom_vjp
    def ode(p, x):
        return integrate(lambda y, t: vf(p, y, t), x, 0.0, 1.0)

    def fwd(p, x):
        y = ode(p, x)
        return y, (p, y)

    def bwd(res, ct):
        p, y = res

        def aug(s, t):
            y, a, _ = s
            dy, pb = jax.vjp(lambda p, y: vf(p, y, t), p, y)
            gp, gy = pb(a)
            return dy, tree_map(jnp.negative, gy), tree_map(jnp.negative, gp)
        _, a, gp = integrate(aug, (y, ct, tree_map(jnp.zeros_like, p)), 1.0, 0.0)
        return gp, a
    ode.defvjp(fwd, bwd)
    loss = lambda p: jnp.mean(jnp.sum(jax.vmap(lambda x: ode(p, x))(x0) ** 2, -1))
    return jax.value_and_grad(loss)(p)


@program(lambda rng: (
    mlp_params(rng, 2, 32, 32, 1), rng.uniforms(256, 2), rng.uniforms(64, 2),
), seed=5502)
def pinn_burgers_train_step(lib, p, xt, bc):
    """A network trained to satisfy Burgers' equation."""
    jax, jnp, tree_map = lib.jax, lib.jnp, lib.tree_map
    u = lambda p, x, t: mlp(lib, p, jnp.stack([2 * x - 1, t]), jnp.tanh)[0]
    ux, ut = jax.grad(u, 1), jax.grad(u, 2)
    uxx = jax.grad(ux, 1)

    def loss(p):
        def resid(a):
            x, t = a
            return ut(p, x, t) + u(p, x, t) * ux(p, x, t) - 0.01 / jnp.pi * uxx(p, x, t)
        rr = jax.vmap(resid)(xt)
        ib = jax.vmap(lambda a: u(p, a[0], 0.0) + jnp.sin(jnp.pi * (2 * a[0] - 1)))(bc)
        return jnp.mean(rr ** 2) + jnp.mean(ib ** 2)
    l, g = jax.value_and_grad(loss)(p)
    return l, tree_map(lambda p, g: p - 1e-3 * g, p, g)


@program(lambda rng: (
    rng.normals(8, 8, 12, 16, scale=.1), rng.normals(8, 8, 12, 16, scale=.1), rng.weights(8, 8),
    rng.normals(4, 64, 64, 8), rng.normals(4, 64, 64, 8),
), seed=10802)
def fno_spectral_conv2d_grad(lib, wr, wi, ws, x, t):
    """Weights applied to the low frequencies of an image."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def f(wr, wi, ws):
        X = jnp.fft.rfft2(x, axes=(1, 2))
        Y = jnp.zeros((4, 64, 33, 8), jnp.complex64)
        w = wr + 1j * wi
        Y = Y.at[:, :12, :16].set(jnp.einsum("bxyi,ioxy->bxyo", X[:, :12, :16], w))
        Y = Y.at[:, -12:, :16].set(jnp.einsum("bxyi,ioxy->bxyo", X[:, -12:, :16], w.conj()))
        y = nn.gelu(jnp.fft.irfft2(Y, s=(64, 64), axes=(1, 2)) + x @ ws)
        return jnp.mean((y - t) ** 2)
    return jax.value_and_grad(f, (0, 1, 2))(wr, wi, ws)
