"""Partial differential equations: diffusion, waves, flows, elements."""

import numpy as np

from .catalogue import program
from .shared import f32


def bump(shape, centre, width):
    """A Gaussian on a grid."""
    grid = np.mgrid[0 : shape[0], 0 : shape[1]]
    return np.exp(-((grid - centre) ** 2).sum(0) / width)


def cylinder(rng):
    y, x = np.mgrid[0:64, 0:160]
    return ((x - 40) ** 2 + (y - 32) ** 2 < 64,)


def wave_packet(rng):
    phase = np.exp(0.5j * np.mgrid[0:96, 0:96][1])
    return ((bump((96, 96), 40, 40) * phase).astype(np.complex64),)


def triangulated_square(rng):
    """Nodes, those inside moved a little, and two triangles for each square."""
    m = 33
    x, y = np.meshgrid(np.linspace(0, 1, m), np.linspace(0, 1, m))
    nodes = np.stack([x.ravel(), y.ravel()], 1).astype(f32)
    inner = ((nodes > 0) & (nodes < 1)).all(1)[:, None]
    nodes = nodes + (0.3 / m * rng.normal(size=nodes.shape)).astype(f32) * inner
    q = np.arange(m * m).reshape(m, m)
    lower = np.stack([q[:-1, :-1], q[:-1, 1:], q[1:, 1:]], -1).reshape(-1, 3)
    upper = np.stack([q[:-1, :-1], q[1:, 1:], q[1:, :-1]], -1).reshape(-1, 3)
    return nodes, np.concatenate([lower, upper]).astype(np.int32)


@program(lambda rng: (rng.uniforms(32, 40, 48), rng.uniforms(32, 40, 48, lo=0.2, hi=1)), seed=20)
def heat3d_variable(lib, u, kappa):
    """Heat in a solid whose conductivity varies."""
    jnp, lax = lib.jnp, lib.lax
    dt, dx = 0.1, 1.0

    def face(k, ax):
        lo = lax.slice_in_dim(k, 0, k.shape[ax] - 1, axis=ax)
        hi = lax.slice_in_dim(k, 1, k.shape[ax], axis=ax)
        return 2 * lo * hi / (lo + hi)
    kf = [face(kappa, ax) for ax in range(3)]

    def step(u, _):
        du = jnp.zeros_like(u)
        for ax in range(3):
            flux = kf[ax] * jnp.diff(u, axis=ax) / dx
            pad = [(0, 0)] * 3
            pad[ax] = (1, 1)
            du = du + jnp.diff(jnp.pad(flux, pad), axis=ax) / dx
        u = u + dt * du
        u = u.at[0].set(1.0).at[-1].set(0.0)
        return u, u.mean()
    return lax.scan(step, u, None, length=25)


