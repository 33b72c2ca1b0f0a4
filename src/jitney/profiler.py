"""Where the time goes and what memory holds, by the names in `jax.profiler`.

In: blocks and functions with names (`TraceAnnotation`, `annotate_function`), run between
`start_trace(folder)` and `stop_trace()`. Out: a file of Chrome's trace format with one event for
each block, where JAX puts it (`plugins/profile/<time>/<host>.trace.json.gz`), for Perfetto or
chrome://tracing. `device_memory_profile` gives the arrays there are, for `pprof`.
What happens inside a compiled program is not traced: `jitney.explain` measures its steps.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import os
import platform
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from jitney.api.devices import live_arrays
from jitney.base import source
from jitney.base.unsupported import unsupported_class, unsupported_function

_SERVER = "there is no profiling service. Use jax.profiler.trace(folder)."
_DATA = "traces are written in Chrome's JSON format; read them with json and gzip."
start_server = unsupported_function("jax.profiler.start_server", _SERVER)
stop_server = unsupported_function("jax.profiler.stop_server", _SERVER)
register_subprocess = unsupported_function("jax.profiler.register_subprocess", _SERVER)
ProfileData = unsupported_class("jax.profiler.ProfileData", _DATA)
ProfileEvent = unsupported_class("jax.profiler.ProfileEvent", _DATA)
ProfilePlane = unsupported_class("jax.profiler.ProfilePlane", _DATA)
ProfileOptions = unsupported_class(
    "jax.profiler.ProfileOptions", "a trace holds the annotated blocks; there is no choice.")

# --- traces ----------------------------------------------------------------------------------


class _Recording:
    """The events of a trace that is being taken. Lists take appends of several threads."""

    def __init__(self, folder: str, perfetto: bool):
        self.folder, self.perfetto = folder, perfetto
        self.events: list[dict] = []
        self.begin = time.perf_counter_ns()


_state = threading.Lock()
_recording: _Recording | None = None


def start_trace(log_dir: os.PathLike | str, create_perfetto_link: bool = False,
                create_perfetto_trace: bool = False, profiler_options: Any = None) -> None:
    """Begin to note the annotated blocks; `stop_trace` writes them below `log_dir`.

    create_perfetto_trace: write them as `perfetto_trace.json.gz` as well. RuntimeError while
    another trace is being taken; NotImplementedError for a link or options.
    """
    global _recording
    if create_perfetto_link:
        raise NotImplementedError("start_trace: no link is made; open the file at "
                                  "https://ui.perfetto.dev (create_perfetto_trace=True)")
    if profiler_options is not None:
        raise NotImplementedError("start_trace: there are no profiler_options; a trace holds the "
                                  "annotated blocks")
    with _state:
        if _recording is not None:
            raise RuntimeError("Profile has already been started. Only one profile may be run at "
                               "a time.")
        _recording = _Recording(os.fspath(log_dir), bool(create_perfetto_trace))


def stop_trace() -> None:
    """Write the trace; RuntimeError if none was started."""
    global _recording
    with _state:
        done, _recording = _recording, None
    if done is None:
        raise RuntimeError("No profile started")
    stamp = time.strftime("%Y_%m_%d_%H_%M_%S")
    folder = os.path.join(done.folder, "plugins", "profile", stamp)
    os.makedirs(folder, exist_ok=True)
    host = platform.node() or "host"
    names = [f"{host}.trace.json.gz"] + ["perfetto_trace.json.gz"] * done.perfetto
    process = {"ph": "M", "pid": os.getpid(), "name": "process_name", "args": {"name": host}}
    text = json.dumps({"displayTimeUnit": "ns", "traceEvents": [process, *done.events]})
    for name in names:
        with gzip.open(os.path.join(folder, name), "wt") as file:
            file.write(text)


@contextlib.contextmanager
def trace(log_dir: os.PathLike | str, create_perfetto_link=False, create_perfetto_trace=False,
          profiler_options: Any = None) -> Iterator[None]:
    """A trace of the block; arguments and errors as for `start_trace`."""
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation:
    """A block with a name, and values to go with it, in the trace being taken (if any).

    >>> with TraceAnnotation("load", batch=3):
    ...     pass
    """

    def __init__(self, name: str, **kwargs: Any):
        if not isinstance(name, str):
            raise TypeError(f"TraceAnnotation: the name is a string, got {name!r}")
        self._name, self._values, self._begins = name, kwargs, []

    @staticmethod
    def is_enabled() -> bool:
        """Whether a trace is being taken."""
        return _recording is not None

    def __enter__(self) -> TraceAnnotation:
        self._begins.append(time.perf_counter_ns())
        return self

    def __exit__(self, *_: Any) -> None:
        begin, end, recording = self._begins.pop(), time.perf_counter_ns(), _recording
        if recording is not None:
            recording.events.append({
                "ph": "X", "pid": os.getpid(), "tid": threading.get_ident(), "name": self._name,
                "ts": (begin - recording.begin) / 1000, "dur": (end - begin) / 1000,
                "args": {k: str(v) for k, v in self._values.items()}})


class StepTraceAnnotation(TraceAnnotation):
    """A block that is one step of a training loop (`step_num` says which)."""

    def __init__(self, name: str, **kwargs: Any):
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: Callable, name: str | None = None, **decorator_kwargs: Any) -> Callable:
    """`func`, each call of it being a block of that name (the function's own) in a trace.

    >>> annotate_function(lambda x: x + 1, name="step")(2)
    3
    """
    name = source.function_name(func) if name is None else name

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(name, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated


# --- memory ----------------------------------------------------------------------------------


def device_memory_profile(backend: str | None = None) -> bytes:
    """The arrays there are, by type, in the format of `pprof` (compressed).

    RuntimeError for a backend other than the CPU.
    """
    found: Counter = Counter()
    for x in live_arrays(backend):
        found[str(x.aval.str_short()), int(x.nbytes)] += 1
    return gzip.compress(_profile(found), mtime=0)


def save_device_memory_profile(filename: os.PathLike | str, backend: str | None = None) -> None:
    """Write `device_memory_profile` to a file."""
    content = device_memory_profile(backend)
    with open(filename, "wb") as file:
        file.write(content)


def _profile(found: Counter) -> bytes:
    """A message Profile of perftools/profiles/proto/profile.proto: one function a type."""
    texts = ["", "allocations", "count", "space", "bytes"]
    parts = [_message(1, _number(1, 1) + _number(2, 2)), _message(1, _number(1, 3) + _number(2, 4))]
    for place, ((name, size), count) in enumerate(sorted(found.items()), 1):
        texts.append(name)
        values = _varint(count) + _varint(count * size)
        parts.append(_message(2, _number(1, place) + _message(2, values)))
        parts.append(_message(4, _number(1, place) + _message(4, _number(1, place))))
        parts.append(_message(5, _number(1, place) + _number(2, len(texts) - 1)))
    return b"".join([*parts, *(_message(6, t.encode()) for t in texts)])


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


__all__ = [
    "ProfileData", "ProfileEvent", "ProfileOptions", "ProfilePlane", "StepTraceAnnotation",
    "TraceAnnotation", "annotate_function", "device_memory_profile", "register_subprocess",
    "save_device_memory_profile", "start_server", "start_trace", "stop_server", "stop_trace",
    "trace",
]
