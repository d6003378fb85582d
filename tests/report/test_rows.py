"""How rows are shown: the right pictures, the words and columns that matter, whatever the table is made of."""

from __future__ import annotations

import base64
import os
import signal
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import psidebug
from psidebug.report.distinctive import telling_words, worth_of_column, worth_of_entries
from psidebug.report.pictures import LARGEST_FILE, picture_of_array, picture_of_file
from psidebug.report.rows import CELLS, RowView, views
from psidebug.task.columns import Column
from psidebug.task.labels import Encoding
from tests.conftest import Planted
from tests.store.conftest import debugged, texts


def shown(found: psidebug.Diagnosis, part: Any, rows: Any, **limits: int) -> list[RowView]:
    return views(found.findings, found.data, part, rows, **limits)


def pixels_of(address: str) -> npt.NDArray[np.uint8]:
    """A PNG of eight bits, unfiltered, read by the letter of its standard."""
    content = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    place, parts = 8, {}
    while place < len(content):
        (size,) = struct.unpack(">I", content[place : place + 4])
        name, body = content[place + 4 : place + 8], content[place + 8 : place + 8 + size]
        assert struct.unpack(">I", content[place + 8 + size : place + 12 + size]) == (zlib.crc32(name + body),)
        parts[name] = body
        place += 12 + size
    width, height, depth, kind = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    assert depth == 8
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), dtype=np.uint8).reshape(height, -1)
    assert (lines[:, 0] == 0).all()
    return lines[:, 1:].reshape((height, width, 3) if kind == 2 else (height, width))


