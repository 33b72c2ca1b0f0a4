"""Descriptions of programs: equal for the same program traced again, different for any other."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.core.describe_jaxpr import count_equations, describe_jaxpr

X = np.ones((3, 4), np.float32)
PROGRAMS = {
    "sin": lambda x: jnp.sin(x),
    "cos": lambda x: jnp.cos(x),
    "of the first twice": lambda x: jnp.sin(jnp.sin(x)),
    "x minus sin": lambda x: x - jnp.sin(x),
    "sin minus x": lambda x: jnp.sin(x) - x,
    "plus 1": lambda x: x + 1.0,
    "plus 2": lambda x: x + 2.0,
    "plus -0": lambda x: x + -0.0,
    "plus 0": lambda x: x + 0.0,
    "plus nan": lambda x: x + np.float32(np.nan),
    "sum over 0": lambda x: x.sum(0),
    "sum over 1": lambda x: x.sum(1),
    "to float16": lambda x: x.astype(jnp.float16),
    "to bfloat16": lambda x: x.astype(jnp.bfloat16),
    "both, other order": lambda x: (jnp.cos(x), jnp.sin(x)),
    "both": lambda x: (jnp.sin(x), jnp.cos(x)),
    "both, results exchanged": lambda x: (jnp.sin(x), jnp.cos(x))[::-1],
    "set": lambda x: x.at[0].set(1.0),
    "add": lambda x: x.at[0].add(1.0),
    "clipped": lambda x: x.at[0].set(1.0, mode="clip"),
    "scan": lambda x: lax.scan(lambda c, r: (c + r, c), x[0], x),
    "scan in reverse": lambda x: lax.scan(lambda c, r: (c + r, c), x[0], x, reverse=True),
    "scan of a product": lambda x: lax.scan(lambda c, r: (c * r, c), x[0], x),
    "softmax": lambda x: jitney.nn.softmax(x),
    "relu": lambda x: jitney.nn.relu(x),
    "random": lambda x: x + jitney.random.uniform(jitney.random.key(0), (4,)),
    "random by rbg": lambda x: x + jitney.random.uniform(jitney.random.key(0, impl="rbg"), (4,)),
    "a small table": lambda x: x + np.arange(4, dtype=np.float32),
}


def described(fun, *args):
    return describe_jaxpr(jitney.make_jaxpr(fun)(*args).jaxpr)


def test_programs_are_told_apart():
    found = {name: described(fun, X) for name, fun in PROGRAMS.items()}
    assert all(found.values())
    same = [(a, b) for a, b in itertools.combinations(found, 2) if found[a] == found[b]]
    assert same == []


def test_types_of_operands_are_told_apart():
    arguments = [X, X[:2], X.astype(np.float64), X.astype(np.int32), jnp.ones((3, 4), jnp.bfloat16)]
    with jitney.enable_x64(True):
        found = [described(lambda x: x * x, a) for a in arguments]
        weak = [described(lambda x: x * 2, a) for a in (2.0, jnp.float64(2.0))]
    assert len(set(found)) == len(found) and weak[0] != weak[1]


def test_the_same_program_again_is_the_same():
    for name, fun in PROGRAMS.items():
        assert described(fun, X) == described(lambda x, fun=fun: fun(x), X), name


def test_another_process_writes_the_same():
    code = """if 1:
        import hashlib, numpy as np, jitney, jitney.numpy as jnp
        from jitney.core.describe_jaxpr import describe_jaxpr
        jaxpr = jitney.make_jaxpr(lambda x: [jitney.nn.softmax(x).at[:, 1].add(2.0), jnp.sort(x),
            jitney.random.normal(jitney.random.key(1), (3,)), x @ x.T])(np.ones((3, 4), 'f4'))
        print(hashlib.sha256(describe_jaxpr(jaxpr.jaxpr)).hexdigest())"""
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                           env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}).stdout
            for seed in "01"]
    assert runs[0] == runs[1] != ""


@pytest.mark.parametrize("fun", [
    lambda x: jitney.pure_callback(np.sin, jitney.ShapeDtypeStruct(X.shape, X.dtype), x),
    lambda x: (jitney.debug.print("{}", x), x)[1],
])  # fmt: skip
def test_what_calls_python_has_no_description(fun):
    assert described(fun, X) is None


def test_equations_are_counted_with_those_inside():
    jaxpr = jitney.make_jaxpr(lambda x: lax.scan(lambda c, r: (jnp.sin(c) + r, c), x[0], x))(X)
    whole = count_equations(jaxpr.jaxpr, 10**6)
    assert whole > len(jaxpr.jaxpr.eqns) + 1
    assert count_equations(jaxpr.jaxpr, 2) >= 2
