"""Pytrees with paths: keys, registration, and the tree functions that are not native.

In: nested containers (and registered classes). Out: leaves, structures, and for every leaf the
path of keys that leads to it. Flattening without paths is native; this file adds names.
Invariant: leaves come in the same order with and without paths.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jitney import _native

PyTreeDef = _native.PyTreeDef
tree_flatten = _native.tree_flatten
tree_unflatten = _native.tree_unflatten
tree_leaves = _native.tree_leaves
tree_structure = _native.tree_structure
all_leaves = _native.all_leaves

_UNSET = object()

# --- keys ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """Position in a tuple or list."""

    idx: int

    def __str__(self):
        return f"[{self.idx}]"


@dataclasses.dataclass(frozen=True, slots=True)
class DictKey:
    """Key of a dict."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """Attribute of an object."""

    name: str

    def __str__(self):
        return f".{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """Position among the children of a class registered without keys."""

    key: int

    def __str__(self):
        return f"[<flat index {self.key}>]"


KeyEntry = Any
KeyPath = tuple[Any, ...]


def _simple(key: Any) -> str:
    for name in ("idx", "key", "name"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as text.

    >>> keystr((DictKey("a"), SequenceKey(0)))
    "['a'][0]"
    """
    return separator.join(_simple(k) if simple else str(k) for k in keys)


# --- registration ----------------------------------------------------------------------------

# class -> function giving [(key, child), …]; only for classes registered with keys
_keyed_children: dict[type, Callable[[Any], Iterable[tuple[Any, Any]]]] = {}


def register_pytree_node(nodetype: type, flatten_func: Callable, unflatten_func: Callable,
                         flatten_with_keys_func: Callable | None = None) -> None:
    """Make instances of a class nodes: `flatten_func(x) -> (children, aux)`,
    `unflatten_func(aux, children) -> x`."""
    _native.register_node(nodetype, flatten_func, unflatten_func)
    if flatten_with_keys_func is not None:
        _keyed_children[nodetype] = lambda x: flatten_with_keys_func(x)[0]


def register_pytree_node_class(cls: Any) -> Any:
    """Class decorator: uses the methods `tree_flatten` and (class method) `tree_unflatten`."""
    register_pytree_node(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_with_keys(nodetype: type, flatten_with_keys: Callable,
                              unflatten_func: Callable,
                              flatten_func: Callable | None = None) -> None:
    """Like `register_pytree_node`; `flatten_with_keys(x) -> ([(key, child), …], aux)`."""
    if flatten_func is None:
        def flatten_func(x):
            keyed, aux = flatten_with_keys(x)
            return [child for _, child in keyed], aux
    register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: Any) -> Any:
    """Class decorator: uses `tree_flatten_with_keys` and `tree_unflatten`."""
    flatten = (lambda x: x.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda x: x.tree_flatten_with_keys(), cls.tree_unflatten,
                              flatten)
    return cls


def register_dataclass(nodetype: type, data_fields: Sequence[str] | None = None,
                       meta_fields: Sequence[str] | None = None,
                       drop_fields: Sequence[str] = ()) -> type:
    """Make a dataclass-like class a node: data fields are children, meta fields static.

    Without lists of fields, fields declared with `metadata={"static": True}` are meta fields.
    """
    if data_fields is None or meta_fields is None:
        if (data_fields is None) != (meta_fields is None):
            raise TypeError("register_dataclass: state both data_fields and meta_fields, or none")
        if not dataclasses.is_dataclass(nodetype):
            raise TypeError(f"register_dataclass: {nodetype} is no dataclass; state the fields")
        fields = [f for f in dataclasses.fields(nodetype) if f.init and f.name not in drop_fields]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if f.name not in meta_fields]
    data_fields, meta_fields = tuple(data_fields), tuple(meta_fields)
    _check_fields(nodetype, data_fields, meta_fields, tuple(drop_fields))
    _native.register_dataclass(nodetype, data_fields, meta_fields)
    _keyed_children[nodetype] = lambda x: [(GetAttrKey(n), getattr(x, n)) for n in data_fields]
    return nodetype


def _check_fields(nodetype: type, data: tuple, meta: tuple, drop: tuple) -> None:
    if not dataclasses.is_dataclass(nodetype):
        return
    declared = {f.name for f in dataclasses.fields(nodetype) if f.init}
    given = set(data) | set(meta)
    if given - declared or declared - given - set(drop):
        raise ValueError(
            f"register_dataclass: data_fields and meta_fields of {nodetype.__name__} must together "
            f"name its fields; missing {sorted(declared - given - set(drop))}, "
            f"unknown {sorted(given - declared)}")


def register_static(cls: type) -> type:
    """Make instances of a class nodes without children: part of the structure, compared by ==."""
    register_pytree_node(cls, lambda x: ((), x), lambda x, _: x, lambda x: ((), x))
    return cls


# --- one level -------------------------------------------------------------------------------


