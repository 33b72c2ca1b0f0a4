"""Programs drawn by chance: a few steps, each a view, a reduction, a join or a map of the last one.

In: a seed and a number. Out: a case whose steps and shape follow from these. What people write one
line of is in the other files; here are the combinations nobody thought of: short last axes, views
of views, reductions of what was joined.
"""

import math
import random
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from . import arrays
from .catalogue import Case, case

EXTENTS = (2, 3, 4, 5, 7, 8, 9, 12, 16, 24, 33, 32, 64, 100, 128, 200, 256, 333, 500, 1000)
LENGTHS = (20_000, 33_333, 200_000, 1_000_000)  # of arrays of one axis
SIZES = (20_000, 200_000, 1_000_000)  # elements, about, of the others
MOST = 3_000_000  # elements of anything
TYPES = ("float32",) * 6 + ("bfloat16", "int32")
FACTORS = (2, 3, 4, 5, 8, 16)
KEPT = 64  # rows that are gathered
LOOSE = 0.01  # the share of elements that rounding may decide, as in an argmax of sums
MAPS = ("jnp.exp(x)", "jnp.tanh(x)", "jnp.sqrt(abs(x))", "abs(x)", "jnp.sin(x)", "jnp.square(x)",
        "jnp.log1p(abs(x))", "jnp.where(x > 0, x, 0.1 * x)")  # fmt: skip
OF_AXIS = ("jnp.cumsum(x, {})", "nn.softmax(x, {})", "jnp.sort(x, {})", "jnp.flip(x, {})",
           "x + x.mean({}, keepdims=True)", "jnp.maximum(x, jnp.flip(x, {}))")  # fmt: skip
REDUCTIONS = ("x.sum({})", "x.max({})", "x.mean({})", "x.prod({})", "x.var({})", "x.std({})",
              "x.argmax({}) * 1.0", "(x > 1).any({}) * 1.0", "nn.logsumexp(x, {})")  # fmt: skip

Shape = tuple[int, ...]
Step = tuple[str, Shape]  # an expression of x, and its shape


@dataclass(frozen=True)
class Drawing:
    """The state of a drawing: what the next step starts from."""

    rng: random.Random
    shape: Shape
    axis: int

    def with_extent(self, extent: int) -> Shape:
        return self.shape[: self.axis] + (extent,) + self.shape[self.axis + 1 :]

    @property
    def extent(self) -> int:
        return self.shape[self.axis]


def a_map(d: Drawing) -> Step:
    return d.rng.choice(MAPS), d.shape


def along_the_axis(d: Drawing) -> Step:
    return d.rng.choice(OF_AXIS).format(d.axis), d.shape


def a_reduction(d: Drawing) -> Step:
    text, keep = d.rng.choice(REDUCTIONS), d.rng.random() < 0.3
    options = f"{d.axis}, keepdims=True" if keep else str(d.axis)
    rest = d.with_extent(1) if keep else d.shape[: d.axis] + d.shape[d.axis + 1 :]
    return text.format(options), rest


def transposed(d: Drawing) -> Step:
    order = d.rng.sample(range(len(d.shape)), len(d.shape))
    return f"x.transpose({order})", tuple(d.shape[k] for k in order)


def exchanged(d: Drawing) -> Step | None:
    if len(d.shape) < 2:
        return None
    other, shape = (d.axis + d.rng.randrange(1, len(d.shape))) % len(d.shape), list(d.shape)
    shape[d.axis], shape[other] = shape[other], shape[d.axis]
    return f"jnp.swapaxes(x, {d.axis}, {other})", tuple(shape)


def sliced(d: Drawing) -> Step | None:
    if d.extent < 4:
        return None
    low, step = d.rng.choice(((1, 1), (0, 2), (1, 2), (0, 3), (1, 3)))
    index = ", ".join([":"] * d.axis + [f"{low}::{step}"])
    return f"x[{index}]", d.with_extent(len(range(low, d.extent, step)))


def differences(d: Drawing) -> Step | None:
    return (f"jnp.diff(x, axis={d.axis})", d.with_extent(d.extent - 1)) if d.extent > 2 else None


def rolled(d: Drawing) -> Step:
    return f"jnp.roll(x, {d.rng.choice((1, -2, 5))}, {d.axis})", d.shape


def padded(d: Drawing) -> Step:
    widths = tuple((1, 1) if k == d.axis else (0, 0) for k in range(len(d.shape)))
    mode = d.rng.choice(("constant", "edge", "wrap"))
    return f"jnp.pad(x, {widths}, {mode!r})", d.with_extent(d.extent + 2)


