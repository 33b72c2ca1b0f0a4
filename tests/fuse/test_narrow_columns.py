"""What reads long columns again is several kernels in the order of memory."""

from types import SimpleNamespace

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target
from jitney.fuse.pieces import cut_pieces
from jitney.fuse.reshape_broadcast import reshaped_broadcast

SHAPES = [(20_000, 50), (9001, 100), (70_000, 7), (40_000, 16), (33_000, 31), (4500, 200),
          (2000, 512), (2000, 513), (5000, 600), (300_000, 2)]  # fmt: skip


def values(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def kernels(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


def normalized(np, x, axes):
    x = x - x.mean(axes, keepdims=True)
    return x / np.sqrt((x * x).mean(axes, keepdims=True) + 1e-5)


def softmax(np, x):
    e = np.exp(x - x.max(0))
    return e / e.sum(0)


@pytest.mark.parametrize("shape", SHAPES)
def test_columns(shape):
    x = values(shape)
    wide = x.astype(np.float64)
    for f in (lambda np, x: normalized(np, x, (0,)), softmax,
              lambda np, x: (x - x.min(0)) / (x.max(0) - x.min(0))):  # fmt: skip
        got = jax.jit(lambda x, f=f: f(jnp, x))(x)
        np.testing.assert_allclose(got, f(np, wide), rtol=3e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(16, 32, 32, 32), (30, 11, 13, 64), (5, 80, 40, 24)])
def test_channels_of_images(shape):
    x = values(shape)
    axes = (0, 1, 2)
    got = jax.jit(lambda x: normalized(jnp, x, axes))(x)
    np.testing.assert_allclose(got, normalized(np, x.astype(float), axes), rtol=1e-4, atol=1e-5)
    loss = lambda x: (normalized(jnp, x, axes) ** 3).sum()
    with jax.enable_x64(True):
        wide = x.astype(np.float64)
        step = values(shape, 1).astype(np.float64)
        slope = (loss(wide + 1e-6 * step) - loss(wide - 1e-6 * step)) / 2e-6
        gradient = np.asarray(jax.jit(jax.grad(loss))(wide))
    np.testing.assert_allclose((gradient * step).sum(), slope, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(x), gradient, rtol=2e-3, atol=2e-3)


def test_means_are_not_stored_for_each_row():
    x = jnp.ones((16, 32, 32, 64))
    text = kernels(lambda x: normalized(jnp, x, (0, 1, 2)), x)
    assert text.count("sweep") == 2
    assert int(text.split("workspace ")[1].split()[0]) < x.nbytes // 8


def test_few_elements_and_wide_rows_are_one_kernel():
    for shape in ((2000, 100), (1000, 1000)):
        assert "1 fused steps" in kernels(lambda x: jax.nn.softmax(x, 0), jnp.ones(shape))


@pytest.mark.skipif(not host_target().has_dear_masks, reason="strips of columns are several lines")
def test_long_columns_of_light_work_are_read_in_the_order_of_memory():
    share = lambda x: x / x.sum(0)
    for shape in ((1000, 1000), (2000, 520), (260, 2048)):
        assert "sweep" in kernels(share, jnp.ones(shape)), shape
    for shape in ((900, 1000), (500, 512), (120, 4096)):
        assert ": 1 fused steps" in kernels(share, jnp.ones(shape)), shape
    assert ": 1 fused steps" in kernels(lambda x: jnp.tanh(x) / x.sum(0), jnp.ones((1000, 1000)))


@pytest.mark.parametrize("shape", [(1000, 530), (300, 1024), (2100, 1000), (1001, 777)])
def test_long_columns(shape):
    x = values(shape)
    for f in (lambda np, x: normalized(np, x, (0,)), lambda np, x: x / np.abs(x).sum(0),
              lambda np, x: (x - x.min(0)) / (x.max(0) - x.min(0))):  # fmt: skip
        got = jax.jit(lambda x, f=f: f(jnp, x))(x)
        np.testing.assert_allclose(got, f(np, x.astype(np.float64)), rtol=3e-5, atol=1e-6)


@pytest.mark.parametrize("swept, outer, chunk", [(16, 25, 1000), (16, 2, 512), (0, 25, 512)])
def test_rows_that_are_swept_stay_whole(swept, outer, chunk):
    rows = [SimpleNamespace(extent=outer), SimpleNamespace(extent=1000)]
    kernel = SimpleNamespace(lane="row", tile=None, rows=rows, stages=[], sweep=swept)
    assert cut_pieces(kernel, 1e6, 8)[0] == (chunk,)


@pytest.mark.parametrize("shape", [(4096, 64), (4000, 65)])
def test_gradients_of_which_much_is_saved(shape):
    x = values(shape)
    loss = lambda x: jnp.tanh(normalized(jnp, x, (0,)) * 0.7 + 0.1).sum()
    if host_target().vector_bits < 512:
        assert ": 1 fused steps" not in kernels(jax.grad(loss), x)
    with jax.enable_x64(True):
        wide, step = x.astype(np.float64), values(shape, 1).astype(np.float64)
        slope = (loss(wide + 1e-6 * step) - loss(wide - 1e-6 * step)) / 2e-6
        gradient = np.asarray(jax.jit(jax.grad(loss))(wide))
    np.testing.assert_allclose((gradient * step).sum(), slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(x), gradient, rtol=2e-3, atol=2e-3)


def test_threads_change_no_bits():
    x, results = values((20_011, 90)), []
    for threads in (1, 2, 3):
        jax._native.set_num_threads(threads)
        results.append(np.asarray(jax.jit(lambda x: softmax(jnp, x) + normalized(jnp, x, (0,)))(x)))
    jax._native.set_num_threads(0)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize(
    "operand, dims, shape, after",
    [((5,), (3,), (2, 3, 4, 5), (24, 5)), ((1, 1, 1, 5), (0, 1, 2, 3), (2, 3, 4, 5), (6, 4, 5)),
     ((2, 3), (0, 1), (2, 3, 4), (6, 4)), ((2, 3), (0, 1), (2, 3, 4), (6, 2, 2)),
     ((6,), (0,), (6, 4), (2, 3, 4)), ((), (), (2, 3), (6,)), ((4, 1), (0, 1), (4, 1, 5), (4, 5)),
     ((3,), (1,), (2, 3, 4), (6, 4)), ((2,), (0,), (2, 3), (6,)), ((4,), (1,), (1, 4), (4, 1))],
)  # fmt: skip
def test_a_broadcast_under_another_shape(operand, dims, shape, after):
    x = np.arange(max(1, int(np.prod(operand)))).reshape(operand)
    node = SimpleNamespace(shape=shape, attrs=(dims,), args=(SimpleNamespace(shape=operand),))

    def broadcast(x, dims, shape):
        full = [1] * len(shape)
        for n, d in zip(x.shape, dims, strict=True):
            full[d] = n
        return np.broadcast_to(x.reshape(full), shape)

    found = reshaped_broadcast(node, after)
    want = broadcast(x, dims, shape).reshape(after)
    if found is None:
        assert (operand, after) in [((3,), (6, 4)), ((2,), (6,))]
    else:
        np.testing.assert_array_equal(broadcast(x.reshape(found[0]), found[1], after), want)


@pytest.mark.parametrize("shape", [(n, 300) for n in range(1, 10)] + [(3, 5, 70), (4, 64), (2, 63)])
def test_short_columns_are_one_kernel(shape):
    """A short reduction is not written out for each of the rows that read its results."""
    x = values(shape, 3)
    for f in (lambda np, x: normalized(np, x, (0,)), softmax, lambda np, x: x / x.max(0)):
        fun = lambda x, f=f: f(jnp, x)
        np.testing.assert_allclose(jax.jit(fun)(x), f(np, x.astype(float)), rtol=1e-4, atol=1e-5)
        if 2 <= len(x) <= 8:
            text = kernels(fun, x)
            assert ": 1 fused steps" in text
            assert text.count("=load ") <= 3  # each element once a stage, whatever their number
    gradient = jax.jit(jax.grad(lambda x: (softmax(jnp, x) ** 2).sum()))(x)
    s = softmax(np, x.astype(float))
    np.testing.assert_allclose(gradient, 2 * s * (s - (s * s).sum(0)), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("axis", [1, 2, (1, 2)])
@pytest.mark.parametrize("shape", [(30, 4, 50), (20, 8, 4), (20, 3, 4), (9, 7, 8), (5, 2, 300)])
def test_short_axes_of_batches(shape, axis):
    x = values(shape, 4)
    for f in (lambda np, x: normalized(np, x, axis), lambda np, x: x / x.max(axis, keepdims=True)):
        fun = lambda x, f=f: f(jnp, x)
        np.testing.assert_allclose(jax.jit(fun)(x), f(np, x.astype(float)), rtol=1e-4, atol=1e-4)
    if axis == 1 and shape[2] >= 8:
        assert kernels(fun, x).count("=load ") <= 2


def test_where_all_of_a_short_axis_is_a_kernel_s_row_it_is_written_out():
    """Rows of three numbers: each is read once, and all that is made of it is stored."""
    x = values((300, 3))
    assert "loops" not in kernels(lambda x: x / x.max(1, keepdims=True), x)
    assert "loops" in kernels(lambda x: jax.nn.softmax(x, 1), x)  # exponentials fill vectors
