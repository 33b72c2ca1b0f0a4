"""Reductions along axes of joined or padded arrays: no joined array is made, values are NumPy's."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

RNG = np.random.default_rng(0)
X = RNG.standard_normal((9, 12)).astype("float32")
Y = RNG.standard_normal((9, 12)).astype("float32")
W = RNG.standard_normal(9).astype("float32")


def windows(np_, x, axis):
    return np_.stack([x[i : i + 7, j : j + 10] for i in range(3) for j in range(3)], axis)


FUNS = {
    "stack": lambda n, x, y, w: windows(n, x, 0).max(0),
    "last": lambda n, x, y, w: windows(n, x, -1).sum(-1),
    "elementwise": lambda n, x, y, w: windows(n, n.abs(x), 1).std(1),
    "weights": lambda n, x, y, w: windows(n, x, -1) @ w,
    "weights first": lambda n, x, y, w: n.tensordot(w, windows(n, x, 0), 1),
    "turned": lambda n, x, y, w: n.einsum("kij,k->ij", windows(n, x, 0), w),
    "spread": lambda n, x, y, w: (windows(n, x, 0) * w[:, None, None]).min(0),
    "reshaped": lambda n, x, y, w: n.stack([x, y]).reshape(2, 108).sum(0),
    "reshaped apart": lambda n, x, y, w: n.stack([x, y]).reshape(4, 54).sum(0),
    "flat": lambda n, x, y, w: n.concatenate([x.ravel(), w]).sum(),
    "parts alike": lambda n, x, y, w: n.concatenate([x, y]).max(0),
    "parts of their own": lambda n, x, y, w: n.concatenate([x, y[:4], x[:2]]).mean(0),
    "products": lambda n, x, y, w: n.concatenate([x, y[:4]]).prod(0),
    "rows kept": lambda n, x, y, w: n.concatenate([x, y]).sum(1),
    "both axes": lambda n, x, y, w: n.concatenate([
        n.concatenate([x, y], 1), n.ones((2, 24))]).sum(),
    "two together": lambda n, x, y, w: (n.stack([x, y]) * n.stack([y, x + 1])).sum(0),
    "cut otherwise": lambda n, x, y, w: (
        n.concatenate([x, y[:3]]) * n.concatenate([y[:3], x])).sum(0),
    "compared": lambda n, x, y, w: (n.stack([x, y]) > n.stack([y, x])).any(0),
    "counted": lambda n, x, y, w: (n.concatenate([x, y]) > 0).sum(),
    "numbers": lambda n, x, y, w: n.stack([w[0], w[1], w[2]]).sum(),
    "norm": lambda n, x, y, w: n.linalg.norm(n.stack([w[0], 2 * w[1], w[2]])),
    "border": lambda n, x, y, w: (n.pad(x, 1, mode="edge") ** 2).sum(),
    "mirrored": lambda n, x, y, w: n.pad(x, ((2, 1), (0, 3)), mode="reflect").max(1),
    "zeros": lambda n, x, y, w: n.exp(n.pad(x, ((0, 2), (3, 0)))).sum(0),
    "zeros at an end": lambda n, x, y, w: n.pad(x, ((0, 0), (0, 5))).sum(1),
    "a number around": lambda n, x, y, w: n.minimum(
        n.pad(x, 2, constant_values=7.0), 5.0).max(),
    "nothing in between": lambda n, x, y, w: n.pad(x[:0], ((2, 1), (0, 0))).sum(0),
    "smallest": lambda n, x, y, w: n.nanmin(n.stack([x, y, x * y]), 0),
    "equal numbers": lambda n, x, y, w: n.full((6, 5), 2.5).sum(0) + n.full((5, 3), w[0]).max(),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint32"])
@pytest.mark.parametrize("name", FUNS)
def test_values(name, dtype):
    x, y, w = (v if dtype == "float32" else np.rint(2 * v) for v in (X, Y, W))
    x, y, w = ((np.abs(v) if dtype[0] == "u" else v).astype(dtype) for v in (x, y, w))
    if dtype[0] in "iu" and name in ("zeros", "elementwise", "norm", "products", "smallest"):
        pytest.skip("of floats")
    found = jax.jit(lambda *a: FUNS[name](jnp, *a))(x, y, w)
    wide = [v.astype("float64") if dtype[0] == "f" else v.astype("int64") for v in (x, y, w)]
    want = np.asarray(FUNS[name](np, *wide))
    if dtype[0] in "iu" and found.dtype.kind in "iu":  # modulo 2^32, or what eight bits hold
        want = want.astype(found.dtype)
    tolerance = 2e-3 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", FUNS)
def test_gradients(name):
    fun = lambda *a: (FUNS[name](jnp, *a) * 1.0).sum()
    if name in ("numbers", "compared", "counted"):
        pytest.skip("one number, or none that could differ")
    found = jax.jit(jax.grad(fun))(X, Y, W)
    with jax.disable_jit():
        want = jax.grad(fun)(jnp.asarray(X), jnp.asarray(Y), jnp.asarray(W))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["stack", "last", "elementwise", "weights", "turned", "spread",
                                  "two together", "compared", "border"])  # fmt: skip
def test_nothing_is_joined(name):
    x = RNG.standard_normal((200, 300)).astype("float32")
    if name in ("stack", "last", "elementwise", "weights", "turned", "spread"):
        cut = lambda n, x, axis: n.stack([x[i:190 + i, j:290 + j] for i in range(3)
                                          for j in range(3)], axis)  # fmt: skip
        globals_ = dict(FUNS[name].__globals__, windows=cut)
        fun = type(FUNS[name])(FUNS[name].__code__, globals_)
    else:
        fun = FUNS[name]
    text = jax.explain(lambda *a: fun(jnp, *a), x, x + 1, W, rounds=1).as_text("graph")
    assert "concat" not in text, text


def test_nan_and_signs_pass():
    x = np.array([[np.nan, -0.0, 1.0], [1.0, -0.0, np.inf]], "float32")
    stack = lambda n, x: n.stack([x[0], x[1], x[1]])
    for name in ("max", "min", "sum", "prod"):
        found = jax.jit(lambda x, name=name: getattr(stack(jnp, x), name)(0))(x)
        np.testing.assert_array_equal(found, getattr(stack(np, x), name)(axis=0))


def test_sums_of_many_parts_stay_one_reduction():
    parts = [X + i for i in range(17)]
    text = jax.explain(lambda *p: jnp.stack(p).sum(0), *parts, rounds=1).as_text("graph")
    assert "reduce['sum'" in text, text


def test_what_others_need_stays_joined():
    """Two reductions of one joined array, one of them of what also something else needs."""
    x, y = np.ones((300, 40), "float32"), np.ones((200, 40), "float32")

    def fun(x, y):
        whole = jnp.tanh(jnp.concatenate([x, y]))
        return whole, whole.sum(0), jnp.exp(whole).max(0)

    text = jax.explain(fun, x, y, rounds=1).as_text("graph")
    assert text.count("concat") == 1 and text.count("reduce[") == 2, text


def test_padded_work_is_not_made_again():
    x = np.ones((1, 3000), "float32")

    def fun(x):
        row = jnp.pad(jnp.sin(jnp.exp(x)), ((0, 1), (0, 0)))
        return row * 2, row.sum(0)

    text = jax.explain(fun, x, rounds=1).as_text("graph")
    assert "reduce[" in text, text
