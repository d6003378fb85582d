"""The spec is stored with a run and makes the same diagnosis again; what no file can hold has to be given again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.errors import UnknownOption
from psidebug.graybox.logistic import LogisticBox
from psidebug.inference.enumeration import enumeration
from psidebug.priors import Prior, noise
from psidebug.spec import NotKept
from psidebug.symptoms import LogLossAbove, Symptom, at_least, misclassified
from tests.conftest import Planted
from tests.store.conftest import debugged


def saved(found: psidebug.Diagnosis, path: Path) -> psidebug.Diagnosis:
    found.save(path)
    return psidebug.Diagnosis.load(path)


def directed(planted: Planted) -> Prior:
    """Only labels that say bad may be wrong."""
    codes = (planted.y_train == "good").astype(np.intp)
    return noise(codes, 2, np.where(codes == 0, 0.2, 0.0))


OPTIONS: dict[str, Callable[[Planted], dict[str, Any]]] = {
    "as it comes": lambda p: {},
    "symptom": lambda p: {"symptom": "half"},
    "symptom of ours": lambda p: {"symptom": at_least(3)},
    "engine": lambda p: {"symptom": "half", "engine": "sampling"},
    "gray box": lambda p: {"graybox": "newton_residual", "check_fidelity": True},
    "rounds": lambda p: {"rounds": 3},
    "a rate": lambda p: {"prior": 0.2},
    "rates by row": lambda p: {"prior": np.linspace(0.0, 0.3, 120)},
    "rates by column": lambda p: {
        "prior": {"by": {True: 0.3}},
        "metadata": pd.DataFrame({"by": p.wrong}),
    },
    "a prior with a direction": lambda p: {"prior": directed(p)},
    "seed": lambda p: {"rng": 7},
    "generator": lambda p: {"rng": np.random.default_rng(7)},
}


OFTEN = ("as it comes", "rates by column", "rounds")


@pytest.mark.parametrize(
    "case", [pytest.param(each, marks=() if each in OFTEN else pytest.mark.thorough) for each in OPTIONS]
)
def test_a_spec_that_was_stored_makes_the_same_diagnosis(planted: Planted, tmp_path: Path, case: str) -> None:
    found = debugged(planted, **OPTIONS[case](planted))
    again = saved(found, tmp_path / "run").diagnose_again({})
    pd.testing.assert_frame_equal(again.suspects, found.suspects)
    assert dict(again.settings) == dict(found.settings)
    assert again.findings.rounds == found.findings.rounds
    np.testing.assert_array_equal(again.prior.moves, found.prior.moves)
    np.testing.assert_array_equal(again.repaired_labels, found.repaired_labels)


@pytest.mark.parametrize(
    "symptom",
    [
        misclassified(1, 2),
        at_least(3),
        LogLossAbove(0.2, (1, 5)),
        (misclassified(1) & ~misclassified(2)) | LogLossAbove(0.1),
    ],
    ids=str,
)
def test_symptoms_of_ours_are_kept(planted: Planted, tmp_path: Path, symptom: Symptom) -> None:
    found = debugged(planted, symptom=symptom, bugs=[])
    assert saved(found, tmp_path / "run").spec.symptom == symptom


# ── what is settled by a person meanwhile ──


def test_options_and_the_direction_of_a_prior_are_not_forgotten(planted: Planted, tmp_path: Path) -> None:
    found = debugged(planted, prior=directed(planted), symptom="half", engine="sampling", rounds=2)
    place = int(found.order[0])
    again = saved(found, tmp_path / "run").diagnose_again({place: "good"})
    assert again.settings["symptom"].startswith("at least")
    assert again.settings["engine"].startswith("sampling")
    assert again.spec.rounds == 2
    others = np.arange(120) != place
    np.testing.assert_array_equal(again.prior.moves[others], found.prior.moves[others])
    assert again.prior.rates[place] == 0.0, "it is a fact"


def test_what_was_settled_before_stays_settled(planted: Planted, tmp_path: Path) -> None:
    first = saved(debugged(planted), tmp_path / "run")
    one, two = (int(each) for each in first.order[:2])
    second = saved(first.diagnose_again({one: "good"}), tmp_path / "again")
    assert second.data.known is not None
    assert second.data.known.nonzero()[0].tolist() == [one]
    third, at_once = second.diagnose_again({two: "good"}), first.diagnose_again({one: "good", two: "good"})
    pd.testing.assert_frame_equal(third.suspects, at_once.suspects)


def test_between_rounds_a_prior_keeps_its_direction() -> None:
    """Three classes, of which a label can only be wrong towards the next one."""
    X, y = make_blobs(900, centers=3, cluster_std=1.5, random_state=3)
    given = y[:600].copy()
    wrong = np.random.default_rng(0).choice(600, 90, replace=False)
    given[wrong] = (given[wrong] + 2) % 3
    prior = noise(given, 3, 0.15, np.roll(np.eye(3), 1, axis=1))
    found = psidebug.debug(
        LogisticRegression(), X[:600], given, X[600:], y[600:], prior=prior, rounds=2, check_fidelity=False
    )
    assert found.correction is not None
    (second,) = found.later
    kept = found.correction.codes == given
    np.testing.assert_array_equal(second.prior.moves[kept], prior.moves[kept])
    np.testing.assert_allclose(second.prior.rates, prior.rates)
    back = second.prior.moves[~kept][np.arange((~kept).sum()), given[~kept]]
    np.testing.assert_allclose(back, 0.15), "what was moved may move back"


# ── objects ──


class Opaque:
    """A gray box of one's own."""

    name = "opaque"

    def __init__(self, box: LogisticBox) -> None:
        self.margins = box.margins


