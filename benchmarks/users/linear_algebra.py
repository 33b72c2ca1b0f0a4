"""Linear algebra: Krylov methods, factorizations, small matrices."""

import numpy as np

from .catalogue import program
from .shared import f32


def symmetric_system(rng):
    B = rng.normal(size=(300, 300))
    return (B + B.T).astype(f32), rng.normals(300)


def near_identity_system(rng):
    B = rng.normal(size=(300, 300))
    return (B / 20 + 3 * np.eye(300)).astype(f32), rng.normals(300)


def nearly_low_rank(rng):
    low = (rng.normal(size=(800, 12)) * np.logspace(0, -1, 12)) @ rng.normal(size=(12, 300))
    return (low + 0.01 * rng.normal(size=low.shape)).astype(f32), np.array([0, 3], np.uint32)


@program(symmetric_system, seed=40)
def lanczos_reorth(lib, A, v0):
    """Extreme eigenvalues from forty steps."""
    jnp, lax = lib.jnp, lib.lax
    m = 40

    def step(s, j):
        Q, q, qp, beta = s
        w = A @ q - beta * qp
        al = q @ w
        w = w - al * q
        w = w - Q.T @ (Q @ w)
        w = w - Q.T @ (Q @ w)
        bn = jnp.linalg.norm(w)
        qn = w / bn
        return (Q.at[j + 1].set(qn, mode="drop"), qn, q, bn), (al, bn)
    q = v0 / jnp.linalg.norm(v0)
    Q = jnp.zeros((m, A.shape[0])).at[0].set(q)
    (Q, *_), (al, be) = lax.scan(step, (Q, q, jnp.zeros_like(q), 0.0), jnp.arange(m))
    T = jnp.diag(al) + jnp.diag(be[:-1], 1) + jnp.diag(be[:-1], -1)
    w, U = jnp.linalg.eigh(T)
    x = Q.T @ U[:, -1]
    return w[-5:], w[:5], jnp.linalg.norm(A @ x - w[-1] * x)


@program(near_identity_system, seed=40)
def gmres_givens(lib, A, b):
    """A linear system by rotations of a Hessenberg matrix."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    m = 25

    def arnoldi(s, j):
        V, H = s
        w = A @ V[j]
        h = jnp.where(jnp.arange(m + 1) <= j, V @ w, 0)
        w = w - V.T @ h
        h2 = jnp.where(jnp.arange(m + 1) <= j, V @ w, 0)
        w = w - V.T @ h2
        nw = jnp.linalg.norm(w)
        return (V.at[j + 1].set(w / nw), H.at[:, j].set((h + h2).at[j + 1].set(nw))), None
    beta = jnp.linalg.norm(b)
    V = jnp.zeros((m + 1, b.shape[0])).at[0].set(b / beta)
    (V, H), _ = lax.scan(arnoldi, (V, jnp.zeros((m + 1, m))), jnp.arange(m))
    g = jnp.zeros(m + 1).at[0].set(beta)

    def rot(s, j):
        H, g = s
        a, c = H[j, j], H[j + 1, j]
        d = jnp.hypot(a, c)
        G = jnp.array([[a, c], [-c, a]]) / d
        rows = lax.dynamic_slice_in_dim(H, j, 2)
        H = lax.dynamic_update_slice_in_dim(H, G @ rows, j, 0)
        g = lax.dynamic_update_slice_in_dim(g, G @ lax.dynamic_slice_in_dim(g, j, 2), j, 0)
        return (H, g), jnp.abs(g[j + 1])
    (H, g), hist = lax.scan(rot, (H, g), jnp.arange(m))
    y = jax.scipy.linalg.solve_triangular(H[:m], g[:m])
    x = V[:m].T @ y
    return x, hist[:12], jnp.linalg.norm(A @ x - b) < 1e-2


@program(nearly_low_rank, seed=4002)
def randomised_svd_polar(lib, A, key):
    """Leading singular values from random projections."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    G = jax.random.normal(key, (A.shape[1], 20))
    Y = A @ G
    for _ in range(2):
        Y, _ = jnp.linalg.qr(A @ (A.T @ Y))
    U, s, Vt = jnp.linalg.svd(Y.T @ A, full_matrices=False)
    rec = (Y @ U[:, :12] * s[:12]) @ Vt[:12]

    def ns(X, _):
        return 1.5 * X - 0.5 * X @ X.T @ X, jnp.linalg.norm(X @ X.T - jnp.eye(X.shape[0]))
    M = A[:60, :60] + 3 * jnp.eye(60)
    X, h = lax.scan(ns, M / jnp.linalg.norm(M), None, length=22)
    return s[:12], jnp.linalg.norm(A - rec) / jnp.linalg.norm(A), h[:5]


