"""`checkpoint` (`remat`): spend time instead of memory when differentiating, and its policies.

In: a function. Out: a function with the same values, whose derivative computes intermediate
results again, except those the policy lets it keep.

    checkpoint(f, policy=checkpoint_policies.dots_saveable)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jitney.api import identity as identities
from jitney.api import signature as signatures
from jitney.api.jvp_vjp import as_primal, as_result, check_callable
from jitney.api.tracing import find_avals, read_call, traced_program
from jitney.base.pytree import tree_map
from jitney.lax.identity import name_p
from jitney.transforms.remat import remat_p

_DEPRECATED: Any = type("Deprecated", (), {"__repr__": lambda self: "Deprecated"})()


def checkpoint(fun: Callable, *, prevent_cse: bool | Sequence[bool] = True,
               policy: Callable[..., bool] | None = None,
               static_argnums: int | tuple[int, ...] = (),
               static_argnames: str | Iterable[str] = (),
               concrete: Any = _DEPRECATED) -> Callable:
    """`fun`, computed again in the backward pass instead of keeping its intermediate results.

    >>> grad(checkpoint(lambda x: jnp.sin(jnp.sin(x))))(1.0)
    Array(0.36003947, dtype=float32, weak_type=True)
    """
    if concrete is not _DEPRECATED:
        raise NotImplementedError("The concrete option to jax.checkpoint / jax.remat was removed; "
                                  "mark such arguments static with static_argnums.")
    check_callable(fun)
    numbers, names = signatures.resolve(fun, static_argnums, static_argnames or None, "static")
    own: dict = {}

    @functools.wraps(fun, assigned=[n for n in functools.WRAPPER_ASSIGNMENTS if hasattr(fun, n)],
                     updated=())
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        call = read_call(fun, args, kwargs, numbers, names)
        call.leaves = list(map(as_primal, call.leaves))
        find_avals(call, fun)
        traced = traced_program(fun, identities.identity_of(fun, own), call,
                                "checkpoint / remat")
        outs = remat_p.bind(*traced.hoisted, *call.leaves, jaxpr=traced.jaxpr,
                            prevent_cse=prevent_cse, differentiated=False, policy=policy)
        return traced.out_tree.unflatten([as_result(x) for x in outs])

    return checkpointed


remat = checkpoint


def checkpoint_name(x: Any, name: str) -> Any:
    """`x` (an array or a tree), known to policies by `name`."""
    return tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


# --- policies ----------------------------------------------------------------------------------


def _everything_saveable(*_: Any, **params: Any) -> bool:
    return True


def _nothing_saveable(*_: Any, **params: Any) -> bool:
    return False


def _dots_saveable(primitive: Any, *_: Any, **params: Any) -> bool:
    return primitive.name in ("dot_general", "conv_general_dilated")


def _dots_without_batch_saveable(primitive: Any, *_: Any, **params: Any) -> bool:
    if primitive.name != "dot_general":
        return False
    (_, _), (left, right) = params["dimension_numbers"]
    return not left and not right


def _is_named(primitive: Any) -> bool:
    return primitive.name == "name"


class _NamesPolicy:
    """Keep values by the names `checkpoint_name` gave them."""

    def __init__(self, what: str, answer: Callable):
        self.what, self.answer = what, answer

    def __call__(self, primitive: Any, *_: Any, **params: Any) -> bool:
        return self.answer(params["name"] if _is_named(primitive) else None)

    def __repr__(self):
        return f"checkpoint_policies.{self.what}"


def _save_only(*names: str) -> Callable:
    return _NamesPolicy("save_only_these_names", lambda name: name in names)


def _save_except(*names: str) -> Callable:
    return _NamesPolicy("save_anything_except_these_names",
                        lambda name: name is None or name not in names)


def _save_named_except(*names: str) -> Callable:
    return _NamesPolicy("save_any_names_but_these",
                        lambda name: name is not None and name not in names)


def _save_either(*policies: Callable) -> Callable:
    return lambda primitive, *args, **params: any(
        p(primitive, *args, **params) for p in policies)


def _save_and_offload(*, names_which_can_be_saved: Sequence[str],
                      names_which_can_be_offloaded: Sequence[str], offload_src: str,
                      offload_dst: str) -> Callable:
    return _save_only(*names_which_can_be_saved, *names_which_can_be_offloaded)


def _offload_dots(offload_src: str, offload_dst: str) -> Callable:
    return _dots_without_batch_saveable


class checkpoint_policies:
    """Policies for `checkpoint(policy=...)`; there is one memory, so offloading is keeping."""

    everything_saveable = staticmethod(_everything_saveable)
    nothing_saveable = staticmethod(_nothing_saveable)
    dots_saveable = staticmethod(_dots_saveable)
    checkpoint_dots = staticmethod(_dots_saveable)
    dots_with_no_batch_dims_saveable = staticmethod(_dots_without_batch_saveable)
    checkpoint_dots_with_no_batch_dims = staticmethod(_dots_without_batch_saveable)
    offload_dot_with_no_batch_dims = staticmethod(_offload_dots)
    save_anything_except_these_names = staticmethod(_save_except)
    save_any_names_but_these = staticmethod(_save_named_except)
    save_only_these_names = staticmethod(_save_only)
    save_from_both_policies = staticmethod(_save_either)
    save_and_offload_only_these_names = staticmethod(_save_and_offload)
