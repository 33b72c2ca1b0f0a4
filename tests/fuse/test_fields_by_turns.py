"""Arrays of a loop that follow from one another by turns (staggered grids): updates in place."""

import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

TURNS = 9
SIZES = [(61, 64), (200, 203)]  # of the larger ones two buffers may take turns


def fields(count, *shape):
    rng = np.random.default_rng(count)
    return [rng.standard_normal(shape).astype("float32") for _ in range(count)]


def put(numbers, x, place, update):
    """x with an update added at a place."""
    if numbers is jnp:
        return x.at[place].add(update)
    x = x.copy()
    x[place] += update
    return x


def light(numbers, e, h, k):
    """The update of `e` reads both others, which read `e` elsewhere."""
    h = put(numbers, h, np.s_[:, :-1], -0.2 * (e[:, 1:] - e[:, :-1]))
    k = put(numbers, k, np.s_[:-1], 0.2 * (e[1:] - e[:-1]))
    change = k[1:, 1:] - k[:-1, 1:] - h[1:, 1:] + h[1:, :-1]
    e = put(numbers, e, np.s_[1:, 1:], 0.3 * change)
    return put(numbers, e, np.s_[5, 5], 1.0), h, k


def strings(numbers, e, h, k):
    """One after the other, the last of which reads what the first was before."""
    h = put(numbers, h, np.s_[:-1], 0.1 * (e[1:] - e[:-1]))
    k = put(numbers, k, np.s_[1:], 0.1 * (h[1:] - h[:-1]))
    e = put(numbers, e, np.s_[1:-1], 0.1 * (k[2:] - k[:-2] + h[:-2]))
    return e, h, k


def before_and_after(numbers, e, h, k):
    """`e` is made of what `h` was and what it is, and `k` of both that `e` was and is."""
    new = put(numbers, h, np.s_[:-1], 0.1 * (e[1:] - e[:-1]))
    later = put(numbers, e, np.s_[1:], 0.1 * (new[1:] - h[:-1]))
    k = put(numbers, k, np.s_[1:], 0.1 * (later[1:] - e[:-1]))
    return later, new, k


def shifted_by_one(numbers, e, h, k):
    """An update that reads its own array elsewhere, beside another that reads it."""
    h = put(numbers, h, np.s_[:-1], 0.1 * (e[1:] - e[:-1]))
    e = put(numbers, e, np.s_[1:], 0.1 * (h[1:] - e[:-1]))
    return e, h, put(numbers, k, np.s_[2:], 0.1 * (k[:-2] - h[2:]))


def both_of_each_other(numbers, e, h, k):
    """Each from what the other was."""
    new = put(numbers, h, np.s_[:-1], 0.1 * (e[1:] - e[:-1]))
    e = put(numbers, e, np.s_[1:], 0.1 * (h[1:] - h[:-1]))
    return e, new, put(numbers, k, np.s_[1:], 0.1 * (new[:-1] * e[1:]))


STEPS = [light, strings, before_and_after, shifted_by_one, both_of_each_other]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("step", STEPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_as_numpy(step, order, size):
    """In any order of the state."""
    start = fields(3, *size)

    def turn(_, state):
        named = [state[order.index(k)] for k in range(3)]
        made = step(jnp, *named)
        return tuple(made[k] for k in order)

    want = start
    for _ in range(TURNS):
        want = step(np, *want)
    run = jax.jit(lambda *state: jax.lax.fori_loop(0, TURNS, turn, state))
    got = run(*[start[k] for k in order])
    for k, x in zip(order, got, strict=True):
        np.testing.assert_allclose(x, want[k], rtol=2e-4, atol=2e-5)


def test_no_field_is_copied():
    """Three kernels of many elements a turn, each of which writes into the array it updates."""
    start = fields(3, 150, 150)

    def turn(_, state):
        return light(jnp, *state)

    run = jax.jit(lambda *state: jax.lax.fori_loop(0, 40, turn, state))
    kernels = run.lower(*start).compile().as_text().split("] kernel ")[1:]
    large = [text for text in kernels if "sizes [149" in text or "sizes [150" in text
             or "sizes [22350" in text]  # fmt: skip
    assert len(large) == 3


def test_gradient_of_a_scan():
    start = fields(3, 12, 14)

    def loss(e):
        def turn(state, _):
            return light(jnp, *state), state[0][3, 4]
        state, seen = jax.lax.scan(turn, (e, *start[1:]), None, length=5)
        return (state[0] ** 2).sum() + seen.sum()

    def loss_by_numpy(e):
        state, seen = (e, *start[1:]), 0.0
        for _ in range(5):
            seen += state[0][3, 4]
            state = light(np, *state)
        return (state[0] ** 2).sum() + seen

    gradient = np.asarray(jax.jit(jax.grad(loss))(start[0]))
    step = np.random.default_rng(1).standard_normal(start[0].shape) * 1e-3
    wide = start[0].astype("float64")
    want = (loss_by_numpy(wide + step) - loss_by_numpy(wide - step)) / 2
    np.testing.assert_allclose((gradient * step).sum(), want, rtol=1e-3)
