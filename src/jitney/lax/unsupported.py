"""Names of `jax.lax` that this package has only to say that it cannot do what they are for.

Out: functions and objects whose use raises NotImplementedError; see docs/not_supported.md.
"""

from jitney.base.unsupported import UnsupportedValue, unsupported_function

_TOKENS = ("effects happen in the order in which they are written, so no tokens are needed to "
           "order them. Leave it out.")
_PAIRS = "devices exchange data in collectives; use jax.lax.ppermute or jax.lax.all_to_all."
_RAGGED = ("no device here exchanges parts of unequal sizes (nor does JAX on CPUs). Pad the parts "
           "and use jax.lax.all_to_all.")
_PLAIN = "no function here makes this operation."

create_token = unsupported_function("jax.lax.create_token", _TOKENS)
after_all = unsupported_function("jax.lax.after_all", _TOKENS)
create_token_p = UnsupportedValue("jax.lax.create_token_p", _TOKENS)
after_all_p = UnsupportedValue("jax.lax.after_all_p", _TOKENS)
psend = unsupported_function("jax.lax.psend", _PAIRS)
precv = unsupported_function("jax.lax.precv", _PAIRS)
ragged_all_to_all = unsupported_function("jax.lax.ragged_all_to_all", _RAGGED)
ragged_all_to_all_p = UnsupportedValue("jax.lax.ragged_all_to_all_p", _RAGGED)
select_and_scatter_p = UnsupportedValue(
    "jax.lax.select_and_scatter_p", f"{_PLAIN} Derivatives of pooling use select_and_scatter_add.")
stage_p = UnsupportedValue("jax.lax.stage_p", f"{_PLAIN} jax.lax.stage gives its argument back.")

__all__ = ["after_all", "after_all_p", "create_token", "create_token_p", "precv", "psend",
           "ragged_all_to_all", "ragged_all_to_all_p", "select_and_scatter_p", "stage_p"]
