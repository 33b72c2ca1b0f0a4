"""A call needs little more memory than what is alive at its worst step."""

import liveness
import numpy as np
import programs
import pytest

import jitney
import jitney.numpy as jnp
from jitney import _native, lax, nn, random


def normal(seed, *shape):
    return 0.1 * random.normal(random.key(seed), shape)


def perceptron(weights, x, y):
    """A step of training of a network with two hidden layers."""

    def loss(weights):
        h = x
        for w, b in weights[:-1]:
            h = jnp.tanh(h @ w + b)
        w, b = weights[-1]
        return -jnp.mean(jnp.sum(nn.log_softmax(h @ w + b) * y, -1))

    value, slopes = jitney.value_and_grad(loss)(weights)
    return jitney.tree_util.tree_map(lambda w, g: w - 0.1 * g, weights, slopes), value


def perceptron_arguments():
    sizes = [(784, 512), (512, 512), (512, 10)]
    weights = [(normal(i, *s), jnp.zeros(s[1])) for i, s in enumerate(sizes)]
    return weights, normal(9, 128, 784), nn.one_hot(jnp.arange(128) % 10, 10)


def transformer(weights, x):
    """A block of a transformer with four heads, its mean square and the derivatives."""

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def loss(weights, x):
        b, t, d = x.shape
        q, k, v = ((norm(x) @ weights[n]).reshape(b, t, 4, d // 4) for n in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (d // 4) ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e30)
        seen = jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores, -1), v)
        x = x + seen.reshape(b, t, d) @ weights["o"]
        return jnp.mean((x + nn.gelu(norm(x) @ weights["up"]) @ weights["down"]) ** 2)

    return jitney.value_and_grad(loss)(weights, x)


def transformer_arguments():
    d = 256
    shapes = {n: (d, d) for n in "qkvo"} | {"up": (d, 4 * d), "down": (4 * d, d)}
    weights = {n: normal(i, *s) for i, (n, s) in enumerate(shapes.items())}
    return weights, normal(9, 4, 128, d)


def convolutional(weights, x, y):
    """A step of training of two convolutions with pooling and one product."""

    def loss(weights):
        h = x
        for k in weights[:-1]:
            h = nn.relu(programs.convolution(h, k))
            window = (1, 2, 2, 1)
            h = lax.reduce_window(h, -jnp.inf, lax.max, window, window, "VALID")
        logits = nn.log_softmax(h.reshape(h.shape[0], -1) @ weights[-1])
        return -jnp.mean(jnp.sum(logits * y, -1))

    return [w - 0.1 * g for w, g in zip(weights, jitney.grad(loss)(weights), strict=True)]


def convolutional_arguments():
    shapes = [(3, 3, 1, 16), (3, 3, 16, 32), (7 * 7 * 32, 10)]
    weights = [normal(i, *s) for i, s in enumerate(shapes)]
    return weights, normal(9, 64, 28, 28, 1), nn.one_hot(jnp.arange(64) % 10, 10)


STEPS = {
    "perceptron": (perceptron, perceptron_arguments),
    "transformer": (transformer, transformer_arguments),
    "convolutional": (convolutional, convolutional_arguments),
}
steps = pytest.mark.parametrize("name", STEPS)
given_up = pytest.mark.parametrize("donated", [(), (0,)], ids=["kept", "given up"])


def peak_of(call) -> int:
    """Bytes that the allocator held more during a call than before it, cached ones included."""
    limit = _native.allocator_stats()["bytes_limit"]
    _native.set_allocator_limit(0)
    try:
        call()
        stats = _native.allocator_stats()
        missing = stats["peak_bytes_reserved"] - stats["bytes_in_use"]
        ballast = jnp.zeros(max(1, missing), jnp.uint8).block_until_ready()
        before = _native.allocator_stats()
        assert before["bytes_in_use"] >= stats["peak_bytes_reserved"]
        out = call()
        after = _native.allocator_stats()["peak_bytes_reserved"]
        del ballast, out
        return after - before["bytes_in_use"] - before["bytes_cached"]
    finally:
        _native.set_allocator_limit(limit)


def rounded(size: int) -> int:
    """The allocator's classes: multiples of 64 up to 1 KiB, then four between powers of two.

    Of what is rounded up, large blocks never touch the end, so it takes no memory.
    """
    step = 64 if size <= 1024 else 1 << (size - 1).bit_length() - 3
    return max(64, -(-size // step) * step)


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@given_up
@steps
def test_the_plan_is_near_the_bound(name, donated, monkeypatch):
    fun, make = STEPS[name]
    plan = liveness.plan_of(monkeypatch, fun, *make(), donate_argnums=donated)
    assert not plan.clashes()
    assert plan.planned() <= 1.2 * plan.bound()


@steps
def test_a_call_takes_what_was_planned(name, monkeypatch):
    fun, make = STEPS[name]
    arguments = make()
    plan = liveness.plan_of(monkeypatch, fun, *arguments)
    jitted = jitney.jit(fun)
    took = peak_of(lambda: jitney.block_until_ready(jitted(*arguments)))
    outputs = [b.nbytes for b in plan.buffers if b.kind == "out"]
    assert took <= sum(map(rounded, [*outputs, plan.made.workspace_bytes]))


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_nothing_alive_shares_memory(name, monkeypatch):
    fun, arguments = programs.PROGRAMS[name]
    everything = tuple(range(len(arguments)))
    for donated in ((), everything):
        plan = liveness.plan_of(monkeypatch, fun, *arguments, donate_argnums=donated)
        assert not plan.clashes()


def filled_before_written(x, y):
    """The memory of the last output is free until both products are done."""
    a = jnp.tanh(x @ y)
    b = jnp.tanh(a @ y) - a
    c = b.sum(0)
    return c, (b @ y) * c, x - (y @ x) * 0.1


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize("donated", [(), (0,), (0, 1)])
def test_memory_of_outputs_serves_temporaries(donated, monkeypatch):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(384, 384)).astype(np.float32) / 20 for _ in range(2))
    plan = liveness.plan_of(monkeypatch, filled_before_written, x, y, donate_argnums=donated)
    lent = [b for b in plan.buffers if b.kind == "temp" and plan.made.place[b.id][0] == "out"]
    assert lent and not plan.clashes()
    want = filled_before_written(x.astype(np.float64), y.astype(np.float64))
    step = jitney.jit(filled_before_written, donate_argnums=donated)
    for _ in range(2):
        for a, b in zip(step(jnp.array(x), jnp.array(y)), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
