"""The verdict store: append-only, undone and redone, stored once, migrated, shared by processes, safe from SIGKILL."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import random
import sqlite3
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from psidebug.errors import OutputError, UnknownOption, UnreadableRun
from psidebug.review.database import VERSION
from psidebug.review.verdict_store import STORE_FILE, Store, open_store
from psidebug.review.verdicts import Verdict

KILLS, VERDICTS = 40, 1000


def keep(position: int, **changes: object) -> Verdict:
    parts: dict[str, object] = {"row": f"row {position}", "action": "keep", "label": "even", **changes}
    return Verdict(position, **parts)  # type: ignore[arg-type]


def standing(store: Store) -> dict[int, str]:
    return {position: verdict.action for position, verdict in store.current().items()}


def test_a_verdict_knows_who_and_when_and_comes_back_equal(tmp_path: Path) -> None:
    label, row = ("odd", 1), date(2024, 2, 29)
    with open_store(tmp_path) as store:
        store.record([keep(3, row=row, action="correct", label=label, comment="<b>“no”</b>")], reviewer="ann")
    with open_store(tmp_path) as again:
        (verdict,) = again.current().values()
    assert (verdict.position, verdict.row, verdict.action, verdict.label) == (3, row, "correct", label)
    assert (verdict.comment, verdict.reviewer) == ("<b>“no”</b>", "ann")
    assert verdict.time.endswith("+00:00")


def test_undo_and_redo_go_all_the_way_back_and_forth(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        states = [standing(store)]
        for step in range(30):
            store.record([keep(step % 7, action=("keep", "skip", "correct")[step % 3])], reviewer="ann")
            states.append(standing(store))
        for state in reversed(states[:-1]):
            store.undo(reviewer="ann")
            assert standing(store) == state
        assert store.undo(reviewer="ann") is None
        for state in states[1:]:
            store.redo(reviewer="ann")
            assert standing(store) == state
        assert store.redo(reviewer="ann") is None
        assert len(store.log()) == 90, "nothing is deleted"


def test_a_new_verdict_ends_what_could_be_redone(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.record([keep(0)], reviewer="ann")
        store.undo(reviewer="ann")
        store.record([keep(1)], reviewer="ann")
        assert store.redo(reviewer="ann") is None
        assert standing(store) == {1: "keep"}


def test_many_verdicts_at_once_are_one_step(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.record([keep(0, action="skip")], reviewer="ann")
        store.record([keep(position) for position in range(50)], reviewer="ann")
        store.undo(reviewer="ann")
        assert standing(store) == {0: "skip"}
        store.redo(reviewer="ann")
        assert len(standing(store)) == 50


def test_everybody_undoes_his_own_steps_and_the_last_verdict_on_a_row_holds(tmp_path: Path) -> None:
    with open_store(tmp_path) as ann, open_store(tmp_path) as bob:
        ann.record([keep(0)], reviewer="ann")
        bob.record([keep(0, action="skip")], reviewer="bob")
        assert standing(ann) == {0: "skip"}
        ann.undo(reviewer="ann")
        assert standing(bob) == {0: "skip"}
        ann.redo(reviewer="ann")
        assert standing(bob) == {0: "keep"}, "what is redone counts as of now"
        bob.undo(reviewer="bob")
        ann.undo(reviewer="ann")
        assert standing(bob) == {}


def test_a_save_that_is_tried_again_is_stored_once(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        first = store.record([keep(0)], reviewer="ann", key="a")
        assert store.record([keep(0)], reviewer="ann", key="a") == first
        store.record([keep(1)], reviewer="ann", key="b")
        assert store.undo(reviewer="ann", key="c") == store.undo(reviewer="ann", key="c")
        assert standing(store) == {0: "keep"}
        assert store.redo(reviewer="ann", key="d") == store.redo(reviewer="ann", key="d")
        store.remark("retrained", {"rate": 0.1}, reviewer="ann", key="e")
        store.remark("retrained", {"rate": 0.1}, reviewer="ann", key="e")
        assert [each.kind for each in store.log()] == ["verdicts", "verdicts", "undo", "redo", "retrained"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET reviewer = 'eve'",
        "UPDATE verdicts SET label = '1'",
        "DELETE FROM verdicts",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events (number, key, kind, reviewer, time) VALUES (1, 'x', 'verdicts', 'eve', '')",
        "INSERT OR REPLACE INTO events (key, kind, reviewer, time) VALUES ('a', 'verdicts', 'eve', '')",
        "INSERT OR REPLACE INTO verdicts VALUES (1, 0, '0', 'keep', '1', '', 'eve', '')",
    ],
)
def test_what_is_stored_cannot_be_changed(tmp_path: Path, statement: str) -> None:
    with open_store(tmp_path) as store:
        store.record([keep(0)], reviewer="ann", key="a")
        before = store.log()
    other = sqlite3.connect(tmp_path / STORE_FILE)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        other.execute(statement)
    other.close()
    with open_store(tmp_path) as store:
        assert store.log() == before


def test_the_file_is_write_ahead_and_every_commit_is_forced_to_disk(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        asked = [store._connection.execute(f"PRAGMA {name}") for name in ("journal_mode", "synchronous")]
        assert [each.fetchone()[0] for each in asked] == ["wal", 2]


def test_what_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRun, match="not a directory"):
        open_store(tmp_path / "missing")
    (tmp_path / STORE_FILE).write_bytes(b"not a database, by no means" * 100)
    with pytest.raises(UnreadableRun, match="damaged"):
        open_store(tmp_path)


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_a_file_of_another_schema_is_refused_and_left_as_it_was(tmp_path: Path, version: int) -> None:
    other = sqlite3.connect(tmp_path / STORE_FILE)
    other.execute(f"PRAGMA user_version = {version}")
    other.close()
    with pytest.raises(UnreadableRun, match=f"has schema {version}, and this version of Psi reads only"):
        open_store(tmp_path)
    again = sqlite3.connect(tmp_path / STORE_FILE)
    assert again.execute("PRAGMA user_version").fetchone()[0] == version
    assert again.execute("SELECT name FROM sqlite_master").fetchall() == []
    again.close()


def test_a_schema_that_fails_half_way_leaves_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psidebug.review.database.APPEND_ONLY", ("CREATE TABLE no (",))
    with pytest.raises(OutputError):
        open_store(tmp_path)
    again = sqlite3.connect(tmp_path / STORE_FILE)
    assert again.execute("SELECT name FROM sqlite_master").fetchall() == []
    again.close()


def test_a_store_of_names_with_line_breaks_is_told_in_one_line(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with contextlib.closing(sqlite3.connect(tmp_path / STORE_FILE)) as forged, forged:
        forged.execute("PRAGMA writable_schema = ON")
        forged.execute("UPDATE sqlite_master SET name = 'a' || char(10) || 'b', sql = 'x' WHERE name = 'events'")
    with pytest.raises(UnreadableRun) as caught:
        open_store(tmp_path)
    assert "malformed database schema (a b)" in str(caught.value)


def test_words_that_are_no_verdicts_are_refused(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        with pytest.raises(UnknownOption, match="unknown verdict 'burn'"):
            store.record([keep(0), keep(1, action="burn")], reviewer="ann")
        with pytest.raises(UnknownOption, match="cannot have the kind"):
            store.remark("undo", {}, reviewer="ann")
        assert store.log() == []


def processes() -> Any:
    """Processes that begin with everything imported, and without this one's threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def write_many(directory: Path, who: int) -> int:
    with open_store(directory) as store:
        for position in range(VERDICTS):
            store.record([keep(position)], reviewer=f"reviewer {who}")
    return VERDICTS


