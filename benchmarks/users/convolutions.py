"""Convolutional networks in several layouts, strides and dimensions."""

import math

import numpy as np

from .catalogue import program
from .shared import conv, cross_entropy, map_arrays, norm_params, ones, soft_cross_entropy, zeros


def max_pool(lib, x, k=2):
    lax, jnp = lib.lax, lib.jnp
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, k, k, 1), (1, k, k, 1), "VALID")


def batch_norm(lib, x, p, axes=(0, 1, 2)):
    mu = lib.jnp.mean(x, axes)
    var = lib.jnp.var(x, axes)
    return (x - mu) * lib.lax.rsqrt(var + 1e-5) * p["g"] + p["b"], (mu, var)


def group_norm(lib, x, groups, g, b):
    n, h, w, c = x.shape
    y = x.reshape(n, h, w, groups, c // groups)
    mu = y.mean((1, 2, 4), keepdims=True)
    var = ((y - mu) ** 2).mean((1, 2, 4), keepdims=True)
    return ((y - mu) / lib.jnp.sqrt(var + 1e-5)).reshape(x.shape) * g + b


def two_convolutions(rng):
    """Weights, moving statistics, momentum, images and labels."""
    params = {
        "c1": rng.weights(3, 3, 3, 32), "bn1": norm_params(32),
        "c2": rng.weights(3, 3, 32, 64), "bn2": norm_params(64),
        "d": {"w": rng.weights(8 * 8 * 64, 10), "b": zeros(10)},
    }  # fmt: skip
    stats = {"bn1": (zeros(32), ones(32)), "bn2": (zeros(64), ones(64))}
    momentum = map_arrays(np.zeros_like, params)
    return params, stats, momentum, rng.normals(16, 32, 32, 3), rng.ints(10, 16)


def inverted_residual_params(rng, cin, cout, widen):
    inner = cin * widen
    return {
        "e": rng.weights(1, 1, cin, inner),
        "d": rng.normals(3, 3, 1, inner, scale=0.3),
        "p": rng.weights(1, 1, inner, cout),
        "n": [norm_params(c) for c in (inner, inner, cout)],
    }


def squeeze_excite_params(rng, c):
    return {
        "g1": ones(c), "b1": zeros(c), "w1": rng.weights(3, 3, c, c),
        "g2": ones(c), "b2": zeros(c), "w2": rng.weights(3, 3, c, c),
        "se1": rng.weights(c, c // 4), "se2": rng.weights(c // 4, c),
    }  # fmt: skip


@program(two_convolutions, seed=2)
def cnn_nhwc_batchnorm_train_step(lib, p, stats, mom, x, y):
    """A step with momentum of two convolutions with batch statistics, channels last."""
    jax, jnp, nn, tree_map = lib.jax, lib.jnp, lib.nn, lib.tree_map

    def loss_fn(p):
        h = conv(lib, x, p["c1"])
        h, s1 = batch_norm(lib, h, p["bn1"])
        h = max_pool(lib, nn.relu(h))
        h = conv(lib, h, p["c2"])
        h, s2 = batch_norm(lib, h, p["bn2"])
        h = max_pool(lib, nn.relu(h))
        logits = h.reshape(h.shape[0], -1) @ p["d"]["w"] + p["d"]["b"]
        return cross_entropy(lib, logits, y), ({"bn1": s1, "bn2": s2}, logits)
    (loss, (new, logits)), g = jax.value_and_grad(loss_fn, has_aux=True)(p)
    mom = tree_map(lambda m, g: 0.9 * m + g, mom, g)
    p = tree_map(lambda p, m: p - 0.1 * m, p, mom)
    stats = tree_map(lambda a, b: 0.99 * a + 0.01 * b, stats, new)
    acc = jnp.mean(jnp.argmax(logits, -1) == y)
    return p, stats, mom, loss, acc


@program(lambda rng: (
    {"c1": rng.normals(16, 3, 5, 5, scale=0.1), "b1": zeros(16),
     "c2": rng.normals(32, 16, 5, 5, scale=0.05), "b2": zeros(32),
     "w": rng.weights(32 * 7 * 7, 10)},
    rng.normals(16, 3, 28, 28), rng.ints(10, 16),
), seed=3)
def cnn_nchw_lenet_train_step(lib, p, x, y):
    """A step of LeNet, channels first, with pooling by reshaping."""
    jax, jnp, nn, tree_map = lib.jax, lib.jnp, lib.nn, lib.tree_map
    dn = ("NCHW", "OIHW", "NCHW")

    def pool(h):
        n, c, a, b = h.shape
        return h.reshape(n, c, a // 2, 2, b // 2, 2).max((3, 5))

    def loss_fn(p):
        h = pool(jnp.tanh(conv(lib, x, p["c1"], dn=dn) + p["b1"][None, :, None, None]))
        h = pool(jnp.tanh(conv(lib, h, p["c2"], dn=dn) + p["b2"][None, :, None, None]))
        logits = h.reshape(h.shape[0], -1) @ p["w"]
        return jnp.mean(nn.logsumexp(logits, 1) - logits[jnp.arange(16), y])
    loss, g = jax.value_and_grad(loss_fn)(p)
    return loss, tree_map(lambda p, g: p - 0.01 * g, p, g)


@program(lambda rng: (
    [inverted_residual_params(rng, 16, 16, 4), inverted_residual_params(rng, 16, 24, 4),
     inverted_residual_params(rng, 24, 24, 4)],
    rng.normals(4, 32, 32, 16),
), seed=4)
def mobilenet_inverted_residual_grad(lib, blocks, x):
    """Three inverted residual blocks with depthwise convolutions."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def block(p, x, stride):
        h, _ = batch_norm(lib, conv(lib, x, p["e"]), p["n"][0])
        h = nn.relu6(h)
        h, _ = batch_norm(lib, conv(lib, h, p["d"], stride, groups=h.shape[-1]), p["n"][1])
        h = nn.relu6(h)
        h, _ = batch_norm(lib, conv(lib, h, p["p"]), p["n"][2])
        return x + h if h.shape == x.shape else h

    def f(bs, x):
        for p, s in zip(bs, (1, 2, 1)):
            x = block(p, x, s)
        return jnp.mean(jnp.square(x.mean((1, 2)))) + jnp.mean(jnp.sin(x))
    return jax.value_and_grad(f, argnums=(0, 1))(blocks, x)


@program(lambda rng: (
    [rng.weights(3, 3, 8, 8) for _ in range(4)], rng.weights(3, 3, 8, 4), rng.normals(2, 48, 48, 8),
    rng.ints(4, 2, 48, 48),
), seed=5)
def dilated_conv_segmentation_grad(lib, ws, wout, x, lab):
    """Dilated residual convolutions under cross entropy and a Dice loss."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def f(ws, wout):
        h = x
        for i, w in enumerate(ws):
            h = h + nn.elu(conv(lib, h, w, dil=2 ** i))
        logits = conv(lib, h, wout)
        oh = nn.one_hot(lab, 4)
        ce = soft_cross_entropy(lib, logits, oh)
        pr = nn.softmax(logits)
        dice = 1 - (2 * jnp.sum(pr * oh, (1, 2)) + 1) / (jnp.sum(pr + oh, (1, 2)) + 1)
        return ce.mean() + dice.mean()
    return jax.value_and_grad(f, (0, 1))(ws, wout)


@program(lambda rng: (
    {"d1": rng.weights(3, 3, 1, 16), "d2": rng.weights(3, 3, 16, 32),
     "mid": rng.weights(3, 3, 32, 32), "u1": rng.weights(2, 2, 32, 16),
     "m1": rng.weights(3, 3, 32, 16), "u2": rng.weights(2, 2, 16, 8),
     "out": rng.weights(3, 3, 9, 1)},
    rng.normals(4, 32, 32, 1), rng.normals(4, 32, 32, 1),
), seed=6)
def unet_train_step(lib, p, x, t):
    """A U-net of strided and transposed convolutions with skips."""
    jax, jnp, lax, nn, tree_map = lib.jax, lib.jnp, lib.lax, lib.nn, lib.tree_map

    def net(p, x):
        d1 = nn.silu(conv(lib, x, p["d1"], 2))
        d2 = nn.silu(conv(lib, d1, p["d2"], 2))
        h = nn.silu(conv(lib, d2, p["mid"]))
        u = lax.conv_transpose(h, p["u1"], (2, 2), "SAME",
                               dimension_numbers=("NHWC", "HWIO", "NHWC"))
        h = nn.silu(conv(lib, jnp.concatenate([u, d1], -1), p["m1"]))
        u = lax.conv_transpose(h, p["u2"], (2, 2), "SAME",
                               dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return conv(lib, jnp.concatenate([u, x], -1), p["out"])
    loss, g = jax.value_and_grad(lambda p: jnp.mean((net(p, x) - t) ** 2))(p)
    return loss, tree_map(lambda p, g: p - 1e-2 * jnp.sign(g) * jnp.minimum(jnp.abs(g), 1.0), p, g)


@program(lambda rng: (
    [rng.weights(3, 3, 3, 2, 8), rng.weights(3, 3, 3, 8, 16)], rng.weights(16, 5),
    rng.normals(2, 12, 16, 16, 2), rng.ints(5, 2),
), seed=8)
def conv3d_video_train(lib, ws, wd, x, y):
    """Convolutions and pooling over time and space."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn
    dn = ("NDHWC", "DHWIO", "NDHWC")

    def f(ws, wd):
        h = x
        for w in ws:
            h = nn.leaky_relu(
                lax.conv_general_dilated(h, w, (1, 1, 1), "SAME", dimension_numbers=dn))
            h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 2, 1), (1, 2, 2, 2, 1), "SAME")
        return cross_entropy(lib, h.mean((1, 2, 3)) @ wd, y)
    l, (g1, g2) = jax.value_and_grad(f, (0, 1))(ws, wd)
    return l, g1, g2


@program(lambda rng: (
    [squeeze_excite_params(rng, 32) for _ in range(3)], rng.normals(4, 24, 24, 32),
), seed=9)
def resnet_groupnorm_squeeze_excite_vjp(lib, ps, x):
    """Residual blocks with group normalization and gates from channel means."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def f(ps, x):
        for p in ps:
            h = conv(lib, nn.relu(group_norm(lib, x, 8, p["g1"], p["b1"])), p["w1"])
            h = conv(lib, nn.relu(group_norm(lib, h, 8, p["g2"], p["b2"])), p["w2"])
            s = nn.sigmoid(nn.relu(h.mean((1, 2)) @ p["se1"]) @ p["se2"])
            x = x + h * s[:, None, None, :]
        return x
    y, vjp = jax.vjp(f, ps, x)
    gp, gx = vjp(jnp.cos(y) / y.size)
    return y.mean((1, 2)), gp, gx


@program(lambda rng: (
    rng.weights(7, 7, 3, 24), rng.weights(3, 3, 24, 24), rng.normals(2, 64, 64, 3),
), seed=110)
def resnet_stem_overlapping_maxpool_weightstd_grad(lib, w1, w2, x):
    """Standardized kernels and pooling with overlapping windows."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def ws(w):
        m = w.mean((0, 1, 2))
        return (w - m) / (w.std((0, 1, 2)) * math.sqrt(w[..., 0].size) + 1e-5)

    def f(w1, w2, x):
        h = nn.relu(conv(lib, x, ws(w1), 2))
        h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        h = nn.hard_swish(conv(lib, h, ws(w2)))
        ones = jnp.ones(h.shape[1:3])[None, :, :, None]
        rw = lambda a: lax.reduce_window(a, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        return jnp.sum(jnp.sin(rw(h) / rw(ones)))
    return jax.value_and_grad(f, (0, 1, 2))(w1, w2, x)


@program(lambda rng: (
    rng.weights(3, 3, 4 + 8, 32), zeros(32), rng.normals(2, 10, 16, 16, 4),
    rng.normals(2, 16, 16, 8),
), seed=11003)
def convlstm_scan_video_prediction_grad(lib, w, b, vid, tgt):
    """A recurrent cell whose gates are convolutions, scanned over a video."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def f(w, b):
        def step(c, x):
            h, c = c
            g = conv(lib, jnp.concatenate([x, h], -1), w) + b
            i, f, o_, g = jnp.split(g, 4, -1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            return (nn.sigmoid(o_) * jnp.tanh(c), c), None
        h0 = jnp.zeros((2, 16, 16, 8))
        (h, _), _ = lax.scan(step, (h0, h0), vid.swapaxes(0, 1))
        return jnp.mean((h - tgt) ** 2)
    return jax.value_and_grad(f, (0, 1))(w, b)


@program(lambda rng: (rng.normals(2, 20, 20, 6), rng.normals(18, 18, 54, 4, scale=.1)), seed=11005)
def locally_connected_unfold_patches_grad(lib, x, w):
    """Patches with weights of their own at each place."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def f(x, w):
        p = lax.conv_general_dilated_patches(x, (3, 3), (1, 1), "VALID",
                                             dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.einsum("bhwk,hwko->bhwo", p, w)
    y, pb = jax.vjp(f, x, w)
    return y, pb(jnp.tanh(y))


@program(lambda rng: (
    rng.normals(4, 3, 40, 40), rng.normals(3, 3, 5, 5, scale=.1), rng.normals(6, 3, 3, 3, scale=.2),
), seed=20002)
def conv_misc_layouts_strides_transpose_grad(lib, x, wt, w):
    """Uneven strides, padding, dilation of either side and groups."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def f(x, wt, w):
        # NCHW default
        a = lax.conv_general_dilated(x, w, (2, 3), ((1, 2), (0, 1)), rhs_dilation=(2, 1))
        b = lax.conv_general_dilated(x, wt, (1, 1), ((4, 4), (4, 4)), lhs_dilation=(2, 2))
        c = lax.conv(x, w, (1, 1), "VALID")
        d = lax.conv_general_dilated(x, w.reshape(9, 2, 3, 3)[:, :1], (1, 1), "SAME",
                                     feature_group_count=3)
        e = lax.conv_general_dilated(x, w[:, :, ::-1, ::-1], (1, 1), "SAME_LOWER")
        return sum(jnp.mean(jnp.sin(t) ** 2) for t in (a, b, c, d, e)), (a, b.sum((2, 3)))
    return jax.value_and_grad(f, (0, 1, 2), has_aux=True)(x, wt, w)
