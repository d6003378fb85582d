"""Places and runs for the tests of the review app."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.review.digits import save_digits
from tests.review.talking import Room, serving

MEMORY = Path("/dev/shm")


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A directory in memory where there is such a thing: for tests of processes that wait or die, not of the disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def digits_saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("digits") / "run"
    save_digits(place)
    return place


@pytest.fixture
def digits_run(digits_saved: Path, tmp_path: Path) -> Path:
    """A run of one's own."""
    return Path(shutil.copytree(digits_saved, tmp_path / "run"))


@pytest.fixture
def room(digits_run: Path) -> Iterator[Room]:
    with serving(digits_run) as room:
        yield room