def twice_as_long(d: Drawing) -> Step:
    text = d.rng.choice(("jnp.repeat(x, 2, {})", "jnp.concatenate([x, x * 2], {})",
                         "jnp.concatenate([x, x], {})"))  # fmt: skip
    return text.format(d.axis), d.with_extent(2 * d.extent)


def stacked(d: Drawing) -> Step:
    return f"jnp.stack([x, x + 1], {d.axis})", d.shape[: d.axis] + (2,) + d.shape[d.axis :]


def all_pairs(d: Drawing) -> Step:
    text = f"jnp.expand_dims(x, {d.axis}) * jnp.expand_dims(x, {d.axis + 1})"
    return text, d.shape[: d.axis] + (d.extent,) + d.shape[d.axis :]


def gathered(d: Drawing) -> Step | None:
    return (f"jnp.take(x, i % {d.extent}, {d.axis})", d.with_extent(KEPT)) if d.extent > 2 else None


def diagonal(d: Drawing) -> Step | None:
    if len(d.shape) < 2:
        return None
    one, two = sorted((d.axis, (d.axis + 1) % len(d.shape)))
    rest = tuple(n for k, n in enumerate(d.shape) if k not in (one, two))
    return f"jnp.diagonal(x, 0, {one}, {two})", (*rest, min(d.shape[one], d.shape[two]))


def axis_divided(d: Drawing) -> Step | None:
    factors = [f for f in FACTORS if d.extent % f == 0 and d.extent > f]
    if not factors:
        return None
    factor = d.rng.choice(factors)
    shape = d.shape[: d.axis] + (d.extent // factor, factor) + d.shape[d.axis + 1 :]
    return f"x.reshape({shape})", shape


def axes_made_one(d: Drawing) -> Step | None:
    if d.axis == len(d.shape) - 1:
        return None
    both = d.extent * d.shape[d.axis + 1]
    shape = d.shape[: d.axis] + (both,) + d.shape[d.axis + 2 :]
    return f"x.reshape({shape})", shape


# as often as they stand here
STEPS: tuple[Callable[[Drawing], Step | None], ...] = (
    *[a_reduction] * 7, *[along_the_axis] * 6, *[twice_as_long] * 3, *[a_map] * 2, transposed,
    exchanged, sliced, differences, rolled, padded, stacked, all_pairs, gathered, diagonal,
    axis_divided, axes_made_one,
)  # fmt: skip


def shape_drawn(rng: random.Random) -> Shape:
    axes, wanted = rng.choice((1, 2, 2, 3, 3, 4, 4)), rng.choice(SIZES)
    if axes == 1:
        return (rng.choice(LENGTHS),)
    while True:
        shape = tuple(rng.choice(EXTENTS) for _ in range(axes))
        if 0.3 * wanted <= math.prod(shape) <= 1.5 * wanted:
            return shape


def steps_drawn(rng: random.Random, shape: Shape) -> Iterator[str]:
    """One to three expressions of x; those that would be too large are left out."""
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        if not shape:
            return
        step = rng.choice(STEPS)(Drawing(rng, shape, rng.randrange(len(shape))))
        if step is not None and math.prod(step[1]) <= MOST:
            text, shape = step
            yield text


def program(steps: list[str]) -> Callable:
    """The function of x and of positions i that applies the steps one after the other."""
    codes = [compile(step, f"<drawn: {step}>", "eval") for step in steps]

    def apply(jnp: types.ModuleType, nn: types.ModuleType, x, i):
        for code in codes:
            x = eval(code, {"jnp": jnp, "nn": nn, "x": x, "i": i})  # our own text
        return x

    return apply


def drawn(seed: int, number: int) -> Case:
    """The case of that number; its name begins with both."""
    rng = random.Random(f"{seed}.{number}")
    steps: list[str] = []
    while not steps:
        shape, dtype = shape_drawn(rng), rng.choice(TYPES)
        steps = list(steps_drawn(rng, shape))
    name = f"{seed}.{number} {dtype}{list(shape)}: {'; '.join(steps)}"
    x = arrays.uniforms(*shape, low=0.1, high=1.1, dtype=dtype)
    if dtype == "int32":
        x = arrays.integers(*shape, high=100)
    positions = arrays.integers(KEPT, high=1000)
    made = case(name, program(steps), x, positions, loose=LOOSE)
    return replace(made, family="drawn")


def some_drawn(seed_and_count: str) -> list[Case]:
    """The first cases of a seed, from "seed:count". ValueError for anything else."""
    seed, count = map(int, seed_and_count.split(":"))
    return [drawn(seed, number) for number in range(count)]


def named(name: str) -> Case:
    """The case of that name. KeyError if no drawing has it."""
    found = re.match(r"(\d+)\.(\d+) ", name)
    if found is None or (made := drawn(*map(int, found.groups()))).name != name:
        raise KeyError(name)
    return made
