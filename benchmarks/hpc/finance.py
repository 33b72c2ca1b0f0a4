"""Finance: prices of options by formulas, trees, simulated paths, and roots."""

import math

import numpy as np

from .catalogue import program


def _market(rng, n: int):
    """Spot prices, strikes and years of n options."""
    f = np.float32
    spot = rng.uniform(80, 120, n).astype(f)
    return spot, rng.uniform(80, 120, n).astype(f), rng.uniform(0.3, 2, n).astype(f)


def _normal_cdf(x):
    import scipy.special

    return 0.5 * (1 + scipy.special.erf(x / np.sqrt(2)))


def _call_price(spot, strike, years, sigma, rate=0.02):
    """Black and Scholes's price of a call, by NumPy in float64."""
    spot, strike, years = (np.asarray(v, np.float64) for v in (spot, strike, years))
    width = sigma * np.sqrt(years)
    d = (np.log(spot / strike) + rate * years) / width + 0.5 * width
    return spot * _normal_cdf(d) - strike * np.exp(-rate * years) * _normal_cdf(d - width)


@program(size=1_000_000, small=50, atol=1e-4)
class BlackScholes:
    """Prices of n European calls and puts by the formula; PARSEC's blackscholes."""

    def make(rng, n):
        return _market(rng, n)

    def array(jax):
        jnp = jax.numpy

        def run(spot, strike, years):
            def cdf(x):
                return 0.5 * (1.0 + jax.scipy.special.erf(x * (0.5**0.5)))

            width = 0.3 * jnp.sqrt(years)
            d = (jnp.log(spot / strike) + 0.02 * years) / width + 0.5 * width
            paid = strike * jnp.exp(-0.02 * years)
            call = spot * cdf(d) - paid * cdf(d - width)
            return call, call - spot + paid

        return run

    def reference(spot, strike, years):
        call = _call_price(spot, strike, years, 0.3)
        return call, call - spot + strike * np.exp(-0.02 * years)

    def loops(numba):
        @numba.njit
        def cdf(x):
            return np.float32(0.5) * (np.float32(1) + math.erf(x * np.float32(0.5**0.5)))

        @numba.njit(parallel=True)
        def run(spot, strike, years):
            f = np.float32
            call, put = np.empty_like(spot), np.empty_like(spot)
            for i in numba.prange(spot.shape[0]):
                width = f(0.3) * np.sqrt(years[i])
                d = (np.log(spot[i] / strike[i]) + f(0.02) * years[i]) / width + f(0.5) * width
                paid = strike[i] * np.exp(f(-0.02) * years[i])
                call[i] = spot[i] * cdf(d) - paid * cdf(d - width)
                put[i] = call[i] - spot[i] + paid
            return call, put

        return run


@program(size=200_000, small=40, rtol=1e-3, atol=1e-3)
class Greeks:
    """Price, delta, rho-like and theta-like slopes of n calls, the slopes by differentiation."""

    def make(rng, n):
        return _market(rng, n)

    def array(jax):
        jnp = jax.numpy

        def price(spot, strike, years):
            def cdf(x):
                return 0.5 * (1.0 + jax.scipy.special.erf(x * (0.5**0.5)))

            width = 0.3 * jnp.sqrt(years)
            d = (jnp.log(spot / strike) + 0.02 * years) / width + 0.5 * width
            return spot * cdf(d) - strike * jnp.exp(-0.02 * years) * cdf(d - width)

        def run(spot, strike, years):
            one = jax.value_and_grad(price, argnums=(0, 1, 2))
            value, slopes = jax.vmap(one)(spot, strike, years)
            return value, *slopes

        return run

    def reference(spot, strike, years):
        def price(*market):
            return _call_price(*market, 0.3)

        market = [np.asarray(v, np.float64) for v in (spot, strike, years)]
        slopes = []
        for k in range(3):
            up, down = list(market), list(market)
            up[k], down[k] = up[k] + 1e-5, down[k] - 1e-5
            slopes.append((price(*up) - price(*down)) / 2e-5)
        return price(*market), *slopes

    def loops(numba):
        @numba.njit
        def cdf(x):
            return np.float32(0.5) * (np.float32(1) + math.erf(x * np.float32(0.5**0.5)))

        @numba.njit(parallel=True)
        def run(spot, strike, years):
            f, n = np.float32, spot.shape[0]
            out = np.empty((4, n), f)
            for i in numba.prange(n):
                root = np.sqrt(years[i])
                width = f(0.3) * root
                d = (np.log(spot[i] / strike[i]) + f(0.02) * years[i]) / width + f(0.5) * width
                factor = np.exp(f(-0.02) * years[i])
                delta, second = cdf(d), cdf(d - width)
                density = np.exp(f(-0.5) * d * d) * f(1 / math.sqrt(2 * math.pi))
                out[0, i] = spot[i] * delta - strike[i] * factor * second
                out[1, i] = delta
                out[2, i] = -factor * second
                out[3, i] = spot[i] * density * f(0.15) / root
                out[3, i] += f(0.02) * strike[i] * factor * second
            return out[0], out[1], out[2], out[3]

        return run


