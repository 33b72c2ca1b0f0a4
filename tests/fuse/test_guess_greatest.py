"""Greatest numbers of rows are guessed where results do not depend on them, and found where the
guess was no good."""

import numpy as np
import pytest
import scipy.special

import jitney as jax
import jitney.numpy as jnp
from jitney import _native
from jitney.backend.host import host_target
from jitney.fuse import guess_greatest
from jitney.testing.stages import check_all_stages

TARGET = host_target()
pytestmark = pytest.mark.skipif(
    not TARGET.looks_up_powers, reason="exponentials are of distances alone"
)
of_float64 = pytest.mark.skipif(
    not TARGET.avx512, reason="the exponential of any distance takes more than is gained"
)


@pytest.fixture(autouse=True)
def near_and_far(monkeypatch):
    """Also where no time is gained, since columns are few; nothing planned so is kept."""
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")
    monkeypatch.setattr(guess_greatest, "FAR_ELEMENTS", 1)
    monkeypatch.setattr(guess_greatest, "FAR_DOWN", 1)


def greatest(x, axis=-1):
    return x.max(axis, keepdims=True)


def entropy(x, axis=-1):
    return -(jax.nn.softmax(x, axis) * jax.nn.log_softmax(x, axis)).sum(axis)


INVARIANT = {
    "softmax": jax.nn.softmax,
    "its logarithm": jax.nn.log_softmax,
    "log-sum-exp": jax.nn.logsumexp,
    "of a part": lambda x, axis=-1: jax.nn.logsumexp(x * 0.5 - 1, axis),
    "shares twice": lambda x, axis=-1: jax.nn.softmax(x, axis) ** 2,
    "odds": lambda x, axis=-1: jax.nn.softmax(x, axis) / (1.5 - jax.nn.softmax(x, axis)),
    "entropy": entropy,
}
DEPENDENT = {
    "exponentials": lambda x, axis=-1: jnp.exp(x - greatest(x, axis)),
    "their sum": lambda x, axis=-1: jnp.exp(x - greatest(x, axis)).sum(axis),
    "its logarithm": lambda x, axis=-1: jnp.log(jnp.exp(x - greatest(x, axis)).sum(axis)),
    "distances": lambda x, axis=-1: x - greatest(x, axis) + jax.nn.softmax(x, axis),
    "distances cut off": lambda x, axis=-1: jnp.maximum(x - greatest(x, axis), -1e30)
    + jax.nn.softmax(x, axis),
    "half of it": lambda x, axis=-1: jax.nn.logsumexp(x, axis) + greatest(x, axis)[..., 0] / 2,
    "squares over a sum": lambda x, axis=-1: jnp.exp(x - greatest(x, axis)) ** 2
    / jnp.exp(x - greatest(x, axis)).sum(axis, keepdims=True),
    "sum and a share": lambda x, axis=-1: jax.nn.softmax(x, axis)
    + jnp.exp(x - greatest(x, axis)).sum(axis, keepdims=True),
    "a comparison": lambda x, axis=-1: jnp.where(
        greatest(x, axis) > 1, jax.nn.softmax(x, axis), 0.0
    ),
}


def is_guessed(fun, x) -> bool:
    return " guessed" in jax.explain(fun, x, rounds=1).as_text("kernels")


def rows(count=64, width=1000, seed=0):
    return np.random.default_rng(seed).standard_normal((count, width)).astype("float32")


ONLY_SUMMED = ("log-sum-exp", "its logarithm", "of a part")


@pytest.mark.parametrize("name", ONLY_SUMMED)
def test_guessed_of_columns(name):
    assert is_guessed(lambda x: INVARIANT[name](x, axis=0), rows(300, 600))


@pytest.mark.parametrize("name", [n for n in INVARIANT if n not in ("entropy", *ONLY_SUMMED)])
def test_guessed_of_columns_that_are_kept(name):
    assert is_guessed(lambda x: INVARIANT[name](x, axis=0), rows(300, 600))


