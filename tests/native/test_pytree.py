"""Pytrees: text, order of leaves, matching, rebuilding, errors. Golden values are JAX 0.10's."""

import collections
import copy
import gc
import pickle
import random
import sys
import weakref

import pytest

from jitney import _native as native

Point = collections.namedtuple("Point", "x y")


class Box:
    def __init__(self, a, b):
        self.a, self.b = a, b


class Record:
    def __init__(self, x, y, m="q"):
        self.x, self.y, self.m = x, y, m


native.register_node(Box, lambda o: ((o.a,), o.b), lambda aux, kids: Box(*kids, aux))
native.register_dataclass(Record, ["x", "y"], ["m"])
structure = native.tree_structure


class SubDict(dict):
    pass


class SubTuple(tuple):
    pass


class SubPoint(Point):
    pass


GOLDEN = [
    (1, "*", [1]),
    (None, "None", []),
    ((1, (2, 3)), "(*, (*, *))", [1, 2, 3]),
    ((1,), "(*,)", [1]),
    ([1, [2]], "[*, [*]]", [1, 2]),
    (((), [], {}), "((), [], {})", []),
    ({"b": 1, "a": (2, 3)}, "{'a': (*, *), 'b': *}", [2, 3, 1]),
    (
        collections.OrderedDict([("b", 1), ("a", 2)]),
        "CustomNode(OrderedDict[('b', 'a')], [*, *])",
        [1, 2],
    ),
    (
        collections.defaultdict(list, {"b": 1, "a": 2}),
        "CustomNode(defaultdict[(<class 'list'>, ('a', 'b'))], [*, *])",
        [2, 1],
    ),
    (Point(1, 2), "CustomNode(namedtuple[Point], [*, *])", [1, 2]),
    (SubPoint(1, 2), "CustomNode(namedtuple[SubPoint], [*, *])", [1, 2]),
    (Point(None, {"q": 1}), "CustomNode(namedtuple[Point], [None, {'q': *}])", [1]),
    (Box(1, "aux"), "CustomNode(Box[aux], [*])", [1]),
    (Record(1, 2), "CustomNode(Record[('q',)], [*, *])", [1, 2]),
    ({1: 1, 2.5: 2}, "{1: *, 2.5: *}", [1, 2]),
    ({(1, "a"): 1, (0, "b"): 2}, "{(0, 'b'): *, (1, 'a'): *}", [2, 1]),
    ({2: 1, 1: 2}, "{1: *, 2: *}", [2, 1]),
    (SubDict(a=1), "*", None),
    (SubTuple((1, 2)), "*", None),
    ("abc", "*", ["abc"]),
]


@pytest.mark.parametrize("tree, text, leaves", GOLDEN, ids=[g[1] for g in GOLDEN])
def test_golden(tree, text, leaves):
    got, treedef = native.tree_flatten(tree)
    assert repr(treedef) == f"PyTreeDef({text})"
    assert got == ([tree] if leaves is None else leaves)
    assert treedef.num_leaves == len(got)
    assert native.match_tree(treedef, tree) == got
    for _ in range(3):  # the second rebuild of a dict takes another path
        rebuilt = native.tree_unflatten(treedef, got)
        assert type(rebuilt) is type(tree)
        assert native.tree_flatten(rebuilt) == (got, treedef)
    data, children = treedef.node_data(), treedef.children()
    assert native.PyTreeDef.make_from_node_data_and_children(data, children) == treedef
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert hash(pickle.loads(pickle.dumps(treedef))) == hash(treedef)
    assert copy.deepcopy(treedef) == treedef


def test_node_data_and_counts():
    treedef = structure({"b": 1, "a": (2, 3)})
    assert treedef.node_data() == (dict, ["a", "b"])
    assert [repr(c) for c in treedef.children()] == ["PyTreeDef((*, *))", "PyTreeDef(*)"]
    assert (treedef.num_leaves, treedef.num_nodes) == (3, 5)
    assert structure(None).node_data() == (type(None), None)
    assert structure(1).node_data() is None
    treedef.node_data()[1].append("z")
    assert repr(treedef) == "PyTreeDef({'a': (*, *), 'b': *})"
    default = collections.defaultdict(list, b=1)
    assert structure(default).node_data() == (collections.defaultdict, (list, ("b",)))
    assert structure(Record(1, 2, "z")).node_data() == (Record, ("z",))