@program(size=512, small=9, rtol=1e-3, atol=1e-3)
class Binomial:
    """American puts by a binomial tree of 256 levels, one tree an option."""

    def make(rng, n):
        return _market(rng, n)

    def array(jax):
        jnp, lax = jax.numpy, jax.lax
        levels = 256

        def put(spot, strike, years):
            step = years / levels
            up = jnp.exp(0.3 * jnp.sqrt(step))
            chance = (jnp.exp(0.02 * step) - 1.0 / up) / (up - 1.0 / up)
            fade = jnp.exp(-0.02 * step)
            node = 2.0 * jnp.arange(levels + 1.0) - levels
            prices = spot * up**node

            def back(_, carry):
                value, prices = carry
                prices = prices * up
                later = jnp.concatenate([value[1:], value[-1:]])
                held = fade * (chance * later + (1.0 - chance) * value)
                return jnp.maximum(held, strike - prices), prices

            value = jnp.maximum(strike - prices, 0.0)
            return lax.fori_loop(0, levels, back, (value, prices))[0][0]

        return jax.vmap(put)

    def reference(spot, strike, years):
        spot, strike, step = (np.asarray(v, float)[:, None] for v in (spot, strike, years / 256))
        up = np.exp(0.3 * np.sqrt(step))
        chance = (np.exp(0.02 * step) - 1 / up) / (up - 1 / up)
        prices = spot * up ** (2.0 * np.arange(257) - 256)
        value = np.maximum(strike - prices, 0)
        for _ in range(256):
            prices = prices[:, :-1] * up
            held = np.exp(-0.02 * step) * (chance * value[:, 1:] + (1 - chance) * value[:, :-1])
            value = np.maximum(held, strike - prices)
        return value[:, 0]

    def loops(numba):
        @numba.njit(parallel=True)
        def run(spot, strike, years):
            f, levels = np.float32, 256
            out = np.empty_like(spot)
            for o in numba.prange(spot.shape[0]):
                step = years[o] / f(levels)
                up = np.exp(f(0.3) * np.sqrt(step))
                chance = (np.exp(f(0.02) * step) - f(1) / up) / (up - f(1) / up)
                fade, less = np.exp(f(-0.02) * step), f(1) - chance
                prices, value = np.empty(levels + 1, f), np.empty(levels + 1, f)
                for i in range(levels + 1):
                    prices[i] = spot[o] * up ** f(2 * i - levels)
                    value[i] = max(strike[o] - prices[i], f(0))
                for level in range(levels, 0, -1):
                    for i in range(level):
                        prices[i] *= up
                        held = fade * (chance * value[i + 1] + less * value[i])
                        value[i] = max(held, strike[o] - prices[i])
                out[o] = value[0]
            return out

        return run


@program(size=50_000, small=30, rtol=1e-3)
class AsianPaths:
    """An Asian call on the mean of 64 days by n simulated paths."""

    def make(rng, n):
        return (rng.standard_normal((64, n), dtype=np.float32),)

    def array(jax):
        jnp = jax.numpy

        def run(normals):
            dt = 1.0 / 64

            def day(carry, z):
                price, total = carry
                price = price * jnp.exp((0.02 - 0.045) * dt + 0.3 * dt**0.5 * z)
                return (price, total + price), None

            start = jnp.full(normals.shape[1], 100.0), jnp.zeros(normals.shape[1])
            (_, total), _ = jax.lax.scan(day, start, normals)
            gain = jnp.maximum(total / 64 - 100.0, 0.0)
            return jnp.mean(gain), jnp.std(gain)

        return run

    def reference(normals):
        steps = -0.025 / 64 + 0.3 / 8 * normals.astype(float)
        gain = np.maximum(100 * np.exp(np.cumsum(steps, 0)).mean(0) - 100, 0)
        return gain.mean(), gain.std()

    def loops(numba):
        @numba.njit(parallel=True)
        def run(normals):
            f = np.float32
            gain = np.empty(normals.shape[1], f)
            for p in numba.prange(normals.shape[1]):
                price, total = f(100), f(0)
                for t in range(normals.shape[0]):
                    price *= np.exp(f(-0.025 / 64) + f(0.3 / 8) * normals[t, p])
                    total += price
                gain[p] = max(total / f(64) - f(100), f(0))
            return gain.mean(), gain.std()

        return run


