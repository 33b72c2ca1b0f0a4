"""Elementwise functions of `jax.numpy`."""

from rows import table

ROWS = table("jax.numpy", "jnp", "np", """
    abs:            x ; z @ any
    absolute:       x @ any
    fabs:           x ; z @ float grad
    negative:       x ; t @ number grad
    positive:       x @ number grad
    sign:           x ; z @ real
    signbit:        x ; z @ float
    square:         x ; z @ any grad
    reciprocal:     p ; y @ inexact grad
    sqrt:           p ; x ; z @ inexact same
    cbrt:           x ; z @ float grad
    exp:            x ; z @ inexact grad
    exp2:           x ; z / 8 @ inexact grad
    expm1:          x ; z @ inexact grad
    log:            p ; z @ inexact grad
    log2:           p ; z @ inexact grad
    log10:          p ; z @ inexact grad
    log1p:          p ; u ; z @ inexact grad
    sin:            x ; z @ inexact grad
    cos:            x ; z @ inexact grad
    tan:            u ; z @ inexact grad tol=1e-4
    arcsin:         u @ inexact grad
    arccos:         u @ inexact grad
    arctan:         x ; z @ inexact grad
    asin:           u @ float => np.arcsin
    acos:           u @ float => np.arccos
    atan:           x @ float => np.arctan
    sinh:           x ; z @ inexact grad
    cosh:           x ; z @ inexact grad
    tanh:           x ; z @ inexact grad
    arcsinh:        x ; z @ inexact grad
    arccosh:        a ; z @ inexact grad
    arctanh:        u @ inexact grad
    asinh:          x @ float => np.arcsinh
    acosh:          a @ float => np.arccosh
    atanh:          u @ float => np.arctanh
    sinc:           x ; s @ float grad
    i0:             x ; u @ float grad => sp.special.i0(...)
    deg2rad:        x @ float grad
    rad2deg:        x @ float grad
    radians:        x @ float grad
    degrees:        x @ float grad
    ceil:           x ; z @ float
    floor:          x ; z @ float
    trunc:          x ; z @ float
    rint:           x ; z ; x * 2 @ float
    round:          x ; x, 1 ; x * 10, -1 @ float tol=1e-3
    around:         x @ float
    conj:           x @ number grad
    conjugate:      x @ number
    real:           x @ any grad
    imag:           x @ any
    angle:          x ; z @ inexact
    isnan:          x ; z @ inexact
    isinf:          x ; z @ inexact
    isfinite:       x ; z @ inexact
    isneginf:       z @ float
    isposinf:       z @ float
    isreal:         x @ any
    iscomplex:      x @ any
    nan_to_num:     z ; x, nan=1, posinf=2 @ f32 same
    logical_not:    x ; z @ any
    bitwise_not:    x @ bits same
    bitwise_invert: x @ bits same => np.bitwise_not
    invert:         x @ bits same
    bitwise_count:  x @ bits same => np.bitwise_count
    spacing:        x ; z @ f32 same
    frexp:          x ; z @ f32 same
    modf:           x ; p @ f32 same
    add:            x, y ; x, w ; x, s ; z, z ; x, 2 @ any grad
    subtract:       x, y ; x, w ; z, z @ number grad
    multiply:       x, y ; x, w ; z, z ; 2, x @ any grad
    divide:         x, p ; x, 2 ; z, 2 @ number grad
    true_divide:    x, p @ number grad
    floor_divide:   x, p ; n, 3 @ real
    mod:            x, p ; n, 3 ; x, -p @ real same
    remainder:      x, p ; z, 2 @ real same
    fmod:           x, p ; z, 2 @ real same
    divmod:         x, p @ real same
    power:          p, y ; x, 3 ; p, 0.5 @ inexact grad tol=1e-4
    pow:            p, x ; x, 2 @ float grad tol=1e-4 => np.power
    float_power:    p, y ; n, 2 @ float grad tol=1e-4
    maximum:        x, y ; z, 1 @ any grad
    minimum:        x, y ; z, 1 @ any grad
    fmax:           x, y ; z, 1 @ real
    fmin:           x, y ; z, 1 @ real
    hypot:          x, y ; z, z[::-1] @ float grad
    arctan2:        x, y ; z, z[::-1] @ float grad
    atan2:          x, y @ float => np.arctan2
    copysign:       x, y ; z, z[::-1] @ float same
    nextafter:      x, y ; z, z[::-1] @ f32 same
    logaddexp:      x, y ; z, 1 @ float grad
    logaddexp2:     x, y ; z, 1 @ float grad
    heaviside:      x, y ; z, 0.5 @ float
    ldexp:          x, n @ f32 same
    equal:          x, y ; x, x ; z, z @ any
    not_equal:      x, y ; x, x ; z, z @ any
    less:           x, y ; z, z[::-1] @ real
    less_equal:     x, y ; z, z[::-1] @ real
    greater:        x, y ; z, z[::-1] @ real
    greater_equal:  x, y ; z, z[::-1] @ real
    isclose:        x, y ; x, x ; z, z, equal_nan=True @ number
    logical_and:    x, y ; z, z[::-1] @ any
    logical_or:     x, y @ any
    logical_xor:    x, y ; z, z[::-1] @ any
    bitwise_and:    x, y @ bits
    bitwise_or:     x, y @ bits
    bitwise_xor:    x, y @ bits
    left_shift:     x, p ; n, 2 @ int
    right_shift:    x, p ; n, 2 @ int
    bitwise_left_shift:  x, p @ int => np.left_shift
    bitwise_right_shift: x, p @ int => np.right_shift
    gcd:            x, y ; n, 6 @ int
    lcm:            x, y ; n, 6 @ int
    clip:           x, 0, 2 ; x, min=y ; x, -1, p @ real grad => ref.clip
    where:          b, x, y ; b, x, 0 ; b[0], w, 1 @ any grad
    astype:         x, 'int32' ; x, 'float32' ; x, 'complex64' ; x, bool @ real nojax \
                    => ref.astype
""")  # fmt: skip
