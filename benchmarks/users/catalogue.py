"""What a user's program is, and the list of all of them by subject.

In: the modules of subjects, which register functions. Out: `programs()`, `library(name)`,
`Program.build`, which makes a program for jitney or for JAX, and `compare` of their results.
"""

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from .shared import Data

SUBJECTS = (
    "dense",
    "convolutions",
    "vision",
    "attention",
    "language_models",
    "recurrent",
    "generative",
    "graphs_and_tables",
    "classical",
    "sampling",
    "statistical_models",
    "reinforcement",
    "training",
    "derivatives",
    "differential_equations",
    "partial_differential_equations",
    "physics",
    "signals",
    "images",
    "optimisation",
    "finance",
    "graphics",
    "linear_algebra",
    "algorithms",
)
ATOL = 1e-6  # of results that would be zero but for rounding
_programs: dict[str, "Program"] = {}


@dataclass(frozen=True)
class Library:
    """The parts of jitney or of JAX by the names that programs call them."""

    jax: ModuleType

    def module(self, name: str) -> ModuleType:
        return importlib.import_module(f"{self.jax.__name__}.{name}")

    @property
    def jnp(self) -> ModuleType:
        return self.module("numpy")

    @property
    def lax(self) -> ModuleType:
        return self.jax.lax

    @property
    def nn(self) -> ModuleType:
        return self.module("nn")

    @property
    def random(self) -> ModuleType:
        return self.jax.random

    @property
    def ops(self) -> ModuleType:
        return self.module("ops")

    @property
    def special(self) -> ModuleType:
        return self.module("scipy.special")

    @property
    def linalg(self) -> ModuleType:
        return self.module("scipy.linalg")

    @property
    def tree_map(self) -> Callable:
        return self.jax.tree_util.tree_map

    @property
    def tree_leaves(self) -> Callable:
        return self.jax.tree_util.tree_leaves

    @property
    def ravel_pytree(self) -> Callable:
        return self.module("flatten_util").ravel_pytree


# of what programs take from `jax.scipy`
SCIPY = ("linalg", "ndimage", "signal", "sparse.linalg", "special", "stats")


@functools.cache
def library(name: str) -> Library:
    """The library `jitney` or `jax`."""
    found = Library(importlib.import_module(name))
    for part in SCIPY:
        found.module(f"scipy.{part}")
    return found


@dataclass(frozen=True)
class Program:
    """A function of a library and of arguments, how these are made, how far libraries may differ.

    Elements of a leaf agree if they differ by at most `rtol` times its largest one (and ATOL);
    integers if they are equal. The share `loose` of the elements need not: 1 where only shapes can
    agree, as in programs that branch on what rounding decides.
    """

    name: str
    subject: str
    text: str
    function: Callable
    make: Callable
    seed: int
    rtol: float
    loose: float
    finite: bool  # whether all results are

    def arguments(self) -> tuple:
        """Made anew from the seed: trees of NumPy arrays."""
        return self.make(Data(self.seed))

    def build(self, lib: Library) -> Callable:
        """The function of the arguments alone."""

        def program(*arguments):
            return self.function(lib, *arguments)

        program.__name__ = self.name
        return program


def program(
    make: Callable, *, seed: int = 0, rtol: float = 2e-3, loose: float = 0.0, finite: bool = True
):
    """Register a function; `make` makes its arguments from seeded `Data`."""

    def register(function: Callable) -> Callable:
        name, subject = function.__name__, function.__module__.rpartition(".")[2]
        if name in _programs:
            raise ValueError(f"{name} is a program of {_programs[name].subject} already")
        text = " ".join((function.__doc__ or "").split())
        _programs[name] = Program(
            name, subject, text, function, make, seed=seed, rtol=rtol, loose=loose, finite=finite
        )
        return function

    return register


def programs(keywords: str = "") -> list[Program]:
    """All programs whose `subject.name` contains one of the keywords (separated by commas)."""
    for subject in SUBJECTS:
        importlib.import_module(f"{__package__}.{subject}")
    wanted = keywords.split(",")
    return [p for p in _programs.values() if any(w in f"{p.subject}.{p.name}" for w in wanted)]


def compare(made: Program, got: list, want: list) -> None:
    """Raise AssertionError unless leaves agree as far as the program says."""
    assert len(got) == len(want), f"{made.name}: {len(got)} results instead of {len(want)}"
    for place, (a, b) in enumerate(zip(got, want, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        where = f"{made.name}, leaf {place}"
        assert a.shape == b.shape, f"{where}: shape {a.shape} instead of {b.shape}"
        assert a.dtype == b.dtype, f"{where}: {a.dtype} instead of {b.dtype}"
        share = np.mean(_differ(made, a, b)) if a.size else 0
        assert share <= made.loose, f"{where}: {share:.2%} of the elements differ"


def _differ(made: Program, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where elements do not agree."""
    if a.dtype.kind not in "fc":
        return a != b
    both = np.isfinite(a) & np.isfinite(b)
    largest = np.abs(b, where=both, out=np.zeros(b.shape)).max()
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= made.rtol * largest + ATOL
    return ~np.where(both, near, (a == b) | (np.isnan(a) & np.isnan(b)))
