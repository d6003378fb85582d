"""Models from files: opened if they are harmless, refused with a reason if not."""

from __future__ import annotations

import json
import os
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import skrub
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import FeatureAgglomeration
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import psidebug
from psidebug.errors import NotAClassifier, UnreadableModel
from psidebug.model_caches import without_caches
from psidebug.models import TRUSTED, as_skops, load_model
from psidebug.store.fingerprint import learner_text
from psidebug.task.learner import fresh
from tests.conftest import Planted

X, CODES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[CODES]


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(UnreadableModel) as caught:
        load_model(path, **options)
    message = str(caught.value)
    assert 20 < len(message) < 600
    assert "\n" not in message
    return message


# ── skops ───────────────────────────────────────────────────────────────────────────────────────────────────────────


MODELS: dict[str, Any] = {
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression(C=0.3)),
    "columns": make_pipeline(
        make_column_transformer((OneHotEncoder(), make_column_selector(dtype_include=object)), remainder="passthrough"),
        LogisticRegression(),
    ),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=7, n_jobs=1),
    "xgboost": xgboost.XGBClassifier(max_depth=2),
    "skrub": skrub.tabular_pipeline("classifier"),
    "skrub, linear": skrub.tabular_pipeline(LogisticRegression()),
    "skrub, encoders": make_pipeline(
        skrub.TableVectorizer(high_cardinality=skrub.MinHashEncoder(), low_cardinality=skrub.GapEncoder()),
        LogisticRegression(),
    ),
    "numpy's functions": make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_that_are_known_come_back(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.bin").write_bytes(as_skops(MODELS[name]))
    assert learner_text(load_model(tmp_path / "model.bin"), seed=0) == learner_text(MODELS[name], seed=0)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=500),
        lightgbm.LGBMClassifier(n_estimators=7, n_jobs=1, verbose=-1),
        xgboost.XGBClassifier(n_estimators=5, n_jobs=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fitted_model_comes_fitted(tmp_path: Path, model: Any) -> None:
    model.fit(X, CODES)
    skops.io.dump(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "model.skops").predict_proba(X), model.predict_proba(X))


def test_what_is_on_the_list_is_a_class_not_a_function() -> None:
    """A name that is on the list, and installed, is a class: a function could be called with anything."""
    found = 0
    for name in TRUSTED:
        module, _, last = name.rpartition(".")
        try:
            made = getattr(__import__(module, fromlist=[last]), last)
        except (ImportError, AttributeError):  # of another version of its library
            continue
        found += 1
        assert isinstance(made, type), name
    assert found > 25


def shifted(table: Any) -> Any:
    return table + 1


@pytest.mark.parametrize("function", [shifted, os.system, eval, np.load], ids=lambda each: str(each.__name__))
def test_functions_are_neither_written_nor_opened(tmp_path: Path, function: Any) -> None:
    model = make_pipeline(FunctionTransformer(function), LogisticRegression())
    with pytest.raises(UnreadableModel, match=function.__name__):
        as_skops(model)
    skops.io.dump(model, tmp_path / "model.skops")
    message = refused(tmp_path / "model.skops")
    assert function.__name__ in message
    assert "could run code" in message


