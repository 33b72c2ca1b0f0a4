"""One library's side of `run.py`: prepares programs and times them, asked by lines of JSON.

    python benchmarks/worker.py jitney|jax|numba|numpy|torch

In: questions on standard input. `{"do": "prepare", "name": …}` runs a program at its small size,
compares it with NumPy, runs it at its full size, and answers the seconds of that first call;
`{"do": "time"}` answers seconds a call over about a twentieth of a second. Out: one line an answer;
before the first question one that says the library's version and its threads.
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


class NotWritten(Exception):
    """There is no version of the program for this library."""


def array_call(library: str) -> Callable:
    """How a program in JAX's language is called: (program, arguments) -> thunk."""
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


def plain_call() -> Callable:
    """How NumPy is called."""
    from hpc import in_numpy

    def prepare(made: catalogue.Program, arguments: tuple) -> Callable:
        fun = in_numpy.version(made)
        return lambda: fun(*arguments)

    return prepare


def tensor_call() -> Callable:
    """How PyTorch is called: compiled, or eagerly where compiling fails at the small size."""
    import torch
    from hpc import in_torch

    torch.set_grad_enabled(False)
    threads = int(os.environ.get("OMP_NUM_THREADS", 0))
    if threads:
        torch.set_num_threads(threads)
    ways = {"compiled": lambda f: torch.compile(f, dynamic=False), "eager": lambda f: f}
    chosen: dict[str, str] = {}

    def prepare(made: catalogue.Program, arguments: tuple) -> Callable:
        if made.name not in in_torch.VERSIONS:
            raise NotWritten
        tensors = [torch.as_tensor(a) for a in arguments]
        if made.name not in chosen:
            torch._dynamo.reset()
            chosen[made.name] = first_that_works(made, tensors)
        fun = in_torch.VERSIONS[made.name](torch, ways[chosen[made.name]])
        return lambda: fun(*tensors)

    def first_that_works(made: catalogue.Program, tensors: list) -> str:
        try:
            in_torch.VERSIONS[made.name](torch, ways["compiled"])(*tensors)
            return "compiled"
        except Exception:  # whatever it is that torch.compile cannot do
            return "eager"

    return prepare


CALLS = {
    "jitney": lambda: array_call("jitney"), "jax": lambda: array_call("jax"),
    "numba": loop_call, "numpy": plain_call, "torch": tensor_call,
}  # fmt: skip


def about(library: str) -> dict:
    """Version and threads of a library that was imported."""
    found = {"version": str(sys.modules[library].__version__)}
    if library == "jitney":
        found["threads"] = sys.modules["jitney._native"].num_threads()
    elif library == "numba":
        found["threads"] = sys.modules["numba"].get_num_threads()
    elif library == "torch":
        found["threads"] = sys.modules["torch"].get_num_threads()
    return found


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


def serve(library: str, begin: Callable) -> None:
    """Answers the lines of standard input by the function that `begin` gives once it has imported
    the library."""
    warnings.simplefilter("ignore")
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with answers
    answer_to = begin()
    print(json.dumps(about(library)), file=replies, flush=True)
    for line in sys.stdin:
        try:
            answer = answer_to(json.loads(line))
        except NotWritten:
            answer = {"not_written": True}
        except Exception as error:  # the other side reports it, and goes on
            text = " ".join(str(error).split())
            answer = {"error": f"{type(error).__name__}: {text}"[:200]}
        print(json.dumps(answer), file=replies, flush=True)


def begin() -> Callable:
    """What answers questions for the programs of `hpc`."""
    prepare_call = CALLS[sys.argv[1]]()
    made = {p.name: p for p in catalogue.programs()}
    call, count = lambda: None, 1

    def answer_to(question: dict) -> dict:
        nonlocal call, count
        if question["do"] != "prepare":
            return {"seconds": seconds(call, count)}
        call, answer = prepare(made[question["name"]], prepare_call)
        count = repetitions(call)
        return answer

    return answer_to


def main() -> None:
    serve(sys.argv[1], begin)


if __name__ == "__main__":
    main()
