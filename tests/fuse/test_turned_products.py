"""A product that is read transposed only is formed transposed."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.testing.stages import check_all_stages

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 40, 17)).astype(np.float32)
B = RNG.normal(size=(3, 40, 29)).astype(np.float32)
BATCHED = (((1,), (1,)), ((0,), (0,)))


def turned(a, b):
    return jnp.transpose(lax.dot_general(a, b, BATCHED), (0, 2, 1))


PROGRAMS = {
    "as an output": turned,
    "updated": lambda a, b: 1.0 - 0.5 * turned(a, b),
    "in a product": lambda a, b: turned(a, b) @ lax.slice(a, (0, 0, 0), (3, 17, 17)),
    "summed": lambda a, b: turned(a, b).sum(1),
    "joined": lambda a, b: jnp.concatenate([turned(a, b), turned(a, b) * 2], axis=2),
    "read both ways": lambda a, b: (turned(a, b), lax.dot_general(a, b, BATCHED) + 1),
    "sides within": lambda a, b: jnp.transpose(
        lax.dot_general(a.reshape(3, 40, 1, 17), b, BATCHED), (0, 3, 2, 1)
    ),
    "in a loop": lambda a, b: lax.fori_loop(
        0, 3, lambda _, c: c + turned(a * c[0, 0, 0], b), jnp.zeros((3, 29, 17))
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_answer_at_every_stage(name):
    check_all_stages(PROGRAMS[name], A, B, rtol=2e-4, atol=2e-4)


def test_a_gradient_step_transposes_nothing():
    def step(w, x, y):
        gradient = jitney.grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - 0.1 * gradient

    w, x, y = np.ones((90, 70), np.float32), A[0].repeat(6, 1)[:, :90], B[0].repeat(3, 1)[:, :70]
    text = jitney.jit(step).lower(w, x, y).compile().as_text()
    assert "tile" not in text, text
    want = w - 0.1 * 2 * x.T @ (x @ w - y) / (40 * 70)
    np.testing.assert_allclose(jitney.jit(step)(w, x, y), want, rtol=1e-4, atol=1e-4)
