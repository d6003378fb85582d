"""The binned table of both sets: its conditions against their plain form, and exchanged against cut anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier

from psidebug.evidence.which_set import mirrored
from psidebug.slices import binned as module
from psidebug.slices.atoms import Atoms
from psidebug.slices.binned import Binned
from psidebug.task.tables import Table
from psidebug.task.task import Task

TRAIN, TEST = 240, 110
RNG = np.random.default_rng(0)
COUNT = TRAIN + TEST
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, COUNT),
        "weight": np.where(np.arange(COUNT) % 7 == 0, np.nan, RNG.normal(size=COUNT)),
        "city": RNG.choice(["Lima", "Bonn", "Oslo"], COUNT),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 90, COUNT), unit="D"),
        "few": RNG.integers(0, 4, COUNT),
        "note": [f"item {i} {('fine', 'late')[i % 2]}" for i in range(COUNT)],
    }
)
SPARSE = sp.random_array((COUNT, 30), density=0.1, rng=np.random.default_rng(1), format="csr")
TABLES: dict[str, tuple[Any, Any]] = {
    "frame": (FRAME[:TRAIN], FRAME[TRAIN:]),
    "matrix": tuple(np.split(RNG.normal(size=(COUNT, 3)), [TRAIN])),  # type: ignore[dict-item]
    "sparse": (SPARSE[:TRAIN], SPARSE[TRAIN:]),
    "texts": (FRAME["note"].tolist()[:TRAIN], FRAME["note"].tolist()[TRAIN:]),
    "two kinds": (FRAME[["few", "age"]][:TRAIN], FRAME[["few", "age"]][TRAIN:].assign(few=lambda t: t.few.astype(str))),
}


def task_of(name: str, metadata: Any = None) -> Task:
    X, X_test = TABLES[name]
    y, y_test = np.arange(TRAIN) % 2, np.arange(TEST) % 2
    return Task.of(DummyClassifier(), X, y, X_test, y_test, metadata=metadata, rows=np.arange(TRAIN) * 3)


def meant(atoms: Atoms, table: Table) -> None:
    """Every condition evaluated on a table of the same rows gives the rows of its cells."""
    assert len(atoms.conditions)
    for index, condition in enumerate(atoms.conditions):
        if condition.home == "features":
            assert atoms.holds(index).tolist() == condition.holds(table).tolist(), str(condition)


@pytest.mark.parametrize("name", TABLES)
def test_a_condition_means_its_cells_in_either_set(name: str) -> None:
    task = task_of(name)
    binned = Binned.of(task, least=3)
    meant(binned.atoms, task.train.features)
    meant(binned.exchanged.atoms, task.test.features)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "two kinds"])
def test_conditions_over_both_sets_are_those_of_each(name: str) -> None:
    binned = Binned.of(task_of(name), least=3)
    words = {str(each): index for index, each in enumerate(binned.of_both.conditions)}
    for side, rows in ((binned, slice(0, TRAIN)), (binned.exchanged, slice(TRAIN, None))):
        own = {str(each): index for index, each in enumerate(side.atoms.conditions) if each.home == "features"}
        assert own.keys() == words.keys() or name in ("frame", "texts"), "each word is frequent or not in each set"
        for word in own.keys() & words.keys():
            assert side.atoms.holds(own[word]).tolist() == binned.of_both.holds(words[word])[rows].tolist()


def many_values(rows: int, own: str) -> pd.DataFrame:
    """One of 81 values is in 4% of the rows, the others in few; the same of words."""
    rng, named = np.random.default_rng(0), np.arange(rows) < 0.04 * rows
    site = np.where(named, own, [f"site{each}" for each in rng.integers(0, 80, rows)])
    return pd.DataFrame({"site": site, "note": [f"item {i} {each}" for i, each in enumerate(site)]})


@pytest.mark.parametrize("sizes", [(1_000, 30_000), (30_000, 1_000)])
def test_what_is_frequent_in_the_smaller_set_has_a_condition_there(sizes: tuple[int, int]) -> None:
    """And none in the other set, where it never is."""
    (n, m), names = sizes, ("trained", "tested")
    X, X_test = many_values(n, names[0]), many_values(m, names[1])
    binned = Binned.of(Task.of(DummyClassifier(), X, np.arange(n) % 2, X_test, np.arange(m) % 2))
    for side, size, own, other in ((binned, n, *names), (binned.exchanged, m, *names[::-1])):
        held = {str(each): side.atoms.holds(index).sum() for index, each in enumerate(side.atoms.conditions)}
        assert held[f"site = {own}"] == held[f'"{own}" in note'] == 0.04 * size
        assert not any(other in each for each in held)


def test_of_very_many_test_rows_some_are_searched_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", 3 * 200)
    monkeypatch.setattr(module, "LEAST_SEARCHED", 100)
    X = np.random.default_rng(0).normal(size=(3_000, 3))
    searched = Binned.of(
        Task.of(DummyClassifier(), X[:150], np.arange(150) % 2, X, np.arange(3_000) // 1_500)
    ).test.rows
    assert len(searched) == len(np.unique(searched)) == 200
    assert 50 < np.count_nonzero(searched < 1_500) < 150, "all of one class came first"


@pytest.mark.parametrize("name", TABLES)
def test_exchanged_is_as_if_it_were_cut_anew(name: str) -> None:
    """The same conditions hold in the same rows, in whatever order the values of the sets were met."""
    task = task_of(name, metadata=pd.DataFrame({"source": ["a", "b"] * (TRAIN // 2)}))
    exchanged, anew = Binned.of(task, least=3).exchanged, Binned.of(mirrored(task), least=3)
    for one, other in ((exchanged.atoms, anew.atoms), (exchanged.of_both, anew.of_both)):
        held = {each: one.holds(index).tolist() for index, each in enumerate(one.conditions)}
        assert held == {each: other.holds(index).tolist() for index, each in enumerate(other.conditions)}


def test_only_training_rows_have_metadata() -> None:
    binned = Binned.of(task_of("matrix", metadata=pd.DataFrame({"source": ["a", "b"] * (TRAIN // 2)})))
    assert any(str(each) == "source = a" for each in binned.atoms.conditions)
    assert not any(each.home == "metadata" for each in binned.exchanged.atoms.conditions)
