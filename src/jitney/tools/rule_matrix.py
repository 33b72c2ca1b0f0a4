"""Which rules each primitive has: `python -m jitney.tools.rule_matrix [name …]`.

In: the tables of the transformations and of the lowering. Out: one line a primitive, one column a
rule, and a status of 1 when a cell is neither a rule nor declared in `ABSENT` with its reason.

    rule      the table has one
    0         a rule that says: the derivative is zero
    -         there is nothing to do: the derivative is zero, so nothing is ever transposed
    a letter  declared absent, for the reason printed below the table
    HOLE      forgotten

Invariant: a declaration that a rule has made wrong is an error too (`stale`).
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import jitney
from jitney.core.primitive import Primitive, all_primitives
from jitney.lower import families  # noqa: F401  (registers every lowering rule)
from jitney.lower.rules import RULES
from jitney.transforms import custom_rules
from jitney.transforms.jvp import jvp_rules
from jitney.transforms.transpose import transpose_rules
from jitney.transforms.vmap import batch_rules

COLUMNS = ("type", "jvp", "transpose", "batch", "lower", "reference")

REASONS = {
    "n": "nonlinear: its jvp is written with other primitives, which are the ones transposed",
    "o": "it has no operands, so none can carry a tangent or a batch",
    "d": "an intermediate form of a factorisation, without a derivative, as in JAX; differentiate "
         "qr, eigh, eig or svd",
    "c": "the function's own rule is used (custom_jvp, custom_vjp)",
    "f": "the linear map of a custom_vjp function: only the user's backward rule is known, so it "
         "cannot be run, pushed forward or batched",
    "p": "runs Python, of which nothing is known; wrap it in custom_jvp (refused with that advice)",
    "u": "the update is an arbitrary function; write x.at[i].set(func(x[i])) (refused with that "
         "advice)",
    "v": "a custom_vmap function: reverse mode is refused, with the advice to use custom_vjp",
    "e": "it has no results, so nothing flows out of it",
}  # fmt: skip

_NONLINEAR = """
    abs acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt cholesky
    cholesky_update clamp cos cosh eig eigh lu qr svd symmetric_product
    cumlogsumexp cummax cummin cumprod custom_jvp_call custom_vjp_call digamma erf erf_inv erfc exp
    exp2 expm1 igamma igamma_grad_a igammac integer_pow lgamma log log1p logistic max min
    pmax pmin polygamma pow random_gamma random_gamma_grad reduce reduce_max reduce_min reduce_prod
    reduce_window reduce_window_max reduce_window_min regularized_incomplete_beta rem rsqrt
    scatter-max scatter-min sin sinh sort partition sqrt square tan tanh top_k approx_top_k zeta
""".split()

_FORMS = ("geqrf", "hessenberg", "householder_product", "ormqr", "schur", "tridiagonal")

# column -> primitive -> reason. The only place where a rule may be declared absent.
ABSENT: dict[str, dict[str, str]] = {
    "type": {},
    "jvp": {"platform_index": "o", "custom_lin": "f", "pure_callback": "p", "io_callback": "p",
            "scatter_apply": "u", **dict.fromkeys(_FORMS, "d")},
    "transpose": {**dict.fromkeys(_NONLINEAR, "n"), **dict.fromkeys(_FORMS, "d"),
                  "platform_index": "o", "pure_callback": "p",
                  "io_callback": "p", "scatter_apply": "u", "debug_callback": "e",
                  "check": "e", "custom_vmap_call": "v", "composite": "n",
                  "debug_print": "e"},
    "batch": {**dict.fromkeys(("empty", "iota", "platform_index"), "o"), "custom_lin": "f"},
    "lower": {"custom_lin": "f"},
    "reference": {"custom_lin": "f"},
}  # fmt: skip


class Row(NamedTuple):
    """A primitive's cells, by column; `holes` and `stale` name the columns at fault."""

    name: str
    cells: dict[str, str]
    holes: tuple[str, ...]
    stale: tuple[str, ...]


def load_everything() -> None:
    """Import every module that may define a primitive or a rule."""
    for module in pkgutil.walk_packages(jitney.__path__, "jitney."):
        room = module.name.split(".")[1]
        if room not in ("tools", "testing", "_native", "__main__"):
            importlib.import_module(module.name)


