"""When are two function objects the same function?

In: a callable. Out: a `FunctionIdentity`, under which traces and executables are kept. A lambda
or partial made anew in a loop gets the identity of the one before, if everything the trace could
depend on is unchanged: code, defaults, closure cells, and the globals and attributes its code
names, followed through the functions they lead to. Immutable scalars count by value; arrays by
identity; containers and instances by identity and present content.

What cannot be judged that way (random numbers, printing, iterators, tracers, large mutable NumPy
arrays, imports inside the function…) makes the function object its own identity, as in JAX.
Invariant: two functions share an identity only if tracing them would give the same program.
"""

from __future__ import annotations

import builtins
import enum
import functools
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import _native
from jitney.base.weak_memo import WeakMemo
from jitney.core.primitive import Primitive
from jitney.core.trace import Tracer

_NODE_BUDGET = 500
_SMALL_ARRAY_BYTES = 1024
TRACED_LIMIT = 4096                 # programs of one function, as many as its native entries
_LIGHT_LIMIT = 4096                 # identities without captured arrays
_HEAVY_LIMIT = 128                  # identities that hold arrays or user objects alive
_HEAVY_BYTES = 64 << 20

_IMPURE_BUILTINS = frozenset((
    "print", "input", "open", "next", "id", "eval", "exec", "compile", "globals", "locals", "vars",
    "iter", "setattr", "delattr", "getattr", "__import__", "breakpoint"))
_PURE_PACKAGES = frozenset((
    "jitney", "jax", "numpy", "math", "cmath", "operator", "functools", "itertools", "builtins",
    "typing", "collections", "dataclasses", "abc", "enum", "ml_dtypes", "scipy", "einops",
    "opt_einsum", "warnings", "contextlib", "types", "numbers", "copy", "re", "string"))
_IMPURE_PACKAGES = frozenset((
    "random", "time", "datetime", "secrets", "uuid", "os", "sys", "threading", "io", "logging",
    "socket", "subprocess", "inspect", "gc", "contextvars", "asyncio"))
_IMPURE_NUMPY = frozenset(("random", "load", "memmap", "fromfile"))
_HEAP_TYPE = 1 << 9


class FunctionIdentity:
    """One function, however many objects stand for it. Holds what was traced under it.

    `key` is None for an identity that belongs to one function object.
    """

    __slots__ = ("key", "fresh", "traced", "__weakref__")

    def __init__(self, key: Any = None):
        self.key, self.fresh = key, True        # fresh: the key was read just now
        self.traced: dict[Any, Any] = {}

    def remember(self, key: Any, program: Any) -> None:
        """Keeps a program, and of too many the newest."""
        self.traced[key] = program
        while len(self.traced) > TRACED_LIMIT:
            self.traced.pop(next(iter(self.traced)), None)


class _Entry:
    """A shared identity in a table, with the objects its key names by id (so that no other
    object gets that id). The identity itself does not hold them: a function must not be kept
    alive by what was traced from it."""

    __slots__ = ("identity", "holds", "captured_bytes")

    def __init__(self, identity: FunctionIdentity, holds: list, captured_bytes: int):
        self.identity, self.holds, self.captured_bytes = identity, holds, captured_bytes


class NotShareable(Exception):
    """The function object must be its own identity."""


