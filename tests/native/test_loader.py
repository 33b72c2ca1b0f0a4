"""Linker and loader: real objects run, foreign and damaged ones give ValueError."""

import ctypes
import gc
import os
import random
import subprocess
import sys

import pytest

from jitney import _native as native

llvm = pytest.importorskip("llvmlite.binding")

SOURCE = """
define void @add_table(i8** %ptrs, i64* %params, i64 %lo, i64 %hi) {
entry:
  %slot = bitcast i8** %ptrs to i64**
  %p = load i64*, i64** %slot
  %sum = add i64 %lo, %hi
  %row = and i64 %sum, 3
  %at = getelementptr [4 x i64], [4 x i64]* @table, i64 0, i64 %row
  %t = load i64, i64* %at
  %r = call i64 @helper(i64 %t)
  store i64 %r, i64* %p
  ret void
}
define i64 @helper(i64 %x) noinline {
  %y = add i64 %x, 1
  ret i64 %y
}
@table = private unnamed_addr constant [4 x i64] [i64 10, i64 20, i64 30, i64 40], align 32
"""


def compile_text(text, triple="x86_64-unknown-linux-gnu", model="small"):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(reloc="pic", codemodel=model, opt=1)
    module = llvm.parse_assembly(text)
    module.triple = triple
    return machine.emit_object(module)


@pytest.fixture(scope="module")
def obj():
    return compile_text(SOURCE)


def call(region, offset, lo, hi):
    fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
        region.address + offset
    )
    out = ctypes.c_int64(0)
    ptrs = (ctypes.c_void_p * 1)(ctypes.addressof(out))
    fn(ptrs, None, lo, hi)
    return out.value


@pytest.mark.skipif(sys.platform != "linux", reason="x86-64 Linux code")
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x86-64 Linux code")
def test_link_load_run(obj):
    blob, symbols = native.link_object(obj)
    assert set(symbols) == {"add_table", "helper"}
    region = native.load_blob(blob)
    assert region.size == len(blob) and region.address % 4096 == 0
    assert [call(region, symbols["add_table"], i, 0) for i in range(4)] == [11, 21, 31, 41]
    assert native.link_object(bytearray(obj)) == (blob, symbols)


def test_mappings_are_executable_not_writable_and_dropped(obj):
    blob, _ = native.link_object(obj)
    region = native.load_blob(blob)
    address = region.address

    def rights():
        """Of the mapping around the address: neighbours with the same rights are listed as one."""
        with open("/proc/self/maps") as f:
            for line in f:
                span, allowed = line.split()[:2]
                first, end = (int(part, 16) for part in span.split("-"))
                if first <= address < end:
                    return allowed
        return ""

    assert rights().startswith("r-xp")
    del region
    gc.collect()
    assert not rights().startswith("r-xp")


def test_clear_errors(obj):
    head = "define i64 @helper(i64 %x) noinline {"
    external = SOURCE.replace(head, "declare i64 @helper(i64)\n;")
    external = external.replace("  %y = add i64 %x, 1\n  ret i64 %y\n}\n", "")
    with pytest.raises(ValueError, match="external symbol 'helper'"):
        native.link_object(compile_text(external))
    with pytest.raises(ValueError, match="aarch64 is not supported yet"):
        native.link_object(compile_text(SOURCE, "aarch64-unknown-linux-gnu"))
    with pytest.raises(ValueError, match="relocation type"):
        native.link_object(compile_text(SOURCE, model="large"))
    with pytest.raises(ValueError, match="writable data"):
        native.link_object(compile_text(SOURCE + "@state = global i64 7\n"))
    for nonsense in [b"", b"\x7fELF", b"x" * 200, obj[:64], b"\x7fELF" + bytes(60)]:
        with pytest.raises(ValueError, match="cannot link object"):
            native.link_object(nonsense)
    with pytest.raises(ValueError, match="no code"):
        native.link_object(compile_text("@x = external global i64\n"))
    with pytest.raises(TypeError):
        native.link_object("text")
    with pytest.raises(ValueError):
        native.load_blob(b"")


FUZZ = """
import random, sys
from jitney import _native as n
obj = open(sys.argv[1], "rb").read()
rng = random.Random(int(sys.argv[2]))
refused = 0
table = int.from_bytes(obj[40:48], "little")
for _ in range(6000):
    bad = bytearray(obj)
    for _ in range(rng.randrange(1, 6)):
        kind = rng.randrange(4)
        if kind == 0: bad[rng.randrange(len(bad))] = rng.randrange(256)
        elif kind == 1: bad[rng.randrange(64)] ^= 1 << rng.randrange(8)
        elif kind == 2:  # a field of the section table, made huge or small
            at = rng.randrange(table, len(bad) - 8)
            ones = b"\\xff" * 7
            fields = [ones + b"\\xff", bytes(8), ones + b"\\x7f", rng.randbytes(8)]
            bad[at:at + 8] = rng.choice(fields)
        else: del bad[rng.randrange(len(bad)):]
        if len(bad) < table + 64: break
    try: n.link_object(bytes(bad))
    except ValueError: refused += 1
assert refused > 100
print("done")
"""


@pytest.mark.parametrize("seed", [0, 1])
def test_damaged_objects_never_crash(obj, tmp_path, seed):
    path = tmp_path / "object.o"
    path.write_bytes(obj)
    command = [sys.executable, "-c", FUZZ, str(path), str(seed)]
    out = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert out.returncode == 0 and "done" in out.stdout, out.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="perf maps")
def test_perf_map(obj, monkeypatch):
    path = f"/tmp/perf-{os.getpid()}.map"
    monkeypatch.setenv("JITNEY_PERF_MAP", "1")
    blob, symbols = native.link_object(obj)
    region = native.load_blob(blob, symbols)
    other = native.load_blob(blob, "whole kernel")
    with open(path) as f:
        lines = [line.split(maxsplit=2) for line in f]
    os.unlink(path)
    assert [(int(a, 16), name.strip()) for a, _, name in lines] == [
        *[(region.address + offset, name) for name, offset in symbols.items()],
        (other.address, "whole kernel"),
    ]


def test_many_regions(obj):
    blob, symbols = native.link_object(obj)
    regions = [native.load_blob(blob) for _ in range(200)]
    random.Random(0).shuffle(regions)
    while regions:
        regions.pop()
