"""The same draws by JAX and by this package, and the same programs."""

import importlib

import numpy as np
import pytest

import jitney

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.jax

SHAPES = [(), (5,), (4, 3), (1000,)]


def both(draw):
    """The draw by JAX and by this package."""
    return [np.asarray(draw(importlib.import_module(f"{name}.random")), np.float64)
            for name in ("jax", "jitney")]


@pytest.fixture(params=[True, False], ids=["by_index", "older"], autouse=True)
def same_setting(request):
    with jitney.threefry_partitionable(request.param), jax.threefry_partitionable(request.param):
        yield


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_bits(shape, dtype):
    theirs, ours = both(lambda r: r.bits(r.key(3), shape, dtype))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", ["uniform", "normal", "exponential", "gumbel", "laplace",
                                  "logistic", "cauchy", "maxwell"])
def test_floats(name, shape, dtype):
    theirs, ours = both(lambda r: getattr(r, name)(r.key(3), shape, dtype))
    epsilon = np.finfo(dtype).eps
    np.testing.assert_allclose(ours, theirs, rtol=16 * epsilon, atol=4 * epsilon)


@pytest.mark.parametrize("seed", [0, 5, -1, 2**31, 2**32 + 5])
def test_seeds_and_splits(seed):
    theirs, ours = both(lambda r: r.key_data(r.split(r.fold_in(r.key(seed), 7), (3, 2))))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("draw", [
    lambda r: r.randint(r.key(1), (100,), -5, 1000),
    lambda r: r.randint(r.key(1), (100,), 0, 256, "uint8"),
    lambda r: r.permutation(r.key(1), 3000),
    lambda r: r.categorical(r.key(1), np.arange(12.0).reshape(3, 4), shape=(50, 3)),
    lambda r: r.choice(r.key(1), 100, (20,), replace=False),
    lambda r: r.choice(r.key(1), 4, (50,), p=np.float32([.1, .2, .3, .4])),
    lambda r: r.binomial(r.key(1), 100, np.float32([.1, .5, .9]), (40, 3)),
    lambda r: r.geometric(r.key(1), 0.2, (100,)),
])
def test_integers(draw):
    theirs, ours = both(draw)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name, args", [
    ("normal", ((3,),)), ("uniform", ((3,),)), ("randint", ((3,), 0, 10)), ("gumbel", ((3,),)),
    ("bernoulli", (0.3, (3,))), ("exponential", ((3,),)), ("truncated_normal", (-1.0, 2.0, (3,))),
    ("split", ()), ("rayleigh", (2.0, (3,))), ("triangular", (0.0, 1.0, 2.0, (3,))),
])
def test_programs(name, args):
    texts = []
    for package in ("jax", "jitney"):
        module, random = (importlib.import_module(n) for n in (package, f"{package}.random"))
        program = module.make_jaxpr(lambda k, r=random: getattr(r, name)(k, *args))(
            random.key(0))
        texts.append(" ".join(str(program).split()))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["random", "nn", "nn.initializers", "scipy.special",
                                  "scipy.stats"])
def test_nothing_is_missing(name):
    theirs, ours = (importlib.import_module(f"{p}.{name}") for p in ("jax", "jitney"))
    public = [n for n in dir(theirs) if not n.startswith("_")]
    assert [n for n in public if not hasattr(ours, n)] == []