@program(lambda rng: (bump((160, 160), 70, 30).astype(f32),))
def wave_sponge(lib, u0):
    """Waves through two media, damped at the border."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n = u0.shape[0]
    c = jnp.where(jnp.arange(n)[:, None] < 100, 0.5, 0.3) * jnp.ones((1, n))
    d = jnp.minimum(jnp.arange(n), n - 1 - jnp.arange(n))
    s1 = jnp.where(d < 20, ((20 - d) / 20.0) ** 2 * 0.3, 0)
    damp = jnp.maximum(s1[:, None], s1[None])
    lap_k = jnp.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]], jnp.float32)

    def step(s, t):
        u, up = s
        lap = jax.scipy.signal.convolve2d(u, lap_k, mode="same")
        un = (2 * u - (1 - damp) * up + c ** 2 * lap) / (1 + damp)
        un = un.at[30, 30].add(0.1 * jnp.sin(0.3 * t))
        return (un, u), un[::40, ::40]
    (u, _), rec = lax.scan(step, (u0, u0), jnp.arange(80))
    return u, rec, jax.grad(lambda a: jnp.sum(a ** 2))(u).sum()


@program(lambda rng: ((1 + 0.2 * bump((96, 128), 50, 60)).astype(f32),))
def shallow_water_rusanov(lib, h0):
    """Shallow water between walls."""
    jnp, lax = lib.jnp, lib.lax
    g, dt = 9.81, 0.02

    def flux(q):
        h, hu, hv = q
        u, v = hu / h, hv / h
        return (jnp.stack([hu, hu * u + 0.5 * g * h * h, hu * v]),
                jnp.stack([hv, hv * u, hv * v + 0.5 * g * h * h]))

    def speed(q, i):
        return jnp.abs(q[i] / q[0]) + jnp.sqrt(g * q[0])

    def step(q, _):
        qp = jnp.pad(q, ((0, 0), (1, 1), (1, 1)), mode="edge")
        sgn = jnp.array([1.0, -1.0, 1.0])[:, None]
        qp = qp.at[:, 0, :].multiply(sgn).at[:, -1, :].multiply(sgn)
        sgn = jnp.array([1.0, 1.0, -1.0])[:, None]
        qp = qp.at[:, :, 0].multiply(sgn).at[:, :, -1].multiply(sgn)
        F, G = flux(qp)
        ax = jnp.maximum(speed(qp, 1)[1:], speed(qp, 1)[:-1])
        ay = jnp.maximum(speed(qp, 2)[:, 1:], speed(qp, 2)[:, :-1])
        fx = 0.5 * (F[:, 1:] + F[:, :-1]) - 0.5 * ax * (qp[:, 1:] - qp[:, :-1])
        fy = 0.5 * (G[:, :, 1:] + G[:, :, :-1]) - 0.5 * ay * (qp[:, :, 1:] - qp[:, :, :-1])
        q = q - dt * (fx[:, 1:, 1:-1] - fx[:, :-1, 1:-1] + fy[:, 1:-1, 1:] - fy[:, 1:-1, :-1])
        return q, (q[0].sum(), jnp.max(speed(q, 1)))
    return lax.scan(step, jnp.stack([h0, 0 * h0, 0 * h0]), None, length=30)


@program(lambda rng: ((np.sin(2 * np.pi * np.arange(2048) / 2048) + 0.5).astype(f32),))
def burgers_weno5_rk3(lib, u):
    """A shock by a scheme of fifth order."""
    jnp, lax = lib.jnp, lib.lax
    n = u.shape[0]
    dx = 1.0 / n

    def weno(v):  # reconstruct at i+1/2 from the left
        m2, m1, c, p1, p2 = (jnp.roll(v, k) for k in (2, 1, 0, -1, -2))
        b0 = 13 / 12 * (m2 - 2 * m1 + c) ** 2 + 0.25 * (m2 - 4 * m1 + 3 * c) ** 2
        b1 = 13 / 12 * (m1 - 2 * c + p1) ** 2 + 0.25 * (m1 - p1) ** 2
        b2 = 13 / 12 * (c - 2 * p1 + p2) ** 2 + 0.25 * (3 * c - 4 * p1 + p2) ** 2
        a0, a1, a2 = 0.1 / (1e-6 + b0) ** 2, 0.6 / (1e-6 + b1) ** 2, 0.3 / (1e-6 + b2) ** 2
        s = a0 + a1 + a2
        return (a0 * (2 * m2 - 7 * m1 + 11 * c) + a1 * (-m1 + 5 * c + 2 * p1)
                + a2 * (2 * c + 5 * p1 - p2)) / (6 * s)

    def rhs(u):
        a = jnp.max(jnp.abs(u))
        f = 0.5 * u * u
        fp = weno(0.5 * (f + a * u))
        fm = jnp.roll(weno((0.5 * (f - a * u))[::-1])[::-1], -1)
        fl = fp + fm
        return -(fl - jnp.roll(fl, 1)) / dx

    def step(s, _):
        u, t = s
        dt = 0.4 * dx / jnp.max(jnp.abs(u))
        u1 = u + dt * rhs(u)
        u2 = 0.75 * u + 0.25 * (u1 + dt * rhs(u1))
        un = u / 3 + 2 / 3 * (u2 + dt * rhs(u2))
        return (un, t + dt), jnp.sum(jnp.abs(jnp.diff(un)))
    return lax.scan(step, (u, 0.0), None, length=60)


@program(cylinder, seed=2004)
def lattice_boltzmann_cylinder(lib, obst):
    """Flow around a cylinder by populations of velocities."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    c = jnp.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
    w = jnp.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    opp = jnp.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
    H, W = obst.shape

    def eq(rho, u):
        cu = jnp.einsum("qd,dhw->qhw", c.astype(jnp.float32), u)
        return w[:, None, None] * rho * (1 + 3 * cu + 4.5 * cu ** 2 - 1.5 * jnp.sum(u ** 2, 0))

    u0 = jnp.stack(
        [0.08 * jnp.ones((H, W)), 0.002 * jnp.sin(jnp.arange(H) / 5.0)[:, None] * jnp.ones((H, W))])
    f = eq(jnp.ones((H, W)), u0)
    inflow = f[:, :, 0]

    def step(f, _):
        f = f.at[jnp.array([3, 7, 6]), :, -1].set(f[jnp.array([3, 7, 6]), :, -2])
        rho = f.sum(0)
        u = jnp.einsum("qd,qhw->dhw", c.astype(jnp.float32), f) / rho
        fo = f - (f - eq(rho, u)) / 0.56
        fo = jnp.where(obst, f[opp], fo)
        fo = jax.vmap(lambda p, s: jnp.roll(p, (s[1], s[0]), (0, 1)))(fo, c)
        fo = fo.at[:, :, 0].set(inflow)
        return fo, jnp.sqrt((u ** 2).sum(0)).max()
    f, vmax = lax.scan(step, f, None, length=40)
    return f.sum(0), vmax


