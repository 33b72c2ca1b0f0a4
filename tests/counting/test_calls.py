"""What a second call may do: nothing but run the program."""

import functools
import gc
import weakref

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import _native, lax, random
from jitney.api import identity


def test_a_second_call_runs_no_python(since):
    ran = []

    @jitney.jit
    def f(x, y):
        ran.append(1)
        return {"a": jnp.sin(x["p"]) + y, "b": (x["q"], y * 2)}

    x = {"p": jnp.arange(5.0), "q": jnp.ones((2, 3))}
    f(x, 2.0)
    after = since()
    for k in range(5):
        f({"p": jnp.ones(5) if k == -1 else x["p"], "q": x["q"]}, float(k))
    assert after.nothing_but_native()
    assert after.hits == 5 and ran == [1]
    assert f.misses == 1


def test_numpy_arguments_and_scalars_hit_too(since):
    f = jitney.jit(lambda x, n: x * n + 1)
    x = np.arange(6, dtype=np.float32)
    f(x, 3)
    f(x.astype(np.float64), 3)
    after = since()
    f(x, 4)
    f(x.astype(np.float64), 5)
    f(x[::-1], 5)
    f(np.asfortranarray(x), -1)
    assert after.nothing_but_native()


def test_each_signature_traces_once(since):
    f = jitney.jit(lambda x: x + 1)
    arguments = [jnp.ones(n) for n in range(1, 30)] + [1, 2.0, True, 1j, jnp.arange(3)]
    after = since()
    for _ in range(3):
        for x in arguments:
            f(x)
    assert after.traces == len(arguments)
    assert f.misses == len(arguments)


def test_methods_and_static_arguments(since):
    class Model:
        def __init__(self, w):
            self.w = w

        @functools.partial(jitney.jit, static_argnums=(0, 2), static_argnames="mode")
        def apply(self, x, n, mode="a"):
            return x * self.w * n + (1 if mode == "a" else 2)

    m, x = Model(3.0), jnp.ones(4)
    m.apply(x, 2, mode="b")
    after = since()
    for _ in range(4):
        m.apply(x, 2, mode="b")
    assert after.nothing_but_native()
    m.apply(x, 2.0, mode="b")
    assert after.traces == 1                    # 2 and 2.0 are different static values


def test_a_lambda_in_a_loop_traces_once(since):
    x = jnp.arange(7.0)
    after = since()
    for _ in range(20):
        jitney.jit(lambda v: jnp.tanh(v) * 3.0)(x)
    assert after.traces == 1 and after.compiles == 1


def test_a_partial_and_a_closure_in_a_loop_trace_once(since):
    x = jnp.arange(7.0)

    def scaled(factor):
        return lambda v: v * factor

    def power(n, v):
        return v ** n

    after = since()
    for _ in range(10):
        jitney.jit(scaled(2.5))(x)
        jitney.jit(functools.partial(power, 3))(x)
    assert after.traces == 2
    jitney.jit(scaled(3.5))(x)
    assert after.traces == 3


def test_eager_operations_compile_once_a_type(since):
    x, y = jnp.arange(5.0), jnp.arange(5)

    def work():
        for a in (x, y):
            a + a, a * 2, -a, a.sum(), a[1:3], a.reshape(5, 1), a == a, jnp.exp(a), a[::-1]

    work()
    after = since()
    for _ in range(5):
        work()
    assert not (after.traces or after.compiles or after.machine_code or after.eager_compiles)


def test_operators_of_arrays_run_no_python(since):
    x = jnp.arange(5.0)
    x + x, x * 2.0, 1.0 - x, x / 2.0, x < 2.0, -x
    after = since()
    for _ in range(10):
        x + x, x * 2.0, 1.0 - x, x / 2.0, x < 2.0, -x
    assert after.nothing_but_native()
    assert after.calls == 60


def test_random_keys_compile_once(since):
    key = random.key(0)
    for _ in range(2):
        key, sub = random.split(key)
        random.normal(sub, (3,))
    after = since()
    for _ in range(5):
        key, sub = random.split(key)
        random.normal(sub, (3,))
    assert after.traces == after.compiles == after.machine_code == 0


def test_nested_jit_compiles_one_program(since):
    inner = jitney.jit(lambda x: jnp.cos(x) + 1)

    @jitney.jit
    def outer(x):
        return inner(inner(x)) * inner(2 * x)

    after = since()
    outer(jnp.ones(5))
    assert after.traces == 2 and after.compiles == 1 and after.calls <= 3


def test_a_switch_of_config_makes_one_new_entry_and_goes_back(since):
    f = jitney.jit(lambda x: x * 1.5)
    x = np.arange(3.0)
    f(x)
    with jitney.enable_x64(True):
        assert f(x).dtype == np.float64
    after = since()
    assert f(x).dtype == np.float32
    with jitney.enable_x64(True):
        assert f(x).dtype == np.float64
    assert after.nothing_but_native()


def test_clear_caches_forgets(since):
    f = jitney.jit(lambda x: x * 11)
    f(1)
    jitney.clear_caches()
    after = since()
    f(1)
    assert after.traces == 1


def test_entries_are_bounded():
    f = jitney.jit(lambda x, n: x, static_argnums=1)
    f.max_entries = 64
    for n in range(300):
        f(1.0, n)
    assert f._entries() <= 64


def test_traced_programs_are_bounded(monkeypatch):
    """Who meets ever new sizes keeps the newest programs."""
    monkeypatch.setattr(identity, "TRACED_LIMIT", 64)
    f = jitney.jit(lambda x: x * 2.5 + 1)
    f.max_entries = 64
    first = weakref.ref(f.trace(jnp.ones(1)).jaxpr)
    assert first() is not None
    for n in range(1, 300):
        assert f(jnp.ones(n)).shape == (n,)
    gc.collect()
    assert first() is None
    assert f(jnp.ones(1)) == 3.5


@pytest.mark.skipif(not hasattr(lax, "fori_loop"), reason="no loops in this build")
def test_a_long_loop_body_is_traced_once(since):
    @jitney.jit
    def f(x):
        return lax.fori_loop(0, 1000, lambda i, c: c + 1, x)

    after = since()
    assert int(f(0)) == 1000 and int(f(5)) == 1005
    assert after.calls == 2 and f.misses == 1 and _native.current_trace() is None
