"""Calls that move elements: shapes, joining, indices, updates.

Where NumPy gives a view, it is asked for a copy in memory order: both then have written the result.
"""

from __future__ import annotations

from .case import Case, cases_of


def _view(name: str, *calls, jit: bool = True) -> list[Case]:
    """Calls whose NumPy result is a view."""
    def whole(call):
        def copied(np, *arrays):
            result = call(np, *arrays)
            parts = result if isinstance(result, (list, tuple)) else [result]
            return [np.array(part, order="C") for part in parts]
        return copied

    pairs = [call if isinstance(call, tuple) else ("", call) for call in calls]
    return [Case(name, call, label, numpy=whole(call), jit=jit) for label, call in pairs]


def _in_place(change):
    """NumPy's function that changes its argument, on a copy."""
    def call(np, x, *rest):
        result = x.copy()
        change(np, result, *rest)
        return result
    return call


_VIEWS = [
    *_view("atleast_1d", lambda np, x: np.atleast_1d(x)),
    *_view("atleast_2d", lambda np, x: np.atleast_2d(x)),
    *_view("atleast_3d", lambda np, x: np.atleast_3d(x)),
    *_view("broadcast_arrays", lambda np, row, m: np.broadcast_arrays(row, m)),
    *_view("broadcast_to", lambda np, row, m: np.broadcast_to(row, m.shape)),
    *_view("diagonal", lambda np, cube: np.diagonal(cube, axis1=1, axis2=2)),
    *_view("expand_dims", lambda np, x: np.expand_dims(x, 0)),
    *_view("flip", lambda np, x: np.flip(x), ("both axes", lambda np, m: np.flip(m))),
    *_view("fliplr", lambda np, m: np.fliplr(m)),
    *_view("flipud", lambda np, m: np.flipud(m)),
    *_view("matrix_transpose", lambda np, m: np.matrix_transpose(m)),
    *_view("moveaxis", lambda np, cube: np.moveaxis(cube, 0, -1)),
    *_view("permute_dims", lambda np, cube: np.permute_dims(cube, (2, 0, 1))),
    *_view("ravel", lambda np, m: np.ravel(m)),
    *_view("reshape", lambda np, m: np.reshape(m, -1)),
    *_view("rollaxis", lambda np, cube: np.rollaxis(cube, 2)),
    *_view("rot90", lambda np, m: np.rot90(m)),
    *_view("split", lambda np, x: np.split(x, 10)),
    *_view("array_split", lambda np, x: np.array_split(x, 7)),
    *_view("hsplit", lambda np, m: np.hsplit(m, 2)),
    *_view("vsplit", lambda np, m: np.vsplit(m, 2)),
    *_view("dsplit", lambda np, cube: np.dsplit(cube, 2)),
    *_view("unstack", lambda np, cube: np.unstack(cube, axis=1)),
    *_view("squeeze", lambda np, column: np.squeeze(column)),
    *_view("swapaxes", lambda np, m: np.swapaxes(m, 0, 1)),
    *_view("transpose", lambda np, m: np.transpose(m),
           ("three axes", lambda np, cube: np.transpose(cube, (2, 1, 0))),
           ("rows of 4", lambda np, narrow: np.transpose(narrow))),
    *_view("real", lambda np, z: np.real(z), ("of real numbers", lambda np, x: np.real(x))),
    *_view("imag", lambda np, z: np.imag(z), ("of real numbers", lambda np, x: np.imag(x))),
    *_view("ix_", lambda np, rows, columns: np.ix_(rows, columns)),
    *_view("frombuffer", lambda np, x: np.frombuffer(memoryview(x), x.dtype), jit=False),
    *_view("linalg.diagonal", lambda np, cube: np.linalg.diagonal(cube)),
    *_view("linalg.matrix_transpose", lambda np, m: np.linalg.matrix_transpose(m)),
]

