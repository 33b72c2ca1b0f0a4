"""Expressions of the standard's functions: `kinds of x | expression`, read with two namespaces.

`x` and `y` are arrays of one dtype and of shapes that broadcast, `b` is a Boolean array of the shape of
x, `i` an array of indices, `one` a Python number of the kind of x. What array-api-strict accepts
has to work and to give the same type, shape and values; what it refuses is not looked at, and
neither are axes of arrays without axes, which it accepts in places.
"""

ELEMENTWISE = """
numeric | xp.abs(x)
float | xp.acos(x)
float | xp.acosh(x)
numeric | xp.add(x, y)
numeric | xp.add(x, one)
numeric | xp.add(one, x)
float | xp.asin(x)
float | xp.asinh(x)
float | xp.atan(x)
real float | xp.atan2(x, y)
real float | xp.atan2(x, one)
float | xp.atanh(x)
integer bool | xp.bitwise_and(x, y)
integer bool | xp.bitwise_and(x, one)
integer | xp.bitwise_left_shift(x, xp.abs(y))
integer | xp.bitwise_left_shift(x, 2)
integer | xp.bitwise_left_shift(1, xp.abs(x))
integer bool | xp.bitwise_invert(x)
integer bool | xp.bitwise_or(x, y)
integer | xp.bitwise_right_shift(x, xp.abs(y))
integer | xp.bitwise_right_shift(x, 1)
integer bool | xp.bitwise_xor(x, y)
real | xp.ceil(x)
real | xp.clip(x, min=one)
real | xp.clip(x, max=one)
real | xp.clip(x, one, one)
real | xp.clip(x, None, None)
real | xp.clip(x, min=y)
real | xp.clip(x, min=xp.minimum(x, y), max=xp.maximum(x, y))
numeric | xp.conj(x)
real float | xp.copysign(x, y)
real float | xp.copysign(x, -1)
real float | xp.copysign(2.0, x)
float | xp.cos(x)
float | xp.cosh(x)
float | xp.divide(x, y)
float | xp.divide(x, one)
float | xp.divide(one, x)
all | xp.equal(x, y)
all | xp.equal(x, one)
float | xp.exp(x)
float | xp.expm1(x)
real | xp.floor(x)
integer | xp.floor_divide(x, xp.where(y == 0, one, y))
integer | xp.floor_divide(x, one)
real | xp.greater(x, y)
real | xp.greater(one, x)
real | xp.greater_equal(x, y)
real float | xp.hypot(x, y)
real float | xp.hypot(3, x)
complex | xp.imag(x)
numeric | xp.isfinite(x)
numeric | xp.isinf(x)
numeric | xp.isnan(x)
real | xp.less(x, y)
real | xp.less_equal(x, one)
float | xp.log(x)
float | xp.log1p(x)
float | xp.log2(x)
float | xp.log10(x)
real float | xp.logaddexp(x, y)
real float | xp.logaddexp(x, 1.5)
bool | xp.logical_and(x, y)
bool | xp.logical_and(x, True)
bool | xp.logical_not(x)
bool | xp.logical_or(x, False)
bool | xp.logical_xor(x, y)
real | xp.maximum(x, y)
real | xp.maximum(x, one)
real | xp.minimum(one, x)
numeric | xp.multiply(x, y)
numeric | xp.multiply(2, x)
numeric | xp.negative(x)
real float | xp.nextafter(x, y)
real float | xp.nextafter(x, 1.0)
all | xp.not_equal(x, y)
numeric | xp.positive(x)
integer | xp.pow(x, xp.astype(xp.abs(y) % 5, x.dtype))
float | xp.pow(x, 2)
real float | xp.pow(x, y)
numeric | xp.pow(x, 3)
numeric | xp.real(x)
float | xp.reciprocal(x)
real | xp.remainder(x, xp.where(y == 0, one, y))
real | xp.remainder(x, one)
real float | xp.remainder(x, y)
numeric | xp.round(x)
numeric | xp.sign(x)
real float | xp.signbit(x)
float | xp.sin(x)
float | xp.sinh(x)
numeric | xp.square(x)
float | xp.sqrt(x)
numeric | xp.subtract(x, y)
numeric | xp.subtract(one, x)
float | xp.tan(x)
float | xp.tanh(x)
real | xp.trunc(x)
numeric | x + y
numeric | one + x
numeric | x - one
numeric | x * y
float | x / y
float | one / x
real float | x % y
real | x % one
numeric | x ** 2
numeric | -x
numeric | +x
numeric | abs(x)
integer bool | ~x
integer bool | x & y
integer bool | one | x
integer bool | x ^ one
integer | x << 1
integer | x >> 1
all | x == y
all | x != one
real | x < y
real | x >= one
"""

