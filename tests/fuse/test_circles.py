"""Kernels for several results that wait for each other: only these do without, and nothing else."""

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney.fuse import circles
from jitney.fuse.buffers import Item
from jitney.fuse.circles import MOST_TRIES, Apart, in_circles, keep_apart
from jitney.testing.stages import check_all_stages


def item(reads, writes, merged=()) -> Item:
    return Item([], set(reads), set(writes), merged)


def test_items_in_order_wait_for_nothing():
    items = [item([2], [3]), item([0], [1]), item([1], [2])]
    assert in_circles(items) == []
    assert keep_apart(items, Apart()) == Apart()


def test_items_behind_a_circle_and_before_it_are_not_in_it():
    first, last = item([0], [1], (10, 11)), item([4], [5], (50, 51))
    circle = [item([1, 3], [2], (20, 21)), item([2], [3, 4], (30, 31, 32))]
    assert in_circles([last, *circle, first]) == circle
    assert keep_apart([last, *circle, first], Apart()).nodes == {20, 21, 30, 31, 32}


def test_two_circles_and_a_long_one():
    items = [item([1], [0], (1, 2)), item([0], [1], (3, 4))]
    items += [item([100 + (i + 1) % 5000], [100 + i], (i,)) for i in range(5000)]
    assert in_circles(items) == items


def test_nothing_is_merged_where_all_is_in_vain():
    circle = [item([2], [1]), item([1], [2])]
    assert keep_apart(circle, Apart()).tries == MOST_TRIES
    apart = Apart()
    for i in range(MOST_TRIES):
        circle[0].merged = (2 * i, 2 * i + 1)
        apart = keep_apart(circle, apart)
    assert apart.tries == MOST_TRIES


def kernels(fun, *arguments) -> int:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels").count("] kernel")


def test_what_waits_does_not_keep_others_apart():
    """Values, first and second derivatives: those of `standardize` need sums of one another."""
    functions = (jax.nn.gelu, jax.nn.silu, jax.nn.softplus, jax.nn.standardize, jax.nn.elu)

    def derivatives(x, u):
        out = []
        for f in functions:
            first = jax.grad(lambda x, f=f: jnp.sum(f(x) * u))
            out.append((f(x), first(x), jax.jvp(first, (x,), (u,))[1]))
        return out

    x, u = np.random.default_rng(0).normal(size=(2, 20000)).astype(np.float32)
    assert kernels(derivatives, x, u) <= 18  # 27 where nothing is computed together
    check_all_stages(derivatives, x[:300], u[:300])


SHAPES = [(), (3,), (40,), (8, 8), (40, 3), (5000,)]
KINDS = ("binary", "unary", "scale", "mean", "roll", "stack")
SHARES = (0.3, 0.1, 0.2, 0.2, 0.1, 0.1)
UNARY = (jnp.sin, jnp.tanh, jnp.cos, lambda x: jnp.exp(-x * x))
BINARY = (jnp.add, jnp.multiply, jnp.subtract, jnp.maximum)


def made(values, kind, which, at, other, *numbers):
    """The next value of a program."""
    x = values[at]
    if kind == "binary":
        return BINARY[which](x, values[other]) * 0.7
    if kind == "unary":
        return UNARY[which](x)
    if kind == "scale":
        return x * values[numbers[0]] + 0.3
    if kind == "mean":
        return x.mean()
    if kind == "roll":
        return jnp.roll(x.reshape(-1), 3).reshape(x.shape) + x
    return jnp.stack([values[i] for i in numbers])


def drawn(seed):
    """A program of numbers and arrays, each made of the latest few, of which some are wanted."""
    rng = np.random.default_rng(seed)
    shapes = [0, 1, 2, 3, 4, 5, 0, 2]
    arguments = [rng.uniform(-1, 1, SHAPES[s]).astype(np.float32) for s in shapes]
    plan = []
    for _ in range(rng.integers(15, 90)):
        kind = rng.choice(KINDS, p=SHARES)
        at = int(rng.integers(max(0, len(shapes) - 12), len(shapes)))
        alike = [i for i, s in enumerate(shapes) if s == shapes[at]]
        numbers = [i for i, s in enumerate(shapes) if s == 0]
        which, other = int(rng.integers(4)), int(rng.choice(alike))
        plan.append((kind, which, at, other, *rng.choice(numbers, 3)))
        shapes.append({"mean": 0, "stack": 1}.get(kind, shapes[at]))
    wanted = np.unique(rng.integers(8, len(shapes), rng.integers(1, 14)))

    def program(*values):
        values = list(values)
        for step in plan:
            values.append(made(values, *step))
        return [values[i] for i in wanted]

    return program, arguments


def test_random_programs_in_which_kernels_would_wait_for_each_other(monkeypatch):
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")  # what comes from the disk has no partition
    found, look = [], circles.in_circles
    monkeypatch.setattr(circles, "in_circles", lambda items: found.append(look(items)) or found[-1])
    for seed in range(60):
        program, arguments = drawn(seed)
        total = lambda *x, f=program: sum(v.mean() for v in f(*x))
        for fun in (program, jax.grad(total)):
            got = jax.tree_util.tree_leaves(jax.jit(fun)(*arguments))
            with jax.disable_jit():
                want = jax.tree_util.tree_leaves(fun(*map(jnp.asarray, arguments)))
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5)
    assert sum(map(bool, found)) >= 3


def test_differences_of_neighbours_are_not_stored_beside_a_sum_of_all():
    """Else the neighbours would be an array of their own."""
    x = np.random.default_rng(0).random((200, 300)).astype(np.float32)

    def edges(x):
        wide = jnp.pad(x, 1, mode="edge")
        found = [wide[:-2, 1:-1] - x, wide[2:, 1:-1] - x, wide[1:-1, 2:] - x]
        return x.sum(), found

    text = jax.explain(edges, x, rounds=1).as_text("kernels")
    assert " stage 0 b" not in text
    total, found = jax.jit(edges)(x)
    np.testing.assert_allclose(total, x.sum(), rtol=1e-5)
    for a, b in zip(found, edges(jnp.asarray(x))[1], strict=True):
        np.testing.assert_array_equal(a, b)
