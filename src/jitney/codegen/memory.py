"""Loads and stores of a kernel: contiguous, repeated, reversed, or gathered.

In: an index as a `Place` (a scalar base, the step of the vector loop, and vector offsets). Out: the
value(s). A tail's mask is applied to every access along the vector loop, so nothing is touched
beyond the end of an array. Booleans are bytes in memory and i1 in registers.
"""

import re
from typing import NamedTuple

from ..ir.types import nbytes_of
from .elementwise import llvm_type
from .emitter import LINE_BYTES
from .instructions import Value


class Place(NamedTuple):
    """Element base + step*(vector variable) + Σ coefficient*value of a buffer.

    base: operand of type i64 (a scalar that includes the block's first lane position);
    step: None (no lane dependence), or the i64 operand text of the coefficient, '1' or '-1';
    vectors: (coefficient text, Value) pairs of lane-dependent values;
    skip: a known number of elements beyond the base (less than a step that is a number).
    """

    base: str
    step: str | None
    vectors: tuple
    skip: int = 0


NEAR = re.compile(r"(.+?)([+-]\d+)?")  # a constant of an index: a slot, and how far beside it
_MEMORY_TYPE = {"b1": "i8", "f16": "i16", "bf16": "i16"}


def memory_type(code: str) -> str:
    """LLVM type of an element in memory. Short floats move as integers: where the machine has no
    such registers, LLVM would call library functions to move them."""
    return _MEMORY_TYPE.get(code) or llvm_type(code)


def _vector(type_, lanes):
    return type_ if lanes == 1 else f"<{lanes} x {type_}>"


def column_of(constant: str) -> tuple[str, int]:
    """Where a row begins whose elements are a short stride apart from those of the next, and the
    element's number in it: of an index's constant."""
    if constant.isdigit():
        return "0", int(constant)
    start, distance = NEAR.fullmatch(constant).groups()
    return start, int(distance or 0)


def pointer_at(e, pointer, type_, base):
    name = e.fresh()
    e.emit_raw(f"  {name} = getelementptr {type_}, ptr {pointer}, i64 {base}")
    return name


def opaque(e, pointer):
    """The same pointer, of which LLVM knows nothing: its reduction of loops' index arithmetic tries
    all ways to write pointers that are sums, in time that grows with the square of the terms (16
    rows, each found from the one before: 160 ms for a kernel, else 29)."""
    name = e.fresh()
    e.emit_raw(f"  {name} = freeze ptr {pointer}")
    return name


def _shifted(e, base, amount):
    """base + amount (an int)."""
    if amount == 0:
        return base
    return e.instruction(f"add i64 {base}, {amount}")


def settled(e, place):
    """The place with nothing to skip."""
    return Place(_shifted(e, place.base, place.skip), *place[1:3]) if place.skip else place


def from_memory(e, code, value):
    """What was read of an array of `code`, as a value of that type."""
    if code in ("f16", "bf16"):
        return e.bitcast(llvm_type(code), value)
    if code != "b1":
        return value
    return e.icmp("ne", value, e.constant("i8", 0, value.lanes))


def load(e, code, pointer, place: Place, lanes, mask=None, guarded=False):
    """The element(s) of a buffer at a place. `mask` is an i1 Value or None; `guarded`: where it is
    off for a whole vector, the place may be anywhere."""
    type_ = memory_type(code)
    place = settled(e, place)
    if place.step is None and not place.vectors:
        return from_memory(e, code, _load_scalar(e, type_, pointer, place.base, mask))
    if not place.vectors and place.step in ("1", "-1"):
        value = _load_run(e, type_, pointer, place, lanes, mask, guarded)
    else:
        value = _load_gather(e, type_, pointer, place, lanes, mask)
    return from_memory(e, code, value)


def _load_scalar(e, type_, pointer, base, mask):
    if mask is not None:
        return _load_guarded(e, type_, pointer, base, mask)
    address = pointer_at(e, pointer, type_, base)
    name = e.fresh()
    e.emit_raw(f"  {name} = load {type_}, ptr {address}")
    return Value((name,), type_, 1)


