"""Single calls of the interface, by family: first calls and later ones, beside JAX."""
