"""Reductions of the same rows, of which one needs the other, and what is made of both."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

SHAPES = [(300, 200), (5, 700), (1, 300), (3, 40, 100), (64, 1000), (4, 40_000)]


def centred(x):
    return x - x.mean(-1, keepdims=True)


def distances(x):
    return x - x.max(-1, keepdims=True)


def loss(x, labels):
    return -jax.nn.log_softmax(x)[jnp.arange(len(x)), labels].mean()


ONE_KERNEL = {
    "mean and variance": lambda x: (x.mean(-1), x.var(-1)),
    "greatest and the sum of distances": lambda x: (x.max(-1), distances(x).sum(-1)),
    "shares, too": lambda x: (jnp.exp(distances(x)).sum(-1), x.max(-1), jax.nn.softmax(x)),
    "what needs the greatest": lambda x: (x.max(-1), jnp.exp(distances(x))),
    "through numbers of rows": lambda x: (x.sum(-1), jnp.tanh(x - jnp.cos(x.sum(-1))[..., None])),
    "three after one another": lambda x: (x.max(-1), distances(x).min(-1),
                                          (distances(x) / distances(x).min(-1)[..., None]).sum(-1)),
}  # fmt: skip
OTHERS = {
    "of other rows": lambda x: (x.mean(-1), (x - x.mean(-1, keepdims=True)[..., ::-1, :]).sum(-1)),
    "of the rows before": lambda x: (x.sum(-1), (x - jnp.roll(x.sum(-1), 1)[..., None]).max(-1)),
    "of the sum of all": lambda x: (x.mean(-1), (x - x.mean(-1).sum()).max(-1)),
    "sorted on the way": lambda x: (x.mean(-1), (x - jnp.sort(x.mean(-1))[..., None]).max(-1)),
    "along the rows": lambda x: (x.max(-1), (x * jnp.cumsum(x.max(-1), -1)[..., None]).max(-1)),
    "of both axes": lambda x: (x.sum(-1), (x - x.sum(-1, keepdims=True)).sum((-2, -1))),
    "of the rows and of all": lambda x: (
        (x * x[..., :1]).sum(-1), x * (x * x[..., :1]).sum(-1, keepdims=True)
        / (1e3 + (x * x[..., :1]).sum())),
    "of columns": lambda x: (x.mean(-2), x.var(-2), x - x.mean(-2, keepdims=True)),
}


def numbers(shape):
    return np.random.default_rng(shape[-1]).standard_normal(shape).astype("float32")


def kernels(fun, *arguments) -> int:
    return jax.jit(fun).lower(*arguments).compile().as_text().count("] kernel ")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*ONE_KERNEL, *OTHERS])
def test_against_eager(name, shape):
    fun, x = (ONE_KERNEL | OTHERS)[name], numbers(shape)
    with jax.disable_jit():
        wanted = fun(x)
    for a, b in zip(jax.jit(fun)(x), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-4)


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_rows_are_gone_through_by_one_kernel(name):
    assert kernels(ONE_KERNEL[name], numbers((300, 200))) == 1


def test_a_loss_and_its_gradient():
    """The loss reads of each row the greatest and a sum, which the gradient's kernel stores."""
    x = numbers((300, 200))
    labels = np.arange(300) * 7 % 200
    assert kernels(jax.value_and_grad(loss), x, labels) == 2
    value, gradient = jax.jit(jax.value_and_grad(loss))(x, labels)
    powers = np.exp(x - x.max(-1, keepdims=True).astype("float64"))
    shares = powers / powers.sum(-1, keepdims=True)
    np.testing.assert_allclose(value, -np.log(shares[range(300), labels]).mean(), rtol=1e-6)
    shares[range(300), labels] -= 1
    np.testing.assert_allclose(gradient, shares / 300, rtol=1e-4, atol=1e-8)


def test_the_gradient_of_layer_norm():
    """Means and variances, which its other kernels read, come of one."""
    x, scale, weights = numbers((300, 200)), numbers((200,)), numbers((300, 200))

    def fun(x, scale):
        normed = centred(x) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        return (normed * scale * weights).sum()

    gradients = jax.jit(jax.grad(fun, (0, 1)))
    text = gradients.lower(x, scale).compile().as_text()
    first = text.split("\n[")[1]
    assert first.count("sum:") >= 2 and "stage 1" in first
    with jax.disable_jit():
        wanted = jax.grad(fun, (0, 1))(x, scale)
    for a, b in zip(gradients(x, scale), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_numbers_that_are_none():
    x = numbers((40, 200))
    x[3, 7], x[4], x[5, 1] = np.nan, -np.inf, np.inf
    fun = ONE_KERNEL["shares, too"]
    with np.errstate(invalid="ignore"):
        powers = np.exp(x - x.max(-1, keepdims=True))
    total, greatest, shares = jax.jit(fun)(x)
    np.testing.assert_allclose(total, powers.sum(-1), rtol=1e-5)
    np.testing.assert_array_equal(greatest, x.max(-1))
    np.testing.assert_allclose(shares, powers / powers.sum(-1, keepdims=True), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_any_number_of_threads(name):
    x, results = numbers((1003, 200)), []
    program = jax.jit(ONE_KERNEL[name])
    for threads in (1, 2, 3):
        jax._native.set_num_threads(threads)
        results.append([np.asarray(a).tobytes() for a in program(x)])
    jax._native.set_num_threads(0)
    assert results[0] == results[1] == results[2]
