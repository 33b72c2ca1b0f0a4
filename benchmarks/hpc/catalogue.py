"""What a benchmark program is, and the list of all of them by name.

In: the modules of families, which register classes. Out: `programs()`, and `compare` of results.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

FAMILIES = (
    "stencils",
    "particles",
    "linear_algebra",
    "dynamic_programming",
    "spectral",
    "graphs",
    "learning",
    "finance",
    "sequences",
    "iteration",
)
_programs: dict[str, "Program"] = {}


@dataclass(frozen=True)
class Program:
    """One program: how its arguments are made, and the three ways to run it."""

    name: str
    family: str
    text: str
    make: Callable
    array: Callable
    reference: Callable
    loops: Callable
    size: int  # what is timed
    small: int  # what tests run
    x64: bool  # whether its arrays have 64 bits
    rtol: float
    atol: float


def program(
    *, size: int, small: int, x64: bool = False, rtol: float | None = None, atol: float = 1e-6
):
    """Register a class whose functions `make`, `array`, `reference`, `loops` are a program."""

    def register(namespace: type) -> Program:
        family = namespace.__module__.rpartition(".")[2]
        name = _snake(namespace.__name__)
        parts = {k: getattr(namespace, k) for k in ("make", "array", "reference", "loops")}
        tolerance = rtol if rtol is not None else (1e-9 if x64 else 1e-4)
        made = Program(
            name, family, " ".join((namespace.__doc__ or "").split()), size=size, small=small,
            x64=x64, rtol=tolerance, atol=atol, **parts,
        )  # fmt: skip
        _programs[name] = made
        return made

    return register


def _snake(name: str) -> str:
    """`NasEp` is called nas_ep."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


def programs(keywords: str = "") -> list[Program]:
    """All programs whose `family.name` contains one of the keywords (separated by commas)."""
    for family in FAMILIES:
        importlib.import_module(f"{__package__}.{family}")
    wanted = keywords.split(",")
    return [p for p in _programs.values() if any(w in f"{p.family}.{p.name}" for w in wanted)]


def compare(made: Program, got, want) -> None:
    """Raise AssertionError unless results agree within the program's tolerance.

    Results are an array, a number, or a tuple of these.
    """
    got, want = (r if isinstance(r, (tuple, list)) else (r,) for r in (got, want))
    assert len(got) == len(want), f"{made.name}: {len(got)} results instead of {len(want)}"
    for a, b in zip(got, want, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, f"{made.name}: shape {a.shape} instead of {b.shape}"
        kind = f"{made.name}: {a.dtype} instead of {b.dtype}"
        assert np.issubdtype(a.dtype, np.integer) == np.issubdtype(b.dtype, np.integer), kind
        np.testing.assert_allclose(a, b, rtol=made.rtol, atol=made.atol, err_msg=made.name)
