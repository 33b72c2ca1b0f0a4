"""Measures everything and writes the pictures and tables of docs/performance.md.

    python benchmarks/report.py --jax-python PATH --numba-python PATH [--torch-python PATH]
                                [--rounds N] [-k stencils,rows] [--from ratios.json roofline.json]

In: interpreters that have the other libraries, or what an earlier run has written. Out:
`docs/images/ratios.svg`, `docs/images/roofline.svg`, and the block of docs/performance.md between
its markers; the measurements themselves as `ratios.json` and `roofline.json` in a folder
(`--keep`). `run.py` and `roofline.py` run one after the other, so that neither disturbs the other.
What is written says on what machine class, with what versions, when and in how many rounds it was
measured, and names no machine and no place.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

import machine
import pictures
import summaries

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- begin measured -->", "<!-- end measured -->"
NAMES = {"jax": "JAX", "numba": "Numba", "numpy": "NumPy", "torch": "PyTorch", "jitney": "jitney"}


def measure(options: argparse.Namespace) -> tuple[dict, dict]:
    """Runs both programs, one after the other, and reads what they wrote."""
    options.keep.mkdir(parents=True, exist_ok=True)
    common = ["-k", options.k, "--rounds", str(options.rounds)]
    pythons = {f"--{k}-python": getattr(options, f"{k}_python") for k in ("jax", "numba", "torch")}
    peers = [part for option, path in pythons.items() if path for part in (option, path)]
    found = []
    for script, extra in (("run", peers), ("roofline", [])):
        kept = options.keep / ("ratios.json" if script == "run" else "roofline.json")
        command = [sys.executable, str(ROOT / "benchmarks" / f"{script}.py"), *common, *extra]
        subprocess.run([*command, "--json", str(kept)], check=True)
        found.append(json.loads(kept.read_text()))
    return found[0], found[1]


def conditions(found: dict) -> str:
    """On what, with what, when."""
    versions = []
    for name, about in found["libraries"].items():
        threads = about.get("threads")
        count = f" ({plural(threads, 'thread')})" if threads else ""
        versions.append(f"{NAMES[name]} {about['version']}{count}")
    where = machine.text(found["machine"])
    return (
        f"Measured on {found['date']} in {plural(found['rounds'], 'round')} on {where}; "
        f"Python {found['machine']['python']}, {', '.join(versions)}."
    )


def table(titles: list[str], rows: list[list[str]]) -> list[str]:
    """A table of Markdown: the first column is text, the others are numbers."""
    ruler = "|".join(["---", *["---:"] * (len(titles) - 1)])
    return [f"| {' | '.join(titles)} |", f"|{ruler}|", *[f"| {' | '.join(r)} |" for r in rows]]


def folded(title: str, lines: list[str]) -> list[str]:
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>"]


def duration(seconds: float) -> str:
    for unit, factor in (("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def plural(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"


def ratio_text(ratio: float | None) -> str:
    """Three digits where there are many zeros."""
    if ratio is None or math.isnan(ratio):
        return ""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"


def words(name: str) -> str:
    return name.replace("_", " ")


def family_rows(found: dict) -> list[list[str]]:
    """Geometric means by family, with the number of programs they are of."""
    rows = []
    for family in [None, *summaries.families(found["programs"])]:
        cells = []
        for peer in summaries.peers(found):
            chosen = summaries.ratios_of(found, peer, family)
            mean = ratio_text(summaries.geometric_mean(chosen))
            cells.append(f"{mean} ({len(chosen)})" if chosen else "")
        rows.append([words(family) if family else "**all**", *cells])
    return rows


def program_rows(found: dict) -> list[list[str]]:
    rows = []
    for row in found["programs"]:
        own = row["seconds"].get("jitney")
        cells = []
        for peer in summaries.peers(found):
            failed = "" if row["errors"].get(peer) in (None, "not written") else "fails"
            cells.append(ratio_text(row["ratio"].get(peer)) or failed)
        rows.append([words(row["program"]), duration(own) if own else "fails", *cells])
    return rows


def roofline_rows(found: dict) -> list[list[str]]:
    rows = []
    for task in found["tasks"]:
        speed = f"{task['bytes'] / task['seconds'] / 1e9:.1f}"
        flops = f"{task['operations'] / task['seconds'] / 1e9:.0f}" if task["operations"] else ""
        share = f"{task['share']:.0%}"
        rows.append([task["name"], duration(task["seconds"]), speed, flops, share, task["limit"]])
    return rows


def share_rows(found: dict) -> list[list[str]]:
    rows = []
    for family in [None, *summaries.families(found["tasks"])]:
        shares = summaries.shares_of(found, family)
        cells = [f"{v:.0%}" for v in (statistics.median(shares), min(shares), max(shares))]
        rows.append([family or "**all**", *cells, str(len(shares))])
    return rows


def ceilings(found: dict) -> str:
    limits = found["ceilings"]
    copies = ", ".join(f"{v / 1e9:.0f} ({k})" for k, v in limits["copies"].items())
    return (
        f"Ceilings by {limits['threads']} threads: {limits['flops'] / 1e9:.0f} GFLOP/s of "
        f"multiply-adds in float32, {limits['slots'] / 1e9:.0f} billion 32-bit lanes of vector "
        f"instructions, {limits['multipliers'] / 1e9:.0f} billion of products, look-ups and "
        f"comparisons, {limits['additions'] / 1e9:.0f} billion of additions, and "
        f"{limits['divisions'] / 1e9:.0f} billion quotients in float32 a second; "
        f"a scaling by a power of two takes the place of {limits['places']:.1f} instructions; "
        f"copies, in GB/s read and written: {copies}."
    )


def block(ratios: dict, roof: dict) -> str:
    """What stands between the markers."""
    peers = [NAMES[p] for p in summaries.peers(ratios)]
    lines = ["", "### Times of whole programs", "", conditions(ratios), ""]
    lines += ["jitney's time over the other's, geometric means (below 1: jitney is faster; in "
              "brackets: of how many programs).", ""]  # fmt: skip
    lines += table(["family", *peers], family_rows(ratios))
    lines += ["", "![Ratios of times by family](images/ratios.svg)", ""]
    lines += folded("All programs", table(["program", "jitney", *peers], program_rows(ratios)))
    lines += ["", "### Shares of what the machine can do", "", conditions(roof), ceilings(roof), ""]
    lines += table(["family", "median", "least", "most", "programs"], share_rows(roof))
    lines += ["", "![Shares of the ceilings](images/roofline.svg)", ""]
    titles = ["program", "time", "GB/s", "GFLOP/s", "share", "limited by"]
    lines += folded("All programs", table(titles, roofline_rows(roof)))
    return "\n".join([*lines, ""])


def replaced(page: str, text: str) -> str:
    """The page with the text between its markers."""
    before, found, rest = page.partition(BEGIN)
    _, also, after = rest.partition(END)
    if not (found and also):
        raise SystemExit(f"the page has no {BEGIN} … {END}")
    return before + BEGIN + "\n" + text + "\n" + END + after


def options_from(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for peer in ("jax", "numba", "torch"):
        parser.add_argument(f"--{peer}-python", help=f"an interpreter that has {NAMES[peer]}")
    parser.add_argument("-k", default="", help="parts of names, with commas between")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--from", dest="files", nargs=2, type=Path, metavar="JSON",
                        help="do not measure: what run.py and roofline.py wrote")  # fmt: skip
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "measured",
                        help="folder for the measurements")  # fmt: skip
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the page")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = options_from(arguments)
    if options.files:
        ratios, roof = (json.loads(path.read_text()) for path in options.files)
    else:
        ratios, roof = measure(options)
    page = options.docs / "performance.md"
    page.write_text(replaced(page.read_text(), block(ratios, roof)))
    pictures.draw_ratios(ratios, options.docs / "images" / "ratios.svg")
    pictures.draw_roofline(roof, options.docs / "images" / "roofline.svg")
    print(f"written: {page.name} and two pictures; measurements in {options.keep.name}/")


if __name__ == "__main__":
    main()
