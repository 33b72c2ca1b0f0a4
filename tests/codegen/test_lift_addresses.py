"""What of a loop's addresses comes before it, and what is left in its body."""

import re

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.codegen.lift_addresses import MOST_CARRIED, MOST_POINTERS, Stepped, lift_addresses


def lines(text: str) -> list[str]:
    return [f"  {line.strip()}" for line in text.strip().splitlines()]


def test_what_no_turn_changes_comes_before():
    body = lines("""
        %a = mul i64 %row, %s1
        %b = add i64 %a, 4
        %p = getelementptr float, ptr %b0, i64 %b
        %v = load float, ptr %p
    """)
    found = lift_addresses(body, "%i", {})
    assert found == (body[:3], body[3:], {})


def test_what_a_turn_computes_stays():
    body = lines("""
        %v = load i64, ptr %b1
        %a = mul i64 %v, %s1
        %b = add i64 %c, %a
        %d = sub i64 %i, %s1
        %p = getelementptr float, ptr %b0, i64 %b
    """)
    assert lift_addresses(body, "%i", {"%c": "%b"}) == ([], body, {})


def test_a_product_goes_on_by_sums():
    body = lines("""
        %a = mul i64 %i, %s1
        %b = add i64 %s2, %a
        %p = getelementptr float, ptr %b0, i64 %b
        %q = getelementptr float, ptr %b1, i64 %a
    """)
    carried = {"%a": Stepped("%s1", None), "%b": Stepped("%s1", "%s2")}
    assert lift_addresses(body, "%i", {}) == ([], body[2:], carried)
    only = lift_addresses(body[:3], "%i", {})
    assert only.carried == {"%b": carried["%b"]}  # the product by itself has no reader


def test_products_that_leave_a_turn_are_carried():
    body = lines("%a = mul i64 %i, %s1")
    assert lift_addresses(body, "%i", {"%c": "%a"}).carried == {"%a": Stepped("%s1", None)}
    assert lift_addresses(body, "%i", {}) == ([], [], {})


def test_no_more_products_than_registers():
    body = lines("\n".join(
        f"%a{n} = mul i64 %i, %s{n}\n%p{n} = getelementptr float, ptr %b0, i64 %a{n}"
        for n in range(MOST_CARRIED + 1)
    ))  # fmt: skip
    assert lift_addresses(body, "%i", {}) == ([], body, {})
    assert len(lift_addresses(body[2:], "%i", {}).carried) == MOST_CARRIED


def test_elements_are_counted_from_pointers():
    body = lines("""
        %a = add i64 %row, %i
        %p = getelementptr float, ptr %b0, i64 %a
        %c = add i64 %a, 8
        %q = getelementptr float, ptr %b0, i64 %c
        %d = add i64 %a, %s3
        %r = getelementptr float, ptr %b1, i64 %d
        %v = load float, ptr %r
    """)
    before, left, carried = lift_addresses(body, "%i", {})
    assert carried == {} and [line.split(" = ")[1] for line in before] == [
        "add i64 %row, %s3",
        "getelementptr float, ptr %b0, i64 %row",
        f"getelementptr float, ptr %b1, i64 {before[0].split()[0]}",
    ]
    first, second = (line.split()[0] for line in before[1:])
    assert left == [
        f"  {first}.at = getelementptr float, ptr {first}, i64 %i",
        f"  {second}.at = getelementptr float, ptr {second}, i64 %i",
        f"  %p = getelementptr float, ptr {first}.at, i64 0",
        f"  %q = getelementptr float, ptr {first}.at, i64 8",
        f"  %r = getelementptr float, ptr {second}.at, i64 0",
        body[-1],
    ]


def test_no_more_pointers_than_registers():
    body = lines("\n".join(
        f"%a{n} = add i64 %i, %s{n}\n%p{n} = getelementptr float, ptr %b0, i64 %a{n}"
        for n in range(MOST_POINTERS + 1)
    ))  # fmt: skip
    assert lift_addresses(body, "%i", {}) == ([], body, {})


def test_two_loops_make_no_name_twice():
    names = []
    for index in ("%i", "%j"):
        body = lines(f"""
            %a{index[1:]} = add i64 %row, {index}
            %d{index[1:]} = add i64 %a{index[1:]}, %s3
            %p{index[1:]} = getelementptr float, ptr %b1, i64 %d{index[1:]}
        """)
        found = lift_addresses(body, index, {})
        names += [line.split()[0] for line in (*found.before, *found.lines)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_strides_that_only_the_caller_knows(rows):
    """One kernel for matrices of all widths: down columns, along rows, and both."""
    for width in (1, 5, 8, 33, 100):
        x = np.random.default_rng(width).normal(size=(rows, width)).astype(np.float32)
        f = jitney.jit(lambda x: (x.sum(0), x[::-1].max(0), (x - x.mean(0)).T @ x, x.cumsum(0)))
        wanted = x.sum(0), x.max(0), (x - x.mean(0)).T @ x, x.cumsum(0)
        for got, want in zip(f(jnp.asarray(x)), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


def test_a_loop_down_columns_multiplies_nothing():
    """The products of rows and strides are sums in machine code."""
    x = jnp.ones((256, 64))
    text = jitney.explain(lambda x: x.max(0), x, rounds=1).as_text("llvm")
    bodies = re.findall(r"(?m)^(\S+\.body\S*):\n((?:  .*\n)+)", text)
    innermost = [body for name, body in bodies if f"br label %{name}.latch" in body]
    assert innermost and not any("mul i64" in body for body in innermost)