@program(size=20_000, small=20, rtol=1e-3)
class Heston:
    """Prices at maturity under Heston's model with random variance, 50 Euler steps of n paths."""

    def make(rng, n):
        return (rng.standard_normal((50, 2, n), dtype=np.float32),)

    def array(jax):
        jnp = jax.numpy

        def run(normals):
            dt = 0.02

            def step(t, state):
                log_price, variance = state
                z, w = normals[t, 0], normals[t, 1]
                w = -0.7 * z + (1 - 0.49) ** 0.5 * w
                positive = jnp.maximum(variance, 0.0)
                root = jnp.sqrt(positive * dt)
                log_price = log_price + (0.02 - 0.5 * positive) * dt + root * z
                variance = variance + 2.0 * (0.04 - positive) * dt + 0.3 * root * w
                return log_price, variance

            n = normals.shape[2]
            start = jnp.zeros(n), jnp.full(n, 0.04)
            log_price, variance = jax.lax.fori_loop(0, normals.shape[0], step, start)
            return 100.0 * jnp.exp(log_price), variance

        return run

    def reference(normals):
        x, v, dt = np.zeros(normals.shape[2]), np.full(normals.shape[2], 0.04), 0.02
        for z, w in normals.astype(float):
            positive = np.maximum(v, 0)
            root = np.sqrt(positive * dt)
            x = x + (0.02 - 0.5 * positive) * dt + root * z
            v = v + 2 * (0.04 - positive) * dt + 0.3 * root * (-0.7 * z + 0.51**0.5 * w)
        return 100 * np.exp(x), v

    def loops(numba):
        @numba.njit(parallel=True)
        def run(normals):
            f, n = np.float32, normals.shape[2]
            price, final = np.empty(n, f), np.empty(n, f)
            for p in numba.prange(n):
                x, v, dt = f(0), f(0.04), f(0.02)
                for t in range(normals.shape[0]):
                    z = normals[t, 0, p]
                    w = f(-0.7) * z + f(0.51**0.5) * normals[t, 1, p]
                    positive = max(v, f(0))
                    root = np.sqrt(positive * dt)
                    x += (f(0.02) - f(0.5) * positive) * dt + root * z
                    v += f(2) * (f(0.04) - positive) * dt + f(0.3) * root * w
                price[p], final[p] = f(100) * np.exp(x), v
            return price, final

        return run


@program(size=50_000, small=30, rtol=5e-3, atol=1e-3)
class ImpliedVolatility:
    """Volatilities of n options from their prices by bisection, each until it is found."""

    def make(rng, n):
        spot, strike, years = _market(rng, n)
        sigma = rng.uniform(0.2, 0.6, n)
        return _call_price(spot, strike, years, sigma).astype(np.float32), spot, strike, years

    def array(jax):
        jnp, lax = jax.numpy, jax.lax

        def volatility(price, spot, strike, years):
            def cdf(x):
                return 0.5 * (1.0 + jax.scipy.special.erf(x * (0.5**0.5)))

            def call(sigma):
                width = sigma * jnp.sqrt(years)
                d = (jnp.log(spot / strike) + 0.02 * years) / width + 0.5 * width
                return spot * cdf(d) - strike * jnp.exp(-0.02 * years) * cdf(d - width)

            def halve(bounds):
                low, high = bounds
                middle = 0.5 * (low + high)
                above = call(middle) > price
                return jnp.where(above, low, middle), jnp.where(above, middle, high)

            bounds = lax.while_loop(
                lambda b: b[1] - b[0] > 1e-4, halve, (jnp.float32(0.01), jnp.float32(1.0))
            )
            return 0.5 * (bounds[0] + bounds[1])

        return jax.vmap(volatility)

    def reference(price, spot, strike, years):
        low, high = np.full(len(price), 0.01), np.full(len(price), 1.0)
        while (high - low).max() > 1e-4:
            middle = 0.5 * (low + high)
            above = _call_price(spot, strike, years, middle) > price
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return 0.5 * (low + high)

    def loops(numba):
        @numba.njit
        def cdf(x):
            return np.float32(0.5) * (np.float32(1) + math.erf(x * np.float32(0.5**0.5)))

        @numba.njit(parallel=True)
        def run(price, spot, strike, years):
            f = np.float32
            out = np.empty_like(price)
            for i in numba.prange(price.shape[0]):
                low, high = f(0.01), f(1)
                drift, root = np.log(spot[i] / strike[i]) + f(0.02) * years[i], np.sqrt(years[i])
                paid = strike[i] * np.exp(f(-0.02) * years[i])
                while high - low > f(1e-4):
                    middle = f(0.5) * (low + high)
                    width = middle * root
                    d = drift / width + f(0.5) * width
                    if spot[i] * cdf(d) - paid * cdf(d - width) > price[i]:
                        high = middle
                    else:
                        low = middle
                out[i] = f(0.5) * (low + high)
            return out

        return run
