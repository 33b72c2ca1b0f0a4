"""Replayed calls write what running the function writes, for all functions, types and shapes."""

import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.numpy import operators, replay, ufunc_class, ufuncs

FUNCTIONS = {
    f"{place.__name__.rpartition('.')[2]}.{name}": value
    for place, table in (
        (ufuncs, vars(ufuncs)), (ufunc_class, vars(ufunc_class)),
        (operators, {**operators.BINARY, **operators.UNARY}))
    for name, value in table.items()
    if isinstance(value, replay.ElementwiseFunction) and value._recordings is not None
}  # fmt: skip
SHAPES = [((3,), (3,)), ((), ()), ((3,), ()), ((4, 3), (4, 1)), ((4, 3), (1, 3)), ((4, 1), (1, 3)),
          ((4, 3), (3,)), ((0, 3), (1, 3)), ((2, 3), (2, 3))]  # fmt: skip
DTYPES = ["float32", "int32", "bool", "bfloat16", "uint8", "complex64"]
SCALARS = [2, -1, True, 2.5, float("nan"), -0.0, 1j, np.float32(3.0), np.int8(3), np.uint32(7)]


def _arity(function):
    try:
        function(jnp.ones(2, bool), jnp.ones(2, bool))
    except TypeError as error:
        return 2 if "dtype" in str(error) else 1
    return 2


def _text(function, args):
    try:
        return str(jax.make_jaxpr(lambda *xs: function(*xs))(*args))
    except (TypeError, ValueError, OverflowError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def _fill(shape, dtype):
    return jax.ShapeDtypeStruct(shape, jnp.dtype(dtype))


@pytest.fixture
def both(monkeypatch):
    """Compares a fresh recording, a replay of it, and the function itself."""

    def compare(function, call, avals):
        function._recordings.clear()
        first, second = _text(call, avals), _text(call, avals)
        monkeypatch.setattr(function, "_recordings", None)
        plain = _text(call, avals)
        monkeypatch.undo()
        assert first == plain
        assert second == plain

    return compare


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays(name, both):
    function = FUNCTIONS[name]
    if _arity(function) == 1:
        for shape, dtype in itertools.product([(3,), (), (2, 0)], DTYPES):
            both(function, function, [_fill(shape, dtype)])
        return
    for (a, b), dtype in itertools.product(SHAPES, DTYPES):
        both(function, function, [_fill(a, dtype), _fill(b, dtype)])
    for a, b in itertools.permutations(DTYPES, 2):
        both(function, function, [_fill((3,), a), _fill((3,), b)])


@pytest.mark.parametrize("name", [n for n, f in FUNCTIONS.items() if _arity(f) == 2])
def test_scalars(name, both):
    function = FUNCTIONS[name]
    for dtype, scalar, shape in itertools.product(DTYPES, SCALARS, [(3,), ()]):
        both(function, lambda x, s=scalar: function(x, s), [_fill(shape, dtype)])
        both(function, lambda x, s=scalar: function(s, x), [_fill(shape, dtype)])


def test_one_variable_twice_says_nothing_of_two():
    jnp.add._recordings.clear()
    x = _fill((3,), "float32")
    for _ in range(2):
        assert str(jax.make_jaxpr(lambda x: jnp.add(x, x))(x)).count("add a a") == 1
        assert str(jax.make_jaxpr(lambda x, y: jnp.add(x, y))(x, x)).count("add a b") == 1
        assert str(jax.make_jaxpr(lambda x, y: jnp.add(y, x))(x, x)).count("add b a") == 1


def test_a_scalar_is_not_part_of_a_recording():
    text = str(jax.make_jaxpr(lambda x: [x * 2.0, x * 3.0, 4 * x])(_fill((3,), "float32")))
    assert [value in text for value in ("2.0:f32[]", "3.0:f32[]", "4.0:f32[]")] == [True] * 3


def test_replays_run_no_function(monkeypatch):
    x = _fill((3,), "float32")
    jax.make_jaxpr(jnp.sin)(x)
    monkeypatch.setitem(jnp.sin.__dict__, "__wrapped__", None)
    assert "sin" in str(jax.make_jaxpr(lambda x: jnp.sin(x))(x))


def test_lines_of_replayed_equations_are_the_users():
    def f(x):
        return jnp.sin(jnp.sin(x))

    jaxpr = jax.make_jaxpr(f)(_fill((5,), "float32")).jaxpr
    assert all("test_replay.py" in eqn.source_summary() for eqn in jaxpr.eqns)
