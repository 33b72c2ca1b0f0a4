"""Loops whose turns do the ends of some vectors beside the beginnings of others: where they are
cut, and that every bit is that of loops that do one vector after another."""

import re
from collections import OrderedDict

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.backend import object_cache
from jitney.backend.host import host_target
from jitney.codegen import vector_loops
from jitney.codegen.loop_parts import find_parts
from jitney.codegen.rolled_loop import ENOUGH_LINES, can_roll
from jitney.codegen.staggered_loop import type_of

WIDE = pytest.mark.skipif(not host_target().avx512, reason="needs 32 vector registers")

PROGRAMS = {
    "softmax": lambda x: jax.nn.softmax(x, axis=-1),
    "softmax of columns": lambda x: jax.nn.softmax(x, axis=0),
    "log-sum-exp": lambda x: jax.nn.logsumexp(x, axis=-1),
    "log-softmax": lambda x: jax.nn.log_softmax(x, axis=-1),
    "exponentials over their mean": lambda x: jnp.exp(x) / jnp.exp(x).mean(-1, keepdims=True),
    "entropy": lambda x: -(jax.nn.softmax(x) * jax.nn.log_softmax(x)).sum(-1),
}

ALWAYS = ["softmax", "softmax of columns"]
if host_target().vectors_a_cycle < 4:  # whose exponentials near a number are longer chains
    ALWAYS.append("log-sum-exp")


def numbers(*shape, dtype=np.float32):
    x = np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype) * 4
    x.flat[:: 7919] = -np.inf
    x.flat[3 :: 9973] = np.nan
    x.flat[5 :: 12345] = 1e30
    return x


def compiled_anew(monkeypatch, choose, fun, *arguments) -> list[np.ndarray]:
    """Results of kernels that are not met from earlier: loops are staggered as `choose` says."""
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")
    monkeypatch.setattr(object_cache, "_regions", OrderedDict())
    monkeypatch.setattr(vector_loops, "find_parts", choose)
    jax.clear_caches()
    results = jax.tree_util.tree_leaves(jax.jit(fun)(*arguments))
    jax.clear_caches()
    return [np.asarray(r) for r in results]


def compare(monkeypatch, fun, *arguments) -> int:
    """How many loops are staggered; every bit is that of loops that are not."""
    found = []

    def choose(*body):
        found.append(find_parts(*body))
        return found[-1]

    results = compiled_anew(monkeypatch, choose, fun, *arguments)
    plain = compiled_anew(monkeypatch, lambda *_: None, fun, *arguments)
    for one, other in zip(results, plain, strict=True):
        assert one.tobytes() == other.tobytes()
    return sum(parts is not None for parts in found)


# Three turns, a few, and many; whole vectors and ends; one row, two, an odd number.
@WIDE
@pytest.mark.parametrize("shape", [(1, 3000), (2, 100), (3, 127), (33, 257), (70, 300),
                                   (101, 1025), (5, 1024), (300, 310)])  # fmt: skip
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_bit_is_that_of_plain_loops(monkeypatch, name, shape):
    found = compare(monkeypatch, PROGRAMS[name], numbers(*shape))
    assert found or name not in ALWAYS or shape != (300, 310)


@WIDE
@pytest.mark.parametrize("shape", [(101, 300), (300, 1057), (1000, 256), (130, 1024)])
def test_columns(monkeypatch, shape):
    assert compare(monkeypatch, PROGRAMS["softmax of columns"], numbers(*shape))


