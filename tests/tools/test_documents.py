"""Documents that contain output say what the code does now."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jitney.tools import generate_status, generate_tour

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[int, str]]:
    """(line, text) of each Python block."""
    text = (ROOT / page).read_text()
    return [(text.count("\n", 0, m.start()) + 2, m[1]) for m in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", [p for p in PAGES if ">>>" in (ROOT / p).read_text()])
def test_examples_give_what_they_say(page):
    """In a process of their own: an example may define a primitive."""
    done = subprocess.run([sys.executable, __file__, page], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def run_examples(page: str) -> int:
    """Blocks with `>>>` are run in order, in one name space a page; their output is compared."""
    names: dict = {}
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    report: list[str] = []
    for line, text in blocks(page):
        if ">>>" not in text:
            compile(text, page, "exec")  # at least it is Python
            continue
        test = doctest.DocTestParser().get_doctest(text, names, page, page, line)
        runner.run(test, out=report.append, clear_globs=False)
        names = test.globs
    print("".join(report))
    return int(runner.failures > 0)


def test_the_tour_is_current():
    have = (ROOT / generate_tour.DOCUMENT).read_text()
    same = generate_tour.comparable(have) == generate_tour.comparable(generate_tour.write())
    assert same, "run: python -m jitney.tools.generate_tour"


def test_the_readme_promises_nothing_that_is_missing():
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| works \|$", (ROOT / "README.md").read_text(), re.M)
    names = re.findall(r"`([\w.]+)`", " ".join(rows))
    assert "jit" in names
    missing = [n for n in names if not generate_status.exists(n)]
    assert not missing, f"{missing}; run: python -m jitney.tools.generate_status"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{page}: {target}"


if __name__ == "__main__":
    sys.exit(run_examples(sys.argv[1]))
