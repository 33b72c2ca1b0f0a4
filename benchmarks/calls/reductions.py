"""Calls that reduce axes: sums, extremes, moments, norms."""

from .arrays import MILLION, complexes, integers, normals, uniforms, with_holes
from .catalogue import case, variant

SQUARE = normals(1000, 1000)
TALL = normals(100000, 8)
WIDE = normals(8, 100000)
CUBE = normals(100, 100, 100)
SHAPES = {
    "10^6": (normals(MILLION), None),
    "rows of 1000 x 1000": (SQUARE, 1),
    "columns of 1000 x 1000": (SQUARE, 0),
    "rows of 100000 x 8": (TALL, 1),
    "columns of 100000 x 8": (TALL, 0),
    "rows of 8 x 100000": (WIDE, 1),
    "columns of 8 x 100000": (WIDE, 0),
    "the middle of 100^3": (CUBE, 1),
}

_BY_SHAPE = [
    case(f"{name}, {title}", f"jnp.{name}", maker, axis=axis,
         variant=name in ("max", "var") and ("rows" in title or "100000" in title))
    for name in ("sum", "max", "argmax", "var")
    for title, (maker, axis) in SHAPES.items()
]  # fmt: skip

_SUMS = [
    case("sum of axes 0 and 2, 100^3", "jnp.sum", CUBE, axis=(0, 2)),
    variant("sum of axes 0 and 1, 100^3", "jnp.sum", CUBE, axis=(0, 1)),
    variant("max of axes 1 and 3, 30^4", "jnp.max", normals(30, 30, 30, 30), axis=(1, 3)),
    variant("mean of axes 1 and 2, 32 x 56 x 56 x 16", "jnp.mean", normals(32, 56, 56, 16),
            axis=(1, 2)),
    case("sum bfloat16, rows of 1000 x 1000", "jnp.sum", normals(1000, 1000, dtype="bfloat16"),
         axis=1, loose=1),
    variant("sum bfloat16, columns of 1000 x 1000", "jnp.sum",
            uniforms(1000, 1000, dtype="bfloat16"), axis=0),
    variant("sum float16, 10^6", "jnp.sum", uniforms(MILLION, high=0.01, dtype="float16")),
    case("sum int8 as int32, 10^6", "jnp.sum", integers(MILLION, high=100, dtype="int8"),
         dtype="int32"),
    case("sum int16, rows of 1000 x 1000", "jnp.sum", integers(1000, 1000, high=10, dtype="int16"),
         axis=1),
    case("sum uint8, columns of 1000 x 1000", "jnp.sum",
         integers(1000, 1000, high=256, dtype="uint8"), axis=0),
    variant("sum uint8 as float32, rows of 1000 x 1000", lambda x: x.astype("float32").sum(1),
            integers(1000, 1000, high=256, dtype="uint8")),
    variant("sum complex64, rows of 1000 x 500", "jnp.sum", complexes(1000, 500), axis=1),
    variant("sum where greater, 10^6", lambda jnp, x: jnp.sum(x, where=x > 0), normals(MILLION)),
    case("product of columns, 1000 x 1000", "jnp.prod", uniforms(1000, 1000, low=0.99, high=1.01),
         axis=0),
    variant("product int32, 10^6", "jnp.prod", integers(MILLION, low=1, high=3)),
    variant("nansum of columns, 1000 x 1000", "jnp.nansum", with_holes(1000, 1000), axis=0),
    variant("sum of squares, 10^6", lambda x: (x * x).sum(), normals(MILLION)),
    variant("sum of differences, 10^6", lambda jnp, x, y: jnp.abs(x - y).sum(), normals(MILLION),
            normals(MILLION)),
]  # fmt: skip

_EXTREMES = [
    variant("argmin, the middle of 100^3", "jnp.argmin", CUBE, axis=1),
    variant("argmax int8, 10^6", "jnp.argmax", integers(MILLION, high=100, dtype="int8")),
    variant("argmax bfloat16, rows of 1000 x 1000", "jnp.argmax",
            normals(1000, 1000, dtype="bfloat16"), axis=1),
    variant("min and max, 10^6", lambda x: (x.min(), x.max()), normals(MILLION)),
    variant("ptp of columns, 1000 x 1000", "jnp.ptp", SQUARE, axis=0),
    variant("nanmax of rows, 1000 x 1000", "jnp.nanmax", with_holes(1000, 1000), axis=1),
    variant("nanargmin of rows, 1000 x 1000", "jnp.nanargmin", with_holes(1000, 1000), axis=1),
    variant("max uint8, columns of 1000 x 1000", "jnp.max",
            integers(1000, 1000, high=256, dtype="uint8"), axis=0),
]  # fmt: skip

_MOMENTS = [
    variant("std of the middle, 100^3", "jnp.std", CUBE, axis=1),
    case("nanmean of rows, 1000 x 1000", "jnp.nanmean", with_holes(1000, 1000), axis=1),
    variant("nanstd of columns, 1000 x 1000", "jnp.nanstd", with_holes(1000, 1000), axis=0),
    case("weighted average of rows, 1000 x 1000",
         lambda jnp, x, w: jnp.average(x, axis=1, weights=w), SQUARE, uniforms(1000)),
    variant("mean and variance, 10^6", lambda x: (x.mean(), x.var()), normals(MILLION)),
    variant("variance of axes 0, 1 and 2, 8 x 56 x 56 x 64", "jnp.var", normals(8, 56, 56, 64),
            axis=(0, 1, 2)),
    variant("sem of rows, 1000 x 1000", "scipy.stats.sem", SQUARE, axis=1),
    case("cov, 50 x 5000", "jnp.cov", normals(50, 5000)),
    case("corrcoef of columns, 5000 x 50", lambda jnp, x: jnp.corrcoef(x.T), normals(5000, 50)),
    case("norm of rows of 3, 100000", "jnp.linalg.norm", normals(100000, 3), axis=1),
    variant("norm, 10^6", "jnp.linalg.norm", normals(MILLION)),
    variant("norm of columns, 1000 x 1000", "jnp.linalg.norm", SQUARE, axis=0),
    variant("1-norm of rows, 1000 x 1000", "jnp.linalg.norm", SQUARE, axis=1, ord=1),
    variant("norm of matrices, 1000 x 30 x 30", "jnp.linalg.norm", normals(1000, 30, 30),
            axis=(1, 2)),
    case("logsumexp of columns, 1000 x 1000", "nn.logsumexp", SQUARE, axis=0),
    variant("logsumexp of rows, 1000 x 1000", "nn.logsumexp", SQUARE, axis=1),
    case("logsumexp with weights, 1000 x 1000",
         lambda nn, x, w: nn.logsumexp(x, axis=1, b=w), SQUARE, uniforms(1000, 1000)),
]  # fmt: skip

CASES = [*_BY_SHAPE, *_SUMS, *_EXTREMES, *_MOMENTS]