def test_equality_and_hash():
    assert structure({"b": 1, "a": 2}) == structure({"a": 1, "b": 2})
    assert hash(structure({"b": 1, "a": 2})) == hash(structure({"a": 1, "b": 2}))
    assert structure({1: 1}) == structure({True: 1})
    ordered = collections.OrderedDict
    assert structure(ordered(a=1, b=2)) != structure(ordered(b=1, a=2))
    default = collections.defaultdict
    assert structure(default(list, a=1)) != structure(default(int, a=1))
    assert structure((1, 2)) != structure([1, 2])
    assert structure(1) != 3
    assert structure(Box(1, [1])) == structure(Box(2, [1]))
    hash(structure(Box(1, [1])))  # aux data need not be hashable
    with pytest.raises(TypeError):
        structure(1) < structure(2)  # noqa: B015


def test_is_leaf():
    flatten = native.tree_flatten
    leaves, treedef = flatten([(1, 2), (3, None)], is_leaf=lambda x: isinstance(x, tuple))
    assert leaves == [(1, 2), (3, None)] and repr(treedef) == "PyTreeDef([*, *])"
    assert flatten([1, None], lambda x: x is None)[0] == [1, None]
    seen = []
    flatten(([1], {"b": 2, "a": None}), is_leaf=seen.append)
    assert seen == [([1], {"b": 2, "a": None}), [1], 1, {"b": 2, "a": None}, None, 2]
    with pytest.raises(ValueError, match="non-boolean value 's'; expected a boolean"):
        flatten([1], is_leaf=lambda x: "s")
    with pytest.raises(ZeroDivisionError):
        flatten([1], is_leaf=lambda x: 1 / 0)


def test_unsortable_keys():
    with pytest.raises(ValueError, match="Comparator raised exception") as info:
        structure({"x": {1: 1, "a": 2}})
    assert isinstance(info.value.__cause__, TypeError)


def test_wrong_number_of_leaves():
    treedef = structure((1, 2))
    with pytest.raises(ValueError, match="Too few leaves for PyTreeDef; expected 2, got 1"):
        treedef.unflatten([1])
    with pytest.raises(ValueError, match=r"Too many leaves for PyTreeDef; expected 2\."):
        native.tree_unflatten(treedef, [1, 2, 3])
    assert treedef.unflatten(iter([1, 2])) == (1, 2)
    with pytest.raises(TypeError):
        treedef.unflatten(3)
    with pytest.raises(TypeError):
        native.tree_unflatten(3, [1])


class BadOne:
    pass


class BadTwo:
    pass


class Lazy:
    pass


native.register_node(BadOne, lambda x: 3, lambda aux, kids: None)
native.register_node(BadTwo, lambda x: (3, 4), lambda aux, kids: None)
native.register_node(Lazy, lambda x: (([i] for i in range(2)), None), lambda aux, kids: kids)


def test_custom_nodes():
    with pytest.raises(ValueError, match=r"should return a \(children, aux_data\) tuple, got 3"):
        structure(BadOne())
    with pytest.raises(ValueError, match="'children' is iterable, got"):
        structure(BadTwo())
    leaves, treedef = native.tree_flatten(Lazy())
    assert leaves == [0, 1]
    assert native.match_tree(treedef, Lazy()) == [0, 1]
    assert native.tree_unflatten(treedef, [5, 6]) == ([5], [6])
    assert native.match_tree(structure(Box(1, "a")), Box(1, "b")) is None
    with pytest.raises(ValueError, match="Duplicate custom PyTreeDef type registration"):
        native.register_node(Box, lambda x: x, lambda a, x: x)
    with pytest.raises(ValueError, match="Duplicate"):
        native.register_node(tuple, lambda x: x, lambda a, x: x)
    with pytest.raises(ValueError, match="Duplicate custom dataclass PyTreeDef"):
        native.register_dataclass(Record, [], [])
    with pytest.raises(AttributeError):
        broken = Record(1, 2)
        del broken.y
        structure(broken)


