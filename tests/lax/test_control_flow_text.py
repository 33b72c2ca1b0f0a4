"""What loops and branches look like as programs, and what their errors say."""

# ruff: noqa: E501 (messages are one line)

import re
import textwrap

import numpy as np
import pytest
from helpers import text_of

import jitney
import jitney.numpy as jnp
from jitney import lax

X = np.arange(3, dtype=np.float32)
W = jnp.ones((3, 3))


def _body(c, x):
    return c + x, c


PROGRAMS = {
    "while": (lambda x: lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * x), (0, x)),
              (1.0,), """
        { lambda ; a:f32[]. let
            b:i32[] c:f32[] = while[
              body_jaxpr={ lambda ; d:f32[] e:i32[] f:f32[]. let
                  g:i32[] = add e 1:i32[]
                  h:f32[] = mul f d
                in (g, h) }
              body_nconsts=1
              cond_jaxpr={ lambda ; i:i32[] j:f32[]. let
                  k:bool[] = lt i 10:i32[]
                in (k,) }
              cond_nconsts=0
            ] a 0:i32[] a
          in (b, c) }"""),
    "fori_dynamic_with_a_fixed_carry": (
        lambda x, n: lax.fori_loop(0, n, lambda i, c: (c[0], c[1] + i), (x, 0)), (1.0, 3), """
        { lambda ; a:f32[] b:i32[]. let
            _:i32[] _:i32[] c:i32[] = while[
              body_jaxpr={ lambda ; d:f32[] e:i32[] f:i32[] g:i32[]. let
                  h:i32[] = add e 1:i32[]
                  i:i32[] = add g e
                in (h, f, i) }
              body_nconsts=1
              cond_jaxpr={ lambda ; j:i32[] k:i32[] l:i32[]. let
                  m:bool[] = lt j k
                in (m,) }
              cond_nconsts=0
            ] a 0:i32[] b 0:i32[]
          in (a, c) }"""),
    "promoted_carry": (lambda xs: lax.scan(lambda c, x: (c + x, c), 0, xs), (X,), """
        { lambda ; a:f32[3]. let
            b:f32[] c:f32[3] = scan[
              jaxpr={ lambda ; d:f32[] e:f32[]. let f:f32[] = add d e in (f, d) }
              length=3
              num_carry=1
              num_consts=0
              reverse=False
              unroll=1
            ] 0.0:f32[] a
          in (b, c) }"""),
    "handed_on": (lambda a, b, k: lax.scan(
        lambda c, x: ((c[0], c[1] + c[0] @ W * k), (c[0], x)), (a, b), W), (X, X, X), """
        { lambda a:f32[3,3]; b:f32[3] c:f32[3] d:f32[3]. let
            e:f32[3] f:f32[3,3] = scan[
              jaxpr={ lambda ; g:f32[3] h:f32[3,3] i:f32[3] j:f32[3] k:f32[3]. let
                  l:f32[3] = dot_general[
                    dimension_numbers=(([0], [0]), ([], []))
                    preferred_element_type=float32
                  ] g h
                  m:f32[3] = mul l i
                  n:f32[3] = add j m
                in (n, g) }
              length=3
              num_carry=1
              num_consts=3
              reverse=False
              unroll=1
            ] b a d c a
          in (b, e, f, a) }"""),
    "one_body_twice": (lambda c, xs: (lax.scan(_body, c, xs), lax.scan(_body, c, xs)),
                       (np.float32(0), X), """
        let jaxpr = { lambda ; a:f32[] b:f32[]. let c:f32[] = add a b in (c, a) } in
        { lambda ; d:f32[] e:f32[3]. let
            f:f32[] g:f32[3] = scan[
              jaxpr=jaxpr
              length=3
              num_carry=1
              num_consts=0
              reverse=False
              unroll=1
            ] d e
            h:f32[] i:f32[3] = scan[
              jaxpr=jaxpr
              length=3
              num_carry=1
              num_consts=0
              reverse=False
              unroll=1
            ] d e
          in (f, g, h, i) }"""),
    "cond_with_closures": (lambda p, x: lax.cond(p, lambda: (W @ x, x), lambda: (x * 2, x)),
                           (True, X), """
        { lambda a:f32[3,3]; b:bool[] c:f32[3]. let
            d:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b
            e:f32[3] = cond[
              branches=(
                { lambda ; f:f32[3,3] g:f32[3]. let h:f32[3] = mul g 2.0:f32[] in (h,) }
                { lambda ; i:f32[3,3] j:f32[3]. let
                    k:f32[3] = dot_general[
                      dimension_numbers=(([1], [0]), ([], []))
                      preferred_element_type=float32
                    ] i j
                  in (k,) }
              )
            ] d a c
          in (e, c) }"""),
    "old_form": (lambda p, x: lax.cond(p, x, lambda v: v + 1, x, lambda v: v * 2),
                 (True, 1.0), """
        { lambda ; a:bool[] b:f32[]. let
            c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] a
            d:f32[] = cond[
              branches=(
                { lambda ; e:f32[] f:f32[]. let g:f32[] = mul f 2.0:f32[] in (g,) }
                { lambda ; h:f32[] i:f32[]. let j:f32[] = add h 1.0:f32[] in (j,) }
              )
            ] c b b
          in (d,) }"""),
    "switch": (lambda i, x: lax.switch(i, [lambda v: v * 2, lambda v: v], x), (1, 1.0), """
        { lambda ; a:i32[] b:f32[]. let
            c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] a
            d:i32[] = clamp 0:i32[] c 1:i32[]
            e:f32[] = cond[
              branches=(
                { lambda ; f:f32[]. let g:f32[] = mul f 2.0:f32[] in (g,) }
                { lambda ; h:f32[]. let  in (h,) }
              )
            ] d b
          in (e,) }"""),
    "switch_of_one": (lambda i, x: lax.switch(i, [lambda v: v * 2], x), (1, 1.0), """
        { lambda ; a:i32[] b:f32[]. let c:f32[] = mul b 2.0:f32[] in (c,) }"""),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    fun, args, expected = PROGRAMS[name]
    assert text_of(fun, *args) == textwrap.dedent(expected).strip()


