"""A table of small programs over every kind of kernel: name -> (function, arguments).

Sizes are large enough to be cut into pieces, so that a result that depended on the number of
threads would show. `python programs.py FILE` runs them all and stores the results.
"""

import sys

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney import lax, nn, random

_rng = np.random.default_rng(7)
_vector = _rng.normal(size=300_001).astype(np.float32)
_matrix = _rng.normal(size=(700, 513)).astype(np.float32)
_left = _rng.normal(size=(257, 190)).astype(np.float32)
_right = _rng.normal(size=(190, 321)).astype(np.float32)
_stack = _rng.normal(size=(6, 65, 70)).astype(np.float32)
_integers = _rng.integers(0, 97, 200_003).astype(np.int32)
_image = _rng.normal(size=(2, 33, 31, 8)).astype(np.float32)
_filter = _rng.normal(size=(3, 3, 8, 16)).astype(np.float32)


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def convolution(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME",
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def attention(q, k, v):
    weights = nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k) / 8.0)
    return jnp.einsum("bqk,bkd->bqd", weights, v)


PROGRAMS = {
    "elementwise": (lambda x: jnp.sin(x) * 2 + jnp.exp(-x * x), (_vector,)),
    "sum": (jnp.sum, (_vector,)),
    "sum_rows": (lambda x: x.sum(1), (_matrix,)),
    "sum_columns": (lambda x: x.sum(0), (_matrix,)),
    "mean_var": (lambda x: (x.mean(), x.var()), (_vector,)),
    "product": (lambda x: jnp.prod(1 + x * 1e-2), (_vector[:20_001],)),
    "max_argmax": (lambda x: (x.max(0), x.argmax(1)), (_matrix,)),
    "logsumexp": (lambda x: nn.logsumexp(x, axis=1), (_matrix,)),
    "softmax": (lambda x: nn.softmax(x, axis=-1), (_matrix,)),
    "softmax_columns": (lambda x: nn.softmax(x, axis=0), (_matrix,)),
    "layer_norm": (layer_norm, (_matrix,)),
    "norm": (lambda x: jnp.sqrt((x * x).sum()), (_matrix,)),
    "matmul": (jnp.matmul, (_left, _right)),
    "matmul_bias_relu": (lambda a, b: nn.relu(a @ b + b[0]), (_left, _right)),
    "matvec": (lambda a, b: a @ b[:, 0], (_left, _right)),
    "batched_matmul": (lambda a: a @ a.swapaxes(1, 2), (_stack,)),
    "attention": (attention, (_stack, _stack, _stack)),
    "convolution": (convolution, (_image, _filter)),
    "pooling": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1),
                                            "VALID"), (_image,)),
    "transpose": (lambda x: x.T * 2, (_matrix,)),
    "sort": (jnp.sort, (_vector,)),
    "argsort": (jnp.argsort, (_integers,)),
    "sort_rows": (lambda x: jnp.sort(x, axis=1), (_matrix,)),
    "top_k": (lambda x: lax.top_k(x, 17), (_matrix,)),
    "gather": (lambda x, i: x[i], (_vector, _integers)),
    "scatter_add": (lambda x, i: jnp.zeros(97).at[i].add(x[: i.size]), (_vector, _integers)),
    "scatter_set": (lambda x, i: x.at[i].set(1.5), (_vector, _integers)),
    "cumsum": (jnp.cumsum, (_vector,)),
    "cumsum_columns": (lambda x: jnp.cumsum(x, axis=0), (_matrix,)),
    "cumprod_cummax": (lambda x: (jnp.cumprod(1 + x * 1e-2), lax.cummax(x)), (_vector[:70_001],)),
    "bincount": (lambda i: jnp.bincount(i, length=97), (_integers,)),
    "normal": (lambda: random.normal(random.key(3), (50_001,)), ()),
    "bits": (lambda: random.bits(random.key(4), (70_001,)), ()),
    "permutation": (lambda: random.permutation(random.key(5), 5000), ()),
    "bfloat16": (lambda x: (x.astype(jnp.bfloat16) * 3).sum(1), (_matrix,)),
    "complex": (lambda x: jnp.abs((x + 1j * x[::-1]) ** 2).sum(), (_vector[:9999],)),
}

if hasattr(lax, "fori_loop"):
    PROGRAMS["histogram"] = (lambda x: jnp.histogram(x, 33)[0], (_vector,))


def run(name):
    """The results of one program as NumPy arrays."""
    fun, args = PROGRAMS[name]
    outs = jitney.jit(fun)(*map(jnp.asarray, args))
    return [np.asarray(x) for x in jitney.tree.leaves(outs)]


def run_all():
    return {f"{name}/{i}": x for name in PROGRAMS for i, x in enumerate(run(name))}


def as_words(arrays):
    """NumPy's own types only, so that a file can hold them."""
    return {k: x.astype(np.float32) if x.dtype.name == "bfloat16" else x
            for k, x in arrays.items()}


if __name__ == "__main__":
    np.savez(sys.argv[1], **as_words(run_all()))
