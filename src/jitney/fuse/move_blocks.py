"""Small blocks whose elements only change places are moved vector by vector.

In: a kernel that is written out: one row an index of a block, and each of the block's elements.
Out: the same, its `blocks` set if it does nothing but move them: batches of small matrices that are
transposed, the axes of pixels exchanged. Then each block is a few vectors, and what is stored of it
is picked from those by shuffles with constants (codegen/move_blocks.py), where lanes of blocks read
each element of each block from another line: 2343 matrices of 8 x 8 took 190 us.

Of blocks that are shorter than a vector (pixels that are mirrored, some of whose rows or parts are
left out), `blocks` are moved at a time, as many as a vector of the result holds: one shuffle for 15
numbers of mirrored pictures instead of 18 for 48 (rows of 7, mirrored: 94 to 39 us; eight pictures
of 128 x 128 pixels of 3 bytes 17.8 to 7.6).
"""

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from .affine import coefficient_of
from .kernel import SHORT_AXIS, SHORT_ROW, SHORT_STRIDE, Counted, Expr, Kernel, Stream

MOST_ELEMENTS = SHORT_ROW  # of a block
MOST_READ = 2  # vectors of the source, which one shuffle picks from


def move_blocks(kernel: Kernel, used: list[Expr], target: CpuTarget) -> None:
    """See the module's text; `used`: the live expressions."""
    if not _only_moves(kernel, used):
        return
    blocks = int(_are_blocks(kernel, used, target)) or _short_blocks(kernel, used, target)
    if blocks:
        kernel.blocks, kernel.counted, kernel.stream = blocks, Counted.NO, Stream.NONE
    if blocks > 1:  # their distances are written in the code
        first = min((x.attrs[1] for x in used), key=lambda at: at[0])
        kernel.woven = {x.attrs[1]: (first, x.attrs[1][0] - first[0])
                        for x in used if x.attrs[1] != first}  # fmt: skip


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


def _short_blocks(kernel: Kernel, used: list[Expr], target: CpuTarget) -> int:
    """How many blocks of less than half a vector are moved at a time; 0 if one by one, or not by
    vectors. Masks, which the last ones need, are cheap with AVX-512 alone. The step of blocks is
    written in the code, so it must be in the kernel's text, where those of small ones are not."""
    sizes, row = _sizes(kernel), kernel.rows[-1]
    widths = ({1}, {2}, {4}, {8}) if "+avx512vbmi" in target.features else ({2}, {4}, {8})
    step = coefficient_of(used[0].attrs[1], row.variable)
    is_short = -SHORT_AXIS <= step <= SHORT_STRIDE
    if not target.avx512 or kernel.small or sizes not in widths or not is_short:
        return 0
    lanes, count = target.vector_bits // 8 // sizes.pop(), len(kernel.stores)
    places = [x.attrs[1][0] for x in used]
    span = max(places) - min(places) + 1
    together = min(lanes // count, row.extent)
    while together > 1 and (together - 1) * abs(step) + span > MOST_READ * lanes:
        together -= 1
    return together if step and span <= lanes and together > 1 else 0
