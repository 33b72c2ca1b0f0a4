"""References that NumPy and SciPy do not have under the name or with the arguments of JAX."""

from __future__ import annotations

import numpy as np
import scipy

# --- arrays ------------------------------------------------------------------------------------


def clip(x, min=None, max=None):
    return np.clip(x, min, max)


def astype(x, dtype):
    return x.astype(dtype)


def roll(x, shift):
    return np.roll(x, int(shift))


def fill_diagonal(x, value, inplace):
    x = x.copy()
    np.fill_diagonal(x, value)
    return x


def put_along_axis(x, index, value, axis, inplace):
    x = x.copy()
    np.put_along_axis(x, index, value, axis)
    return x


def put(x, index, value, mode="raise", inplace=False):
    x = x.copy()
    np.put(x, index, value, mode=mode)
    return x


def place(x, mask, value, inplace):
    x = x.copy()
    np.place(x, mask, value)
    return x


def searchsorted(a, v, side="left", method=None):
    return np.searchsorted(a, v, side)


def argsort(x, axis=-1, stable=True):
    return np.argsort(x, axis, kind="stable")


def nonzero(x, size, fill_value=0):
    found = np.full((x.ndim, size), fill_value)
    for row, places in zip(found, np.nonzero(x)):
        row[:len(places)] = places
    return tuple(found)


def sorted_unique(x):
    return np.sort(np.unique_values(x))


def bincount(x, weights=None, length=0, **options):
    return np.bincount(x, options.get("weights", weights), length)


def roots(p, strip_zeros=True):
    return np.roots(p)


# --- products ----------------------------------------------------------------------------------


def vecdot(x, y, axis=-1):
    return (x.conj() * y).sum(axis)


def matvec(m, v):
    return (m * v[..., None, :]).sum(-1)


def vecmat(v, m):
    return (v.conj()[..., :, None] * m).sum(-2)


def cov(x, y=None, **options):
    return np.cov(x, y, **options)


def polydiv(u, v):
    """Quotient and remainder; the remainder keeps its leading zeros."""
    quotient, rest = np.polydiv(u, v)
    return quotient, np.concatenate([np.zeros(len(u) - len(rest)), rest])


# --- lax: elementwise --------------------------------------------------------------------------


def same(*arrays):
    return arrays


def logistic(x):
    return 1 / (1 + np.exp(-x))


def rsqrt(x):
    return 1 / np.sqrt(x)


def round_away(x):
    return np.trunc(x + np.copysign(0.5, x))


def _unsigned(x):
    return x.astype(f"uint{8 * x.itemsize}")


def clz(x):
    bits = 8 * x.itemsize
    return np.vectorize(lambda v: bits - int(v).bit_length(), otypes=[x.dtype])(_unsigned(x))


def popcount(x):
    return np.bitwise_count(_unsigned(x))


def integer_pow(x, y):
    return x**y if y >= 0 else 1 / x**-y if x.dtype.kind in "fc" else (np.abs(x) == 1) * x**-y


def truncated(x, y):
    return np.trunc(x / y)


def mulhi(x, y):
    return (x.astype(object) * y.astype(object) >> 8 * x.itemsize).astype(x.dtype)


def complex(x, y):
    return x + 1j * y


def clamp(low, x, high):
    return np.minimum(np.maximum(x, low), high)


def select_n(which, *cases):
    return np.choose(which.astype(int), cases)


def bitcast(x, dtype):
    found = x.view(dtype)
    return found.reshape(*x.shape, -1) if found.size != x.size else found


# --- lax: contractions -------------------------------------------------------------------------


def dot_general(x, y, numbers):
    """By einsum."""
    (sums_x, sums_y), (batch_x, batch_y) = numbers
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    first = [next(letters) for _ in x.shape]
    second = [next(letters) for _ in y.shape]
    for i, j in zip((*sums_x, *batch_x), (*sums_y, *batch_y)):
        second[j] = first[i]
    free = [c for i, c in enumerate(first) if i not in (*sums_x, *batch_x)]
    free += [c for i, c in enumerate(second) if i not in (*sums_y, *batch_y)]
    out = [first[i] for i in batch_x] + free
    return np.einsum(f"{''.join(first)},{''.join(second)}->{''.join(out)}", x, y)


def ragged_dot(x, y, sizes):
    ends = np.cumsum(sizes)
    return np.concatenate([x[e - n:e] @ part for e, n, part in zip(ends, sizes, y)])


def conv(x, kernel, strides, padding, lhs_dilation=None, rhs_dilation=None):
    """A correlation of (N, C, *S) with (O, C, *K), one output element after the other."""
    space = x.ndim - 2
    x = _spread(x, lhs_dilation or (1,) * space)
    kernel = _spread(kernel, rhs_dilation or (1,) * space)
    if isinstance(padding, str):
        padding = [_pads(*sizes, padding)
                   for sizes in zip(x.shape[2:], kernel.shape[2:], strides)]  # fmt: skip
    x = np.pad(x, [(0, 0), (0, 0), *padding])
    found = windows(x, (1, 1, *kernel.shape[2:]))[(..., *(0,) * 2, *(slice(None),) * space)]
    found = found[(slice(None), slice(None), *(slice(None, None, s) for s in strides))]
    return np.moveaxis(np.tensordot(found, kernel, (
        (1, *range(2 + space, 2 + 2 * space)), tuple(range(1, 2 + space)))), -1, 1)  # fmt: skip


