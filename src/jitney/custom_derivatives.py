"""Functions with derivative rules of their own, by the names in `jax.custom_derivatives`."""

from jitney.api.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_jvp,
    custom_vjp,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from jitney.api.custom_gradients import closure_convert, custom_gradient, linear_call
from jitney.core.calls import custom_jvp_call_p, custom_vjp_call_p

__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp",
    "custom_jvp_call_p", "custom_vjp", "custom_vjp_call_p", "custom_vjp_primal_tree_values",
    "linear_call", "zero_from_primal",
]
