"""`scipy.special`, `scipy.stats` and its distributions."""

from rows import Row, table

SPECIAL = table("jax.scipy.special", "jsp.special", "sp.special", """
    bernoulli:      6 @ none
    bessel_jn     = jsp.special.bessel_jn(a, v=2)[2] @ f32 nojax tol=1e-3 => sp.special.jn(2, a)
    beta:           p, a @ f32 grad tol=1e-4
    betainc:        p, a, c @ f32 tol=1e-4
    betaln:         p, a @ float grad tol=1e-4
    boxcox:         p, 0.3 ; p, c @ f32 grad tol=1e-4
    boxcox1p:       p, 0.3 ; p, 0. @ f32 tol=1e-4
    comb:           n, 2 ; a, p ; n, 2, repetition=True @ f32 tol=1e-4 => ref.comb
    dawsn:          x @ f32 grad tol=1e-4
    digamma:        p ; a @ float grad tol=1e-4
    entr:           p ; z @ float
    erf:            x ; z @ float grad
    erfc:           x ; z @ float grad
    erfcx:          x ; p @ f32 grad tol=1e-4
    erfinv:         u @ float grad
    exp1:           p @ f32 grad tol=1e-4
    expi:           p @ f32 grad tol=1e-4
    expit:          x ; z @ float grad
    expn:           2, p ; n % 4 + 1, p @ f32 tol=1e-4
    factorial:      n ; p @ f32 tol=1e-4
    fresnel:        p ; x @ f32 tol=1e-4
    gamma:          p ; x @ float grad tol=1e-4
    gammainc:       p, a @ f32 tol=1e-4
    gammaincc:      p, a @ f32 tol=1e-4
    gammaln:        p ; a @ float grad tol=1e-4
    gammasgn:       x ; p @ f32
    hyp1f1:         c, a, u @ f32 tol=1e-3
    hyp2f1:         c, p, a, u * 0.5 @ f32 tol=1e-3
    i0:             x @ f32 grad tol=1e-4
    i0e:            x @ float grad
    i1:             x @ f32 grad tol=1e-4
    i1e:            x @ float grad
    kl_div:         p, a @ float grad tol=1e-4
    log_ndtr:       x ; x * 3 @ f32 grad tol=1e-4
    log_softmax:    x ; x, axis=0 @ float grad
    loggamma:       p @ f32 grad tol=1e-4
    logit:          c @ float grad tol=1e-4
    logsumexp:      x ; x, axis=1 ; x, (0, 1), p, True @ float grad
    logsumexp     = jsp.special.logsumexp(x, b=y, return_sign=True) @ f32 tol=1e-4 => itself
    multigammaln:   a + 2, 3 @ f32 grad tol=1e-4
    ndtr:           x ; z @ f32 grad
    ndtri:          c @ f32 grad tol=1e-4
    owens_t:        x, p @ f32 grad tol=1e-4
    poch:           p, a @ f32 tol=1e-3
    polygamma:      2, p ; n % 3, a @ f32 tol=1e-3
    rel_entr:       p, a @ float grad tol=1e-4
    sici:           p ; a @ f32 tol=1e-4
    softmax:        x ; x, axis=0 @ float grad
    spence:         p @ f32 tol=1e-4
    sph_harm_y    = jsp.special.sph_harm_y(n.ravel()[:5] + 3, i, k, v[:5], n_max=11) @ f32 novmap tol=1e-3 \
                    => sp.special.sph_harm_y(n.ravel()[:5] + 3, i, k, v[:5])
    wofz:           x + 1j * p @ f32 tol=1e-4
    xlog1py:        x, p ; 0, z @ float
    xlog1py:        x, p @ f32 grad
    xlogy:          x, p ; 0, z @ float
    xlogy:          x, p @ f32 grad
    zeta:           a, p @ f32 tol=1e-4
""")  # fmt: skip

STATS = table("jax.scipy.stats", "jsp.stats", "sp.stats", """
    mode          = tuple(jsp.stats.mode(n % 3)) ; tuple(jsp.stats.mode(n % 3, axis=1, keepdims=True)) \
                    @ none => itself
    rankdata:       v ; n, method='min' ; n, axis=1, method='dense' @ f32
    sem:            x ; x, axis=1, ddof=0 ; x, axis=None @ f32 grad tol=1e-4
""")  # fmt: skip

