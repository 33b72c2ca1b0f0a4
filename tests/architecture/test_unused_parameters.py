"""No public function takes a parameter that it never reads, unless this file says why.

A parameter nobody reads is an argument that is ignored silently. What has no effect must at least
be checked (see `api/jit_options.py`), and that reads it.
"""

import ast
from pathlib import Path

import jitney

ROOT = Path(jitney.__file__).parent
FILES = sorted(p for p in ROOT.rglob("*.py") if "__pycache__" not in p.parts)
IDS = [str(p.relative_to(ROOT)) for p in FILES]

# Rooms users do not call. (`core` is not among them: users meet its classes.)
_INSIDE = frozenset(("backend", "codegen", "fuse", "graph", "ir", "lower", "pipeline", "runtime",
                     "stablehlo", "testing", "tools", "transforms", "wiring"))


# "file function": the reason why the parameters named are not read.
ALLOWED = {
    "api/jit.py JitFunction.__deepcopy__ memo": "copy's protocol; functions are not copied",
    "api/signature.py hashable fun": "kept so that all resolvers are called alike",
    "base/fork_gate.py ForkGate.__exit__ *error": "the protocol of context managers",
    "core/reference_program.py ReferenceExecutable.as_text stage":
        "the interface of executables; there is one stage",
    "core/reference_program.py compile_reference donated":
        "the interface of back ends; references write fresh arrays",
    "core/trace.py Tracer.__deepcopy__ memo": "copy's protocol; tracers are not copied",
    "experimental/jet.py JetTrace.process_custom_vjp_call rule":
        "the interface of traces; a rule for cotangents says nothing about moving forward",
    "lax/linalg/eigen.py eig use_magma": "a hint for GPUs",
    "lax/linalg/svd.py qdwh is_hermitian,max_iterations,eps":
        "hints for an iteration; the factors come from singular vectors here",
    "lax/parallel/names.py same_type **params": "type rules get all parameters of equations",
    "lax/nary.py to_boolean dtype": "the interface of functions from types to types",
    "lax/nary.py widened.reference **params": "references get all parameters of equations",
    "lax/nary.py small_as_wide.reference **params": "references get all parameters of equations",
    "nn/initializers.py zeros key": "initializers have a key; constants need none",
    "nn/initializers.py ones key": "initializers have a key; constants need none",
    "nn/initializers.py constant.init key": "initializers have a key; constants need none",
    "numpy/floating.py nan_to_num copy": "jit checks that it is a number; results are always new",
    "placement/devices.py CpuDevice.__exit__ *exc": "the protocol of context managers",
    "random/arguments.py typed_keys name": "kept so that all checks of keys are called alike",
    "scipy/stats/kde.py gaussian_kde.tree_unflatten aux_data": "the protocol of pytrees",
}


def _names_read(nodes) -> set[str]:
    """Names that are read, `locals()` reading all; `del x` reads nothing."""
    found = set()
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                found.add(inner.id)
    return found


def _parameters(args: ast.arguments) -> list[str]:
    names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    names += ["*" + args.vararg.arg] if args.vararg else []
    return names + (["**" + args.kwarg.arg] if args.kwarg else [])


def _only_refuses(body: list[ast.stmt]) -> bool:
    """Whether a function has no body, or only raises."""
    statements = [s for s in body
                  if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return all(isinstance(s, (ast.Raise, ast.Pass)) for s in statements)


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name.startswith("__") and name.endswith("__")


def unread_parameters(node: ast.AST, prefix: str = "") -> list[str]:
    """"function parameter,…" for every public function below `node`."""
    found = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and _is_public(child.name):
            found += unread_parameters(child, f"{prefix}{child.name}.")
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_public(child.name):
            read = _names_read(child.body)
            unread = [p for p in _parameters(child.args)
                      if p.lstrip("*") not in read and p.strip("*_") and p not in ("self", "cls")]
            if unread and "locals" not in read and not _only_refuses(child.body):
                found.append(f"{prefix}{child.name} {','.join(unread)}")
            found += unread_parameters(child, f"{prefix}{child.name}.")
        elif isinstance(child, (ast.If, ast.Try, ast.With)):
            found += unread_parameters(child, prefix)
    return found


def test_every_parameter_is_read():
    found = [f"{name} {entry}" for path, name in zip(FILES, IDS, strict=True)
             if name.split("/")[0].removesuffix(".py") not in _INSIDE
             for entry in unread_parameters(ast.parse(path.read_text()))]
    unknown = sorted(set(found) - set(ALLOWED))
    assert not unknown, f"parameters that are never read: {unknown}"
    here = {entry for entry in ALLOWED if entry.split()[0] in IDS}
    gone = sorted(here - set(found))
    assert not gone, f"these read their parameters now; take them off the list: {gone}"


def test_the_search_finds_what_it_should():
    source = """
def f(a, b, *, c=1, **rest): return a
def g(a): raise NotImplementedError
def h(a):
    del a
class C:
    def m(self, x): return [y for y in self]
    def _hidden(self, x): pass
def _private(x): return 1
def outer(x):
    def inner(y): return x
    return inner
"""
    assert unread_parameters(ast.parse(source)) == [
        "f b,c,**rest", "h a", "C.m x", "outer.inner y"]
