"""Calls that read and write at positions that are values: gathers, scatters, slices."""

from .arrays import (
    MILLION,
    integers,
    key,
    normals,
    permuted,
    value,
)
from .catalogue import case, variant

QUARTER = MILLION // 4
SQUARE = normals(1000, 1000)
LINE = normals(MILLION)
ANYWHERE = integers(MILLION, high=MILLION)

_GATHERS = [
    case("gather, 10^6 of 10^6", lambda x, i: x[i], LINE, ANYWHERE),
    variant("gather int8, 10^6 of 10^6", lambda x, i: x[i],
            integers(MILLION, high=100, dtype="int8"), ANYWHERE),
    variant("gather from 1000, 10^6", lambda x, i: x[i], normals(1000),
            integers(MILLION, high=1000)),
    case("gather columns, 1000 x 1000", lambda x, i: x[:, i], SQUARE, integers(1000, high=1000)),
    case("gather rows of 64, 8192 of 50000", lambda x, i: x[i], normals(50000, 64),
         integers(8192, high=50000)),
    variant("gather rows of bfloat16, 8192 of 50000", lambda x, i: x[i],
            normals(50000, 64, dtype="bfloat16"), integers(8192, high=50000)),
    variant("gather rows of 3, 300000", lambda x, i: x[i], normals(100000, 3),
            integers(300000, high=100000)),
    case("gather at pairs, 10^6 of 1000 x 1000", lambda x, i, j: x[i, j], SQUARE,
         integers(MILLION, high=1000), integers(MILLION, high=1000)),
    variant("gather at triples, 250000 of 100^3", lambda x, i, j, k: x[i, j, k],
            normals(100, 100, 100), *[integers(QUARTER, high=100)] * 3),
    variant("gather rows and columns, 500 x 500", lambda jnp, x, i, j: x[jnp.ix_(i, j)], SQUARE,
            integers(500, high=1000), integers(500, high=1000)),
    variant("gather of a middle axis, 100^3", lambda x, i: x[:, i], normals(100, 100, 100),
            integers(100, high=100)),
    case("take_along_axis in rows, 1000 x 1000", "jnp.take_along_axis", SQUARE,
         integers(1000, 1000, high=1000), axis=1),
    case("take_along_axis in columns, 1000 x 1000", "jnp.take_along_axis", SQUARE,
         integers(1000, 1000, high=1000), axis=0),
    variant("pick one of each row, 100000 x 10",
            lambda jnp, x, i: jnp.take_along_axis(x, i[:, None], 1)[:, 0], normals(100000, 10),
            integers(100000, high=10)),
    variant("upper triangle, 500 x 500", lambda jnp, x: x[jnp.triu_indices(500)],
            normals(500, 500)),
    variant("choose, 10^6", lambda jnp, i, a, b: jnp.choose(i, [a, b, a + b], mode="clip"),
            integers(MILLION, high=3), LINE, LINE),
    variant("shuffle of rows, 10000 x 64",
            lambda random, seed, x: x[random.permutation(seed, 10000)], key, normals(10000, 64)),
] + [
    case(f"take, {mode}, 10^6", "jnp.take", LINE, integers(MILLION, high=2 * MILLION), mode=mode)
    for mode in ("fill", "wrap", "clip")
]  # fmt: skip

