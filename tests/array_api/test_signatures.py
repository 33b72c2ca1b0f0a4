"""Every name of the standard is there, and takes the standard's arguments."""

import inspect
import math

import pytest
from signatures import ATTRIBUTES, CONSTANTS, DTYPES, METHODS, OTHER_DEFAULTS, SIGNATURES

import jitney
import jitney.numpy as jnp

P = inspect.Parameter
VARIABLE = (P.VAR_POSITIONAL, P.VAR_KEYWORD)


def parsed(text):
    """The name, and the parameters of a line of the table."""
    name, _, rest = text.partition("(")
    scope: dict = {}
    exec(f"def function({rest}: pass", scope)
    return name, list(inspect.signature(scope["function"]).parameters.values())


def compare(name, wanted, function):
    signature = inspect.signature(function)
    have = list(signature.parameters.values())
    for position, want in enumerate(wanted):
        if want.kind == P.KEYWORD_ONLY:
            found = signature.parameters.get(want.name)
            assert found is not None, f"{name} lacks {want.name}"
            assert found.kind in (P.KEYWORD_ONLY, P.POSITIONAL_OR_KEYWORD)
        else:
            assert len(have) > position, f"{name} lacks {want.name}"
            found = have[position]
        if want.kind in VARIABLE:
            assert found.kind == want.kind
            continue
        if want.kind == P.POSITIONAL_OR_KEYWORD:
            assert (found.name, found.kind) == (want.name, want.kind), f"{name}: {found}"
        if want.kind == P.POSITIONAL_ONLY:
            assert found.kind in (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD), f"{name}: {found}"
        if want.default is not P.empty and f"{name}.{want.name}" not in OTHER_DEFAULTS:
            assert found.default == want.default, f"{name}: default of {found}"
    extra = [p for p in have[len(wanted):] if p.kind not in (P.KEYWORD_ONLY, *VARIABLE)]
    assert all(p.default is not P.empty for p in extra), f"{name} asks for more: {signature}"


@pytest.mark.parametrize("text", SIGNATURES)
def test_function(text):
    name, wanted = parsed(text)
    found = jnp
    for part in name.split("."):
        found = getattr(found, part)
    compare(name, wanted, found)


@pytest.mark.parametrize("text", METHODS)
@pytest.mark.parametrize("place", ["array", "tracer"])
def test_method(text, place):
    name, wanted = parsed(text)
    x = jnp.ones((2, 2))
    if place == "array":
        compare(name, wanted, getattr(x, name))
    elif name not in ("__dlpack__", "__dlpack_device__", "to_device"):
        jitney.make_jaxpr(lambda traced: getattr(traced, name) and traced)(x)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attribute(name):
    assert hasattr(jnp.ones((2, 2)), name)


def test_constants():
    assert jnp.newaxis is None
    assert (jnp.e, jnp.pi, jnp.inf) == (math.e, math.pi, math.inf) and math.isnan(jnp.nan)
    assert all(type(getattr(jnp, name)) is float for name in CONSTANTS if name != "newaxis")


@pytest.mark.parametrize("name", DTYPES)
def test_dtype(name):
    dtype = getattr(jnp, name)
    assert jnp.zeros(1, dtype=dtype).dtype == dtype
    assert dtype == jnp.zeros(1, dtype=dtype).dtype
    assert [n for n in DTYPES if dtype == getattr(jnp, n)] == [name]
    assert repr(jnp.zeros(1, dtype=dtype).dtype) and hash(jnp.zeros(1, dtype=dtype).dtype)
