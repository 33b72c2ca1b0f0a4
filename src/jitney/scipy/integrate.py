"""Integration of samples, under the names of `jax.scipy.integrate`.

In: samples along an axis, and where they were taken. Out: the integral along that axis.
"""

from jitney.numpy import trapezoid

__all__ = ["trapezoid"]
