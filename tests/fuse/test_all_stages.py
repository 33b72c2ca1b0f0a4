"""Programs people write give one answer at every stage of the compiler."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.backend.host import host_target
from jitney.base import debug
from jitney.testing.stages import check_all_stages


def softmax(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


PROGRAMS = {
    "selu": lambda x: 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67),
    "softmax": softmax,
    "softmax of columns": lambda x: softmax(x.T).T,
    "layer norm": layer_norm,
    "two layer norms": lambda x: layer_norm(layer_norm(x) * 2 + 1),
    "variance": lambda x: (x.var(0), x.std(1), x.mean()),
    "log sum exp": lambda x: jnp.log(jnp.exp(x - x.max()).sum()) + x.max(),
    "distances": lambda x: jnp.sqrt(((x[:, None, :3] - x[None, :, :3]) ** 2).sum(-1)),
    "outer": lambda x: jnp.outer(x[0], x[:, 0]).sum(0),
    "transposed add": lambda x: x.T + x[:, ::-1].T,
    "stencil": lambda x: x.at[1:-1, 1:-1].set(
        0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    ),
    "roll and stack": lambda x: jnp.stack([jnp.roll(x, 1, 0), jnp.flip(x, 1), x * 2]),
    "argmax": lambda x: (jnp.argmax(x, 0), jnp.argmin(x, 1), jnp.argmax(x)),
    "masked": lambda x: jnp.where(jnp.tril(jnp.ones(x.shape, bool)), x, -1e30).max(1),
    "rows": lambda x: x[jnp.array([3, 0, -1])] + x[2],
    "integers": lambda x: (jnp.floor(x * 10).astype(int) // 3, jnp.round(x).astype(int) % 4),
    "bits": lambda x: lax.bitcast_convert_type(x, jnp.uint32) >> 9,
    "normalised twice": lambda x: x / jnp.linalg.norm(x) if hasattr(jnp, "norm") else x / x.sum(),
    "used twice": lambda x: (jnp.exp(x).sum(0), jnp.exp(x) * 2, jnp.exp(x).max(1)),
    "matmul": lambda x: jnp.tanh(x @ x.T + x[:, 0]),
    "einsum": lambda x: jnp.einsum("ij,kj,k->ik", x, x, x[:, 0]),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("shape", [(5, 7), (17, 33)])
def test_one_answer_at_every_stage(name, shape):
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    check_all_stages(PROGRAMS[name], x)


def test_a_reshaped_result_of_the_same_kernel_is_not_loaded():
    """Its buffer is being written by that very kernel."""

    def f(x, y):
        total = jnp.exp(x) + y
        return total, y - (2 * total.reshape(())).reshape(1)

    x = np.ones(1, np.float32)
    np.testing.assert_allclose(jitney.jit(f)(x, x)[1], 1 - 2 * (np.exp(x) + 1), rtol=1e-6)
    check_all_stages(f, x, x)


def test_a_product_of_rows_marked_by_their_greatest_element():
    """A reduction that is the root of a kernel is not loaded from the place it is written to."""

    def f(a, b):
        mark = jnp.arange(3)[:, None] == jnp.argmax(jnp.abs(a), axis=0)[None, :]
        row = jnp.sum(a * b, axis=0)[None]
        x, y = jnp.where(mark, row, 0.0) + b, jnp.where(mark, row, 0.0) - b * row
        return x.T @ a - y.T @ b, x.T @ b + y.T @ a

    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(3, 3)).astype(np.float32) for _ in range(2))
    for got, want in zip(jitney.jit(f)(a, b), f(a, b), strict=True):
        np.testing.assert_allclose(got, want, 1e-5, 1e-5)


@pytest.mark.parametrize("size", [1, 3])
def test_programs_of_complex_numbers_can_be_checked(size, monkeypatch):
    """The check of whole programs (JITNEY_CHECK=2) sees pairs of numbers on both sides."""
    monkeypatch.setattr(debug, "check_level", lambda: 2)
    z = np.full(size, 1 + 2j, np.complex64)
    np.testing.assert_allclose(jitney.jit(lambda z: 1j * z * z + size)(z), 1j * z * z + size)


def test_programs_of_keys_can_be_checked(monkeypatch):
    monkeypatch.setattr(debug, "check_level", lambda: 2)
    key, other = jitney.jit(lambda k: (k, jitney.random.fold_in(k, 7)))(jitney.random.key(3))
    assert jitney.random.key_data(key).tolist() == [0, 3]
    assert jitney.random.key_data(other).shape == (2,)


@pytest.mark.parametrize("shape, order, streams", [
    ((2048, 2064), (1, 0), True), ((2047, 2064), (1, 0), False), ((160, 130, 256), (2, 1, 0), True),
    ((130, 160, 256), (2, 1, 0), False), ((512, 512), (1, 0), False),
])  # fmt: skip
def test_large_transposes_of_whole_lines_go_past_the_caches(shape, order, streams):
    x = np.random.default_rng(0).random(shape, np.float32)
    f = jitney.jit(lambda x: jnp.transpose(x, order) * 2)
    np.testing.assert_array_equal(f(x), x.transpose(order) * 2)
    if host_target().avx512:
        assert (" stream" in f.lower(x).compile().as_text()) == streams
