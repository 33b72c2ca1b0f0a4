"""PyTorch versions of the programs for which one is natural, as its users would write them.

In: the module `torch`, and `compiled`: `torch.compile` or, where that fails, the identity. Out:
`VERSIONS[name](torch, compiled)`, a function of tensors that returns tensors. Long loops run in
Python around a compiled step, since `torch.compile` would write them out; Fourier transforms are
left as they are. Programs without a version here are not compared with PyTorch.
"""

import math
from collections.abc import Callable

from .spectral import _cosines

VERSIONS: dict[str, Callable] = {}


def version(make: Callable) -> Callable:
    """Registers a program under the function's name."""
    VERSIONS[make.__name__] = make
    return make


def repeated(step: Callable, times: int) -> Callable:
    """x -> step(… step(x))."""

    def run(x, *rest):
        for _ in range(times):
            x = step(x, *rest)
        return x

    return run


@version
def jacobi(torch, compiled):
    def sweep(a):
        inner = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        out = a.clone()
        out[1:-1, 1:-1] = 0.25 * inner
        return out

    return repeated(compiled(sweep), 100)


@version
def hotspot(torch, compiled):
    def step(t, power):
        wide = torch.nn.functional.pad(t[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]
        vertical = wide[2:, 1:-1] + wide[:-2, 1:-1] - 2.0 * t
        horizontal = wide[1:-1, 2:] + wide[1:-1, :-2] - 2.0 * t
        return t + 0.1 * (power + vertical + horizontal + 0.05 * (300.0 - t))

    return repeated(compiled(step), 60)


@version
def heat3d(torch, compiled):
    def step(u):
        total = sum(torch.roll(u, s, axis) for axis in range(3) for s in (-1, 1))
        return u + 0.1 * (total - 6.0 * u)

    return repeated(compiled(step), 20)


@version
def life(torch, compiled):
    def generation(cells):
        column = cells + torch.roll(cells, 1, 0) + torch.roll(cells, -1, 0)
        around = column + torch.roll(column, 1, 1) + torch.roll(column, -1, 1) - cells
        return ((around == 3) | ((around == 2) & (cells == 1))).to(cells.dtype)

    return repeated(compiled(generation), 50)


@version
def gravity(torch, compiled):
    @compiled
    def step(x, v, mass):
        d = x[None] - x[:, None]
        square = (d * d).sum(-1) + 0.01
        v = v + 0.01 * (d * (mass / (square * square.sqrt()))[:, :, None]).sum(1)
        return x + 0.01 * v, v

    def run(x, v, mass):
        for _ in range(4):
            x, v = step(x, v, mass)
        return x, v

    return run


@version
def lava_md(torch, compiled):
    def run(x, charge, near):
        near = near.long()
        theirs = x[near].reshape(x.shape[0], 1, -1, 3)
        q = charge[near].reshape(x.shape[0], 1, -1)
        d = x[:, :, None] - theirs
        u = torch.exp(-0.5 * (d * d).sum(-1)) * q
        return u.sum(-1), (2.0 * u[..., None] * d).sum(2)

    return compiled(run)


@version
def spectral_norm(torch, compiled):
    @compiled
    def matrix(i):
        s = i[:, None] + i
        return 1.0 / (s * (s + 1.0) / 2.0 + i[:, None] + 1.0)

    def run(u):
        a = matrix(torch.arange(u.shape[0], dtype=u.dtype))
        for _ in range(10):
            v = a.T @ (a @ u)
            u = a.T @ (a @ v)
        return torch.sqrt((u @ v) / (v @ v))

    return run


@version
def floyd_warshall(torch, compiled):
    through = compiled(lambda d, column, row: torch.minimum(d, column + row))

    def run(d):
        for k in range(d.shape[0]):
            d = through(d, d[:, k, None], d[k])
        return d

    return run


@version
def pagerank(torch, compiled):
    @compiled
    def turn(rank, share, empty, start, end):
        n = rank.shape[0]
        lost = torch.where(empty, rank, 0.0).sum()
        inflow = torch.zeros_like(rank).index_add(0, end, (rank * share)[start])
        return 0.15 / n + 0.85 * (inflow + lost / n)

    def run(start, end, rank):
        start, end = start.long(), end.long()
        degree = torch.bincount(start, minlength=rank.shape[0]).to(rank.dtype)
        share = torch.where(degree > 0, 1.0 / degree.clamp(min=1.0), 0.0)
        for _ in range(20):
            rank = turn(rank, share, degree == 0, start, end)
        return rank

    return run


@version
def kmeans(torch, compiled):
    def turn(centres, points):
        nearest = ((points[:, None] - centres[None]) ** 2).sum(-1).argmin(1)
        sums = torch.zeros_like(centres).index_add(0, nearest, points)
        ones = torch.ones(points.shape[0], dtype=points.dtype)
        counts = torch.zeros_like(centres[:, 0]).index_add(0, nearest, ones)[:, None]
        return torch.where(counts > 0, sums / counts.clamp(min=1.0), centres)

    steps = repeated(compiled(turn), 8)
    return lambda points, centres: steps(centres, points)


@version
def backprop(torch, compiled):
    @compiled
    def loss(hidden, out, x, y):
        answer = torch.sigmoid(torch.sigmoid(x @ hidden) @ out)
        return 0.5 * (y - answer) ** 2

    def run(x, hidden, out, y):
        for _ in range(20):
            weights = [w.detach().requires_grad_() for w in (hidden, out)]
            with torch.enable_grad():
                change = torch.autograd.grad(loss(*weights, x, y), weights)
            hidden, out = hidden - 0.3 * change[0], out - 0.3 * change[1]
        return hidden, out

    return run


@version
def histogram_equalization(torch, compiled):
    def run(image):
        counts = torch.bincount(image.ravel(), minlength=256)
        below = torch.cumsum(counts, 0)
        first = below[(counts > 0).int().argmax()]
        table = torch.floor((below - first) * (255.0 / (image.numel() - first)) + 0.5)
        return table.clamp(0, 255).to(torch.uint8)[image.long()]

    return run


def _normal_cdf(torch, x):
    return 0.5 * (1.0 + torch.erf(x * math.sqrt(0.5)))


@version
def black_scholes(torch, compiled):
    def run(spot, strike, years):
        width = 0.3 * torch.sqrt(years)
        d = (torch.log(spot / strike) + 0.02 * years) / width + 0.5 * width
        paid = strike * torch.exp(-0.02 * years)
        call = spot * _normal_cdf(torch, d) - paid * _normal_cdf(torch, d - width)
        return call, call - spot + paid

    return compiled(run)


@version
def greeks(torch, compiled):
    @compiled
    def price(spot, strike, years):
        width = 0.3 * torch.sqrt(years)
        d = (torch.log(spot / strike) + 0.02 * years) / width + 0.5 * width
        paid = strike * torch.exp(-0.02 * years)
        return spot * _normal_cdf(torch, d) - paid * _normal_cdf(torch, d - width)

    def run(*market):
        market = [v.detach().requires_grad_() for v in market]
        with torch.enable_grad():
            value = price(*market)
            slopes = torch.autograd.grad(value, market, torch.ones_like(value))
        return value.detach(), *slopes

    return run


@version
def asian_paths(torch, compiled):
    def run(normals):
        steps = -0.025 / 64 + 0.3 / 8 * normals
        gain = (100.0 * torch.exp(torch.cumsum(steps, 0)).mean(0) - 100.0).clamp(min=0.0)
        return gain.mean(), gain.std(correction=0)

    return compiled(run)


@version
def heston(torch, compiled):
    @compiled
    def step(x, v, z, w):
        positive = v.clamp(min=0.0)
        root = torch.sqrt(positive * 0.02)
        x = x + (0.02 - 0.5 * positive) * 0.02 + root * z
        v = v + 2.0 * (0.04 - positive) * 0.02 + 0.3 * root * (-0.7 * z + 0.51**0.5 * w)
        return x, v

    def run(normals):
        x = torch.zeros_like(normals[0, 0])
        v = torch.full_like(x, 0.04)
        for z, w in normals:
            x, v = step(x, v, z, w)
        return 100.0 * torch.exp(x), v

    return run


@version
def mandelbrot(torch, compiled):
    @compiled
    def step(a, b, counts, x, y):
        on = a * a + b * b <= 4.0
        after = torch.where(on, a * a - b * b + x, a), torch.where(on, 2.0 * a * b + y, b)
        return *after, counts + on

    def run(x, y):
        a = torch.zeros(y.shape[0], x.shape[0])
        b, counts = a, torch.zeros(a.shape, dtype=torch.int32)
        for _ in range(50):
            a, b, counts = step(a, b, counts, x, y[:, None])
        return counts

    return run


@version
def poisson(torch, compiled):
    def run(f):
        x = torch.sin(math.pi * torch.fft.fftfreq(f.shape[0])) ** 2
        y = torch.sin(math.pi * torch.fft.rfftfreq(f.shape[1])) ** 2
        eigen = 4.0 * (x[:, None] + y)
        eigen[0, 0] = math.inf
        return torch.fft.irfft2(torch.fft.rfft2(f) / eigen, s=f.shape)

    return run


@version
def nas_ft(torch, compiled):
    def run(u):
        k = torch.fft.fftfreq(u.shape[0]) * u.shape[0]
        damping = torch.exp(-1e-3 * (k[:, None, None] ** 2 + k[:, None] ** 2 + k**2))
        waves, out = torch.fft.fftn(u), []
        for _ in range(4):
            waves = waves * damping
            v = torch.fft.ifftn(waves)
            sums = (v.real**2).sum(), (v.imag**2).sum(), v[0, 0, 0].real
            out.append(torch.stack(sums))
        return tuple(torch.stack(out, 1))

    return run


@version
def split_step(torch, compiled):
    def run(u):
        k = 2.0 * math.pi * torch.fft.fftfreq(u.shape[0], 40.0 / u.shape[0])
        turn = torch.exp(-0.5j * k**2 * 0.002)
        for _ in range(40):
            u = torch.fft.ifft(torch.fft.fft(u) * turn)
            u = u * torch.exp(0.002j * (u.real**2 + u.imag**2))
        return u

    return run


@version
def block_cosine(torch, compiled):
    c = torch.from_numpy(_cosines())

    def run(image):
        n, m = image.shape
        blocks = image.reshape(n // 8, 8, m // 8, 8)
        waves = torch.einsum("ki,aibj,lj->akbl", c, blocks, c)
        waves = torch.floor(waves / 16.0 + 0.5) * 16.0
        return torch.einsum("ki,akbl,lj->aibj", c, waves, c).reshape(n, m)

    return compiled(run)
