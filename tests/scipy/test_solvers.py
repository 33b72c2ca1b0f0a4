"""Iterative solvers: solutions, derivatives, trees, limits, errors."""

import numpy as np
import pytest
import scipy.sparse.linalg

import jitney
from jitney import numpy as jnp
from jitney.scipy.sparse import linalg

RNG = np.random.default_rng(0)
SOLVERS = {
    "cg": linalg.cg,
    "bicgstab": linalg.bicgstab,
    "gmres": linalg.gmres,
    "incremental": lambda *args, **options: linalg.gmres(*args, solve_method="incremental",
                                                         **options),
}
TIGHT = {np.float32: 1e-6, np.float64: 1e-12, np.complex64: 1e-6, np.complex128: 1e-12}


def system(dtype, n=6, hermitian=True):
    """A well-conditioned matrix and a right-hand side."""
    a = RNG.normal(size=(n, n)) + 1j * RNG.normal(size=(n, n))
    a = a if np.dtype(dtype).kind == "c" else a.real
    a = a @ a.conj().T / n + np.eye(n) if hermitian else a / n + 2 * np.eye(n)
    b = RNG.normal(size=n) + (1j if np.dtype(dtype).kind == "c" else 0)
    return a.astype(dtype), b.astype(dtype)


@pytest.fixture(params=SOLVERS)
def solver(request):
    return SOLVERS[request.param]


@pytest.mark.parametrize("dtype", TIGHT)
@pytest.mark.parametrize("name", SOLVERS)
def test_solutions(name, dtype):
    with jitney.enable_x64(dtype in (np.float64, np.complex128)):
        a, b = system(dtype, hermitian=name == "cg")
        x, info = SOLVERS[name](a, b, tol=TIGHT[dtype])
        assert x.dtype == dtype and (info is None) == (name in ("cg", "bicgstab"))
        np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=0, atol=30 * TIGHT[dtype])
        by_function, _ = SOLVERS[name](lambda v: jnp.dot(a, v), b, tol=TIGHT[dtype])
        np.testing.assert_allclose(by_function, x, atol=30 * TIGHT[dtype])


def test_steps_are_those_of_scipy():
    with jitney.enable_x64(True):
        a, b = system(np.float64)
        for steps in (1, 2, 3):
            ours, _ = linalg.cg(a, b, tol=0.0, maxiter=steps)
            wanted, _ = scipy.sparse.linalg.cg(a, b, rtol=0.0, maxiter=steps)
            np.testing.assert_allclose(ours, wanted, rtol=1e-10)
            ours, _ = linalg.bicgstab(a, b, tol=0.0, maxiter=steps)
            wanted, _ = scipy.sparse.linalg.bicgstab(a, b, rtol=0.0, maxiter=steps)
            np.testing.assert_allclose(ours, wanted, rtol=1e-8)
            for method in ("batched", "incremental"):
                ours, _ = linalg.gmres(a, b, tol=0.0, maxiter=steps, restart=2, solve_method=method)
                wanted, _ = scipy.sparse.linalg.gmres(a, b, rtol=0.0, maxiter=steps, restart=2)
                np.testing.assert_allclose(ours, wanted, rtol=1e-8)


def test_trees_and_first_guesses(solver):
    b = {"a": RNG.normal(size=(2, 3)).astype(np.float32), "b": np.float32(4.0)}

    def double(v):
        return {"a": 2 * v["a"] + 0.1 * v["b"], "b": 4 * v["b"] + 0.1 * v["a"].sum()}

    x, _ = solver(double, b)
    back = double(x)
    np.testing.assert_allclose(back["a"], b["a"], atol=1e-4)
    np.testing.assert_allclose(back["b"], b["b"], atol=1e-4)
    again, _ = solver(double, b, x0=x, maxiter=0)
    np.testing.assert_array_equal(again["a"], x["a"])
    assert again["b"].shape == () and again["b"] == x["b"]


def test_preconditioners(solver):
    a, b = system(np.float32)
    a = a * np.float32([1, 10, 100, 1, 10, 100])[:, None] * np.float32([1, 10, 100, 1, 10, 100])
    scale = (1 / np.diag(a)).astype(np.float32)
    wanted = np.linalg.solve(a.astype(float), b)
    for given in (np.diag(scale), lambda v: scale * v):
        x, _ = solver(a, b, M=given, tol=1e-7)
        np.testing.assert_allclose(x, wanted, rtol=3e-3, atol=1e-4)


def test_derivatives(solver):
    with jitney.enable_x64(True):
        a, b = system(np.float64)

        def loss(a, b):
            return (solver(a, b, tol=1e-13)[0] ** 2).sum()

        x = np.linalg.solve(a, b)
        shadow = np.linalg.solve(a.T, 2 * x)
        in_a, in_b = jitney.grad(loss, (0, 1))(a, b)
        np.testing.assert_allclose(in_b, shadow, rtol=1e-8)
        np.testing.assert_allclose(in_a, -np.outer(shadow, x), rtol=1e-7, atol=1e-9)
        _, forward = jitney.jvp(loss, (a, b), (a, b))
        np.testing.assert_allclose(forward, 0.0, atol=1e-8)
        inverse = np.linalg.inv(a)
        second = jitney.hessian(lambda b: loss(a, b))(b)
        np.testing.assert_allclose(second, 2 * inverse.T @ inverse, rtol=1e-7, atol=1e-9)


