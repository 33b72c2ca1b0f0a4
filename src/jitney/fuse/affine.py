"""Affine index expressions: a constant plus integer multiples of atoms.

An index is `(constant, ((atom, coefficient), …))`, atoms ascending. An atom >= 0 is a loop
variable, an atom < 0 stands for the kernel value numbered `-1 - atom` (a traced start index, a
gathered row).
Plain tuples: they are hashed and compared all the time while kernels are built.
"""

from ..ir.strides import contiguous_strides as contiguous_strides

Affine = tuple[int, tuple[tuple[int, int], ...]]

ZERO: Affine = (0, ())


def constant(value: int) -> Affine:
    return (value, ())


def variable(atom: int) -> Affine:
    return (0, ((atom, 1),))


def add(a: Affine, b: Affine) -> Affine:
    """a + b."""
    if not a[1]:
        return (a[0] + b[0], b[1])
    if not b[1]:
        return (a[0] + b[0], a[1])
    terms = dict(a[1])
    for atom, coefficient in b[1]:
        terms[atom] = terms.get(atom, 0) + coefficient
    return (a[0] + b[0], tuple(sorted([t for t in terms.items() if t[1]])))


def scale(a: Affine, factor: int) -> Affine:
    """a * factor."""
    if factor == 1:
        return a
    if factor == 0:
        return ZERO
    return (a[0] * factor, tuple([(atom, c * factor) for atom, c in a[1]]))


def offset(a: Affine, amount: int) -> Affine:
    """a + amount."""
    return (a[0] + amount, a[1]) if amount else a


def dot(indices, strides) -> Affine:
    """Σ indices[i] * strides[i]: the linear position of a multi-index."""
    constant_part = 0
    terms: dict[int, int] = {}
    for index, stride in zip(indices, strides, strict=True):
        constant_part += index[0] * stride
        for atom, coefficient in index[1]:
            terms[atom] = terms.get(atom, 0) + coefficient * stride
    return (constant_part, tuple(sorted([t for t in terms.items() if t[1]])))


def coefficient_of(a: Affine, atom: int) -> int:
    for known, coefficient in a[1]:
        if known == atom:
            return coefficient
    return 0


def atoms_of(indices) -> set[int]:
    """Every atom in a multi-index."""
    return {atom for index in indices for atom, _ in index[1]}


def substitute(a: Affine, atom: int, replacement: Affine) -> Affine:
    """a with atom replaced."""
    coefficient = coefficient_of(a, atom)
    if not coefficient:
        return a
    rest = (a[0], tuple([t for t in a[1] if t[0] != atom]))
    return add(rest, scale(replacement, coefficient))


def insert(index, axes, positions):
    """index with positions put in at axes (ascending)."""
    result = list(index)
    for axis, position in zip(axes, positions, strict=True):
        result.insert(axis, position)
    return tuple(result)
