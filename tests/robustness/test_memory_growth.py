"""A million calls do not make the process larger."""

import gc
import resource

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.api import identity

PAGE = resource.getpagesize()


def resident_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE / 2**20


def growth(step, calls, warm_up=None):
    """(MiB, Python objects) that `calls` of `step` leave behind."""
    for _ in range(warm_up or max(10, calls // 10)):
        step()
    gc.collect()
    objects, before = len(gc.get_objects()), resident_mib()
    for _ in range(calls):
        step()
    gc.collect()
    return resident_mib() - before, len(gc.get_objects()) - objects


def check(step, calls, mib=3.0, objects=50, warm_up=None):
    more_mib, more_objects = growth(step, calls, warm_up)
    if more_mib >= mib or more_objects >= objects:       # once more: other tests leave a wake
        more_mib, more_objects = growth(step, calls, warm_up)
    assert more_mib < mib and more_objects < objects


def test_a_million_jitted_calls():
    f = jitney.jit(lambda x: x * 2 + 1)
    x = jnp.arange(20.0)
    check(lambda: f(x), 1_000_000)


def test_a_million_eager_additions():
    x, y = jnp.arange(20.0), jnp.ones(20)
    check(lambda: x + y, 1_000_000)


def test_donated_calls():
    state = {"x": jnp.arange(2000.0)}
    f = jitney.jit(lambda x: x.at[3].add(1.0), donate_argnums=0)

    def step():
        state["x"] = f(state["x"])

    check(step, 200_000)


def test_trees_and_scalars_and_numpy_arrays():
    f = jitney.jit(lambda t, k: {"a": t["a"] + k, "b": [t["b"][0] * 2, (t["b"][1],)]})
    tree = {"a": jnp.ones(3), "b": [np.ones(2), 3]}
    check(lambda: f(tree, k=2.0), 200_000)


def test_arrays_made_looked_at_and_dropped():
    x = np.arange(30.0)

    def step():
        a = jnp.asarray(x)
        np.asarray(a), a[3], float(a[2]), a.shape, a.T, a.tolist(), memoryview(a)

    check(step, 20_000)


def test_large_results_of_many_sizes():
    f = jitney.jit(lambda x: x + 1)
    arrays = [jnp.ones(n) for n in (10, 10_000, 300_000, 1_000_000)]

    def step():
        for a in arrays:
            f(a)

    check(step, 300, mib=10)


def test_calls_that_raise():
    f = jitney.jit(lambda x, y: x @ y)
    x, y = jnp.ones((2, 3)), jnp.ones((2, 3))

    def step():
        with pytest.raises(TypeError):
            f(x, y)

    check(step, 300, objects=400)


def test_lambdas_in_a_loop():
    x = jnp.ones(3)
    check(lambda: jitney.jit(lambda v: v * 2)(x), 3000)


def test_functions_made_and_dropped_are_forgotten():
    """Each its own program: the tables of identities, traces and code are bounded."""
    x = jnp.ones(3)
    n = iter(range(10**9))

    def step():
        k = next(n)
        jitney.jit(lambda v: v * float(k))(x)

    check(step, 1500, mib=40, objects=10**9)
    for _ in range(identity._LIGHT_LIMIT // 40):
        step()
    assert len(identity._light) <= identity._LIGHT_LIMIT
    assert len(identity._heavy) <= identity._HEAVY_LIMIT


def test_captured_large_arrays_are_not_kept_forever():
    def step():
        a = jnp.ones(250_000) * 3                        # 1 MB each
        assert float(jitney.jit(lambda v: (v + a).sum())(1.0)) == 1_000_000

    for _ in range(80):
        step()
    gc.collect()
    before = resident_mib()
    for _ in range(160):
        step()
    gc.collect()
    assert resident_mib() - before < 40


def test_static_arguments_are_bounded():
    f = jitney.jit(lambda x, n: x + 1, static_argnums=1)
    f.max_entries = 128
    n = iter(range(10**9))
    x = jnp.ones(3)
    for _ in range(600):
        f(x, next(n))
    assert f._entries() <= 128


def test_methods_of_dropped_objects_are_dropped():
    import weakref

    class Model:
        def __init__(self):
            self.w = jnp.ones(10)
            self.step = jitney.jit(self.apply)

        def apply(self, x):
            return x * self.w

    references = []
    for _ in range(200):
        m = Model()
        m.step(1.0)
        references.append(weakref.ref(m))
    del m
    gc.collect()
    assert sum(r() is not None for r in references) <= identity._HEAVY_LIMIT
