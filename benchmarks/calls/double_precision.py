"""The most important calls on float64, complex128 and int64."""

from functools import partial

from .arrays import (
    MILLION,
    ascending,
    complexes,
    heavy_diagonal,
    integers,
    key,
    normals,
    positive_definite,
    uniforms,
)
from .catalogue import case, variant

wide = partial(case, x64=True)
rare = partial(variant, x64=True)
numbers = partial(normals, dtype="float64")
shares = partial(uniforms, dtype="float64")
SQUARE = numbers(1000, 1000)
LINE = numbers(MILLION)
POSITIVE = shares(MILLION, low=0.01, high=10)

_ELEMENTS = [
    wide(f"{name} float64, 10^6", path, maker)
    for name, (path, maker) in {
        "exp": ("jnp.exp", LINE), "log": ("jnp.log", POSITIVE), "sin": ("jnp.sin", LINE),
        "tanh": ("jnp.tanh", LINE), "erf": ("lax.erf", LINE),
    }.items()
] + [
    rare(f"{name} float64, 10^6", path, maker)
    for name, (path, maker) in {
        "sqrt": ("jnp.sqrt", POSITIVE), "arctan": ("jnp.arctan", LINE),
        "gammaln": ("scipy.special.gammaln", POSITIVE), "gelu": ("nn.gelu", LINE),
        "ndtri": ("scipy.special.ndtri", shares(MILLION)),
    }.items()
] + [
    wide("power float64, 10^6", lambda a, b: a**b, POSITIVE, LINE),
    wide("add float64, 10^6", lambda a, b: a + b, LINE, LINE),
    rare("arctan2 float64, 10^6", "jnp.arctan2", LINE, LINE),
    wide("int64 * int64, 10^6", lambda a, b: a * b,
         *[integers(MILLION, high=2**40, dtype="int64")] * 2),
    wide("int64 // int64, 10^6", lambda a, b: a // b, integers(MILLION, high=2**40, dtype="int64"),
         integers(MILLION, low=1, high=1000, dtype="int64")),
    rare("int64 % 97, 10^6", lambda a: a % 97, integers(MILLION, high=2**40, dtype="int64")),
    rare("float64 to float32, 10^6", lambda x: x.astype("float32"), LINE),
    wide("complex128 * complex128, 500000", lambda a, b: a * b,
         *[complexes(MILLION // 2, dtype="complex128")] * 2),
    rare("five-point stencil float64, 1000 x 1000",
         lambda x: x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - 4 * x[1:-1, 1:-1],
         SQUARE),
]  # fmt: skip

_AXES = [
    wide(f"{name} float64, {title}", f"jnp.{name}", SQUARE, axis=axis,
         variant=name == "max")
    for name in ("sum", "max", "cumsum", "sort")
    for title, axis in {"rows of 1000 x 1000": 1, "columns of 1000 x 1000": 0}.items()
] + [
    wide("sum float64, 10^6", "jnp.sum", LINE),
    rare("var float64, 10^6", "jnp.var", LINE),
    rare("argmax float64, 10^6", "jnp.argmax", LINE),
    rare("norm float64, rows of 3, 100000", "jnp.linalg.norm", numbers(100000, 3), axis=1),
    wide("logsumexp float64, rows of 1000 x 1000", "nn.logsumexp", SQUARE, axis=1),
    rare("softmax float64, 1000 x 1000", "nn.softmax", SQUARE),
    wide("cumsum float64, 10^6", "jnp.cumsum", LINE),
    wide("sort float64, 10^6", "jnp.sort", LINE),
    rare("sort int64, 10^6", "jnp.sort", integers(MILLION, high=2**40, dtype="int64")),
    rare("argsort float64, 10^6", "jnp.argsort", LINE),
    rare("median float64, 10^6", "jnp.median", LINE),
    wide("searchsorted float64, 10^6 in 1000", "jnp.searchsorted", ascending(numbers(1000)), LINE),
    wide("histogram float64, 100 bins of 10^6", "jnp.histogram", LINE, bins=100),
    wide("segment_sum float64, 10^6 in 1000", "jax.ops.segment_sum", LINE,
         integers(MILLION, high=1000), num_segments=1000),
    rare("scatter add float64, 10^6 into 10^6", lambda x, i, v: x.at[i].add(v), LINE,
         integers(MILLION, high=MILLION), LINE),
    rare("gather float64, 10^6 of 10^6", lambda x, i: x[i], LINE, integers(MILLION, high=MILLION)),
    rare("transpose float64, 1000 x 1000", "jnp.transpose", SQUARE),
]  # fmt: skip

_ALGEBRA = [
    wide("matmul float64, 512 x 512", lambda a, b: a @ b, *[numbers(512, 512)] * 2),
    rare("matmul float64, 1000 of 10 x 10", lambda a, b: a @ b, *[numbers(1000, 10, 10)] * 2),
    wide("matrix by vector float64, 1000 x 1000", lambda a, b: a @ b, SQUARE, numbers(1000)),
    rare("matmul complex128, 128 x 128", lambda a, b: a @ b,
         *[complexes(128, 128, dtype="complex128")] * 2),
    wide("solve float64, 200 x 200", "jnp.linalg.solve",
         heavy_diagonal(200, 200, dtype="float64"), numbers(200)),
    rare("solve float64, 2000 of 8 x 8", "jnp.linalg.solve",
         heavy_diagonal(2000, 8, 8, dtype="float64"), numbers(2000, 8, 1)),
    wide("cholesky float64, 200 x 200", "jnp.linalg.cholesky",
         positive_definite(200, 200, dtype="float64")),
    rare("inv float64, 200 x 200", "jnp.linalg.inv", heavy_diagonal(200, 200, dtype="float64")),
    wide("eigh float64, 200 x 200", "jnp.linalg.eigh",
         positive_definite(200, 200, dtype="float64"), loose=1),
    rare("svd float64, 100 x 100", "jnp.linalg.svd", numbers(100, 100), loose=1),
    rare("qr float64, 200 x 200", "jnp.linalg.qr", numbers(200, 200), loose=1),
    rare("expm float64, 100 x 100", "scipy.linalg.expm", numbers(100, 100, scale=0.1)),
    wide("fft complex128, 48 of 4096", "jnp.fft.fft", complexes(48, 4096, dtype="complex128")),
    rare("rfft float64, 131072", "jnp.fft.rfft", numbers(131072)),
    rare("fft2 complex128, 256 x 256", "jnp.fft.fft2", complexes(256, 256, dtype="complex128")),
    wide("convolve float64, 100000 with 1000", "jnp.convolve", numbers(100000), numbers(1000)),
    rare("distances float64, 500 x 500",
         lambda jnp, a, b: jnp.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)), numbers(500, 3),
         numbers(500, 3)),
]  # fmt: skip

_PROGRAMS = [
    wide("normal float64, 10^6", "random.normal", key, shape=(MILLION,), dtype="float64"),
    wide("uniform float64, 10^6", "random.uniform", key, shape=(MILLION,), dtype="float64"),
    rare("gamma float64, 100000", "random.gamma", key, shares(100000, low=0.5, high=5)),
    wide("scan float64, 100000", lambda lax, x: lax.scan(
        lambda c, v: (c * 0.9 + v, c), x[0], x), numbers(100000)),
    rare("while float64, 100000 steps",
         lambda lax, x: lax.while_loop(
             lambda c: c[0] < 100000, lambda c: (c[0] + 1, c[1] * 0.999 + 1), (0, x[0])),
         numbers(1)),
    rare("grad of a polynomial float64, 10^6",
         lambda jax, x: jax.grad(lambda x: (x**3 - 2 * x[::-1] ** 2).sum())(x), LINE),
    rare("Lorenz steps float64, 10000",
         lambda jnp, lax, y: lax.fori_loop(
             0, 10000, lambda i, y: y + 0.001 * jnp.stack(
                 [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]), y),
         numbers(3), loose=1),
]  # fmt: skip

CASES = [*_ELEMENTS, *_AXES, *_ALGEBRA, *_PROGRAMS]
