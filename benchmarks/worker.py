"""One library's side of `run.py`: prepares programs and times them, asked by lines of JSON.

    python benchmarks/worker.py jitney|jax|numba

In: questions on standard input. `{"do": "prepare", "name": …}` runs a program at its small size,
compares it with NumPy, runs it at its full size, and answers the seconds of that first call;
`{"do": "time"}` answers seconds a call over about a twentieth of a second. Out: one line an answer.
"""

import importlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from hpc import catalogue

SECONDS = 0.05  # how long a measurement lasts


def array_call(library: str) -> Callable:
    """How a program in JAX's language is called: (program, size) -> thunk."""
    api = importlib.import_module(library)
    for part in ("numpy", "lax", "nn", "ops", "scipy.special"):
        importlib.import_module(f"{library}.{part}")

    def prepare(made: catalogue.Program, arguments: tuple) -> Callable:
        api.config.update("jax_enable_x64", made.x64)
        fun = api.jit(made.array(api))
        arrays = [api.numpy.asarray(a) for a in arguments]
        return lambda: api.block_until_ready(fun(*arrays))

    return prepare


def loop_call() -> Callable:
    """How loops are called."""
    import numba

    def prepare(made: catalogue.Program, arguments: tuple) -> Callable:
        fun = made.loops(numba)
        return lambda: fun(*arguments)

    return prepare


def seconds(call: Callable, times: int) -> float:
    """Seconds a call."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def arguments_of(made: catalogue.Program, size: int) -> tuple:
    return made.make(np.random.default_rng(7), size)


def prepare(made: catalogue.Program, prepare_call: Callable) -> tuple[Callable, dict]:
    small = arguments_of(made, made.small)
    catalogue.compare(made, prepare_call(made, small)(), made.reference(*small))
    call = prepare_call(made, arguments_of(made, made.size))
    first = seconds(call, 1)
    return call, {"first": first}


def repetitions(call: Callable) -> int:
    """How many calls last about SECONDS."""
    call()
    once = seconds(call, 1)
    once = seconds(call, max(1, min(50, int(SECONDS / 4 / once))))
    return max(1, int(SECONDS / once))


def main() -> None:
    library = sys.argv[1]
    warnings.simplefilter("ignore")
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with answers
    prepare_call = loop_call() if library == "numba" else array_call(library)
    made = {p.name: p for p in catalogue.programs()}
    print("{}", file=replies, flush=True)
    call, count = lambda: None, 1
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if question["do"] == "prepare":
                call, answer = prepare(made[question["name"]], prepare_call)
                count = repetitions(call)
            else:
                answer = {"seconds": seconds(call, count)}
        except Exception as error:  # the other side reports it, and goes on
            text = " ".join(str(error).split())
            answer = {"error": f"{type(error).__name__}: {text}"[:200]}
        print(json.dumps(answer), file=replies, flush=True)


if __name__ == "__main__":
    main()
