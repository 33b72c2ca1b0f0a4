"""The programs that time things run, and write what they say they write."""

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import instructions  # noqa: E402
import machine  # noqa: E402
import report  # noqa: E402
import roofline  # noqa: E402
import run  # noqa: E402
from calls import catalogue as calls  # noqa: E402
from calls import drawn, first_and_later  # noqa: E402
from users.catalogue import library  # noqa: E402


def test_programs_are_timed_in_their_own_process(tmp_path, capsys):
    report, picture = tmp_path / "report.json", tmp_path / "ratios.svg"
    run.main(["-k", "knapsack", "--rounds", "1", "--json", str(report), "--plot", str(picture)])
    assert "dynamic_programming.knapsack" in capsys.readouterr().out
    found = json.loads(report.read_text())
    assert list(found["libraries"]) == ["jitney", "numpy"] and found["rounds"] == 1
    (row,) = found["programs"]
    assert row["errors"] == {} and 0 < row["seconds"]["jitney"] < 10
    assert row["ratio"]["numpy"] == row["seconds"]["jitney"] / row["seconds"]["numpy"]
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
    # no bound above: ceilings are measured a moment before, when a busy machine may be slower
    assert all(0 < t["share"] < float("inf") for t in found["tasks"])
    product = next(t for t in found["tasks"] if t["family"] == "matmul")
    assert product["limit"] == "memory" or product["share"] == pytest.approx(
        product["operations"] / found["ceilings"]["flops"] / product["seconds"])  # fmt: skip
    assert found["machine"]["threads"] >= 1
    assert picture.stat().st_size > 1000


def test_a_share_is_the_median_over_rounds_each_with_its_own_ceilings():
    fast = roofline.ceilings.Ceilings(1, {"64 KiB": 4e9, "1 MiB": 4e9}, 8e9, 4e9, 4e9, 1e9)
    slow = dataclasses.replace(fast, copies={"64 KiB": 1e9, "1 MiB": 1e9}, flops=2e9)
    copy = roofline.Task("copy", print, nbytes=1000, times=[0.5e-6, 2e-6, 1e-6])
    rounds = [fast, slow, slow]  # at least 0.25, 1 and 1 us
    assert copy.share(rounds) == pytest.approx(0.5)
    product = roofline.Task("product", print, 8, operations=4000, times=[1e-6, 2e-6, 4e-6])
    assert product.share(rounds) == pytest.approx(0.5)
    assert roofline.ceilings.typical(rounds) == slow


LOOP = """# kernel
k:
\tvbroadcastss\t.LCPI0_2(%rip), %zmm2
.LBB0_1:
\tvmovups\t(%r9,%r14,4), %zmm6
\tvfmadd213ps\t(%r8,%r14,4), %zmm2, %zmm6
\tvptest\t%ymm6, %ymm6
\tjne\t.LBB0_3
.LBB0_2:
\tvmovups\t%zmm6, (%rdi,%r14,4)
\taddq\t$16, %r14
\tcmpq\t%rsi, %r14
\tjl\t.LBB0_1
\tjmp\t.LBB0_4
.LBB0_3:
\tvsqrtps\t%zmm6, %zmm6
\tjmp\t.LBB0_2
.LBB0_4:
\tvaddps\t%zmm6, %zmm6, %zmm6 {%k1}
\tjmp\t.LBB0_4
"""


def test_arithmetic_is_that_of_the_main_loop():
    assert instructions.work(LOOP) == [instructions.Work((16 + 8) / 16, 1, 0, 0)]
    assert instructions.work(LOOP, 2) == [instructions.Work((16 + 8) / 32, 0.5, 0, 0)]
    assert instructions.work(LOOP + "# another kernel\n") == []
    assert instructions.work("# kernel\nk:\n\tret\n") == []


def test_a_copy_of_the_index_is_no_step():
    ahead = "\tmovq\t%r14, %r12\n\taddq\t$16, %r14\n\taddq\t$48, %r12\n\tcmpq\t%rsi, %r12\n"
    loop = LOOP.replace("\taddq\t$16, %r14\n\tcmpq\t%rsi, %r14\n", ahead)
    assert loop != LOOP and instructions.work(loop) == instructions.work(LOOP)


