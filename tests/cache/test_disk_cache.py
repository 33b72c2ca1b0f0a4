"""Machine code on disk: used by the next process, never trusted when it may be wrong."""

import os
import shutil
import stat

import pytest
from cache_runner import PROGRAM, Runner

from jitney.backend import object_cache


def test_the_next_process_compiles_nothing(cache):
    first = cache()
    assert first["compiled"] > 2 and first["llvmlite"] and first["disk_errors"] == 0
    assert len(cache.entries()) == first["compiled"] and not cache.temporaries()
    second = cache()
    assert second["sum"] == first["sum"]
    assert second["compiled"] == 0 and second["disk_hits"] == first["compiled"]
    assert not second["llvmlite"] and not second["scipy"]


def test_import_needs_neither_llvmlite_nor_scipy(cache):
    code = ("import sys, json, jitney, jitney.numpy, jitney.lax, jitney.random, jitney.nn\n"
            "print(json.dumps({n: n in sys.modules for n in ('llvmlite', 'scipy', 'jax')}))")
    assert cache(code) == {"llvmlite": False, "scipy": False, "jax": False}


def damage_empty(data):
    return b""


def damage_cut(data):
    return data[: len(data) // 2]


def damage_cut_short(data):
    return data[:10]


def damage_flip(data):
    middle = len(data) * 3 // 4
    return data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]


def damage_longer(data):
    return data + b"\x00"


def damage_other_format(data):
    return b"jitney-blob-1\n" + data[14:]


def damage_text(data):
    return b"<html>not found</html>"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Entries of one run: [(key, bytes)]."""
    cache = Runner(tmp_path_factory.mktemp("stored") / "cache")
    cache()
    return [(bytes.fromhex(p.name), p.read_bytes()) for p in cache.entries()]


@pytest.mark.parametrize("damage", [
    damage_empty, damage_cut, damage_cut_short, damage_flip, damage_longer, damage_other_format,
    damage_text])
def test_damaged_entries_are_refused_and_removed(stored, damage, tmp_path, monkeypatch):
    monkeypatch.setenv("JITNEY_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    for key, data in stored:
        path = tmp_path / key.hex()[:2] / key.hex()
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        assert object_cache._from_disk(key).source == "disk"
        path.write_bytes(damage(data))
        assert object_cache._from_disk(key) is None
        assert not path.exists()


def test_any_changed_byte_is_noticed(stored, tmp_path, monkeypatch):
    monkeypatch.setenv("JITNEY_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    key, data = stored[0]
    path = tmp_path / key.hex()[:2] / key.hex()
    path.parent.mkdir()
    for where in {*range(60), *range(60, len(data), 97)} & {*range(len(data))}:
        path.write_bytes(data[:where] + bytes([data[where] ^ 1]) + data[where + 1 :])
        assert object_cache._from_disk(key) is None


def test_damaged_entries_are_compiled_again(cache):
    first = cache()
    for path in cache.entries():
        path.write_bytes(damage_flip(path.read_bytes()))
    second = cache()
    assert second["sum"] == first["sum"] and second["compiled"] == first["compiled"]
    assert second["disk_errors"] == first["compiled"]
    assert cache()["compiled"] == 0


def test_entries_that_are_folders_or_links_to_nowhere(cache):
    first = cache()
    a, b, *_ = cache.entries()
    a.unlink()
    a.mkdir()
    b.unlink()
    b.symlink_to("/nonexistent/file")
    assert cache()["sum"] == first["sum"]
    assert cache()["sum"] == first["sum"]


def test_an_entry_under_another_name_is_not_used(cache):
    """A checksum proves that a blob is whole, not that it is the one asked for."""
    first = cache()
    paths = cache.entries()
    blobs = [p.read_bytes() for p in paths]
    for path, blob in zip(paths, blobs[1:] + blobs[:1], strict=True):
        path.write_bytes(blob)
    second = cache()
    assert second["sum"] == first["sum"] and second["compiled"] == first["compiled"]


def test_an_empty_name_turns_it_off(cache):
    done = cache(JITNEY_CACHE_DIR="", XDG_CACHE_HOME=str(cache.folder), HOME=str(cache.folder))
    assert done["compiled"] and not cache.folder.exists()


def test_the_default_folder(cache, tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path / "xdg"), "HOME": str(tmp_path / "home")}
    first = cache(remove=["JITNEY_CACHE_DIR"], **env)
    folder = tmp_path / "xdg" / "jitney"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.glob("??/*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert cache(remove=["JITNEY_CACHE_DIR"], **env)["disk_hits"] == first["compiled"]
    cache(remove=["JITNEY_CACHE_DIR", "XDG_CACHE_HOME"], HOME=str(tmp_path / "home"))
    assert (tmp_path / "home" / ".cache" / "jitney").is_dir()


def test_without_a_home(cache, tmp_path):
    (tmp_path / "file").write_text("no folder")
    done = cache(remove=["JITNEY_CACHE_DIR", "XDG_CACHE_HOME"], HOME=str(tmp_path / "file/home"),
                 cwd=tmp_path)
    assert done["compiled"] and not (tmp_path / "~").exists()


def test_a_user_unknown_to_the_system_gets_no_folder_called_tilde(cache, tmp_path):
    code = "import os, pwd\nos.environ.pop('HOME', None)\n" \
           "def unknown(uid): raise KeyError(uid)\npwd.getpwuid = unknown\n" + PROGRAM
    done = cache(code, remove=["JITNEY_CACHE_DIR", "XDG_CACHE_HOME", "HOME"], cwd=tmp_path)
    assert done["compiled"] and not (tmp_path / "~").exists()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_others_may_write_to_is_not_used(cache, mode):
    cache.folder.mkdir()
    cache.folder.chmod(mode)
    for _ in range(2):
        done = cache()
        assert done["compiled"] and not done["disk_hits"]
    assert not list(cache.folder.iterdir())


def test_a_folder_of_someone_else_is_not_used(cache):
    code = "import os\nreal = os.getuid()\nos.getuid = lambda: real + 1\n" + PROGRAM
    first = cache()
    done = cache(code)
    assert done["compiled"] == first["compiled"] and done["disk_hits"] == 0


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_read(cache):
    first = cache()
    shutil.rmtree(cache.entries()[0].parent)
    for group in cache.folder.iterdir():
        group.chmod(0o500)
    cache.folder.chmod(0o500)
    try:
        second = cache()
    finally:
        cache.folder.chmod(0o700)
    assert second["sum"] == first["sum"]
    assert second["disk_hits"] and second["compiled"] and second["disk_errors"]


READ_ONLY = """
import errno, os
real = os.open
def refuse(path, flags, *rest, **more):
    if flags & os.O_CREAT:
        raise OSError(errno.EROFS, "Read-only file system", path)
    return real(path, flags, *rest, **more)
