"""The manual page of commands is what the commands say of themselves, and every example works as typed."""

from __future__ import annotations

from pathlib import Path

from tests.docs.manual import manual

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_from_the_commands() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == manual(), "run: python -m tests.docs.manual > docs/commands.md"
