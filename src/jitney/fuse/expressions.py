"""The expressions of one kernel, each made once, and the buffers it reads.

In: operations on expressions; indices; views of buffers. Out: `Expr`s, operands before what is made
of them; operations of known numbers are carried out. An expression that stands for an index has an
`Affine`, and an index may contain the value of an expression.
"""

from ..graph.graph import literal_bits, literal_value
from ..ir import scalar_ops
from ..ir.types import kind_of, nbytes_of
from . import affine as af
from .affine import Affine
from .kernel import Expr

# Cost of one element in units of one vector instruction; what is not listed costs 1.
COST = {
    "div": 4, "rem": 20, "mod": 12, "sqrt": 5, "rsqrt": 6, "exp": 12, "exp2": 12, "log": 14,
    "sin": 16, "cos": 16, "tan": 28, "tanh": 18, "logistic": 16, "erf": 16, "erf_inv": 40,
    "erfc": 30, "erf_inv_published": 30,
    "log1p": 20, "expm1": 16, "pow": 60, "atan2": 30, "asin": 20, "acos": 20, "atan": 20,
    "sinh": 20, "cosh": 20, "asinh": 30, "acosh": 30, "atanh": 30, "cbrt": 20, "lgamma": 80,
    "digamma": 60, "bessel_i0e": 40, "bessel_i1e": 40, "nextafter": 6, "ldexp": 3,
}  # fmt: skip
SLOW = 4  # from this cost on an operation is not done again for each row (quotients)
HEAVY = 8  # from this cost on a value is kept rather than computed twice
FOLDED = frozenset(
    "convert eq ne lt le gt ge and or xor not add sub mul min max neg abs".split()
)