@pytest.mark.skipif(TARGET.avx512, reason="there it takes no operation more")
def test_kept_columns_are_guessed_where_that_pays(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")
    softmax = lambda x: jax.nn.softmax(x, 0)
    assert is_guessed(softmax, rows(1000, 1001))
    assert not is_guessed(softmax, rows(302, 604))  # no other test has planned it
    assert not is_guessed(softmax, rows(9, 100_000))


@pytest.mark.parametrize("name", ONLY_SUMMED)
def test_guessed_of_rows(name):
    assert is_guessed(lambda x: INVARIANT[name](x, axis=-1), rows())


def test_not_guessed_of_rows_that_are_kept():
    """Of rows whose exponentials are saved it is found beside other work."""
    assert not is_guessed(jax.nn.softmax, rows())


@pytest.mark.skipif(not TARGET.avx512, reason="the exponential of any distance takes more there")
@pytest.mark.parametrize("name", ["softmax", "shares twice", "odds"])
def test_guessed_of_long_rows_that_are_kept(name):
    """More than the first cache holds: they are read once so."""
    x = rows(70, TARGET.l1_bytes // 8)
    x[3, 77], x[5, 5], x[6, ::2], x[7] = 90.0, np.nan, -np.inf, -np.inf
    assert is_guessed(INVARIANT[name], x)
    got = np.asarray(jax.jit(INVARIANT[name])(x))
    np.testing.assert_allclose(got, in_numpy(name, x, -1), rtol=1e-5, atol=1e-30)


def test_guessed_in_gradients():
    def loss(x):
        return jax.nn.logsumexp(x, 0).sum()

    x = rows(300, 600)
    x[77, ::5] = 400.0
    assert is_guessed(jax.grad(loss), x)
    got = np.asarray(jax.jit(jax.grad(loss))(x))
    np.testing.assert_allclose(got, in_numpy("softmax", x, 0), rtol=3e-6, atol=1e-30)


@of_float64
def test_guessed_in_float64():
    with jax.enable_x64(True):
        assert is_guessed(lambda x: jax.nn.softmax(x, 0), rows(300, 600).astype(float))


@pytest.mark.parametrize("name", DEPENDENT)
def test_not_guessed(name):
    assert not is_guessed(DEPENDENT[name], rows())
    assert not is_guessed(lambda x: DEPENDENT[name](x.T, -1), rows(300, 600))


def in_numpy(name, x, axis):
    x = x.astype(float)
    shares, logarithms = scipy.special.softmax(x, axis), scipy.special.log_softmax(x, axis)
    power = np.exp(x - x.max(axis, keepdims=True))
    total = power.sum(axis, keepdims=True)
    return {
        "softmax": lambda: shares,
        "its logarithm": lambda: logarithms,
        "log-sum-exp": lambda: scipy.special.logsumexp(x, axis),
        "of a part": lambda: scipy.special.logsumexp(x * 0.5 - 1, axis),
        "shares twice": lambda: shares**2,
        "odds": lambda: shares / (1.5 - shares),
        "entropy": lambda: -(shares * np.maximum(logarithms, -1e4)).sum(axis),
        "squares over a sum": lambda: power**2 / total,
    }[name]()


# What a few elements from all over a row say nothing of: one far above the others, that counts
# alone or is little above the limit, or many.
SPIKES = {"none": 0.0, "little": 5.0, "at the limit": 9.7, "more": 20.0, "much": 300.0}


@pytest.mark.parametrize("spike", SPIKES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(64, 1000), (5, 130), (130, 300), (1, 1024), (33, 257),
                                   (9, 4100)])  # fmt: skip
@pytest.mark.parametrize("name", INVARIANT)
def test_of_good_and_bad_guesses(name, shape, axis, spike):
    x = rows(*shape, seed=sum(shape))
    x[::3, 37::91] += np.float32(SPIKES[spike])
    x = x if axis == 1 else np.ascontiguousarray(x.T)
    got = np.asarray(jax.jit(lambda x: INVARIANT[name](x, axis=axis))(x))
    np.testing.assert_allclose(got, in_numpy(name, x, axis), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("deviation", [0.01, 4.0, 10.0, 100.0, 1e6])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", INVARIANT)
def test_rows_of_any_width(name, axis, deviation):
    """Also side by side with narrow ones."""
    x = rows(300, 320, seed=3) * np.float32(deviation)
    lines = x if axis == 1 else x.T
    lines[::7] *= np.float32(1e-3 / deviation)
    got = np.asarray(jax.jit(lambda x: INVARIANT[name](x, axis=axis))(x))
    expected = in_numpy(name, x, axis)
    np.testing.assert_allclose(got, expected, rtol=1e-5 + 2e-7 * deviation, atol=4e-6)


@pytest.mark.parametrize("number", [0.0, 7.0, -3.0, 1000.0, -1e4, 3e5, 1e8, -1e20, 3e38])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_of_one_number(number, axis):
    shape = (70, 256) if axis == 1 else (256, 300)
    x = np.full(shape, number, np.float32)
    shares = np.asarray(jax.jit(lambda x: jax.nn.softmax(x, axis))(x))
    assert (shares == 1 / 256).all()
    total = np.asarray(jax.jit(lambda x: jax.nn.logsumexp(x, axis))(x))
    np.testing.assert_allclose(total, np.float32(number) + np.log(256.0), rtol=2e-7)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("low", [-1e9, -np.inf, np.finfo(np.float32).min])
@pytest.mark.parametrize("where", [slice(0, 200), slice(100, None), slice(1, None), slice(0, -1)])
def test_masked_rows(where, low, axis):
    x = rows(64, 300)
    x[:, where] = low
    x = x if axis == 1 else np.ascontiguousarray(x.T)
    got = np.asarray(jax.jit(lambda x: jax.nn.softmax(x, axis))(x))
    np.testing.assert_allclose(got, in_numpy("softmax", x, axis), rtol=2e-6, atol=1e-30)
    got = np.asarray(jax.jit(lambda x: jax.nn.logsumexp(x, axis))(x))
    np.testing.assert_allclose(got, in_numpy("log-sum-exp", x, axis), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("fun", [jax.nn.softmax, jax.nn.logsumexp, jax.nn.log_softmax])
def test_other_rows_make_no_difference(fun, axis):
    """Also those that are done side by side, and where these have to be done again."""
    x = rows(131, 300)
    other = x.copy()
    other[::2, 41] = 500.0
    other[5, 7], other[9, 8], other[13] = np.nan, np.inf, -np.inf
    turn = (lambda a: a) if axis == 1 else lambda a: np.ascontiguousarray(np.moveaxis(a, -1, 0))
    jitted = jax.jit(lambda x: fun(x, axis=axis))
    one, two = [np.asarray(jitted(turn(a))) for a in (x, other)]
    same = [k for k in range(131) if (x[k] == other[k]).all()]
    assert len(same) > 50
    pick = (lambda a: a[same]) if axis == 1 or one.ndim == 1 else lambda a: a[:, same]
    assert pick(one).tobytes() == pick(two).tobytes()


def is_near(fun, x) -> bool:
    return "exp_raised_kept_near" in jax.explain(fun, x, rounds=1).as_text("kernels")


@pytest.mark.skipif(
    not TARGET.avx512 or TARGET.vectors_a_cycle < 4, reason="kept as they are there"
)
def test_shares_of_columns_are_of_elements_near_a_guess():
    x = rows(300, 600)
    for name in ("softmax", "shares twice"):
        assert is_near(lambda x, name=name: INVARIANT[name](x, axis=0), x)
    for name in ("its logarithm", "log-sum-exp"):
        assert not is_near(lambda x, name=name: INVARIANT[name](x, axis=0), x)
    assert not is_near(jax.nn.softmax, rows(70, TARGET.l1_bytes // 8))


@pytest.mark.parametrize("offset", [0.0, 3.3, -1000.0, 1e5, -3e6])
def test_shares_of_columns_far_from_nought(offset):
    """As good as sums of 500 are, and distances of 60; some columns are done again."""
    x = rows(500, 700) + np.float32(offset)
    x[77, ::5] += 64.0
    x[:, 30:40], x[:, 45], x[5, 46], x[6, 47] = x[0, 30:40], -np.inf, np.nan, np.inf
    got = np.asarray(jax.jit(lambda x: jax.nn.softmax(x, 0))(x))
    np.testing.assert_allclose(got, in_numpy("softmax", x, 0), rtol=5e-6, atol=1e-37)
    assert (got[:, 30:40] == np.float32(1 / 500)).all()


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_pieces_that_are_joined_make_no_difference(count, axis):
    """Rows go through a pipeline by calls of any length; each has the results it has elsewhere."""
    x = rows(1003, 512) if axis == -1 else rows(300, 2000)
    x[::17, 99] = 60.0

    def programs(x):
        centred = x - x.mean(axis, keepdims=True)
        normed = centred / jnp.sqrt((centred**2).mean(axis, keepdims=True) + 1e-5)
        of_all = jax.nn.softmax, jax.nn.logsumexp, jax.nn.log_softmax
        return *[fun(x, axis) for fun in of_all], normed

    jitted = jax.jit(programs)
    _native.set_num_threads(1)
    try:
        expected = [np.asarray(r).tobytes() for r in jitted(x)]
        _native.set_num_threads(count)
        for _ in range(10):
            assert [np.asarray(r).tobytes() for r in jitted(x)] == expected
    finally:
        _native.set_num_threads(0)


def test_programs_of_distances():
    """Random expressions of x and its greatest element, most of which depend on it: the rows have
    that where it is not looked for."""
    rng = np.random.default_rng(5)
    x = rows(16, 200, seed=9)
    x[:, 23] = 4 + np.arange(16) / 4

    def draw():
        scale = [1.0, 1.0, 2.0, -1.0][rng.integers(4)]
        add, divide, take = rng.integers(2), rng.integers(3), rng.integers(3)

        def fun(xp, x):
            m = x.max(-1, keepdims=True)
            power = xp.exp(x - m)
            total = power.sum(-1, keepdims=True)
            found = [power, total, xp.log(total)][take]
            if divide:
                found = found / (total if divide == 1 else total * total)
            return found + scale * m if add else found * scale

        return fun

    for _ in range(60):
        fun = draw()
        got = np.asarray(jax.jit(lambda x, fun=fun: fun(jnp, x))(x))
        np.testing.assert_allclose(got, fun(np, x.astype(float)), rtol=1e-5, atol=1e-6)


def test_stages_agree():
    x = rows(16, 150)
    assert is_guessed(lambda x: jax.nn.logsumexp(x, -1), x)
    for fun in (jax.nn.softmax, lambda x: jax.nn.logsumexp(x, -1), jax.nn.log_softmax):
        check_all_stages(fun, x)


def test_what_lies_around_an_axis_that_stays_is_cut_as_before():
    x = np.random.default_rng(1).standard_normal((64, 600, 64)).astype("float32")

    def fun(x):
        return jax.nn.logsumexp(x, axis=(0, 2))

    assert jax.explain(fun, x, rounds=1).as_text("kernels").count("kernel ") > 1
    expected = scipy.special.logsumexp(x.astype(float), axis=(0, 2))
    np.testing.assert_allclose(jax.jit(fun)(x), expected, rtol=1e-6)


def test_long_columns_are_one_kernel():
    """They are not cut into pieces where both the greatest and the sum are found in one go."""
    x = rows(1024, 1024)
    text = jax.explain(lambda x: jax.nn.logsumexp(x, axis=0), x, rounds=1).as_text("kernels")
    assert text.count("kernel ") == 1 and " guessed" in text
    expected = scipy.special.logsumexp(x.astype(float), axis=0)
    got = jax.jit(lambda x: jax.nn.logsumexp(x, axis=0))(x)
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    sums = jax.explain(lambda x: jnp.exp(x).sum(0), x, rounds=1).as_text("kernels")
    assert sums.count("kernel ") > 1
