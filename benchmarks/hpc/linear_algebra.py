"""Linear algebra written out as loops over arrays: solvers, factorisations, eigenvalues."""

import numpy as np

from .catalogue import program


@program(size=1000, small=30, x64=True)
class SpectralNorm:
    """The largest singular value of an infinite matrix that is given by a formula, 10 rounds of
    the power method in float64; the Computer Language Benchmarks Game's spectral-norm."""

    def make(rng, n):
        return (np.ones(n),)

    def array(jax):
        jnp = jax.numpy

        def run(u):
            i = jnp.arange(u.shape[0], dtype=u.dtype)
            s = i[:, None] + i[None, :]
            a = 1.0 / (s * (s + 1.0) / 2.0 + i[:, None] + 1.0)

            def step(_, uv):
                v = a.T @ (a @ uv[0])
                return a.T @ (a @ v), v

            u, v = jax.lax.fori_loop(0, 10, step, (u, u))
            return jnp.sqrt(jnp.vdot(u, v) / jnp.vdot(v, v))

        return run

    def reference(u):
        i = np.arange(len(u), dtype=float)
        s = i[:, None] + i
        a = 1.0 / (s * (s + 1.0) / 2.0 + i[:, None] + 1.0)
        for _ in range(10):
            v = a.T @ (a @ u)
            u = a.T @ (a @ v)
        return np.sqrt((u @ v) / (v @ v))

    def loops(numba):
        @numba.njit
        def entry(i, j):
            return 1.0 / ((i + j) * (i + j + 1) // 2 + i + 1)

        @numba.njit(parallel=True)
        def product(u, transposed):
            n = u.shape[0]
            out = np.empty(n)
            for i in numba.prange(n):
                total = 0.0
                for j in range(n):
                    total += (entry(j, i) if transposed else entry(i, j)) * u[j]
                out[i] = total
            return out

        @numba.njit
        def run(u):
            v = u
            for _ in range(10):
                v = product(product(u, False), True)
                u = product(product(v, False), True)
            return np.sqrt((u * v).sum() / (v * v).sum())

        return run


@program(size=7000, small=60, x64=True, rtol=1e-7)
class NasCg:
    """25 steps of conjugate gradients on a random sparse symmetric matrix in compressed rows; the
    NAS benchmark CG."""

    def make(rng, n):
        import scipy.sparse

        a = scipy.sparse.random(n, n, 6 / n, random_state=np.random.RandomState(1))
        a = (a + a.T + 20 * scipy.sparse.eye(n)).tocsr()
        rows = np.repeat(np.arange(n), np.diff(a.indptr)).astype(np.int32)
        return a.data, a.indices.astype(np.int32), rows, a.indptr.astype(np.int32), rng.random(n)

    def array(jax):
        jnp = jax.numpy

        def run(values, columns, rows, starts, b):
            def product(p):
                return jax.ops.segment_sum(
                    values * p[columns], rows, num_segments=b.shape[0], indices_are_sorted=True
                )

            def step(state, _):
                x, r, p, rho = state
                q = product(p)
                alpha = rho / jnp.vdot(p, q)
                x, r = x + alpha * p, r - alpha * q
                after = jnp.vdot(r, r)
                return (x, r, r + (after / rho) * p, after), jnp.sqrt(after)

            start = (jnp.zeros_like(b), b, b, jnp.vdot(b, b))
            (x, *_), norms = jax.lax.scan(step, start, None, length=25)
            return x, norms[:10]

        return run

    def reference(values, columns, rows, starts, b):
        x, r, p, rho, norms = np.zeros_like(b), b, b, b @ b, []
        for _ in range(25):
            q = np.bincount(rows, values * p[columns], len(b))
            alpha = rho / (p @ q)
            x, r = x + alpha * p, r - alpha * q
            after = r @ r
            p, rho = r + (after / rho) * p, after
            norms.append(np.sqrt(after))
        return x, np.array(norms[:10])

    def loops(numba):
        @numba.njit(parallel=True)
        def product(values, columns, starts, p, q):
            for i in numba.prange(q.shape[0]):
                total = 0.0
                for k in range(starts[i], starts[i + 1]):
                    total += values[k] * p[columns[k]]
                q[i] = total

        @numba.njit
        def dot(a, b):
            total = 0.0
            for i in range(a.shape[0]):
                total += a[i] * b[i]
            return total

        @numba.njit
        def run(values, columns, rows, starts, b):
            n = b.shape[0]
            x, r, p, q, norms = np.zeros(n), b.copy(), b.copy(), np.empty(n), np.empty(25)
            rho = dot(r, r)
            for step in range(25):
                product(values, columns, starts, p, q)
                alpha = rho / dot(p, q)
                for i in range(n):
                    x[i] += alpha * p[i]
                    r[i] -= alpha * q[i]
                after = dot(r, r)
                for i in range(n):
                    p[i] = r[i] + (after / rho) * p[i]
                rho = after
                norms[step] = np.sqrt(after)
            return x, norms[:10]

        return run


@program(size=384, small=24, rtol=2e-3, atol=1e-3)
class Lud:
    """LU decomposition without pivots, one rank-one update a column, in place; Rodinia's lud."""

    def make(rng, n):
        a = rng.random((n, n), dtype=np.float32)
        return (a + n * np.eye(n, dtype=np.float32),)

    def array(jax):
        jnp = jax.numpy

        def run(a):
            index = jnp.arange(a.shape[0])

            def column(k, a):
                below = index > k
                factors = jnp.where(below, a[:, k] / a[k, k], 0.0)
                row = jnp.where(below, a[k], 0.0)
                a = a - factors[:, None] * row[None, :]
                return a.at[:, k].set(jnp.where(below, factors, a[:, k]))

            return jax.lax.fori_loop(0, a.shape[0] - 1, column, a)

        return run

    def reference(a):
        a = a.copy()
        for k in range(len(a) - 1):
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
        return a

    def loops(numba):
        @numba.njit(parallel=True)
        def run(a):
            a, n = a.copy(), a.shape[0]
            for k in range(n - 1):
                for i in numba.prange(k + 1, n):
                    factor = a[i, k] / a[k, k]
                    a[i, k] = factor
                    for j in range(k + 1, n):
                        a[i, j] -= factor * a[k, j]
            return a

        return run


@program(size=256, small=20, x64=True, rtol=1e-6)
class Gaussian:
    """Gaussian elimination with row exchanges, then back substitution, in float64; after Rodinia's
    gaussian."""

    def make(rng, n):
        return rng.standard_normal((n, n)), rng.standard_normal(n)

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def run(a, b):
            n = b.shape[0]
            index = jnp.arange(n)

            def eliminate(k, ab):
                a, b = ab
                pivot = jnp.argmax(jnp.where(index >= k, jnp.abs(a[:, k]), -1.0))
                row, other = a[pivot], a[k]
                a = a.at[k].set(row).at[pivot].set(jnp.where(pivot == k, row, other))
                top, bottom = b[pivot], b[k]
                b = b.at[k].set(top).at[pivot].set(jnp.where(pivot == k, top, bottom))
                factors = jnp.where(index > k, a[:, k] / a[k, k], 0.0)
                return a - jnp.outer(factors, a[k]), b - factors * b[k]

            def substitute(i, x):
                k = n - 1 - i
                rest = jnp.sum(jnp.where(index > k, a[k] * x, 0.0))
                return x.at[k].set((b[k] - rest) / a[k, k])

            a, b = lax.fori_loop(0, n, eliminate, (a, b))
            return lax.fori_loop(0, n, substitute, jnp.zeros(n))

        return run

    def reference(a, b):
        return np.linalg.solve(a, b)

    def loops(numba):
        @numba.njit(parallel=True)
        def run(a, b):
            a, b, n = a.copy(), b.copy(), b.shape[0]
            for k in range(n):
                pivot = k + np.argmax(np.abs(a[k:, k]))
                if pivot != k:
                    for j in range(n):
                        a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
                    b[k], b[pivot] = b[pivot], b[k]
                for i in numba.prange(k + 1, n):
                    factor = a[i, k] / a[k, k]
                    for j in range(k, n):
                        a[i, j] -= factor * a[k, j]
                    b[i] -= factor * b[k]
            x = np.zeros(n)
            for k in range(n - 1, -1, -1):
                x[k] = (b[k] - (a[k, k + 1 :] * x[k + 1 :]).sum()) / a[k, k]
            return x

        return run


@program(size=256, small=10, x64=True)
class Adi:
    """Heat on a square by alternating directions, 4 steps: tridiagonal systems along all rows,
    then along all columns, by Thomas's method; the solver of the NAS benchmark SP."""

    def make(rng, n):
        return (rng.random((n, n)),)

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def solve(d):
            """Systems (-1/2, 2, -1/2) along axis 0, all columns at once."""

            def forward(carry, d):
                c, previous = carry
                scale = 1.0 / (2.0 + 0.5 * c)
                out = (-0.5 * scale, (d + 0.5 * previous) * scale)
                return out, out

            def backward(x, cd):
                c, d = cd
                x = d - c * x
                return x, x

            zero = jnp.zeros(d.shape[1])
            _, (c, d) = lax.scan(forward, (0.0 * zero[0], zero), d)
            return lax.scan(backward, zero, (c, d), reverse=True)[1]

        def step(_, u):
            padded = jnp.pad(u, ((0, 0), (1, 1)))
            u = solve(u + 0.5 * (padded[:, 2:] + padded[:, :-2]))
            padded = jnp.pad(u, ((1, 1), (0, 0)))
            return solve((u + 0.5 * (padded[2:] + padded[:-2])).T).T

        return lambda u: lax.fori_loop(0, 4, step, u)

    def reference(u):
        import scipy.linalg

        bands = np.full((3, len(u)), -0.5)
        bands[1] = 2.0
        for _ in range(4):
            padded = np.pad(u, ((0, 0), (1, 1)))
            u = scipy.linalg.solve_banded((1, 1), bands, u + 0.5 * (padded[:, 2:] + padded[:, :-2]))
            padded = np.pad(u, ((1, 1), (0, 0)))
            u = scipy.linalg.solve_banded((1, 1), bands, (u + 0.5 * (padded[2:] + padded[:-2])).T).T
        return u

    def loops(numba):
        @numba.njit
        def solve(d, c):
            """In place along a vector."""
            n = d.shape[0]
            above, previous = 0.0, 0.0
            for i in range(n):
                scale = 1.0 / (2.0 + 0.5 * above)
                above, previous = -0.5 * scale, (d[i] + 0.5 * previous) * scale
                c[i], d[i] = above, previous
            x = 0.0
            for i in range(n - 1, -1, -1):
                x = d[i] - c[i] * x
                d[i] = x

        @numba.njit(parallel=True)
        def half(u):
            """Explicit along rows, implicit along columns; transposed out."""
            n = u.shape[0]
            out = np.empty_like(u)
            for j in numba.prange(n):
                c = np.empty(n)
                for i in range(n):
                    left = u[i, j - 1] if j else 0.0
                    right = u[i, j + 1] if j + 1 < n else 0.0
                    out[j, i] = u[i, j] + 0.5 * (left + right)
                solve(out[j], c)
            return out

        def run(u):
            for _ in range(8):
                u = half(u)
            return u

        return run


@program(size=256, small=12, x64=True, rtol=1e-7, atol=1e-8)
class GramSchmidt:
    """An orthonormal basis of the columns of a square matrix by the modified Gram-Schmidt method,
    column after column; Polybench's gramschmidt."""

    def make(rng, n):
        return (rng.standard_normal((n, n)) + 3 * np.eye(n),)

    def array(jax):
        jnp = jax.numpy

        def run(a):
            n = a.shape[1]

            def column(k, qr):
                q, r = qr
                size = jnp.linalg.norm(q[:, k])
                unit = q[:, k] / size
                along = jnp.where(jnp.arange(n) > k, unit @ q, 0.0)
                q = (q - unit[:, None] * along[None, :]).at[:, k].set(unit)
                return q, r.at[k].set(along.at[k].set(size))

            return jax.lax.fori_loop(0, n, column, (a, jnp.zeros((n, n))))

        return run

    def reference(a):
        q, n = a.copy(), a.shape[1]
        r = np.zeros((n, n))
        for k in range(n):
            r[k, k] = np.linalg.norm(q[:, k])
            q[:, k] /= r[k, k]
            r[k, k + 1 :] = q[:, k] @ q[:, k + 1 :]
            q[:, k + 1 :] -= np.outer(q[:, k], r[k, k + 1 :])
        return q, r

    def loops(numba):
        @numba.njit(parallel=True)
        def run(a):
            n = a.shape[1]
            columns, r = a.T.copy(), np.zeros((n, n))
            for k in range(n):
                r[k, k] = np.sqrt((columns[k] * columns[k]).sum())
                columns[k] /= r[k, k]
                for j in numba.prange(k + 1, n):
                    total = 0.0
                    for i in range(n):
                        total += columns[k, i] * columns[j, i]
                    r[k, j] = total
                    for i in range(n):
                        columns[j, i] -= total * columns[k, i]
            return columns.T.copy(), r

        return run