def test_arithmetic_of_columns_is_counted_by_what_a_row_moves():
    divide = "\tvdivps\t%zmm1, %zmm0, %zmm0\n"
    row = f"\tvmovups\t(%rcx), %zmm0\n{divide}\tvmovups\t%zmm0, (%rdi)\n"
    loop = f"# kernel\n.LBB0_1:\n{row}{row}\tincq\t%rdx\n\tcmpq\t%rsi, %rdx\n\tjl\t.LBB0_1\n"
    assert instructions.work(loop) == [instructions.Work(1, 0, 1, 0)]
    assert instructions.work(loop.replace(divide, divide + "\tkunpckbw\t%k0, %k1, %k1\n")) == []


def test_of_a_pipeline_the_loop_counts_that_does_all_stages():
    """It stores more than those of ends, and of rows done again, which may compute more."""

    def loop(label: int, operations: int, stores: int) -> str:
        body = "\tvaddps\t%zmm1, %zmm2, %zmm3\n" * operations
        body += "".join(f"\tvmovups\t%zmm3, (%r{8 + k},%rax,4)\n" for k in range(stores))
        step = f"\taddq\t$16, %rax\n\tcmpq\t%rsi, %rax\n\tjl\t.LBB0_{label}\n"
        return f".LBB0_{label}:\n{body}{step}"

    kernel = "# kernel\n" + loop(1, 4, 1) + loop(2, 3, 2) + loop(3, 2, 2) + loop(4, 1, 0)
    assert [work.slots for work in instructions.work(kernel)] == [4, 3, 2, 1]
    assert [work.slots for work in instructions.work(kernel, 1, True)] == [3]


def test_look_ups_and_comparisons_of_floats_are_counted_apart():
    looked_up = "\tvpermt2ps\t%zmm1, %zmm2, %zmm3\n\tvpermi2pd\t%zmm1, %zmm2, %zmm3\n"
    compared = "\tvcmpunordps\t%zmm1, %zmm2, %k1\n"
    others = "\tvpcmpgtq\t%zmm1, %zmm2, %k1\n\tvpermps\t%zmm1, %zmm2, %zmm3\n"
    body = f"{looked_up}{compared}{others}\taddq\t$16, %rax\n\tcmpq\t%rsi, %rax\n\tjl\t.LBB0_1\n"
    assert instructions.work("# kernel\n.LBB0_1:\n" + body) == [instructions.Work(5, 0, 0, 3)]


@pytest.mark.parametrize("scaling", ["vscalefps\t%zmm1, %zmm2", "vreduceps\t$89, %zmm2"])
def test_scalings_take_the_place_of_several(scaling):
    body = f"\t{scaling}, %zmm3\n\tvaddps\t%zmm1, %zmm2, %zmm3\n"
    loop = f"# kernel\n.LBB0_1:\n{body}\taddq\t$16, %rax\n\tcmpq\t%rsi, %rax\n\tjl\t.LBB0_1\n"
    (work,) = instructions.work(loop)
    assert work == instructions.Work(2, 0, 0, 0, 1, 2)
    found = roofline.ceilings.Ceilings(1, {"1 MiB": 1e9}, 8e9, 4e9, 4e9, 1e9, places=2.0)
    assert found.arithmetic(work) == pytest.approx(3 / 4e9)
    found = dataclasses.replace(found, additions=2e9)  # of which three places are taken
    assert found.arithmetic(work) == pytest.approx(3 / 2e9)


def test_of_a_pipeline_the_loop_with_results_counts_not_that_with_samples():
    begun = "\tvmaxps\t%zmm1, %zmm2, %zmm3\n\tvmovaps\t%zmm3, 64(%rsp,%rax,4)\n"
    main = "\tvaddps\t%zmm1, %zmm2, %zmm3\n\tvmulps\t%zmm3, %zmm3, %zmm3\n"
    end = "\taddq\t$16, %rax\n\tcmpq\t%rsi, %rax\n\tjl\t.LBB0_{}\n"
    loops = [f".LBB0_{n}:\n{body}{end.format(n)}" for n, body in enumerate((begun, main))]
    (work,) = instructions.work("# kernel\n" + "".join(loops), is_pipelined=True)
    assert (work.slots, work.multiplied) == (2, 1)


def test_sums_are_told_from_products_and_integers():
    sums = "addps subpd maxps minss rangeps rndscaleps scalefps reduceps addsd".split()
    others = "fmadd213ps mulps paddd psubq pmaxsd addsubps divps cmpltps permps".split()
    assert all(map(instructions.ADD.match, sums))
    assert not any(map(instructions.ADD.match, others))


