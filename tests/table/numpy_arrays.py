"""Functions of `jax.numpy` that make, turn, join, cut, index and pad arrays."""

from rows import table

ROWS = table("jax.numpy", "jnp", "np", """
    # making
    array:          x ; x, ndmin=4 @ real grad
    array:          x, dtype='float32' ; y, 'int8' @ real
    array         = jnp.array([x, y]) ; jnp.array([[1, 2.5], [3, 4]]) @ any => itself
    asarray:        x @ real grad
    asarray:        x, dtype='float32' @ real
    copy:           x @ any grad
    arange:         5 ; 1, 9, 2 ; 0., 1., 0.3 ; 3, dtype='float16' @ none
    linspace:       s, 3, 5 ; w, 2., 4, axis=-1 ; 0., 1., 7, endpoint=False @ float grad
    logspace:       0, 2, 4 ; u[0], u[1], 3 @ float grad
    geomspace:      1, 8, 4 ; p[0], a[0], 3 @ float grad
    zeros:          (2, 3) ; 3, 'int8' @ none
    ones:           (2, 3) ; (0, 2), 'bool' @ none
    empty:          (2, 3) @ none => np.zeros
    full:           (2, 2), 7 ; (2,), s ; (3, 4), w @ any grad
    zeros_like:     x ; x, shape=(2,) @ any
    ones_like:      x ; x, dtype='int8' @ any
    empty_like:     x @ any => np.zeros_like
    full_like:      x, 3 ; x, s @ number
    eye:            3 ; 3, 4, k=1 ; 2, dtype='int8' @ none
    identity:       3 @ none
    tri:            3 ; 3, 4, 1 @ none
    vander:         w ; w, 3 ; w, increasing=True @ number grad tol=1e-4
    indices:        (2, 3) ; (2, 3), sparse=True @ none
    meshgrid:       w, v ; w, v, indexing='ij', sparse=True ; w, v, w @ any grad
    fromfunction:   lambda f, g: f * 2 + g, (3, 2) @ none
    frombuffer:     np.arange(6, dtype='int16').tobytes(), 'int16', 4, 2 @ none
    fromstring:     '1 2 3', 'int32', sep=' ' @ none
    from_dlpack   = jnp.from_dlpack(jnp.arange(4)) @ none nojit => np.arange(4)
    hamming:        5 ; 1 ; 0 @ none
    hanning:        6 @ none
    bartlett:       5 @ none
    blackman:       7 @ none tol=1e-4
    kaiser:         6, 3. @ none
    # shape
    reshape:        t, (4, 6) ; t, (-1, 3), order='F' ; e, (3, 0) @ any grad
    ravel:          t ; x, order='F' @ any grad
    transpose:      t ; t, (1, 0, 2) ; w @ any grad
    permute_dims:   t, (2, 0, 1) @ any grad
    matrix_transpose: t ; x @ any grad
    swapaxes:       t, 0, 2 ; t, -1, 0 @ any grad
    moveaxis:       t, 0, -1 ; t, (0, 1), (1, 2) @ any grad
    rollaxis:       t, 2 ; t, 0, 3 @ any grad
    squeeze:        x[:, None] ; x[None, :, None], (0, 2) @ any grad
    expand_dims:    x, (0, 3) ; w, -1 @ any grad
    broadcast_to:   w, (3, 4) ; s, (2,) ; e, (2, 0, 3) @ any grad
    broadcast_arrays: x, w ; j, w @ any grad
    broadcast_shapes: (2, 1), (1, 3) ; (), (4,) @ none
    atleast_1d:     s ; x, s @ any grad
    atleast_2d:     w ; s @ any grad
    atleast_3d:     x ; w ; s @ any grad
    flip:           t, (0, 2) ; t ; x, 1 @ any grad
    fliplr:         x @ any grad
    flipud:         x @ any grad
    rot90:          x ; t, 2, (1, 2) ; x, 3 ; x, -1 @ any grad
    roll:           x, 3 ; x, (1, -1), (0, 1) ; x, -2, 1 ; e, 1 @ any grad
    roll:           v, n[0, 0] @ any => ref.roll
    resize:         x, (2, 7) ; x, (2, 2) @ any grad
    tile:           x, (2, 1, 2) ; w, 3 ; s, (2,) @ any grad
    repeat:         x, 2, axis=1 ; x, 3 ; w, np.array([1, 0, 2, 3]), axis=0 @ any grad
    ndim:           t @ any
    shape:          t @ any
    size:           t ; t, 1 @ any
    # joining
    concatenate:    [x, y], axis=1 ; [x, y], axis=None ; [e, e] @ any grad
    concat:         [x, y], axis=-1 @ any grad
    stack:          [x, y] ; [x, y], axis=1 ; [s, s] @ any grad
    vstack:         [x, w] ; [s, s] @ any grad
    hstack:         [x, y] ; [w, v] @ any grad
    dstack:         [x, y] ; [w, w] @ any grad
    column_stack:   [w, w] ; [w, m] @ any grad
    block:          [[x, y], [y, x]] ; [w, v] @ any grad
    append:         x, w ; x, y, axis=0 @ any grad
    split:          t, 2, axis=2 ; v, [2, 5] ; v, [3, 3] @ any grad
    array_split:    v, 3 ; x, [1], 1 @ any grad
    hsplit:         x, 2 @ any grad
    vsplit:         m, 2 @ any grad
    dsplit:         t, 2 @ any grad
    unstack:        x ; x, axis=1 @ any grad
    insert:         v, 1, 3 ; x, np.array([1, 2]), 5, axis=1 ; x, 0, w, axis=0 @ number grad
    delete:         v, 2 ; x, np.array([0, 2]), axis=1 ; x, slice(1, 3), 0 @ any grad
    pad:            x, 1 ; x, ((1, 2), (0, 3)), constant_values=1 @ number grad
    pad:            x, 2, mode='edge' ; v, 3, mode='reflect' ; v, (2, 4), mode='wrap' ; \
                    v, 3, mode='symmetric' ; v, 9, mode='reflect' @ number grad
    pad:            x, 1, mode='mean' ; x, 1, mode='maximum' ; x, 1, mode='minimum' ; \
                    v, 3, mode='linear_ramp' ; v, 2, mode='median' @ float grad
    trim_zeros:     np.array([0, 0, 1, 2, 0]) ; np.array([0, 0, 1.5, 0]), 'f' @ none nojit
    # diagonals
    tril:           m ; t, -1 ; x, 9 @ any grad
    triu:           x, 1 ; m ; t, -9 @ any grad
    diag:           m ; w, 1 ; x, -1 @ any grad
    diagflat:       x ; w, -1 @ any grad
    diagonal:       t, axis1=1, axis2=2 ; x, 1 @ any grad
    fill_diagonal:  m, 2, inplace=False ; m, w, inplace=False @ number grad => ref.fill_diagonal
    diag_indices:   3 ; 2, 3 @ none
    diag_indices_from: m @ any
    tril_indices:   3 ; 3, 1, 4 @ none
    triu_indices:   3, 1 @ none
    tril_indices_from: m ; m, 1 @ any
    triu_indices_from: m ; m, -1 @ any
    mask_indices  = jnp.mask_indices(3, jnp.triu) @ none nojit => itself
    # indexing
    take:           x, i, axis=0 ; x, i ; x, i - 9, axis=0, mode='wrap' ; \
                    x, i + 2, axis=0, mode='clip' @ any grad
    take:           x, i + 2, axis=0, mode='fill' ; x, i + 2, axis=0, fill_value=7 @ number => -
    take_along_axis: x, n % 3, axis=0 ; w, i, axis=0 ; w, i, axis=None @ any grad
    put_along_axis: x, n[:, :1] % 3, 1, axis=1, inplace=False @ number => ref.put_along_axis
    put:            v, i, 1, inplace=False ; v, np.array([0, 9]), w, mode='wrap', inplace=False \
                    @ number => ref.put
    place:          x, b, w, inplace=False @ any => ref.place
    choose:         n % 2, [x, y], mode='wrap' ; n, [x, y, x], mode='clip' @ any
    select:         [b, ~b], [x, y], 0 ; [b], [x], s @ number
    piecewise:      x, [x > 0, x < 0], [1, -1] ; x, [x > 0], [lambda r: r * 2, 3] @ real
    extract:        b, x @ any nojit novmap
    compress:       np.array([True, False, True]), x, axis=0 ; np.array([True, False]), v @ any nojax
    ravel_multi_index: (i, i), (3, 4), 'wrap' ; (i, i + 3), (3, 4), 'clip' ; (i, i + 3), (3, 4), 'wrap' @ none
    unravel_index:  i, (3, 4) ; n, (3, 3) @ none
    ix_:            np.array([0, 1]), np.array([2, 3]) @ none
    apply_along_axis = jnp.apply_along_axis(lambda r: r * r[0], 0, x) ; \
                    jnp.apply_along_axis(lambda r: r.sum(), 1, t) @ number grad => itself
    apply_over_axes = jnp.apply_over_axes(jnp.sum, t, [0, 2]) @ number grad \
                    => np.apply_over_axes(np.sum, t, [0, 2])
    vectorize     = jnp.vectorize(lambda q, r: q + r.sum(), signature='(),(n)->()')(w, x[:, :4].T[:4]) \
                    @ number grad => w + x.sum(0)
    frompyfunc    = jnp.frompyfunc(lambda q, r: q * r + r, 2, 1)(x, w) @ number => x * w + w
    # dtypes, properties
    iscomplexobj:   x @ any
    isrealobj:      x @ any
    isscalar:       3 ; np.float32(2) @ none
    isscalar:       s ; x @ any => -
    iterable:       x ; 3 @ any
    result_type:    x, y ; x, 'int8' ; np.float32(3), 4 @ any nojit novmap => -
    promote_types:  'int8', 'uint8' ; 'int32', 'float32' @ none nojit => -
    can_cast:       'int8', 'float32' ; 'float32', 'int8' @ none
    issubdtype:     'float16', np.floating ; 'int4', np.signedinteger @ none nojit => -
    isdtype:        np.dtype('int8'), 'integral' ; np.dtype('float32'), ('bool', 'complex floating') \
                    @ none nojit
    array_repr:     w ; x @ any nojit novmap nojax => -
    array_str:      w ; x @ any nojit novmap => -
    einsum_path:    'ij,jk,kl->il', x, m, x.T @ f32 nojit novmap => -
""")  # fmt: skip
