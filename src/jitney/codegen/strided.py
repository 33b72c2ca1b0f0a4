"""Loads and stores with a short stride along the vector loop: whole vectors, shuffled in registers.

In: a `Place` whose step is a small number known when the kernel is written ('2' to '8', for loads
also '-2' to '-8'; the parts of complex numbers, columns of narrow matrices, mirrored pictures).
Out: the value(s). A machine's gathers and scatters go element by element; here `step` neighbouring
vectors are read, and the elements picked.
Nothing beyond the last wanted element is touched: the last vector is read under a mask.
"""

from . import memory
from .instructions import Value


def load(e, code, pointer, place, lanes, mask=None, guarded=False, reach=0, known=None):
    """The element(s) at place.skip + step*lane; `guarded` as in memory.py. `reach`: elements up to
    this one of each step are read by others as well. `known`: vectors that have been read already
    in this turn, of which other columns are picked; those that are read are added."""
    known = {} if known is None else known
    reach = max(reach, place.skip)
    type_, step, back = memory.memory_type(code), abs(int(place.step)), int(place.step) < 0
    if mask is not None and mask.lanes != lanes:
        mask = e.splat(mask, lanes)
    names = []
    for u in range(e.copies):
        chosen = memory._copy_names(e, mask, u)
        first = u * step * lanes
        if back:  # from the last lane's element on
            first = -first - step * (lanes - 1)
            if chosen is not None:
                chosen = _shuffle(e, "i1", chosen, chosen, range(lanes - 1, -1, -1), lanes)
        parts = []
        for k in range(step):
            at = memory._shifted(e, place.base, first + k * lanes)
            address = e.instruction(f"getelementptr {type_}, ptr {pointer}, i64 {at}")
            here = range(k * lanes, (k + 1) * lanes)
            if chosen is None:  # positions before (or at) the last element
                wanted = [at <= step * (lanes - 1) + reach for at in here]
            else:  # any lane may be the last
                wanted = [at % step <= reach for at in here]
            allowed = _allowed(e, chosen, wanted, lanes, step, k)
            if guarded:
                address = memory.safe_address(e, address, allowed, lanes)
            key = address, type_, allowed
            if key not in known:
                vector = f"<{lanes} x {type_}>"
                known[key] = memory._vector_load(e, vector, type_, address, allowed)
            parts.append(known[key])
        names.append(_pick(e, type_, parts, step, place.skip, lanes, back))
    return memory.from_memory(e, code, Value(tuple(names), type_, lanes))


