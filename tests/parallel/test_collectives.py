"""Every collective, by vmap, pmap and shard_map, against loops over the members."""

import member_loops as references
import ml_dtypes
import numpy as np
import pytest
from member_loops import WAYS, N

import jitney
import jitney.numpy as jnp
from jitney import lax

way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
GROUPS = {"all": None, "pairs": [[0, 3], [2, 1]], "single": [[0], [1], [2], [3]]}
groups = pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
DTYPES = ["float32", "float16", "bfloat16", "int32", "uint8", "complex64", "bool"]


def values(shape, dtype="float32"):
    x = np.random.default_rng(3).integers(0, 7, (N, *shape))
    if dtype == "complex64":
        return (x + 1j * x[::-1]).astype(dtype)
    return x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def check(got, want):
    np.testing.assert_array_equal(np.asarray(got).astype(want.dtype), want)


@way
@groups
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name, operation", [("psum", np.add), ("pmax", np.maximum),
                                             ("pmin", np.minimum)])
def test_reductions(way, groups, dtype, name, operation):
    if dtype == "complex64" and name != "psum":
        pytest.skip("order of complex numbers")
    x = values((3, 2), dtype)
    out = way(lambda v: getattr(lax, name)(v, "i", axis_index_groups=groups))(x)
    counted = x.astype(np.int32) if dtype == "bool" and name == "psum" else x
    want = references.reduced(operation)(counted, groups)
    assert str(out.dtype) == str(want.dtype)
    check(out, want)


@way
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (70000,)])
def test_sizes(way, shape):
    x = values(shape)
    check(way(lambda v: lax.psum(v, "i"))(x), references.reduced(np.add)(x))
    check(way(lambda v: lax.all_gather(v, "i"))(x), references.gathered(x))


@way
def test_nan_spreads(way):
    x = np.float32([1, np.nan, 3, -np.inf])
    for name in ("psum", "pmax", "pmin"):
        out = way(lambda v, name=name: getattr(lax, name)(v, "i"))(x)
        assert np.isnan(np.asarray(out)).all()


@way
@groups
def test_mean(way, groups):
    x = values((2,), "int32")
    out = way(lambda v: lax.pmean(v, "i", axis_index_groups=groups))(x)
    sizes = 1 if groups and len(groups) == N else 2 if groups else N
    np.testing.assert_allclose(out, references.reduced(np.add)(x, groups) / sizes)


@way
def test_unequal_groups(way):
    x, groups = values((2,)), [[2], [0, 3, 1]]
    check(way(lambda v: lax.psum(v, "i", axis_index_groups=groups))(x),
          references.reduced(np.add)(x, groups))
    mean = way(lambda v: lax.pmean(v, "i", axis_index_groups=groups))(x)
    total = references.reduced(np.add)(x, groups)
    np.testing.assert_allclose(mean, total / np.float32([3, 3, 1, 3])[:, None], rtol=1e-6)


@way
@groups
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("tiled", [False, True])
def test_all_gather(way, groups, axis, tiled):
    if tiled and axis == 2:
        axis = 1
    x = values((3, 2))
    out = way(lambda v: lax.all_gather(v, "i", axis=axis, tiled=tiled,
                                       axis_index_groups=groups))(x)
    check(out, references.gathered(x, groups, axis, tiled))


@way
@groups
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("tiled", [False, True])
def test_psum_scatter(way, groups, axis, tiled):
    size = 4 if groups is None else len(groups[0])
    shape = (size * 2, size * 3) if tiled else (size, size)
    x = values(shape)
    out = way(lambda v: lax.psum_scatter(v, "i", scatter_dimension=axis, tiled=tiled,
                                         axis_index_groups=groups))(x)
    check(out, references.scattered(x, groups, axis, tiled))


@way
@groups
@pytest.mark.parametrize("split, concat", [(0, 0), (0, 1), (1, 0), (2, 1), (-1, 0)])
@pytest.mark.parametrize("tiled", [False, True])
def test_all_to_all(way, groups, split, concat, tiled):
    size = 4 if groups is None else len(groups[0])
    x = values((size, size, size))
    out = way(lambda v: lax.all_to_all(v, "i", split, concat, tiled=tiled,
                                       axis_index_groups=groups))(x)
    check(out, references.exchanged(x, split, concat, groups, tiled))


