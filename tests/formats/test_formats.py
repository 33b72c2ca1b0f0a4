"""8-bit floats and 2- and 4-bit integers: machine code against references and ml_dtypes."""

import ml_dtypes
import numpy as np
import pytest
from format_programs import (
    BINARY,
    FLOATS,
    INTS,
    OTHERS,
    PRODUCTS,
    UNARY,
    dtype_of,
    everything,
    matrix,
    wide_numbers,
)

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.base import debug
from jitney.core.avals import to_array
from jitney.core.reference_program import compile_reference

COMPILED = [n for n in FLOATS if n not in ("float8_e8m0fnu", "float4_e2m1fn")] + INTS
ALL = FLOATS + INTS
ONLY_INTS = ("and", "shift")


def by_reference(function, *arrays):
    closed = jitney.make_jaxpr(function)(*arrays)
    found = compile_reference(closed).program.execute([to_array(x) for x in arrays])
    return np.asarray(found[0])


def same(found, wanted, what="", tolerance=0.0):
    """The same values, signs of zeros and NaN."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), what
    a, b = (x.astype(np.float64) for x in (found, wanted))
    np.testing.assert_allclose(a, b, tolerance, 0, err_msg=what)
    np.testing.assert_array_equal(np.signbit(a[b == 0]), np.signbit(b[b == 0]), what)


# --- machine code ------------------------------------------------------------------------------
def programs(name):
    """(what, function, arrays) of everything that is tried."""
    x, y, z = matrix(name, 3, 4), matrix(name, 3, 4, seed=1), matrix(name, 4, 5, seed=2)
    left, right = (v.ravel() for v in np.meshgrid(everything(name), everything(name)))
    for what, f in UNARY.items():
        yield what, lambda x, f=f: f(jnp, x), [x]
        if what in ("neg", "abs", "exp", "sqrt", "sin", "floor", "sign", "square", "isnan"):
            yield f"{what} of all", lambda x, f=f: f(jnp, x), [everything(name)]
    for what, f in BINARY.items():
        if name in FLOATS and what in ONLY_INTS:
            continue
        yield what, lambda x, y, f=f: f(jnp, x, y), [x, y]
        if what in ("add", "sub", "mul", "div", "less", "maximum", "equal"):
            yield f"{what} of all", lambda x, y, f=f: f(jnp, x, y), [left, right]
    for what, f in PRODUCTS.items():
        yield what, lambda x, y, f=f: f(jnp, lax, x, y), [x, z]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COMPILED)
def test_machine_code_is_the_reference(name):
    for what, function, arrays in programs(name):
        wide = np.asarray(jitney.jit(function)(*arrays))
        tolerance = 3e-7 if wide.dtype == np.float32 else 0  # exp of an integer
        same(wide, by_reference(function, *arrays), f"{what} of {name}", tolerance)


@pytest.mark.parametrize("name", COMPILED)
def test_arithmetic_and_casts_are_machine_code(name):
    """Not one step of NumPy's."""
    x = matrix(name, 4, 4)

    def function(x, y):
        product = lax.dot(x, x.T, preferred_element_type=jnp.float32)
        return (x + x * 2 - x).reshape(-1)[::-1], product, y.astype(x.dtype), jnp.sort(x)

    count = lambda: [debug.counts().get(n, 0) for n in ("reference_steps", "reference_fallbacks")]
    before = count()
    jitney.jit(function)(x, np.ones(5, np.float32))
    assert count() == before


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COMPILED)
def test_casts_are_those_of_ml_dtypes(name):
    dtype = dtype_of(name)
    cast = jitney.jit(lambda x: x.astype(dtype))
    if name in FLOATS:
        for source in ("float32", "float16", "bfloat16"):
            x = wide_numbers(name).astype(dtype_of(source))
            same(cast(x), x.astype(dtype), f"{source} -> {name}")
    for target in OTHERS:
        x = everything(name)
        found = jitney.jit(lambda x, t=target: x.astype(dtype_of(t)))(x)
        if target in ("int32", "int8", "uint8") and name in FLOATS:  # these saturate
            info = np.iinfo(target)
            wanted = np.trunc(np.nan_to_num(np.clip(x.astype(np.float64), info.min, info.max)))
        else:
            wanted = x.astype(dtype_of(target))
        same(found, wanted.astype(dtype_of(target)), f"{name} -> {target}")


