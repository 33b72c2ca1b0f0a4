"""Density estimation with Gaussian kernels.

In: points [d, n] with weights. Out: an estimate whose densities and integrals can be asked for.
Invariant: the estimate is a pytree of its arrays, so that it goes through transformations.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from jitney import lax, random
from jitney import numpy as jnp
from jitney.base.pytree import register_pytree_node
from jitney.numpy.promotion import check_arraylike, promote_dtypes_inexact
from jitney.scipy.special import logsumexp, ndtr


@dataclasses.dataclass(frozen=True, init=False)
class gaussian_kde:
    """A sum of normal densities around the points of a dataset."""

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset, bw_method=None, weights=None):
        check_arraylike("gaussian_kde", dataset)
        dataset = jnp.atleast_2d(dataset)
        if jnp.issubdtype(dataset.dtype, jnp.complexfloating):
            raise NotImplementedError("gaussian_kde does not support complex data")
        if not dataset.size > 1:
            raise ValueError("`dataset` input should have multiple elements.")
        count = dataset.shape[1]
        if weights is not None:
            check_arraylike("gaussian_kde", weights)
            dataset, weights = promote_dtypes_inexact(dataset, weights)
            weights = jnp.atleast_1d(weights)
            if weights.ndim != 1:
                raise ValueError("`weights` input should be one-dimensional.")
            if len(weights) != count:
                raise ValueError("`weights` input should be of length n")
            weights = weights / jnp.sum(weights)
        else:
            (dataset,) = promote_dtypes_inexact(dataset)
            weights = jnp.full(count, 1.0 / count, dtype=dataset.dtype)
        self._set("dataset", dataset)
        self._set("weights", weights)
        self._set("neff", 1 / jnp.sum(weights ** 2))
        factor = self._bandwidth(bw_method)
        covariance = jnp.atleast_2d(jnp.cov(dataset, rowvar=1, bias=False, aweights=weights))
        self._set("covariance", covariance * factor ** 2)
        self._set("inv_cov", jnp.linalg.inv(covariance) / factor ** 2)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _bandwidth(self, method):
        if method is None or method == "scott":
            return jnp.power(self.neff, -1.0 / (self.d + 4))
        if method == "silverman":
            return jnp.power(self.neff * (self.d + 2) / 4.0, -1.0 / (self.d + 4))
        if jnp.isscalar(method) and not isinstance(method, str):
            return method
        if callable(method):
            return method(self)
        raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar, or a callable.")

    def tree_flatten(self):
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        made = cls.__new__(cls)
        for field, value in zip(dataclasses.fields(cls), children, strict=True):
            made._set(field.name, value)
        return made

    @property
    def d(self):
        """Dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self):
        """Points."""
        return self.dataset.shape[1]

    # --- densities

    def _points(self, name, points):
        check_arraylike(name, points)
        points = jnp.atleast_2d(points)
        d, m = points.shape
        if d == self.d:
            return points
        if d == 1 and m == self.d:
            return points.reshape(self.d, 1)
        raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")

    def _log_terms(self, points):
        """log of each weighted kernel at each point: [m, n]."""
        factor = jnp.linalg.cholesky(self.inv_cov)
        ours, theirs = self.dataset.T @ factor, points.T @ factor
        gaps = theirs[:, None, :] - ours[None]
        constant = jnp.sum(jnp.log(jnp.diagonal(factor))) - 0.5 * self.d * math.log(2 * math.pi)
        return constant + jnp.log(self.weights) - 0.5 * jnp.sum(gaps * gaps, axis=-1)

    def evaluate(self, points):
        """The density at points [d, m]."""
        return jnp.exp(self.logpdf(points))

    def __call__(self, points):
        return self.evaluate(points)

    def pdf(self, x):
        """The density."""
        return self.evaluate(x)

    def logpdf(self, x):
        """log of the density."""
        return logsumexp(self._log_terms(self._points("logpdf", x)), axis=1)

    # --- integrals

    def integrate_gaussian(self, mean, cov):
        """The integral of the density times a normal density."""
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        return jnp.sum(self.weights * _normal_densities(
            self.dataset - mean[:, None], self.covariance + cov))

    def integrate_box_1d(self, low, high):
        """The probability of an interval, in one dimension."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if jnp.ndim(low) != 0 or jnp.ndim(high) != 0:
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        width = jnp.squeeze(jnp.sqrt(self.covariance))
        low, high = (jnp.squeeze((x - self.dataset) / width, axis=0) for x in (low, high))
        return jnp.sum(self.weights * (ndtr(high) - ndtr(low)))

    def integrate_kde(self, other):
        """The integral of the product with another estimate."""
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        gaps = self.dataset[:, :, None] - other.dataset[:, None, :]
        terms = _normal_densities(gaps.reshape(self.d, -1), self.covariance + other.covariance)
        return self.weights @ terms.reshape(self.n, other.n) @ other.weights

    def integrate_box(self, low_bounds, high_bounds, maxpts=None):
        """The probability of a box is not available."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method=None):
        """An estimate cannot be changed."""
        raise NotImplementedError("dynamically changing the bandwidth method is not supported; "
                                  "construct a new estimate")

    def resample(self, key, shape=()):
        """Random points [d, *shape] of the estimate."""
        index_key, noise_key = random.split(key)
        index = random.choice(index_key, self.n, shape=shape, p=self.weights)
        noise = random.multivariate_normal(noise_key, jnp.zeros(self.d, self.covariance.dtype),
                                           self.covariance, shape=shape,
                                           dtype=self.dataset.dtype)
        return self.dataset[:, index] + jnp.moveaxis(noise, -1, 0)


def _normal_densities(gaps, cov):
    """Normal densities of covariance `cov` at the columns of `gaps`."""
    factor = jnp.linalg.cholesky(cov)
    z = lax.linalg.triangular_solve(factor, gaps, left_side=True, lower=True)
    logs = jnp.sum(jnp.log(jnp.diagonal(factor))) + 0.5 * len(gaps) * math.log(2 * math.pi)
    return jnp.exp(-0.5 * jnp.sum(z * z, axis=0) - logs)


register_pytree_node(gaussian_kde, gaussian_kde.tree_flatten, gaussian_kde.tree_unflatten)

__all__ = ["gaussian_kde"]
