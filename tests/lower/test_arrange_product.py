"""Products read their operands as they lie in memory; what is in another order is the result."""

import random

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp


def drawn(seed: int):
    """A product of two transposed arrays, transposed: (function of NumPy or jitney, arguments)."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    count = draw.randint(1, 4), draw.randint(1, 3)
    summed = "kmn"[: draw.randint(1, min(count))]
    rows = "abcd"[: count[0] - len(summed)], "uvw"[: count[1] - len(summed)]
    size = {axis: draw.choice([1, 2, 3, 5, 8, 17, 20]) for axis in "kmnabcduvw"}
    seen = [draw.sample(summed + free, len(summed + free)) for free in rows]
    stored = [draw.sample(axes, len(axes)) for axes in seen]
    out = "".join(draw.sample(rows[0] + rows[1], len(rows[0] + rows[1])))
    arguments = [rng.integers(-4, 5, [size[a] for a in axes]).astype(np.float32) for axes in stored]

    def product(np, *arrays):
        turned = [np.transpose(x, [s.index(a) for a in axes])
                  for x, s, axes in zip(arrays, stored, seen, strict=True)]  # fmt: skip
        return np.einsum(f"{''.join(seen[0])},{''.join(seen[1])}->{out}", *turned)

    return product, arguments


@pytest.mark.parametrize("block", range(10))
def test_every_order(block):
    for seed in range(20 * block, 20 * block + 20):
        product, arguments = drawn(seed)
        got = jax.jit(lambda *a, f=product: f(jnp, *a))(*arguments)
        np.testing.assert_array_equal(got, product(np, *arguments))  # sums of integers: exact


def test_several_summed_axes_in_another_order():
    rng = np.random.default_rng(0)
    x, y = [rng.integers(-4, 5, s).astype(np.float32) for s in ((6, 3, 7, 40), (7, 9, 3))]
    f = lambda x, y: jax.lax.dot_general(x, y, (((2, 1), (0, 2)), ((), ())))
    np.testing.assert_array_equal(jax.jit(f)(x, y), np.einsum("akmb,mnk->abn", x, y))


def kernels(spec, *shapes) -> str:
    arrays = [jnp.ones(s) for s in shapes]
    return jax.explain(lambda a, b: jnp.einsum(spec, a, b), *arrays, rounds=1).as_text("kernels")


@pytest.mark.parametrize(
    "spec, shapes",
    [("nchw,kc->nkhw", [(4, 24, 9, 9), (32, 24)]),  # a convolution of points
     ("nchw,kc->nhwk", [(4, 24, 9, 9), (32, 24)]),
     ("ij,bjc->bic", [(40, 40), (16, 40, 32)]),  # sums over neighbours in a graph
     ("ij,bjc->ibc", [(40, 40), (16, 40, 32)]),
     ("bkc,nk->bcn", [(300, 8, 16), (8, 8)])],
)  # fmt: skip
def test_nothing_is_copied(spec, shapes):
    text = kernels(spec, *shapes)
    assert text.count("contraction") == 1 and text.count("kernel") <= (spec[-3:] == "ibc")


def test_blocks_are_transformed_along_both_axes_without_copies():
    def transformed(c, blocks):
        return jnp.einsum("ki,aibj,lj->akbl", c, blocks, c)

    text = jax.explain(transformed, jnp.ones((8, 8)), jnp.ones((20, 8, 30, 8)), rounds=1)
    text = text.as_text("kernels")
    assert text.count("contraction") == 2 and "kernel" not in text


def test_wide_products_copy_what_is_little_beside_them():
    assert "kernel" in kernels("bnc,nm->bcm", (20, 60, 30), (60, 800))


def test_gradients_and_batches_of_such_products():
    x, w = jnp.ones((5, 12, 20)), jnp.arange(12.0 * 7).reshape(12, 7)
    loss = lambda w, x: (jnp.einsum("bnc,nm->bmc", x, w) ** 2).sum()
    got = jax.jit(jax.grad(loss))(w, x)
    want = 2 * 5 * 20 * np.broadcast_to(np.asarray(w).sum(0), (12, 7))
    np.testing.assert_allclose(got, want, rtol=1e-5)
    many = jax.jit(jax.vmap(jax.grad(loss), (None, 0)))(w, x[:, None])
    np.testing.assert_allclose(many.sum(0), want, rtol=1e-5)


def test_empty_axes():
    for shapes in (((0, 8, 20), (8, 3)), ((3, 0, 20), (0, 3)), ((3, 8, 20), (8, 0))):
        x, w = [np.ones(s, np.float32) for s in shapes]
        got = jax.jit(lambda x, w: jnp.einsum("bnc,nm->bmc", x, w))(x, w)
        np.testing.assert_array_equal(got, np.einsum("bnc,nm->bmc", x, w))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "int32", "float64", "complex64"])
@pytest.mark.parametrize("spec", ["nchw,kc->nkhw", "ij,njc->nic", "nhc,ck->khn"])
def test_dtypes(dtype, spec):
    rng = np.random.default_rng(6)
    sizes = dict(n=5, c=24, h=7, w=9, k=33, i=20, j=18)
    with jax.enable_x64(True):
        arrays = [jnp.asarray(rng.integers(-3, 4, [sizes[a] for a in axes])).astype(dtype)
                  for axes in spec.split("->")[0].split(",")]  # fmt: skip
        got = jax.jit(lambda *a: jnp.einsum(spec, *a))(*arrays)
        assert got.dtype == dtype
        wide = [np.asarray(a.astype("complex64" if dtype == "complex64" else "int32"))
                for a in arrays]  # fmt: skip
        want = np.einsum(spec, *wide)
        want = want.astype("int8") if dtype == "int8" else want
        np.testing.assert_array_equal(np.asarray(got.astype(want.dtype)), want)


def test_short_numbers_are_not_packed_for_each_of_many_small_products():
    x, y = jnp.ones((500, 64, 16), jnp.bfloat16), jnp.ones((64, 64), jnp.bfloat16)
    text = jax.explain(lambda x, y: jnp.einsum("bkc,nk->bnc", x, y), x, y, rounds=1)
    assert "kernel" in text.as_text("kernels")
