"""Elementwise functions of `jax.lax`, and contractions of its arrays."""

from rows import table

ROWS = table("jax.lax", "lax", "np", """
    abs:            x ; z @ inexact grad
    abs:            n - 4 @ none
    acos:           u @ inexact grad
    acosh:          a @ inexact grad
    asin:           u @ inexact grad
    asinh:          x ; z @ inexact grad
    atan:           x @ inexact grad
    atanh:          u @ inexact grad
    cbrt:           x @ float grad
    ceil:           x ; z @ float
    conj:           x @ wide grad
    cos:            x ; z @ inexact grad
    cosh:           x ; z @ inexact grad
    exp:            x ; z @ inexact grad
    exp2:           x @ inexact grad
    expm1:          x ; z @ inexact grad
    floor:          x ; z @ float
    imag:           x + 0j ; (1 + 2j) * x @ wide => np.imag(...)
    real:           x + 0j ; (1 + 2j) * x @ wide grad => np.real(...)
    is_finite:      x ; z @ float => np.isfinite
    log:            p ; z @ inexact grad
    log1p:          p ; z @ inexact grad
    logistic:       x ; z @ inexact grad => ref.logistic
    neg:            x ; z @ number grad => np.negative
    reciprocal:     p @ inexact grad
    round:          x ; x * 2 @ float => ref.round_away
    rsqrt:          p @ inexact grad => ref.rsqrt
    sign:           x ; z @ real
    sin:            x ; z @ inexact grad
    sinh:           x @ inexact grad
    sqrt:           p ; z @ inexact grad same
    square:         x @ number grad
    tan:            u @ inexact grad tol=1e-4
    tanh:           x ; z @ inexact grad
    bitwise_not:    x @ bits same
    clz:            n ; x @ int same => ref.clz
    population_count: n ; x @ int same => ref.popcount
    integer_pow:    x, 3 ; x, 0 @ number grad tol=1e-4 => ref.integer_pow
    integer_pow:    p, -2 @ inexact grad tol=1e-4 => ref.integer_pow
    reduce_precision: x, 5, 4 ; x, 8, 23 @ f32 => -
    bessel_i0e:     x @ float grad => sp.special.i0e
    bessel_i1e:     x @ float grad => sp.special.i1e
    digamma:        p ; a @ float grad => sp.special.digamma
    lgamma:         p ; x @ float grad => sp.special.gammaln
    erf:            x ; z @ float grad => sp.special.erf
    erfc:           x ; z @ float grad => sp.special.erfc
    erf_inv:        u @ float grad => sp.special.erfinv
    stop_gradient:  x @ any => np.array
    stage:          x @ any => np.array
    add_any:        x, y @ number grad nojax => np.add
    add:            x, y ; z, z @ number grad
    sub:            x, y @ number grad => np.subtract
    mul:            x, y @ number grad => np.multiply
    div:            x, p ; z, z @ inexact grad => np.divide
    div:            n, 3 * n // 2 + 1 ; x, p @ int => ref.truncated
    rem:            x, p ; -x, p @ real => np.fmod
    pow:            p, y ; a, 2 @ inexact grad tol=1e-4
    max:            x, y ; z, z[::-1] @ any => np.maximum
    min:            x, y ; z, z[::-1] @ any => np.minimum
    atan2:          x, y ; z, z[::-1] @ float grad
    nextafter:      x, y ; z, z[::-1] @ f32 same
    eq:             x, y ; x, x ; z, z @ any => np.equal
    ne:             x, y ; x, x ; z, z @ any => np.not_equal
    lt:             x, y ; z, z[::-1] @ real => np.less
    le:             x, y ; z, z[::-1] @ real => np.less_equal
    gt:             x, y ; z, z[::-1] @ real => np.greater
    ge:             x, y ; z, z[::-1] @ real => np.greater_equal
    bitwise_and:    x, y @ bits
    bitwise_or:     x, y @ bits
    bitwise_xor:    x, y @ bits
    shift_left:     x, p @ int => np.left_shift
    shift_right_arithmetic: x, p @ int => np.right_shift
    shift_right_logical: p, p @ int => np.right_shift
    mulhi:          x, y ; n * 10**8, n * 10**8 @ int same => ref.mulhi
    complex:        x, y @ f32 grad => ref.complex
    igamma:         p, a @ f32 tol=1e-4 => sp.special.gammainc
    igammac:        p, a @ f32 tol=1e-4 => sp.special.gammaincc
    igamma_grad_a:  p, a @ f32 => -
    random_gamma_grad: p, a @ f32 => -
    betainc:        p, a, c @ f32 tol=1e-4 => sp.special.betainc
    polygamma:      np.full((3, 4), 2, p.dtype), p @ f32 tol=1e-4 => sp.special.polygamma
    zeta:           a, p @ f32 tol=1e-4 => sp.special.zeta
    clamp:          u, x, a ; x[0, 0], y, p @ real grad => ref.clamp
    select:         b, x, y @ any grad => np.where
    select_n:       b, x, y ; n % 3, x, y, p @ any grad => ref.select_n
    convert_element_type: x, 'int32' ; x, 'float16' ; x, 'int8' ; x, bool @ number same => ref.astype
    bitcast_convert_type: x, 'uint32' ; x, 'int8' @ f32 same => ref.bitcast
    optimization_barrier: x ; (x, y) @ any grad => ref.same
    # contractions
    dot:            x, m ; w, w ; x, w @ number grad
    dot_general:    t, t, (((2,), (2,)), ((0,), (0,))) ; x, m, (((1,), (0,)), ((), ())) ; \
                    t, x, (((1, 2), (0, 1)), ((), ())) @ number grad => ref.dot_general
    batch_matmul:   t, t.transpose(0, 2, 1) @ number grad => np.matmul
    ragged_dot:     x, t[:, :1].repeat(4, 1).reshape(2, 4, 4), np.array([1, 2]) @ f32 grad \
                    => ref.ragged_dot
    ragged_dot_general = lax.ragged_dot_general(x, t[:, 0], np.array([1, 2]), \
                    lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])) \
                    @ f32 grad => np.concatenate([x[:1] @ t[0, 0], x[1:] @ t[1, 0]])
    scaled_dot:     t[:, :, :4], t[:, :, :4].swapaxes(1, 2) @ f32 novmap => -
    conv:           t, t[:, :, :2], (1,), 'VALID' ; t, t[:, :, :3], (2,), 'SAME' @ number grad \
                    => ref.conv
    conv_with_general_padding: t, t[:, :, :2], (1,), [(1, 2)], None, None @ number grad => ref.conv
    conv_general_dilated: t, t[:, :, :2], (2,), ((1, 2),), (2,), (2,) ; \
                    m[None, None], x[None, None, :2, :3], (1, 2), 'SAME' @ number grad => ref.conv
    conv_general_dilated = lax.conv_general_dilated(m[None, :, :, None], x[:, :3, None, None], \
                    (1, 1), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC')) @ number grad \
                    => ref.conv(m[None, None], x[None, None, :, :3], (1, 1), 'VALID')[:, 0, :, :, None]
    conv_transpose: t, t.transpose(1, 2, 0)[:2], (2,), 'SAME' @ wide grad => -
    conv_general_dilated_patches: t, (2,), (1,), 'VALID' @ f32 grad => ref.patches
    conv_general_dilated_local = lax.conv_general_dilated_local(t, jnp.arange(18.).reshape(1, 6, 3), \
                    (1,), 'VALID', (2,)) @ f32 grad => -
    conv_shape_tuple: (2, 3, 9), (4, 3, 3), (2,), [(1, 1)] @ none nojit => -
    conv_general_shape_tuple: (2, 3, 9), (4, 3, 3), (2,), 'SAME', ('NCH', 'OIH', 'NCH') @ none nojit => -
    conv_transpose_shape_tuple: (2, 3, 9), (4, 3, 3), (2,), 'SAME', ('NCH', 'IOH', 'NCH') @ none nojit => -
    conv_dimension_numbers = str(lax.conv_dimension_numbers((2, 3, 9), (4, 3, 3), ('NCH', 'OIH', 'NHC'))) \
                    @ none nojit => -
    conv_general_permutations: ('NCH', 'OIH', 'NHC') @ none => -
    DotDimensionNumbers: (((1,), (0,)), ((), ())) @ none nojit => -
    padtype_to_pads: (9,), (3,), (2,), 'SAME' ; (9,), (3,), (2,), 'VALID' @ none => -
    reduce_window_shape_tuple: (9, 4), (3, 2), (2, 1), [(1, 0), (0, 0)] @ none => -
""")  # fmt: skip
