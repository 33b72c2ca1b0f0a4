"""Calls of `random`: the bits and every common distribution."""

from .arrays import (
    MILLION,
    integers,
    key,
    normals,
    positive_definite,
    uniforms,
    value,
)
from .catalogue import case, variant

COUNT = 100_000
SHAPE = uniforms(COUNT, low=0.5, high=5)
FEW = uniforms(20000)

_PLAIN = [
    case(f"{name}, 10^6", f"random.{name}", key, shape=(MILLION,))
    for name in ("normal", "uniform", "bits", "exponential", "rademacher")
] + [
    case(f"{name}, 100000", f"random.{name}", key, shape=(COUNT,))
    for name in ("laplace", "cauchy", "gumbel", "logistic")
] + [
    variant(f"{name}, 100000", f"random.{name}", key, shape=(COUNT,))
    for name in ("maxwell", "lognormal")
] + [
    case("normal bfloat16, 10^6", "random.normal", key, shape=(MILLION,), dtype="bfloat16"),
    variant("normal complex64, 100000", "random.normal", key, shape=(COUNT,), dtype="complex64"),
    variant("bits uint8, 10^6", "random.bits", key, shape=(MILLION,), dtype="uint8"),
    variant("uniform with limits, 10^6",
            lambda random, seed, a: random.uniform(seed, (MILLION,), minval=-a, maxval=a), key,
            value(3.0)),
    case("randint, 10^6", lambda random, seed, a: random.randint(seed, (MILLION,), 0, a), key,
         value(1000, "int32")),
    variant("randint uint8, 10^6", "random.randint", key, shape=(MILLION,), minval=0, maxval=200,
            dtype="uint8"),
    case("bernoulli, 10^6", lambda random, seed, p: random.bernoulli(seed, p, (MILLION,)), key,
         value(0.3)),
    case("split in 100000", "random.split", key, num=COUNT),
    variant("fold_in of 10000", lambda jax, random, seed, i: jax.vmap(
        lambda k: random.fold_in(seed, k))(i), key, integers(10000, high=2**20)),
    variant("normal by 1000 keys", lambda jax, random, seed: jax.vmap(
        lambda k: random.normal(k, (100,)))(random.split(seed, 1000)), key),
    variant("dropout mask, 1000 x 1000",
            lambda jnp, random, seed, x: jnp.where(
                random.bernoulli(seed, 0.9, x.shape), x / 0.9, 0),
            key, normals(1000, 1000)),
]  # fmt: skip

_WITH_PARAMETERS = [
    case("gamma of shapes to 5, 100000", "random.gamma", key, SHAPE),
    variant("gamma of small shape, 100000", "random.gamma", key,
            uniforms(COUNT, low=0.1, high=0.9)),
    variant("loggamma of shapes to 5, 100000", "random.loggamma", key, SHAPE),
    case("beta, 50000", "random.beta", key, uniforms(50000, low=0.5, high=2),
         uniforms(50000, low=0.5, high=2)),
    case("chisquare, 100000", "random.chisquare", key, SHAPE),
    case("t, 100000", "random.t", key, SHAPE),
    case("poisson, 100000", "random.poisson", key, uniforms(COUNT, high=20), loose=1e-3),
    variant("poisson of small rate, 100000", "random.poisson", key, uniforms(COUNT, high=3)),
    case("binomial, 20000", lambda random, seed, p: random.binomial(seed, 20.0, p), key, FEW),
    case("geometric, 100000", "random.geometric", key, uniforms(COUNT, low=0.05, high=0.95)),
    case("rayleigh, 100000", "random.rayleigh", key, SHAPE),
    case("pareto, 100000", "random.pareto", key, SHAPE),
    case("weibull_min, 100000",
         lambda random, seed, s, c: random.weibull_min(seed, s, c, (COUNT,)), key, value(2.0),
         value(1.5)),
    variant("triangular, 100000",
            lambda random, seed, m: random.triangular(seed, 0.0, m, 1.0, (COUNT,)), key,
            value(0.3)),
    variant("wald, 100000", "random.wald", key, SHAPE),
    variant("f, 50000", lambda random, seed, a: random.f(seed, a, a + 2.0), key,
            uniforms(50000, low=2, high=9)),
    case("truncated_normal, 100000",
         lambda random, seed, a: random.truncated_normal(seed, -1.0, a, (COUNT,)), key, value(1.5)),
    variant("generalized_normal, 50000", "random.generalized_normal", key, p=1.5, shape=(50000,)),
]  # fmt: skip

_OF_SEVERAL = [
    case("categorical, 10000 x 50", "random.categorical", key, normals(10000, 50)),
    variant("categorical, 100000 of one", lambda random, seed, p: random.categorical(
        seed, p, shape=(COUNT,)), key, normals(20)),
    case("multivariate_normal, 10000 x 20",
         lambda random, seed, m, c: random.multivariate_normal(seed, m, c, (10000,)), key,
         normals(20), positive_definite(20, 20)),
    case("dirichlet, 5000 x 10", lambda random, seed, a: random.dirichlet(seed, a, (5000,)), key,
         uniforms(10, low=0.5, high=1.5)),
    variant("multinomial, 1000 x 10",
            lambda random, seed, p: random.multinomial(seed, 50.0, p, shape=(1000, 10)), key,
            value([0.1] * 10)),
    case("ball of 3, 10000", "random.ball", key, d=3, shape=(10000,)),
    case("orthogonal, 100 x 100", "random.orthogonal", key, n=100, loose=1),
    variant("orthogonal, 1000 of 3 x 3", "random.orthogonal", key, n=3, shape=(1000,),
            loose=1),
    case("permutation, 10^6", lambda random, seed: random.permutation(seed, MILLION), key),
    variant("permutation of rows, 10000 x 64", "random.permutation", key, normals(10000, 64)),
    case("permutation of columns, 1000 x 1000", "random.permutation", key, normals(1000, 1000),
         axis=1),
    variant("permutation of each row, 1000 x 100", "random.permutation", key, normals(1000, 100),
            axis=1, independent=True),
    case("choice with weights, 100000 of 1000",
         lambda random, seed, p: random.choice(seed, 1000, (COUNT,), p=p / p.sum()), key,
         uniforms(1000), loose=1e-3),
    case("choice without repetition, 1000 of 100000",
         lambda random, seed: random.choice(seed, COUNT, (1000,), replace=False), key),
    variant("choice of rows, 5000 of 10000 x 16",
            lambda random, seed, x: random.choice(seed, x, (5000,), axis=0), key,
            normals(10000, 16)),
    variant("choice without repetition by weights, 100 of 10000",
            lambda random, seed, p: random.choice(
                seed, 10000, (100,), replace=False, p=p / p.sum()),
            key, uniforms(10000)),
]  # fmt: skip

CASES = [*_PLAIN, *_WITH_PARAMETERS, *_OF_SEVERAL]