class Expressions:
    """The expressions of a kernel so far, and its numbers for buffers of the partition."""

    def __init__(self):
        self.exprs: list[Expr] = []
        self.known: dict = {}
        self.places: dict = {}  # of integers that are affine (known_place.py),
        self.ranges: dict = {}  # between which numbers others lie,
        self.asked = 0  # and how deep the question is
        self.extents: dict[int, int] = {}  # of loops, by their variables
        self.buffers: list[tuple[str, str]] = []
        self.buffer_numbers: dict[int, int] = {}
        self.buffer_ids: list[int] = []

    def make(self, op, args, dtype, attrs=(), variables=frozenset(), cost=None) -> Expr:
        if op == "select" and args[1] is args[2]:
            return args[1]
        if op == "select" and args[0].op == "const":
            return args[1 if args[0].attrs[0] else 2]
        if op in FOLDED and all(a.op == "const" for a in args):
            return self._folded(op, args, dtype)
        if op in ("max", "min") and dtype[0] != "f" and args[0].op == op and (
            args[1] in args[0].args
        ):
            return args[0]  # a place that was kept within its array before
        if op == "abs" or op == "mul" and args[0] is args[1]:
            args = (self._either_difference(args[0]),) * len(args)
        key = (op, tuple([a.id for a in args]), dtype, attrs)
        expr = self.known.get(key)
        if expr is None:
            if cost is None:
                cost = COST.get(op, 1)
            for a in args:
                variables = variables | a.variables
                cost += a.cost
            expr = Expr(op, args, dtype, attrs, len(self.exprs), cost, variables)
            self.exprs.append(expr)
            self.known[key] = expr
        return expr

    def _folded(self, op, args, dtype) -> Expr:
        """An operation of known numbers: of places in arrays that are written out, say."""
        masks = [(1 << 8 * nbytes_of(a.dtype)) - 1 for a in args]
        values = [literal_value(a.attrs[0] & m, a.dtype) for a, m in zip(args, masks, strict=True)]
        bits = literal_bits(scalar_ops.evaluate(op, dtype, values), dtype)
        return self.make("const", (), dtype, (bits,), cost=0)

    def _either_difference(self, x: Expr) -> Expr:
        """a - b or b - a, whichever was asked for first: their squares and sizes are the same, and
        with them the distance of each of two bodies from the other."""
        if x.op != "sub" or x.dtype[0] != "f":
            return x
        turned = self.known.get(("sub", tuple([a.id for a in x.args[::-1]]), x.dtype, ()))
        return turned if turned is not None and turned.id < x.id else x

    def variables_of(self, *affines: Affine) -> frozenset:
        found: set[int] = set()
        for a in affines:
            for atom, _ in a[1]:
                if atom >= 0:
                    found.add(atom)
                else:
                    found |= self.exprs[-1 - atom].variables
        return frozenset(found)

    def integer(self, value: int, dtype="i64") -> Expr:
        bits = value & ((1 << 64) - 1)
        if -64 <= value <= 64:
            return self.make("const", (), dtype, (bits,), cost=0)
        return self.make("param", (), dtype, (bits,), cost=0)

    def index_expr(self, position: Affine, dtype="i64") -> Expr:
        """The integer value of an index."""
        if not position[1]:
            return self.integer(position[0], dtype)
        return self.make("index", (), dtype, (position,), self.variables_of(position))

    def atom(self, expr: Expr) -> Affine:
        """An index that is the (i64) value of an expression."""
        if expr.op == "index":
            return expr.attrs[0]
        if expr.op == "const":
            bits = expr.attrs[0]
            return af.constant(bits - (1 << 64) if bits >> 63 else bits)
        return af.variable(-1 - expr.id)

    def both(self, a: Expr | None, b: Expr | None) -> Expr | None:
        """Conjunction of two masks, either of which may be absent."""
        if a is None or b is None or a is b:
            return a if b is None else b
        return self.make("and", (a, b), "b1")

    # ------------------------------------------------------------------ buffers
    def buffer_number(self, buffer, mode: str) -> int:
        """The kernel's own number for a buffer of the partition."""
        number = self.buffer_numbers.get(buffer.id)
        if number is None:
            number = self.buffer_numbers[buffer.id] = len(self.buffers)
            self.buffers.append((buffer.code, mode))
            self.buffer_ids.append(buffer.id)
        elif self.buffers[number][1] != mode:
            self.buffers[number] = (buffer.code, "inout")
        return number

    def load(self, view, index, mask=None, variables=frozenset()) -> Expr:
        """An element of a buffer. `variables`: loops it must be loaded anew in."""
        if mask is not None and mask.op == "const":
            if not mask.attrs[0]:
                return self.make("const", (), view.buffer.code, (0,), cost=0)
            mask = None
        if mask is not None and self._is_there_anyhow(view, index, mask):
            mask = None
        position = self.position_in(view, index)
        number = self.buffer_number(view.buffer, "in")
        args = (mask,) if mask is not None else ()
        variables = variables | self.variables_of(position)
        return self.make("load", args, view.buffer.code, (number, position), variables, cost=1)

    def _is_there_anyhow(self, view, index, mask) -> bool:
        """Whether an integer is loaded without asking: it is in the array for all numbers of its
        loops, and loops inside these change the answer. So a number of a row stays one, and an
        address made from it (a roll along two axes by numbers of a batch .145 to .013 ms)."""
        if kind_of(view.buffer.code) == "f":
            return False
        variables = frozenset().union(*[self.variables_of(place) for place in index])
        others = mask.variables - variables
        if not others or min(others) < max(variables, default=-1):
            return False
        for (least, terms), extent in zip(index, view.shape, strict=True):
            most = least
            for variable, step in terms:
                if variable not in self.extents:
                    return False
                far = step * (self.extents[variable] - 1)
                least, most = least + min(far, 0), most + max(far, 0)
            if least < 0 or most >= extent:
                return False
        return True

    @staticmethod
    def position_in(view, index) -> Affine:
        """Where element `index` of a view lies in its buffer; along axes of extent 1 it is the
        first wherever it is looked up (one of three arrays chosen for each element: no gathers)."""
        strides = view.strides
        if 1 in view.shape:
            strides = [0 if n == 1 else s for n, s in zip(view.shape, strides, strict=True)]
        return af.offset(af.dot(index, strides), view.offset)
