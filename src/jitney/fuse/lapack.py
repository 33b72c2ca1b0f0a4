"""Steps for linear algebra: native routines on batches of matrices, with their workspaces.

In: a "lapack" call with attributes (routine, sizes, needs_library). Out: one native step whose
extent is the batch. LAPACK and BLAS are SciPy's: their addresses are taken when a program first
needs them (a program of matrices up to 8 x 8 does not), and calls of the program never see Python.
"""

import ctypes
import glob
import importlib
import importlib.machinery
import importlib.util
import math
import os
import struct
from typing import Any

from .. import _native
from ..base.fork_gate import ForkGate
from .routines import CALLS, _results, _scratch, stored_view
from .routines import _native as _add_step

PARALLEL_NS = 40000.0  # a smaller batch stays on one thread
PIECES = 16
# Floating-point operations of a matrix, as multiples of n³ (n² m for the product-like ones).
_WORK = {
    "cholesky": 0.4, "lu": 0.7, "eigh": 12.0, "eig": 25.0, "qr": 4.0, "geqrf": 2.0, "svd": 20.0,
    "householder_product": 2.0,
}  # fmt: skip
_VECTORS = {"eigh": (0,), "svd": (1, 2)}  # results that sizes[2] asks for
_PLAIN = ("cholesky", "triangular_solve", "pivots_to_permutation")  # routines without a workspace
_bound = False
_importing = ForkGate()


def bind_library() -> None:
    """Hands LAPACK's and BLAS's addresses to the native routines, once a process."""
    global _bound
    if _bound:
        return
    with _importing:
        capsules = [_capsules(name) for name in ("cython_lapack", "cython_blas")]
        _native.lapack_bind(*capsules, *_thread_functions())
        _bound = True


def _thread_functions() -> tuple[int, ...]:
    """Addresses of the functions that set and tell how many threads the library takes, if it is an
    OpenBLAS: that of SciPy's own, or one the system has."""
    for path in _openblas_files():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for name in ("scipy_openblas_{}_num_threads", "openblas_{}_num_threads"):
            try:
                both = [getattr(library, name.format(verb)) for verb in ("set", "get")]
            except AttributeError:
                continue
            return tuple([ctypes.cast(f, ctypes.c_void_p).value or 0 for f in both])
    return ()


def _openblas_files() -> list[str]:
    """Libraries that SciPy brings, or else those this process has loaded."""
    packages = os.path.dirname(os.path.dirname(os.path.dirname(_path_of("cython_lapack"))))
    own = [os.path.join(packages, *folder) for folder in (("scipy.libs",), ("scipy", ".dylibs"))]
    found = [path for folder in own for path in sorted(glob.glob(f"{folder}/*openblas*"))]
    if not found and os.path.exists("/proc/self/maps"):
        with open("/proc/self/maps") as lines:
            paths = {line.split(maxsplit=5)[-1].strip() for line in lines if "openblas" in line}
        found = sorted(path for path in paths if "numpy.libs" not in path)
    return found


def is_bound() -> bool:
    """Whether this process has planned a step that needs the library."""
    return _bound


def library_stamp() -> str:
    """Stands for the library's version: plans hold the workspaces that this version asks for."""
    try:
        path = _path_of("cython_lapack")
    except (StopIteration, AssertionError):
        return ""
    info = os.stat(path)
    return f"{path}|{info.st_size}|{info.st_mtime_ns}"


def _path_of(name: str) -> str:
    spec = importlib.util.find_spec("scipy")
    assert spec is not None and spec.submodule_search_locations is not None
    folder = os.path.join(list(spec.submodule_search_locations)[0], "linalg")
    suffixes = importlib.machinery.EXTENSION_SUFFIXES
    return next(p for s in suffixes for p in glob.glob(os.path.join(folder, name + s)))