_SCATTERS = [
    case("scatter set, 10^6 into 10^6", lambda x, i, v: x.at[i].set(v), LINE, permuted(MILLION),
         LINE),
    case("scatter set where indices repeat, 10^6", lambda x, i, v: x.at[i].set(v), LINE, ANYWHERE,
         LINE),
    variant("scatter set of one value, 250000 into 10^6", lambda x, i: x.at[i].set(0.0), LINE,
            integers(QUARTER, high=MILLION)),
    case("scatter add, 10^6 into 10^6", lambda x, i, v: x.at[i].add(v), LINE, ANYWHERE, LINE),
    variant("scatter add, 10^6 into 10", lambda x, i, v: x.at[i].add(v), normals(10),
            integers(MILLION, high=10), LINE),
    case("scatter max, 10^6 into 10^6", lambda x, i, v: x.at[i].max(v), LINE, ANYWHERE, LINE),
    variant("scatter min, 10^6 into 10^6", lambda x, i, v: x.at[i].min(v), LINE, ANYWHERE, LINE),
    case("scatter multiply, 10^6 into 10^6", lambda x, i, v: x.at[i].multiply(v), LINE, ANYWHERE,
         LINE),
    case("scatter add at pairs, 250000 into 1000 x 1000", lambda x, i, j, v: x.at[i, j].add(v),
         SQUARE, integers(QUARTER, high=1000), integers(QUARTER, high=1000), normals(QUARTER)),
    variant("scatter set at pairs, 250000 into 1000 x 1000", lambda x, i, j: x.at[i, j].set(1.0),
            SQUARE, integers(QUARTER, high=1000), integers(QUARTER, high=1000)),
    case("scatter add of columns, 500 into 1000 x 1000", lambda x, i, v: x.at[:, i].add(v), SQUARE,
         integers(500, high=1000), normals(1000, 500)),
    case("scatter add of rows, 20000 x 64 into 1000", lambda x, i, v: x.at[i].add(v),
         normals(1000, 64), integers(20000, high=1000), normals(20000, 64)),
    case("scatter set of rows, 4096 x 64 into 50000", lambda x, i, v: x.at[i].set(v),
         normals(50000, 64), permuted(50000, 4096), normals(4096, 64)),
    variant("scatter add of int32, 10^6 into 1000", lambda x, i: x.at[i].add(1),
            integers(1000, high=5), integers(MILLION, high=1000)),
    variant("put one in each row, 100000 x 10",
            lambda jnp, x, i: x.at[jnp.arange(100000), i].set(1.0), normals(100000, 10),
            integers(100000, high=10)),
    variant("inverse permutation by scatter, 10^6",
            lambda jnp, i: jnp.zeros_like(i).at[i].set(jnp.arange(MILLION, dtype=i.dtype)),
            permuted(MILLION)),
]  # fmt: skip

_SLICES = [
    case("set every 7th, 10^6", lambda nn, x: nn.relu(x).at[::7].set(0.0), LINE),
    variant("set the border, 1000 x 1000",
            lambda x: x.at[0].set(0.0).at[-1].set(0.0).at[:, 0].set(0.0).at[:, -1].set(0.0),
            SQUARE),
    variant("add to a block, 1000 x 1000", lambda x, v: x.at[100:600, 200:700].add(v), SQUARE,
            normals(500, 500)),
    variant("set a column, 1000 x 1000", lambda x, v: x.at[:, 3].set(v), SQUARE, normals(1000)),
    variant("set the diagonal, 1000 x 1000",
            lambda jnp, x: x.at[jnp.arange(1000), jnp.arange(1000)].set(0.0), SQUARE),
    case("dynamic_slice, 500 x 500 of 1000 x 1000",
         lambda lax, x, i: lax.dynamic_slice(x, (i, i), (500, 500)), SQUARE, value(17, "int32")),
    case("dynamic_update_slice, 500 x 500 of 1000 x 1000",
         lambda lax, x, v, i: lax.dynamic_update_slice(x, v, (i, i)), SQUARE, normals(500, 500),
         value(17, "int32")),
    variant("one row at a position, 1000 x 1000", lambda x, i: x[i], SQUARE, value(17, "int32")),
    variant("one column at a position, 1000 x 1000", lambda x, i: x[:, i], SQUARE,
            value(17, "int32")),
    case("windows at positions, 1000 of 64",
         lambda jax, lax, x, i: jax.vmap(lambda k: lax.dynamic_slice(x, (k,), (64,)))(i), LINE,
         integers(1000, high=MILLION - 64)),
    case("one_hot, 2048 of 1000", "nn.one_hot", integers(2048, high=1000), num_classes=1000),
    variant("one_hot along axis 0, 2048 of 1000", "nn.one_hot", integers(2048, high=1000),
            num_classes=1000, axis=0),
]  # fmt: skip

CASES = [*_GATHERS, *_SCATTERS, *_SLICES]
