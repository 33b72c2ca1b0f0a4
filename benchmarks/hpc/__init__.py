"""Programs of high-performance computing, written once for JAX's language and once as loops."""
