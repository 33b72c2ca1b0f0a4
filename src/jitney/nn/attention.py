"""Scaled dot-product attention, and products of block-scaled matrices.

In: queries [B,] T, N, H; keys and values [B,] S, K, H with N a multiple of K. Out: [B,] T, N, H.
Invariant: scores and softmax are computed in at least float32, whatever the dtype of the inputs.
"""

from __future__ import annotations

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.base import dtypes
from jitney.base.unsupported import unsupported_function
from jitney.nn.normalisation import logsumexp, softmax

_MASKED = -0.7 * float(np.finfo(np.float32).max)


def dot_product_attention(query, key, value, bias=None, mask=None, *, scale=None, is_causal=False,
                          query_seq_lengths=None, key_value_seq_lengths=None,
                          local_window_size=None, implementation=None, return_residual=False):
    """softmax(scale · query keyᵀ + bias, where mask) value, for each head.

    Heads of keys and values are shared by groups of query heads where there are fewer of them.
    `return_residual` also gives the log of the softmax's denominators.
    """
    if implementation == "cudnn":
        raise RuntimeError("cuDNN is not detected.")
    if implementation not in (None, "xla"):
        raise ValueError(f"Unsupported implementation option: {implementation}")
    out_shape = jnp.shape(query)
    query, key, value = (_with_batch(x) for x in (query, key, value))
    bias, mask = (None if x is None else _with_batch(x) for x in (bias, mask))
    if query_seq_lengths is not None:
        query_seq_lengths = jnp.asarray(query_seq_lengths)
    if key_value_seq_lengths is not None:
        key_value_seq_lengths = jnp.asarray(key_value_seq_lengths)
    if isinstance(local_window_size, int):
        local_window_size = (local_window_size, local_window_size)
    _check(query, key, value, bias, mask, query_seq_lengths, key_value_seq_lengths)
    if scale is None:
        scale = 1.0 / np.sqrt(key.shape[-1])
    out, residual = _attend(query, key, value, bias, mask, scale, is_causal, query_seq_lengths,
                            key_value_seq_lengths, local_window_size, return_residual)
    out = jnp.reshape(out, out_shape)
    return (out, jnp.reshape(residual, out_shape[:-1])) if return_residual else out


def _with_batch(x):
    x = jnp.asarray(x)
    return x if x.ndim >= 4 else x[None]


def _check(query, key, value, bias, mask, query_lengths, key_lengths) -> None:
    batch, keys, kv_heads, width = key.shape

    def check(x, shape, dtype, name):
        if x is None:
            return
        if x.ndim != len(shape):
            raise ValueError(f"{name} ndim should be {len(shape)}, but got {x.ndim}")
        if dtype is not None and x.dtype != dtype:
            raise ValueError(f"{name} dtype should be {dtype}, but got {x.dtype}")
        for found, wanted in zip(x.shape, shape):
            if wanted not in (-1, found):
                raise ValueError(f"{name} shape should be {shape}: but got {x.shape}")

    check(value, [batch, keys, kv_heads, width], key.dtype, "value")
    check(query, [batch, -1, -1, width], key.dtype, "query")
    check(mask, [-1] * 4, np.dtype(bool), "mask")
    check(bias, [-1] * 4, None, "bias")
    check(query_lengths, [batch], np.dtype(np.int32), "query_seq_lengths")
    check(key_lengths, [batch], np.dtype(np.int32), "key_value_seq_lengths")
    if query.shape[-2] % kv_heads:
        raise ValueError("The number of query heads must be a multiple of key/value heads, but got "
                         f"{query.shape[-2]} vs {kv_heads}")


def _by_group(x, kv_heads):
    """[b, n, t, s] -> [b, kv_heads, groups, t, s], a single head for all staying single."""
    if x.shape[1] == 1:
        return x[:, :, None]
    return jnp.reshape(x, (x.shape[0], kv_heads, -1, *x.shape[2:]))