def test_derivatives_of_systems_that_are_not_symmetric():
    with jitney.enable_x64(True):
        a, b = system(np.float64, hermitian=False)
        w = RNG.normal(size=6)
        precondition = np.diag(1 / np.diag(a))
        for solve in (linalg.gmres, linalg.bicgstab):
            found = jitney.grad(lambda b, s=solve: w @ s(a, b, tol=1e-13, M=precondition)[0])(b)
            np.testing.assert_allclose(found, np.linalg.solve(a.T, w), rtol=1e-8)


def test_transformed(solver):
    a, b = system(np.float32)
    x, _ = solver(a, b)
    np.testing.assert_allclose(jitney.jit(lambda a, b: solver(a, b)[0])(a, b), x, rtol=1e-5)
    many = np.stack([b, 3 * b, 0 * b])
    batched = jitney.vmap(lambda b: solver(a, b)[0])(many)
    np.testing.assert_allclose(batched, np.linalg.solve(a, many.T).T, atol=1e-3)
    batched = jitney.vmap(lambda a: solver(a, b)[0])(np.stack([a, 2 * a]))
    np.testing.assert_allclose(batched[1], x / 2, atol=1e-3)


def test_tolerances(solver):
    a, b = system(np.float32, 12)
    for tol, atol in [(1e-1, 0.0), (1e-3, 0.0), (0.0, 0.5)]:
        x, _ = solver(a, b, tol=tol, atol=atol)
        residual = np.linalg.norm(b - a @ np.asarray(x))
        assert residual <= 1.01 * max(tol * np.linalg.norm(b), atol)
    np.testing.assert_array_equal(solver(a, 0 * b)[0], 0 * b)


def test_half_precision_scalars_and_nothing(solver):
    a, b = system(np.float32)
    x, _ = solver(a.astype(np.float16), b.astype(np.float16))
    assert x.dtype == np.float16
    np.testing.assert_allclose(x, np.linalg.solve(a, b), atol=5e-3)
    np.testing.assert_allclose(solver(lambda v: 2 * v, 3.0)[0], 1.5)
    np.testing.assert_allclose(solver(lambda v: 2 * v, np.float32([3.0]))[0], [1.5])
    assert solver(lambda v: v, np.zeros(0, np.float32))[0].shape == (0,)


def test_spaces_that_are_exhausted_early():
    """A unit matrix needs one vector of the Krylov space, whatever the restart."""
    _, b = system(np.float32)
    for method in ("batched", "incremental"):
        x, info = linalg.gmres(np.eye(6, dtype=np.float32), b, solve_method=method)
        np.testing.assert_allclose(x, b, rtol=1e-5)
        assert info == 0 and info.dtype == jnp.int32
        for bad in (np.nan, 0.0):
            _, info = linalg.gmres(np.full((6, 6), bad, np.float32), b, solve_method=method)
            assert info == -1


@pytest.mark.parametrize("change, error, text", [
    ({"A": np.ones((2, 3))}, ValueError, r"square matrix, but has shape: \(2, 3\)"),
    ({"A": [[1.0]]}, TypeError, "function or ndarray"),
    ({"A": lambda v: v[:2]}, ValueError, "shapes must match"),
    ({"A": lambda v: [v]}, TypeError, "structure must match"),
    ({"A": lambda v: v.astype(complex)}, TypeError, "dtypes must match"),
    ({"x0": np.ones(2, np.float32)}, ValueError, r"\[\(2,\)\] vs \[\(6,\)\]"),
    ({"x0": [np.ones(6, np.float32)]}, ValueError, "matching tree structure"),
    ({"x0": np.ones(6, np.int32)}, TypeError, "int32 vs float32"),
    ({"b": np.ones(6, np.int32)}, TypeError, "floating or complex dtype, got int32"),
    ({"b": [1.0, 1j], "A": lambda v: v}, TypeError, "all be real or all be complex"),
    ({"M": np.ones((2, 3))}, ValueError, "square matrix"),
])
def test_errors(change, error, text):
    a, b = system(np.float32)
    given = {"A": a, "b": b, **change}
    for solver in SOLVERS.values():
        with pytest.raises(error, match=text):
            solver(given.pop("A"), given.pop("b"), **given)
        given = {"A": a, "b": b, **change}


def test_errors_of_gmres():
    a, b = system(np.float32)
    with pytest.raises(ValueError, match="invalid solve_method"):
        linalg.gmres(a, b, solve_method="other")
    with pytest.raises(ValueError, match="restart must be at least 1"):
        linalg.gmres(a, b, restart=0)
