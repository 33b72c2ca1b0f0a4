"""Samplers, functions of neural networks and their initializers.

Samplers have no reference here but JAX; their distributions are tested in tests/random.
"""

from rows import table

RANDOM = table("jax.random", "random", None, """
    PRNGKey:        3 ; n[0, 0] @ none
    key           = random.key_data(random.key(n[0, 0])) ; random.key_data(random.key(7, impl='rbg')) @ none
    key_data:       key @ none
    wrap_key_data = random.bits(random.wrap_key_data(key), (2,)) @ none
    key_impl      = str(random.key_impl(random.key(3))) ; str(random.key_impl(random.key(3, impl='rbg'))) @ none nojit
    key_dtype     = str(random.key_dtype('rbg')) ; str(random.key_dtype()) @ none nojit
    clone:          key @ none
    split:          key ; key, 3 ; key, (2, 2) @ none
    fold_in:        key, 5 ; key, n[0, 0] @ none
    bits:           key, (3, 4) ; key, (5,), 'uint8' ; key, (3,), 'uint16' @ none
    ball:           key, 3, shape=(4,) ; key, 2, 1.5 @ none
    bernoulli:      key, 0.3, (3, 4) ; key, c @ f32
    beta:           key, p, a ; key, 2., 3., (7,) @ f32 tol=1e-3
    binomial:       key, 20, 0.3, (9,) ; key, 5., c @ f32
    categorical:    key, x ; key, x, 0 ; key, w, shape=(3, 2) @ f32
    cauchy:         key, (3, 4) @ none tol=1e-3
    chisquare:      key, p ; key, 3., shape=(7,) @ f32 tol=1e-3
    choice:         key, 10, (4,) ; key, x, (2,), axis=1 ; key, 9, (3,), replace=False ; key, 3, (9,), p=c[0, :3] @ f32
    dirichlet:      key, p ; key, np.array([1., 2., 3.], 'float32'), (4,) @ f32 tol=1e-3
    double_sided_maxwell: key, 1., 2., (7,) @ none tol=1e-3
    exponential:    key, (3, 4) @ none tol=1e-3
    f:              key, p, a ; key, 3., 4., shape=(7,) @ f32 tol=1e-2
    gamma:          key, p ; key, 2.5, (7,) ; key, 0.3, (5,) @ f32 tol=1e-3
    generalized_normal: key, 2., (7,) @ none tol=1e-3
    geometric:      key, 0.3, (9,) ; key, c @ f32
    gumbel:         key, (3, 4) ; key, (5,), mode='high' @ none tol=1e-3
    laplace:        key, (3, 4) @ none tol=1e-3
    loggamma:       key, p ; key, 0.5, (7,) @ f32 tol=1e-3
    logistic:       key, (3, 4) @ none tol=1e-3
    lognormal:      key, p ; key, 1., (7,) @ f32 tol=1e-3
    maxwell:        key, (3, 4) @ none tol=1e-3
    multinomial:    key, 10, np.array([.2, .3, .5], 'float32'), shape=(3,) @ none
    multivariate_normal: key, w, h ; key, np.zeros(2), np.eye(2), (3,), method='svd' @ f32 tol=1e-2
    normal:         key, (3, 4) ; key, (5,), 'float16' ; key, (4,), 'complex64' @ none tol=1e-3
    orthogonal:     key, 3 ; key, 3, (2,) @ none tol=1e-2
    pareto:         key, a ; key, 2., (7,) @ f32 tol=1e-3
    permutation:    key, 13 ; key, x, axis=1 ; key, x, 0, independent=True @ any
    poisson:        key, 4., (9,) ; key, p ; key, 40., (5,) @ f32
    rademacher:     key, (9,) @ none
    randint:        key, (3, 4), 0, 10 ; key, (3,), -9, n[0, :3], 'int8' @ none
    rayleigh:       key, p ; key, 2., (7,) @ f32 tol=1e-3
    t:              key, p ; key, 3., (7,) @ f32 tol=1e-2
    triangular:     key, 0., 1., 3., (7,) ; key, -p, p * 0, a @ f32 tol=1e-3
    truncated_normal: key, -1., 2., (9,) ; key, -p, p @ f32 tol=1e-3
    uniform:        key, (3, 4) ; key, (5,), 'float16' ; key, (3, 4), minval=-p, maxval=a @ f32
    wald:           key, p ; key, 2., (7,) @ f32 tol=1e-3
    weibull_min:    key, 2., 3., (7,) @ none tol=1e-3
""")  # fmt: skip

