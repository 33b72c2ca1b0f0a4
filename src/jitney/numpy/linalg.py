"""Linear algebra under the names of `jax.numpy.linalg`. Imported when first used.

In: arrays whose last two axes are matrices (batches lead). Out: factors, solutions, norms.
Invariant: nothing raises for singular matrices or NaN: the results hold infinities and NaN.
Integers are computed in floating point; float16 and bfloat16 must be converted first.
"""

from jitney.numpy.linalg_norms import (
    cross,
    diagonal,
    matmul,
    matrix_norm,
    matrix_transpose,
    norm,
    outer,
    tensordot,
    trace,
    vecdot,
    vector_norm,
)
from jitney.numpy.linalg_solve import (
    cholesky,
    det,
    inv,
    matrix_power,
    multi_dot,
    slogdet,
    solve,
    tensorinv,
    tensorsolve,
)
from jitney.numpy.linalg_spectral import (
    cond,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lstsq,
    matrix_rank,
    pinv,
    qr,
    svd,
    svdvals,
)

__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv",
    "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose",
    "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]
