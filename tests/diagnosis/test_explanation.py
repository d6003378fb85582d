"""One bug explained: what is claimed of the smallest correction is retrained here with scikit-learn alone."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from psidebug import policy
from psidebug.diagnosis.explanation import Explanation, causes_of, explain, position_of, ranked
from psidebug.diagnosis.proof import Prover, moved_at_random
from psidebug.diagnosis.smallest import AT_RANDOM
from psidebug.errors import NotMisclassified, UnknownRow
from psidebug.findings.findings import Predictions
from psidebug.graybox.choose import graybox_for
from psidebug.graybox.retrain import Retrain
from psidebug.inference.estimates import no_causes
from psidebug.priors import Prior, noise
from psidebug.sufficiency import sufficiency
from psidebug.symptoms import misclassified
from psidebug.task.task import Task
from tests.conftest import Planted
from tests.diagnosis.tasks import three_classes
from tests.graybox.alice import LEARNERS, MISLABELLED, pictures


def prior_of(task: Task, rate: float = 0.05) -> Prior:
    return noise(task.train.codes, task.encoding.size, rate)


def explained(task: Task, row: int, *, prover: Prover | None = None, box: str = "auto", **options: Any) -> Explanation:
    return explain(prover or Prover(task), graybox_for(task, box), prior_of(task), row, **options)


def logistic_task(planted: Planted, classes: int = 2) -> Task:
    y_train, y_test = (planted.y_train, planted.y_test) if classes == 2 else three_classes(planted)
    return Task.of(LogisticRegression(), planted.X_train, y_train, planted.X_test, y_test)


def repaired_by(task: Task, model: Any, codes: npt.NDArray[np.intp], row: int) -> bool:
    fitted = clone(model).fit(task.train.features, codes)
    return bool(fitted.predict(task.test.features[row : row + 1])[0] == task.test.codes[row])


BOXES = [(name, box) for name in LEARNERS for box in ("auto", "leaf_refit") if name != "logistic" or box == "auto"]


LONG = {("histogram", "leaf_refit"), ("xgboost", "leaf_refit")}


@pytest.mark.parametrize(
    ("name", "box"), [pytest.param(*each, marks=pytest.mark.thorough if each in LONG else ()) for each in BOXES]
)
def test_alices_five_cars(name: str, box: str) -> None:
    model = LEARNERS[name]
    task = Task.of(model, *pictures(), rows=[f"p{i}" for i in range(85)])
    prover = Prover(task)
    found = explained(task, 0, prover=prover, box=box)
    smallest = found.smallest
    assert smallest is not None
    assert set(smallest.positions.tolist()) <= MISLABELLED
    assert 2 <= smallest.size <= 5
    assert smallest.rows.tolist() == [f"p{i}" for i in smallest.positions]
    assert found.fits == prover.fits <= 12 + AT_RANDOM
    assert repaired_by(task, model, smallest.codes, 0)
    np.testing.assert_array_equal(np.flatnonzero(smallest.codes != task.train.codes), np.sort(smallest.positions))
    assert smallest.verified.test_after.wrong == smallest.verified.points_broken == 0
    # the claim that every member is needed
    assert smallest.irreducible
    for each in smallest.positions:
        less = smallest.codes.copy()
        less[each] = task.train.codes[each]
        assert not repaired_by(task, model, less, 0)
    assert f"changes {smallest.size} labels" in str(found)
    assert found.test_label_doubt is None


def test_a_correction_stands_beside_as_many_random_labels() -> None:
    """What is told of chance is retrained here by scikit-learn alone."""
    model = LEARNERS["logistic"]
    task = Task.of(model, *pictures())
    smallest = explained(task, 0).smallest
    assert smallest is not None
    assert smallest.by_chance is not None

    def wrong(codes: Any) -> Any:
        said = clone(model).fit(task.train.features, task.encoding.decode(codes)).predict(task.test.features)
        return said != task.encoding.decode(task.test.codes)

    rng, given = np.random.default_rng(task.seed), task.train.codes
    moved = [wrong(moved_at_random(given, smallest.codes, rng)) for _ in range(AT_RANDOM)]
    before = wrong(given)
    assert smallest.by_chance.changed == (wrong(smallest.codes) != before).sum() >= 1
    assert smallest.by_chance.random == tuple((each != before).sum() for each in moved)
    assert smallest.by_chance.repaired == sum(not each[0] for each in moved)
    assert "as many random labels change" in str(smallest)


def test_the_smallest_set_of_a_small_task_is_the_smallest() -> None:
    """Eight rows: all sets of corrections are retrained. With so few worlds PS is exact for retraining itself."""
    X = np.array([[-3.0], [-2.0], [-1.0], [0.5], [1.0], [1.5], [2.0], [3.0]])
    y = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    task = Task.of(LogisticRegression(), X, y, np.array([[0.6], [-2.0], [2.8]]), np.array([1, 0, 1]))
    assert task.bugs.tolist() == [0]
    prover = Prover(task)
    found = explain(prover, Retrain(task), prior_of(task), 0, budget=20)
    assert found.engine == "enumeration"
    assert found.smallest is not None
    sizes = (
        size
        for size in range(1, 9)
        for rows in combinations(range(8), size)
        if repaired_by(task, LogisticRegression(), np.where(np.isin(np.arange(8), rows), 1 - y, y), 0)
    )
    assert found.smallest.size == found.expected == next(sizes) > 1


@pytest.mark.parametrize("classes", [2, 3])
def test_every_claim_about_every_bug(planted: Planted, classes: int) -> None:
    task = logistic_task(planted, classes)
    box, repaired = graybox_for(task), 0
    for bug in task.bugs[:3].tolist():
        prover = Prover(task)
        found = explain(prover, box, prior_of(task), bug, budget=6)
        assert found.fits == prover.fits <= 6 + AT_RANDOM
        assert (found.given, found.predicted) == tuple(
            task.encoding.classes[code] for code in (task.test.codes[bug], task.predicted[bug])
        )
        if found.smallest is None:
            assert "does not repair it" in str(found)
            continue
        repaired += 1
        assert repaired_by(task, LogisticRegression(), found.smallest.codes, bug)
        assert found.smallest.size <= found.pushed
        moved = found.smallest.positions
        estimates = sufficiency(box, prior_of(task), misclassified(bug))
        np.testing.assert_array_equal(found.smallest.codes[moved], estimates.proposed[moved])
        if not found.smallest.irreducible:
            assert found.fits == 6 + AT_RANDOM  # else there was a fit left to try with
    assert repaired > 2


def test_without_fits_nothing_is_claimed(planted: Planted) -> None:
    task = logistic_task(planted)
    prover = Prover(task)
    found = explained(task, int(task.bugs[0]), prover=prover, budget=0)
    assert found.smallest is None
    assert (found.fits, found.pushed, prover.fits) == (0, 0, 0)
    assert "No correction was tried" in str(found)


def test_corrections_that_do_not_repair_it_are_told_with_how_far_they_went(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bad point deep among the good ones: its label is the wrong one, and three others do not move it."""
    monkeypatch.setattr(policy, "MOST_SHARE_FOR_ONE_BUG", 0.0)
    monkeypatch.setattr(policy, "MANY", 3)
    X_test, y_test = np.vstack([planted.X_test, [[9.0, 9.0, -3.0, 0.0]]]), np.append(planted.y_test, "bad")
    task = Task.of(LogisticRegression(), planted.X_train, planted.y_train, X_test, y_test)
    row = len(y_test) - 1
    found = explained(task, row, test_probability=np.array([0.02, 0.98]))
    assert found.smallest is None
    assert found.pushed == 3
    assert f"up to {found.pushed} together" in str(found)
    assert found.test_label_doubt is not None
    assert "0.02, and 'good' 0.98" in found.test_label_doubt
    assert str(found).endswith(found.test_label_doubt)
    # a labeller that believes the label, and no other evidence at all, leave it be
    assert explained(task, row, test_probability=np.array([0.6, 0.4])).test_label_doubt is None
    assert explained(task, row).test_label_doubt is None
    # training labels that are probably right speak against it, for a labeller that is not sure too
    for undecided in (None, np.array([0.3, 0.7])):
        doubt = explained(task, row, p_wrong=np.full(120, 0.02), test_probability=undecided).test_label_doubt
        assert doubt is not None
        assert "not half of the way" in doubt


