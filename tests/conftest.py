"""A small task with a planted labelling bug, and one way to look at suspects of any data-frame library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import LogisticRegression

from psidebug.changes import Relabel
from psidebug.training.trainer import Trainer

if TYPE_CHECKING:
    from psidebug import Diagnosis
    from psidebug.task.task import Task


@dataclass(frozen=True)
class Budgeted:
    """A test, what it says, and how often chance may fail it; None where chance has no part."""

    name: str
    says: str
    budget: float | None


COLLECTED = pytest.StashKey[list[Budgeted]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the budgets of all tests, before any is left out."""
    config.stash[COLLECTED] = [
        Budgeted(item.nodeid, getattr(getattr(item, "function", None), "__doc__", None) or "", _budget_of(item))
        for item in items
    ]


def _budget_of(item: pytest.Item) -> float | None:
    mark = item.get_closest_marker("chance")
    return None if mark is None else float(mark.args[0])


@pytest.fixture
def budget(request: pytest.FixtureRequest) -> float:
    """How often chance may fail this test, by its marker."""
    stated = _budget_of(request.node)
    assert stated is not None, "state it: @pytest.mark.chance(1e-3)"
    return stated


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session on this machine; two of the kind would share one Java."""
    from tests.blocks.kinds import spark_session

    session = spark_session()
    yield session
    session.stop()


@dataclass(frozen=True)
class Planted:
    """Whole-number features, so that every kind of table holds exactly the same numbers."""

    X_train: npt.NDArray[np.float64]
    y_train: npt.NDArray[Any]
    X_test: npt.NDArray[np.float64]
    y_test: npt.NDArray[Any]
    wrong: npt.NDArray[np.bool_]
    """Training rows whose label is not the true one."""


def planted_rows(*, seed: int = 0, train: int = 120, test: int = 80) -> Planted:
    """Good where x0 + x1 > 0; but every good training row with x2 ≥ 2 is labelled bad."""
    rng = np.random.default_rng(seed)
    X = np.round(2.0 * rng.normal(size=(train + test, 4)))
    truth = np.where(X[:, 0] + X[:, 1] + rng.normal(scale=0.5, size=len(X)) > 0, "good", "bad")
    wrong = (X[:train, 2] >= 2) & (truth[:train] == "good")
    return Planted(X[:train], np.where(wrong, "bad", truth[:train]), X[train:], truth[train:], wrong)


def refit(task: Task, codes: npt.NDArray[np.intp]) -> Any:
    """The learner of the task trained on these labels (N,)."""
    return Trainer(task).model(Relabel.of(task.data, codes))


def precise_logistic() -> LogisticRegression:
    """Fitted until rounding error, so that answers can be compared to the ninth digit."""
    return LogisticRegression(tol=1e-12, max_iter=1000)


def suspects_of(diagnosis: Diagnosis) -> tuple[list[Any], npt.NDArray[np.float64]]:
    """Rows in order and their PS."""
    frame = nw.from_native(diagnosis.suspects, eager_only=True)
    return frame["row"].to_list(), frame["ps"].to_numpy().astype(np.float64)


def assert_same_suspects(one: Diagnosis, other: Diagnosis, *, tolerance: float = 1e-9) -> None:
    """The same rows in the same order, with the same PS."""
    rows, ps = suspects_of(one)
    other_rows, other_ps = suspects_of(other)
    rows, other_rows = one.data.positions(rows).tolist(), other.data.positions(other_rows).tolist()  # pandas names rows
    assert rows == other_rows
    assert len(rows) > 0
    np.testing.assert_allclose(ps, other_ps, rtol=0.0, atol=tolerance)


@pytest.fixture(scope="session")
def planted() -> Planted:
    return planted_rows()


def with_changes(planted: Planted, changes: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Model, training and test data of the task with some of its parts replaced, and the options among the changes."""
    parts: dict[str, Any] = {
        "model": LogisticRegression(),
        "X_train": planted.X_train,
        "y_train": planted.y_train,
        "X_test": planted.X_test,
        "y_test": planted.y_test,
        **changes,
    }
    data = [parts.pop(name) for name in ("model", "X_train", "y_train", "X_test", "y_test")]
    return data, parts


@pytest.fixture(scope="session")
def wrong_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.csv, test.csv whose labels are partly wrong, and psi-run. Leave it as it is."""
    from tests.mislabelled_tests import fill_with_wrong_tests

    return fill_with_wrong_tests(tmp_path_factory.mktemp("wrong-tests"))
