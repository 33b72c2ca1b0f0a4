"""Derivatives through collectives, pmap and shard_map, against vmap and against closed forms."""

import numpy as np
import pytest
from member_loops import WAYS, N

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.sharding import PartitionSpec as P

FUNCTIONS = {
    "psum": lambda v: lax.psum(jnp.sin(v), "i") * v,
    "pmean": lambda v: lax.pmean(v * v, "i") + v,
    "pmax": lambda v: lax.pmax(v, "i") * v,
    "all_gather": lambda v: (lax.all_gather(v, "i") * jnp.arange(4.0)[:, None]).sum(0) * v,
    "psum_scatter": lambda v: lax.psum_scatter(v * v, "i") * v[0],
    "all_to_all": lambda v: lax.all_to_all(jnp.cos(v), "i", 0, 0) * v,
    "ppermute": lambda v: lax.ppermute(v * v, "i", [(0, 1), (1, 3)]) * v,
    "groups": lambda v: lax.psum(v * v, "i", axis_index_groups=[[0, 2], [1, 3]]) * v,
    "index": lambda v: v * v * lax.axis_index("i"),
}
function = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
devices = pytest.mark.parametrize("way", [WAYS["pmap"], WAYS["shard_map"]],
                                  ids=["pmap", "shard_map"])
X = np.random.default_rng(1).standard_normal((N, N)).astype("f4")
T = np.random.default_rng(2).standard_normal((N, N)).astype("f4")


def close(got, want):
    jitney.tree_util.tree_map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5), got, want)


@function
@devices
def test_forward_and_reverse(f, way):
    def both(run):
        def loss(x):
            return (run(x) * jnp.cos(x.sum())).sum()
        return (jitney.jvp(run, (X,), (T,)), jitney.grad(loss)(X), jitney.jit(jitney.grad(loss))(X),
                jitney.linearize(run, X)[1](T), jitney.vjp(run, X)[1](jnp.asarray(run(X))))

    close(both(way(f)), both(WAYS["vmap"](f)))


@devices
@pytest.mark.parametrize("name", ["psum", "all_gather", "ppermute"])
def test_second_derivatives_and_batches(way, name):
    f = FUNCTIONS[name]

    def both(run):
        def loss(x):
            return (run(x) ** 2).sum()
        inner = jitney.grad(loss)
        return (jitney.jvp(inner, (X,), (T,)), jitney.grad(lambda x: (inner(x) * T).sum())(X),
                jitney.vmap(run)(np.stack([X, T, X])),
                jitney.vmap(inner, in_axes=1, out_axes=2)(np.stack([X, T], 1)))

    close(both(way(f)), both(WAYS["vmap"](f)))


@devices
def test_integer_arguments_and_results(way):
    def f(v):
        return v["a"] * v["n"], lax.psum(v["n"], "i")

    def loss(x, n):
        a, total = way(f)({"a": x, "n": n})
        return (a * total).sum()

    n = np.arange(N)
    close(jitney.grad(loss)(X[:, 0], n), np.float32(n * n.sum()))


@pytest.mark.parametrize("check", [True, False])
def test_weights_that_all_devices_share(grid, check):
    """The cotangent of an operand that is not split is summed over the devices."""

    def loss(w, b, x):
        def f(w, b, x):
            y = jnp.tanh(x @ w + b)
            return lax.psum((y * y).sum(), ("x", "y"))
        return jitney.shard_map(f, mesh=grid, in_specs=(P(), P("y"), P("x")), out_specs=P(),
                                check_vma=check)(w, b, x)

    def whole(w, b, x):
        y = jnp.tanh(x @ w + b.reshape(4, 1, 3))
        return (y * y).sum()

    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s).astype("f4") for s in ((5, 3), (12,), (6, 5))]
    close(loss(*args), whole(*args))
    for argnums in ((0, 1, 2), 0):
        close(jitney.grad(loss, argnums)(*args), jitney.grad(whole, argnums)(*args))
    close(jitney.jit(jitney.grad(loss, 0))(*args), jitney.grad(whole, 0)(*args))
    close(jitney.jvp(jitney.grad(loss, 0), args, args),
          jitney.jvp(jitney.grad(whole, 0), args, args))


def test_derivatives_taken_inside(line):
    """With the check, the derivative is that of the whole computation; without, of one device's."""
    x = np.arange(8.0, dtype="f4")

    def run(inside, out, check):
        return jitney.shard_map(inside, mesh=line, in_specs=(P("i"), P()), out_specs=out,
                                check_vma=check)(x, jnp.float32(2))

    def with_psum(x, w):
        return jitney.grad(lambda w: lax.psum((x * w).sum(), "i"))(w)

    def without(x, w):
        return jitney.grad(lambda w: (x * w).sum())(w)

    close(run(with_psum, P(), True), x.sum())
    close(run(without, P(), True), x.sum())
    local = x.reshape(4, 2).sum(1)
    close(run(lambda x, w: without(x, w)[None], P("i"), False), local)
    close(run(lambda x, w: with_psum(x, w)[None], P("i"), False), 4 * local)
    both = run(lambda x, w: jitney.value_and_grad(lambda w: lax.pmean((x * w).sum(), "i"))(w),
               P(), True)
    close(both, (x.sum() / 2, x.sum() / 4))


def test_a_training_step(line):
    """Data parallel gradient descent inside shard_map is gradient descent on all data."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((16, 3)).astype("f4"), rng.standard_normal(16).astype("f4")

    def error(w, x, y):
        return ((x @ w - y) ** 2).mean()

    @jitney.jit
    @jitney.shard_map(mesh=line, in_specs=(P(), P("i"), P("i")), out_specs=P())
    def step(w, x, y):
        return w - 0.1 * jitney.grad(lambda w: lax.pmean(error(w, x, y), "i"))(w)

    w = v = jnp.zeros(3)
    for _ in range(5):
        w, v = step(w, x, y), v - 0.1 * jitney.grad(error)(v, x, y)
    close(w, v)


def test_nested_maps(grid):
    """Axes one after the other: derivatives of and in the outer map."""
    x = np.random.default_rng(0).standard_normal((8, 8)).astype("f4")

    def nested(w, x):
        inner = jitney.shard_map(lambda x: lax.psum((jnp.sin(x) * w).sum(), "y"),
                                 in_specs=P(None, "y"), out_specs=P(), axis_names={"y"})
        return lax.psum(inner(x), "x")

    def mapped(f):
        return jitney.shard_map(f, mesh=grid, in_specs=(P(), P("x")), out_specs=P(),
                                axis_names={"x"})

    for run in (jitney.grad(mapped(nested)), mapped(jitney.grad(nested))):
        close(run(jnp.float32(2), x), np.sin(x).sum())
        close(jitney.jit(run)(jnp.float32(2), x), np.sin(x).sum())


def test_custom_rules_and_remat_inside(line):
    @jitney.custom_vjp
    def f(x):
        return jnp.sin(x)

    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (2 * g * jnp.cos(x),))
    x = np.arange(4.0, dtype="f4")
    for transform in (lambda g: g, jitney.checkpoint, jitney.jit):
        run = jitney.shard_map(transform(lambda x: lax.psum(f(x) * jitney.nn.relu(x), "i")),
                               mesh=line, in_specs=P("i"), out_specs=P())
        got = jitney.grad(lambda x, run=run: run(x).sum())(x)
        close(got, 2 * np.cos(x) * x + np.sin(x) * (x > 0))
