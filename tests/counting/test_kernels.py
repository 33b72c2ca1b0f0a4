"""How many kernels a program is, and which programs share machine code."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import nn


def layer_norm(x, g, b):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


def adam(p, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v


X = np.random.default_rng(0).normal(size=(64, 200)).astype(np.float32)
W = np.ones(200, np.float32)


@pytest.mark.parametrize(("fun", "args"), [
    (nn.selu, (X,)), (nn.gelu, (X,)), (nn.softmax, (X,)), (nn.log_softmax, (X,)),
    (lambda x: nn.logsumexp(x, axis=-1), (X,)), (layer_norm, (X, W, W)),
    (lambda x: x.var(axis=-1), (X,)), (lambda x: x.std(axis=-1), (X,)),
    (lambda x: x / jnp.sqrt((x * x).sum(-1, keepdims=True)), (X,)),
    (adam, (X, X, X, X)),
    (lambda x: (x[:, ::-1].T * 2)[3:], (X,)),
    (lambda x: jnp.concatenate([x, x * 2], 0) + 1, (X,)),
    (lambda x: jnp.where(x > 0, x, 0).sum(), (X,)),
], ids=lambda v: getattr(v, "__name__", None))
def test_one_kernel(reports, fun, args):
    steps = reports(fun, *args)
    assert [kind for kind, _ in steps] == ["kernel"], steps


def test_a_product_and_what_follows_it(reports):
    steps = reports(lambda x, w, b: nn.relu(x @ w + b), X, X.T.copy(), np.ones(64, np.float32))
    assert [kind for kind, _ in steps] in (["contraction"], ["contraction", "kernel"]), steps


def test_identity_needs_no_kernel(reports):
    assert all(kind == "copy" for kind, _ in reports(lambda x: x.reshape(-1), X))


def test_equal_kernels_are_compiled_once(since):
    x = jnp.ones(33)
    after = since()

    def first(a):
        return jnp.arctan(a * 2) - 1

    def second(other_name):
        y = other_name * 2
        return jnp.arctan(y) - 1

    jitney.jit(first)(x)
    before = after.machine_code
    jitney.jit(second)(x)
    assert after.traces == 2 and after.compiles == 2
    assert after.machine_code == before


def chain(depth, skip):
    def f(x, w):
        for _ in range(depth):
            x = jnp.tanh(x @ w) * 0.5 + (x if skip else 1.0)
        return x
    return f


@pytest.mark.parametrize("skip", [False, True])
def test_equal_layers_are_compiled_once(since, skip):
    x, w = jnp.ones((24, 24)), jnp.ones((24, 24))
    jitney.jit(chain(2, skip))(x, w)
    after = since()
    jitney.jit(chain(12, skip))(x, w)
    assert after.machine_code == 0


def test_float_constants_are_not_in_the_code(since):
    x = jnp.ones(100)
    jitney.jit(lambda x: jnp.sin(x * 2.5) + 1.25)(x)
    after = since()
    assert np.allclose(jitney.jit(lambda x: jnp.sin(x * 3.5) + 1.75)(x), np.sin(3.5) + 1.75)
    assert after.traces == 1 and after.machine_code == 0


def test_captured_arrays_are_not_in_the_code(since):
    x = jnp.ones(100)

    def with_array(a):
        return jitney.jit(lambda x: jnp.cos(x) * a)

    first, second = jnp.arange(100.0), jnp.arange(100.0) + 1
    with_array(first)(x)
    after = since()
    out = with_array(second)(x)
    assert np.allclose(out, np.cos(1) * np.arange(1, 101))
    assert after.machine_code == 0


def test_a_new_size_compiles_nothing(since):
    f = jitney.jit(lambda x: jnp.exp(x) * 2 - x)
    for n in (1024, 1001, 8192, 70_001):  # that whole vectors do and do not fill; a long loop
        f(jnp.ones(n))
    arguments = [jnp.ones(n) for n in (333, 777, 2048, 4096, 5001, 100_000, 123_457, 300_001)]
    after = since()
    for x in arguments:
        assert np.allclose(f(x), np.exp(1) * 2 - 1)
    assert after.traces == len(arguments)
    assert after.machine_code == 0


def test_a_new_size_of_rows_compiles_nothing(since):
    f = jitney.jit(lambda x: nn.softmax(x, axis=-1))
    for n in (1024, 1001, 2000):  # of long rows fewer are in the first cache at a time
        f(jnp.ones((64, n)))
    arguments = [jnp.ones(shape) for shape in ((65, 1024), (128, 999), (31, 2048), (77, 1111))]
    after = since()
    for x in arguments:
        assert np.allclose(f(x), 1 / x.shape[1])
    assert after.machine_code == 0


def test_eager_and_compiled_code_are_the_same(since):
    x = jnp.ones(50)
    jnp.arcsinh(x)
    after = since()
    jitney.jit(lambda v: jnp.arcsinh(v))(x)
    assert after.machine_code == 0


def test_of_a_chain_that_kernels_share_the_end_is_stored(reports):
    """Not each of its steps, which the kernel of the end computes."""
    def f(x, angles):
        turns = jnp.exp(1j * angles)
        return jnp.concatenate([x * turns, (x + 1) * turns[::-1]], axis=1)

    x, angles = (X + 1j).astype(np.complex64), np.linspace(0, 3, 200).astype(np.float32)
    assert len(reports(f, x, angles)) <= 6
    turns = np.exp(1j * angles)
    want = np.concatenate([x * turns, (x + 1) * turns[::-1]], axis=1)
    np.testing.assert_allclose(jitney.jit(f)(x, angles), want, atol=1e-5)


@pytest.mark.parametrize("fun", [lambda x: x.var(), lambda x: (x - x.mean(keepdims=True)).sum()])
def test_a_mean_of_all_is_not_stored_at_the_size_of_all(fun):
    x = np.random.default_rng(1).normal(size=(400, 300)).astype(np.float32)
    compiled = jitney.jit(fun).lower(x).compile()
    workspace = int(compiled.as_text().split("workspace ")[1].split()[0])
    assert workspace < x.nbytes / 100
    np.testing.assert_allclose(compiled(x), fun(x.astype(np.float64)), rtol=1e-4, atol=0.1)
