"""Error functions: erf and its relatives, the normal distribution, Dawson, Faddeeva, Fresnel.

In: numbers that become floating. Out: floating (for wofz complex) arrays.
Rational approximations with a table are those of Moshier's Cephes library (1984-1992).
Invariant: tails are computed in their own form, never as 1 minus something near 1.
"""

from __future__ import annotations

import math

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.custom_derivatives import custom_jvp
from jitney.base import dtypes
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special.horner import polynomial

_ROOT_HALF, _ROOT_PI = math.sqrt(0.5), math.sqrt(math.pi)


@inlined
def erf(x):
    """The error function."""
    (x,) = promote_args_inexact("erf", x)
    return lax.erf(x)


@inlined
def erfc(x):
    """1 - erf(x)."""
    (x,) = promote_args_inexact("erfc", x)
    return lax.erfc(x)


@inlined
def erfinv(x):
    """The inverse of erf."""
    (x,) = promote_args_inexact("erfinv", x)
    return lax.erf_inv(x)


# --- normal distribution -----------------------------------------------------------------------


def _wide_only(x):
    x = jnp.asarray(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={x.dtype} is not supported, see docstring for supported types.")
    return x


@inlined
def ndtr(x):
    """The distribution function of the standard normal distribution."""
    return _ndtr(_wide_only(x))


def _ndtr(x):
    edge = x.dtype.type(_ROOT_HALF)
    w = x * edge
    z = lax.abs(w)
    value = lax.select(z < edge, 1 + lax.erf(w),
                       lax.select(w > 0, 2 - lax.erfc(z), lax.erfc(z)))
    return 0.5 * value


_NDTRI_MIDDLE = (
    (-59.96335010141079, 98.00107541859997, -56.67628574690703, 13.931260938727968,
     -1.2391658386738125),
    (1.0, 1.9544885833814176, 4.676279128988815, 86.36024213908905, -225.46268785411937,
     200.26021238006066, -82.03722561683334, 15.90562251262117, -1.1833162112133))
_NDTRI_NEAR = (
    (4.0554489230596245, 31.525109459989388, 57.16281922464213, 44.08050738932008,
     14.684956192885803, 2.1866330685079025, -0.1402560791713545, -0.03504246268278482,
     -0.0008574567851546854),
    (1.0, 15.779988325646675, 45.39076351288792, 41.3172038254672, 15.04253856929075,
     2.504649462083094, -0.14218292285478779, -0.03808064076915783, -0.0009332594808954574))
_NDTRI_FAR = (
    (3.2377489177694603, 6.915228890689842, 3.9388102529247444, 1.3330346081580755,
     0.20148538954917908, 0.012371663481782003, 0.00030158155350823543, 2.6580697468673755e-06,
     6.239745391849833e-09),
    (1.0, 6.02427039364742, 3.6798356385616087, 1.3770209948908132, 0.21623699359449663,
     0.013420400608854318, 0.00032801446468212774, 2.8924786474538068e-06, 6.790194080099813e-09))


@inlined
def ndtri(p):
    """The inverse of ndtr."""
    return _ndtri(_wide_only(p))


def _ndtri(p):
    upper = p > 1 - math.exp(-2)
    q = jnp.where(upper, 1 - p, p)
    q = jnp.where(q == 0, 0.5, q)
    w = q - 0.5
    square = lax.square(w)
    middle = w + w * square * _ratio(_NDTRI_MIDDLE, square)
    middle = middle * -math.sqrt(2 * math.pi)
    z = lax.sqrt(-2 * lax.log(q))
    first, inverse = z - lax.log(z) / z, 1 / z
    near = first - _ratio(_NDTRI_NEAR, inverse) / z
    far = first - _ratio(_NDTRI_FAR, inverse) / z
    x = jnp.where(q > math.exp(-2), middle, jnp.where(z >= 8, far, near))
    x = jnp.where(upper, x, -x)
    ends = jnp.where(p == 1, np.inf, x)
    return jnp.where(p == 0, -np.inf, ends)


def _ratio(tables, x):
    return polynomial(tables[0], x) / polynomial(tables[1], x)


_LOWER_EDGE = {np.dtype(np.float32): -10.0, np.dtype(np.float64): -20.0}
_UPPER_EDGE = {np.dtype(np.float32): 5.0, np.dtype(np.float64): 8.0}


def log_ndtr(x, series_order=3):
    """log ndtr(x), by an asymptotic series far below zero."""
    if series_order < 0:
        raise ValueError("series_order must be non-negative.")
    if series_order > 30:
        raise ValueError("series_order must be <= 30.")
    return _log_ndtr(x, series_order)


@inlined(static_argnums=1)
def _log_ndtr_body(x, series_order):
    x = _wide_only(x)
    low, high = _LOWER_EDGE[x.dtype], _UPPER_EDGE[x.dtype]
    above = x > high
    usual = _ndtr(jnp.where(above, -x, jnp.maximum(x, low)))
    tail = jnp.minimum(x, low)
    log_tail = -0.5 * lax.square(tail) - lax.log(-tail) - 0.5 * math.log(2 * math.pi)
    log_tail = log_tail + lax.log(_tail_series(tail, series_order))
    return jnp.where(above, -usual, jnp.where(x > low, lax.log(usual), log_tail))


def _tail_series(x, order):
    """1 - 1/x² + 3/x⁴ - 15/x⁶ …"""
    if order <= 0:
        return jnp.ones_like(x)
    square = lax.square(x)
    power, odd, even = square, jnp.zeros_like(x), jnp.zeros_like(x)
    for n in range(1, order + 1):
        term = float(math.prod(range(2 * n - 1, 1, -2))) / power
        odd, even = (odd + term, even) if n % 2 else (odd, even + term)
        power = power * square
    return 1 + even - odd


_log_ndtr = custom_jvp(_log_ndtr_body, nondiff_argnums=(1,))
_log_ndtr.__name__ = "log_ndtr"


@_log_ndtr.defjvp
def _log_ndtr_jvp(series_order, primals, tangents):
    (x,), (t,) = primals, tangents
    out = _log_ndtr(x, series_order)
    log_density = -0.5 * lax.square(x) - 0.5 * math.log(2 * math.pi)
    return out, t * jnp.exp(log_density - out)


# --- scaled and imaginary error functions --------------------------------------------------------


def _with_slope(function, slope):
    """`function` with a derivative `slope(x, answer)`."""
    function = custom_jvp(function)
    function.defjvps(lambda t, answer, x: t * slope(x, answer))
    return function


_ERFCX_EDGE = {np.dtype(np.float32): 9.41928, np.dtype(np.float64): 26.54}


def _erfcx_body(x):
    x = jnp.asarray(x)
    edge = _ERFCX_EDGE.get(x.dtype, 9.0)
    far = x > edge
    near = jnp.where(far, jnp.ones_like(x), x)
    direct = lax.exp(lax.square(near)) * lax.erfc(near)
    series = [math.prod(range(2 * k - 1, 1, -2)) / (-2.0) ** k for k in range(9)]
    count = 5 if x.dtype == np.float32 else 9
    asymptotic = polynomial(series[count - 1::-1], 1 / lax.square(x)) / (x * _ROOT_PI)
    return jnp.where(far, asymptotic, direct)


_erfcx = _with_slope(_erfcx_body, lambda x, answer: 2 * x * answer - 2 / _ROOT_PI)


@inlined
def erfcx(x):
    """exp(x²) erfc(x)."""
    (x,) = promote_args_inexact("erfcx", x)
    return _erfcx(jnp.asarray(x))


_DAWSON_NEAR = (
    (1.13681498971755972054e-11, 8.49262267667473811108e-10, 1.94434204175553054283e-8,
     9.53151741254484363489e-7, 3.07828309874913200438e-6, 3.52513368520288738649e-4,
     -8.50149846724410912031e-4, 4.22618223005546594270e-2, -9.17480371773452345351e-2,
     9.99999999999999994612e-1),
    (2.40372073066762605484e-11, 1.48864681368493396752e-9, 5.21265281010541664570e-8,
     1.27258478273186970203e-6, 2.32490249820789513991e-5, 3.25524741826057911661e-4,
     3.48805814657162590916e-3, 2.79448531198828973716e-2, 1.58874241960120565368e-1,
     5.74918629489320327824e-1, 1.00000000000000000539e0))
_DAWSON_MIDDLE = (
    (5.08955156417900903354e-1, -2.44754418142697847934e-1, 9.41512335303534411857e-2,
     -2.18711255142039025206e-2, 3.66207612329569181322e-3, -4.23209114460388756528e-4,
     3.59641304793896631888e-5, -2.14640351719968974225e-6, 9.10010780076391431042e-8,
     -2.40274520828250956942e-9, 3.59233385440928410398e-11),
    (1.0, -6.31839869873368190192e-1, 2.36706788228248691528e-1, -5.31806367003223277662e-2,
     8.48041718586295374409e-3, -9.47996768486665330168e-4, 7.81025592944552338085e-5,
     -4.55875153252442634831e-6, 1.89100358111421846170e-7, -4.91324691331920606875e-9,
     7.18466403235734541950e-11))
_DAWSON_FAR = (
    (-5.90592860534773254987e-1, 6.29235242724368800674e-1, -1.72858975380388136411e-1,
     1.64837047825189632310e-2, -4.86827613020462700845e-4),
    (1.0, -2.69820057197544900361e0, 1.73270799045947845857e0, -3.93708582281939493482e-1,
     3.44278924041233391079e-2, -9.73655226040941223894e-4))


def _dawsn_body(x):
    size = lax.abs(x)
    square = lax.square(size)
    near, middle = size < 3.25, size < 6.25
    small = jnp.where(near, square, jnp.ones_like(x))
    inverse = jnp.where(near, jnp.ones_like(x), 1 / square)
    inner = size * _ratio(_DAWSON_NEAR, small)
    half = 0.5 / jnp.where(near, jnp.ones_like(x), size)
    between = half * (1 + inverse * _ratio(_DAWSON_MIDDLE, inverse))
    outer = half * (1 + inverse * _ratio(_DAWSON_FAR, inverse))
    return lax.sign(x) * jnp.where(near, inner, jnp.where(middle, between, outer))


_dawsn = _with_slope(_dawsn_body, lambda x, answer: 1 - 2 * x * answer)


@inlined
def dawsn(x):
    """exp(-x²) ∫₀ˣ exp(t²) dt."""
    (x,) = promote_args_inexact("dawsn", x)
    return _dawsn(jnp.asarray(x))


# --- the Faddeeva function -----------------------------------------------------------------------


def _weideman(terms: int) -> tuple[float, list[float]]:
    """Scale and coefficients (highest first) of Weideman's rational expansion (1994)."""
    count = 2 * terms
    scale = math.sqrt(terms / math.sqrt(2))
    theta = np.arange(-count + 1, count) * math.pi / count
    t = scale * np.tan(theta / 2)
    f = np.concatenate([[0.0], np.exp(-t * t) * (scale * scale + t * t)])
    a = np.real(np.fft.fft(np.fft.fftshift(f))) / (2 * count)
    return scale, a[1:terms + 1][::-1].tolist()


_SCALE, _COEFFICIENTS = _weideman(32)


def _wofz_body(z):
    upper = lax.imag(z) >= 0
    w = jnp.where(upper, z, -z)
    turned = lax.complex(-lax.imag(w), lax.real(w))                       # i w
    below = _SCALE - turned
    ratio = polynomial(_COEFFICIENTS, (_SCALE + turned) / below)
    inside = 2 * ratio / (below * below) + (1 / _ROOT_PI) / below
    return jnp.where(upper, inside, 2 * jnp.exp(-(z * z)) - inside)


_wofz = _with_slope(_wofz_body, lambda z, answer: -2 * z * answer + 2j / _ROOT_PI)


@inlined
def wofz(z):
    """exp(-z²) erfc(-iz)."""
    (z,) = promote_args_inexact("wofz", z)
    z = jnp.asarray(z)
    wide = np.complex128 if z.dtype in (np.float64, np.complex128) else np.complex64
    return _wofz(z.astype(wide))


# --- Fresnel integrals ---------------------------------------------------------------------------

_FRESNEL_S = (
    (-2.99181919401019853726e3, 7.08840045257738576863e5, -6.29741486205862506537e7,
     2.54890880573376359104e9, -4.42979518059697779103e10, 3.18016297876567817986e11),
    (1.0, 2.81376268889994315696e2, 4.55847810806532581675e4, 5.17343888770096400730e6,
     4.19320245898111231129e8, 2.24411795645340920940e10, 6.07366389490084639049e11))
_FRESNEL_C = (
    (-4.98843114573573548651e-8, 9.50428062829859605134e-6, -6.45191435683965050962e-4,
     1.88843319396703850064e-2, -2.05525900955013891793e-1, 9.99999999999999998822e-1),
    (3.99982968972495980367e-12, 9.15439215774657478799e-10, 1.25001862479598821474e-7,
     1.22262789024179030997e-5, 8.68029542941784300606e-4, 4.12142090722199792936e-2,
     1.00000000000000000118e0))
_FRESNEL_F = (
    (4.21543555043677546506e-1, 1.43407919780758885261e-1, 1.15220955073585758835e-2,
     3.45017939782574027900e-4, 4.63613749287867322088e-6, 3.05568983790257605827e-8,
     1.02304514164907233465e-10, 1.72010743268161828879e-13, 1.34283276233062758925e-16,
     3.76329711269987889006e-20),
    (1.0, 7.51586398353378947175e-1, 1.16888925859191382142e-1, 6.44051526508858611005e-3,
     1.55934409164153020873e-4, 1.84627567348930545870e-6, 1.12699224763999035261e-8,
     3.60140029589371370404e-11, 5.88754533621578410010e-14, 4.52001434074129701496e-17,
     1.25443237090011264384e-20))
_FRESNEL_G = (
    (5.04442073643383265887e-1, 1.97102833525523411709e-1, 1.87648584092575249293e-2,
     6.84079380915393090172e-4, 1.15138826111884280931e-5, 9.82852443688422223854e-8,
     4.45344415861750144738e-10, 1.08268041139020870318e-12, 1.37555460633261799868e-15,
     8.36354435630677421531e-19, 1.86958710162783235106e-22),
    (1.0, 1.47495759925128324529e0, 3.37748989120019970451e-1, 2.53603741420338795122e-2,
     8.14679107184306179049e-4, 1.27545075667729118702e-5, 1.04314589657571990585e-7,
     4.60680728146520428211e-10, 1.10273215066240270757e-12, 1.38796531259578871258e-15,
     8.39158816283118707363e-19, 1.86958710162783236342e-22))


def _half_turns(x):
    """(sin, cos) of π x² / 2, the angle reduced before it is squared."""
    size = lax.abs(x)
    rest = lax.rem(size, jnp.full_like(size, 2))
    angle = lax.rem(rest * (size - rest / 2), jnp.full_like(size, 2))     # x²/2 modulo 2
    return jnp.sin(math.pi * angle), jnp.cos(math.pi * angle)


def _fresnel_body(x):
    size = lax.abs(x)
    square = size * size
    fourth = square * square
    small = square < 2.5625
    inner = jnp.where(small, fourth, jnp.ones_like(x))
    s_near = size * square * _ratio(_FRESNEL_S, inner)
    c_near = size * _ratio(_FRESNEL_C, inner)
    sine, cosine = _half_turns(jnp.where(lax.is_finite(size), size, jnp.ones_like(x)))
    t = math.pi * square
    u = 1 / (t * t)
    f, g = 1 - u * _ratio(_FRESNEL_F, u), _ratio(_FRESNEL_G, u) / t
    s_far = 0.5 - (f * cosine + g * sine) / (math.pi * size)
    c_far = 0.5 + (f * sine - g * cosine) / (math.pi * size)
    huge = size > 36974.0
    results = []
    for near, far in ((s_near, s_far), (c_near, c_far)):
        value = jnp.where(small, near, jnp.where(huge, 0.5, far))
        results.append(jnp.where(x < 0, -value, value))
    return tuple(results)


_fresnel = custom_jvp(_fresnel_body)


@_fresnel.defjvp
def _fresnel_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    angle = 0.5 * math.pi * x * x
    return _fresnel(x), (t * jnp.sin(angle), t * jnp.cos(angle))


@inlined
def fresnel(x):
    """(S, C): ∫₀ˣ sin(πt²/2) dt and ∫₀ˣ cos(πt²/2) dt."""
    (x,) = promote_args_inexact("fresnel", x)
    x = jnp.asarray(x)
    if dtypes.is_complex(x.dtype):
        raise NotImplementedError("Support for complex-valued inputs not yet implemented.")
    return _fresnel(x)


# --- Owen's T ------------------------------------------------------------------------------------

_NODES, _WEIGHTS = (a[13:] for a in np.polynomial.legendre.leggauss(26))


def _owens_t_body(h, a):
    """Patefield and Tandy (2000): a 13-point rule after |a| is brought below 1."""
    h, a = jnp.asarray(h), jnp.asarray(a)
    h_size, a_size = lax.abs(h), lax.abs(a)
    outside = a_size > 1
    inner_a = jnp.where(outside, 1 / a_size, a_size)
    inner_h = jnp.where(outside, a_size * h_size, h_size)
    squares = (_NODES ** 2).astype(h.dtype)
    r = inner_a[..., None] ** 2 * squares
    terms = jnp.exp(-0.5 * inner_h[..., None] ** 2 * (1 + r)) / (1 + r)
    total = inner_a * jnp.sum(terms * (_WEIGHTS / (2 * math.pi)).astype(h.dtype), axis=-1)
    total = jnp.where(inner_h == 0, jnp.arctan(inner_a) / (2 * math.pi), total)
    z = inner_h / math.sqrt(2)
    total = jnp.where(inner_a == 1, 0.125 * lax.erfc(-z) * lax.erfc(z), total)
    z, az = h_size / math.sqrt(2), a_size * (h_size / math.sqrt(2))
    near = 0.25 - 0.25 * lax.erf(z) * lax.erf(az) - total
    p, q = lax.erfc(z), lax.erfc(az)
    far = 0.25 * (p + q - p * q) - total
    total = jnp.where(outside, jnp.where(a_size * h_size <= 0.67, near, far), total)
    return jnp.where((a != a) | (h != h), np.nan, lax.sign(a) * total)


_owens_t = custom_jvp(_owens_t_body)


@_owens_t.defjvp
def _owens_t_jvp(primals, tangents):
    (h, a), (dh, da) = primals, tangents
    by_h = -jnp.exp(-0.5 * h * h) * lax.erf(a * h * _ROOT_HALF) / (2 * math.sqrt(2 * math.pi))
    by_a = jnp.exp(-0.5 * (1 + a * a) * h * h) / (2 * math.pi * (1 + a * a))
    return _owens_t(h, a), by_h * dh + by_a * da


@inlined
def owens_t(h, a):
    """The probability of X > h and 0 < Y < aX, for independent standard normal X and Y."""
    h, a = promote_args_inexact("owens_t", h, a)
    h, a = jnp.broadcast_arrays(h, a)
    return _owens_t(h, a)


__all__ = [
    "dawsn", "erf", "erfc", "erfcx", "erfinv", "fresnel", "log_ndtr", "ndtr", "ndtri",
    "owens_t", "wofz",
]
