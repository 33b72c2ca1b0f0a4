"""Computer vision: boxes, warps, augmentation, style, neural rendering."""

import numpy as np

from .catalogue import program
from .shared import conv, f32, key, mlp, mlp_params


def avg_pool(lib, x, k=2):
    lax = lib.lax
    return lax.reduce_window(x, 0.0, lax.add, (1, k, k, 1), (1, k, k, 1), "VALID") / (k * k)


def boxes(rng, count):
    """Corners of boxes in a square of side 100."""
    centre = rng.uniforms(count, 2, hi=100)
    size = rng.uniforms(count, 2, lo=5, hi=30)
    return np.concatenate([centre - size / 2, centre + size / 2], 1)


def iou(lib, a, b):
    """Areas of intersections over those of unions."""
    jnp = lib.jnp
    lt = jnp.maximum(a[:, None, :2], b[None, :, :2])
    rb = jnp.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = jnp.prod(jnp.maximum(rb - lt, 0), -1)
    area = lambda t: (t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1])
    return inter / (area(a)[:, None] + area(b)[None] - inter)


@program(lambda rng: (rng.uniforms(32, 40, 40, 3), key(60)), seed=60)
def augment_random_crop_flip_jitter_cutout(lib, x, k):
    """Random crops, flips, brightness and holes for each image of a batch."""
    jax, jnp, lax, random = lib.jax, lib.jnp, lib.lax, lib.random

    def one(img, k):
        k1, k2, k3, k4, k5 = random.split(k, 5)
        o_ = random.randint(k1, (2,), 0, 9)
        c = lax.dynamic_slice(img, (o_[0], o_[1], 0), (32, 32, 3))
        c = jnp.where(random.bernoulli(k2), c[:, ::-1], c)
        br = random.uniform(k3, (), minval=0.8, maxval=1.2)
        ct = random.uniform(k4, (), minval=0.8, maxval=1.2)
        g = (c @ jnp.array([0.299, 0.587, 0.114]))[..., None]
        c = jnp.clip((c - g.mean()) * ct * br + g.mean(), 0, 1)
        cy, cx = random.randint(k5, (2,), 0, 32)
        yy, xx = jnp.mgrid[:32, :32]
        m = (jnp.abs(yy - cy) < 4) & (jnp.abs(xx - cx) < 4)
        return jnp.where(m[..., None], 0.5, c)
    y = jax.vmap(one)(x, random.split(k, x.shape[0]))
    return (y - jnp.array([0.49, 0.48, 0.45])) / jnp.array([0.2, 0.2, 0.21])


@program(lambda rng: (
    rng.uniforms(4, 64, 64, 3), rng.normals(4, 2, 3, scale=0.1) + np.eye(2, 3, dtype=f32),
), seed=6001)
def spatial_transformer_bilinear_gather_grad(lib, img, theta):
    """Images sampled bilinearly through affine maps, with derivatives of both."""
    jax, jnp = lib.jax, lib.jnp

    def sample(img, th):
        H, W, C = img.shape
        ys, xs = jnp.meshgrid(jnp.linspace(-1, 1, 48), jnp.linspace(-1, 1, 48), indexing="ij")
        g = jnp.stack([xs, ys, jnp.ones_like(xs)], -1) @ th.T
        x, y = (g[..., 0] + 1) * (W - 1) / 2, (g[..., 1] + 1) * (H - 1) / 2
        x0, y0 = jnp.floor(x), jnp.floor(y)
        wx, wy = x - x0, y - y0

        def at(yi, xi):
            ok = (yi >= 0) & (yi < H) & (xi >= 0) & (xi < W)
            v = img[jnp.clip(yi, 0, H - 1).astype(jnp.int32),
                    jnp.clip(xi, 0, W - 1).astype(jnp.int32)]
            return v * ok[..., None]
        wx, wy = wx[..., None], wy[..., None]
        return ((1 - wy) * ((1 - wx) * at(y0, x0) + wx * at(y0, x0 + 1))
                + wy * ((1 - wx) * at(y0 + 1, x0) + wx * at(y0 + 1, x0 + 1)))
    f = lambda i, t: jax.vmap(sample)(i, t)
    y, pb = jax.vjp(f, img, theta)
    return y, pb(jnp.cos(3 * y) / 100)


