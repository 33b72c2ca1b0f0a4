"""`jitney.explain(f, *args)` and `python -m jitney explain FILE.py:FUNCTION --shapes …`.

In: a function, and arguments or their types as text. Out: the story of its compilation (see
`journey.py`, which is imported when first needed: it brings the compiler with it).
"""

import importlib
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np

from jitney.base import dtypes

_CODES = {
    "bool": "bool", "pred": "bool", "bf16": "bfloat16", "c64": "complex64", "c128": "complex128",
    **{f"f{n}": f"float{n}" for n in (16, 32, 64)},
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}  # fmt: skip
_ARRAY = re.compile(r"\s*(\w+)\s*\[([\d,\s]*)\]\s*$")
STAGES = ("jaxpr", "graph", "kernels", "llvm", "asm")


def explain(f, *args, **kwargs):
    """What became of `f` for these arguments: print the result, or look at its attributes.

    The program is traced, compiled and called some dozens of times to measure it. The result's
    `as_text(stage)` gives one of `jaxpr`, `graph`, `kernels`, `llvm`, `asm` in full.
    """
    return importlib.import_module("jitney.tools.journey").explain(f, *args, **kwargs)


# ---------------------------------------------------------------------- the command
def add_arguments(parser) -> None:
    parser.add_argument("function", metavar="FILE.py:FUNCTION", help="what to explain")
    parser.add_argument(
        "--shapes",
        default="",
        metavar="TYPES",
        help="types of the arguments, as in jaxprs: 'f32[1000,1000], i32[], 2.0' "
        "(arrays get random values; a number is passed as it is)",
    )
    parser.add_argument("--ir", choices=STAGES, help="print one stage only, in full")
    parser.add_argument("--seed", type=int, default=0, help="of the random values")


def run(options) -> int:
    """The command: prints the scroll, or one stage."""
    try:
        function = load_function(options.function)
        args = make_arguments(options.shapes, options.seed)
    except ValueError as error:
        print(f"explain: {error}", file=sys.stderr)
        return 2
    found = explain(function, *args)
    print(found.as_text(options.ir) if options.ir else found)
    return 0


def load_function(text: str):
    """`path/file.py:function` (or `:Class.method`) as an object."""
    path, colon, name = text.rpartition(":")
    if not colon or not name or not Path(path).is_file():
        raise ValueError(f"{text!r} is not FILE.py:FUNCTION with an existing file")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(path).resolve().parent))  # as `python FILE.py` would
    spec.loader.exec_module(module)
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            names = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
            raise ValueError(f"{path} has no {name!r}; it has {', '.join(names) or 'no functions'}")
        found = getattr(found, part)
    return found


def make_arguments(text: str, seed: int = 0) -> list:
    """Arguments of the types in the text.

    >>> [x if isinstance(x, float) else x.shape for x in make_arguments("f32[2,3], i8[4], 1.5")]
    [(2, 3), (4,), 1.5]
    """
    generator = np.random.default_rng(seed)
    array = importlib.import_module("jitney.numpy").asarray
    made = []
    for item in split_types(text):
        found = _ARRAY.match(item)
        if found is None:
            made.append(number(item))
            continue
        if found[1] not in _CODES:
            raise ValueError(f"{found[1]!r} is none of {', '.join(_CODES)}")
        shape = tuple(int(n) for n in found[2].replace(" ", "").split(",") if n)
        made.append(array(random_values(generator, shape, _CODES[found[1]])))
    return made


def split_types(text: str) -> list[str]:
    """Parts of a list, at the commas outside brackets."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def number(text: str):
    """A Python number."""
    for kind in (int, float, complex):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ValueError(f"{text!r} is neither a type such as f32[3,4] nor a number")


def random_values(generator, shape, name: str) -> np.ndarray:
    """Values that hurt nobody: normal numbers, small integers, coin tosses."""
    dtype = np.dtype(dtypes.canonicalize_dtype(np.dtype(name)))
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return generator.integers(0, 8, shape).astype(dtype)
    values = generator.standard_normal(shape)
    return (values + 1j * generator.standard_normal(shape) if dtype.kind == "c" else values).astype(
        dtype
    )
