"""`Elements`: how a contraction's numbers are held in memory, packed, and in registers.

A *word* is what one lane of a multiply-add takes: one element as wide as the accumulator, or two
or four elements that are neighbours along k (the machine's dot-product instructions).
Integers are summed modulo 2^32 or 2^64, so the result is exact in every narrower type too.

    plain     acc += a * b                       f32, f64, i32, i64 (and what is widened to them)
    pair_i16  acc += a0*b0 + a1*b1               int8, int16 and uint8 in; i32 accumulators
    pair_bf16 the same with bfloat16 in          only where the result is bfloat16 again: the
              instruction flushes denormals and rounds once less
    quad_i8   acc += (a0+128)*b0 + ... + (a3+128)*b3      int8 in: the instruction wants one operand
              unsigned, so 128 times the sums of b's columns are subtracted again (`tiled.py`)
    tiles_i8, tiles_u8 acc += a0*b0 + ... + a3*b3         int8, or uint8 and booleans, in registers
              that hold 16 rows of words (`tile_registers.py`)
    tiles_bf16 as pair_bf16, in such registers: for results of float32, too, since others take five
              times as long
"""

from dataclasses import dataclass, replace

from ...ir.types import ELEMENT_TYPES, kind_of, nbytes_of
from ..elementwise import convert
from ..instructions import Value
from .writer import bytes_of

_PAIR_INPUTS = ("i8", "u8", "i16", "b1")


@dataclass(frozen=True)
class Elements:
    """Element codes in memory, in packed words and as accumulators, and the kind of word."""

    source: str
    acc: str
    result: str
    mode: str = "plain"
    flips_sign: bool = False

    @property
    def text(self) -> str:
        return f"{self.source}_{self.acc}_{self.result}"

    @property
    def group(self) -> int:
        """Elements in a word."""
        return {"plain": 1, "quad_i8": 4, "tiles_i8": 4, "tiles_u8": 4}.get(self.mode, 2)

    @property
    def packed(self) -> str:
        """Code of the elements in packed memory, which modes are named by."""
        return self.acc if self.mode == "plain" else self.mode.split("_")[1]

    @property
    def word(self) -> str:
        """LLVM type of a word in a register."""
        return ELEMENT_TYPES[self.acc].llvm if self.mode == "plain" else "i32"

    @property
    def acc_type(self) -> str:
        return ELEMENT_TYPES[self.acc].llvm

    @property
    def word_bytes(self) -> int:
        return bytes_of(self.word)

    @property
    def source_type(self) -> str:
        return memory_type(self.source)

    @property
    def result_type(self) -> str:
        return memory_type(self.result)

    @property
    def is_native(self) -> bool:
        """Whether operands can be read in place."""
        return self.mode == "plain" and self.source_type == self.word

    @property
    def is_float(self) -> bool:
        """Whether sums are rounded."""
        return kind_of(self.acc) == "f"

    @property
    def of_a(self) -> "Elements":
        """How operand a is packed."""
        return replace(self, flips_sign=True) if self.mode == "quad_i8" else self

    def lanes(self, target) -> int:
        return target.vector_bits // (8 * nbytes_of(self.acc))


def memory_type(code: str) -> str:
    """LLVM type of an element in memory; 16-bit floats move as integers, which every target has."""
    return {"b1": "i8", "bf16": "i16", "f16": "i16"}.get(code) or ELEMENT_TYPES[code].llvm


def as_value(w, code: str, value: Value) -> Value:
    """Elements as loaded, with the type of their code (booleans as i1)."""
    if code == "b1":
        return w.e.icmp("ne", value, w.e.like(value, 0))
    return w.e.cast("bitcast", value, ELEMENT_TYPES[code].llvm)


