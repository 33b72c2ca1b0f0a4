"""`custom_root`: the zero of a function, differentiated by the implicit function theorem.

In: a function, an initial guess (a tree), and a solver. Out: what the solver gives. With
f(x*(a), a) = 0:  ∂f/∂x dx* = -∂f/∂a da; the solver itself is never differentiated.
Invariant: the derivative is with respect to what `f` closes over; that with respect to the guess
is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.base import source
from jitney.base.pytree import treedef_is_leaf, treedef_tuple
from jitney.core.avals import get_aval
from jitney.core.interpret import eval_closed
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo
from jitney.lax.arithmetic import neg
from jitney.lax.control_flow import common
from jitney.transforms.custom_rules import apply_custom_jvp
from jitney.transforms.jvp import Zero, instantiate_zeros, jvp_flat


def custom_root(f: Callable, initial_guess: Any, solve: Callable[[Callable, Any], Any],
                tangent_solve: Callable[[Callable, Any], Any], has_aux: bool = False) -> Any:
    """`solve(f, initial_guess)`, differentiated as the x with `f(x) == 0` (not checked).

    `f` maps trees like `initial_guess` to trees like it. `tangent_solve(g, y)` solves g(x) = y for
    the linear map g (the derivative of `f` at its zero): `lambda g, y: y / g(1.0)` for scalars.
    Reverse mode transposes `tangent_solve`, which must therefore be linear in y. With `has_aux`,
    `solve` returns (solution, anything).

    TypeError for structures that do not fit, ValueError when `has_aux` promises too much.

    >>> newton = lambda f, x: x - f(x) / (2.0 * x)
    >>> custom_root(lambda x: x * x - 4.0, 2.0, newton, lambda g, y: y / g(1.0)).item()
    2.0
    """
    common.require_callables("custom_root", "f, solve and tangent_solve should be callable.",
                             f, solve, tangent_solve)
    leaves, tree = common.flatten_operands(initial_guess, "custom_root", "initial_guess")
    leaves = [common.result_value(x) for x in leaves]
    avals = [get_aval(x) for x in leaves]
    in_tree = treedef_tuple([tree])
    body = common.trace_function(f, in_tree, avals, "custom_root")
    _check_structure("f", "initial_guess", body.out_tree, tree)

    def apply(x: Any) -> Any:
        flat, found = common.flatten_operands(x, "custom_root", "the solver's argument")
        _check_structure("the argument given to f by solve", "initial_guess", found, tree)
        return tree.unflatten(eval_closed(body.closed, *body.consts, *flat))

    solver = common.trace_function(lambda x: solve(apply, x), in_tree, avals, "custom_root_solve",
                                   user_fun=solve)
    _check_solution(solver.out_tree, tree, has_aux)
    rule = _ImplicitRule(solve, solver.closed, body, tree, tangent_solve)
    outs = rule.solution([*body.consts, *solver.consts, *leaves])
    return solver.out_tree.unflatten(outs)


def _check_structure(what: str, wanted: str, found: Any, tree: Any) -> None:
    if found != tree:
        raise TypeError(f"{what}() output pytree structure must match {wanted}, got {found} and "
                        f"{tree}.")


def _check_solution(found: Any, tree: Any, has_aux: bool) -> None:
    if not has_aux:
        _check_structure("solve", "initial_guess", found, tree)
        return
    children = () if treedef_is_leaf(found) else found.children()
    if len(children) != 2 or found.node_data()[0] is not tuple:
        raise ValueError(f"solve() produced a pytree with structure {found}, but a pytree tuple "
                         "with auxiliary output was expected because has_aux was set to True.")
    _check_structure("solve", "initial_guess", children[0], tree)


class _ImplicitRule:
    """The derivative rule, on flat lists: (what f closed over, what solve closed over, guess)."""

    rule_name = "custom_root_jvp"
    symbolic_zeros = True                       # a guess that moves nothing costs nothing

    def __init__(self, solve: Callable, solver: ClosedJaxpr, body: common.Body, tree: Any,
                 tangent_solve: Callable):
        self.solve, self.solver, self.program = solve, solver, body.closed
        self.n_consts, self.tree, self.tangent_solve = len(body.consts), tree, tangent_solve
        self.name = source.function_name(solve)

    def debug_info(self) -> DebugInfo:
        return DebugInfo("custom_root", self.solve)

    def __call__(self, primals: Sequence, tangents: Sequence) -> tuple[list, list]:
        outs = self.solution(primals)           # with this rule again, for second derivatives
        consts, const_dots = (x[:self.n_consts] for x in (primals, tangents))
        zeros = [Zero.from_primal_value(x) for x in outs]
        if all(type(t) is Zero for t in const_dots):
            return outs, zeros
        count = self.tree.num_leaves
        solution, program = outs[:count], self.program
        _, residual_dots = jvp_flat(lambda *a: eval_closed(program, *a, *solution), consts,
                                    const_dots)

        def linear(direction: Any) -> Any:
            flat, found = common.flatten_operands(direction, "custom_root", "the direction")
            _check_structure("the argument given to g by tangent_solve", "initial_guess", found,
                             self.tree)
            flat = [common.result_value(x) for x in flat]
            _, out = jvp_flat(lambda *x: eval_closed(program, *consts, *x), solution, flat)
            return self.tree.unflatten([instantiate_zeros(t) for t in out])

        rhs = [neg(instantiate_zeros(t)) for t in residual_dots]
        found, tree = common.flatten_operands(
            self.tangent_solve(linear, self.tree.unflatten(rhs)), "custom_root",
            "the result of tangent_solve")
        _check_structure("tangent_solve", "x", tree, self.tree)
        return outs, [*found, *zeros[count:]]

    def solution(self, operands: Sequence) -> list:
        """What the solver gives, as a function with this rule."""
        return apply_custom_jvp(lambda *xs: eval_closed(self.solver, *xs[self.n_consts:]), self,
                                list(operands))
