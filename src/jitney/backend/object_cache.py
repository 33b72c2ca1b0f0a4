"""Machine code by content: equal kernels are compiled once in a process and once on a machine.

In: kernels as (canonical text, function that writes their LLVM IR). Out: addresses of machine code.
The key is a hash of the text, the target and the versions that shape code; names and source lines
are not part of it. On disk an entry is a position-independent blob with a checksum of its key and
bytes, written to a temporary file and renamed, so that processes may share the folder; a damaged
entry, or one under another's name, is compiled again. A folder that others may write to, or that
belongs to someone else, is not used. `JITNEY_CACHE_DIR` moves it, `JITNEY_CACHE_DIR=` (empty)
turns it off, `JITNEY_CACHE_BYTES` bounds it; otherwise the switches `jax_compilation_cache_dir`,
`jax_enable_compilation_cache` and `jax_compilation_cache_max_size` do so.
"""

import functools
import itertools
import os
import stat
import threading
import time
from collections import OrderedDict

from .. import _native
from ..base import config
from ..base.digest import blake2b
from ..ir.target import CpuTarget
from . import llvm

FORMAT = b"jitney-blob-2\n"
DEFAULT_BYTES = 512 << 20
MAX_COMPILERS = 8
MAX_REGIONS = 16384
GENERATOR = ("codegen", "backend")

_regions: OrderedDict[bytes, "Code"] = OrderedDict()  # programs keep theirs alive themselves
_lock = threading.Lock()
_numbers = itertools.count()
counters = {"compiled": 0, "memory_hits": 0, "disk_hits": 0, "disk_errors": 0,
            "programs_loaded": 0}  # fmt: skip