def test_products_are_told_from_sums():
    products = "fmadd213ps fnmsub231pd fmaddsub132ps mulps mulss mulpd mulsd mulph".split()
    others = "addps subpd maxps pmulld pmuludq divps".split()
    assert all(map(instructions.MULTIPLY.match, products))
    assert not any(map(instructions.MULTIPLY.match, others))


def test_an_exponential_is_arithmetic_and_an_addition_is_memory():
    add, gelu = roofline.elementwise()[:1] + roofline.elementwise()[4:5]
    assert [work.slots for work in add.loops] == [1_000_000]
    assert 10e6 < gelu.loops[0].multiplied < gelu.loops[0].slots < 100e6
    limits = roofline.ceilings.Ceilings(2, {"8 MiB": 170e9}, 510e9, 450e9, 315e9, 52e9, 256e9)
    assert gelu.arithmetic(limits) > 10 * add.arithmetic(limits) > 0
    # other tests run beside this one, and one ceiling is measured after the other
    limits = roofline.ceilings.measure()
    assert gelu.arithmetic(limits) > 2 * add.arithmetic(limits) > 0
    assert limits.slots >= limits.flops / 2


def test_what_is_left_over_does_not_count_but_masks_do():
    ends = ["\tvmovups\t%zmm0, (%rax,%r13,4)", "\taddq\t$32, %r13", "\tcmpq\t%r15, %r13"]
    masks = ["\tkunpckbw\t%k0, %k1, %k1", "\tvaddps\t%zmm0, %zmm1, %zmm0 {%k1}"]
    left = ["\tvpbroadcastq\t%r15, %zmm2", "\tvpcmpgtq\t%zmm0, %zmm2, %k0"]
    assert instructions.elements([*masks, *ends]) == 32
    assert instructions.elements([*left, *masks, *ends]) == 0


def test_the_machine_is_described_without_its_name():
    found = machine.describe()
    assert {"processor", "cores", "threads", "memory_gib"} <= set(found)
    assert "cores" in machine.text(found)


PAGE = "before\n<!-- begin measured -->\nold\n<!-- end measured -->\nafter\n"


def measurements():
    about = {"machine": machine.describe(), "date": "2026-01-02", "rounds": 1}
    libraries = {"jitney": {"version": "1", "threads": 2}, "numpy": {"version": "2"},
                 "jax": {"version": "3"}}  # fmt: skip
    rows = [
        {"program": "a_b", "family": "one_two", "seconds": {"jitney": 1e-3}, "errors": {},
         "ratio": {"numpy": 0.5, "jax": 0.25}},
        {"program": "c", "family": "one_two", "seconds": {"jitney": 2e-6},
         "errors": {"jax": "AssertionError"}, "ratio": {"numpy": 2.0}},
    ]  # fmt: skip
    task = {"name": "t", "family": "f", "seconds": 1e-3, "bytes": 10**6, "operations": 10**6,
            "share": 0.75, "limit": "memory"}  # fmt: skip
    limits = {"threads": 2, "flops": 2e11, "slots": 1e11, "divisions": 1e10, "additions": 1e11,
              "multipliers": 1e11, "places": 2.0, "copies": {"1 MiB": 1e10}}  # fmt: skip
    return ({**about, "libraries": libraries, "programs": rows},
            {**about, "libraries": libraries, "ceilings": limits, "tasks": [task]})  # fmt: skip


def test_a_report_is_written_between_the_markers(tmp_path):
    files, page = [tmp_path / "ratios.json", tmp_path / "roof.json"], tmp_path / "performance.md"
    for path, found in zip(files, measurements(), strict=True):
        path.write_text(json.dumps(found))
    for _ in range(2):  # what was written can be written over
        page.write_text(page.read_text() if page.exists() else PAGE)
        report.main(["--from", *map(str, files), "--docs", str(tmp_path)])
        text = page.read_text()
        assert text.startswith("before\n<!-- begin") and text.endswith("measured -->\nafter\n")
        assert "old" not in text and text.count("### Times of whole programs") == 1
        lines = ("one two | 1.00 (2) | 0.25 (1)", "a b | 1 ms | 0.50 | 0.25",
                 "c | 2 µs | 2.00 | fails", "t | 1 ms | 1.0 | 1 | 75% | memory")  # fmt: skip
        assert all(f"| {line} |" in text for line in lines)
        pictures = [p.read_text() for p in sorted((tmp_path / "images").iterdir())]
        assert len(pictures) == 2 and all("</svg>" in p for p in pictures)
    with pytest.raises(SystemExit, match="begin measured"):
        report.replaced("no markers", "text")


