"""What suspects have in common: the score of a slice by brute force, and which slices there are."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from psidebug.slices import binned
from psidebug.slices.conditions import Slice
from psidebug.slices.find import clipped, slices_by_score
from psidebug.slices.scores import Spread
from psidebug.task.task import Task
from tests.chance import allowed
from tests.conftest import Planted

Floats = npt.NDArray[np.float64]


def task_of(planted: Planted, metadata: Any = None) -> Task:
    return Task.of(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, metadata=metadata
    )


def task_with(features: Any, *, labels: Any = None, metadata: Any = None, rows: Any = None) -> Task:
    """Any training table, with a learner that takes everything; the ids are names, so that they make no slice."""
    count = features.shape[0] if hasattr(features, "shape") else len(features)
    given_labels = np.arange(count) % 2 if labels is None else np.asarray(labels)
    ids = [f"r{i}" for i in range(count)] if rows is None else rows
    head = features[:2]
    model = DummyClassifier(strategy="most_frequent")
    return Task.of(model, features, given_labels, head, given_labels[:2], rows=ids, metadata=metadata)


def noise(count: int, *, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=count)


def found(planted: Planted, metadata: Any, scores: Floats, *, most: int = 50) -> dict[str, Slice]:
    """The best slice of one condition on each column."""
    best: dict[str, Slice] = {}
    for each in slices_by_score(task_of(planted, metadata), scores, most=most):
        if len(each.conditions) == 1:
            best.setdefault(each.columns[0], each)
    return best


def conditions(slices: list[Slice]) -> list[str]:
    return [each.condition for each in slices]


def exact_z(scores: Floats, inside: list[int]) -> float:
    """The mean of a sample without replacement, standardised by the moments over all samples of its size."""
    means = [np.mean([scores[i] for i in chosen]) for chosen in itertools.combinations(range(len(scores)), len(inside))]
    return float((np.mean([scores[i] for i in inside]) - np.mean(means)) / np.std(means))


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=8, max_size=8), st.integers(3, 5))
def test_z_is_the_standard_score_over_all_samples_of_that_size(scores: list[float], size: int) -> None:
    """Every sample of that size, by enumeration: no formula of ours on the other side."""
    values = np.array(scores)
    if np.std(scores) > 1e-6:
        z = Spread.of(values).z(size, values[:size].sum())
        assert z == pytest.approx(exact_z(values, list(range(size))), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_z_of_a_slice_is_that_of_its_rows(seed: int) -> None:
    """Through the whole search, by enumeration of all samples of the scores as they are clipped."""
    scores = np.random.default_rng(seed).uniform(size=16)
    source = np.where(np.arange(16) % 8 < 4, "in", "out")
    task = task_with(np.zeros((16, 1)), labels=[0] * 8 + [1] * 8, metadata=pd.DataFrame({"source": source}))
    slices = slices_by_score(task, scores, most=9)
    assert {(each.condition, each.given) for each in slices} <= set(
        itertools.product(["source = in", "source = out"], [0, 1])
    )
    assert len(slices) == 2, "of two halves one is above the mean"
    for each in slices:
        own = np.flatnonzero(task.train.codes == each.given)
        inside = np.flatnonzero(np.isin(own, each.members)).tolist()
        assert each.z == pytest.approx(exact_z(clipped(scores, task.train.codes)[own], inside), rel=1e-9)


def brute_force(planted: Planted, values: npt.NDArray[Any], scores: Floats) -> float:
    """Largest z over the conditions "value equals v" of one column, by its definition."""
    best = -math.inf
    for given_label in ("bad", "good"):
        rows = [i for i in range(len(scores)) if planted.y_train[i] == given_label]
        everything = [scores[i] for i in rows]
        mean = sum(everything) / len(rows)
        spread = math.sqrt(sum((value - mean) ** 2 for value in everything) / len(rows))
        for value in set(values.tolist()):
            inside = [scores[i] for i in rows if values[i] == value]
            n, total = len(inside), len(rows)
            if 3 <= n < total:
                error = spread * math.sqrt((total - n) / (n * (total - 1)))
                best = max(best, (sum(inside) / n - mean) / error)
    return best


@pytest.mark.parametrize("seed", range(5))
def test_the_best_condition_of_a_column_is_found(planted: Planted, seed: int) -> None:
    rng = np.random.default_rng(seed)
    source = rng.choice(["web", "desk", "phone", "post"], size=len(planted.y_train))
    scores = rng.uniform(size=len(source)) + 0.3 * (source == "web")
    slice_ = found(planted, pd.DataFrame({"source": source}), scores)["source"]
    values = clipped(scores, task_of(planted).train.codes)
    assert slice_.z == pytest.approx(brute_force(planted, source, values), rel=1e-9)
    label = ["bad", "good"][slice_.given]
    value = slice_.condition.removeprefix("source = ")
    expected = [i for i in range(len(scores)) if source[i] == value and planted.y_train[i] == label]
    assert slice_.members.tolist() == expected


def test_the_first_slice_is_the_guilty_one(planted: Planted) -> None:
    scores = np.where(planted.wrong, 0.9, 0.1)
    metadata = pd.DataFrame({"wrong": planted.wrong, "noise": np.arange(len(scores)) % 5})
    slices = slices_by_score(task_of(planted, metadata), scores, most=50)
    assert slices[0].condition == "wrong = True"
    assert slices[0].members.tolist() == np.flatnonzero(planted.wrong).tolist()
    order = [each.z * 0.95 ** (len(each.conditions) - 1) for each in slices]
    assert order == sorted(order, reverse=True)
    assert len(slices_by_score(task_of(planted, metadata), scores, most=2)) == 2


def test_equal_scores_have_nothing_in_common(planted: Planted) -> None:
    assert found(planted, None, np.full(len(planted.y_train), 0.5)) == {}


def test_every_slice_says_which_rows_it_means(planted: Planted) -> None:
    """Its words, applied to the columns, give its members."""
    scores = np.random.default_rng(2).uniform(size=len(planted.y_train))
    serial = np.random.default_rng(3).integers(100_000, 900_000, size=len(scores))
    task = task_of(planted, pd.DataFrame({"serial": serial}))
    told = {"serial": serial, "row": np.arange(len(serial))} | {f"x{i}": planted.X_train[:, i] for i in range(4)}
    slices = slices_by_score(task, scores, most=50)
    assert len(slices) > 10
    for each in slices:
        holds = task.train.codes == each.given
        for condition in each.conditions:
            column, *words = str(condition).replace(" to ", " and ").replace("between ", "").split()
            if len(words) == 3:
                holds &= (told[column] >= float(words[0])) & (told[column] <= float(words[2]))
            else:
                compare = {"=": np.equal, "≤": np.less_equal, ">": np.greater}[words[0]]
                holds &= compare(told[column], float(words[1]))
        assert each.members.tolist() == np.flatnonzero(holds).tolist()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_every_kind(planted: Planted, make: Any) -> None:
    count = len(planted.y_train)
    scores = np.where(planted.wrong, 0.9, 0.1) + 0.01 * np.random.default_rng(0).uniform(size=count)
    columns = {
        "boolean": (planted.wrong.tolist(), "boolean = True"),
        "text": (["web" if wrong else "desk" for wrong in planted.wrong], "text = web"),
        "number": (np.where(planted.wrong, 1.0, 2.0).tolist(), "number = 1"),
        "holes": ([None if wrong else 2.0 for wrong in planted.wrong], "holes missing"),
        "missing": ([None if wrong else "x" for wrong in planted.wrong], "missing missing"),
        "lists": ([["a", "b"] if wrong else [] for wrong in planted.wrong], "lists = ['a', 'b']"),
        "note": ([f"row {i} {'WEB' if wrong else ''}" for i, wrong in enumerate(planted.wrong)], '"web" in note'),
    }
    for name, (values, condition) in columns.items():
        best = slices_by_score(task_of(planted, make({name: values})), scores, most=1)[0]
        assert best.condition == condition
        assert best.columns[0] == name
        assert best.members.tolist() == np.flatnonzero(planted.wrong).tolist()


def test_what_cannot_say_what_rows_have_in_common(planted: Planted) -> None:
    count = len(planted.y_train)
    scores = np.where(planted.wrong, 0.9, 0.1)
    metadata = pd.DataFrame(
        {
            "lists": [[i, 2] for i in range(count)],
            "names": [f"row {i}" for i in range(count)],
            "empty": [None] * count,
            "constant": [3] * count,
            "huge": ["x" * 100_000 + str(i) for i in range(count)],
        }
    )
    assert not found(planted, metadata, scores).keys() & set(metadata.columns)


def test_mixed_values_are_compared_as_they_are() -> None:
    guilty = np.arange(80) % 4 == 0
    mixed = [(1, 2) if bad else (None, "1", 1.5)[i % 3] for i, bad in enumerate(guilty)]
    task = task_with(np.zeros((80, 1)), labels=np.arange(80) // 40, metadata=pd.DataFrame({"mixed": mixed}))
    best = slices_by_score(task, guilty + 0.01 * noise(80), most=2)
    assert conditions(best) == ["mixed = (1, 2)"] * 2
    assert {each.given for each in best} == {0, 1}


def test_a_matrix_as_metadata_is_not_mistaken_for_the_features(planted: Planted) -> None:
    scores = np.where(planted.wrong, 0.9, 0.1)
    slices = found(planted, planted.wrong.astype(float)[:, None], scores)
    assert slices["m0"].members.tolist() == np.flatnonzero(planted.wrong).tolist()
    assert {"x0", "x1", "x2", "x3"} & slices.keys()


def test_metadata_come_first_where_features_say_the_same() -> None:
    guilty = np.arange(90) % 3 == 0
    frame = pd.DataFrame({"same": guilty})
    best = slices_by_score(task_with(frame, metadata=frame), guilty + 0.01 * noise(90), most=1)[0]
    assert best.conditions[0].home == "metadata"
    assert best.conditions[0].home == "metadata", "other rows have none"


def test_a_slice_applies_to_other_rows() -> None:
    frame = pd.DataFrame({"city": ["Lima", "Bonn", "Rome"] * 40})
    best = slices_by_score(task_with(frame), (frame["city"] == "Lima") + 0.01 * noise(120), most=1)[0]
    other = pd.DataFrame({"city": ["Bonn", "Lima", None]})
    assert best.conditions[0].holds(other).tolist() == [False, True, False]


def test_rows_that_were_counted_are_not_asked_for_again_but_others_are() -> None:
    frame = crossed()
    task, turned = task_with(frame), task_with(frame[::-1])
    slices = slices_by_score(task, noise(len(frame)), most=9)
    for each in slices:
        assert each.everyone(task) is each.everyone(task)
        assert each.everyone(task).tolist() == each.holds(task.data).tolist()
        assert each.everyone(turned).tolist() == each.everyone(task).tolist()[::-1]


def test_infinite_and_missing_numbers_are_cut_around(planted: Planted) -> None:
    values = noise(len(planted.y_train), seed=1)
    values[:5] = [np.nan, np.inf, -np.inf, np.nan, np.inf]
    metadata = pd.DataFrame({"v": values})
    for each in slices_by_score(task_of(planted, metadata), noise(len(values), seed=2), most=50):
        assert "nan" not in each.condition
        assert "inf" not in each.condition


def test_two_guilty_values_of_one_column_are_both_found() -> None:
    city = np.array(["Lima", "Bonn", "Rome", "Oslo", "Kiev", "Bern"] * 50)
    scores = np.isin(city, ["Lima", "Oslo"]) + 0.3 * noise(300)
    slices = slices_by_score(task_with(pd.DataFrame({"city": city}), labels=[0] * 297 + [1] * 3), scores, most=2)
    assert {"city = Lima", "city = Oslo"} == set(conditions(slices))


def test_a_band_of_numbers_is_one_slice_and_its_neighbours_do_not_fill_the_list() -> None:
    age = np.random.default_rng(0).integers(18, 80, size=600)
    other = np.random.default_rng(1).choice(["a", "b"], size=600)
    scores = ((age >= 30) & (age <= 39)) + 0.3 * noise(600)
    slices = slices_by_score(task_with(pd.DataFrame({"age": age, "other": other})), scores, most=20)
    assert [str(condition).startswith("age between ") for condition in slices[0].conditions] == [True]
    inside = np.isin(np.arange(600)[(age >= 30) & (age <= 39)], slices[0].members)
    assert inside.sum() > 0.4 * len(inside)
    for given_label in (0, 1):
        bands = [each for each in slices if each.columns == ("age",) and each.given == given_label]
        for one, two in itertools.combinations(bands, 2):
            common = len(np.intersect1d(one.members, two.members))
            assert common < 0.5 * min(len(one.members), len(two.members))


def crossed(count: int = 1200) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], size=count),
            "hours": rng.integers(10, 60, size=count),
            "city": rng.choice(["Lima", "Bonn", "Rome"], size=count),
            "w": rng.normal(size=count),
        }
    )


def test_a_conjunction_is_found_where_neither_condition_alone_will_do() -> None:
    frame = crossed()
    guilty = (frame["sex"] == "F") & (frame["city"] == "Lima")
    slices = slices_by_score(task_with(frame), guilty + 0.3 * noise(len(frame)), most=4)
    assert {frozenset(map(str, each.conditions)) for each in slices[:2]} == {frozenset({"sex = F", "city = Lima"})}
    task = task_with(frame)
    for each in slices[:2]:
        assert each.members.tolist() == np.flatnonzero(guilty & (task.train.codes == each.given)).tolist()
        assert set(each.columns) == {"sex", "city"}
        assert each.condition == " and ".join(map(str, each.conditions))


def test_three_conditions_are_the_most() -> None:
    frame = crossed(4000)
    guilty = (frame["sex"] == "F") & (frame["city"] == "Lima") & (frame["hours"] <= 30)
    slices = slices_by_score(task_with(frame), guilty + 0.3 * noise(len(frame)), most=10)
    assert set(slices[0].columns) == {"sex", "city", "hours"}
    assert max(len(each.conditions) for each in slices) == 3


@pytest.mark.chance(1e-3)
def test_one_condition_that_says_it_all_gets_no_further_one(budget: float) -> None:
    """And no slice has two conditions on one column. By chance one gets one in less than 1%: in none of 40 draws."""
    frame, further = crossed(), 0
    for seed in range(5):
        scores = (frame["city"] == "Lima") + 0.3 * noise(len(frame), seed=seed)
        slices = slices_by_score(task_with(frame), scores, most=20)
        assert conditions(slices[:2]) == ["city = Lima"] * 2
        further += any("city = Lima" in map(str, each.conditions[1:]) for each in slices)
        for each in slices:
            assert len(set(each.columns)) == len(each.columns)
    assert further <= allowed(5, 0.01, budget)


def test_words_of_texts() -> None:
    rng = np.random.default_rng(6)
    words = [f"word{i}" for i in range(200)]
    texts = [" ".join(rng.choice(words, size=30)) for _ in range(400)]
    scores = np.array(["word7" in text.split() for text in texts]) + 0.3 * noise(400)
    task = task_with(texts)
    best = slices_by_score(task, scores, most=1)[0]
    assert best.condition == '"word7" in text'
    has = np.array(["word7" in text.split() for text in texts])
    assert best.members.tolist() == np.flatnonzero(has & (task.train.codes == best.given)).tolist()


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_entries_of_a_sparse_matrix(kind: Any) -> None:
    table = kind(sp.random_array((400, 3000), density=0.05, rng=np.random.default_rng(7)))
    guilty = table.toarray()[:, 41] != 0
    best = slices_by_score(task_with(sp.csr_array(table)), guilty + 0.1 * noise(400), most=1)[0]
    assert best.condition == "x41 ≠ 0"


def test_a_stretch_of_rows_is_found_by_their_ids() -> None:
    ids = np.random.default_rng(8).permutation(800) + 5000
    guilty = (ids >= 5200) & (ids < 5300)
    task = task_with(np.zeros((800, 1)), rows=ids.tolist())
    best = slices_by_score(task, guilty + 0.2 * noise(800), most=2)
    assert conditions(best) == ["row 5200 to 5299"] * 2
    assert sorted(ids[np.concatenate([each.members for each in best])]) == list(range(5200, 5300))
    assert best[0].conditions[0].home == "rows"


def test_a_month_is_found_in_dates() -> None:
    days = np.datetime64("2023-01-01") + np.arange(700)
    guilty = days.astype("datetime64[M]") == np.datetime64("2023-09")
    task = task_with(np.zeros((700, 1)), labels=np.arange(700) % 2, metadata=pd.DataFrame({"day": days}))
    assert slices_by_score(task, guilty + 0.2 * noise(700), most=1)[0].condition == "day = 2023-09"


def test_three_extreme_rows_do_not_outweigh_a_whole_slice() -> None:
    frame = pd.DataFrame({"rare": ["x"] * 3 + ["y"] * 397, "city": ["Lima", "Bonn"] * 200})
    scores = 0.5 * (frame["city"] == "Lima").to_numpy() + noise(400)
    scores[:3] = 1e6
    slices = slices_by_score(task_with(frame, labels=[0] * 399 + [1]), scores, most=5)
    assert slices[0].condition == "city = Lima"


def test_few_high_scores_among_equal_ones_are_kept() -> None:
    """Nine rows of ten have the same score: they have no spread, but the others are what is asked about."""
    source = np.array(["bad"] * 10 + ["good"] * 190)
    scores = np.where(source == "bad", 0.9, 0.1)
    assert slices_by_score(task_with(pd.DataFrame({"source": source})), scores, most=1)[0].condition == "source = bad"


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_are_the_lowest(strange: float) -> None:
    source = np.array(["a", "b", "c", "d"] * 50)
    scores = np.where(source == "a", 1.0, 0.0) + 0.01 * noise(200)
    lowest = np.where(source == "b", scores.min(), scores)
    task = task_with(pd.DataFrame({"source": source}))
    given_strange = slices_by_score(task, np.where(source == "b", strange, scores), most=9)
    assert [(each.condition, each.z) for each in given_strange] == [
        (each.condition, each.z) for each in slices_by_score(task, lowest, most=9)
    ]
    assert slices_by_score(task, np.full(200, strange), most=9) == []


def test_the_p_value_counts_what_was_looked_at() -> None:
    """Four values × two labels, one of which has too few rows of one value: seven looked at."""
    source = np.array(["a", "a", "b", "b", "c", "c", "d", "d"] * 20)
    keep = np.ones(160, dtype=bool)
    keep[np.flatnonzero((source == "d") & (np.arange(160) % 2 == 1))[2:]] = False
    labels = (np.arange(160) % 2)[keep]
    task = task_with(pd.DataFrame({"source": source[keep]}), labels=labels)
    scores = (source == "a")[keep] * 0.5 + noise(int(keep.sum()))
    best = slices_by_score(task, scores, most=1)[0]
    assert best.log_p_value == pytest.approx(min(0.0, norm.logsf(best.z) + np.log(7)))
    assert best.p_value == pytest.approx(min(1.0, 7 * norm.sf(best.z)))


def test_a_p_value_too_small_for_a_number_keeps_its_logarithm() -> None:
    guilty = np.arange(20_000) % 4 < 2
    task = task_with(pd.DataFrame({"guilty": guilty}), labels=np.arange(20_000) % 2)
    best = slices_by_score(task, guilty + 0.01 * noise(20_000), most=1)[0]
    assert best.p_value == 0.0
    assert -1e6 < best.log_p_value < -745


@pytest.mark.chance(1e-3)
def test_noise_is_rarely_significant(budget: float) -> None:
    """P(smallest p < 0.05) ≤ 0.05 by Bonferroni: of 60 runs 3 are expected."""
    task = task_with(crossed(400))
    smallest = [
        min(each.p_value for each in slices_by_score(task, noise(400, seed=seed), most=5)) for seed in range(60)
    ]
    assert sum(p < 0.05 for p in smallest) <= allowed(60, 0.05, budget)
    assert min(smallest) < 0.9, "and it is not always 1"


def test_classes_with_few_rows_and_many_classes() -> None:
    labels = np.array(["a", "b", "c", "d"] * 60 + ["alone", "two", "two"])
    source = np.random.default_rng(9).choice(["web", "desk"], size=len(labels))
    scores = ((source == "web") & (labels == "c")) + 0.1 * noise(len(labels))
    task = task_with(pd.DataFrame({"source": source}), labels=labels)
    best = slices_by_score(task, scores, most=3)[0]
    assert (best.condition, task.encoding.classes[best.given]) == ("source = web", "c")


def test_the_part_that_is_searched_does_not_depend_on_the_order_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binned, "MOST_CELLS", 4 * 500)
    monkeypatch.setattr(binned, "LEAST_SEARCHED", 100)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 2)), rng.integers(2, size=4000)
    other = rng.permutation(4000)
    orders = [np.arange(4000), other]
    tasks = [Task.of(LogisticRegression(), X[order], y[order], X[:9], y[:9], rows=order) for order in orders]
    one, two = (set(order[binned.searched_rows(task)].tolist()) for order, task in zip(orders, tasks, strict=True))
    assert one == two
    assert len(one) < 4000


def test_of_many_rows_a_part_is_searched_and_all_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = crossed(4000)
    scores = (frame["city"] == "Lima").to_numpy() + 0.3 * noise(4000)
    task = task_with(frame)
    whole = slices_by_score(task, scores, most=2)
    monkeypatch.setattr(binned, "MOST_CELLS", 4 * 500)
    monkeypatch.setattr(binned, "LEAST_SEARCHED", 100)
    part = slices_by_score(task, scores, most=2)
    assert conditions(part) == conditions(whole) == ["city = Lima"] * 2
    for one, two in zip(sorted(whole, key=lambda s: s.given), sorted(part, key=lambda s: s.given), strict=True):
        assert one.members.tolist() == two.members.tolist()
        assert one.z == pytest.approx(two.z, rel=1e-9)


def test_metadata_are_told_beside_features_that_tell_most_of_the_same_rows() -> None:
    """Most rows of a camera are wrong, and these alone look bright: who took them is another finding."""
    count = 400
    old, bright = np.arange(count) < 100, np.arange(count) < 60
    table = pd.DataFrame({"light": np.where(bright, 2.0, 0.0) + 0.01 * noise(count)})
    metadata = pd.DataFrame({"camera": np.where(old, "old", "new")})
    task = task_with(table, labels=np.arange(count) >= 300, metadata=metadata)
    columns = [set(each.columns) for each in slices_by_score(task, bright + 0.3 * noise(count), most=4)]
    assert {"light"} in columns
    assert any("camera" in each for each in columns)
