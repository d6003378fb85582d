"""Only the trainer fits, and, before there is one, the door."""

from __future__ import annotations

import ast
from pathlib import Path

import psidebug

SOURCE = Path(psidebug.__file__).parent


def fits(path: Path) -> bool:
    """Whether a module names the lowest function of a fit."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return any(ast.unparse(node) == "learners.refit" for node in tree if isinstance(node, ast.Attribute))


def test_nobody_else_fits_a_learner() -> None:
    fitting = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if fits(path)}
    assert fitting == {"task/task.py", "training/fits.py"}
