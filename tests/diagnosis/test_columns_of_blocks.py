"""Ids, metadata and weights over blocks: the findings are those in memory, and what is wrong has its sentence early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import psidebug
from psidebug.blocks import ArrayBlocks, Block
from psidebug.diagnosis.block_columns import Columns
from psidebug.errors import InvalidWeights, PsiError, ShapeMismatch, UnknownOption, UnsupportedFeatures
from psidebug.findings.effects import Verification
from psidebug.store.manifest import ALL_LABELS

COUNT = 3_000
NAMES = [f"x{j}" for j in range(4)]
BESIDE = ["who", "when"]


def labelled_by_people(wrong: str) -> tuple[pa.Table, pa.Table, list[str]]:
    """Rows with ids, weights, who labelled them and when; test rows with their labels."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(COUNT + 600, 4))
    right = (x @ [2.0, -1.5, 1.0, 0.5] + 0.5 * rng.logistic(size=len(x)) > 0).astype(int)
    who = np.array(["ann", "bob", "cid"])[rng.integers(0, 3, COUNT)]
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, COUNT)
    when = [f"{str(each)[8:10]}/{str(each)[5:7]}/{str(each)[:4]}" for each in day]
    theirs = (who == "bob") if wrong == "who" else (day > np.datetime64("2024-08-01"))
    given = np.where(theirs & (rng.random(COUNT) < 0.8), 0, right[:COUNT])
    names = np.array(["no", "yes"])
    columns = {"key": [f"r{row:05d}" for row in range(COUNT)], "who": who, "when": when}
    columns["w"] = rng.uniform(0.5, 2.0, COUNT)
    features = {name: x[:, place] for place, name in enumerate(NAMES)}
    table = pa.table(columns | {name: values[:COUNT] for name, values in features.items()} | {"y": names[given]})
    tests = pa.table({name: values[COUNT:] for name, values in features.items()})
    return table, tests, names[right[COUNT:]].tolist()


def files(table: pa.Table, folder: Path) -> Path:
    """In the order of days: a file alone does not tell in which order they are written."""
    folder.mkdir()
    for number, start in enumerate((0, 1_000)):
        pq.write_table(table.slice(start, 1_000 if number == 0 else None), folder / f"{number}.parquet")
    return folder


@pytest.mark.parametrize("wrong", BESIDE)
def test_the_findings_are_those_in_memory(wrong: str, tmp_path: Path) -> None:
    table, tests, right = labelled_by_people(wrong)
    over_blocks = psidebug.debug(
        LogisticRegression(tol=1e-10),
        files(table, tmp_path / "rows"),
        "y",
        tests,
        right,
        rows="key",
        metadata=BESIDE,
        sample_weight="w",
        run=tmp_path / "run",
        causes="labels",
    )
    memory = psidebug.debug(
        LogisticRegression(tol=1e-10),
        table.select(NAMES),
        table.column("y").to_numpy(zero_copy_only=False),
        tests,
        right,
        rows=table.column("key").to_pylist(),
        metadata=table.select(BESIDE),
        sample_weight=table.column("w").to_numpy(),
        causes="labels",
    )
    assert over_blocks.verdict == memory.verdict
    assert [each.conditions[0].column for each in memory.findings.slices] == [wrong]
    labels = pq.read_table(tmp_path / "run" / ALL_LABELS)
    assert labels.column("id").to_pylist() == table.column("key").to_pylist()
    assert labels.column("repaired").to_pylist() == memory.repaired_labels.tolist()
    assert np.abs(labels.column("ps").to_numpy() - memory.findings.labels.ps).max() < 1e-4
    assert over_blocks.findings.labels.rows.tolist() == memory.findings.labels.rows.tolist()
    assert over_blocks.data.metadata is not None


def test_likely_labels_that_nothing_proves_are_the_cause_as_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    table, tests, right = labelled_by_people("who")
    monkeypatch.setattr(Verification, "proved", lambda self, *, accused: False)
    own = table.select([*NAMES, "y"])
    over_blocks = psidebug.debug(LogisticRegression(), ArrayBlocks(own), "y", tests, right, causes="labels")
    memory = psidebug.debug(
        LogisticRegression(), own.select(NAMES), own.column("y").to_pylist(), tests, right, causes="labels"
    )
    assert over_blocks.cause == memory.cause == "training_labels"
    assert over_blocks.corrected == memory.corrected == 0
    assert over_blocks.verdict == memory.verdict