def test_weak_types():
    def avals(fun, *args):
        return jitney.make_jaxpr(fun)(*args).out_avals

    same = avals(lambda x: lax.fori_loop(0, 5, lambda i, c: c, x), 1.0)
    assert same[0].weak_type
    last, stacked = avals(lambda xs: lax.scan(lambda c, x: (c + x, c), 0.0, xs), X)
    assert not last.weak_type and stacked.weak_type
    (promoted,) = avals(lambda n: lax.while_loop(lambda c: c < n, lambda c: c + 1.5, 0), 1)
    assert promoted.dtype == np.float32 and not promoted.weak_type
    one, both = avals(lambda p: lax.cond(p, lambda: (1, 2.0), lambda: (jnp.int32(1), 2.0)), True)
    assert not one.weak_type and both.weak_type


# --- errors --------------------------------------------------------------------------------------

ERRORS = {
    "carry_types": (TypeError, lambda: lax.while_loop(
        lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1].astype(int), {"w": jnp.ones(3)}),
        (0, 1.0, {"w": jnp.float32(0)})), """
        while_loop body function carry input and carry output must have equal types, but they differ:

          * the input carry component c[1] has type float32[] but the corresponding output carry component has type int32[], so the dtypes do not match;
          * the input carry component c[2]['w'] has type float32[] but the corresponding output carry component has type float32[3], so the shapes do not match.

        Revise the function <lambda> at FILE so that all output types match the corresponding input types.
        For c[1]: start from a value of dtype int32, or return it as .astype('float32').
        For c[2]['w']: start from an array of shape (3,), e.g. jnp.zeros((3,))."""),
    "scan_carry_type": (TypeError, lambda: lax.scan(lambda s, x: (s[None], x), 0.0, X), """
        scan body function carry input and carry output must have equal types, but they differ:

        The input carry s has type float32[] but the corresponding output carry component has type float32[1], so the shapes do not match.

        Revise the function <lambda> at FILE so that all output types match the corresponding input types.
        For s: start from an array of shape (1,), e.g. jnp.zeros((1,))."""),
    "fori_structure": (TypeError, lambda: jitney.jit(lambda n: lax.fori_loop(
        0, n, lambda i, c: (c[0], c), (0, 1)))(3), """
        fori_loop body function carry input and carry output must have the same pytree structure, but they differ:

        The input carry component c[1] is an array but the corresponding component of the carry output is a tuple, so their Python types differ.

        Revise the function <lambda> at FILE so that the carry output has the same pytree structure as the carry input."""),
    "missing_key": (TypeError, lambda: lax.while_loop(
        lambda c: False, lambda c: {"a": 1}, {"a": 1, "b": 2}), """
        while_loop body function carry input and carry output must have the same pytree structure, but they differ:

        The input carry c is a dict of length 2 but the corresponding component of the carry output is a dict of length 1, so the lengths do not match.

        Revise the function <lambda> at FILE so that the carry output has the same pytree structure as the carry input."""),
    "predicate_shape": (TypeError, lambda: lax.while_loop(lambda c: c < 1, lambda c: c, X), """
        cond_fun must return a boolean scalar, but got output type(s) [ShapedArray(bool[3])] from <lambda> at FILE. Reduce it with jnp.all or jnp.any."""),
    "predicate_type": (TypeError, lambda: lax.while_loop(lambda c: 1, lambda c: c, 0), """
        cond_fun must return a boolean scalar, but got output type(s) [ShapedArray(int32[], weak_type=True)] from <lambda> at FILE. Write the comparison out, e.g. x != 0."""),
    "predicate_tree": (TypeError, lambda: lax.while_loop(lambda c: (c, c), lambda c: c, 0), """
        cond_fun must return a boolean scalar, but got pytree PyTreeDef((*, *)) from <lambda> at FILE."""),
    "branch_types": (TypeError, lambda: lax.cond(
        True, lambda: (1.0, {"a": X}), lambda: (1, {"a": 1.0})), """
        cond branches must have equal output types but they differ.

        true_fun is <lambda> at FILE
        false_fun is <lambda> at FILE

          * the output of true_fun at path [0] has type float32[] but the corresponding output of false_fun has type int32[], so the dtypes do not match;
          * the output of true_fun at path [1]['a'] has type float32[3] but the corresponding output of false_fun has type float32[], so the shapes do not match.

        Revise true_fun and/or false_fun so that all output types match."""),
    "branch_trees": (TypeError, lambda: lax.switch(0, [lambda: 1, lambda: 2, lambda: None]), """
        switch branch outputs must have the same pytree structure, but they differ:

        branch 0 is <lambda> at FILE
        branch 2 is <lambda> at FILE

        branch 0 output is an array but branch 2 output is None, so their Python types differ.

        Revise branch 0 and/or branch 2 so that they have the same pytree structure."""),
    "cond_predicate": (TypeError, lambda: lax.cond(X > 0, lambda: 1, lambda: 2), """
        Pred must be a scalar, got [False  True  True] of shape (3,). Reduce it with jnp.all or jnp.any, or choose elementwise with jnp.where."""),
    "cond_predicate_kind": (TypeError, lambda: lax.cond(1j, lambda: 1, lambda: 2), """
        Pred type must be either boolean or number, got complex64."""),
    "switch_index": (TypeError, lambda: lax.switch(1.0, [lambda: 1, lambda: 2]), """
        Index type must be an integer, got 1.0 as float32"""),
    "no_branches": (ValueError, lambda: lax.switch(0, []), "Empty branch sequence"),
    "not_callable": (TypeError, lambda: lax.while_loop(3, lambda c: c, 0), """
        lax.while_loop: body_fun and cond_fun arguments should be callable. (got 3)"""),
    "not_a_pair": (TypeError, lambda: lax.scan(lambda c, x: (c, x, x), X, X), """
        scan body output must be a pair, got (ShapedArray(float32[3]), ShapedArray(float32[]), ShapedArray(float32[])). Return (carry, y); with nothing to stack, (carry, None)."""),
    "lengths": (ValueError, lambda: lax.scan(lambda c, x: (c, x), 0, {"a": X, "b": W[0, :2]}), """
        scan got values with different leading axis sizes: 3, 2. (xs['a']: 3, xs['b']: 2)"""),
    "length_argument": (ValueError, lambda: lax.scan(lambda c, x: (c, x), 0, X, length=5), """
        scan got `length` argument of 5 which disagrees with leading axis sizes [3]."""),
    "no_length": (ValueError, lambda: lax.scan(lambda c, x: (c, x), 0, None), """
        scan got no values to scan over and `length` not provided."""),
    "no_axis": (ValueError, lambda: lax.scan(lambda c, x: (c, x), 0, (X, 1.0)), """
        scan got value with no leading axis to scan over: 1.0 (xs[1]). Values that are the same in every step can be closed over."""),
    "bounds": (TypeError, lambda: lax.fori_loop(0.0, 3, lambda i, c: c, 0), """
        lower and upper arguments to fori_loop must have equal types, got float32 and int32"""),
    "unroll": (ValueError, lambda: jitney.jit(lambda n: lax.fori_loop(
        0, n, lambda i, c: c, 0, unroll=3))(3), """
        Can only use `unroll` in `fori_loop` if the loop bounds are statically known."""),
    "operand": (TypeError, lambda: lax.cond(True, lambda x: x, lambda x: x, {"k": "a"}), """
        cond: operands[0]['k'] = 'a' of type <class 'str'> is not a valid JAX type. Operands are arrays, scalars, or trees of them; the function may close over anything else."""),
    "result": (TypeError, lambda: lax.cond(True, lambda: [1, "a"], lambda: [1, "b"]), """
        cond function <lambda> at FILE returned 'a' of type <class 'str'> at [1], which is not a valid JAX type: it must return arrays, scalars, or trees of them."""),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    kind, action, expected = ERRORS[name]
    with pytest.raises(kind) as raised:
        action()
    text = re.sub(r"at \S+:\d+", "at FILE", str(raised.value))
    assert text == textwrap.dedent(expected).strip()


def test_a_traced_length_says_what_to_write():
    with pytest.raises(jitney.errors.ConcretizationTypeError, match="use `while_loop`"):
        jitney.jit(lambda n: lax.scan(lambda c, x: (c, x), 0, None, length=n))(3)
