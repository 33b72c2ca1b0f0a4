"""`Executable`: a compiled program with everything one may ask about it."""

import math
from dataclasses import dataclass

from ..fuse.buffers import CopyStep, KernelStep
from ..ir.types import nbytes_of

_TRANSCENDENTAL = frozenset(
    """exp exp2 expm1 log log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh
    logistic erf erfc erf_inv erf_inv_published pow cbrt lgamma digamma bessel_i0e
    bessel_i1e""".split()
)
_FREE = frozenset(("const", "param", "load", "index", "reduced", "saved", "bitcast"))


@dataclass
class KernelReport:
    """One step: its name, what it is (kernel, contraction, routine, copy, python), its code."""

    name: str
    kind: str
    step: object
    code: object

    @property
    def bytes_moved(self) -> int:
        """Bytes read and written if every element is touched once."""
        step = self.step
        if isinstance(step, CopyStep):
            return 2 * step.nbytes
        buffers = step.buffers if isinstance(step, KernelStep) else [b for b, _ in step.refs]
        return sum(b.size * nbytes_of(b.code) for b in {b.id: b for b in buffers}.values())

    @property
    def iterations(self) -> int:
        """Innermost iterations of a fused kernel (0 for other steps)."""
        if not isinstance(self.step, KernelStep):
            return 0
        kernel = self.step.slotted.kernel
        rows = math.prod(lo.extent for lo in kernel.rows)
        inner = [math.prod(min(lo.extent, lo.chunk or lo.extent) for lo in s.loops)
                 for s in kernel.stages]  # fmt: skip
        return rows * max([1, *inner])


@dataclass
class MemoryAnalysis:
    """Bytes a call needs; names as in JAX's CompiledMemoryStats."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int


class Executable:
    """`program` is the native executable; `call(arrays)` runs it."""

    def __init__(self, graph, program, reports, plan, target, times, steps):
        self.closed = None
        self.graph = graph
        self.program = program
        self.reports = reports
        self.plan = plan
        self.target = target
        self.times = times
        self.steps = steps
        self.recipe: tuple = ()  # what the program was made of
        self.texts: dict = {}

    def call(self, arrays):
        return self.program.execute(list(arrays))

    @property
    def kernels(self):
        """The reports of generated kernels (fused loops and contractions)."""
        return [r for r in self.reports if r.kind in ("kernel", "contraction")]

    def as_text(self, stage="kernels") -> str:
        """graph | kernels | llvm | asm: the program at a stage."""
        if stage == "graph":
            return str(self.graph)
        if stage in self.texts:
            return self.texts[stage]()
        if stage != "kernels":
            raise ValueError(f"stage {stage!r}: expected graph, kernels, llvm or asm")
        lines = [
            f"program {self.graph.name}: {len(self.reports)} fused steps, workspace "
            f"{self.plan.workspace_bytes} bytes"
        ]
        for number, report in enumerate(self.reports):
            lines.append(f"[{number}] {report.kind} {report.name}")
            slotted = getattr(report.step, "slotted", None)
            if slotted is not None:
                lines += ["    " + text for text in slotted.text.splitlines()]
                lines.append(f"    sizes {slotted.values}")
            epilogue = getattr(getattr(report.step, "kernel", None), "epilogue", None)
            if epilogue is not None:
                lines.append("    what becomes of each sum:")
                lines += ["    " + text for text in epilogue.key.splitlines()]
        return "\n".join(lines)

    def cost_analysis(self) -> dict[str, float]:
        """Estimated work of one call: flops, transcendentals, bytes accessed."""
        flops = transcendentals = 0.0
        for report in self.reports:
            if isinstance(report.step, KernelStep):
                for x in report.step.used:
                    if x.op in _TRANSCENDENTAL:
                        transcendentals += report.iterations
                    elif x.op not in _FREE:
                        flops += report.iterations
            elif report.kind == "contraction":
                flops += report.step.cost * 100.0
            elif report.kind == "python":
                flops += max([b.size for b, _ in report.step.refs], default=0)
        return {
            "flops": flops,
            "transcendentals": transcendentals,
            "bytes accessed": float(sum(r.bytes_moved for r in self.reports)),
        }

    def memory_analysis(self) -> MemoryAnalysis:
        """Memory of one call."""

        def size(nodes):
            return sum(n.size * nbytes_of(n.dtype) for n in nodes)

        aliased = [self.graph.outputs[i] for i in self.plan.donated]
        code = {r.code.key: r.code.size for r in self.reports if r.code is not None}
        return MemoryAnalysis(
            size(self.graph.inputs),
            size(self.graph.outputs),
            size(aliased),
            self.plan.workspace_bytes,
            sum(code.values()),
        )
