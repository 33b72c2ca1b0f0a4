"""Batched products whose operands have their batch innermost: copied apart, then multiplied."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.testing.stages import check_all_stages

RNG = np.random.default_rng(5)
PRODUCTS = {
    "both": ("ijb,jkb->bik", (20, 30, 40), (30, 25, 40)),
    "both, batch last": ("ijb,jkb->ikb", (20, 30, 40), (30, 25, 40)),
    "a vector each": ("ijb,bj->bi", (20, 30, 40), (40, 30)),
    "one": ("bij,jkb->bik", (40, 20, 30), (30, 25, 40)),
    "two axes": ("ijab,jkab->abik", (20, 30, 4, 10), (30, 25, 4, 10)),
    "two axes, turned": ("ijba,jkab->abik", (20, 30, 10, 4), (30, 25, 4, 10)),
    "few": ("ijb,jkb->bik", (50, 60, 3), (60, 70, 3)),
    "one column": ("ijb,jkb->bik", (20, 30, 40), (30, 1, 40)),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "complex64"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_as_numpy(name, dtype):
    subscripts, *shapes = PRODUCTS[name]
    x, y = (RNG.integers(-8, 8, shape) for shape in shapes)
    got = jax.jit(lambda x, y: jnp.einsum(subscripts, x, y))(
        jnp.asarray(x, dtype), jnp.asarray(y, dtype)
    )
    near = 4e-3 if dtype == "bfloat16" else 0
    np.testing.assert_allclose(
        np.asarray(got).astype(np.complex128), np.einsum(subscripts, x, y), near, near
    )


def test_a_product_of_a_product_and_all_stages():
    """The batch of the second is the columns of the first."""
    u, w, c = (RNG.normal(size=s).astype(np.float32)
               for s in ((16, 30, 8), (30, 5, 7, 8), (16, 30, 5)))  # fmt: skip

    def route(u, w, c):
        return jnp.einsum("bnj,bnjo->bjo", c, jnp.einsum("bni,njoi->bnjo", u, w))

    check_all_stages(route, u, w, c, rtol=1e-4, atol=1e-4)


def test_elements_are_gathered_in_copies_only():
    x = np.ones((64, 64, 100), np.float32)
    text = jax.jit(lambda x: jnp.einsum("ijb,jkb->bik", x, x)).lower(x).compile().as_text()
    assert text.count("kernel fused") >= 1 and text.count("contraction") == 1
