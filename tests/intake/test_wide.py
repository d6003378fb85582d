"""Tables with thousands of columns: time grows as they do, not with their square."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from psidebug.errors import LearnerMismatch
from psidebug.intake import Roles, inputs_from


@pytest.mark.parametrize("cell", ["0.5", "word"])
def test_eight_thousand_columns_are_read_in_seconds(tmp_path: Path, cell: str) -> None:
    """Ten times the columns once took a hundred times as long: a minute here, and an hour for twenty thousand."""
    names = [f"c{place}" for place in range(8000)]
    cells = np.full((40, 8000), cell, dtype=object)
    cells[::2] = "1.5" if cell == "0.5" else "text"
    lines = [",".join([*row, "ab"[place % 2]]) for place, row in enumerate(cells)]
    for file in ("train.csv", "test.csv"):
        (tmp_path / file).write_text("\n".join([",".join([*names, "label"]), *lines]) + "\n")
    begun = time.process_time()
    inputs = inputs_from(tmp_path / "train.csv", tmp_path / "test.csv", None, Roles("label"))
    inputs.arguments()
    assert time.process_time() - begun < 12
    assert len(inputs.features) == 8000


def test_a_sentence_names_a_few_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        ",".join([*(f"c{place}" for place in range(500)), "label"])
        + "\n"
        + ("1," * 500 + "a\n" + "1," * 500 + "b\n") * 9
    )
    with pytest.raises(LearnerMismatch, match="and 494 more") as caught:
        inputs_from(tmp_path / "t.csv", tmp_path / "t.csv", None, Roles("label"))
    assert len(str(caught.value)) < 400
