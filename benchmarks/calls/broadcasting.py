"""Calls on operands of different shapes and orders: rows, columns, transposes, strided views."""

from .arrays import MILLION, chances, integers, normals, uniforms
from .catalogue import case, variant

SQUARE = normals(1000, 1000)
ROW = normals(1000)
COLUMN = normals(1000, 1)
LINE = normals(MILLION)

_SHAPES = [
    case("add a row, 1000 x 1000", lambda x, r: x + r, SQUARE, ROW),
    case("add a column, 1000 x 1000", lambda x, c: x + c, SQUARE, COLUMN),
    case("row and column, 1000 x 1000", lambda x, r, c: x * r + c, SQUARE, ROW, COLUMN),
    variant("outer sum, 1000 x 1000", lambda r, c: r + c, ROW, COLUMN),
    variant("outer, 1000 x 1000", "jnp.outer", ROW, normals(1000)),
    variant("outer comparison, 1000 x 1000", lambda r, c: r < c, ROW, COLUMN),
    case("outer exp of distances, 1000 x 1000", lambda jnp, r, c: jnp.exp(-((r - c) ** 2)), ROW,
         COLUMN),
    variant("add a row, 100000 x 8", lambda x, r: x + r, normals(100000, 8), normals(8)),
    case("add a column, 100000 x 8", lambda x, c: x * c, normals(100000, 8), normals(100000, 1)),
    case("add a column, 8 x 100000", lambda x, c: x * c, normals(8, 100000), normals(8, 1)),
    case("scale channels, 8 x 64 x 56 x 56", lambda x, s: x * s[:, None, None],
         normals(8, 64, 56, 56), normals(64)),
    case("scale the middle, 100^3", lambda x, s: x * s[:, None], normals(100, 100, 100),
         normals(100)),
    variant("three planes, 100^3", lambda a, b, c: a[:, None, :] + b[None] * c[:, :, None],
            *[normals(100, 100)] * 3),
    variant("mask of rows, 1000 x 1000", lambda jnp, x, m: jnp.where(m[:, None], x, 0.0), SQUARE,
            chances(1000)),
    case("causal mask, 1000 x 1000",
         lambda jnp, x: jnp.where(jnp.arange(1000)[:, None] >= jnp.arange(1000), x, -jnp.inf),
         SQUARE),
    variant("centred rows, 1000 x 1000", lambda x: x - x.mean(1, keepdims=True), SQUARE),
    variant("centred columns, 1000 x 1000", lambda x: x - x.mean(0), SQUARE),
    variant("rows by their sums, 1000 x 1000", lambda x: x / x.sum(1, keepdims=True),
            uniforms(1000, 1000)),
    variant("bfloat16 times a float32 row, 1000 x 1000", lambda x, r: x * r,
            normals(1000, 1000, dtype="bfloat16"), ROW),
    variant("uint8 image less its mean, 512 x 512 x 3",
            lambda x, m: (x.astype("float32") - m) / 255.0,
            integers(512, 512, 3, high=256, dtype="uint8"), uniforms(3)),
]  # fmt: skip

_ORDERS = [
    case("add the transpose, 1000 x 1000", lambda x: x + x.T, SQUARE),
    variant("exp of the transpose, 1000 x 1000", lambda jnp, x: jnp.exp(x.T), SQUARE),
    case("add what is reversed, 10^6", lambda x: x + x[::-1], LINE),
    case("every other element, 10^6", lambda x: x[::2] * 2 + x[1::2], LINE),
    variant("every other column, 1000 x 1000", lambda x: x[:, ::2] - x[:, 1::2], SQUARE),
    variant("reversed rows, 1000 x 1000", lambda x: x[:, ::-1] * 2 + x[::-1], SQUARE),
    case("neighbours in a line, 10^6", lambda x: x[2:] - 2 * x[1:-1] + x[:-2], LINE),
    case("five-point stencil, 1000 x 1000",
         lambda x: x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - 4 * x[1:-1, 1:-1],
         SQUARE),
    variant("periodic stencil, 1000 x 1000",
            lambda jnp, x: sum(jnp.roll(x, s, a) for s in (1, -1) for a in (0, 1)) - 4 * x, SQUARE),
    variant("two orders of axes, 100^3", lambda x: x + x.transpose(1, 0, 2) * x.transpose(2, 1, 0),
            normals(100, 100, 100)),
    variant("row sums of the transpose, 1000 x 1000", lambda x: (x.T * 2).sum(1), SQUARE),
    variant("three interleaved parts, 300000",
            lambda x: 0.3 * x[:, 0] + 0.6 * x[:, 1] + 0.1 * x[:, 2], normals(300000, 3)),
]  # fmt: skip

CASES = [*_SHAPES, *_ORDERS]
