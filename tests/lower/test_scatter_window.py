"""Updates of one window: by fixed slices, at traced places, in loops, outside of the array."""

import warnings

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax

A = np.arange(30, dtype=np.float32).reshape(5, 6)
PLACES = [-9, -6, -5, -1, 0, 3, 4, 5, 6, 11]
UPDATES = {
    "row": lambda a, k: a.at[k].set(1.0),
    "element": lambda a, k: a.at[k, 2].add(5.0),
    "column": lambda a, k: a.at[:, k].multiply(2.0),
    "smaller": lambda a, k: a.at[k].min(0.0),
    "larger": lambda a, k: a.at[2, k].max(100.0),
    "clip": lambda a, k: a.at[k, 1:4].set(jnp.arange(3.0), mode="clip"),
    "bool": lambda a, k: (a > 3).at[k].set(True),
    "complex": lambda a, k: (a + 1j).at[k].add(2j),
    "uint8": lambda a, k: a.astype(jnp.uint8).at[k, 0].add(255),
    "power": lambda a, k: a.at[k, 1].power(2),
    "fixed": lambda a, k: a.at[1:-1, 1:-1].set(a[:-2, 1:-1] + a[2:, 1:-1]),
    "reads_elsewhere": lambda a, k: a.at[k].set(a[0] + a[1]),
    "twice": lambda a, k: a.at[k].set(a[0]).at[0].set(a[1]),
}  # fmt: skip


@pytest.mark.parametrize("name", UPDATES)
def test_same_as_one_operation_after_the_other(name):
    fused, donated = jitney.jit(UPDATES[name]), jitney.jit(UPDATES[name], donate_argnums=0)
    for k in PLACES:
        with jitney.disable_jit():
            want = np.asarray(UPDATES[name](jnp.asarray(A), k))
        np.testing.assert_array_equal(fused(jnp.asarray(A), k), want)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # results of another type cannot use the memory
            np.testing.assert_array_equal(donated(jnp.asarray(A), k), want)




@pytest.mark.parametrize("mode", ["drop", "clip"])
def test_places_outside_in_a_loop(mode):
    def fill(a):
        return lax.fori_loop(0, 9, lambda i, a: a.at[i * 2 - 4].set(i * 2.0 - 4, mode=mode), a)

    want = A[:, 0].copy()
    for k in range(-4, 13, 2):
        if mode == "clip":
            want[np.clip(k + 5 if k < 0 else k, 0, 4)] = k
        elif k < 5:
            want[k] = k
    np.testing.assert_array_equal(jitney.jit(fill)(A[:, 0]), want)
    batch = np.stack([A[:, 0]] * 20)
    np.testing.assert_array_equal(jitney.jit(jitney.vmap(fill))(batch)[13], want)


def text(f, *args):
    return jitney.jit(f).lower(*args).compile().as_text()


def test_what_they_become():
    assert "routine" not in text(UPDATES["fixed"], A, 0)
    recurrence = text(lambda x: lax.fori_loop(
        0, 99, lambda t, x: x.at[t + 1].set(x[t] * 0.5 + 1), x), np.zeros(100, np.float32))
    # one kernel: the counter begins with a number that the loop is told
    assert recurrence.count("kernel") == 1 and "anew" not in recurrence
    assert "anew" in text(lambda x: lax.fori_loop(
        0, 99, lambda t, x: x.at[t].set(x[0] + 1), x), np.zeros(100, np.float32))


def test_the_first_element_changes_under_the_loop():
    found = jitney.jit(lambda x: lax.fori_loop(
        0, 6, lambda t, x: x.at[t].set(x[0] + 1), x))(np.zeros(6, np.float32))
    np.testing.assert_array_equal(found, [1, 2, 2, 2, 2, 2])
