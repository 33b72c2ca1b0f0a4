"""Calls that count: histograms, sums of segments, positions of what is true, truth values."""

from .arrays import (
    MILLION,
    ascending,
    chances,
    integers,
    line,
    normals,
    uniforms,
    with_holes,
)
from .catalogue import case, variant

QUARTER = MILLION // 4
LABELS = integers(MILLION, high=1000)

# rounding decides on which side of an edge a number is
_HISTOGRAMS = [
    case("histogram, 10 bins of 10^6", "jnp.histogram", normals(MILLION), bins=10),
    case("histogram, 100000 bins of 10^6", "jnp.histogram", normals(MILLION), bins=100000,
         loose=0.1),
    case("histogram with weights, 100 bins of 10^6",
         lambda jnp, x, w: jnp.histogram(x, 100, weights=w), normals(MILLION), normals(MILLION),
         loose=0.1),
    variant("histogram of given edges, 10^6", "jnp.histogram", normals(MILLION), line(-3, 3, 101)),
    variant("histogram2d, 50 x 50 bins of 250000", "jnp.histogram2d", normals(QUARTER),
            normals(QUARTER), bins=50, loose=0.1),
    case("histogramdd, 8^3 bins of 100000", lambda jnp, x: jnp.histogramdd(x, 8)[0],
         normals(100000, 3)),
    variant("bincount, 10 bins of 10^6", "jnp.bincount", integers(MILLION, high=10), length=10),
    case("bincount, 10^6 bins of 10^6", "jnp.bincount", integers(MILLION, high=MILLION),
         length=MILLION),
    case("bincount with weights, 1000 bins of 10^6", "jnp.bincount", LABELS, normals(MILLION),
         length=1000),
    case("bincount of one value, 1000 bins of 10^6", "jnp.bincount", integers(MILLION, high=1),
         length=1000),
]  # fmt: skip

_SEGMENTS = [
    case(f"segment_{kind}, 10^6 in 1000", f"jax.ops.segment_{kind}", normals(MILLION), LABELS,
         num_segments=1000)
    for kind in ("sum", "max")
] + [
    case("segment_prod, 10^6 in 1000", "jax.ops.segment_prod",
         uniforms(MILLION, low=0.9, high=1.1), LABELS, num_segments=1000),
    case("segment_sum of rows, 20000 x 64 in 1000", "jax.ops.segment_sum", normals(20000, 64),
         integers(20000, high=1000), num_segments=1000),
    variant("segment_max of rows, 20000 x 64 in 1000", "jax.ops.segment_max", normals(20000, 64),
            integers(20000, high=1000), num_segments=1000),
    case("segment_sum, sorted labels, 10^6 in 1000", "jax.ops.segment_sum", normals(MILLION),
         ascending(LABELS), num_segments=1000, indices_are_sorted=True),
    variant("segment_sum, 10^6 in 1", "jax.ops.segment_sum", normals(MILLION),
            integers(MILLION, high=1), num_segments=1),
    variant("segment_sum of int32, 10^6 in 100000", "jax.ops.segment_sum",
            integers(MILLION, high=100), integers(MILLION, high=100000), num_segments=100000),
    variant("segment_sum of bfloat16, 10^6 in 1000", "jax.ops.segment_sum",
            uniforms(MILLION, high=0.1, dtype="bfloat16"), LABELS, num_segments=1000,
            loose=1),
]  # fmt: skip

_POSITIONS = [
    case("nonzero, half of 10^6", lambda jnp, x: jnp.nonzero(x > 0, size=MILLION),
         normals(MILLION)),
    case("nonzero, few of 10^6", lambda jnp, x: jnp.nonzero(x > 3, size=2000), normals(MILLION)),
    variant("argwhere, 1000 x 1000", lambda jnp, x: jnp.argwhere(x > 1, size=200000),
            normals(1000, 1000)),
    variant("flatnonzero, 10^6", "jnp.flatnonzero", chances(MILLION, share=0.001), size=1000),
    variant("compress, half of 10^6", lambda jnp, x: jnp.compress(x > 0, x, size=MILLION // 2),
            normals(MILLION)),
]  # fmt: skip

_TRUTH = [
    case("count_nonzero of rows, 1000 x 1000", "jnp.count_nonzero", chances(1000, 1000), axis=1),
    variant("count_nonzero of columns, 1000 x 1000", "jnp.count_nonzero", chances(1000, 1000),
            axis=0),
    case("count of what is greater, 10^6", lambda x: (x > 0.5).sum(), normals(MILLION)),
    variant("mean of what is greater, 1000 x 1000", lambda x: (x > 0.5).mean(0),
            normals(1000, 1000)),
    case("any of columns, 1000 x 1000", "jnp.any", chances(1000, 1000, share=0.0), axis=0),
    variant("any of rows, 1000 x 1000", "jnp.any", chances(1000, 1000, share=0.0), axis=1),
    variant("all, 10^6", "jnp.all", chances(MILLION, share=1.1)),
    variant("all of what is finite, 10^6", lambda jnp, x: jnp.all(jnp.isfinite(x)),
            normals(MILLION)),
    variant("logical_xor, 10^6", "jnp.logical_xor", chances(MILLION), chances(MILLION)),
    variant("and, or, not of truth values, 10^6", lambda a, b: (a & ~b) | (b & ~a),
            chances(MILLION), chances(MILLION)),
    variant("array_equal, 10^6", lambda jnp, x: jnp.array_equal(x, x + 0), normals(MILLION)),
    variant("allclose, 10^6", lambda jnp, x: jnp.allclose(x, x * 1.000001), normals(MILLION)),
    variant("isnan count, 10^6", lambda jnp, x: jnp.isnan(x).sum(), with_holes(MILLION)),
]  # fmt: skip

CASES = [*_HISTOGRAMS, *_SEGMENTS, *_POSITIONS, *_TRUTH]
