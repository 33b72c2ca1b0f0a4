"""Special functions: gamma and its relatives, error functions, Bessel functions, zeta, beta.

In: floating numbers of one dtype. Out: the same dtype.
Invariant: values come from `special_values`; derivatives here are written with other primitives.
"""

from __future__ import annotations

import math

from jitney.base import dtypes
from jitney.core.avals import get_aval
from jitney.lax import compare
from jitney.lax import special_values as values
from jitney.lax.arithmetic import add, mul, neg, reciprocal, square, sub
from jitney.lax.complex_parts import abs, sign
from jitney.lax.elementwise_unary import exp, log, log1p
from jitney.lax.nary import FLOATING, binary, constant, filled, nary, unary
from jitney.lax.select import select
from jitney.transforms.jvp import define_jvp_each, define_jvp_from_answer

# --- gamma functions of one variable -----------------------------------------------------------


def lgamma(x):
    """log |Γ(x)|."""
    return lgamma_p.bind(x)


lgamma_p = unary("lgamma", FLOATING, values.lgamma)
define_jvp_each(lgamma_p, lambda t, x: mul(t, digamma(x)))


def digamma(x):
    """The derivative of log Γ; NaN at the poles."""
    return digamma_p.bind(x)


digamma_p = unary("digamma", FLOATING, values.digamma)
define_jvp_each(digamma_p, lambda t, x: mul(t, polygamma(constant(x, 1), x)))


def polygamma(m, x):
    """The m-th derivative of digamma."""
    return polygamma_p.bind(m, x)


def _no_derivative(function: str, argument: str):
    def rule(*args):
        raise ValueError(f"{function} gradient with respect to {argument} is not supported. Hold "
                         "it fixed with lax.stop_gradient.")

    return rule


polygamma_p = binary("polygamma", FLOATING, values.polygamma)
define_jvp_each(polygamma_p, _no_derivative("polygamma", "m"),
                lambda t, m, x: mul(t, polygamma(add(m, constant(m, 1)), x)))


def zeta(x, q):
    """The Hurwitz zeta function Σ (k + q)⁻ˣ."""
    return zeta_p.bind(x, q)


zeta_p = binary("zeta", FLOATING, values.zeta)
define_jvp_each(zeta_p, _no_derivative("zeta", "x"),                  # dζ/dq = -x ζ(x+1, q)
                lambda t, x, q: mul(t, mul(neg(x), zeta(add(x, constant(x, 1)), q))))

# --- incomplete gamma functions ----------------------------------------------------------------


def igamma(a, x):
    """The regularised lower incomplete gamma function P(a, x)."""
    return igamma_p.bind(a, x)


def igammac(a, x):
    """The regularised upper incomplete gamma function 1 - P(a, x)."""
    return igammac_p.bind(a, x)


def igamma_grad_a(a, x):
    """∂P(a, x)/∂a."""
    return igamma_grad_a_p.bind(a, x)


def _gamma_density(a, x):
    """∂P(a, x)/∂x = exp(-x + (a-1) log x - log Γ(a))."""
    return exp(sub(add(neg(x), mul(sub(a, filled(a, 1)), log(x))), lgamma(a)))


igamma_p = binary("igamma", FLOATING, values.igamma)
igammac_p = binary("igammac", FLOATING, values.igammac)
igamma_grad_a_p = binary("igamma_grad_a", FLOATING, values.igamma_grad_a)
define_jvp_each(igamma_p, lambda t, a, x: mul(t, igamma_grad_a(a, x)),
                lambda t, a, x: mul(t, _gamma_density(a, x)))
define_jvp_each(igammac_p, lambda t, a, x: neg(mul(t, igamma_grad_a(a, x))),
                lambda t, a, x: neg(mul(t, _gamma_density(a, x))))
# ∂²P/∂x∂a = density · (log x - ψ(a)); there is no closed form for ∂²P/∂a².
define_jvp_each(igamma_grad_a_p, _no_derivative("igamma_grad_a", "a"),
                lambda t, a, x: mul(t, mul(_gamma_density(a, x), sub(log(x), digamma(a)))))


def random_gamma_grad(a, x):
    """The derivative of a gamma-distributed sample x with respect to its parameter a."""
    return random_gamma_grad_p.bind(a, x)


