"""A run directory holds a whole run at every moment, and never a mix of two."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import psidebug
from psidebug.errors import OtherRun, OutputError
from psidebug.files import marked
from psidebug.review.serve import listening
from psidebug.review.verdict_store import open_store
from psidebug.store import check_run_place, fingerprint_of, load_run
from psidebug.store.manifest import read_run_file
from tests.conftest import Planted, planted_rows
from tests.store.conftest import debugged, told


@pytest.fixture(scope="module")
def small(planted: Planted) -> psidebug.Diagnosis:
    """Quick to save: nothing to explain."""
    return debugged(planted, bugs=[])


def state(directory: Path) -> dict[str, bytes]:
    return {str(each.relative_to(directory)): each.read_bytes() for each in directory.rglob("*") if each.is_file()}


def test_a_run_is_written_and_nothing_else(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    small.save(str(tmp_path / "run"))
    assert [each.name for each in tmp_path.iterdir()] == ["run"]
    assert sorted(each.name.split("-")[0] for each in (tmp_path / "run").iterdir()) == ["run.json", "tables"]


def test_other_users_can_read_nothing_of_a_run(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    """A run holds the rows themselves."""
    before = os.umask(0o022)
    try:
        for _ in range(2):  # made, and replaced
            small.save(tmp_path / "run")
        open_store(tmp_path / "run").close()
        listening("127.0.0.1", 0, run=tmp_path / "run").close()
    finally:
        os.umask(before)
    for each in [tmp_path / "run", *(tmp_path / "run").rglob("*")]:
        assert stat.S_IMODE(each.stat().st_mode) == (0o700 if each.is_dir() else 0o600), each


def test_runs_saved_at_once_in_a_new_place_are_all_saved(
    small: psidebug.Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is finished between the look at the place and the last step."""
    replace_ = os.replace

    def late(source: Any, target: Any) -> None:
        if Path(target) == tmp_path / "run":
            monkeypatch.setattr(os, "replace", replace_)
            told(small, "first").save(tmp_path / "run")
        replace_(source, target)

    monkeypatch.setattr(os, "replace", late)
    told(small, "second").save(tmp_path / "run")
    assert load_run(tmp_path / "run").notes == ("second",)
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


def test_an_empty_directory_is_filled(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".tables-x.partial").mkdir()  # left by a process that was killed
    small.save(tmp_path / "run")
    assert load_run(tmp_path / "run").verdict == small.verdict


