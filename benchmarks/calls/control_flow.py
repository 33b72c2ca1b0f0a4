"""Programs of one loop or branch: scan, while_loop, fori_loop, map, cond, switch; vmap of them."""

from .arrays import chances, integers, normals, uniforms, value
from .catalogue import case, variant


def decay(lax, state, steps):
    return lax.scan(lambda c, x: (c * 0.9 + x, c), state, steps)


def recurrent(jnp, lax, state, weights, steps):
    return lax.scan(lambda c, x: (jnp.tanh(c @ weights + x), ()), state, steps)[0]


def gated(nn, jnp, lax, state, memory, weights, steps):
    """An LSTM's gates without biases: a carry of two arrays."""

    def step(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(jnp.concatenate([h, x], -1) @ weights, 4, -1)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (state, memory), steps)


def running_statistics(jnp, lax, steps):
    """A carry of four numbers."""

    def step(carry, x):
        count, mean, square, largest = carry
        count = count + 1
        further = mean + (x - mean) / count
        square = square + (x - mean) * (x - further)
        return (count, further, square, jnp.maximum(largest, x)), further

    return lax.scan(step, (0.0, 0.0, 0.0, -jnp.inf), steps)


def nested(lax, rows):
    def row(carry, x):
        return lax.scan(lambda c, v: (0.5 * c + v, c * v), carry, x)

    return lax.scan(row, 0.0, rows)


def smoothed(lax, plane, steps):
    """A plane that spreads a little at each step."""

    def step(u, source):
        inner = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u = u.at[1:-1, 1:-1].set(0.2 * (inner + u[1:-1, 1:-1]) + source)
        return u, u.sum()

    return lax.scan(step, plane, steps)


def converging(jnp, lax, matrix, vector):
    """Power iteration until it rests."""

    def go_on(state):
        x, last, count = state
        return (jnp.abs(x - last).max() > 1e-6) & (count < 300)

    def step(state):
        x, _, count = state
        y = matrix @ x
        return y / jnp.linalg.norm(y), x, count + 1

    return lax.while_loop(go_on, step, (vector, vector * 0, 0))


def newton(jnp, lax, x):
    """Cube roots, all together until each rests."""

    def step(state):
        y, _ = state
        further = y - (y**3 - x) / (3 * y * y)
        return further, jnp.abs(further - y).max()

    return lax.while_loop(lambda s: s[1] > 1e-5, step, (jnp.ones_like(x), jnp.inf))[0]


def filled(lax, jnp, rows):
    """A table filled row by row."""
    return lax.fori_loop(
        0, 1000,
        lambda i, table: lax.dynamic_update_slice(table, (rows * i)[None, :], (i, 0)),
        jnp.zeros((1000, 64)),
    )  # fmt: skip