def elements_of(dtype_in: str, dtype_acc: str, dtype_out: str, target, pairs: bool) -> Elements:
    """The representation for these codes; `pairs`: whether dot-product words are worth packing."""
    acc = {"f16": "f32", "bf16": "f32", "b1": "i32"}.get(dtype_acc, dtype_acc)
    if kind_of(acc) in "iu":
        wide = max(nbytes_of(acc), nbytes_of(dtype_out) if kind_of(dtype_out) in "iu" else 4)
        acc = "i32" if wide <= 4 else "i64"
    if kind_of(acc) == "f" and dtype_in == "f64":
        acc = "f64"
    mode = "plain"
    if pairs and acc == "i32" and dtype_in in _PAIR_INPUTS:
        has_quads = dtype_in == "i8" and target.avx512 and target.avx512_vnni
        mode = "quad_i8" if has_quads else "pair_i16"
    if pairs and (dtype_in, acc, dtype_out) == ("bf16", "f32", "bf16") and target.avx512_bf16:
        mode = "pair_bf16"
    return Elements(dtype_in, acc, dtype_out, mode)


def tile_elements_of(dtype_in: str, dtype_acc: str, dtype_out: str, target) -> Elements | None:
    """The representation in registers that hold tiles, if there are any for these codes."""
    if not target.amx:
        return None
    plain = elements_of(dtype_in, dtype_acc, dtype_out, target, pairs=False)
    if plain.acc == "i32" and dtype_in in ("i8", "u8", "b1"):
        return replace(plain, mode="tiles_i8" if dtype_in == "i8" else "tiles_u8")
    if (dtype_in, plain.acc) == ("bf16", "f32") and kind_of(dtype_out) == "f":
        return replace(plain, mode="tiles_bf16")
    return None


def widen(w, elements: Elements, value: Value) -> Value:
    """Elements as loaded -> elements as packed."""
    if elements.flips_sign:
        return w.e.xor(value, w.e.constant("i8", -128, value.lanes))
    if elements.source_type == memory_type(elements.packed):
        return value
    if elements.source == "b1":
        return convert(w.e, value, "u8", elements.packed)
    return convert(w.e, as_value(w, elements.source, value), elements.source, elements.packed)


def narrow(w, elements: Elements, value: Value) -> Value:
    """Accumulators (or an epilogue's values) -> elements as stored."""
    if value.type == elements.acc_type:
        value = convert(w.e, value, elements.acc, elements.result)
    if value.type == "i1":
        return w.e.zext(value, "i8")
    return w.e.cast("bitcast", value, elements.result_type)


def multiply_add(w, elements: Elements, a: str, b: str, acc: str, lanes: int) -> str:
    """acc + a*b in every lane; `a` and `b` are word vectors."""
    e, type_ = w.e, elements.acc_type
    if elements.mode != "plain":
        return _dot_product(w, elements, a, b, acc, lanes)
    x, y, z = (Value((v,), type_, lanes) for v in (a, b, acc))
    if kind_of(elements.acc) == "f":
        return e.muladd(x, y, z).names[0]
    return e.add(e.mul(x, y), z).names[0]


def _dot_product(w, elements, a, b, acc, lanes):
    """acc + the dot product of the elements of each word."""
    e, width = w.e, lanes * elements.group
    element = {"pair_bf16": "bfloat", "pair_i16": "i16", "quad_i8": "i8"}[elements.mode]
    x, y = (
        Value((e.instruction(f"bitcast <{lanes} x i32> {v} to <{width} x {element}>"),), element,
              width)
        for v in (a, b)
    )  # fmt: skip
    total = Value((acc,), elements.acc_type, lanes)
    if elements.mode == "pair_bf16":
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}"
        texts = [f"<{width} x bfloat> {v.names[0]}" for v in (x, y)]
        return e.intrinsic(name, "float", (total, *texts), lanes).names[0]
    if elements.mode == "quad_i8":
        name = "llvm.x86.avx512.vpdpbusd.512"
        return e.intrinsic(name, "i32", (total, x, y), lanes).names[0]
    # i16 x i16 + i16 x i16 only overflows for -32768 four times, and then modulo 2^32
    name = {16: "avx512.pmaddw.d.512", 8: "avx2.pmadd.wd", 4: "sse2.pmadd.wd"}[lanes]
    product = e.intrinsic(f"llvm.x86.{name}", "i32", (x, y), lanes)
    return e.add(product, total).names[0]
