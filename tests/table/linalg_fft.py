"""Linear algebra and Fourier transforms: `numpy.linalg`, `lax.linalg`, `scipy.linalg`, `*.fft`."""

from rows import table

NUMPY_LINALG = table("jax.numpy.linalg", "jnp.linalg", "np.linalg", """
    cholesky:       h ; h, upper=True @ wide grad tol=1e-4
    cond:           m ; m, 1 ; m, 'fro' @ f32 tol=1e-3
    cross:          x[:, :3], y[:, :3] ; x[:, :3], y[:, :3], axis=0 @ wide grad
    det:            m ; h ; m[:3, :3] @ wide grad tol=1e-4
    diagonal:       t ; m, offset=1 @ number grad
    eigh:           h @ f32 tol=1e-3 => -
    eigh          = (lambda d, f: abs(f * d @ f.T.conj()))(*jnp.linalg.eigh(h)) @ wide tol=1e-3 grad => abs(h)
    eigvalsh:       h ; m @ m.T.conj() @ f32 grad tol=1e-3
    eig           = jnp.abs((lambda d, f: f * d @ jnp.linalg.inv(f))(*jnp.linalg.eig(m))) @ f32 tol=1e-3 => abs(m)
    eigvals       = jnp.sort(jnp.abs(jnp.linalg.eigvals(m))) @ wide tol=1e-3 \
                    => np.sort(abs(np.linalg.eigvals(m)))
    inv:            m ; h @ wide grad tol=1e-4
    lstsq         = jnp.linalg.lstsq(x.T, w)[0] @ wide grad tol=1e-3 => np.linalg.lstsq(x.T, w)[0]
    matmul:         t, m ; x, m @ number grad
    matrix_norm:    m ; t ; m, ord=1 ; m, ord=2 ; m, ord=-np.inf ; m, ord='nuc' @ wide grad tol=1e-3
    matrix_power:   m, 3 ; m, 0 ; m, -2 @ wide grad tol=1e-3
    matrix_rank:    m ; x ; w[:, None] * w @ f32
    matrix_transpose: t @ any grad
    multi_dot:      [x, m, w] ; [w, m, x.T] @ wide grad tol=1e-4
    norm:           x ; x, axis=1, ord=1 ; w, np.inf ; x, 'fro' ; m, 2 ; w, 3 ; x, axis=(0, 1), ord=-1 \
                    @ wide grad tol=1e-4
    outer:          w, v @ number grad
    pinv:           x ; m @ wide grad tol=1e-3
    qr            = (lambda f: abs(f[0] @ f[1]))(jnp.linalg.qr(x.T)) @ wide grad tol=1e-4 => abs(x.T)
    qr            = jnp.abs(jnp.linalg.qr(m, mode='r')) @ wide tol=1e-3 => abs(np.linalg.qr(m, mode='r'))
    slogdet:        m ; h @ wide tol=1e-4
    solve:          m, w ; m, x.T ; h, m @ wide grad tol=1e-4
    svd           = (lambda f: (jnp.abs(f[0] * f[1] @ f[2]), f[1]))(jnp.linalg.svd(x, full_matrices=False)) \
                    @ wide grad tol=1e-3 => (abs(x), np.linalg.svd(x)[1])
    svd:            x, compute_uv=False ; m, compute_uv=False @ wide grad tol=1e-3
    svdvals:        x @ wide grad tol=1e-3
    tensordot:      t, x, axes=([1, 2], [0, 1]) @ number grad
    tensorinv     = jnp.linalg.tensorinv(m.reshape(2, 2, 4)) @ f32 grad tol=1e-3 => itself
    tensorsolve   = jnp.linalg.tensorsolve(m.reshape(2, 2, 4), w.reshape(2, 2)) @ f32 grad tol=1e-3 => itself
    trace:          m ; t, offset=1 @ number grad
    vecdot:         x, y ; x, y, axis=0 @ number grad
    vector_norm:    w ; x, axis=1, ord=1 ; x, keepdims=True @ wide grad
""")  # fmt: skip

