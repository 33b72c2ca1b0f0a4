"""Constants of multiply-adds on AVX2: the first few in registers, others operands in memory."""

import re

import kernel_harness as harness
import numpy as np
import pytest

from jitney.backend.host import target_of_level
from jitney.codegen.emitter import IN_REGISTERS, MOST_PLACES, Emitter
from jitney.codegen.math.forms import horner

COEFFICIENTS = [1.0, 0.5, 0.25, 3.0, -2.0, 0.125, 7.0, 1.5, 0.75]


def emitted(level, lanes, copies=2, times=1):
    e = Emitter(target_of_level(level), copies)
    from jitney.codegen.instructions import Value

    for number in range(times):
        names = tuple(f"%x{number}.{copy}" for copy in range(copies))
        horner(e, Value(names, "float", lanes), COEFFICIENTS)
    return e


def loads(e) -> list[str]:
    return [line for line in e.lines if re.search(r"= load <8 x float>", line)]


def test_each_copy_has_an_operand_of_its_own():
    e = emitted("x86-64-v3", 8)
    found = loads(e)
    assert len(found) == 2 * (len(COEFFICIENTS) - IN_REGISTERS)
    places = [line.split("ptr ")[1] for line in found]
    assert len(set(places)) == len(places)  # a load that two instructions use is none's operand


def test_places_are_few_however_often_a_constant_is_used():
    e = emitted("x86-64-v3", 8, times=20)
    assert len(e.definitions) == MOST_PLACES * (len(COEFFICIENTS) - IN_REGISTERS)


@pytest.mark.parametrize("level, lanes", [
    ("x86-64-v4", 16), ("x86-64", 4), ("x86-64-v3", 4), ("x86-64-v3", 1),
])  # fmt: skip
def test_others_keep_their_constants(level, lanes):
    assert not emitted(level, lanes).definitions


@pytest.mark.parametrize("name", list(harness.targets()))
@pytest.mark.parametrize("copies", [1, 2, 4])
def test_values(name, copies):
    x = np.linspace(-2, 2, 1003, dtype=np.float32)
    kernel = harness.compile_kernel(
        lambda e, v: e.fadd(horner(e, v, COEFFICIENTS), horner(e, e.fneg(v), COEFFICIENTS)),
        ("float", "float"), None, copies, harness.targets()[name],
    )  # fmt: skip
    expected = np.polyval(COEFFICIENTS[::-1], x.astype("f8"))
    expected += np.polyval(COEFFICIENTS[::-1], -x.astype("f8"))
    np.testing.assert_allclose(kernel(x), expected, 1e-5, 1e-4)
    assert not harness.undefined_symbols(kernel.object_code)