CREATION = """
all | xp.empty_like(x).shape == x.shape and xp.empty_like(x).dtype == x.dtype
all | xp.zeros_like(x)
all | xp.ones_like(x)
all | xp.full_like(x, one)
all | xp.full(x.shape, one, dtype=x.dtype)
all | xp.zeros(x.shape, dtype=x.dtype)
all | xp.ones(5, dtype=x.dtype)
all | xp.asarray(x, copy=True)
all | xp.asarray(one, dtype=x.dtype)
all | xp.eye(3, dtype=x.dtype)
numeric | xp.eye(3, 4, k=1, dtype=x.dtype)
numeric | xp.eye(3, 0, k=-1, dtype=x.dtype)
real | xp.arange(5, dtype=x.dtype)
real | xp.arange(1, 9, 2, dtype=x.dtype)
real | xp.arange(9, 1, -3, dtype=x.dtype)
float | xp.linspace(0, 5, 11, dtype=x.dtype)
float | xp.linspace(1, 5, num=4, dtype=x.dtype, endpoint=False)
float | xp.linspace(1, 5, 0, dtype=x.dtype)
float | xp.linspace(1, 5, 1, dtype=x.dtype)
all | xp.tril(x)
all | xp.triu(x, k=1)
all | xp.tril(x, k=-1)
all | xp.meshgrid(xp.reshape(x, (-1,)), xp.reshape(x, (-1,)))
all | xp.meshgrid(xp.reshape(x, (-1,)), xp.reshape(y, (-1,)), indexing='ij')
all | xp.arange(3) if x.dtype == xp.bool else xp.arange(3.0)
all | [xp.asarray(o).dtype for o in (True, 1, 1.0, 1j, [True, 1], [1, 2.0], [1, 2j], [])]
all | [xp.full((2,), o).dtype for o in (True, 1, 1.0, 1j)]
all | [xp.zeros(1).dtype, xp.ones(1).dtype, xp.empty(1).dtype, xp.eye(1).dtype, xp.linspace(0, 1, 2).dtype]
"""

