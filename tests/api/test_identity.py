"""When two functions are the same, and when they must not be."""

import dis
import functools
import gc
import random
import weakref

import numpy as np
import pytest
import toy_language as toy

import jitney
from jitney.api import identity
from jitney.base import debug
from jitney.core.avals import to_array

SCALE = 2.0


def count_traces(make, times=5, argument=1.0):
    """Traces while `jit(make(i))(argument)` runs a few times, and the results."""
    before = debug.counts().get("traces", 0)
    outs = [float(jitney.jit(make(i))(argument)) for i in range(times)]
    return debug.counts().get("traces", 0) - before, outs


def test_the_opcode_we_look_for():
    assert dis.opmap["IMPORT_NAME"] == identity._IMPORT_NAME


def test_a_lambda_in_a_loop_is_traced_once():
    assert count_traces(lambda i: lambda x: toy.add(x, 1.0))[0] == 1


def test_partials_and_nested_functions():
    def scaled(k, x):
        return toy.mul(x, k)

    assert count_traces(lambda i: functools.partial(scaled, 3.0))[0] == 1
    n, outs = count_traces(lambda i: functools.partial(scaled, float(i)))
    assert n == 4 and outs == [0, 1, 2, 3, 4]  # 3.0 was met above


def test_scalars_in_cells_count_by_value():
    def make(k):
        return lambda x: toy.mul(x, k)

    n, outs = count_traces(lambda i: make(float(i % 2)))
    assert n == 2 and outs == [0, 1, 0, 1, 0]
    assert count_traces(lambda i: make([0.5, 0.5, -0.0, 0.25, -0.0][i]))[0] == 3
    assert count_traces(lambda i: make(0.0))[0] == 0  # was met as float(0 % 2)


def test_defaults_count():
    def make(k):
        def f(x, k=k):
            return toy.mul(x, k)

        return f

    assert count_traces(lambda i: functools.partial(make(float(i)), k=float(i)))[1] == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_globals_count(monkeypatch):
    import sys

    outs = []
    for value in (2.0, 3.0, 2.0):
        monkeypatch.setattr(sys.modules[__name__], "SCALE", value)
        outs.append(float(jitney.jit(lambda x: toy.mul(x, SCALE))(1.0)))
    assert outs == [2.0, 3.0, 2.0]


def test_helpers_globals_count(monkeypatch):
    import sys

    def helper(x):
        return toy.mul(x, SCALE)

    outs = []
    for value in (5.0, 6.0):
        monkeypatch.setattr(sys.modules[__name__], "SCALE", value)
        outs.append(float(jitney.jit(lambda x: helper(x))(1.0)))
    assert outs == [5.0, 6.0]


def test_mutable_containers_count_by_content():
    config = {"k": 1.0, "more": [1.0]}
    outs = []
    for k in (1.0, 2.0):
        config["k"] = k
        config["more"][0] = 10 * k
        outs.append(
            float(jitney.jit(lambda x: toy.mul(toy.mul(x, config["k"]), config["more"][0]))(1.0))
        )
    assert outs == [10.0, 40.0]
    assert count_traces(lambda i: lambda x: toy.mul(x, config["k"]))[0] == 1


def test_objects_count_by_content():
    class Settings:
        factor = 1.0

        def __init__(self):
            self.k = 1.0

        def apply(self, x):
            return toy.mul(toy.mul(x, self.k), self.factor)

    s = Settings()
    outs = []
    for k, factor in ((1.0, 1.0), (2.0, 1.0), (2.0, 3.0)):
        s.k, Settings.factor = k, factor
        outs.append(float(jitney.jit(lambda x: s.apply(x))(1.0)))
    assert outs == [1.0, 2.0, 6.0]
    assert count_traces(lambda i: s.apply)[0] <= 1
    assert count_traces(lambda i: lambda x: s.apply(x))[0] <= 1


