"""The tool that compares names and signatures with JAX's, on a small surface of its own."""

import doctest
import json
import subprocess
import sys

import pytest

from jitney import __main__ as command_line
from jitney.base import unsupported
from jitney.tools import coverage

SURFACE = {"modules": {
    "jax.lax": {
        "add": {"kind": "function", "signature": "(x: 'ArrayLike', y: 'ArrayLike') -> 'Array'"},
        "exp": {"kind": "function", "signature": "(x: 'A', accuracy=None)"},
        "sub": {"kind": "function", "signature": "(*args, **kwargs)"},
        "not_a_name": {"kind": "function", "signature": "(x)"},
        "add_p": {"kind": "value"},
    },
    "jax.no_module": {"first": {"kind": "class"}, "second": {"kind": "function"}},
}}


@pytest.fixture
def surface_file(tmp_path):
    def write(surface=SURFACE):
        path = tmp_path / "surface.json"
        path.write_text(surface if isinstance(surface, str) else json.dumps(surface))
        return str(path)
    return write


def test_comparison():
    lax, absent = coverage.compare(SURFACE)
    assert (lax.present, lax.total, lax.missing) == (4, 5, ["not_a_name"])
    assert lax.compared == 2 and list(lax.differing) == ["exp"]
    assert lax.differing["exp"] == ("(x, *, accuracy=None)", "(x, accuracy=None)")
    assert (absent.present, absent.missing) == (0, ["first", "second"])


def test_command(surface_file, capsys):
    assert command_line.main(["coverage", surface_file()]) == 1
    out = capsys.readouterr().out
    assert "80.0 %" in out and "not_a_name" not in out and "0.0 %" in out
    assert command_line.main(["coverage", surface_file(), "--missing", "--signatures"]) == 1
    out = capsys.readouterr().out
    assert "missing  jax.lax.not_a_name" in out and "missing  jax.no_module.first" in out
    assert "differs  jax.lax.exp" in out and "    here  (x, *, accuracy=None)" in out


def test_status(surface_file, capsys):
    lax = dict(SURFACE["modules"]["jax.lax"])
    del lax["not_a_name"]
    path = surface_file({"modules": {"jax.lax": lax, "jax.tree": {"all": {"kind": "function"}}}})
    assert command_line.main(["coverage", path]) == 0
    assert command_line.main(["coverage", path, "--signatures"]) == 1
    assert command_line.main(["coverage", path, "--signatures", "--module", "jax.tree"]) == 0
    assert command_line.main(["coverage", path, "--module", "jax.lox"]) == 2
    assert "no module 'jax.lox'" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{", "[]", '{"modules": 3}', '{"modules": {"jax": []}}'])
def test_files_that_are_no_surface(surface_file, content, capsys):
    assert command_line.main(["coverage", surface_file(content)]) == 2
    assert "coverage: " in capsys.readouterr().err


def test_absent_file(tmp_path, capsys):
    assert command_line.main(["coverage", str(tmp_path / "absent.json")]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_as_a_module_and_without_jax(surface_file):
    program = ("import runpy, sys; sys.argv = ['coverage', sys.argv[1]]\n"
               "try: runpy.run_module('jitney.tools.coverage', run_name='__main__')\n"
               "except SystemExit as stop: print('status', stop.code, 'jax' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", program, surface_file()], capture_output=True,
                          text=True, timeout=120)  # fmt: skip
    assert "status 1 False" in done.stdout, done.stderr


@pytest.mark.parametrize("ours, theirs, same", [
    ("(x, y)", "(x: 'A', y: \"Callable[[A, 'B'], C]\") -> 'D'", True),
    ("(x, y)", "(x, z)", False),
    ("(x, y)", "(x, y, /)", False),
    ("(x, y=1)", "(x, y=2)", False),
    ("(x, y=1)", "(x, y)", True),
    ("(x, y)", "(x, y=1)", False),
    ("(a, /)", "(b, /)", True),
    ("(x, y=1)", "(x)", True),
    ("(x, y)", "(x)", False),
    ("(x)", "(x, y=1)", False),
    ("(*, b=2, a=1)", "(*, a: 'int' = 1, b: 'tuple[int, ...]' = 2)", True),
    ("(*, a=1, c=None)", "(*, a=1)", True),
    ("(*, a=1, c)", "(*, a=1)", False),
    ("(x, *, a=1)", "(x, a=1)", False),
    ("(x, y, /, *, out=None)", "(*args, out: 'A' = None)", True),
    ("(x, f=<function f at 0x1>)", "(x, f: 'F' = <object object at 0x2>)", True),
    ("(x, f=<class 'numpy.float32'>)", "(x, f: 'F' = <class 'jax.numpy.float32'>)", True),
    ("(x, s='a,b')", "(x, s: 'str' = 'a,b')", True),
    ("(x, *rest)", "(x, *args)", True),
    ("(x, **options)", "(x, **kw)", True),
])  # fmt: skip
def test_signatures(ours, theirs, same):
    parse = coverage.parse_signature
    assert coverage.same_signature(parse(ours), parse(theirs)) is same


def test_a_signature_cut_short():
    (found,) = coverage.compare({"modules": {"jax.lax": {
        "clamp": {"kind": "function", "signature": "(min: 'ArrayLike', x: 'ArrayLike', max: 'Ar…"},
    }}})
    assert found.compared == 1 and not found.differing


def test_unsupported_names_are_told_apart():
    refuse = unsupported.unsupported_function("jax.a.b", "there is one host.")
    kind = unsupported.unsupported_class("jax.a.C", "there is one host.")
    assert unsupported.reason_of(refuse) == unsupported.reason_of(kind) == "there is one host."
    assert unsupported.reason_of(3) is unsupported.reason_of(test_status) is None
    assert refuse.__name__ == "b" and kind.__name__ == "C" and not isinstance(3, kind)
    for use in (refuse, kind):
        with pytest.raises(NotImplementedError, match=r"jax\.a\.\w is not supported: there is one"):
            use(1, x=2)


def test_examples_in_texts():
    assert doctest.testmod(coverage).failed == 0
