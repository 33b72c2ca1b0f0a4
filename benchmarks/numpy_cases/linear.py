"""Calls of products, linear algebra, transforms, polynomials and differences."""

from __future__ import annotations

from .case import Case, cases_of

_PRODUCTS = [
    *cases_of("dot", lambda np, x, y: np.dot(x, y), ("matrices", lambda np, m, m2: np.dot(m, m2)),
              ("matrix, vector", lambda np, m, row: np.dot(m, row)),
              ("vector, matrix", lambda np, m, row: np.dot(row, m))),
    *cases_of("matmul", lambda np, m, m2: np.matmul(m, m2),
              ("transposed", lambda np, m, m2: np.matmul(m.T, m2)),
              ("batch", lambda np, batch: np.matmul(batch, batch)),
              ("tall", lambda np, tall: np.matmul(tall.T, tall))),
    *cases_of("matmul", ("int32", lambda np, mi: np.matmul(mi, mi)), floats=False),
    *cases_of("matmul", ("complex", lambda np, zm: np.matmul(zm, zm))),
    *cases_of("linalg.matmul", lambda np, m, m2: np.linalg.matmul(m, m2)),
    *cases_of("inner", lambda np, x, y: np.inner(x, y), ("matrices", lambda np, m, m2: np.inner(
        m, m2))),
    *cases_of("outer", lambda np, row: np.outer(row, row)),
    *cases_of("linalg.outer", lambda np, row: np.linalg.outer(row, row)),
    *cases_of("vdot", lambda np, x, y: np.vdot(x, y), ("complex", lambda np, z: np.vdot(z, z))),
    *cases_of("vecdot", lambda np, m, m2: np.vecdot(m, m2),
              ("of 3", lambda np, vectors, vectors2: np.vecdot(vectors, vectors2))),
    *cases_of("linalg.vecdot", lambda np, m, m2: np.linalg.vecdot(m, m2)),
    *cases_of("matvec", lambda np, batch: np.matvec(batch, batch[:, 0])),
    *cases_of("vecmat", lambda np, batch: np.vecmat(batch[:, 0], batch)),
    *cases_of("tensordot", lambda np, cube: np.tensordot(cube, cube, axes=((1, 2), (1, 2))),
              ("one axis", lambda np, cube: np.tensordot(cube, cube[0], axes=1))),
    *cases_of("linalg.tensordot", lambda np, cube: np.linalg.tensordot(cube, cube[0], axes=1)),
    *cases_of("einsum", lambda np, m, m2: np.einsum("ij,jk->ik", m, m2),
              ("trace", lambda np, m: np.einsum("ii->", m)),
              ("sum of rows", lambda np, m: np.einsum("ij->i", m)),
              ("weighted rows", lambda np, m, row: np.einsum("ij,j->i", m, row)),
              ("product, sum", lambda np, m, m2: np.einsum("ij,ij->", m, m2)),
              ("product of rows", lambda np, m, m2: np.einsum("ij,ij->i", m, m2)),
              ("batch", lambda np, batch: np.einsum("bij,bjk->bik", batch, batch)),
              ("outer", lambda np, row: np.einsum("i,j->ij", row, row)),
              ("three", lambda np, square, rhs: np.einsum("ij,jk,kl->il", square, rhs, square,
                                                          optimize=True))),
    *cases_of("einsum", ("transpose", lambda np, m: np.einsum("ij->ji", m)),
              numpy=lambda np, m: np.einsum("ij->ji", m).copy(order="C")),
    *cases_of("kron", lambda np, coefficients, x: np.kron(coefficients, x[:100_000]),
              ("matrices", lambda np, batch: np.kron(batch[0], batch[:, 0]))),
    *cases_of("cross", lambda np, vectors, vectors2: np.cross(vectors, vectors2)),
    *cases_of("linalg.cross", lambda np, vectors, vectors2: np.linalg.cross(vectors, vectors2)),
    *cases_of("trace", lambda np, m: np.trace(m), ("batch", lambda np, batch: np.trace(
        batch, axis1=1, axis2=2))),
    *cases_of("linalg.trace", lambda np, batch: np.linalg.trace(batch)),
    *cases_of("convolve", lambda np, x, kernel: np.convolve(x, kernel),
              ("same", lambda np, x, few: np.convolve(x, few, mode="same")),
              ("long", lambda np, x, long_kernel: np.convolve(x[:100_000], long_kernel))),
    *cases_of("correlate", lambda np, x, kernel: np.correlate(x, kernel),
              ("long", lambda np, x, long_kernel: np.correlate(x[:100_000], long_kernel))),
]

