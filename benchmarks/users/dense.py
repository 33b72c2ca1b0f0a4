"""Dense networks: layers, activations, embeddings of points, modules as classes."""

import functools

import numpy as np

from .catalogue import program
from .shared import (
    adamw,
    clip_by_global_norm,
    cross_entropy,
    f32,
    key,
    map_arrays,
    mlp,
    mlp_params,
    soft_cross_entropy,
    zeros,
)


def adamw_state(rng):
    params = mlp_params(rng, 784, 512, 256, 10)
    first = map_arrays(lambda a: (a * 0.01).astype(f32), params)
    second = map_arrays(lambda a: (a * a + 0.01).astype(f32), params)
    return params, first, second, np.int32(7), rng.normals(128, 784), rng.ints(10, 128)


def layer_norm_data(rng):
    gain, bias = rng.normals(768, scale=0.2) + 1, rng.normals(768, scale=0.1)
    return rng.normals(512, 768), gain, bias, rng.normals(512, 768)


@functools.cache
def module_classes(lib):
    """Classes of a library's modules: pytrees registered in two ways."""

    class Linear:
        def __init__(self, w, b, act=None):
            self.w, self.b, self.act = w, b, act

        def __call__(self, x):
            y = x @ self.w + self.b
            return getattr(lib.nn, self.act)(y) if self.act else y

    lib.jax.tree_util.register_pytree_node(
        Linear, lambda m: ((m.w, m.b), m.act), lambda act, parts: Linear(*parts, act)
    )

    @lib.jax.tree_util.register_pytree_node_class
    class Sequential:
        def __init__(self, layers):
            self.layers = tuple(layers)

        def __call__(self, x):
            return functools.reduce(lambda h, l: l(h), self.layers, x)

        def tree_flatten(self):
            return self.layers, None

        @classmethod
        def tree_unflatten(cls, _, ch):
            return cls(ch)

    return Linear, Sequential


@program(adamw_state, seed=1)
def mlp_adamw_train_step(lib, p, m, v, step, x, y):
    """A step of AdamW with clipped gradients for a classifier of three dense layers."""
    jax = lib.jax
    loss, g = jax.value_and_grad(lambda p: cross_entropy(lib, mlp(lib, p, x), y))(p)
    g = clip_by_global_norm(lib, g, 1.0)
    return (loss,) + adamw(lib, p, g, m, v, step)


@program(layer_norm_data, seed=11)
def layer_norm_custom_vjp_fwd_bwd(lib, x, g, b, ct):
    """Layer normalization with a derivative written by hand, and its cotangents."""
    jax, lax = lib.jax, lib.lax

    @jax.custom_vjp
    def ln(x, g, b):
        return fwd(x, g, b)[0]

    def fwd(x, g, b):
        mu = x.mean(-1, keepdims=True)
        xc = x - mu
        rs = lax.rsqrt((xc * xc).mean(-1, keepdims=True) + 1e-5)
        xh = xc * rs
        return xh * g + b, (xh, rs, g)

    def bwd(res, dy):
        xh, rs, g = res
        dg = (dy * xh).sum(0)
        db = dy.sum(0)
        d = dy * g
        dx = rs * (d - d.mean(-1, keepdims=True) - xh * (d * xh).mean(-1, keepdims=True))
        return dx, dg, db
    ln.defvjp(fwd, bwd)
    y, pb = jax.vjp(ln, x, g, b)
    return (y,) + pb(ct)


@program(layer_norm_data, seed=11)
def layer_norm_autodiff_fwd_bwd(lib, x, g, b, ct):
    """The same layer normalization, differentiated by the library."""
    jax, jnp = lib.jax, lib.jnp

    def ln(x, g, b):
        mean = jnp.mean(x, axis=-1, keepdims=True)
        var = jnp.var(x, axis=-1, keepdims=True)
        return g * (x - mean) / jnp.sqrt(var + 1e-5) + b
    y, pb = jax.vjp(ln, x, g, b)
    return (y,) + pb(ct)