def _load_guarded(e, type_, pointer, base, mask):
    """A scalar load under a scalar mask: where it is off, a safe word is read instead."""
    if mask.lanes != 1:
        vector = Place(base, None, ())
        return _load_gather(e, type_, pointer, vector, mask.lanes, mask)
    names = []
    for m in mask.names:
        address = pointer_at(e, pointer, type_, base)
        safe = e.fresh()
        e.emit_raw(f"  {safe} = select i1 {m}, ptr {address}, ptr %safe_word")
        name = e.fresh()
        e.emit_raw(f"  {name} = load {type_}, ptr {safe}")
        names.append(name)
    zero = e.constant(type_, 0, 1)
    return e.select(mask, Value(tuple(names), type_, 1), zero)


def _copy_names(e, mask, u):
    if mask is None:
        return None
    return mask.names[u if len(mask.names) > 1 else 0]


def _load_run(e, type_, pointer, place, lanes, mask, guarded):
    vector = _vector(type_, lanes)
    backward = place.step == "-1"
    names = []
    is_one = mask is not None and mask.lanes == 1 != lanes  # for all lanes
    is_one = is_one and guarded and e.target.has_dear_masks and lanes * nbytes(type_) <= LINE_BYTES
    if mask is not None and mask.lanes != lanes and not is_one:
        mask = e.splat(mask, lanes)
    if mask is not None and backward and lanes > 1 and not is_one:
        mask = reverse_lanes(e, mask)
    for u in range(e.copies):
        amount = -(u * lanes + lanes - 1) if backward else u * lanes
        address = pointer_at(e, pointer, type_, _shifted(e, place.base, amount))
        chosen = _copy_names(e, mask, u)
        if is_one:  # a masked load takes up to 17 cycles, zeros in the first cache one
            address = e.instruction(f"select i1 {chosen}, ptr {address}, ptr {e.zeros()}")
            chosen = None
        elif guarded:
            address = safe_address(e, address, chosen, lanes)
        names.append(_vector_load(e, vector, type_, address, chosen))
    value = Value(tuple(names), type_, lanes)
    return reverse_lanes(e, value) if backward and lanes > 1 else value


def safe_address(e, address, mask, lanes):
    """The address, or that of a word that may be read if the mask is off everywhere: processors
    take hundreds of cycles to find out that nothing is wanted of a page that does not exist."""
    if lanes == 1:
        return e.instruction(f"select i1 {mask}, ptr {address}, ptr %safe_word")
    bits = e.instruction(f"bitcast <{lanes} x i1> {mask} to i{lanes}")
    wanted = e.instruction(f"icmp ne i{lanes} {bits}, 0")
    return e.instruction(f"select i1 {wanted}, ptr {address}, ptr %safe_word")


def _vector_load(e, vector, type_, address, mask):
    name = e.fresh()
    align = _align(type_)
    if mask is None:
        e.emit_raw(f"  {name} = load {vector}, ptr {address}, align {align}")
        return name
    suffix = _suffix(vector)
    bits = vector.replace(type_, "i1")
    e.declare(
        f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32 immarg, {bits}, {vector})"
    )
    e.emit_raw(
        f"  {name} = call {vector} @llvm.masked.load.{suffix}.p0(ptr {address}, i32 {align}, "
        f"{bits} {mask}, {vector} zeroinitializer)"
    )
    return name


def _align(type_):
    return {"double": 8, "i64": 8, "float": 4, "i32": 4, "half": 2, "bfloat": 2, "i16": 2}.get(
        type_, 1
    )


