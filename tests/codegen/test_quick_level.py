"""Kernels that compile quickly keep what lives across blocks in registers all the same."""

import re

from jitney.backend.host import host_target
from jitney.backend.llvm import assembly_of

SUM = """
define void @k(ptr %ptrs, ptr %params, i64 %lo, i64 %hi) {
entry:
  %a = load ptr, ptr %ptrs
  br label %head
head:
  %i = phi i64 [ %lo, %entry ], [ %next, %body ]
  %sum = phi <4 x float> [ zeroinitializer, %entry ], [ %more, %body ]
  %go = icmp slt i64 %i, %hi
  br i1 %go, label %body, label %done
body:
  %p = getelementptr <4 x float>, ptr %a, i64 %i
  %x = load <4 x float>, ptr %p, align 4
  %more = fadd <4 x float> %sum, %x
  %next = add i64 %i, 1
  br label %head
done:
  store <4 x float> %sum, ptr %a, align 4
  ret void
}
"""


def test_a_loop_of_level_0_keeps_its_sum_in_a_register():
    text = assembly_of(SUM, host_target(), 0)
    assert "addps" in text
    assert not re.search(r"\((%rsp|%rbp)", text), text


def test_levels_write_nearly_as_much():
    lengths = [len(assembly_of(SUM, host_target(), level).splitlines()) for level in (0, 2)]
    assert lengths[0] <= lengths[1] + 10
