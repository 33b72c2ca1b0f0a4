"""The same calls by JAX and by this package."""

import importlib
import itertools

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


# --- names -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["ops", "image"])
def test_nothing_is_missing(name):
    theirs, ours = module("jax", name), module("jitney", name)
    public = [n for n in dir(theirs) if not n.startswith("_")]
    assert [n for n in public if not hasattr(ours, n)] == []
