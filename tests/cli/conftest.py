"""Folders with data, and with a run of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.folder import Ran, fill, psi


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """train.csv, test.csv and validation.csv."""
    return fill(tmp_path)


@pytest.fixture(scope="session")
def debugged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """The same after ``psi debug`` with every option that a first user gives, and what it said."""
    place = fill(tmp_path_factory.mktemp("debugged"))
    ran = psi(
        *("debug", "train.csv", "test.csv", "--label", "label", "--id", "id"),
        *("--validation", "validation.csv", "--ignore", "source", "--report", "page.html"),
        folder=place,
    )
    return place, ran
