"""What machine class measurements come from: processor, cores, threads. No names, no paths.

In: nothing. Out: `describe()`, and `today()`.
"""

import datetime
import os
import platform
from pathlib import Path


def describe() -> dict:
    """Of the processors this process may use: their model, cores and hardware threads."""
    usable = os.sched_getaffinity(0)
    blocks = [_fields(b) for b in Path("/proc/cpuinfo").read_text().strip().split("\n\n")]
    mine = [b for b in blocks if int(b.get("processor", -1)) in usable] or blocks
    cores = {(b.get("physical id"), b.get("core id", b.get("processor"))) for b in mine}
    vectors = "AVX-512" if "avx512f" in mine[0].get("flags", "").split() else "no AVX-512"
    return {
        "processor": mine[0].get("model name", platform.machine()), "vectors": vectors,
        "family": mine[0].get("cpu family"), "model": mine[0].get("model"),
        "cores": len(cores), "threads": len(usable), "memory_gib": _memory_gib(),
        "system": platform.system(), "python": platform.python_version(),
    }  # fmt: skip


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _memory_gib() -> int:
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)


def text(found: dict) -> str:
    """One line for people."""
    cores, threads = f"{found['cores']} cores", f"{found['threads']} hardware threads"
    which = f"family {found['family']}, model {found['model']}" if found["family"] else "x86-64"
    name = f"{found['processor']} ({which}, {found['vectors']})"
    return f"{name}, {cores}, {threads}, {found['memory_gib']} GiB, {found['system']}"


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()
