"""Calls of `scipy.special`."""

from .arrays import MILLION, integers, normals, uniforms
from .catalogue import case, variant

COUNT = 100_000
FEW = 20_000
POSITIVE = uniforms(COUNT, low=0.1, high=10)
PROBABILITY = uniforms(COUNT, low=0.001, high=0.999)
LINE = normals(COUNT, scale=2)

_OF_ONE = [
    case(f"{name}, 100000", f"scipy.special.{name}", maker)
    for name, maker in {
        "gamma": POSITIVE, "expi": POSITIVE, "ndtri": PROBABILITY, "log_ndtr": LINE,
        "entr": PROBABILITY, "i0": LINE, "i1": LINE, "i1e": LINE,
    }.items()
] + [
    variant(f"{name}, 100000", f"scipy.special.{name}", maker)
    for name, maker in {
        "loggamma": POSITIVE, "exp1": POSITIVE, "ndtr": LINE, "erfcx": LINE, "dawsn": LINE,
        "logit": PROBABILITY, "expit": LINE, "sici": POSITIVE, "factorial": POSITIVE,
        "spence": POSITIVE, "fresnel": POSITIVE, "wofz": LINE,
    }.items()
] + [
    case("erf, 10^6", "scipy.special.erf", normals(MILLION)),
    variant("erfc, 10^6", "scipy.special.erfc", normals(MILLION)),
    case("erfinv, 10^6", "scipy.special.erfinv", uniforms(MILLION, low=-0.95, high=0.95)),
    case("gammaln, 10^6", "scipy.special.gammaln", uniforms(MILLION, low=0.1, high=10)),
    case("digamma, 10^6", "scipy.special.digamma", uniforms(MILLION, low=0.1, high=10)),
    variant("i0e, 10^6", "scipy.special.i0e", normals(MILLION, scale=5)),
]  # fmt: skip

_OF_SEVERAL = [
    case("betainc, 20000", "scipy.special.betainc", uniforms(FEW, low=0.1, high=5),
         uniforms(FEW, low=0.1, high=5), uniforms(FEW)),
    case("gammainc, 20000", "scipy.special.gammainc", uniforms(FEW, low=0.1, high=9),
         uniforms(FEW, low=0.1, high=9)),
    variant("gammaincc, 20000", "scipy.special.gammaincc", uniforms(FEW, low=0.1, high=9),
            uniforms(FEW, low=0.1, high=9)),
    case("zeta, 20000", "scipy.special.zeta", uniforms(FEW, low=1.1, high=6),
         uniforms(FEW, low=0.5, high=5)),
    case("polygamma of order 2, 20000", lambda scipy, x: scipy.special.polygamma(2, x),
         uniforms(FEW, low=0.5, high=9)),
    case("expn, 20000", "scipy.special.expn", integers(FEW, low=1, high=5),
         uniforms(FEW, low=0.1, high=9)),
    variant("beta, 100000", "scipy.special.beta", POSITIVE, POSITIVE),
    variant("betaln, 100000", "scipy.special.betaln", POSITIVE, POSITIVE),
    variant("comb, 100000", "scipy.special.comb", integers(COUNT, low=10, high=20),
            integers(COUNT, high=9)),
    variant("poch, 100000", "scipy.special.poch", POSITIVE, uniforms(COUNT, low=0.1, high=3)),
    case("xlogy, 10^6", "scipy.special.xlogy", uniforms(MILLION), uniforms(MILLION)),
    variant("xlog1py, 10^6", "scipy.special.xlog1py", uniforms(MILLION), uniforms(MILLION)),
    variant("rel_entr, 10^6", "scipy.special.rel_entr", uniforms(MILLION), uniforms(MILLION)),
    variant("kl_div, 10^6", "scipy.special.kl_div", uniforms(MILLION), uniforms(MILLION)),
    variant("boxcox, 100000", lambda scipy, x: scipy.special.boxcox(x, 0.3), POSITIVE),
    variant("multigammaln of 5, 100000", lambda scipy, x: scipy.special.multigammaln(x + 5, 5),
            POSITIVE),
    variant("owens_t, 20000", "scipy.special.owens_t", normals(FEW), normals(FEW)),
    case("hyp2f1, 2000", lambda scipy, a, z: scipy.special.hyp2f1(a, 1.5, 2.5, z),
         uniforms(2000, low=0.5, high=2), uniforms(2000, high=0.8)),
    variant("hyp1f1, 2000", lambda scipy, a, z: scipy.special.hyp1f1(a, 2.5, z),
            uniforms(2000, low=0.5, high=2), uniforms(2000, low=-3, high=3)),
    case("bessel_jn to order 4, 20000", lambda scipy, x: scipy.special.bessel_jn(x, v=4),
         uniforms(FEW, low=0.1, high=9), loose=1),
    case("sph_harm_y to degree 4, 2000",
         lambda jnp, scipy, theta, phi: scipy.special.sph_harm_y(
             jnp.full(2000, 3), jnp.full(2000, 2), theta, phi, n_max=4),
         uniforms(2000, high=3.14), uniforms(2000, high=6.28)),
]  # fmt: skip

CASES = [*_OF_ONE, *_OF_SEVERAL]