class _Reader:
    """Writes down everything a trace of a function may depend on."""

    def __init__(self) -> None:
        self.holds: list = []               # what the key names by id
        self.keeps: list = []               # what must live while reading
        self.seen: dict[int, int] = {}
        self.modules: set[tuple] = set()
        self.budget = _NODE_BUDGET
        self.heavy = False
        self.captured_bytes = 0
        self.key: Any = None                # filled in by `_read`

    def value(self, x: Any, names: frozenset | None = None) -> Any:
        """The key of `x`; `names` are those in the code that refers to it directly."""
        self.budget -= 1
        if self.budget < 0:
            raise NotShareable("depends on too much")
        kind = type(x)
        writer = _WRITERS.get(kind)
        if writer is not None:
            return writer(self, x, names)
        return self._other(x, kind)

    def by_id(self, x: Any) -> tuple:
        self.holds.append(x)
        return ("id", id(x))

    def once(self, x: Any) -> tuple | None:
        """A back reference when `x` was met before (also while it is being written)."""
        found = self.seen.get(id(x))
        if found is not None:
            return ("again", found)
        self.seen[id(x)] = len(self.seen)
        self.keeps.append(x)
        return None

    def _other(self, x: Any, kind: type) -> Any:
        if isinstance(x, _native.Jitted):
            again = self.once(x)
            return again or ("jitted", self.by_id(x), self.value(x.__wrapped__))
        if isinstance(x, functools.partial):
            return self._partial(x)
        if isinstance(x, (np.generic, enum.Enum)):
            return (kind, x.tobytes(), str(x.dtype)) if isinstance(x, np.generic) else self.by_id(x)
        if isinstance(x, tuple):
            return (kind, *[self.value(v) for v in x])
        if isinstance(x, type):
            return self._class(x)
        if isinstance(x, np.dtype):
            return (np.dtype, str(x), x.num)
        if isinstance(x, Tracer):
            raise NotShareable("holds a tracer")
        package = kind.__module__.partition(".")[0]
        if package == "jitney" or (package == "numpy" and callable(x)):
            self.heavy = self.heavy or not isinstance(x, Primitive)
            return self.by_id(x)
        return self._instance(x, kind)

    def _partial(self, x: functools.partial) -> tuple:
        return (type(x), self.value(x.func), *[self.value(v) for v in x.args],
                *[(k, self.value(v)) for k, v in x.keywords.items()])

    # --- objects of the user's classes

    def _instance(self, x: Any, kind: type) -> Any:
        again = self.once(x)
        if again:
            return again
        for base in kind.__mro__[:-1]:
            if not base.__flags__ & _HEAP_TYPE or "__slots__" in base.__dict__:
                raise NotShareable(f"holds an object of type {kind.__name__}")
        self.heavy = True
        return ("instance", self.by_id(x), self._class(kind),
                *[(k, self.value(v)) for k, v in vars(x).items()])

    def _class(self, kind: type) -> Any:
        if kind.__module__.partition(".")[0] in _PURE_PACKAGES:
            return kind
        again = self.once(kind)
        if again:
            return again
        out: list = [kind]
        for base in kind.__mro__[:-1]:
            if base.__module__.partition(".")[0] in _PURE_PACKAGES:
                continue
            for name, value in base.__dict__.items():
                if isinstance(value, (types.FunctionType, staticmethod, classmethod, property)):
                    out.append((name, self._member(value)))
                elif not name.startswith("__") and name != "_abc_impl":
                    out.append((name, self.value(value)))
        return tuple(out)

    def _member(self, value: Any) -> Any:
        if isinstance(value, property):
            return tuple(self.value(f) for f in (value.fget, value.fset) if f is not None)
        if isinstance(value, (staticmethod, classmethod)):
            return self.value(value.__func__)
        return self.value(value)

    # --- functions and what their code names

    def function(self, f: types.FunctionType) -> Any:
        again = self.once(f)
        if again:
            return again
        module = f.__module__ or ""
        if module.partition(".")[0] in _PURE_PACKAGES and f.__closure__ is None:
            return ("library", self.by_id(f))
        code = f.__code__
        names = _names_of(code)
        out: list = [code, f.__name__]
        if f.__defaults__:
            out.append(tuple(self.value(v) for v in f.__defaults__))
        if f.__kwdefaults__:
            out.append(tuple((k, self.value(v)) for k, v in f.__kwdefaults__.items()))
        if f.__closure__:
            out.append(tuple(self._cell(c, names) for c in f.__closure__))
        if names:
            out.append(self._globals(f.__globals__, names))
        if f.__dict__:
            out.append(tuple((k, self.value(v)) for k, v in f.__dict__.items()))
        return tuple(out)

    def _cell(self, cell: Any, names: frozenset | None) -> Any:
        try:
            return self.value(cell.cell_contents, names)
        except ValueError:
            return "empty"

    def _globals(self, module_globals: dict, names: frozenset) -> Any:
        out = []
        for name in names:
            if name in module_globals:
                out.append((name, self.value(module_globals[name], names)))
            elif name in _IMPURE_BUILTINS and hasattr(builtins, name):
                raise NotShareable(f"calls {name}")
        return tuple(out)


