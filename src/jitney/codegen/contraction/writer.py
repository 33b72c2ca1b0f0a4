"""`Writer`: structured LLVM IR text: address arithmetic, loops, conditions, partial vectors.

In: calls that name operands by their text (an SSA name or a Python int). Out: `function(...)`, the
text of a module with one kernel. It sits on the `Emitter` of the loop generator, so that the
instructions of a contraction and of a fused epilogue share one body.
Invariant: an address computation is written once in each scope; leaving a loop or a condition
forgets what was computed inside, because it does not dominate what follows.

[Note: partial vectors] With AVX-512 a partial vector is a masked load or store. Elsewhere masks
are slow for stores, and missing for bytes, so elements go one by one through `%scratch` on the
stack; whole vectors in a place where a partial one may come are told apart by a branch.
"""

from ..constants_text import type_text
from ..emitter import Emitter
from ..instructions import Value

_SUFFIX = {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16"}
_BYTES = {"double": 8, "i64": 8, "float": 4, "i32": 4, "half": 2, "bfloat": 2, "i16": 2, "i8": 1}


def bytes_of(element: str) -> int:
    """Bytes of an LLVM element type in memory."""
    return _BYTES[element]


def vector_suffix(element: str, lanes: int) -> str:
    """The overload suffix of an intrinsic.

    >>> vector_suffix("float", 16)
    'v16f32'
    """
    return f"v{lanes}{_SUFFIX.get(element, element)}"


class Parameters:
    """The kernel's integers by name, loaded where they are first used in each scope.

    Loading them all at the entry would keep some thirty values alive through every loop.
    """

    def __init__(self, w, names):
        self._w = w
        self._place = {name: i for i, name in enumerate(names)}

    def __getitem__(self, name) -> str:
        address = self._w.at("%params", self._place[name], "i64")
        return self._w.load_constant("i64", address)


class Writer:
    """Writes the body of one kernel."""

    def __init__(self, target):
        self.e = Emitter(target)
        self.target = target
        self._allocas: list[str] = []
        self._scratch: str | None = None

    # ---- integers -------------------------------------------------------------------------

    def _fold(self, op, a, b, function, neutral=None) -> str | int:
        if isinstance(a, int) and isinstance(b, int):
            return function(a, b)
        if neutral is not None and b == neutral:
            return a
        return self.e.instruction(f"{op} i64 {a}, {b}")

    def add(self, a, b):
        if isinstance(a, int):
            a, b = b, a
        return self._fold("add", a, b, lambda x, y: x + y, 0)

    def sub(self, a, b):
        return self._fold("sub", a, b, lambda x, y: x - y, 0)

    def mul(self, a, b):
        if isinstance(a, int):
            a, b = b, a
        return self._fold("mul", a, b, lambda x, y: x * y, 1)

    def udiv(self, a, b):
        return self._fold("udiv", a, b, lambda x, y: x // y, 1)

    def urem(self, a, b):
        return self._fold("urem", a, b, lambda x, y: x % y)

    def compare(self, predicate, a, b) -> str:
        """An i1 operand."""
        return self.e.instruction(f"icmp {predicate} i64 {a}, {b}")

    def select(self, condition, a, b, type_="i64") -> str:
        return self.e.instruction(f"select i1 {condition}, {type_} {a}, {type_} {b}")

    def smaller(self, a, b):
        """The smaller of two signed integers."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self.select(self.compare("slt", a, b), a, b)

    def larger(self, a, b):
        return self.select(self.compare("sgt", a, b), a, b)

    def round_down(self, a, step: int):
        """The largest multiple of `step` that is not above `a`."""
        if step & (step - 1) == 0 and not isinstance(a, int):
            return self.e.instruction(f"and i64 {a}, {-step}")
        return self.mul(self.udiv(a, step), step)

    def round_up(self, a, step: int):
        return self.round_down(self.add(a, step - 1), step)

    # ---- memory ---------------------------------------------------------------------------

    def at(self, pointer, index, element="i8") -> str:
        """Address of an element."""
        if isinstance(index, int) and index == 0:
            return pointer
        return self.e.instruction(f"getelementptr {element}, ptr {pointer}, i64 {index}")

    def load(self, element, pointer, lanes=1) -> str:
        name = self.e.fresh()
        text = type_text(element, lanes)
        self.e.emit_raw(f"  {name} = load {text}, ptr {pointer}, align {bytes_of(element)}")
        return name

    def load_value(self, element, pointer, lanes=1) -> Value:
        return Value((self.load(element, pointer, lanes),), element, lanes)

    def load_constant(self, type_, pointer) -> str:
        """A load from memory that nothing writes during the kernel (may be merged with others)."""
        return self.e.instruction(f"load {type_}, ptr {pointer}")

    def store(self, element, value, pointer, lanes=1) -> None:
        text = type_text(element, lanes)
        self.e.emit_raw(f"  store {text} {value}, ptr {pointer}, align {bytes_of(element)}")

    def allocate(self, element, count: int, stem="room") -> str:
        """Memory on the stack, for the whole kernel."""
        name = f"%{stem}{len(self._allocas)}"
        self._allocas.append(f"  {name} = alloca {element}, i64 {count}, align 64")
        return name

    # ---- partial vectors: see [Note: partial vectors] ---------------------------------------

    def mask(self, count, lanes) -> str:
        """The first `count` lanes, as an operand of type <lanes x i1>."""
        narrow = self.e.instruction(f"trunc i64 {count} to i32")
        limit = self.e.splat(Value((str(narrow),), "i32", 1), lanes)
        numbers = self.e.vector_constant("i32", range(lanes))
        return self.e.icmp("ult", numbers, limit).names[0]

    def prepare_partial(self, lanes, count) -> None:
        """Compute before a loop what partial vectors of `count` elements need inside it."""
        if self.target.avx512 or self.target.avx2:
            self.mask(count, lanes)

    def load_partial(self, element, pointer, lanes, count) -> str:
        """The first `count` elements, then zeros (count may exceed `lanes`: all of them)."""
        if self.target.avx512 or (self.target.avx2 and bytes_of(element) >= 4):
            return self._masked_load(element, pointer, lanes, count)
        return self.choose(
            self.compare("sge", count, lanes),
            lambda: [self.load(element, pointer, lanes)],
            lambda: [self.load_strided(element, pointer, lanes, count, 1)],
            [type_text(element, lanes)],
        )[0]

    def store_partial(self, element, value, pointer, lanes, count, stride=1) -> None:
        """Store the first `count` lanes, `stride` elements apart."""
        if stride == 1 and self.target.avx512:
            self._masked_store(element, value, pointer, lanes, count)
            return
        if stride != 1:
            self._store_by_element(element, value, pointer, lanes, count, stride)
            return
        self.choose(
            self.compare("sge", count, lanes),
            lambda: self.store(element, value, pointer, lanes) or [],
            lambda: self._store_by_element(element, value, pointer, lanes, count, 1) or [],
            [],
        )

    def _masked_load(self, element, pointer, lanes, count):
        vector, bits = type_text(element, lanes), type_text("i1", lanes)
        function = f"@llvm.masked.load.{vector_suffix(element, lanes)}.p0"
        self.e.declare(f"declare {vector} {function}(ptr, i32 immarg, {bits}, {vector})")
        chosen, name = self.mask(count, lanes), self.e.fresh()
        self.e.emit_raw(
            f"  {name} = call {vector} {function}(ptr {pointer}, i32 {bytes_of(element)}, "
            f"{bits} {chosen}, {vector} zeroinitializer)"
        )
        return name

    def _masked_store(self, element, value, pointer, lanes, count):
        vector, bits = type_text(element, lanes), type_text("i1", lanes)
        function = f"@llvm.masked.store.{vector_suffix(element, lanes)}.p0"
        self.e.declare(f"declare void {function}({vector}, ptr, i32 immarg, {bits})")
        chosen = self.mask(count, lanes)
        self.e.emit_raw(
            f"  call void {function}({vector} {value}, ptr {pointer}, i32 {bytes_of(element)}, "
            f"{bits} {chosen})"
        )

    def _scratch_room(self) -> str:
        if self._scratch is None:
            self._scratch = self.allocate("i8", 512, "scratch")
        return self._scratch

    def load_strided(self, element, pointer, lanes, count, stride):
        """The first `count` of elements `stride` apart, one by one, then zeros."""
        room = self._scratch_room()
        self.store(element, "zeroinitializer", room, lanes)

        def copy(i, _):
            value = self.load(element, self.at(pointer, self.mul(i, stride), element))
            self.store(element, value, self.at(room, i, element))

        self.for_range(0, self.smaller(count, lanes), 1, copy)
        return self.load(element, room, lanes)

    def _store_by_element(self, element, value, pointer, lanes, count, stride):
        room = self._scratch_room()
        self.store(element, value, room, lanes)

        def copy(i, _):
            one = self.load(element, self.at(room, i, element))
            self.store(element, one, self.at(pointer, self.mul(i, stride), element))

        self.for_range(0, self.smaller(count, lanes), 1, copy)

    # ---- control flow ---------------------------------------------------------------------

    def unrolled(self, start, stop, step: int, times: int, body, carried, runs_once=False):
        """As `for_range`, so many steps in one turn; what is left goes one by one."""
        if times == 1:
            return self.for_range(start, stop, step, body, carried, runs_once)

        def several(i, values):
            for at in range(0, times * step, step):
                values = body(self.add(i, at), values)
            return values

        turn = times * step
        whole = self.add(start, self.round_down(self.sub(stop, start), turn))
        values = self.for_range(start, whole, turn, several, carried)
        rest = [(type_, value) for (type_, _), value in zip(carried, values, strict=True)]
        return self.for_range(whole, stop, step, body, rest)

    def for_range(self, start, stop, step, body, carried=(), runs_once=False) -> list[str]:
        """for i in range(start, stop, step): carried = body(i, carried).

        `carried` is a list of (LLVM type, first value); `body` returns the next values (or None).
        `runs_once`: the caller knows that start < stop. Returns the values after the loop.
        """
        e = self.e
        inside, done = e.fresh_label("loop"), e.fresh_label("end")
        before = e.block
        memory = dict(e._memory)
        if runs_once:
            e.emit_raw(f"  br label %{inside}")
        else:
            e.emit_raw(
                f"  br i1 {self.compare('slt', start, stop)}, label %{inside}, label %{done}"
            )
        e.begin_block(inside)
        index, following = e.fresh(), e.fresh()
        names = [e.fresh() for _ in carried]
        place = len(e.lines)
        e.lines.extend([""] * (1 + len(names)))
        results = body(index, names) or []
        e.emit_raw(f"  {following} = add i64 {index}, {step}")
        again = e.fresh()
        e.emit_raw(f"  {again} = icmp slt i64 {following}, {stop}")
        e.emit_raw(f"  br i1 {again}, label %{inside}, label %{done}")
        end = e.block
        e.lines[place] = f"  {index} = phi i64 [ {start}, %{before} ], [ {following}, %{end} ]"
        finals = []
        for i, ((type_, first), name, result) in enumerate(
            zip(carried, names, results, strict=True)
        ):
            e.lines[place + 1 + i] = (
                f"  {name} = phi {type_} [ {first}, %{before} ], [ {result}, %{end} ]"
            )
        e._memory = memory
        e.begin_block(done)
        for (type_, first), result in zip(carried, results, strict=True):
            if runs_once:
                finals.append(result)
                continue
            final = e.fresh()
            e.emit_raw(f"  {final} = phi {type_} [ {first}, %{before} ], [ {result}, %{end} ]")
            finals.append(final)
        return finals

    def choose(self, condition, then, otherwise, types=()) -> list[str]:
        """if condition: then() else: otherwise(); each returns operands of the given types."""
        e = self.e
        yes, no, join = e.fresh_label("then"), e.fresh_label("else"), e.fresh_label("join")
        memory = dict(e._memory)
        e.emit_raw(f"  br i1 {condition}, label %{yes}, label %{no}")
        ends, results = [], []
        for label, side in ((yes, then), (no, otherwise)):
            e._memory = dict(memory)
            e.begin_block(label)
            results.append(side() or [])
            ends.append(e.block)
            e.emit_raw(f"  br label %{join}")
        e._memory = memory
        e.begin_block(join)
        finals = []
        for type_, a, b in zip(types, *results, strict=True):
            final = e.fresh()
            e.emit_raw(f"  {final} = phi {type_} [ {a}, %{ends[0]} ], [ {b}, %{ends[1]} ]")
            finals.append(final)
        return finals

    def when(self, condition, body) -> None:
        """if condition: body()"""
        self.choose(condition, lambda: body() and None, lambda: None)

    # ---- the module -----------------------------------------------------------------------

    def module(self, name: str) -> str:
        """The text: declarations and the function, whose body has been written."""
        lines = [f'target triple = "{self.target.triple}"', *self.e.declarations]
        lines += self.e.definitions.values()
        lines.append(f"define void @{name}(ptr %ptrs, ptr %params, i64 %lo, i64 %hi) {{")
        lines += ["entry:", *self._allocas, *self.e.lines, "  ret void", "}"]
        return "\n".join(lines)
