"""Image processing."""

import numpy as np

from .catalogue import program
from .shared import f32


def gray_image(rng):
    """Waves, a disk and noise."""
    y, x = np.mgrid[0:192, 0:256]
    disk = (x - 120) ** 2 + (y - 90) ** 2 < 2500
    waves = 0.5 + 0.3 * np.sin(x / 17.0) * np.cos(y / 11.0)
    return (waves + 0.3 * disk + 0.05 * rng.normal(size=(192, 256))).astype(f32)


def colour_image(rng):
    gray = gray_image(rng)
    channels = np.stack([gray, gray[::-1], gray[:, ::-1]], -1)
    return np.clip(255 * channels, 0, 255).astype(np.uint8)


@program(lambda rng: (gray_image(rng),), seed=11)
def canny(lib, img):
    """Edges: gradients, thinning, growth from strong to weak ones."""
    jnp, lax = lib.jnp, lib.lax
    k = jnp.exp(-0.5 * (jnp.arange(-4, 5) / 1.4) ** 2)
    k = k / k.sum()
    p = jnp.pad(img, 4, mode="edge")
    p = lax.conv_general_dilated(p[None, None], k[None, None, :, None], (1, 1), "VALID")
    p = lax.conv_general_dilated(p, k[None, None, None, :], (1, 1), "VALID")[0, 0]
    q = jnp.pad(p, 1, mode="edge")
    gx = (q[:-2, 2:] + 2 * q[1:-1, 2:] + q[2:, 2:]) - (q[:-2, :-2] + 2 * q[1:-1, :-2] + q[2:, :-2])
    gy = (q[2:, :-2] + 2 * q[2:, 1:-1] + q[2:, 2:]) - (q[:-2, :-2] + 2 * q[:-2, 1:-1] + q[:-2, 2:])
    mag = jnp.hypot(gx, gy)
    ang = jnp.mod(jnp.arctan2(gy, gx), jnp.pi)
    sector = (jnp.round(ang / (jnp.pi / 4)) % 4).astype(jnp.int32)
    m = jnp.pad(mag, 1)
    sh = lambda dy, dx: m[1 + dy:m.shape[0] - 1 + dy, 1 + dx:m.shape[1] - 1 + dx]
    n1 = jnp.choose(sector, [sh(0, 1), sh(1, 1), sh(1, 0), sh(1, -1)], mode='clip')
    n2 = jnp.choose(sector, [sh(0, -1), sh(-1, -1), sh(-1, 0), sh(-1, 1)], mode='clip')
    nms = jnp.where((mag >= n1) & (mag >= n2), mag, 0)
    strong, weak = nms > 0.35, nms > 0.12

    def grow(s):
        e, _ = s
        d = lax.reduce_window(e, False, lax.bitwise_or, (3, 3), (1, 1), "SAME") & weak
        return d, jnp.any(d != e)
    edges, _ = lax.while_loop(lambda s: s[1], grow, (strong, True))
    return mag, edges.sum(), jnp.mean(edges)


@program(lambda rng: (colour_image(rng),), seed=11)
def median_morphology(lib, img):
    """Medians, opening by windows, and box sums by integrals."""
    jnp, lax = lib.jnp, lib.lax
    p = jnp.pad(img, ((1, 1), (1, 1), (0, 0)), mode="symmetric")
    H, W = img.shape[:2]
    st = jnp.stack([p[i:i + H, j:j + W] for i in range(3) for j in range(3)])
    med = jnp.sort(st, axis=0)[4]
    lum = (0.299 * med[..., 0] + 0.587 * med[..., 1] + 0.114 * med[..., 2])
    thr = lum > 127
    er = lax.reduce_window(thr.astype(jnp.int32), 1, lax.min, (5, 5), (1, 1), "SAME")
    op = lax.reduce_window(er, 0, lax.max, (5, 5), (1, 1), "SAME")
    I = jnp.cumsum(jnp.cumsum(lum, 0), 1)
    I = jnp.pad(I, ((1, 0), (1, 0)))
    w = 16
    box = (I[w:, w:] - I[:-w, w:] - I[w:, :-w] + I[:-w, :-w]) / w ** 2
    return med, op.astype(bool), box