@program(lambda rng: (rng.uniforms(128, 128),), seed=2005)
def gray_scott(lib, noise):
    """Two chemicals that react and spread."""
    jnp, lax = lib.jnp, lib.lax
    u = jnp.ones_like(noise).at[54:74, 54:74].set(0.5) + 0.02 * noise
    v = jnp.zeros_like(noise).at[54:74, 54:74].set(0.25)
    K = jnp.array([[.05, .2, .05], [.2, -1, .2], [.05, .2, .05]], jnp.float32)

    def lap(z):
        z = jnp.pad(z, 1, mode="wrap")
        return lax.conv(z[None, None], K[None, None], (1, 1), "VALID")[0, 0]

    def step(_, uv):
        u, v = uv
        uvv = u * v * v
        return (u + 0.16 * lap(u) - uvv + 0.035 * (1 - u), v + 0.08 * lap(v) + uvv - 0.1 * v)
    return lax.fori_loop(0, 50, step, (u, v))


@program(lambda rng: (rng.normals(128, 128),), seed=2006)
def navier_stokes_spectral(lib, w0):
    """Turbulence in the plane by Fourier transforms."""
    jnp, lax = lib.jnp, lib.lax
    n = w0.shape[0]
    kx = jnp.fft.fftfreq(n, 1 / n)[:, None]
    ky = jnp.fft.rfftfreq(n, 1 / n)[None]
    k2 = kx ** 2 + ky ** 2
    ik2 = jnp.where(k2 > 0, 1 / jnp.where(k2 > 0, k2, 1), 0)
    mask = (jnp.abs(kx) < n / 3) & (jnp.abs(ky) < n / 3)
    nu, dt = 1e-3, 5e-3
    wh = jnp.fft.rfft2(w0) * jnp.exp(-k2 / 60)

    def N(wh):
        psi = wh * ik2
        u = jnp.fft.irfft2(1j * ky * psi)
        v = jnp.fft.irfft2(-1j * kx * psi)
        wx = jnp.fft.irfft2(1j * kx * wh)
        wy = jnp.fft.irfft2(1j * ky * wh)
        return -jnp.fft.rfft2(u * wx + v * wy) * mask

    def step(s, _):
        wh, Np = s
        Nn = N(wh)
        wh = (wh * (1 - 0.5 * dt * nu * k2) + dt * (1.5 * Nn - 0.5 * Np)) / (1 + 0.5 * dt * nu * k2)
        return (wh, Nn), 0.5 * jnp.sum(jnp.abs(wh) ** 2 * ik2) / n ** 4
    (wh, _), E = lax.scan(step, (wh, N(wh)), None, length=15)
    return jnp.fft.irfft2(wh), E


