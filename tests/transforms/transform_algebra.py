"""Transformations as maps from functions of a vector to functions of a vector, each with a plain
way to say the same (a loop, nothing, the other mode of differentiation), so that any product of
them can be formed and compared."""

from collections.abc import Callable
from typing import NamedTuple

import jitney
import jitney.numpy as jnp
from jitney import lax

Function = Callable

SIZE = 4


def _direction(x):
    return jnp.cos(jnp.arange(1.0, SIZE + 1)).astype(x.dtype)


def _weights(out):
    return jnp.sin(jnp.arange(1.0, out.size + 1)).astype(out.dtype).reshape(out.shape)


def _batch(x):
    return jnp.stack([x, 0.7 * x[::-1], x + 0.11])


def _rows(f: Function) -> Function:
    return lambda x: jnp.stack([f(row) for row in (x, 0.7 * x[::-1], x + 0.11)])


def _jvp(f: Function) -> Function:
    return lambda x: jitney.jvp(f, (x,), (_direction(x),))[1]


def _vjp(f: Function) -> Function:
    def g(x):
        out, pull = jitney.vjp(f, x)
        return pull(_weights(out))[0]

    return g


def _by_rows_of_the_jacobian(f: Function) -> Function:
    return lambda x: jnp.tensordot(jitney.jacrev(f)(x), _direction(x), 1)


def _by_columns_of_the_jacobian(f: Function) -> Function:
    """One derivative forwards a coordinate, without vmap."""
    def g(x):
        columns = [jitney.jvp(f, (x,), (e,)) for e in jnp.eye(SIZE, dtype=x.dtype)]
        return jnp.stack([jnp.sum(t * _weights(out)) for out, t in columns])

    return g


def _linearize(f: Function) -> Function:
    return lambda x: jitney.linearize(f, x)[1](_direction(x))


def _linear_transpose(f: Function) -> Function:
    def g(x):
        out, push = jitney.linearize(f, x)
        return jitney.linear_transpose(push, x)(_weights(out))[0]

    return g


def _in_a_scan(f: Function) -> Function:
    return lambda x: lax.scan(lambda carry, row: (carry + 1, f(row)), 0, _batch(x))[1]


def _in_a_branch(f: Function) -> Function:
    return lambda x: lax.cond(x[0] > -10.0, f, lambda x: jnp.zeros_like(f(x)), x)


class Transformation(NamedTuple):
    """`apply(f)` is to agree with `plain(f)`."""

    apply: Callable[[Function], Function]
    plain: Callable[[Function], Function]


TRANSFORMATIONS = {
    "jit": Transformation(jitney.jit, lambda f: f),
    "vmap": Transformation(lambda f: lambda x: jitney.vmap(f)(_batch(x)), _rows),
    "vmap_last": Transformation(
        lambda f: lambda x: jnp.moveaxis(
            jitney.vmap(f, in_axes=1, out_axes=-1)(_batch(x).T), -1, 0), _rows),
    "jvp": Transformation(_jvp, _by_rows_of_the_jacobian),
    "vjp": Transformation(_vjp, _by_columns_of_the_jacobian),
    "linearize": Transformation(_linearize, _by_rows_of_the_jacobian),
    "linear_transpose": Transformation(_linear_transpose, _by_columns_of_the_jacobian),
    "checkpoint": Transformation(jitney.checkpoint, lambda f: f),
    "scan": Transformation(_in_a_scan, _rows),
    "cond": Transformation(_in_a_branch, lambda f: f),
}


def product(names, f: Function) -> tuple[Function, Function]:
    """(the transformed function, the plain one) for transformations named outermost first."""
    applied = plain = f
    for name in reversed(names):
        applied = TRANSFORMATIONS[name].apply(applied)
        plain = TRANSFORMATIONS[name].plain(plain)
    return applied, plain
