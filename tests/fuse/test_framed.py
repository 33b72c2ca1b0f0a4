"""Updates of all but a narrow frame, which read their neighbours: one kernel for all of it."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp


def numbers(shape, dtype="float32"):
    return np.random.default_rng(len(shape)).integers(-50, 50, shape).astype(dtype)


def kernels_of(fun, *args) -> str:
    return jitney.jit(fun).lower(*args).compile().as_text()


def sums(module, x, place):
    """Of both neighbours along the first and the last axis, at a place."""
    return (module.roll(x, 1, 0) + module.roll(x, -1, -1) + module.roll(x, 1, -1))[place]


PLACES = {
    (70, 81): [np.s_[1:-1, 1:-1], np.s_[:, 3:], np.s_[:, :-7], np.s_[5:, 2:70]],
    (9, 40, 130): [np.s_[:, :, 1:], np.s_[1:, 1:-1, 1:-1]],
    (300,): [np.s_[1:-1], np.s_[30:], np.s_[:290]],
    (1, 64): [np.s_[:, 1:-1]],
    (64, 64): [np.s_[8:56, 1:63]],
}
CASES = [(shape, place) for shape, places in PLACES.items() for place in places]


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "float16", "float64"])
@pytest.mark.parametrize("shape, place", CASES)
def test_as_numpy(shape, place, dtype):
    with jitney.enable_x64(True):
        x = numbers(shape, dtype)
        want = x.copy()
        want[place] = sums(np, x, place)
        got = jitney.jit(lambda a: a.at[place].set(sums(jnp, a, place)))(x)
        np.testing.assert_array_equal(got, want)


def test_one_kernel():
    def step(a):
        inner = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        return a.at[1:-1, 1:-1].set(inner)

    text = kernels_of(step, numbers((200, 300)))
    assert text.count("] kernel") == 1 and "border" in text
    assert kernels_of(step, numbers((12, 20))).count("] kernel") == 5  # short rows: slabs
    wide = kernels_of(lambda a: a.at[:, 40:].set(a[:, 38:-2] * 2), numbers((50, 90)))
    assert wide.count("] kernel") == 2  # nearly half of it is left


def test_one_kernel_of_what_is_added():
    def step(a):
        return a.at[1:-1, 1:-1].add(a[:-2, 1:-1] + a[1:-1, 2:])

    x = numbers((200, 300))
    want = x.copy()
    want[1:-1, 1:-1] += x[:-2, 1:-1] + x[1:-1, 2:]
    np.testing.assert_array_equal(jitney.jit(step)(x), want)
    assert kernels_of(step, x).count("] kernel") == 1


@pytest.mark.parametrize("value", [0, -0.0, 7, np.nan])
def test_one_kernel_of_a_window_in_equal_numbers(value):
    def step(a):
        return jnp.full_like(a, value).at[1:-1, 1:-1].set(a[:-2, 1:-1] + a[1:-1, 2:])

    x = numbers((200, 300))
    want = np.full_like(x, value)
    want[1:-1, 1:-1] = x[:-2, 1:-1] + x[1:-1, 2:]
    got = np.asarray(jitney.jit(step)(x))
    np.testing.assert_array_equal(got.view(np.int32), want.view(np.int32))
    assert kernels_of(step, x).count("] kernel") == 1


def test_whole_rows_are_computed_by_themselves():
    text = kernels_of(lambda a: a.at[1:-1].set(a[:-2] + a[2:]), numbers((200, 300)))
    assert text.count("] kernel") == 3 and "border" not in text


def test_what_is_no_elements_business():
    """Sums of rows, products and running sums in the window."""
    x = numbers((90, 100))
    programs = [
        (lambda m, a: a[:-2, 1:-1] - a[1:-1, 1:-1].mean(1, keepdims=True)),
        (lambda m, a: m.cumsum(a, 1)[1:-1, 1:-1]),
        (lambda m, a: (a[1:-1, 1:-1] @ a[1:-1, 1:-1].T @ a[1:-1, 1:-1]) * 1e-3),
    ]
    for program in programs:
        want = x.copy()
        want[1:-1, 1:-1] = program(np, x)
        got = jitney.jit(lambda a, p=program: a.at[1:-1, 1:-1].set(p(jnp, a)))(x)
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-2)


def test_the_frame_keeps_its_bits():
    """NaN, infinities and zeros with a sign; what the window reads outside never shows."""
    x = numbers((70, 90))
    x[0], x[-1], x[:, 0], x[:, -1] = np.nan, np.inf, -0.0, -np.inf
    got = np.asarray(jitney.jit(lambda a: a.at[1:-1, 1:-1].set(a[:-2, 2:] * 0 + 1))(x))
    for edge in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):
        assert got[edge].tobytes() == x[edge].tobytes()


def test_chains_and_donated_arguments():
    x = numbers((80, 100))
    want = x.copy()
    want[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1]
    want[3], want[:, 5] = 7, want[:, 6]

    def program(a):
        a = a.at[1:-1, 1:-1].set(a[:-2, 1:-1] + a[2:, 1:-1]).at[3].set(7)
        return a.at[:, 5].set(a[:, 6])

    np.testing.assert_array_equal(jitney.jit(program)(x), want)
    np.testing.assert_array_equal(jitney.jit(program, donate_argnums=0)(jnp.asarray(x)), want)