# name: arguments after x, functions
_DISTRIBUTIONS = """
    norm        x     y, p  ; 0.5, 2.   cdf isf:c logcdf logpdf logsf pdf ppf:c sf
    cauchy      x     y, p              cdf isf:c logcdf logpdf logsf pdf ppf:c sf
    expon       p     -1., a             cdf logcdf logpdf logsf pdf ppf:c sf
    gumbel_l    x     y, p              cdf logcdf logpdf logsf pdf ppf:c sf
    gumbel_r    x     y, p              cdf logcdf logpdf logsf pdf ppf:c sf
    laplace     x     y, p              cdf logpdf pdf
    logistic    x     y, p              cdf isf:c logpdf pdf ppf:c sf
    pareto      a     p + 1             cdf logcdf logpdf logsf pdf ppf:c sf
    uniform     c     -1.5, p + 3       cdf logpdf pdf ppf:c
    beta        c     p, a              cdf logcdf logpdf logsf pdf sf
    gamma       p     a                 cdf logcdf logpdf logsf pdf sf
    chi2        p     a                 cdf logcdf logpdf logsf pdf sf
    t           x     a                 logpdf pdf
    truncnorm   u     -1.5, p + 1       cdf logcdf logpdf logsf pdf sf
    gennorm     x     a                 cdf logpdf pdf
    vonmises    u     p                 logpdf pdf
    wrapcauchy  p     c                 logpdf pdf
    bernoulli   n%2   c                 cdf logpmf pmf ppf:c
    betabinom   n     9, p, a           logpmf pmf
    binom       n     9, c              logpmf pmf
    geom        n+1   c                 logpmf pmf
    nbinom      n     3, c              logpmf pmf
    poisson     n     p                 cdf logpmf pmf
"""
_NO_DERIVATIVE = {"bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson", "beta", "gamma",
                  "chi2", "truncnorm", "uniform", "gennorm", "vonmises"}  # fmt: skip


def _distribution(line: str) -> list[Row]:
    name, where, rest = line.split(None, 2)
    arguments, functions = rest.rsplit("  ", 1)
    options = "f32 tol=2e-4" + ("" if name in _NO_DERIVATIVE else " grad")
    text = ""
    for function in functions.split():
        function, _, other = function.partition(":")
        calls = " ; ".join(f"{other or where}, {a.strip()}" for a in arguments.split(" ; "))
        text += f"{function}: {calls} @ {options}\n"
    return table(f"jax.scipy.stats.{name}", f"jsp.stats.{name}", f"sp.stats.{name}", text)


DISTRIBUTIONS = [row for line in _DISTRIBUTIONS.strip().splitlines() for row in _distribution(line)]
DISTRIBUTIONS += table("jax.scipy.stats.dirichlet", "jsp.stats.dirichlet", "sp.stats.dirichlet", """
    logpdf:         c[0] / c[0].sum(), p[0] @ f32 tol=1e-4
    pdf:            c[0] / c[0].sum(), p[0] @ f32 tol=1e-4
""") + table("jax.scipy.stats.multinomial", "jsp.stats.multinomial", "sp.stats.multinomial", """
    logpmf:         n[0], n[0].sum(), c[0] / c[0].sum() @ f32 tol=1e-4
    pmf:            n[0], n[0].sum(), c[0] / c[0].sum() @ f32 tol=1e-4
""") + table("jax.scipy.stats.multivariate_normal", "jsp.stats.multivariate_normal",
             "sp.stats.multivariate_normal", """
    logpdf:         w, v[:4], h ; x, w, h @ f32 grad tol=1e-4
    pdf:            w / 9, w / 9, h @ f32 grad tol=1e-4
""") + table("jax.scipy.stats.poisson", "jsp.stats.poisson", "sp.stats.poisson", """
    entropy:        p * 3 @ f32 tol=1e-3
""")  # fmt: skip

ROWS = SPECIAL + STATS + DISTRIBUTIONS
