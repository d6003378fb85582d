"""Files are read where PSI_DATA says, or downloaded once; nothing unverified is used; every failure is a sentence."""

from __future__ import annotations

import gc
import gzip
import hashlib
import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pooch
import pytest

from psidebug.datasets.sources import Source
from psidebug.errors import InputError, PsiError

CONTENT = b"39, State-gov, Bachelors\n"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that counts what it is asked for."""

    asked: list[str] = []  # noqa: RUF012

    def log_message(self, *_: object) -> None:
        self.asked.append(self.path)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """A public home of files: its folder and address. What is downloaded goes to a cache of this test's own."""
    monkeypatch.delenv("PSI_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    folder = tmp_path / "home"
    folder.mkdir()
    Quiet.asked.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}/rows.data"
    server.shutdown()
    server.server_close()


def source(url: str = "http://127.0.0.1:9/rows.data", content: bytes = CONTENT) -> Source:
    return Source("here", "ours", "rows.data.gz", url, hashlib.sha256(content).hexdigest())


def one_sentence_or_two(error: PsiError) -> str:
    said = str(error)
    assert "\n" not in said
    assert said.endswith(".")
    assert len(said) < 400
    return said


def test_a_file_is_downloaded_once(home: tuple[Path, str]) -> None:
    folder, url = home
    (folder / "rows.data").write_bytes(CONTENT)
    assert source(url).whereabouts() == "file not here, downloaded when first used"
    assert Quiet.asked == [], "saying where a file is downloads nothing"
    assert source(url).content() == CONTENT
    assert source(url).content() == CONTENT
    assert Quiet.asked == ["/rows.data"]
    assert source(url).whereabouts() == "file here, downloaded"


def test_a_download_with_another_checksum_is_refused_and_not_kept(home: tuple[Path, str]) -> None:
    folder, url = home
    (folder / "rows.data").write_bytes(b"something else")
    with pytest.raises(InputError, match="sha256 is not the expected one") as refused:
        source(url).content()
    assert "Set PSI_DATA to a folder that has the original rows.data.gz" in one_sentence_or_two(refused.value)
    assert source(url).whereabouts() == "file not here, downloaded when first used"


def test_a_damaged_copy_in_the_cache_is_downloaded_again(home: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = home
    (folder / "rows.data").write_bytes(CONTENT)
    source(url).content()
    (tmp_path / "cache" / "psidebug" / "rows.data").write_bytes(b"half of")
    assert source(url).content() == CONTENT


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # the library that downloads leaves it so
@pytest.mark.parametrize("reached", [True, False], ids=["not found", "no network"])
def test_what_cannot_be_downloaded_is_one_sentence(home: tuple[Path, str], reached: bool) -> None:
    _, url = home
    with pytest.raises(InputError, match="could not be downloaded") as refused:
        (source(url) if reached else source()).content()
    assert "set PSI_DATA to a folder that has rows.data.gz" in one_sentence_or_two(refused.value)
    del refused
    gc.collect()  # here, and not in a test to which it would be a mistake


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PSI_DATA", str(tmp_path))
    return tmp_path


def test_a_file_in_the_folder_is_unpacked_and_never_downloaded(folder: Path) -> None:
    (folder / "rows.data.gz").write_bytes(gzip.compress(CONTENT))
    assert source().content() == CONTENT
    assert source().whereabouts() == "file here, in PSI_DATA"


def test_a_file_missing_in_the_folder_is_named_with_its_home(folder: Path) -> None:
    with pytest.raises(InputError, match=r"has no rows\.data\.gz") as refused:
        source().content()
    said = one_sentence_or_two(refused.value)
    assert str(folder) in said
    assert "http://127.0.0.1:9/rows.data" in said
    assert source().whereabouts() == "file not here, missing in PSI_DATA"


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(b"another"), gzip.compress(CONTENT)[:-9], b"not packed", b""],
    ids=["another", "cut", "not packed", "empty"],
)
def test_a_wrong_or_damaged_file_in_the_folder_is_refused(folder: Path, packed: bytes) -> None:
    (folder / "rows.data.gz").write_bytes(packed)
    with pytest.raises(InputError, match="not the file that Psi knows") as refused:
        source().content()
    assert str(folder / "rows.data.gz") in one_sentence_or_two(refused.value)
    assert source().whereabouts() == "file damaged, in PSI_DATA"


def test_data_without_a_file_need_none() -> None:
    assert Source("generated", "ours").whereabouts() == "no file needed"
