"""Result dtypes, shapes and weak types of many calls, against those of JAX 0.10.2 (as data).

An entry "float32[3,4]*" is a weakly typed result.
"""

import json
import pathlib

import numpy as np
import pytest

import jitney.numpy as jnp

CASES = json.loads((pathlib.Path(__file__).parent / "result_types.json").read_text())
RNG = np.random.RandomState(0)
F = RNG.randn(3, 4).astype("float32")
VALUES = {
    "jnp": jnp, "np": np, "F": F, "f": jnp.asarray(F), "g": jnp.asarray(F[::-1].copy()),
    "w": jnp.asarray(F[0]), "v": jnp.arange(4.0), "i": jnp.arange(4),
    "I": jnp.asarray(RNG.randint(-5, 9, (3, 4)).astype("int32")),
    "J": jnp.asarray(RNG.randint(1, 5, (3, 4)).astype("int32")),
    "u": jnp.asarray(RNG.randint(0, 200, (3, 4)).astype("uint8")),
    "i8": jnp.asarray(RNG.randint(-100, 100, (3, 4)).astype("int8")),
    "b": jnp.asarray(F > 0), "b2": jnp.asarray(F > 0.5),
    "c": jnp.asarray((F + 1j * F).astype("complex64")),
    "d": jnp.asarray((F - 2j * F).astype("complex64")),
    "hf": jnp.asarray(F.astype("float16")), "bf": jnp.asarray(F, dtype="bfloat16"),
    "sc": jnp.float32(1.5), "wk": jnp.asarray(2.5),
}


def described(x):
    if isinstance(x, (list, tuple)):
        return [described(y) for y in x]
    shape = ",".join(map(str, x.shape))
    return f"{x.dtype}[{shape}]" + ("*" if x.weak_type else "")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", list(CASES))
def test_type(expression):
    assert described(eval(expression, VALUES)) == CASES[expression]