_ALGEBRA = [
    *[case for name in ("det", "inv", "slogdet") for case in cases_of(
        f"linalg.{name}", eval(f"lambda np, square: np.linalg.{name}(square)"),
        ("large", eval(f"lambda np, m: np.linalg.{name}(m)")),
        ("batch", eval(f"lambda np, batch: np.linalg.{name}(batch)")))],
    *cases_of("linalg.cholesky", lambda np, spd: np.linalg.cholesky(spd),
              ("large", lambda np, m: np.linalg.cholesky(np.eye(m.shape[0], dtype=m.dtype)))),
    *cases_of("linalg.solve", lambda np, square, rhs: np.linalg.solve(square, rhs),
              ("large", lambda np, m, m2: np.linalg.solve(m, m2)),
              ("batch", lambda np, batch: np.linalg.solve(batch, batch))),
    *cases_of("linalg.qr", lambda np, square: np.linalg.qr(square),
              ("tall", lambda np, tall: np.linalg.qr(tall))),
    *cases_of("linalg.svd", lambda np, square: np.linalg.svd(square),
              ("tall", lambda np, tall: np.linalg.svd(tall, full_matrices=False))),
    *cases_of("linalg.svdvals", lambda np, square: np.linalg.svdvals(square)),
    *cases_of("linalg.eigh", lambda np, symmetric: np.linalg.eigh(symmetric),
              ("batch", lambda np, batch: np.linalg.eigh(batch))),
    *cases_of("linalg.eigvalsh", lambda np, symmetric: np.linalg.eigvalsh(symmetric)),
    *cases_of("linalg.eig", lambda np, square: np.linalg.eig(square)),
    *cases_of("linalg.eigvals", lambda np, square: np.linalg.eigvals(square)),
    *cases_of("linalg.pinv", lambda np, square: np.linalg.pinv(square)),
    *cases_of("linalg.lstsq", lambda np, tall, rhs: np.linalg.lstsq(tall, tall[:, :3])),
    *cases_of("linalg.cond", lambda np, square: np.linalg.cond(square)),
    *cases_of("linalg.matrix_rank", lambda np, square: np.linalg.matrix_rank(square)),
    *cases_of("linalg.matrix_power", lambda np, square: np.linalg.matrix_power(square, 5),
              ("large", lambda np, m: np.linalg.matrix_power(m, 3))),
    *cases_of("linalg.matrix_norm", lambda np, m: np.linalg.matrix_norm(m)),
    *cases_of("linalg.vector_norm", lambda np, x: np.linalg.vector_norm(x),
              ("rows", lambda np, m: np.linalg.vector_norm(m, axis=1))),
    *cases_of("linalg.norm", lambda np, x: np.linalg.norm(x),
              ("rows of 3", lambda np, vectors: np.linalg.norm(vectors, axis=1)),
              ("1", lambda np, m: np.linalg.norm(m, 1)),
              ("nuclear", lambda np, square: np.linalg.norm(square, "nuc"))),
    *cases_of("linalg.multi_dot", lambda np, m, m2, row: np.linalg.multi_dot([m, m2, row])),
    *cases_of("linalg.tensorinv", lambda np, blocks: np.linalg.tensorinv(blocks, ind=1)),
    *cases_of("linalg.tensorsolve", lambda np, blocks: np.linalg.tensorsolve(
        blocks.reshape(10, 10, 10, 10), blocks[0])),
]

_TRANSFORMS = [
    *[Case(f"fft.{name}", eval(f"lambda np, {a}: np.fft.{name}({a})"), label)
      for name, a, label in (
          ("fft", "z", ""), ("fft", "zm", "rows"), ("fft", "x", "real"), ("ifft", "z", ""),
          ("fft2", "zm", ""), ("ifft2", "zm", ""), ("fftn", "zm", ""), ("ifftn", "zm", ""),
          ("rfft", "x", ""), ("rfft", "m", "rows"), ("irfft", "z", ""), ("irfft", "zm", "rows"),
          ("rfft2", "m", ""), ("irfft2", "zm", ""), ("rfftn", "m", ""), ("irfftn", "zm", ""),
          ("hfft", "z", ""), ("ihfft", "x", ""))],
    *cases_of("fft.fft", ("power of two", lambda np, z: np.fft.fft(z[:2**19])),
              ("columns", lambda np, zm: np.fft.fft(zm, axis=0)),
              ("prime length", lambda np, z: np.fft.fft(z[:100_003]))),
    *cases_of("fft.rfft", ("power of two", lambda np, x: np.fft.rfft(x[:2**19]))),
]

_POLYNOMIALS = [
    *cases_of("polyval", lambda np, coefficients, x: np.polyval(coefficients, x)),
    *cases_of("polyfit", lambda np, grid, y: np.polyfit(grid, y, 3)),
    *cases_of("poly", lambda np, kernel: np.poly(kernel)),
    *cases_of("polyadd", lambda np, x, y: np.polyadd(x, y)),
    *cases_of("polysub", lambda np, x, y: np.polysub(x, y)),
    *cases_of("polyder", lambda np, x: np.polyder(x)),
    *cases_of("polyint", lambda np, x: np.polyint(x)),
    *cases_of("polymul", lambda np, row: np.polymul(row, row), jit=False),
    *cases_of("polydiv", lambda np, row, coefficients: np.polydiv(row, coefficients)),
    *cases_of("roots", lambda np, kernel: np.roots(kernel), jit=False),
]

_DIFFERENCES = [
    *cases_of("diff", lambda np, x: np.diff(x), ("second", lambda np, x: np.diff(x, 2)),
              ("columns", lambda np, m: np.diff(m, axis=0))),
    *cases_of("ediff1d", lambda np, x: np.ediff1d(x)),
    *cases_of("gradient", lambda np, x: np.gradient(x), ("matrix", lambda np, m: np.gradient(m)),
              ("uneven", lambda np, y, grid: np.gradient(y, grid))),
]

CASES: list[Case] = [*_PRODUCTS, *_ALGEBRA, *_TRANSFORMS, *_POLYNOMIALS, *_DIFFERENCES]
