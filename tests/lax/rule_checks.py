"""Checks that hold for every primitive: its rules must agree with its meaning.

`check_rules(f, *args)` traces `f`, and for each equation checks
- the reference's shapes and dtypes against the type rule,
- the batching rule against a loop, for every choice of batched operands,
- the jvp against a difference quotient, and the transpose against the jvp:
  <ct, J t> = <transpose(ct), t>.
"""

import itertools

import numpy as np

from jitney.base import dtypes
from jitney.core import interpret
from jitney.core.avals import get_aval, numpy_value, to_array
from jitney.core.jaxpr import DebugInfo, Literal
from jitney.core.staging import trace_flat
from jitney.transforms.jvp import Zero, instantiate_zeros, jvp_rules
from jitney.transforms.transpose import UndefinedPrimal, transpose_rules
from jitney.transforms.vmap import batch_rules


def array(values, dtype=None):
    """A jitney array; numbers are clipped into integer dtypes."""
    values = np.asarray(values)
    if dtype is None:
        return to_array(values)
    dtype = dtypes.canonicalize_dtype(dtype)
    if values.dtype.kind == "f" and dtypes.is_integer(dtype):
        info = dtypes.iinfo(dtype)
        values = np.clip(values, float(info.min), float(info.max))
    return to_array(values.astype(dtype))


def normal(*shape, dtype="float32", seed=0):
    return array(np.random.RandomState(seed).randn(*shape) * 3, dtype)


def as_numpy(x):
    value = np.asarray(numpy_value(x))
    return value.astype(np.float32) if value.dtype.kind == "V" or value.dtype.itemsize == 2 \
        and value.dtype.kind == "f" else value


def jaxpr_text(f, *args):
    """The jaxpr of `f` on these arguments, as text."""
    return str(trace(f, *args)[0])


def trace(f, *args):
    def flat(*xs):
        out = f(*xs)
        return list(out) if isinstance(out, (tuple, list)) else [out]

    return trace_flat(flat, [get_aval(a) for a in args], DebugInfo("jit", f))


def check_rules(f, *args, batch=True, jvp=True, transpose=True, tolerance=2e-2):
    """Check every equation of `f` applied to `args` (see the module docstring)."""
    jaxpr, consts = trace(f, *args)
    env = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        operands = [interpret.literal_value(v) if type(v) is Literal else env[v]
                    for v in eqn.invars]
        outs = bound(eqn.primitive, operands, eqn.params)
        for out, var in zip(outs, eqn.outvars, strict=True):
            assert out.aval is var.aval, (eqn, out.aval)
            env[var] = out
        if batch and operands:
            check_batching(eqn.primitive, operands, eqn.params)
        if jvp and any(dtypes.is_inexact(get_aval(x).dtype) for x in operands):
            check_jvp(eqn.primitive, operands, eqn.params, tolerance, transpose)


def bound(primitive, operands, params):
    out = primitive.bind(*operands, **params)
    return list(out) if primitive.multiple_results else [out]


# --- batching --------------------------------------------------------------------------------


def _varied(x, size, dim, seed):
    """A batch of values of the type of `x`, with `x` first."""
    value = np.array(numpy_value(x))
    random = np.random.RandomState(seed)
    rows = [value]
    for _ in range(size - 1):
        if value.ndim == 0 and value.dtype.kind in "iu":
            rows.append(value + value.dtype.type(random.randint(0, 2)))
        else:
            order = random.permutation(value.size)
            rows.append(value.reshape(-1)[order].reshape(value.shape))
    return np.stack(rows, dim).astype(value.dtype)


def check_batching(primitive, operands, params, size=3):
    """The batching rule against a loop, for every non-empty set of batched operands."""
    rule = batch_rules[primitive]
    choices = list(itertools.product([False, True], repeat=len(operands)))[1:]
    for choice in choices[:12]:
        for last in (False, True):
            dims, batched = [], []
            for i, (x, chosen) in enumerate(zip(operands, choice, strict=True)):
                dim = (np.ndim(numpy_value(x)) if last else 0) if chosen else None
                dims.append(dim)
                batched.append(array(_varied(x, size, dim, i)) if chosen else x)
            try:
                out, out_dims = rule(tuple(batched), tuple(dims), **params)
            except NotImplementedError:
                continue
            if not primitive.multiple_results:
                out, out_dims = [out], [out_dims]
            for i in range(size):
                row = [array(np.take(numpy_value(x), i, d)) if d is not None else x
                       for x, d in zip(batched, dims, strict=True)]
                want = bound(primitive, row, params)
                for got, d, expected in zip(out, out_dims, want, strict=True):
                    found = np.asarray(numpy_value(got))
                    found = found if d is None else np.take(found, i, d)
                    np.testing.assert_allclose(
                        as_numpy(array(found)), as_numpy(expected), rtol=1e-4, atol=1e-4,
                        err_msg=f"{primitive} batched at {dims}")


# --- derivatives -----------------------------------------------------------------------------


def _directions(operands):
    """A tangent for every operand that can have one."""
    out = []
    for i, x in enumerate(operands):
        aval = get_aval(x)
        if dtypes.is_inexact(aval.dtype):
            random = np.random.RandomState(i + 7)
            out.append(array(random.randn(*aval.shape), aval.dtype))
        else:
            out.append(Zero(aval.to_tangent_aval()))
    return out