def _pads(size, width, stride, kind):
    if kind == "VALID":
        return 0, 0
    total = max((-(-size // stride) - 1) * stride + width - size, 0)
    return total // 2, total - total // 2


def _spread(x, steps):
    """Zeros between the elements of the axes after the second."""
    shape = [(n - 1) * s + 1 for n, s in zip(x.shape[2:], steps)]
    found = np.zeros((*x.shape[:2], *shape), x.dtype)
    found[(slice(None), slice(None), *(slice(None, None, s) for s in steps))] = x
    return found


def windows(x, shape):
    return np.lib.stride_tricks.sliding_window_view(x, shape)


def patches(x, shape, strides, padding):
    found = windows(x, (1, 1, *shape))[..., 0, 0, :]
    return np.moveaxis(found, -1, 2).reshape(x.shape[0], -1, found.shape[2])


# --- lax: arrays -------------------------------------------------------------------------------


def broadcast(x, sizes):
    return np.broadcast_to(x, (*sizes, *x.shape))


def broadcast_in_dim(x, shape, dims):
    places = [x.shape[dims.index(d)] if d in dims else 1 for d in range(len(shape))]
    return np.broadcast_to(x.reshape(places), shape)


def to_rank(x, rank):
    return x.reshape((1,) * (rank - x.ndim) + x.shape)


def broadcast_like(x, like):
    return np.broadcast_to(x, like.shape)


def iota(dtype, shape, dimension=0):
    return np.indices(np.atleast_1d(shape))[dimension].astype(
        np.float64 if "float" in dtype else dtype)  # fmt: skip


def reshape_dims(x, shape, dims):
    return x.transpose(dims).reshape(shape)


def collapse(x, start, stop=None):
    stop = x.ndim if stop is None else stop
    return x.reshape(*x.shape[:start], -1, *x.shape[stop:])


def full_like(x, value, dtype=None, shape=None):
    return np.full_like(x, value, dtype, shape=shape)


def unstack(x, axis=0):
    return list(np.moveaxis(x, axis, 0))


def split(x, sizes, axis=0):
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def pad(x, value, widths):
    """Low, high and inner padding; negative widths cut."""
    for axis, (low, high, inner) in enumerate(widths):
        x = np.moveaxis(x, axis, 0)
        size = max((len(x) - 1) * (inner + 1) + 1, 0)
        found = np.full((size, *x.shape[1:]), value, x.dtype)
        found[::inner + 1] = x
        edge = lambda n, found=found: np.full((max(n, 0), *found.shape[1:]), value, found.dtype)
        found = np.concatenate([edge(low), found, edge(high)])
        found = found[max(-low, 0):len(found) - max(-high, 0)]
        x = np.moveaxis(found, 0, axis)
    return x


def cut(x, starts, limits, strides=None):
    steps = strides or (1,) * x.ndim
    return x[tuple(slice(*part) for part in zip(starts, limits, steps))]


def slice_in_dim(x, start, limit, stride=1, axis=0):
    return np.moveaxis(np.moveaxis(x, axis, 0)[start:limit:stride], 0, axis)


def index_in_dim(x, index, axis=0, keepdims=True):
    found = np.take(x, index, axis)
    return np.expand_dims(found, axis) if keepdims else found


def _starts(x, starts, sizes):
    starts = [int(k) + n if k < 0 else int(k) for k, n in zip(starts, x.shape)]
    return [min(max(k, 0), n - size) for k, n, size in zip(starts, x.shape, sizes)]


def dynamic_slice(x, starts, sizes):
    return x[tuple(slice(k, k + n) for k, n in zip(_starts(x, starts, sizes), sizes))]


def _in_dim(x, start, size, axis):
    starts, sizes = [0] * x.ndim, list(x.shape)
    starts[axis], sizes[axis] = start, size
    return starts, sizes


def dynamic_slice_in_dim(x, start, size, axis=0):
    return dynamic_slice(x, *_in_dim(x, start, size, axis))


def dynamic_index_in_dim(x, index, axis=0, keepdims=True):
    found = dynamic_slice_in_dim(x, index, 1, axis)
    return found if keepdims else found.squeeze(axis)


def dynamic_update_slice(x, update, starts):
    x = x.copy()
    starts = _starts(x, starts, update.shape)
    x[tuple(slice(k, k + n) for k, n in zip(starts, update.shape))] = update
    return x


def dynamic_update_in_dim(x, update, start, axis):
    if update.ndim < x.ndim:
        update = np.expand_dims(update, axis)
    return dynamic_update_slice(x, update, _in_dim(x, start, 1, axis)[0])


def scatter(x, rows, updates, combine=lambda old, new: new):
    """Rows outside of the array are dropped."""
    x = x.copy()
    for row, update in zip(rows, updates):
        if 0 <= row < len(x):
            x[row] = combine(x[row], update)
    return x


def _first_nan(which, x, axis):
    return which(x, axis)                      # NumPy, too, takes the first NaN


def argmax(x, axis, dtype):
    return _first_nan(np.argmax, x, axis)


def argmin(x, axis, dtype):
    return _first_nan(np.argmin, x, axis)


def _cumulative(function):
    def run(x, axis=0, reverse=False):
        if reverse:
            return np.flip(function(np.flip(x, axis), axis), axis)
        return function(x, axis)

    return run


cumsum, cumprod = _cumulative(np.cumsum), _cumulative(np.cumprod)
cummax, cummin = _cumulative(np.maximum.accumulate), _cumulative(np.minimum.accumulate)
cumlogsumexp = _cumulative(np.logaddexp.accumulate)


def top_k(x, k):
    order = np.flip(np.argsort(np.flip(x, -1), -1, kind="stable"), -1)[..., :k]
    order = x.shape[-1] - 1 - order
    return np.take_along_axis(x, order, -1), order


def least_k(x, k):
    values, order = top_k(-x, k)
    return -values, order


# --- linear algebra ----------------------------------------------------------------------------


def solve(a, b, lower=False, assume_a="gen"):
    return np.linalg.solve(a, b)


# --- neural networks ---------------------------------------------------------------------------


def celu(x, alpha=1.0):
    return np.maximum(x, 0) + alpha * np.expm1(np.minimum(x, 0) / alpha)


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(x))


def gelu(x, approximate=True):
    if approximate:
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * scipy.special.ndtr(x)


def glu(x, axis=-1):
    first, second = np.split(x, 2, axis)
    return first * logistic(second)


def hard_sigmoid(x):
    return np.clip(x + 3, 0, 6) / 6


def hard_silu(x):
    return x * hard_sigmoid(x)


def leaky_relu(x, slope=0.01):
    return np.where(x >= 0, x, slope * x)


def log1mexp(x):
    return np.log(-np.expm1(-x))


def log_sigmoid(x):
    return -np.logaddexp(0, -x)


def logmeanexp(x, axis=None, keepdims=False):
    return np.log(np.mean(np.exp(x), axis, keepdims=keepdims))


def mish(x):
    return x * np.tanh(np.logaddexp(0, x))


def one_hot(x, classes, axis=-1):
    return np.moveaxis(np.eye(classes)[x], -1, axis)


def relu(x):
    return np.maximum(x, 0)


def selu(x):
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def silu(x):
    return x * logistic(x)


def soft_sign(x):
    return x / (1 + np.abs(x))


def softplus(x):
    return np.logaddexp(0, x)


def sparse_plus(x):
    return np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4))


