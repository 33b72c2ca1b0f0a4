"""Counters around a piece of code, and the table of programs other folders use as well."""

import sys
from pathlib import Path

import pytest

from jitney import _native
from jitney.backend import object_cache
from jitney.base import debug

sys.path.insert(0, str(Path(__file__).parent))


class Delta:
    """What happened since: `traces`, `compiles`, `machine_code`, `misses`, native counters."""

    def __init__(self):
        self.counts, self.native = self._read()

    @staticmethod
    def _read():
        counts = {**debug.counts(), **{f"code_{k}": v for k, v in object_cache.counters.items()}}
        return counts, _native.counters()

    def __getattr__(self, name):
        counts, native = self._read()
        if name in native:
            return native[name] - self.native[name]
        return counts.get(name, 0) - self.counts.get(name, 0)

    @property
    def machine_code(self):
        """Kernels given to LLVM or read from disk: code this process did not have."""
        return self.code_compiled + self.code_disk_hits

    def nothing_but_native(self):
        return not (self.traces or self.compiles or self.eager_compiles or self.machine_code
                    or self.misses)


@pytest.fixture
def since():
    """since() starts counting."""
    return Delta


@pytest.fixture
def reports():
    """reports(fun, *args, **jit options): [(kind, name)] of the compiled program's steps."""
    import jitney

    def read(fun, *args, **options):
        compiled = jitney.jit(fun, **options).lower(*args).compile()
        return [(r.kind, r.name) for r in compiled.runtime_executable().reports]

    return read