@program(lambda rng: (rng.normals(129, 129),), seed=2007)
def poisson_multigrid(lib, f):
    """Five V-cycles."""
    jnp, lax = lib.jnp, lib.lax

    def smooth(u, f, h, n):
        i, j = jnp.indices(u.shape)
        inner = (i > 0) & (i < u.shape[0] - 1) & (j > 0) & (j < u.shape[1] - 1)

        def it(_, u):
            for col in (0, 1):
                p = jnp.pad(u, 1)
                gs = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - h * h * f)
                u = jnp.where(inner & ((i + j) % 2 == col), gs, u)
            return u
        return lax.fori_loop(0, n, it, u)

    def resid(u, f, h):
        p = u
        lap = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * p[1:-1, 1:-1]) / h ** 2
        return jnp.pad(f[1:-1, 1:-1] - lap, 1)

    def vcycle(u, f, h):
        n = u.shape[0]
        if n <= 5:
            return smooth(u, f, h, 20)
        u = smooth(u, f, h, 2)
        rr = resid(u, f, h)
        p = jnp.pad(rr, 1)
        rc = (4 * p[1:-1, 1:-1] + 2 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
              + p[:-2, :-2] + p[2:, 2:] + p[:-2, 2:] + p[2:, :-2])[::2, ::2] / 16
        e = vcycle(jnp.zeros_like(rc), rc, 2 * h)
        E = jnp.zeros_like(u).at[::2, ::2].set(e)
        E = E.at[1::2, ::2].set(0.5 * (e[1:] + e[:-1]))
        E = E.at[:, 1::2].set(0.5 * (E[:, 2::2] + E[:, :-2:2]))
        return smooth(u + E, f, h, 2)

    h = 1.0 / (f.shape[0] - 1)

    def cyc(u, _):
        u = vcycle(u, f, h)
        return u, jnp.linalg.norm(resid(u, f, h)) * h
    return lax.scan(cyc, jnp.zeros_like(f), None, length=5)


@program(lambda rng: (np.where((np.mgrid[0:150, 0:150][1] > 90), 2.5, 1.0).astype(f32),))
def fdtd_maxwell_tm(lib, eps):
    """A light pulse into glass, on staggered grids."""
    jnp, lax = lib.jnp, lib.lax
    n = eps.shape[0]
    z = jnp.zeros((n, n))

    def step(s, t):
        ez, hx, hy = s
        hx = hx.at[:, :-1].add(-0.5 * (ez[:, 1:] - ez[:, :-1]))
        hy = hy.at[:-1].add(0.5 * (ez[1:] - ez[:-1]))
        ez = ez.at[1:, 1:].add(0.5 / eps[1:, 1:]
                               * (hy[1:, 1:] - hy[:-1, 1:] - hx[1:, 1:] + hx[1:, :-1]))
        ez = ez.at[50, 50].add(jnp.exp(-((t - 30.0) / 10) ** 2))
        return (ez, hx, hy), ez[100, 60]
    return lax.scan(step, (z, z, z), jnp.arange(120))