def test_the_page_has_the_markers():
    page = Path(report.ROOT / "docs" / "performance.md").read_text()
    assert "new" in report.replaced(page, "new")


def test_single_calls_have_names_of_their_own():
    made, main = calls.cases(), calls.cases(variants=False)
    assert len({case.name for case in made}) == len(made) > len(main)
    assert {case.family for case in main} == set(calls.FAMILIES)
    (case,) = calls.cases("ordering.sort int8, 10^6")  # a comma before a space separates nothing
    first, again = case.arguments(), case.arguments()
    assert first[0].dtype == "int8" and (first[0] == again[0]).all()


def test_single_calls_are_timed_and_a_wrong_one_is_a_line(tmp_path, capsys, monkeypatch):
    chosen = calls.cases("cumsum of 20,small_arrays.solve, 3 x 3,int64 * int64")
    wrong = dataclasses.replace(chosen[0], name="no such case")
    monkeypatch.setattr(calls, "cases", lambda *keywords: [wrong, *chosen])
    report = tmp_path / "calls.json"
    first_and_later.main(["--rounds", "1", "--json", str(report)])
    title, *lines = capsys.readouterr().out.splitlines()
    assert title.split() == ["jitney", "first"] and len(lines) == 4
    assert "small_arrays.no such case" in lines[0] and "KeyError" in lines[0]
    assert "int64" in lines[1]  # from the slowest
    rows = json.loads(report.read_text())["cases"]
    assert [bool(row["errors"]) for row in rows] == [True, False, False, False]
    assert all(0 < row["seconds"]["jitney"] < row["first_call"]["jitney"] for row in rows[1:])


def test_drawn_programs_follow_from_their_names():
    lib, made = library("jitney"), drawn.some_drawn("3:60")
    names = [case.name for case in drawn.some_drawn("3:60")]
    assert [case.name for case in made] == names and len(set(names)) == 60
    for case in made:
        shapes = [np.shape(leaf) for leaf in lib.tree_leaves(
            lib.jax.eval_shape(case.build(lib), *case.arguments()))]  # fmt: skip
        again = drawn.named(case.name)
        assert again.name == case.name and len(shapes) == 1
        assert np.prod(shapes[0]) <= drawn.MOST
        assert (again.arguments()[0] == case.arguments()[0]).all()
    with pytest.raises(KeyError):
        drawn.named(made[0].name + "; x.sum(0)")


def measured_call(name, seconds, jax):
    (made,) = calls.cases(name)
    row = run.Row(made, {"jitney": [seconds], "jax": [jax]}, {"jitney": 0.01, "jax": 0.1})
    return first_and_later.Measured(row, "")


def test_single_calls_are_sorted_by_ratio():
    found = [measured_call("cumsum of 20", 1e-6, 4e-6), measured_call(
        "ordering.sort int8, 10^6", 3e-3, 1e-3)]  # fmt: skip
    _, worst, best = first_and_later.table(found, ["jitney", "jax"]).splitlines()
    assert worst.split()[-7:] == ["ms", "3.00", "10", "ms", "100", "ms", "0.10"]
    assert "cumsum of 20" in best and " 0.25 " in best
    text = first_and_later.summary([first_and_later.as_json(m, ["jitney", "jax"]) for m in found])
    assert text.splitlines()[-1].split() == ["all", "(2)", "0.866", "0.100"]


def test_results_of_single_calls_may_differ_by_rounding():
    numbers = np.array([1.0, -2.0, np.nan, np.inf], "float32")
    assert calls.differences([numbers * 1.001], [numbers]) == ""
    assert "1 of 4 elements" in calls.differences([numbers + np.float32([1, 0, 0, 0])], [numbers])
    assert "float64" in calls.differences([numbers.astype("float64")], [numbers])
    assert "2 results instead of 1" in calls.differences([numbers] * 2, [numbers])
    counts = np.arange(10)
    assert calls.differences([counts], [np.minimum(counts, 8)], loose=0.1) == ""
    assert "1 of 10 elements" in calls.differences([counts], [np.minimum(counts, 8)])
