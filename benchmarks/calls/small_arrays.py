"""Calls on few elements, where the call itself and what surrounds a loop count."""

from .arrays import (
    ascending,
    heavy_diagonal,
    integers,
    key,
    line,
    normals,
    positive_definite,
    uniforms,
    value,
)
from .catalogue import case, variant

# the signs of these are each library's own
FREE = ("qr", "svd", "eigh")

_VECTORS = [
    case(f"{name} of {size}", f"jnp.{name}", *[normals(size)] * operands,
         variant=size == 10)
    for size in (3, 10, 100)
    for name, operands in {"add": 2, "exp": 1, "sum": 1, "dot": 2}.items()
] + [
    case("norm of 3", "jnp.linalg.norm", normals(3)),
    case("cross of 3", "jnp.cross", normals(3), normals(3)),
    case("cross of 3, 1000", "jnp.cross", normals(1000, 3), normals(1000, 3)),
    variant("outer of 10", "jnp.outer", normals(10), normals(10)),
    case("cumsum of 20", "jnp.cumsum", normals(20)),
    case("softmax of 10", "nn.softmax", normals(10)),
    case("argmax of 10", "jnp.argmax", normals(10)),
    variant("mean and deviation of 100", lambda x: (x.mean(), x.std()), normals(100)),
    variant("where of 10", lambda jnp, x: jnp.where(x > 0, x, 0.0), normals(10)),
    variant("concatenate of 3 and 10", lambda jnp, a, b: jnp.concatenate([a, b]), normals(3),
            normals(10)),
    variant("stack of three numbers", lambda jnp, a: jnp.stack([a, a * 2, a * 3]), value(0.5)),
    case("one_hot of 10", "nn.one_hot", integers(4, high=10), num_classes=10),
    variant("arange of 10", lambda jnp, a: jnp.arange(10) * a, value(0.5)),
    case("a number plus one", lambda x: x + 1, value(0.5)),
    variant("polynomial at 10", "jnp.polyval", normals(5), normals(10)),
    variant("interp of 10 in 20", "jnp.interp", uniforms(10), line(0, 1, 20), normals(20)),
    variant("convolve of 20 with 3", "jnp.convolve", normals(20), normals(3)),
    case("fft of 16", "jnp.fft.fft", normals(16)),
    variant("rotation by a quaternion",
            lambda jnp, q, v: v + 2 * jnp.cross(q[1:], jnp.cross(q[1:], v) + q[0] * v), normals(4),
            normals(3)),
]  # fmt: skip

_ORDERING = [
    case("sort of 10", "jnp.sort", normals(10)),
    variant("argsort of 10", "jnp.argsort", normals(10)),
    variant("sort of 100", "jnp.sort", normals(100)),
    case("median of 10", "jnp.median", normals(10)),
    variant("top_k, 3 of 10", "lax.top_k", normals(10), k=3),
    case("searchsorted, 3 in 10", "jnp.searchsorted", ascending(normals(10)), normals(3)),
    variant("unique of 10", "jnp.unique", integers(10, high=5), size=5),
    variant("histogram of 100", "jnp.histogram", normals(100), bins=10),
    variant("bincount of 100", "jnp.bincount", integers(100, high=10), length=10),
    case("gather of 10", lambda x, i: x[i], normals(100), integers(10, high=100)),
    variant("set at one place of 10", lambda x, i: x.at[i].set(1.0), normals(10),
            value(3, "int32")),
    variant("add at 10 places of 100", lambda x, i: x.at[i].add(1.0), normals(100),
            integers(10, high=100)),
    variant("segment_sum of 20 in 4", "jax.ops.segment_sum", normals(20), integers(20, high=4),
            num_segments=4),
]  # fmt: skip

