"""Writes the table of what works into README.md, by looking for the names.

In: README.md with the two markers below. Out: the same with the table between them.
`python -m jitney.tools.generate_status [FILE]`, in the repository's folder. That a name exists does
not prove that it works: that is what the tests are for. A row counts when all its names exist.
"""

import functools
import sys
from pathlib import Path

import jitney
from jitney.base.unsupported import reason_of

BEGIN, END = "<!-- status: written by jitney.tools.generate_status -->", "<!-- end of status -->"
ROWS = (
    ("tracing and compiling", "jit make_jaxpr eval_shape ShapeDtypeStruct stages"),
    ("array functions, indexing, `x.at[…]`", "numpy numpy.einsum numpy.histogram Array"),
    ("lax: elementwise, reductions, contractions, convolutions, gather, scatter, sorting",
     "lax.dot_general lax.conv_general_dilated lax.gather lax.scatter_add lax.sort "
     "lax.reduce_window"),
    ("loops and branches in programs",
     "lax.while_loop lax.fori_loop lax.scan lax.map lax.cond lax.switch lax.associative_scan"),
    ("random keys and distributions", "random.key random.normal random.gamma random.categorical"),
    ("neural-network functions", "nn.softmax nn.gelu nn.dot_product_attention nn.initializers"),
    ("derivatives", "grad value_and_grad jvp vjp jacfwd jacrev hessian linearize"),
    ("rules of one's own", "custom_jvp custom_vjp"),
    ("rematerialisation", "checkpoint"),
    ("batching", "vmap custom_batching.custom_vmap"),
    ("Python called from programs", "pure_callback debug.print debug.callback"),
    ("checks in programs", "experimental.checkify.checkify experimental.checkify.check"),
    ("segments, images, profiles", "ops.segment_sum image.resize profiler.trace"),
    ("linear algebra", "numpy.linalg lax.linalg scipy.linalg"),
    ("Fourier transforms", "numpy.fft lax.fft scipy.fft"),
    ("special functions, statistics", "scipy.special scipy.stats"),
    ("images, grids, code books",
     "scipy.ndimage scipy.interpolate scipy.cluster scipy.integrate"),
    ("iterative solvers, minimization", "scipy.sparse.linalg scipy.optimize"),
    ("signals", "scipy.signal"),
    ("StableHLO text of programs", "stablehlo.module_text"),
    ("export and reload of programs", "export.export"),
    ("several CPU devices", "pmap shard_map make_mesh sharding.NamedSharding"),
)  # fmt: skip


def exists(name: str) -> bool:
    """Whether `jitney.name` is there.

    >>> exists("numpy.sin"), exists("numpy.sing")
    (True, False)
    """
    try:
        found = functools.reduce(getattr, name.split("."), jitney)
    except (AttributeError, ImportError):
        return False
    return reason_of(found) is None


def table() -> str:
    """The table."""
    lines = ["| what | names | state |", "|---|---|---|"]
    for what, names in ROWS:
        found = [exists(n) for n in names.split()]
        state = "works" if all(found) else "in part" if any(found) else "not yet"
        lines.append(f"| {what} | {', '.join(f'`{n}`' for n in names.split())} | {state} |")
    return "\n".join(lines)


def replaced(text: str) -> str:
    """The document with a new table."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def main(arguments: list[str]) -> None:
    path = Path(arguments[0] if arguments else "README.md")
    path.write_text(replaced(path.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