OrderedDict = collections.OrderedDict
DefaultDict = collections.defaultdict
UP_TO_ERRORS = [
    ((1, 2), (1, 2, 3), "Tuple arity mismatch: 3 != 2; tuple: (1, 2, 3)."),
    ((1, 2), [1, 2], "Expected tuple, got [1, 2]."),
    ([1, 2], (1, 2), "Expected list, got (1, 2)."),
    ([1], [1, 2], "List arity mismatch: 2 != 1; list: [1, 2]."),
    (None, 1, "Expected None, got 1."),
    ({"a": 1}, {"b": 1}, "Dict key mismatch; expected keys: ['a']; present keys: ['b']."),
    ({"a": 1}, [1], "Expected dict, got [1]."),
    (Point(1, 2), (1, 2), "Expected named tuple, got (1, 2)."),
    (Point(1, 2), SubPoint(1, 2), "Named tuple type mismatch: expected type:"),
    ((1, 2), Point(1, 2), "Expected tuple, got Point(x=1, y=2)."),
    (Box(1, "a"), Box(1, "b"), "Mismatch custom node data: 'a' != 'b'; value: "),
    (Box(1, "a"), 3, "Custom node type mismatch: expected type: "),
    (Record(1, 2), Record(1, 2, "z"), "Mismatch custom dataclass node data: ('q',) != ('z',)"),
    (Record(1, 2), 3, "Custom dataclass node type mismatch: expected type: "),
    (OrderedDict(a=1, b=2), OrderedDict(b=1, a=2), "node data: ('a', 'b') != ('b', 'a')"),
    (OrderedDict(a=1), {"a": 1}, "expected type: <class 'collections.OrderedDict'>, value:"),
    ({"a": 1}, OrderedDict(a=1), "Expected dict, got OrderedDict("),
    (DefaultDict(list, a=1), DefaultDict(int, a=1), "(<class 'list'>, ('a',)) != (<class 'int'>"),
    (((1, 2), 3), ((1, 2, 4), 3), "Tuple arity mismatch: 3 != 2; tuple: (1, 2, 4)."),
]


@pytest.mark.parametrize("prefix, tree, message", UP_TO_ERRORS, ids=[u[2] for u in UP_TO_ERRORS])
def test_flatten_up_to_errors(prefix, tree, message):
    with pytest.raises(ValueError) as info:
        structure(prefix).flatten_up_to(tree)
    assert message in str(info.value)
    assert native.match_tree(structure(prefix), tree) is None


def test_flatten_up_to():
    tree = ([5, 6], {"q": 1})
    assert structure((1, 2)).flatten_up_to(tree) == [[5, 6], {"q": 1}]
    assert structure({"b": 1, "a": [2]}).flatten_up_to({"a": [3], "b": (4,)}) == [3, (4,)]


def test_compose():
    composed = structure((1, {"k": 2})).compose(structure([1, {"a": 1}]))
    assert repr(composed) == "PyTreeDef(([*, {'a': *}], {'k': [*, {'a': *}]}))"
    assert (composed.num_leaves, composed.num_nodes) == (4, 10)
    tree = ([1, {"a": 2}], {"k": [3, {"a": 4}]})
    assert native.match_tree(composed, tree) == [1, 2, 3, 4]
    assert composed.unflatten([1, 2, 3, 4]) == tree


def test_make_rejects_nonsense():
    make = native.PyTreeDef.make_from_node_data_and_children
    leaf = structure(1)
    for data, children in [
        ((dict, ["a", "b"]), [leaf]),
        ((int, None), [leaf]),
        (None, [leaf]),
        ((type(None), None), [leaf]),
        ((Record, ()), [leaf, leaf]),
        ((Record, ("m",)), [leaf]),
        (((), None), []),
        ((tuple, None), [3]),
        ((DefaultDict, 3), []),
    ]:
        with pytest.raises((ValueError, TypeError)):
            make(data, children)
    for state in [(), ((1, None),), ((3, (tuple, None)),), (5,), ((0, 5),), ((0, None), (0, None))]:
        with pytest.raises((ValueError, TypeError)):
            native.PyTreeDef(state)


def test_match_dict_orders():
    keys = [f"key{i}" for i in range(12)]
    tree = {k: i for i, k in enumerate(random.Random(0).sample(keys, 12))}
    leaves, treedef = native.tree_flatten(tree)
    assert leaves == [tree[k] for k in sorted(keys)]
    for seed in range(5):
        other = {k: tree[k] for k in random.Random(seed).sample(keys, 12)}
        assert native.match_tree(treedef, other) == leaves
        fresh = {"".join(list(k)): v for k, v in other.items()}  # equal keys, other objects
        assert native.match_tree(treedef, fresh) == leaves
    del other["key3"]
    assert native.match_tree(treedef, other) is None
    other["else"] = 1
    assert native.match_tree(treedef, other) is None


def test_ordered_dict_after_move_to_end():
    tree = collections.OrderedDict(a=1, b=2, c=3)
    tree.move_to_end("a")
    leaves, treedef = native.tree_flatten(tree)
    assert leaves == [2, 3, 1] and native.match_tree(treedef, tree) == leaves
    assert native.match_tree(treedef, collections.OrderedDict(b=1, c=2, a=3)) == [1, 2, 3]
    assert native.match_tree(treedef, collections.OrderedDict(a=1, b=2, c=3)) is None


