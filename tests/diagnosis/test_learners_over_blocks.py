"""Learners over blocks beside logistic regression: each trained on all rows gives the library's own answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xgboost
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psidebug
from psidebug.blocks import ROWS, ArrayBlocks, Blocks
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.boosters_on_dask import LightGBMOnDask, XGBoostOnDask
from psidebug.diagnosis.debug_blocks import debug_blocks
from psidebug.diagnosis.first_reading import read_first
from psidebug.diagnosis.learner_over_blocks import LearnerOverBlocks, kind_for, trained_by
from psidebug.errors import LearnerFailed, PsiError, UnknownOption, UnsupportedLearner
from psidebug.margins import margins_of
from psidebug.store.manifest import ALL_LABELS
from psidebug.task.task import Task
from tests.blocks.kinds import dask_blocks, spark_frame

pytestmark = pytest.mark.filterwarnings("ignore:Maximum number of iteration reached")
COUNT, TESTED = 2 * ROWS + 500, 300
NAMES = ["a", "b", "c"]
CHANGED = np.arange(0, COUNT, 7)


def rows(classes: int = 2) -> tuple[pa.Table, pa.Table]:
    """Numbers from 0 with few values, so that bins lie the same however rows are cut, and 'p', 'q', … as labels."""
    rng = np.random.default_rng(classes)
    x = np.round(rng.gamma(2.0, size=(COUNT + TESTED, 3)), 1)
    scores = np.column_stack([np.zeros(len(x)), *(x @ rng.normal(size=(3, classes - 1))).T])
    y = np.array(list("pqrs"))[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]
    table = pa.table({name: x[:, place] for place, name in enumerate(NAMES)} | {"y": y})
    return table.slice(0, COUNT), table.slice(COUNT)


def matrix(table: pa.Table) -> npt.NDArray[np.float64]:
    return np.column_stack([table.column(name).to_numpy() for name in NAMES])


def over_blocks(model: Any, blocks: Blocks, test: pa.Table) -> tuple[LearnerOverBlocks, Task]:
    """Trained on all rows, and the task of some."""
    columns = Columns("y", tuple(NAMES))
    first = read_first(blocks, columns, 0, complete=True)
    drawn = first.drawn.slice(0, 500)
    y = [drawn.column("y").to_pylist(), test.column("y").to_pylist()]
    task = Task.of(model, drawn.select(NAMES), y[0], test.select(NAMES), y[1], rows=drawn.column("row").to_numpy())
    return trained_by(model, blocks).of(blocks, first, task, columns), task


def flipped(codes: npt.NDArray[Any], classes: int) -> npt.NDArray[Any]:
    made = codes.copy()
    made[CHANGED] = (made[CHANGED] + 1) % classes
    return made


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        lightgbm.LGBMClassifier(n_estimators=8, random_state=3, n_jobs=1, verbose=-1),
        lightgbm.LGBMClassifier(
            n_estimators=8,
            class_weight="balanced",
            subsample=0.7,
            subsample_freq=1,
            random_state=3,
            n_jobs=1,
            verbose=-1,
        ),
        xgboost.XGBClassifier(n_estimators=8, max_bin=300, random_state=3),
        xgboost.XGBClassifier(n_estimators=8, max_depth=3, subsample=0.7, learning_rate=0.2, random_state=3),
    ],
    ids=["lightgbm", "lightgbm balanced", "xgboost", "xgboost options"],
)
def test_boosters_are_those_of_one_array(model: Any, classes: int) -> None:
    train, test = rows(classes)
    learner, task = over_blocks(model, ArrayBlocks(train.slice(0, 9), train.slice(9)), test)
    codes = np.array(["pqrs".index(each) for each in train.column("y").to_pylist()])
    again = flipped(codes, classes)
    readings = learner.blocks.readings
    retrained = learner.retrained(task, task.train.codes, CHANGED, again[CHANGED])
    assert retrained.blocks.readings == readings  # the bins are kept
    for labels, made in ((codes, learner), (again, retrained)):
        own = type(model)(**model.get_params()).fit(matrix(train), labels)
        scores = np.log(own.predict_proba(matrix(test)))
        np.testing.assert_allclose(made.margins(task.test), margins_of(scores, task.test.codes), atol=2e-5)


@pytest.mark.parametrize("kind", ["array", "dask"])
@pytest.mark.parametrize(
    "model",
    [
        MultinomialNB(),
        SGDClassifier(loss="log_loss", random_state=3, max_iter=2),
        make_pipeline(StandardScaler(), SGDClassifier(random_state=3, max_iter=3, class_weight="balanced")),
    ],
    ids=["bayes", "sgd", "scaled sgd"],
)
def test_partial_fit_is_the_same_calls_by_hand(model: Any, kind: str) -> None:
    train, test = rows()
    blocks = ArrayBlocks(train) if kind == "array" else dask_blocks(train, [ROWS + 3, COUNT - ROWS - 3])
    learner, task = over_blocks(model, blocks, test)
    x, tested, y = matrix(train), matrix(test), np.array(train.column("y").to_pylist())
    own, passes = model, 1
    if hasattr(model, "steps"):
        scaler, own = StandardScaler().fit(x), model[-1]
        x, tested = scaler.transform(x), scaler.transform(tested)
        counts = {each: float((y == each).sum()) for each in "pq"}
        own = own.set_params(class_weight={each: len(y) / (2 * count) for each, count in counts.items()})
    if isinstance(own, SGDClassifier):
        passes = own.max_iter
    changed = flipped((y == "q").astype(int), 2)
    retrained = learner.retrained(task, task.train.codes, CHANGED, changed[CHANGED])
    for labels, made in ((y, learner), (np.array(["p", "q"])[changed], retrained)):
        hand = type(own)(**own.get_params())
        for _ in range(passes):
            for start in range(0, COUNT, ROWS):
                hand.partial_fit(x[start : start + ROWS], labels[start : start + ROWS], classes=np.array(["p", "q"]))
        said = hand.decision_function(tested) if hasattr(hand, "decision_function") else None
        scores = hand.predict_log_proba(tested) if said is None else np.column_stack([np.zeros(TESTED), said])
        np.testing.assert_allclose(made.margins(task.test), margins_of(scores, task.test.codes), rtol=1e-6, atol=1e-8)


def mislabelled(count: int = 21_000) -> tuple[pa.Table, pa.Table, npt.NDArray[Any]]:
    """Rows of which most with a > 3 are labelled 'p', test rows, and the right labels of the former."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count + 500, 3)) + 2
    right = np.where((x - 2) @ [2.0, -2.0, 2.0] + rng.logistic(size=len(x)) / 2 > 0, "q", "p")
    given = np.where((x[:, 0] > 3) & (np.arange(len(x)) < count), "p", right)
    table = pa.table({name: x[:, place] for place, name in enumerate(NAMES)} | {"y": given})
    return table.slice(0, count), table.slice(count), right[:count]


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", max_iter=10)),
        pytest.param(lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1), marks=pytest.mark.thorough),
        pytest.param(xgboost.XGBClassifier(n_estimators=20, n_jobs=1), marks=pytest.mark.thorough),
    ],
    ids=["sgd", "lightgbm", "xgboost"],
)
def test_a_decision_is_of_all_rows_and_says_what_is_not(model: Any, tmp_path: Path) -> None:
    train, test, right = mislabelled()
    pq.write_table(train, tmp_path / "train.parquet")
    y_test = test.column("y").to_pylist()
    found = psidebug.debug(
        model, tmp_path / "train.parquet", "y", test.select(NAMES), y_test, rng=1, causes="labels", run=tmp_path / "run"
    )
    assert found.cause == "training_labels"
    assert "all 21,000 were judged by it. PS is of the drawn rows alone." in found.verdict
    labels = pq.read_table(tmp_path / "run" / ALL_LABELS)
    given, repaired = (np.array(labels.column(name).to_pylist()) for name in ("given", "repaired"))
    assert (repaired != right).sum() < 0.5 * (given != right).sum()
    assert labels.column("p_wrong").null_count == 0
    known = ~labels.column("ps").is_null().to_numpy()
    assert np.flatnonzero(known).tolist() == found.findings.labels.rows.tolist()
    assert found.findings.correction is not None
    assert found.findings.correction.verified.corrected == (repaired != given).sum()
    assert len(found.suspects) > 100
    found.report(tmp_path / "report.html")