class Always(Symptom):
    """A symptom of one's own: at least one point is misclassified."""

    points = None

    def holds(self, margins: Any) -> Any:
        return (margins.min(axis=2) < 0).any(axis=1)

    def severity(self, margins: Any) -> Any:
        return -margins.min(axis=(1, 2))

    def pull(self, margins: Any) -> Any:
        return np.ones(margins.shape[1:])

    def renumbered(self, position_of: Any) -> Symptom:
        return self


def test_an_object_that_no_file_can_hold_has_to_be_given_again(planted: Planted, tmp_path: Path) -> None:
    data = (LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    box = Opaque(LogisticBox(psidebug.Task.of(*data)))
    options: dict[str, Any] = {"graybox": box, "engine": "sampling", "check_fidelity": False}
    run = saved(psidebug.debug(*data, **options), tmp_path / "run")
    assert run.spec.graybox == NotKept("opaque")
    bug = int(run.findings.predictions.bugs[0])
    for ask in (lambda: run.diagnose_again({0: "good"}), lambda: run.explain(bug)):
        with pytest.raises(UnknownOption, match=r"graybox=opaque, an object .*with_options\(graybox=…\)"):
            ask()
    assert run.verify(run.order[:2]).correction.corrected == 2, "which takes no gray box"
    assert run.with_options(graybox=box).diagnose_again({0: "good"}).settings["gray box"] == "opaque"
    other = run.with_options(graybox="newton", engine="auto")
    assert other.diagnose_again({0: "good"}).settings["gray box"] == "newton"
    assert other.explain(bug).causes.shape[0] > 0


@pytest.mark.parametrize("options", [{"engine": enumeration}, {"symptom": Always()}, {"symptom": ~Always()}])
def test_a_function_or_symptom_of_ones_own_is_named(planted: Planted, tmp_path: Path, options: dict[str, Any]) -> None:
    run = saved(debugged(planted, bugs=[], **options), tmp_path / "run")
    with pytest.raises(UnknownOption, match=f"was made with {next(iter(options))}="):
        run.diagnose_again({})


@pytest.mark.parametrize("wrong", [{"symptom": "mood"}, {"engine": "steam"}, {"graybox": "magic"}, {"rounds": 0}])
def test_options_that_are_given_again_are_checked(planted: Planted, wrong: dict[str, Any]) -> None:
    with pytest.raises(UnknownOption):
        debugged(planted, bugs=[]).with_options(**wrong)
