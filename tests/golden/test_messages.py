"""The texts users get for common mistakes, kept whole: a file a program of `programs.py`.

`python tests/golden/test_messages.py` writes them anew; read the difference before committing it.
"""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def _load():
    spec = importlib.util.spec_from_file_location("golden_programs", HERE / "programs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAMS = _load()
NAMES = [name for name, value in vars(PROGRAMS).items()
         if callable(value) and getattr(value, "__module__", "") == "golden_programs"]


def message(name: str) -> str:
    """Class and text of the error, the path of the program's file taken out."""
    try:
        getattr(PROGRAMS, name)()
    except Exception as error:
        text = f"{type(error).__name__}: {error}\n"
        return re.sub(r"\S*programs\.py", "programs.py", text)
    return "no error\n"


@pytest.mark.parametrize("name", NAMES)
def test_message(name):
    assert message(name) == (HERE / f"{name}.txt").read_text()


def test_no_text_is_left_over():
    assert {p.stem for p in HERE.glob("*.txt")} == set(NAMES)


if __name__ == "__main__":
    for program in sys.argv[1:] or NAMES:
        (HERE / f"{program}.txt").write_text(message(program))
