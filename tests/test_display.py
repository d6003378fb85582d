"""How rows are to be shown is checked at the door, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psidebug.display import Display, pixels_of
from psidebug.errors import UnknownOption
from psidebug.store import load_run
from tests.conftest import Planted
from tests.store.conftest import debugged


@pytest.mark.parametrize(
    ("images", "kept"), [((2, 2), (2, 2)), ([1, 4], (1, 4)), (np.array([4, 1]), (4, 1)), ("scan", "scan"), (None, None)]
)
def test_what_is_said_is_kept(planted: Planted, tmp_path: Path, images: Any, kept: Any) -> None:
    metadata = pd.DataFrame({"scan": ["a.png", None] * 60, "note": ["x"] * 120})
    found = debugged(planted, images=images, text="note", metadata=metadata, bugs=[])
    assert found.display == Display(kept, "note")
    found.save(tmp_path / "run")
    assert load_run(tmp_path / "run").display == Display(kept, "note")


def test_a_diagnosis_keeps_it_to_the_end(planted: Planted) -> None:
    assert debugged(planted, images=(2, 2)).display.images == (2, 2)
    assert debugged(planted, bugs=[]).display == Display()


@pytest.mark.parametrize(
    ("images", "said"),
    [
        ((8, 8), "has 4 columns"),
        ((2, 2, 3), "12 numbers"),
        ((4,), "not a picture shape"),
        ((2, 2, 1), "not a picture shape"),
        ((-2, -2), "not a picture shape"),
        ((1.5, 2), "not a picture shape"),
        (("a", "b"), "takes a shape"),
        (4, "takes a shape"),
        ("nowhere", "there are by, n"),
        ("n", "holds no pictures"),
        ("ragged", "holds no pictures"),
    ],
)
def test_what_makes_no_sense_is_refused(planted: Planted, images: Any, said: str) -> None:
    metadata = pd.DataFrame({"by": ["x"] * 120, "n": range(120), "ragged": [[[1, 2], [3]]] * 120})
    with pytest.raises(UnknownOption, match=said):
        debugged(planted, images=images, metadata=metadata)


def test_text_names_a_column(planted: Planted) -> None:
    with pytest.raises(UnknownOption, match="text='note' is no column"):
        debugged(planted, text="note")


def test_pictures_come_back_from_parquet(tmp_path: Path) -> None:
    pictures = np.random.default_rng(0).integers(0, 255, size=(3, 4, 5, 3))
    pd.DataFrame({"picture": pictures.tolist()}).to_parquet(tmp_path / "pictures.parquet")
    column = pd.read_parquet(tmp_path / "pictures.parquet")["picture"]
    assert column[0].dtype == object, "an array of arrays"
    for value, picture in zip(column, pictures, strict=True):
        np.testing.assert_array_equal(pixels_of(value), picture)
