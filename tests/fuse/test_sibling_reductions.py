"""What reads the same arrays is one kernel: reductions, and arrays stored beside them."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

PAIRS = {
    "least and greatest": lambda x, axis: (x.min(axis), x.max(axis)),
    "sum and squares": lambda x, axis: (x.sum(axis), (x * x).sum(axis)),
    "kinds": lambda x, axis: (x.min(axis), (x > 1).any(axis), x.sum(axis)),
    "shifted and scaled": lambda x, axis: ((x - 1).sum(axis), (2 * x).max(axis), x.prod(axis)),
}
SHAPES = [(300, 400), (37, 1025), (1000, 1000), (5, 7), (1, 3), (70_000, 3)]


def numbers(shape, dtype="float32"):
    return np.random.default_rng(sum(shape)).uniform(-2, 2, shape).astype(dtype)


def kernels(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PAIRS)
def test_as_numpy(name, shape, axis):
    x = numbers(shape)
    found = jax.jit(lambda x: PAIRS[name](x, axis))(x)
    with np.errstate(over="ignore", under="ignore"):
        expected = PAIRS[name](x.astype("float64"), axis)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-3 * np.sqrt(x.size))


@pytest.mark.parametrize("axis, most", [(None, 2), (0, 2), (1, 1)])
def test_what_they_share_is_read_once(axis, most):
    x = jnp.asarray(numbers((1000, 1000)))
    text = kernels(lambda x: (x.min(axis), x.max(axis), (x * x).sum(axis)), x)
    assert text.count("] kernel ") == most


def test_positions_beside_values():
    x = numbers((500, 600))
    both = lambda x: (x.max(1), x.argmax(1), x.argmin(1))
    assert kernels(both, jnp.asarray(x)).count("] kernel ") == 1
    for a, b in zip(jax.jit(both)(x), both(x), strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_that_needs_the_other():
    """The second sum is about the mean of all: it cannot run beside the first."""
    x = numbers((1000, 3)) + 5
    def fun(x):
        mean = x.mean()
        return x.sum(0), jnp.abs(x - mean).sum(0)
    found = jax.jit(fun)(x)
    np.testing.assert_allclose(found[1], np.abs(x - x.mean(dtype="f8")).sum(0), rtol=1e-4)


def test_arrays_of_their_own_are_kernels_of_their_own():
    x, y = jnp.asarray(numbers((400, 500))), jnp.asarray(numbers((500, 400)).T)
    assert kernels(lambda x, y: (x.sum(1), y.sum(1)), x, y).count("] kernel ") == 2


def test_gradients_of_a_scale_and_a_shift():
    """Both are sums down the same columns."""
    def loss(scale, shift, x):
        return (jnp.tanh(x * scale + shift) ** 2).sum()
    x, scale, shift = numbers((2000, 100)), numbers((100,)), numbers((1, 100))[0]
    found = jax.jit(jax.grad(loss, (0, 1)))(scale, shift, x)
    t = np.tanh(x.astype("f8") * scale + shift)
    slope = 2 * t * (1 - t * t)
    np.testing.assert_allclose(found[0], (slope * x).sum(0), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(found[1], slope.sum(0), rtol=1e-4, atol=1e-3)
    text = kernels(jax.grad(loss, (0, 1)), scale, shift, x)
    assert text.count("=tanh") == 1


def test_the_same_for_any_number_of_siblings():
    """A sum is the same alone and beside others."""
    x = numbers((1234, 567))
    alone, beside = jax.jit(lambda x: x.sum()), jax.jit(lambda x: (x.max(), x.sum(), x.min()))
    assert float(alone(x)) == float(beside(x)[1])


def test_none_and_empty():
    x = jnp.zeros((0, 5))
    total, product = jax.jit(lambda x: (x.sum(0), x.prod(0)))(x)
    np.testing.assert_array_equal(total, np.zeros(5))
    np.testing.assert_array_equal(product, np.ones(5))


# --- arrays stored beside reductions -------------------------------------------------------------

BESIDE = {
    "all": lambda x: (x * 2 + 1, (x * 2 + 1).sum()),
    "rows": lambda x: (jnp.maximum(x, 0), jnp.maximum(x, 0).sum(1)),
    "columns": lambda x: (x * 3, (x * 3).sum(0)),
    "another": lambda x: (x - 1, x * x, x.max(1), x.min(1)),
    "positions": lambda x: (abs(x), abs(x).argmax(1)),
    "wider": lambda x: (x > 0, x.astype(jnp.int32), x.sum()),
}


def plain(name, x):
    return [np.asarray(a, dtype="float64") for a in jax.tree.leaves(
        [BESIDE[name](jnp.asarray(x))])]


@pytest.mark.parametrize("shape", [(300, 400), (64, 1024), (1000, 1000), (33, 1027), (5000, 600)])
@pytest.mark.parametrize("name", BESIDE)
def test_stored_beside_a_reduction(name, shape):
    x = numbers(shape)
    found = jax.jit(BESIDE[name])(x)
    for a, b in zip(found, plain(name, x), strict=True):
        np.testing.assert_allclose(np.asarray(a, "f8"), b, rtol=1e-4, atol=2e-3 * np.sqrt(x.size))


@pytest.mark.parametrize("name, most", [("all", 2), ("rows", 1), ("another", 1), ("wider", 2)])
def test_what_is_stored_is_read_once(name, most):
    assert kernels(BESIDE[name], jnp.asarray(numbers((1000, 1000)))).count("] kernel ") == most


def test_a_loss_and_its_gradient():
    p, y = numbers((1000, 500)), numbers((500, 1000)).T.copy()
    both = jax.value_and_grad(lambda p: ((p - y) ** 2).mean())
    assert kernels(both, jnp.asarray(p)).count("] kernel ") == 2
    loss, slope = jax.jit(both)(p)
    np.testing.assert_allclose(loss, ((p - y).astype("f8") ** 2).mean(), rtol=1e-5)
    np.testing.assert_allclose(slope, 2 * (p - y) / p.size, rtol=1e-5, atol=1e-12)


def test_an_array_that_needs_the_sum():
    x = numbers((400, 500)) + 3
    found = jax.jit(lambda x: (x / x.sum(), x.sum()))(x)
    np.testing.assert_allclose(found[0], x / x.sum(dtype="f8"), rtol=1e-5)


def test_a_sum_that_needs_the_array_elsewhere():
    """The sum reads the array's neighbours: it is stored first."""
    x = numbers((400, 500))
    def fun(x):
        y = jnp.exp(x)
        return y, (y[:, 1:] * y[:, :-1]).sum(), (y * y[::-1]).sum()
    found = jax.jit(fun)(x)
    y = np.exp(x.astype("f8"))
    expected = (y, (y[:, 1:] * y[:, :-1]).sum(), (y * y[::-1]).sum())
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)


