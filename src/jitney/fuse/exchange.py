"""Parts of a loop's state that become one another: their buffers change roles by turns.

In: the steps of one turn in which a part of the state becomes another one as it is, as the present
step of a recurrence of second order becomes the one before (u, u_before = f(u, u_before), u). Out:
the steps without that copy, where the new value may be written over the part that is lost, and the
two buffers: after a turn each has the other's role, and the next turn is done with them exchanged
(alternate.py). Neither is copied then.
Keeps: every value. Small parts of the state are copied as before.
"""

from .alternate import LEAST_BYTES, are_simple
from .in_place import is_copy, overwrites, root_of, touched_roots


def find_exchange(outputs, inputs, pairs) -> tuple[int, int] | None:
    """(number of a part that is lost, number of the part that takes its place), if there is one
    such pair: the results of a turn, its state, and (old, new) buffers of each part."""
    found = []
    for lost, node in enumerate(outputs):
        moved = next((k for k, own in enumerate(inputs) if own is node), lost)
        is_one = moved != lost and sum(other is node for other in outputs) == 1
        computed = not any(outputs[moved] is own for own in inputs)
        sizes = {buffer.nbytes for k in (lost, moved) for buffer in pairs[k]}
        if is_one and computed and len(sizes) == 1 and min(sizes) >= LEAST_BYTES:
            found.append((lost, moved))
    return found[0] if len(found) == 1 else None


def exchange(aliases, steps: list, pairs, found: tuple[int, int]) -> list | None:
    """The steps of a turn that writes the new value of the part that moves over the part that is
    lost, or None if that cannot be: `aliases` then says so."""
    (before, gone), (now, new) = (pairs[k] for k in found)
    at_home = [b for b in (before, now, new) if b.id not in aliases]
    kept = [s for s in steps if not is_copy(s, now, gone)]
    is_read = any(gone.id in group for s in kept for group in touched_roots(aliases, s))
    if len(at_home) < 3 or len(kept) != len(steps) - 1 or is_read or not are_simple(kept):
        return None
    if root_of(aliases, gone.id) != gone.id or overwrites(aliases, kept, before.id, new.id) != []:
        return None
    aliases[new.id] = before.id
    return kept