def _capsules(name: str) -> dict[str, Any]:
    """SciPy's table of C functions, without importing the rest of scipy.linalg (0.3 s)."""
    full = f"scipy.linalg.{name}"
    try:
        path = _path_of(name)
        loader = importlib.machinery.ExtensionFileLoader(full, path)
        module: Any = importlib.util.module_from_spec(
            importlib.util.spec_from_loader(full, loader)  # type: ignore[arg-type]
        )
        loader.exec_module(module)
    except (ImportError, StopIteration, AssertionError):
        module = importlib.import_module(full)
    return module.__pyx_capi__


def _cost(name: str, sizes) -> float:
    """Nanoseconds of one matrix on one thread (estimate)."""
    kind = name.rpartition("_")[0]
    square = kind in ("cholesky", "eigh", "eig", "cholesky_update")
    n, m = sizes[0], sizes[0] if square else sizes[1]
    scale = 4.0 if name.endswith(("c64", "c128")) else 1.0
    if kind == "tridiagonal_solve":  # each of n steps waits for the one before
        return 20.0 + scale * n * (8.0 + (m - 1))
    if kind in _WORK:
        flops = _WORK[kind] * n * m * min(n, m)
    elif kind in ("cholesky_update", "pivots_to_permutation"):
        flops = 10.0 * n * m
    else:
        flops = 2.0 * n * n * m
    return 20.0 + scale * flops * (0.1 if n > 32 else 0.5)


def add_lapack_step(partition, node, item) -> None:
    name, sizes, needs_library = node.attrs[2:]
    if needs_library:
        bind_library()
    views = [stored_view(partition, a) for a in node.args]
    results, sizes = _wanted(partition, node, sizes)
    rows = _batch_of(name, sizes, node)
    cost = _cost(name, sizes)
    grain = rows if rows * cost < PARALLEL_NS else max(1, -(-rows // PIECES))
    written = [len(views) + i for i in range(len(results))]
    params, places = sizes, [*views, *results]
    if not name.startswith(_PLAIN) or name.startswith("cholesky_update"):
        lwork, nbytes = _native.lapack_needs(name, struct.pack(f"<{len(sizes)}q", *sizes))
        pieces = -(-rows // grain) if rows else 1
        work = _scratch(partition, "i64", max(8, pieces * nbytes // 8))
        written.append(len(places))
        places.append(work)
        params = (*sizes, lwork, nbytes, grain)
    _add_step(partition, item, name, places, params, rows, grain, written, rows * cost)


def _wanted(partition, node, sizes):
    """(views of the results, sizes) without eigenvectors or singular vectors nobody reads."""
    results = _results(partition, node)
    kind = node.attrs[2].rpartition("_")[0]
    if kind not in _VECTORS or not sizes[2]:
        return results, sizes
    vectors = _VECTORS[kind]
    if any(p in _live_parts(partition).get(node.id, ()) for p in vectors):
        return results, sizes
    for p in vectors:
        results[p] = _scratch(partition, results[p].buffer.code, 1)
    return results, (*sizes[:2], 0, *sizes[3:])


def _live_parts(partition) -> dict[int, set[int]]:
    """For each call of the graph, which of its results are read."""
    found = getattr(partition, "live_parts", None)
    if found is None:
        found = partition.live_parts = {}
        for node in partition.graph.nodes():
            if node.op == "part":
                found.setdefault(node.args[0].id, set()).add(node.attrs[0])
    return found


def _batch_of(name, sizes, node) -> int:
    """Number of matrices: elements of the first operand over those of one matrix."""
    kind = name.rpartition("_")[0]
    first = math.prod(node.args[0].shape) // (2 if name.endswith(("c64", "c128")) else 1)
    if kind in ("tridiagonal_solve", "pivots_to_permutation"):
        return first // sizes[0]
    if kind in ("cholesky", "triangular_solve", "lu_solve", "eigh", "eig", "cholesky_update"):
        return first // (sizes[0] * sizes[0])
    return first // (sizes[0] * sizes[1])


CALLS["lapack"] = add_lapack_step
