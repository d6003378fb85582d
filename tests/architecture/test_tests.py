"""What holds of the tests themselves."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def imported(path: Path) -> set[str]:
    """Last parts of the modules that a file imports, and names that it imports from them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {(node.module or "").rpartition(".")[2], *(each.name for each in node.names)}
        elif isinstance(node, ast.Import):
            found |= {each.name.rpartition(".")[2] for each in node.names}
    return found


def test_no_test_module_imports_another() -> None:
    """What two of them share is in a module of its own; an imported test runs twice, and a fixture is made twice."""
    modules = {path.stem for path in TESTS.rglob("test_*.py")}
    assert len(modules) > 50
    borrowing = {str(path.relative_to(TESTS)): modules & imported(path) for path in TESTS.rglob("*.py")}
    assert {path: names for path, names in borrowing.items() if names} == {}