def collatz(lax, number):
    step = lambda s: (lax.select(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1)
    return lax.while_loop(lambda s: s[0] > 1, step, (number, 0))[1]


def counted_growth(lax, x):
    return lax.while_loop(lambda c: c[1] < 1000, lambda c: (c[0] + 1, c[1] * 1.1 + 1), (0, x))[0]


def branched(lax, state, steps):
    branch = lambda c, x: lax.cond(x > 0, lambda c: c * 0.5 + x, lambda c: c - 1, c)
    return lax.scan(lambda c, x: (branch(c, x), ()), state, steps)[0]


_SCANS = [
    case("scan of a number, 100000", decay, value(0.5), normals(100000)),
    variant("scan backwards, 100000",
            lambda lax, c, x: lax.scan(lambda c, x: (c * 0.9 + x, c), c, x, reverse=True),
            value(0.5), normals(100000)),
    case("scan of a vector of 64, 10000", decay, normals(64), normals(10000, 64)),
    case("scan of tanh and a sum, 2000 x 64",
         lambda jnp, lax, c, x: lax.scan(lambda c, x: (jnp.tanh(c) * 0.9 + x, c.sum()), c, x),
         normals(64), normals(2000, 64)),
    case("scan of a plane of 64 x 64, 500", decay, normals(64, 64), normals(500, 64, 64)),
    case("scan of matmul, 200 steps of 32 x 64", recurrent, normals(32, 64),
         normals(64, 64, scale=0.1), normals(200, 32, 64)),
    variant("scan of matmul of a vector, 1000 steps of 64", recurrent, normals(64),
            normals(64, 64, scale=0.1), normals(1000, 64)),
    case("scan of gates, 100 steps of 16 x 64", gated, normals(16, 64), normals(16, 64),
         normals(128, 256, scale=0.1), normals(100, 16, 64)),
    variant("scan of four numbers, 100000", running_statistics, normals(100000)),
    case("scan in a scan, 300 x 300", nested, normals(300, 300)),
    case("scan of a stencil, 100 steps of 128 x 128", smoothed, normals(128, 128),
         normals(100)),
    variant("scan unrolled by 8, 100000",
            lambda lax, c, x: lax.scan(lambda c, x: (c * 0.9 + x, c), c, x, unroll=8), value(0.5),
            normals(100000)),
    variant("scan without inputs, 10000",
            lambda lax, c: lax.scan(lambda c, _: (c * 3.7 * (1 - c), c), c, None, length=10000),
            value(0.4), loose=1),
    case("scan with a condition, 100000", branched, value(0.5), normals(100000)),
    case("gradient of a scan of matmul, 50 steps of 16 x 32",
         lambda jax, jnp, lax, c, w, x: jax.grad(lambda w: recurrent(jnp, lax, c, w, x).sum())(w),
         normals(16, 32), normals(32, 32, scale=0.1), normals(50, 16, 32)),
    case("vmap of a scan, 1000 lines of 100",
         lambda jax, lax, c, x: jax.vmap(lambda c, x: decay(lax, c, x))(c, x), normals(1000),
         normals(1000, 100)),
]  # fmt: skip

_LOOPS = [
    case("while of a number, 100000 steps",
         lambda lax, x: lax.while_loop(
             lambda c: c[0] < 100000, lambda c: (c[0] + 1, c[1] * 0.999 + 1), (0, x)),
         value(0.5)),
    case("while until it rests, 100 x 100", converging, uniforms(100, 100), uniforms(100)),
    variant("Newton until all rest, 10000", newton, uniforms(10000, low=1, high=50)),
    case("vmap of while, 10000", lambda jax, lax, x: jax.vmap(
        lambda x: counted_growth(lax, x))(x), uniforms(10000, high=100)),
    variant("vmap of Collatz, 10000", lambda jax, lax, n: jax.vmap(
        lambda n: collatz(lax, n))(n), integers(10000, low=1, high=1000)),
    case("fori_loop of scatters, 10000 steps",
         lambda lax, x: lax.fori_loop(
             0, 10000, lambda i, a: a.at[i % 1000].add(0.1 * a[(i * 7) % 1000]), x),
         normals(1000), loose=1),
    case("fori_loop of dynamic_update_slice, 1000 rows of 64", filled, normals(64)),
    variant("fori_loop of a matrix, 50 products of 64 x 64",
            lambda lax, a: lax.fori_loop(0, 50, lambda i, x: 0.1 * (x @ a), a), normals(64, 64)),
    variant("fori_loop with a traced limit, 10000",
            lambda lax, n, x: lax.fori_loop(0, n, lambda i, c: c * 0.99 + i, x),
            value(10000, "int32"), value(1.0)),
    case("map of sorts, 1000 rows of 100",
         lambda jnp, lax, x: lax.map(lambda r: jnp.sort(r)[::2].sum(), x), normals(1000, 100)),
    variant("map in batches of 50, 1000 rows of 100",
            lambda jnp, lax, x: lax.map(lambda r: jnp.tanh(r).sum(), x, batch_size=50),
            normals(1000, 100)),
]  # fmt: skip

_BRANCHES = [
    case("cond of two programs, 1000 x 1000",
         lambda jnp, lax, p, x: lax.cond(p, lambda x: jnp.sin(x), lambda x: x * 2, x),
         value(True, "bool"), normals(1000, 1000)),
    case("vmap of cond, 100000", lambda jax, jnp, lax, p, x: jax.vmap(
        lambda p, x: lax.cond(p, jnp.sin, lambda x: x * 2, x))(p, x), chances(100000),
        normals(100000)),
    case("vmap of switch, 100000", lambda jax, jnp, lax, i, x: jax.vmap(
        lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x))(i, x),
        integers(100000, high=3), normals(100000)),
    variant("switch of five, 10000",
            lambda jnp, lax, i, x: lax.switch(
                i, [jnp.sin, jnp.cos, jnp.exp, jnp.tanh, jnp.negative], x),
            value(3, "int32"), normals(10000)),
]  # fmt: skip

CASES = [*_SCANS, *_LOOPS, *_BRANCHES]