@pytest.mark.parametrize("model", [GaussianNB(), LGBMClassifier(n_estimators=20, verbosity=-1, n_jobs=1)])
def test_weights_reach_the_learner(model: Any, tmp_path: Path) -> None:
    table, tests, right = labelled_by_people("who")
    found = []
    for weights in (np.ones(COUNT), np.where(table.column("x0").to_numpy() > 0, 1.0, 0.0)):
        weighed = table.set_column(3, "w", pa.array(weights))
        options: dict[str, Any] = {"rows": "key", "metadata": BESIDE, "causes": "labels"}
        again = psidebug.debug(model, ArrayBlocks(weighed), "y", tests, right, sample_weight="w", **options)
        own = clone(model).fit(table.select(NAMES).to_pandas(), table.column("y").to_pylist(), sample_weight=weights)
        found.append(again.data.encoding.decode(again.findings.predictions.before))
        assert (found[-1] == own.predict(tests.to_pandas())).mean() > 0.98
    assert (found[0] != found[1]).mean() > 0.03


def test_dates_of_a_block_are_read_as_those_of_the_drawn_rows() -> None:
    blocks = ArrayBlocks(pa.table({"when": ["02/01/2020"], "x": [1.0], "y": ["a"]}))
    columns = Columns.of(blocks, "y", metadata=["when"])
    drawn = pa.table({"when": ["01/02/2020", "31/01/2020"]})
    alone = pa.table({"when": ["02/01/2020", None, "no day"]})
    assert columns.metadata_of(alone) == alone  # nobody knows the order
    read = columns.with_dates(drawn).metadata_of(alone)
    assert read is not None
    assert [None if each is None else each.isoformat() for each in read.column("when").to_pylist()] == [
        "2020-01-02T00:00:00",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"ids": [1, 2]}, UnknownOption, "rows is a list: where rows are read in blocks, give the name of a column"),
        ({"metadata": 3}, UnknownOption, "metadata is a list of names"),
        ({"ids": "none"}, ShapeMismatch, "there is no column 'none'"),
        ({"weight": "name"}, InvalidWeights, "the weights in 'name' are string: give numbers"),
        ({"metadata": ["x", "name", "w"]}, UnsupportedFeatures, "no column left to learn from"),
        ({"label": "x", "metadata": ["none"]}, ShapeMismatch, "there is no column 'none': there are name, x, w, y."),
        ({"label": "some"}, ShapeMismatch, "there is no column 'some'"),
    ],
)
def test_columns_that_cannot_be_used_have_their_sentence(
    options: dict[str, Any], error: type[PsiError], says: str
) -> None:
    table = pa.table({"name": ["a", None], "x": [1.0, 2.0], "w": [1.0, -1.0], "y": [0, 1]})
    with pytest.raises(error, match=says):
        Columns.of(ArrayBlocks(table), **{"label": "y", **options})


def test_lists_are_refused_as_features_and_left_out_of_the_metadata() -> None:
    blocks = ArrayBlocks(pa.table({"x": [1.0], "tags": [["a"]], "y": [0]}))
    with pytest.raises(UnsupportedFeatures, match=r"'tags' is list.*: leave it out by --ignore, in Python by metadata"):
        Columns.of(blocks, "y")
    assert Columns.of(blocks, "y", metadata=["tags"]).all == ["x", "y"]


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB()], ids=["all rows", "drawn rows"])
def test_rows_have_numbers_where_ids_name_several_and_labels_may_be_categories(model: Any) -> None:
    table, tests, right = labelled_by_people("who")
    few = table.slice(0, 2_000).select([*NAMES, "y"]).append_column("key", pa.array(["same"] * 2_000))
    few = few.set_column(few.column_names.index("y"), "y", few.column("y").dictionary_encode())
    found = psidebug.debug(model, ArrayBlocks(few), "y", tests, right, rows="key", causes="labels")
    assert found.findings.labels.rows.tolist() == list(range(2_000))
    assert "ids in 'key' name several rows: rows are named by their numbers, from 0" in found.notes


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"ids": "name"}, ShapeMismatch, "row 8 has no id in 'name'"),
        ({"weight": "w"}, InvalidWeights, "the weight of row 8 is -1: weights are at most"),
    ],
)
def test_rows_that_cannot_be_used_have_their_sentence(
    options: dict[str, Any], error: type[PsiError], says: str
) -> None:
    table = pa.table({"name": ["a", None], "x": [1.0, 2.0], "w": [1.0, -1.0], "y": [0, 1]})
    columns = Columns.of(ArrayBlocks(table), "y", **options)
    with pytest.raises(error, match=says):
        columns.check(Block(7, table))
