"""Every switch, declared once: name, default, help, and whether it enters the jit cache key.

In: environment variables (`JAX_…` and `JITNEY_…`), `config.update(name, value)`, and context
managers such as `enable_x64(True)`. Out: `flag.value` for the current thread, and one small
integer (the config id) naming the present combination of all switches that change what a
traced program means. The native dispatcher compares that integer and nothing else.

Invariant: two moments with the same config id trace the same function to the same program.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from jitney import _native

_UNSET = object()


class _Overlay(threading.local):
    """Thread-local values set by context managers; None when there are none."""

    values: dict[str, Any] | None = None


_overlay = _Overlay()
_flags: dict[str, Flag] = {}
_ids: dict[tuple, int] = {}
_ids_lock = threading.Lock()
_watchers: list[Callable[[], None]] = []


def _from_environment(name: str, kind: type | None, default: Any) -> Any:
    upper = name.upper()
    bare = upper.removeprefix("JAX_")
    for variable in (upper, "JITNEY_" + bare):
        text = os.environ.get(variable)
        if text is not None:
            return _parse(text, kind, variable)
    return default


def _parse(text: str, kind: type | None, variable: str) -> Any:
    if kind is bool:
        lowered = text.strip().lower()
        if lowered in ("1", "true", "t", "yes", "y", "on"):
            return True
        if lowered in ("0", "false", "f", "no", "n", "off", ""):
            return False
        raise ValueError(f"environment variable {variable}={text!r} is not a boolean")
    if kind in (int, float):
        return kind(text)
    return text


class Flag:
    """One switch. `flag.value` reads it; `with flag(value):` sets it for this thread."""

    __slots__ = ("name", "default", "help", "kind", "choices", "in_key", "refused", "effective",
                 "_value")

    def __init__(self, name: str, default: Any, help: str, *, kind: type | None = None,
                 choices: tuple = (), in_key: bool = False, refused: str = "",
                 effective: bool = True):
        self.name, self.default, self.help = name, default, help
        self.kind = kind or (type(default) if default is not None else None)
        self.choices, self.in_key = choices, in_key
        self.refused, self.effective = refused, effective
        self._value = self._checked(_from_environment(name, self.kind, default))
        _flags[name] = self

    @property
    def value(self) -> Any:
        values = _overlay.values
        if values is not None and self.name in values:
            return values[self.name]
        return self._value

    def _checked(self, value: Any) -> Any:
        if self.kind is bool and not isinstance(value, bool):
            if value not in (0, 1):
                raise ValueError(f"{self.name} takes True or False, not {value!r}")
            value = bool(value)
        if self.choices and value not in self.choices:
            raise ValueError(f"{self.name} takes one of {self.choices}, not {value!r}")
        if self.refused and value != self.default:
            raise NotImplementedError(f"{self.name}={value!r}: {self.refused}")
        return value

    def __call__(self, new_val: Any = _UNSET) -> _Setting:
        if new_val is _UNSET:
            if self.kind is not bool:
                raise TypeError(f"{self.name}(value): the value is missing")
            new_val = True
        return _Setting(self, self._checked(new_val))

    def __bool__(self):
        raise TypeError(f"read the switch {self.name} with .value; it is not a value itself")


class _Setting(contextlib.ContextDecorator):
    """The context manager made by `flag(value)`; re-enterable."""

    def __init__(self, flag: Flag, value: Any):
        self._flag, self._value = flag, value
        self._saved: list[Any] = []

    def __enter__(self):
        before = _overlay.values
        self._saved.append(before)
        _set_overlay({**(before or {}), self._flag.name: self._value})
        return self._value

    def __exit__(self, *exc):
        _set_overlay(self._saved.pop())
        return False


def _set_overlay(values: dict[str, Any] | None) -> None:
    _overlay.values = values
    _native.swap_thread_config_id(_intern_id() if values else 0)
    for watcher in _watchers:
        watcher()


def overlay() -> dict[str, Any] | None:
    """What context managers have set in this thread, for `with_overlay` in another one."""
    return _overlay.values


@contextlib.contextmanager
def with_overlay(values: dict[str, Any] | None) -> Iterator[None]:
    """Inside: the switches as they were where `overlay()` was asked."""
    before = _overlay.values
    if values is before:
        yield
        return
    _set_overlay(values)
    try:
        yield
    finally:
        _set_overlay(before)


def _intern_id() -> int:
    key = tuple(flag.value for flag in _flags.values() if flag.in_key)
    found = _ids.get(key)
    if found is None:
        with _ids_lock:
            found = _ids.setdefault(key, len(_ids) + 1)
    return found


def config_id() -> int:
    """The id of the present combination of switches, as this thread sees them."""
    return _intern_id()


def watch(action: Callable[[], None]) -> None:
    """Run `action` now and after every change of any switch (it keeps native tables in step)."""
    _watchers.append(action)
    action()


def context_values() -> dict[str, Any]:
    """All switches that enter the key, for explanations."""
    return {flag.name: flag.value for flag in _flags.values() if flag.in_key}


class Config:
    """`jitney.config`: the switches by their JAX names."""

    def update(self, name: str, value: Any) -> None:
        flag = _flags.get(name)
        if flag is None:
            raise AttributeError(f"Unrecognized config option: {name}")
        flag._value = flag._checked(value)
        _native.set_config_id(_global_id())
        if _overlay.values:
            _native.swap_thread_config_id(_intern_id())
        for watcher in _watchers:
            watcher()

    def read(self, name: str) -> Any:
        flag = _flags.get(name)
        if flag is None:
            raise AttributeError(f"Unrecognized config option: {name}")
        return flag.value

    @property
    def values(self) -> dict[str, Any]:
        return {name: flag.value for name, flag in _flags.items()}

    def __getattr__(self, name: str) -> Any:
        flag = _flags.get(name)
        if flag is None:
            raise AttributeError(f"Unrecognized config option: {name}")
        return flag.value

    def __dir__(self):
        return [*super().__dir__(), *_flags]

    def parse_flags_with_absl(self) -> None:
        """Accepted for compatibility; flags are read from the environment only."""


def _global_id() -> int:
    saved, _overlay.values = _overlay.values, None
    try:
        return _intern_id()
    finally:
        _overlay.values = saved


def _declare(name, default, help, **options) -> Flag:
    return Flag("jax_" + name, default, help, **options)


def _accept(name, default, why, **options) -> Flag:
    """A switch of JAX that has no effect here; its values are checked all the same."""
    return _declare(name, default, f"no effect: {why}", effective=False, **options)


enable_x64 = _declare("enable_x64", False, "64-bit types by default", in_key=True)
numpy_dtype_promotion = _declare(
    "numpy_dtype_promotion", "standard", "implicit dtype promotion: standard or strict",
    choices=("standard", "strict"), in_key=True)
numpy_rank_promotion = _declare(
    "numpy_rank_promotion", "allow", "implicit rank promotion: allow, warn or raise",
    choices=("allow", "warn", "raise"), in_key=True)
default_matmul_precision = _declare(
    "default_matmul_precision", None, "precision of contractions that state none", in_key=True)
default_prng_impl = _declare(
    "default_prng_impl", "threefry2x32", "generator behind new random keys",
    choices=("threefry2x32", "rbg", "unsafe_rbg"), in_key=True)
threefry_partitionable = _declare(
    "threefry_partitionable", True, "current layout of threefry counters (False: the older one)",
    in_key=True)
enable_custom_prng = _declare("enable_custom_prng", False, "random.PRNGKey gives typed keys",
                              in_key=True)
legacy_prng_key = _declare("legacy_prng_key", "allow", "raw uint32 keys: allow, warn or error",
                           choices=("allow", "warn", "error"))
random_seed_offset = _declare("random_seed_offset", 0, "added to every seed", in_key=True)
high_dynamic_range_gumbel = _declare(
    "high_dynamic_range_gumbel", False, "Gumbel draws with better tails", in_key=True)
softmax_custom_jvp = _accept("softmax_custom_jvp", False, "softmax has one derivative",
                             in_key=True)
disable_jit = _declare("disable_jit", False, "jit runs functions op by op", in_key=True)
debug_nans = _declare("debug_nans", False, "raise when a result holds a NaN", in_key=True)
debug_infs = _declare("debug_infs", False, "raise when a result holds an infinity", in_key=True)
debug_key_reuse = _declare(
    "debug_key_reuse", False, "raise when a random key is used twice", in_key=True,
    refused="uses of keys are not counted; split keys before they are used")
check_tracer_leaks = _declare("check_tracer_leaks", False, "raise when a tracer outlives its trace",
                              in_key=True)
enable_checks = _declare("enable_checks", False, "type-check every jaxpr", in_key=True)
check_static_indices = _declare(
    "check_static_indices", False, "static out-of-bounds indices raise", in_key=True,
    refused="indices are not checked; x.at[i].get(mode='fill') shows where one is out of bounds")
default_device = _declare("default_device", None, "device of new arrays", in_key=True)
explain_cache_misses = _declare("explain_cache_misses", False, "log why jit traced again")
log_compiles = _declare("log_compiles", False, "log every compilation")
no_tracing = _declare("no_tracing", False, "raise instead of tracing", in_key=True)
no_execution = _declare("no_execution", False, "raise instead of executing", in_key=True)
traceback_filtering = _declare(
    "traceback_filtering", "auto", "how tracebacks hide internal frames",
    choices=("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"))
disable_most_optimizations = _accept("disable_most_optimizations", False,
                                     "there are no passes that could be left out", in_key=True)
allow_f16_reductions = _accept("allow_f16_reductions", True,
                               "sums of 16-bit floats are formed in 32 bits", in_key=True)
compilation_cache_dir = _declare("compilation_cache_dir", None, "folder of the kernel cache",
                                 kind=str)
enable_compilation_cache = _declare("enable_compilation_cache", True, "keep kernels on disk")
compilation_cache_max_size = _declare("compilation_cache_max_size", -1, "bytes; -1: default bound")
persistent_cache_min_compile_time_secs = _accept(
    "persistent_cache_min_compile_time_secs", 0.0, "every kernel is cached")
persistent_cache_min_entry_size_bytes = _accept(
    "persistent_cache_min_entry_size_bytes", 0, "every kernel is cached")
platforms = _accept("platforms", None, "only the CPU exists", kind=str)
platform_name = _accept("platform_name", "", "only the CPU exists")
num_cpu_devices = _declare("num_cpu_devices", -1, "number of CPU devices; -1: one, or XLA_FLAGS")
mesh_scope = _declare("mesh_scope", None, "the mesh in scope (set_mesh); not for users",
                      in_key=True)
cpu_enable_async_dispatch = _accept("cpu_enable_async_dispatch", True, "calls are synchronous")
_GUARDS = (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")
transfer_guard = _accept("transfer_guard", None, "there is one memory", choices=_GUARDS)
transfer_guard_host_to_device = _accept("transfer_guard_host_to_device", None,
                                        "there is one memory", choices=_GUARDS)
transfer_guard_device_to_host = _accept("transfer_guard_device_to_host", None,
                                        "there is one memory", choices=_GUARDS)
transfer_guard_device_to_device = _accept("transfer_guard_device_to_device", None,
                                          "there is one memory", choices=_GUARDS)
pprint_use_color = _accept("pprint_use_color", True, "text is plain")
captured_constants_warn_bytes = _accept("captured_constants_warn_bytes", 2_000_000_000,
                                        "captured arrays are arguments")
dump_ir_to = _accept("dump_ir_to", "", "JITNEY_DUMP=folder writes dumps")
tracer_error_num_traceback_frames = _accept("tracer_error_num_traceback_frames", 5,
                                            "errors show the user's line")
include_full_tracebacks_in_locations = _accept("include_full_tracebacks_in_locations", True,
                                               "locations are one line")
logging_level = _accept("logging_level", "NOTSET", "there is no logger; JITNEY_DEBUG prints",
                        choices=(None, "NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
use_direct_linearize = _accept("use_direct_linearize", True, "there is one way")
use_shardy_partitioner = _accept("use_shardy_partitioner", True, "nothing is partitioned")
xla_backend = _accept("xla_backend", "", "there is no XLA")
mutable_array_checks = _accept("mutable_array_checks", True, "there are no mutable arrays")
remove_size_one_mesh_axis_from_type = _accept("remove_size_one_mesh_axis_from_type", False,
                                              "types carry no shardings")
auto_pcast = _accept("auto_pcast", True, "types do not say what varies")
optimization_level = _accept("optimization_level", "UNKNOWN", "there is no XLA",
                             choices=("UNKNOWN", "O0", "O1", "O2", "O3"))
exec_time_optimization_effort = _accept("exec_time_optimization_effort", 0.0, "there is no XLA")
enable_pgle = _accept("enable_pgle", False, "there is no XLA")
array_garbage_collection_guard = _accept(
    "array_garbage_collection_guard", None, "memory is given back as soon as nobody needs it",
    choices=(None, "allow", "log", "fatal"))
thread_guard = _accept("thread_guard", False, "there is one process")
jax2tf_associative_scan_reductions = Flag(
    "jax2tf_associative_scan_reductions", False, "no effect: there is no TensorFlow",
    effective=False)


def make_user_context(default_value: Any = None) -> Flag:
    """A value of the user's own that programs depend on: `jit` traces again when it changes.

    `context.value` reads it, `with context(value):` sets it for this thread. Values are hashable;
    TypeError for others.

    >>> context = make_user_context("fast")
    >>> with context("exact"):
    ...     context.value
    'exact'
    """
    hash(default_value)
    names = sum(name.startswith("user_context_") for name in _flags)
    made = Flag(f"user_context_{names}", default_value, "made by make_user_context", kind=object,
                in_key=True)
    _native.set_config_id(_global_id())
    if _overlay.values:
        _native.swap_thread_config_id(_intern_id())
    return made


config = Config()
_native.set_config_id(_global_id())
