"""One library's side of `first_calls.py`: runs users' programs, asked by lines of JSON.

    python benchmarks/users/one_side.py jitney|jax

In: questions on standard input. `{"do": "prepare", "name": …}` answers the seconds of a first call;
`{"do": "time"}` those of a later one, the least of five means. Out: a line for each answer, after
one that says the library's version.
"""

import gc
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from worker import seconds, serve  # noqa: E402

from users import catalogue  # noqa: E402

SECONDS = 0.005  # how long each mean is taken over


def arrays(made: catalogue.Program, lib: catalogue.Library) -> tuple:
    """A program's arguments as the library's arrays."""
    found = lib.tree_map(lib.jnp.asarray, made.arguments())
    return lib.jax.block_until_ready(found)


def warm(lib: catalogue.Library) -> None:
    """What the first of all calls waits for is no program's own."""
    lib.jax.jit(lambda key: lib.random.gamma(key, 1.0))(lib.random.key(0))


def prepare(made: catalogue.Program, lib: catalogue.Library) -> tuple[Callable, float]:
    """A call of the program, and the seconds of the first; what programs before it have left is no
    part of these (going through all of it takes Python 0.3 s)."""
    gc.collect()
    arguments = arrays(made, lib)
    jitted = lib.jax.jit(made.build(lib))
    call = lambda: lib.jax.block_until_ready(jitted(*arguments))
    first = seconds(call, 1)
    call()
    return call, first


def later(call: Callable) -> float:
    once = seconds(call, 1)
    count = max(1, min(100, int(SECONDS / once)))
    return min(seconds(call, count) for _ in range(5 if once < 0.1 else 2))


def begin() -> Callable:
    """What answers questions for users' programs."""
    lib = catalogue.library(sys.argv[1])
    made = {p.name: p for p in catalogue.programs()}
    warm(lib)
    call = lambda: None

    def answer_to(question: dict) -> dict:
        nonlocal call
        if question["do"] != "prepare":
            return {"seconds": later(call)}
        call, first = prepare(made[question["name"]], lib)
        return {"first": first}

    return answer_to


if __name__ == "__main__":
    serve(sys.argv[1], begin)
