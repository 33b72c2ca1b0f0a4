"""Finds out what this processor is, without importing llvmlite.

Out: a `CpuTarget`. On Linux the flags come from /proc/cpuinfo, so that a process whose kernels are
all cached never pays for LLVM; elsewhere llvmlite is asked once. `JITNEY_TARGET` (x86-64,
x86-64-v3 or x86-64-v4) restricts the instruction set, for portable caches and for tests.
"""

import functools
import os
import platform

from .. import _native
from ..ir.target import CpuTarget

_LEVELS = {
    "x86-64": "",
    "x86-64-v3": "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+sse4.1,+sse4.2,+ssse3,+popcnt",
    "x86-64-v4": "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+sse4.1,+sse4.2,+ssse3,+popcnt,"
    "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl",
}
_EXTRA = {
    "avx512_bf16": "+avx512bf16",
    "avx512_vnni": "+avx512vnni",
    "avx512vbmi": "+avx512vbmi",
    "avx512_vpopcntdq": "+avx512vpopcntdq",
}
_AMX = {"amx_tile": "+amx-tile", "amx_int8": "+amx-int8", "amx_bf16": "+amx-bf16"}
_V3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "sse4_1", "sse4_2", "ssse3", "popcnt"}
_V4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_NEEDED = {"x86-64": frozenset(), "x86-64-v3": _V3, "x86-64-v4": _V3 | _V4}


@functools.cache
def host_target() -> CpuTarget:
    """The target kernels are compiled for; the runtime learns where its caches end."""
    target = _target_of_host()
    _native.set_far_bytes(target.far_bytes)
    return target


def _target_of_host() -> CpuTarget:
    asked = os.environ.get("JITNEY_TARGET")
    if platform.machine() not in ("x86_64", "AMD64"):
        return _target_from_llvm()
    flags = _cpu_flags()
    level = asked or highest_level()
    if level not in _LEVELS:
        raise ValueError(f"JITNEY_TARGET={level!r}: expected one of {', '.join(_LEVELS)}")
    if missing := _NEEDED[level] - flags:
        raise ValueError(
            f"JITNEY_TARGET={level!r} asks for instructions that this processor lacks: "
            f"{', '.join(sorted(missing))}. The most it has is {highest_level()}."
        )
    extra = [feature for flag, feature in _EXTRA.items() if flag in flags]
    features = _LEVELS[level]
    if level == "x86-64-v4" and not asked:
        if flags >= _AMX.keys() and _native.request_tile_registers():
            extra += _AMX.values()
        features = ",".join((features, *extra))
    return target_of_level(level, features)


def highest_level() -> str:
    """The widest of the x86-64 levels whose instructions this processor has."""
    flags = _cpu_flags()
    return next(level for level in reversed(_LEVELS) if flags >= _NEEDED[level])


def target_of_level(level: str, features: str | None = None) -> CpuTarget:
    """The target of one x86-64 level.

    >>> target_of_level("x86-64-v3").vector_bits
    256
    """
    features = _LEVELS[level] if features is None else features
    bits = {"x86-64": 128, "x86-64-v3": 256, "x86-64-v4": 512}[level]
    return CpuTarget(
        cpu=level,
        features=features,
        vector_bits=bits,
        avx512=bits == 512,
        avx2=bits >= 256,
        fma=bits >= 256,
        avx512_bf16="avx512bf16" in features and not _is_intel(),
        avx512_vnni="avx512vnni" in features,
        triple=_triple(),
        l1_bytes=_cache_bytes(0, CpuTarget().l1_bytes),
        l2_bytes=_cache_bytes(2, CpuTarget().l2_bytes),
        vectors_a_cycle=4 if _is_zen5() else CpuTarget().vectors_a_cycle,
        far_bytes=_far_bytes(),
        has_dear_denormals=_is_intel(),
    )


@functools.cache
def _is_intel() -> bool:
    """Whether dot products of bfloat16 take four times as long as multiply-adds, as Emerald Rapids
    does (so half as much is done a cycle as on widened numbers; Zen 4 does them as quickly), and
    operations with denormal numbers a hundred times as long as others (Zen 4 hardly longer)."""
    return "vendor_id\t: GenuineIntel" in _cpu_text()


@functools.cache
def _is_zen5() -> bool:
    """Whether this is a processor of AMD's family 26."""
    text = _cpu_text()
    return "vendor_id\t: AuthenticAMD" in text and "cpu family\t: 26\n" in text


@functools.cache
def _is_zen4() -> bool:
    """Whether this is a processor of AMD's family 25 that has AVX-512."""
    text = _cpu_text()
    is_family = "vendor_id\t: AuthenticAMD" in text and "cpu family\t: 25\n" in text
    return is_family and _V4 <= _cpu_flags()


def _far_bytes() -> int:
    """Where results leave the caches: a Zen 5 keeps all that its third cache holds, and
    goes through it at twice its memory's speed (x + 1 of 16 MiB: 244 us, past the caches 400), a
    Zen 4 as well (one after the other, two threads: 12 MiB 195 and 470 to 500 us, 16 MiB 210 to 310
    and 320 to 620, as the hour is; softmax of 16 MiB 500 to 790 and 325 to 620); others
    have been measured to gain from two thirds of 32 MiB on."""
    if _is_zen4() or _is_zen5():
        third = _cache_bytes(3, CpuTarget().far_bytes)
        return third + third // 32  # as much as it holds, and a little beside it
    return CpuTarget().far_bytes


@functools.cache
def _cache_bytes(index: int, usual: int) -> int:
    """Bytes of a core's first cache of data (index 0), its second (2) or the third (3), as far as
    the system says ("2048K")."""
    try:
        with open(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size") as file:
            text = file.read().strip()
    except OSError:
        text = ""
    units = {"K": 1 << 10, "M": 1 << 20}
    if text[:-1].isdigit() and text[-1] in units:
        return int(text[:-1]) * units[text[-1]]
    return usual


def _triple() -> str:
    system = platform.system()
    arch = "x86_64" if platform.machine() in ("x86_64", "AMD64") else platform.machine()
    return {"Darwin": f"{arch}-apple-darwin", "Windows": f"{arch}-pc-windows-msvc"}.get(
        system, f"{arch}-unknown-linux-gnu"
    )


def _cpu_flags() -> frozenset:
    for line in _cpu_text().splitlines():
        if line.startswith("flags"):
            return frozenset(line.split(":", 1)[1].split())
    return _flags_from_llvm()


@functools.cache
def _cpu_text() -> str:
    """What Linux says of the first processors."""
    try:
        with open("/proc/cpuinfo") as file:
            return file.read(1 << 13)
    except OSError:
        return ""


def _flags_from_llvm() -> frozenset:
    import llvmlite.binding as llvm

    names = {"sse4.1": "sse4_1", "sse4.2": "sse4_2", "bmi": "bmi1"}
    found = llvm.get_host_cpu_features()
    return frozenset(names.get(k, k) for k, on in found.items() if on)


def _target_from_llvm() -> CpuTarget:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return CpuTarget(
        arch=platform.machine(),
        cpu=llvm.get_host_cpu_name(),
        features=features,
        vector_bits=128,
        fma=True,
        triple=llvm.get_default_triple(),
    )
