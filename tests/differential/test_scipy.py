"""Functions of `jax.scipy` without a table of their own: images, grids, solvers, signals."""

import pytest
from compare import GROUPS, cases, check, name_of, pool, seed_of
from known import TOLERANCES, expecting

GROUPS["wide"] = GROUPS["wide2"] = ("float32", "complex64")  # what iterations are meant for
AT = "[w[:3] * 1.5, v[:3]]"
GRID = "(jnp.array([0., 1, 3]), jnp.array([-1., 0, 2, 3]))"
MAKE = f"jsp.interpolate.RegularGridInterpolator({GRID}, x"
SYSTEM = "(m @ m.conj().T + 4 * jnp.eye(4, dtype=m.dtype))"
SOLVERS = "\n".join(line for name in ("cg", "bicgstab", "gmres") for line in f"""
    jsp.sparse.linalg.{name}({SYSTEM}, w, tol=1e-6)
    jsp.sparse.linalg.{name}(lambda v: {SYSTEM} @ v, w, x0=w, maxiter=0)
    jsp.sparse.linalg.{name}({SYSTEM}, w, maxiter=4, M=jnp.diag(1 / jnp.diag({SYSTEM})))
    jsp.sparse.linalg.{name}(lambda v: dict(a=v["a"] * 2, b=v["b"] * 4), dict(a=w, b=v))
    jsp.sparse.linalg.{name}(x, w)
    jsp.sparse.linalg.{name}({SYSTEM}, w, x0=[w])
    jsp.sparse.linalg.{name}(lambda v: v[:2], w)
    jsp.sparse.linalg.{name}([1.], w)
    jsp.sparse.linalg.{name}({SYSTEM}, jnp.ones(4, int))
    jax.grad(lambda a: abs(jsp.sparse.linalg.{name}(a, w, tol=1e-7)[0]).sum())({SYSTEM})
    jax.vmap(lambda b: jsp.sparse.linalg.{name}({SYSTEM}, b, tol=1e-6)[0])(x)
    """.splitlines())
