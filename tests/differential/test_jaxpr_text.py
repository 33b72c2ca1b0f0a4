"""The text of traced programs is JAX's, letter by letter."""

import numpy as np
import pytest
from compare import evaluate, pool
from known import expecting

PROGRAMS = """
    lambda x: x + 1
    lambda x: 2 * x - y
    lambda x: jnp.sin(x) @ m
    lambda x: jnp.sum(x, axis=1)
    lambda x: jnp.mean(x)
    lambda x: jnp.max(x, axis=0, keepdims=True)
    lambda x: jnp.argmax(x, axis=1)
    lambda x: x.T
    lambda x: x.reshape(4, 3)
    lambda x: jnp.concatenate([x, y])
    lambda x: x[0]
    lambda x: x[:, 1:3]
    lambda x: x[i]
    lambda x: x[::-1]
    lambda x: x.at[0].set(1.)
    lambda x: x.at[i].add(2.)
    lambda x: jnp.where(x > 0, x, 0)
    lambda x: jnp.clip(x, 0, 1)
    lambda x: x ** 2
    lambda x: x ** 2.5
    lambda x: x ** y
    lambda x: x / 3
    lambda x: x // 2
    lambda x: x % 2
    lambda x: -abs(x)
    lambda x: x == y
    lambda x: (x > 0) & (y < 1)
    lambda x: jnp.logical_not(x)
    lambda x: jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True)
    lambda x: nn.softmax(x)
    lambda x: nn.relu(x)
    lambda x: nn.gelu(x)
    lambda x: nn.logsumexp(x)
    lambda x: jnp.dot(x, m, preferred_element_type='float32')
    lambda x: jnp.einsum('ij,kj->ik', x, y)
    lambda x: jnp.tensordot(x, y, 2)
    lambda x: jnp.cumsum(x, axis=1)
    lambda x: jnp.sort(x, axis=0)
    lambda x: jnp.argsort(x)
    lambda x: jnp.stack([x, y])
    lambda x: jnp.pad(x, 1)
    lambda x: jnp.tile(x, 2)
    lambda x: jnp.repeat(x, 2, axis=0)
    lambda x: jnp.roll(x, 1, axis=0)
    lambda x: jnp.broadcast_to(x, (2, 3, 4))
    lambda x: jnp.arange(3) + x[:, 0]
    lambda x: jnp.ones((2, 2)) + x[0, 0]
    lambda x: jnp.linspace(0, 1, 5)
    lambda x: x.astype('int32')
    lambda x: lax.fori_loop(0, 3, lambda k, c: c * 2, x)
    lambda x: lax.fori_loop(0, x[0, 0].astype(int), lambda k, c: c * 2, x)
    lambda x: lax.while_loop(lambda c: c[0, 0] < 3, lambda c: c + 1, x)
    lambda x: lax.scan(lambda c, r: (c + r, c), x[0], x)
    lambda x: lax.cond(x[0, 0] > 0, lambda a: a, lambda a: a + 1, x)
    lambda x: lax.switch(i[0], [lambda a: a, lambda a: a + 1], x)
    lambda x: lax.map(jnp.sin, x)
    lambda x: jax.jit(lambda a: a * 2)(x)
    lambda x: jax.grad(lambda a: jnp.sum(jnp.sin(a)))(x)
    lambda x: jax.vmap(lambda a: jnp.dot(a, a))(x)
    lambda x: jax.jvp(jnp.tanh, (x,), (x,))
    lambda x: jax.value_and_grad(lambda a: jnp.mean((a @ m) ** 2))(x)
    lambda x: jax.checkpoint(jnp.sin)(x)
    lambda x: lax.top_k(x, 2)
    lambda x: lax.conv_general_dilated(x[None, None], x[None, None, :2, :2], (1, 1), 'SAME')
    lambda x: lax.reduce_window(x, 0., lax.add, (2, 2), (1, 1), 'VALID')
    lambda x: random.uniform(random.key(0), (2,))
    lambda x: random.normal(random.key(0), (2,)) + x[0, 0]
    lambda x: jnp.var(x, axis=0)
    lambda x: jnp.take(x, i, axis=1)
    lambda x: jnp.squeeze(x[None])
    lambda x: jnp.outer(x[0], x[1])
    lambda x: {'a': x, 'b': (x + 1, None)}
"""
LINES = [line.strip() for line in PROGRAMS.splitlines() if line.strip()]


@pytest.mark.parametrize("line", LINES)
def test_text(line):
    arrays = pool("float32", "float32", 0)
    text = f"str(jax.make_jaxpr({line})(x))"
    want, got = (evaluate(name, text, arrays, False) for name in ("jax", "jitney"))
    if want.error is not None:
        raise want.error
    if got.error is not None:
        raise got.error
    with expecting(f"text {line}", "float32"):
        assert got.leaves[0][0] == want.leaves[0][0]


def test_helpers_agree():
    """The pool does not depend on the package."""
    first, second = pool("int8", "bool", 3), pool("int8", "bool", 3)
    assert all(np.array_equal(first[k], second[k]) for k in first)