@program(lambda rng: (
    rng.normals(128, 256), rng.normals(256, 8192, scale=0.05), rng.ints(8192, 128),
), seed=18)
def cross_entropy_large_vocab_label_smoothing(lib, h, w, y):
    """Smoothed cross entropy over 8192 words with a penalty on the normalizer."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def f(h, w):
        logits = h @ w
        lse = nn.logsumexp(logits, -1)
        true = jnp.take_along_axis(logits, y[:, None], -1)[:, 0]
        nll = lse - 0.9 * true - 0.1 * logits.mean(-1)
        return jnp.mean(nll + 1e-4 * lse ** 2)
    l, (gh, gw) = jax.value_and_grad(f, (0, 1))(h, w)
    return l, gh, gw


@program(lambda rng: (
    mlp_params(rng, 256, 512, 512, 10), rng.normals(128, 256), rng.ints(10, 128), key(70),
), seed=6803)
def mlp_dropout_mixup_ema_step(lib, p, x, y, k):
    """A step with mixed-up examples, dropout, and a moving average of the weights."""
    jax, nn, random, tree_map = lib.jax, lib.nn, lib.random, lib.tree_map
    ks = random.split(k, 4)
    lam = random.beta(ks[0], 0.4, 0.4)
    perm = random.permutation(ks[1], x.shape[0])
    oh = nn.one_hot(y, 10)
    xm = lam * x + (1 - lam) * x[perm]
    ym = lam * oh + (1 - lam) * oh[perm]

    def f(p):
        h = xm
        for q, kk in zip(p[:-1], ks[2:]):
            h = nn.gelu(h @ q["w"] + q["b"], approximate=False)
            h = h * random.bernoulli(kk, 0.8, h.shape) / 0.8
        return soft_cross_entropy(lib, h @ p[-1]["w"] + p[-1]["b"], ym).mean()
    l, g = jax.value_and_grad(f)(p)
    new = tree_map(lambda p, g: p - 0.1 * g, p, g)
    ema = tree_map(lambda e, n: 0.999 * e + (1 - 0.999) * n, p, new)
    return lam, l, new, ema


@program(lambda rng: (
    rng.weights(400, 64), zeros(64), zeros(400), rng.uniforms(128, 400),
), seed=6804)
def tied_denoising_autoencoder_grad(lib, W, b, c, x):
    """An autoencoder with tied weights and a penalty for activity that is not sparse."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def f(W, b, c):
        h = nn.sigmoid(jnp.where(jnp.arange(400) % 5 == 0, 0.0, x) @ W + b)
        y = nn.sigmoid(h @ W.T + c)
        rho = h.mean(0)
        kl = jnp.sum(0.05 * jnp.log(0.05 / rho) + 0.95 * jnp.log(0.95 / (1 - rho)))
        return jnp.mean(jnp.sum((x - y) ** 2, 1)) + 0.1 * kl
    return jax.value_and_grad(f, (0, 1, 2))(W, b, c)


@program(lambda rng: (
    rng.normals(3, 64, 64, scale=0.2), rng.normals(3, 64), rng.normals(32, 64),
), seed=6809)
def spectral_norm_power_iteration_grad(lib, Ws, us, x):
    """Layers divided by their largest singular value, found by power iteration."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def sn(W, u):
        def it(_, c):
            u, v = c
            v = W.T @ u
            v = v / (jnp.linalg.norm(v) + 1e-12)
            u = W @ v
            return u / (jnp.linalg.norm(u) + 1e-12), v
        u, v = lax.fori_loop(0, 5, it, (u, jnp.zeros(W.shape[1])))
        u, v = lax.stop_gradient((u, v))
        return W / (u @ W @ v), u

    def f(Ws):
        h, nu = x, []
        for i in range(3):
            W, u = sn(Ws[i], us[i])
            nu.append(u)
            h = nn.leaky_relu(h @ W.T, 0.1)
        return jnp.mean(h ** 2), jnp.stack(nu)
    return jax.value_and_grad(f, has_aux=True)(Ws)


@program(lambda rng: (rng.normals(20000, scale=2), rng.uniforms(20000)), seed=22006)
def activation_zoo_second_derivatives(lib, x, u):
    """Fifteen activations with first and second derivatives."""
    jax, jnp, nn, special = lib.jax, lib.jnp, lib.nn, lib.special
    acts = [nn.gelu, nn.silu, nn.softplus, nn.elu, nn.selu, nn.celu, nn.mish, nn.hard_swish,
            nn.log_sigmoid, nn.soft_sign, nn.squareplus,
            functools.partial(nn.gelu, approximate=False), nn.standardize, special.erf, nn.sigmoid]
    out = []
    for a in acts:
        f = lambda x, a=a: jnp.sum(a(x) * u)
        out.append((a(x), jax.grad(f)(x), jax.jvp(jax.grad(f), (x,), (u,))[1]))
    return out


@program(lambda rng: (
    [(rng.weights(32, 64), zeros(64)), (rng.weights(64, 64), zeros(64)),
     (rng.weights(64, 8), zeros(8))],
    rng.normals(64, 32), rng.ints(8, 64),
), seed=180)
def equinox_style_module_adamw_schedule(lib, layers, x, y):
    """A network of classes registered as pytrees; weight decay chosen by shape."""
    jax, jnp = lib.jax, lib.jnp
    Linear, Sequential = module_classes(lib)
    acts = ("gelu", "silu", None)
    m = Sequential(Linear(w, b, act) for (w, b), act in zip(layers, acts))
    l, g = jax.value_and_grad(lambda m: cross_entropy(lib, m(x), y))(m)
    def upd(path, p, g):
        dec = 0.0 if p.ndim < 2 else 0.01
        return p - 0.01 * (g / (jnp.abs(g) + 1e-3) + dec * p)
    return l, jax.tree_util.tree_map_with_path(upd, m, g)


@program(lambda rng: (
    [rng.normals(1, 64) for _ in range(3)], rng.normals(8, 64), rng.ints(4, 8),
    rng.normals(4, 64, 64, scale=.1),
), seed=18001)
def switch_routed_expert_layers_vmap_grad(lib, _ctx, x, ids, W):
    """Layers chosen by `switch`, under `vmap` and inside of a `scan`."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn
    br = [lambda w, x: jnp.tanh(x @ w), lambda w, x: nn.relu(x @ w), lambda w, x: jnp.sin(x) @ w,
          lambda w, x: x]

    def f(W, x):
        h = jax.vmap(lambda i, x: lax.switch(i, br, W[i], x))(ids, x)
        def step(h, i):
            return lax.switch(i, br, W[0], h) + 0.1 * h, None
        h, _ = lax.scan(step, h, jnp.array([2, 0, 3, 1, 0]))
        return jnp.mean(h ** 2)
    return jax.value_and_grad(f, (0, 1))(W, x)


