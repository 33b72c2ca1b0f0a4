"""Calls that accumulate along an axis."""

from .arrays import MILLION, integers, normals, uniforms
from .catalogue import case, variant

SQUARE = normals(1000, 1000)
SHAPES = {
    "1000 x 1000 down": ((1000, 1000), 0),
    "1000 x 1000 across": ((1000, 1000), 1),
    "10^6": ((MILLION,), 0),
    "8 x 100000 down": ((8, 100000), 0),
    "8 x 100000 across": ((8, 100000), 1),
    "100000 x 8 down": ((100000, 8), 0),
    "100000 x 8 across": ((100000, 8), 1),
    "100^3 along the middle": ((100, 100, 100), 1),
}

_SUMS = [
    case(f"cumsum, {title}", "jnp.cumsum", normals(*shape), axis=axis)
    for title, (shape, axis) in SHAPES.items()
]
_PRODUCTS = [
    case(f"cumprod, {title}", "jnp.cumprod", uniforms(*shape, low=0.99, high=1.01), axis=axis,
         variant="100000" in title)
    for title, (shape, axis) in SHAPES.items()
]  # fmt: skip

_OTHERS = [
    case("cumsum backwards, 1000 x 1000", "lax.cumsum", SQUARE, axis=1, reverse=True),
    case("cumsum int32, 10^6", "jnp.cumsum", integers(MILLION, high=9)),
    variant("cumsum int8 as int32, 10^6", "jnp.cumsum", integers(MILLION, high=9, dtype="int8"),
            dtype="int32"),
    variant("cumsum bfloat16, 1000 x 100", "jnp.cumsum", uniforms(1000, 100, dtype="bfloat16"),
            axis=1, loose=1),
    case("cumsum of truth values, 10^6", lambda jnp, x: jnp.cumsum(x > 0), normals(MILLION)),
    variant("cumsum of the flattened, 1000 x 1000", "jnp.cumsum", SQUARE),
    variant("nancumsum, 10^6", "jnp.nancumsum", normals(MILLION)),
    variant("cummax, 1000 x 1000", "lax.cummax", SQUARE, axis=1),
    variant("cummin of columns, 1000 x 1000", "lax.cummin", SQUARE, axis=0),
    variant("cummax, 10^6", "lax.cummax", normals(MILLION)),
    case("cumlogsumexp, 1000 x 1000", "lax.cumlogsumexp", SQUARE, axis=1),
    variant("moving mean by cumsum, 10^6",
            lambda jnp, x: (lambda c: (c[50:] - c[:-50]) / 50)(jnp.cumsum(x)), normals(MILLION)),
    variant("diff twice of columns, 1000 x 1000", "jnp.diff", SQUARE, n=2, axis=0),
    variant("diff, 10^6", "jnp.diff", normals(MILLION)),
    variant("ediff1d, 10^6", "jnp.ediff1d", normals(MILLION)),
    variant("gradient, 1000 x 1000", "jnp.gradient", SQUARE),
    case("unwrap, 100000", "jnp.unwrap", normals(100000, scale=5)),
    variant("trapezoid, 1000 x 1000", "jnp.trapezoid", SQUARE, axis=1),
    case("scipy.integrate.trapezoid, 10^6", "scipy.integrate.trapezoid", normals(MILLION),
         dx=0.001),
]  # fmt: skip

_SCANS = [
    case("associative_scan of add, 100000", lambda jnp, lax, x: lax.associative_scan(jnp.add, x),
         normals(100000)),
    variant("associative_scan of maximum, 1000 x 1000",
            lambda jnp, lax, x: lax.associative_scan(jnp.maximum, x, axis=1), SQUARE),
    case("associative_scan of 4 x 4 products, 4096",
         lambda jnp, lax, x: lax.associative_scan(jnp.matmul, x),
         normals(4096, 4, 4, scale=0.3)),
    case("associative_scan of pairs, 100000",
         lambda lax, a, b: lax.associative_scan(
             lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b)),
         uniforms(100000), normals(100000)),
    variant("associative_scan of pairs, rows of 1000 x 64",
            lambda lax, a, b: lax.associative_scan(
                lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b)),
            uniforms(1000, 64), normals(1000, 64)),
]  # fmt: skip

CASES = [*_SUMS, *_PRODUCTS, *_OTHERS, *_SCANS]
