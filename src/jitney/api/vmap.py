"""`vmap`: a function of one example becomes a function of many.

In: a function, and for each argument (or part of one) the axis along which examples lie; None
for what all examples share. Out: a function of whole batches.
Invariant: `vmap(f)(xs)[i] == f(xs[i])`, and Python code of `f` runs once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jitney.api import signature as signatures
from jitney.api.jvp_vjp import as_primal, as_result, check_callable
from jitney.base import dtypes
from jitney.base.pytree import broadcast_prefix, prefix_errors, tree_flatten, tree_structure
from jitney.core.avals import get_aval, valid_array_type
from jitney.transforms.vmap import batch_flat, broadcast_batch, move_dimension


def _is_none(x: Any) -> bool:
    return x is None


def vmap(fun: Callable, in_axes: Any = 0, out_axes: Any = 0, axis_name: Any = None,
         axis_size: int | None = None, spmd_axis_name: Any = None,
         sum_match: bool = False) -> Callable:
    """`fun` applied to every example of a batch, at once.

    >>> vmap(lambda x, y: x * y, in_axes=(0, None))(jnp.arange(3.), 2.0)
    Array([0., 2., 4.], dtype=float32)

    `spmd_axis_name`, an axis of a mesh or a tuple of them, is where `with_sharding_constraint`
    within `fun` spreads the examples; without it their axis is left unconstrained. `sum_match` is
    checked and has no effect: cotangents always have the primals' shapes.
    """
    check_callable(fun)
    mesh_axes = _mesh_axes(spmd_axis_name)
    if not isinstance(sum_match, (bool, int)):
        raise TypeError(f"vmap: sum_match takes True or False, not {sum_match!r}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    _check_in_axes(in_axes)

    @functools.wraps(fun, assigned=_names_of(fun), updated=())
    def batched(*args: Any, **kwargs: Any) -> Any:
        return _call(fun, args, kwargs, in_axes, out_axes, axis_name, axis_size, "vmap", mesh_axes)

    return batched


def _mesh_axes(names: Any) -> tuple:
    if names is None:
        return ()
    try:
        hash(names)
    except TypeError:
        raise TypeError("vmap: spmd_axis_name takes a name or a tuple of names, not "
                        f"{names!r}") from None
    return names if isinstance(names, tuple) else (names,)


def _names_of(fun: Callable) -> tuple:
    return tuple(n for n in functools.WRAPPER_ASSIGNMENTS if hasattr(fun, n))


def _check_in_axes(in_axes: Any) -> None:
    if not (in_axes is None or isinstance(in_axes, (int, tuple))):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes}.")
    for leaf in tree_flatten(in_axes)[0]:
        if not isinstance(leaf, int):
            raise TypeError(
                "vmap in_axes must be an int, None, or (nested) container with those types as "
                f"leaves, but got {in_axes}.")


def _call(fun: Callable, args: tuple, kwargs: dict, in_axes: Any, out_axes: Any, axis_name: Any,
          axis_size: int | None, what: str, mesh_axes: tuple = ()) -> Any:
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            f"{what} in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got len(in_axes)={len(in_axes)}, "
            f"len(args)={len(args)}")
    leaves, in_tree = tree_flatten((args, kwargs))
    axes = _axes_of(in_axes, args, f"{what} in_axes") + [0] * len(tree_flatten(kwargs)[0])
    leaves = list(map(as_primal, leaves))
    dims = [_input_dim(x, a, what) for x, a in zip(leaves, axes, strict=True)]
    size = _common_size(fun, args, kwargs, leaves, dims, axis_size, what)
    out_tree: list = []

    def flat(*xs):
        args, kwargs = in_tree.unflatten(xs)
        outs, tree = tree_flatten(fun(*args, **kwargs))
        out_tree.append(tree)
        for x in outs:
            if not valid_array_type(x):
                raise TypeError(f"Output from batched function {x!r} with type {type(x)} is not a "
                                "valid JAX type")
        return outs

    outs, out_dims = batch_flat(flat, leaves, dims, size, axis_name, mesh_axes)
    tree = out_tree[0]
    wanted = _axes_of(out_axes, tree.unflatten(list(range(len(outs)))), f"{what} out_axes")
    return tree.unflatten([_placed(x, d, axis, size, what)
                           for x, d, axis in zip(outs, out_dims, wanted, strict=True)])


def _axes_of(axes: Any, tree: Any, name: str) -> list:
    """One axis (or None) a leaf, from a tree prefix of axes."""
    try:
        return broadcast_prefix(axes, tree, is_leaf=_is_none)
    except (ValueError, TypeError, KeyError):
        pass
    found = next(iter(prefix_errors(axes, tree, is_leaf=_is_none)), None)
    detail = f"\n{found(name)}" if found is not None else ""
    raise ValueError(f"{name} specification must be a tree prefix of the corresponding value; got "
                     f"specification {axes} for value tree {tree_structure(tree)}.{detail}")


def _input_dim(x: Any, axis: int | None, what: str) -> int | None:
    if axis is None:
        return None
    shape = get_aval(x).shape
    ndim = len(shape)
    if not -ndim <= axis < ndim:
        least = axis + 1 if axis >= 0 else -axis
        raise ValueError(
            f"{what} was requested to map its argument along axis {axis}, which implies that its "
            f"rank should be at least {least}, but is only {ndim} (its shape is {shape})")
    return axis % ndim


def _common_size(fun: Callable, args: tuple, kwargs: dict, leaves: list, dims: list,
                 axis_size: int | None, what: str) -> int:
    if not leaves and axis_size is None:
        raise ValueError(
            f"{what} wrapped function must be passed at least one argument containing an array or "
            f"axis_size must be specified, got empty *args={args} and **kwargs={kwargs}")
    sizes = [None if d is None else get_aval(x).shape[d] for x, d in zip(leaves, dims)]
    found = {n for n in sizes if n is not None}
    if axis_size is not None:
        found.add(axis_size)
    if len(found) == 1:
        return found.pop()
    if not found:
        raise ValueError(f"{what} must have at least one non-None value in in_axes or axis_size "
                         "must be specified")
    names = signatures.input_names(fun, (args, kwargs))
    groups: dict[int, list[str]] = {}
    for x, d, n, name in zip(leaves, dims, sizes, names):
        if n is not None:
            groups.setdefault(n, []).append(
                f"axis {d} of argument {name} of type "
                f"{get_aval(x).str_short()}")
    lines = [] if axis_size is None else [f"  * the `axis_size` argument was {axis_size}"]
    lines += [_group_text(n, members) for n, members in groups.items()]
    raise ValueError(f"{what} got inconsistent sizes for array axes to be mapped:\n"
                     + ";\n".join(lines))


def _group_text(size: int, members: list[str]) -> str:
    if len(members) == 1:
        return f"  * one axis had size {size}: {members[0]}"
    shown = ", ".join(members[:4]) + (", ..." if len(members) > 4 else "")
    how_many = "most" if len(members) > 4 else "some"
    return f"  * {how_many} axes ({len(members)} of them) had size {size}, e.g. {shown}"


def _placed(x: Any, dim: int | None, axis: int | None, size: int, what: str) -> Any:
    """A result with its batch axis where the caller wants it."""
    if axis is None:
        if dim is not None:
            raise ValueError(f"at {what} out_axes, got axis spec None but output was batched on "
                             f"axis {dim}")
        return as_result(x)
    ndim = len(get_aval(x).shape) + (dim is None)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    if dim is None:
        if get_aval(x).dtype == dtypes.float0:
            return x
        return broadcast_batch(x, size, axis % ndim)
    return move_dimension(x, dim, axis % ndim)