@functools.cache
def version_of(folders: tuple, files: tuple = ()) -> bytes:
    """Stands for parts of the package and the native extension: their files' names, sizes and times
    of change. A version number somebody forgets to raise would let old code pass for new."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    digest = blake2b(digest_size=16)
    for folder in folders:
        digest.update(_native.folder_state(os.path.join(package, folder), folder))
    alone = [os.path.join(package, name) for name in files]
    for path in [*alone, _native.__file__] if files else ():
        info = os.stat(path)
        digest.update(f"{os.path.basename(path)}|{info.st_size}|{info.st_mtime_ns}|".encode())
    return digest.digest()


def key_of(text: str, target: CpuTarget, level: int = 2) -> bytes:
    """The content address of a kernel."""
    digest = blake2b(version_of(GENERATOR), digest_size=20)
    digest.update(f"{target.describe()}|{level}|".encode())
    digest.update(text.encode())
    return digest.digest()


class Code:
    """Machine code in memory: `address` of the entry; kept alive while referenced."""

    __slots__ = ("address", "compile_ns", "key", "region", "size", "source")

    def __init__(self, key, region, offset, source, compile_ns):
        self.key = key
        self.region = region
        self.address = region.address + offset
        self.size = region.size
        self.source = source
        self.compile_ns = compile_ns


def get_code(requests, target: CpuTarget) -> list[Code]:
    """Code for each (text, write_ir, level) request; missing ones are compiled in parallel."""
    keys = [key_of(text, target, level) for text, _, level in requests]
    found: dict[bytes, Code] = {}
    missing: dict[bytes, tuple] = {}
    for key, request in zip(keys, requests, strict=True):
        code = found.get(key) or _regions.get(key)
        if code is not None:
            counters["memory_hits"] += 1
        elif key not in missing:
            code = _from_disk(key)
            if code is None:
                missing[key] = request
            else:
                _remember(code)
        if code is not None:
            found[key] = code
    if missing:
        found.update(_compile_all(missing, target))
    return [found[key] for key in keys]


def _remember(code: Code) -> None:
    """Keeps code for programs to come, within a bound: what has no user is unmapped first."""
    with _lock:
        _regions[code.key] = code
        if len(_regions) > MAX_REGIONS:
            _regions.popitem(last=False)


def _compile_all(missing, target) -> dict[bytes, Code]:
    """Compiles kernels on several threads (LLVM runs without the interpreter's lock)."""
    jobs = list(missing.items())
    results: list = [None] * len(jobs)
    errors: list[BaseException] = []
    positions = iter(range(len(jobs)))

    def work():
        while not errors:
            with _lock:
                position = next(positions, None)
            if position is None:
                return
            try:
                results[position] = _compile(jobs[position], target)
            except BaseException as error:
                errors.append(error)

    count = min(len(jobs), max(1, min(MAX_COMPILERS, _native.num_threads())))
    helpers = [threading.Thread(target=work, name="jitney-compile") for _ in range(count - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]
    for code, blob in results:
        _remember(code)
        write_entry(code.key, blob)
    return {code.key: code for code, _ in results}


def _new_lock() -> None:
    """A child process must not inherit a lock that a thread of its parent held."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def _compile(job, target):
    key, (_, write_ir, level) = job
    begin = time.perf_counter_ns()
    blob, symbols = _native.link_object(llvm.compile_object(write_ir(), target, level))
    offset = symbols["k"]
    took = time.perf_counter_ns() - begin
    counters["compiled"] += 1
    code = Code(key, _native.load_blob(blob), offset, "compiled", took)
    return code, offset.to_bytes(8, "little") + blob


# ---------------------------------------------------------------------- disk
def cache_folder() -> str | None:
    """The folder of the disk cache, made if need be; None if there is none that can be trusted."""
    asked = os.environ.get("JITNEY_CACHE_DIR")
    if asked == "" or not config.enable_compilation_cache.value:
        return None
    given = config.compilation_cache_dir.value
    if asked is None and given and os.path.isabs(given):
        asked = os.path.join(given, "jitney")          # other programs may keep their files there
    folder = asked or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "jitney"
    )
    if not asked and not os.path.isabs(folder):  # no home: "~" stays as it is
        return None
    return folder if _is_private(folder) else None


_trusted: dict[str, bool] = {}


def _is_private(folder: str) -> bool:
    known = _trusted.get(folder)
    if known is None:
        known = _trusted[folder] = _check_private(folder)
    return known


def _check_private(folder: str) -> bool:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        info = os.stat(folder)
    except OSError:
        return False
    if not stat.S_ISDIR(info.st_mode):
        return False
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        return False
    return not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _path(folder: str, key: bytes) -> str:
    name = key.hex()
    return os.path.join(folder, name[:2], name)


def find_code(key: bytes) -> Code | None:
    """A kernel's code if this process or the disk has it."""
    code = _regions.get(key)
    if code is None:
        code = _from_disk(key)
        if code is not None:
            _remember(code)
    return code


def read_entry(key: bytes) -> bytes | None:
    """What is stored under a key; None if there is nothing, or nothing that is whole."""
    folder = cache_folder()
    if folder is None:
        return None
    path = _path(folder, key)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    head = len(FORMAT) + 16
    body = data[head:]
    good = data.startswith(FORMAT) and data[len(FORMAT) : head] == _checksum(key, body)
    if not good or len(body) < 9:
        counters["disk_errors"] += 1
        _quietly(os.unlink, path)
        return None
    return body


def _from_disk(key: bytes) -> Code | None:
    body = read_entry(key)
    if body is None:
        return None
    offset, blob = int.from_bytes(body[:8], "little"), body[8:]
    if offset >= len(blob):
        return None
    counters["disk_hits"] += 1
    return Code(key, _native.load_blob(blob), offset, "disk", 0)


def _checksum(key: bytes, body: bytes) -> bytes:
    return blake2b(body, digest_size=16, key=key).digest()


def write_entry(key: bytes, body: bytes) -> None:
    """Stores an entry; a full disk or a read-only folder only costs the next process a compile."""
    folder = cache_folder()
    if folder is None:
        return
    path = _path(folder, key)
    temporary = None
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        name = f".new-{os.getpid()}-{next(_numbers)}-{time.monotonic_ns()}"
        temporary = os.path.join(os.path.dirname(path), name)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(FORMAT + _checksum(key, body) + body)
        os.replace(temporary, path)
    except OSError:
        counters["disk_errors"] += 1
        if temporary is not None:
            _quietly(os.unlink, temporary)
        return
    _trim_sometimes(folder)


def _quietly(function, *args) -> None:
    try:
        function(*args)
    except OSError:
        pass


_stores_until_trim = 200


def _trim_sometimes(folder: str) -> None:
    global _stores_until_trim
    _stores_until_trim -= 1
    if _stores_until_trim <= 0:
        _stores_until_trim = 200
        trim(folder)


def entries(folder: str) -> list[tuple[float, int, str]]:
    """(time of last use, bytes, path) of every entry."""
    found = []
    for group in os.scandir(folder):
        if not (group.is_dir(follow_symlinks=False) and len(group.name) == 2):
            continue
        for entry in os.scandir(group.path):
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            found.append((max(info.st_atime, info.st_mtime), info.st_size, entry.path))
    return found


def _limit() -> int:
    """The bound on the folder's size; what is not a number of bytes is ignored."""
    asked = os.environ.get("JITNEY_CACHE_BYTES", "").strip()
    if asked.isascii() and asked.isdigit():
        return int(asked)
    given = config.compilation_cache_max_size.value
    return given if given > 0 else DEFAULT_BYTES


def trim(folder: str, limit: int | None = None) -> int:
    """Drops the entries unused for longest until the folder is small enough; returns how many."""
    limit = _limit() if limit is None else limit
    try:
        known = sorted(entries(folder))
    except OSError:
        return 0
    total, dropped = sum(size for _, size, _ in known), 0
    for _, size, path in known:
        if total <= limit:
            break
        _quietly(os.unlink, path)
        total -= size
        dropped += 1
    return dropped
