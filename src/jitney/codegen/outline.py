"""Functions of their own for costly operations that a kernel uses many times.

In: a kernel's expressions. Out: which operations to call instead of writing out, and the text of
those functions. An unrolled loop with 200 sines would otherwise be 9,000 instructions to compile;
with one function it is 200 calls.
"""

from .elementwise import evaluate, llvm_type
from .emitter import Emitter
from .instructions import Value

MIN_USES = 6  # fewer uses are written out: inlined code is scheduled together with its surroundings
MIN_COST = 10


class Outliner:
    """Writes each (operation, types, lanes) once and gives calls to it."""

    def __init__(self, used, target):
        self.target = target
        self.functions: dict = {}
        self.declarations: dict[str, None] = {}
        self.definitions: dict[str, str] = {}
        self.texts: list[str] = []
        counts: dict = {}
        for x in used:
            if x.args and x.cost - sum(a.cost for a in x.args) >= MIN_COST:
                counts[self._kind(x)] = counts.get(self._kind(x), 0) + 1
        self.wanted = {kind for kind, n in counts.items() if n >= MIN_USES}

    @staticmethod
    def _kind(x):
        return (x.op, x.dtype, tuple([a.dtype for a in x.args]))

    def handles(self, x) -> bool:
        return self._kind(x) in self.wanted

    def call(self, e, x, args) -> Value:
        """The value of x, by a call for each copy."""
        lanes = max(a.lanes for a in args)
        args = [e.splat(a, lanes) if a.lanes != lanes else a for a in args]
        name = self._function(x, lanes)
        result = Value((), llvm_type(x.dtype), lanes)
        copies = max(len(a.names) for a in args)
        names = []
        for u in range(copies):
            operands = ", ".join(
                f"{a.text} {a.names[u if len(a.names) > 1 else 0]}" for a in args
            )
            names.append(e.instruction(f"call fastcc {result.text} @{name}({operands})"))
        return Value(tuple(names), result.type, lanes)

    def _function(self, x, lanes) -> str:
        key = (*self._kind(x), lanes)
        name = self.functions.get(key)
        if name is None:
            name = self.functions[key] = f"{x.op}.{len(self.functions)}"
            self._write(name, x, lanes)
        return name

    def _write(self, name, x, lanes) -> None:
        e = Emitter(self.target)
        args = [Value((f"%a{i}",), llvm_type(a.dtype), lanes) for i, a in enumerate(x.args)]
        result = evaluate(e, x.op, x.dtype, [a.dtype for a in x.args], args)
        head = ", ".join(f"{a.text} {a.names[0]}" for a in args)
        lines = [f"define internal fastcc {result.text} @{name}({head}) noinline {{", "entry:"]
        lines += [*e.lines, f"  ret {result.text} {result.names[0]}", "}"]
        self.declarations.update(e.declarations)
        self.definitions.update(e.definitions)
        self.texts.append("\n".join(lines))
