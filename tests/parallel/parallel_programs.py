"""Programs for eight devices, written once and run by JAX and by this package, each in a process.

`python parallel_programs.py NAME FILE` runs them with the package NAME and pickles what they gave:
arrays, texts, or the class of the error.
"""

import importlib
import os
import pickle
import re
import sys

import numpy as np

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def plain(text):
    """A jaxpr's text without what types say of axes, and on one line."""
    text = re.sub(r"\{V:[^}]*\}", "", str(text))
    return re.sub(r"\s+", " ", text.replace("out_sharding=None", "")).replace(" ]", "]").strip()


def shards(x):
    return [(s.device.id, str(s.index), s.replica_id, np.asarray(s.data))
            for s in sorted(x.addressable_shards, key=lambda s: s.device.id)]


def mesh_of(jax):
    return jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))


X = np.random.default_rng(0).standard_normal((8, 8)).astype("f4")


@program
def collectives(jax, jnp, P):
    lax = jax.lax
    pairs = [[0, 3], [1, 2], [4, 7], [5, 6]]
    fs = [
        lambda v: lax.psum(v, "i"), lambda v: lax.pmean(v, "i"), lambda v: lax.pmax(v, "i"),
        lambda v: lax.pmin(v, "i"), lambda v: lax.all_gather(v, "i", axis=1),
        lambda v: lax.all_gather(v, "i", tiled=True), lambda v: lax.psum_scatter(v, "i"),
        lambda v: lax.psum_scatter(v, "i", tiled=True), lambda v: lax.all_to_all(v, "i", 0, 0),
        lambda v: lax.all_to_all(v, "i", 0, 0, tiled=True), lambda v: lax.pswapaxes(v, "i", 0),
        lambda v: lax.ppermute(v, "i", [(i, (i + 3) % 8) for i in range(6)]),
        lambda v: lax.pshuffle(v, "i", [3, 1, 2, 0, 7, 5, 6, 4]),
        lambda v: v * lax.axis_index("i") + lax.axis_size("i"),
        lambda v: lax.psum(v, "i", axis_index_groups=pairs),
        lambda v: lax.pmean(v, "i", axis_index_groups=pairs),
        lambda v: lax.pmax(v, "i", axis_index_groups=pairs),
        lambda v: lax.all_gather(v, "i", axis_index_groups=pairs),
        lambda v: lax.psum_scatter(v[:2], "i", axis_index_groups=pairs),
        lambda v: lax.all_to_all(v[:2], "i", 0, 0, axis_index_groups=pairs),
        lambda v: lax.psum(v > 0, "i"), lambda v: lax.psum(1, "i") + v,
    ]
    return [jax.pmap(f, "i")(X) for f in fs]


@program
def gradients(jax, jnp, P):
    lax = jax.lax
    fs = [
        lambda v: lax.psum(jnp.sin(v), "i") * v, lambda v: lax.pmean(v * v, "i") * v,
        lambda v: lax.all_gather(v, "i").sum(0) * v, lambda v: lax.psum_scatter(v * v, "i") * v[0],
        lambda v: lax.all_to_all(jnp.cos(v), "i", 0, 0) * v,
        lambda v: lax.ppermute(v * v, "i", [(0, 1), (1, 3)]) * v,
    ]
    out = []
    for f in fs:
        run = jax.pmap(f, "i")
        out.append(jax.grad(lambda x, run=run: (run(x) ** 2).sum())(X))
        out.append(jax.jvp(run, (X,), (X[::-1].copy(),)))
    return out


