"""The commands and what they are made of, on small inputs."""

import doctest
import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import __main__ as command_line
from jitney.backend import object_cache
from jitney.tools import cache, demo, doctor, generate_status, journey, measure, photo
from jitney.tools import explain as explaining

PROGRAM = """
import jitney.numpy as jnp

def normalise(x, scale=2.0):
    return scale * (x - x.mean()) / jnp.sqrt(x.var() + 1e-6)
"""


@pytest.fixture
def program_file(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def selu(x):
    return 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)


# ---------------------------------------------------------------------- explain
def test_explain_tells_the_whole_story():
    story = jitney.explain(selu, jnp.arange(64.0), rounds=3)
    assert story.name == "selu" and story.signature == "f32[64] -> f32[64]"
    assert story.equations == 6 and len(story.steps) == 1
    assert story.steps[0].nbytes == 512 and story.steps[0].code_bytes > 0
    assert story.memory["arguments"] == story.memory["results"] == 256
    assert story.run.low <= story.run.median <= story.run.high
    text = str(story)
    for part in ("== jaxpr", "== graph", "== kernels", "== memory", "== one call", "exp"):
        assert part in text
    assert "define void @k" in story.as_text("llvm") and "retq" in story.as_text("asm")
    with pytest.raises(ValueError, match="one of jaxpr, graph, kernels, llvm, asm"):
        story.as_text("soup")


def test_steps_are_timed_when_there_are_several():
    def program(x):
        return jnp.cumsum(x) * 2.0, jnp.sort(x)

    story = jitney.explain(program, jnp.arange(100.0), rounds=3)
    assert len(story.steps) > 1
    assert all(s.run_seconds is not None and s.run_seconds > 0 for s in story.steps)


def test_explain_times_steps_of_loops():
    def program(x):
        step = lambda _, y: jnp.tanh(y @ jnp.ones((50, 50)) * 0.01)
        y = jitney.lax.fori_loop(0, 10, step, x)
        turn = lambda s: (s[0].cumsum(), s[1] + 1)
        return jitney.lax.while_loop(lambda s: s[1] < 7, turn, (y, 0))

    story = jitney.explain(program, jnp.arange(50.0), rounds=4)
    assert all(step.run_seconds is not None for step in story.steps)
    runs = {step.kind: step.runs for step in story.steps}
    assert runs["contraction"] == 10 and 7 in [step.runs for step in story.steps]
    assert " in 10 runs" in str(story)


def test_explain_takes_captured_arrays_and_jitted_functions():
    weights = jnp.arange(8.0)
    story = jitney.explain(jitney.jit(lambda x: jnp.sort(x * weights) + jnp.cumsum(x)),
                           jnp.ones(8), rounds=3)  # fmt: skip
    assert "f32[8]" in story.as_text("jaxpr")


def test_explain_without_machine_code(program_file):
    done = run_command("explain", f"{program_file}:normalise", "--shapes", "f32[8]",
                       JITNEY_BACKEND="reference")  # fmt: skip
    assert done.returncode == 0 and "the NumPy references run this program" in done.stdout


def test_types_as_text():
    made = explaining.make_arguments("f32[2,3], i32[], bf16[4],u8[2, 2] , 2.5, 3, bool[5]")
    assert [getattr(x, "shape", x) for x in made] == [(2, 3), (), (4,), (2, 2), 2.5, 3, (5,)]
    assert made[2].dtype.name == "bfloat16" and made[3].dtype.name == "uint8"
    with pytest.raises(ValueError, match="'q9' is none of"):
        explaining.make_arguments("q9[3]")
    with pytest.raises(ValueError, match="neither a type"):
        explaining.make_arguments("f32[3], four")


def test_functions_are_found_in_files(program_file):
    assert explaining.load_function(f"{program_file}:normalise").__name__ == "normalise"
    with pytest.raises(ValueError, match="it has normalise"):
        explaining.load_function(f"{program_file}:nothing")
    with pytest.raises(ValueError, match="existing file"):
        explaining.load_function("absent.py:f")