def _is_namedtuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def flatten_one_level(tree: Any) -> tuple[list, Any]:
    """(children, metadata) of a node."""
    found = _native.flatten_one_level(tree)
    if found is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    return found


def _children_with_keys(tree: Any) -> list[tuple[Any, Any]] | None:
    """[(key, child), …] of a node in canonical order; None for a leaf."""
    kind = type(tree)
    found = _native.flatten_one_level(tree)
    if found is None:
        return None
    keyed = _keyed_children.get(kind)
    if keyed is not None:
        return list(keyed(tree))
    children = found[0]
    if kind in (tuple, list):
        return [(SequenceKey(i), c) for i, c in enumerate(children)]
    if kind is dict or kind is collections.defaultdict:
        return [(DictKey(k), c) for k, c in zip(sorted(tree), children)]
    if kind is collections.OrderedDict:
        return [(DictKey(k), c) for k, c in zip(tree, children)]
    if _is_namedtuple(kind):
        return [(GetAttrKey(n), c) for n, c in zip(kind._fields, children)]
    return [(FlattenedIndexKey(i), c) for i, c in enumerate(children)]


def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]] | None, Any]:
    """([(key, child), …], metadata) of a node."""
    _, data = flatten_one_level(tree)
    return _children_with_keys(tree), data


def is_tree_node(typ: type) -> bool:
    """Whether objects of exactly this class are nodes."""
    return isinstance(typ, type) and _native.is_node_type(typ)


# --- with paths ------------------------------------------------------------------------------


def tree_leaves_with_path(tree: Any, is_leaf: Callable | None = None,
                          is_leaf_takes_path: bool = False) -> list[tuple[KeyPath, Any]]:
    """[(path, leaf), …]."""
    out: list[tuple[KeyPath, Any]] = []

    def visit(path: KeyPath, node: Any) -> None:
        if is_leaf is not None and (is_leaf(path, node) if is_leaf_takes_path else is_leaf(node)):
            out.append((path, node))
            return
        children = _children_with_keys(node)
        if children is None:
            out.append((path, node))
        else:
            for key, child in children:
                visit((*path, key), child)

    visit((), tree)
    return out


def tree_flatten_with_path(tree: Any, is_leaf: Callable | None = None,
                           is_leaf_takes_path: bool = False):
    """([(path, leaf), …], structure)."""
    found = tree_leaves_with_path(tree, is_leaf, is_leaf_takes_path)
    if is_leaf is None or not is_leaf_takes_path:
        return found, tree_structure(tree, is_leaf)
    ids = [id(leaf) for _, leaf in found]          # the structure stops where the paths stopped
    position = iter(ids)
    expected = [next(position, None)]

    def stops(node):
        if id(node) == expected[0]:
            expected[0] = next(position, None)
            return True
        return False

    return found, tree_structure(tree, stops)


def tree_map(f: Callable, tree: Any, *rest: Any, is_leaf: Callable | None = None) -> Any:
    """Apply `f` leaf by leaf; further trees must have the first one's structure as a prefix.

    >>> tree_map(lambda x, y: x + y, {"a": 1}, {"a": 2})
    {'a': 3}
    """
    if not rest:
        leaves, treedef = tree_flatten(tree, is_leaf)
        return treedef.unflatten([f(x) for x in leaves])
    leaves, treedef = tree_flatten(tree, is_leaf)
    columns = [leaves]
    for other in rest:
        columns.append(_flatten_up_to(treedef, tree, other, is_leaf))
    return treedef.unflatten([f(*xs) for xs in zip(*columns)])


def _flatten_up_to(treedef: PyTreeDef, tree: Any, other: Any, is_leaf: Callable | None) -> list:
    try:
        return treedef.flatten_up_to(other)
    except (ValueError, TypeError):
        for error in prefix_errors(tree, other, is_leaf):
            raise ValueError(error("tree_map tree")) from None
        raise


def tree_map_with_path(f: Callable, tree: Any, *rest: Any, is_leaf: Callable | None = None,
                       is_leaf_takes_path: bool = False) -> Any:
    """Like `tree_map`; `f` gets the path first."""
    found, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = [[p for p, _ in found], [x for _, x in found]]
    columns += [treedef.flatten_up_to(other) for other in rest]
    return treedef.unflatten([f(*xs) for xs in zip(*columns)])


