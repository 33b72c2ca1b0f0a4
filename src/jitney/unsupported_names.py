"""Names of `jax` itself that this package has only to say that it cannot do what they are for."""

from jitney.base.unsupported import UnsupportedValue, unsupported_class, unsupported_function

_REFS = ("arrays are immutable, and there are no references to change. Write x = x.at[i].set(v): "
         "inside a program the update is done in place.")

Ref = unsupported_class("jax.Ref", _REFS)
new_ref = unsupported_function("jax.new_ref", _REFS)
empty_ref = unsupported_function("jax.empty_ref", _REFS)
free_ref = unsupported_function("jax.free_ref", _REFS)
freeze = unsupported_function("jax.freeze", _REFS)
ad = UnsupportedValue("jax.ad", f"it steers derivatives with respect to references; {_REFS}")

__all__ = ["Ref", "ad", "empty_ref", "free_ref", "freeze", "new_ref"]