os.open = refuse
"""
FULL_DISK = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
"""


@pytest.mark.parametrize("trouble", [READ_ONLY, FULL_DISK])
def test_what_cannot_be_written_costs_only_a_compile(cache, trouble):
    cache.folder.mkdir(mode=0o700)
    done = cache(trouble + PROGRAM)
    assert done["compiled"] and done["disk_errors"] == done["compiled"]
    assert not cache.entries() and not cache.temporaries()
    assert cache()["sum"] == done["sum"]


def test_the_folder_is_a_file_or_cannot_be_made(cache, tmp_path):
    cache.folder.write_text("a file")
    assert cache()["compiled"]
    assert cache.folder.read_text() == "a file"
    assert cache(JITNEY_CACHE_DIR="/proc/nothing/here")["compiled"]
    assert cache(JITNEY_CACHE_DIR=str(tmp_path / "c\u00e4che \u2603"))["compiled"]


def test_four_processes_at_once(cache):
    running = [cache.start() for _ in range(4)]
    results = []
    for process in running:
        out, err = process.communicate(timeout=120)
        results.append(cache.read(process.returncode, out, err))
    assert len({r["sum"] for r in results}) == 1
    assert all(r["disk_errors"] == 0 for r in results)
    assert not cache.temporaries()
    assert cache()["compiled"] == 0


def test_a_process_that_finds_the_folder_gone(cache):
    code = PROGRAM + """
import shutil
shutil.rmtree(os.environ["JITNEY_CACHE_DIR"])
print(json.dumps({"again": float(jitney.jit(lambda x: jnp.tan(x) - 3)(0.0))}))
"""
    assert cache(code) == {"again": -3.0}


