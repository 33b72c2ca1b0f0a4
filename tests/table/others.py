"""The smaller modules: signals, images, grids, solvers, trees, segments, dtypes, derivatives' checks."""

from rows import table

SIGNAL = table("jax.scipy.signal", "jsp.signal", "sp.signal", """
    convolve:       v, w ; x, m[:2, :2], mode='same' ; m, x, 'valid' ; v, w, method='fft' @ wide grad tol=1e-4
    convolve2d:     x, m ; m, x[:2, :2], 'same' @ f32 grad tol=1e-4
    correlate:      v, w ; x, m[:2, :2], 'same' @ wide grad tol=1e-4
    correlate2d:    x, m ; m, x[:2, :2], 'valid' @ f32 grad tol=1e-4
    csd:            x, y, nperseg=3 ; m.ravel(), v, nperseg=4 @ f32 grad tol=1e-4
    detrend:        x ; v, type='constant' ; x.T, 0, 'linear', [1] @ f32 grad tol=1e-4
    fftconvolve:    v, w ; x, m[:3], 'same' @ wide grad tol=1e-4
    istft:          x + 0j, nperseg=4 @ f32 grad tol=1e-4
    stft:           m.ravel(), nperseg=5 ; m.ravel(), 2., 'hamming', 4, 3 @ f32 grad tol=1e-4
    welch:          m.ravel(), nperseg=4 ; m, 3., nperseg=3, scaling='spectrum' @ f32 grad tol=1e-4
""")  # fmt: skip

SCIPY = table("jax.scipy.optimize", "jsp.optimize", None, """
    minimize      = jsp.optimize.minimize(lambda f: ((f - 1.5) ** 2 * jnp.arange(1., 5.)).sum(), w, \
                    method='BFGS').x @ f32 nojax tol=1e-2 => np.full(4, 1.5)
""") + table("jax.scipy.ndimage", "jsp.ndimage", "sp.ndimage", """
    map_coordinates: x, [c[0] * 2, c[1] * 3], 1 ; x, [c[0] * 2, c[1] * 3], 0 ; \
                    x, [y[0], y[1]], 1, 'nearest' ; x, [y[0], y[1]], 1, 'wrap' @ f32 tol=1e-4 \
                    => ref.map_coordinates
""") + table("jax.scipy.integrate", "jsp.integrate", "sp.integrate", """
    trapezoid:      x ; x, y, axis=0 ; v, dx=2. @ f32 grad
""") + table("jax.scipy.cluster.vq", "jsp.cluster.vq", "sp.cluster.vq", """
    vq:             x, m ; v, w @ f32 tol=1e-4 => ref.vq
""") + table("jax.scipy.sparse.linalg", "jsp.sparse.linalg", None, """
    cg            = jsp.sparse.linalg.cg(h, w, tol=1e-9)[0] @ f32 grad tol=1e-2 => np.linalg.solve(h, w)
    bicgstab      = jsp.sparse.linalg.bicgstab(m, w, tol=1e-9)[0] @ f32 tol=1e-2 => np.linalg.solve(m, w)
    gmres         = jsp.sparse.linalg.gmres(m, w, tol=1e-9)[0] @ f32 tol=1e-2 => np.linalg.solve(m, w)
""") + table("jax.experimental.ode", "jax.experimental.ode", None, """
    odeint        = jax.experimental.ode.odeint(lambda f, q: -f * q, w, jnp.linspace(0., 1.5, 4)) @ f32 tol=1e-2 \
                    => w * np.exp(-np.linspace(0, 1.5, 4)**2 / 2)[:, None]
""")  # fmt: skip

IMAGES = table("jax.image", "jax.image", None, """
    resize:         x, (3, 8), 'nearest' @ f32 grad => np.repeat(x, 2, 1)
    resize:         x, (5, 7), 'linear' ; t, (2, 5, 2), 'cubic' ; x, (2, 2), 'lanczos3', antialias=False @ f32 grad => -
    scale_and_translate: x, (4, 5), (0, 1), np.array([1.2, .8], 'float32'), np.array([.1, -.3], 'float32'), 'linear' \
                    @ f32 grad => -
""") + table("jax.ops", "jax.ops", "ref", """
    segment_sum:    x.T[:, 0].repeat(2)[:5], i, 3 ; x[:, 0], n[0, :3] % 3, 4 @ number grad
    segment_prod:   v[:5], i, 3 @ real
    segment_max:    v[:5], i, 3 @ real
    segment_min:    v[:5], i, 3 @ real
""")  # fmt: skip