def prefix_errors(prefix: Any, full: Any, is_leaf: Callable | None = None,
                  path: KeyPath = ()) -> Iterable[Callable[[str], str]]:
    """Why `prefix` is no prefix of `full`: functions from a name to a message."""
    if is_leaf is not None and is_leaf(prefix):
        return
    children = _children_with_keys(prefix)
    if children is None:
        return
    if type(prefix) is not type(full):
        yield lambda name: (
            f"pytree structure error: different types at key path\n    {name}{keystr(path)}\n"
            f"At that key path, the prefix pytree {name} has a subtree of type\n"
            f"    {type(prefix)}\nbut at the same key path the full pytree has a subtree of "
            f"different type\n    {type(full)}.")
        return
    if isinstance(prefix, (tuple, list)) and len(prefix) != len(full):
        kind = type(prefix).__name__
        yield lambda name: (
            f"pytree structure error: different lengths of {kind} at key path\n"
            f"    {name}{keystr(path)}\n"
            f"At that key path, the prefix pytree {name} has a subtree of type {kind} of length "
            f"{len(prefix)}, but the full pytree has a subtree of the same type but of length "
            f"{len(full)}.")
        return
    data, other_data = _metadata(prefix), _metadata(full)
    if data != other_data:
        yield lambda name: (
            f"pytree structure error: different pytree metadata at key path\n"
            f"    {name}{keystr(path)}\n"
            f"At that key path, the prefix pytree {name} has a subtree of type\n"
            f"    {type(prefix)}\nwith metadata\n    {data}\n"
            f"but at the same key path the full pytree has a subtree of the same type but with "
            f"metadata\n    {other_data}")
        return
    for (key, child), other in zip(children, flatten_one_level(full)[0]):
        yield from prefix_errors(child, other, is_leaf, (*path, key))


def _metadata(node: Any) -> Any:
    data = _native.flatten_one_level(node)[1]
    return tuple(data) if isinstance(data, list) else data


# --- structures ------------------------------------------------------------------------------


def tree_reduce(function: Callable, tree: Any, initializer: Any = _UNSET,
                is_leaf: Callable | None = None) -> Any:
    """`functools.reduce` over the leaves."""
    leaves = tree_leaves(tree, is_leaf)
    if initializer is _UNSET:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(operation: Callable, tree: Any, *, identity: Any = _UNSET,
                            is_leaf: Callable | None = None) -> Any:
    """Reduce the leaves pairwise, as a balanced tree."""
    values = tree_leaves(tree, is_leaf)
    if not values:
        if identity is _UNSET:
            raise TypeError("tree_reduce_associative of an empty tree needs an identity")
        return identity
    while len(values) > 1:
        pairs = [operation(a, b) for a, b in zip(values[::2], values[1::2])]
        values = pairs + values[len(values) - len(values) % 2:]
    return values[0]


def tree_all(tree: Any, *, is_leaf: Callable | None = None) -> bool:
    """Whether all leaves are true."""
    return all(tree_leaves(tree, is_leaf))


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of such trees."""
    return PyTreeDef.make_from_node_data_and_children((tuple, None), list(treedefs))


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    return treedef.num_nodes == 1 and treedef.num_leaves == 1


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    return treedef.children()


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None,
                   pytree_to_transpose: Any) -> Any:
    """A tree of structure outer∘inner as one of structure inner∘outer."""
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    inner, outer = inner_treedef.num_leaves, outer_treedef.num_leaves
    if inner == 0 or outer == 0:
        raise ValueError("tree_transpose: the structures must have leaves")
    expected = outer_treedef.compose(inner_treedef)
    if treedef != expected:
        raise TypeError(f"tree_transpose: mismatch: expected\n{expected}\ngot\n{treedef}")
    rows = [leaves[i * inner:(i + 1) * inner] for i in range(outer)]
    return inner_treedef.unflatten([outer_treedef.unflatten(list(c)) for c in zip(*rows)])


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: Callable | None = None) -> list:
    """For each leaf of `full_tree`, the leaf of `prefix_tree` above it."""
    out: list = []

    def add(leaf, subtree):
        out.extend([leaf] * tree_structure(subtree).num_leaves)

    tree_map(add, prefix_tree, full_tree, is_leaf=is_leaf)
    return out


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: Callable | None = None) -> Any:
    """`full_tree`'s structure with the leaves of `prefix_tree`, each repeated below its place."""
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_structure(full_tree).unflatten(leaves)


# --- partial application ---------------------------------------------------------------------


class Partial(functools.partial):
    """`functools.partial` whose bound arguments are children: they may be traced."""

    def __new__(klass, func: Callable, *args: Any, **kw: Any):
        if isinstance(func, functools.partial):     # keep the inner one whole: it is metadata
            whole = _CallableByIdentityOfParts(func)
            made = super().__new__(klass, whole, *args, **kw)
            return made
        return super().__new__(klass, func, *args, **kw)


class _CallableByIdentityOfParts:
    """A partial as hashable metadata: equal when function and arguments are equal."""

    def __init__(self, partial: functools.partial):
        self.partial = partial

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.partial(*args, **kwargs)

    def _key(self) -> tuple:
        p = self.partial
        return p.func, tuple(map(id, p.args)), tuple((k, id(v)) for k, v in p.keywords.items())

    def __hash__(self):
        return hash(self._key())

    def __eq__(self, other):
        return type(other) is _CallableByIdentityOfParts and self._key() == other._key()

    def __repr__(self):
        return repr(self.partial)


register_pytree_with_keys(
    Partial,
    lambda p: (((GetAttrKey("args"), p.args), (GetAttrKey("keywords"), p.keywords)), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
    lambda p: ((p.args, p.keywords), p.func))
