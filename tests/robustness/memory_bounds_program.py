"""Runs programs on arguments that end where memory ends; a fault shows which one read too far.

Inputs lie against a page of no access (behind, or in front of them); the room that outputs get is
marked first, and what lies behind each output must still be marked afterwards.
"""

import ctypes
import faulthandler
import mmap
import sys

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney import _native, lax, nn

faulthandler.enable()
PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_kept = []


def guarded(x, front):
    """A copy of x whose first byte follows, or whose last byte precedes, a forbidden page."""
    x = np.ascontiguousarray(x)
    pages = -(-max(x.nbytes, 1) // PAGE)
    area = mmap.mmap(-1, (pages + 2) * PAGE)
    _kept.append(area)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for page in (0, pages + 1):
        if libc.mprotect(start + page * PAGE, PAGE, 0):
            raise OSError(ctypes.get_errno())
    offset = PAGE if front else PAGE + pages * PAGE - x.nbytes
    out = np.frombuffer(area, x.dtype, x.size, offset).reshape(x.shape)
    out[...] = x
    return out


CLASSES = [*range(64, 1025, 64), *(2**k * m // 4 for k in range(10, 17) for m in (5, 6, 7, 8))]
MARK = 0xA5


def mark_free_memory():
    """Buffers of every small size class, filled and given back: the next call will get them."""
    arrays = [_native.empty(_native.ShapedArray((n,), np.dtype(np.uint8)))
              for n in CLASSES for _ in range(4)]
    for a in arrays:
        ctypes.memset(a.unsafe_buffer_pointer(), MARK, a.nbytes)
    return {a.unsafe_buffer_pointer(): a.nbytes for a in arrays}


def check_tails(outs, marked):
    """Nothing was written between the end of an output and the end of its buffer."""
    checked = 0
    for out in outs:
        where = out.unsafe_buffer_pointer()
        if where in marked:
            tail = ctypes.string_at(where + out.nbytes, marked[where] - out.nbytes)
            assert tail.count(MARK) == len(tail), f"wrote behind an output: {tail.hex()}"
            checked += 1
    return checked


def narrow_parts(x):
    """Columns of long rows, transposed in registers."""
    x = x.ravel()[: x.size // 4 * 4].reshape(-1, 4) if x.size > 3 else x.reshape(-1, 1)
    return jnp.concatenate([x, x[:, :1] * 2, x[:, -2:], x[:, ::-1] + 1, x, x * x, x - 1], -1)


def parts_of_parts(x):
    """Parts of concatenations within concatenations have fewer rows than the whole."""
    half = x.shape[0] // 2
    first = jnp.concatenate([x[:half, :2], x[half:, :2]])
    last = jnp.concatenate([x[half:, -2:], x[:half, -2:]])
    return jnp.concatenate([first, x[:, :3], last] * 4, 1)


def planes(x):
    """Neighbours of three axes: in blocks of rows, the ends of which are whole vectors."""
    if x.size < 8 * 40 * 50:
        return x
    row = x.size // (8 * 40)
    u = x.ravel()[-8 * 40 * row:].reshape(8, 40, row)
    return sum(jnp.roll(u, step, axis) for axis in range(3) for step in (-1, 1)) - u


def colours(x):
    """Three to an element, of rows beside one another."""
    x = x.ravel()[: x.size // 3 * 3].reshape(-1, 3)
    return x[1:] * x[:-1] + x[1:, ::-1], jnp.cross(x[1:], x[:-1]), x[2:, 2] - x[:-2, 0]


def heads(x):
    x = x[: x.shape[0] // 2 * 2]
    y = x.reshape(2, -1, x.shape[1]).transpose(1, 0, 2)
    return y.reshape(-1, 2 * x.shape[1]) * 2, y[..., ::-1].reshape(-1)[1:] + 1


PROGRAMS = {
    "narrow_parts": narrow_parts,
    "parts_of_parts": parts_of_parts,
    "colours": colours,
    "planes": planes,
    "steps": lambda x: [x.ravel()[first::step] * 2 for step in (2, 3, 5, 8, 9, 12, 16, 17)
                        for first in (0, 1, step)],
    "steps_back": lambda x: [x.ravel()[::-step] * 2 for step in (2, 3, 7, 8, 9)],
    "heads": heads,
    "repeated": lambda x: (jnp.repeat(x, 3, 1) * 2, jnp.tile(x, (2, 2)) + 1),
    "stencils": lambda x: (lambda y: y[1:-1] * y[2:] - y[:-2])(jnp.pad(jnp.sin(x), 2) ** 2),
    "transforms": lambda x: (jnp.fft.rfft(x), jnp.fft.irfft(x), jnp.fft.fft(x, axis=0)),
    "ranks": lambda x: jnp.searchsorted(jnp.sort(x[0]), x.ravel()),
    "interp": lambda x: jnp.interp(x.ravel(), jnp.sort(x[-1]), x[0]),
    "elementwise": lambda x: jnp.sin(x) * 2 + x,
    "sum": lambda x: x.sum(),
    "rows": lambda x: (x.sum(-1), x.max(-1), x.argmin(-1)),
    "columns": lambda x: (x.sum(0), x.mean(0)),
    "softmax": lambda x: nn.softmax(x, axis=-1),
    "softmax0": lambda x: nn.softmax(x, axis=0),
    "logsumexp": lambda x: (nn.logsumexp(x, -1), nn.logsumexp(x, 0)),
    "standardize": lambda x: (nn.standardize(x, -1), nn.standardize(x, 0)),
    "transpose": lambda x: x.T + 1,
    "reverse": lambda x: x[::-1] * 2,
    "slice": lambda x: x[..., 1::2] - 1,
    "pad": lambda x: jnp.pad(x, 3) * 2,
    "rolled": lambda x: x + sum(jnp.roll(x, s, a) for a in (0, 1) for s in (-1, 1)),
    "corners": lambda x: jnp.roll(x, (1, -2), (0, 1)) - jnp.roll(x, (-1, 1), (0, 1)),
    "inside": lambda x: x.at[1:-1, 1:-1].add(x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2]),
    "concatenate": lambda x: jnp.concatenate([x, x * 2, x], -1),
    "matmul": lambda x: x @ x.T,
    "matmul_t": lambda x: x.T @ x,
    "matvec": lambda x: x @ x[0],
    "cumsum": lambda x: jnp.cumsum(x, -1),
    "cumsum0": lambda x: jnp.cumsum(x, 0),
    "sort": lambda x: jnp.sort(x, -1),
    "argsort": lambda x: jnp.argsort(x.ravel()),
    "top_k": lambda x: lax.top_k(x, min(2, x.shape[-1])),
    "gather": lambda x: x.ravel()[jnp.array([0, -1, 2])],
    "scatter": lambda x: x.ravel().at[jnp.array([0, -1])].add(3),
    "window": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), "SAME"),
    "bfloat16": lambda x: x.astype(jnp.bfloat16) + 1,
    "int8": lambda x: x.astype(jnp.int8) * 3,
    "float16": lambda x: x.astype(jnp.float16) * 3,
    "bools": lambda x: (x > 0, (x > 0).any(0)),
    "complex": lambda x: (x + 1j) * x,
    "broadcast": lambda x: x[:, None] * x[None],
    "histogram": lambda x: jnp.bincount(jnp.abs(x).astype(jnp.int32).ravel(), length=11),
}
SHAPES = [(3, 1), (1, 5), (4, 16), (7, 33), (33, 17), (5, 129), (40, 129), (101, 257)]


def main(names):
    rng, checked = np.random.default_rng(0), 0
    for name in names or PROGRAMS:
        fun = jitney.jit(PROGRAMS[name])
        for shape in SHAPES:
            x = (rng.normal(size=shape) * 3).astype(np.float32)
            print(name, shape, flush=True)
            want = jitney.tree.leaves(fun(x))
            for front in (False, True):
                given = guarded(x, front)
                marked = mark_free_memory()
                got = jitney.tree.leaves(fun(given))
                for a, b in zip(got, want, strict=True):
                    assert np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)
                checked += check_tails(got, marked)
    assert checked > 0
    print("all in bounds")


if __name__ == "__main__":
    main(sys.argv[1:])
