"""Dot-product attention against its definition, one head at a time."""

import numpy as np
import pytest

from jitney import nn
from jitney import numpy as jnp

RNG = np.random.default_rng(0)
Q = RNG.normal(size=(2, 5, 4, 8)).astype(np.float32)
K, V = (RNG.normal(size=(2, 7, 2, 8)).astype(np.float32) for _ in range(2))


def reference(q, k, v, allowed=None, bias=0.0, scale=8**-0.5):
    """One matrix product a head; query heads 2i, 2i + 1 share keys and values i."""
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    scores = np.einsum("bthd,bshd->bhts", q, k) * scale + bias
    if allowed is not None:
        scores = np.where(allowed, scores, -1e30)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhts,bshd->bthd", weights, v)


def close(ours, wanted):
    np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)


def test_plain_and_without_a_batch():
    close(nn.dot_product_attention(Q, K, V), reference(Q, K, V))
    close(nn.dot_product_attention(Q[0], K[0], V[0]), reference(Q, K, V)[0])


def test_masks():
    t, s = np.arange(5)[:, None], np.arange(7)[None]
    close(nn.dot_product_attention(Q, K, V, is_causal=True), reference(Q, K, V, t >= s))
    close(nn.dot_product_attention(Q, K, V, local_window_size=(2, 1)),
          reference(Q, K, V, (t <= s + 2) & (t >= s - 1)))
    mask = RNG.random((2, 4, 5, 7)) > 0.3
    close(nn.dot_product_attention(Q, K, V, mask=mask, scale=0.5),
          reference(Q, K, V, mask, scale=0.5))


def test_lengths_and_bias():
    lengths, key_lengths = np.array([3, 5], np.int32), np.array([4, 7], np.int32)
    bias = RNG.normal(size=(1, 4, 5, 7)).astype(np.float32)
    ours = nn.dot_product_attention(Q, K, V, bias, query_seq_lengths=lengths,
                                    key_value_seq_lengths=key_lengths)
    wanted = reference(Q, K, V, np.arange(7) < key_lengths[:, None, None, None], bias)
    close(ours, wanted * (np.arange(5) < lengths[:, None])[:, :, None, None])


def test_residual():
    _, residual = nn.dot_product_attention(Q, K, V, return_residual=True)
    scores = np.einsum("bthd,bshd->bths", Q, np.repeat(K, 2, axis=2)) * 8**-0.5
    close(residual, np.log(np.exp(scores).sum(-1)))


@pytest.mark.parametrize("change, says", [
    ({"mask": np.ones((2, 4, 5, 7))}, "mask dtype should be bool"),
    ({"value": V[:1]}, "value shape should be"),
    ({"key": K[:, :, :1].repeat(3, 2), "value": V[:, :, :1].repeat(3, 2)}, "must be a multiple"),
    ({"query_seq_lengths": np.ones(3, np.int32)}, "query_seq_lengths shape"),
    ({"implementation": "other"}, "Unsupported implementation"),
])
def test_what_is_refused(change, says):
    with pytest.raises(ValueError, match=says):
        nn.dot_product_attention(**{"query": Q, "key": K, "value": V, **change})


def test_scaled_matmul():
    a, b = RNG.normal(size=(1, 3, 8)), RNG.normal(size=(1, 4, 8))
    scales = np.float32([[[2.0, 0.5]] * 3]), np.float32([[[1.0, 4.0]] * 4])
    ours = nn.scaled_matmul(jnp.array(a), jnp.array(b), *scales)
    wide = [x * np.repeat(s, 4, axis=2) for x, s in zip((a, b), scales)]
    close(ours, np.einsum("bmk,bnk->bmn", *wide))
