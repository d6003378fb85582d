"""PsiCleaner among scikit-learn's own parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import psidebug
from psidebug import PsiCleaner
from psidebug.errors import ShapeMismatch, UnknownOption
from tests.conftest import Planted, planted_rows


class TrustsSome(PsiCleaner):
    """Trusts every third training row, so that scikit-learn's checks, which know of no trusted rows, reach them."""

    def _trusted_rows(self, X: Any, y: Any) -> tuple[Any, Any] | None:
        return (X.tocsr() if sp.issparse(X) else X)[::3], np.asarray(y)[::3]


@parametrize_with_checks([TrustsSome(LogisticRegression())])  # type: ignore[untyped-decorator]
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def large() -> Planted:
    return planted_rows(train=400, test=200)


def test_it_learns_from_the_labels_that_debug_repairs(large: Planted) -> None:
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    cleaner = PsiCleaner(learner, trusted=(large.X_test, large.y_test)).fit(large.X_train, large.y_train)
    found = psidebug.debug(learner, large.X_train, large.y_train, large.X_test, large.y_test)
    np.testing.assert_array_equal(cleaner.labels_, found.repaired_labels)
    assert cleaner.n_corrected_ == found.corrected > 20
    alone = clone(learner).fit(large.X_train, found.repaired_labels)
    np.testing.assert_array_equal(cleaner.predict_proba(large.X_test), alone.predict_proba(large.X_test))
    assert cleaner.diagnosis_ is not None
    assert cleaner.diagnosis_.verdict == found.verdict
    assert not hasattr(learner[-1], "coef_"), "the given learner is left as it is"


def test_in_a_pipeline_in_cross_validation_and_cloned(large: Planted) -> None:
    scaler = StandardScaler().fit(large.X_test)
    trusted = (scaler.transform(large.X_test), large.y_test)
    whole = make_pipeline(scaler, PsiCleaner(LogisticRegression(), trusted=trusted, options={"causes": "labels"}))
    fitted = clone(whole).set_params(psicleaner__estimator__C=0.5).fit(large.X_train, large.y_train)
    assert fitted[-1].estimator_.C == 0.5
    assert fitted[-1].get_params()["options"] == {"causes": "labels"}
    truth = np.where(large.wrong, "good", large.y_train)
    assert fitted.score(large.X_train, truth) > fitted.score(large.X_train, large.y_train)
    assert len(cross_val_score(whole, large.X_train, large.y_train, cv=2)) == 2


def test_a_frame_keeps_its_names_and_a_series_its_index(large: Planted) -> None:
    frames = [pd.DataFrame(each, columns=list("abcd")) for each in (large.X_train, large.X_test)]
    y = pd.Series(large.y_train, index=np.arange(400) + 7, name="quality")
    cleaner = PsiCleaner(LogisticRegression(), trusted=(frames[1], large.y_test)).fit(frames[0].set_index(y.index), y)
    assert list(cleaner.feature_names_in_) == list("abcd")
    pd.testing.assert_index_equal(cleaner.labels_.index, y.index)
    assert cleaner.n_corrected_ == (cleaner.labels_ != y).sum() > 0


def test_without_trusted_rows_it_says_so_and_changes_nothing(large: Planted) -> None:
    with pytest.warns(UserWarning, match=r"give trusted=\(X, y\)"):
        cleaner = PsiCleaner(LogisticRegression()).fit(large.X_train, large.y_train)
    assert cleaner.diagnosis_ is None
    assert cleaner.n_corrected_ == 0


@pytest.mark.parametrize(
    ("trusted", "error", "match"),
    [("rows", UnknownOption, "a pair"), ((np.zeros((40, 3)), ["good", "bad"] * 20), ShapeMismatch, r"trusted\[0\]")],
)
def test_trusted_rows_that_do_not_fit_are_refused(
    large: Planted, trusted: Any, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        PsiCleaner(LogisticRegression(), trusted=trusted).fit(large.X_train, large.y_train)