@way
@pytest.mark.parametrize("pairs", [[(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 3)], [],
                                   [(2, 2), (1, 0)]])
def test_ppermute(way, pairs):
    x = values((3,))
    check(way(lambda v: lax.ppermute(v, "i", pairs))(x), references.permuted(x, pairs))


@way
def test_the_rest(way):
    x = values((N, 2))
    check(way(lambda v: lax.pshuffle(v, "i", [2, 0, 3, 1]))(x), x[[2, 0, 3, 1]])
    check(way(lambda v: lax.pbroadcast(v, "i", 2))(x), np.stack([x[2]] * N))
    check(way(lambda v: lax.pswapaxes(v, "i", 0))(x), x.swapaxes(0, 1))
    check(way(lambda v: lax.axis_index("i") + 0 * v[0, 0].astype(int))(x), np.arange(N, dtype="i4"))
    check(way(lambda v: lax.axis_size("i") + 0 * v)(x), np.full(x.shape, N, "f4"))
    check(way(lambda v: lax.pcast(v, "i", to="varying"))(x), x)


@way
def test_trees_constants_and_keys(way):
    x = values((2,))
    out = way(lambda v: lax.psum({"a": v, "b": (1, jnp.ones(2))}, "i"))(x)
    assert np.asarray(out["b"][0]).ravel()[0] == N
    check(out["b"][1], np.full((N, 2), 4, "f4"))
    keys = jitney.random.split(jitney.random.key(0), N)
    gathered = way(lambda k: lax.all_gather(k, "i"))(keys)
    assert gathered.shape == (N, N)
    check(jitney.random.key_data(gathered)[2], np.asarray(jitney.random.key_data(keys)))


@way
def test_inside_loops_and_branches(way):
    x = values((3,))

    def loop(v):
        return lax.fori_loop(0, 3, lambda i, c: c + lax.psum(c, "i"), v)

    want = x.copy()
    for _ in range(3):
        want = want + want.sum(0)
    check(way(loop)(x), want)

    def scan(v):
        ring = [(j, (j + 1) % N) for j in range(N)]
        return lax.scan(lambda c, a: (lax.ppermute(c, "i", ring) + a, lax.pmax(c, "i")), v[0], v)

    carry, ys = x[:, 0], []
    for k in range(3):
        ys.append(np.full(N, carry.max()))
        carry = np.roll(carry, 1) + x[:, k]
    got = way(scan)(x)
    check(got[0], carry)
    check(got[1], np.stack(ys, 1))
    branch = way(lambda v: lax.cond(lax.psum(v, "i")[0] > 0, lambda u: lax.psum(u, "i"),
                                    lambda u: u, v))(x)
    check(branch, references.reduced(np.add)(x))


def test_bad_arguments():
    def run(f):
        return jitney.vmap(f, axis_name="i")(jnp.ones((N, 3)))

    with pytest.raises(ValueError, match="exactly once"):
        run(lambda v: lax.psum(v, "i", axis_index_groups=[[0, 1], [1, 2]]))
    with pytest.raises(ValueError, match="same size"):
        run(lambda v: lax.all_gather(v, "i", axis_index_groups=[[0], [1, 2, 3]]))
    with pytest.raises(ValueError, match="out of bounds"):
        run(lambda v: lax.all_gather(v, "i", axis=3))
    with pytest.raises(ValueError, match="must have the axis size"):
        run(lambda v: lax.psum_scatter(v, "i"))
    with pytest.raises(ValueError, match="respectively"):
        run(lambda v: lax.all_to_all(v, "i", 0, 0))
    with pytest.raises(ValueError, match="unique"):
        run(lambda v: lax.ppermute(v, "i", [(0, 1), (2, 1)]))
    with pytest.raises(ValueError, match="positions"):
        run(lambda v: lax.ppermute(v, "i", [(0, 4)]))
    with pytest.raises(NameError, match="unbound axis name: j"):
        run(lambda v: lax.psum(v, "j"))
    with pytest.raises(NotImplementedError, match="varying"):
        run(lambda v: lax.all_gather(v, "i", to="reduced"))