@program(lambda rng: (
    [{"w": rng.uniforms(a, b, lo=-c, hi=c), "b": rng.uniforms(b, lo=-.1, hi=.1)} for a, b,
     c in ((2, 128, .5), (128, 128, .02), (128, 3, .02))],
    rng.uniforms(1024, 2, lo=-1), rng.uniforms(1024, 3),
), seed=6806)
def siren_fit_image_grad_and_laplacian(lib, p, xy, rgb):
    """A network of sines fitted to an image, and its Jacobian at pixels."""
    jax, jnp = lib.jax, lib.jnp

    def net(p, x):
        for q in p[:-1]:
            x = jnp.sin(30 * (x @ q["w"] + q["b"]) * 0.3)
        return x @ p[-1]["w"] + p[-1]["b"]
    l, g = jax.value_and_grad(lambda p: jnp.mean((net(p, xy) - rgb) ** 2))(p)
    dx = jax.vmap(jax.jacfwd(lambda x: net(p, x)))(xy[:128])
    return l, g, dx


@program(lambda rng: (
    rng.normals(2, 64, scale=10), mlp_params(rng, 128, 128, 3), rng.uniforms(2048, 2),
), seed=6807)
def fourier_features_mlp_forward(lib, B, p, xy):
    """A dense network on sines and cosines of random projections."""
    jnp, nn = lib.jnp, lib.nn
    a = 2 * jnp.pi * xy @ B
    return nn.sigmoid(mlp(lib, p, jnp.concatenate([jnp.sin(a), jnp.cos(a)], -1)))


@program(lambda rng: (rng.normals(16, 128, 8), rng.normals(128, 10, 16, 8, scale=.1)), seed=18005)
def capsule_dynamic_routing_grad(lib, u, W):
    """Capsules whose outputs are routed by agreement in three rounds."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def f(u, W):
        uh = jnp.einsum("bni,njoi->bnjo", u, W)
        b = jnp.zeros(uh.shape[:3])
        for i in range(3):
            c = nn.softmax(b, 2)
            s = jnp.einsum("bnj,bnjo->bjo", c, uh)
            n2 = jnp.sum(s * s, -1, keepdims=True)
            v = n2 / (1 + n2) * s / jnp.sqrt(n2 + 1e-8)
            if i < 2:
                b = b + jnp.einsum("bnjo,bjo->bnj", uh, lax.stop_gradient(v))
        return jnp.mean(jnp.sqrt(jnp.sum(v * v, -1) + 1e-8))
    return jax.value_and_grad(f, (0, 1))(u, W)


@program(lambda rng: (
    {"a": rng.weights(256, 8), "b": rng.normals(8, 256, scale=0.01)}, rng.weights(256, 256),
    rng.normals(8, 64, 256), rng.normals(8, 64, 256), key(68),
), seed=6802)
def lora_dropout_train_step(lib, lo, w, x, t, k):
    """A step that trains an update of low rank beside frozen weights."""
    jax, jnp, lax, random, tree_map = lib.jax, lib.jnp, lib.lax, lib.random, lib.tree_map

    def f(lo):
        keep = random.bernoulli(k, 0.9, x.shape)
        xd = jnp.where(keep, x / 0.9, 0.0)
        y = x @ lax.stop_gradient(w) + (16 / 8) * (xd @ lo["a"]) @ lo["b"]
        return jnp.mean((y - t) ** 2)
    l, g = jax.value_and_grad(f)(lo)
    return l, tree_map(lambda p, g: p - 0.1 * g, lo, g)