MANIPULATION = """
all | xp.broadcast_arrays(x, y)
all | xp.broadcast_shapes(x.shape, y.shape)
all | xp.broadcast_shapes()
all | xp.broadcast_to(x, (2,) + x.shape)
all | xp.concat([x, x])
all | xp.concat((x, x), axis=-1)
all | xp.concat([x, y], axis=None)
all | xp.expand_dims(x, 0)
all | xp.expand_dims(x, axis=-1)
all | xp.expand_dims(x, (0, -1))
all | xp.expand_dims(x, (1, 0))
all | xp.flip(x)
all | xp.flip(x, axis=0)
all | xp.flip(x, axis=(0, -1))
all | xp.moveaxis(x, 0, -1)
all | xp.permute_dims(x, tuple(range(x.ndim))[::-1])
all | xp.permute_dims(x, tuple(range(-x.ndim, 0)))
all | xp.repeat(x, 2)
all | xp.repeat(x, 3, axis=-1)
all | xp.repeat(x, 0, axis=0)
all | xp.repeat(x, xp.asarray([2]), axis=0)
all | xp.repeat(x, xp.arange(x.shape[0]), axis=0)
all | xp.reshape(x, (-1,))
all | xp.reshape(x, x.shape + (1,), copy=True)
all | xp.roll(x, 1)
all | xp.roll(x, -2, axis=0)
all | xp.roll(x, (1, 2), axis=(0, -1))
all | xp.roll(x, 1, axis=(0, -1))
all | xp.squeeze(x[None], 0)
all | xp.squeeze(xp.expand_dims(x, (0, 1)), axis=(0, 1))
all | xp.squeeze(x, axis=())
all | xp.stack([x, x])
all | xp.stack((x, x), axis=-1)
all | xp.tile(x, (2,))
all | xp.tile(x, (2, 1, 3))
all | xp.tile(x, ())
all | xp.unstack(x)
all | xp.unstack(x, axis=-1)
all | xp.matrix_transpose(x)
all | x.T
all | x.mT
all | xp.take(x, i, axis=0)
all | xp.take(xp.reshape(x, (-1,)), xp.asarray([0, -1]))
all | xp.take_along_axis(x, xp.argsort(x, axis=-1))
real | xp.take_along_axis(x, xp.argsort(x, axis=0), axis=0)
all | (x.ndim, x.size, x.shape, x.dtype)
all | x[...]
all | x[None]
all | x[0]
all | x[-1, ...]
all | x[1:]
all | x[::-1]
all | x[..., ::2]
all | x[..., None, 0]
all | x[b]
all | x[b[..., 0]]
all | x[xp.asarray(True)]
all | x[xp.asarray(False)]
all | x[i]
all | x[i, None]
all | x[i, 0]
"""

SEARCHING = """
real | xp.argmax(x)
real | xp.argmax(x, axis=0)
real | xp.argmin(x, axis=-1, keepdims=True)
real | xp.argmin(x, keepdims=True)
all | xp.count_nonzero(x)
all | xp.count_nonzero(x, axis=0)
all | xp.count_nonzero(x, axis=(0, -1), keepdims=True)
all | xp.nonzero(x)
real | xp.searchsorted(xp.sort(xp.reshape(x, (-1,))), y)
real | xp.searchsorted(xp.sort(xp.reshape(x, (-1,))), y, side='right')
real | xp.searchsorted(xp.sort(xp.reshape(x, (-1,))), one)
real | xp.searchsorted(xp.reshape(x, (-1,)), y, sorter=xp.argsort(xp.reshape(x, (-1,))))
all | xp.where(b, x, y)
all | xp.where(b, x, one)
all | xp.where(b, one, x)
real | xp.argsort(x)
real | xp.argsort(x, axis=0, descending=True)
real | xp.argsort(x, stable=False) * 0
real | xp.sort(x)
real | xp.sort(x, axis=0)
real | xp.sort(x, axis=-1, descending=True, stable=False)
all | tuple(xp.unique_all(x))[0]
real integer bool | tuple(xp.unique_all(x))
all | tuple(xp.unique_counts(x))
all | xp.unique_inverse(x)._fields
real integer bool | tuple(xp.unique_inverse(x))
all | xp.unique_values(x)
all | xp.unique_all(x)._fields
all | xp.unique_counts(x)._fields
integer bool | xp.isin(x, y)
integer bool | xp.isin(x, one)
integer bool | xp.isin(one, x)
all | xp.all(x)
all | xp.all(x, axis=0, keepdims=True)
all | xp.any(x, axis=(0, -1))
numeric | xp.diff(x)
numeric | xp.diff(x, axis=0, n=2)
numeric | xp.diff(x, prepend=x, append=x)
numeric | xp.diff(x, n=0)
"""

NUMBERS = """
real float | xp.floor_divide(x, y)
real float | x // y
real float | x // one
real float | one // x
"""

