"""Geometry and graphics: rays, triangles, cameras."""

import math

import numpy as np

from .catalogue import program
from .shared import f32

CAMERAS, POINTS, OBSERVATIONS = 12, 300, 1500


def scattered_triangles(rng):
    corners = rng.normals(200, 3, 3, scale=0.3) + rng.normals(200, 1, 3)
    return corners, rng.normals(3000, 3)


def screen_triangles(rng):
    centres = rng.uniform(size=(300, 1, 3)) * [96, 96, 1]
    return ((centres + rng.uniform(-8, 8, (300, 3, 3)) * [1, 1, 0.02]).astype(f32),)


def turned_cloud(rng):
    source, turn = rng.normals(500, 3), 0.3
    c, s = np.cos(turn), np.sin(turn)
    moved = source @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T + [0.1, -0.2, 0.05]
    return source, (moved + 0.01 * rng.normal(size=source.shape)).astype(f32)


def observed_points(rng):
    cameras = (0.1 * rng.normal(size=(CAMERAS, 6)) + [0, 0, 0, 0, 0, 6]).astype(f32)
    points = rng.normals(POINTS, 3)
    which = rng.ints(CAMERAS, OBSERVATIONS), rng.ints(POINTS, OBSERVATIONS)
    return cameras, points, *which, rng.normals(OBSERVATIONS, 2, scale=30)


def star_and_points(rng):
    angle = np.sort(rng.uniform(0, 2 * np.pi, 80))
    star = np.stack([np.cos(angle), np.sin(angle)], 1) * rng.uniform(0.4, 1, 80)[:, None]
    return star.astype(f32), rng.uniforms(5000, 2, lo=-1)


