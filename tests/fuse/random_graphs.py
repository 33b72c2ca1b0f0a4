"""Random graphs: a seeded generator of programs over small arrays, for property tests."""

import numpy as np

from jitney.graph.graph import GraphBuilder
from jitney.ir.types import DTYPE_OF_CODE, kind_of

_FLOAT_UNARY = ("neg", "abs", "floor", "sqrt", "exp", "tanh", "sin", "log1p")
_BINARY = ("add", "sub", "mul", "max", "min")


class RandomGraph:
    """`build()` and `build_joined()` give (graph, table, inputs)."""

    def __init__(self, seed, size=12, codes=("f32", "i32", "b1"), big=False):
        self.rng = np.random.default_rng(seed)
        self.size, self.codes = size, codes
        self.extents = (1, 2, 3, 17, 70, 300) if big else (0, 1, 2, 3, 5, 17, 33)
        self.g = GraphBuilder()
        self.pool, self.inputs = [], []

    def pick(self, options):
        return options[self.rng.integers(len(options))]

    def build(self):
        for _ in range(self.rng.integers(1, 4)):
            self.new_input()
        for _ in range(self.size):
            self.step()
        count = self.rng.integers(1, 4)
        outputs = [self.pick(self.pool[-6:]) for _ in range(count)]
        return self.g.finish(outputs, "random"), self.g.table, self.inputs

    def build_joined(self):
        """As `build`, but the first output has several of the values one after the other, or sums
        and greatest ones of them: as gradients of all parameters have."""
        self.new_input()
        for _ in range(self.size):
            self.step()
        code = self.pick([x.dtype for x in self.pool])
        pool = [x for x in self.pool if x.dtype == code]
        pool += [r for x in pool[-6:] for r in (self.reduce(x), self.reduce(x)) if r is not None]
        pool = [x for x in pool if x.dtype == code]
        parts = [self.pick(pool) for _ in range(self.rng.integers(2, 10))]
        joined = self.g.concat([self.g.reshape(x, (x.size,)) for x in parts], 0)
        outputs = [joined, self.pick(self.pool[-6:])]
        return self.g.finish(outputs, "joined"), self.g.table, self.inputs

    def new_input(self):
        rank = int(self.rng.integers(0, 4))
        shape = tuple(int(self.pick(self.extents)) for _ in range(rank))
        if np.prod(shape) > 40000:
            shape = shape[:1]
        code = self.pick(self.codes)
        self.pool.append(self.g.input(shape, code))
        values = self.rng.normal(size=shape) * 3
        if code == "b1":
            values = values > 0
        self.inputs.append(np.asarray(values).astype(DTYPE_OF_CODE[code]))

    def step(self):
        x = self.pick(self.pool)
        made = self.pick((
            self.unary, self.binary, self.binary, self.view, self.view, self.reduce,
            self.broadcast, self.convert, self.select, self.joined, self.dynamic,
        ))(x)  # fmt: skip
        if made is not None and made.size <= 60000:
            self.pool.append(made)

    def unary(self, x):
        if kind_of(x.dtype) == "f":
            op = self.pick(_FLOAT_UNARY)
            if op in ("sqrt", "log1p"):
                x = self.g.ew("abs", x)
            if op == "exp":
                x = self.g.ew("min", x, self.g.full(3.0, x.shape, x.dtype))
            return self.g.ew(op, x)
        return self.g.ew("not", x) if x.dtype == "b1" else self.g.ew("neg", x)

    def binary(self, x):
        partners = [y for y in self.pool if y.shape == x.shape and y.dtype == x.dtype]
        y = self.pick(partners)
        if x.dtype == "b1":
            return self.g.ew(self.pick(("and", "or", "xor")), x, y)
        if kind_of(x.dtype) == "i" and self.rng.random() < 0.3:
            return self.g.ew(self.pick(("div", "rem")), x, y)
        if self.rng.random() < 0.2:
            return self.g.compare(self.pick(("lt", "eq", "ge")), x, y)
        return self.g.ew(self.pick(_BINARY), x, y)

    def select(self, x):
        masks = [m for m in self.pool if m.shape == x.shape and m.dtype == "b1"]
        if not masks:
            return None
        partners = [y for y in self.pool if y.shape == x.shape and y.dtype == x.dtype]
        return self.g.select(self.pick(masks), x, self.pick(partners))

    def convert(self, x):
        return self.g.convert(x, self.pick(self.codes))

    def view(self, x):
        rank = len(x.shape)
        if rank == 0:
            return None
        kind = self.pick(("transpose", "reverse", "slice", "pad", "reshape", "flat"))
        if kind == "transpose":
            return self.g.transpose(x, self.rng.permutation(rank).tolist())
        if kind == "reverse":
            return self.g.reverse(x, [int(self.rng.integers(rank))])
        if kind == "slice":
            lows = [int(self.rng.integers(0, n + 1)) for n in x.shape]
            highs = [int(self.rng.integers(lo, n + 1)) for lo, n in zip(lows, x.shape, strict=True)]
            steps = [int(self.rng.integers(1, 4)) for _ in x.shape]
            return self.g.slice(x, lows, highs, steps)
        if kind == "pad":
            low = [int(self.rng.integers(-1, 3)) if n else 0 for n in x.shape]
            high = [int(self.rng.integers(0, 3)) for n in x.shape]
            return self.g.pad(x, self.g.lit(1, x.dtype), low, high)
        if kind == "flat":
            return self.g.reshape(x, (x.size,))
        i = int(self.rng.integers(rank))
        n = x.shape[i]
        factors = [d for d in (2, 3, 5) if n and n % d == 0]
        if not factors:
            return self.g.reshape(x, x.shape[:i] + (1,) + x.shape[i:])
        d = int(self.pick(factors))
        return self.g.reshape(x, x.shape[:i] + (d, n // d) + x.shape[i + 1 :])

    def reduce(self, x):
        rank = len(x.shape)
        if rank == 0:
            return None
        count = int(self.rng.integers(1, rank + 1))
        axes = sorted(self.rng.permutation(rank)[:count].tolist())
        if x.dtype == "b1":
            return self.g.reduce(self.pick(("or", "and")), x, axes)
        if self.rng.random() < 0.2 and all(x.shape):
            return self.g.argreduce(self.pick(("argmax", "argmin")), x, axes[0], "i32")
        return self.g.reduce(self.pick(("sum", "max", "min")), x, axes)

    def broadcast(self, x):
        if len(x.shape) > 3:
            return None
        position = int(self.rng.integers(0, len(x.shape) + 1))
        extent = int(self.pick(self.extents))
        shape = x.shape[:position] + (extent,) + x.shape[position:]
        dims = [d if d < position else d + 1 for d in range(len(x.shape))]
        return self.g.broadcast(x, shape, dims)

    def joined(self, x):
        if not x.shape:
            return None
        axis = int(self.rng.integers(len(x.shape)))
        partners = [
            y for y in self.pool
            if y.dtype == x.dtype and len(y.shape) == len(x.shape)
            and x.shape[:axis] == y.shape[:axis] and x.shape[axis + 1 :] == y.shape[axis + 1 :]
        ]  # fmt: skip
        return self.g.concat([x, self.pick(partners)], axis)

    def dynamic(self, x):
        scalars = [y for y in self.pool if y.shape == () and y.dtype == "i32"]
        if not scalars or not x.shape or not all(x.shape):
            return None
        starts = [self.pick(scalars) for _ in x.shape]
        sizes = [int(self.rng.integers(1, n + 1)) for n in x.shape]
        window = self.g.dynamic_slice(x, starts, sizes)
        if self.rng.random() < 0.5 or kind_of(x.dtype) == "b":
            return window
        update = self.g.ew("neg", window)
        return self.g.dynamic_update_slice(x, update, [self.pick(scalars) for _ in x.shape])
