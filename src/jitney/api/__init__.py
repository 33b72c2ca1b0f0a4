"""Layer 12: the transformations as users see them.

Reading order: identity (when are two functions the same), signature (what is static), tracing
(arguments to programs), compile (programs to executables), jit, eager, stages.
"""