@program(lambda rng: (
    gray_image(rng), np.array([[0.9137, -0.2193, 12.31], [0.1511, 1.0527, -8.77]], f32),
), seed=11, rtol=2e-2)
def affine_warp_register(lib, img, M):
    """An image warped to match another, with gradient."""
    jax, jnp = lib.jax, lib.jnp
    H, W = img.shape
    yx = jnp.stack(jnp.meshgrid(jnp.arange(H, dtype=jnp.float32), jnp.arange(W, dtype=jnp.float32),
                                indexing="ij"))

    def warp(M):
        c = jnp.einsum("ij,jhw->ihw", M[:, :2], yx) + M[:, 2, None, None]
        return jax.scipy.ndimage.map_coordinates(img, [c[0], c[1]], order=1, mode="nearest")

    target = jnp.roll(img, (2, 3), (0, 1))
    loss = lambda M: jnp.mean((warp(M) - target) ** 2)
    l, g = jax.value_and_grad(loss)(M)
    return warp(M), l, g


@program(lambda rng: (rng.uniform(size=(96, 96)) < 0.45,), seed=1103)
def connected_components(lib, mask):
    """Labels that spread until they rest, and their sizes."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    H, W = mask.shape
    lab = jnp.where(mask, jnp.arange(1, H * W + 1).reshape(H, W), 0)

    def body(s):
        l, _, n = s
        p = jnp.pad(l, 1)
        new = jnp.maximum(jnp.maximum(p[:-2, 1:-1], p[2:, 1:-1]),
                          jnp.maximum(p[1:-1, :-2], p[1:-1, 2:]))
        new = jnp.where(mask, jnp.maximum(new, l), 0)
        new = jnp.where(mask, jnp.maximum(new, jnp.where(new > 0, new.ravel()[new - 1], 0)), 0)
        return new, jnp.any(new != l), n + 1
    lab, _, n = lax.while_loop(lambda s: s[1], body, (lab, True, 0))
    sizes = jnp.bincount(lab.ravel(), length=H * W + 1).at[0].set(0)
    ys = jax.ops.segment_sum(jnp.repeat(jnp.arange(H), W), lab.ravel(), H * W + 1)
    big = jnp.argsort(-sizes, stable=True)[:10]
    return lab, (sizes > 0).sum(), sizes[big], ys[big] / sizes[big]


@program(lambda rng: (gray_image(rng),), seed=11)
def seam_carving(lib, img):
    """Six seams of least energy removed."""
    jnp, lax = lib.jnp, lib.lax
    H, W = img.shape

    def carve(im, k):
        gx = jnp.abs(jnp.roll(im, -1, 1) - im)
        gy = jnp.abs(jnp.roll(im, -1, 0) - im)
        e = jnp.where(jnp.arange(W) < W - k, gx + gy, 1e6)

        def row(c, er):
            l = jnp.concatenate([jnp.array([jnp.inf]), c[:-1]])
            rr = jnp.concatenate([c[1:], jnp.array([jnp.inf])])
            s = jnp.stack([l, c, rr])
            d = jnp.argmin(s, 0)
            return er + s.min(0), d - 1
        last, dirs = lax.scan(row, e[0], e[1:])
        j = jnp.argmin(last)

        def up(j, d):
            j2 = j + d[j]
            return j2, j2
        _, path = lax.scan(up, j, dirs, reverse=True)
        path = jnp.append(path, j)
        cols = jnp.arange(W)
        src = jnp.minimum(cols[None] + (cols[None] >= path[:, None]), W - 1)
        return jnp.take_along_axis(im, src, axis=1), path
    out, paths = lax.scan(carve, img, jnp.arange(6))
    return out, paths


@program(lambda rng: (rng.uniform(size=(128, 128)) < 0.05,), seed=1105)
def hough_lines(lib, edges):
    """Lines by votes of edge points."""
    jnp, lax = lib.jnp, lib.lax
    H, W = edges.shape
    th = jnp.deg2rad(jnp.arange(-90, 90, 2, dtype=jnp.float32))
    ys, xs = jnp.nonzero(edges, size=1200, fill_value=0)
    valid = jnp.arange(1200) < edges.sum()
    rho = jnp.round(xs[:, None] * jnp.cos(th) + ys[:, None] * jnp.sin(th)
                    + 0.0003).astype(jnp.int32)
    diag = 182
    acc = jnp.zeros((2 * diag + 1, th.shape[0]), jnp.int32)
    acc = acc.at[rho + diag, jnp.arange(th.shape[0])[None]].add(valid[:, None].astype(jnp.int32))
    pk = lax.reduce_window(acc, 0, lax.max, (9, 9), (1, 1), "SAME")
    val, flat = lax.top_k(jnp.where(acc == pk, acc, 0).ravel(), 12)
    return acc, val


@program(lambda rng: (colour_image(rng),), seed=11, loose=1e-3)
def hist_equalise_hsv(lib, img):
    """Brightness equalized in another colour space."""
    jnp = lib.jnp
    x = img.astype(jnp.float32) / 255
    mx, mn = x.max(-1), x.min(-1)
    d = mx - mn
    rr, g, b = x[..., 0], x[..., 1], x[..., 2]
    safe = jnp.where(d > 0, d, 1)
    h = jnp.select([d == 0, mx == rr, mx == g],
                   [jnp.zeros_like(d), jnp.mod((g - b) / safe, 6), (b - rr) / safe + 2],
                   (rr - g) / safe + 4) / 6
    s = jnp.where(mx > 0, d / jnp.where(mx > 0, mx, 1), 0)
    v8 = jnp.round(mx * 255).astype(jnp.int32)
    hist = jnp.bincount(v8.ravel(), length=256)
    cdf = jnp.cumsum(hist)
    cmin = cdf[jnp.argmax(cdf > 0)]
    lut = jnp.clip((cdf - cmin) / (cdf[-1] - cmin), 0, 1)
    v = lut[v8]
    i = jnp.floor(h * 6)
    f = h * 6 - i
    p, q, t = v * (1 - s), v * (1 - f * s), v * (1 - (1 - f) * s)
    i = i.astype(jnp.int32) % 6
    out = jnp.stack([jnp.choose(i, [v, q, p, p, t, v], mode="wrap"),
                     jnp.choose(i, [t, v, v, q, p, p], mode="wrap"),
                     jnp.choose(i, [p, p, t, v, v, q], mode="wrap")], -1)
    return (out * 255 + 0.01).astype(jnp.uint8), hist


@program(lambda rng: (colour_image(rng),), seed=11)
def jpeg_roundtrip(lib, img):
    """Blocks transformed, rounded and restored."""
    jnp = lib.jnp
    n = jnp.arange(8)
    D = (jnp.cos((2 * n[None] + 1) * n[:, None] * jnp.pi / 16)
         * jnp.where(n[:, None] == 0, jnp.sqrt(1 / 8), 0.5))
    Qt = jnp.array([16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24,
                    40, 57, 69, 56,
                    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55,
                    64, 81, 104, 113,
                    92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99],
                    jnp.float32).reshape(8, 8)
    M = jnp.array([[.299, .587, .114], [-.168736, -.331264, .5], [.5, -.418688, -.081312]])
    ycc = img.astype(jnp.float32) @ M.T - jnp.array([128.0, 0, 0])
    H, W, C = ycc.shape
    b = ycc.reshape(H // 8, 8, W // 8, 8, C).transpose(4, 0, 2, 1, 3)
    c = jnp.einsum("ij,cabjk,lk->cabil", D, b, D)
    q = jnp.round(c / Qt)
    bits = jnp.sum(jnp.where(q != 0, jnp.floor(jnp.log2(jnp.abs(q) + 1e-9)) + 2, 0))
    rec = jnp.einsum("ji,cabjk,kl->cabil", D, q * Qt, D)
    rec = rec.transpose(1, 3, 2, 4, 0).reshape(H, W, C) + jnp.array([128.0, 0, 0])
    out = jnp.clip(rec @ jnp.linalg.inv(M).T, 0, 255)
    mse = jnp.mean((out - img) ** 2)
    return out, bits, 10 * jnp.log10(255 ** 2 / mse), jnp.mean(q == 0, axis=(1, 2))


@program(lambda rng: (gray_image(rng),), seed=11)
def bilateral_filter(lib, img):
    """Means over what is near in place and value."""
    jnp, lax = lib.jnp, lib.lax
    rad = 4
    p = jnp.pad(img, rad, mode="reflect")
    offs = jnp.stack(jnp.meshgrid(jnp.arange(-rad, rad + 1), jnp.arange(-rad, rad + 1),
                                  indexing="ij"), -1).reshape(-1, 2)

    def body(carry, o):
        num, den = carry
        sh = lax.dynamic_slice(p, (o[0] + rad, o[1] + rad), img.shape)
        w = jnp.exp(-jnp.sum(o ** 2) / (2 * 9.0) - (sh - img) ** 2 / (2 * 0.1 ** 2))
        return (num + w * sh, den + w), None
    (num, den), _ = lax.scan(body, (jnp.zeros_like(img), jnp.zeros_like(img)), offs)
    return num / den


@program(lambda rng: (gray_image(rng)[:96, :128].copy(),), seed=11)
def nonlocal_means(lib, img):
    """Means over patches that look alike."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    p = jnp.pad(img, 5, mode="reflect")
    offs = [(dy, dx) for dy in range(-3, 4) for dx in range(-3, 4)]

    def one(o):
        sh = lax.dynamic_slice(p, (5 + o[0], 5 + o[1]), img.shape)
        d = lax.reduce_window((img - sh) ** 2, 0.0, lax.add, (5, 5), (1, 1), "SAME") / 25
        return jnp.exp(-jnp.maximum(d - 0.005, 0) / 0.01), sh
    w, s = jax.vmap(one)(jnp.array(offs))
    return (w * s).sum(0) / w.sum(0)


