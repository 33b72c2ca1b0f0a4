"""A switch has an effect, or says that it has none, and the migration guide lists it."""

import re
from pathlib import Path

import jitney
from jitney.base import config

ROOT = Path(jitney.__file__).parent
DECLARATIONS = ROOT / "base" / "config.py"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "migration.md"


def _read_somewhere(name: str, sources: list[str]) -> bool:
    """Whether the package asks for `config.<name>.value`, or for the switch by its full name."""
    wanted = re.compile(rf"\b{name}\.(_?value)\b|[\"']jax_{name}[\"']|config\.jax_{name}\b")
    return any(wanted.search(text) for text in sources)


def test_switches_have_an_effect_or_say_so():
    sources = [p.read_text() for p in ROOT.rglob("*.py") if p != DECLARATIONS]
    silent = [name for name, flag in config._flags.items()
              if flag.effective and not flag.refused and not name.startswith("user_context_")
              and not _read_somewhere(name.removeprefix("jax_"), sources)]
    assert not silent, f"switches nobody reads: {silent}; declare them with `_accept`"


def test_the_guide_lists_switches_without_effect():
    text = GUIDE.read_text()
    missing = [name for name, flag in config._flags.items()
               if not flag.effective and f"`{name}`" not in text]
    assert not missing, f"docs/migration.md does not list {missing}"
