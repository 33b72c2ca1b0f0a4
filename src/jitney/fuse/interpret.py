"""The kernel language, executed: plain loops over rows and stages.

In: a Kernel, its live expressions and NumPy arrays for its buffers (flat). Out: the buffers,
written as the kernel writes them. Slow and simple; used to check the code generator on small sizes.
"""

import itertools

import numpy as np

from ..ir import scalar_ops
from ..ir.types import DTYPE_OF_CODE
from .number_slots import SlottedKernel


def interpret_kernel(slotted: SlottedKernel, used, buffers) -> None:
    """Runs a kernel on flat arrays, in place."""
    kernel = slotted.kernel
    for row in itertools.product(*[range(lo.extent) for lo in kernel.rows]):
        bound = dict(zip([lo.variable for lo in kernel.rows], row, strict=True))
        _Row(slotted, used, buffers).run(bound)


class _Row:
    def __init__(self, slotted, used, buffers):
        self.slotted, self.used, self.buffers = slotted, used, buffers
        self.kernel = kernel = slotted.kernel
        self.results: dict = {}
        self.saved = [np.zeros(n + 1, DTYPE_OF_CODE[code]) for code, n in kernel.saved]

    def run(self, bound) -> None:
        for s, stage in enumerate(self.kernel.stages):
            self._stage(s, stage, bound)
        values = self._values(bound)
        for store in self.kernel.stores:
            self._store(store, values, bound)

    def _stage(self, s, stage, bound) -> None:
        if stage.carried:
            return self._register_loop(stage, bound)
        totals: list = [None] * len(stage.reductions)
        for place in self._places(stage, bound):
            values = self._values({**bound, **place})
            for i, r in enumerate(stage.reductions):
                totals[i] = self._combine(r, totals[i], values, {**bound, **place})
            for number, position, expr in stage.saves:
                at = self._index(position, values, {**bound, **place})
                self.saved[number][at] = values[expr.id]
            for store in stage.stores:
                self._store(store, values, {**bound, **place})
        for i, r in enumerate(stage.reductions):
            self.results[s, i] = self._finish(r, totals[i])

    def _register_loop(self, stage, bound) -> None:
        variable, turn = stage.loops[0].variable, 0
        places = [self._index(c.position, {}, bound) for c in stage.carried]
        known = self._values(bound)
        self.carried = [
            self.buffers[c.buffer][at] if c.start is None else known[c.start.id]
            for c, at in zip(stage.carried, places, strict=True)
        ]
        while True:
            here = {**bound, variable: turn}
            if stage.test is None and turn == stage.loops[0].extent:
                break
            values = self._values(here)
            if stage.test is not None:
                self.buffers[stage.flag][0] = values[stage.test.id]
                if not values[stage.test.id]:
                    break
            for store in stage.stores:
                self._store(store, values, here)
            self.carried = [values[c.next.id] for c in stage.carried]
            turn += 1
        for c, at, value in zip(stage.carried, places, self.carried, strict=True):
            self.buffers[c.buffer][at] = value

    def _places(self, stage, bound):
        ranges = []
        for lo in stage.loops:
            first, last = 0, lo.extent
            if lo.chunk_row is not None:
                first = bound[lo.chunk_row] * lo.chunk
                last = min(lo.extent, first + lo.chunk)
            ranges.append(range(first, last))
        for place in itertools.product(*ranges):
            yield dict(zip([lo.variable for lo in stage.loops], place, strict=True))

    def _combine(self, r, total, values, bound):
        element = values[r.expr.id]
        if r.index is not None:
            position = self._index(r.index, values, bound)
            if total is None:
                return element, position
            old, _ = total
            if np.isnan(old) if np.asarray(old).dtype.kind == "f" else False:
                return total
            better = element > old if r.kind == "argmax" else element < old
            return (element, position) if better or element != element else total
        wide = np.float32 if np.asarray(element).dtype.name in ("bfloat16", "float16") else None
        element = np.asarray(element).astype(wide) if wide else element
        start = scalar_ops.identity(r.kind, r.expr.dtype) if total is None else total
        with np.errstate(all="ignore"):
            if r.factor is not None:
                factors = (element, values[r.factor.id], start)
                return np.asarray(scalar_ops.evaluate("fma", r.dtype, factors))[()]
            return scalar_ops.REDUCERS[r.kind](start, element)

    def _finish(self, r, total):
        dtype = DTYPE_OF_CODE[r.dtype]
        if r.index is not None:
            return dtype.type(total[1] if total is not None else 0)
        if total is None:
            return scalar_ops.identity(r.kind, r.dtype)
        return np.asarray(total).astype(dtype)[()]

    def _index(self, affine, values, bound) -> int:
        total = affine[0]
        for atom, coefficient in affine[1]:
            total += coefficient * (bound[atom] if atom >= 0 else int(values[-1 - atom]))
        return total

    def _store(self, store, values, bound) -> None:
        if store.mask is None or values[store.mask.id]:
            self.buffers[store.buffer][self._index(store.position, values, bound)] = values[
                store.expr.id
            ]

    def _values(self, bound) -> dict:
        """Every expression whose loops are all bound and whose stages have run."""
        values: dict = {}
        for x in self.used:
            if x.variables <= bound.keys() and all(a.id in values for a in x.args):
                value = self._expression(x, values, bound)
                if value is not None:
                    values[x.id] = value
        return values

    def _expression(self, x, values, bound):
        dtype = DTYPE_OF_CODE[x.dtype]
        if x.op in ("const", "param"):
            bits = x.attrs[0]
            if x.op == "param":  # its own number is that of the first program with this kernel
                bits = self.slotted.values[int(self.slotted.params[x.id][1:])]
            bits &= (1 << (8 * dtype.itemsize)) - 1
            return np.asarray(bits, f"u{dtype.itemsize}").view(dtype)[()]
        if x.op == "carry":
            return self.carried[x.attrs[0]]
        if x.op == "reduced":
            return self.results.get((x.attrs[0], x.attrs[1]))
        if x.op in ("load", "index", "saved"):
            if any(a < 0 and -1 - a not in values for a, _ in x.attrs[-1][1]):
                return None
            position = self._index(x.attrs[-1], values, bound)
            if x.op == "index":
                return np.asarray(position).astype(dtype)[()]
            source = self.saved if x.op == "saved" else self.buffers
            if x.args and not values[x.args[0].id]:
                return dtype.type(0)
            return source[x.attrs[0]][position]
        args = [values[a.id] for a in x.args]
        return np.asarray(scalar_ops.evaluate(x.op, x.dtype, args))[()]