def test_many_corrections_cast_doubt_unless_they_are_probably_wrong(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "MANY", 1)
    monkeypatch.setattr(policy, "MANY_SHARE", 0.0)
    task = Task.of(LEARNERS["logistic"], *pictures())
    p_wrong = np.full(85, 0.02)
    found = explained(task, 0, p_wrong=p_wrong)
    assert found.smallest is not None
    assert found.test_label_doubt is not None
    assert f"repairing it takes {found.smallest.size} corrections" in found.test_label_doubt
    p_wrong[sorted(MISLABELLED)] = 0.9
    assert explained(task, 0, p_wrong=p_wrong).test_label_doubt is None


def test_other_evidence_orders_the_causes_and_rules_labels_out(planted: Planted) -> None:
    task = logistic_task(planted)
    bug = int(task.bugs[0])
    plain = explained(task, bug)
    p_wrong = np.where(planted.wrong, 0.9, 0.05)
    p_wrong[plain.causes["row"].iloc[0]] = 0.0
    found = explained(task, bug, p_wrong=p_wrong)
    causes = found.causes
    assert list(causes.columns) == ["row", "given", "proposed", "ps", "ps_low", "ps_high", "p_wrong"]
    np.testing.assert_array_equal(causes["p_wrong"], p_wrong[causes["row"]])
    assert (np.diff(causes["ps"] * causes["p_wrong"]) <= 0).all()
    assert (np.diff(plain.causes["ps"]) <= 0).all()
    assert found.smallest is not None
    assert plain.causes["row"].iloc[0] not in found.smallest.positions
    estimates = sufficiency(graybox_for(task), prior_of(task), misclassified(bug))
    np.testing.assert_array_equal(plain.causes["row"], ranked(estimates))
    np.testing.assert_array_equal(plain.causes["p_wrong"], estimates.p_wrong[ranked(estimates)])
    assert len(causes_of(task, no_causes(prior_of(task), reason=""))) == 0


