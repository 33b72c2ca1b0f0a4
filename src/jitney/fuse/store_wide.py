"""Which sums of many arrays are stored, since several kernels would each read all of the arrays.

In: a graph and the numbers of the nodes that are stored anyhow. Out: the numbers of more nodes. The
cotangents of a network with residual connections are such sums: that of a layer is that of the next
one and a product. A kernel a layer computes something of it, and would read the products of all
layers behind: with the number of layers, time grew as its square, and so did what was written to be
compiled (the gradient of 760 layers took 8.4 s, and takes 2.0).

Of arrays a, b, c, d, e two kernels read ten; stored in between there are five to read, one to write
and two to read.
"""

from ..graph.elementwise import is_elementwise
from ..graph.graph import Graph
from ..ir.node import Node

MOST_READ = 5  # arrays that a kernel reads for a value which another one computes as well
SMALL, MOST_OF_SMALL = 1024, 40  # elements up to which a kernel more costs its call above all
_VIEWS = frozenset(
    "slice pad concat transpose reverse reshape broadcast dynamic_slice framed gather".split()
)
_NUMBERS = frozenset("lit iota empty const".split())
_WITH_ITS_USERS = frozenset(("reduce", "argreduce"))  # stages of the kernel that reads them, mostly


def store_wide(graph: Graph, stored: frozenset) -> set[int]:
    """See the module's text."""
    nodes = graph.nodes()
    kernels = _kernels_above(graph, nodes, stored)
    arrays: dict[int, frozenset] = {}
    found: set[int] = set()
    for node in nodes:
        if not is_elementwise(node) and node.op not in _VIEWS:
            few = node.op in _NUMBERS
            arrays[node.id] = frozenset() if few else frozenset((node.id,))
            continue
        read = _read(node, arrays)
        if is_elementwise(node):
            again = len(read) >= _most(node) and len(kernels[node.id]) > 1
            if node.id in stored or again:
                read = frozenset((node.id,))
            if again and node.id not in stored:
                found.add(node.id)
        arrays[node.id] = read
    return found


def _most(node: Node) -> int:
    return MOST_READ if node.size > SMALL else MOST_OF_SMALL


def _read(node: Node, arrays: dict) -> frozenset:
    """The arrays read for a node: those much smaller than it, such as rows of biases, and more than
    count are left out."""
    read: frozenset = frozenset()
    for a in node.args:
        if 4 * a.size >= node.size and len(read) < _most(node):
            read |= arrays[a.id]
    return read


def _kernels_above(graph: Graph, nodes: list[Node], stored: frozenset) -> dict[int, frozenset]:
    """Stored nodes for which a node is computed, two of them at most."""
    results = {node.id for node in graph.outputs}
    above: dict[int, frozenset] = {}
    for node in reversed(nodes):
        found = frozenset((node.id,)) if node.id in results else frozenset()
        for user in graph.users_of(node):
            if user.id == node.id or len(found) > 1:
                continue
            inside = is_elementwise(user) or user.op in _VIEWS or user.op in _WITH_ITS_USERS
            is_root = user.id in stored or not inside
            found |= frozenset((user.id,)) if is_root else above[user.id]
        above[node.id] = found
    return above
