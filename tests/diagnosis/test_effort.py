"""How far a diagnosis goes: labels are ranked, it is decided, or everything is proved; what is asked for later is the
same as what is made at once.
"""

from __future__ import annotations

import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

import psidebug
from psidebug.cli.findings import as_data
from psidebug.diagnosis.proof import Prover
from psidebug.diagnosis.repair import best_of, retrained
from psidebug.errors import ChangedData, UnknownOption
from psidebug.exports.table_files import plain
from psidebug.report import summarise
from psidebug.report.page import render
from psidebug.store import load_run
from tests.conftest import Planted


class Counted(LogisticRegression):  # type: ignore[misc]
    """Counts its own fits."""

    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        Counted.fits += 1
        return super().fit(X, y, sample_weight)


def debug(planted: Planted, model: Any = None, **options: Any) -> psidebug.Diagnosis:
    rows = planted.X_train, planted.y_train, planted.X_test, planted.y_test
    return psidebug.debug(LogisticRegression() if model is None else model, *rows, **options)


@pytest.fixture(scope="module")
def decided(planted: Planted) -> psidebug.Diagnosis:
    return debug(planted)


@pytest.fixture(scope="module")
def proved(planted: Planted) -> psidebug.Diagnosis:
    return debug(planted, effort="prove")


def text_of(found: psidebug.Diagnosis) -> str:
    """The page of what was found, made by nobody else."""
    return render(summarise(found.found, found.data)).replace(found.found.origin.created, "")


# ── decide, and look later ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_decision_makes_no_figures_that_nobody_asked_for(decided: psidebug.Diagnosis) -> None:
    found = decided.found
    assert found.correction is not None
    assert (found.curve, found.controls, found.fidelity) == (None, None, None)
    assert found.settings["fidelity"] == "not measured"


def test_it_stops_at_the_first_correction_that_is_proved(
    decided: psidebug.Diagnosis, proved: psidebug.Diagnosis
) -> None:
    """It is the one that is the best of all."""
    assert len(decided.tried) < len(proved.tried)
    assert [each.proved for each in decided.tried] == [*[False] * (len(decided.tried) - 1), True]
    best = best_of(proved.tried)
    assert best is not None
    np.testing.assert_array_equal(decided.tried[-1].codes, best.codes)
    everyone = retrained(Prover(decided.task), decided.hypotheses[::-1], lambda *told: None, everyone=True)
    again = best_of(everyone)
    assert again is not None
    np.testing.assert_array_equal(again.codes, best.codes)


def test_explanations_after_it_say_what_they_would_correct_but_not_what_it_gains(
    decided: psidebug.Diagnosis, proved: psidebug.Diagnosis
) -> None:
    ours, all_of_them = decided.explanations, proved.explanations
    assert ours[["explanation", "evidence", "charge"]].equals(all_of_them[["explanation", "evidence", "charge"]])
    assert ours["corrected"].tolist() == all_of_them["corrected"].tolist()
    assert ours["gain"].isna().tolist() == [False] * len(decided.tried) + [True] * (len(ours) - len(decided.tried))
    assert not all_of_them["gain"].isna().any()


def test_what_is_asked_for_later_is_what_is_made_at_once(
    decided: psidebug.Diagnosis, proved: psidebug.Diagnosis
) -> None:
    assert decided.fidelity == proved.fidelity is not None
    assert str(decided.controls) == str(proved.controls) != "None"
    pd.testing.assert_frame_equal(decided.threshold_curve, proved.threshold_curve)
    assert decided.curve is decided.curve, "made once"
    later = decided.with_proof
    assert (later.verdict, later.notes, later.settings) == (proved.verdict, proved.notes, proved.settings)
    for name in ("explanations", "slices", "causes", "suspects", "threshold_curve"):
        pd.testing.assert_frame_equal(getattr(later, name), getattr(proved, name))
    assert plain(as_data(later)) == plain(as_data(proved))
    assert text_of(later) == text_of(proved)
    assert as_data(later)["proof"]["curve"]
    assert later.verdict == decided.verdict, "PS is no guess here"


