"""What a case is, and the list of all of them by family.

In: the modules of families, each with a list `CASES`. Out: `cases(keywords)`; `Case.arguments`, and
`Case.build`, which makes a function of arrays alone for jitney or for JAX; `differences`.
Invariant: a case's arguments follow from its name, so both libraries get the same ones.
"""

import dataclasses
import functools
import importlib
import inspect
import operator
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from users.catalogue import Library

from .arrays import Maker

FAMILIES = (
    "ordering",
    "counting",
    "gathers_and_scatters",
    "cumulative",
    "reductions",
    "elementwise",
    "integers",
    "complex_numbers",
    "special_functions",
    "distributions",
    "broadcasting",
    "layouts",
    "convolutions",
    "transforms",
    "linear_algebra",
    "contractions",
    "random_numbers",
    "control_flow",
    "derivatives",
    "learning",
    "small_arrays",
    "double_precision",
)
PARTS = {"jax": "", "jnp": ".numpy", "lax": ".lax", "nn": ".nn", "random": ".random",
         "scipy": ".scipy"}  # fmt: skip
# how far numbers may be from each other, as a share of their own size and of the usual one
TOLERANCE = {"float64": 1e-6, "complex128": 1e-6, "float16": 3e-2, "bfloat16": 5e-2}
USUAL_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Case:
    """A function and makers of its arguments.

    The function is a name, as "jnp.sort", or takes the parts of a library that its first parameters
    name (those of `PARTS`), then the arrays. `x64`: whether types of 64 bits are on. The share
    `loose` of the elements may differ between libraries, as rounding or, in eigenvectors (1), signs
    decide. `variant`: whether other cases have nearly the same.
    """

    name: str
    function: str | Callable
    makers: tuple[Maker, ...]
    options: dict[str, Any]
    x64: bool
    loose: float
    variant: bool
    family: str = ""

    def arguments(self) -> list[np.ndarray]:
        """Made anew, always the same."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [make(rng) for make in self.makers]

    def build(self, lib: Library) -> Callable:
        """The function of the arrays alone."""
        if isinstance(self.function, str):
            part, _, path = self.function.partition(".")
            found = operator.attrgetter(path)(part_of(lib, part))
        else:
            names = inspect.signature(self.function).parameters
            found = functools.partial(
                self.function, *(part_of(lib, name) for name in names if name in PARTS)
            )
        return functools.partial(found, **self.options)


def part_of(lib: Library, name: str) -> Any:
    """What users call `jnp`, `lax`, …"""
    return importlib.import_module(lib.jax.__name__ + PARTS[name])


def case(
    name: str, function: str | Callable, *makers: Maker, x64: bool = False, loose: float = 0.0,
    variant: bool = False, **options: Any,
) -> Case:  # fmt: skip
    """A case; further options are those of the function."""
    return Case(name, function, makers, options, x64, loose, variant)


variant = functools.partial(case, variant=True)


def cases(keywords: str = "", variants: bool = True) -> list[Case]:
    """All cases whose `family.name` contains one of the keywords, variants only if wanted.

    Commas separate these, save those before a space, which are parts of names.
    """
    wanted = re.split(",(?! )", keywords)
    modules = {family: importlib.import_module(f".{family}", __package__) for family in FAMILIES}
    made = [
        dataclasses.replace(c, family=family) for family in FAMILIES for c in modules[family].CASES
    ]
    made = [c for c in made if variants or not c.variant]
    return [c for c in made if any(word in f"{c.family}.{c.name}" for word in wanted)]


def differences(got: list[np.ndarray], want: list[np.ndarray], loose: float = 0.0) -> str:
    """Where results differ by more than rounding explains, in words; "" if nowhere.

    The share `loose` of a result's elements may.
    """
    if len(got) != len(want):
        return f"{len(got)} results instead of {len(want)}"
    notes = []
    for place, (a, b) in enumerate(zip(got, want, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            notes.append(f"result {place} is {a.dtype}{a.shape} instead of {b.dtype}{b.shape}")
        elif (count := int(np.sum(_differ(a, b)))) > loose * b.size:
            notes.append(f"result {place}: {count} of {b.size} elements{_most(a, b)}")
    return "; ".join(notes)


def _differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where elements do not agree."""
    if not np.issubdtype(b.dtype, np.inexact) and b.dtype.name not in TOLERANCE:
        return a != b
    tolerance = TOLERANCE.get(b.dtype.name, USUAL_TOLERANCE)
    a, b = _wide(a), _wide(b)
    both = np.isfinite(a) & np.isfinite(b)
    sizes = np.abs(b, where=both, out=np.zeros(b.shape))
    usual = sizes.sum() / max(1, both.sum())
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= tolerance * (sizes + usual)
    return ~np.where(both, near, (a == b) | (np.isnan(a) & np.isnan(b)))


def _most(a: np.ndarray, b: np.ndarray) -> str:
    """The greatest distance of numbers."""
    a, b = _wide(a), _wide(b)
    both = np.isfinite(a) & np.isfinite(b)
    distances = np.abs(a[both] - b[both])
    return f", by {distances.max():.3g} at most" if distances.size else ""


def _wide(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype("complex128" if numbers.dtype.kind == "c" else "float64")