ELEMENTS = {
    "exp": jnp.exp,
    "gelu": jax.nn.gelu,
    "softplus": jax.nn.softplus,
    "sum of exponentials": lambda x: jnp.exp(x).sum(),
    "sum of a long chain": lambda x: jax.nn.softplus(x).sum(),
    "the greatest, and a sum": lambda x: (jax.nn.gelu(x).max(), jax.nn.gelu(x).sum()),
    "sums of rows": lambda x: jnp.exp(x.reshape(-1, 500)).sum(1),
    "two results": lambda x: (jnp.tanh(x), jnp.exp(x) - jnp.exp(2 * x)),
    "backwards": lambda x: jnp.exp(x[::-1]),
    "part of it": lambda x: jnp.exp(x[3:-5]) * jnp.log1p(x[7:-1] ** 2),
    "elements by number": lambda x: jnp.exp(-x * jnp.arange(x.size)),
    "whole numbers": lambda x: jnp.exp(x.astype(jnp.int16) * 0.5).astype(jnp.int32),
    "quotients": lambda x: jnp.exp(x) + jnp.arange(x.size) // (1 + abs(jnp.int32(x) % 7)),
    "looked up": lambda x: jnp.exp(x) * x[jnp.argsort(jnp.cos(x[:999]))[jnp.int32(abs(x)) % 999]],
    "rows": lambda x: jnp.exp(x[: x.size // 3 * 3].reshape(3, -1).T).T * x[0],
}


# Pieces end with whole turns and in the midst of them; rows of a length that is no whole vector.
@WIDE
@pytest.mark.parametrize("size", [66000, 262500, 270000, 401500])
@pytest.mark.parametrize("name", ELEMENTS)
def test_elements(monkeypatch, name, size):
    found = compare(monkeypatch, ELEMENTS[name], numbers(size))
    staggered = ["exp", "gelu", "softplus"]
    if host_target().vectors_a_cycle >= 4 and size > 262144:  # else it has fewer parts than three
        staggered.append("sum of exponentials")
    assert found or name not in staggered


@WIDE
def test_long_loops_have_no_code_for_their_ends():
    """One loop and what is left, as short ones; not where that costs (sums of exponentials)."""
    x, sums = numbers(300_000), lambda fun: lambda x: fun(x).sum()
    count = lambda fun, x: jax.explain(fun, x, rounds=1).as_text("llvm").count(" = fmul <")
    for fun in (jnp.exp, jax.nn.gelu, sums(jax.nn.softplus)):
        assert 0 < count(fun, x) <= count(fun, x[:9000])
    assert count(sums(jnp.exp), x) > count(sums(jnp.exp), x[:9000])


@WIDE
def test_loops_in_loops_are_rolled_sooner():
    """As many elements: of a call by itself not, of one that is repeated."""
    x = numbers(5000)
    text = lambda fun: jax.explain(fun, x, rounds=1).as_text("kernels")
    once = lambda x: jnp.exp(x[::-1]) - jnp.tanh(x)
    again = lambda x: jax.lax.fori_loop(0, 9, lambda _, x: once(x), x)
    assert " rolled" not in text(once) and " rolled" in text(again)


@WIDE
@pytest.mark.parametrize("fun", [jnp.exp, lambda x: jnp.exp(x[::-1]),
                                 lambda x: x.at[1:].set(jnp.exp(x[:-1]))])  # fmt: skip
def test_results_in_the_place_of_an_argument(fun):
    x = numbers(300_001)
    want = np.asarray(jax.jit(fun)(x))
    got = np.asarray(jax.jit(fun, donate_argnums=0)(jnp.asarray(x)))
    assert got.tobytes() == want.tobytes()


@WIDE
def test_few_elements_are_compiled_quickly(monkeypatch):
    assert compare(monkeypatch, jnp.exp, numbers(60_000)) == 0
    assert compare(monkeypatch, lambda x: jnp.exp(x).sum(), numbers(60_000)) == 0


def test_what_may_be_rolled():
    body = find_parts(EXPONENTIAL, "%i", {}, 2)
    assert can_roll(body)
    store = next(line for line in body.lines if line.text.startswith("  store"))
    store.part = 0  # it would store the first vector before that is computed
    assert not can_roll(body)
    for line in (
        "  %d = sdiv <16 x i32> %x, %x",  # of zeros
        "  %d = call <16 x float> @llvm.masked.gather.v16f32(<16 x ptr> %z)",  # at no address
    ):
        assert not can_roll(find_parts([*EXPONENTIAL[:-1], line], "%i", {}, 2))
    sums = ["  %c = fadd <16 x float> %r, %v"]
    assert not can_roll(find_parts([*EXPONENTIAL, *sums], "%i", {"%r": "%c"}, 2))
    more = [f"  %m{k} = fmul <16 x float> %v, %t" for k in range(ENOUGH_LINES)]
    assert can_roll(find_parts([*EXPONENTIAL, *more, *sums], "%i", {"%r": "%c"}, 2))


@WIDE
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32", "int8"])
@pytest.mark.parametrize("name", ["softmax", "softmax of columns", "log-sum-exp"])
def test_element_types(monkeypatch, name, dtype):
    x = np.nan_to_num(numbers(300, 310), neginf=-9, posinf=9).clip(-9, 9)
    with jax.enable_x64(True):
        compare(monkeypatch, PROGRAMS[name], jnp.asarray(x, dtype))


EXPONENTIAL = """\
  %a = add i64 %row, %i
  %p = getelementptr float, ptr %b0, i64 %a
  %x = load <16 x float>, ptr %p, align 4
  %w = fsub <16 x float> %m, %n
  %y = fmul <16 x float> %x, %w
  %z = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %y, <16 x float> %y)
  %u = call <16 x float> @llvm.fma.v16f32(<16 x float> %z, <16 x float> %z, <16 x float> %y)
  %v = fdiv <16 x float> %u, %w
  %l = fcmp ogt <16 x float> %s, %v
  %t = select <16 x i1> %l, <16 x float> %s, <16 x float> %v
  %q = getelementptr float, ptr %b1, i64 %a
  store <16 x float> %v, ptr %q, align 4
""".splitlines()


def test_parts_of_a_body():
    body = find_parts(EXPONENTIAL, "%i", {"%s": "%t"})
    assert [line.name for line in body.fixed] == ["%w"]
    assert set(body.addresses) == {"%a", "%p", "%q"}
    parts = {line.name: line.part for line in body.lines}
    assert parts["%x"] == 0 and parts["%v"] >= 1
    assert parts["%l"] == parts["%t"], "what is carried is computed in one part"
    made = {}
    for line in body.lines:  # nothing is read before it is there
        assert all(made.get(read, 0) <= line.part for read in line.awaits)
        made[line.name] = line.part
    assert all(1 <= ago <= body.last for _, ago in body.waiting())


def test_chains_that_lie_apart_are_groups():
    """The copies of a row are written line by line, another row behind them."""
    reads = [line for line in EXPONENTIAL if "store" not in line and "%q" not in line]
    copies = [copy for line in reads for copy in (line, line.replace("%", "%c."))]
    copies = [re.sub(r"%c\.(i|row|b0|m|n)\b", r"%\1", line) for line in copies]
    lines = copies + [line.replace("%", "%r.").replace("%r.i", "%i") for line in reads]
    body = find_parts(lines, "%i", {f"%{k}s": f"%{k}t" for k in ("", "c.", "r.")})
    rows = [{line.name.startswith("%r.") for line in chain} for chain in body.chains()]
    assert rows == [{False}, {True}]
    assert len(find_parts(EXPONENTIAL, "%i", {"%s": "%t"}).chains()) == 1, "one that stores"


@pytest.mark.parametrize("extra, where", [
    ("  br label %elsewhere", 5),
    ("elsewhere:", 5),
    ("  %again = load float, ptr %q", 12),  # of what may have just been written
])  # fmt: skip
def test_bodies_that_stay_whole(extra, where):
    lines = [*EXPONENTIAL[:where], extra, *EXPONENTIAL[where:]]
    assert find_parts(lines, "%i", {"%s": "%t"}) is None


def test_short_chains_stay_whole():
    assert find_parts(EXPONENTIAL[:3], "%i", {}) is None


def test_what_is_read_a_turn_later_stays_whole():
    """%s is not what the turn makes of %s, but what it has read: parts would read another's."""
    assert find_parts(EXPONENTIAL, "%i", {"%s": "%x"}) is None


def test_many_values_across_a_cut_stay():
    many = [line.replace("%", f"%c{k}.") for k in range(12) for line in EXPONENTIAL]
    many = [re.sub(r"%c\d+\.(i|row|b0|b1|m|n)\b", r"%\1", line) for line in many]
    reads = [line for line in many if "store" not in line]
    assert find_parts(reads, "%i", {f"%c{k}.s": f"%c{k}.t" for k in range(12)}) is None


@pytest.mark.parametrize("text, type_", [
    ("fadd <16 x float> %a, %b", "<16 x float>"),
    ("load <8 x double>, ptr %p, align 8", "<8 x double>"),
    ("fcmp olt <16 x float> %a, %b", "<16 x i1>"),
    ("icmp slt i64 %a, %b", "i1"),
    ("select <16 x i1> %m, <16 x half> %a, <16 x half> %b", "<16 x half>"),
    ("fpext <16 x bfloat> %a to <16 x float>", "<16 x float>"),
    ("bitcast <16 x i1> %a to i16", "i16"),
    ("extractelement <16 x float> %a, i64 3", "float"),
    ("shufflevector <16 x i8> %a, <16 x i8> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>",
     "<4 x i8>"),
    ("call <16 x float> @llvm.fma.v16f32(<16 x float> %a, <16 x float> %b, <16 x float> %c)",
     "<16 x float>"),
])  # fmt: skip
def test_types_of_results(text, type_):
    assert type_of(f"  %r = {text}") == type_
