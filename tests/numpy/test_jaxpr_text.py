"""The jaxpr text of common functions, against texts printed by JAX 0.10.2."""

import pathlib
import re

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

TEXT = (pathlib.Path(__file__).parent / "jaxpr_goldens.txt").read_text()
CASES = re.findall(r"### (.*?) \| ?(.*?)\n(.*?)\n(?=### |\Z)", TEXT, re.DOTALL)


def argument(spec):
    dtype, shape = re.fullmatch(r"(\w+)\[(.*)\]", spec).groups()
    return jnp.ones(tuple(int(n) for n in shape.split(",") if n), dtype)


@pytest.mark.parametrize(("expression", "specs", "text"), CASES, ids=[c[0] for c in CASES])
def test_text(expression, specs, text):
    arguments = [argument(s) for s in specs.split()]
    names = ", ".join("xyz"[:len(arguments)])
    function = eval(f"lambda {names}: {expression}", {"jnp": jnp, "np": np})
    found = str(jitney.make_jaxpr(function)(*arguments))
    assert _joined(found) == _joined(text)


def _joined(text):
    """Without line breaks, which are the printer's business; NumPy integers as plain ones."""
    text = re.sub(r"np\.int64\((-?\d+)\)", r"\1", text)
    return re.sub(r"\[ | (?=\])", lambda m: m.group().strip(), re.sub(r"\s+", " ", text)).strip()
