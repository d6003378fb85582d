"""The keys of every command's JSON, as ``docs/json.md`` lists them."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "json.md"


def documented_keys() -> dict[str, set[str]]:
    """By command, and what of it is meant: ``"verify"``, ``"verify, each effect"``."""
    found: dict[str, set[str]] = {}
    of = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|") and "`" in line:
            command, key = (cell.strip() for cell in line.split("|")[1:3])
            of = command.replace("`", "").removeprefix("psi ") or of
            found.setdefault(of, set()).add(key.strip("`"))
    return found


KEYS = documented_keys()
