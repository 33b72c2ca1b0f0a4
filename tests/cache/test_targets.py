"""The same programs for narrower instruction sets, in processes of their own."""

import os
from pathlib import Path

import numpy as np
import pytest
from cache_runner import Runner

from jitney.backend.host import highest_level, host_target

TESTS = Path(__file__).resolve().parents[1]
FLAGS = next((line for line in Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("flags")), "") if os.path.exists("/proc/cpuinfo") else ""

RANDOM_GRAPHS = """
import sys
sys.path.insert(0, {folder!r})
from random_graphs import RandomGraph
from jitney.testing.stages import check_graph
for seed in [*range(40), *range(1000, 1006)]:
    graph = RandomGraph(seed) if seed < 1000 else RandomGraph(seed, size=10, big=True)
    check_graph(*graph.build(), rtol=2e-3, atol=2e-3)
for code in ("f64", "f16", "bf16", "i8", "u8", "u32", "i64", "u64"):
    check_graph(*RandomGraph(1, size=6, codes=(code, "i32", "b1")).build(), rtol=5e-2, atol=5e-2)
from jitney.backend.host import host_target
print('{{"bits": %d}}' % host_target().vector_bits)
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """results(target): the program table's results for that target."""
    folder, known = tmp_path_factory.mktemp("targets"), {}
    cache = Runner(folder / "cache")

    def of(target):
        if target not in known:
            path = folder / f"{target or 'host'}.npz"
            code = (f"import sys; sys.path.insert(0, {str(TESTS / 'counting')!r}); import json\n"
                    "import numpy as np, programs\n"
                    "programs.PROGRAMS.pop('bfloat16')\n"
                    f"np.savez({str(path)!r}, **programs.as_words(programs.run_all()))\n"
                    "from jitney.backend import object_cache\n"
                    "print(json.dumps(object_cache.counters))")
            counts = cache(code, **({"JITNEY_TARGET": target} if target else {}))
            known[target] = dict(np.load(path)), counts
        return known[target]

    of.cache = cache
    return of


def supported(target):
    return target == "x86-64" or (" avx2" in FLAGS and " fma" in FLAGS)


@pytest.mark.skipif(not FLAGS, reason="not an x86 Linux machine")
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64"])
def test_a_narrower_target_gives_the_same_results(results, target):
    if not supported(target):
        pytest.skip("this processor cannot run it")
    if target == highest_level() == host_target().cpu:
        pytest.skip("this processor is that target")
    want, counts = results("")
    got, other = results(target)
    assert other["compiled"] > 0.8 * counts["compiled"], "entries of another target were used"
    assert sorted(got) == sorted(want)
    for name, b in want.items():
        a = got[name]
        assert a.dtype == b.dtype and a.shape == b.shape, name
        if a.dtype.kind in "iub":
            assert np.array_equal(a, b), name
        else:
            scale = np.abs(b[np.isfinite(b)]).max(initial=1e-3)
            assert np.allclose(a, b, rtol=1e-4, atol=3e-5 * scale, equal_nan=True), name


@pytest.mark.skipif(not FLAGS, reason="not an x86 Linux machine")
@pytest.mark.parametrize(("target", "bits"), [("x86-64-v3", 256), ("x86-64", 128)])
def test_random_graphs_on_a_narrower_target(results, target, bits):
    if not supported(target):
        pytest.skip("this processor cannot run it")
    code = RANDOM_GRAPHS.format(folder=str(TESTS / "fuse"))
    assert results.cache(code, JITNEY_TARGET=target) == {"bits": bits}


def test_random_bits_do_not_depend_on_the_target(results):
    want, _ = results("")
    got, _ = results("x86-64")
    for name in ("bits/0", "permutation/0"):
        assert got[name].tobytes() == want[name].tobytes()


@pytest.mark.parametrize("target", ["x86-64-v4", "x86-64-v3", "x86-64"])
def test_bfloat16_where_there_are_no_instructions(results, target):
    if target == "x86-64-v4" and " avx512vl" not in FLAGS or not supported(target):
        pytest.skip("this processor cannot run it")
    code = (f"import sys; sys.path.insert(0, {str(TESTS / 'counting')!r}); import json, programs\n"
            "print(json.dumps(len(programs.run('bfloat16'))))")
    assert results.cache(code, JITNEY_TARGET=target) == 1


def test_a_target_that_does_not_exist_is_refused(results):
    code = ("import json, jitney\n"
            "try: jitney.jit(lambda x: x + 1)(1.0)\n"
            "except ValueError as error: print(json.dumps(str(error)))")
    assert "x86-64-v3" in results.cache(code, JITNEY_TARGET="pentium")


def test_a_target_beyond_the_processor_is_refused(results):
    """Its instructions would end the process."""
    if highest_level() == "x86-64-v4":
        pytest.skip("this processor has all levels")
    code = ("import json, jitney\n"
            "try: jitney.jit(lambda x: x + 1)(1.0)\n"
            "except ValueError as error: print(json.dumps(str(error)))")
    message = results.cache(code, JITNEY_TARGET="x86-64-v4")
    assert "avx512f" in message and highest_level() in message


@pytest.mark.parametrize("vendor, family, wide, third, far, vectors", [
    ("AuthenticAMD", 26, True, 32 << 20, 33 << 20, 4),
    ("AuthenticAMD", 26, False, 16 << 20, 33 << 19, 4),
    ("AuthenticAMD", 25, True, 32 << 20, 33 << 20, 2),
    ("AuthenticAMD", 25, False, 32 << 20, 22 << 20, 2),
    ("GenuineIntel", 26, True, 32 << 20, 22 << 20, 2),
])  # fmt: skip
def test_where_caches_are_left(monkeypatch, vendor, family, wide, third, far, vectors):
    """A Zen 4 (that has AVX-512, unlike a Zen 3) or 5 keeps results up to the size of its third
    cache."""
    from jitney.backend import host

    flags = "fma" + " avx512f avx512bw avx512cd avx512dq avx512vl" * wide
    text = f"vendor_id\t: {vendor}\ncpu family\t: {family}\nflags\t\t: {flags}\n"
    monkeypatch.setattr(host, "_cpu_text", lambda: text)
    monkeypatch.setattr(host, "_cache_bytes", lambda index, usual: third if index == 3 else usual)
    known = (host._is_zen4, host._is_zen5)
    for one in known:
        one.cache_clear()
    try:
        target = host.target_of_level("x86-64-v3")
    finally:
        for one in known:
            one.cache_clear()
    assert (target.far_bytes, target.vectors_a_cycle) == (far, vectors)


def test_what_is_known_of_this_processor(tmp_path, monkeypatch):
    """Caches of some size; dot products of bfloat16 where they are quick."""
    from jitney.backend import host

    target = host_target()
    assert 8 << 10 <= target.l1_bytes < target.l2_bytes
    assert target.l2_bytes >= 64 << 10
    text = "vendor_id\t: GenuineIntel\nflags\t\t: avx512_bf16 fma\n"
    monkeypatch.setattr(host, "_cpu_text", lambda: text)
    host._is_intel.cache_clear()
    try:
        assert host._cpu_flags() == {"avx512_bf16", "fma"}
        assert not host.target_of_level("x86-64-v4", "+avx512bf16").avx512_bf16
        text = text.replace("GenuineIntel", "AuthenticAMD")
        host._is_intel.cache_clear()
        assert host.target_of_level("x86-64-v4", "+avx512bf16").avx512_bf16
    finally:
        host._is_intel.cache_clear()
