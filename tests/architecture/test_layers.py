"""The arrows of the house: imports go down, files stay small, nothing hides."""

import ast
from pathlib import Path

import pytest

import jitney

ROOT = Path(jitney.__file__).parent
LAYERS = [
    "_native",
    "base",
    "core",
    "placement",
    "transforms",
    "lax",
    "stablehlo",
    "ir",
    "graph",
    "lower",
    "fuse",
    "codegen",
    "backend",
    "runtime",
    "pipeline",
    "api",
]
LEVEL = {name: i for i, name in enumerate(LAYERS)}
LIBRARY = len(LAYERS)  # numpy, nn, random, …: all on one floor
TOP = LIBRARY + 1
LEVEL.update({name: TOP for name in ("testing", "tools", "wiring", "__init__")})
FILE_LIMIT = 800

# Imports below module level that are allowed, with the reason.
LOCAL_IMPORTS: dict[str, str] = {}

FILES = sorted(p for p in ROOT.rglob("*.py") if "__pycache__" not in p.parts)
IDS = [str(p.relative_to(ROOT)) for p in FILES]


def level(room: str) -> int:
    return LEVEL.get(room, LIBRARY)


def room_of(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else path.stem


def module_of(path: Path) -> list[str]:
    parts = ["jitney", *path.relative_to(ROOT).with_suffix("").parts]
    return parts[:-1] if parts[-1] == "__init__" else parts


def imported_rooms(path: Path, nodes) -> list[tuple[str, int]]:
    """(room, line) of every import of this package among the nodes."""
    package = module_of(path) if path.stem == "__init__" else module_of(path)[:-1]
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [a.name.split(".") for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            names = [base] if len(base) > 1 else [base + [a.name] for a in node.names]
        else:
            continue
        found += [(n[1], node.lineno) for n in names if n[0] == "jitney" and len(n) > 1]
    return found


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_imports_go_down(path):
    own = room_of(path)
    for room, line in imported_rooms(path, ast.walk(ast.parse(path.read_text()))):
        if room == own or level(own) == TOP:
            continue
        limit = level(own)
        fine = level(room) < limit or (limit == LIBRARY == level(room))
        assert fine, f"{path.relative_to(ROOT)}:{line}: {own} imports {room}, which is above it"


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_no_hidden_imports(path):
    tree = ast.parse(path.read_text())
    top = set(map(id, tree.body))
    hidden = [
        n
        for n in ast.walk(tree)
        if isinstance(n, (ast.Import, ast.ImportFrom)) and id(n) not in top
    ]
    found = imported_rooms(path, hidden)
    name = str(path.relative_to(ROOT))
    assert not found or name in LOCAL_IMPORTS, f"{name}: import of {found} below module level"


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_files_stay_small(path):
    lines = path.read_text().count("\n")
    assert lines <= FILE_LIMIT, f"{path.relative_to(ROOT)} has {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_every_module_says_what_it_is(path):
    tree = ast.parse(path.read_text())
    assert not tree.body or ast.get_docstring(tree), f"{path.relative_to(ROOT)}: no docstring"


def test_only_the_back_end_knows_llvm():
    for path in FILES:
        if room_of(path) == "backend" or level(room_of(path)) == TOP:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert not any(n.startswith("llvmlite") for n in names), path