def test_the_order_in_which_it_is_asked_for_does_not_matter(planted: Planted, proved: psidebug.Diagnosis) -> None:
    found = debug(planted)
    found.repairs  # noqa: B018
    assert found.fidelity == proved.fidelity
    assert str(found.controls) == str(proved.controls)
    later = found.with_proof
    assert later.verdict.startswith(proved.verdict)
    assert later.found.repairs, "what was asked for before stays"
    assert later.settings == proved.settings


def test_the_causes_say_what_as_many_labels_at_random_gain(
    decided: psidebug.Diagnosis, proved: psidebug.Diagnosis
) -> None:
    assert proved.controls is not None
    assert proved.controls.at_random is not None
    assert proved.found.causes[0].control == proved.controls.at_random.gain
    assert decided.found.causes[0].control is None
    assert decided.found.causes[0].proof == proved.found.causes[0].proof == "yes"


def test_a_review_changes_nothing_of_the_proof(planted: Planted, proved: psidebug.Diagnosis) -> None:
    found = debug(planted)
    reviewed = found.reviewed(rejected=found.suspects["row"].tolist()[:5])
    assert reviewed.order.tolist() != found.order.tolist()
    pd.testing.assert_frame_equal(reviewed.threshold_curve, proved.threshold_curve)


def test_every_round_can_be_asked(planted: Planted) -> None:
    at_once, later = debug(planted, rounds=2, effort="prove"), debug(planted, rounds=2)
    assert len(at_once.later) == len(later.later)
    for one, other in zip(at_once.later, later.later, strict=True):
        assert one.found.curve is not None
        assert other.found.curve is None
        pd.testing.assert_frame_equal(one.threshold_curve, other.threshold_curve)


# ── saved ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_keeps_what_was_made_and_its_learner_makes_the_rest(
    planted: Planted, proved: psidebug.Diagnosis, tmp_path: Path
) -> None:
    found = debug(planted)
    found.controls  # noqa: B018
    found.save(tmp_path / "run")
    kept = load_run(tmp_path / "run")
    assert (kept.curve, kept.fidelity) == (None, None)
    assert str(kept.controls) == str(proved.controls)
    loaded = psidebug.Diagnosis.load(tmp_path / "run")
    assert loaded.fidelity == proved.fidelity
    pd.testing.assert_frame_equal(loaded.threshold_curve, proved.threshold_curve)
    loaded.save(tmp_path / "again")
    assert load_run(tmp_path / "again").fidelity == proved.fidelity


def test_a_correction_without_controls_is_kept(decided: psidebug.Diagnosis, planted: Planted, tmp_path: Path) -> None:
    debug(planted).save(tmp_path / "run")
    kept = load_run(tmp_path / "run")
    assert kept.controls is None
    assert kept.correction is not None
    assert decided.correction is not None
    assert str(kept.correction.verified) == str(decided.correction.verified)
    np.testing.assert_array_equal(kept.correction.verified.wrong_after, decided.correction.verified.wrong_after)


def test_a_run_without_its_learner_says_that_nothing_was_measured(planted: Planted, tmp_path: Path) -> None:
    found = debug(planted, Counted())  # of a class that no file may hold
    found.save(tmp_path / "run")
    loaded = psidebug.Diagnosis.load(tmp_path / "run")
    assert (loaded.curve, loaded.controls, loaded.fidelity, loaded.threshold_curve) == (None, None, None, None)
    page = text_of(loaded.with_proof)
    assert page.count("Not measured.") == 2
    assert "The controls were not measured." in page