@program
def derivatives_inside(jax, jnp, P):
    lax, mesh = jax.lax, mesh_of(jax)

    def run(f, spec, check=True):
        return jax.shard_map(f, mesh=mesh, in_specs=(P("x"), P()), out_specs=spec,
                             check_vma=check)(X, jnp.float32(2))

    def summed(x, w):
        return jax.grad(lambda w: lax.psum((x * jnp.sin(w)).sum(), "x"))(w)

    def alone(x, w):
        return jax.grad(lambda w: (x * jnp.sin(w)).sum())(w)

    def of_both(x, w):
        return jax.grad(lambda a: lax.psum((jnp.tanh(a[0]) * a[1]).sum(), "x"))((x, w))

    return [run(summed, P()), run(alone, P()), run(of_both, (P("x"), P())),
            run(lambda x, w: alone(x, w)[None], P("x"), False),
            run(lambda x, w: summed(x, w)[None], P("x"), False),
            run(lambda x, w: jax.value_and_grad(
                lambda w: lax.pmean((x * w).mean(), "x"))(w), P())]


@program
def derivatives_of_loops_inside(jax, jnp, P):
    """Over one of two axes, so that a sum over too many devices shows."""
    lax, mesh = jax.lax, mesh_of(jax)

    def run(f, spec=None):
        return jax.shard_map(f, mesh=mesh, in_specs=(P(), P("x")), out_specs=spec or P())(
            jnp.float32(0.3), X[:, 0])

    def zero(x):
        return lax.pcast(jnp.zeros(()), "x", to="varying")

    def scanned(w, x):
        return lax.scan(lambda c, a: (jnp.tanh(c * w + a), c), zero(x), x)[1].sum()

    def meeting(w, x):
        return lax.scan(lambda c, a: (jnp.tanh(lax.pmean(c * w + a, "x")), c), 0.0, x)[1].sum()

    def counted(w, x):
        return lax.fori_loop(0, 3, lambda i, c: jnp.sin(c * w + x[0]), zero(x))

    def chosen(w, x):
        return lax.cond(x[0] > 0, lambda x: x.sum() * w, lambda x: (x * x).sum() + w, x)

    def same_choice(w, x):
        total = lax.psum(x.sum(), "x")
        return lax.cond(total > 0, lambda t: t * w, lambda t: jnp.cos(w) + 0 * t, total)

    def jitted(w, x):
        return lax.psum(jax.jit(lambda w, x: (jnp.sin(w) * x).sum())(w, x), "x")

    def summed_in_jit(w, x):
        return jax.jit(lambda w, x: lax.psum((jnp.sin(w) * x).sum(), "x"))(w, x)

    def repeated(w, x):
        return jax.checkpoint(lambda w, x: lax.psum((jnp.sin(w * x)).sum(), "x"))(w, x)

    def trained(w, x):
        def step(w, a):
            return w - 0.1 * jax.grad(lambda w: lax.pmean(jnp.tanh(w * a), "x"))(w), w
        return lax.scan(step, w, x)

    out = [run(jax.grad(f)) for f in (meeting, same_choice, jitted, summed_in_jit, repeated)]
    out += [run(jax.grad(lambda w, x, f=f: lax.psum(f(w, x), "x")))
            for f in (scanned, counted, chosen)]
    out += [run(jax.grad(f)) for f in (scanned, counted, chosen)]
    return [*out, run(trained, (P(), P())), run(lambda w, x: jax.jvp(
        lambda w: lax.psum(scanned(w, x), "x"), (w,), (w,))), run(jax.hessian(jitted))]