def test_random_trees_round_trip():
    rng = random.Random(1)

    def make(depth):
        kind = rng.randrange(9) if depth else 0
        kids = [make(depth - 1) for _ in range(rng.randrange(4))] if kind > 1 else []
        names = rng.sample("abcdefgh", len(kids))
        named = dict(zip(names, kids, strict=True))
        if kind == 0:
            return rng.random()
        if kind == 1:
            return None
        if kind == 7:
            return Point(make(depth - 1), make(depth - 1))
        if kind == 8:
            return Box(make(depth - 1), "aux")
        return [tuple(kids), kids, named, OrderedDict(named), DefaultDict(int, named)][kind - 2]

    for _ in range(200):
        tree = make(5)
        leaves, treedef = native.tree_flatten(tree)
        assert native.match_tree(treedef, tree) == leaves
        again = treedef.unflatten(leaves)
        assert native.tree_flatten(again) == (leaves, treedef)
        assert pickle.loads(pickle.dumps(treedef)) == treedef
        assert treedef.flatten_up_to(again) == leaves
        double = native.tree_map(lambda a, b: a + b, tree, again)
        assert native.tree_leaves(double) == [2 * a for a in leaves]


def test_tree_map():
    out = native.tree_map(lambda a, b: (a, b), {"x": 1, "y": [2]}, {"y": [20], "x": (1, 1)})
    assert out == {"x": (1, (1, 1)), "y": [(2, 20)]}
    assert native.tree_map(lambda a: a or 0, [None, 1], is_leaf=lambda x: x is None) == [0, 1]
    with pytest.raises(ZeroDivisionError):
        native.tree_map(lambda a: 1 / a, [1, 0])


def test_all_leaves_and_one_level():
    assert native.all_leaves([1, 2]) and native.all_leaves([])
    assert not native.all_leaves([1, None]) and not native.all_leaves([(1,)])
    assert native.all_leaves([1, (2,)], is_leaf=lambda x: isinstance(x, tuple))
    assert native.flatten_one_level(3) is None
    assert native.flatten_one_level({"b": 1, "a": (2,)}) == ([(2,), 1], ("a", "b"))
    assert native.flatten_one_level(Box(1, 2)) == ([1], 2)
    assert native.is_node_type(Box) and native.is_node_type(Point) and native.is_node_type(dict)
    assert not native.is_node_type(int)


def test_deep_and_recursive_trees():
    deep = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        structure(deep)
    while isinstance(deep, list):
        deep = deep[0]
    loop = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        structure(loop)


def test_matching_survives_mutation_by_flatten():
    class Nasty:
        victim = None

        def flatten(self):
            if self.victim is not None:
                self.victim.clear()
            return (object(), object()), None

    native.register_node(Nasty, Nasty.flatten, lambda aux, kids: Nasty())
    nasty = Nasty()
    tree = [object(), (object(), nasty, object()), object()]
    treedef = structure(tree)
    nasty.victim = tree
    assert native.match_tree(treedef, tree) is None
    tree = {"a": object(), "b": nasty, "c": object()}
    nasty.victim = None
    treedef = structure(tree)
    nasty.victim = tree
    assert native.match_tree(treedef, tree) is None


def test_no_leaks():
    class Leaf:
        pass

    leaf = Leaf()
    alive = weakref.ref(leaf)
    tree = {"a": [leaf, Box(leaf, "m")], "b": Record(leaf, None), "c": Point(leaf, 1)}
    treedef = structure(tree)
    count = sys.getrefcount(leaf)
    for _ in range(3):
        flat = native.tree_leaves(tree)
        native.match_tree(treedef, tree)
        treedef.unflatten(flat)
        with pytest.raises(ValueError):
            treedef.flatten_up_to({"a": [leaf, 3], "b": 1, "c": 2})
        with pytest.raises(ValueError):
            treedef.unflatten(flat[:-1])
        with pytest.raises(ZeroDivisionError):
            native.tree_map(lambda x: 1 / 0, tree)
        del flat
    assert sys.getrefcount(leaf) == count
    del leaf, tree
    assert alive() is None


def test_treedef_takes_part_in_garbage_collection():
    class Meta:
        pass

    meta = Meta()
    meta.treedef = structure(Box(1, meta))
    gone = weakref.ref(meta)
    watcher = weakref.ref(meta.treedef)
    del meta
    gc.collect()
    assert gone() is None and watcher() is None
