"""psi debug --annotations: wide and long files, in words and as JSON, from settings, and sentences about bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.annotated import crowd
from tests.cli.folder import fill, psi

DEBUG = ("debug", "train.csv", "test.csv", "--label", "label", "--id", "id")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train.csv, test.csv, and the answers in three files."""
    folder, answered = tmp_path_factory.mktemp("annotated"), crowd()
    rows, ids = answered.planted, [f"r{row}" for row in range(len(answered.labels))]
    train = pd.DataFrame(rows.X_train, columns=list("abcd")).assign(id=ids, label=answered.labels)
    train.to_csv(folder / "train.csv", index=False)
    test = pd.DataFrame(rows.X_test, columns=list("abcd")).assign(label=rows.y_test)
    test.assign(id=[f"t{row}" for row in range(len(test))]).to_csv(folder / "test.csv", index=False)
    answered.long.rename(columns={"row": "id"}).to_csv(folder / "long.csv", index=False)
    answered.wide.assign(id=ids).iloc[::-1].to_csv(folder / "wide.csv", index=False)
    answered.wide.to_parquet(folder / "in_order.parquet")
    return folder


def told(place: Path, *more: str) -> dict[str, Any]:
    ran = psi(*DEBUG, "--json", "-o", "run", *more, folder=place)
    assert ran.code == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_every_form_of_the_file_says_the_same(place: Path) -> None:
    long, wide, plain = (told(place, "--annotations", name) for name in ("long.csv", "wide.csv", "in_order.parquet"))
    assert long["annotators"][0]["annotator"] == "dan"
    assert (long["annotators"][0]["marks"], long["annotators"][0]["as"]) == ("good", "bad")
    for other in (wide, plain):
        assert [each["annotator"] for each in other["annotators"]] == [each["annotator"] for each in long["annotators"]]
        assert other["annotators"][0]["error_rate"] == pytest.approx(long["annotators"][0]["error_rate"], abs=0.01)
    assert set(wide["answers"][0]) == {"row", "annotator", "label", "p_wrong", "consensus"}
    assert set(wide["ask_again"][0]) == {"row", "annotator", "right", "gain"}


def test_in_words_and_from_settings(place: Path) -> None:
    (place / "psi.toml").write_text('[debug]\nannotations = "long.csv"\n')
    try:
        ran = psi(*DEBUG, "-o", "run", folder=place)
    finally:
        (place / "psi.toml").unlink()
    assert "Annotators, 4 with" in ran.out
    assert "dan errs in " in ran.out
    assert "marks 'good' as 'bad', " in ran.out
    assert "Ask again, " in ran.out


def test_without_them_the_result_has_no_such_keys(place: Path) -> None:
    assert not {"annotators", "answers", "ask_again"} & told(place).keys()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("id,annotator,label\nr0,ann,fair\n", "bad.csv has the answer 'fair'"),
        ("id,annotator,label\nx9,ann,good\n", "bad.csv has the row 'x9'"),
        ("annotator,label\nann,good\n", "none that names the row: call it 'id'"),
        ("ann,bob\ngood,bad\n", "bad.csv has 1 lines but train.csv has 240 rows"),
    ],
)
def test_a_bad_file_is_one_sentence_about_it(place: Path, content: str, says: str) -> None:
    (place / "bad.csv").write_text(content)
    ran = psi(*DEBUG, "--annotations", "bad.csv", "-o", "none", folder=place)
    assert ran.code == 2
    assert says in " ".join(ran.err.split())
    assert not (place / "none").exists()


@pytest.mark.parametrize("row", ["NaN18", "٣", "--5", "9" * 40])  # ٣ is a 3, in Arabic digits
def test_a_row_that_is_no_number_where_ids_are_is_one_sentence(tmp_path: Path, row: str) -> None:
    fill(tmp_path)
    (tmp_path / "bad.csv").write_text(f"id,annotator,label\n0,ann,yes\n{row},ann,yes\n")
    ran = psi(*DEBUG, "--annotations", "bad.csv", "-o", "none", folder=tmp_path)
    assert ran.code == 2
    assert f"bad.csv has the row {row!r}" in " ".join(ran.err.split())
