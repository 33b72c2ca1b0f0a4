"""Functions of `jax.numpy` that reduce, sort, search, multiply and fit."""

from rows import table

ROWS = table("jax.numpy", "jnp", "np", """
    # reductions
    sum:            x ; t, axis=(0, 2) ; x, axis=1, keepdims=True ; e, axis=0 ; \
                    x, where=b, initial=2 @ any grad
    prod:           x ; t, axis=1 ; x, axis=0, initial=2 ; e, axis=1 @ number grad tol=1e-4
    max:            x ; t, axis=(0, 1) ; x, axis=0, initial=1, where=b ; z @ real grad
    min:            x ; t, axis=1, keepdims=True ; z @ real grad
    amax:           x ; x, axis=1 @ real grad
    amin:           x ; x, axis=1 @ real grad
    mean:           x ; t, axis=(0, 2) ; x, where=b ; x, axis=0, keepdims=True @ any grad
    std:            x ; t, axis=1 ; x, axis=0, ddof=1 @ number grad
    var:            x ; t, axis=(0, 1) ; x, axis=1, ddof=1 ; x, correction=1 @ number grad
    ptp:            x ; x, axis=1 @ real grad
    all:            x ; x > 0, axis=1 ; e, axis=1 @ any
    any:            x ; x > 2, axis=0 ; e, axis=1 @ any
    count_nonzero:  x ; x, axis=1 ; t, axis=(0, 1), keepdims=True @ any
    argmax:         x ; t, axis=1 ; x, axis=0, keepdims=True ; z @ real
    argmin:         x ; t, axis=-1 ; z @ real
    average:        x ; x, axis=0, weights=p ; x, 1, w @ number grad
    average       = jnp.average(x, axis=0, weights=p, returned=True) @ number grad \
                    => np.average(x, axis=0, weights=p, returned=True)
    median:         x ; x, axis=0, keepdims=True ; v ; z @ real grad
    quantile:       x, 0.3 ; x, np.array([0.1, 0.8]), axis=1 ; v, 0.5, method='nearest' @ real grad
    percentile:     x, 60, axis=0, method='lower' ; x, 25, method='midpoint' ; \
                    v, 70, method='higher' @ real grad
    nansum:         x ; z ; t, axis=1 @ any
    nanprod:        x ; z[:6] ; t, axis=1 @ number tol=1e-4
    nanmax:         x ; z ; t, axis=1 @ real
    nanmin:         x ; z ; t, axis=1 @ real
    nanmean:        x ; z[4:7] ; t, axis=1 @ number grad
    nanstd:         x ; z[2:7] ; t, axis=1 @ number grad
    nanvar:         x ; z[2:7] ; t, axis=1, ddof=1 @ number grad
    nanargmax:      x ; z[:7] ; t, axis=1 @ real
    nanargmin:      x ; z[:7] ; t, axis=1 @ real
    nanmedian:      x ; z ; x, axis=0 @ real
    nanquantile:    x, 0.5, axis=1 ; z[:7], 0.3 @ real
    nanpercentile:  x, 10 ; z[:7], 75 @ real
    cumsum:         x ; x, axis=1 ; t, axis=1 ; e, axis=1 @ number grad
    cumprod:        x, axis=0 ; v @ number grad tol=1e-4
    cumulative_sum: v, include_initial=True ; x, axis=1 @ number grad
    cumulative_prod: v ; x, axis=0, include_initial=True @ number grad tol=1e-4
    nancumsum:      x, axis=0 ; z[:7] @ number
    nancumprod:     x, axis=1 ; z[:6] @ number tol=1e-4
    # neighbours
    diff:           x ; x, n=2, axis=0 ; v, prepend=0 ; x, axis=1, append=w[:3, None] @ number grad
    ediff1d:        v ; x ; v, to_end=w @ number grad
    gradient:       v ; x ; v, 2. ; x, axis=1 @ float grad
    trapezoid:      x, axis=1 ; x, y, axis=0 ; v, dx=2. @ number grad
    unwrap:         v * 4 ; x * 3, period=4. @ f32 grad
    convolve:       v, w ; v, w, mode='same' ; w, v, 'valid' @ number grad
    correlate:      v, w, mode='valid' ; v, w, 'full' ; w, v, 'same' @ number grad
    interp:         x, k, np.arange(5.) ; x, k, v[:5], -1., 9. ; x, k, v[:5], period=3. @ f32
    # order
    sort:           x ; x, axis=0 ; z ; v, stable=False ; e @ any grad
    argsort:        x, axis=1 ; v, stable=True ; z @ real => ref.argsort
    sort_complex:   v @ number
    lexsort:        (v, v[::-1]) ; (n % 3, x), axis=0 @ real
    partition     = jnp.partition(v, 3)[3] ; jnp.partition(x, 1, axis=0)[1] @ real => itself
    argpartition  = v[jnp.argpartition(v, 2)[2]] @ real => np.sort(v)[2]
    searchsorted:   k, x ; k, w, side='right' ; k, x, method='sort' @ real => ref.searchsorted
    digitize:       x, np.array([0, 1, 3]) ; x, np.array([3, 1, 0]), right=True @ real
    nonzero:        x ; b @ any nojit novmap
    nonzero:        b, size=9, fill_value=-1 ; x > 1, size=20 @ any => ref.nonzero
    flatnonzero:    x ; b @ any nojit novmap
    argwhere:       x ; b @ any nojit novmap
    where         = jnp.where(b) ; jnp.where(x > 0) @ real nojit novmap => itself
    unique:         n ; x, axis=0 @ number nojit novmap
    unique        = jnp.unique(n, return_counts=True, return_index=True, return_inverse=True) \
                    @ none nojit novmap => itself
    unique:         n, size=12, fill_value=99 ; x, size=3, fill_value=0 @ real => -
    unique_all:     n @ none nojit novmap
    unique_counts:  n @ none nojit novmap
    unique_inverse: n @ none nojit novmap
    unique_values:  x @ real nojit novmap => ref.sorted_unique
    union1d:        v, w ; n, i @ real nojit novmap
    intersect1d:    i, n ; i, n, return_indices=True @ none nojit novmap
    setdiff1d:      n, i ; v, w @ real nojit novmap
    setxor1d:       v, w ; n, i @ real nojit novmap
    isin:           n, i ; x, v ; n, i, invert=True @ real
    bincount:       n.ravel(), length=9 ; i, np.ones(5), length=6 @ none => ref.bincount
    bincount:       n.ravel(), weights=p.ravel(), length=10 @ float => ref.bincount
    histogram:      x, bins=4 ; x, k ; x, bins=5, range=(0, 4), density=True ; v, 3, weights=v @ f32
    histogram_bin_edges: x, 3 ; x, bins=2, range=(0, 1) @ f32
    histogram2d:    v, v[::-1], bins=3 @ f32
    histogramdd:    x, bins=2 @ f32
    # comparisons of arrays
    allclose:       x, x ; x, y ; z, z, equal_nan=True @ number
    array_equal:    x, y ; x, x ; x, w ; z, z, equal_nan=True @ number
    array_equiv:    x, x ; w, m @ number
    # products
    dot:            x, m ; s, x ; w, w ; t, m ; x, w @ number grad
    matmul:         t, m ; x, w ; w, m ; t, t.transpose(0, 2, 1) ; e.T, e @ number grad
    vdot:           x, y ; w, w @ number grad
    vecdot:         x, y ; x, y, axis=0 @ number grad => ref.vecdot
    matvec:         m, w ; t, w @ number grad => ref.matvec
    vecmat:         w, m ; x, m @ number grad => ref.vecmat
    inner:          x, y ; t, w ; w, s @ number grad
    outer:          w, v ; x, w @ number grad
    tensordot:      x, m, 1 ; t, x, 2 ; t, x, axes=([1, 2], [0, 1]) ; w, v, 0 @ number grad
    einsum:         'ij,kj->ik', x, y ; 'abc,bc', t, x ; 'ii->i', m ; 'ii', m ; \
                    '...j,j', t, w ; 'ij,jk,k->i', x, m, w @ number grad
    kron:           x, w ; m[:2], x[:, :2] @ number grad
    cross:          x[:, :3], y[:, :3] ; t[:, :, :3], x[:, :3], axisb=1 ; x[:, :3], y[:, :3], axis=0 \
                    @ number grad
    trace:          m ; t, 1, 1, 2 ; x, -1 @ number grad
    # statistics
    cov:            x ; x, y, rowvar=False ; x, ddof=0 ; x, aweights=p[0] @ f32 grad => ref.cov
    cov:            x ; x, bias=True @ wide
    corrcoef:       x ; x, rowvar=False @ f32 grad tol=1e-4
    # polynomials
    polyval:        w, x ; w, s ; m[:, 0], m @ number grad tol=1e-4
    polyadd:        w, v ; v, w @ number grad
    polysub:        w, v ; w, w @ number grad
    polymul:        w, v ; w, w @ number grad
    polyder:        v ; v, 2 @ f32 grad
    polyint:        v ; v, 2, k=np.array([1., 2.]) @ f32 grad
    polydiv:        v, a[0] ; w, p[0, :2] @ f32 grad tol=1e-3 => ref.polydiv
    polyfit:        np.arange(7.), v, 2 ; np.arange(7.), v, 1, w=p.ravel()[:7] @ f32 tol=1e-3
    poly:           w ; h @ f32 tol=1e-3
    roots:          np.array([1., -3., 2.]), strip_zeros=False ; \
                    np.array([0., 1., -3., 2.]) @ none nojit tol=1e-3 => ref.roots
    # bits
    packbits:       b ; b, axis=1 ; b, axis=0, bitorder='little' @ none
    unpackbits:     n.astype('uint8') ; n.astype('uint8'), axis=1 ; n.astype('uint8'), 0, 11 ; \
                    n.astype('uint8'), bitorder='little' @ none
""")  # fmt: skip