@pytest.mark.parametrize("limit", ["20000", "0", "nonsense", "-5", ""])
def test_the_size_is_bounded(cache, limit):
    code = PROGRAM + """
for i in range(4):
    jitney.jit(lambda x: (x[:, None] - x[None]).argmax(i % 2) + x[i] ** i)(x)
object_cache.trim(object_cache.cache_folder())
print(json.dumps({"bytes": sum(size for _, size, _ in
                               object_cache.entries(object_cache.cache_folder()))}))
"""
    used = cache(code, JITNEY_CACHE_BYTES=limit)["bytes"]
    if limit in ("20000", "0"):
        assert used <= int(limit)
    else:
        assert used > 0                        # what makes no sense is not obeyed


def test_trimming_drops_what_was_unused_for_longest(cache):
    cache()
    paths = cache.entries()
    for age, path in enumerate(paths):
        os.utime(path, (1e9 - 1000 * age, 1e9 - 1000 * age))
    total = sum(p.stat().st_size for p in paths)
    dropped = object_cache.trim(str(cache.folder), total - 1)
    assert dropped == 1 and cache.entries() == paths[:-1]
    assert object_cache.trim(str(cache.folder), 0) == len(paths) - 1
    assert object_cache.trim(str(cache.folder / "missing"), 0) == 0


def test_a_kernel_in_use_survives_trimming(cache):
    code = PROGRAM + """
f = jitney.jit(lambda x: jnp.cosh(x) - x)
want = f(x).tolist()
object_cache.trim(object_cache.cache_folder(), 0)
print(json.dumps({"same": f(x).tolist() == want, "left": len(object_cache.entries(
    object_cache.cache_folder()))}))
"""
    assert cache(code) == {"same": True, "left": 0}


FORK = PROGRAM + """
import threading, warnings
warnings.simplefilter("ignore")
stop = False

def compile_much():
    n = 0
    while not stop:
        n += 1
        jitney.clear_caches()
        shape = (n % 7 + 1, n % 5 + 1, n % 3 + 1)
        jitney.jit(lambda x: jnp.exp(x).sum(n % 3) - x.max() + n)(jnp.ones(shape))

busy = threading.Thread(target=compile_much)
busy.start()
good = 0
for k in range(12):
    child = os.fork()
    if child == 0:
        import signal
        signal.alarm(20)
        y = jitney.jit(lambda x: jnp.tanh(x) * k + x[::-1] - k)(x)
        os._exit(0 if abs(float(y[0]) - (36 - k)) < 1e-5 else 1)
    good += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop = True
busy.join()
print(json.dumps({"good": good}))
"""


def test_fork_while_another_thread_compiles(cache):
    assert cache(FORK, JITNEY_CACHE_DIR="") == {"good": 12}


def test_fork_before_anything_was_compiled(cache):
    code = """
import os, json, jitney, jitney.numpy as jnp
child = os.fork()
f = jitney.jit(lambda x: jnp.sin(x) + 1)
if child == 0:
    os._exit(0 if float(f(0.0)) == 1 else 1)
good = float(f(0.0)) == 1 and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(json.dumps({"good": good}))
"""
    assert cache(code)["good"]


def test_interrupted_writes_leave_nothing_that_is_used(cache):
    """A process killed between writing and renaming."""
    first = cache()
    path = cache.entries()[0]
    path.rename(path.with_name(".new-1-2-3"))
    second = cache()
    assert second["compiled"] == 1 and second["sum"] == first["sum"]


def test_switches_move_bound_and_stop_the_cache(tmp_path, monkeypatch):
    from jitney.backend import object_cache
    from jitney.base import config

    monkeypatch.delenv("JITNEY_CACHE_DIR", raising=False)
    monkeypatch.delenv("JITNEY_CACHE_BYTES", raising=False)
    with config.compilation_cache_dir(str(tmp_path)):
        assert object_cache.cache_folder() == str(tmp_path / "jitney")
        with config.enable_compilation_cache(False):
            assert object_cache.cache_folder() is None
        with config.compilation_cache_max_size(12345):
            assert object_cache._limit() == 12345
        monkeypatch.setenv("JITNEY_CACHE_DIR", str(tmp_path / "own"))
        assert object_cache.cache_folder() == str(tmp_path / "own")