def test_a_bug_that_sampling_never_loses_still_gets_its_smallest_set() -> None:
    """At a rate of one in ten thousand no sampled world is free of the bug: the order is by lone effects instead."""
    model = GradientBoostingClassifier(n_estimators=30, max_depth=2, random_state=0)
    task = Task.of(model, *pictures())
    box = graybox_for(task, "leaf_refit")
    found = explain(Prover(task), box, prior_of(task, 1e-4), 0)
    assert len(found.causes) == 0
    assert "PS is not known (none of 10,000 sampled worlds" in str(found)
    assert found.smallest is not None
    assert set(found.smallest.positions.tolist()) <= MISLABELLED


def test_a_bug_that_a_fresh_fit_does_not_have() -> None:
    X_train, y_train, X_test, y_test = pictures()
    truth = np.where(np.isin(np.arange(85), sorted(MISLABELLED)), 1, y_train)
    task = Task.of(LogisticRegression().fit(X_train, y_train), X_train, truth, X_test, y_test)
    found = explain(Prover(task), Retrain(task), prior_of(task), 0)
    assert found.smallest is not None
    assert found.smallest.size == found.fits == 0
    assert "fresh fit" in str(found)


@pytest.mark.parametrize("named", [False, True], ids=["positions", "ids"])
def test_what_explain_refuses(planted: Planted, named: bool) -> None:
    task = logistic_task(planted)
    ids = np.array([f"t{at}" for at in range(len(task.test))], dtype=object) if named else None
    tests = Predictions(task.test.codes, task.predicted, None, task.bugs, ids)
    right = int(np.flatnonzero(task.predicted == task.test.codes)[0])
    wrong: list[tuple[Any, type[Exception]]] = [
        (tests.rows[right], NotMisclassified),
        (-1, UnknownRow),
        (len(task.test), UnknownRow),
        (True, UnknownRow),
        (tests.rows, UnknownRow),
    ]
    for row, error in wrong:
        with pytest.raises(error):
            position_of(tests, row)
    for bug in task.bugs.tolist():
        assert position_of(tests, tests.rows[bug]) == bug