def test_damaged_skops(tmp_path: Path) -> None:
    content, path = as_skops(LogisticRegression()), tmp_path / "model.skops"
    path.write_bytes(content[:-30])
    refused(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("other.txt", "x")
    assert "no skops file" in refused(path)
    for schema in ("", "{", "[]", "{}", '{"__loader__": "ObjectNode"}', "[" * 5000):
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("schema.json", schema)
        refused(path)


def test_a_file_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psidebug.models.LARGEST", 1_000_000)
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("schema.json", "{}")
        file.writestr("filler", b"\0" * 2_000_000)
    assert path.stat().st_size < 10_000
    assert "would unpack" in refused(path)


def test_a_regressor_is_no_classifier(tmp_path: Path) -> None:
    skops.io.dump(LinearRegression(), tmp_path / "model.skops")
    with pytest.raises(NotAClassifier, match="regressor"):
        load_model(tmp_path / "model.skops")


# ── caches ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Sprung:
    def __init__(self, place: str) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return os.mkdir, (self.place,)


def cached(cache: Path) -> dict[str, Any]:
    """Models that keep a cache, which is of pickles, somewhere in them."""
    inner = make_pipeline(StandardScaler(), LogisticRegression(), memory=str(cache))
    search = {"param_grid": {"memory": [str(cache)], "logisticregression__C": [0.5, 1.0]}, "cv": 2}
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    halves = make_pipeline(make_pipeline(StandardScaler(), PCA(2), memory=str(cache)), LogisticRegression())
    return {
        "pipeline": inner,
        "first step": halves,
        "voting": VotingClassifier([("one", inner), ("other", LogisticRegression(max_iter=500))], voting="soft"),
        "calibrated": CalibratedClassifierCV(inner, cv=2),
        "columns": make_pipeline(
            make_column_transformer((make_pipeline(StandardScaler(), PCA(2), memory=str(cache)), [0, 1, 2])),
            LogisticRegression(),
        ),
        "union": make_pipeline(
            make_union(make_pipeline(StandardScaler(), PCA(2), memory=str(cache))), LogisticRegression()
        ),
        "search": GridSearchCV(inner, {"logisticregression__C": [0.5, 1.0]}, cv=2),
        "searched": GridSearchCV(plain, **search),
        "searched in lists": RandomizedSearchCV(
            make_pipeline(plain), [{"pipeline__memory": [str(cache)]}], n_iter=1, cv=2
        ),
        "searched steps": GridSearchCV(make_pipeline(plain), {"pipeline": [inner]}, cv=2),
    }


FITTED_IS_REFUSED = ("voting", "calibrated", "search", "searched", "searched in lists", "searched steps")
"""By the list of types: these hold scorers and the like once they are fitted."""


@pytest.mark.parametrize(
    ("name", "fitted"),
    [
        (name, fitted)
        for name in cached(Path())
        for fitted in (False, True)
        if not fitted or name not in FITTED_IS_REFUSED
    ],
)
def test_no_model_from_a_file_opens_a_cache(tmp_path: Path, name: str, fitted: bool) -> None:
    model = cached(tmp_path / "cache")[name]
    unfitted = skops.io.dumps(model)
    model.fit(X, CODES)
    (tmp_path / "model.skops").write_bytes(skops.io.dumps(model) if fitted else unfitted)
    poisoned = [*(tmp_path / "cache").rglob("output.pkl")]
    for file in poisoned:
        file.write_bytes(pickle.dumps(Sprung(str(tmp_path / "sprung"))))
    assert poisoned
    with warnings.catch_warnings(action="ignore"):  # joblib warns of what it cannot use
        found = load_model(tmp_path / "model.skops")
        if fitted:
            np.testing.assert_array_equal(found.predict(X), model.predict(X))
        for again in (found.fit(X, CODES), fresh(found).fit(X, CODES)):
            np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not (tmp_path / "sprung").exists()
    assert [*(tmp_path / "cache").rglob("output.pkl")] == poisoned, "nothing is added either"


def test_every_part_that_can_have_a_cache_is_found() -> None:
    parts = [FeatureAgglomeration(2, memory="cache"), make_pipeline(StandardScaler(), memory="cache")]
    held = np.empty(1, dtype=object)
    held[0] = parts[0]
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.estimators_, model.known_ = [held], {"one": (parts[1],)}
    model.itself_ = model
    assert without_caches(model) is model
    assert [part.memory for part in parts] == [None, None]


def test_words_and_classes_called_memory_are_not_caches(tmp_path: Path) -> None:
    texts, labels = ["memory is full", "memory of summer"] * 10, ["memory", "summer"] * 10
    model = make_pipeline(CountVectorizer(), LogisticRegression(class_weight={"memory": 2.0, "summer": 1.0}))
    skops.io.dump(model.fit(texts, labels), tmp_path / "model.skops")
    found = load_model(tmp_path / "model.skops")
    assert "memory" in found[0].vocabulary_
    assert found[-1].class_weight == {"memory": 2.0, "summer": 1.0}
    np.testing.assert_array_equal(found.predict_proba(texts), model.predict_proba(texts))


def test_a_cache_of_joblib_itself_is_refused(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression(), memory=joblib.Memory(tmp_path / "cache"))
    skops.io.dump(model, tmp_path / "model.skops")
    assert "joblib" in refused(tmp_path / "model.skops")


# ── pickles ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Trap:
    def __reduce__(self) -> Any:
        return os.mkdir, (os.environ["PSI_TEST_TRAP"],)


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "model.skops", "model.txt", "model", "model.json"])
@pytest.mark.parametrize("packed", [0, "zlib", "gzip", "bz2", "xz", "pickle 0"])
def test_a_pickle_is_refused_whatever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, packed: Any
) -> None:
    monkeypatch.setenv("PSI_TEST_TRAP", str(tmp_path / "sprung"))
    path = tmp_path / name
    if packed == "pickle 0":
        path.write_bytes(pickle.dumps(Trap(), protocol=0))
    else:
        joblib.dump(Trap(), path, compress=(packed, 3) if packed else 0)
    message = refused(path)
    if packed != "pickle 0" or path.suffix in (".pkl", ".joblib"):
        assert "a pickle runs code" in message
        assert "--trust-pickle" in message
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("packed", [0, 3])
def test_a_pickle_that_is_trusted_is_opened(tmp_path: Path, packed: int) -> None:
    joblib.dump(LogisticRegression(C=0.7), tmp_path / "model.joblib", compress=packed)
    assert load_model(tmp_path / "model.joblib", trust_pickle=True).C == 0.7
    (tmp_path / "broken.pkl").write_bytes(b"\x80\x04 nothing")
    assert "cannot be opened" in refused(tmp_path / "broken.pkl", trust_pickle=True)


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"\0" * 100, b"<html>", b"tree", b"tree\nversion=v4\n", b"{}", b"{L"]
)
def test_what_is_no_model(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.txt").write_bytes(content)
    refused(tmp_path / "model.txt")
    assert "no file" in refused(tmp_path / "nowhere.skops")
    assert "cannot be read" in refused(tmp_path)


# ── boosters ────────────────────────────────────────────────────────────────────────────────────────────────────────

SETTINGS: list[dict[str, Any]] = [
    {},
    {"num_leaves": 5, "learning_rate": 0.05, "min_data_in_leaf": 3, "lambda_l2": 2.0, "max_depth": 3},
    {"bagging_fraction": 0.6, "bagging_freq": 2, "feature_fraction": 0.7, "seed": 5},
    {"bagging_fraction": 0.6, "bagging_freq": 1, "bagging_seed": 77, "extra_trees": True, "max_bin": 31},
    {"boosting": "dart", "drop_rate": 0.4, "drop_seed": 9},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_lightgbm_file_gives_the_same_fit_with_the_labels_themselves(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    options = {"objective": "multiclass", "num_class": 3, "verbose": -1, "num_threads": 1, **settings}
    booster = lightgbm.train(options, lightgbm.Dataset(X, CODES), num_boost_round=15)
    booster.save_model(tmp_path / "model.txt")
    again = load_model(tmp_path / "model.txt").set_params(n_jobs=1).fit(X, NAMES)
    assert again.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_array_equal(again.predict_proba(X), booster.predict(X))


def test_a_lightgbm_file_of_two_classes(planted: Planted, tmp_path: Path) -> None:
    options = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 4, "is_unbalance": True}
    booster = lightgbm.train(options, lightgbm.Dataset(planted.X_train, planted.y_train == "good"), 12)
    booster.save_model(tmp_path / "model.txt")
    again = load_model(tmp_path / "model.txt")
    task = psidebug.Task.of(again, planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    np.testing.assert_array_equal(task.learner.predict_proba(planted.X_test)[:, 1], booster.predict(planted.X_test))


def test_boosters_that_are_no_classifiers(tmp_path: Path) -> None:
    booster = lightgbm.train({"objective": "regression", "verbose": -1}, lightgbm.Dataset(X, X[:, 0]), 3)
    booster.save_model(tmp_path / "model.txt")
    with pytest.raises(NotAClassifier, match="regression"):
        load_model(tmp_path / "model.txt")
    xgboost.XGBRegressor(n_estimators=2).fit(X, X[:, 0]).save_model(tmp_path / "model.json")
    with pytest.raises(NotAClassifier, match="reg:squarederror"):
        load_model(tmp_path / "model.json")


@pytest.mark.parametrize("suffix", ["json", "ubj"])
@pytest.mark.parametrize("labels", [CODES, CODES > 1], ids=["three", "two"])
def test_an_xgboost_file_gives_what_it_holds_and_says_what_not(tmp_path: Path, suffix: str, labels: Any) -> None:
    model = xgboost.XGBClassifier(n_estimators=6, max_depth=2, n_jobs=1).fit(X, labels)
    model.save_model(tmp_path / f"model.{suffix}")
    with pytest.warns(UserWarning, match="learning rate"):
        again = load_model(tmp_path / f"model.{suffix}")
    assert (again.n_estimators, again.max_depth) == (6, 2)
    again.set_params(n_jobs=1).fit(X, labels)  # all else was left as usual, so the fit is the same
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-6)


def test_damaged_boosters(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    xgboost.XGBClassifier(n_estimators=2).fit(X, CODES).save_model(path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b'{"learner": {}}', json.dumps({"a": [1] * 10}).encode()):
        path.write_bytes(content)
        refused(path)
    lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, CODES > 1), 3).save_model(path)
    text = path.read_text()
    path.write_text(text[: text.index("parameters:")])
    assert "without its parameters" in refused(path)


def test_a_pipeline_for_mixed_columns_goes_through_a_run(planted: Planted, tmp_path: Path) -> None:
    """skrub's pipeline, as built for a file, is saved with the run and trains again."""

    def frame(table: Any) -> pd.DataFrame:
        return pd.DataFrame(table, columns=list("abcd")).assign(kind=np.where(table[:, 2] > 1, "web", "desk"))

    model = skrub.tabular_pipeline(LogisticRegression())
    data = frame(planted.X_train), planted.y_train, frame(planted.X_test), planted.y_test
    found = psidebug.debug(model, *data, check_fidelity=False, rng=0)
    found.save(tmp_path / "run")
    run = psidebug.Diagnosis.load(tmp_path / "run")
    rows = run.data.rows[run.order[:6]].tolist()
    assert str(run.verify(rows)) == str(found.verify(rows))
