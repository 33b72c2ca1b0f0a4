"""Elementwise work on a matrix product (or convolution), done where its sums are stored.

In: an elementwise root that is to be stored. Out: the steps of the product it hangs on, with a
`Tail`: what becomes of each sum on its way to memory (bias, activation, residual, scale). The
product itself is never stored.

A root is taken when one product of its shape is below it, everything between the two is elementwise
and used nowhere else, and what else it reads are operands with one stride along each of the
product's sides. Operands as large as the result may be inputs that the caller gives up, or the
state of a loop, which an elementwise kernel updates in place and a product could not: such roots
stay kernels.
"""

from dataclasses import dataclass

from ..graph.elementwise import is_elementwise
from ..ir.types import kind_of, nbytes_of
from .build_kernel import KernelBuilder, NeedRows, finish_kernel
from .contract import contract_products
from .contractions import PRODUCTS, add_contraction
from .kernel import Expr, Store, live_expressions
from .make_steps import root_maker
from .number_slots import signed
from .reuse_kernel import Recorder

MAX_NODES = 48  # a longer chain is a kernel of its own
LEAST_DEPTH = 16  # of the sums: the work of shorter ones is less than that of storing them
SUM = "sum"  # the expression that stands for a finished sum


@dataclass(frozen=True)
class Tail:
    """A pointwise program: `used` are its expressions, operands first, the last one the result.

    A load has a number, an element code and strides along batch, rows and columns; a stride beyond
    0 and 1 is a parameter. `text` says everything the code depends on.
    """

    text: str
    used: tuple[Expr, ...]
    loads: dict[int, tuple[int, str, tuple[str, ...]]]  # expression -> number, code, strides
    slots: dict[int, int]  # expression -> parameter
    params: tuple[int, ...]


@root_maker
def store_with_product(partition, node, view, item) -> bool:
    """Adds the steps of an elementwise root that ends a product; False if it does not."""
    if partition.plan_contraction is None or kind_of(node.dtype) != "f":
        return False
    product = product_below(partition, node)
    if product is None or not view.is_contiguous:
        return False
    mark = partition.mark()
    tail, refs = _tail_of(partition, node, view, product)
    kind = PRODUCTS[product.op]
    plan = kind.plan(partition, product, view, tail) if tail is not None else None
    if plan is None:
        partition.go_back(mark)
        return False
    contraction, first, second = plan
    add_contraction(partition, item, contraction, [first, second, view], refs)
    return True


def product_below(partition, root):
    """The product whose sums `root` is made of, if nothing else needs it or what is between."""
    inside, leaves = _elementwise_below(partition, root)
    found = [
        n for n in leaves.values()
        if n.op in PRODUCTS and n.shape == root.shape and n.dtype == root.dtype
        and _depth(n) >= LEAST_DEPTH and partition.view_of(n) is None
    ]  # fmt: skip
    for product in sorted(found, key=_depth, reverse=True):
        if all(u.id in inside for u in partition.graph.users_of(product)) and _used_only_inside(
            partition, root, product, inside
        ):
            return product
    return None


def _depth(product) -> int:
    return PRODUCTS[product.op].depth(product)


def _elementwise_below(partition, root):
    """(nodes computed with the root, what they read), by number."""
    inside, leaves, stack = {root.id: root}, {}, [root]
    while stack and len(inside) <= MAX_NODES:
        for a in stack.pop().args:
            if a.id in inside or a.id in leaves:
                continue
            stored = partition.view_of(a) is not None or a.id in partition.forced
            if stored or not is_elementwise(a):
                leaves[a.id] = a
            else:
                inside[a.id] = a
                stack.append(a)
    return (inside, leaves) if not stack else ({}, {})


def _used_only_inside(partition, root, product, inside) -> bool:
    below = {product.id}
    for number in sorted(inside):
        node = inside[number]
        if any(a.id in below for a in node.args):
            below.add(number)
            users = partition.graph.users_of(node)
            if node is not root and not all(u.id in inside for u in users):
                return False
    return root.id in below


def _tail_of(partition, node, view, product):
    """(Tail, [(buffer, byte offset) of its operands]), or (None, [])."""
    builder = KernelBuilder(Recorder(partition, None, {}), [(node, view)])
    rows = frozenset(builder.row_variables)
    sums = builder.make(SUM, (), product.dtype, (), rows, cost=1)
    builder.memo[product.id, builder.root_index, None] = sums
    try:
        result = builder.value(node, builder.root_index)
    except NeedRows:
        return None, []
    if builder.stage_list:
        return None, []
    store = Store(0, builder.position_in(view, builder.root_index), result)
    kernel = finish_kernel(builder, [store], node.op)
    used = contract_products(kernel, live_expressions(kernel))
    return _write_tail(partition, builder, used, _sides(builder, product), result)


def _sides(builder, product):
    """For each side of the product (batch, rows, columns) its loops: (variable, extent)."""
    batch, rows = PRODUCTS[product.op].sides(product)
    bounds = (0, batch, batch + rows, len(product.shape))
    loops = [(a[1][0][0], n) if a[1] else None
             for a, n in zip(builder.root_index, product.shape, strict=True)]  # fmt: skip
    return [[x for x in loops[lo:hi] if x] for lo, hi in zip(bounds, bounds[1:], strict=False)]


def _write_tail(partition, builder, used, sides, result):
    lines, loads, slots, params, refs = [], {}, {}, [], []
    number = {x.id: i for i, x in enumerate(used)}
    for x in used:
        what = ",".join(map(str, x.attrs))
        if x.op == "load":
            place = _operand(builder, x, sides)
            if place is None or _may_be_updated(partition, builder, x, place[1], sides):
                return None, []
            strides = tuple([_stride_text(s, params) for s in place[1]])
            buffer = partition.buffers[builder.buffer_ids[x.attrs[0]]]
            loads[x.id] = (len(refs), buffer.code, strides)
            what = f"p{len(refs)}:{buffer.code}[{' '.join(strides)}]"
            refs.append((buffer, place[0] * nbytes_of(buffer.code)))
        elif x.op == "param":
            slots[x.id], what = len(params), f"s{len(params)}"
            params.append(signed(x.attrs[0]))
        elif x.op in ("index", "saved", "reduced", "carry"):
            return None, []
        args = " ".join([f"e{number[a.id]}" for a in x.args])
        lines.append(f"e{number[x.id]}:{x.dtype}={x.op} {what} {args}")
    if used[-1] is not result:
        return None, []
    return Tail("\n".join(lines), tuple(used), loads, slots, tuple(params)), refs


def _operand(builder, load, sides):
    """(offset, strides of batch, row and column) of what a load reads, or None."""
    number, (offset, terms) = load.attrs
    del number
    if load.args or any(atom < 0 for atom, _ in terms):
        return None
    coefficients = dict(terms)
    strides = []
    for side in sides:
        steps = [(coefficients.get(v, 0), n) for v, n in side]
        for (outer, _), (inner, extent) in zip(steps, steps[1:], strict=False):
            if outer != inner * extent:
                return None
        strides.append(steps[-1][0] if steps else 0)
    return offset, strides


def _may_be_updated(partition, builder, load, strides, sides) -> bool:
    """Whether an operand of the result's size may be what the result is to overwrite."""
    buffer = partition.buffers[builder.buffer_ids[load.attrs[0]]]
    moves = all(s or not side for s, side in zip(strides, sides, strict=True))
    return moves and (partition.is_nested or buffer.kind == "in")


def _stride_text(stride: int, params: list) -> str:
    if 0 <= stride <= 1:
        return str(stride)
    params.append(stride)
    return f"s{len(params) - 1}"
