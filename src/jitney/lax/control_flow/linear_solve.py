"""`custom_linear_solve`: a solver of linear equations whose derivatives are again linear solves.

In: a linear map `matvec`, a right-hand side `b` (a tree), a solver and one for the transposed map.
Out: what the solver gives. The equation holds four programs (map, transposed map, the two
solvers) and, as operands, what each closed over and then `b`.

With A x = b:  A dx = db - dA x  (forward),  b̄ = A^-T x̄  (reverse); see Giles, "Collected matrix
derivative results for forward and reverse mode algorithmic differentiation" (2008), section 2.3.1.
Invariant: nothing is differentiated through the solvers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jitney.base.pytree import treedef_is_leaf, treedef_tuple
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.interpret import eval_closed, reference_of_closed
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.primitive import Primitive
from jitney.lax.arithmetic import sub
from jitney.lax.control_flow import common
from jitney.transforms import backward as backward_engine
from jitney.transforms import vmap as vmap_engine
from jitney.transforms.jvp import Zero, define_jvp, instantiate_zeros, jvp_flat
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import at_front, batch_size, define_batch


class _LinearSolveTuple(NamedTuple):
    """One entry for each of the four functions: programs, or numbers of constants."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transposed(self) -> _LinearSolveTuple:
        """Of the transposed equation."""
        return _LinearSolveTuple(self.vecmat, self.matvec, self.transpose_solve, self.solve)


def custom_linear_solve(matvec: Callable, b: Any, solve: Callable[[Callable, Any], Any],
                        transpose_solve: Callable[[Callable, Any], Any] | None = None,
                        symmetric: bool = False, has_aux: bool = False) -> Any:
    """`solve(matvec, b)`, differentiated as the solution x of `matvec(x) == b` (not checked).

    `b` is a tree of arrays; `matvec` maps trees like it to trees like it, linearly. The solvers
    get a function and a right-hand side; they need not be differentiable. `transpose_solve(vecmat,
    b)` solves with the transposed map and is needed for reverse mode, unless `symmetric` says
    that `solve` does it. With `has_aux` both solvers return (solution, anything).

    TypeError for what is not callable or has the wrong structure, ValueError for wrong shapes.

    >>> custom_linear_solve(lambda x: 4.0 * x, 2.0, lambda matvec, b: b / matvec(1.0)).item()
    0.5
    """
    solvers = (solve,) if transpose_solve is None else (solve, transpose_solve)
    common.require_callables("custom_linear_solve", "matvec and the solvers should be callable.",
                             matvec, *solvers)
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, tree = common.flatten_operands(b, "custom_linear_solve", "b")
    leaves = [common.result_value(x) for x in leaves]
    avals = [get_aval(x).strip_weak_type() for x in leaves]
    in_tree = treedef_tuple([tree])
    forward = common.trace_function(matvec, in_tree, avals, "matvec")
    _check_output("matvec", tree, avals, forward.out_tree, forward.closed.out_avals)
    backward = _transposed(forward, avals) if transpose_solve is not None and not symmetric \
        else forward
    solution, out_tree = _trace_solver(solve, forward, tree, avals, "solve", has_aux)
    programs, consts = [forward.closed, backward.closed, solution.closed], [
        forward.consts, backward.consts, solution.consts]
    if transpose_solve is None:
        programs[1], consts[1] = None, ()
        programs.append(None)
        consts.append(())
    else:
        reverse, _ = _trace_solver(transpose_solve, backward, tree, avals, "transpose_solve",
                                   has_aux)
        programs.append(reverse.closed)
        consts.append(reverse.consts)
    outs = custom_linear_solve_p.bind(
        *[c for part in consts for c in part], *leaves,
        const_lengths=_LinearSolveTuple(*map(len, consts)),
        jaxprs=_LinearSolveTuple(*programs))
    return out_tree.unflatten(outs)


def _transposed(body: common.Body, avals: Sequence[ShapedArray]) -> common.Body:
    """The transposed linear map; constants stay its leading inputs."""
    linear_in = [False] * len(body.consts) + [True] * len(avals)
    program, _ = backward_engine.transpose_jaxpr(body.closed, linear_in, [True] * len(avals), True)
    return body._replace(closed=program)


def _trace_solver(solver: Callable, body: common.Body, tree: Any, avals: list, name: str,
                  has_aux: bool) -> tuple[common.Body, Any]:
    """(the traced solver, the structure of its result), the solution's structure checked."""

    def apply(x: Any) -> Any:
        flat, found = common.flatten_operands(x, "custom_linear_solve", "the solver's argument")
        if found != tree:
            raise TypeError(f"custom_linear_solve: the function given to {name} takes what b looks "
                            f"like, {tree}, got {found}")
        return tree.unflatten(eval_closed(body.closed, *body.consts, *flat))

    traced = common.trace_function(lambda b: solver(apply, b), treedef_tuple([tree]), avals, name,
                                   user_fun=solver)
    out_tree, out_avals = traced.out_tree, traced.closed.out_avals
    solution = out_tree
    if has_aux:
        children = out_tree.children() if not treedef_is_leaf(out_tree) else ()
        if len(children) != 2 or out_tree.node_data()[0] is not tuple:
            raise ValueError(
                f"{name}() produced a pytree with structure {out_tree}, but a pytree tuple with "
                "auxiliary output was expected because has_aux was set to True.")
        solution = children[0]
    _check_output(name, tree, avals, solution, out_avals[:solution.num_leaves])
    return traced, out_tree


