"""Losses of rows that are averaged, and the like, are stored by the kernel of the rows."""

import numpy as np
import pytest
import scipy.special

import jitney as jax
import jitney.numpy as jnp
from jitney.fuse import choose_stored, store_ends


def logits(count=512, width=64, seed=0):
    return np.random.default_rng(seed).standard_normal((count, width)).astype("float32")


LABELS = np.random.default_rng(7).integers(-64, 64, 512).astype("int32")


def cross_entropy(x, labels):
    picked = jnp.take_along_axis(x, labels[:, None], 1)[:, 0]
    return (jax.nn.logsumexp(x, -1) - picked).mean()


def cosine(x, y):
    return ((x * y).sum(-1) / jnp.sqrt((x * x).sum(-1) * (y * y).sum(-1))).mean()


def deviation(x):
    return jnp.sqrt((x * x).mean(-1) - x.mean(-1) ** 2).sum()


def stored(fun, *args) -> int:
    """How many ends are found in a program."""
    seen = []

    def watched(graph):
        seen.append(store_ends.store_ends(graph))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JITNEY_CACHE_DIR", "")
        patch.setattr(choose_stored, "store_ends", watched)
        jax.clear_caches()
        jax.block_until_ready(jax.jit(lambda *args: fun(*args))(*args))
    return max(map(len, seen))


def results_stored(fun, *args) -> int:
    """How many arrays the kernel writes that reads the rows."""
    text = jax.explain(fun, *args, rounds=1).as_text("kernels")
    first = text.split("\n[1]")[0]
    return next(line for line in first.splitlines() if "buffers" in line).count(":out")


ENDS = {
    "cross entropy": (cross_entropy, logits(), LABELS),
    "cosine": (cosine, logits(), logits(seed=1)),
    "deviation": (deviation, logits()),
}


@pytest.mark.parametrize("name", ENDS)
def test_one_number_a_row(name):
    assert results_stored(*ENDS[name]) == 1


def test_what_is_left_alone():
    """Results that others read, of other rows, of columns, of few elements, and a single one."""
    x, y = logits(), logits(seed=1)
    assert stored(cosine, x, y) and not stored(cosine, x[:100], y[:100])
    assert not stored(lambda x, y: (cosine(x, y), (x * x).sum(-1), (y * y).sum(-1),
                                    (x * y).sum(-1)), x, y)  # fmt: skip
    assert not stored(lambda x: jnp.sqrt((x * x).mean(0) - x.mean(0) ** 2).sum(), x)
    assert not stored(lambda x: jnp.sqrt((x * x).sum(-1)).sum(), x)
    assert not stored(lambda x, y: (x.sum(-1) * y[:, :32].sum(-1)).sum(), x, y)


def test_values():
    x, y = logits(), logits(seed=1)
    wide = x.astype(float)
    total = scipy.special.logsumexp(wide, -1)
    picked = np.take_along_axis(wide, LABELS[:, None], 1)[:, 0]
    got = jax.jit(cross_entropy)(x, LABELS)
    np.testing.assert_allclose(got, (total - picked).mean(), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(cosine)(x, y), cosine(wide, y.astype(float)), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(deviation)(x), wide.std(-1).sum(), rtol=1e-5)


def test_gradients():
    x = logits()
    got = jax.jit(jax.grad(cross_entropy))(x, LABELS)
    expected = scipy.special.softmax(x.astype(float), -1)
    expected[np.arange(512), LABELS] -= 1
    np.testing.assert_allclose(got, expected / 512, rtol=1e-4, atol=1e-8)
