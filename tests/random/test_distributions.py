"""Moments of the distributions, sizes of results, and the programs behind them."""

import math

import numpy as np
import pytest

import jitney
from jitney import random
from jitney.lax.random_bits import random_bits_p

COUNT = 20000

# (draw, mean, variance)
MOMENTS = {
    "uniform": (lambda k: random.uniform(k, (COUNT,)), 0.5, 1 / 12),
    "normal": (lambda k: random.normal(k, (COUNT,)), 0.0, 1.0),
    "exponential": (lambda k: random.exponential(k, (COUNT,)), 1.0, 1.0),
    "gumbel": (lambda k: random.gumbel(k, (COUNT,)), 0.5772, math.pi**2 / 6),
    "laplace": (lambda k: random.laplace(k, (COUNT,)), 0.0, 2.0),
    "logistic": (lambda k: random.logistic(k, (COUNT,)), 0.0, math.pi**2 / 3),
    "gamma": (lambda k: random.gamma(k, 2.5, (COUNT,)), 2.5, 2.5),
    "beta": (lambda k: random.beta(k, 2.0, 3.0, (COUNT,)), 0.4, 0.04),
    "rayleigh": (lambda k: random.rayleigh(k, 2.0, (COUNT,)), 2 * math.sqrt(math.pi / 2),
                 (4 - math.pi) / 2 * 4),
    "wald": (lambda k: random.wald(k, 2.0, (COUNT,)), 2.0, 8.0),
    "triangular": (lambda k: random.triangular(k, 0.0, 1.0, 2.0, (COUNT,)), 1.0, 1 / 6),
    "randint": (lambda k: random.randint(k, (COUNT,), -3, 7), 1.5, 8.25),
    "geometric": (lambda k: random.geometric(k, 0.25, (COUNT,)), 4.0, 12.0),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, (COUNT,)), 0.3, 0.21),
    "poisson": (lambda k: random.poisson(k, 6.0, (COUNT,)), 6.0, 6.0),
    "poisson, large": (lambda k: random.poisson(k, 60.0, (COUNT,)), 60.0, 60.0),
    "binomial": (lambda k: random.binomial(k, 40, 0.6, (COUNT,)), 24.0, 9.6),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name):
    draw, mean, variance = MOMENTS[name]
    x = np.asarray(draw(random.key(11)), np.float64)
    assert x.shape == (COUNT,)
    assert abs(x.mean() - mean) < 5 * math.sqrt(variance / COUNT)
    assert abs(x.var() / variance - 1) < 0.1


def test_a_draw_is_one_equation_of_bits():
    jaxpr = jitney.make_jaxpr(lambda k: random.normal(k, (5,)))(random.key(0))

    def count(jaxpr):
        inner = [p.jaxpr for e in jaxpr.eqns for p in e.params.values() if hasattr(p, "jaxpr")]
        return sum(e.primitive is random_bits_p for e in jaxpr.eqns) + sum(map(count, inner))

    assert count(jaxpr.jaxpr) == 1


def test_a_bit_depends_on_its_place_only():
    key = random.key(4)
    long, short = random.bits(key, (100,)), random.bits(key, (7,))
    np.testing.assert_array_equal(long[:7], short)
    np.testing.assert_array_equal(random.bits(key, (10, 10)).reshape(-1), long)


@pytest.mark.parametrize("replace", [True, False])
def test_categories_follow_their_weights(replace):
    logits = np.log(np.float32([0.7, 0.2, 0.1]))
    shape = (3000,) if replace else (1,)
    drawn = np.asarray(random.categorical(random.key(1), logits, shape=shape, replace=replace))
    assert drawn.shape == shape
    if replace:
        assert abs((drawn == 0).mean() - 0.7) < 0.05


def test_samples_without_replacement_do_not_repeat():
    drawn = random.choice(random.key(2), 50, (50,), replace=False)
    assert sorted(drawn.tolist()) == list(range(50))
    weights = np.arange(1, 11, dtype=np.float32)
    drawn = random.choice(random.key(2), 10, (10,), replace=False, p=weights)
    assert sorted(drawn.tolist()) == list(range(10))


def test_a_permutation_moves_whole_rows():
    x = np.arange(12).reshape(4, 3)
    moved = np.asarray(random.permutation(random.key(0), x))
    assert sorted(map(tuple, moved)) == sorted(map(tuple, x))


def test_empty_draws():
    assert random.normal(random.key(0), (0, 3)).shape == (0, 3)
    assert random.split(random.key(0), 0).shape == (0,)
    assert random.permutation(random.key(0), 0).shape == (0,)


# normal, bits and randint of key 42 in double precision
DOUBLES = [-0.18471174528191162, -2.169824560397754, 0.18693555179382582]
WORDS = [7871734211187709741, 276886910877598708]
LONGS = [464050701877, 604979476158, 848944880791]


def test_double_precision():
    with jitney.enable_x64(True):
        x = random.normal(random.key(42), (3,))
        assert x.dtype == np.float64
        np.testing.assert_allclose(x, DOUBLES, rtol=1e-13)
        np.testing.assert_array_equal(random.bits(random.key(42), (2,), np.uint64), WORDS)
        np.testing.assert_array_equal(random.randint(random.key(42), (3,), 0, 10**12), LONGS)