def _check_output(name: str, tree: Any, avals: Sequence, out_tree: Any, outs: Sequence) -> None:
    wanted, found = [a.shape for a in avals], [a.shape for a in outs]
    if wanted != found:
        raise ValueError(f"{name}() output shapes must match b, got {found} and {wanted}")
    if tree != out_tree:
        raise TypeError(f"{name}() output pytree structure must match b, got {out_tree} and "
                        f"{tree}.")
    if [a.dtype for a in avals] != [a.dtype for a in outs]:
        raise TypeError(f"{name}() output dtypes must match b, got {[str(a.dtype) for a in outs]} "
                        f"and {[str(a.dtype) for a in avals]}")


# --- the primitive -------------------------------------------------------------------------------

custom_linear_solve_p = Primitive("custom_linear_solve", multiple_results=True)


def _parts(operands: Sequence, lengths: _LinearSolveTuple) -> tuple[_LinearSolveTuple, list]:
    *consts, b = common.split(operands, *lengths)
    return _LinearSolveTuple(*consts), b


@custom_linear_solve_p.def_abstract
def _type(*avals, const_lengths, jaxprs):
    return jaxprs.solve.out_avals


@custom_linear_solve_p.def_reference
def _reference(*args, const_lengths, jaxprs):
    consts, b = _parts(args, const_lengths)
    return reference_of_closed(jaxprs.solve, *consts.solve, *b)


# --- derivative ----------------------------------------------------------------------------------


def _jvp(primals, tangents, *, const_lengths, jaxprs):
    outs = custom_linear_solve_p.bind(*primals, const_lengths=const_lengths, jaxprs=jaxprs)
    consts, b = _parts(primals, const_lengths)
    const_dots, b_dots = _parts(tangents, const_lengths)
    moving = [type(t) is not Zero for t in const_dots.matvec]
    if not any(moving) and all(type(t) is Zero for t in b_dots):
        return outs, [Zero.from_primal_value(x) for x in outs]
    rhs = [instantiate_zeros(t) for t in b_dots]
    if any(moving):
        x = outs[:len(b)]
        _, shifts = jvp_flat(lambda *a: eval_closed(jaxprs.matvec, *a, *x), consts.matvec,
                             const_dots.matvec)
        rhs = [t if type(s) is Zero else sub(t, s) for t, s in zip(rhs, shifts, strict=True)]
    every = [c for part in consts for c in part]
    dots = custom_linear_solve_p.bind(*every, *rhs, const_lengths=const_lengths, jaxprs=jaxprs)
    aux = [Zero.from_primal_value(x) for x in outs[len(b):]]
    return outs, [*dots[:len(b)], *aux]


def _transpose(cts, *operands, const_lengths, jaxprs):
    if jaxprs.transpose_solve is None:
        raise TypeError("transpose_solve required for backwards mode automatic differentiation of "
                        "custom_linear_solve: pass transpose_solve=..., or symmetric=True if the "
                        "matrix is its own transpose.")
    consts, b = _parts(operands, const_lengths)
    if any(is_undefined_primal(c) for part in consts for c in part):
        raise NotImplementedError("custom_linear_solve is linear in b only")
    nothing = [None] * (len(operands) - len(b))
    x_cts = cts[:len(b)]
    if all(type(ct) is Zero for ct in x_cts):
        return [*nothing, *[Zero(x.aval) for x in b]]
    every = [c for part in consts.transposed() for c in part]
    found = custom_linear_solve_p.bind(*every, *map(instantiate_zeros, x_cts),
                                       const_lengths=const_lengths.transposed(),
                                       jaxprs=jaxprs.transposed())
    return [*nothing, *found[:len(b)]]


define_jvp(custom_linear_solve_p, _jvp)
define_transpose(custom_linear_solve_p, _transpose)


# --- batching ------------------------------------------------------------------------------------


def _batch(args, dims, *, const_lengths, jaxprs):
    """All right-hand sides are batched as soon as anything is: then every solution differs."""
    size = batch_size(args, dims)
    n_consts = sum(const_lengths)
    batched = [d is not None for d in dims[:n_consts]]
    parts, _ = _parts([*batched, *[True] * (len(args) - n_consts)], const_lengths)
    count = len(args) - n_consts

    def batch(program: ClosedJaxpr | None, const_batched: list) -> ClosedJaxpr | None:
        if program is None:
            return None
        return vmap_engine.batch_jaxpr(program, size, [*const_batched, *[True] * count], True)[0]

    programs = _LinearSolveTuple(*[batch(p, c) for p, c in zip(jaxprs, parts, strict=True)])
    values = [at_front(x, d, size) if i >= n_consts or d is not None else x
              for i, (x, d) in enumerate(zip(args, dims, strict=True))]
    outs = custom_linear_solve_p.bind(*values, const_lengths=const_lengths, jaxprs=programs)
    return outs, [0] * len(outs)


define_batch(custom_linear_solve_p, _batch)
