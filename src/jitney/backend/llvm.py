"""LLVM IR text -> object code: the only file that imports llvmlite.

In: module text and a target. Out: the bytes of a relocatable object. Three calls of LLVM are used
(parse, target machine, emit object) through a handle of our own on llvmlite's shared library, with
one context a module: llvmlite's own wrappers take a global lock, this does not, so independent
kernels compile in parallel. No pass pipeline runs: it was measured to gain nothing on this code.
"""

import contextlib
import ctypes

from ..base.fork_gate import ForkGate
from ..ir.target import CpuTarget

_gate = ForkGate()
_library = None
_idle_machines: dict[tuple[CpuTarget, int], list] = {}


class CompileError(RuntimeError):
    """LLVM refused a module (always a fault of the code generator: please report it)."""


def _load():
    """llvmlite's shared library, its functions declared; done twice in a race, it does no harm."""
    global _library
    import llvmlite.binding as llvm
    from llvmlite.binding import ffi

    for start in ("initialize_native_target", "initialize_native_asmprinter"):
        getattr(llvm, start)()
    # Level 0 allocates registers as higher levels do. Its own way keeps what lives across blocks in
    # memory: a sum of 1000 numbers took six times as long, for a third less of compiling.
    llvm.set_option("jitney", "-optimize-regalloc")
    # Strength reduction of addresses is a third of compiling and gains little: switched off, by one
    # thread of a Zen 3, by turns, 269 programs took .997 of the time, 263 users' 1.000, their first
    # calls .84; with AVX-512 56 programs 1.002. What it did gain codegen writes itself
    # (codegen/lift_addresses.py).
    llvm.set_option("jitney", "-disable-lsr")
    # So is what it does to IR before choosing instructions: 8 hundredths of LLVM's time (99 kernels
    # by turns). By one thread of an Emerald Rapids 53 users' programs take .988 of the time without
    # it, 66 others with AVX2 1.001, one of all 1.06. (Without its order of instructions another 5
    # hundredths, but the 66 take 1.017.)
    llvm.set_option("jitney", "-disable-cgp")
    lib = ctypes.CDLL(ffi.lib._name)
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    signatures = {
        "LLVMPY_ContextCreate": (pointer, []),
        "LLVMPY_ContextDispose": (None, [pointer]),
        "LLVMPY_ParseAssembly": (pointer, [pointer, text, ctypes.POINTER(text)]),
        "LLVMPY_DisposeModule": (None, [pointer]),
        "LLVMPY_TargetMachineEmitToMemory": (
            pointer, [pointer, pointer, ctypes.c_int, ctypes.POINTER(text)],
        ),
        "LLVMPY_GetBufferStart": (pointer, [pointer]),
        "LLVMPY_GetBufferSize": (ctypes.c_size_t, [pointer]),
        "LLVMPY_DisposeMemoryBuffer": (None, [pointer]),
    }  # fmt: skip
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    _library = lib
    return lib


@contextlib.contextmanager
def _machine(target: CpuTarget, level: int):
    """A target machine nobody else uses meanwhile. They are kept for ever and for all threads:
    one made for a thread would be disposed of, under llvmlite's lock, in a child that fork gave
    birth to while another thread held that lock."""
    idle = _idle_machines.setdefault((target, level), [])
    try:
        machine = idle.pop()
    except IndexError:
        import llvmlite.binding as llvm

        machine = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=level, reloc="pic", codemodel="small"
        )
    try:
        yield ctypes.cast(machine._ptr, ctypes.c_void_p)
    finally:
        idle.append(machine)


def compile_object(text: str, target: CpuTarget, level: int = 2) -> bytes:
    """The object code of a module."""
    return _emit(text, target, level, 1)


def assembly_of(text: str, target: CpuTarget, level: int = 2) -> str:
    """The assembly of a module, for people."""
    return _emit(text, target, level, 0).decode()


def _emit(text, target, level, kind) -> bytes:
    with _gate:
        lib = _library or _load()
        with _machine(target, level) as machine:
            return _emit_with(lib, machine, text, kind)


def _emit_with(lib, machine, text, kind) -> bytes:
    error = ctypes.c_char_p()
    context = lib.LLVMPY_ContextCreate()
    try:
        module = lib.LLVMPY_ParseAssembly(context, text.encode(), ctypes.byref(error))
        if not module:
            raise CompileError(f"LLVM could not parse a kernel: {_message(error)}")
        try:
            buffer = lib.LLVMPY_TargetMachineEmitToMemory(
                machine, module, kind, ctypes.byref(error)
            )
            if not buffer:
                raise CompileError(f"LLVM could not compile a kernel: {_message(error)}")
            start, size = lib.LLVMPY_GetBufferStart(buffer), lib.LLVMPY_GetBufferSize(buffer)
            result = ctypes.string_at(start, size)
            lib.LLVMPY_DisposeMemoryBuffer(buffer)
            return result
        finally:
            lib.LLVMPY_DisposeModule(module)
    finally:
        lib.LLVMPY_ContextDispose(context)


def _message(error) -> str:
    return error.value.decode(errors="replace").strip() if error.value else "no message"