@program(lambda rng: (boxes(rng, 400), rng.uniforms(400)), seed=6002)
def nms_fori_loop(lib, bx, sc):
    """Boxes kept in the order of their scores unless they overlap one kept before."""
    jnp, lax = lib.jnp, lib.lax
    order = jnp.argsort(-sc)
    b = bx[order]
    m = iou(lib, b, b)

    def body(i, keep):
        sup = (m[i] > 0.4) & (jnp.arange(keep.size) > i) & keep[i]
        return keep & ~sup
    keep = lax.fori_loop(0, b.shape[0], body, jnp.ones(b.shape[0], bool))
    return keep, order, jnp.sum(keep)


@program(lambda rng: (
    boxes(rng, 1500), boxes(rng, 300), rng.normals(1500, 21), rng.ints(20, 300),
), seed=6003)
def ssd_anchor_matching_focal_loss(lib, anc, gt, logits, lab):
    """Anchors matched with boxes, and the focal loss of their classes."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn
    m = iou(lib, anc, gt)
    best, gi = m.max(1), m.argmax(1)
    gi = gi.at[m.argmax(0)].max(0) * 1
    cls = jnp.where(best > 0.5, lab[gi] + 1, 0)

    def f(lg):
        p = nn.softmax(lg)
        pt = jnp.take_along_axis(p, cls[:, None], 1)[:, 0]
        return jnp.sum(-((1 - pt) ** 2) * jnp.log(pt + 1e-9)) / jnp.maximum((cls > 0).sum(), 1)
    return m, cls, jax.value_and_grad(f)(logits)


@program(lambda rng: (rng.normals(8, 64, 64, 3), rng.normals(10, 2)), seed=20003)
def image_resize_rotate_map_coordinates_blur(lib, x, th):
    """Resizing by three methods, rotation with reflection, blurring of rows."""
    jax, jnp = lib.jax, lib.jnp
    img = lib.module("image")
    nd = lib.module("scipy.ndimage")
    a = img.resize(x, (8, 96, 80, 3), "bilinear")
    b = img.resize(x, (8, 24, 24, 3), "bicubic", antialias=True)
    c = img.resize(x, (8, 50, 50, 3), method="nearest")

    def rot(im, t):
        g = jnp.stack(jnp.meshgrid(jnp.arange(64.) - 31.5, jnp.arange(64.) - 31.5,
                                   indexing="ij")).reshape(2, -1)
        Rm = jnp.array([[jnp.cos(t), -jnp.sin(t)], [jnp.sin(t), jnp.cos(t)]])
        return nd.map_coordinates(im, Rm @ g + 31.5, order=1, mode="reflect").reshape(64, 64)
    d = jax.vmap(rot)(x[..., 0], th[:8, 0])
    k = jnp.exp(-jnp.arange(-3., 4) ** 2 / 2)
    e = jax.vmap(lambda r_: jnp.convolve(r_, k / k.sum(), mode="same"))(x[..., 1].reshape(-1, 64))
    return a, b, c, d, e


@program(lambda rng: (
    rng.weights(3, 3, 3, 32), rng.weights(3, 3, 32, 12), rng.uniforms(2, 32, 32, 3),
    rng.uniforms(2, 64, 64, 3),
), seed=11001)
def superres_pixelshuffle_ssim_grad(lib, w1, w2, lr, hr):
    """Upscaling by shuffling channels into pixels, judged by structural similarity."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn
    g = np.exp(-0.5 * ((np.arange(7) - 3) / 1.5) ** 2)
    g = np.outer(g, g)
    g = (g / g.sum()).astype(f32)[:, :, None, None].repeat(3, 3)

    def blur(x):
        return conv(lib, x, g, padding="VALID", groups=3)

    def f(w1, w2):
        h = conv(lib, nn.relu(conv(lib, lr, w1)), w2)
        b, a, c, _ = h.shape
        y = nn.sigmoid(
            h.reshape(b, a, c, 2, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, 2 * a, 2 * c, 3))
        m1, m2 = blur(y), blur(hr)
        s1, s2, s12 = blur(y * y) - m1 ** 2, blur(hr * hr) - m2 ** 2, blur(y * hr) - m1 * m2
        ssim = ((2 * m1 * m2 + 1e-4) * (2 * s12 + 9e-4)
                / ((m1 ** 2 + m2 ** 2 + 1e-4) * (s1 + s2 + 9e-4)))
        return 1 - ssim.mean() + jnp.sqrt((y - hr) ** 2 + 1e-6).mean()
    return jax.value_and_grad(f, (0, 1))(w1, w2)


