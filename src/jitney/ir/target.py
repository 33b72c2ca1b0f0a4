"""`CpuTarget`: what the planner and the code generator need to know of a processor, as pure data.

Detection is in `backend/host.py`; tests make targets of their own. Part of every kernel's key.
"""

from typing import NamedTuple


class CpuTarget(NamedTuple):
    """One instruction set with the sizes that matter to schedules.

    `vector_bits` is the width of the registers used; `cpu` and `features` go to LLVM as they are.
    `avx512_bf16`: there are dot products of bfloat16, and they are quick.
    `vectors_a_cycle`: so many instructions on whole vectors begin in one. `far_bytes`: kernels that
    read and write so much leave no results in the caches, and write them past these.
    `has_dear_denormals`: an operation with one takes some 150 cycles.
    """

    arch: str = "x86_64"
    cpu: str = "x86-64"
    features: str = ""
    vector_bits: int = 128
    avx512: bool = False
    avx2: bool = False
    fma: bool = False
    avx512_bf16: bool = False
    avx512_vnni: bool = False
    triple: str = "x86_64-unknown-linux-gnu"
    l1_bytes: int = 32 << 10
    l2_bytes: int = 1 << 20
    vectors_a_cycle: int = 2
    far_bytes: int = 22 << 20
    has_dear_denormals: bool = False

    @property
    def amx(self) -> bool:
        """Whether registers hold tiles of matrices, and this process may use them."""
        return "+amx-int8" in self.features and "+amx-bf16" in self.features

    @property
    def lanes32(self) -> int:
        """Lanes of a vector of 32-bit elements."""
        return self.vector_bits // 32

    @property
    def has_dear_masks(self) -> bool:
        """Whether masks are vectors, and a masked store takes some 20 cycles (most with AVX2)."""
        return self.avx2 and not self.avx512

    @property
    def has_far_third_cache(self) -> bool:
        """Whether a third cache answers late, as behind second caches of 2 MiB: stores then wait
        for their lines, unless these are asked for (an Emerald Rapids)."""
        return self.l2_bytes >= 2 << 20

    @property
    def looks_up_powers(self) -> bool:
        """Whether exponentials of float32 look powers of two up in registers, and may be of what
        lies near a guess (codegen/math/exponential.py)."""
        return self.avx512 or (self.avx2 and self.fma)

    def moves_vectors(self, nbytes: int) -> bool:
        """Whether elements of so many bytes that lie a short step apart are moved by vectors and
        shuffles (others one by one)."""
        return self.avx512 or (self.avx2 and nbytes >= 4)

    def describe(self) -> str:
        """The text that enters kernel keys."""
        widths = f"{self.vector_bits}/{self.vectors_a_cycle}{'/far' * self.has_far_third_cache}"
        widths += "/denormals" * self.has_dear_denormals
        return f"{self.arch}/{self.cpu}/{widths}/{self.features}"
