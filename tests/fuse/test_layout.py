"""Products that are read turned: stored so that what reads them goes along lines."""

import itertools

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.fuse.layout import product_strides
from jitney.graph.graph import GraphBuilder


def dot(g, rows=(6,), columns=(7,), batch=(2, 3)):
    n, r = len(batch), len(rows)
    a = g.input((*batch, *rows, 5), "f32")
    b = g.input((*batch, *columns, 5), "f32")
    axes = tuple(range(n))
    numbers = (((n + r,), (n + len(columns),)), (axes, axes))
    return g.dot(a, b, *numbers, "f32")


def strides(order, **sides):
    g = GraphBuilder()
    product = dot(g, **sides)
    return product_strides(product, [g.transpose(product, order)])


def test_rows_as_a_rule():
    g = GraphBuilder()
    assert product_strides(dot(g), []) == (126, 42, 7, 1)
    assert strides((1, 0, 2, 3)) == (126, 42, 7, 1)
    assert strides((2, 0, 1, 3)) == (126, 42, 7, 1)


def test_columns_where_those_are_the_lines():
    assert strides((0, 1, 3, 2)) == (126, 42, 1, 6)
    assert strides((0, 3, 1, 2)) == (126, 42, 1, 6)


def test_axes_of_one_element_make_no_difference():
    assert strides((0, 1, 4, 3, 2), columns=(7, 1)) == (126, 42, 1, 6, 42)
    assert strides((0, 1, 3, 2, 4), rows=(6, 1)) == (126, 42, 7, 7, 1)


def test_users_who_disagree():
    g = GraphBuilder()
    product = dot(g)
    users = [g.transpose(product, order) for order in ((0, 1, 3, 2), (1, 0, 2, 3))]
    assert product_strides(product, users) == (126, 42, 7, 1)
    both = [g.transpose(product, order) for order in ((0, 1, 3, 2), (1, 0, 3, 2))]
    assert product_strides(product, both) == (126, 42, 1, 6)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("heads", [1, 3])
def test_results_in_any_order(order, heads):
    rng = np.random.default_rng(0)
    a = rng.normal(size=(2, 20, heads, 17)).astype(np.float32)
    b = rng.normal(size=(2, 19, heads, 17)).astype(np.float32)
    names = "".join("bnts"[i] for i in order)
    fun = lambda a, b: jnp.einsum(f"btnh,bsnh->{names}", a, b)
    want = np.einsum(f"btnh,bsnh->{names}", a, b)
    np.testing.assert_allclose(jitney.jit(fun)(a, b), want, rtol=1e-4, atol=1e-4)
    sums = lambda a, b: jnp.exp(fun(a, b) * 0.1).sum(-1)
    want = np.exp(want * 0.1).sum(-1)
    np.testing.assert_allclose(jitney.jit(sums)(a, b), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shared", [1, 2, 8])
def test_softmax_of_attention_goes_along_lines(shared):
    """Two products, a softmax whose rows lie in memory as they are read, and the result's order."""
    q, k = jnp.ones((2, 128, 8, 64)), jnp.ones((2, 128, 8 // shared, 64))
    attend = lambda q, k, v: jitney.nn.dot_product_attention(q, k, v)
    program = jitney.jit(attend).lower(q, k, k).compile().as_text()
    softmax = next(part for part in program.split("\n[") if "exp" in part.splitlines()[0])
    loads = [line for line in softmax.splitlines() if "load b0" in line]
    assert loads and all("+1*v" in line or "[1*v" in line for line in loads)
    assert "lane stage" in softmax, "lanes lie along the keys"