STATISTICAL = """
numeric | xp.cumulative_sum(x[None, ...], axis=-1) if x.ndim else 0
numeric | xp.cumulative_sum(x, axis=0, include_initial=True) if x.ndim else 0
numeric | xp.cumulative_sum(x, axis=0, dtype=xp.float64) if x.ndim and xp.isdtype(x.dtype, 'real floating') else 0
numeric | xp.cumulative_prod(x, axis=-1) if x.ndim else 0
numeric | xp.cumulative_prod(x, axis=0, include_initial=True) if x.ndim else 0
real | xp.max(x)
real | xp.max(x, axis=0, keepdims=True)
real | xp.min(x, axis=(0, -1))
real | xp.min(x, axis=())
float | xp.mean(x)
float | xp.mean(x, axis=(0, -1), keepdims=True)
numeric | xp.prod(x)
numeric | xp.prod(x, axis=0)
numeric | xp.sum(x)
numeric | xp.sum(x, axis=-1, keepdims=True)
numeric | xp.sum(x, axis=(0, -1))
numeric | xp.sum(x, axis=())
float | xp.sum(x, dtype=x.dtype)
real float | xp.std(x)
real float | xp.std(x, axis=0, correction=1)
real float | xp.var(x, axis=-1, correction=0.5, keepdims=True)
real float | xp.var(x)
"""

LINEAR = """
numeric | xp.matmul(x, xp.matrix_transpose(x))
numeric | x @ x.mT
numeric | xp.matmul(x, x[..., 0, :])
numeric | xp.tensordot(x, x, axes=0)
numeric | xp.tensordot(x, x, axes=x.ndim)
numeric | xp.tensordot(x, x, axes=((0,), (0,)))
numeric | xp.vecdot(x, y)
numeric | xp.vecdot(x, x, axis=-1)
numeric | xp.linalg.cross(xp.broadcast_to(x, (2, 3)), xp.broadcast_to(x, (2, 3)))
numeric | xp.linalg.diagonal(x)
numeric | xp.linalg.diagonal(x, offset=1)
numeric | xp.linalg.trace(x)
numeric | xp.linalg.trace(x, offset=-1)
numeric | xp.linalg.outer(xp.reshape(x, (-1,)), xp.reshape(y, (-1,)))
numeric | xp.linalg.matmul(x, x.mT)
numeric | xp.linalg.tensordot(x, x, axes=1)
numeric | xp.linalg.vecdot(x, y)
numeric | xp.linalg.matrix_transpose(x)
float | xp.linalg.vector_norm(x)
float | xp.linalg.vector_norm(x, axis=0, keepdims=True)
float | xp.linalg.vector_norm(x, axis=(0, -1), ord=1)
float | xp.linalg.vector_norm(x, ord=float('inf'))
float | xp.linalg.vector_norm(x, ord=-float('inf'), axis=-1)
float | xp.linalg.vector_norm(x, ord=0)
float | xp.linalg.vector_norm(x, ord=3)
float | xp.linalg.matrix_norm(x)
float | xp.linalg.matrix_norm(x, keepdims=True, ord=1)
float | xp.linalg.matrix_norm(x, ord=2)
float | xp.linalg.matrix_norm(x, ord=-2)
float | xp.linalg.matrix_norm(x, ord='nuc')
float | xp.linalg.matrix_norm(x, ord=float('inf'))
float | xp.linalg.matrix_norm(x, ord=-1)
float | xp.linalg.matrix_rank(x)
float | xp.linalg.matrix_rank(x, rtol=0.1)
float | xp.linalg.svdvals(x)
float | xp.linalg.svd(x)._fields
float | [part.shape for part in xp.linalg.svd(x)]
float | [part.shape for part in xp.linalg.svd(x, full_matrices=False)]
float | [part.dtype for part in xp.linalg.svd(x, full_matrices=False)]
float | [part.shape for part in xp.linalg.qr(x)]
float | [part.shape for part in xp.linalg.qr(x, mode='complete')]
float | xp.linalg.qr(x)._fields
float | xp.linalg.pinv(x)
float | xp.linalg.pinv(x, rtol=0.01)
float | xp.linalg.det(s)
float | xp.linalg.inv(s)
float | xp.linalg.slogdet(s)
float | xp.linalg.slogdet(s)._fields
float | xp.linalg.solve(s, s)
float | xp.linalg.solve(s, s[0, :, 0])
float | xp.linalg.solve(s[0, ...], s)
float | xp.linalg.matrix_power(s, 0)
float | xp.linalg.matrix_power(s, 3)
float | xp.linalg.matrix_power(h, -1)
float | xp.linalg.cholesky(h)
float | xp.linalg.cholesky(h, upper=True)
float | xp.linalg.eigvalsh(h)
float | xp.linalg.eigh(h)._fields
float | xp.linalg.eigh(h)[0]
float | [part.dtype for part in xp.linalg.eigh(h)]
"""

