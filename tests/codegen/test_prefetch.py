"""What is asked for ahead is what will be read, and lies in the array."""

import re

import kernel_harness as harness
import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.codegen import prefetch
from jitney.codegen.emitter import Emitter

OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "icmp slt": lambda a, b: a < b,
    "call": min,
    "select": None,
}


def value_of(lines, name, known):
    """The integer that straight-line LLVM IR computes."""
    known = dict(known)
    for line in lines:
        result, text = line.strip().split(" = ")
        operation = next(o for o in OPERATIONS if text.startswith(o))
        words = re.findall(r"i\d+ (-?\w+|%\w+)|, (-?\d+|%\w+)(?=[,)]|$)", text)
        a = [known.get(w, None) if w[0] == "%" else int(w) for w in (x or y for x, y in words)]
        known[result] = (a[1] if a[0] else a[2]) if operation == "select" else OPERATIONS[
            operation](*a)
    return known[name]


@pytest.mark.parametrize("extent", [1, 2, 3, 4, 5, 10, 100])
def test_walks_down_columns(extent):
    """Some rows later, in these columns or from the top of those beside them."""
    e = Emitter(harness.best_target())
    ahead = prefetch.columns_ahead(e, "%stride", "3", "%extent", 32)
    name = prefetch.down_columns(e, ahead, "%row")
    for row in range(extent):
        known = {"%stride": 1000, "%row": row, "%extent": extent}
        ahead = value_of(e.lines, name, known)
        later = row + min(3, extent)
        place = (later % extent) * 1000 + 32 * (later >= extent)
        assert row * 1000 + ahead == place


@pytest.mark.parametrize("shape", [(2, 5000), (3, 3000), (10, 3000), (12, 77), (31, 500), (40, 33)])
def test_reductions_of_few_rows(shape):
    x = np.random.default_rng(0).integers(-50, 50, shape).astype(np.float32)
    for name in ("sum", "max", "argmin", "var"):
        got = jitney.jit(lambda x, name=name: getattr(jnp, name)(x, 0))(x)
        assert np.allclose(got, getattr(np, name)(x, 0), rtol=1e-5)


@pytest.mark.parametrize("axes", [(1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1)])
@pytest.mark.parametrize("shape", [(3, 130, 70), (130, 3, 70), (70, 130, 3), (66, 65, 64)])
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex64"])
def test_tiles_at_the_ends(dtype, shape, axes):
    with jitney.enable_x64(True):
        x = (np.arange(np.prod(shape)) % 117).reshape(shape).astype(dtype)
        got = jitney.jit(lambda x: x.transpose(axes) + x.dtype.type(1))(x)
        assert np.array_equal(got, x.transpose(axes) + x.dtype.type(1))
