"""Derivatives and vectorised forms of small programs."""

from .arrays import MILLION, heavy_diagonal, integers, normals, uniforms
from .catalogue import case, variant


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def rolled(jnp, x):
    return (jnp.sin(x) * jnp.roll(x, 1)).sum()


def network(jnp, weights, x):
    first, second, third = weights
    return (jnp.tanh(jnp.tanh(x @ first) @ second) @ third).sum()


def distances(jnp, x):
    """An energy of pairs of points."""
    squares = ((x[:, None] - x[None]) ** 2).sum(-1)
    return jnp.sum(1 / (1 + squares))


NETWORK = (normals(64, 128, scale=0.1), normals(128, 128, scale=0.1), normals(128, 1))

_GRADIENTS = [
    case("grad of a polynomial, 10^6", lambda jax, x: jax.grad(rosenbrock)(x), normals(MILLION)),
    case("grad of a product of matrices, 512 x 512",
         lambda jax, jnp, a, b: jax.grad(lambda a: jnp.tanh(a @ b).sum())(a), normals(512, 512),
         normals(512, 512)),
    case("grad of a network, 256 x 64",
         lambda jax, jnp, u, v, w, x: jax.grad(
             lambda weights: network(jnp, weights, x))((u, v, w)),
         *NETWORK, normals(256, 64)),
    case("value_and_grad of distances, 300 x 3",
         lambda jax, jnp, x: jax.value_and_grad(lambda x: distances(jnp, x))(x), normals(300, 3)),
    variant("grad of logsumexp, 1000 x 1000",
            lambda jax, nn, x: jax.grad(lambda x: nn.logsumexp(x, 1).sum())(x),
            normals(1000, 1000)),
    variant("grad of sort, 100000",
            lambda jax, jnp, x: jax.grad(lambda x: (jnp.sort(x) * jnp.arange(100000)).sum())(x),
            normals(100000)),
    case("grad of cumsum, 1000 x 1000",
         lambda jax, jnp, x: jax.grad(lambda x: (jnp.cumsum(x, 1) ** 2).sum())(x),
         normals(1000, 1000)),
    variant("grad of cumprod, 100 x 1000",
            lambda jax, jnp, x: jax.grad(lambda x: jnp.cumprod(x, 1).sum())(x),
            uniforms(100, 1000, low=0.99, high=1.01)),
    variant("grad of max of rows, 1000 x 1000",
            lambda jax, x: jax.grad(lambda x: x.max(1).sum())(x), normals(1000, 1000)),
    variant("grad of gather, 10^6", lambda jax, x, i: jax.grad(lambda x: (x[i] ** 2).sum())(x),
            normals(MILLION), integers(MILLION, high=MILLION)),
    variant("grad of norm of rows, 100000 x 3",
            lambda jax, jnp, x: jax.grad(lambda x: jnp.linalg.norm(x, axis=1).sum())(x),
            normals(100000, 3)),
    variant("grad of fft, 4096",
            lambda jax, jnp, x: jax.grad(lambda x: (jnp.abs(jnp.fft.fft(x)) ** 2).sum())(x),
            normals(4096)),
    variant("grad of where, 10^6",
            lambda jax, jnp, x: jax.grad(lambda x: jnp.where(x > 0, x, jnp.expm1(x)).sum())(x),
            normals(MILLION)),
    variant("grad of a checkpointed network, 256 x 64",
            lambda jax, jnp, u, v, w, x: jax.grad(jax.checkpoint(
                lambda weights: network(jnp, weights, x)))((u, v, w)),
            *NETWORK, normals(256, 64)),
]  # fmt: skip

_MATRICES = [
    case("hessian of a ring, 100", lambda jax, jnp, x: jax.hessian(lambda x: rolled(jnp, x))(x),
         normals(100)),
    variant("hessian of Rosenbrock, 50", lambda jax, x: jax.hessian(rosenbrock)(x), normals(50)),
    case("jacrev, 50 of 200",
         lambda jax, jnp, x: jax.jacrev(lambda x: jnp.tanh(x * 2)[:50] * x[:50])(x), normals(200)),
    case("jacfwd, 200 of 50",
         lambda jax, jnp, x, a: jax.jacfwd(lambda x: jnp.sin(a @ x))(x), normals(50),
         normals(200, 50)),
    case("jvp of a network, 256 x 64",
         lambda jax, jnp, u, v, w, x, t: jax.jvp(
             lambda x: network(jnp, (u, v, w), x), (x,), (t,)),
         *NETWORK, normals(256, 64), normals(256, 64)),
    case("vjp of sin, 10^6",
         lambda jax, jnp, x, t: jax.vjp(lambda x: jnp.sin(x) * x, x)[1](t), normals(MILLION),
         normals(MILLION)),
    case("product with the hessian, 1000",
         lambda jax, x, t: jax.jvp(jax.grad(rosenbrock), (x,), (t,))[1], normals(1000),
         normals(1000)),
    variant("third derivative, 100000",
            lambda jax, jnp, x: jax.vmap(
                jax.grad(jax.grad(jax.grad(lambda x: jnp.tanh(x) * x))))(x),
            normals(100000)),
]  # fmt: skip

_VECTORISED = [
    case("vmap of grad of a network, 256 x 64",
         lambda jax, jnp, u, v, w, x: jax.vmap(
             jax.grad(lambda x: network(jnp, (u, v, w), x)))(x),
         *NETWORK, normals(256, 64)),
    variant("vmap of outer, 1000 x 30", lambda jax, jnp, x: jax.vmap(jnp.outer)(x, x),
            normals(1000, 30)),
    case("vmap of solve, 500 of 10 x 10", lambda jax, jnp, a, b: jax.vmap(jnp.linalg.solve)(a, b),
         heavy_diagonal(500, 10, 10), normals(500, 10)),
    case("vmap of interp, 100 x 1000",
         lambda jax, jnp, q, y: jax.vmap(
             lambda q, y: jnp.interp(q, jnp.linspace(0, 1, 50), y))(q, y),
         uniforms(100, 1000), normals(100, 50)),
    variant("vmap of histogram, 100 x 1000",
            lambda jax, jnp, x: jax.vmap(lambda x: jnp.histogram(x, 20, range=(-3, 3))[0])(x),
            normals(100, 1000)),
    variant("vmap of searchsorted, 100 x 1000",
            lambda jax, jnp, a, x: jax.vmap(jnp.searchsorted)(jnp.sort(a), x), normals(100, 50),
            normals(100, 1000)),
    case("vmap of scatter, 100 x 1000",
         lambda jax, jnp, i: jax.vmap(lambda i: jnp.zeros(50).at[i].add(1.0))(i),
         integers(100, 1000, high=50)),
    case("vmap twice of a kernel, 300 x 300",
         lambda jax, jnp, x, y: jax.vmap(lambda a: jax.vmap(
             lambda b: jnp.exp(-((a - b) ** 2).sum()))(y))(x),
         normals(300, 3), normals(300, 3)),
    variant("vmap along the last axis, 1000 x 1000",
            lambda jax, jnp, x: jax.vmap(lambda c: c / jnp.linalg.norm(c), 1, 1)(x),
            normals(1000, 1000)),
]  # fmt: skip

CASES = [*_GRADIENTS, *_MATRICES, *_VECTORISED]