@pytest.mark.parametrize(
    ("model", "error", "says"),
    [
        (SGDClassifier(early_stopping=True), UnsupportedLearner, "early_stopping keeps some rows apart"),
        (xgboost.XGBClassifier(tree_method="exact"), UnsupportedLearner, "set tree_method='hist'"),
        (lightgbm.LGBMClassifier(class_weight={"p": 2}), UnsupportedLearner, "is 'balanced' or None"),
    ],
)
def test_options_that_blocks_cannot_have_are_refused(model: Any, error: type[PsiError], says: str) -> None:
    with pytest.raises(error, match=says):
        kind_for(model)


def test_rows_that_a_learner_cannot_take_are_told(tmp_path: Path) -> None:
    train, test = rows()
    negative = train.slice(0, ROWS + 9).to_pandas()
    negative.loc[ROWS + 4, "b"] = -1.0
    with pytest.raises(LearnerFailed, match="MultinomialNB could not be fitted on rows 16384 and after: Negative"):
        over_blocks(MultinomialNB(), ArrayBlocks(pa.Table.from_pandas(negative)), test)


def test_ranking_alone_needs_a_gray_box_over_blocks(tmp_path: Path) -> None:
    train, test = rows()
    with pytest.raises(UnknownOption, match="effort='rank' is PS of every label"):
        debug_blocks(MultinomialNB(), ArrayBlocks(train), "y", test.select(NAMES), ["p"], effort="rank")


def test_a_booster_is_trained_where_the_rows_are() -> None:
    """Without a cluster they are in this process; on one the library has a program of its own."""
    train, test = rows()
    model = lightgbm.LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1)
    blocks = dask_blocks(train, [ROWS + 3, COUNT - ROWS - 3])
    learner, task = over_blocks(model, blocks, test)
    own = model.fit(matrix(train), train.column("y").to_pylist())
    scores = np.log(own.predict_proba(matrix(test)))
    np.testing.assert_allclose(learner.margins(task.test), margins_of(scores, task.test.codes), atol=2e-5)
    blocks.client = object()  # type: ignore[attr-defined]
    assert trained_by(model, blocks) is LightGBMOnDask
    assert trained_by(xgboost.XGBClassifier(), blocks) is XGBoostOnDask


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_spark_trains_no_learner_that_goes_from_block_to_block(spark: Any) -> None:
    train, test = rows()
    for model in (MultinomialNB(), lightgbm.LGBMClassifier()):
        with pytest.raises(UnsupportedLearner, match=f"Spark cannot train {type(model).__name__} here"):
            psidebug.debug(model, spark_frame(spark, train.slice(0, 99), [99]), "y", test.select(NAMES), ["p"])
