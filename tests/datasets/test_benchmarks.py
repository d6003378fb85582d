"""The benchmarks: sizes, planted shares, what a seed fixes, and the clean errors that the paper states."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, get_args

import narwhals as nw
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from psidebug.datasets import BENCHMARKS, DESIGNS, Benchmark, Noise, breast_cancer, income, sentiment
from psidebug.datasets.benchmark import Learner
from psidebug.errors import InputError, LearnerError, UnknownOption

REAL = ("sentiment", "income")
SMALL = [name for name in BENCHMARKS if name not in REAL]
NOISES: tuple[Noise, ...] = get_args(Noise)


def same(one: Any, other: Any) -> bool:
    """Whether two tables hold the same."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return bool(nw.from_native(one).to_dict(as_series=False) == nw.from_native(other).to_dict(as_series=False))


def rows(table: Any) -> int:
    return int(table.shape[0])


def error(made: Benchmark, kind: Learner, labels: np.ndarray) -> float:
    """Validation error of a learner trained on these labels."""
    return float(1 - made.learner(kind).fit(made.X_train, labels).score(made.X_validation, made.y_validation))


def check_sizes_and_shares(name: str, noise: Noise) -> None:
    made = BENCHMARKS[name](1, noise=noise)
    (design,) = (each for each in DESIGNS if each.name == name)
    assert made.name == name
    for part, labels, size in (
        (made.X_train, made.clean, design.sizes.train),
        (made.X_test, made.y_test, design.sizes.test),
        (made.X_validation, made.y_validation, design.sizes.validation),
    ):
        assert rows(part) == len(labels) == size
        assert set(labels.tolist()) == set(range(len(design.classes)))
    assert design.columns == (made.X_train.shape[1] if made.X_train.ndim == 2 else "text")
    assert made.planted.noise == noise
    share = made.wrong.mean()
    if noise == "random":
        assert share == pytest.approx(0.1, abs=0.501 / len(made.clean))
    elif noise == "one_sided":
        assert made.wrong[made.clean == 1].mean() == pytest.approx(0.3, abs=0.501 / (made.clean == 1).sum())
        assert not made.wrong[made.clean != 1].any()
    elif noise == "none":
        assert share == 0
    else:
        assert made.planted.fault is not None
        meets = made.planted.fault.condition.holds(made.X_train)
        assert (made.given[meets] == made.planted.fault.marked).all()
        assert not made.wrong[~meets].any()
        assert made.classes[made.planted.fault.marked] in str(made.planted)
        low, high = (0.03, 0.13) if name == "income" else (0.095, 0.105)  # some of a demographic have a high income
        assert low <= share <= high
        if name == "income":
            assert 0.07 <= meets.mean() <= 0.13


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", SMALL)
def test_sizes_and_shares(name: str, noise: Noise) -> None:
    check_sizes_and_shares(name, noise)


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", REAL)
def test_sizes_and_shares_of_real_data(name: str, noise: Noise) -> None:
    check_sizes_and_shares(name, noise)


def check_what_a_seed_fixes(make: Callable[..., Benchmark]) -> None:
    one, again, other = make(3), make(3), make(4)
    assert same(one.X_train, again.X_train)
    assert np.array_equal(one.given, again.given)
    assert one.planted == again.planted
    assert not same(one.X_train, other.X_train)
    fewer = make(3, test=50, noise="one_sided")
    assert same(fewer.X_train, one.X_train), "another noise meets the same rows"
    assert np.array_equal(fewer.clean, one.clean)
    assert same(fewer.X_validation, one.X_validation)
    assert same(fewer.X_test, one.X_test[:50])
    assert np.array_equal(fewer.y_test, one.y_test[:50])


@pytest.mark.parametrize("name", SMALL)
def test_a_seed_fixes_everything_and_other_choices_leave_the_rows(name: str) -> None:
    check_what_a_seed_fixes(BENCHMARKS[name])


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize("name", REAL)
def test_a_seed_fixes_real_data_too(name: str) -> None:
    check_what_a_seed_fixes(BENCHMARKS[name])