# --- meaning -----------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
def test_arithmetic_is_that_of_ml_dtypes(name):
    x, y = (v.ravel() for v in np.meshgrid(everything(name), everything(name)))
    with np.errstate(all="ignore"):
        for what in ("add", "sub", "mul", "less", "equal", "greater_equal"):
            same(jitney.jit(lambda x, y, f=BINARY[what]: f(jnp, x, y))(x, y),
                 BINARY[what](np, x, y), f"{what} of {name}")  # fmt: skip


@pytest.mark.parametrize("name", FLOATS[:7])
def test_contractions_accumulate_in_float32(name):
    x, y = matrix(name, 9, 70), matrix(name, 70, 8, seed=1)
    wanted = x.astype(np.float32) @ y.astype(np.float32)
    same(jnp.matmul(x, y, preferred_element_type=np.float32), wanted, tolerance=1e-6)
    same(jitney.jit(jnp.matmul)(x, y), wanted.astype(dtype_of(name)))
    short = lax.dot(x[:, :3], y[:3], preferred_element_type=np.float32)
    same(short, x[:, :3].astype(np.float32) @ y[:3].astype(np.float32), tolerance=1e-6)


@pytest.mark.parametrize("name", INTS)
def test_contractions_of_integers(name):
    x, y = matrix(name, 9, 70), matrix(name, 70, 8, seed=1)
    wanted = x.astype(np.int32) @ y.astype(np.int32)
    same(jnp.matmul(x, y, preferred_element_type=np.int32), wanted)
    same(jnp.matmul(x, y), wanted.astype(dtype_of(name)))


@pytest.mark.parametrize("name", ALL)
def test_storage(name):
    """Making, reading, empty arrays, scalars, updates, loops, batches, conversion to NumPy."""
    dtype, values = dtype_of(name), everything(name)
    x = jnp.asarray(values)
    assert x.dtype == dtype and x.nbytes == values.size
    assert np.asarray(x).tobytes() == values.tobytes()
    assert np.asarray(jitney.jit(lambda v: v)(x)).tobytes() == values.tobytes()
    assert jnp.zeros((0, 3), dtype).astype("float32").shape == (0, 3)
    made = jnp.array([1, 1, 0 if "e8m0" not in name else 1], dtype)
    assert made.dtype == dtype and float(made[1]) == 1
    one = np.asarray(1).astype(dtype)
    assert float(jitney.jit(lambda v: v.at[0].set(one))(x)[0]) == 1
    same(jitney.jit(lambda v: lax.scan(lambda c, r: (c, r), one, v)[1])(x), values)
    loop = lambda v: lax.fori_loop(0, 3, lambda i, c: jnp.where(i > 5, c, v), v)
    same(jitney.jit(loop)(x), values)
    same(jitney.vmap(lambda v: jnp.maximum(v, one))(x), jnp.maximum(x, one))
    same(jnp.take(x, np.array([1, 0])), values[[1, 0]])


@pytest.mark.parametrize("name", FLOATS[:7])
def test_derivatives(name):
    dtype = dtype_of(name)
    x = matrix(name, 5).astype(np.float32)

    def loss(v):
        return (v.astype(dtype).astype(jnp.float32) ** 2).sum()

    slope = jitney.jit(jitney.grad(loss))(x)
    same(slope, (2 * x.astype(dtype).astype(np.float32)).astype(dtype).astype(np.float32))


def test_formats_are_not_mixed_implicitly():
    a, b = jnp.ones(2, "float8_e4m3fn"), jnp.ones(2, "float8_e5m2")
    with pytest.raises(ValueError, match="8-bit floats are never promoted"):
        a + b
    assert (a * 2.0).dtype == ml_dtypes.float8_e4m3fn