@program(wave_packet, seed=2009)
def schroedinger_split_step(lib, psi):
    """A wave packet through a slit."""
    jnp, lax = lib.jnp, lib.lax
    n = psi.shape[0]
    k = 2 * jnp.pi * jnp.fft.fftfreq(n)
    T = jnp.exp(-0.5j * 0.2 * (k[:, None] ** 2 + k[None] ** 2))
    x = jnp.arange(n)
    V = jnp.where((x[None] > 60) & (x[None] < 64) & (jnp.abs(x[:, None] - 40) > 3), 2.0, 0.0)
    V = V + 1e-4 * (x[:, None] - 48.0) ** 2

    def step(p, _):
        half = jnp.exp(-0.1j * (V + 0.1 * jnp.abs(p) ** 2))
        p = half * p
        p = jnp.fft.ifft2(T * jnp.fft.fft2(p))
        p = half * p
        return p, (jnp.vdot(p, p).real, jnp.sum(jnp.abs(p[:, 64:]) ** 2))
    p, obs = lax.scan(step, psi, None, length=40)
    return jnp.abs(p) ** 2, jnp.angle(p[40, 40]), obs


@program(triangulated_square, seed=2010)
def fem_poisson_cg(lib, nodes, tri):
    """Finite elements on triangles, solved by conjugate gradients."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n = nodes.shape[0]

    def local(p):
        J = jnp.stack([p[1] - p[0], p[2] - p[0]])
        area = 0.5 * jnp.abs(jnp.linalg.det(J))
        G = jnp.linalg.solve(J, jnp.array([[-1., 1., 0.], [-1., 0., 1.]]))
        c = p.mean(0)
        f = jnp.sin(jnp.pi * c[0]) * jnp.exp(c[1])
        return area * G.T @ G, area * f / 3 * jnp.ones(3)
    Ke, fe = jax.vmap(local)(nodes[tri])
    rows, cols = jnp.repeat(tri, 3, 1).ravel(), jnp.tile(tri, (1, 3)).ravel()
    vals = Ke.ravel()
    b = jnp.zeros(n).at[tri].add(fe)
    free = jnp.all((nodes > 1e-6) & (nodes < 1 - 1e-6), axis=1)
    b = jnp.where(free, b, 0)
    diag = jnp.zeros(n).at[rows].add(jnp.where(rows == cols, vals, 0))

    def A(x):
        x = jnp.where(free, x, 0)
        y = jax.ops.segment_sum(vals * x[cols], rows, num_segments=n)
        return jnp.where(free, y, 0)

    def body(s):
        x, rr, p, rz, k = s
        Ap = A(p)
        al = rz / (p @ Ap)
        x = x + al * p
        rr = rr - al * Ap
        z = rr / diag
        rz2 = rr @ z
        return x, rr, z + rz2 / rz * p, rz2, k + 1
    z = b / diag
    x, rr, _, _, k = lax.while_loop(lambda s: (s[3] > 1e-9) & (s[4] < 200), body,
                                    (jnp.zeros(n), b, z, b @ z, 0))
    return x, jnp.linalg.norm(rr) < 1e-3, 0.5 * x @ A(x) - b @ x


@program(lambda rng: (rng.normals(64, 64, scale=0.1),), seed=2011)
def cahn_hilliard_spectral(lib, c0):
    """Two fluids that separate, and the spectrum of their pattern."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n = c0.shape[0]
    k = 2 * jnp.pi * jnp.fft.fftfreq(n)
    k2 = k[:, None] ** 2 + k[None] ** 2

    def step(i, ch):
        c = jnp.fft.ifft2(ch).real
        return (ch - 0.1 * k2 * jnp.fft.fft2(c ** 3 - c)) / (1 + 0.1 * 0.5 * k2 ** 2)
    c = jnp.fft.ifft2(lax.fori_loop(0, 30, step, jnp.fft.fft2(c0))).real
    S = jnp.abs(jnp.fft.fft2(c)) ** 2
    kb = jnp.digitize(jnp.sqrt(k2), jnp.linspace(0, 3, 25))
    rad = (jax.ops.segment_sum(S.ravel(), kb.ravel(), 27)
           / jnp.maximum(jnp.bincount(kb.ravel(), length=27), 1))
    return c, rad
