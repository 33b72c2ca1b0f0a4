"""Expressions of `jax.lax`, by the dtypes they are tried with. Arrays: see `compare.pool`."""

UNARY = """
    abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e bitwise_not cbrt ceil clz
    conj cos cosh digamma erf erf_inv erfc exp exp2 expm1 floor imag is_finite lgamma log
    log1p logistic neg population_count real reciprocal round rsqrt sign sin sinh sqrt
    square tan tanh stop_gradient
""".split()
BINARY = """
    add sub mul div rem pow max min atan2 nextafter eq ne lt le gt ge bitwise_and bitwise_or
    bitwise_xor shift_left shift_right_logical shift_right_arithmetic complex igamma igammac
    zeta polygamma mulhi random_gamma_grad igamma_grad_a
""".split()

NHWC = "dimension_numbers=('NHWC', 'HWIO', 'NHWC')"
GATHER = "lax.GatherDimensionNumbers((1,), (0,), (0,))"
SCATTER = "lax.ScatterDimensionNumbers((1,), (0,), (0,))"

LAX = {
    "any": "\n".join(
        [f"lax.{n}(x)" for n in UNARY]
        + [f"lax.{n}(p)" for n in UNARY]
        + [f"lax.{n}(x, y)" for n in BINARY]
        + [f"lax.{n}(p, p)" for n in BINARY]
        + [f"lax.{n}(x, 2)" for n in BINARY[:12]]
        + [f"lax.{n}(x, 1.5)" for n in BINARY[:16]]
        + [f"lax.convert_element_type(x, '{t}')" for t in
           "float32 float16 int32 int8 uint8 uint32 bool complex64".split()]
    ) + """
        lax.convert_element_type(x, bf16)
        lax.convert_element_type(2, 'float16')
        lax.bitcast_convert_type(x, 'int32')
        lax.bitcast_convert_type(x, 'uint8')
        lax.reduce_precision(x, 5, 4)
        lax.integer_pow(x, 3)
        lax.integer_pow(x, -2)
        lax.betainc(p, p, p)
        lax.clamp(0, x, 3)
        lax.clamp(y, x, p)
        lax.select(b, x, y)
        lax.select_n(b, x, y)
        lax.select_n(n % 2, x, y)
        lax.broadcast(x, (2,))
        lax.broadcast_in_dim(x, (3, 2, 4), (0, 2))
        lax.broadcast_to_rank(x, 4)
        lax.broadcast_shapes((2, 1), (1, 3))
        lax.broadcasted_iota('int32', (2, 3), 1)
        lax.iota(x.dtype, 5)
        lax.reshape(t, (6, 4))
        lax.reshape(t, (6, 4), (2, 0, 1))
        lax.expand_dims(x, (0, 2))
        lax.squeeze(x[None], (0,))
        lax.collapse(t, 0, 2)
        lax.transpose(t, (2, 0, 1))
        lax.rev(t, (0, 2))
        lax.concatenate([x, y], 0)
        lax.pad(x, x[0, 0], ((1, 2, 0), (-1, 0, 1)))
        lax.tile(x, (2, 1)) if hasattr(lax, 'tile') else 0
        lax.split(t, (1, 3), axis=2)
        lax.slice(t, (0, 1, 1), (2, 3, 4), (1, 1, 2))
        lax.slice_in_dim(t, 1, 3, axis=2)
        lax.index_in_dim(x, 1, axis=1, keepdims=False)
        lax.dynamic_slice(x, (i[0], i[1]), (2, 2))
        lax.dynamic_slice_in_dim(x, i[0], 2, axis=1)
        lax.dynamic_index_in_dim(x, 7, axis=1)
        lax.dynamic_update_slice(x, y[:2, :2], (i[0], -1))
        lax.dynamic_update_slice_in_dim(x, y[:2], 9, axis=0)
        lax.dynamic_update_index_in_dim(x, y[0], 1, axis=0)
        lax.full((2, 3), 4, x.dtype)
        lax.full_like(x, 1)
        lax.zeros_like_array(x) if hasattr(lax, 'zeros_like_array') else 0
        lax.sort(x)
        lax.sort(x, dimension=0)
        lax.sort((n, x), dimension=1, num_keys=1)
        lax.sort((n % 3, x), dimension=0, num_keys=2)
        lax.sort_key_val(n, x)
        lax.top_k(x, 2)
        lax.top_k(x, 2, axis=0)
        lax.approx_max_k(x, 2)
        lax.approx_min_k(x, 1)
        lax.argmax(x, 1, 'int32')
        lax.argmin(x, 0, 'int8')
        lax.reduce_max(t, (0, 2))
        lax.reduce_min(t, (1,))
        lax.reduce_sum(t, (1,))
        lax.reduce_prod(t, (0, 1))
        lax.reduce_and(x, (0,))
        lax.reduce_or(x, (1,))
        lax.reduce_xor(x, (0, 1))
        lax.reduce(x, x[0, 0] * 0, lax.add, (0,))
        lax.reduce(x, np.zeros((), x.dtype)[()], lax.max, (0,))
        lax.reduce(x, np.zeros((), x.dtype)[()], lambda a, c: a + c * 2, (1,)) if x.ndim == 9 else 0
        lax.reduce((x, y), (x[0, 0], y[0, 0]), lambda a, c: (a[0] + c[0], a[1] * c[1]), (0,))
        lax.cumsum(x)
        lax.cumsum(x, 1, reverse=True)
        lax.cumprod(x)
        lax.cummax(x, 1)
        lax.cummin(x, reverse=True)
        lax.cumlogsumexp(x, 1)
        lax.associative_scan(lax.add, x)
        lax.associative_scan(lambda a, c: a * c, x, axis=1, reverse=True)
        lax.dot(x, m)
        lax.dot_general(t, t, (((2,), (2,)), ((0,), (0,))))
        lax.dot_general(x, m, (((1,), (0,)), ((), ())), preferred_element_type=np.float32)
        lax.batch_matmul(t, lax.transpose(t, (0, 2, 1)))
        lax.dot(x, w)
        lax.conv_general_dilated(t, t[:, :, :2], (1,), 'SAME')
        lax.conv_general_dilated(t, t[:, :, :2], (2,), ((1, 2),), (2,), (2,))
        lax.conv_general_dilated(m[None, :, :, None], x[:, :3, None, None], (1, 1), 'VALID', HWC)
        lax.conv(t, t[:, :, :2], (1,), 'VALID')
        lax.conv_transpose(t, t[:, :, :2], (2,), 'SAME')
        lax.conv_general_dilated_patches(t, (2,), (1,), 'VALID')
        lax.reduce_window(x, 0, lax.add, (2, 3), (1, 1), 'VALID')
        lax.gather(x, i[:, None], GATHER, (1, 4))
        lax.gather(x, i[:, None] + 1, GATHER, (1, 3), mode='fill')
        lax.gather(x, i[:, None] + 1, GATHER, (1, 3), mode='clip')
        lax.scatter(x, i[:, None], m[i], SCATTER)
        lax.scatter_add(x, i[:, None] + 1, m[i], SCATTER)
        lax.scatter_mul(x, i[:, None], m[i], SCATTER)
        lax.scatter_min(x, i[:, None], m[i], SCATTER)
        lax.scatter_max(x, i[:, None] + 2, m[i], SCATTER, mode='clip')
        lax.scatter_sub(x, i[:, None], m[i], SCATTER)
        lax.scatter_apply(x, i[:2, None], lambda a: a * a, SCATTER, update_shape=(2, 4))
        lax.index_take(x, (i,), (0,))
        lax.map(lambda r: r + r, x)
        lax.scan(lambda c, r: (c + r, c), w * 0, x)
        lax.scan(lambda c, r: (c * r, c), w, x, reverse=True)
        lax.fori_loop(0, 3, lambda k, c: c + c, x)
        lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + c[1]), (0, x))
        lax.cond(True, lambda a: a + a, lambda a: a, x)
        lax.switch(1, [lambda a: a, lambda a: a + a], x)
        lax.add(x, v)
        lax.add(x, w)
        lax.add(x, q)
        lax.concatenate([x, v], 0)
        lax.reshape(x, (5,))
        lax.dot(x, x)
        lax.transpose(x, (0, 0))
        lax.broadcast_in_dim(x, (3, 4), (0, 0))
        lax.slice(x, (0, 0), (5, 5))
        lax.squeeze(x, (0,))
        lax.dynamic_slice(x, (0,), (1,))
        lax.select(x, x, y)
        lax.reduce_sum(x, (3,))
        lax.top_k(x, 9)
        lax.pad(x, 0, ((1, 1, -1), (0, 0, 0)))
        lax.rev(x, (4,))
        lax.iota('int32', -1)
        lax.cond(3, lambda a: a, lambda a: a, x)
        lax.scan(lambda c, r: (c.astype('float16'), r), 1., x)
        lax.while_loop(lambda c: c, lambda c: c, x)
        lax.optimization_barrier(x)
        lax.axis_index('nothing')
        lax.bitcast_convert_type(x, 'float16')
        lax.exp(2)
        lax.add(2, 3)
        lax.mul(2., x[0, 0])
        lax.asarray(x) if hasattr(lax, 'asarray') else 0
        lax.dtype(x) if hasattr(lax, 'dtype') else 0
    """.replace("HWC", NHWC).replace("GATHER", GATHER).replace("SCATTER", SCATTER),
    "float": """
        lax.reduce_window(x, -np.inf, lax.max, (2, 2), (2, 2), 'SAME')
        lax.reduce_window(x, np.inf, lax.min, (2, 3), (1, 2), ((1, 0), (2, 1)), (1, 2), (2, 1))
        jax.grad(lambda a: lax.reduce_window(a, -np.inf, lax.max, (2, 2), (2, 2), 'SAME').sum())(x)
        jax.grad(lambda a: lax.reduce_window(a, -np.inf, lax.max, (2, 2), (1, 1), 'SAME').sum())(x)
        jax.grad(lambda a: lax.reduce_window(a, 0., lax.add, (2, 3), (1, 2), 'SAME').var())(x)
        jax.grad(lambda a: (lax.conv(t, a, (1,), 'SAME') ** 2).sum())(t[:, :, :3])
        jax.grad(lambda a: (lax.conv(a, t[:, :, :2], (2,), 'SAME') ** 2).sum())(t)
        jax.grad(lambda a: lax.cumlogsumexp(a, 1).sum())(x)
        jax.grad(lambda a: lax.igamma(a, p + 1).sum())(p + 1)
        jax.grad(lambda a: lax.cumprod(a).sum())(x)
        jax.grad(lambda a: lax.sort(a)[:, 0].sum())(x)
        jax.grad(lambda a: lax.reduce_prod(a, (1,)).sum())(x)
        jax.jacfwd(lambda a: lax.cummax(a))(w)
        jax.vmap(lambda a: lax.dynamic_slice(v, (a,), (2,)))(i)
        jax.vmap(lambda a, c: lax.conv(a[None], c[None, :, :2], (1,), 'SAME'))(t, t)
    """,
}

SPECIAL_UNARY = [n for n in UNARY if n not in ("clz", "population_count", "bitwise_not", "conj")]
SPECIAL_BINARY = "add sub mul div rem pow max min atan2 nextafter eq ne lt le gt ge".split()
