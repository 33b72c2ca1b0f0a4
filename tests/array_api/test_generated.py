"""Arrays made by hypothesis with its strategies for the standard: extremes of types and shapes."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import array_api
from test_types import promoted

import jitney
import jitney.numpy as jnp

with jitney.enable_x64(True):
    xps = array_api.make_strategies_namespace(jnp)
    FLOATS, REALS, ALL = xps.floating_dtypes(), xps.real_dtypes(), xps.scalar_dtypes()
    COMPLEX, NUMBERS = xps.complex_dtypes(), xps.numeric_dtypes()

some = settings(max_examples=20, deadline=None, derandomize=True,
                suppress_health_check=list(HealthCheck))  # fmt: skip
SHAPES = xps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def arrays(dtypes, shapes=SHAPES, **options):
    return xps.arrays(dtypes, shapes, **options)


def agree(found, wanted, rtol):
    """Of one type and shape, and near each other where both are finite."""
    found = np.asarray(found)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, wanted)
        return
    both = np.isfinite(found) & np.isfinite(wanted)
    with np.errstate(all="ignore"):
        size = np.abs(wanted)[both]
        bound = rtol * size + 4 * np.finfo(wanted.dtype).tiny
        assert (np.abs(found[both] - wanted[both]) <= bound).all()


UNARY = """acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 reciprocal sin
sinh sqrt tan tanh""".split()
ANY_NUMBER = "abs conj negative positive real round sign square".split()
REAL_ONLY = "ceil floor trunc signbit".split()
OLD = {n: "arc" + n[1:] for n in UNARY if n[0] == "a" and n != "abs"}


def reference(name, x):
    with np.errstate(all="ignore"):
        if name == "sign" and x.dtype.kind == "c":
            size = np.abs(x)
            return np.where(size == 0, x * 0, x / np.where(size == 0, 1, size)).astype(x.dtype)
        return getattr(np, OLD.get(name, name))(x)


@pytest.mark.parametrize("name", UNARY + ANY_NUMBER + REAL_ONLY)
def test_unary(name):
    kinds = FLOATS | COMPLEX if name in UNARY else NUMBERS if name in ANY_NUMBER else REALS
    kinds = FLOATS if name == "signbit" else kinds

    @some
    @given(arrays(kinds))
    def check(x):
        plain = np.asarray(x)
        wide = plain.dtype in (np.float64, np.complex128)
        larger = plain.astype(plain.dtype if wide or name in ANY_NUMBER + REAL_ONLY else
                              {"f": np.float64, "c": np.complex128}[plain.dtype.kind])
        with np.errstate(all="ignore"):
            wanted = reference(name, larger)
            if larger.dtype != plain.dtype:
                wanted = wanted.astype(plain.dtype)
        found = getattr(jnp, name)(x)
        # complex log1p and expm1 of NumPy have no more digits than log(1 + x) has
        loose = name in ("log1p", "expm1") and plain.dtype.kind == "c"
        if not loose:
            agree(found, wanted, 1e-11 if wide else 1e-4)

    check()


BINARY = {"add": NUMBERS, "subtract": NUMBERS, "multiply": NUMBERS, "divide": FLOATS | COMPLEX,
          "maximum": REALS, "minimum": REALS, "equal": ALL, "less": REALS, "copysign": FLOATS,
          "hypot": FLOATS, "atan2": FLOATS, "logaddexp": FLOATS, "nextafter": FLOATS,
          "greater_equal": REALS, "not_equal": ALL}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    @some
    @given(st.data(), xps.mutually_broadcastable_shapes(2, max_dims=3, max_side=4))
    def check(data, shapes):
        x = data.draw(arrays(BINARY[name], shapes.input_shapes[0]))
        y = data.draw(arrays(BINARY[name], shapes.input_shapes[1]))
        assume(promoted(x.dtype.name, y.dtype.name))
        if name == "nextafter":
            assume(x.dtype == y.dtype)
        with np.errstate(all="ignore"):
            plain = getattr(np, {"atan2": "arctan2"}.get(name, name))
            wanted = plain(np.asarray(x), np.asarray(y))
        found = getattr(jnp, name)(x, y)
        agree(found, wanted, 1e-11 if wanted.dtype in (np.float64, np.complex128) else 1e-5)

    check()


@some
@given(st.data(), arrays(ALL, xps.array_shapes(min_dims=1, min_side=0)))
def test_indices(data, x):
    key = data.draw(xps.indices(shape=x.shape, allow_newaxis=True))
    np.testing.assert_array_equal(np.asarray(x[key]), np.asarray(x)[key])


@some
@given(st.data(), arrays(ALL))
def test_masks(data, x):
    mask = data.draw(arrays(jnp.bool, st.sampled_from([x.shape[:n] for n in range(x.ndim + 1)])))
    np.testing.assert_array_equal(np.asarray(x[mask]), np.asarray(x)[np.asarray(mask)])


@pytest.mark.parametrize("name", "max min argmax argmin sum prod any all count_nonzero".split())
def test_reductions(name):
    @some
    @given(arrays(REALS, xps.array_shapes(min_side=1, max_side=4)), st.data())
    def check(x, data):
        axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
        keepdims = data.draw(st.booleans())
        plain = np.asarray(x)
        with np.errstate(all="ignore"):
            wanted = np.asarray(getattr(np, name)(plain, axis=axis, keepdims=keepdims))
        found = np.asarray(getattr(jnp, name)(x, axis=axis, keepdims=keepdims))
        if plain.dtype.kind == "f" and name in ("sum", "prod"):
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        else:
            np.testing.assert_array_equal(found, wanted, strict=True)

    check()


@some
@given(arrays(REALS, xps.array_shapes(max_dims=2, min_side=1)), st.booleans(), st.booleans())
def test_sorting(x, descending, stable):
    assume(not np.isnan(np.asarray(x)).any())
    wanted = np.sort(np.asarray(x), axis=-1)
    wanted = wanted[..., ::-1] if descending else wanted
    found = jnp.sort(x, descending=descending, stable=stable)
    np.testing.assert_array_equal(found, wanted, strict=True)
    places = jnp.argsort(x, descending=descending, stable=stable)
    np.testing.assert_array_equal(jnp.take_along_axis(x, places), wanted, strict=True)


@some
@given(arrays(ALL))
def test_unique(x):
    plain = np.asarray(x)
    found = jnp.unique_all(x)
    values = np.asarray(found.values)
    assert values.dtype == plain.dtype and found.inverse_indices.shape == x.shape
    assert int(found.counts.sum()) == x.size and len(values) == len(found.indices)
    np.testing.assert_array_equal(values[np.asarray(found.inverse_indices)], plain)
    np.testing.assert_array_equal(plain.ravel()[np.asarray(found.indices)], values)
    numbers = ~np.isnan(values)
    assert len(np.unique(values[numbers])) == numbers.sum()
    assert (np.asarray(found.counts)[~numbers] == 1).all()
    np.testing.assert_array_equal(jnp.unique_counts(x).counts, found.counts)
    np.testing.assert_array_equal(jnp.unique_inverse(x).values, values)
    np.testing.assert_array_equal(jnp.unique_values(x), values)


@pytest.mark.parametrize("kinds", [xps.boolean_dtypes(), REALS, FLOATS, COMPLEX])
def test_dlpack(kinds):
    @some
    @given(arrays(kinds, xps.array_shapes(max_side=3)), st.none() | st.booleans(),
           st.sampled_from([(0, 0), (1, 0), (2, 0)]))  # fmt: skip
    def check(x, copy, version):
        x.__dlpack__(copy=copy, max_version=version, dl_device=(1, 0))
        np.testing.assert_array_equal(jnp.from_dlpack(x, copy=copy), x, strict=True)

    check()
