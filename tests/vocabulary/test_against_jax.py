"""The same calls by JAX and by this package."""

import importlib
import itertools

import checkify_cases
import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.jax

TOLERANCE = {"float32": 3e-5, "float16": 4e-3, "bfloat16": 3e-2, "complex64": 1e-4}


def module(package, name=""):
    return importlib.import_module(f"{package}.{name}" if name else package)


def outcome(function):
    """What a call gives: leaves, or the class of its error."""
    try:
        return [np.asarray(x) for x in jax.tree.leaves(function())], None
    except Exception as error:
        return None, type(error).__name__


def same(call):
    """`call(package name)` must do the same for both."""
    (theirs, error), (ours, our_error) = outcome(lambda: call("jax")), outcome(
        lambda: call("jitney"))
    assert error == our_error
    for a, b in zip(ours or [], theirs or [], strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        tolerance = TOLERANCE.get(a.dtype.name, 0)
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), tolerance, tolerance)


# --- ops ---------------------------------------------------------------------------------------
SEGMENTS = ["segment_sum", "segment_prod", "segment_max", "segment_min"]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint32", "complex64"])
@pytest.mark.parametrize("name", SEGMENTS)
def test_segments(name, dtype):
    rng = np.random.default_rng(0)
    ids = rng.integers(-2, 7, 13)
    data = rng.integers(0, 3, (13, 2))

    def call(package):
        api, function = module(package), getattr(module(package, "ops"), name)
        arguments = api.numpy.asarray(data, dtype), api.numpy.asarray(ids)
        many = lambda d, i: [function(d, i, count, bucket_size=bucket_size, mode=mode)
                             for count, bucket_size, mode in itertools.product(
                                 [0, 5], [None, 4], [None, "clip"]) if count or not mode]
        return function(*arguments), api.jit(many)(*arguments)
    same(call)


@pytest.mark.parametrize("name", SEGMENTS)
def test_programs_of_segments(name):
    texts = []
    for package in ("jax", "jitney"):
        api = module(package)
        program = api.make_jaxpr(lambda d, i, p=package: getattr(module(p, "ops"), name)(d, i, 4))(
            np.ones((6, 2), np.float32), np.zeros(6, np.int32))
        texts.append(" ".join(str(program).split()))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", SEGMENTS)
def test_gradients_of_segments(name):
    data = np.random.default_rng(1).permutation(12).reshape(6, 2).astype(np.float32) + 1
    ids = np.array([0, 3, 1, 2, 4, 9]) if name == "segment_prod" else np.array([0, 0, 1, 1, 4, 9])
    def call(package):
        api, function = module(package), getattr(module(package, "ops"), name)
        return api.grad(lambda d: api.numpy.nansum(api.numpy.where(
            api.numpy.isfinite(function(d, ids, 5)), function(d, ids, 5), 0) ** 2))(data)
    same(call)