@program
def derivatives_of_models_inside(jax, jnp, P):
    lax, mesh = jax.lax, mesh_of(jax)

    def gradient(f, w, x=X):
        return jax.shard_map(jax.grad(f), mesh=mesh, in_specs=(P(), P("x")), out_specs=P())(w, x)

    @jax.custom_vjp
    def twice(x):
        return jnp.sin(x)

    twice.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (2 * g * jnp.cos(x),))

    def classified(w, x):
        return lax.pmean(-jax.nn.log_softmax(x @ w)[:, 0].mean(), "x")

    def by_row(w, x):
        return lax.psum(jax.vmap(lambda r: jnp.tanh(r @ w).sum())(x).sum(), "x")

    def nested(w, x):
        inner = jax.shard_map(lambda x: lax.psum((jnp.sin(x) * w).sum(), "y"),
                              in_specs=P(None, "y"), out_specs=P(), axis_names={"y"})
        return lax.psum(inner(x), "x")

    two = jnp.float32(2)
    return [
        gradient(lambda w, x: lax.psum(twice(x * w).sum(), "x"), two),
        gradient(lambda w, x: lax.psum((twice(w) * x).sum(), "x"), two),
        gradient(classified, X[:, :3]), gradient(by_row, X[:, 0]),
        gradient(jax.checkpoint(lambda w, x: jnp.tanh(x @ w).sum()), X[:, 0]),
        gradient(lambda w, x: jax.nn.relu(x @ w).sum(), X[:, 0]),
        gradient(lambda w, x: (w[lax.axis_index("x")] * x).sum(), X[0]),
        gradient(lambda w, x: lax.psum((lax.all_gather(w * x[0], "x") ** 2).sum(), "x"), X[0]),
        gradient(jax.grad(lambda w, x: lax.psum((jnp.sin(w) * x).sum(), "x")), two),
        jax.grad(lambda w: gradient(lambda w, x: lax.psum((jnp.sin(w) * x).sum(), "x"), w) ** 2)(
            two),
        jax.jit(jax.shard_map(nested, mesh=mesh, in_specs=(P(), P("x")), out_specs=P(),
                              axis_names={"x"}))(two, X),
    ]


@program
def gradients_of_shard_map(jax, jnp, P):
    lax, mesh = jax.lax, mesh_of(jax)
    out = []
    for check in (True, False):
        def f(w, b, x):
            return lax.psum((jnp.tanh(x @ w + b) ** 2).sum(), ("x", "y"))

        run = jax.shard_map(f, mesh=mesh, in_specs=(P(), P("y"), P("x")), out_specs=P(),
                            check_vma=check)
        args = X[:, :3], X.reshape(-1)[:12], X
        out += [run(*args), jax.grad(run, (0, 1, 2))(*args), jax.jit(jax.grad(run))(*args),
                jax.vmap(run, in_axes=(None, None, 0))(*args[:2], np.stack([X, -X]))]
    return out


@program
def shards_of_results(jax, jnp, P):
    mesh = mesh_of(jax)
    out = []
    for spec in (P(), P("x"), P(None, "y"), P("y", "x"), P(("x", "y")), P(None, ("y", "x"))):
        s = jax.sharding.NamedSharding(mesh, spec)
        x = jax.device_put(X, s)
        y = jax.shard_map(lambda v: v * 2, mesh=mesh, in_specs=spec, out_specs=spec)(X)
        out.append([repr(x.sharding), shards(x), repr(y.sharding), shards(y), s.shard_shape((8, 8)),
                    s.is_fully_replicated, x.committed, repr(spec)])
    mapped = jax.pmap(lambda v: v + 1, "b", out_axes=1)(X[:4])
    return [*out, repr(mapped.sharding), shards(mapped), repr(mesh), str(mesh)]


@program
def shardings_of_operations(jax, jnp, P):
    mesh = mesh_of(jax)
    x = jax.device_put(X, jax.sharding.NamedSharding(mesh, P("x", None)))
    fs = [jnp.sin, lambda v: v + 1, lambda v: v * v, lambda v: v.T, lambda v: v.sum(0),
          lambda v: v.sum(1), lambda v: v.reshape(-1), lambda v: v > 2]
    results = [f(x) for f in fs] + [jax.jit(f)(x) for f in fs]
    return [[y, [(d.id, str(i)) for d, i in sorted(y.sharding.devices_indices_map(
        y.shape).items(), key=lambda p: p[0].id)]] for y in results]


@program
def placing(jax, jnp, P):
    mesh = mesh_of(jax)
    s, t = (jax.sharding.NamedSharding(mesh, p) for p in (P("x"), P(None, "y")))
    run = jax.jit(lambda a, b: (a + 1, a @ b.T), in_shardings=(s, None), out_shardings=(t, s))
    out = [[repr(y.sharding), y] for y in run(X, X)]
    y = jax.jit(lambda a: jax.lax.with_sharding_constraint(a * 2, s))(X)
    z = jax.make_array_from_callback((8, 8), t, lambda index: X[index])
    parts = [jax.device_put(p.data, p.device) for p in z.addressable_shards]
    u = jax.make_array_from_single_device_arrays((8, 8), t, parts)
    return [*out, repr(y.sharding), z, repr(z.sharding), u, shards(u)]