FOURIER = """
complex | xp.fft.fft(x)
complex | xp.fft.fft(x, n=5, axis=0, norm='ortho')
complex | xp.fft.ifft(x, norm='forward')
complex | xp.fft.fftn(x)
complex | xp.fft.fftn(x, s=(4,), axes=(0,))
complex | xp.fft.ifftn(x, axes=(-1,), norm='ortho')
real float | xp.fft.rfft(x)
real float | xp.fft.rfft(x, n=2, norm='forward')
real float | xp.fft.rfftn(x)
complex | xp.fft.irfft(x) if x.size else 0
complex | xp.fft.irfft(x, n=5) if x.size else 0
complex | xp.fft.irfftn(x)
complex | xp.fft.hfft(x) if x.size else 0
complex | xp.fft.hfft(x, n=3, norm='ortho') if x.size else 0
real float | xp.fft.ihfft(x)
real float | xp.fft.fftfreq(5, d=0.5)
real float | xp.fft.fftfreq(5, dtype=x.dtype)
real float | xp.fft.rfftfreq(6, d=2.0)
real float | xp.fft.rfftfreq(5, dtype=x.dtype)
float | xp.fft.fftshift(x)
float | xp.fft.ifftshift(x, axes=0)
float | xp.fft.fftshift(x, axes=(0, -1))
"""

TYPES = """
all | [xp.astype(x, getattr(xp, n)) for n in ('bool', 'float64', 'complex64') if x.dtype != xp.complex64 and x.dtype != xp.complex128]
real | [xp.astype(xp.abs(x), getattr(xp, n)) for n in ('int8', 'uint8', 'int64', 'uint32', 'float32')] if not xp.any(~xp.isfinite(x)) else 0
all | xp.astype(x, x.dtype, copy=False)
all | [xp.isdtype(x.dtype, k) for k in ('bool', 'signed integer', 'unsigned integer', 'integral', 'real floating', 'complex floating', 'numeric', ('bool', 'integral'), xp.float32, (xp.int8, 'bool'))]
float | (xp.finfo(x.dtype).bits, xp.finfo(x.dtype).eps, xp.finfo(x.dtype).max, xp.finfo(x.dtype).min, xp.finfo(x.dtype).smallest_normal, xp.finfo(x.dtype).dtype)
integer | (xp.iinfo(x.dtype).bits, xp.iinfo(x.dtype).max, xp.iinfo(x.dtype).min, xp.iinfo(x.dtype).dtype)
all | xp.result_type(x, x.dtype)
numeric | xp.result_type(x, 1)
all | xp.result_type(one, x.dtype)
integer | [xp.can_cast(x.dtype, getattr(xp, n)) for n in ('int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64')]
integer | [xp.can_cast(x, getattr(xp, n)) for n in ('bool', 'int8', 'uint64', 'int32')]
real float | [xp.can_cast(x, xp.float32), xp.can_cast(x.dtype, xp.float64)]
complex | [xp.can_cast(x, xp.complex64), xp.can_cast(x.dtype, xp.complex128), xp.can_cast(x, xp.float64)]
"""

TABLES = dict(elementwise=ELEMENTWISE, creation=CREATION, manipulation=MANIPULATION,
              searching=SEARCHING, numbers=NUMBERS, statistical=STATISTICAL, linear=LINEAR, fourier=FOURIER,
              types=TYPES)  # fmt: skip
LINES = [(category, *(part.strip() for part in line.split("|", 1)))
         for category, table in TABLES.items() for line in table.strip().splitlines()]  # fmt: skip