@program(lambda rng: (np.array([0.5, 1.5, 3.0], f32),))
def ray_march_sdf(lib, cam):
    """An image of implicit solids with shadows."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    H, W = 72, 96

    def sdf(p):
        q = jnp.mod(p + 1, 2.0) - 1
        sph = jnp.linalg.norm(q) - 0.4
        tor = jnp.hypot(jnp.hypot(p[0], p[2]) - 1.2, p[1]) - 0.2
        return jnp.minimum(jnp.minimum(jnp.maximum(sph, p[1] - 0.2), tor), p[1] + 0.9)

    def march(o, d):
        def body(s):
            t, _, i = s
            h = sdf(o + t * d)
            return t + h, h, i + 1
        return lax.while_loop(lambda s: (s[1] > 1e-3) & (s[0] < 12) & (s[2] < 64), body,
                              (0.05, 1.0, 0))

    fw = -cam / jnp.linalg.norm(cam)
    rt = jnp.cross(fw, jnp.array([0., 1., 0.]))
    rt = rt / jnp.linalg.norm(rt)
    up = jnp.cross(rt, fw)
    light = jnp.array([0.6, 0.7, 0.2])
    light = light / jnp.linalg.norm(light)

    def pixel(u, v):
        d = fw + u * rt + v * up
        d = d / jnp.linalg.norm(d)
        t, h, i = march(cam, d)
        p = cam + t * d
        n = jax.grad(sdf)(p)
        n = n / (jnp.linalg.norm(n) + 1e-6)
        st, sh, _ = march(p + 0.02 * n, light)
        c = 0.1 + 0.9 * jnp.maximum(n @ light, 0) * (sh > 1e-3)
        return jnp.where(t < 12, c, 0.0), jnp.minimum(t, 12.0)
    u = jnp.linspace(-0.8, 0.8, W)
    v = jnp.linspace(0.6, -0.6, H)
    c, t = jax.vmap(jax.vmap(pixel, (0, None)), (None, 0))(u, v)
    return jnp.mean(c), jnp.median(t), c[:, ::8] > -1


@program(scattered_triangles, seed=3101, finite=False)
def ray_triangle_moller(lib, tris, dirs):
    """3000 rays against 200 triangles."""
    jax, jnp = lib.jax, lib.jnp
    o = jnp.array([0., 0., 4.])
    d = dirs * 0.3 + jnp.array([0., 0., -1.])
    d = d / jnp.linalg.norm(d, axis=-1, keepdims=True)

    def hit(d, T):
        e1, e2 = T[1] - T[0], T[2] - T[0]
        p = jnp.cross(d, e2)
        det = e1 @ p
        inv = 1 / jnp.where(jnp.abs(det) < 1e-7, 1e-7, det)
        s = o - T[0]
        u = (s @ p) * inv
        q = jnp.cross(s, e1)
        v = (d @ q) * inv
        t = (e2 @ q) * inv
        return jnp.where((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 1e-4), t, jnp.inf)
    t = jax.vmap(lambda d: jax.vmap(lambda T: hit(d, T))(tris))(d)
    k = jnp.argmin(t, 1)
    tm = jnp.take_along_axis(t, k[:, None], 1)[:, 0]
    n = jnp.cross(tris[:, 1] - tris[:, 0], tris[:, 2] - tris[:, 0])
    n = n / jnp.linalg.norm(n, axis=-1, keepdims=True)
    return (tm, jnp.where(jnp.isfinite(tm), k, -1),
            jnp.where(jnp.isfinite(tm), jnp.abs(jnp.sum(n[k] * d, -1)), 0))


@program(screen_triangles, seed=3102, finite=False)
def rasterise_zbuffer(lib, tris):
    """300 triangles drawn by depth."""
    jax, jnp = lib.jax, lib.jnp
    H = W = 96
    w = 20
    oy, ox = jnp.meshgrid(jnp.arange(w), jnp.arange(w), indexing="ij")

    def frag(T):
        lo = jnp.floor(T[:, :2].min(0)).astype(jnp.int32)
        px = lo[0] + ox
        py = lo[1] + oy
        P = jnp.stack([px + 0.5, py + 0.5], -1)
        edge = lambda a, b: (b[0] - a[0]) * (P[..., 1] - a[1]) - (b[1] - a[1]) * (P[..., 0] - a[0])
        w0, w1, w2 = edge(T[1], T[2]), edge(T[2], T[0]), edge(T[0], T[1])
        area = w0 + w1 + w2
        inside = ((w0 >= 0) & (w1 >= 0) & (w2 >= 0)) | ((w0 <= 0) & (w1 <= 0) & (w2 <= 0))
        z = (w0 * T[0, 2] + w1 * T[1, 2] + w2 * T[2, 2]) / area
        ok = inside & (px >= 0) & (px < W) & (py >= 0) & (py < H)
        return jnp.where(ok, py * W + px, H * W), jnp.where(ok, z, jnp.inf)
    idx, z = jax.vmap(frag)(tris)
    zb = jnp.full(H * W, jnp.inf).at[idx].min(z, mode="drop")
    tid = jnp.broadcast_to(jnp.arange(tris.shape[0])[:, None, None], idx.shape)
    win = (idx < H * W) & (z <= zb[jnp.minimum(idx, H * W - 1)])
    ids = jnp.full(H * W, -1).at[jnp.where(win, idx, H * W)].max(tid, mode="drop")
    return (zb.reshape(H, W), ids.reshape(H, W),
            jnp.bincount(jnp.where(ids >= 0, ids, 300), length=301))


@program(lambda rng: (rng.normals(160, 160),), seed=3103)
def marching_squares(lib, f):
    """Contours of a smooth field, and their length."""
    jax, jnp = lib.jax, lib.jnp
    k = jnp.hanning(15)
    f = jax.scipy.signal.convolve2d(f, jnp.outer(k, k) / (k.sum() ** 2), mode="same")
    b = (f > 0).astype(jnp.int32)
    code = b[:-1, :-1] | b[:-1, 1:] << 1 | b[1:, 1:] << 2 | b[1:, :-1] << 3
    tab = jnp.array(
        [[-1, -1], [3, 0], [0, 1], [3, 1], [1, 2], [3, 2], [0, 2], [3, 2], [2, 3], [2, 0], [2, 1],
                     [2, 1], [1, 3], [1, 0], [0, 3], [-1, -1]])
    v = jnp.stack([f[:-1, :-1], f[:-1, 1:], f[1:, 1:], f[1:, :-1]], -1)
    a, c = v, jnp.roll(v, -1, -1)
    t = jnp.clip(a / jnp.where(jnp.abs(a - c) < 1e-12, 1e-12, a - c), 0, 1)
    corner = jnp.array([[0., 0.], [0., 1.], [1., 1.], [1., 0.]])
    e = corner + t[..., None] * (jnp.roll(corner, -1, 0) - corner)
    ij = jnp.stack(jnp.indices(code.shape), -1)
    ends = tab[code]
    pts = jnp.take_along_axis(e, jnp.maximum(ends, 0)[..., None], axis=2) + ij[:, :, None]
    seg = jnp.linalg.norm(pts[:, :, 1] - pts[:, :, 0] + 1e-12, axis=-1)
    length = jnp.sum(jnp.where(ends[..., 0] >= 0, seg, 0))
    return code, length, jnp.bincount(code.ravel(), length=16)


@program(turned_cloud, seed=3104)
def icp_svd(lib, src, dst):
    """Two clouds of points brought together."""
    jnp, lax = lib.jnp, lib.lax

    def it(p, _):
        d2 = jnp.sum(p ** 2, 1)[:, None] + jnp.sum(dst ** 2, 1)[None] - 2 * p @ dst.T
        nn = jnp.argmin(d2, 1)
        q = dst[nn]
        cp, cq = p.mean(0), q.mean(0)
        U, S, Vt = jnp.linalg.svd((p - cp).T @ (q - cq))
        D = jnp.diag(jnp.array([1., 1., jnp.sign(jnp.linalg.det(Vt.T @ U.T))]))
        Rm = Vt.T @ D @ U.T
        p = (p - cp) @ Rm.T + cq
        return p, (jnp.mean(jnp.sum((p - q) ** 2, 1)), Rm)
    return lax.scan(it, src, None, length=12)


@program(observed_points, seed=3105)
def bundle_adjust_schur(lib, cams, pts, ci, pi, uv):
    """Cameras and points adjusted together, points eliminated."""
    jax, jnp = lib.jax, lib.jnp

    def project(c, X):
        w = c[:3]
        th = jnp.sqrt(w @ w + 1e-12)
        k = w / th
        Xr = X * jnp.cos(th) + jnp.cross(k, X) * jnp.sin(th) + k * (k @ X) * (1 - jnp.cos(th))
        Y = Xr + c[3:]
        p = Y[:2] / Y[2]
        return 300 * p * (1 + 0.01 * (p @ p))
    res = lambda c, X, u: project(c, X) - u
    rs = jax.vmap(res)(cams[ci], pts[pi], uv)
    Jc, Jp = jax.vmap(jax.jacfwd(res, (0, 1)))(cams[ci], pts[pi], uv)
    w = 1 / jnp.sqrt(1 + jnp.sum(rs ** 2, -1) / 100)
    seg = jax.ops.segment_sum
    Hcc = seg(w[:, None, None] * jnp.einsum("nki,nkj->nij", Jc, Jc), ci, CAMERAS) + 1.0 * jnp.eye(6)
    Hpp = seg(w[:, None, None] * jnp.einsum("nki,nkj->nij", Jp, Jp), pi, POINTS) + 1.0 * jnp.eye(3)
    gc = seg(w[:, None] * jnp.einsum("nki,nk->ni", Jc, rs), ci, CAMERAS)
    gp = seg(w[:, None] * jnp.einsum("nki,nk->ni", Jp, rs), pi, POINTS)
    Wb = jnp.zeros((CAMERAS, POINTS, 6, 3)).at[ci, pi].add(w[:, None, None]
                                                           * jnp.einsum("nki,nkj->nij", Jc, Jp))
    iH = jnp.linalg.inv(Hpp)
    WH = jnp.einsum("cpij,pjk->cpik", Wb, iH)
    S = -jnp.einsum("apik,bpjk->aibj", WH, Wb)
    S = S.at[jnp.arange(CAMERAS), :, jnp.arange(CAMERAS), :].add(Hcc)
    rhs = -gc + jnp.einsum("cpik,pk->ci", WH, gp)
    dc = jax.scipy.linalg.solve(S.reshape(6 * CAMERAS, -1), rhs.ravel(),
                                assume_a="pos").reshape(CAMERAS, 6)
    dp = jnp.einsum("pij,pj->pi", iH, -gp - jnp.einsum("cpij,ci->pj", Wb, dc))
    new = jax.vmap(res)((cams + 0.1 * dc)[ci], (pts + 0.1 * dp)[pi], uv)
    return dc, dp, jnp.sum(w * jnp.sum(rs ** 2, -1)), jnp.sum(new ** 2)


@program(lambda rng: (rng.normals(5000, 3),), seed=3106)
def spherical_harmonics_project(lib, v):
    """A function on the sphere in harmonics, by least squares."""
    jnp = lib.jnp
    L = 6
    v = v / jnp.linalg.norm(v, axis=-1, keepdims=True)
    ct = v[:, 2]
    st = jnp.sqrt(jnp.maximum(1 - ct ** 2, 0))
    phi = jnp.arctan2(v[:, 1], v[:, 0])
    Pl = {(0, 0): jnp.ones_like(ct)}
    for m_ in range(1, L + 1):
        Pl[m_, m_] = -(2 * m_ - 1) * st * Pl[m_ - 1, m_ - 1]
    for m_ in range(L):
        Pl[m_ + 1, m_] = (2 * m_ + 1) * ct * Pl[m_, m_]
    for m_ in range(L + 1):
        for l in range(m_ + 2, L + 1):
            Pl[l, m_] = ((2 * l - 1) * ct * Pl[l - 1, m_] - (l + m_ - 1) * Pl[l - 2, m_]) / (l - m_)
    cols = []
    for l in range(L + 1):
        for m_ in range(-l, l + 1):
            a = abs(m_)
            K = math.sqrt((2 * l + 1) / (4 * math.pi) * math.factorial(l - a)
                          / math.factorial(l + a))
            ang = jnp.cos(a * phi) if m_ >= 0 else jnp.sin(a * phi)
            cols.append((K if m_ == 0 else math.sqrt(2) * K) * ang * Pl[l, a])
    Y = jnp.stack(cols, 1)
    f = jnp.exp(-2 * (1 - v[:, 0])) + 0.1 * v[:, 1] * v[:, 2]
    coef, res, rank, sv = jnp.linalg.lstsq(Y, f)
    return Y, coef, sv


@program(star_and_points, seed=3107)
def point_in_polygon_sdf(lib, poly, pts):
    """Distances to a polygon, negative inside, and their gradients."""
    jax, jnp = lib.jax, lib.jnp
    a, b = poly, jnp.roll(poly, -1, 0)

    def one(p):
        c = (((a[:, 1] > p[1]) != (b[:, 1] > p[1]))
             & (p[0] < (b[:, 0] - a[:, 0]) * (p[1] - a[:, 1]) / (b[:, 1] - a[:, 1]) + a[:, 0]))
        e = b - a
        t = jnp.clip(jnp.sum((p - a) * e, -1) / jnp.sum(e * e, -1), 0, 1)
        d = jnp.min(jnp.linalg.norm(p - a - t[:, None] * e, axis=-1))
        return jnp.where(jnp.sum(c) % 2 == 1, -d, d)
    sd, g = jax.vmap(jax.value_and_grad(one))(pts)
    area = 0.5 * jnp.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
    return sd, area, jnp.mean(sd < 0) * 4, g