def _module(reader: _Reader, x: types.ModuleType, names: frozenset | None) -> Any:
    package = x.__name__.partition(".")[0]
    if package in _IMPURE_PACKAGES or x.__name__.startswith("numpy.random"):
        raise NotShareable(f"uses the module {x.__name__}")
    if package in _PURE_PACKAGES:
        if package == "numpy" and names and names & _IMPURE_NUMPY:
            raise NotShareable("uses numpy.random")
        return x.__name__
    if names is None:
        raise NotShareable(f"holds the module {x.__name__}")
    if (id(x), names) in reader.modules:
        return x.__name__
    reader.modules.add((id(x), names))
    members = vars(x)
    return (x.__name__, *[(n, reader.value(members[n], names)) for n in names if n in members])


def _ndarray(reader: _Reader, x: np.ndarray, names: frozenset | None) -> Any:
    if x.nbytes > _SMALL_ARRAY_BYTES or x.dtype.hasobject:
        raise NotShareable("holds a NumPy array")
    return (np.ndarray, x.shape, str(x.dtype), x.tobytes())


def _array(reader: _Reader, x: Any, names: frozenset | None) -> Any:
    reader.heavy = True
    reader.captured_bytes += x.nbytes
    return reader.by_id(x)


def _items(reader: _Reader, x: Any, names: frozenset | None) -> Any:
    again = reader.once(x)
    if again:
        return again
    reader.heavy = True
    return (type(x), reader.by_id(x), *[reader.value(v) for v in x])


def _mapping(reader: _Reader, x: Any, names: frozenset | None) -> Any:
    again = reader.once(x)
    if again:
        return again
    reader.heavy = True
    return (type(x), reader.by_id(x), *[(reader.value(k), reader.value(v)) for k, v in x.items()])


def _frozenset(reader: _Reader, x: frozenset, names: frozenset | None) -> Any:
    return (frozenset, frozenset(reader.value(v) for v in x))


def _set(reader: _Reader, x: set, names: frozenset | None) -> Any:
    reader.heavy = True
    return (set, reader.by_id(x), frozenset(reader.value(v) for v in x))


def _method(reader: _Reader, x: types.MethodType, names: frozenset | None) -> Any:
    return ("method", reader.value(x.__func__), reader.value(x.__self__))


_WRITERS: dict[type, Callable] = {
    type(None): lambda r, x, n: None,
    bool: lambda r, x, n: (bool, x), int: lambda r, x, n: (int, x),
    float: lambda r, x, n: (float, x.hex()),
    complex: lambda r, x, n: (complex, x.real.hex(), x.imag.hex()),
    str: lambda r, x, n: (str, x), bytes: lambda r, x, n: (bytes, x),
    type(...): lambda r, x, n: "...", type(NotImplemented): lambda r, x, n: "NotImplemented",
    range: lambda r, x, n: (range, x.start, x.stop, x.step),
    slice: lambda r, x, n: (slice, r.value(x.start), r.value(x.stop), r.value(x.step)),
    tuple: lambda r, x, n: (tuple, *[r.value(v) for v in x]),
    list: _items, dict: _mapping, OrderedDict: _mapping, defaultdict: _mapping,
    set: _set, frozenset: _frozenset,
    types.FunctionType: lambda r, x, n: r.function(x),
    types.MethodType: _method,
    types.BuiltinFunctionType: lambda r, x, n: _builtin(r, x),
    types.ModuleType: _module,
    np.ufunc: lambda r, x, n: r.by_id(x),
    np.ndarray: _ndarray,
    _native.Array: _array,
    _native.ShapedArray: lambda r, x, n: x,
    _native.PyTreeDef: lambda r, x, n: x,
    functools.partial: lambda r, x, n: r._partial(x),
}


def _builtin(reader: _Reader, x: Any) -> Any:
    owner = x.__self__
    if owner is None or isinstance(owner, (types.ModuleType, type)):
        package = getattr(owner, "__name__", "") or ""
        if package.partition(".")[0] in _IMPURE_PACKAGES:
            raise NotShareable(f"calls {x.__name__}")
        return reader.by_id(x)
    raise NotShareable(f"calls the method {x.__name__} of an object")


# --- names in code ---------------------------------------------------------------------------

_IMPORT_NAME = 108          # opcode; checked against dis in the tests


