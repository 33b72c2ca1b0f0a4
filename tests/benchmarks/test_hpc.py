"""The programs of benchmarks/hpc compute what their NumPy references say."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import jitney
from jitney import _native

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from hpc import catalogue, in_numpy, in_torch  # noqa: E402

PROGRAMS = catalogue.programs()
names = pytest.mark.parametrize("made", PROGRAMS, ids=lambda p: f"{p.family}.{p.name}")


@pytest.fixture(autouse=True)
def restored():
    yield
    _native.set_num_threads(0)
    jitney.config.update("jax_enable_x64", False)


def arguments(made, size=None):
    return made.make(np.random.default_rng(7), size or made.small)


def run(made, size=None) -> tuple[np.ndarray, ...]:
    """The result of the array program."""
    jitney.config.update("jax_enable_x64", made.x64)
    fun = jitney.jit(made.array(jitney))
    out = fun(*map(jitney.numpy.asarray, arguments(made, size)))
    return tuple(np.asarray(r) for r in (out if isinstance(out, (tuple, list)) else (out,)))


@names
def test_array_program_agrees_with_numpy_for_any_number_of_threads(made):
    _native.set_num_threads(1)
    one = run(made)
    catalogue.compare(made, one, made.reference(*arguments(made)))
    _native.set_num_threads(2)
    for a, b in zip(one, run(made), strict=True):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()


@names
@pytest.mark.slow
def test_full_size_is_the_same_for_any_number_of_threads(made):
    results = []
    for threads in (1, 2, 5):
        _native.set_num_threads(threads)
        jitney.clear_caches()
        results.append([r.tobytes() for r in run(made, made.size)])
    assert results[0] == results[1] == results[2]


@names
def test_loops_agree_with_numpy(made):
    """Numba's versions as plain Python."""
    plain = SimpleNamespace(njit=decorator, prange=range)
    with np.errstate(over="ignore"):
        got = made.loops(plain)(*arguments(made))
    catalogue.compare(made, got, made.reference(*arguments(made)))


@pytest.mark.parametrize("name", in_numpy.VERSIONS)
def test_numpy_as_it_is_timed_agrees_with_the_reference(name):
    (made,) = [p for p in PROGRAMS if p.name == name]
    with np.errstate(over="ignore"):
        got = in_numpy.version(made)(*arguments(made))
        catalogue.compare(made, got, made.reference(*arguments(made)))


def test_torch_versions_are_of_programs():
    assert len(in_torch.VERSIONS) >= 8
    assert set(in_torch.VERSIONS) <= {p.name for p in PROGRAMS}


def decorator(fun=None, **options):
    """Stands for numba.njit."""
    return fun if fun is not None else lambda f: f


def test_there_are_enough_programs_and_each_says_what_it_is():
    assert len(PROGRAMS) >= 30
    assert all(len(p.text) > 30 for p in PROGRAMS)
    assert {p.family for p in PROGRAMS} == set(catalogue.FAMILIES)
