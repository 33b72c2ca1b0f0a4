"""Gathers lane by lane where the processor has no quick gather: with AVX2 (a Zen has slow ones, an
Intel processor guarded ones).

In: a kernel emitter and a load at places that numbers in its lanes say, or that lie far apart. Out:
the vector. LLVM would widen the numbers to addresses in vectors and take these apart; here words
that hold several numbers are taken apart, and addresses are computed where they are used. (50000 of
10000 numbers, a Zen 1: 50 us, so 33; a million bytes by a table of bytes and turned around, 443 us,
so 226. It takes up to two fifths longer to compile.)
"""

from ..fuse.kernel import Expr
from ..ir.types import nbytes_of
from . import memory
from .instructions import Value

WORD_BITS = 64


def load(k, x: Expr, pointer: str, place: memory.Place, mask: Value | None) -> Value | None:
    """The elements of a load; zero where a mask is off."""
    if mask is not None and mask.lanes != k.lanes:
        return None
    e, code = k.e, k.kernel.buffers[x.attrs[0]][0]
    gather = _Gather(k, memory.memory_type(code), pointer, place, mask)
    numbers = [_narrow(k, number) for number in _vector_atoms(k, x)]
    counts = [len(value.names) for value, _ in numbers]
    copies = max([e.copies if place.step is not None else 1, *counts, gather.masks])
    names = tuple(gather.vector(u, [_lanes_of(e, *n, u, k.lanes) for n in numbers])
                  for u in range(copies))  # fmt: skip
    return memory.from_memory(e, code, Value(names, gather.type, k.lanes))


class _Gather:
    """Writes a gather of a buffer's elements of an LLVM `type`."""

    def __init__(self, k, type_: str, pointer: str, place: memory.Place, mask: Value | None):
        self.e, self.lanes, self.type, self.place, self.mask = k.e, k.lanes, type_, place, mask
        self.start = memory.pointer_at(k.e, pointer, type_, memory.settled(k.e, place).base)
        self.text = f"<{k.lanes} x {type_}>"
        self.masks = 1 if mask is None else len(mask.names)

    def vector(self, copy: int, numbers: list[list[str]]) -> str:
        """A vector of elements where a copy's numbers say, each of all lanes. Masks are mostly of
        indices beyond an axis: that all lanes are on is asked first."""
        e = self.e
        if self.mask is None:
            return self._lanes(copy, numbers, None)
        word, mask = f"i{self.lanes}", f"<{self.lanes} x i1> {self._mask_of(copy)}"
        bits = e.instruction(f"bitcast {mask} to {word}")
        is_whole = e.instruction(f"icmp eq {word} {bits}, -1")
        labels = [e.fresh_label(f"gather.{part}") for part in ("all", "some", "done")]
        e.emit_raw(f"  br i1 {is_whole}, label %{labels[0]}, label %{labels[1]}")
        ends, memo = [], dict(e._memory)
        for label, some in zip(labels, (None, bits), strict=False):
            e.begin_block(label)
            ends.append((self._lanes(copy, numbers, some), e.block))
            e.emit_raw(f"  br label %{labels[2]}")
            e._memory = dict(memo)
        e.begin_block(labels[2])
        found = e.fresh()
        came = ", ".join(f"[ {name}, %{block} ]" for name, block in ends)
        e.emit_raw(f"  {found} = phi {self.text} {came}")
        return found

    def _lanes(self, copy: int, numbers: list[list[str]], bits: str | None) -> str:
        """The same where all lanes are on, or those of some bits, others zero."""
        e, word, found = self.e, f"i{self.lanes}", "zeroinitializer"
        for lane in range(self.lanes):
            element, joined = e.fresh(), e.fresh()
            address = self._address(copy * self.lanes + lane, [n[lane] for n in numbers])
            if bits is not None:
                here = e.instruction(f"and {word} {bits}, {1 << lane}")
                is_on = e.instruction(f"icmp ne {word} {here}, 0")
                address = e.instruction(f"select i1 {is_on}, ptr {address}, ptr %safe_word")
            e.emit_raw(f"  {element} = load {self.type}, ptr {address}")
            more = f"{self.type} {element}, i64 {lane}"
            e.emit_raw(f"  {joined} = insertelement {self.text} {found}, {more}")
            found = joined
        if bits is None:
            return found
        mask = f"<{self.lanes} x i1> {self._mask_of(copy)}"
        return e.instruction(f"select {mask}, {self.text} {found}, {self.text} zeroinitializer")

    def _mask_of(self, copy: int) -> str:
        return self.mask.names[copy if self.masks > 1 else 0]

    def _address(self, lane: int, numbers: list[str]) -> str:
        e, terms = self.e, []
        if self.place.step is not None and lane:
            terms.append(e.instruction(f"mul i64 {self.place.step}, {lane}"))
        for number, (factor, _) in zip(numbers, self.place.vectors, strict=True):
            terms.append(number if factor == "1" else e.instruction(f"mul i64 {number}, {factor}"))
        at = "0"
        for term in terms:
            at = term if at == "0" else e.instruction(f"add i64 {at}, {term}")
        return e.instruction(f"getelementptr {self.type}, ptr {self.start}, i64 {at}")


def _vector_atoms(k, x: Expr) -> list[int]:
    """The expressions that differ from lane to lane in an index, in the order of a place's."""
    atoms = [-1 - atom for atom, _ in k.slotted.affines[x.attrs[1]][1] if atom < 0]
    return [n for n in atoms if k.values[n].lanes != 1 or len(k.values[n].names) > 1]


def _narrow(k, number: int) -> tuple[Value, bool]:
    """An integer as it was before it was widened, and whether it has a sign."""
    x = k.by_id[number]
    narrow = k.values[number], True
    while x.op == "convert" and _keeps(x):
        x = x.args[0]
        value = k.values.get(x.id)
        if value is not None and value.lanes == k.lanes:
            narrow = value, x.dtype[0] == "i"
    return narrow


def _keeps(x: Expr) -> bool:
    """Whether a conversion keeps every integer."""
    before, after = x.args[0].dtype, x.dtype
    if before[0] not in "iu" or after[0] not in "iu":
        return False
    wider = nbytes_of(after) > nbytes_of(before)
    return wider and (before[0] == "u" or after[0] == "i")


def _lanes_of(e, value: Value, signed: bool, copy: int, lanes: int) -> list[str]:
    """The numbers of all lanes as words, of which as many as a word holds are taken at a time."""
    bits = int(value.type[1:])
    in_word = min(lanes, WORD_BITS // bits)
    word, count = f"i{in_word * bits}", lanes // in_word
    name = value.names[copy if len(value.names) > 1 else 0]
    words = e.instruction(f"bitcast {value.text} {name} to <{count} x {word}>")
    found = []
    for number in range(count):
        whole = e.instruction(f"extractelement <{count} x {word}> {words}, i64 {number}")
        for part in range(in_word):
            shifted = e.instruction(f"lshr {word} {whole}, {part * bits}") if part else whole
            narrow = shifted
            if word != value.type:
                narrow = e.instruction(f"trunc {word} {shifted} to {value.type}")
            if value.type != "i64":
                narrow = e.instruction(f"{'sz'[not signed]}ext {value.type} {narrow} to i64")
            found.append(narrow)
    return found
