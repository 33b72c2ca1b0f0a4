"""Values against NumPy: one table of expressions, read once with `xp = numpy`, once with ours.

Eager and under `jit`, over dtypes, shapes, empty arrays and NaN.
"""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

RNG = np.random.RandomState(7)


def sample(dtype, shape):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return RNG.rand(*shape) > 0.5
    if kind in "iu":
        return RNG.randint(0 if kind == "u" else -9, 10, shape).astype(dtype)
    if kind == "c":
        return np.asarray(RNG.randn(*shape) + 1j * RNG.randn(*shape)).astype(dtype)
    return np.asarray(RNG.randn(*shape)).astype(dtype)


X, Y = sample("float32", (3, 4)), sample("float32", (3, 4))
V, W = sample("float32", (4,)), sample("float32", (4,))
I, J = sample("int32", (3, 4)), sample("int32", (3, 4)) * 2 + 1
B, U = sample("bool", (3, 4)), sample("uint8", (3, 4))
C, D = sample("complex64", (3, 4)), sample("complex64", (3, 4))
T = sample("float32", (2, 3, 4))
E0, E2 = np.zeros((0,), "float32"), np.zeros((0, 3), "float32")
N = np.where(RNG.rand(3, 4) > 0.6, np.nan, X).astype("float32")
S = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5, -2.5, 100.0], "float32")
VALUES = dict(X=X, Y=Y, V=V, W=W, I=I, J=J, B=B, U=U, C=C, D=D, T=T, E0=E0, E2=E2, N=N, S=S)

UNARY = """abs arccos arcsin arcsinh arctan cbrt ceil conj cos cosh deg2rad exp exp2 expm1 floor
imag isfinite isinf isnan log1p logical_not negative positive rad2deg real reciprocal rint sign
signbit sin sinc sinh sqrt square tan tanh trunc nan_to_num isposinf isneginf i0""".split()
BINARY = """add subtract multiply divide floor_divide mod fmod maximum minimum fmax fmin arctan2
hypot copysign logaddexp logaddexp2 equal not_equal less less_equal greater greater_equal
logical_and logical_or logical_xor heaviside nextafter""".split()
INTEGER = "bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm".split()
REDUCTIONS = "sum prod max min mean var std all any ptp".split()
NAN_REDUCTIONS = "nansum nanprod nanmax nanmin nanmean nanvar nanstd nanmedian".split()

