"""What all plans of contractions end with: their parameters, work and step.

In: a `ContractionShape`, a schedule and its values by name. Out: a `ContractionPlan`.
"""

from .shape import ContractionKernel, ContractionPlan, ContractionStep

# Terms of a sum that follow one another at most, where rows are read in place: on all machines.
CHAIN = 512
PIECE_FLOPS = 2 << 18  # some 5 us: less is not worth another thread
ROW_PAD = 16  # words between packed rows, against addresses that are equal modulo 4 KiB
SHALLOW = 128  # terms of a short sum
PAIRS = 32  # from this many rows, columns and depth, dot-product words are worth their packing


def strides_of(shape) -> dict:
    """The strides of all axes, as parameters by name."""
    (ab, am, ak), (bb, bk, bn), (cb, cm, cn) = shape.a, shape.b, shape.c
    ia, ib, ic = shape.inner_strides
    return {
        "a_batch": ab, "a_inner": ia, "a_m": am, "a_k": ak, "b_batch": bb, "b_inner": ib, "b_k": bk,
        "b_n": bn, "c_batch": cb, "c_inner": ic, "c_m": cm, "c_n": cn,
    }  # fmt: skip


def one_step(schedule, values, names, extent, piece_bytes, shape, target, epilogue):
    """A plan of one kernel; `names`: its parameters, in order; `piece_bytes`: of workspace."""
    params = tuple(values[name] for name in names)
    if epilogue is not None:
        params += epilogue.params
    step = ContractionStep(ContractionKernel(schedule, target, epilogue), params, extent, 1)
    return ContractionPlan((step,), extent * piece_bytes, work_of(shape, epilogue))


def work_of(shape, epilogue) -> int:
    """Floating point operations, those of the epilogue included."""
    size = shape.batch * shape.m * shape.n
    return shape.flops + (epilogue.flops * size if epilogue is not None else 0)


def round_up(value: int, multiple: int) -> int:
    """The smallest multiple that is not below `value`."""
    return -(-value // multiple) * multiple


def even(k, most, multiple) -> int:
    """The smallest multiple that needs no more blocks than `most` does."""
    blocks = -(-k // most)
    return round_up(-(-k // blocks), multiple)