NN = table("jax.nn", "nn", "ref", """
    celu:           x ; x, 0.5 @ float grad
    elu:            x ; x, 2. @ float grad
    gelu:           x ; x, approximate=False @ float grad tol=1e-4
    glu:            x ; x.T, 0 @ float grad
    hard_sigmoid:   x * 3 @ float grad
    hard_silu:      x * 3 @ float grad
    hard_swish:     x * 3 @ float grad => ref.hard_silu(...)
    hard_tanh:      x @ float grad => np.clip(x, -1, 1)
    identity:       x @ any grad => np.array
    leaky_relu:     x ; x, 0.3 @ float grad
    log1mexp:       p @ f32 grad tol=1e-4
    log_sigmoid:    x @ float grad
    log_softmax:    x ; x, axis=0 @ float grad => ref.log_softmax
    log_softmax:    x, where=b @ float => -
    logmeanexp:     x ; x, axis=0, keepdims=True @ f32 grad
    logsumexp:      x ; x, axis=(0, 1), keepdims=True ; z ; x, 1, b=p @ float grad => sp.special.logsumexp
    mish:           x @ float grad
    one_hot:        i, 4 ; n % 3, 3, axis=0 @ none
    relu:           x @ real grad
    relu6:          x * 5 @ float grad => np.clip(5 * x, 0, 6)
    selu:           x @ float grad
    sigmoid:        x ; z @ float grad => ref.logistic
    silu:           x @ float grad
    swish:          x @ float grad => ref.silu
    soft_sign:      x @ float grad
    softmax:        x ; t, axis=1 ; x, axis=(0, 1) @ float grad => ref.softmax
    softmax:        x, where=b @ float => -
    softplus:       x @ float grad
    softplus:       z @ float
    sparse_plus:    x @ float grad
    sparse_sigmoid: x @ float grad
    squareplus:     x ; x, 2. @ float grad
    standardize:    x ; x, axis=0 ; t, (0, 2) @ float grad tol=1e-4
    tanh:           x @ float grad => np.tanh
    dot_product_attention: t[..., None, :], t[..., None, :], t[..., None, :] ; \
                    t[..., None, :], t[..., None, :], t[..., None, :], is_causal=True @ f32 grad
    scaled_dot_general: np.arange(64.).reshape(2, 32) / 9, np.arange(96.).reshape(3, 32) / 9, \
                    (((1,), (1,)), ((), ())) @ none => -
    scaled_matmul:  np.ones((1, 2, 32), 'float32'), np.ones((1, 3, 32), 'float32'), np.ones((1, 2, 1), 'float32'), \
                    np.ones((1, 3, 1), 'float32') @ none nojax => np.full((1, 2, 3), 32.)
""")  # fmt: skip

INITIALIZERS = table("jax.nn.initializers", "nn.initializers", None, """
    zeros:          key, (3, 4) @ none => np.zeros((3, 4))
    ones:           key, (3, 4), 'int8' @ none => np.ones((3, 4))
    constant      = nn.initializers.constant(2.5)(key, (3, 4)) @ none => np.full((3, 4), 2.5)
    normal        = nn.initializers.normal(0.1)(key, (3, 4)) @ none tol=1e-3
    uniform       = nn.initializers.uniform(0.1)(key, (3, 4)) @ none
    truncated_normal = nn.initializers.truncated_normal(0.1)(key, (3, 4)) @ none tol=1e-3
    variance_scaling = nn.initializers.variance_scaling(2., 'fan_avg', 'uniform')(key, (3, 4)) @ none tol=1e-3
    glorot_normal = nn.initializers.glorot_normal()(key, (3, 4)) @ none tol=1e-3
    glorot_uniform = nn.initializers.glorot_uniform()(key, (2, 3, 4)) @ none tol=1e-3
    he_normal     = nn.initializers.he_normal()(key, (3, 4)) @ none tol=1e-3
    he_uniform    = nn.initializers.he_uniform()(key, (3, 4), 'float16') @ none tol=1e-3
    kaiming_normal = nn.initializers.kaiming_normal()(key, (3, 4)) @ none tol=1e-3
    kaiming_uniform = nn.initializers.kaiming_uniform()(key, (3, 4)) @ none tol=1e-3
    lecun_normal  = nn.initializers.lecun_normal()(key, (3, 4)) @ none tol=1e-3
    lecun_uniform = nn.initializers.lecun_uniform()(key, (3, 4)) @ none tol=1e-3
    xavier_normal = nn.initializers.xavier_normal()(key, (3, 4)) @ none tol=1e-3
    xavier_uniform = nn.initializers.xavier_uniform()(key, (3, 4)) @ none tol=1e-3
    orthogonal    = (lambda f: f @ f.T)(nn.initializers.orthogonal()(key, (3, 4))) @ none tol=1e-3 => np.eye(3)
    delta_orthogonal = (lambda f: f[1] @ f[1].T)(nn.initializers.delta_orthogonal()(key, (3, 2, 4))) \
                    @ none tol=1e-3 => np.eye(2)
""")  # fmt: skip

ROWS = RANDOM + NN + INITIALIZERS
