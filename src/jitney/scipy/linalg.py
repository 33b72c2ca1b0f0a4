"""Linear algebra under the names of `jax.scipy.linalg`. Imported when first used.

In: matrices [..., n, n], and for most functions batches of them. Out: factors, solutions, functions
of matrices, matrices of special form. Arguments that concern memory or checks (`overwrite_a`,
`check_finite`, …) are taken for compatibility: arrays are never overwritten, NaN passes through.
"""

from jitney.scipy.linalg_factors import (
    cho_factor,
    cho_solve,
    cholesky,
    det,
    eigh,
    eigh_tridiagonal,
    hessenberg,
    inv,
    lu,
    lu_factor,
    lu_solve,
    qr,
    qr_multiply,
    rsf2csf,
    schur,
    solve,
    solve_triangular,
    svd,
)
from jitney.scipy.linalg_functions import (
    expm,
    expm_frechet,
    funm,
    polar,
    solve_sylvester,
    sqrtm,
)
from jitney.scipy.linalg_special import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hilbert,
    invhilbert,
    invpascal,
    leslie,
    pascal,
    toeplitz,
)

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "companion",
    "convolution_matrix", "det", "dft", "eigh", "eigh_tridiagonal", "expm", "expm_frechet",
    "fiedler", "fiedler_companion", "funm", "hadamard", "hankel", "helmert", "hessenberg",
    "hilbert", "inv", "invhilbert", "invpascal", "leslie", "lu", "lu_factor", "lu_solve", "pascal",
    "polar", "qr", "qr_multiply", "rsf2csf", "schur", "solve", "solve_sylvester",
    "solve_triangular", "sqrtm", "svd", "toeplitz",
]
