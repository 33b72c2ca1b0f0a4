"""Samplers of `jax.random`: the same bits as JAX, for both layouts of counters."""

import numpy as np
import pytest
from compare import evaluate, exactly, modules, pick
from known import expecting

KEYS = ["random.key(42)", "random.PRNGKey(7)", "random.key(3, impl='rbg')"]
EXACT = """
    random.bits({k}, (7,), 'uint32')
    random.bits({k}, (3, 5), 'uint8')
    random.bits({k}, (5,), 'uint16')
    random.uniform({k}, (3, 7))
    random.uniform({k}, (5,), 'float16')
    random.uniform({k}, (5,), bf16)
    random.uniform({k}, (9,), minval=-2., maxval=3.)
    random.randint({k}, (3, 7), 0, 10)
    random.randint({k}, (11,), -100, 100, 'int8')
    random.randint({k}, (6,), 0, 2**31 - 1)
    random.randint({k}, (6,), 0, 1000, 'uint16')
    random.permutation({k}, 13)
    random.permutation({k}, np.arange(12.).reshape(3, 4), axis=1)
    random.permutation({k}, np.arange(12.).reshape(3, 4), axis=1, independent=True)
    random.choice({k}, 10, (4,))
    random.choice({k}, 10, (4,), replace=False)
    random.choice({k}, np.arange(5.), (3,), p=np.array([.1, .2, .3, .2, .2]))
    random.bernoulli({k}, 0.3, (10,))
    random.rademacher({k}, (9,))
    random.key_data(random.split({k}, 3))
    random.key_data(random.split({k}, (2, 2)))
    random.key_data(random.fold_in({k}, 5))
    random.key_data(random.clone({k}))
    random.key_data({k})
    random.categorical({k}, np.log(np.array([.2, .5, .3], 'float32')), shape=(8,))
    random.truncated_normal({k}, -1., 2., (0,))
""".split("\n")
CLOSE = """
    random.normal({k}, (3, 7))
    random.normal({k}, (5,), 'float16')
    random.normal({k}, (5,), bf16)
    random.normal({k}, (4,), 'complex64')
    random.truncated_normal({k}, -1., 2., (9,))
    random.exponential({k}, (7,))
    random.gumbel({k}, (7,))
    random.gumbel({k}, (7,), mode='high')
    random.laplace({k}, (7,))
    random.logistic({k}, (7,))
    random.cauchy({k}, (7,))
    random.pareto({k}, 2., (7,))
    random.gamma({k}, 2.5, (7,))
    random.gamma({k}, 0.3, (7,))
    random.loggamma({k}, 0.5, (7,))
    random.beta({k}, 2., 3., (7,))
    random.dirichlet({k}, np.array([1., 2., 3.]), (4,))
    random.chisquare({k}, 3., shape=(7,))
    random.f({k}, 3., 4., shape=(7,))
    random.t({k}, 3., (7,))
    random.poisson({k}, 4., (9,))
    random.poisson({k}, 40., (9,))
    random.binomial({k}, 20, 0.3, (9,))
    random.geometric({k}, 0.3, (9,))
    random.multinomial({k}, 10, np.array([.2, .3, .5]), shape=(3,))
    random.rayleigh({k}, 2., (7,))
    random.wald({k}, 2., (7,))
    random.weibull_min({k}, 2., 3., (7,))
    random.maxwell({k}, (7,))
    random.double_sided_maxwell({k}, 1., 2., (7,))
    random.triangular({k}, 0., 1., 3., (7,))
    random.lognormal({k}, 1., (7,))
    random.ball({k}, 3, shape=(4,))
    random.orthogonal({k}, 3)
    random.multivariate_normal({k}, np.zeros(2), np.eye(2), (3,))
    random.generalized_normal({k}, 2., (7,))
""".split("\n")


def table(lines):
    return [(line.strip(), key) for line in lines if line.strip()
            for key in pick(KEYS, 1, line)]  # fmt: skip


@pytest.fixture(params=[True, False], ids=["by_index", "in_halves"])
def partitionable(request):
    before = []
    for name in ("jax", "jitney"):
        config = modules(name)["jax"].config
        before.append((config, config.jax_threefry_partitionable))
        config.update("jax_threefry_partitionable", request.param)
    yield request.param
    for config, value in before:
        config.update("jax_threefry_partitionable", value)


@pytest.mark.parametrize("line,key", table(EXACT))
def test_bits(line, key, partitionable):
    with expecting(line, key):
        exactly(line.format(k=key), {}, jit=len(line) % 2 == 0)


@pytest.mark.parametrize("line,key", table(CLOSE))
def test_samples(line, key, partitionable):
    """Made from the same bits by functions that may differ in the last places."""
    with expecting(line, key):
        same_samples(line, key)


def same_samples(line, key):
    text = line.format(k=key)
    jit = len(line) % 2 == 0
    want, got = (evaluate(name, text, {}, jit) for name in ("jax", "jitney"))
    if want.error is not None:
        assert type(got.error).__name__ == type(want.error).__name__
        return
    if got.error is not None and "linalg" in str(got.error):
        pytest.skip(str(got.error))
    assert got.error is None, repr(got.error)
    for (a, _), (b, _) in zip(got.leaves, want.leaves, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype.kind in "iub":
            np.testing.assert_array_equal(a, b)
            continue
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        tolerance = 2e-5 if a.dtype.itemsize > 2 else 2e-2
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), 5 * tolerance, tolerance)
