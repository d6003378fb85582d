"""Options as objects, short names or numbers; a wrong one is named beside the right ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.diagnosis.named_options import graybox_of, prior_of, rng_of, symptom_of
from psidebug.errors import InvalidPrior, InvalidSymptom, PsiError, UnknownOption
from psidebug.priors import Prior, noise
from psidebug.symptoms import LogLossAbove, Misclassified, at_least, misclassified
from psidebug.task.task import Task
from tests.conftest import Planted, assert_same_suspects, planted_rows


@pytest.fixture(scope="module")
def task(planted: Planted) -> Task:
    return Task.of(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)


@pytest.mark.parametrize("name", ["magic", "", 3, None, [], {}, ["newton"]])
def test_an_unknown_gray_box(task: Task, name: Any) -> None:
    with pytest.raises(UnknownOption, match="graybox"):
        graybox_of(name, task)


def test_names_of_gray_boxes_and_gray_boxes_themselves(task: Task) -> None:
    assert graybox_of("auto", task).name == graybox_of("newton", task).name
    retrain = graybox_of("retrain", task)
    assert retrain.name == "retrain"
    assert graybox_of(retrain, task) is retrain
    with pytest.raises(UnknownOption, match=r"'magic' is not one of .*newton.*retrain"):
        graybox_of("magic", task)


@pytest.mark.parametrize("name", ["mood", "", 3, None, ["log_loss"], {}])
def test_an_unknown_symptom(task: Task, name: Any) -> None:
    with pytest.raises(UnknownOption, match=r"symptom=.* is not one of errors, half, log_loss, misclassified"):
        symptom_of(name, task.margins(task.learner, task.test), task.bugs)


def test_names_of_symptoms_and_symptoms_themselves(task: Task) -> None:
    margins = task.margins(task.learner, task.test)
    bugs = tuple(task.bugs.tolist())
    assert isinstance(symptom_of("log_loss", margins, task.bugs), LogLossAbove)
    assert symptom_of("misclassified", margins, task.bugs) == Misclassified(bugs, len(bugs))
    assert symptom_of("half", margins, task.bugs) == at_least(len(bugs) // 2 + 1, bugs)
    own = misclassified(bugs[0])
    assert symptom_of(own, margins, task.bugs) is own
    for name in ("log_loss", "misclassified", "half", "errors"):
        symptom = symptom_of(name, margins, task.bugs)
        assert symptom.holds(margins[None])[0], f"{name} holds for the model as it is"
    with pytest.raises(InvalidSymptom, match="the test set has 80 rows"):
        symptom_of(misclassified(80), margins, task.bugs)


@pytest.mark.parametrize(
    "prior",
    [
        -0.1, 1.0, 1.5, float("nan"), float("inf"), True, "0.05", b"0.05", "often", [], [0.1, 0.2], [0.1] * 119,
        ["0.05"] * 120, [0.1] * 119 + [1.0], [0.1] * 119 + [np.nan], np.full((120, 2), 0.1), {"rate": 0.1}, 1j,
        [[0.1], [0.1, 0.2]], object(),
    ],
)  # fmt: skip
def test_what_is_no_prior(task: Task, prior: Any) -> None:
    with pytest.raises(InvalidPrior, match=r"rate|prior"):
        prior_of(prior, task)


def test_rates_for_all_or_each_row_and_priors_themselves(task: Task) -> None:
    np.testing.assert_allclose(prior_of(None, task).rates, 0.05)
    np.testing.assert_allclose(prior_of(0.2, task).rates, 0.2)
    np.testing.assert_allclose(prior_of(0, task).rates, 0.0)
    rates = np.linspace(0.0, 0.5, 120)
    np.testing.assert_allclose(prior_of(rates, task).rates, rates)
    np.testing.assert_allclose(prior_of(rates.tolist(), task).rates, rates)
    own = noise(task.train.codes, 2, 0.1)
    assert prior_of(own, task) is own
    with pytest.raises(InvalidPrior, match="other labels"):
        prior_of(Prior(1 - own.given, own.moves[:, ::-1]), task)
    with pytest.raises(InvalidPrior, match="other labels"):
        prior_of(noise(task.train.codes[1:], 2, 0.1), task)


@pytest.mark.parametrize("rng", [-1, 1.5, "0", [1], np.random.RandomState(0), object()])
def test_what_is_no_seed(rng: Any) -> None:
    with pytest.raises(UnknownOption, match="rng takes a seed"):
        rng_of(rng)


def test_seeds_and_generators() -> None:
    scalar: Any = np.int64(3)
    assert rng_of(3).integers(2**31) == rng_of(scalar).integers(2**31)
    assert rng_of(None).integers(2**31) == rng_of(0).integers(2**31)
    own = np.random.default_rng(5)
    assert rng_of(own) is own


@pytest.mark.parametrize("engine", ["steam", "", 3, None, []])
def test_an_unknown_engine(planted: Planted, engine: Any) -> None:
    with pytest.raises(UnknownOption, match=r"engine=.* is not one of .*enumeration"):
        psidebug.debug(
            LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, engine=engine
        )


def test_an_option_that_does_not_exist(planted: Planted) -> None:
    with pytest.raises(TypeError, match="sympton"):
        psidebug.debug(
            LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, sympton=1
        )  # type: ignore[call-arg]


def test_a_number_and_the_object_it_stands_for_are_the_same(planted: Planted, task: Task) -> None:
    data = planted.X_train, planted.y_train, planted.X_test, planted.y_test
    by_number = psidebug.debug(LogisticRegression(), *data, prior=0.1)
    by_object = psidebug.debug(LogisticRegression(), *data, prior=noise(task.train.codes, 2, 0.1))
    by_row = psidebug.debug(LogisticRegression(), *data, prior=[0.1] * 120)
    assert_same_suspects(by_number, by_object)
    assert_same_suspects(by_number, by_row)


def test_a_row_that_cannot_be_wrong_is_no_suspect() -> None:
    """Not even inside a slice that is guilty, and whoever confirms a suspect later on."""
    data = planted_rows(train=400, test=200)
    free = np.arange(400) < 300
    found = psidebug.debug(
        LogisticRegression(), data.X_train, data.y_train, data.X_test, data.y_test,
        prior=np.where(free, 0.1, 0.0), check_fidelity=False,
    )  # fmt: skip
    assert len(found.suspects) > 0
    assert found.suspects["row"].max() < 300
    assert any(each.slices for each in found.hypotheses), "slices were asked too"
    assert (found.repaired_labels != data.y_train)[data.wrong & free].mean() > 0.5
    for each in found.hypotheses:
        np.testing.assert_array_equal(each.p_wrong(found.task.train.codes)[~free], 0.0)
    np.testing.assert_array_equal(found.repaired_labels[~free], data.y_train[~free])
    again = found.reviewed(confirmed=found.suspects["row"].iloc[:3].tolist())
    np.testing.assert_array_equal(again.p_wrong[~free], 0.0)


OPTION = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.floats(0, 1), max_size=3),
    st.dictionaries(st.text(max_size=1), st.integers(), max_size=1),
    st.sampled_from(["auto", "newton", "retrain", "closed_form", "enumeration", "log_loss", "half", "errors"]),
)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["symptom", "prior", "graybox", "engine", "rng", "bugs"]), OPTION))
def test_any_option_gives_a_diagnosis_or_an_error_of_psis_own(options: dict[str, Any]) -> None:
    small = planted_rows(seed=3, train=10, test=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = psidebug.debug(
                LogisticRegression(), small.X_train, small.y_train, small.X_test, small.y_test, **options
            )
        except PsiError:
            return
    assert len(found.repaired_labels) == 10
