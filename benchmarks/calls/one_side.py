"""One library's side of `first_and_later.py`: runs cases, asked by lines of JSON.

    python benchmarks/calls/one_side.py jitney|jax

In: questions on standard input. `{"do": "prepare", "name": …}` answers the seconds of a first
call; `{"do": "time"}` those of a later one, the least of five means; `{"do": "results", "file": …}`
writes what the call gives. Out: a line for each answer, after one that says the library's version.
"""

import gc
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import numpy as np  # noqa: E402
from users.catalogue import Library, library  # noqa: E402
from users.one_side import later, warm  # noqa: E402
from worker import seconds, serve  # noqa: E402

from calls import catalogue, drawn  # noqa: E402

# what cases use and `import jitney` or `import jax` leaves out
FURTHER = ("image", "nn", "ops", "scipy.fft", "scipy.integrate")


def prepare(made: catalogue.Case, lib: Library) -> tuple[Callable, float]:
    """A call of the case, and the seconds of the first, without those of collecting what cases
    before it have left."""
    gc.collect()
    lib.jax.config.update("jax_enable_x64", made.x64)
    arguments = lib.jax.block_until_ready([lib.jnp.asarray(a) for a in made.arguments()])
    jitted = lib.jax.jit(made.build(lib))
    call = lambda: lib.jax.block_until_ready(jitted(*arguments))
    first = seconds(call, 1)
    call()
    return call, first


def write_results(call: Callable, lib: Library, file: str) -> None:
    leaves = [np.asarray(leaf) for leaf in lib.tree_leaves(call())]
    Path(file).write_bytes(pickle.dumps(leaves))


def begin() -> Callable:
    """What answers questions for the cases."""
    lib = library(sys.argv[1])
    for name in FURTHER:
        lib.module(name)
    made = {c.name: c for c in catalogue.cases()}
    warm(lib)
    call = lambda: None

    def answer_to(question: dict) -> dict:
        nonlocal call
        if question["do"] == "time":
            return {"seconds": later(call)}
        if question["do"] == "results":
            write_results(call, lib, question["file"])
            return {}
        name = question["name"]
        call, first = prepare(made[name] if name in made else drawn.named(name), lib)
        return {"first": first}

    return answer_to


if __name__ == "__main__":
    serve(sys.argv[1], begin)
