"""Calls that multiply and sum: products of matrices, einsum, distances."""

from collections.abc import Callable

from .arrays import integers, normals, uniforms
from .catalogue import case, variant


def einsum(subscripts: str) -> Callable:
    return lambda jnp, *arrays: jnp.einsum(subscripts, *arrays)


def times(a, b):
    return a @ b


def pairs(dtype: str, *shape: int) -> list:
    return [normals(*shape, dtype=dtype)] * 2


_PRODUCTS = [
    case("matmul, 512 x 512", times, *pairs("float32", 512, 512)),
    case("matmul bfloat16, 256 x 256", times, *pairs("bfloat16", 256, 256)),
    case("matmul float16, 256 x 256", times, *pairs("float16", 256, 256)),
    variant("matmul bfloat16 to float32, 256 x 256",
            lambda jnp, a, b: jnp.matmul(a, b, preferred_element_type="float32"),
            *pairs("bfloat16", 256, 256)),
    case("matmul int32, 100 of 256 x 256", times, *[integers(100, 256, 256, high=100)] * 2),
    case("matmul int8 to int32, 256 x 256",
         lambda jnp, a, b: jnp.matmul(a, b, preferred_element_type="int32"),
         *[integers(256, 256, low=-100, high=100, dtype="int8")] * 2),
    variant("matmul uint8, 256 x 256", times, *[integers(256, 256, high=256, dtype="uint8")] * 2),
    variant("matmul of truth values as int32, 256 x 256",
            lambda a, b: (a > 0).astype("int32") @ (b > 0).astype("int32"),
            *pairs("float32", 256, 256)),
    case("matmul, 300 of 17 x 23 x 19", times, normals(300, 17, 23), normals(300, 23, 19)),
    case("matmul, 100000 x 8 by 8 x 8", times, normals(100000, 8), normals(8, 8)),
    variant("matmul, 8 x 8 by 8 x 100000", times, normals(8, 8), normals(8, 100000)),
    variant("matmul, 1000 x 3 by 3 x 1000", times, normals(1000, 3), normals(3, 1000)),
    variant("matmul, 10 x 10000 by 10000 x 10", times, normals(10, 10000), normals(10000, 10)),
    case("matmul with the transpose, 500 x 500", lambda a, b: a @ b.T, *pairs("float32", 500, 500)),
    variant("matmul of transposes, 500 x 500", lambda a, b: a.T @ b.T, *pairs("float32", 500, 500)),
    case("matrix by vector, 1000 x 1000", times, normals(1000, 1000), normals(1000)),
    variant("vector by matrix, 1000 x 1000", times, normals(1000), normals(1000, 1000)),
    variant("matrices by vectors, 1000 of 32 x 32", lambda a, b: (a @ b[..., None])[..., 0],
            normals(1000, 32, 32), normals(1000, 32)),
    case("gram, 100000 x 10", lambda a: a.T @ a, normals(100000, 10)),
    variant("quadratic form, 1000 x 1000", lambda a, x: x @ a @ x, normals(1000, 1000),
            normals(1000)),
    variant("dot, 10^6", "jnp.dot", normals(1_000_000), normals(1_000_000)),
    case("vecdot, 10000 x 64", "jnp.vecdot", normals(10000, 64), normals(10000, 64)),
    variant("tensordot over two axes",
            lambda jnp, a, b: jnp.tensordot(a, b, ((0, 2), (1, 0))), normals(30, 40, 50),
            normals(50, 30, 60)),
    variant("inner, 300 x 300", "jnp.inner", *pairs("float32", 300, 300)),
    variant("kron, 30 x 30", "jnp.kron", normals(30, 30), normals(30, 30)),
    variant("cross of rows of 3, 100000", "jnp.cross", normals(100000, 3), normals(100000, 3)),
    variant("two layers, 256 x 512", lambda jnp, x, v, w: jnp.maximum(x @ v, 0) @ w,
            normals(256, 512), normals(512, 512, scale=0.05), normals(512, 10)),
]  # fmt: skip