@program
def texts(jax, jnp, P):
    lax, mesh = jax.lax, mesh_of(jax)

    def text(f, spec, out, **options):
        return plain(jax.make_jaxpr(jax.shard_map(f, mesh=mesh, in_specs=spec, out_specs=out,
                                                  **options))(X))

    return [
        text(lambda v: lax.psum(v, "x"), P("x", "y"), P(None, "y")),
        text(lambda v: lax.psum(v, ("x", "y")), P(("x", "y")), P()),
        text(lambda v: v * lax.psum(v, "x"), P("x"), P("x")),
        text(lambda v: lax.psum(v, "x"), P("x"), P(), check_vma=False),
        text(lambda v: lax.all_gather(v, "x"), P("x"), P("x")),
        text(lambda v: lax.ppermute(v, "x", [(0, 1)]), P("x"), P("x")),
        text(lambda v: lax.psum(lax.psum(v, "x"), "x"), P("x"), P()),
    ]


def error(f):
    try:
        f()
    except Exception as e:
        names = [k.__name__ for k in type(e).__mro__]
        return next(n for n in names if n in ("ValueError", "TypeError", "NotImplementedError",
                                              "NameError", "RuntimeError", "Exception"))
    return "none"


@program
def errors(jax, jnp, P):
    mesh = mesh_of(jax)
    s = jax.sharding.NamedSharding(mesh, P("x"))

    def sm(f=lambda v: v, x=X, **options):
        return jax.shard_map(f, **{"mesh": mesh, "in_specs": P("x"), "out_specs": P("x"),
                                   **options})(x)

    return [error(f) for f in (
        lambda: sm(x=X[:3]), lambda: sm(in_specs=P("x", "y", None)), lambda: sm(out_specs=P()),
        lambda: sm(in_specs=(P(), P())), lambda: sm(in_specs=P("z")),
        lambda: sm(lambda v: v.sum()), lambda: sm(lambda v: (v, v), out_specs=(P("x"),)),
        lambda: sm(axis_names={"y"}), lambda: sm(mesh=None), lambda: jax.pmap(lambda v: v)(X[:0]),
        lambda: jax.pmap(lambda v: v, axis_size=3)(X),
        lambda: jax.pmap(lambda v: v, in_axes=None)(X),
        lambda: jax.device_put(X[:3], s), lambda: jax.sharding.NamedSharding(mesh, P("z")),
        lambda: jax.make_mesh((3, 5), "xy"),
        lambda: jax.jit(jnp.sin, in_shardings=s)(X[:3]),
        lambda: jax.jit(jnp.sin, in_shardings=s)(jax.device_put(X, jax.sharding.NamedSharding(
            mesh, P("y")))),
        lambda: jax.device_put(X, jax.devices()[1]) + jax.device_put(X, jax.devices()[2]),
        lambda: jax.pmap(lambda v: jax.lax.ppermute(v, "i", [(0, 1), (0, 2)]), "i")(X),
    )]


def main(name, path):
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    os.environ["JAX_PLATFORMS"] = "cpu"
    jax = importlib.import_module(name)
    jnp = importlib.import_module(name + ".numpy")
    importlib.import_module(name + ".sharding")
    found = {}
    for key, f in PROGRAMS.items():
        try:
            found[key] = jax.tree_util.tree_map(
                lambda x: np.asarray(x) if hasattr(x, "dtype") else x,
                f(jax, jnp, jax.sharding.PartitionSpec))
        except Exception as e:
            found[key] = f"{type(e).__name__}: {e}"
    with open(path, "wb") as file:
        pickle.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