# --- image -------------------------------------------------------------------------------------
METHODS = ["nearest", "linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]


@pytest.mark.parametrize("method, antialias, dtype", [
    (m, a, "float32") for m in METHODS for a in (True, False)] + [
    (m, True, d) for m in ("linear", "nearest") for d in ("float16", "int32", "bool", "complex64")])
def test_resize(method, antialias, dtype):
    x = (np.random.default_rng(0).normal(size=(5, 7, 3)) * 2).astype(dtype)
    shapes = [(5, 7, 3), (3, 7, 3), (9, 4, 3), (1, 1, 1), (4, 0, 3)]
    same(lambda package: module(package).jit(lambda x: [
        module(package, "image").resize(x, shape, method, antialias=antialias)
        for shape in shapes])(x))


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_scale_and_translate(method, antialias):
    x = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    def call(package):
        api = module(package)
        loss = lambda x, s, t: (lambda out: (api.numpy.sum(out ** 2), out))(
            module(package, "image").scale_and_translate(x, (6, 8), (0, 1), s, t, method,
                                                         antialias))
        run = api.jit(api.value_and_grad(loss, (0, 1, 2), has_aux=True))
        return [run(x, np.float32(scale), np.float32(move)) for scale, move in [
            ((0.5, 1.0), (0.0, 0.0)), ((1.7, 0.6), (-1.3, 2.4)), ((2.0, 2.0), (9, 1))]]
    same(call)


# --- ragged ------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
@pytest.mark.parametrize("kind", ["rows", "batches", "sums", "batch"])
def test_ragged_dot(kind, dtype):
    rng = np.random.default_rng(0)
    shapes, numbers = {
        "rows": (((6, 2), (3, 2, 5)), ((((1,), (1,)), ((), ())), [0], [0])),
        "batches": (((2, 6, 2), (3, 2, 2, 2)), ((((2,), (2,)), ((0,), (1,))), [1], [0])),
        "sums": (((4, 6, 2), (4, 6, 3)), ((((1,), (1,)), ((0,), (0,))), [1], [])),
        "batch": (((6, 2, 2), (6, 2, 2)), ((((2,), (1,)), ((0,), (0,))), [0], [])),
    }[kind]
    arrays = [rng.integers(-3, 4, s) for s in shapes]

    def call(package):
        api, lax = module(package), module(package, "lax")
        function = lambda a, b, sizes: lax.ragged_dot_general(
            a, b, sizes, lax.RaggedDotDimensionNumbers(*numbers))
        lhs, rhs = (api.numpy.asarray(x, dtype) for x in arrays)
        sizes = [np.array([1, 2, 2])] + [np.array([[1, 2, 2], [3, 1, 2]])] * (kind == "batches")
        return [api.jit(function)(lhs, rhs, s) for s in sizes]
    same(call)


# --- batching rules ----------------------------------------------------------------------------
def test_custom_vmap():
    def call(package):
        api, batching = module(package), module(package, "custom_batching")

        @batching.custom_vmap
        def f(x, y):
            return {"out": api.numpy.sin(x) * y, "y": y}

        @f.def_vmap
        def rule(size, batched, xs, ys):
            return {"out": api.numpy.cos(xs) * ys, "y": ys}, {"out": True, "y": batched[1]}

        loop = batching.sequential_vmap(lambda x, y: (x + y, y * 2))
        x = np.arange(3.0, dtype=np.float32)
        push = lambda v: api.jvp(f, (v, v + 1), (v, np.float32(1)))
        return (f(x[1], x[2]), api.vmap(f)(x, x), api.vmap(f, (0, None))(x, x[2]),
                api.jit(api.vmap(f, (None, 0)))(x[1], x), push(x[1]),
                api.jvp(api.vmap(f), (x, x + 1), (x, x)),
                api.vmap(loop, (0, None))(x, x[1]), api.vmap(api.vmap(f))(x[None], x[None]))
    same(call)


# --- slices ------------------------------------------------------------------------------------
@pytest.mark.parametrize("start", [0, 4, 8, -1, -3, -25, 25])
def test_slices_of_known_length(start):
    x = np.arange(40.0, dtype=np.float32).reshape(10, 4)

    def call(package):
        api = module(package)
        read = lambda x, i: (x[api.ds(i, 3)], x[2, api.ds(i, 2)], x[api.ds(i, 3), 1])
        return api.jit(read)(x, start), read(api.numpy.asarray(x), start)
    same(call)


# --- checks ------------------------------------------------------------------------------------
NAMES = list(checkify_cases.cases(jax, jax.lax, module("jax", "experimental.checkify")))


@pytest.mark.parametrize("name", NAMES)
def test_checks(name):
    found = []
    for package in ("jax", "jitney"):
        api, check = module(package), module(package, "experimental.checkify")
        function, errors, arguments, _ = checkify_cases.cases(api, api.lax, check)[name]
        arguments = [api.numpy.asarray(x) for x in arguments]
        error, out = api.jit(check.checkify(function, errors=errors))(*arguments)
        found.append((error.get(), [np.asarray(x) for x in api.tree.leaves(out)]))
    assert found[0][0] == found[1][0]
    for theirs, ours in zip(found[0][1], found[1][1], strict=True):
        assert theirs.dtype == ours.dtype
        if found[0][0] is None:         # JAX's results outside of bounds are of no interest
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


# --- names -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [
    "ops", "image", "custom_batching", "experimental.checkify", "dlpack", "profiler",
    "extend.core", "ad_checkpoint", "distributed"])
def test_nothing_is_missing(name):
    theirs, ours = module("jax", name), module("jitney", name)
    public = [n for n in dir(theirs) if not n.startswith("_") and n != "primitives"]
    assert [n for n in public if not hasattr(ours, n)] == []
