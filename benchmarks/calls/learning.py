"""Calls of `nn` and the small programs that networks are made of."""

from .arrays import MILLION, chances, integers, normals, uniforms
from .catalogue import case, variant

LINE = normals(MILLION)
SQUARE = normals(1000, 1000)
HEADS = normals(2, 512, 8, 64)
FEWER_HEADS = normals(2, 512, 2, 64)
LABELS = integers(1024, high=2000)


def layer_norm(jnp, x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def batch_norm(jnp, x):
    return (x - x.mean((0, 1, 2))) / jnp.sqrt(x.var((0, 1, 2)) + 1e-5)


def group_norm(jnp, x):
    groups = x.reshape(8, 28, 28, 8, 16)
    centred = groups - groups.mean((1, 2, 4), keepdims=True)
    return (centred / jnp.sqrt(groups.var((1, 2, 4), keepdims=True) + 1e-5)).reshape(x.shape)


def rms_norm(jnp, x, gain):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gain


def cross_entropy(jnp, nn, scores, labels):
    return -jnp.take_along_axis(nn.log_softmax(scores), labels[:, None], 1).mean()


def rotary(jnp, x):
    """Positions turn pairs of channels."""
    angles = jnp.arange(512)[:, None] * 10000.0 ** (-jnp.arange(32) / 32)
    c, s = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    a, b = x[..., :32], x[..., 32:]
    return jnp.concatenate([a * c - b * s, a * s + b * c], -1)


def adam(jnp, weights, gradient, first, second):
    first = 0.9 * first + 0.1 * gradient
    second = 0.999 * second + 0.001 * gradient**2
    return weights - 0.001 * first / (jnp.sqrt(second) + 1e-8), first, second


def experts(jnp, nn, x, gates, weights):
    """The two best of eight experts by scores, all of them computed."""
    scores = nn.softmax(x @ gates)
    largest = jnp.sort(scores, -1)[:, -2:-1]
    scores = jnp.where(scores >= largest, scores, 0)
    return jnp.einsum("bd,edf,be->bf", x, weights, scores)


_ACTIVATIONS = [
    case(f"{name}, 10^6", f"nn.{name}", LINE)
    for name in ("softplus", "silu", "elu")
] + [
    variant(f"{name}, 10^6", f"nn.{name}", LINE)
    for name in ("selu", "mish", "sigmoid", "log_sigmoid", "hard_swish", "leaky_relu", "relu6",
                 "squareplus")
] + [
    case("gelu by tanh, 10^6", "nn.gelu", LINE, approximate=True),
    case("gelu by erf, 10^6", "nn.gelu", LINE, approximate=False),
    variant("glu, 1000 x 1000", "nn.glu", SQUARE),
    case("grad of gelu, 10^6", lambda jax, nn, x: jax.grad(lambda x: nn.gelu(x).sum())(x), LINE),
    variant("grad of silu, 10^6", lambda jax, nn, x: jax.grad(lambda x: nn.silu(x).sum())(x), LINE),
]  # fmt: skip

_NORMS = [
    case("softmax of rows, 1000 x 1000", "nn.softmax", SQUARE),
    case("softmax of columns, 1000 x 1000", "nn.softmax", SQUARE, axis=0),
    case("softmax of the middle, 100^3", "nn.softmax", normals(100, 100, 100), axis=1),
    variant("softmax bfloat16, 1000 x 1000", "nn.softmax", normals(1000, 1000, dtype="bfloat16")),
    variant("softmax of rows of 10, 100000", "nn.softmax", normals(100000, 10)),
    variant("softmax where, 1000 x 1000",
            lambda nn, x, m: nn.softmax(x, where=m), SQUARE, chances(1000, 1000, share=0.9)),
    case("log_softmax, 1000 x 1000", "nn.log_softmax", SQUARE),
    case("standardize, 1000 x 1000", "nn.standardize", SQUARE),
    case("layer norm, 4096 x 256", layer_norm, normals(4096, 256)),
    variant("layer norm bfloat16, 4096 x 256", layer_norm, normals(4096, 256, dtype="bfloat16")),
    variant("rms norm, 4096 x 256", rms_norm, normals(4096, 256), normals(256)),
    case("batch norm, 8 x 56 x 56 x 64", batch_norm, normals(8, 56, 56, 64)),
    variant("group norm, 8 x 28 x 28 x 128", group_norm, normals(8, 28, 28, 128)),
    case("grad of layer norm, 4096 x 256",
         lambda jax, jnp, x, y: jax.grad(lambda x: (layer_norm(jnp, x) * y).sum())(x),
         normals(4096, 256), normals(4096, 256)),
]  # fmt: skip

_ATTENTION = [
    case("attention, 2 x 512 x 8 x 64", "nn.dot_product_attention", HEADS, HEADS, HEADS),
    case("attention, causal, 2 x 512 x 8 x 64", "nn.dot_product_attention", HEADS, HEADS, HEADS,
         is_causal=True),
    case("attention of shared heads, 2 x 512 x 8 x 64", "nn.dot_product_attention", HEADS,
         FEWER_HEADS, FEWER_HEADS),
    case("attention with a mask, 2 x 512 x 8 x 64",
         lambda nn, q, k, v, m: nn.dot_product_attention(q, k, v, mask=m), HEADS, HEADS, HEADS,
         chances(2, 1, 512, 512, share=0.9)),
    variant("attention with a bias, 2 x 512 x 8 x 64", "nn.dot_product_attention", HEADS, HEADS,
            HEADS, normals(1, 8, 512, 512)),
    variant("attention bfloat16, 2 x 256 x 8 x 64", "nn.dot_product_attention",
            *[normals(2, 256, 8, 64, dtype="bfloat16")] * 3),
    variant("attention of one query, 8 x 1024 x 8 x 64", "nn.dot_product_attention",
            normals(8, 1, 8, 64), normals(8, 1024, 8, 64), normals(8, 1024, 8, 64)),
    case("grad of attention, 1 x 256 x 8 x 64",
         lambda jax, nn, q, k, v: jax.grad(
             lambda q: (nn.dot_product_attention(q, k, v) ** 2).sum())(q),
         *[normals(1, 256, 8, 64)] * 3),
    variant("rotary positions, 2 x 512 x 8 x 64", rotary, HEADS),
]  # fmt: skip

_TRAINING = [
    variant("one_hot by weights, 2048 of 1000", lambda nn, i, w: nn.one_hot(i, 1000) @ w,
            integers(2048, high=1000), normals(1000, 64)),
    case("cross entropy, 1024 x 10000", cross_entropy, normals(1024, 10000), LABELS),
    case("grad of cross entropy, 1024 x 2000",
         lambda jax, jnp, nn, x, y: jax.grad(lambda x: cross_entropy(jnp, nn, x, y))(x),
         normals(1024, 2000), LABELS),
    case("grad of an embedding, 4096 of 50000 x 64",
         lambda jax, w, i: jax.grad(lambda w: (w[i] ** 2).sum())(w), normals(50000, 64),
         integers(4096, high=50000)),
    case("Adam, 10^6", adam, LINE, LINE, LINE, uniforms(MILLION)),
    variant("clip by norm, 10^6",
            lambda jnp, x: x * jnp.minimum(1.0, 1.0 / jnp.linalg.norm(x)), LINE),
    variant("binary cross entropy, 10^6",
            lambda jnp, x, y: (jnp.maximum(x, 0) - x * y + jnp.log1p(jnp.exp(-jnp.abs(x)))).mean(),
            LINE, uniforms(MILLION)),
    variant("mixture of eight experts, 256 x 64", experts, normals(256, 64), normals(64, 8),
            normals(8, 64, 128)),
    variant("sigmoid focal loss, 10^6",
            lambda jnp, nn, x, y: (-y * (1 - nn.sigmoid(x)) ** 2 * nn.log_sigmoid(x)).sum(), LINE,
            uniforms(MILLION)),
    variant("int8 weights, 256 x 512",
            lambda x, w, s: x @ (w.astype("float32") * s), normals(256, 512),
            integers(512, 256, low=-127, high=127, dtype="int8"), uniforms(256)),
]  # fmt: skip

CASES = [*_ACTIVATIONS, *_NORMS, *_ATTENTION, *_TRAINING]