def test_four_processes_write_a_thousand_verdicts_each(in_memory: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=processes()) as pool:
        assert list(pool.map(write_many, [in_memory] * 4, range(4))) == [VERDICTS] * 4
    with open_store(in_memory) as store:
        log = store.log()
    said = {(event.reviewer, verdict.position) for event in log for verdict in event.verdicts}
    assert len(log) == len(said) == 4 * VERDICTS


def write_on(directory: Path, first: int, said: Any) -> None:
    """Store verdict after verdict, and say of each that it is saved once it is."""
    with open_store(directory) as store:
        for position in itertools.count(first):
            store.record([keep(position)], reviewer="ann", key=str(position))
            said.send(position)


def test_a_process_that_is_killed_loses_nothing_that_it_said_was_saved(in_memory: Path) -> None:
    """Killed at random moments, forty times (a hundred in the benchmark); the next one tries what was not said."""
    chance, saved, context = random.Random(0), -1, processes()
    for _ in range(KILLS):
        hears, says = context.Pipe(duplex=False)
        writer = context.Process(target=write_on, args=(in_memory, saved + 1, says))
        writer.start()
        says.close()
        for _ in range(chance.randrange(1, 13)):
            saved = hears.recv()
        time.sleep(chance.uniform(0.0, 0.01))
        writer.kill()
        writer.join()
        saved = _last(hears, saved)
        with open_store(in_memory) as store:
            stored = [verdict.position for event in store.log() for verdict in event.verdicts]
        assert stored in (list(range(saved + 1)), list(range(saved + 2))), "one more may be stored than was said"
    assert saved > KILLS


def _last(hears: Any, saved: int) -> int:
    """The last position that was said before the end."""
    with contextlib.suppress(EOFError):
        while True:
            saved = hears.recv()
    return saved


NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
ENDLESS = f"SELECT i AS event, i AS position FROM ({NUMBERS})"


@pytest.mark.parametrize(
    "changes",
    [
        ["DROP TABLE verdicts", f"CREATE VIEW verdicts AS {ENDLESS}"],
        [f"CREATE TRIGGER later AFTER INSERT ON events BEGIN {ENDLESS}; END"],
        ["CREATE TABLE other (x)"],
        ["DROP TRIGGER events_DELETE_refused"],
    ],
    ids=["view", "trigger", "table", "without a trigger"],
)
def test_a_store_that_does_not_look_as_psi_made_it_is_refused(tmp_path: Path, changes: list[str]) -> None:
    """A view or trigger of a stranger could run without end."""
    open_store(tmp_path).close()
    with contextlib.closing(sqlite3.connect(tmp_path / STORE_FILE)) as connection:
        for each in changes:
            connection.execute(each)
        connection.commit()
    with pytest.raises(UnreadableRun, match="not as Psi made it"):
        open_store(tmp_path)