_NEST = "dict(q=x, r=[y, (w, None)])"
_TREES = f"""
    {{tree}}all       = jax.{{module}}.{{tree}}all([x.shape[0], True]) @ f32 => np.True_
    {{tree}}broadcast = jax.{{module}}.{{tree}}broadcast([x, [y, w]][0], x) @ f32 => x
    {{tree}}flatten   = jax.{{module}}.{{tree}}flatten({_NEST})[0] @ any => [x, y, w]
    {{tree}}flatten_with_path = [q[1] for q in jax.{{module}}.{{tree}}flatten_with_path({_NEST})[0]] \
                    @ any => [x, y, w]
    {{tree}}leaves    = jax.{{module}}.{{tree}}leaves({_NEST}) @ any => [x, y, w]
    {{tree}}leaves_with_path = [q[1] for q in jax.{{module}}.{{tree}}leaves_with_path({_NEST})] @ any => [x, y, w]
    {{tree}}map       = jax.{{module}}.{{tree}}map(lambda f: f * 2, {_NEST}) ; \
                    jax.{{module}}.{{tree}}map(lambda f, g: f + g, dict(q=x, r=[y, w]), dict(q=x, r=[y, w])) \
                    @ number grad => [x * 2, y * 2, w * 2]
    {{tree}}map_with_path = jax.{{module}}.{{tree}}map_with_path(lambda f, g: g * len(f), {_NEST}) @ number grad \
                    => [x, y * 2, w * 3]
    {{tree}}reduce    = jax.{{module}}.{{tree}}reduce(lambda f, g: f + g, [x, y, w]) @ number grad => x + y + w
    {{tree}}reduce_associative = jax.{{module}}.{{tree}}reduce_associative(lambda f, g: f + g, [x, y, w]) \
                    @ number grad => x + y + w
    {{tree}}structure = str(jax.{{module}}.{{tree}}structure({_NEST})) @ f32 nojit novmap => -
    {{tree}}transpose = jax.{{module}}.{{tree}}transpose(jax.tree.structure([0, 0]), jax.tree.structure((0, 0, 0)), \
                    [(x, y, w), (y, w, x)]) @ any => [x, y, y, w, w, x]
    {{tree}}unflatten = jax.{{module}}.{{tree}}unflatten(jax.tree.structure([0, (0, None)]), [x, y]) @ any => [x, y]
"""  # the structures of the results are compared with JAX's
TREES = table("jax.tree", "jax.tree", None, _TREES.format(tree="", module="tree"))
TREES += table("jax.tree_util", "jax.tree_util", None,
               _TREES.format(tree="tree_", module="tree_util") + """
    all_leaves    = jax.tree_util.all_leaves([x, y]) ; jax.tree_util.all_leaves([x, [y]]) @ f32 nojit novmap => -
    flatten_one_level = jax.tree_util.flatten_one_level([x, (y, w)])[0] @ f32 => [x, y, w]
    flatten_one_level_with_keys = [q[1] for q in jax.tree_util.flatten_one_level_with_keys([x, (y, w)])[0]] \
                    @ f32 nojit novmap nojax => [x, y, w]
    is_tree_node  = [jax.tree_util.is_tree_node(q) for q in (int, list, tuple, dict)] @ none nojit \
                    => [False, True, True, True]
    keystr        = [jax.tree_util.keystr(q[0]) for q in jax.tree_util.tree_leaves_with_path(dict(q=[1, (2,)]))] \
                    @ none nojit => -
    treedef_children = str(jax.tree_util.treedef_children(jax.tree.structure([0, (1, 2)]))) @ none nojit => -
    treedef_is_leaf = [jax.tree_util.treedef_is_leaf(jax.tree.structure(q)) for q in (3, [1])] @ none nojit \
                    => [True, False]
    treedef_tuple = str(jax.tree_util.treedef_tuple([jax.tree.structure(0), jax.tree.structure([0])])) \
                    @ none nojit => -
""") + table("jax.flatten_util", "jax.flatten_util", None, """
    ravel_pytree  = jax.flatten_util.ravel_pytree([x, (w, s)])[0] @ number grad \
                    => np.concatenate([x.ravel(), w, s[None]])
    ravel_pytree  = (lambda f: f[1](f[0] * 2))(jax.flatten_util.ravel_pytree([x, (w, s)])) @ f32 grad \
                    => [x * 2, w * 2, s * 2]
""")  # fmt: skip

DTYPES = table("jax.dtypes", "jax.dtypes", None, """
    canonicalize_dtype = [str(jax.dtypes.canonicalize_dtype(q)) for q in ('float64', int, 'int8', bf16)] @ none nojit => -
    finfo         = [float(jax.dtypes.finfo(q).max) for q in ('float16', bf16, 'float8_e4m3fn')] @ none nojit => -
    iinfo         = [int(jax.dtypes.iinfo(q).min) for q in ('int8', 'int4', 'uint32')] @ none nojit => -
    issubdtype    = [jax.dtypes.issubdtype(q, np.inexact) for q in ('float16', bf16, 'int4')] @ none nojit => -
    itemsize_bits = [jax.dtypes.itemsize_bits(q) for q in ('float16', 'int4', 'bool')] @ none nojit => -
    result_type   = str(jax.dtypes.result_type(x, 2)) ; str(jax.dtypes.result_type(x, 2.5)) @ any nojit novmap => -
    scalar_type_of = str(jax.dtypes.scalar_type_of(x)) @ any nojit novmap => -
""") + table("jax.dlpack", "jax.dlpack", None, """
    from_dlpack   = jax.dlpack.from_dlpack(np.arange(6, dtype='int16').reshape(2, 3)) @ none nojit nojax \
                    => np.arange(6).reshape(2, 3)
    is_supported_dtype = [jax.dlpack.is_supported_dtype(np.dtype(q)) for q in ('int8', 'float32', bf16)] @ none nojit => -
""") + table("jax.test_util", "jax.test_util", None, """
    check_grads:    lambda f: f * jnp.sin(f), (x,), 2, atol=0.05, rtol=0.05 @ f32 nojit novmap => ref.nothing
    check_jvp     = jax.test_util.check_jvp(jnp.sin, lambda f, g: (jnp.sin(*f), jnp.cos(*f) * g[0]), (x,), .05, .05) \
                    @ f32 nojit novmap => ref.nothing()
    check_vjp     = jax.test_util.check_vjp(jnp.sin, lambda f: (jnp.sin(f), lambda g: (g * jnp.cos(f),)), (x,), .05, .05) \
                    @ f32 nojit novmap => ref.nothing()
""")  # fmt: skip

ROWS = SIGNAL + SCIPY + IMAGES + TREES + DTYPES
