"""A row by JAX and by this package: structure, dtypes, weak types, shapes, values, error classes.

Imported only where JAX is installed.
"""

from __future__ import annotations

import warnings

import numpy as np
from arrays import pool
from driver import choice, dtypes_for, function, names_in, same, tolerance_of
from rows import Row


def outcome(package, run, arrays, jit):
    """(error or None, structure's text, [(array, weak)])."""
    try:
        arrays = [package.numpy.asarray(x) for x in arrays]
        result = (package.jit(run) if jit else run)(*arrays)
        found = package.tree.leaves(result)
        structure = str(package.tree.structure(result))
        return None, structure, [(_plain(x), getattr(x, "weak_type", False)) for x in found]
    except Exception as error:
        return error, "", []


def _plain(x):
    if hasattr(x, "dtype") and "key<" in str(x.dtype):
        import jitney

        return np.asarray(jitney.random.key_data(x)) if isinstance(x, jitney.Array) else \
            np.asarray(__import__("jax").random.key_data(x))  # fmt: skip
    return np.asarray(x) if hasattr(x, "shape") or isinstance(x, (int, float, complex)) else x


def check(row: Row) -> None:
    """Both packages do the same with every call of the row."""
    import jax

    import jitney

    if "nojax" in row.flags:
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for k, text in enumerate(row.texts):
            for dtype in dtypes_for(row, k)[: 3 if k == 0 else 1]:
                arrays = [pool(dtype)[n] for n in names_in(text)]
                jit = "nojit" not in row.flags and choice(text, dtype) % 2 == 0
                theirs = outcome(jax, function("jax", text), arrays, jit)
                ours = outcome(jitney, function("jitney", text), arrays, jit)
                _compare(row, f"{text} of {dtype}{' (jitted)' if jit else ''}", ours, theirs)


def _compare(row: Row, what: str, ours, theirs) -> None:
    if ours[0] is not None or theirs[0] is not None:
        names = [type(x[0]).__name__ for x in (ours, theirs)]
        assert names[0] == names[1], f"{what}: {names[0]} {ours[0]}; JAX: {names[1]} {theirs[0]}"
        return
    tidy = lambda s: s.replace("jitney", "jax")
    assert tidy(ours[1]) == tidy(theirs[1]), f"{what}: {ours[1]}; JAX: {theirs[1]}"
    for (a, weak), (b, wanted_weak) in zip(ours[2], theirs[2], strict=True):
        if not isinstance(b, np.ndarray):
            assert type(a).__name__ == type(b).__name__ and str(a) == str(b), \
                f"{what}: {a!r}; JAX: {b!r}"  # fmt: skip
            continue
        assert a.dtype == b.dtype, f"{what}: {a.dtype}; JAX: {b.dtype}"
        assert bool(weak) == bool(wanted_weak), f"{what}: weak {weak}; JAX: {wanted_weak}"
        if a.dtype.kind in "biufcV":
            same(a, b, tolerance_of(row, a.dtype), f"{what}, against JAX")
