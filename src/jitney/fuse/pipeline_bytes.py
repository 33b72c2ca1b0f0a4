"""How much memory rows in a pipeline take at a time.

In: a kernel whose stages have one loop each, and its live expressions. Out: `bytes_in_pipeline`.
"""

from ..ir.types import nbytes_of
from .kernel import Expr, Kernel


def bytes_in_pipeline(kernel: Kernel, used: list[Expr]) -> int:
    """Of all rows that the stages read, save and store at a time."""
    elements = 0
    for stage in kernel.stages:
        variable = stage.loops[0].variable
        read = {x.attrs[0] for x in used if x.op == "load" and variable in x.variables}
        elements += sum(nbytes_of(kernel.buffers[n][0]) for n in read)
        elements += sum(nbytes_of(x.dtype) for _, _, x in stage.saves)
        elements += sum(nbytes_of(kernel.buffers[store.buffer][0]) for store in stage.stores)
    return elements * kernel.stages[0].loops[0].extent