LAX_LINALG = table("jax.lax.linalg", "lax.linalg", None, """
    cholesky:       h ; h, symmetrize_input=False @ wide tol=1e-4 => np.linalg.cholesky(h)
    cholesky:       h @ wide grad => -
    cholesky_update: np.linalg.cholesky(np.eye(4, dtype='float32') * 4).T, w @ f32 tol=1e-4 \
                    => np.linalg.cholesky(np.eye(4) * 4 + np.outer(w, w)).T
    eig           = jnp.sort(jnp.abs(lax.linalg.eig(m)[0])) @ wide tol=1e-3 \
                    => np.sort(abs(np.linalg.eigvals(m)))
    eigh          = lax.linalg.eigh(h)[1] @ wide grad tol=1e-3 => np.linalg.eigvalsh(h)
    hessenberg    = jnp.abs(lax.linalg.hessenberg(m)[0])[0, :1] @ wide tol=1e-3 \
                    => abs(sp.linalg.hessenberg(m))[0, :1]
    householder_product = (lambda f: f.T.conj() @ f)(lax.linalg.householder_product( \
                    *sp.linalg.lapack.sgeqrf(np.arange(12.).reshape(4, 3) % 5)[:2])) @ none tol=1e-4 => np.eye(3)
    ormqr         = (lambda f: f.T @ f)(lax.linalg.ormqr( \
                    *sp.linalg.lapack.sgeqrf(np.arange(12.).reshape(4, 3) % 5)[:2], jnp.eye(4))) @ none tol=1e-4 \
                    => np.eye(4)
    lu            = (lambda f, g, r: (jnp.tril(f, -1) + jnp.eye(4, dtype=f.dtype)) @ jnp.triu(f))( \
                    *lax.linalg.lu(m)) @ wide grad tol=1e-4 => m[sp.linalg.lu(m, p_indices=True)[0].argsort()]
    lu_pivots_to_permutation: np.array([2, 2, 3, 3], np.int32), 5 @ none => np.array([2, 0, 3, 1, 4])
    qdwh          = (lambda f: (f[0] @ f[1], f[0].T.conj() @ f[0]))(lax.linalg.qdwh(m)) @ wide \
                    tol=1e-3 => (m, np.eye(4))
    qr            = (lambda f, g: f @ g)(*lax.linalg.qr(x.T, full_matrices=False)) @ wide grad tol=1e-4 => x.T
    schur         = (lambda f, g: g @ f @ g.T.conj())(*lax.linalg.schur(m)) @ wide tol=1e-3 => m
    svd           = lax.linalg.svd(x, full_matrices=False)[1] ; lax.linalg.svd(x, compute_uv=False) \
                    @ wide tol=1e-3 => np.linalg.svd(x)[1]
    symmetric_product: x, m[:3, :3] ; x, h[:3, :3], alpha=2., beta=0.5 @ f32 => -
    triangular_solve: h, m, left_side=True, lower=True @ wide grad tol=1e-4 \
                    => sp.linalg.solve_triangular(h, m, lower=True)
    triangular_solve: h, x, transpose_a=True @ wide grad tol=1e-4 \
                    => sp.linalg.solve_triangular(np.triu(h), x.T, lower=False).T
    tridiagonal   = lax.linalg.tridiagonal(h)[1] @ f32 tol=1e-3 => -
    tridiagonal_solve: w * 0 + 1, p[0] + 9, w * 0 - 1, m @ f32 grad tol=1e-4 \
                    => np.linalg.solve(np.diag(p[0] + 9) + np.diag([1.] * 3, -1) - np.diag([1.] * 3, 1), m)
""")  # fmt: skip