def _rules_of(primitive: Primitive) -> dict[str, Any]:
    call = custom_rules.CALLS.get(primitive)
    return {
        "type": primitive.abstract_rule,
        "jvp": jvp_rules.get(primitive) or call,
        "transpose": transpose_rules.get(primitive),
        "batch": batch_rules.get(primitive) or call,
        "lower": RULES.get(primitive.name),
        "reference": primitive.reference_rule,
    }


def is_zero_rule(rule: Any) -> bool:
    """Whether a jvp rule was made by `define_zero_jvp`."""
    return getattr(rule, "__qualname__", "").startswith("define_zero_jvp.")


def only_refuses(rule: Any) -> bool:
    """Whether a rule does nothing but raise."""
    if not inspect.isfunction(rule):
        return False
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(rule)))
    except (OSError, SyntaxError):                  # a lambda inside an expression
        return False
    body = getattr(tree.body[0], "body", None)
    if not isinstance(body, list):
        return False
    steps = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return len(steps) == 1 and isinstance(steps[0], ast.Raise)


# Rules that only sometimes refuse (a zero tangent passes), which the eye of `only_refuses` misses.
_REFUSING = {("jvp", name) for name in ("pure_callback", "io_callback", "scatter_apply")}


def row_of(primitive: Primitive) -> Row:
    """What the tables have for a primitive."""
    name, rules = primitive.name, _rules_of(primitive)
    cells, holes, stale = {}, [], []
    for column in COLUMNS:
        rule, reason = rules[column], ABSENT[column].get(name)
        usable = rule is not None and not only_refuses(rule) and (column, name) not in _REFUSING
        if usable:
            cells[column] = "0" if column == "jvp" and is_zero_rule(rule) else "rule"
            if reason is not None:
                stale.append(column)
        elif column == "transpose" and is_zero_rule(rules["jvp"]):
            cells[column] = "-"
        elif reason is not None:
            cells[column] = reason
        else:
            cells[column] = "HOLE"
            holes.append(column)
    return Row(name, cells, tuple(holes), tuple(stale))


def matrix() -> list[Row]:
    """A row a primitive, by name."""
    load_everything()
    return [row_of(p) for _, p in sorted(all_primitives().items())]


def unknown_declarations(rows: list[Row]) -> list[str]:
    """Declarations about primitives that do not exist."""
    known = {row.name for row in rows}
    return sorted({name for table in ABSENT.values() for name in table} - known)


def table(rows: list[Row]) -> str:
    """The matrix and the reasons used in it, as text."""
    width = max([len(row.name) for row in rows], default=4)
    lines = [f"{'primitive':{width}}  " + "".join(f"{c:<11}" for c in COLUMNS).rstrip()]
    for row in rows:
        cells = "".join(f"{row.cells[c]:<11}" for c in COLUMNS).rstrip()
        lines.append(f"{row.name:{width}}  {cells}")
    used = {cell for row in rows for cell in row.cells.values()}
    lines += ["", "0  the derivative is zero", "-  so nothing is ever transposed"]
    lines += [textwrap.fill(f"{k}  {text}", 98, subsequent_indent="   ")
              for k, text in REASONS.items() if k in used]
    return "\n".join(lines)


def faults(rows: list[Row]) -> list[str]:
    """What is wrong, a line each."""
    found = [f"{row.name}: no rule for {column}, and no reason is declared in "
             "jitney/tools/rule_matrix.py" for row in rows for column in row.holes]
    found += [f"{row.name}: declared to have no rule for {column}, but there is one"
              for row in rows for column in row.stale]
    return found + [f"{name}: declared, but there is no such primitive"
                    for name in unknown_declarations(rows)]


def main(arguments: list[str], write: Callable[[str], Any] = print) -> int:
    """Print the matrix (of the named primitives only), and what is wrong with all of it."""
    rows = matrix()
    unknown = sorted(set(arguments) - {row.name for row in rows})
    if unknown:
        write(f"no such primitive: {', '.join(unknown)}")
        return 2
    write(table([row for row in rows if not arguments or row.name in arguments]))
    wrong = faults(rows)
    for line in wrong:
        write(line)
    write(f"{len(rows)} primitives, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