@program(lambda rng: (
    rng.normals(2, 24, 24, 8), rng.normals(2, 24, 24, 18, scale=.7), rng.weights(9, 8, 16),
), seed=11002)
def deformable_conv_bilinear_grad(lib, x, off, w):
    """A convolution that reads bilinearly at offsets it is given."""
    jax, jnp = lib.jax, lib.jnp

    def one(img, o):
        H, W, C = img.shape
        yy, xx = jnp.meshgrid(jnp.arange(H), jnp.arange(W), indexing="ij")
        dy, dx = jnp.meshgrid(jnp.arange(-1, 2), jnp.arange(-1, 2), indexing="ij")
        py = yy[..., None] + dy.ravel() + o[..., ::2]
        px = xx[..., None] + dx.ravel() + o[..., 1::2]
        y0, x0 = jnp.floor(py), jnp.floor(px)
        out = 0
        for a in (0, 1):
            for b in (0, 1):
                yi, xi = y0 + a, x0 + b
                wt = (1 - jnp.abs(py - yi)) * (1 - jnp.abs(px - xi))
                ok = (yi >= 0) & (yi < H) & (xi >= 0) & (xi < W)
                v = img[yi.astype(int), xi.astype(int)]
                out = out + jnp.where(ok, wt, 0.0)[..., None] * v
        return jnp.einsum("hwkc,kco->hwo", out, w)
    f = lambda x, o: jnp.mean(jax.vmap(one)(x, o) ** 2)
    return jax.value_and_grad(f, (0, 1))(x, off)