def sparse_sigmoid(x):
    return np.clip((x + 1) / 2, 0, 1)


def squareplus(x, b=4):
    return (x + np.sqrt(x * x + b)) / 2


def standardize(x, axis=-1, epsilon=1e-5):
    centred = x - x.mean(axis, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis, keepdims=True) + epsilon)


def dot_product_attention(q, k, v, is_causal=False):
    """(batch, time, heads, features)."""
    scores = np.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(q.shape[-1])
    if is_causal:
        scores = np.where(np.tri(q.shape[1], k.shape[1], dtype=bool), scores, -np.inf)
    return np.einsum("bnts,bsnh->btnh", scipy.special.softmax(scores, -1), v)


def softmax(x, axis=-1):
    return scipy.special.softmax(x, axis)


def log_softmax(x, axis=-1):
    return scipy.special.log_softmax(x, axis)


# --- special functions -------------------------------------------------------------------------


def comb(n, k, repetition=False):
    return scipy.special.comb(n, k, repetition=repetition)


# --- smaller modules ---------------------------------------------------------------------------


def map_coordinates(x, where, order, mode="constant"):
    mode = {"wrap": "grid-wrap"}.get(mode, mode)
    return scipy.ndimage.map_coordinates(x, np.array(where), order=order, mode=mode)


def vq(points, codes):
    return scipy.cluster.vq.vq(points, codes)


def _segments(start, combine):
    def run(x, rows, count):
        found = np.full((count, *x.shape[1:]), start(x), x.dtype)
        combine.at(found, rows, x)
        return found

    return run


def _limit(which):
    info = lambda x: np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
    return lambda x: getattr(info(x), which)


segment_sum = _segments(lambda x: 0, np.add)
segment_prod = _segments(lambda x: 1, np.multiply)
segment_max = _segments(_limit("min"), np.maximum)
segment_min = _segments(_limit("max"), np.minimum)


def nothing(*_, **__):
    return None
