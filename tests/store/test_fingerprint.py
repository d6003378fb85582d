"""The digest of a task is that of its values: ids and labels of another kind of array are the same, others are not."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.store import fingerprint as module
from psidebug.store.fingerprint import SKETCHED, fingerprint_of, sketch_of
from psidebug.task.task import Task

X = np.random.default_rng(0).normal(size=(40, 2))
LABELS = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
IDS = list(range(100, 140))


def digests(rows: Any = IDS, labels: Any = LABELS) -> dict[str, str]:
    return fingerprint_of(Task.of(LogisticRegression(), X, labels, X, LABELS, rows=rows))


@pytest.mark.parametrize("rows", [np.array(IDS), np.array(IDS, dtype=np.uint16), np.array(IDS, dtype=object)], ids=str)
def test_the_same_ids_in_another_array_have_the_same_digest(rows: Any) -> None:
    assert digests(rows)["rows"] == digests()["rows"]


@pytest.mark.parametrize("rows", [IDS[::-1], list(map(str, IDS)), [*IDS[:-1], "last"]], ids=["order", "texts", "one"])
def test_other_ids_have_another_digest(rows: Any) -> None:
    assert digests(rows)["rows"] != digests()["rows"]
    assert digests(rows)["train"] == digests()["train"]


def test_one_other_label_is_another_training_set() -> None:
    other = LABELS.copy()
    other[3] = "yes" if other[3] == "no" else "no"
    mine, theirs = digests(), digests(labels=other)
    assert [name for name in mine if mine[name] != theirs[name]] == ["train"]


def test_labels_as_texts_or_objects_are_the_same() -> None:
    assert digests(labels=LABELS.astype(object)) == digests()


def test_digests_are_taken_when_they_are_first_read(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    plain = module.fingerprint_of

    def taking(task: Task) -> dict[str, str]:
        taken.append("once")
        return plain(task)

    monkeypatch.setattr(module, "fingerprint_of", taking)
    options: dict[str, Any] = {"effort": "rank", "progress": False}
    found = psidebug.debug(LogisticRegression(), X, LABELS, X, LABELS[::-1], rows=IDS, **options).found
    assert not taken
    read = found.origin.fingerprint
    assert read["train"] == digests()["train"]
    assert set(read) == {"train", "test", "rows", "learner"}
    assert taken == ["once"]
    assert pickle.loads(pickle.dumps(read)) == dict(read) == read


@pytest.mark.parametrize("name", [str, int])
@pytest.mark.parametrize("width", [3, 3 * SKETCHED])
def test_a_sketch_sees_other_columns_and_reads_few(width: int, name: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(40, width))).rename(columns=name)
    task = Task.of(LogisticRegression(), frame, LABELS, frame, LABELS)
    read: list[Any] = []
    plain = module._add_column

    def reading(*given: Any, **form: Any) -> None:
        read.append(given)
        plain(*given, **form)

    monkeypatch.setattr(module, "_add_column", reading)
    before = sketch_of(task)
    assert len(read) == 2 * min(width, SKETCHED)
    assert sketch_of(task) == before
    frame[name(9999)] = 1.0
    assert sketch_of(task) != before
    del frame[name(9999)]
    assert sketch_of(task) == before
    frame *= 2.0
    assert sketch_of(task) != before
