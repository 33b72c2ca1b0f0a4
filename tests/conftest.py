"""What holds for every test.

Ctrl-C works, also where the tests were started in the background: a shell without job control
starts background commands with SIGINT ignored, and Python then leaves it so: tests that interrupt
themselves would wait for ever.

JAX, where tests compare with it, rounds float16 as on most machines: on processors with half
arithmetic (AVX512-FP16) XLA contracts products and sums of halves, rounded once; elsewhere, and
when asked to leave AVX-512 alone, each operation rounds.
"""

import os
import signal
from pathlib import Path

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CPU = Path("/proc/cpuinfo")
if CPU.exists() and "avx512_fp16" in CPU.read_text():
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_max_isa=AVX2")