@program(lambda rng: (gray_image(rng),), seed=11)
def tv_chambolle(lib, img):
    """Noise removed at the least total variation."""
    jnp, lax = lib.jnp, lib.lax
    lam, tau = 0.1, 0.24

    def div(p):
        px, py = p
        dx = jnp.diff(px, axis=1, prepend=0)
        dy = jnp.diff(py, axis=0, prepend=0)
        return dx + dy

    def grad(u):
        gx = jnp.pad(u[:, 1:] - u[:, :-1], ((0, 0), (0, 1)))
        gy = jnp.pad(u[1:] - u[:-1], ((0, 1), (0, 0)))
        return gx, gy

    def it(i, p):
        gx, gy = grad(div(p) - img / lam)
        n = 1 + tau * jnp.sqrt(gx ** 2 + gy ** 2)
        return (p[0] + tau * gx) / n, (p[1] + tau * gy) / n
    p = lax.fori_loop(0, 40, it, (jnp.zeros_like(img), jnp.zeros_like(img)))
    u = img - lam * div(p)
    gx, gy = grad(u)
    return u, jnp.sum(jnp.sqrt(gx ** 2 + gy ** 2 + 1e-12))


@program(lambda rng: (np.abs(gray_image(rng)),), seed=11)
def richardson_lucy_fft(lib, obs):
    """A blurred image restored."""
    jnp, lax = lib.jnp, lib.lax
    H, W = obs.shape
    yy = jnp.fft.fftfreq(H) * H
    xx = jnp.fft.fftfreq(W) * W
    psf = jnp.exp(-(yy[:, None] ** 2 + xx[None] ** 2) / (2 * 2.0 ** 2))
    otf = jnp.fft.rfft2(psf / psf.sum())

    def conv(a, f):
        return jnp.fft.irfft2(jnp.fft.rfft2(a) * f, s=(H, W))

    def it(x, _):
        ratio = obs / jnp.maximum(conv(x, otf), 1e-4)
        x = x * conv(ratio, jnp.conj(otf))
        return x, jnp.mean(x)
    return lax.scan(it, jnp.full_like(obs, 0.5), None, length=10)
