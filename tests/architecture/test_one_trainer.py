"""Only the trainer fits, and, before there is one, the door."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import psidebug

SOURCE = Path(psidebug.__file__).parent
ALLOWED = {"task/learner.py", "task/task.py", "training/trainer.py"}
"""The lowest function, the door, the trainer."""


def refits(path: Path) -> Iterator[int]:
    """Lines that call the lowest function of a fit."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "refit":
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "learners":
                yield node.lineno
        if isinstance(node, ast.ImportFrom) and node.module == "psidebug.task.learner":
            if any(each.name == "refit" for each in node.names):
                yield node.lineno


def test_nobody_else_fits_a_learner() -> None:
    found = {str(path.relative_to(SOURCE)): list(refits(path)) for path in SOURCE.rglob("*.py")}
    fitting = {name for name, lines in found.items() if lines}
    assert {"task/task.py", "training/trainer.py"} <= fitting, "the search finds what is there"
    assert fitting <= ALLOWED
