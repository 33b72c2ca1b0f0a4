"""Calls of `scipy.stats`: densities and cumulated ones."""

from .arrays import integers, normals, positive_definite, uniforms, value
from .catalogue import case, variant

COUNT = 100_000
LINE = normals(COUNT)
POSITIVE = uniforms(COUNT, low=0.1, high=9)
UNIT = uniforms(COUNT, low=0.01, high=0.99)

CASES = [
    *[
        case(f"{name}, 100000", f"scipy.stats.{name}", LINE)
        for name in ("norm.logpdf", "norm.cdf", "norm.logcdf")
    ],
    *[
        variant(f"{name}, 100000", f"scipy.stats.{name}", LINE)
        for name in ("cauchy.logpdf", "laplace.logpdf", "logistic.cdf", "gumbel_r.logpdf")
    ],
    case("norm.ppf, 100000", "scipy.stats.norm.ppf", UNIT),
    variant("expon.logpdf, 100000", "scipy.stats.expon.logpdf", POSITIVE),
    case("t.logpdf, 100000", "scipy.stats.t.logpdf", LINE, POSITIVE),
    case("gamma.logpdf, 100000", "scipy.stats.gamma.logpdf", POSITIVE, POSITIVE),
    case("gamma.cdf, 10000", "scipy.stats.gamma.cdf", uniforms(10000, low=0.1, high=9),
         value(2.5)),
    case("beta.logpdf, 100000", "scipy.stats.beta.logpdf", UNIT, POSITIVE, POSITIVE),
    variant("chi2.logpdf, 100000", "scipy.stats.chi2.logpdf", POSITIVE, POSITIVE),
    case("poisson.logpmf, 100000", "scipy.stats.poisson.logpmf", integers(COUNT, high=20),
         POSITIVE),
    variant("poisson.cdf, 10000", "scipy.stats.poisson.cdf", integers(10000, high=20), value(5.0)),
    case("binom.logpmf, 100000", "scipy.stats.binom.logpmf", integers(COUNT, high=20),
         value(20, "int32"), UNIT),
    variant("nbinom.logpmf, 100000", "scipy.stats.nbinom.logpmf", integers(COUNT, high=20),
            value(5, "int32"), UNIT),
    variant("bernoulli.logpmf, 100000", "scipy.stats.bernoulli.logpmf", integers(COUNT, high=2),
            UNIT),
    variant("geom.logpmf, 100000", "scipy.stats.geom.logpmf", integers(COUNT, low=1, high=20),
            UNIT),
    case("vonmises.logpdf, 100000", "scipy.stats.vonmises.logpdf", LINE, POSITIVE),
    variant("truncnorm.logpdf, 100000", "scipy.stats.truncnorm.logpdf",
            uniforms(COUNT, low=-0.9, high=1.9), value(-1.0), value(2.0)),
    case("multivariate_normal.logpdf, 10000 x 10", "scipy.stats.multivariate_normal.logpdf",
         normals(10000, 10), normals(10), positive_definite(10, 10)),
    variant("dirichlet.logpdf, 10", "scipy.stats.dirichlet.logpdf", value([0.1] * 10),
            uniforms(10, low=0.5, high=5)),
    case("gaussian_kde, 1000 at 1000", lambda scipy, x, q: scipy.stats.gaussian_kde(x)(q),
         normals(1000), normals(1000)),
    case("likelihood of a mixture, 100000 x 8",
         lambda jnp, nn, scipy, x, m: nn.logsumexp(scipy.stats.norm.logpdf(x[:, None], m), 1).sum(),
         LINE, normals(8)),
]  # fmt: skip
