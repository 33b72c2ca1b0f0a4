"""Calls on complex numbers."""

from .arrays import MILLION, complexes, normals
from .catalogue import case, variant

HALF = MILLION // 2
LINE = complexes(HALF)
SQUARE = complexes(256, 256)

CASES = [
    *[
        case(f"{name} of complex64, 500000", f"jnp.{name}", LINE)
        for name in ("abs", "angle", "exp", "sqrt", "log")
    ],
    *[
        variant(f"{name} of complex64, 500000", f"jnp.{name}", LINE)
        for name in ("sin", "tanh", "square", "reciprocal")
    ],
    case("complex64 * complex64, 500000", lambda a, b: a * b, LINE, LINE),
    case("complex64 / complex64, 500000", lambda a, b: a / b, LINE, LINE),
    variant("complex64 ** complex64, 500000", lambda a, b: a**b, LINE, LINE),
    variant("complex64 ** 3, 500000", lambda a: a**3, LINE),
    case("product with the conjugate, 500000", lambda a, b: a.conj() * b, LINE, LINE),
    variant("squares of real and imaginary parts, 500000", lambda a: a.real**2 + a.imag**2, LINE),
    variant("complex of two parts, 500000", "lax.complex", normals(HALF), normals(HALF)),
    variant("complex from modulus and angle, 500000", lambda jnp, r, t: r * jnp.exp(1j * t),
            normals(HALF), normals(HALF)),
    variant("complex64 times float32, 500000", lambda a, b: a * b, LINE, normals(HALF)),
    case("cumsum of complex64, 500000", "jnp.cumsum", LINE),
    variant("vdot of complex64, 500000", "jnp.vdot", LINE, LINE),
    case("matmul of complex64, 256 x 256", lambda a, b: a @ b, SQUARE, SQUARE),
    variant("matmul with the adjoint, 256 x 256", lambda a: a @ a.conj().T, SQUARE),
    variant("transpose of complex64, 1000 x 500", lambda a: a.T + 0, complexes(1000, 500)),
    variant("polynomial of complex64, 500000",
            lambda jnp, c, z: jnp.polyval(c, z / (1 + jnp.abs(z))), complexes(6), LINE),
    variant("Mandelbrot steps, 500000",
            lambda lax, jnp, c: lax.fori_loop(
                0, 20, lambda k, z: jnp.where(jnp.abs(z) < 2, z * z + c, z), jnp.zeros_like(c)),
            LINE, loose=1),
]  # fmt: skip
