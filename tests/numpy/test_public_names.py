"""Names and signatures of the package, against those of JAX 0.10.2 (stored as data)."""

import inspect
import json
import pathlib

import pytest

import jitney.numpy as jnp

HERE = pathlib.Path(__file__).parent
NAMES = json.loads((HERE / "public_names.json").read_text())
SIGNATURES = json.loads((HERE / "signatures.json").read_text())
NEWER_ML_DTYPES = {"int1", "uint1"}
MARKS = {inspect.Parameter.POSITIONAL_ONLY: "/", inspect.Parameter.POSITIONAL_OR_KEYWORD: "",
         inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.KEYWORD_ONLY: "k",
         inspect.Parameter.VAR_KEYWORD: "**"}


def test_every_name_exists():
    assert [n for n in NAMES if n not in NEWER_ML_DTYPES and not hasattr(jnp, n)] == []


def described(function):
    parts = []
    for p in inspect.signature(function).parameters.values():
        default = repr(p.default)
        default = "..." if default.startswith("<function") else default
        parts.append(f"{MARKS[p.kind]}{p.name}"
                     + ("" if p.default is p.empty else f"={default}"))
    return " ".join(parts)


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_signature(name):
    if name in NEWER_ML_DTYPES:
        pytest.skip("needs a newer ml_dtypes")
    assert described(getattr(jnp, name)) == SIGNATURES[name]


@pytest.mark.parametrize("name", sorted(set(SIGNATURES) - NEWER_ML_DTYPES - {"finfo", "iinfo"}))
def test_documented(name):
    assert getattr(jnp, name).__doc__
