"""Costly values that a later stage needs again are kept in scratch rows: those, and no others."""

import re

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import nn
from jitney.backend.host import host_target

ROW_BY_ROW = pytest.mark.skipif(not host_target().avx512, reason="rows are taken in pairs")
CASES = {
    "gelu": nn.gelu,
    "silu": nn.silu,
    "exponential": jnp.exp,
    "two of a chain": lambda x: jnp.tanh(jnp.exp(-x)),
}


def over_sum(fun, axis=1):
    def ratio(x):
        y = fun(x)
        return y / y.sum(axis, keepdims=True)

    return ratio


def rows_of(fun, *args) -> tuple[set[str], set[str]]:
    """The numbers of the rows that the one kernel saves, and of those that it reads."""
    text = jitney.jit(fun).lower(*args).compile().as_text()
    assert text.count("] kernel") == 1, text
    return set(re.findall(r"save (\d+)\[", text)), set(re.findall(r"=saved (\d+) ", text))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape,axis", [((400, 500), 1), ((400, 500), 0), ((40, 50, 3), 1)])
def test_what_is_saved_is_read(name, shape, axis):
    saved, read = rows_of(over_sum(CASES[name], axis), jnp.ones(shape))
    assert saved == read


@ROW_BY_ROW
@pytest.mark.parametrize("shape", [(400, 500), (64, 3000)])
def test_of_a_chain_its_end_is_saved(shape):
    assert rows_of(over_sum(nn.gelu), jnp.ones(shape)) == ({"0"}, {"0"})


@ROW_BY_ROW
@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_each_of_the_rows_side_by_side_is_saved(count):
    numbers = set(map(str, range(count)))
    for fun in (over_sum(nn.gelu), lambda x: nn.softmax(x, 1)):
        assert rows_of(fun, jnp.ones((40, 500, count))) == (numbers, numbers)


@ROW_BY_ROW
@pytest.mark.parametrize("length,is_kept", [(12_000, True), (16_000, False)])
def test_rows_side_by_side_are_not_saved_by_halves(length, is_kept):
    """Seven of either length are as short as one row may be, but together too many: none is."""
    saved, read = rows_of(over_sum(nn.gelu), jnp.ones((20, length, 7)))
    assert saved == read == (set(map(str, range(7))) if is_kept else set())


@pytest.mark.parametrize(
    "shape,is_kept",
    [((40, 12_288), True), ((40, 20_000), True), ((40, 32_768), True), ((40, 32_769), False),
     ((300, 12_288), True), ((300, 20_000), False)],
)  # fmt: skip
def test_long_rows_are_kept_if_all_stay_in_the_caches(shape, is_kept):
    saved, read = rows_of(over_sum(nn.gelu), jnp.ones(shape))
    assert saved == read and bool(saved) == is_kept


@ROW_BY_ROW
def test_two_that_a_later_stage_reads():
    def both(x):
        y = jnp.exp(-x)
        z = jnp.tanh(y)
        return (y + z) / z.sum(1, keepdims=True)

    saved, read = rows_of(both, jnp.ones((400, 500)))
    assert saved == read and len(saved) == 2


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "shape,axis",
    [((30, 500), 1), ((300, 40), 0), ((20, 50, 3), 1), ((9, 200, 7), 1), ((3, 12_000, 2), 1),
     ((2, 13_000, 3), 1), ((5, 1, 3), 1), ((0, 4, 3), 1)],
)  # fmt: skip
def test_values(name, shape, axis):
    x = np.random.default_rng(0).random(shape, np.float32)
    y = np.asarray(CASES[name](x)).astype(np.float64)
    found = jitney.jit(over_sum(CASES[name], axis))(x)
    assert np.allclose(found, y / y.sum(axis, keepdims=True), rtol=2e-5)
    if x.size:
        whole = np.exp(x.astype(np.float64))
        found = jitney.jit(lambda x: nn.softmax(x, axis))(x)
        assert np.allclose(found, whole / whole.sum(axis, keepdims=True), rtol=2e-5)