def _moved(x, t, h):
    if type(t) is Zero:
        return x
    return array(np.asarray(numpy_value(x), np.float64) + h * np.asarray(numpy_value(t)),
                 get_aval(x).dtype)


def check_jvp(primitive, operands, params, tolerance, transpose=True):
    """The jvp against a central difference, for all tangents and for each alone."""
    rule = jvp_rules[primitive]
    every = _directions(operands)
    alone = [[t if i == j else Zero(get_aval(x).to_tangent_aval())
              for j, (t, x) in enumerate(zip(every, operands, strict=True))]
             for i in range(len(operands)) if type(every[i]) is not Zero]
    for tangents in [every, *alone]:
        try:
            _, out = rule(list(operands), list(tangents), **params)
        except NotImplementedError:
            continue
        out = list(out) if primitive.multiple_results else [out]
        h = 1e-2
        up = bound(primitive, [_moved(x, t, h) for x, t in zip(operands, tangents, strict=True)],
                   params)
        down = bound(primitive, [_moved(x, t, -h) for x, t in zip(operands, tangents,
                                                                  strict=True)], params)
        for got, a, b in zip(out, up, down, strict=True):
            if not dtypes.is_inexact(a.dtype):
                assert type(got) is Zero
                continue
            got = instantiate_zeros(got)
            want = np.nan_to_num((as_numpy(a).astype(np.float64) - as_numpy(b)) / (2 * h))
            np.testing.assert_allclose(as_numpy(got), want, rtol=tolerance, atol=tolerance,
                                       err_msg=f"jvp of {primitive}")
        if transpose and sum(type(t) is not Zero for t in tangents) == 1:
            check_transpose(primitive, operands, tangents, params)


def check_transpose(primitive, operands, tangents, params):
    """<ct, J t> = <J^T ct, t>, by transposing the equations of the jvp itself."""
    rule = jvp_rules[primitive]
    which = next(i for i, t in enumerate(tangents) if type(t) is not Zero)

    def tangent_map(t):
        given = [t if i == which else z for i, z in enumerate(tangents)]
        out = rule(list(operands), given, **params)[1]
        return [instantiate_zeros(o) for o in (out if primitive.multiple_results else [out])]

    t = tangents[which]
    jaxpr, consts = trace_flat(lambda x: tangent_map(x), [get_aval(t)], DebugInfo("jvp", rule))
    values = interpret.eval_jaxpr(jaxpr, consts, t)
    random = np.random.RandomState(3)
    cts = [array(random.randn(*v.aval.shape), v.aval.dtype) for v in values]
    back = backward(jaxpr, consts, t, cts)
    left = sum(float(np.sum(as_numpy(c) * as_numpy(v))) for c, v in zip(cts, values, strict=True))
    right = float(np.sum(as_numpy(back) * as_numpy(t)))
    scale = sum(float(np.sum(np.abs(as_numpy(c) * as_numpy(v))))
                for c, v in zip(cts, values, strict=True))
    assert abs(left - right) <= 1e-4 * scale + 1e-3, (primitive, left, right)


def backward(jaxpr, consts, t, cts):
    """Transpose a linear program: a reading of the table of transpose rules."""
    env = dict(zip(jaxpr.constvars, consts, strict=True))
    linear = set(jaxpr.invars)
    for eqn in jaxpr.eqns:                               # what does not depend on the input
        if any(v in linear for v in eqn.invars if type(v) is not Literal):
            linear.update(eqn.outvars)
            continue
        values = [interpret.literal_value(v) if type(v) is Literal else env[v]
                  for v in eqn.invars]
        for var, value in zip(eqn.outvars, bound(eqn.primitive, values, eqn.params), strict=True):
            env[var] = value
    found = {}

    def add(var, ct):
        if ct is None or type(ct) is Zero or type(var) is Literal:
            return
        before = found.get(var)
        found[var] = ct if before is None else array(numpy_value(before) + numpy_value(ct))

    for var, ct in zip(jaxpr.outvars, cts, strict=True):
        if type(var) is not Literal and var in linear:
            add(var, ct)
    for eqn in reversed(jaxpr.eqns):
        if not any(v in linear for v in eqn.outvars):
            continue
        out = [found.get(v, Zero(v.aval)) for v in eqn.outvars]
        if all(type(o) is Zero for o in out):
            continue
        operands = [UndefinedPrimal(v.aval) if type(v) is not Literal and v in linear
                    else interpret.literal_value(v) if type(v) is Literal else env[v]
                    for v in eqn.invars]
        rule = transpose_rules[eqn.primitive]
        ct_in = rule(out if eqn.primitive.multiple_results else out[0], *operands, **eqn.params)
        for var, operand, ct in zip(eqn.invars, operands, ct_in, strict=True):
            if type(operand) is UndefinedPrimal:
                if ct is not None and type(ct) is not Zero:
                    assert get_aval(ct).shape == var.aval.shape, (eqn, get_aval(ct), var.aval)
                    assert get_aval(ct).dtype == var.aval.dtype, (eqn, get_aval(ct), var.aval)
                add(var, ct)
            else:
                assert ct is None or type(ct) is Zero, eqn
    result = found.get(jaxpr.invars[0])
    return array(np.zeros(t.shape), t.dtype) if result is None else result


def raises_text(error, call):
    """The text of the error `call()` raises."""
    try:
        call()
    except error as found:
        return str(found)
    raise AssertionError(f"{error.__name__} was not raised")