_EINSUMS = [
    case("einsum bhqd,bhkd->bhqk", einsum("bhqd,bhkd->bhqk"), normals(4, 8, 256, 64),
         normals(4, 8, 256, 64)),
    variant("einsum bqhd,bkhd->bhqk", einsum("bqhd,bkhd->bhqk"), normals(4, 256, 8, 64),
            normals(4, 256, 8, 64)),
    variant("einsum bhqk,bkhd->bqhd", einsum("bhqk,bkhd->bqhd"), uniforms(4, 8, 256, 256),
            normals(4, 256, 8, 64)),
    case("einsum ijk,kl->ijl", einsum("ijk,kl->ijl"), normals(100, 50, 60), normals(60, 70)),
    case("einsum ij,jk,kl->il", einsum("ij,jk,kl->il"), normals(200, 300), normals(300, 200),
         normals(200, 100)),
    case("einsum bii->b", einsum("bii->b"), normals(1000, 30, 30)),
    variant("einsum ij->ji", einsum("ij->ji"), normals(1000, 1000)),
    variant("einsum ijk->k", einsum("ijk->k"), normals(100, 100, 100)),
    case("einsum bi,ijk,bk->bj", einsum("bi,ijk,bk->bj"), normals(256, 64), normals(64, 32, 64),
         normals(256, 64)),
    case("einsum bi,bj->bij", einsum("bi,bj->bij"), normals(1000, 30), normals(1000, 30)),
    variant("einsum bij,bij->b", einsum("bij,bij->b"), normals(1000, 30, 30),
            normals(1000, 30, 30)),
    case("einsum bij,bjk->bik of 3 x 3, 10000", einsum("bij,bjk->bik"), normals(10000, 3, 3),
         normals(10000, 3, 3)),
    variant("einsum nij,nj->ni of 3 x 3, 100000", einsum("nij,nj->ni"), normals(100000, 3, 3),
            normals(100000, 3)),
    variant("einsum ijkl,jl->ik", einsum("ijkl,jl->ik"), normals(30, 30, 30, 30), normals(30, 30)),
    variant("einsum bgcd,ge->becd", einsum("bgcd,ge->becd"), normals(8, 16, 32, 32),
            normals(16, 24)),
]  # fmt: skip

_DISTANCES = [
    case("distances of points of 3, 500 x 500",
         lambda jnp, a, b: jnp.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)), normals(500, 3),
         normals(500, 3)),
    variant("1-distances of rows of 64, 300 x 300",
            lambda jnp, a, b: jnp.abs(a[:, None] - b[None]).sum(-1), normals(300, 64),
            normals(300, 64)),
    variant("distances by products, 1000 x 64",
            lambda jnp, a, b: (a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1),
            normals(1000, 64), normals(1000, 64)),
    case("nearest of 64 centres, 10000 x 8",
         lambda jnp, x, c: jnp.argmin(((x[:, None] - c) ** 2).sum(-1), 1), normals(10000, 8),
         normals(64, 8)),
    variant("cosine similarity, 1000 x 64",
            lambda jnp, a: (lambda u: u @ u.T)(a / jnp.linalg.norm(a, axis=1, keepdims=True)),
            normals(1000, 64)),
    case("min-plus product, 200 x 200",
         lambda jnp, a, b: jnp.min(a[:, :, None] + b[None], 1), uniforms(200, 200),
         uniforms(200, 200)),
    case("forces between particles, 500",
         lambda jnp, x: (lambda d: (d / ((d**2).sum(-1, keepdims=True) + 0.1) ** 1.5).sum(1))(
             x[:, None] - x[None]), normals(500, 3)),
]  # fmt: skip

CASES = [*_PRODUCTS, *_EINSUMS, *_DISTANCES]
