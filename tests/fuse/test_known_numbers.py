"""Operations of known numbers are done while a kernel is written, and distances once a pair."""

import numpy as np

import jitney as jax
import jitney.numpy as jnp


def text(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


def pulls(steps):
    """Bodies that pull one another, all pairs of which are written out in one kernel."""
    def run(x):
        def step(_, x):
            apart = x[:, None] - x[None]
            square = (apart**2).sum(-1) + jnp.eye(4, dtype=x.dtype)
            pull = jnp.where(jnp.eye(4) > 0, 0.0, 1 / (square * jnp.sqrt(square)))
            return x - 0.01 * (apart * pull[..., None]).sum(1)
        return jax.lax.fori_loop(0, steps, step, x)
    return run


def test_a_pair_has_one_distance():
    x = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
    assert text(pulls(10), x).count("=sqrt") == 6
    found, expected = jax.jit(pulls(10))(x), x.astype("f8")
    for _ in range(10):
        apart = expected[:, None] - expected[None]
        square = (apart**2).sum(-1) + np.eye(4)
        pull = np.where(np.eye(4) > 0, 0, 1 / (square * np.sqrt(square)))
        expected = expected - 0.01 * (apart * pull[..., None]).sum(1)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_masks_of_places_are_known():
    def run(x):
        for _ in range(3):
            x = jax.lax.fori_loop(0, 5, lambda i, x: jnp.where(jnp.eye(3) > 0, x * 2, x - 1), x)
        return x
    x = np.arange(9, dtype="float32").reshape(3, 3)
    expected = x
    for _ in range(15):
        expected = np.where(np.eye(3) > 0, expected * 2, expected - 1)
    assert "=eq" not in text(run, x)
    np.testing.assert_array_equal(jax.jit(run)(x), expected)


def test_negative_integers():
    def run(x):
        i = jnp.arange(-2, 2, dtype=jnp.int32)
        step = lambda _, x: x + jnp.where(i * 3 < -2, i - 5, i.astype(x.dtype) * -7)
        return jax.lax.fori_loop(0, 4, step, x)
    i = np.arange(-2, 2)
    expected = 4 * np.where(i * 3 < -2, i - 5, i * -7)
    np.testing.assert_array_equal(jax.jit(run)(np.zeros(4, np.int32)), expected)


def test_signs_of_zero_and_nan():
    """|a - b| and (a - b)^2 of what is equal, infinite, or no number."""
    a = np.array([0.0, -0.0, 1.0, np.inf, np.nan, -np.inf], "float32")
    fun = lambda a, b: (abs(a - b), abs(b - a), (b - a) ** 2, a - b, b - a)
    with np.errstate(invalid="ignore"):
        for found, expected in zip(jax.jit(fun)(a, a[::-1]), fun(a, a[::-1]), strict=True):
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected) & ~np.isnan(found)
                                          | np.isnan(found) & np.signbit(found))


def test_places_that_are_not_negative():
    """NumPy's negative places are asked for only where there may be some."""
    x = np.random.default_rng(1).standard_normal(1000).astype("float32")
    def known(x, k):
        i = jnp.arange(1000)
        return x[jnp.maximum(i - k, 0)], x[(i * 0).astype(jnp.int32)], x[jnp.minimum(i, 5)]
    for k in (0, 3, 999, 2000, -7):
        first = x[np.clip(np.arange(1000) - k, 0, 999)]
        found = jax.jit(known)(x, k)
        np.testing.assert_array_equal(found[0], first)
        np.testing.assert_array_equal(found[2], x[np.minimum(np.arange(1000), 5)])
    assert "=lt" not in text(lambda x, k: known(x, k)[0], x, 3)
    below = lambda x, k: x[jnp.arange(1000, dtype=jnp.int32) - k]
    assert "=lt" in text(below, x, 3)
    np.testing.assert_array_equal(jax.jit(below)(x, 3), x[np.arange(1000) - 3])


def test_laws_of_signs():
    from jitney.graph.graph import GraphBuilder
    from jitney.graph.laws import is_nonnegative

    g = GraphBuilder()
    iota = g.table.intern("iota", (), (100,), "i32", (0,))
    some = g.input((100,), "i32")
    zero, low = g.full(0, (100,), "i32"), g.full(-1, (100,), "i32")
    for node in (iota, zero, g.ew("max", some, zero), g.ew("min", iota, zero),
                 g.ew("and", some, g.full(7, (100,), "i32")), g.ew("rem", iota, some)):
        assert is_nonnegative(node)
    for node in (some, low, g.ew("sub", iota, some), g.ew("add", iota, iota), g.ew("neg", iota),
                 g.ew("min", iota, some), g.ew("rem", some, iota), g.ew("max", some, low)):
        assert not is_nonnegative(node)
    byte = g.table.intern("iota", (), (200,), "i8", (0,))
    assert not is_nonnegative(byte) and not is_nonnegative(g.convert(byte, "i32"))
    assert g.ew("max", iota, zero) is iota
    assert g.ew("lt", iota, zero).op == "broadcast"


def test_a_choice_between_equals():
    """Parts of a concatenation that are one number are no choice."""
    x = jnp.ones((300, 40))

    def joined(x):
        zeros = jnp.zeros((300, 20))
        return x + jnp.concatenate([zeros, zeros], 1)

    text = jax.explain(joined, x, rounds=1).as_text("kernels")
    assert "select" not in text
    np.testing.assert_array_equal(jax.jit(joined)(x), x)