def _suffix(vector: str) -> str:
    """<16 x float> -> v16f32."""
    lanes, element = vector[1:-1].split(" x ")
    name = {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16"}.get(element, element)
    return f"v{lanes}{name}"


def reverse_lanes(e, value):
    order = ", ".join(f"i32 {i}" for i in reversed(range(value.lanes)))
    names = []
    vector = _vector(value.type, value.lanes)
    for name in value.names:
        result = e.fresh()
        e.emit_raw(
            f"  {result} = shufflevector {vector} {name}, {vector} poison, "
            f"<{value.lanes} x i32> <{order}>"
        )
        names.append(result)
    return Value(tuple(names), value.type, value.lanes)


def _offsets(e, place, lanes):
    """Lane offsets in elements (i64) from the base, for each copy."""
    total = None
    if place.step is not None:
        step = e.splat(Value((place.step,), "i64", 1), lanes)
        total = e.binary("mul", lane_numbers(e, lanes), step)
    for coefficient, value in place.vectors:
        term = value
        if coefficient != "1":
            term = e.binary("mul", value, e.splat(Value((coefficient,), "i64", 1), lanes))
        total = term if total is None else e.binary("add", total, term)
    if total is None:
        total = e.constant("i64", 0, lanes)
    return total


def lane_numbers(e, lanes, type_="i64"):
    """u*lanes + lane for each copy u."""
    if lanes == 1:
        return Value(tuple(str(u) for u in range(e.copies)), type_, 1)
    names = tuple(
        "<" + ", ".join(f"{type_} {u * lanes + i}" for i in range(lanes)) + ">"
        for u in range(e.copies)
    )
    return Value(names, type_, lanes)


def first_lanes(e, count, lanes):
    """The mask of the first `count` lanes (an i64 operand, not negative; it may be more than there
    are)."""
    return e.icmp("slt", *_numbers_beside(e, count, lanes))


def lanes_from(e, count, lanes):
    """The mask of all lanes but the first `count` (an i64 operand, which may be negative)."""
    e.declare("declare i64 @llvm.smax.i64(i64, i64)")
    here = e.instruction(f"call i64 @llvm.smax.i64(i64 {count}, i64 0)")
    return e.icmp("sge", *_numbers_beside(e, here, lanes))


def _numbers_beside(e, count, lanes):
    """The lanes' numbers and a count, in integers as wide as make one vector: compared in 64 bits,
    eight lanes without registers for masks are two vectors, packed into one and spread again."""
    bits = e.target.vector_bits // lanes if e.target.has_dear_masks or lanes > 16 else 64
    if bits >= 64:
        return lane_numbers(e, lanes), e.splat(Value((count,), "i64", 1), lanes)
    total = lanes * e.copies
    type_ = f"i{max(bits, 8 if total < 128 else 16)}"
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    here = e.instruction(f"call i64 @llvm.smin.i64(i64 {count}, i64 {total})")
    short = e.instruction(f"trunc i64 {here} to {type_}")
    return lane_numbers(e, lanes, type_), e.splat(Value((short,), type_, 1), lanes)


def first_bits(e, count, lanes) -> str:
    """The same as the operand of a mask, made of a word: cheap where masks are registers of their
    own. `count` is not negative, and not 0."""
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    here = e.instruction(f"call i64 @llvm.smin.i64(i64 {count}, i64 {lanes})")
    missing = e.instruction(f"sub i64 {lanes}, {here}")
    word = e.instruction(f"lshr i64 {(1 << lanes) - 1 if lanes < 64 else -1}, {missing}")
    short = word if lanes == 64 else e.instruction(f"trunc i64 {word} to i{lanes}")
    return e.instruction(f"bitcast i{lanes} {short} to <{lanes} x i1>")


def _load_gather(e, type_, pointer, place, lanes, mask):
    offsets = _offsets(e, place, lanes)
    start = pointer_at(e, pointer, type_, place.base)
    vector, pointers, bits = _vector(type_, lanes), f"<{lanes} x ptr>", f"<{lanes} x i1>"
    suffix = _suffix(vector)
    if mask is not None and mask.lanes != lanes:
        mask = e.splat(mask, lanes)
    e.declare(
        f"declare {vector} @llvm.masked.gather.{suffix}.v{lanes}p0({pointers}, i32 immarg, "
        f"{bits}, {vector})"
    )
    names = []
    copies = e.copies if max(len(offsets.names), 1 if mask is None else len(mask.names)) > 1 else 1
    for u in range(copies):
        address, name = e.fresh(), e.fresh()
        off = offsets.names[u if len(offsets.names) > 1 else 0]
        e.emit_raw(f"  {address} = getelementptr {type_}, ptr {start}, <{lanes} x i64> {off}")
        chosen = _copy_names(e, mask, u) or "splat (i1 true)"
        e.emit_raw(
            f"  {name} = call {vector} @llvm.masked.gather.{suffix}.v{lanes}p0("
            f"{pointers} {address}, i32 {_align(type_)}, {bits} {chosen}, {vector} zeroinitializer)"
        )
        names.append(name)
    return Value(tuple(names), type_, lanes)


def store(e, code, pointer, place: Place, value, lanes, mask=None, stream=False, whole=None):
    """Writes value(s) at a place; `whole`: an i1 that says whether all of the mask is on."""
    type_ = memory_type(code)
    place = settled(e, place)
    if code == "b1":
        value = e.zext(value, "i8")
    elif code in ("f16", "bf16"):
        value = e.bitcast("i16", value)
    if place.step is None and not place.vectors:
        if value.lanes != 1:
            value = extract_lane(e, value, 0)
        address = pointer_at(e, pointer, type_, place.base)
        if mask is not None:  # where it is off, a word of no importance is written
            allowed = mask if mask.lanes == 1 else extract_lane(e, mask, 0)
            address = e.instruction(
                f"select i1 {allowed.names[0]}, ptr {address}, ptr %safe_word"
            )
        e.emit_raw(f"  store {type_} {value.names[0]}, ptr {address}")
        return
    if value.lanes != lanes:
        value = e.splat(value, lanes)
    if mask is not None and mask.lanes != lanes:
        mask = e.splat(mask, lanes)
    if not place.vectors and place.step in ("1", "-1"):
        _store_run(e, type_, pointer, place, value, lanes, mask, stream, whole)
    else:
        _store_scatter(e, type_, pointer, place, value, lanes, mask)


def _store_run(e, type_, pointer, place, value, lanes, mask, stream, whole):
    vector = _vector(type_, lanes)
    backward = place.step == "-1"
    if backward and lanes > 1:
        value = reverse_lanes(e, value)
        mask = reverse_lanes(e, mask) if mask is not None else None
    for u in range(e.copies):
        amount = -(u * lanes + lanes - 1) if backward else u * lanes
        address = pointer_at(e, pointer, type_, _shifted(e, place.base, amount))
        name = value.names[u if len(value.names) > 1 else 0]
        if mask is None:
            align = streaming(type_, lanes) if stream else f", align {_align(type_)}"
            e.emit_raw(f"  store {vector} {name}, ptr {address}{align}")
            continue
        if whole is None:
            _store_masked(e, type_, lanes, name, address, _copy_names(e, mask, u))
            continue
        all_of_it, part, stored = (e.fresh_label(f"store.{way}") for way in ("all", "part", "done"))
        e.emit_raw(f"  br i1 {whole}, label %{all_of_it}, label %{part}")
        e.begin_block(all_of_it)
        e.emit_raw(f"  store {vector} {name}, ptr {address}, align {_align(type_)}")
        e.emit_raw(f"  br label %{stored}")
        e.begin_block(part)
        _store_masked(e, type_, lanes, name, address, _copy_names(e, mask, u))
        e.emit_raw(f"  br label %{stored}")
        e.begin_block(stored)


def _store_masked(e, type_, lanes, name, address, mask) -> None:
    vector, bits = _vector(type_, lanes), f"<{lanes} x i1>"
    suffix = _suffix(vector)
    e.declare(f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32 immarg, {bits})")
    e.emit_raw(
        f"  call void @llvm.masked.store.{suffix}.p0({vector} {name}, ptr {address}, "
        f"i32 {_align(type_)}, {bits} {mask})"
    )


def streaming(type_, lanes) -> str:
    """What makes a store of whole vectors, aligned ones, go past the caches."""
    return f", align {min(64, nbytes(type_) * lanes)}, !nontemporal !0"


def nbytes(type_):
    return {"double": 8, "i64": 8, "float": 4, "i32": 4, "half": 2, "bfloat": 2, "i16": 2}.get(
        type_, 1
    )


def _store_scatter(e, type_, pointer, place, value, lanes, mask):
    offsets = _offsets(e, place, lanes)
    start = pointer_at(e, pointer, type_, place.base)
    vector, pointers, bits = _vector(type_, lanes), f"<{lanes} x ptr>", f"<{lanes} x i1>"
    suffix = _suffix(vector)
    e.declare(
        f"declare void @llvm.masked.scatter.{suffix}.v{lanes}p0({vector}, {pointers}, i32 immarg, "
        f"{bits})"
    )
    for u in range(e.copies):
        address = e.fresh()
        off = offsets.names[u if len(offsets.names) > 1 else 0]
        name = value.names[u if len(value.names) > 1 else 0]
        e.emit_raw(f"  {address} = getelementptr {type_}, ptr {start}, <{lanes} x i64> {off}")
        chosen = _copy_names(e, mask, u) or "splat (i1 true)"
        e.emit_raw(
            f"  call void @llvm.masked.scatter.{suffix}.v{lanes}p0({vector} {name}, "
            f"{pointers} {address}, i32 {_align(type_)}, {bits} {chosen})"
        )


def extract_lane(e, value, lane):
    """One lane of the first copy as a scalar."""
    name = e.fresh()
    vector = _vector(value.type, value.lanes)
    e.emit_raw(f"  {name} = extractelement {vector} {value.names[0]}, i64 {lane}")
    return Value((name,), value.type, 1)


def element_bytes(code: str) -> int:
    return nbytes_of(code)
