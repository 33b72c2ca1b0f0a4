"""SciPy's functions on traced arrays, under the names of `jax.scipy`.

Submodules (`special`, `stats`, `linalg`, …) are imported when first used.
"""

import importlib as _importlib
import importlib.util as _importlib_util


def __getattr__(name: str):
    if not name.startswith("_") and _importlib_util.find_spec(f"{__name__}.{name}") is not None:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