@pytest.mark.parametrize("shape", [(3, 5), (4, 2, 3), (4, 2, 1)])
def test_an_array_becomes_its_picture(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(0, 256, size=shape)
    address = picture_of_array(values.ravel(), shape=shape, spread=(0, 255))
    assert address is not None
    np.testing.assert_array_equal(pixels_of(address), values[:, :, 0] if shape[2:] == (1,) else values)


def test_what_is_no_picture_has_none_and_what_is_large_is_made_small() -> None:
    assert picture_of_array(np.zeros(7), shape=(2, 3), spread=(0, 1)) is None
    assert picture_of_array(np.zeros((2, 2, 2)), spread=(0, 1)) is None
    assert picture_of_array(["a", "b"], spread=(0, 1)) is None
    large = picture_of_array(np.ones((500, 100)), spread=(0, 1))
    assert large is not None
    assert pixels_of(large).shape == (84, 17)
    assert (pixels_of(large) == 255).all()
    constant = picture_of_array(np.full((2, 2), np.nan), spread=(3, 3))
    assert constant is not None


@pytest.mark.parametrize("given", ["{outside}", "../outside.png", "link.png", "{outside}.nothing"])
def test_pictures_outside_of_the_folder_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """The paths come with the data: a stranger's table must not put your pictures into a page that you send him."""
    content = base64.b64decode((picture_of_array(np.eye(3), spread=(0, 1)) or "").split(",")[1])
    outside, folder = tmp_path / "outside.png", tmp_path / "project"
    folder.mkdir()
    outside.write_bytes(content)
    (folder / "own.png").write_bytes(content)
    (folder / "link.png").symlink_to(outside)
    monkeypatch.chdir(folder)
    path = given.format(outside=outside)
    found, why = picture_of_file(path)
    assert found is None
    assert why == f"{path} is outside of this folder: set PSI_PICTURES to the folder of your pictures"
    assert picture_of_file("own.png")[0] is not None
    assert picture_of_file(str(folder / "own.png"))[0] is not None
    monkeypatch.setenv("PSI_PICTURES", str(tmp_path))
    assert (picture_of_file(path)[0] is None) == given.endswith("nothing")


def test_a_pipe_is_no_picture_and_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.png")
    signal.alarm(5)
    try:
        assert picture_of_file("pipe.png") == (None, "no picture at pipe.png")
    finally:
        signal.alarm(0)


def test_files_are_known_by_what_they_are_not_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    address = picture_of_array(np.eye(3), spread=(0, 1)) or ""
    content = base64.b64decode(address.split(",")[1])
    (tmp_path / "picture.txt").write_bytes(content)
    assert picture_of_file(tmp_path / "picture.txt") == (address, None)
    (tmp_path / "page.png").write_text("<svg onload=alert(1)>")
    found, why = picture_of_file(str(tmp_path / "page.png"))
    assert found is None
    assert "is no PNG" in str(why)
    (tmp_path / "large.png").write_bytes(content + b"0" * LARGEST_FILE)
    found, why = picture_of_file(tmp_path / "large.png")
    assert found is None
    assert "larger than 60 kB" in str(why)
    assert picture_of_file(tmp_path / "missing.png")[0] is None
    assert picture_of_file("\0")[0] is None
    assert picture_of_file(None) == (None, "no picture")


def test_a_row_of_pixels_is_shown_as_a_picture_and_nothing_else(planted: Planted) -> None:
    found = debugged(planted, images=(2, 2), bugs=[])
    view = shown(found, "train", [5])[0]
    assert view.picture is not None
    low, high = planted.X_train.min(), planted.X_train.max()
    wanted = np.round(255 * (planted.X_train[5].reshape(2, 2) - low) / (high - low))
    np.testing.assert_array_equal(pixels_of(view.picture), wanted)
    assert all(cell.deciding for cell in view.cells)


def test_a_column_of_arrays_or_paths_is_shown_as_pictures(
    planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSI_PICTURES", str(tmp_path))
    address = picture_of_array(np.eye(2), spread=(0, 1)) or ""
    (tmp_path / "one.png").write_bytes(base64.b64decode(address.split(",")[1]))
    arrays = [np.full((2, 2), float(row)) for row in range(120)]
    paths = [str(tmp_path / ("one.png" if row == 3 else "none.png")) for row in range(120)]
    meta = pd.DataFrame({"array": arrays, "path": paths})
    view = shown(debugged(planted, metadata=meta, images="array", bugs=[]), "train", [60])[0]
    np.testing.assert_array_equal(pixels_of(view.picture or ""), np.full((2, 2), round(255 * 60 / 119)))
    first, second = shown(debugged(planted, metadata=meta, images="path", bugs=[]), "train", [3, 4])
    assert first.picture == address
    assert second.picture is None
    assert "no picture at" in str(second.note)


# ── what comes first ──


def test_columns_of_slices_come_first_then_those_that_tell_the_labels_apart(planted: Planted) -> None:
    names = ["noise", "strong", "source", "weak"]
    rng = np.random.default_rng(0)

    def frame(X: Any) -> pd.DataFrame:
        return pd.DataFrame(
            np.column_stack([rng.normal(size=len(X)), X[:, 0] + X[:, 1], X[:, 2], X[:, 3]]), columns=names
        )

    found = debugged(planted, X_train=frame(planted.X_train), X_test=frame(planted.X_test))
    assert found.correction is not None
    assert found.correction.slice is not None
    assert found.correction.slice.columns == ("source",)
    for part, row in (("train", 7), ("test", 3)):
        view = shown(found, part, [row])[0]
        assert [cell.name for cell in view.cells][:2] == ["source", "strong"]
        assert [cell.deciding for cell in view.cells] == [True, False, False, False]
    value = found.task.train.features["source"].iloc[7]
    assert shown(found, "train", [7])[0].cells[0].value == str(int(value))


def test_metadata_are_shown_of_training_rows(planted: Planted) -> None:
    meta = pd.DataFrame({"by": ["web" if wrong else None for wrong in planted.wrong]})
    found = debugged(planted, metadata=meta)
    wrong = int(np.flatnonzero(planted.wrong)[0])
    cells = {cell.name: cell.value for cell in shown(found, "train", [wrong])[0].cells}
    assert cells["by"] == "web"
    assert set(cells) == {"by", "x0", "x1", "x2", "x3"}
    assert "by" not in {cell.name for cell in shown(found, "test", [0])[0].cells}


def test_constant_columns_come_last_whatever_table_they_are_of(planted: Planted) -> None:
    rows = len(planted.X_train)
    never = np.full(rows, "NaT", dtype="datetime64[s]")
    meta = pd.DataFrame({"zero": np.zeros(rows), "same": ["one"] * rows, "none": [None] * rows, "never": never})
    found = debugged(planted, metadata=meta.assign(note=[f"note {row}" for row in range(rows)]))
    names = [cell.name for cell in shown(found, "train", [7])[0].cells]
    assert set(names[:5]) == {"note", "x0", "x1", "x2", "x3"}
    assert set(names[5:]) == set(meta)


def test_of_thousands_of_columns_a_few_are_shown_and_the_rest_counted(planted: Planted) -> None:
    def wide(X: Any) -> Any:
        return np.column_stack([X, np.zeros((len(X), 2000))])

    found = debugged(planted, X_train=wide(planted.X_train), X_test=wide(planted.X_test), bugs=[])
    view = shown(found, "train", [0])[0]
    assert len(view.cells) == CELLS
    assert view.more == 2004 - CELLS
    assert len(shown(found, "train", [0], cells=3)[0].cells) == 3


def test_of_a_sparse_row_its_entries_are_shown(planted: Planted) -> None:
    found = debugged(planted, X_train=sp.csr_matrix(planted.X_train), X_test=sp.csr_matrix(planted.X_test), bugs=[])
    for row, view in enumerate(shown(found, "train", range(120))):
        seen = {cell.name: float(cell.value) for cell in view.cells}
        whole = {f"x{place}": value for place, value in enumerate(planted.X_train[row]) if value or f"x{place}" in seen}
        assert seen == whole
        assert all(cell.deciding for cell in view.cells if float(cell.value) == 0)


def test_words_that_matter_are_marked_and_the_text_is_whole(planted: Planted) -> None:
    found = debugged(
        planted, X_train=texts(planted.X_train), X_test=texts(planted.X_test),
        model=make_pipeline(CountVectorizer(), LogisticRegression()),
    )  # fmt: skip
    for given, view in zip(texts(planted.X_train), shown(found, "train", range(120)), strict=True):
        assert "".join(part.text for part in view.text) == given
        for part in view.text:
            assert part.why is None or part.text.isalnum()
    why = {part.text: part.why for view in shown(found, "train", range(120)) for part in view.text if part.why}
    assert why["awful"] == "more often in rows labelled bad"
    assert "plain" not in why


def test_of_a_long_text_the_part_about_the_slice_is_shown(planted: Planted) -> None:
    def long(X: Any) -> list[str]:
        return [f"{'word ' * 300}{text}{' more' * 300}" for text in texts(X)]

    frames = {
        name: pd.DataFrame({"said": long(X)}) for name, X in (("X_train", planted.X_train), ("X_test", planted.X_test))
    }
    model = make_pipeline(make_column_transformer((CountVectorizer(), "said")), LogisticRegression())
    found = debugged(planted, model=model, text="said", **frames)
    slices = [one for each in found.hypotheses for one in each.slices]
    words = {str(condition.values[0]) for each in slices for condition in each.conditions}
    assert words
    for row, view in enumerate(shown(found, "train", range(120), letters=100)):
        seen = "".join(part.text for part in view.text)
        assert len(seen) <= 102
        whole = frames["X_train"]["said"].iloc[row]
        assert seen.strip("…") in whole
        there = words & set(whole.split())
        assert there <= {part.text for part in view.text if part.deciding} or len(there) > 1
        assert view.cells == ()


# ── what tells the labels apart ──


def test_telling_words_are_those_of_one_class() -> None:
    texts = np.array(["red both"] * 40 + ["blue both"] * 40 + ["blue red both"] * 4, dtype=object)
    codes = np.array([0] * 40 + [1] * 44)
    assert telling_words(texts, codes, Encoding(("a", "b"))) == {"red": "a", "blue": "b"}
    assert telling_words(texts[:3], codes[:3], Encoding(("a", "b"))) == {}


def test_the_worth_of_a_column_is_goodman_and_kruskals_tau() -> None:
    codes = np.array([0, 0, 0, 1, 1, 1])
    assert worth_of_column(Column("same", codes.astype(float)), codes) == pytest.approx(1.0)
    assert worth_of_column(Column("none", np.zeros(6)), codes) == pytest.approx(0.0)
    kinds = np.array(["x", "x", "y", "y", "y", None], dtype=object)
    # x: (2, 0), y: (1, 2), missing: (0, 1); Σ n_gk² / n_g = 2 + 5/3 + 1; τ = (14/3/6 - ½) / ½
    assert worth_of_column(Column("kinds", kinds), codes) == pytest.approx((14 / 18 - 0.5) / 0.5)
    days = np.array(["2024-01-01"] * 3 + ["2024-02-01"] * 2 + ["NaT"], dtype="datetime64[D]")
    assert worth_of_column(Column("days", days), codes) == pytest.approx(1.0)
    matrix = sp.csr_array(np.array([[1, 0, 1], [1, 0, 0], [1, 0, 1], [0, 0, 2], [0, 0, 1], [0, 0, 0]], dtype=float))
    dense = [worth_of_column(Column("", (matrix.toarray()[:, place] != 0).astype(float)), codes) for place in range(3)]
    np.testing.assert_allclose(worth_of_entries(matrix, codes), dense, atol=1e-12)