def _attend(query, key, value, bias, mask, scale, is_causal, query_lengths, key_lengths, window,
            with_residual):
    batch, queries, heads, width = query.shape
    kv_heads = key.shape[2]
    grouped = jnp.reshape(query, (batch, queries, kv_heads, heads // kv_heads, width))
    wide = jnp.promote_types(query.dtype, np.float32)
    scores = jnp.einsum("btkgh,bskh->bkgts", grouped, key, preferred_element_type=wide)
    scores = scores * np.asarray(scale, scores.dtype)
    if bias is not None:
        scores = scores + _by_group(bias, kv_heads).astype(scores.dtype)
    allowed = _allowed(queries, key.shape[1], is_causal, query_lengths, key_lengths, window)
    if mask is not None:
        given = _by_group(mask, kv_heads)
        allowed = given if allowed is None else given & allowed
    if allowed is not None:
        scores = jnp.where(allowed, scores, np.asarray(_MASKED, scores.dtype))
    weights = softmax(scores, axis=-1).astype(key.dtype)
    out = jnp.einsum("bkgts,bskh->btkgh", weights, value)
    if query_lengths is not None:
        inside = jnp.arange(queries)[None, :] < query_lengths[:, None]
        out = out * inside[:, :, None, None, None].astype(out.dtype)
    residual = None
    if with_residual:
        logs = lax.stop_gradient(logsumexp(scores, axis=-1))
        residual = jnp.transpose(logs, (0, 3, 1, 2)).astype(key.dtype)
    return out, residual


def _allowed(queries, keys, is_causal, query_lengths, key_lengths, window):
    """Which key each query may see, as [b or 1, 1, 1, t, s]; None when every one."""
    row, column = jnp.arange(queries)[:, None], jnp.arange(keys)[None, :]
    masks = []
    if is_causal:
        masks.append((row >= column)[None])
    if window is not None:
        left, right = window
        masks.append(((row <= column + left) & (row >= column - right))[None])
    if query_lengths is not None:
        masks.append(row[None] < query_lengths[:, None, None])
    if key_lengths is not None:
        masks.append(column[None] < key_lengths[:, None, None])
    if not masks:
        return None
    allowed = masks[0]
    for mask in masks[1:]:
        allowed = allowed & mask
    return allowed[:, None, None]


# --- block-scaled products ---------------------------------------------------------------------


def scaled_matmul(lhs, rhs, lhs_scales, rhs_scales, preferred_element_type=np.float32):
    """lhs rhsᵀ for each batch, both scaled by blocks along the contracted (last) axis."""
    lhs, rhs, lhs_scales, rhs_scales = map(jnp.asarray, (lhs, rhs, lhs_scales, rhs_scales))
    if lhs.ndim != 3 or rhs.ndim != 3:
        raise ValueError("scaled_matmul requires all inputs to be 3-dimensional arrays, but got "
                         f"{lhs.shape} and {rhs.shape}")
    if lhs.shape[0] != rhs.shape[0] or lhs.shape[2] != rhs.shape[2]:
        raise ValueError("scaled_matmul requires inputs a and b to have matching batch (B) and "
                         f"contract (K) dimensions, but got shapes {lhs.shape} and {rhs.shape}")
    for x, scales in ((lhs, lhs_scales), (rhs, rhs_scales)):
        if scales.ndim != 3 or x.shape[2] % scales.shape[2] or x.shape[:2] != scales.shape[:2]:
            raise ValueError(f"scaled_matmul: scales of shape {scales.shape} do not divide a "
                             f"matrix of shape {x.shape} in blocks")
    wide = [_scaled(x, s) for x, s in ((lhs, lhs_scales), (rhs, rhs_scales))]
    product = jnp.einsum("bmk,bnk->bmn", *wide, preferred_element_type=np.float32)
    return product.astype(preferred_element_type)


def _scaled(x, scales):
    size = x.shape[2] // scales.shape[2]
    return x.astype(np.float32) * jnp.repeat(scales.astype(np.float32), size, axis=2)


def scaled_dot_general(lhs, rhs, dimension_numbers, preferred_element_type=np.float32,
                       configs=None, implementation=None):
    """dot_general; quantisation by blocks needs hardware that is not here."""
    if implementation is not None:
        raise NotImplementedError(f"scaled_dot_general: implementation {implementation!r} needs "
                                  "a GPU")
    if configs is not None:
        raise NotImplementedError("scaled_dot_general quantises its operands for tensor cores; on "
                                  "CPUs pass configs=None")
    wanted = dtypes.canonicalize_dtype(preferred_element_type)
    return lax.dot_general(lhs, rhs, dimension_numbers, preferred_element_type=wanted)


get_scaled_dot_general_config = unsupported_function(
    "jax.nn.get_scaled_dot_general_config", "formats with scales for blocks are for tensor cores. "
    "On CPUs call scaled_dot_general with configs=None, or scaled_matmul.")


__all__ = ["dot_product_attention", "get_scaled_dot_general_config", "scaled_dot_general",
           "scaled_matmul"]
