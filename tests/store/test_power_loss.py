"""The power may go at any moment: the old or the new run, page and verdicts are there, and what was called saved is."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import psidebug
from psidebug.files import write_whole
from psidebug.review.verdict_store import STORE_FILE, open_store
from psidebug.review.verdicts import Verdict
from psidebug.store import load_run, save_run
from psidebug.store.manifest import ALL_LABELS, EVERY_LABEL
from tests.conftest import Planted
from tests.power import Disk, written
from tests.store.conftest import debugged, told


@pytest.fixture(scope="module")
def small(planted: Planted) -> psidebug.Diagnosis:
    return debugged(planted, bugs=[], effort="rank")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    (tmp_path / "disk").mkdir()
    made = Disk(tmp_path / "disk")
    yield made
    made.close()


def notes(disk: Disk, place: Path) -> list[str]:
    """Which run each crash leaves: the note of it, "" for none."""
    found = []
    for number, (_, tree) in enumerate(disk.images):
        left = written(tree, place / str(number)) / "run"
        found.append(load_run(left).notes[0] if (left / "run.json").exists() else "")
    return found


def test_a_new_run_is_there_or_not(
    small: psidebug.Diagnosis, disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disk.watched(monkeypatch):
        told(small, "new").save(disk.folder / "run")
    found = notes(disk, tmp_path / "left")
    assert set(found) == {"", "new"}
    assert found[-1] == "new"
    assert len(found) > 10


def test_a_run_that_is_replaced_is_the_old_or_the_new_one(
    small: psidebug.Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "disk").mkdir()
    told(small, "old").save(tmp_path / "disk" / "run")
    disk = Disk(tmp_path / "disk")
    with disk.watched(monkeypatch):
        told(small, "new").save(disk.folder / "run")
    found = notes(disk, tmp_path / "left")
    disk.close()
    assert set(found) == {"old", "new"}
    assert found[-1] == "new"


def test_a_page_is_the_old_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "page.html").write_text("old")
    disk = Disk(tmp_path / "disk")
    with disk.watched(monkeypatch):
        write_whole(disk.folder / "page.html", "new")
    disk.close()
    left = [tree["page.html"].decode() for _, tree in disk.images]
    assert set(left) == {"old", "new"}
    assert left[-1] == "new"


def test_the_disk_tells_what_is_not_forced(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same page, written as one should not: the test above would see it."""
    (disk.folder / "page.html").write_text("old")
    with disk.watched(monkeypatch):
        (disk.folder / "other").write_text("new")
        (disk.folder / "other").replace(disk.folder / "page.html")
    assert {tree.get("page.html") for _, tree in disk.images} == {None, b""}


def test_every_verdict_that_was_called_saved_outlives_whatever_the_log_ends_with(tmp_path: Path) -> None:
    """SQLite forces its log at each step; what comes after that may be lost, cut anywhere, or be anything."""
    (tmp_path / "run").mkdir()
    sizes, log = [], tmp_path / "run" / f"{STORE_FILE}-wal"
    with open_store(tmp_path / "run") as store:
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,), "FULL: forced at each commit"
        for at in range(6):
            store.record([Verdict(at, at, "keep", "yes")], reviewer="ann")
            sizes.append(log.stat().st_size)
        main, content = (tmp_path / "run" / STORE_FILE).read_bytes(), log.read_bytes()
    for number, (saved, size) in enumerate(itertools.product(range(1, 7), (0, 1, 24, 1000, 4120, 9000))):
        place = tmp_path / f"left{number}"
        place.mkdir()
        end = content[sizes[saved - 1] :][:size]
        (place / STORE_FILE).write_bytes(main)
        (place / f"{STORE_FILE}-wal").write_bytes(content[: sizes[saved - 1]] + (end if number % 2 else bytes(size)))
        with open_store(place) as store:
            assert len(store.current()) >= saved
            assert sorted(store.current()) == list(range(len(store.current())))


def test_the_store_itself_is_there_before_a_verdict_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is forced to disk: SQLite does so only for files that it made itself."""
    (tmp_path / "run").mkdir()
    forced: list[Path] = []
    monkeypatch.setattr("psidebug.review.database.force", forced.append)
    open_store(tmp_path / "run").close()
    assert forced == [tmp_path / "run"]
    open_store(tmp_path / "run").close()
    assert len(forced) == 1
    shutil.copy(tmp_path / "run" / STORE_FILE, tmp_path / "copy")
    assert sqlite3.connect(tmp_path / "copy").execute("SELECT count(*) FROM events").fetchone() == (0,)


def test_the_table_of_all_labels_is_that_of_the_run(
    small: psidebug.Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of rows in blocks: whatever crash there is, the run has the labels that were saved with it."""
    (tmp_path / "disk").mkdir()
    for labels in ("old", "new"):
        pq.write_table(pa.table({"repaired": [labels]}), tmp_path / f"{labels}.parquet")
    _save(told(small, "old"), tmp_path / "disk" / "run", tmp_path / "old.parquet")
    disk = Disk(tmp_path / "disk")
    with disk.watched(monkeypatch):
        _save(told(small, "new"), disk.folder / "run", tmp_path / "new.parquet")
    seen = set()
    for number, (_, tree) in enumerate(disk.images):
        run = load_run(written(tree, tmp_path / "left" / str(number)) / "run")
        assert pq.read_table(run.files.place(EVERY_LABEL)).column("repaired").to_pylist() == [run.notes[0]]
        seen.add(run.notes[0])
    disk.close()
    assert seen == {"old", "new"}
    assert pq.read_table(disk.folder / "run" / ALL_LABELS).column("repaired").to_pylist() == ["new"]


def _save(found: psidebug.Diagnosis, place: Path, labels: Path) -> None:
    save_run(place, found.findings, found.data, found.spec, None, all_labels=labels)