@functools.lru_cache(maxsize=8192)
def _names_of_id(code: types.CodeType) -> frozenset:
    names = set(code.co_names)
    if _IMPORT_NAME in code.co_code[::2]:
        roots = {n.partition(".")[0] for n in code.co_names}
        if roots - _PURE_PACKAGES:
            names.add("__import__")
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _names_of_id(const)
    return frozenset(names)


_names_by_id: dict[int, tuple[types.CodeType, frozenset]] = {}


def _names_of(code: types.CodeType) -> frozenset:
    """Global and attribute names in the code, and in functions defined inside it."""
    found = _names_by_id.get(id(code))
    if found is None:
        if len(_names_by_id) > 8192:
            _names_by_id.clear()
        found = _names_by_id[id(code)] = (code, _names_of_id(code))
    return found[1]


# --- the tables ------------------------------------------------------------------------------

_by_object: WeakMemo[Any, FunctionIdentity] = WeakMemo()
_light: OrderedDict[Any, _Entry] = OrderedDict()
_heavy: OrderedDict[Any, _Entry] = OrderedDict()


def _read(fun: Any) -> _Reader | None:
    reader = _Reader()
    try:
        reader.key = reader.value(fun)
        hash(reader.key)
    except (NotShareable, TypeError, RecursionError):
        return None
    return reader


def identity_of(fun: Any, own: dict | None = None) -> FunctionIdentity:
    """The identity of a callable; stays with the object once found.

    `own` is a dict that lives as long as the callable is in use, for callables that cannot be
    weakly referred to.
    """
    try:
        found = _by_object.get(fun)
    except TypeError:                        # unhashable or not weakly referable
        found = (own or {}).get("_identity_kept")
        if found is None:
            found = _by_content(fun)
            if own is not None:
                own["_identity_kept"] = found
        return found
    if found is None:
        found = _by_content(fun)
        _by_object[fun] = found
    return found


def _by_content(fun: Any) -> FunctionIdentity:
    reader = _read(fun)
    if reader is None:
        return _of_method(fun) if type(fun) is types.MethodType else FunctionIdentity()
    table = _heavy if reader.heavy or reader.key in _heavy else _light
    found = table.get(reader.key)
    if found is None:
        found = _Entry(FunctionIdentity(reader.key), reader.holds, reader.captured_bytes)
        table[reader.key] = found
        _evict()
    else:
        table.move_to_end(reader.key)
    return found.identity


_methods: WeakMemo[Any, dict] = WeakMemo()


def _of_method(method: types.MethodType) -> FunctionIdentity:
    """Bound methods are made anew at every access: they belong to their object."""
    try:
        own = _methods.setdefault(method.__self__, {})
        return own.setdefault(method.__func__, FunctionIdentity())
    except TypeError:
        return FunctionIdentity()


def _evict() -> None:
    while len(_light) > _LIGHT_LIMIT:
        _light.popitem(last=False)
    held = sum(entry.captured_bytes for entry in _heavy.values())
    while _heavy and (len(_heavy) > _HEAVY_LIMIT or held > _HEAVY_BYTES):
        held -= _heavy.popitem(last=False)[1].captured_bytes


def account(identity: FunctionIdentity, nbytes: int) -> None:
    """What was traced under the identity holds this much memory: bound it with the rest."""
    if identity.key is None or nbytes < _SMALL_ARRAY_BYTES:
        return
    entry = _light.pop(identity.key, None) or _heavy.get(identity.key)
    if entry is not None:
        entry.captured_bytes += nbytes
        _heavy[identity.key] = entry
        _evict()


def still_valid(fun: Any, identity: FunctionIdentity) -> FunctionIdentity:
    """Before tracing under a shared identity: if what the function depends on has changed since,
    it becomes its own identity (keeping what was traced so far, as JAX would)."""
    if identity.key is None or identity.fresh:
        identity.fresh = False
        return identity
    reader = _read(fun)
    if reader is not None and reader.key == identity.key:
        return identity
    own = FunctionIdentity()
    own.traced = dict(identity.traced)
    try:
        _by_object[fun] = own
    except TypeError:
        pass
    return own


def forget(fun: Any) -> None:
    """Drop what was traced for this function."""
    identity = identity_of(fun)
    identity.traced.clear()


def forget_everything() -> None:
    for table in (_light, _heavy):
        for entry in table.values():
            entry.identity.traced.clear()
        table.clear()
    for identity in list(_by_object.values()):
        identity.traced.clear()
    _by_object.clear()
