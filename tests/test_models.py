"""Models from files: opened if they are harmless, refused with a reason if not."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import random
import re
import subprocess
import sys
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
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import FeatureAgglomeration
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import psidebug
from psidebug.errors import NotAClassifier, UnreadableModel
from psidebug.model_caches import without_caches
from psidebug.models import COLUMNS, as_skops, load_model
from psidebug.models.skops_files import TRUSTED
from psidebug.store.fingerprint import learner_text
from psidebug.task.learner import fresh, is_fitted
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
        lightgbm.LGBMClassifier(n_estimators=7, n_jobs=1, verbose=-1, extra_trees=True),
        xgboost.XGBClassifier(n_estimators=5, n_jobs=1, gamma=0.1),
        HistGradientBoostingClassifier(max_iter=5),
        RandomForestClassifier(n_estimators=5, random_state=0),
        make_pipeline(make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough"), SVC()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fitted_model_comes_unfitted_and_fits_the_same(tmp_path: Path, model: Any) -> None:
    model.fit(X, CODES)
    skops.io.dump(model, tmp_path / "model.skops")
    found = load_model(tmp_path / "model.skops")
    assert not is_fitted(found)
    scores = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    np.testing.assert_array_equal(getattr(found.fit(X, CODES), scores)(X), getattr(model, scores)(X))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=500),
        lightgbm.LGBMClassifier(n_estimators=2, verbose=-1),
        xgboost.XGBClassifier(n_estimators=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_columns_that_a_model_was_fitted_on_are_known(tmp_path: Path, model: Any) -> None:
    for table, names in ((pd.DataFrame(X, columns=list("badc")), list("badc")), (X, [])):
        skops.io.dump(make_pipeline(StandardScaler(), model).fit(table, CODES), tmp_path / "pipeline.skops")
        skops.io.dump(model.fit(table, CODES), tmp_path / "model.skops")
        for file in ("pipeline.skops", "model.skops"):
            found = load_model(tmp_path / file)
            assert getattr(found, COLUMNS) == names
            assert not is_fitted(found)


@pytest.mark.parametrize(("table", "names"), [(pd.DataFrame(X, columns=list("badc")), list("badc")), (X, [])])
def test_a_model_that_an_older_lightgbm_saved_is_opened(tmp_path: Path, table: Any, names: list[str]) -> None:
    """Before 4.7 it did not keep whether columns had names."""
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(table, CODES)
    model.__dict__.pop("_fitted_with_feature_names", None)
    skops.io.dump(model, tmp_path / "model.skops")
    assert getattr(load_model(tmp_path / "model.skops"), COLUMNS) == names


def with_forged_nodes() -> Any:
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, CODES)
    for tree in model._predictors[0]:
        tree.nodes["left"], tree.nodes["right"] = 10**8, 10**8
    return model


def with_a_forged_booster() -> Any:
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1).fit(X, CODES)
    state: dict[str, Any] = model._Booster.__getstate__()  # type: ignore[assignment]
    state["_handle"] = re.sub("left_child=.*", "left_child=99999999 99999998", state["_handle"])
    model._Booster.__class__ = type("Booster", (), {"__module__": "lightgbm.basic", "__getstate__": lambda self: state})
    return model


@pytest.mark.parametrize("forged", [with_forged_nodes, with_a_forged_booster], ids=lambda each: each.__name__)
def test_what_a_fitted_model_learned_is_not_opened(tmp_path: Path, forged: Any) -> None:
    """Forged trees send compiled code to any address."""
    skops.io.dump(forged(), tmp_path / "model.skops")
    with pytest.raises(NotFittedError):
        load_model(tmp_path / "model.skops").predict(X)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (HistGradientBoostingClassifier(max_iter=1).fit(X, CODES)._predictors[0][0], "TreePredictor"),
        (RandomForestClassifier(n_estimators=1).fit(X, CODES).estimators_[0].tree_, "Tree"),
        (lightgbm.LGBMClassifier(n_estimators=1, verbose=-1).fit(X, CODES)._Booster, "Booster"),
        (sparse.csr_matrix(X), "csr_matrix"),
    ],
    ids=["nodes", "tree", "booster", "sparse"],
)
def test_what_was_learned_is_no_option(tmp_path: Path, value: Any, said: str) -> None:
    skops.io.dump(LogisticRegression(C=value), tmp_path / "model.skops")
    assert said in refused(tmp_path / "model.skops")


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
    monkeypatch.setattr("psidebug.models.skops_files.LARGEST", 1_000_000)
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("schema.json", "{}")
        file.writestr("filler", b"\0" * 2_000_000)
    assert path.stat().st_size < 10_000
    assert "would unpack" in refused(path)


def test_a_pipeline_with_a_step_of_nothing_is_no_model(tmp_path: Path) -> None:
    skops.io.dump(Pipeline([(), ("m", LogisticRegression())]), tmp_path / "m.skops")
    with pytest.raises(UnreadableModel, match=r"holds no whole model|is damaged"):
        load_model(tmp_path / "m.skops")


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


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("name", cached(Path()))
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
    assert found[-1].class_weight == {"memory": 2.0, "summer": 1.0}
    assert "memory" in found.fit(texts, labels)[0].vocabulary_
    np.testing.assert_array_equal(found.predict_proba(texts), model.predict_proba(texts))


def test_a_cache_of_joblib_itself_is_refused(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression(), memory=joblib.Memory(tmp_path / "cache"))
    skops.io.dump(model, tmp_path / "model.skops")
    assert "joblib" in refused(tmp_path / "model.skops")


# ── connections and files ────────────────────────────────────────────────────────────────────────────────────────────


def boosted(**options: Any) -> Any:
    return lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, **options)


@pytest.mark.parametrize(
    "model",
    [
        boosted(machines="127.0.0.1:12400,127.0.0.1:12401", num_machines=2),
        make_pipeline(StandardScaler(), boosted(num_machine=2)),
        VotingClassifier([("one", boosted(port=4000)), ("other", LogisticRegression())]),
        GridSearchCV(boosted(), {"workers": ["127.0.0.1:12400"]}),
        GridSearchCV(make_pipeline(boosted()), [{"lgbmclassifier__num_machines": [2]}]),
        GridSearchCV(boosted(), {"objective": ["binary machines=127.0.0.1:12400"]}),
        boosted(objective="binary num_machines=2 machines=127.0.0.1:12400"),
        boosted(**{"max_bin=9 machines": "127.0.0.1:12400"}),
        boosted(forcedsplits_filename="/etc/passwd"),
    ],
    ids=["alone", "pipeline", "vote", "search", "nested search", "in a value tried", "in a value", "in a name", "file"],
)
def test_no_model_from_a_file_makes_lightgbm_open_connections_or_files(tmp_path: Path, model: Any) -> None:
    skops.io.dump(model, tmp_path / "model.skops")
    assert "connections or files" in refused(tmp_path / "model.skops")
    with pytest.raises(UnreadableModel, match="connections or files"):
        as_skops(model)


def test_a_lightgbm_file_opens_no_connections(tmp_path: Path) -> None:
    lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, CODES > 1), 3).save_model(
        tmp_path / "model.txt"
    )
    text = (tmp_path / "model.txt").read_text()
    hostile = text.replace("[boosting: gbdt]", "[boosting: gbdt num_machines=2 machines=127.0.0.1:12400]")
    assert hostile != text
    (tmp_path / "model.txt").write_text(hostile)
    assert "connections or files" in refused(tmp_path / "model.txt")


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


def test_mutated_boosters_crash_nothing(tmp_path: Path) -> None:
    path, chance = tmp_path / "model.ubj", random.Random(0)
    xgboost.XGBClassifier(n_estimators=2, max_depth=2).fit(X, CODES).save_model(path)
    whole = path.read_bytes()
    for _ in range(200):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(2, len(content))] = chance.randrange(256)
        path.write_bytes(content)
        with warnings.catch_warnings(action="ignore"), contextlib.suppress(UnreadableModel, NotAClassifier):
            load_model(path)


@pytest.mark.parametrize(
    "content",
    [
        b"{" * 100_000,
        b'{"learner": ' + b"[" * 100_000,
        b"{L" + b"\0" * 7 + b"\x01a" + b"[" * 100_000,
        b"{L" + b"\0" * 7 + b"\x01a" + b"[$dL\x7f" + b"\xff" * 100,
        b"{L" + b"\0" * 7 + b"\x01a" + b"[$Z#L\x00\xff" + b"\xff" * 100,
        b"{L" + b"\xff" * 100,
    ],
    ids=["braces", "deep JSON", "deep UBJSON", "no count", "as many as nothing", "negative length"],
)
def test_boosters_that_are_nested_or_long_without_end(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.json").write_bytes(content)
    refused(tmp_path / "model.json")


def test_a_zip_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    content = as_skops(LogisticRegression())
    for at in range(len(content) - 90, len(content) - 20):
        (tmp_path / "model.skops").write_bytes(content[:at] + b"\xee" + content[at + 1 :])
        with contextlib.suppress(UnreadableModel):
            load_model(tmp_path / "model.skops")


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


@pytest.mark.parametrize("other", ["torch", "dask.array"])
def test_saving_a_model_imports_no_other_library(tmp_path: Path, other: str) -> None:
    """skops looks for estimators in all of scikit-learn, some packages of which import these: that takes seconds."""
    program = (
        "import sys; from sklearn.linear_model import LogisticRegression; from psidebug.models import as_skops; "
        f"as_skops(LogisticRegression()); print({other!r} in sys.modules); "
        "import sklearn.externals.array_api_compat.torch as compat; print('torch' in sys.modules, compat.__name__)"
    )
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert made.stdout.split() == ["False", "True", "sklearn.externals.array_api_compat.torch"], "and it still can be"