def test_products_keep_their_epilogues():
    a, b = numbers((256, 300)), numbers((300, 256))
    def fun(a, b):
        y = jnp.maximum(a @ b, 0)
        return y, y.sum()
    found = jax.jit(fun)(a, b)
    expected = np.maximum(a.astype("f8") @ b, 0)
    np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[1], expected.sum(), rtol=1e-4)


def test_large_arrays_go_past_the_caches():
    x = jnp.asarray(numbers((4096, 2048)))
    text = kernels(lambda x: (x + 1, (x + 1).sum()), x)
    assert " stream\n" in text
    y, total = jax.jit(lambda x: (x + 1, (x + 1).sum()))(x)
    np.testing.assert_array_equal(y, np.asarray(x) + 1)
    np.testing.assert_allclose(total, (np.asarray(x, "f8") + 1).sum(), rtol=1e-5)


def test_the_same_for_any_number_of_threads():
    x = jnp.asarray(numbers((1234, 1000)))
    results = []
    for threads in (1, 2, 3):
        jax._native.set_num_threads(threads)
        results.append([np.asarray(v) for v in jax.jit(BESIDE["columns"])(x)])
    jax._native.set_num_threads(0)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_given_up_arrays():
    """A result in the place of an argument that the reduction reads."""
    x, y = numbers((500, 400)), numbers((400, 500)).T.copy()
    step = jax.jit(lambda x, y: (x - y, ((x - y) ** 2).sum()), donate_argnums=0)
    found = step(jnp.asarray(x), jnp.asarray(y))
    np.testing.assert_allclose(found[0], x - y, rtol=1e-6)
    np.testing.assert_allclose(found[1], ((x - y).astype("f8") ** 2).sum(), rtol=1e-5)


def test_siblings_of_a_long_kernel():
    """Written-out sums of so many operations that a kernel asks another one for the rest: its own
    results it cannot ask for."""
    from jitney import image
    x = numbers((5, 7))
    def loss(s, t):
        return (image.scale_and_translate(x, (6, 8), (0, 1), s, t, "area", True) ** 2).sum()
    scale, move = np.array([0.5, 1.3], "float32"), np.array([0.2, -0.4], "float32")
    jitted, eager = jax.jit(jax.grad(loss, (0, 1))), jax.grad(loss, (0, 1))
    for a, b in zip(jitted(scale, move), eager(scale, move), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_many_of_them_are_found_soon():
    """Hundreds of reductions and arrays: what may join is looked up, not compared with all."""
    from jitney.fuse import sibling_reductions
    asked = 0
    plain = sibling_reductions._are_side_by_side
    def counting(*arguments):
        nonlocal asked
        asked += 1
        return plain(*arguments)
    sibling_reductions._are_side_by_side = counting
    try:
        xs = [jnp.asarray(numbers((4, 1200))) for _ in range(200)]
        fun = lambda xs: [f(x) for x in xs for f in (lambda x: (x * 2).sum(1), lambda x: x + 1)]
        jax.jit(fun).lower(xs).compile()
    finally:
        sibling_reductions._are_side_by_side = plain
    assert asked < 200 * 40
