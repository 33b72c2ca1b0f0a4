"""Fixtures for tests of the native extension alone: 32-bit defaults, programs from tiny kernels.

No compiler is involved: machine code comes from `_native._test_kernels()`.
"""

import struct

import numpy as np
import pytest

from jitney import _native as native

F32, I32 = np.dtype(np.float32), np.dtype(np.int32)
KERNELS = native._test_kernels()


def aval(*shape, dtype=F32, weak=False):
    return native.ShapedArray(shape, dtype, weak)


def array(values, dtype=F32):
    values = np.asarray(values, dtype)
    return native.array_from_numpy(values, native.ShapedArray(values.shape, values.dtype))


def params(*values):
    return struct.pack(f"{len(values)}q", *values)


def kernel(name, slots, extent=1, grain=0, params=b""):
    return (0, KERNELS[name], tuple(slots), params, extent, grain, None)


def program(outputs, num_inputs, slots, steps, constants=(), work=0, cost=100.0, name="test"):
    return native.Program(
        tuple(outputs), num_inputs, tuple(slots), work, tuple(steps), tuple(constants), cost, name
    )


def add1(shape=(16,), **options):
    """x + 1 for one f32 input."""
    out = aval(*shape)
    steps = [kernel("add1_f32", (0, 1), extent=out.size, grain=options.pop("grain", 0))]
    return program([(out, "new", 0)], 1, [("in", 0, 0), ("out", 0, 0)], steps, **options)


def add(shape=(16,), out_kind="new", index=0, **options):
    """x + y for two f32 inputs; the output may reuse an input."""
    out = aval(*shape)
    slots = [("in", 0, 0), ("in", 1, 0), ("out", 0, 0)]
    steps = [kernel("add_f32", (0, 1, 2), extent=out.size)]
    return program([(out, out_kind, index)], 2, slots, steps, **options)


LEAF = native.tree_structure(0)


class Counting(native.Jitted):
    """A Jitted whose miss makes a program from the call's arguments and installs it."""

    def __init__(self, make, static_argnums=(), static_argnames=(), donated=()):
        self.make = make
        self.static_argnums, self.static_argnames = static_argnums, static_argnames
        self.donated = donated

    def _miss(self, args, kwargs):
        dynamic = [a for i, a in enumerate(args) if i not in self.static_argnums]
        keywords = {k: v for k, v in kwargs.items() if k not in self.static_argnames}
        leaves = native.tree_leaves((dynamic, keywords))
        prog, tree = self.make(leaves, args, kwargs)
        assert self._install(
            args, kwargs, self.static_argnums, self.static_argnames, prog,
            tuple(range(len(leaves))), (), tree, self.donated, None,
        )
        before = self.misses
        result = self(*args, **kwargs)
        assert self.misses == before, "the entry just installed does not fit"
        return result


def sum_scalars(leaves, args, kwargs):
    """A maker for Counting: the sum of scalar f32 leaves."""
    n = len(leaves)
    slots = [("in", i, 0) for i in range(n)] + [("out", 0, 0)]
    steps = [kernel("sum_scalars_f32", range(n + 1), params=params(n))]
    return program([(aval(), "new", 0)], n, slots, steps), LEAF


@pytest.fixture(scope="session", autouse=True)
def defaults():
    """The 32-bit types that the library starts with."""
    kinds = (np.bool_, np.int32, np.float32, np.complex64)
    native.set_scalar_avals(*(native.ShapedArray((), kind, True) for kind in kinds))
    native.set_canonical_dtypes(
        {np.dtype(a): np.dtype(b) for a, b in
         [("f8", "f4"), ("i8", "i4"), ("u8", "u4"), ("c16", "c8")]}
    )


@pytest.fixture
def operator():
    """operator(name, callable) registers for one test."""
    previous = {}

    def register(name, callable):
        previous.setdefault(name, native.get_operator(name))
        native.set_operator(name, callable)

    yield register
    for name, callable in previous.items():
        native.set_operator(name, callable)


@pytest.fixture
def kit():
    """The makers above, for test modules that cannot import this file."""
    import types

    return types.SimpleNamespace(**{k: v for k, v in globals().items() if not k.startswith("_")})