@pytest.mark.parametrize("effort", ["rank", "decide", "prove"])
def test_the_effort_is_part_of_the_spec(planted: Planted, effort: Any, tmp_path: Path) -> None:
    found = debug(planted, effort=effort, check_fidelity=False)
    found.save(tmp_path / "run")
    again = psidebug.Diagnosis.load(tmp_path / "run").diagnose_again({})
    assert again.spec.effort == effort
    assert (again.found.curve is None) == (effort != "prove")
    assert again.verdict == found.verdict


# ── rank ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_ranking_fits_the_model_once_and_decides_nothing(planted: Planted) -> None:
    Counted.fits = 0
    found = debug(planted, Counted(), effort="rank")
    assert Counted.fits == 1
    assert found.settings["fits"] == "1"
    assert "ranked by PS" in found.verdict
    assert "nothing was decided" in found.verdict
    assert 'effort "decide"' in found.verdict
    assert found.cause == "cannot_say"
    assert found.correction is None
    assert not len(found.explanations)
    assert not len(found.checks)
    assert (found.suspects["ps"].diff().dropna() <= 0).all(), "most sufficient first"
    assert found.with_proof.found.curve is None, "there is nothing to prove"
    np.testing.assert_array_equal(found.repaired_labels, planted.y_train)


def test_ranking_a_fitted_model_fits_nothing(planted: Planted) -> None:
    fitted = Counted().fit(planted.X_train, planted.y_train)
    Counted.fits = 0
    assert debug(planted, fitted, effort="rank").settings["fits"] == "0"
    assert Counted.fits == 0


def test_ranking_takes_a_stated_prior(planted: Planted) -> None:
    found = debug(planted, effort="rank", prior=np.where(planted.wrong, 0.2, 0.0))
    assert set(found.order.tolist()) <= set(np.flatnonzero(planted.wrong).tolist())
    assert debug(planted, effort="rank").settings["noise rate"] == "0.05"


def test_ranking_where_there_is_nothing_to_debug(planted: Planted) -> None:
    Counted.fits = 0
    found = debug(planted, Counted(), effort="rank", bugs=[])
    assert Counted.fits == 1
    assert found.verdict.startswith("Nothing to debug")
    assert found.cause == "cannot_say"


@pytest.mark.parametrize("effort", ["prov", None, 3])
def test_an_unknown_effort_is_refused_with_the_choices(planted: Planted, effort: Any) -> None:
    with pytest.raises(UnknownOption, match=r"effort=.* is not one of decide, prove, rank\."):
        debug(planted, effort=effort)


# ── who watches ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Watching:
    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.told.append(("stage", stage))

    def first_suspects(self, suspects: Any) -> None:
        self.told.append(("suspects", suspects))


def test_first_suspects_are_told_before_they_are_weighed(planted: Planted, decided: psidebug.Diagnosis) -> None:
    watching = Watching()
    found = debug(planted, progress=watching)
    names = [kind if kind == "suspects" else said for kind, said in watching.told]
    assert names.count("suspects") == 1
    assert names.index("profiling") < names.index("suspects") < names.index("slices")
    first = next(said for kind, said in watching.told if kind == "suspects")
    ranked = debug(planted, effort="rank").suspects
    pd.testing.assert_frame_equal(first, ranked.head(len(first)))
    assert len(first) == 5
    pd.testing.assert_frame_equal(found.suspects, decided.suspects)


# ── what it took ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_fit_is_counted_where_it_was_made(planted: Planted) -> None:
    Counted.fits = 0
    found = debug(planted, Counted())
    assert int(found.settings["fits"]) == Counted.fits
    table = found.timings.set_index("stage")
    assert table.index[-1] == "total"
    assert table.loc["total", "fits"] == table["fits"].iloc[:-1].sum() == Counted.fits
    assert table.loc["the model's fit", "fits"] == 1
    assert table.loc["retraining", "fits"] == len(found.tried)
    assert {"checking", "causes in the rows", "gray box", "evidence", "slices", "inference"} <= {*table.index}
    assert "curve" not in table.index
    assert (table[["seconds", "processor_seconds"]].to_numpy() >= 0).all()
    np.testing.assert_allclose(table.loc["total", "seconds"], table["seconds"].iloc[:-1].sum())


