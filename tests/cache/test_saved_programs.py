"""A process that runs what another has compiled loads whole programs, and plans nothing again."""

import pytest

from jitney import _native

HEAD = """
import json, os, sys
import numpy as np
import jitney, jitney.numpy as jnp
from jitney import lax
from jitney.backend import object_cache
from jitney.runtime import saved_program

saved_program.LEAST_WORK_NS = 0     # also keep what a fast machine plans in no time

def run(fun, *args, **options):
    out = jitney.jit(fun, **options)(*args)
    leaves = jitney.tree.leaves(out)
    return [np.asarray(x).tobytes().hex() for x in leaves]

X = np.linspace(-1, 2, 60, dtype=np.float32).reshape(6, 10)
results = {}
"""
TAIL = """
print(json.dumps({"results": results, **object_cache.counters,
                  "modules": sorted(m for m in sys.modules if m.startswith(("jitney.fuse",
                                    "jitney.codegen", "jitney.lower", "llvmlite")))}))
"""
PROGRAMS = {
    "chain": "run(lambda x: [jax_chain(x + k).sum(k % 2) for k in range(5)], X)",
    "scan": "run(lambda x: lax.scan(lambda c, r: (c @ jnp.eye(10) + r, (c * r).sum()), x[0], x),"
            " X)",
    "while": "run(lambda x: lax.while_loop(lambda s: s[1].sum() < 1e3, lambda s: (s[0] + 1,"
             " jnp.sort(s[1]) * 1.5 + s[0]), (0, jnp.abs(x).ravel())), X)",
    "switch": "run(lambda x, i: lax.switch(i, [lambda y: y @ y.T, lambda y: jnp.cumsum(y, 1) @ x.T,"
              " lambda y: (y * 2).sum() + jnp.zeros((6, 6))], x), X, 1)",
    "solve": "run(lambda x: jnp.linalg.solve(x @ x.T + 9 * jnp.eye(6), jnp.linalg.svd(x)[0]), X)",
    "random": "run(lambda k: jitney.random.normal(jitney.random.split(k)[0], (50,)),"
              " jitney.random.key(3))",
    "gradient": "run(jitney.grad(lambda x: jitney.nn.logsumexp(jnp.tanh(x @ x.T))), X)",
    "donated": "run(lambda a, x: (a.at[2].set(x[1]), [jax_chain(x)]), jnp.asarray(X), X,"
               " donate_argnums=0)",
    "captured": "run(lambda x: jax_chain(x @ CAPTURED) + 1, X)",
}  # fmt: skip
CHAIN = """
def jax_chain(x):
    for f in (jnp.sin, jnp.exp, jnp.log1p, jnp.arctan, jnp.cbrt):
        x = f(x * 0.5 + 1.25) - x.max(0)
    return x
CAPTURED = np.arange(100, dtype=np.float32).reshape(10, 10)
"""


def program(*names):
    lines = [f"results[{n!r}] = {PROGRAMS[n]}" for n in names]
    return HEAD + CHAIN + "\n".join(lines) + TAIL


def test_a_second_process_plans_nothing(cache):
    code = program(*PROGRAMS)
    first, second = cache(code), cache(code)
    assert first["programs_loaded"] == 0 and first["compiled"] > 10
    assert second["results"] == first["results"]
    assert second["compiled"] == 0 and second["programs_loaded"] >= len(PROGRAMS)
    assert not any(m.startswith("llvmlite") for m in second["modules"])


def test_nothing_of_the_compiler_is_imported(cache):
    code = program("chain", "gradient")
    cache(code)
    second = cache(code)
    assert second["programs_loaded"] == 2
    assert not any(m.endswith(("partition", "build_graph", "emit_kernel"))
                   for m in second["modules"])


@pytest.mark.parametrize("change", ["threads", "switch", "source", "target"])
def test_what_changes_a_plan_changes_the_key(cache, change):
    if change == "threads" and _native.num_threads() == 1:
        pytest.skip("one thread is what there is")
    code = program("chain", "random")
    first = cache(code)
    changed = {
        "threads": {"JITNEY_NUM_THREADS": "1"},
        "switch": {"JAX_THREEFRY_PARTITIONABLE": "0"},
        "source": {"code": code.replace("1.25", "1.26")},
        "target": {"JITNEY_TARGET": "x86-64"},
    }[change]
    second = cache(**{"code": code, **changed})
    assert second["programs_loaded"] <= (1 if change == "source" else 0)
    if change == "switch":
        assert second["results"]["random"] != first["results"]["random"]
    if change == "threads":
        assert second["results"] == first["results"]


def test_damaged_entries_are_made_again(cache):
    code = program("chain", "while")
    first = cache(code)
    for path in cache.entries():
        data = path.read_bytes()
        path.write_bytes(data[:-3] + bytes(3))
    second = cache(code)
    assert second["results"] == first["results"] and second["disk_errors"] > 0
    assert second["programs_loaded"] == 0


def test_a_missing_kernel_is_compiled_again(cache):
    code = program("chain")
    first = cache(code)
    for path in cache.entries()[::3]:
        path.unlink()
    assert cache(code)["results"] == first["results"]


def test_what_calls_python_is_not_kept(cache):
    code = HEAD + CHAIN + """
def host(x):
    return np.asarray(x) * 2
def fun(x):
    y = jitney.pure_callback(host, jitney.ShapeDtypeStruct(x.shape, x.dtype), x)
    return jax_chain(jax_chain(y))
results["call"] = run(fun, X)
""" + TAIL
    first, second = cache(code), cache(code)
    assert second["programs_loaded"] == 0 and second["results"] == first["results"]


def test_a_loaded_program_can_be_looked_at(cache):
    code = HEAD + CHAIN + """
compiled = jitney.jit(lambda x: [jax_chain(x + k) for k in range(3)]).lower(X).compile()
results["text"] = compiled.as_text()
results["flops"] = compiled.cost_analysis()["flops"]
results["bytes"] = compiled.memory_analysis().argument_size_in_bytes
results["values"] = [np.asarray(y).tobytes().hex() for y in compiled(X)]
""" + TAIL
    first, second = cache(code), cache(code)
    assert second["programs_loaded"] == 1 and first["programs_loaded"] == 0
    assert second["results"] == first["results"] and "fused" in first["results"]["text"]