_JOINING = [
    *cases_of("append", lambda np, x, y: np.append(x, y)),
    *cases_of("block", lambda np, m: np.block([[m, m], [m, m]])),
    *cases_of("column_stack", lambda np, x, y: np.column_stack([x, y])),
    *cases_of("concat", lambda np, x, y: np.concat([x, y])),
    *cases_of("concatenate", lambda np, x, y: np.concatenate([x, y]),
              ("columns", lambda np, m, m2: np.concatenate([m, m2], axis=1))),
    *cases_of("dstack", lambda np, m, m2: np.dstack([m, m2])),
    *cases_of("hstack", lambda np, m, m2: np.hstack([m, m2])),
    *cases_of("vstack", lambda np, m, m2: np.vstack([m, m2])),
    *cases_of("stack", lambda np, x, y: np.stack([x, y]),
              ("last axis", lambda np, x, y: np.stack([x, y], axis=-1)),
              ("last axis, four", lambda np, x, y: np.stack([x, y, x, y], axis=-1))),
    *cases_of("pad", lambda np, m: np.pad(m, 3),
              ("edge", lambda np, m: np.pad(m, 3, mode="edge")),
              ("reflect", lambda np, m: np.pad(m, 3, mode="reflect")),
              ("wrap", lambda np, m: np.pad(m, 3, mode="wrap")),
              ("mean", lambda np, m: np.pad(m, 3, mode="mean")),
              ("linear_ramp", lambda np, m: np.pad(m, 3, mode="linear_ramp"))),
    *cases_of("repeat", lambda np, x: np.repeat(x, 3),
              ("columns", lambda np, m: np.repeat(m, 2, axis=1)),
              ("rows", lambda np, m: np.repeat(m, 2, axis=0))),
    *cases_of("repeat", ("counts", lambda np, x, digit: np.repeat(x, digit)), jit=False),
    *cases_of("tile", lambda np, x: np.tile(x, 3),
              ("both axes", lambda np, m: np.tile(m, (2, 2)))),
    *cases_of("resize", lambda np, x: np.resize(x, (2 * x.size,))),
    *cases_of("roll", lambda np, x: np.roll(x, 12345),
              ("columns", lambda np, m: np.roll(m, 7, axis=1)),
              ("both axes", lambda np, m: np.roll(m, (5, 7), axis=(0, 1)))),
    *cases_of("fft.fftshift", lambda np, m: np.fft.fftshift(m)),
    *cases_of("fft.ifftshift", lambda np, m: np.fft.ifftshift(m)),
    *cases_of("insert", lambda np, x: np.insert(x, 500, 1.0),
              ("many", lambda np, x, few: np.insert(x, [1, 2, 3, 5, 8, 13, 21, 34, 55], few))),
    *cases_of("delete", lambda np, x: np.delete(x, 500),
              ("slice", lambda np, x: np.delete(x, slice(100, 200)))),
    *cases_of("delete", ("many", lambda np, x, some: np.delete(x, some)), jit=False),
    *cases_of("trim_zeros", lambda np, padded: np.trim_zeros(padded), jit=False, floats=False),
]

_INDICES = [
    *cases_of("take", lambda np, x, where: np.take(x, where),
              ("rows", lambda np, m, columns: np.take(m, columns[:1000], axis=0)),
              ("columns", lambda np, m, columns: np.take(m, columns[:1000], axis=1))),
    *cases_of("take_along_axis", lambda np, m, where_rows: np.take_along_axis(m, where_rows, 1),
              ("columns", lambda np, m, where_rows: np.take_along_axis(m, where_rows, 0)),
              ("vector", lambda np, x, where: np.take_along_axis(x, where, 0))),
    *cases_of("put", lambda np, x, permuted, y: np.put(x, permuted, y, inplace=False),
              numpy=_in_place(lambda np, x, permuted, y: np.put(x, permuted, y))),
    *cases_of("put_along_axis", lambda np, m, where_rows: np.put_along_axis(
        m, where_rows, 1.0, 1, inplace=False), numpy=_in_place(
            lambda np, m, where_rows: np.put_along_axis(m, where_rows, 1.0, 1))),
    *cases_of("place", lambda np, x, b, few: np.place(x, b, few, inplace=False),
              numpy=_in_place(lambda np, x, b, few: np.place(x, b, few))),
    *cases_of("fill_diagonal", lambda np, m: np.fill_diagonal(m, 1.0, inplace=False),
              numpy=_in_place(lambda np, m: np.fill_diagonal(m, 1.0))),
    *cases_of("compress", lambda np, b, x: np.compress(b, x), jit=False),
    *cases_of("extract", lambda np, b, x: np.extract(b, x), jit=False),
    *cases_of("nonzero", lambda np, b: np.nonzero(b), ("matrix", lambda np, mi: np.nonzero(
        mi > 500)), jit=False, floats=False),
    *cases_of("flatnonzero", lambda np, b: np.flatnonzero(b), jit=False, floats=False),
    *cases_of("argwhere", lambda np, b: np.argwhere(b), ("matrix", lambda np, mi: np.argwhere(
        mi > 500)), jit=False, floats=False),
    *cases_of("where", ("positions", lambda np, b: np.where(b)), jit=False, floats=False),
    *cases_of("ravel_multi_index", lambda np, rows, columns: np.ravel_multi_index(
        (rows, columns), (2000, 3000), mode="clip"), floats=False),
    *cases_of("unravel_index", lambda np, counts: np.unravel_index(counts, (100, 10)),
              floats=False),
]

CASES: list[Case] = [*_VIEWS, *_JOINING, *_INDICES]
