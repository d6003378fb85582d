"""Files appear whole or not at all, and what was there before outlives a failure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from psidebug.errors import OutputError, PsiError
from psidebug.files import check_place, marked, write_whole


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_the_text_is_written_and_nothing_else(tmp_path: Path) -> None:
    write_whole(tmp_path / "page.html", "Größe ≥ 4\n")
    assert (tmp_path / "page.html").read_bytes() == "Größe ≥ 4\n".encode()
    assert names(tmp_path) == ["page.html"]


def test_an_old_file_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("old " * 1000)
    write_whole(str(target), "new")
    assert target.read_text() == "new"


def test_the_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    write_whole(tmp_path / "page.html", "text")
    (tmp_path / "other").write_text("text")
    assert (tmp_path / "page.html").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_text_that_utf8_cannot_hold_is_still_written(tmp_path: Path) -> None:
    write_whole(tmp_path / "page.html", "label \ud800")
    assert (tmp_path / "page.html").read_text() == "label \\ud800"


def test_a_name_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    write_whole(tmp_path / ("x" * 255), "text")
    assert names(tmp_path) == ["x" * 255]


def test_a_link_is_written_through_or_replaced_as_is_asked(tmp_path: Path) -> None:
    (tmp_path / "far.txt").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "far.txt")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "far.txt").read_text() == "new"
    write_whole(tmp_path / "link", "mine", through_links=False)
    assert (tmp_path / "far.txt").read_text() == "new"
    assert (tmp_path / "link").read_text() == "mine"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("step", ["replace", "fsync", "chmod"])
@pytest.mark.parametrize("old", [None, "old"])
def test_a_failure_midway_leaves_what_was_there_and_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, old: str | None
) -> None:
    target = tmp_path / "page.html"
    if old is not None:
        target.write_text(old)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OutputError, match=r"could not write .*page.html: No space left on device\. Choose a place"):
        write_whole(target, "new")
    assert names(tmp_path) == ([] if old is None else ["page.html"])
    assert old is None or target.read_text() == old


def test_an_interrupt_midway_leaves_what_was_there_and_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.html").write_text("old")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "page.html", "new")
    assert names(tmp_path) == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "old"


@pytest.mark.parametrize("place", ["missing/page.html", "file/page.html", ".", "nul\0byte.html"])
def test_places_where_no_file_can_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("I am no directory")
    before = names(tmp_path)
    with pytest.raises(OutputError, match="could not write") as caught:
        write_whole(f"{tmp_path}/{place}", "text")
    assert isinstance(caught.value, PsiError)
    assert isinstance(caught.value, OSError)
    assert names(tmp_path) == before


def test_a_directory_that_may_not_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", forbidden)  # root may write everywhere, so a read-only directory is played
    with pytest.raises(OutputError, match=r"Permission denied\. Choose a place you can write to"):
        write_whole(tmp_path / "page.html", "text")
    assert names(tmp_path) == []


def test_a_place_is_checked_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_place(tmp_path / "page.html")
    (tmp_path / "old.html").write_text("old")
    check_place(tmp_path / "old.html")
    with pytest.raises(OutputError, match=r"it is a directory\. Give the name of a file"):
        check_place(tmp_path)
    with pytest.raises(OutputError, match=r"there is no directory .*missing\. Make it first"):
        check_place(tmp_path / "missing" / "page.html")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="not yours to write to"):
        check_place(tmp_path / "page.html")
    assert names(tmp_path) == ["old.html"]


WRITER = """
import sys
from psidebug.files import write_whole
while True:
    for letter in "ab":
        write_whole(sys.argv[1], letter * 3_000_000)
        print(flush=True)
"""


@pytest.mark.parametrize("wait", [0.0, 0.003, 0.007, 0.013])
def test_a_kill_at_any_moment_leaves_a_whole_page(tmp_path: Path, wait: float) -> None:
    """Only the hidden neighbour may stay behind: no process can remove a file after it was killed.

    An unnamed file (O_TMPFILE) would leave nothing, but it exists on Linux only and cannot take the place of an old
    page in one step, which matters more.
    """
    target = tmp_path / "page.html"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(3):
            writer.stdout.readline()
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
    text = target.read_text()
    assert len(text) == 3_000_000
    assert len(set(text)) == 1
    rest = [name for name in names(tmp_path) if name != "page.html"]
    assert len(rest) <= 1
    assert all(name.startswith(".page.html.") and name.endswith(".partial") for name in rest)


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path: Path) -> None:
    real, link = tmp_path / "real.html", tmp_path / "link.html"
    real.write_text("old")
    link.symlink_to(real)
    write_whole(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    received: list[str] = []
    reader.start()
    write_whole(pipe, "through")
    reader.join(timeout=10)
    assert received == ["through"]
    assert pipe.is_fifo()


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    """A process that is killed while it writes a report leaves a hidden neighbour; the next one removes it."""
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    left = tmp_path / f".{marked('page.html').replace(str(os.getpid()), ended.stdout.strip())}x.partial"
    own, other = tmp_path / f".{marked('page.html')}y.partial", tmp_path / ".page.html.partial"
    for each in (left, own, other):
        each.touch()
    write_whole(tmp_path / "page.html", "text")
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([own.name, other.name, "page.html"])


def test_the_name_of_a_file_is_forced_to_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: forced.append(os.fstat(handle).st_ino))
    write_whole(tmp_path / "page.html", "text")
    assert forced[-1] == tmp_path.stat().st_ino
