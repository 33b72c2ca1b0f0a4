"""Functions of `jax.lax` that make, turn, join, cut, reduce and sort arrays; loops and exchanges."""

from rows import table

GATHER = "lax.GatherDimensionNumbers((1,), (0,), (0,))"
SCATTER = "lax.ScatterDimensionNumbers((1,), (0,), (0,))"
AXIS = "axis_name='q')"

ROWS = table("jax.lax", "lax", "np", f"""
    # shape
    broadcast:      x, (2,) ; s, (2, 0) @ any grad => ref.broadcast
    broadcast_in_dim: x, (3, 2, 4), (0, 2) ; w, (4, 2), (0,) @ any grad => ref.broadcast_in_dim
    broadcast_to_rank: x, 4 @ any grad => ref.to_rank
    broadcast_like: w, x ; s, t @ any grad => ref.broadcast_like
    broadcast_shapes: (2, 1), (1, 3) ; (3,), () @ none
    broadcasted_iota: 'int32', (2, 3), 1 ; 'float32', (3, 2), 0 @ none => ref.iota
    iota:           'int32', 5 ; 'bfloat16', 0 @ none => ref.iota
    reshape:        t, (6, 4) ; e, (3, 0) @ any grad
    reshape:        t, (6, 4), (2, 0, 1) @ any grad => ref.reshape_dims
    collapse:       t, 0, 2 ; t, 1 @ any grad => ref.collapse
    expand_dims:    x, (0, 2) @ any grad
    squeeze:        x[None], (0,) ; x[:, None, None], (1, 2) @ any grad
    transpose:      t, (2, 0, 1) ; w, (0,) @ any grad
    rev:            t, (0, 2) ; x, () @ any grad => np.flip
    tile:           x, (2, 1) ; w, (3,) @ any grad
    full:           (2, 3), 4 ; (2,), s @ any => np.full
    full_like:      x, 1 ; x, 2, 'int8', (2,) @ any => ref.full_like
    empty:          (2, 0), 'float32' @ none
    dtype:          x ; 3. @ any nojit novmap => -
    shape_as_value: (2, 3) @ none => np.array
    concatenate:    [x, y], 0 ; [x, y, x], 1 ; [e, e], 0 @ any grad
    stack:          [x, y] ; [x, y], 2 @ any grad
    unstack:        x ; x, 1 @ any grad => ref.unstack
    split:          t, (1, 3), axis=2 ; x, (1, 0, 2) @ any grad => ref.split
    pad:            x, x[0, 0], ((1, 2, 0), (-1, 0, 1)) ; x, s, ((0, 0, 2), (1, -2, 0)) @ any grad \
                    => ref.pad
    # slices
    slice:          t, (0, 1, 1), (2, 3, 4), (1, 1, 2) ; x, (3, 0), (3, 4) @ any grad => ref.cut
    slice_in_dim:   t, 1, 3, axis=2 ; x, 0, None, 2, axis=1 @ any grad => ref.slice_in_dim
    index_in_dim:   x, 1, axis=1, keepdims=False ; x, -1 @ any grad => ref.index_in_dim
    dynamic_slice:  x, (i[0], i[1]), (2, 2) ; x, (n[0, 0], -1), (1, 3) @ any grad => ref.dynamic_slice
    dynamic_slice_in_dim: x, i[0], 2, axis=1 @ any grad => ref.dynamic_slice_in_dim
    dynamic_index_in_dim: x, 7, axis=1 ; x, i[2], keepdims=False @ any grad => ref.dynamic_index_in_dim
    dynamic_update_slice: x, y[:2, :2], (i[0], -1) ; x, y[:1, :3], (9, i[1]) @ any grad \
                    => ref.dynamic_update_slice
    dynamic_update_slice_in_dim: x, y[:2], 9, axis=0 @ any grad => ref.dynamic_update_in_dim
    dynamic_update_index_in_dim: x, y[0], 1, axis=0 @ any grad => ref.dynamic_update_in_dim
    gather        = lax.gather(x, i[:, None], {GATHER}, (1, 4)) @ any grad => x[i]
    gather        = lax.gather(x, i[:, None] + 1, {GATHER}, (1, 4), mode='clip') @ any grad \
                    => x[np.minimum(i + 1, 2)]
    gather        = lax.gather(x, i[:, None] + 1, {GATHER}, (1, 3), mode='fill', fill_value=1) \
                    @ any => np.where((i < 2)[:, None], x[np.minimum(i + 1, 2)][:, :3], 1)
    scatter       = lax.scatter(x, i[1:4, None], m[:3], {SCATTER}, unique_indices=True) @ any grad \
                    => ref.scatter(x, i[1:4], m[:3])
    scatter_add   = lax.scatter_add(x, i[:, None] + 1, m[i], {SCATTER}) @ number grad \
                    => ref.scatter(x, i + 1, m[i], np.add)
    scatter_sub   = lax.scatter_sub(x, i[:, None], m[i], {SCATTER}) @ number grad \
                    => ref.scatter(x, i, m[i], np.subtract)
    scatter_mul   = lax.scatter_mul(x, i[:, None], m[i], {SCATTER}) @ real \
                    => ref.scatter(x, i, m[i], np.multiply)
    scatter_min   = lax.scatter_min(x, i[:, None], m[i], {SCATTER}) @ real \
                    => ref.scatter(x, i, m[i], np.minimum)
    scatter_max   = lax.scatter_max(x, i[:, None] + 1, m[i], {SCATTER}) @ real \
                    => ref.scatter(x, i + 1, m[i], np.maximum)
    scatter_apply = lax.scatter_apply(x, i[:3, None], lambda f: f * f, {SCATTER}, update_shape=(3, 4)) \
                    @ number => ref.scatter(x, i[:3], x[i[:3]], np.multiply)
    index_take    = lax.index_take(x, (i,), (0,)) @ any grad => x[i]
    # reductions, sorting
    reduce_sum:     t, (1,) ; e, (0,) @ number grad => np.sum
    reduce_prod:    t, (0, 1) @ number grad tol=1e-4 => np.prod
    reduce_max:     t, (0, 2) ; z, (0,) @ real grad => np.max
    reduce_min:     t, (1,) ; z, (0,) @ real grad => np.min
    reduce_and:     x, (0,) @ bits => np.bitwise_and.reduce
    reduce_or:      x, (1,) @ bits => np.bitwise_or.reduce
    reduce_xor:     x, (1,) @ bits => np.bitwise_xor.reduce
    reduce        = lax.reduce(x, np.zeros((), x.dtype)[()], lax.add, (0,)) @ number grad => x.sum(0)
    reduce        = lax.reduce((x, n), (np.ones((), x.dtype)[()], np.int32(0)), lambda f, g: (f[0] * g[0], f[1] + g[1]), (1,)) \
                    @ number tol=1e-4 => (x.prod(1), n.sum(1))
    reduce_window = lax.reduce_window(x, 0, lax.add, (2, 3), (1, 1), 'VALID') @ number \
                    => ref.windows(x, (2, 3)).sum((-2, -1))
    reduce_window = lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 2), 'VALID') @ float grad \
                    => ref.windows(x, (2, 2)).max((-2, -1))[:, ::2]
    argmax:         x, 1, 'int32' ; z, 0, 'int8' @ real => ref.argmax
    argmin:         x, 0, 'int32' ; z, 0, 'int8' @ real => ref.argmin
    cumsum:         x ; x, 1, reverse=True @ number grad => ref.cumsum
    cumprod:        x ; x, 1, reverse=True @ number grad tol=1e-4 => ref.cumprod
    cummax:         x, 1 ; z @ real grad => ref.cummax
    cummin:         x, 0, reverse=True ; z @ real grad => ref.cummin
    cumlogsumexp:   x, 1 ; x, reverse=True @ float grad => ref.cumlogsumexp
    sort:           x ; x, 0 ; z @ real grad => np.sort
    sort          = lax.sort((n % 3, x), dimension=0, num_keys=2)[1] @ real \
                    => np.take_along_axis(x, np.lexsort((x, n % 3), axis=0), 0)
    sort_key_val  = lax.sort_key_val(v, jnp.arange(7)) @ real => (np.sort(v), np.argsort(v, kind='stable'))
    top_k:          x, 2 ; z, 3 @ real grad => ref.top_k
    approx_max_k:   x, 2 @ f32 => ref.top_k
    approx_min_k:   x, 1 @ f32 => ref.least_k
    associative_scan = lax.associative_scan(lax.add, x) ; lax.associative_scan(jnp.add, t, axis=1) \
                    @ number grad => -
    # loops and branches
    map           = lax.map(lambda r: r + r * r, x) ; lax.map(lambda r: r * r + r, x, batch_size=2) \
                    @ number grad => x + x * x
    scan          = lax.scan(lambda f, r: (f + r, f * 2), w, x)[0] @ number grad => w + x.sum(0)
    fori_loop     = lax.fori_loop(0, 3, lambda k, f: f + f, x) @ number grad => x * 8
    while_loop    = lax.while_loop(lambda f: f[0] < 3, lambda f: (f[0] + 1, f[1] + f[1]), (0, x))[1] \
                    @ number => x * 8
    cond          = lax.cond(i[0] > 1, lambda f: f * f, lambda f: -f, x) @ number grad => x * x
    switch        = lax.switch(i[0], [lambda f: f, lambda f: -f, lambda f: f + f], x) \
                    @ number grad => x + x
    platform_dependent = lax.platform_dependent(x, default=lambda f: f * 2, tpu=lambda f: f) \
                    @ number grad => x * 2
    composite     = lax.composite(lambda f: f * 2, 'my.twice')(x) @ number => x * 2
    custom_linear_solve = lax.custom_linear_solve(lambda f: m @ f, w, \
                    lambda f, g: jnp.linalg.solve(m, g), lambda f, g: jnp.linalg.solve(m.T, g)) \
                    @ f32 grad tol=1e-4 => np.linalg.solve(m, w)
    custom_root   = lax.custom_root(lambda f: f * f - p, p, lambda f, g: jnp.sqrt(p), \
                    lambda f, g: g / f(jnp.ones_like(g))) @ f32 grad => np.sqrt(p)
    dce_sink:       x @ any => -
    # random bits
    rng_uniform   = (lambda r: (r >= 1).all() & (r < 2).all())(lax.rng_uniform(1., 2., (30,))) \
                    @ none nojax => True
    rng_bit_generator: np.array([1, 2, 3, 4], np.uint32), (5,) ; \
                    np.array([1, 2, 3, 4], np.uint32), (3,), 'uint8' @ none => -
    # exchanges between examples of a batch
    axis_index    = jax.vmap(lambda r: lax.axis_index('q') + r, {AXIS}(x) @ number => x + np.arange(3)[:, None]
    axis_size     = jax.vmap(lambda r: r * lax.axis_size('q'), {AXIS}(x) @ number => x * 3
    psum          = jax.vmap(lambda r: lax.psum(r, 'q'), {AXIS}(x) @ number grad => x * 0 + x.sum(0)
    pmean         = jax.vmap(lambda r: lax.pmean(r, 'q'), {AXIS}(x) @ float grad => x * 0 + x.mean(0)
    pmax          = jax.vmap(lambda r: lax.pmax(r, 'q'), {AXIS}(x) @ real => x * 0 + x.max(0)
    pmin          = jax.vmap(lambda r: lax.pmin(r, 'q'), {AXIS}(x) @ real => x * 0 + x.min(0)
    ppermute      = jax.vmap(lambda r: lax.ppermute(r, 'q', [(0, 1), (1, 2), (2, 0)]), {AXIS}(x) \
                    @ number grad => np.roll(x, 1, 0)
    pshuffle      = jax.vmap(lambda r: lax.pshuffle(r, 'q', [2, 0, 1]), {AXIS}(x) @ number grad \
                    => x[[2, 0, 1]]
    pswapaxes     = jax.vmap(lambda r: lax.pswapaxes(r, 'q', 0), {AXIS}(m) @ number grad => m.T
    all_to_all    = jax.vmap(lambda r: lax.all_to_all(r, 'q', 0, 0), {AXIS}(m) @ number grad => m.T
    all_gather    = jax.vmap(lambda r: lax.all_gather(r, 'q'), {AXIS}(x) @ number grad \
                    => np.stack([x, x, x])
    psum_scatter  = jax.vmap(lambda r: lax.psum_scatter(r, 'q'), {AXIS}(m) @ number grad => m.sum(0)
    pbroadcast    = jax.vmap(lambda r: lax.pbroadcast(r, 'q', 1), {AXIS}(x) @ number nojax => x[[1, 1, 1]]
""")  # fmt: skip
