"""Calls that sort, search for places and ranks, and compare sets."""

from .arrays import (
    MILLION,
    ascending,
    chances,
    counting,
    integers,
    line,
    normals,
    permuted,
    uniforms,
    with_holes,
)
from .catalogue import case, variant

QUARTER = MILLION // 4
SQUARE = normals(1000, 1000)
CUBE = normals(100, 100, 100)

_SORTS = [
    case("sort, 10^6", "jnp.sort", normals(MILLION)),
    case("sort bfloat16, 10^6", "jnp.sort", normals(MILLION, dtype="bfloat16")),
    variant("sort float16, 10^6", "jnp.sort", normals(MILLION, dtype="float16")),
    case("sort int8, 10^6", "jnp.sort", integers(MILLION, high=100, dtype="int8")),
    case("sort int16, 10^6", "jnp.sort", integers(MILLION, high=30000, dtype="int16")),
    variant("sort uint8, 10^6", "jnp.sort", integers(MILLION, high=256, dtype="uint8")),
    case("sort int32, 10^6", "jnp.sort", integers(MILLION, low=-(2**30), high=2**30)),
    case("sort int32 of ten values, 10^6", "jnp.sort", integers(MILLION, high=10)),
    variant("sort truth values, 10^6", "jnp.sort", chances(MILLION)),
    variant("sort what is sorted, 10^6", "jnp.sort", counting(MILLION)),
    variant("sort downwards, 10^6", "jnp.sort", normals(MILLION), descending=True),
    case("sort rows, 1000 x 1000", "jnp.sort", SQUARE),
    case("sort columns, 1000 x 1000", "jnp.sort", SQUARE, axis=0),
    case("sort columns, 100000 x 8", "jnp.sort", normals(100000, 8), axis=0),
    variant("sort columns, 8 x 100000", "jnp.sort", normals(8, 100000), axis=0),
    case("sort along the middle, 100^3", "jnp.sort", CUBE, axis=1),
    case("sort rows of 3, 300000", "jnp.sort", normals(300000, 3)),
    variant("sort rows of 8, 100000", "jnp.sort", normals(100000, 8)),
    variant("sort rows of 50, 20000", "jnp.sort", normals(20000, 50)),
    case("sort float32 with float32, 10^6", lambda lax, keys, values: lax.sort((keys, values)),
         normals(MILLION), normals(MILLION)),
    case("sort by two keys, 250000", lambda lax, a, b: lax.sort((a, b), num_keys=2),
         integers(QUARTER, high=100), normals(QUARTER)),
]  # fmt: skip

_POSITIONS = [
    case("argsort, 10^6", "jnp.argsort", normals(MILLION)),
    variant("argsort int32 of ten values, 10^6", "jnp.argsort", integers(MILLION, high=10)),
    variant("argsort uint8, 10^6", "jnp.argsort", integers(MILLION, high=256, dtype="uint8")),
    case("argsort downwards, 10^6", "jnp.argsort", normals(MILLION), descending=True),
    variant("argsort columns, 1000 x 1000", "jnp.argsort", SQUARE, axis=0),
    variant("argsort along the middle, 100^3", "jnp.argsort", CUBE, axis=1),
    variant("inverse of a permutation, 250000", "jnp.argsort", permuted(QUARTER)),
    case("lexsort, 250000", lambda jnp, a, b: jnp.lexsort((a, b)),
         normals(QUARTER), integers(QUARTER, high=50)),
    case("top_k, 10 of 10^6", "lax.top_k", normals(MILLION), k=10),
    variant("top_k, 1000 of 10^6", "lax.top_k", normals(MILLION), k=1000),
    case("top_k, 5 of each row, 1000 x 1000", "lax.top_k", SQUARE, k=5),
    variant("partition, 10^6", "jnp.partition", normals(MILLION), kth=1000, loose=1),
    variant("argpartition rows, 1000 x 1000", "jnp.argpartition", SQUARE, kth=10, loose=1),
]  # fmt: skip

_SEARCHES = [
    case("searchsorted, 10^6 in 10^6", "jnp.searchsorted",
         ascending(normals(MILLION)), normals(MILLION)),
    case("searchsorted, 10^6 in 10", "jnp.searchsorted", ascending(normals(10)), normals(MILLION)),
    case("searchsorted, 10 in 10^6", "jnp.searchsorted", ascending(normals(MILLION)), normals(10)),
    variant("searchsorted by sorting, 250000", "jnp.searchsorted",
            ascending(normals(QUARTER)), normals(QUARTER), method="sort"),
    variant("searchsorted of sorted, 10^6", "jnp.searchsorted",
            ascending(normals(1000)), ascending(normals(MILLION)), side="right"),
    variant("digitize, 10^6 in 1000", "jnp.digitize", normals(MILLION), line(-3, 3, 1000)),
    case("interp, 10^6 in 1000", "jnp.interp", uniforms(MILLION), line(0, 1, 1000), normals(1000)),
    variant("interp, 1000 in 10^6", "jnp.interp", uniforms(1000), line(0, 1, MILLION),
            normals(MILLION)),
]  # fmt: skip

_SETS = [
    case("unique of 1000 values, 10^6", "jnp.unique", integers(MILLION, high=1000), size=1000),
    case("unique with inverse and counts, 250000", "jnp.unique", integers(QUARTER, high=1000),
         size=1000, return_inverse=True, return_counts=True),
    case("unique float32, 250000", "jnp.unique", normals(QUARTER), size=QUARTER),
    variant("unique rows, 20000 x 3", "jnp.unique", integers(20000, 3, high=10), size=1000, axis=0),
    case("union1d, 50000", "jnp.union1d", integers(50000, high=9000), integers(50000, high=9000),
         size=9000),
    variant("intersect1d, 50000", "jnp.intersect1d", integers(50000, high=9000),
            integers(50000, high=9000), size=9000),
    variant("setdiff1d, 50000", "jnp.setdiff1d", integers(50000, high=10000),
            integers(5000, high=10000), size=5000),
    variant("setxor1d, 50000", "jnp.setxor1d", integers(50000, high=10000),
            integers(50000, high=10000), size=5000),
    variant("isin, 10^6 in 100", "jnp.isin", integers(MILLION, high=1000),
            integers(100, high=1000)),
    variant("isin, 50000 in 50000", "jnp.isin", integers(50000, high=MILLION),
            integers(50000, high=MILLION)),
]  # fmt: skip

_RANKS = [
    case("median, 10^6", "jnp.median", normals(MILLION)),
    variant("median of columns, 1000 x 1000", "jnp.median", SQUARE, axis=0),
    case("median of columns, 100000 x 8", "jnp.median", normals(100000, 8), axis=0),
    variant("median of columns, 8 x 100000", "jnp.median", normals(8, 100000), axis=0),
    case("median along the middle, 100^3", "jnp.median", CUBE, axis=1),
    variant("nanmedian, 10^6", "jnp.nanmedian", with_holes(MILLION)),
    case("nanquantile of columns, 1000 x 1000", "jnp.nanquantile", with_holes(1000, 1000), q=0.3,
         axis=0),
    variant("three percentiles of rows, 1000 x 1000",
            lambda jnp, x: jnp.percentile(x, jnp.array([5.0, 50.0, 95.0]), axis=1), SQUARE),
    case("mode of rows, 300 x 100", lambda scipy, x: scipy.stats.mode(x, axis=1)[0],
         integers(300, 100, high=10)),
    case("rankdata, 20000", "scipy.stats.rankdata", normals(20000)),
]  # fmt: skip

CASES = [*_SORTS, *_POSITIONS, *_SEARCHES, *_SETS, *_RANKS]