_MATRICES = [
    case(f"matmul, {size} x {size}", lambda a, b: a @ b, *[normals(size, size)] * 2)
    for size in (3, 10)
] + [
    case(f"{name}, {size} x {size}", f"jnp.linalg.{name}", positive_definite(size, size),
         loose=float(name in FREE), variant=size == 10 and name in ("det", "slogdet", "svd", "qr"))
    for size in (3, 10)
    for name in ("inv", "det", "cholesky", "eigh", "svd", "qr", "slogdet")
] + [
    case(f"{name}, 1000 of 3 x 3", f"jnp.linalg.{name}", positive_definite(1000, 3, 3),
         loose=float(name in FREE))
    for name in ("inv", "det", "cholesky", "eigh", "svd", "qr")
] + [
    case("solve, 3 x 3", "jnp.linalg.solve", heavy_diagonal(3, 3), normals(3)),
    variant("solve, 10 x 10", "jnp.linalg.solve", heavy_diagonal(10, 10), normals(10)),
    variant("solve, 1000 of 3 x 3", "jnp.linalg.solve", heavy_diagonal(1000, 3, 3),
            normals(1000, 3, 1)),
    case("matmul, 1000 of 3 x 3", lambda a, b: a @ b, *[normals(1000, 3, 3)] * 2),
    case("matmul, 1000 of 10 x 10", lambda a, b: a @ b, *[normals(1000, 10, 10)] * 2),
    variant("matrix_power 5, 3 x 3", "jnp.linalg.matrix_power", normals(3, 3), n=5),
    variant("pinv, 4 x 3", "jnp.linalg.pinv", normals(4, 3)),
    variant("expm, 3 x 3", "scipy.linalg.expm", normals(3, 3, scale=0.3)),
    case("einsum ij,jk,k->i of 3", lambda jnp, a, b, c: jnp.einsum("ij,jk,k->i", a, b, c),
         normals(3, 3), normals(3, 3), normals(3)),
    variant("trace of 10 x 10", "jnp.trace", normals(10, 10)),
    variant("Kalman step of 4 and 2",
            lambda jnp, x, p, h, z: (lambda k: (x + k @ (z - h @ x), p - k @ h @ p))(
                p @ h.T @ jnp.linalg.inv(h @ p @ h.T + jnp.eye(2))),
            normals(4), positive_definite(4, 4), normals(2, 4), normals(2)),
]  # fmt: skip

_PROGRAMS = [
    case("normal of 3", "random.normal", key, shape=(3,)),
    case("uniform of 10", "random.uniform", key, shape=(10,)),
    variant("split of a key", "random.split", key),
    variant("permutation of 10", lambda random, seed: random.permutation(seed, 10), key),
    variant("choice of 3 from 10", lambda random, seed: random.choice(seed, 10, (3,)), key),
    variant("categorical of 10", "random.categorical", key, normals(10)),
    variant("gamma of 3", "random.gamma", key, uniforms(3, low=0.5, high=3)),
    case("scan of 10 steps", lambda lax, c, x: lax.scan(lambda c, x: (c * 0.9 + x, c), c, x),
         value(0.5), normals(10)),
    variant("while of 10 steps",
            lambda lax, x: lax.while_loop(lambda c: c < 10, lambda c: c + 1, x), value(0.5)),
    case("cond of a number",
         lambda jnp, lax, x: lax.cond(x > 0, jnp.sin, jnp.cos, x), value(0.5)),
    case("grad of a sum of squares, 10", lambda jax, x: jax.grad(lambda x: (x * x).sum())(x),
         normals(10)),
    variant("hessian of 3",
            lambda jax, jnp, x: jax.hessian(lambda x: jnp.exp(x).prod())(x), normals(3)),
    variant("layer of 4 x 10 by 10 x 10", lambda jnp, x, w, b: jnp.tanh(x @ w + b), normals(4, 10),
            normals(10, 10), normals(10)),
    variant("Runge-Kutta step of 3",
            lambda jnp, y: (lambda f: (lambda k: y + 0.01 * f(y + 0.005 * k))(f(y)))(
                lambda y: jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1],
                                     y[0] * y[1] - 8 / 3 * y[2]])),
            normals(3)),
]  # fmt: skip

CASES = [*_VECTORS, *_ORDERING, *_MATRICES, *_PROGRAMS]