def test_the_same_inputs_replace_the_run_and_leave_other_files(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    told(small, "first").save(tmp_path / "run")
    (tmp_path / "run" / "verdicts.sqlite").write_text("kept")
    told(small, "second").save(tmp_path / "run")
    assert load_run(tmp_path / "run").notes == ("second",)
    assert len(list((tmp_path / "run").glob("*tables-*"))) == 1
    assert (tmp_path / "run" / "verdicts.sqlite").read_text() == "kept"


def test_a_link_to_a_run_stays_a_link(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    told(small, "first").save(tmp_path / "run")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    told(small, "second").save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load_run(tmp_path / "run").notes == ("second",)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "killed"])
@pytest.mark.parametrize("step", ["os.replace", "os.rename", "os.fsync", "pyarrow.parquet.write_table"])
@pytest.mark.parametrize("old", [False, True], ids=["nothing there", "a run there"])
def test_a_failure_midway_leaves_what_was_there(
    small: psidebug.Diagnosis,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    error: BaseException,
    old: bool,
) -> None:
    if old:
        told(small, "first").save(tmp_path / "run")
    before = state(tmp_path)

    def fails(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(step, fails)
    with pytest.raises(OutputError if isinstance(error, OSError) else KeyboardInterrupt) as caught:
        told(small, "second").save(tmp_path / "run")
    if isinstance(error, OSError):
        assert "could not write" in str(caught.value)
        assert "No space left on device. Choose a place you can write to." in str(caught.value)
    monkeypatch.undo()
    assert state(tmp_path) == before
    assert [each.name for each in tmp_path.iterdir()] == (["run"] if old else [])
    if old:
        assert load_run(tmp_path / "run").notes == ("first",)


def test_a_disk_that_fills_up_at_any_time(
    small: psidebug.Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(small, "first").save(tmp_path / "run")
    before, real = state(tmp_path), os.fsync

    def save_with_room_for(calls: int) -> int:
        """Saves the second run with a disk that is full at that call of fsync; how many there were."""
        made = []

        def fsync(handle: int) -> None:
            made.append(handle)
            if len(made) == calls:
                raise OSError(28, "No space left on device")
            real(handle)

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fsync)
            told(small, "second").save(tmp_path / "run")
        return len(made)

    calls = 0
    while state(tmp_path) == before:
        calls += 1
        with pytest.raises(OutputError):
            save_with_room_for(calls)
    # Only the last call comes after the step that makes the new run count; it forces that step to disk.
    assert load_run(tmp_path / "run").notes == ("second",)
    assert save_with_room_for(0) == calls > len(load_run(tmp_path / "run").files.record["files"])


def test_an_interrupt_right_after_the_step_leaves_the_new_run(
    small: psidebug.Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(small, "first").save(tmp_path / "run")
    real = os.replace

    def interrupted(*arguments: Any) -> None:
        real(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        told(small, "second").save(tmp_path / "run")
    assert load_run(tmp_path / "run").notes == ("second",)


def test_at_every_step_a_reader_finds_a_whole_run(
    small: psidebug.Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(small, "first").save(tmp_path / "run")
    seen = []
    for name in ("replace", "rename", "fsync"):
        real = getattr(os, name)

        def watched(*arguments: Any, real: Any = real) -> Any:
            answer = real(*arguments)
            run = load_run(tmp_path / "run")
            assert len(run.findings.labels.rows) == 120
            seen.append(run.notes[0])
            return answer

        monkeypatch.setattr(os, name, watched)
    told(small, "second").save(tmp_path / "run")
    assert set(seen) == {"first", "second"}
    assert seen == sorted(seen), "never back to the old one"


def test_another_run_is_not_overwritten(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    small.save(tmp_path / "run")
    before = state(tmp_path)
    with pytest.raises(OtherRun, match="other data or another learner"):
        debugged(planted_rows(seed=1), bugs=[]).save(tmp_path / "run")
    assert state(tmp_path) == before


def forge(run: Path, **parts: Any) -> None:
    """A run as a stranger could have written it: the same inputs, and these parts."""
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | parts))


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What would be removed: nothing is, for a test that fails should not empty a disk."""
    asked: list[Path] = []
    monkeypatch.setattr("shutil.rmtree", lambda path, **_: asked.append(Path(path)))
    return asked


@pytest.mark.parametrize("name", ["../precious/causes.parquet", "{there}/precious/causes.parquet", "precious/../.."])
def test_no_folder_outside_of_the_run_is_removed(
    small: psidebug.Diagnosis, tmp_path: Path, removed: list[Path], name: str
) -> None:
    small.save(tmp_path / "run")
    for place in (tmp_path, tmp_path / "run"):
        (place / "precious").mkdir()
    files = read_run_file(tmp_path / "run")["files"]
    forge(tmp_path / "run", files={**files, "causes": {"path": name.format(there=tmp_path), "sha256": ""}})
    before = state(tmp_path)
    with pytest.raises(OtherRun, match="not a table inside the run"):
        small.save(tmp_path / "run")
    assert removed == []
    assert state(tmp_path) == before


def test_only_the_old_tables_are_removed(small: psidebug.Diagnosis, tmp_path: Path, removed: list[Path]) -> None:
    small.save(tmp_path / "run")
    tables = [*(tmp_path / "run").glob("tables-*")]
    small.save(tmp_path / "run")
    assert removed == tables


def test_folders_inside_of_the_run_that_are_not_its_tables_are_not_removed(
    small: psidebug.Diagnosis, tmp_path: Path, removed: list[Path]
) -> None:
    small.save(tmp_path / "run")
    (tmp_path / "run" / "again-001").mkdir()
    forge(tmp_path / "run", files={"labels": {"path": "again-001/labels.parquet", "sha256": ""}})
    with pytest.raises(OtherRun, match="not a table inside the run"):
        small.save(tmp_path / "run")
    assert removed == []


def test_links_are_not_followed_when_old_tables_are_removed(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    small.save(tmp_path / "run")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("three years of work")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = marked("tables-").replace(f"-{os.getpid()}.", f"-{gone.pid}.")
    for name in ("tables-x", f"{left}x", f".{left}x.partial"):
        (tmp_path / "run" / name).symlink_to(tmp_path / "precious")
    forge(tmp_path / "run", files={"labels": {"path": "tables-x/labels.parquet", "sha256": ""}})
    small.save(tmp_path / "run")
    assert (tmp_path / "precious" / "thesis.txt").read_text() == "three years of work"
    assert load_run(tmp_path / "run").verdict == small.verdict
    links = [each.name for each in (tmp_path / "run").iterdir() if each.is_symlink()]
    assert links == ["tables-x"], "what a killed process could have left goes, and only the link"


def test_a_run_file_that_is_a_link_is_not_written_through(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    small.save(tmp_path / "run")
    (tmp_path / "run" / "run.json").rename(tmp_path / "elsewhere.json")
    (tmp_path / "run" / "run.json").symlink_to(tmp_path / "elsewhere.json")
    before = state(tmp_path)
    with pytest.raises(OtherRun, match="is a link"):
        small.save(tmp_path / "run")
    assert state(tmp_path) == before


@pytest.mark.parametrize("value", [None, 7, "x", [], {"learner": {}}], ids=str)
def test_a_forged_fingerprint_is_another_run(small: psidebug.Diagnosis, tmp_path: Path, value: Any) -> None:
    small.save(tmp_path / "run")
    forge(tmp_path / "run", fingerprint=value)
    before = state(tmp_path)
    with pytest.raises(OtherRun, match="cannot be read"):
        small.save(tmp_path / "run")
    assert state(tmp_path) == before


def test_what_is_no_run_is_not_overwritten(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(OtherRun, match="is not a saved run"):
        small.save(tmp_path)
    with pytest.raises(OutputError, match="it is a file"):
        small.save(tmp_path / "thesis.txt")
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(OtherRun, match="cannot be read"):
        small.save(tmp_path)
    assert set(state(tmp_path)) == {"thesis.txt", "run.json"}


def test_places_where_no_run_can_be(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"there is no directory .*missing\. Make it first"):
        small.save(tmp_path / "missing" / "run")
    with pytest.raises(OutputError, match="Choose another place"):
        small.save(f"{tmp_path}/a\0b")
    with pytest.raises(OutputError, match="could not write"):
        small.save(tmp_path / ("x" * 300))
    assert list(tmp_path.iterdir()) == []


def test_a_place_is_checked_before_the_work(small: psidebug.Diagnosis, planted: Planted, tmp_path: Path) -> None:
    prints = fingerprint_of(small.task)
    check_run_place(tmp_path / "run", prints)
    small.save(tmp_path / "run")
    check_run_place(tmp_path / "run", prints)
    with pytest.raises(OtherRun):
        check_run_place(tmp_path / "run", prints | {"learner": "another"})


def test_the_tables_can_be_read_by_any_program(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    small.save(tmp_path / "run")
    files = json.loads((tmp_path / "run" / "run.json").read_text())["files"]
    labels = pq.read_table(tmp_path / "run" / files["labels"]["path"])
    assert labels.column_names[:4] == ["row", "given", "repaired", "proposed"]
    assert labels["given"].to_pylist() == small.task.encoding.decode(small.task.train.codes).tolist()


WRITER = """
import sys
from tests.conftest import planted_rows
from tests.store.conftest import debugged, told
found = debugged(planted_rows(), bugs=[])
while True:
    for note in ("a", "b"):
        told(found, note).save(sys.argv[1])
        print(flush=True)
"""


@pytest.mark.parametrize("wait", [0.0, 0.011])
def test_a_kill_at_any_moment_leaves_a_whole_run(tmp_path: Path, wait: float) -> None:
    """Tables that nobody names may stay behind; the run itself is the old one or the new one."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", WRITER, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root) as writer:
        assert writer.stdout is not None
        for _ in range(3):
            writer.stdout.readline()
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
    run = load_run(tmp_path / "run")
    assert run.notes[0] in ("a", "b")
    assert run.data.train.features.shape == (120, 4)


KILLED = """
import os, signal, sys
import psidebug.store.place as place
from psidebug.store.save import contents
from tests.conftest import planted_rows
from tests.store.conftest import debugged
step, target = sys.argv[1:]
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
home, _, name = step.rpartition(".")
setattr({"os": os, "place": place}[home], name, die)
found = debugged(planted_rows(), bugs=[])
place.write_run(target, *contents(found.findings, found.data, found.spec, found.task.learner))
"""


@pytest.mark.parametrize(
    ("step", "old"), [("place._written", True), ("place.write_whole", True), ("os.replace", False)]
)
def test_what_a_killed_process_left_is_removed_by_the_next(
    small: psidebug.Diagnosis, tmp_path: Path, step: str, old: bool
) -> None:
    if old:
        told(small, "first").save(tmp_path / "run")
    (tmp_path / ".run.0123.partial").mkdir()  # of an older Psi, or of another machine: nobody knows
    command = [sys.executable, "-c", KILLED, step, str(tmp_path / "run")]
    assert subprocess.run(command, cwd=Path(__file__).parents[2], check=False).returncode == -signal.SIGKILL
    left = [each for each in tmp_path.rglob("*") if "partial" in each.name or "tables" in each.name]
    assert len(left) > (2 if old else 1)
    told(small, "second").save(tmp_path / "run")
    assert load_run(tmp_path / "run").notes == ("second",)
    assert sorted(each.name for each in tmp_path.iterdir()) == [".run.0123.partial", "run"]
    assert sorted(each.name.split("-")[0] for each in (tmp_path / "run").iterdir()) == ["run.json", "tables"]


def test_what_a_living_process_writes_is_let_be(small: psidebug.Diagnosis, tmp_path: Path) -> None:
    told(small, "first").save(tmp_path / "run")
    mine = [tmp_path / f".{marked('run')}x.partial", tmp_path / "run" / f".{marked('tables-')}x.partial"]
    for each in mine:
        each.mkdir()
    told(small, "second").save(tmp_path / "run")
    assert all(each.exists() for each in mine)