def _pick(e, type_, parts, step, skip, lanes, back=False):
    """Every step-th element of the vectors side by side, from `skip` on; `back`: the last first.

    Halves of an even step are picked first, every second element of two vectors each: columns share
    these, so that all eight of a step of 8 take 24 shuffles, with two constants, and not 56."""
    while step % 2 == 0:
        step, odd, skip = step // 2, skip % 2, skip // 2
        order = range(lanes - 1, -1, -1) if back and step == 1 else range(lanes)
        picks, pairs = [2 * i + odd for i in order], zip(parts[::2], parts[1::2], strict=True)
        parts = [_shuffle(e, type_, a, b, picks, lanes) for a, b in pairs]
    where = [step * i + skip for i in (range(lanes - 1, -1, -1) if back else range(lanes))]
    if step == 1:
        return parts[0]
    found = parts[0]
    for k in range(1, step):  # an odd step meets each lane once, so all elements fit in one vector
        here = {at % lanes for at in where if at // lanes == k}
        picks = [lanes + i if i in here else i for i in range(lanes)]
        found = _shuffle(e, type_, found, parts[k], picks, lanes)
    return _shuffle(e, type_, found, found, [at % lanes for at in where], lanes)


def store(e, code, pointer, place, values, lanes, mask=None, stream=False):
    """Writes values[k] at k + step*lane; the elements between that are not given stay."""
    type_, step = memory.memory_type(code), int(place.step)
    values = {k: _in_memory(e, code, v, lanes) for k, v in values.items()}
    if mask is not None and mask.lanes != lanes:
        mask = e.splat(mask, lanes)
    for u in range(e.copies):
        names = {k: v.names[u if len(v.names) > 1 else 0] for k, v in values.items()}
        chosen = memory._copy_names(e, mask, u)
        woven = _weave_all(e, type_, names, step, lanes)
        for k, name in enumerate(woven):
            at = memory._shifted(e, place.base, (u * step + k) * lanes)
            address = e.instruction(f"getelementptr {type_}, ptr {pointer}, i64 {at}")
            wanted = [(k * lanes + i) % step in names for i in range(lanes)]
            allowed = _allowed(e, chosen, wanted, lanes, step, k)
            _write(e, type_, address, name, lanes, allowed, stream)


def _in_memory(e, code, value, lanes):
    if code == "b1":
        value = e.zext(value, "i8")
    elif code in ("f16", "bf16"):
        value = e.bitcast("i16", value)
    return value if value.lanes == lanes else e.splat(value, lanes)


def _weave_all(e, type_, names, step, lanes) -> list[str]:
    """All vectors of the result. Where all values are given and the step is even, the even values
    are woven, and the odd ones, then these with one another: 24 shuffles for 8, and not 56."""
    if step % 2:
        return _weave_odd(e, type_, names, step, lanes)
    if len(names) < step:
        where = [divmod(i, step) for i in range(step * lanes)]
        parts = [where[k * lanes : (k + 1) * lanes] for k in range(step)]
        return [_weave(e, type_, names, part, lanes) for part in parts]
    even, odd = (
        _weave_all(e, type_, {k // 2: names[k] for k in range(o, step, 2)}, step // 2, lanes)
        for o in (0, 1)
    )
    halves = [[lanes * (i % 2) + (start + i) // 2 for i in range(lanes)] for start in (0, lanes)]
    pairs = zip(even, odd, strict=True)
    return [_shuffle(e, type_, a, b, picks, lanes) for a, b in pairs for picks in halves]


def _weave_odd(e, type_, names, step, lanes) -> list[str]:
    """All vectors of the result: each value's elements in the lanes they will have, in whichever
    vector (an odd step meets each lane once), and then blends."""
    turned = {}
    for k, name in names.items():
        lane_of = {(step * i + k) % lanes: i for i in range(lanes)}
        turned[k] = _shuffle(e, type_, name, name, [lane_of[j] for j in range(lanes)], lanes)
    found = []
    for first in range(0, step * lanes, lanes):
        (_, blended), *others = turned.items()
        for k, name in others:
            here = [(first + j) % step == k for j in range(lanes)]
            picks = [lanes + j if own else j for j, own in enumerate(here)]
            blended = _shuffle(e, type_, blended, name, picks, lanes)
        found.append(blended)
    return found


def _weave(e, type_, names, where, lanes):
    """One vector of the result; where[i] = (lane, which value)."""
    found = None
    for k, name in names.items():
        if found is None:
            found = _shuffle(e, type_, name, name, [lane for lane, _ in where], lanes)
            continue
        picks = [lanes + lane if one == k else i for i, (lane, one) in enumerate(where)]
        found = _shuffle(e, type_, found, name, picks, lanes)
    return found


def _write(e, type_, address, name, lanes, allowed, stream):
    vector, align = f"<{lanes} x {type_}>", memory._align(type_)
    if allowed is None:
        hint = memory.streaming(type_, lanes) if stream else f", align {align}"
        e.emit_raw(f"  store {vector} {name}, ptr {address}{hint}")
        return
    bits, suffix = f"<{lanes} x i1>", memory._suffix(vector)
    e.declare(f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32 immarg, {bits})")
    e.emit_raw(
        f"  call void @llvm.masked.store.{suffix}.p0({vector} {name}, ptr {address}, "
        f"i32 {align}, {bits} {allowed})"
    )


def _allowed(e, chosen, wanted, lanes, step, k):
    """The mask of vector k's elements: `chosen` (of lanes, or None), each lane's `step` elements in
    a row, and of those the wanted ones. None: all."""
    constant = "<" + ", ".join(f"i1 {'true' if w else 'false'}" for w in wanted) + ">"
    if chosen is None:
        return None if all(wanted) else constant
    picks = [(k * lanes + i) // step for i in range(lanes)]
    spread = _shuffle(e, "i1", chosen, chosen, picks, lanes)
    return spread if all(wanted) else e.instruction(f"and <{lanes} x i1> {spread}, {constant}")


def _shuffle(e, type_, a, b, picks, lanes):
    order = ", ".join(f"i32 {p}" for p in picks)
    vector = f"<{lanes} x {type_}>"
    found = e.instruction(f"shufflevector {vector} {a}, {vector} {b}, <{lanes} x i32> <{order}>")
    return e.sealed(found, type_, lanes)
