"""Donated memory is used again, and nothing is copied that the update does not touch."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import _native, lax


def address(x):
    return x.unsafe_buffer_pointer()


@pytest.mark.parametrize("update", [
    lambda x, i, v: x.at[i].set(v),
    lambda x, i, v: x.at[i].add(v),
    lambda x, i, v: x.at[i].multiply(v),
    lambda x, i, v: lax.dynamic_update_slice(x, v[None], (i,)),
    lambda x, i, v: x.at[3:5].set(v),
    lambda x, i, v: x.at[i + 2 * jnp.arange(2)].max(v),
])
def test_an_update_of_a_donated_array_copies_nothing(update, since, reports):
    step = jitney.jit(update, donate_argnums=0)
    v = jnp.float32(3)
    x = jnp.zeros(100_000)
    want = np.asarray(update(x, 4, v))
    first, x = x, step(x, 4, v)
    assert np.array_equal(x, want)
    assert "copy" not in dict(reports(update, x, 4, v, donate_argnums=0))
    after = since()
    for i in range(5):
        before, old = address(x), x
        x = step(x, i, v)
        assert address(x) == before and old.is_deleted()
    assert after.nothing_but_native()
    assert after.copies == 0 and after.buffer_reuses == 5 and after.fresh_allocations == 0
    assert first.is_deleted()


def test_elementwise_reuse():
    step = jitney.jit(lambda x, y: (jnp.sin(x) + y, y * 2), donate_argnums=(0, 1))
    x, y = jnp.ones(1000), jnp.zeros(1000)
    places = {address(x), address(y)}
    a, b = step(x, y)
    assert {address(a), address(b)} == places
    assert x.is_deleted() and y.is_deleted()
    assert np.allclose(a, np.sin(1)) and np.array_equal(b, np.zeros(1000))


def test_a_donated_tree_keeps_its_memory(since):
    params = {"w": jnp.ones((50, 40)), "b": jnp.zeros(40), "n": jnp.int32(0)}
    step = jitney.jit(lambda p, g: {"w": p["w"] - g, "b": p["b"] - g, "n": p["n"] + 1},
                      donate_argnums=0)
    params = step(params, 0.5)
    places = {k: address(v) for k, v in params.items()}
    after = since()
    for _ in range(3):
        params = step(params, 0.5)
    assert {k: address(v) for k, v in params.items()} == places
    assert after.copies == after.fresh_allocations == 0
    assert int(params["n"]) == 4 and np.allclose(params["w"], -1)


def test_two_names_of_one_buffer_are_not_overwritten():
    step = jitney.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(4.0)
    view = x.reshape(4)
    same = np.asarray(x)
    y = step(x)
    assert np.array_equal(same, [0, 1, 2, 3])
    if view is not x:
        assert np.array_equal(view, [0, 1, 2, 3])
    assert np.array_equal(y, [1, 2, 3, 4])


def test_an_array_given_twice_is_right():
    step = jitney.jit(lambda x, y: x + y, donate_argnums=0)
    x = jnp.arange(4.0)
    assert np.array_equal(step(x, x), [0, 2, 4, 6])
    assert x.is_deleted()
    x = jnp.arange(4.0)
    both = jitney.jit(lambda x, y: (x + y, x - y), donate_argnums=(0, 1))
    a, b = both(x, x)
    assert np.array_equal(a, [0, 2, 4, 6]) and np.array_equal(b, np.zeros(4))


def test_donated_values_read_after_being_overwritten_are_right():
    """Swapped, reversed and shifted results may not read what was written already."""
    n = 1000
    cases = [
        (lambda x, y: (y, x), 2), (lambda x, y: (y + 1, x + y), 2),
        (lambda x, y: (x[::-1], y), 2), (lambda x, y: (jnp.roll(x, 1), y[::-1] + x), 2),
        (lambda x, y: (jnp.cumsum(x), jnp.sort(y)), 2),
        (lambda x, y: (x.at[::2].set(y[1::2]), y.at[1:].add(x[:-1])), 2),
    ]
    rng = np.random.default_rng(0)
    for fun, count in cases:
        x, y = (rng.normal(size=n).astype(np.float32) for _ in range(2))
        want = jitney.jit(fun)(x, y)
        donated = jitney.jit(fun, donate_argnums=tuple(range(count)))
        for _ in range(2):
            got = donated(jnp.array(x), jnp.array(y))
            for a, b in zip(want, got, strict=True):
                assert np.array_equal(a, b)


def test_numpy_arguments_are_never_overwritten():
    step = jitney.jit(lambda x: x * 2, donate_argnums=0)
    x = np.arange(64, dtype=np.float32)
    for _ in range(3):
        assert np.array_equal(step(x), np.arange(64) * 2)
    assert np.array_equal(x, np.arange(64))


def test_a_deleted_array_says_so():
    step = jitney.jit(lambda x: x * 2, donate_argnums=0)
    x = jnp.ones(3)
    step(x)
    for use in (lambda: x + 1, lambda: step(x), lambda: np.asarray(x), lambda: x[0],
                lambda: jitney.jit(lambda v: v * 3)(x), lambda: jitney.jit(jnp.sum)({"a": x}["a"]),
                lambda: float(x.sum()), lambda: jnp.stack([x, x]), lambda: x.tolist(),
                lambda: x.block_until_ready()):
        with pytest.raises(RuntimeError, match="deleted"):
            use()
    assert "deleted" in repr(x) and x.shape == (3,)


@pytest.mark.skipif(not hasattr(lax, "fori_loop"), reason="no loops in this build")
def test_loop_carried_updates_touch_only_what_they_write(since):
    @jitney.jit
    def fill(x):
        return lax.fori_loop(0, 1000, lambda i, x: x.at[i].set(i), x)

    x = jnp.zeros(1000, jnp.int32)
    assert np.array_equal(fill(x), np.arange(1000))
    after = since()
    fill(x)
    assert after.fresh_allocations == 0 and after.copies <= 1
    assert np.array_equal(x, np.zeros(1000)) and _native.current_trace() is None