# ---------------------------------------------------------------------- the command line
def run_command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "jitney", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_help_lists_the_commands(capsys):
    with pytest.raises(SystemExit) as stop:
        command_line.main(["--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert all(name in out for name in command_line.COMMANDS)


def test_explain_command(program_file, capsys):
    status = command_line.main(
        ["explain", f"{program_file}:normalise", "--shapes", "f32[16]", "--ir", "jaxpr"]
    )
    assert status == 0 and "{ lambda ; " in capsys.readouterr().out
    assert command_line.main(["explain", f"{program_file}:normalise", "--shapes", "x"]) == 2
    assert "neither a type such as f32[3,4] nor a number" in capsys.readouterr().err


def test_cache_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JITNEY_CACHE_DIR", str(tmp_path / "kernels"))
    jitney.jit(lambda x: jnp.tanh(x) * 3.0 + jnp.cosh(x) / 7.0)(jnp.ones(33))
    folder = object_cache.cache_folder()
    group = tmp_path / "kernels" / "ab"
    group.mkdir(exist_ok=True)
    (group / "abcdef").write_bytes(b"x" * 5000)  # a kernel, as far as sizes go
    assert command_line.main(["cache", "info"]) == 0
    assert folder in capsys.readouterr().out
    assert command_line.main(["cache", "trim", "--limit", "1M"]) == 0
    assert "dropped 0 kernels" in capsys.readouterr().out
    assert command_line.main(["cache", "clear"]) == 0
    assert not object_cache.entries(folder)
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")
    assert command_line.main(["cache", "info"]) == 1
    assert "no cache" in capsys.readouterr().out


def test_sizes_as_text():
    assert [cache.size_of(t) for t in ("10", "2k", "1.5M", "1GiB")] == [10, 2048, 3 << 19, 1 << 30]


def test_doctor(capsys):
    assert command_line.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert jitney.__version__ in out and "gave the right answer" in out
    assert set(doctor.facts()) >= {"python", "processor", "target", "threads", "cache"}


def test_measuring():
    spreads = measure.measure({"a": lambda: None, "b": lambda: None}, 5)
    assert set(spreads) == {"a", "b"} and spreads["a"].count == 5
    assert measure.seconds(2.5e-6) == "2.5 us" and measure.seconds(3e-9) == "3 ns"
    assert measure.nbytes(999) == "999 B" and measure.nbytes(2.5e6) == "2.5 MB"


@pytest.mark.parametrize("module", [measure, cache, explaining, generate_status])
def test_examples_in_texts(module):
    assert doctest.testmod(module).failed == 0


# ---------------------------------------------------------------------- the demonstration
def test_photographs_come_out_the_same_three_ways():
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (2 * photo.MARGIN + 20, 2 * photo.MARGIN + 12, 3), np.uint8)
    want, counts = photo.develop(rgb, np)
    assert want.dtype == np.float32 and counts.sum() == want.size
    for function in (photo.develop, jitney.jit(photo.develop)):
        got, got_counts = function(jnp.asarray(rgb))
        np.testing.assert_allclose(np.asarray(got), want, atol=1e-3)
        assert got_counts.shape == (photo.BINS,) and int(got_counts.sum()) == want.size


def test_demo_without_its_packages(monkeypatch, capsys):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "rich" else real(name, *a)
    )
    assert command_line.main(["demo"]) == 1
    assert "the demonstration needs rich: pip install 'jitney[demo]'" in capsys.readouterr().out


def test_demo_writes_a_picture(tmp_path, capsys):
    pytest.importorskip("rich")
    pytest.importorskip("matplotlib")
    target = tmp_path / "out.png"
    arguments = ["demo", "--size", "120", "--rounds", "2", "--output", str(target)]
    assert command_line.main(arguments) == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    for part in ("The program", "Traced", "Compiled", "Measured", "jitney, jitted", "another size"):
        assert part in out
    assert command_line.main(["demo", "--image", str(tmp_path / "absent.jpg")]) == 1
    assert command_line.main(["demo", "--size", "30"]) == 1
    assert "too small" in capsys.readouterr().out


def test_demo_words():
    step = journey.Step("fused_exp_mul_f32", "kernel", 1, 1, 1, "", 0.0)
    assert demo.readable(step) == "exp mul f32"