random_gamma_grad_p = binary("random_gamma_grad", FLOATING, values.random_gamma_grad)
define_jvp_each(random_gamma_grad_p, _no_derivative("random_gamma_grad", "a"),
                _no_derivative("random_gamma_grad", "x"))

# --- incomplete beta function ------------------------------------------------------------------


def betainc(a, b, x):
    """The regularised incomplete beta function I(a, b; x)."""
    return regularized_incomplete_beta_p.bind(a, b, x)


regularized_incomplete_beta_p = nary("regularized_incomplete_beta",
                                     (FLOATING, FLOATING, FLOATING), values.betainc)


def _betainc_jvp_x(t, a, b, x):
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    logs = add(mul(sub(b, constant(b, 1)), log1p(neg(x))), mul(sub(a, constant(a, 1)), log(x)))
    return mul(exp(sub(logs, log_beta)), t)


def _betainc_no_derivative(t, a, b, x):
    raise ValueError("Betainc gradient with respect to a and b not supported. Hold them fixed with "
                     "lax.stop_gradient.")


define_jvp_each(regularized_incomplete_beta_p, _betainc_no_derivative, _betainc_no_derivative,
                _betainc_jvp_x)

# --- error functions -------------------------------------------------------------------------


def erf(x):
    """The error function."""
    return erf_p.bind(x)


erf_p = unary("erf", FLOATING, values.erf)
_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)
define_jvp_each(erf_p, lambda t, x: mul(constant(x, _TWO_OVER_ROOT_PI),
                                        mul(t, exp(neg(square(x))))))


def erfc(x):
    """1 - erf(x), accurate for large x."""
    return erfc_p.bind(x)


erfc_p = unary("erfc", FLOATING, values.erfc)
define_jvp_each(erfc_p, lambda t, x: mul(constant(x, -_TWO_OVER_ROOT_PI),
                                         mul(t, exp(neg(square(x))))))


def erf_inv(x):
    """The inverse of erf."""
    return erf_inv_p.bind(x)


def published_erf_inv(x):
    """`erf_inv` by the formula of M. Giles (2012) as published, which normal random numbers are
    made of: they are to be JAX's. Up to 60 ulp off near +-1, where `erf_inv` is not."""
    return erf_inv_p.bind(x, published=True)


erf_inv_p = unary("erf_inv", FLOATING, lambda x, **_: values.erf_inv(x))
erf_inv_p.def_print(lambda params, eqn: {})
define_jvp_from_answer(erf_inv_p, lambda t, ans, x, **_: mul(constant(x, math.sqrt(math.pi) / 2),
                                                             mul(t, exp(square(ans)))))

# --- Bessel functions ------------------------------------------------------------------------


def bessel_i0e(x):
    """e^-|x| I₀(x), the exponentially scaled modified Bessel function of order 0."""
    return bessel_i0e_p.bind(x)


bessel_i0e_p = unary("bessel_i0e", FLOATING, values.bessel_i0e)
define_jvp_from_answer(bessel_i0e_p,
                       lambda t, ans, x: mul(t, sub(bessel_i1e(x), mul(sign(x), ans))))


def bessel_i1e(x):
    """e^-|x| I₁(x), the exponentially scaled modified Bessel function of order 1."""
    return bessel_i1e_p.bind(x)


bessel_i1e_p = unary("bessel_i1e", FLOATING, values.bessel_i1e)


def _bessel_i1e_jvp(t, ans, x):
    # I₁(x)/x is ½ at 0, where the formula divides 0 by 0.
    epsilon = float(dtypes.finfo(get_aval(x).dtype).eps)
    away = compare.gt(abs(x), constant(x, epsilon))
    safe = select(away, x, filled(x, epsilon))
    slope = sub(bessel_i0e(safe), mul(ans, add(sign(safe), reciprocal(safe))))
    return mul(t, select(away, slope, filled(x, 0.5)))


define_jvp_from_answer(bessel_i1e_p, _bessel_i1e_jvp)

__all__ = [
    "bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p", "betainc", "digamma", "digamma_p",
    "erf", "erf_inv", "erf_inv_p", "erf_p", "erfc", "erfc_p", "igamma", "igamma_grad_a",
    "igamma_grad_a_p", "igamma_p", "igammac", "igammac_p", "lgamma", "lgamma_p", "polygamma",
    "polygamma_p", "random_gamma_grad", "random_gamma_grad_p", "regularized_incomplete_beta_p",
    "zeta", "zeta_p",
]
