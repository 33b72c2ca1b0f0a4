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
from jitney.base.unsupported import UnsupportedValue
from jitney.core.calls import custom_jvp_call_p, custom_vjp_call_p

remat_opt_p = UnsupportedValue(
    "jax.custom_derivatives.remat_opt_p", "custom_vjp's optimize_remat=True needs no primitive of "
    "its own here: what nobody needs of the rule's first half is dropped in any case.")

__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp",
    "custom_jvp_call_p", "custom_vjp", "custom_vjp_call_p", "custom_vjp_primal_tree_values",
    "linear_call", "remat_opt_p", "zero_from_primal",
]