@program(lambda rng: (
    rng.normals(3000, 3, 3), rng.normals(500, 6, 6), rng.normals(500, 6),
), seed=4003)
def batched_small_linalg(lib, F, K, b):
    """Thousands of matrices of order three and six."""
    jax, jnp = lib.jax, lib.jnp
    C = jnp.einsum("nki,nkj->nij", F, F)
    w, V = jnp.linalg.eigh(C)
    J = jnp.linalg.det(F)
    U = jnp.einsum("nij,nj,nkj->nik", V, jnp.sqrt(jnp.maximum(w, 1e-2)), V)
    logC = jnp.einsum("nij,nj,nkj->nik", V, jnp.log(jnp.maximum(w, 1e-2)), V)
    S = jnp.einsum("nji,njk->nik", K, K) + 0.5 * jnp.eye(6)
    x = jnp.linalg.solve(S, b[..., None])[..., 0]
    Si = jnp.linalg.inv(S)
    ld = jnp.linalg.slogdet(S)[1]
    L = jax.vmap(jnp.linalg.cholesky)(S)
    E = jax.vmap(jax.scipy.linalg.expm)(-0.1 * S[:100])
    inv3 = jax.vmap(lambda A: jnp.stack(
        [jnp.cross(A[1], A[2]), jnp.cross(A[2], A[0]), jnp.cross(A[0], A[1])], 1))(F)
    return w, U, logC, J, x, jnp.trace(Si, axis1=1, axis2=2), ld, L, E, inv3


@program(lambda rng: (rng.normals(2000, scale=0.1), rng.normals(2000)), seed=4004)
def toeplitz_pcg_fft(lib, t, b):
    """A Toeplitz system with a circulant preconditioner."""
    jax, jnp = lib.jax, lib.jnp
    n = b.shape[0]
    col = jnp.exp(-jnp.arange(n) / 30.0).at[0].add(0.5) + 0 * t
    emb = jnp.concatenate([col, jnp.zeros(1), col[1:][::-1]])
    E = jnp.fft.rfft(emb)
    mv = lambda x: jnp.fft.irfft(E * jnp.fft.rfft(x, 2 * n), 2 * n)[:n]
    k = jnp.arange(n)
    strang = jnp.where(k <= n // 2, col, jnp.roll(col[::-1], 1))
    Cf = jnp.fft.rfft(strang)
    pre = lambda x: jnp.fft.irfft(jnp.fft.rfft(x) / Cf, n)
    x, _ = jax.scipy.sparse.linalg.cg(mv, b, M=pre, maxiter=15, tol=1e-5)
    return x, jnp.linalg.norm(mv(x) - b) / jnp.linalg.norm(b) < 1e-3


@program(lambda rng: (
    rng.normals(200, 16, scale=.3), rng.normals(150, 16, scale=.3), rng.normals(200, 150),
    rng.uniforms(200, 150) < .2,
), seed=15003)
def als_matrix_factorization_vmap_solve(lib, U, V, X, M):
    """Two factors in turn, a small system for each row."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    m = M.astype(X.dtype)

    def half(F_, X, m):
        def one(x, w):
            A = (F_ * w[:, None]).T @ F_ + 0.1 * jnp.eye(16)
            return jnp.linalg.solve(A, F_.T @ (w * x))
        return jax.vmap(one)(X, m)

    def it(c, _):
        U, V = c
        U = half(V, X, m)
        V = half(U, X.T, m.T)
        return (U, V), jnp.sum(m * (X - U @ V.T) ** 2) / m.sum()
    (U, V), ls = lax.scan(it, (U, V), None, length=2)
    return U @ V.T, ls