def test_the_parts_have_no_row_in_common() -> None:
    made = breast_cancer(0)
    together = np.vstack([made.X_train, made.X_test, made.X_validation])
    whole = load_breast_cancer().data
    assert np.array_equal(np.unique(together, axis=0), np.unique(whole, axis=0))
    assert len(together) == len(whole)


@pytest.mark.usefixtures("real_data")
def test_seeds_plant_different_faults() -> None:
    assert len({str(income(seed, test=1).planted) for seed in range(4)}) >= 2


def test_the_default_noise_is_what_the_list_says() -> None:
    assert [design.name for design in DESIGNS] == list(BENCHMARKS)
    for design in DESIGNS:
        if design.name not in REAL:
            made = design(0)
            assert (made.planted.noise, len(made.y_test)) == (design.usual, design.sizes.test)


@pytest.mark.parametrize("test", [0, -1, 143])
def test_rows_that_are_not_there_are_refused(test: int) -> None:
    with pytest.raises(InputError, match="Choose test from 1 to 142"):
        breast_cancer(0, test=test)


# The mean over three seeds of 5,000 validation rows each, against the paper's figure; it is given with two digits, so
# 0.005 is its rounding, and the rest of the tolerance is for trees that are not the paper's and for chance (a standard
# error of 0.004 or less).
@pytest.mark.parametrize(
    ("name", "kind", "paper", "tolerance"),
    [
        ("two_gaussians", "logistic", 0.01, 0.005),
        ("two_gaussians", "boosting", 0.01, 0.01),
        ("concentric", "logistic", 0.47, 0.015),
        ("concentric", "boosting", 0.09, 0.015),
    ],
)
def test_the_clean_error_of_generated_data_is_the_papers(
    name: str, kind: Learner, paper: float, tolerance: float
) -> None:
    errors = [error(made, kind, made.clean) for made in (BENCHMARKS[name](seed, noise="none") for seed in range(3))]
    assert np.mean(errors) == pytest.approx(paper, abs=tolerance)


# One seed, 400 or 8,000 validation rows: two standard errors are 0.035 and 0.008. The paper has 0.14 → 0.24 (sentiment)
# and 0.19 → 0.25 (income; our clean error is lower, 0.15 for every seed seen).
@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize(
    ("make", "clean", "tolerance", "rise"), [(sentiment, 0.14, 0.035, 0.04), (income, 0.15, 0.01, 0.03)], ids=REAL
)
def test_systematic_noise_harms_as_in_the_paper(
    make: Callable[..., Benchmark], clean: float, tolerance: float, rise: float
) -> None:
    made = make(0)
    before = error(made, "logistic", made.clean)
    assert before == pytest.approx(clean, abs=tolerance)
    assert error(made, "logistic", made.given) >= before + rise


@pytest.mark.usefixtures("real_data")
def test_the_reviews_have_about_as_many_words_as_the_papers() -> None:
    made = sentiment(0, noise="none")
    words = made.learner("logistic")[0].fit_transform(made.X_train)
    assert words.shape[1] == pytest.approx(13_132, rel=0.1)
    assert words.dtype == np.float32


def test_a_learner_is_fresh_each_time() -> None:
    made = breast_cancer(0)
    fitted = made.learner("logistic").fit(made.X_train, made.given)
    other = made.learner("logistic")
    assert fitted[0] is not other[0]
    assert not hasattr(other[0], "mean_")
    assert made.learner("boosting").n_estimators == 100


def test_an_unknown_learner_and_missing_trees_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made = breast_cancer(0)
    with pytest.raises(UnknownOption, match="one of logistic, boosting, not 'forest'"):
        made.learner("forest")  # type: ignore[arg-type]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LearnerError, match=r"need LightGBM. Run: pip install 'psidebug\[lightgbm\]'"):
        made.learner("boosting")
    assert made.learner("logistic") is not None