@program(lambda rng: (
    rng.weights(3, 3, 3, 16), rng.weights(3, 3, 16, 32), rng.normals(1, 64, 64, 3),
    rng.normals(1, 64, 64, 3), rng.normals(1, 64, 64, 3),
), seed=10)
def style_transfer_instance_norm_image_step(lib, w1, w2, img, content, style):
    """A step of an image towards the content of one and the style of another."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def inorm(h):
        mu = jnp.mean(h, (1, 2), keepdims=True)
        sd = jnp.std(h, (1, 2), keepdims=True)
        return (h - mu) / (sd + 1e-5)

    def feats(x):
        a = nn.relu(inorm(conv(lib, x, w1)))
        b = nn.relu(inorm(conv(lib, avg_pool(lib, a), w2)))
        return a, b

    def gram(h):
        n, a, b, c = h.shape
        h = h.reshape(n, a * b, c)
        return jnp.einsum("npc,npd->ncd", h, h) / (a * b)
    fc, fs = feats(content), feats(style)

    def loss(img):
        f = feats(img)
        l = jnp.mean((f[1] - fc[1]) ** 2)
        l += 10 * sum(jnp.sum((gram(a) - gram(b)) ** 2) / a.shape[-1] ** 2 for a, b in zip(f, fs))
        tv = jnp.abs(jnp.diff(img, axis=1)).mean() + jnp.abs(jnp.diff(img, axis=2)).mean()
        return l + 0.1 * tv
    l, g = jax.value_and_grad(loss)(img)
    return l, jnp.clip(img - 0.5 * g, -3, 3)


@program(lambda rng: (
    mlp_params(rng, 63, 64, 64, 4), mlp_params(rng, 63, 64, 64, 4), rng.normals(64, 3, scale=.1),
    rng.normals(64, 3), rng.uniforms(64, 3), key(7),
), seed=102, rtol=1e-2)
def nerf_hierarchical_render_grad(lib, pc, pf, ro, rd, rgb, k):
    """Rays through a coarse radiance field, sampled again where it is dense."""
    jax, jnp, lax, nn, random = lib.jax, lib.jnp, lib.lax, lib.nn, lib.random
    rd = rd / jnp.linalg.norm(rd, axis=-1, keepdims=True)

    def enc(x):
        fr = 2.0 ** jnp.arange(10)
        a = (x[..., None, :] * fr[:, None]).reshape(x.shape[:-1] + (30,))
        return jnp.concatenate([x, jnp.sin(a), jnp.cos(a)], -1)

    def render(p, t):
        pts = ro[:, None] + rd[:, None] * t[..., None]
        raw = mlp(lib, p, enc(pts))
        dt = jnp.concatenate([t[:, 1:] - t[:, :-1], jnp.full((t.shape[0], 1), 1e10)], 1)
        alpha = 1 - jnp.exp(-nn.relu(raw[..., 3]) * dt)
        T = jnp.cumprod(1 - alpha + 1e-10, -1)
        T = jnp.concatenate([jnp.ones_like(T[:, :1]), T[:, :-1]], -1)
        w = alpha * T
        return (w[..., None] * nn.sigmoid(raw[..., :3])).sum(1), w
    k1, k2 = random.split(k)
    tc = jnp.linspace(0.5, 3, 24)[None] + random.uniform(k1, (64, 24)) * 0.1
    u = jnp.sort(random.uniform(k2, (64, 24)), -1)

    def f(pc, pf):
        c, w = render(pc, tc)
        pdf = lax.stop_gradient(w[:, 1:-1] + 1e-3)
        cdf = jnp.cumsum(pdf / pdf.sum(-1, keepdims=True), -1)
        cdf = jnp.concatenate([jnp.zeros_like(cdf[:, :1]), cdf], -1)
        i = jax.vmap(lambda c, u: jnp.searchsorted(c, u, side="right"))(cdf, u)
        lo, hi = jnp.clip(i - 1, 0, 22), jnp.clip(i, 0, 22)
        g = lambda a, i: jnp.take_along_axis(a, i, 1)
        mid = 0.5 * (tc[:, 1:] + tc[:, :-1])
        den = g(cdf, hi) - g(cdf, lo)
        den = jnp.where(den < 1e-5, 1.0, den)
        tf = g(mid, lo) + (u - g(cdf, lo)) / den * (g(mid, hi) - g(mid, lo))
        t = jnp.sort(jnp.concatenate([tc, tf], -1), -1)
        fine, _ = render(pf, t)
        return jnp.mean((c - rgb) ** 2) + jnp.mean((fine - rgb) ** 2)
    return jax.value_and_grad(f, (0, 1))(pc, pf)


@program(lambda rng: (
    rng.normals(400, 2), rng.normals(400, scale=.5), rng.normals(2, 2), rng.uniforms(400, 3),
    rng.uniforms(400),
), seed=18007)
def gaussian_splatting_alpha_composite_grad(lib, mu, ls, _w, col, op):
    """Gaussians sorted by depth and composed into an image."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn
    yy, xx = jnp.meshgrid(jnp.linspace(-2, 2, 24), jnp.linspace(-2, 2, 24), indexing="ij")
    px = jnp.stack([xx, yy], -1).reshape(-1, 2)

    def render(mu, ls, col, op):
        d2 = jnp.sum((px[:, None] - mu[None]) ** 2, -1)
        a = nn.sigmoid(op) * jnp.exp(-0.5 * d2 / jnp.exp(2 * (ls - 1.5)))
        o_ = jnp.argsort(ls)
        a = jnp.clip(a[:, o_], 0, 0.99)
        T = jnp.exp(jnp.cumsum(jnp.log1p(-a), 1) - jnp.log1p(-a))
        return (T * a) @ col[o_]
    tgt = nn.sigmoid(jnp.sin(3 * px @ jnp.ones((2, 3))))
    return jax.value_and_grad(lambda *p: jnp.mean(jnp.abs(render(*p) - tgt)),
                              (0, 1, 2, 3))(mu, ls, col, op)


@program(lambda rng: (rng.normals(4, 4096, 2, scale=.2), rng.uniforms(1024, 2)), seed=15007)
def instant_ngp_hashgrid_encode_grad(lib, tab, x):
    """Features interpolated from hashed grids of four resolutions."""
    jax, jnp = lib.jax, lib.jnp

    def f(tab, x):
        out = []
        for l in range(4):
            rs = int(16 * 1.6 ** l)
            p = x * rs
            i0 = jnp.floor(p).astype(jnp.uint32)
            w = p - jnp.floor(p)
            acc = 0
            for a in (0, 1):
                for b in (0, 1):
                    i = i0 + jnp.array([a, b], jnp.uint32)
                    h = (i[:, 0] ^ (i[:, 1] * jnp.uint32(2654435761))) & 4095
                    ww = (w[:, 0] if a else 1 - w[:, 0]) * (w[:, 1] if b else 1 - w[:, 1])
                    acc = acc + ww[:, None] * tab[l][h]
            out.append(acc)
        return jnp.concatenate(out, -1)
    y, pb = jax.vjp(f, tab, x)
    return y, pb(jnp.sin(5 * y))
