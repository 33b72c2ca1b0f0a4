"""Trees with paths."""

import collections
import dataclasses

import pytest

import jitney
from jitney import tree_util as tu

Point = collections.namedtuple("Point", "x y")


@tu.register_dataclass
@dataclasses.dataclass
class State:
    weights: dict
    step: int = dataclasses.field(metadata={"static": True})


def test_paths_follow_leaves():
    tree = {"b": [1, (2,)], "a": Point(3, None), "s": State({"w": 4}, 7)}
    found, treedef = tu.tree_flatten_with_path(tree)
    assert [tu.keystr(p) for p, _ in found] == [
        "['a'].x",
        "['b'][0]",
        "['b'][1][0]",
        "['s'].weights['w']",
    ]
    assert [leaf for _, leaf in found] == tu.tree_leaves(tree) == [3, 1, 2, 4]
    assert treedef == tu.tree_structure(tree)
    assert tu.keystr(found[1][0], simple=True, separator="/") == "b/0"


def test_map_reduce_transpose_broadcast():
    assert tu.tree_map(lambda x, y: x + y, {"a": (1, 2)}, {"a": (3, 4)}) == {"a": (4, 6)}
    assert tu.tree_map_with_path(lambda p, x: tu.keystr(p), [1, {"k": 2}]) == [
        "[0]",
        {"k": "[1]['k']"},
    ]
    assert tu.tree_reduce(lambda a, b: a + b, (1, [2, 3]), 10) == 16
    assert tu.tree_transpose(tu.tree_structure([0, 0]), None, [{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
    assert tu.tree_broadcast((1, 2), ((0, 0), 0)) == ((1, 1), 2)
    assert jitney.tree.reduce_associative(lambda a, b: a + b, [1, 2, 3, 4, 5]) == 15
    assert not tu.tree_all((True, [False]))


def test_mismatches_are_explained():
    with pytest.raises(
        ValueError, match=r"different lengths of tuple at key path\n    tree_map tree\['a'\]"
    ):
        tu.tree_map(lambda x, y: x, {"a": (1, 2)}, {"a": (1, 2, 3)})
    with pytest.raises(ValueError, match="different types"):
        tu.tree_map(lambda x, y: x, (1,), [1])


def test_registered_classes():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    tu.register_pytree_with_keys(
        Pair,
        lambda p: (((tu.GetAttrKey("a"), p.a), (tu.GetAttrKey("b"), p.b)), None),
        lambda _, c: Pair(*c),
    )
    assert [tu.keystr(p) for p, _ in tu.tree_leaves_with_path(Pair(1, [2]))] == [".a", ".b[0]"]
    partial = tu.Partial(lambda x, y: x - y, 5)
    assert tu.tree_leaves(partial) == [5] and partial(3) == 2
    assert tu.tree_map(lambda x: x * 2, partial)(3) == 7
    with pytest.raises(ValueError, match="must together"):
        tu.register_dataclass(dataclasses.make_dataclass("D", ["a", "b"]), ["a"], [])
