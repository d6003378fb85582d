"""A run that a stranger made: links in it lead the review nowhere, and nothing outside of it is read or written."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

import psidebug
from psidebug.errors import UnreadableRun
from psidebug.review.desk import Desk
from psidebug.review.serve import PORTS_FILE, listening, prepare
from psidebug.review.verdict_store import STORE_FILE, open_store
from psidebug.review.work import Workbench
from tests.cli.folder import psi

WRITTEN = [PORTS_FILE, STORE_FILE, f"{STORE_FILE}-wal", f"{STORE_FILE}-shm", f"{STORE_FILE}-journal"]
"""What a review writes in a run."""


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file that is not the run's, as old as it was."""
    place = tmp_path / "precious"
    place.write_text("[8123]")
    return place


def opened(run: Path) -> None:
    """All that ``psi review`` does before it serves."""
    served = prepare(run, psidebug.Diagnosis.load, reviewer="ann")
    served.sockets[0].close()
    served.desk.close()


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
def test_a_link_in_the_place_of_what_a_review_writes_is_refused(
    digits_run: Path, precious: Path, name: str, there: bool
) -> None:
    target = precious if there else precious.with_name("new")
    (digits_run / name).symlink_to(target)
    with pytest.raises(UnreadableRun) as caught:
        opened(digits_run)
    assert f"{digits_run / name} is a link" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert precious.read_text() == "[8123]"
    assert not precious.with_name("new").exists()
    assert (digits_run / name).is_symlink(), "it is left for the user to see"


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_no_file_is_refused_and_not_waited_for(digits_run: Path, name: str) -> None:
    if name == STORE_FILE or not hasattr(os, "mkfifo"):
        (digits_run / name).mkdir()
    else:
        os.mkfifo(digits_run / name)
    with pytest.raises(UnreadableRun, match="not a plain file"):
        opened(digits_run)


def test_a_store_that_is_a_link_is_refused_by_psi_apply(digits_run: Path, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE TABLE mine (a)")
    before = (tmp_path / "other.sqlite").read_bytes()
    (digits_run / STORE_FILE).symlink_to(tmp_path / "other.sqlite")
    ran = psi("apply", str(digits_run), "--reviewed", "-o", str(tmp_path / "fixed.csv"))
    assert (ran.code, "is a link" in ran.err) == (2, True)
    assert (tmp_path / "other.sqlite").read_bytes() == before


def test_a_hard_link_is_a_plain_file(digits_run: Path, tmp_path: Path) -> None:
    """A copy by ``cp -al`` is full of them."""
    open_store(digits_run).close()
    os.link(digits_run / STORE_FILE, tmp_path / "copy.sqlite")
    open_store(digits_run).close()


def test_a_link_that_comes_between_check_and_write_is_replaced(
    tmp_path: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / PORTS_FILE).symlink_to(precious)
    monkeypatch.setattr("psidebug.review.serve.check_plain", lambda path: None)
    listening("127.0.0.1", 0, run=run).close()
    assert precious.read_text() == "[8123]"
    assert not (run / PORTS_FILE).is_symlink()


# ── diagnoses made in the review, which are runs inside of the run ──


@pytest.mark.parametrize("name", ["..", "again-001", "elsewhere", "tables-x/../.."])
def test_a_ranking_is_never_taken_from_outside_of_the_run(digits_run: Path, tmp_path: Path, name: str) -> None:
    nested = digits_run / "nested"
    shutil.copytree(digits_run, nested)
    (nested / "again-001").symlink_to(digits_run)
    (nested / "elsewhere").symlink_to(digits_run)
    with open_store(nested) as store:
        store.remark("diagnosed", {"directory": name, "known": [0, 1]}, reviewer="eve")
    desk = Desk(nested, psidebug.Diagnosis.load)
    assert desk._last_ranked() == (desk.run, [])
    desk.close()


def test_a_new_diagnosis_is_not_saved_through_a_link(digits_run: Path, tmp_path: Path) -> None:
    (digits_run / "again-001").symlink_to(tmp_path / "outside")
    desk = Desk(digits_run, psidebug.Diagnosis.load)
    assert Workbench(desk).next_place() == digits_run / "again-002"
    desk.close()