MINIMIZE = "__import__(jax.__name__ + '.scipy.optimize', fromlist=['minimize']).minimize"
FIND = f"{MINIMIZE}(lambda x: jnp.sum((x - 1.5) ** 2 * jnp.arange(1., 5.)), w"
ROSENBROCK = "lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)"
ODE = "__import__(jax.__name__ + '.experimental.ode', fromlist=['odeint']).odeint"
TIMES = "jnp.linspace(0., 1.5, 4)"
SCIPY = {
    "inexact": """
        jsp.signal.convolve(x, x[:2, :3])
        jsp.signal.convolve(x[:2, :3], x, 'same')
        jsp.signal.correlate(t, t[:1, :2], 'valid')
        jsp.signal.correlate(v, w, 'same')
        jsp.signal.convolve2d(x, m[:2, :2], 'same')
        jsp.signal.correlate2d(x, m[:2, :2], 'same')
        jsp.signal.convolve(x, m)
        jsp.signal.convolve(x, w)
        jsp.signal.convolve(e, e)
        jsp.signal.convolve2d(x, x, boundary='wrap')
        jsp.signal.detrend(v, type='constant')
        jsp.signal.detrend(v, type='x')
    """,
    "wide": """
        jsp.signal.convolve(x, i[:3, None], method='fft')
        jsp.signal.fftconvolve(x, m[:3], axes=1)
        jsp.signal.fftconvolve(x, m, 'valid')
        jsp.signal.detrend(x)
        jsp.signal.detrend(x.T, axis=0, bp=[1])
        jsp.signal.stft(m.ravel(), nperseg=5)
        jsp.signal.stft(m.ravel(), 2., 'hamming', 4, 3, 8, 'linear', boundary='odd')
        jsp.signal.stft(m, nperseg=2, axis=0, padded=False)
        jsp.signal.istft(x, input_onesided=False)
        jsp.signal.istft(x, boundary=False)
        jsp.signal.istft(x, 2., 'hamming', 4, 3)
        jsp.signal.istft(w)
        jsp.signal.welch(m.ravel(), nperseg=4)
        jsp.signal.welch(m, 3., nperseg=3, noverlap=2, scaling='spectrum', average='median')
        jsp.signal.welch(m, nperseg=0)
        jsp.signal.csd(x, x[:1], nperseg=3)
        jsp.signal.csd(m.ravel(), v, nperseg=4, average='median')
        jsp.signal.csd(x, w)
        jax.grad(lambda a: abs(jsp.signal.stft(a, nperseg=5)[2]).sum())(m.ravel())
    """,
    "f32": f"""
        {ODE}(lambda y, t: -y * t, w, {TIMES})
        {ODE}(lambda y, t, a: dict(a=-a * y['a'], b=t), dict(a=w, b=1.), {TIMES}, 2.)
        {ODE}(lambda y, t: -y, w, {TIMES}, rtol=1e-6, hmax=0.1)
        {ODE}(lambda y, t: -y, w, {TIMES}[:1])
        {ODE}(lambda y, t: -y, w, jnp.arange(3))
        {ODE}(lambda y, t: -y, i, {TIMES})
        {ODE}(lambda y, t, a: -y, w, {TIMES}, 'a')
        {ODE}(lambda y, t: y[:2], w, {TIMES})
        {ODE}(lambda y, t: 1j * y, w, {TIMES})
        jax.grad(lambda a: {ODE}(lambda y, t: -a * y, w, {TIMES}).sum())(2.)
        jax.grad(lambda a: {ODE}(lambda y, t, a: -a * y, w, {TIMES}, a).sum())(v[:4])
        jax.grad(lambda t: {ODE}(lambda y, t: -t * y, w, t)[1:].sum())({TIMES})
        jax.vmap(lambda y: {ODE}(lambda y, t: -t * y, y, {TIMES}))(x)
        {FIND}, method='BFGS')[:4]
        {FIND}, method='BFGS', options=dict(maxiter=2))
        {FIND}, method='BFGS', options=dict(maxiter=0))
        {FIND}, method='BFGS', options=dict(gtol=1.))
        {FIND}, method='BFGS', options=dict(foo=1.))
        {FIND}, method='x')
        {FIND}, 3., method='BFGS')
        {MINIMIZE}({ROSENBROCK}, w[:2], method='BFGS', options=dict(maxiter=2))
        {MINIMIZE}(jnp.sum, i, method='BFGS')
        {MINIMIZE}(jnp.sin, w, method='BFGS')
        jax.jvp(lambda y: {ODE}(lambda y, t: -t * y, y, {TIMES}), (w,), (w,))
    """,
    "wide2": SOLVERS + f"""
        jsp.sparse.linalg.gmres({SYSTEM}, w, solve_method='incremental', tol=1e-6)
        jsp.sparse.linalg.gmres({SYSTEM}, w, restart=2, maxiter=2)
        jsp.sparse.linalg.gmres({SYSTEM}, w, restart=2, maxiter=1, solve_method='incremental')
        jsp.sparse.linalg.gmres({SYSTEM}, w, solve_method='x')
    """,
    "any": f"""
        jsp.ndimage.map_coordinates(x, {AT.replace('w', 'q[0]').replace('v', 'q[1]')}, 0)
        jsp.ndimage.map_coordinates(x, {AT.replace('w', 'q[0]').replace('v', 'q[1]')}, 1)
    """,
    "float": f"""
        jsp.ndimage.map_coordinates(x, {AT}, 1, mode='wrap')
        jsp.ndimage.map_coordinates(x, {AT}, 1, mode='mirror')
        jsp.ndimage.map_coordinates(x, {AT}, 1, 'reflect')
        jsp.ndimage.map_coordinates(x, {AT}, 1, 'nearest', cval=2)
        jsp.ndimage.map_coordinates(x, {AT}, 0, 'mirror')
        jsp.ndimage.map_coordinates(x, [i, i[:, None]], 1, cval=2)
        jsp.ndimage.map_coordinates(x, {AT}, 3)
        jsp.ndimage.map_coordinates(x, {AT}, 1, 'x')
        jsp.ndimage.map_coordinates(x, {AT}[:1], 1)
        jax.grad(lambda a: jsp.ndimage.map_coordinates(a, {AT}, 1).sum())(x)
        {MAKE})(m[:, :2])
        {MAKE}, 'nearest')(jnp.abs(m[:, :2]))
        {MAKE}, fill_value=None)(m[:, :2])
        {MAKE}, fill_value=3)(i[:3], i[:3])
        {MAKE}, fill_value=3)((i, i))
        {MAKE}, 'slinear')
        {MAKE}, bounds_error=True)
        {MAKE}[0])
        {MAKE})(x)
        jax.grad(lambda a: {MAKE}, fill_value=None)(a).sum())(m[:, :2])
        jsp.integrate.trapezoid(x)
        jsp.integrate.trapezoid(x, y, axis=0)
    """,
    "real": """
        jsp.cluster.vq.vq(x, m)
        jsp.cluster.vq.vq(w, v)
        jsp.cluster.vq.vq(x, z)
        jsp.cluster.vq.vq(x, m[:, :3])
        jsp.cluster.vq.vq(x, w)
        jsp.cluster.vq.vq(t, t)
        jsp.cluster.vq.vq(x, m[:0])
        jsp.integrate.trapezoid(x, dx=0.5)
    """,
}


@pytest.mark.parametrize("case", cases(SCIPY, 2), ids=name_of)
def test_scipy(case):
    line, dtype, other, jit = case
    with expecting(line, dtype):
        check(line, pool(dtype, other, seed_of(line)), jit, TOLERANCES.get(line))
