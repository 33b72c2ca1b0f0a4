"""Small blocks whose elements only change places are moved vector by vector.

In: a kernel that is written out: one row an index of a block, and each of the block's elements.
Out: the same, its `blocks` set if it does nothing but move them: batches of small matrices that are
transposed, the axes of pixels exchanged. Then each block is a few vectors, and what is stored of it
is picked from those by shuffles with constants (codegen/move_blocks.py), where lanes of blocks read
each element of each block from another line: 2343 matrices of 8 x 8 took 190 us.
"""

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from .affine import coefficient_of
from .kernel import SHORT_ROW, SHORT_STRIDE, Counted, Expr, Kernel, Stream

MOST_ELEMENTS = SHORT_ROW  # of a block


def move_blocks(kernel: Kernel, used: list[Expr], target: CpuTarget) -> None:
    """See the module's text; `used`: the live expressions."""
    if not _only_moves(kernel, used):
        return
    if _are_blocks(kernel, used, target):
        kernel.blocks, kernel.counted, kernel.stream = 1, Counted.NO, Stream.NONE


def block_lanes(least: int, size: int, target: CpuTarget) -> int:
    """Elements of a vector by which blocks are moved, of elements of `size` bytes and so many of
    them at least: half a vector of words may be all that a block has."""
    lanes = target.vector_bits // 8 // size
    while lanes > least and least > SHORT_STRIDE:
        lanes //= 2
    return lanes


def _only_moves(kernel: Kernel, used: list[Expr]) -> bool:
    """Whether all elements of the rows of one result come from one array."""
    if kernel.lane != "row" or kernel.stages or len(kernel.stores) < 2:
        return False
    if any(x.op != "load" or x.args for x in used) or any(s.mask for s in kernel.stores):
        return False
    row, count = kernel.rows[-1].variable, len(kernel.stores)
    sources = {(x.attrs[0], x.attrs[1][1]) for x in used}
    results = {(store.buffer, store.position[1]) for store in kernel.stores}
    if len(sources) > 1 or len(results) > 1 or any(atom < 0 for _, t in sources for atom, _ in t):
        return False
    written = sorted(store.position[0] for store in kernel.stores)
    is_whole = coefficient_of(kernel.stores[0].position, row) == count
    return is_whole and written == list(range(count))


def _sizes(kernel: Kernel) -> set[int]:
    return {nbytes_of(code) for code, _ in kernel.buffers}


def _are_blocks(kernel: Kernel, used: list[Expr], target: CpuTarget) -> bool:
    widths = ({2}, {4}, {8}) if target.avx512 else ({4}, {8})  # AVX2 shuffles no words
    sizes = _sizes(kernel)
    if sizes not in widths:
        return False
    places = [x.attrs[1][0] for x in used]
    step = coefficient_of(used[0].attrs[1], kernel.rows[-1].variable)
    count, span = len(kernel.stores), max(places) + 1
    least = block_lanes(min(count, span), sizes.pop(), target)
    return (
        min(places) >= 0 and least <= span <= step <= MOST_ELEMENTS
        and least <= count <= MOST_ELEMENTS
    )  # fmt: skip
