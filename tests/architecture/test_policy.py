"""Every number in policy.py says where it was measured, and decides something."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import psidebug

ROOT = Path(psidebug.__file__).parent


def numbers() -> dict[str, str]:
    """What is said of each name; a docstring stands after its assignment."""
    body = ast.parse((ROOT / "policy.py").read_text()).body
    said: dict[str, str] = {}
    for statement, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(statement, ast.Assign):
            names = [node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)]
            docstring = after.value if isinstance(after, ast.Expr) else None
            text = docstring.value if isinstance(docstring, ast.Constant) else ""
            said |= dict.fromkeys(names, str(text))
    return said


def test_every_number_says_whether_it_was_measured() -> None:
    assert len(numbers()) > 30
    for name, text in numbers().items():
        assert re.search("measured|decision|tested", text.lower()), name


def test_there_are_no_more_numbers_than_can_be_measured() -> None:
    """A new one takes the place of another, or is derived from one that means the same."""
    text = (ROOT / "policy.py").read_text()
    body = ast.parse(text).body
    nodes = [node for each in body if isinstance(each, ast.Assign) for node in ast.walk(each)]
    lines = [node.lineno for node in nodes if isinstance(node, ast.Constant)]
    first, end = (next(at for at, line in enumerate(text.splitlines(), 1) if line.startswith(f"# ── {name}"))
                  for name in ("checks before", "PS"))  # fmt: skip
    of_checks_and_causes = sum(first < line < end for line in lines)
    assert len(lines) - of_checks_and_causes <= 43
    assert of_checks_and_causes <= 32


def test_every_number_is_used() -> None:
    """As ``policy.NAME``, or imported by its name."""
    used: set[str] = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                used.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and path.name == "policy.py":
                used.add(node.id)
            elif isinstance(node, ast.ImportFrom) and node.module == "psidebug.policy":
                used |= {each.name for each in node.names}
    assert set(numbers()) <= used


def test_policy_imports_nothing_of_the_package() -> None:
    tree = ast.parse((ROOT / "policy.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {node.module for node in imports} == {"__future__"}