EXPRESSIONS = [
    *(f"xp.{f}({a})" for f in UNARY for a in "XVS"),
    *(f"xp.{f}({a})" for f in BINARY for a in ("X, Y", "X, V", "X[:, :1], V", "S, S[::-1]")),
    *(f"xp.{f}(I, {b})" for f in INTEGER for b in ("abs(J) % 5", "2")),
    *(f"xp.{f}({a})" for f in REDUCTIONS for a in
      ("X", "X, axis=0", "X, axis=-1, keepdims=True", "T, axis=(0, 2)")),
    *(f"xp.{f}({a})" for f in NAN_REDUCTIONS for a in ("N", "N, axis=0", "X, axis=1")),
    *(f"xp.{f}(E2, axis=0)" for f in ("sum", "prod", "all", "any")),
    *(f"xp.{f}(X{k})" for f in ("cumsum", "cumprod") for k in ("", ", axis=1")),
    *(f"xp.{f}(X{k})" for f in ("argmax", "argmin") for k in ("", ", axis=0")),
    *(f"xp.quantile({a}, {q})" for a in ("X", "N") for q in ("0.3", "xp.asarray([0.0, 0.9])")),
    "xp.median(X, axis=0)", "xp.percentile(X, 30.0, axis=1)", "xp.average(X, axis=1, weights=V)",
    "xp.sum(B)", "xp.sum(U) - xp.sum(U)", "xp.sum(X, where=B)", "xp.max(X, initial=3.0)",
    "xp.var(C)", "xp.count_nonzero(B, axis=0)", "xp.nancumsum(N, axis=1)",
    # shapes
    "xp.reshape(X, (4, 3))", "xp.reshape(T, (-1, 2), order='F')", "xp.ravel(X, order='F')",
    "xp.transpose(T, (1, 0, 2))", "xp.moveaxis(T, 0, -1)", "xp.swapaxes(T, 0, 2)",
    "xp.rollaxis(T, 2)", "xp.squeeze(T[:1])", "xp.expand_dims(X, (0, 2))",
    "xp.broadcast_to(V, (3, 4))", "xp.flip(X)", "xp.flip(T, (0, 2))", "xp.rot90(X)",
    "xp.rot90(X, 3)", "xp.roll(X, 2)", "xp.roll(X, (1, 2), axis=(0, 1))", "xp.tile(X, (2, 1, 2))",
    "xp.repeat(X, 2, axis=0)", "xp.resize(X, (2, 5))", "xp.atleast_3d(X)",
    "xp.concatenate([X, Y], axis=1)", "xp.stack([X, Y], axis=2)", "xp.hstack([V, W])",
    "xp.vstack([V, W])", "xp.dstack([X, Y])", "xp.column_stack([V, W])", "xp.append(X, V)",
    "xp.split(X, 2, axis=1)", "xp.array_split(V, 3)", "xp.block([[X, X], [Y, Y]])",
    "xp.insert(V, 1, 9.0)", "xp.insert(X, 1, 5.0, axis=1)", "xp.delete(X, 1, axis=0)",
    "xp.pad(X, 1)", "xp.pad(X, ((1, 2), (0, 1)), constant_values=3)",
    *(f"xp.pad(X, (3, 2), mode='{m}')" for m in
      ("edge", "reflect", "symmetric", "wrap", "linear_ramp", "mean", "median", "maximum")),
    # order and search
    "xp.sort(X)", "xp.sort(X, axis=0)", "xp.sort(N)", "xp.argsort(X)", "xp.lexsort((X, Y))",
    "xp.searchsorted(xp.sort(V), W)", "xp.searchsorted(xp.sort(V), W, side='right')",
    "xp.digitize(X, xp.asarray([-1.0, 0.0, 1.0]))", "xp.where(B, X, Y)", "xp.where(B, X, 0)",
    "xp.nonzero(B)", "xp.argwhere(B)", "xp.flatnonzero(B)", "xp.select([X > 1, X < 0], [X, 2 * X])",
    "xp.extract(B, X)", "xp.unique(I)", "xp.unique(I, axis=0)", "xp.isin(I, J)", "xp.union1d(I, J)",
    "xp.intersect1d(I, J)", "xp.setdiff1d(I, J)", "xp.setxor1d(I, J)", "xp.bincount(abs(J[0]))",
    "xp.histogram(X, bins=5)[1]", "xp.interp(X, xp.asarray([-1.0, 0.0, 2.0]), V[:3])",
    "xp.unravel_index(abs(I[0]), (4, 5))", "xp.take(X, xp.asarray([1, 3]), axis=1)",
    # products
    "xp.dot(X, V)", "xp.dot(T, Y.T)", "xp.matmul(T, Y.T)", "xp.vdot(C, D)", "xp.inner(X, Y)",
    "xp.outer(V, W)", "xp.tensordot(T, X, 2)", "xp.kron(X, V)", "xp.cross(X[:, :3], Y[:, :3])",
    "xp.trace(X, 1)", "xp.diagonal(T, 0, 1, 2)", "xp.einsum('ij,kj->ik', X, Y)",
    "xp.einsum('bij,bkj,k->bi', T, T, V[:3])", "xp.einsum('ii->i', X[:, :3])", "X @ Y.T",
    "xp.convolve(V, W)", "xp.convolve(V, W[:2], mode='same')", "xp.correlate(V, W, mode='full')",
    "xp.cov(X)", "xp.corrcoef(X)",
    # creation
    "xp.eye(3, 4, k=1)", "xp.tri(3, 4, 1)", "xp.tril(X, -1)", "xp.triu(T, 1)", "xp.diag(V, -1)",
    "xp.diagflat(V, 1)", "xp.linspace(0.0, 1.0, 7)", "xp.linspace(V, 2.0, 5, axis=-1)",
    "xp.logspace(0.0, 2.0, 5)", "xp.geomspace(1.0, 100.0, 5)", "xp.arange(0.0, 1.0, 0.1)",
    "xp.vander(V)", "xp.meshgrid(V, W, indexing='ij')", "xp.indices((2, 3))",
    "xp.full_like(X, 7)", "xp.hanning(6)", "xp.kaiser(6, 2.0)", "xp.bartlett(6)",
    # neighbours, polynomials, bits
    "xp.diff(X, axis=0)", "xp.ediff1d(X)", "xp.gradient(X)", "xp.trapezoid(X, axis=0)",
    "xp.unwrap(X * 5)", "xp.polyval(V, X)", "xp.polyadd(V, W[:2])", "xp.polyder(V)",
    "xp.polyint(V)", "xp.packbits(B, axis=1)", "xp.unpackbits(U, axis=1)", "xp.poly(V)",
    "xp.round(X, 2)", "xp.clip(X, -0.5, 0.5)", "xp.angle(C)", "xp.frexp(X)", "xp.modf(X)",
    # operators
    "X ** 2", "X ** -1", "abs(X) ** 0.5", "I ** 2", "2 ** abs(I)", "I // J", "I % J", "-X", "~I",
    "I & J", "I >> 1", "X < Y", "divmod(I, J)", "2.0 - X", "X @ V",
]

