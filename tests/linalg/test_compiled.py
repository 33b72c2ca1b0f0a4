"""Linear algebra inside compiled programs: native steps, loops, batches, gradients, all stages."""

import ctypes
import threading

import numpy as np
import pytest
from matrices import positive, random, same

import jitney as jax
import jitney.numpy as jnp
import jitney.scipy.linalg as scipy_linalg
from jitney import lax, pipeline
from jitney.base import debug
from jitney.fuse import lapack
from jitney.testing.stages import check_all_stages

linalg = jnp.linalg
A = positive((5, 5), "float32")
X = random((6, 4), "float32")
PROGRAMS = {
    "cholesky": (lambda a: linalg.cholesky(a), A),
    "solve": (lambda a: linalg.solve(a, a[0] * 2) + 1, A),
    "inverse of a large one": (lambda a: linalg.inv(a), positive((20, 20), "float32")),
    "determinants": (lambda a: (linalg.det(a), linalg.slogdet(a)), A),
    "eigenvalues": (lambda a: linalg.eigvalsh(a), A),
    "complex eigenvalues": (lambda x: linalg.eigvals(x), random((5, 5), "float32")),
    "vectors of any matrix": (lambda x: linalg.eig(x), random((3, 5, 5), "float32")),
    "vectors of a complex one": (lambda x: lax.linalg.eig(x), random((4, 4), "complex64")),
    "vectors on the left": (lambda x: lax.linalg.eig(x, compute_right_eigenvectors=False),
                            random((4, 4), "float32")),
    "projector": (lambda a: (lambda v: v[:, :2] @ v[:, :2].T)(linalg.eigh(a)[1]), A),
    "singular values": (lambda x: linalg.svd(x, compute_uv=False), X),
    "least squares": (lambda x: linalg.lstsq(x, x[:, 0])[0], X),
    "qr": (lambda x: linalg.qr(x)[1], X),
    "pseudoinverse": (lambda x: linalg.pinv(x), X),
    "complex": (lambda x: linalg.solve(x, jnp.exp(x)), random((4, 4), "complex64")),
    "batch": (lambda x: linalg.solve(x, x[..., :1]), positive((7, 3, 3), "float32")),
    "solve by factors": (lambda a: scipy_linalg.lu_solve(scipy_linalg.lu_factor(a), a[0]), A),
    "gradient": (lambda a: jax.grad(lambda b: linalg.slogdet(b)[1])(a), A),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_answer_at_every_stage(name):
    function, argument = PROGRAMS[name]
    check_all_stages(function, argument)


def kinds(function, *args):
    return [step.kind for step in jax.explain(function, *args).steps]


def test_calls_do_not_see_python():
    before = debug.counts().get("reference_steps", 0)

    def f(a, b):
        x = linalg.solve(a, b)
        return linalg.cholesky(a) @ x, linalg.eigh(a), linalg.eig(a), linalg.svd(b), linalg.qr(b)

    a, b = positive((12, 12), "float32"), random((12, 3), "float32")
    assert "python" not in kinds(f, a, b)
    assert debug.counts().get("reference_steps", 0) == before


def test_vectors_nobody_reads_are_not_computed():
    def routines(function):
        reports = pipeline.compile_jaxpr(jax.make_jaxpr(function)(A)).reports
        return [r.step.params[2] for r in reports if r.kind == "routine"]

    assert routines(linalg.eigvalsh) == routines(lambda a: linalg.eigh(a).eigenvalues) == [0]
    assert routines(lambda a: linalg.svd(a).S) == routines(lambda a: linalg.norm(a, 2)) == [0]
    assert routines(linalg.eigh) == [1] and routines(linalg.svd) == [2]
    same(jax.jit(lambda a: linalg.svd(a).S)(A), np.linalg.svd(A)[1])


def filter_step(a, q):
    def step(state, y):
        m, p = state
        m, p = a @ m, a @ p @ a.T + q
        gain = linalg.solve(p + jnp.eye(4), p).T
        m = m + gain @ (y - m)
        return (m, p - gain @ p), m

    return step


def test_a_kalman_filter_is_a_native_loop():
    ys = random((50, 4), "float32")
    a, q = 0.9 * np.eye(4, dtype=np.float32), 0.1 * np.eye(4, dtype=np.float32)
    start = (np.zeros(4, np.float32), np.eye(4, dtype=np.float32))
    run = jax.jit(lambda ys: lax.scan(filter_step(a, q), start, ys)[1])
    state, means = start, []
    with np.errstate(all="ignore"):
        for y in ys.astype(np.float64):
            m, p = a @ state[0], a @ state[1] @ a.T + q
            gain = np.linalg.solve(p + np.eye(4), p).T
            m = m + gain @ (y - m)
            state = (m, p - gain @ p)
            means.append(m)
    np.testing.assert_allclose(run(ys), means, 1e-4, 1e-5)
    assert "python" not in kinds(lambda ys: lax.scan(filter_step(a, q), start, ys)[1], ys)


def test_large_batches_run_in_pieces_and_agree_with_single_ones():
    a = positive((3000, 3, 3), "float32")
    b = random((3000, 3, 2), "float32")
    found = np.asarray(linalg.solve(a, b))
    same(found, np.linalg.solve(a, b))
    np.testing.assert_array_equal(found[1234], linalg.solve(a[1234], b[1234]))
    big = positive((40, 24, 24), "float64").astype(np.float32)
    np.testing.assert_array_equal(np.asarray(linalg.cholesky(big))[7], linalg.cholesky(big[7]))


def test_vmap_of_one_matrix_and_many_right_sides_factors_it_once():
    a, b = A, random((9, 5), "float32")
    text = str(jax.make_jaxpr(jax.vmap(lambda y: linalg.solve(a, y)))(b))
    assert "lu_solve" in text and "9,5,5" not in text
    same(jax.vmap(lambda y: linalg.solve(a, y))(b), np.linalg.solve(a, b.T).T.astype(np.float32))


def test_jit_of_gradients_of_batches():
    def loss(a, y):
        factor = scipy_linalg.cho_factor(a @ a.T + 5 * jnp.eye(3))
        return y @ scipy_linalg.cho_solve(factor, y)

    a, y = random((4, 3, 3), "float32"), random((4, 3), "float32")
    together = jax.jit(jax.vmap(jax.grad(loss)))(a, y)
    one = np.stack([jax.grad(loss)(a[i], y[i]) for i in range(4)])
    np.testing.assert_allclose(together, one, 1e-4, 1e-6)


def test_the_library_has_its_threads_again_afterwards():
    """Small matrices are factored without them, from several threads at once as well."""
    a = np.eye(64, dtype=np.float32) * 2 + 0.01
    factor = jax.jit(lambda a: (jnp.linalg.cholesky(a), jnp.linalg.svd(a), jnp.linalg.inv(a)))
    jax.block_until_ready(factor(a))
    addresses = lapack._thread_functions()
    if not addresses:
        pytest.skip("no library whose threads are known")
    count = ctypes.CFUNCTYPE(ctypes.c_int)(addresses[1])
    before = count()
    workers = [threading.Thread(target=lambda: [factor(a) for _ in range(50)]) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert count() == before