def test_modules_count_by_what_is_read_from_them():
    import types

    settings = types.ModuleType("settings")
    settings.a = settings.b = 1.0

    def helper(x):
        return toy.mul(x, settings.b)

    outs = []
    for a, b in ((1.0, 1.0), (2.0, 1.0), (2.0, 5.0)):
        settings.a, settings.b = a, b
        outs.append(float(jitney.jit(lambda x: helper(toy.mul(x, settings.a)))(1.0)))
    assert outs == [1.0, 2.0, 10.0]
    assert count_traces(lambda i: lambda x: helper(toy.mul(x, settings.a)))[0] == 1


def test_bound_methods_of_opaque_objects_hit():
    class Opaque:
        def __init__(self):
            self.table = np.zeros(100_000)

        def apply(self, x):
            return toy.sin(x)

    o = Opaque()
    assert count_traces(lambda i: o.apply)[0] == 1


def test_captured_arrays_count_by_identity():
    a, b = to_array(np.float32(2)), to_array(np.float32(3))

    def make(c):
        return lambda x: toy.mul(x, c)

    n, outs = count_traces(lambda i: make([a, b][i % 2]))
    assert n == 2 and outs == [2, 3, 2, 3, 2]


def test_small_numpy_arrays_count_by_content():
    table = np.float32([1.0])
    outs = []
    for value in (1.0, 2.0):
        table[0] = value
        outs.append(float(jitney.jit(lambda x: toy.mul(x, table[0]))(1.0)))
    assert outs == [1.0, 2.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda i: lambda x: toy.mul(x, random.random()),
        lambda i: lambda x: toy.mul(x, np.random.rand()),
        lambda i: lambda x: (print(end=""), x)[1],
    ],
    ids=["random", "numpy.random", "print"],
)
def test_impure_functions_are_traced_each_time(make):
    assert count_traces(make)[0] == 5


def test_iterators_are_not_shared():
    steps = iter(range(100))
    assert count_traces(lambda i: lambda x: toy.add(x, float(next(steps))))[1] == [1, 2, 3, 4, 5]


def test_a_changed_function_does_not_spoil_the_others():
    box = [1.0]

    def make():
        return lambda x: toy.mul(x, box[0])

    first, second = jitney.jit(make()), jitney.jit(make())
    assert float(first(1.0)) == 1.0
    box[0] = 2.0
    first(np.ones(2, np.float32))  # traced with the new content, under its own identity
    assert float(second(1.0)) == 2.0
    assert float(jitney.jit(make())(1.0)) == 2.0
    box[0] = 1.0
    assert np.asarray(jitney.jit(make())(np.ones(2, np.float32)))[0] == 1.0


def test_recursive_functions():
    def fact(n, x):
        return x if n == 0 else toy.mul(fact(n - 1, x), float(n))

    assert float(jitney.jit(lambda x: fact(4, x))(1.0)) == 24.0


def test_captured_memory_is_bounded():
    for i in range(200):
        c = to_array(np.full((1 << 18,), i, np.float32))
        jitney.jit(lambda x: toy.mul(x, c))(1.0)  # noqa: B023
    assert sum(i.captured_bytes for i in identity._heavy.values()) <= identity._HEAVY_BYTES


def test_functions_die_with_their_last_user():
    class Model:
        def __init__(self):
            self.weights = to_array(np.ones(3, np.float32))

        def __call__(self, x):
            return toy.mul(x, self.weights)

    def local(x):
        return toy.sin(x)

    model = Model()
    held = [weakref.ref(local), weakref.ref(model), weakref.ref(model.weights)]
    jitney.jit(local)(1.0)
    jitney.jit(model)(1.0)
    assert held[0]() is not None
    del local, model
    for _ in range(identity._HEAVY_LIMIT + 1):          # push the model out of the table
        c = [1.0]
        jitney.jit(lambda x: toy.mul(x, c[0]))(1.0)     # noqa: B023
    gc.collect()
    assert [h() for h in held] == [None, None, None]
