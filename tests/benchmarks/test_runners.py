"""The programs that time things run, and write what they say they write."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import roofline  # noqa: E402
import run  # noqa: E402


def test_programs_are_timed_in_their_own_process(tmp_path, capsys):
    report, picture = tmp_path / "report.json", tmp_path / "ratios.svg"
    run.main(["-k", "knapsack", "--rounds", "1", "--json", str(report), "--plot", str(picture)])
    assert "dynamic_programming.knapsack" in capsys.readouterr().out
    (row,) = json.loads(report.read_text())
    assert row["errors"] == {} and 0 < row["seconds"]["jitney"] < 10
    assert "</svg>" in picture.read_text()


def test_list_says_what_the_programs_are(capsys):
    run.main(["--list", "-k", "spectral"])
    assert "the NAS benchmark FT" in capsys.readouterr().out


def test_a_process_that_dies_is_an_answer():
    side = run.Side("jitney", sys.executable, run.options_from(["--timeout", "30"]))
    assert "KeyError" in side.ask(do="prepare", name="no such program")["error"]
    side.process.kill()
    assert "died" in side.ask(do="time")["error"]
    assert side.ask(do="time")["seconds"] >= 0
    side.stop()


def test_geometric_mean_of_what_there_is():
    assert run.geometric_mean([0.5, 2.0, float("nan")]) == pytest.approx(1.0)


def test_roofline(tmp_path, capsys):
    report, picture = tmp_path / "roof.json", tmp_path / "roof.png"
    roofline.main(["-k", "dot product,64 x 64 x 64", "--rounds", "1", "--json", str(report),
                   "--plot", str(picture)])  # fmt: skip
    assert "Ceilings" in capsys.readouterr().out
    found = json.loads(report.read_text())
    assert {t["family"] for t in found["tasks"]} == {"reductions", "matmul"}
    assert all(0 < t["share"] < 3 for t in found["tasks"])
    assert picture.stat().st_size > 1000
