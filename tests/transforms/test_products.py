"""All products of two transformations, and a sample of those of three, over the table of base
functions: each agrees with the plain way to say the same."""

import itertools

import numpy as np
import pytest
from base_functions import FUNCTIONS, POINT
from transform_algebra import TRANSFORMATIONS, product

import jitney
import jitney.numpy as jnp

NAMES = list(FUNCTIONS)
PAIRS = list(itertools.product(TRANSFORMATIONS, repeat=2))
TRIPLES = list(itertools.product(TRANSFORMATIONS, repeat=3))
SHARE = 13                 # of every pair, each 13th function; together they pass all of them
SAMPLE = np.random.RandomState(7).permutation(len(TRIPLES))[:60]


@pytest.fixture(autouse=True)
def double_precision():
    with jitney.enable_x64(True):
        yield


def check(names, function):
    applied, plain = product(names, FUNCTIONS[function])
    found, want = applied(jnp.asarray(POINT)), plain(jnp.asarray(POINT))
    assert found.shape == want.shape and found.dtype == want.dtype
    np.testing.assert_allclose(found, want, rtol=1e-8, atol=1e-8,
                               err_msg=f"{' of '.join(names)} of {function}")


@pytest.mark.parametrize("number", range(len(PAIRS)), ids=[".".join(p) for p in PAIRS])
def test_products_of_two(number):
    for function in NAMES[number % SHARE::SHARE]:
        check(PAIRS[number], function)


@pytest.mark.parametrize("number", SAMPLE, ids=[".".join(TRIPLES[i]) for i in SAMPLE])
def test_products_of_three(number):
    check(TRIPLES[number], NAMES[number % len(NAMES)])


@pytest.mark.slow
@pytest.mark.parametrize("function", NAMES)
def test_all_products_of_two(function):
    for pair in PAIRS:
        check(pair, function)
