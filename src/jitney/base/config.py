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

    __slots__ = ("name", "default", "help", "kind", "choices", "in_key", "_value")

    def __init__(self, name: str, default: Any, help: str, *, kind: type | None = None,
                 choices: tuple = (), in_key: bool = False):
        self.name, self.default, self.help = name, default, help
        self.kind = kind or (type(default) if default is not None else None)
        self.choices, self.in_key = choices, in_key
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
softmax_custom_jvp = _declare("softmax_custom_jvp", False, "softmax has its own derivative rule",
                              in_key=True)
disable_jit = _declare("disable_jit", False, "jit runs functions op by op", in_key=True)
debug_nans = _declare("debug_nans", False, "raise when a result holds a NaN", in_key=True)
debug_infs = _declare("debug_infs", False, "raise when a result holds an infinity", in_key=True)
debug_key_reuse = _declare("debug_key_reuse", False, "raise when a random key is used twice",
                           in_key=True)
check_tracer_leaks = _declare("check_tracer_leaks", False, "raise when a tracer outlives its trace",
                              in_key=True)
enable_checks = _declare("enable_checks", False, "type-check every jaxpr", in_key=True)
check_static_indices = _declare("check_static_indices", False,
                                "static out-of-bounds indices raise", in_key=True)
default_device = _declare("default_device", None, "device of new arrays", in_key=True)
explain_cache_misses = _declare("explain_cache_misses", False, "log why jit traced again")
log_compiles = _declare("log_compiles", False, "log every compilation")
no_tracing = _declare("no_tracing", False, "raise instead of tracing", in_key=True)
no_execution = _declare("no_execution", False, "raise instead of executing", in_key=True)
traceback_filtering = _declare(
    "traceback_filtering", "auto", "how tracebacks hide internal frames",
    choices=("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"))
disable_most_optimizations = _declare("disable_most_optimizations", False,
                                      "compile quickly rather than well", in_key=True)
allow_f16_reductions = _declare("allow_f16_reductions", True,
                                "sums of 16-bit floats may accumulate in 16 bits", in_key=True)
compilation_cache_dir = _declare("compilation_cache_dir", None, "folder of the kernel cache",
                                 kind=str)
enable_compilation_cache = _declare("enable_compilation_cache", True, "keep kernels on disk")
compilation_cache_max_size = _declare("compilation_cache_max_size", -1, "bytes; -1: default bound")
persistent_cache_min_compile_time_secs = _declare(
    "persistent_cache_min_compile_time_secs", 0.0, "accepted; every kernel is cached")
persistent_cache_min_entry_size_bytes = _declare(
    "persistent_cache_min_entry_size_bytes", 0, "accepted; every kernel is cached")
platforms = _declare("platforms", None, "accepted platforms; only cpu exists", kind=str)
platform_name = _declare("platform_name", "", "only cpu exists")
num_cpu_devices = _declare("num_cpu_devices", -1, "number of CPU devices; -1: one, or XLA_FLAGS")
mesh_scope = _declare("mesh_scope", None, "the mesh in scope (set_mesh); not for users",
                      in_key=True)
cpu_enable_async_dispatch = _declare("cpu_enable_async_dispatch", True,
                                     "accepted; calls are synchronous")
transfer_guard = _declare("transfer_guard", None, "accepted; there is one memory", kind=str)
transfer_guard_host_to_device = _declare("transfer_guard_host_to_device", None, "accepted",
                                         kind=str)
transfer_guard_device_to_host = _declare("transfer_guard_device_to_host", None, "accepted",
                                         kind=str)
transfer_guard_device_to_device = _declare("transfer_guard_device_to_device", None, "accepted",
                                           kind=str)
pprint_use_color = _declare("pprint_use_color", True, "accepted; text is plain")
captured_constants_warn_bytes = _declare("captured_constants_warn_bytes", 2_000_000_000,
                                         "accepted; captured arrays are arguments")
dump_ir_to = _declare("dump_ir_to", "", "folder for dumps; see JITNEY_DUMP")
tracer_error_num_traceback_frames = _declare("tracer_error_num_traceback_frames", 5,
                                             "frames shown for a leaked tracer")
include_full_tracebacks_in_locations = _declare("include_full_tracebacks_in_locations", True,
                                                "accepted")
logging_level = _declare("logging_level", "NOTSET", "accepted")
use_direct_linearize = _declare("use_direct_linearize", True, "accepted")
use_shardy_partitioner = _declare("use_shardy_partitioner", True, "accepted")
xla_backend = _declare("xla_backend", "", "accepted")
mutable_array_checks = _declare("mutable_array_checks", True, "accepted")
remove_size_one_mesh_axis_from_type = _declare("remove_size_one_mesh_axis_from_type", False,
                                               "accepted")
auto_pcast = _declare("auto_pcast", True, "accepted")
optimization_level = _declare("optimization_level", "UNKNOWN", "accepted")
exec_time_optimization_effort = _declare("exec_time_optimization_effort", 0.0, "accepted")
enable_pgle = _declare("enable_pgle", False, "accepted")

config = Config()
_native.set_config_id(_global_id())
