"""Calls that move elements: transposes, concatenations, padding, repetition, triangles."""

from .arrays import MILLION, integers, normals, uniforms, value
from .catalogue import case, variant

SQUARE = normals(1000, 1000)
CUBE = normals(100, 100, 100)
QUARTER = MILLION // 4


def space_to_depth(x):
    blocks = x.reshape(8, 32, 2, 32, 2, 16)
    return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(8, 32, 32, 64)


def patches(x):
    return x.reshape(8, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(8, 196, 768)


_TRANSPOSES = [
    case("transpose, 1000 x 1000", lambda x: x.T + 0, SQUARE),
    case("transpose uint8, 1000 x 1000", "jnp.transpose",
         integers(1000, 1000, high=200, dtype="uint8")),
    case("transpose, 100000 x 8", "jnp.transpose", normals(100000, 8)),
    variant("transpose, 8 x 100000", "jnp.transpose", normals(8, 100000)),
    variant("transpose bfloat16, 1000 x 1000", "jnp.transpose",
            normals(1000, 1000, dtype="bfloat16")),
    case("last axis first, 100^3", "jnp.transpose", CUBE, axes=(2, 0, 1)),
    case("last two axes, 100^3", "jnp.transpose", CUBE, axes=(0, 2, 1)),
    variant("channels first, 8 x 56 x 56 x 64", "jnp.transpose", normals(8, 56, 56, 64),
            axes=(0, 3, 1, 2)),
    variant("heads first, 8 x 512 x 8 x 64", "jnp.transpose", normals(8, 512, 8, 64),
            axes=(0, 2, 1, 3)),
    case("space to depth, 8 x 64 x 64 x 16", space_to_depth, normals(8, 64, 64, 16)),
    variant("patches, 8 x 224 x 224 x 3", patches, normals(8, 224, 224, 3)),
    variant("rot90, 1000 x 1000", "jnp.rot90", SQUARE),
    variant("flip both axes, 1000 x 1000", lambda x: x[::-1, ::-1], SQUARE),
    variant("flip rows, 1000 x 1000", "jnp.fliplr", SQUARE),
    case("strided slice, 1500 x 1500", lambda x: x[::3, ::2], normals(1500, 1500)),
    case("roll both axes, 1000 x 1000", lambda jnp, x: jnp.roll(x, (3, -5), (0, 1)), SQUARE),
    variant("roll by a value, 10^6", "jnp.roll", normals(MILLION), value(1234, "int32")),
]  # fmt: skip

_JOINS = [
    case("concatenate columns, 1000 x 500", lambda jnp, a, b: jnp.concatenate([a, b], 1),
         normals(1000, 500), normals(1000, 500)),
    case("concatenate 50 pieces of 1000",
         lambda jnp, x: jnp.concatenate([x[k] * k for k in range(50)]), normals(50, 1000)),
    variant("concatenate 20 columns of 10000",
            lambda jnp, x: jnp.concatenate([x[k][:, None] + k for k in range(20)], 1),
            normals(20, 10000)),
    case("stack at the end, 500000", lambda jnp, a, b: jnp.stack([a, b], -1),
         normals(MILLION // 2), normals(MILLION // 2)),
    variant("stack of 10 windows, 10^5",
            lambda jnp, x: jnp.stack([x[k:k + 99991] for k in range(10)], 1), normals(100000)),
    case("block, 2 x 2 of 300 x 300", lambda jnp, a, b: jnp.block([[a, b], [b.T, a * 2]]),
         normals(300, 300), normals(300, 300)),
    variant("block_diag, 300 and 300", "scipy.linalg.block_diag", normals(300, 300),
            normals(300, 300)),
    variant("split and add, 1000 x 999", lambda jnp, x: sum(jnp.split(x, 3, axis=1)),
            normals(1000, 999)),
    variant("append and insert, 1000 x 1000", "jnp.insert", SQUARE, obj=500, values=7.0, axis=1),
    variant("delete, 1000 x 1000", "jnp.delete", SQUARE, obj=500, axis=1),
    variant("meshgrid, 1000 and 1000", "jnp.meshgrid", normals(1000), normals(1000)),
    variant("indices, 1000 x 1000", lambda jnp, x: jnp.indices((1000, 1000)) + x.astype("int32"),
            value(1.0)),
]  # fmt: skip

_REPETITION = [
    case(f"pad, {mode}, 1000 x 1000", "jnp.pad", SQUARE, pad_width=50, mode=mode,
         variant=mode == "symmetric")
    for mode in ("constant", "reflect", "wrap", "edge", "symmetric")
] + [
    variant("repeat in rows, 1000 x 300", "jnp.repeat", normals(1000, 300), repeats=3, axis=1),
    variant("repeat rows, 300 x 1000", "jnp.repeat", normals(300, 1000), repeats=3, axis=0),
    case("repeat by an array, 250000", "jnp.repeat", normals(QUARTER), integers(QUARTER, high=8),
         total_repeat_length=MILLION),
    case("tile, 200 x 200", "jnp.tile", normals(200, 200), reps=(3, 5)),
    variant("upscale twice, 8 x 64 x 64 x 16", lambda x: x.repeat(2, 1).repeat(2, 2),
            normals(8, 64, 64, 16)),
    variant("broadcast_to, 1000 x 1000", lambda jnp, x: jnp.broadcast_to(x[:, None], (1000, 1000)),
            normals(1000)),
]  # fmt: skip

_TRIANGLES = [
    case("tril, 1000 x 1000", "jnp.tril", SQUARE),
    case("triu over the diagonal, 1000 x 1000", "jnp.triu", SQUARE, k=1),
    variant("tril of matrices, 1000 x 30 x 30", "jnp.tril", normals(1000, 30, 30)),
    variant("eye, 1000", lambda jnp, x: jnp.eye(1000) + x, value(1.0)),
    variant("tri, 1000", lambda jnp, x: jnp.tri(1000) * x, value(2.0)),
    case("diag of a vector, 1000", "jnp.diag", normals(1000)),
    case("diagonal, 1000 x 1000", "jnp.diagonal", SQUARE),
    variant("diagonals of matrices, 1000 x 30 x 30", "jnp.diagonal", normals(1000, 30, 30), axis1=1,
            axis2=2),
    variant("trace of matrices, 1000 x 30 x 30", "jnp.trace", normals(1000, 30, 30), axis1=1,
            axis2=2),
    variant("fill_diagonal, 1000 x 1000",
            lambda jnp, x: jnp.fill_diagonal(x, 1.0, inplace=False), SQUARE),
    case("toeplitz, 1000", "scipy.linalg.toeplitz", normals(1000)),
    variant("linspace, 10^6", lambda jnp, a: jnp.linspace(0.0, a, MILLION), value(5.0)),
    variant("arange and scale, 10^6",
            lambda jnp, a: jnp.arange(MILLION, dtype="float32") * a, value(5.0)),
    case("apply_along_axis, columns of 300 x 300",
         lambda jnp, x: jnp.apply_along_axis(lambda r: jnp.cumsum(r)[::-1], 0, x),
         normals(300, 300)),
    case("vectorize of dot, 1000 x 64",
         lambda jnp, x, y: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(x, y),
         uniforms(1000, 64), uniforms(1000, 64)),
]  # fmt: skip

CASES = [*_TRANSPOSES, *_JOINS, *_REPETITION, *_TRIANGLES]
