"""Reductions along several loops of which the last is a vector loop with unrolled copies."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney import lax
from jitney.testing.stages import check_all_stages

KINDS = {
    "sum": jnp.sum, "max": jnp.max, "min": jnp.min,
    "argmax": lambda x, axis: jnp.argmax(x.reshape(*x.shape[:1], -1, x.shape[-1]), 1),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows, outer, inner, columns", [
    (3, 16, 8, 8), (16, 16, 4, 4), (2, 16, 8, 16), (3, 5, 67, 4), (1, 3, 130, 16)])
def test_copies_are_folded_once(kind, rows, outer, inner, columns):
    """The copies folded after the inner loop must not be counted again by the next turn."""
    random = np.random.RandomState(0)
    d = random.randn(outer, columns, inner).astype(np.float32)
    c = random.randn(rows, outer, inner).astype(np.float32)
    check_all_stages(
        lambda d, c: KINDS[kind](lax.transpose(d, (0, 2, 1))[None] * c[..., None], axis=(1, 2)),
        d, c)
