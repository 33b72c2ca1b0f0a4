"""What is wrong with a body: every differing component, its place in the tree, both types.

In: structures and types. Out: TypeErrors of JAX's classes. Nothing here is on a fast path.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jitney.base import pytree, source
from jitney.core.avals import ShapedArray, valid_array_type


def _parameters(fun: Any) -> list[str]:
    try:
        found = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def parameter_name(fun: Any, position: int, default: str) -> str:
    """The name the user gave to an argument of a body."""
    names = _parameters(fun)
    return names[position] if position < len(names) else default


def paths_of(tree: Any) -> list[str]:
    """For each leaf of a structure, the text of the path that leads to it."""
    found = pytree.tree_leaves_with_path(tree.unflatten(list(range(tree.num_leaves))))
    return [pytree.keystr(path) for path, _ in found]


def argument_names(fun: Any, in_tree: Any) -> tuple[str, ...]:
    """Names of the flat inputs: `c[0]`, `x['w']`."""
    names: list[str] = []
    for i, argument in enumerate(in_tree.children()):
        head = parameter_name(fun, i, f"args[{i}]")
        names += [head + path for path in paths_of(argument)]
    return tuple(names)


def kind_text(aval: ShapedArray) -> str:
    return aval.str_short()


def difference(a: ShapedArray, b: ShapedArray) -> str:
    parts = []
    if a.dtype != b.dtype:
        parts.append("the dtypes do not match")
    if a.shape != b.shape:
        parts.append("the shapes do not match")
    return "so " + ", and ".join(parts)


_SHOWN = 8                  # components named in one message


def _listed(lines: list[str]) -> str:
    if len(lines) == 1:
        return lines[0][0].upper() + lines[0][1:] + "."
    if len(lines) > _SHOWN:
        lines = [*lines[:_SHOWN], f"and {len(lines) - _SHOWN} more components"]
    return ";\n".join("  * " + line for line in lines) + "."


# --- structures ----------------------------------------------------------------------------------


def _kind(tree: Any) -> str:
    if pytree.treedef_is_leaf(tree):
        return "an array"
    kind = tree.node_data()[0]
    return "None" if kind is type(None) else f"a {kind.__name__}"


def _article(text: str) -> str:
    return "an" + text[1:] if text[:3] in ("a i", "a o", "a O", "a e", "a a") else text


def tree_differences(a: Any, b: Any, path: str = "") -> Iterator[tuple[str, str, str, str]]:
    """(path, what a has there, what b has there, why they differ) for each place."""
    leaf_a, leaf_b = pytree.treedef_is_leaf(a), pytree.treedef_is_leaf(b)
    if leaf_a and leaf_b:
        return
    kind_a, kind_b = _article(_kind(a)), _article(_kind(b))
    if leaf_a or leaf_b or kind_a != kind_b:
        yield path, kind_a, kind_b, "so their Python types differ"
        return
    children_a, children_b = a.children(), b.children()
    data_a, data_b = a.node_data()[1], b.node_data()[1]
    if len(children_a) != len(children_b):
        yield (path, f"{kind_a} of length {len(children_a)}",
               f"{kind_b} of length {len(children_b)}", "so the lengths do not match")
        return
    if data_a != data_b:
        yield (path, f"{kind_a} with {_data_text(data_a)}", f"{kind_b} with {_data_text(data_b)}",
               "so they are different structures")
        return
    for key, x, y in zip(_keys_of(a), children_a, children_b):
        yield from tree_differences(x, y, path + key)


def _data_text(data: Any) -> str:
    return f"keys {data}" if isinstance(data, (list, tuple)) else f"metadata {data!r}"


def _keys_of(tree: Any) -> list[str]:
    whole = tree.unflatten(list(range(tree.num_leaves)))
    keyed = pytree.flatten_one_level_with_keys(whole)[0] or ()
    return [str(key) for key, _ in keyed]


# --- carries -------------------------------------------------------------------------------------


def check_carry_structure(what: str, name: str, fun: Any, in_tree: Any, out_tree: Any) -> None:
    """The carry that comes out must have the structure of the one that goes in."""
    if in_tree == out_tree:
        return
    lines = []
    for path, found, other, why in tree_differences(in_tree, out_tree):
        place = f"component {name}{path}" if path else name
        lines.append(f"the input carry {place} is {found} but the corresponding component of the "
                     f"carry output is {other}, {why}")
    text = _listed(lines) if lines else (
        f"the input tree structure is:\n{in_tree}\nthe output tree structure is:\n{out_tree}.")
    raise TypeError(
        f"{what} body function carry input and carry output must have the same pytree structure, "
        f"but they differ:\n\n{text}\n\nRevise the function {source.function_location(fun)} so "
        "that the carry output has the same pytree structure as the carry input.")


def check_carry_types(what: str, name: str, fun: Any, tree: Any, ins: Sequence[ShapedArray],
                      outs: Sequence[ShapedArray]) -> None:
    """Each component of the carry must keep its shape and dtype."""
    lines, hints = [], []
    for path, a, b in zip(paths_of(tree), ins, outs):
        if a.shape == b.shape and a.dtype == b.dtype:
            continue
        place = f"component {name}{path}" if path else name
        lines.append(f"the input carry {place} has type {kind_text(a)} but the corresponding "
                     f"output carry component has type {kind_text(b)}, {difference(a, b)}")
        hints.append(_hint(name + path, a, b))
    if not lines:
        return
    hint = "\n".join(list(dict.fromkeys(h for h in hints if h))[:_SHOWN])
    raise TypeError(
        f"{what} body function carry input and carry output must have equal types, but they "
        f"differ:\n\n{_listed(lines)}\n\nRevise the function {source.function_location(fun)} so "
        "that all output types match the corresponding input types."
        + (f"\n{hint}" if hint else ""))


def _hint(place: str, a: ShapedArray, b: ShapedArray) -> str:
    if a.dtype != b.dtype and a.shape == b.shape:
        return (f"For {place}: start from a value of dtype {b.dtype.name}, or return it as "
                f".astype({a.dtype.name!r}).")
    if not a.shape and b.shape:
        return f"For {place}: start from an array of shape {b.shape}, e.g. jnp.zeros({b.shape})."
    if len(a.shape) == len(b.shape) and a.shape != b.shape:
        return (f"For {place}: a carry cannot grow or shrink. Start from an array of the final "
                "size and write into it with .at[i].set(...), or let scan stack the pieces, as "
                "the second result of its body.")
    return ""


# --- branches ------------------------------------------------------------------------------------


def check_branches(what: str, names: Sequence[str], funs: Sequence[Callable],
                   trees: Sequence[Any], avals: Sequence[Sequence[ShapedArray]]) -> None:
    """All branches must give what the first one gives."""
    for i in range(1, len(names)):
        pair = ((names[0], funs[0]), (names[i], funs[i]))
        if trees[0] != trees[i]:
            _refuse_structures(what, pair, trees[0], trees[i])
        _check_branch_types(what, pair, trees[0], avals[0], avals[i])


def _functions_text(pair: Any) -> str:
    return "".join(f"{name} is {source.function_location(fun)}\n" for name, fun in pair)


def _refuse_structures(what: str, pair: Any, a: Any, b: Any) -> None:
    (one, _), (two, _) = pair
    lines = []
    for path, found, other, why in tree_differences(a, b):
        place = f" component {path}" if path else ""
        lines.append(f"{one} output{place} is {found} but {two} output{place} is {other}, {why}")
    text = ";\n".join(lines) + "." if len(lines) == 1 else _listed(lines) if lines else (
        f"{one} output has tree structure\n{a}\n{two} output has tree structure\n{b}.")
    raise TypeError(
        f"{what} branch outputs must have the same pytree structure, but they differ:\n\n"
        f"{_functions_text(pair)}\n{text}\n\nRevise {one} and/or {two} so that they have the same "
        "pytree structure.")


def _check_branch_types(what: str, pair: Any, tree: Any, ins: Any, outs: Any) -> None:
    (one, _), (two, _) = pair
    lines = []
    for path, a, b in zip(paths_of(tree), ins, outs):
        if a.shape == b.shape and a.dtype == b.dtype:
            continue
        place = f" at path {path}" if path else ""
        lines.append(f"the output of {one}{place} has type {kind_text(a)} but the corresponding "
                     f"output of {two} has type {kind_text(b)}, {difference(a, b)}")
    if lines:
        raise TypeError(
            f"{what} branches must have equal output types but they differ.\n\n"
            f"{_functions_text(pair)}\n{_listed(lines)}\n\nRevise {one} and/or {two} so that all "
            "output types match.")


# --- operands ------------------------------------------------------------------------------------


def refuse_operand(function: str, argument: str, tree: Any, position: int, leaf: Any) -> None:
    path = pytree.keystr(pytree.tree_leaves_with_path(tree)[position][0])
    raise TypeError(
        f"{function}: {argument}{path} = {leaf!r} of type {type(leaf)} is not a valid JAX type. "
        "Operands are arrays, scalars, or trees of them; the function may close over anything "
        "else.")


def check_results(what: str, fun: Any, result: Any, leaves: Sequence[Any]) -> None:
    for i, leaf in enumerate(leaves):
        if not valid_array_type(leaf):
            path = pytree.keystr(pytree.tree_leaves_with_path(result)[i][0])
            raise TypeError(
                f"{what} function {source.function_location(fun)} returned {leaf!r} of type "
                f"{type(leaf)}{' at ' + path if path else ''}, which is not a valid JAX type: it "
                "must return arrays, scalars, or trees of them.")
