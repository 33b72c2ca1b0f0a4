"""Long and deep programs: no recursion limit, and time that grows no faster than they do."""

import gc
import sys
import time

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import nn

X = np.linspace(0.1, 1, 50, dtype=np.float32)


def chain(n):
    def f(x):
        for i in range(n):
            x = x * 1.0001 + 0.001 if i % 2 else x - 0.0005
        return x
    return f


def first_call(fun, *args):
    """Seconds and the result; collecting what many tests have left takes seconds, too."""
    gc.collect()
    begin = time.perf_counter()
    out = jitney.jit(fun)(*args)
    return time.perf_counter() - begin, out


def test_two_thousand_operations_in_a_chain():
    took, out = first_call(chain(2000), X)
    want = chain(2000)(X.astype(np.float64))
    assert np.allclose(out, want, rtol=1e-4)
    assert took < 15


def wide(n):
    """n equations, many results alive at once."""
    def f(x):
        values = [x + float(i) for i in range(20)]
        for i in range(n - 40):
            values[i % 20] = values[i % 20] * values[(i * 7 + 3) % 20].min() + 0.5
            values[i % 20] = values[i % 20] / (1 + jnp.abs(values[i % 20]))
        return sum(values)
    return f


def blocks(n):
    """n equations in layers with sums between, as networks have."""
    def f(x):
        for _ in range(n // 6):
            x = nn.relu(x - x.mean()) * 1.5 + x[::-1] * 0.1
        return x
    return f


@pytest.mark.parametrize("make", [chain, blocks])
def test_time_is_linear_in_the_size_of_the_program(make, monkeypatch):
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")            # nothing kept from an earlier run
    first_call(make(100), X)
    small, _ = min((first_call(make(k), X) for k in (600, 601)), key=lambda r: r[0])
    large, out = first_call(make(2400), X)
    assert np.isfinite(np.asarray(out)).all()
    assert large < 1 + 8 * small, (small, large)          # 4 is linear, 16 quadratic


@pytest.mark.slow
def test_ten_thousand_equations():
    took, out = first_call(blocks(10_000), X)
    assert np.isfinite(np.asarray(out)).all()
    assert took < 60


def test_deep_nesting_of_functions_and_trees():
    def nest(k):
        if k == 0:
            return lambda x: x + 1
        inner = jitney.jit(nest(k - 1))
        return lambda x: inner(x) * 1.0

    assert float(jitney.jit(nest(40))(1.0)) == 2
    tree = 1.0
    for _ in range(200):
        tree = [tree]
    out = jitney.jit(lambda t: t)(tree)
    for _ in range(200):
        (out,) = out
    assert float(out) == 1


def test_endless_recursion_is_a_python_error():
    @jitney.jit
    def f(x):
        return f(x) + 1

    def g(x):
        return g(x * 2)

    for fun in (f, jitney.jit(g)):
        with pytest.raises(RecursionError):
            fun(1.0)
    tree = []
    tree.append(tree)
    with pytest.raises((RecursionError, ValueError, TypeError)):
        jitney.jit(lambda t: 1)(tree)
    assert jitney._native.current_trace() is None
    assert float(jnp.ones(2).sum()) == 2


def test_a_low_recursion_limit_is_enough():
    import inspect

    limit = sys.getrecursionlimit()
    depth = len(inspect.stack(0))
    f = jitney.jit(chain(300))
    sys.setrecursionlimit(depth + 150)
    try:
        out = f(X)
    finally:
        sys.setrecursionlimit(limit)
    assert np.allclose(out, chain(300)(X), rtol=1e-4)


def test_a_text_of_a_long_program():
    text = str(jitney.make_jaxpr(chain(3000))(1.0))
    assert text.count("\n") > 3000


def test_wide_programs():
    took, out = first_call(wide(600), X)
    assert np.isfinite(np.asarray(out)).all() and took < 15


def test_eager_loops_do_not_pile_up():
    x = jnp.ones(3)
    for _ in range(50_000):
        x = x * 1.0 + 0.0
    assert np.array_equal(x, [1, 1, 1])
