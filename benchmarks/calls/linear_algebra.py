"""Calls of decompositions and solvers, of one matrix and of many."""

from .arrays import heavy_diagonal, lower_triangle, normals, positive_definite, symmetric
from .catalogue import case, variant

MANY = (2000, 8, 8)
SOME = (100, 40, 40)
ONE = (200, 200)
SHAPES = {"2000 of 8 x 8": MANY, "100 of 40 x 40": SOME, "200 x 200": ONE}
# the signs of these are each library's own
FREE = ("qr", "svd", "eigh")

_GENERAL = [
    case(f"{name}, {title}", f"jnp.linalg.{name}", heavy_diagonal(*shape),
         loose=float(name in FREE), variant=name == "det")
    for name in ("inv", "det", "slogdet", "qr", "svd")
    for title, shape in SHAPES.items()
]  # fmt: skip

_SYMMETRIC = [
    case(f"{name}, {title}", f"jnp.linalg.{name}", positive_definite(*shape),
         loose=float(name in FREE), variant=name == "eigvalsh")
    for name in ("cholesky", "eigh", "eigvalsh")
    for title, shape in SHAPES.items()
]  # fmt: skip

_SOLVERS = [
    case("solve, 2000 of 8 x 8", "jnp.linalg.solve", heavy_diagonal(*MANY), normals(2000, 8, 1)),
    variant("solve, 100 of 40 x 40", "jnp.linalg.solve", heavy_diagonal(*SOME),
            normals(100, 40, 1)),
    case("solve, 200 x 200 for one", "jnp.linalg.solve", heavy_diagonal(*ONE), normals(200)),
    case("solve, 200 x 200 for 2000", "jnp.linalg.solve", heavy_diagonal(*ONE), normals(200, 2000)),
    case("solve_triangular, 300 x 300 for 1000", "scipy.linalg.solve_triangular",
         lower_triangle(300), normals(300, 1000), lower=True),
    variant("solve_triangular, 300 x 300 for one", "scipy.linalg.solve_triangular",
            lower_triangle(300), normals(300), lower=True),
    variant("solve_triangular of the transpose, 300 x 300", "scipy.linalg.solve_triangular",
            lower_triangle(300), normals(300, 10), lower=True, trans=1),
    case("cho_solve, 200 x 200",
         lambda scipy, a, b: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), b),
         positive_definite(*ONE), normals(200, 10)),
    case("lu_solve, 200 x 200",
         lambda scipy, a, b: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b),
         heavy_diagonal(*ONE), normals(200)),
    variant("solve, positive definite, 200 x 200", "scipy.linalg.solve", positive_definite(*ONE),
            normals(200), assume_a="pos"),
    case("lstsq, 1000 x 50", lambda jnp, a, b: jnp.linalg.lstsq(a, b)[0], normals(1000, 50),
         normals(1000)),
    variant("normal equations, 10000 x 20",
            lambda jnp, a, b: jnp.linalg.solve(a.T @ a, a.T @ b), normals(10000, 20),
            normals(10000)),
    variant("polyfit of degree 3, 10000", "jnp.polyfit", normals(10000), normals(10000), deg=3),
    variant("conjugate gradients, 200 x 200",
            lambda scipy, a, b: scipy.sparse.linalg.cg(lambda x: a @ x, b, maxiter=30)[0],
            positive_definite(*ONE), normals(200)),
    case("tridiagonal_solve, 10000",
         lambda lax, low, mid, up, b: lax.linalg.tridiagonal_solve(low, mid, up, b),
         normals(10000), normals(10000, shift=9), normals(10000), normals(10000, 1)),
]  # fmt: skip

_OTHERS = [
    variant("lu, 200 x 200", "scipy.linalg.lu", heavy_diagonal(*ONE)),
    variant("svd, 200 x 50 thin", "jnp.linalg.svd", normals(200, 50), full_matrices=False,
            loose=1),
    variant("singular values, 200 x 200", "jnp.linalg.svdvals", normals(*ONE)),
    variant("qr, 1000 x 20", "jnp.linalg.qr", normals(1000, 20), loose=1),
    variant("eigh, symmetric 200 x 200", "jnp.linalg.eigh", symmetric(*ONE), loose=1),
    case("eig, 50 x 50", "jnp.linalg.eig", normals(50, 50), loose=1),
    variant("eigvals, 50 x 50", "jnp.linalg.eigvals", normals(50, 50), loose=1),
    variant("schur, 50 x 50", "scipy.linalg.schur", normals(50, 50), loose=1),
    case("pinv, 200 x 100", "jnp.linalg.pinv", normals(200, 100)),
    variant("matrix_rank, 100 x 100", "jnp.linalg.matrix_rank", normals(100, 100)),
    variant("condition number, 100 x 100", "jnp.linalg.cond", heavy_diagonal(100, 100)),
    variant("spectral norm, 100 x 100", "jnp.linalg.norm", normals(100, 100), ord=2),
    variant("nuclear norm, 100 x 100", "jnp.linalg.norm", normals(100, 100), ord="nuc"),
    case("expm, 100 x 100", "scipy.linalg.expm", normals(100, 100, scale=0.1)),
    variant("expm, 100 of 8 x 8", lambda jax, scipy, a: jax.vmap(scipy.linalg.expm)(a),
            normals(100, 8, 8, scale=0.3)),
    case("sqrtm, 30 x 30", "scipy.linalg.sqrtm", positive_definite(30, 30)),
    variant("polar, 50 x 50", "scipy.linalg.polar", heavy_diagonal(50, 50)),
    case("matrix_power 13, 200 x 200", "jnp.linalg.matrix_power", normals(200, 200, scale=0.05),
         n=13),
    variant("multi_dot of three", lambda jnp, a, b, c: jnp.linalg.multi_dot([a, b, c]),
            normals(10, 300), normals(300, 300), normals(300, 5)),
    variant("gradient of log det, 100 x 100",
            lambda jax, jnp, a: jax.grad(lambda a: jnp.linalg.slogdet(a)[1])(a),
            heavy_diagonal(100, 100)),
    variant("gradient of cholesky, 100 x 100",
            lambda jax, jnp, a: jax.grad(
                lambda a: jnp.log(jnp.diag(jnp.linalg.cholesky(a))).sum())(a),
            positive_definite(100, 100)),
    variant("gradient of solve, 100 x 100",
            lambda jax, jnp, a, b: jax.grad(lambda a: jnp.linalg.solve(a, b).sum())(a),
            heavy_diagonal(100, 100), normals(100)),
]  # fmt: skip

CASES = [*_GENERAL, *_SYMMETRIC, *_SOLVERS, *_OTHERS]
