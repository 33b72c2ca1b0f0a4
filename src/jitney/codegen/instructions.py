"""`Instructions`: straight-line vector LLVM IR, several unrolled copies at a time.

In: opcodes and intrinsics on `Value`s. Out: `lines` (the body, inside the caller's function),
`declarations` (the intrinsics it calls) and `definitions` (helper functions and tables that must
stand in the same module; internal, so the object has no undefined symbol). A `Value` stands for one
element a lane and a copy; each operation writes its copies one after another, which is the
interleaving that hides latencies; a value that is the same for all copies has one name and its
operations are written once.
Invariant: within a basic block no instruction is written twice (`_memory` maps the text of an
instruction to its name), so callers need not avoid repeated subexpressions.

An operation may end the current basic block (see `rare_path`): a caller that writes a phi must ask
`block` for the label of the block it is in, after it has emitted everything that precedes.
"""

from .constants_text import scalar_text, splat_text, type_text, vector_text

_TEXT_OF_TYPE: dict = {}  # (type, lanes) -> LLVM type text
_MANGLED = {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16"}
_RARELY = '!{!"branch_weights", i32 1, i32 10000}'


def _type(type_name, lanes):
    text = _TEXT_OF_TYPE.get((type_name, lanes))
    if text is None:
        text = _TEXT_OF_TYPE[type_name, lanes] = type_text(type_name, lanes)
    return text


class Value:
    """One value a lane and a copy: `names` are LLVM operands (one, or one for each copy)."""

    __slots__ = ("lanes", "names", "type")

    def __init__(self, names, type, lanes):
        self.names = names
        self.type = type
        self.lanes = lanes

    @property
    def text(self) -> str:
        """LLVM type of each operand."""
        return _type(self.type, self.lanes)

    @property
    def is_constant(self) -> bool:
        """Whether the operand is a constant (known while emitting)."""
        return len(self.names) == 1 and self.names[0][0] != "%"

    def __repr__(self):
        return f"{self.text} {' '.join(self.names)}"


class Instructions:
    """Writes instructions for `copies` unrolled copies of everything."""

    def __init__(self, copies=1, prefix="t", block="entry"):
        self.copies = copies
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}
        self.definitions: dict[str, str] = {}  # module-level helper functions and tables, by name
        self.block = block  # label of the basic block being written
        self._prefix = prefix
        self._counter = 0
        self._memory: dict[str, str] = {}

    # ---- text -----------------------------------------------------------------------------

    def fresh(self) -> str:
        """A new SSA name."""
        self._counter += 1
        return f"%{self._prefix}{self._counter}"

    def fresh_label(self, stem="block") -> str:
        """A new label (without `%`)."""
        self._counter += 1
        return f"{stem}.{self._prefix}{self._counter}"

    def emit_raw(self, text):
        """Write a line as it is."""
        self.lines.append(text)

    def declare(self, text):
        """Ask for a `declare` line."""
        self.declarations[text] = None

    def reset_cse(self):
        """Forget the names of earlier instructions (at the end of a basic block)."""
        self._memory.clear()

    def instruction(self, text) -> str:
        """Name of the result of a pure instruction; written unless it already has been."""
        name = self._memory.get(text)
        if name is None:
            self._counter += 1
            name = f"%{self._prefix}{self._counter}"
            self.lines.append(f"  {name} = {text}")
            self._memory[text] = name
        return name

    def _write(self, template, operands, type_name, lanes) -> Value:
        """One instruction a copy; `template` takes the operands' names by position."""
        if all(len(v.names) == 1 for v in operands):
            return Value(
                (self.instruction(template.format(*[v.names[0] for v in operands])),),
                type_name,
                lanes,
            )
        columns = [v.names if len(v.names) > 1 else v.names * self.copies for v in operands]
        names = tuple(self.instruction(template.format(*row)) for row in zip(*columns))
        return Value(names, type_name, lanes)

    # ---- constants, shapes ------------------------------------------------------------------

    def constant(self, type, value, lanes=1) -> Value:
        """A constant, the same in every lane; floating point is rounded to `type`."""
        scalar = scalar_text(type, value)
        return Value((scalar if lanes == 1 else splat_text(type, scalar),), type, lanes)

    def vector_constant(self, type, values) -> Value:
        """A constant with its own value in every lane."""
        return Value((vector_text(type, values),), type, len(values))

    def like(self, value, number) -> Value:
        """A constant of the type and lanes of `value`."""
        return self.constant(value.type, number, value.lanes)

    def splat(self, value, lanes) -> Value:
        """A scalar in every lane of a vector."""
        if value.lanes == lanes:
            return value
        if value.lanes != 1:
            raise ValueError(f"cannot splat {value.lanes} lanes to {lanes}")
        names = []
        vector = _type(value.type, lanes)
        for name in value.names:
            if name[0] != "%":
                names.append(splat_text(value.type, name))
                continue
            first = self.instruction(
                f"insertelement {vector} poison, {_type(value.type, 1)} {name}, i64 0"
            )
            names.append(
                self.instruction(
                    f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> "
                    "zeroinitializer"
                )
            )
        return Value(tuple(names), value.type, lanes)

    def match(self, *values) -> tuple[Value, ...]:
        """The values with scalars splatted to the lanes of the widest."""
        lanes = max(v.lanes for v in values)
        return tuple(v if v.lanes == lanes else self.splat(v, lanes) for v in values)

    def shuffle(self, a, b, indices) -> Value:
        """Lanes picked from `a` followed by `b` (None: no second vector)."""
        mask = ", ".join(f"i32 {i}" for i in indices)
        second = b if b is not None else Value(("poison",), a.type, a.lanes)
        return self._write(
            f"shufflevector {a.text} {{0}}, {a.text} {{1}}, <{len(indices)} x i32> <{mask}>",
            (a, second),
            a.type,
            len(indices),
        )

    def split_halves(self, a) -> tuple[Value, Value]:
        """Lower and upper half of the lanes."""
        half = a.lanes // 2
        return self.shuffle(a, None, range(half)), self.shuffle(a, None, range(half, a.lanes))

    def join_halves(self, low, high) -> Value:
        """The inverse of `split_halves`."""
        return self.shuffle(low, high, range(2 * low.lanes))

    def extract(self, a, lane) -> Value:
        """One lane as a scalar."""
        return self._write(f"extractelement {a.text} {{0}}, i64 {lane}", (a,), a.type, 1)

    # ---- generic operations -------------------------------------------------------------------

    def binary(self, op, a, b) -> Value:
        """`op` is the opcode with its flags: 'fadd', 'add', 'xor', 'lshr', …"""
        if a.lanes != b.lanes:
            a, b = self.match(a, b)
        text = _type(a.type, a.lanes)
        x, y = a.names, b.names
        if len(x) == 1 and len(y) == 1:
            names = (self.instruction(f"{op} {text} {x[0]}, {y[0]}"),)
        else:
            count = self.copies
            if len(x) == 1:
                x = x * count
            elif len(y) == 1:
                y = y * count
            names = tuple([self.instruction(f"{op} {text} {p}, {q}") for p, q in zip(x, y)])
        return Value(names, a.type, a.lanes)

    def cast(self, op, a, type) -> Value:
        """A conversion instruction by opcode, lane by lane."""
        if a.type == type:
            return a
        if op == "bitcast" and {a.type, type} == {"bfloat", "i16"}:
            return Value(a.names, type, a.lanes)
        to = _type(type, a.lanes)
        return self._write(f"{op} {a.text} {{0}} to {to}", (a,), type, a.lanes)

    def intrinsic(self, name, ret_type, args, lanes=None) -> Value:
        """Call a pure function by its full name. `args`: Values, or text such as 'i32 4'."""
        values = [a for a in args if isinstance(a, Value)]
        lanes = lanes if lanes is not None else max((v.lanes for v in values), default=1)
        result = _type(ret_type, lanes)
        types, pieces, slot = [], [], 0
        for a in args:
            if isinstance(a, Value):
                types.append(a.text)
                pieces.append(f"{a.text} {{{slot}}}")
                slot += 1
            else:
                types.append(a.split()[0] if a[0] != "<" else a[: a.index(">") + 1])
                pieces.append(a)
        self.declarations[f"declare {result} @{name}({', '.join(types)})"] = None
        return self._write(
            f"call {result} @{name}({', '.join(pieces)})", values, ret_type, lanes
        )

    def overloaded(self, name, *args) -> Value:
        """Call `@llvm.<name>` overloaded on the type of its arguments, all of one type."""
        args = self.match(*args)
        first = args[0]
        element = _MANGLED.get(first.type, first.type)
        suffix = element if first.lanes == 1 else f"v{first.lanes}{element}"
        return self.intrinsic(f"llvm.{name}.{suffix}", first.type, args, first.lanes)

    # ---- comparison, selection ----------------------------------------------------------------

    def icmp(self, predicate, a, b) -> Value:
        """i1 lanes; predicates eq ne slt sle sgt sge ult ule ugt uge."""
        r = self.binary(f"icmp {predicate}", a, b)
        return Value(r.names, "i1", r.lanes)

    def fcmp(self, predicate, a, b) -> Value:
        """i1 lanes; predicates oeq olt ole ogt oge one ord and the unordered u… forms."""
        r = self.binary(f"fcmp {predicate}", a, b)
        return Value(r.names, "i1", r.lanes)

    def mask_bits(self, mask) -> Value:
        """The i1 lanes of a vector as the bits of one integer."""
        text = f"i{mask.lanes}"
        return self._write(f"bitcast {mask.text} {{0}} to {text}", (mask,), text, 1)

    def select(self, mask, a, b) -> Value:
        """`a` where the mask is set, else `b`; a scalar mask chooses whole vectors."""
        a, b = self.match(a, b)
        if mask.lanes > a.lanes:
            a, b = self.splat(a, mask.lanes), self.splat(b, mask.lanes)
        return self._write(
            f"select {mask.text} {{0}}, {a.text} {{1}}, {a.text} {{2}}",
            (mask, a, b),
            a.type,
            a.lanes,
        )

    # ---- control flow -------------------------------------------------------------------------

    def begin_block(self, label):
        """Start a basic block; the previous one must have been ended by a branch."""
        self.lines.append(f"{label}:")
        self.block = label

    def any_lane(self, mask) -> str:
        """A scalar i1 operand: whether any lane of any copy is set."""
        whole = mask.names[0]
        for name in mask.names[1:]:
            whole = self.instruction(f"or {mask.text} {whole}, {name}")
        if mask.lanes == 1:
            return whole
        word = self.instruction(f"bitcast {mask.text} {whole} to i{mask.lanes}")
        return self.instruction(f"icmp ne i{mask.lanes} {word}, 0")

    def rare_path(self, mask, usual, compute):
        """`usual` where `mask` is clear, `compute()` where it is set (Values or tuples of them).

        `compute` is emitted in a block that is entered only if some lane of some copy needs it, so
        it costs the common path one test. Ends the current basic block.
        """
        if mask.is_constant and mask.names[0] in ("false", "splat (i1 false)"):
            return usual
        rare, join = self.fresh_label("rare"), self.fresh_label("join")
        before = self.block
        condition = self.any_lane(mask)
        self.lines.append(f"  br i1 {condition}, label %{rare}, label %{join}, !prof {_RARELY}")
        known = dict(self._memory)  # instructions of the dominating blocks stay usable
        self.begin_block(rare)
        special = compute()
        several = isinstance(usual, tuple)
        pairs = list(zip(usual, special)) if several else [(usual, special)]
        chosen = [self.select(mask, s, u) for u, s in pairs]
        self.lines.append(f"  br label %{join}")
        after = self.block
        self._memory = known
        self.begin_block(join)
        joined = tuple(
            self._phi(u, before, c, after) for (u, _), c in zip(pairs, chosen)
        )
        return joined if several else joined[0]

    def _phi(self, first, first_block, second, second_block) -> Value:
        count = max(len(first.names), len(second.names))
        columns = [v.names if len(v.names) == count else v.names * count for v in (first, second)]
        names = []
        for a, b in zip(*columns):
            name = self.fresh()
            self.lines.append(
                f"  {name} = phi {first.text} [ {a}, %{first_block} ], [ {b}, %{second_block} ]"
            )
            names.append(name)
        return Value(tuple(names), first.type, first.lanes)
