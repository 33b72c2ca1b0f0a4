"""What `never_slower.py` times: one or more calls for each function that NumPy has, too.

In: nothing. Out: `CASES`, the calls; `VIEWS` and `LEFT_OUT`, functions by name with a reason.
Invariant: every function of `numpy`, `numpy.linalg` and `numpy.fft` that jitney has is in one of
them (`unaccounted` finds those that are not; a test asks).
"""

from __future__ import annotations

from types import ModuleType

from .arrays import CASES as _ARRAYS
from .case import Case
from .creation import CASES as _CREATION
from .elementwise import CASES as _ELEMENTWISE
from .left_out import LEFT_OUT, VIEWS
from .linear import CASES as _LINEAR
from .ordering import CASES as _ORDERING
from .reductions import CASES as _REDUCTIONS

CASES: tuple[Case, ...] = (
    *_ELEMENTWISE, *_REDUCTIONS, *_CREATION, *_ARRAYS, *_ORDERING, *_LINEAR)


def common_functions(numpy: ModuleType, jnp: ModuleType) -> set[str]:
    """Names of functions in both: `sin`, `linalg.inv`, `fft.rfft`, …"""
    found = set()
    for part in ("", "linalg.", "fft."):
        theirs = getattr(numpy, part[:-1]) if part else numpy
        ours = getattr(jnp, part[:-1]) if part else jnp
        for name in dir(theirs):
            value = getattr(theirs, name)
            is_function = callable(value) and not isinstance(value, type)
            if is_function and not name.startswith("_") and hasattr(ours, name):
                found.add(part + name)
    return found


def unaccounted(numpy: ModuleType, jnp: ModuleType) -> set[str]:
    """Common functions that are neither timed nor left out with a reason."""
    return common_functions(numpy, jnp) - {case.name for case in CASES} - set(LEFT_OUT)