NOT_UNDER_JIT = {e for e in EXPRESSIONS if any(f"xp.{f}(" in e for f in (
    "nonzero", "argwhere", "flatnonzero", "extract", "unique", "union1d", "intersect1d",
    "setdiff1d", "setxor1d", "bincount"))}


def plain(x):
    if isinstance(x, (list, tuple)):
        return [plain(y) for y in x]
    return np.asarray(x)


def compare(found, wanted):
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted):
            compare(a, b)
        return
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=3e-5, atol=3e-6)


def missing_parts(expression):
    """Control flow may not be there yet in a partial build."""
    needs = {"while_loop": ("gcd", "lcm"), "fori_loop": ("searchsorted", "digitize", "histogram",
                                                          "interp"), "scan": ("polyval",)}
    return any(not hasattr(jitney.lax, k) and any(f"xp.{f}(" in expression for f in fs)
               for k, fs in needs.items())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_eager_and_jitted(expression):
    if missing_parts(expression):
        pytest.skip("control flow is not in this build")
    with np.errstate(all="ignore"):
        wanted = plain(eval(expression, {"xp": np, **VALUES}))
    ours = {k: jnp.asarray(v) for k, v in VALUES.items()}
    compare(plain(eval(expression, {"xp": jnp, **ours})), wanted)
    if expression in NOT_UNDER_JIT:
        return
    names = [k for k in VALUES if k in expression]
    function = jitney.jit(eval(f"lambda {', '.join(names)}: {expression}", {"xp": jnp}))
    compare(plain(function(*(ours[k] for k in names))), wanted)


DTYPES = ["bool", "int8", "uint8", "int16", "int32", "uint32", "float16", "float32", "complex64"]
SHAPES = [(), (1,), (5,), (0,), (3, 4), (2, 0, 3), (2, 3, 4)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_views_over_dtypes_and_shapes(dtype, shape):
    x = np.asarray(sample(dtype, shape)).astype(dtype)
    y = jnp.asarray(x)
    assert y.dtype == x.dtype and y.shape == x.shape
    for f in (lambda a: a.T, lambda a: a.ravel(), lambda a: a.reshape(-1),
              lambda a: a.astype("float32"), lambda a: a.real, lambda a: a.copy(),
              lambda a: a != 0, lambda a: a == a):
        np.testing.assert_array_equal(np.asarray(f(y)), f(x))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float16", "float32", "bool"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), ()])
def test_reductions_over_dtypes_and_axes(dtype, axis):
    x = sample(dtype, (3, 4))
    wide = x.astype("float64") if np.dtype(dtype).kind == "f" else x.astype("int64")
    for name in ("sum", "max", "min", "any", "all"):
        found = getattr(jnp, name)(jnp.asarray(x), axis=axis)
        wanted = getattr(np, name)(wide if name == "sum" else x, axis=axis)
        tolerance = 3e-3 if dtype == "float16" else 1e-5
        np.testing.assert_allclose(np.asarray(found, "float64"), np.asarray(wanted, "float64"),
                                   rtol=tolerance, atol=tolerance)


def test_linspace_is_exact_at_both_ends():
    x = np.asarray(jnp.linspace(-20.0, 20.0, 4097))
    assert x[0] == -20 and x[-1] == 20 and x[2048] == 0 and (np.diff(x) > 0).all()


def test_sizes_make_searches_traceable():
    mask = jnp.asarray(B)
    rows, columns = jitney.jit(lambda m: jnp.nonzero(m, size=9, fill_value=-1))(mask)
    r, c = np.nonzero(B)
    assert list(np.asarray(rows)[:len(r)]) == list(r) and (np.asarray(rows)[len(r):] == -1).all()
    assert list(np.asarray(columns)[:len(c)]) == list(c)
    values, counts = jitney.jit(lambda x: jnp.unique(x, size=12, fill_value=99,
                                                     return_counts=True))(jnp.asarray(I))
    wanted, number = np.unique(I, return_counts=True)
    assert list(np.asarray(values)[:len(wanted)]) == list(wanted)
    assert list(np.asarray(counts)[:len(number)]) == list(number)
