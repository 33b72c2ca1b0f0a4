"""What several subjects use: seeded data, parameters, layers, losses, an optimizer.

In: NumPy for what makes arguments; a `Library` as the first argument of what programs call.
"""

import math

import numpy as np

f32 = np.float32


class Data(np.random.Generator):
    """A generator with what programs ask for most, in 32 bits."""

    def __init__(self, seed):
        super().__init__(np.random.PCG64(seed))

    def normals(self, *shape, scale=1.0):
        return (self.standard_normal(shape) * scale).astype(f32)

    def weights(self, *shape):
        """Of a layer: smaller the more inputs it has."""
        inputs = int(np.prod(shape[:-1]))
        return (self.standard_normal(shape) / math.sqrt(inputs)).astype(f32)

    def uniforms(self, *shape, lo=0.0, hi=1.0):
        return self.uniform(lo, hi, shape).astype(f32)

    def ints(self, hi, *shape, lo=0):
        return self.integers(lo, hi, shape).astype(np.int32)


def zeros(*shape):
    return np.zeros(shape, f32)


def ones(*shape):
    return np.ones(shape, f32)


def key(seed):
    """What `random.PRNGKey` makes of a small seed, without a library."""
    return np.array([0, seed], np.uint32)


def map_arrays(fun, tree):
    """A function of the arrays of dictionaries, lists and tuples."""
    if isinstance(tree, dict):
        return {name: map_arrays(fun, part) for name, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(map_arrays(fun, part) for part in tree)
    return fun(tree)


def mlp_params(rng, *sizes):
    return [{"w": rng.weights(a, b), "b": zeros(b)} for a, b in zip(sizes[:-1], sizes[1:])]


def norm_params(width):
    return {"g": ones(width), "b": zeros(width)}


def transformer_params(rng, d, widen=4):
    return {
        "ln1": norm_params(d), "qkv": rng.weights(d, 3 * d), "bqkv": zeros(3 * d),
        "o": rng.weights(d, d), "bo": zeros(d),
        "ln2": norm_params(d), "fc": rng.weights(d, widen * d), "bfc": zeros(widen * d),
        "pr": rng.weights(widen * d, d), "bpr": zeros(d),
    }  # fmt: skip


def mlp(lib, layers, x, act=None):
    act = act or lib.nn.relu
    for p in layers[:-1]:
        x = act(x @ p["w"] + p["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


def cross_entropy(lib, logits, labels):
    picked = lib.jnp.take_along_axis(lib.nn.log_softmax(logits), labels[:, None], 1)
    return -lib.jnp.mean(picked)


def soft_cross_entropy(lib, logits, shares):
    """Of labels that are shares of classes, for each example."""
    return -lib.jnp.sum(shares * lib.nn.log_softmax(logits, -1), -1)


def layer_norm(lib, x, p):
    mu = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return (x - mu) * lib.lax.rsqrt(var + 1e-5) * p["g"] + p["b"]


def rms_norm(lib, x, g):
    return x * lib.lax.rsqrt(lib.jnp.mean(x * x, -1, keepdims=True) + 1e-6) * g


def transformer_block(lib, p, x, heads):
    jnp, nn = lib.jnp, lib.nn
    B, T, C = x.shape
    h = layer_norm(lib, x, p["ln1"])
    q, k, v = jnp.split(h @ p["qkv"] + p["bqkv"], 3, -1)
    q, k, v = (t.reshape(B, T, heads, C // heads).transpose(0, 2, 1, 3) for t in (q, k, v))
    att = (q @ k.transpose(0, 1, 3, 2)) / math.sqrt(C // heads)
    mask = jnp.tril(jnp.ones((T, T), bool))
    att = jnp.where(mask, att, -jnp.inf)
    att = nn.softmax(att, -1)
    y = (att @ v).transpose(0, 2, 1, 3).reshape(B, T, C)
    x = x + y @ p["o"] + p["bo"]
    h = layer_norm(lib, x, p["ln2"])
    return x + nn.gelu(h @ p["fc"] + p["bfc"]) @ p["pr"] + p["bpr"]


CHANNELS_LAST = ("NHWC", "HWIO", "NHWC")


def conv(lib, x, w, stride=1, padding="SAME", dil=1, groups=1, dn=CHANNELS_LAST):
    nd = x.ndim - 2
    return lib.lax.conv_general_dilated(
        x, w, (stride,) * nd, padding, rhs_dilation=(dil,) * nd,
        dimension_numbers=dn, feature_group_count=groups,
    )  # fmt: skip


def global_norm(lib, tree):
    jnp = lib.jnp
    return jnp.sqrt(sum(jnp.sum(jnp.square(x)) for x in lib.tree_leaves(tree)))


def clip_by_global_norm(lib, tree, most):
    scale = lib.jnp.minimum(1.0, most / (global_norm(lib, tree) + 1e-6))
    return lib.tree_map(lambda g: g * scale, tree)


def adamw(lib, params, grads, m, v, step, lr=1e-3, b1=0.9, b2=0.999, eps=1e-8, wd=1e-2):
    """Parameters, moments and count after a step."""
    jnp, tree_map = lib.jnp, lib.tree_map
    step = step + 1
    m = tree_map(lambda m, g: b1 * m + (1 - b1) * g, m, grads)
    v = tree_map(lambda v, g: b2 * v + (1 - b2) * g * g, v, grads)
    c1, c2 = 1 - b1**step, 1 - b2**step

    def moved(p, m, v):
        return p - lr * ((m / c1) / (jnp.sqrt(v / c2) + eps) + wd * p)

    return tree_map(moved, params, m, v), m, v, step
