"""The names that say no: they do, and the page about them is complete."""

import functools
from pathlib import Path

import pytest

import jitney
from jitney.base.unsupported import UnsupportedValue
from jitney.tools import generate_not_supported

PAGE = Path(__file__).resolve().parents[2] / generate_not_supported.DOCUMENT
NAMES = generate_not_supported.found()


def test_the_page_is_current():
    same = PAGE.read_text() == generate_not_supported.write()
    assert same, "run: python -m jitney.tools.generate_not_supported"
    assert f"These {len(NAMES)} public names" in PAGE.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_the_name_exists_and_refuses(name):
    value = functools.reduce(getattr, name.split(".")[1:], jitney)
    use = value.bind if isinstance(value, UnsupportedValue) else value
    with pytest.raises(NotImplementedError, match=f"{name} is not supported: "):
        use(1, other=2)
    assert value.__name__ == name.rpartition(".")[2] and "Not supported" in value.__doc__