SCIPY_LINALG = table("jax.scipy.linalg", "jsp.linalg", "sp.linalg", """
    block_diag:     x, m ; w, s, x @ number grad
    cho_factor    = jnp.tril(jsp.linalg.cho_factor(h, lower=True)[0]) @ wide grad tol=1e-4 => np.linalg.cholesky(h)
    cho_solve     = jsp.linalg.cho_solve((jsp.linalg.cholesky(h), False), w) @ wide grad tol=1e-4 \
                    => np.linalg.solve(h, w)
    cholesky:       h ; h, lower=True @ wide grad tol=1e-4
    circulant:      w ; v @ number grad
    companion:      a[0] ; np.array([1., 2., 3.]) @ f32 grad
    convolution_matrix: w, 3 ; w, 3, 'same' ; w, 2, mode='valid' @ number grad
    det:            m ; h @ wide grad tol=1e-4
    dft:            4 ; 3, 'sqrtn' @ none tol=1e-4
    eigh:           h, eigvals_only=True @ wide grad tol=1e-3 => np.linalg.eigvalsh(h)
    eigh_tridiagonal: p[0], y[0, :3], eigvals_only=True @ f32 tol=1e-3
    expm:           m / 4 ; m @ f32 grad tol=1e-3
    expm_frechet:   m / 4, h / 9 ; m, h @ f32 tol=1e-3
    fiedler:        w ; v @ f32 grad
    fiedler_companion: a[0] @ f32 grad
    funm          = jsp.linalg.funm(m / 4, jnp.exp, disp=False)[0] @ f32 tol=1e-2 => sp.linalg.expm(m / 4) + 0j
    hadamard:       4 ; 1 @ none
    hankel:         w ; w, v @ number grad
    helmert:        4 ; 3, full=True @ none
    hessenberg    = jnp.abs(jnp.diagonal(jsp.linalg.hessenberg(m), -1)) @ wide tol=1e-3 \
                    => abs(np.diagonal(sp.linalg.hessenberg(m), -1))
    hilbert:        4 @ none
    inv:            m @ wide grad tol=1e-4
    invhilbert:     4 @ none tol=1e-3
    invpascal:      4 ; 3, kind='lower' @ none
    leslie:         w, p[0, :3] @ f32 grad
    lu:             m ; x ; x.T @ wide tol=1e-4
    lu            = jsp.linalg.lu(m, permute_l=True) @ wide grad tol=1e-4 => itself
    lu_factor:      m @ wide tol=1e-4
    lu_solve      = jsp.linalg.lu_solve(jsp.linalg.lu_factor(m), w) @ wide grad tol=1e-4 => np.linalg.solve(m, w)
    lu_solve      = jsp.linalg.lu_solve(jsp.linalg.lu_factor(m), w, 1) @ f32 tol=1e-4 => np.linalg.solve(m.T, w)
    pascal:         4 ; 3, kind='lower' @ none
    polar:          m ; x.T @ f32 tol=1e-3
    polar:          m, side='left' @ f32 nojax tol=1e-3
    qr            = jnp.abs(jsp.linalg.qr(x.T)[1]) @ wide tol=1e-3 => abs(sp.linalg.qr(x.T)[1])
    qr_multiply   = jnp.abs(jsp.linalg.qr_multiply(m, x)[0]) @ f32 tol=1e-3 => abs(sp.linalg.qr_multiply(m, x)[0])
    rsf2csf       = (lambda f, g: jnp.abs(g @ f @ g.T.conj()))(*jsp.linalg.rsf2csf(*jsp.linalg.schur(m))) \
                    @ f32 novmap tol=1e-3 => abs(m)
    schur         = (lambda f, g: jnp.abs(g @ f @ g.T.conj()))(*jsp.linalg.schur(m)) ; \
                    (lambda f, g: jnp.abs(g @ f @ g.T.conj()))(*jsp.linalg.schur(m, output='complex')) \
                    @ wide tol=1e-3 => abs(m)
    solve:          m, w ; h, x.T, assume_a='pos' ; m, w, lower=True @ wide grad tol=1e-4 \
                    => ref.solve
    solve_sylvester: m, h, x[:, :4].T @ x @ f32 tol=1e-2
    solve_triangular: h, w ; h, w, lower=True ; h, w, trans=1 ; h, w, unit_diagonal=True @ wide grad tol=1e-3
    sqrtm:          h ; m @ f32 tol=1e-3
    svd           = jsp.linalg.svd(x, compute_uv=False) @ wide grad tol=1e-3 => itself
    toeplitz:       w ; w, v @ number grad
""")  # fmt: skip

FFT = table("jax.numpy.fft", "jnp.fft", "np.fft", """
    fft:            x ; x, 3, 0 ; x, 6, norm='ortho' ; w @ wide grad
    ifft:           x ; x, axis=0 ; v, norm='forward' @ wide grad
    rfft:           x ; v ; x, 3, axis=0 @ f32 grad
    irfft:          x ; x, 5 ; v, 9, norm='ortho' @ wide grad
    hfft:           x ; v, 5 @ wide grad
    ihfft:          x ; v @ f32 grad
    fft2:           x ; t, axes=(0, 1) @ wide grad
    ifft2:          x ; t, s=(2, 3) @ wide grad
    rfft2:          x ; t @ f32 grad
    irfft2:         x ; t, (4, 5) @ wide grad
    fftn:           t ; t, axes=(0, 2) @ wide grad
    ifftn:          t ; t, (2, 2), (1, 2) @ wide grad
    rfftn:          t ; t, axes=(0, 1) @ f32 grad
    irfftn:         t ; t, (2, 3, 5), (0, 1, 2) @ wide grad
    fftshift:       x ; v ; t, (0, 2) @ any grad
    ifftshift:      x ; v ; t, 1 @ any grad
    fftfreq:        5 ; 8, 0.1 @ none
    rfftfreq:       5 ; 8, d=2. @ none
""") + table("jax.lax", "lax", None, """
    fft:            x + 0j, 'FFT', (4,) @ wide grad => np.fft.fft(x)
    fft:            x, lax.FftType.RFFT, (4,) ; x, 'rfft', (4,) @ f32 grad => np.fft.rfft(x)
    fft:            x + 0j, 'IRFFT', (6,) @ wide grad => np.fft.irfft(x)
    fft:            x + 0j, 'IFFT', (3, 4) @ wide grad => np.fft.ifftn(x)
""") + table("jax.scipy.fft", "jsp.fft", "sp.fft", """
    dct:            x ; v, norm='ortho' ; x, n=6, axis=0 ; w, 2 @ f32 grad
    idct:           x ; v, norm='ortho' ; x, n=3, axis=0 @ f32 grad
    dctn:           x ; t, axes=(0, 1) ; x, norm='ortho' @ f32 grad
    idctn:          x ; t, axes=(1, 2), norm='ortho' @ f32 grad
""")  # fmt: skip

ROWS = NUMPY_LINALG + LAX_LINALG + SCIPY_LINALG + FFT