def test_what_is_made_later_is_added(planted: Planted) -> None:
    found = debug(planted)
    before = found.timings["fits"].iloc[-1]
    assert found.fidelity is not None
    after = found.timings.set_index("stage")["fits"]
    assert after["fidelity"] == found.fidelity.fits
    assert after["total"] == before + after["curve"] + after["fidelity"]
    assert found.settings["fits"] == str(before), "those of the decision"


def test_rounds_need_a_decision(planted: Planted) -> None:
    with pytest.raises(UnknownOption, match="rounds=3 goes on from a correction, and effort='rank' makes none"):
        debug(planted, rounds=3, effort="rank")


# ── what happens in between ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", [LogisticRegression, LGBMClassifier])
def test_a_fitted_model_may_be_fitted_again_before_the_proof(kind: Any, planted: Planted) -> None:
    """As the README does with the repaired labels; neither that nor other options change what is asked later."""
    fitted = [kind(**({"verbose": -1} if kind is LGBMClassifier else {})).fit(planted.X_train, planted.y_train)] * 2
    fitted = [copy.deepcopy(each) for each in fitted]
    found = [debug(planted, each) for each in fitted]
    fitted[1].set_params(random_state=7).fit(planted.X_train[:, ::-1], planted.y_train)
    one, two = (asdict(each.found) for each in found)
    assert found[0].controls is not None
    np.testing.assert_equal(str(found[1].controls), str(found[0].controls))
    np.testing.assert_equal(found[1].threshold_curve.to_dict(), found[0].threshold_curve.to_dict())
    np.testing.assert_equal(two["predictions"], one["predictions"])


@pytest.mark.parametrize("changed", ["X_train", "X_test"])
def test_features_that_were_changed_in_place_are_not_mixed_with_old_fits(changed: str, planted: Planted) -> None:
    rows = {name: np.array(getattr(planted, name)) for name in ("X_train", "y_train", "X_test", "y_test")}
    found = psidebug.debug(LogisticRegression(), *rows.values())
    rows[changed] -= 1.0
    for asked in (lambda: found.controls, lambda: found.threshold_curve, lambda: found.verify([0])):
        with pytest.raises(ChangedData, match="Run debug again"):
            asked()
    rows[changed][:] = getattr(planted, changed)
    assert found.controls is not None


def test_a_step_that_changes_features_in_place_is_named(planted: Planted) -> None:
    rows = {name: np.array(getattr(planted, name)) for name in ("X_train", "y_train", "X_test", "y_test")}
    found = psidebug.debug(make_pipeline(RobustScaler(copy=False), LogisticRegression()), *rows.values())
    with pytest.raises(ChangedData, match="copy=False"):
        [found.verify([row]) for row in (0, 1)]


def test_weights_and_metadata_that_were_changed_in_place_stay_as_they_were_given(planted: Planted) -> None:
    weights, who = np.ones(len(planted.y_train)), pd.DataFrame({"who": np.arange(len(planted.y_train)) % 3})
    options: dict[str, Any] = {"sample_weight": weights.copy(), "metadata": who.copy()}
    left, found = debug(planted, **options), debug(planted, sample_weight=weights, metadata=who)
    weights[::2] = 0.01
    who.loc[:, "who"] = 7
    np.testing.assert_equal(found.threshold_curve.to_dict(), left.threshold_curve.to_dict())
    assert found.data.metadata is not None
    assert (found.data.metadata["who"] < 3).all()


def test_labels_that_were_changed_in_place_stay_as_they_were_given(planted: Planted) -> None:
    labels = pd.Series(planted.y_train)
    found = psidebug.debug(LogisticRegression(), planted.X_train, labels, planted.X_test, planted.y_test)
    repaired = found.repaired_labels.copy()
    labels.iloc[:] = "bad"
    pd.testing.assert_series_equal(found.repaired_labels, repaired)
