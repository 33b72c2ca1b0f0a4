"""Elementwise work on a product: done where its sums are stored, with the same bits as after it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jitney
import jitney.numpy as jnp
from jitney import lax, nn
from jitney.fuse import make_steps

RNG = np.random.default_rng(0)


def draw(*shape, dtype="float32"):
    return jnp.asarray(RNG.normal(size=shape).astype(np.float32)).astype(dtype)


X, W, BIAS, ROWS, FULL = draw(130, 96), draw(96, 75), draw(75), draw(130), draw(130, 75)

FUSED = {
    "bias": (lambda x, w, b: x @ w + b, X, W, BIAS),
    "relu": (lambda x, w, b: nn.relu(x @ w + b), X, W, BIAS),
    "gelu": (lambda x, w, b: nn.gelu(x @ w + b), X, W, BIAS),
    "branches of rare arguments": (lambda x, w: jnp.sin(x @ w * 1e6), X, W),
    "scale of rows": (lambda x, w, r: (x @ w) * jnp.exp(r)[:, None], X, W, ROWS),
    "scalars": (lambda x, w, s: (x @ w) * s + 0.1 * s, X, W, draw()),
    "three axes": (lambda x, w, b: nn.relu(x @ w + b), draw(4, 33, 96), W, BIAS),
    "a batch": (
        lambda x, w, b: jnp.einsum("bij,bjk->bik", x, w) * b[:, None, None] + 1,
        draw(5, 33, 64), draw(5, 64, 40), draw(5),
    ),
    "blocks of sums": (
        lambda x, w, b: nn.relu(x @ w + b), draw(300, 3000), draw(3000, 64), draw(64),
    ),
    "transposed": (lambda x, w, b: nn.relu(x.T @ w + b), draw(96, 130), W, BIAS),
    "few rows": (lambda x, w, b: nn.relu(x @ w + b), draw(3, 96), draw(96, 700), draw(700)),
    "few columns": (lambda x, w, b: nn.relu(x @ w + b), draw(700, 96), draw(96, 3), draw(3)),
    "bfloat16": (
        lambda x, w, b: nn.relu(x @ w + b), X.astype("bfloat16"), W.astype("bfloat16"),
        BIAS.astype("bfloat16"),
    ),
    "comparison": (lambda x, w, b: jnp.where(x @ w > b, x @ w, b * 2), X, W, BIAS),
    "negative stride": (lambda x, w, b: x @ w + b[::-1], X, W, BIAS),
}  # fmt: skip

NOT_FUSED = {
    "the product is wanted too": (lambda x, w, b: (x @ w, x @ w + b), X, W, BIAS),
    "another kernel reads it": (lambda x, w, b: (x @ w + b, (x @ w).sum(0)), X, W, BIAS),
    "an input that may be given up": (lambda x, w, y: y - 0.1 * (x @ w), X, W, FULL),
    "short sums": (lambda x, w, b: x[:, :4] @ w[:4] + b, X, W, BIAS),
    "integers": (lambda x, w: (x @ w) + 1, jnp.ones((40, 50), int), jnp.ones((50, 60), int)),
    "a gathered bias": (lambda x, w, b: x @ w + b[jnp.argsort(b)], X, W, BIAS),
}  # fmt: skip


def compiled(function, *args):
    return jitney.jit(function).lower(*args).compile()


def both(monkeypatch, function, args):
    """(result, result without epilogues, text)."""
    program = compiled(lambda *a: function(*a), *args)
    with monkeypatch.context() as patch:
        patch.setattr(make_steps, "ROOT_MAKERS", [])
        plain = compiled(lambda *a: function(*a), *args)
        assert "what becomes of each sum" not in plain.as_text()
    return program(*args), plain(*args), program.as_text()


def assert_same_bits(a, b):
    for x, y in zip(jitney.tree.leaves(a), jitney.tree.leaves(b), strict=True):
        assert x.dtype == y.dtype
        wide = [np.asarray(v.astype("float32") if v.dtype == "bfloat16" else v) for v in (x, y)]
        np.testing.assert_array_equal(*wide)


@pytest.mark.parametrize("name", FUSED)
def test_fused(name, monkeypatch):
    function, *args = FUSED[name]
    result, plain, text = both(monkeypatch, function, args)
    assert_same_bits(result, plain)
    assert "what becomes of each sum" in text
    assert "1 fused steps" in text


@pytest.mark.parametrize("name", NOT_FUSED)
def test_not_fused(name, monkeypatch):
    function, *args = NOT_FUSED[name]
    result, plain, text = both(monkeypatch, function, args)
    assert_same_bits(result, plain)
    assert "what becomes of each sum" not in text


def test_an_intermediate_residual_is_read_where_sums_are_stored(monkeypatch):
    def function(x, w):
        y = x + x @ w @ w.T
        return y @ w

    result, plain, text = both(monkeypatch, function, [X, W])
    assert_same_bits(result, plain)


def test_two_products_under_one_root(monkeypatch):
    result, plain, text = both(
        monkeypatch, lambda x, w, v: jnp.tanh(x @ w + x[:, :40] @ v), [X, W, draw(40, 75)]
    )
    assert_same_bits(result, plain)
    assert text.count("what becomes of each sum") == 1


def test_state_of_a_loop_is_updated_in_place():
    def descend(w, x):
        return lax.fori_loop(0, 3, lambda i, w: w - 0.01 * (x.T @ (x @ w)), w)

    expected = np.asarray(W)
    for _ in range(3):
        expected = expected - 0.01 * (np.asarray(X).T @ (np.asarray(X) @ expected))
    np.testing.assert_allclose(jitney.jit(descend)(W, X), expected, rtol=2e-3, atol=2e-4)


def test_vmap_and_grad_of_a_dense_layer(monkeypatch):
    def loss(w, b, x):
        return jnp.sum(nn.relu(x @ w + b) ** 2)

    batch = draw(3, 40, 96)
    gradient = jitney.vmap(jitney.grad(loss, (0, 1)), (None, None, 0))
    result, plain, _ = both(monkeypatch, gradient, [W, BIAS, batch])
    assert_same_bits(result, plain)


UNARY = [jnp.tanh, jnp.exp, jnp.abs, lambda x: -x, nn.relu, lambda x: x * 0.5, jnp.sqrt]
BINARY = [jnp.add, jnp.subtract, jnp.multiply, jnp.maximum]


@settings(max_examples=30, deadline=None)
@given(
    st.tuples(st.integers(1, 40), st.integers(16, 70), st.integers(1, 70)),
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4
    ),
    st.sampled_from(["float32", "float64", "bfloat16"]),
)
def test_random_chains(sizes, steps, dtype):
    m, k, n = sizes
    with jitney.enable_x64(True):
        x, w = draw(m, k, dtype=dtype), draw(k, n, dtype=dtype)
        others = [draw(n, dtype=dtype), draw(m, 1, dtype=dtype), draw(dtype=dtype),
                  draw(m, n, dtype=dtype)]  # fmt: skip

        def function(x, w, others):
            y = x @ w
            for unary, binary, other in steps:
                y = BINARY[binary](UNARY[unary](y), jnp.exp(others[other]))
            return y

        with pytest.MonkeyPatch.context() as patch:
            result, plain, _ = both(patch, function, [x, w, others])
        assert_same_bits(result, plain)
