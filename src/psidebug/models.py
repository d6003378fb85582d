"""Classifiers in files, opened without running code from them.

A skops file names the type of every part; it is opened only if all types are known here, and its parts keep no caches
on disk (:mod:`psidebug.model_caches`). The formats of LightGBM and XGBoost are plain data. A pickle (joblib writes
pickles) can run any code: it is refused unless the user trusts its author.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from psidebug.errors import NotAClassifier, UnreadableModel
from psidebug.model_caches import without_caches
from psidebug.task.learner import check_classifier, fresh

TRUSTED = frozenset(
    {
        "builtins.object",  # these name columns by their type, in a column selector
        "numpy.number",
        "numpy.dtype",
        "collections.OrderedDict",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "lightgbm.basic.Booster",
        "lightgbm.sklearn.LGBMClassifier",
        "xgboost.core.Booster",
        "xgboost.sklearn.XGBClassifier",
        "xgboost.sklearn.XGBRFClassifier",
        "psidebug.intake.mixed.MixedColumns",
        "skrub._apply_to_cols.ApplyToCols",
        "skrub._apply_to_each_col.ApplyToEachCol",
        "skrub._apply_to_frame.ApplyToFrame",
        "skrub._clean_categories.CleanCategories",
        "skrub._clean_null_strings.CleanNullStrings",
        "skrub._datetime_encoder.DatetimeEncoder",
        "skrub._drop_uninformative.DropUninformative",
        "skrub._duration_to_float.DurationToFloat",
        "skrub._gap_encoder.GapEncoder",
        "skrub._minhash_encoder.MinHashEncoder",
        "skrub._select_cols.DropCols",
        "skrub._select_cols.SelectCols",
        "skrub._similarity_encoder.SimilarityEncoder",
        "skrub._squashing_scaler.SquashingScaler",
        "skrub._string_encoder.StringEncoder",
        "skrub._table_vectorizer.Cleaner",
        "skrub._table_vectorizer.PassThrough",
        "skrub._table_vectorizer.TableVectorizer",
        "skrub._to_categorical.ToCategorical",
        "skrub._to_datetime.ToDatetime",
        "skrub._to_float.ToFloat",
        "skrub._to_str.ToStr",
        "skrub.selectors._base.All",
        "skrub.selectors._base.Cols",
    }
)
"""Types that a skops file may hold besides those of skops' own list (scikit-learn, numpy, scipy): classes that hold
settings, by their full names. Never a function: with a function of the author's choice a file could run anything."""
LARGEST = 2 * 1024**3
"""Bytes that the parts of a skops file may unpack to."""
PICKLES = (".pkl", ".pickle", ".joblib")
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"x\x01", b"x^", b"x\x9c", b"x\xda", b"\x04\x22\x4d\x18", b"\x5d\x00")
"""How joblib's compressed files begin."""
SAVE_AS = "Save it as skops (skops.io.dump), or in the format of LightGBM or XGBoost"


def load_model(path: str | PathLike[str], *, trust_pickle: bool = False) -> Any:
    """The classifier in a file: skops, LightGBM's text, XGBoost's JSON or UBJSON; its content tells which.

    One from skops comes as it was saved, fitted or not. The files of LightGBM and XGBoost hold no labels, so the
    classifier comes unfitted, with the parameters of the file.
    """
    file = Path(path)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise UnreadableModel(f"there is no file {file}. Give the file that the model was saved to.") from None
    except OSError as error:
        raise UnreadableModel(f"{file} cannot be read: {error.strerror or error}.") from None
    if zipfile.is_zipfile(io.BytesIO(content)):
        return _checked(_from_zip(content, str(file)), file)
    if content.startswith((b"tree\n", b"tree\r\n")):
        return _from_lightgbm(content, file)
    if content.startswith(b"{L") or content.lstrip()[:1] == b"{":
        return _from_xgboost(content, file)
    if file.suffix.lower() in PICKLES or content[:1] == b"\x80" or content.startswith(COMPRESSED):
        return _checked(_from_pickle(file, trust_pickle), file)
    raise UnreadableModel(
        f"{file} is not a model that Psi can read: skops, LightGBM's text, XGBoost's JSON or UBJSON. {SAVE_AS}."
    )


def as_skops(model: Any) -> bytes:
    """The unfitted classifier as a skops file; raises :class:`UnreadableModel` if it could not be opened again."""
    import skops.io

    name = type(model).__name__
    try:
        content: bytes = skops.io.dumps(fresh(model))
        unknown = skops.io.get_untrusted_types(data=content)
    except Exception as error:  # a part of any library, which may fail in any way
        raise UnreadableModel(f"{name} cannot be written as skops: {_first_line(error)}.") from None
    if strange := sorted(set(unknown) - TRUSTED):
        raise UnreadableModel(f"{name} holds {', '.join(strange[:3])}, which Psi does not open from a file.")
    return content


def from_skops(content: bytes, *, name: str) -> Any:
    """The object in a skops file, if every type in it is known to be harmless; without caches, which are pickles."""
    import skops.io

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            size = sum(each.file_size for each in parts.infolist())
        if size > LARGEST:
            raise UnreadableModel(f"{name} would unpack to {size / 1024**3:.0f} GB: it is no model, and is not opened.")
        if strange := sorted(set(skops.io.get_untrusted_types(data=content)) - TRUSTED):
            raise UnreadableModel(
                f"{name} holds {', '.join(strange[:3])}, which Psi does not open from a file: it could run code. If "
                f"you trust it, load it in Python and call psidebug.debug."
            )
        return without_caches(skops.io.loads(content, trusted=sorted(TRUSTED)))
    except UnreadableModel:
        raise
    except ModuleNotFoundError as error:
        raise UnreadableModel(f"{name} needs {error.name}, which is not installed: pip install {error.name}.") from None
    except Exception as error:  # a damaged or hostile file may fail in any way
        raise UnreadableModel(f"{name} is damaged: {_first_line(error)}. Save it again.") from None


def _from_zip(content: bytes, name: str) -> Any:
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        if "schema.json" not in parts.namelist():
            raise UnreadableModel(f"{name} is a zip file but no skops file. {SAVE_AS}.")
    return from_skops(content, name=name)


def _from_pickle(file: Path, trusted: bool) -> Any:
    if not trusted:
        raise UnreadableModel(
            f"{file} is a pickle, and a pickle runs code when it is opened. {SAVE_AS}; or, if you trust its author, "
            f"use --trust-pickle (in Python: trust_pickle=True)."
        )
    import joblib

    try:
        return joblib.load(file)
    except Exception as error:
        raise UnreadableModel(f"{file} cannot be opened as a pickle: {_first_line(error)}. Save it again.") from None


def _checked(model: Any, file: Path) -> Any:
    try:
        check_classifier(model)
    except NotAClassifier as error:
        raise NotAClassifier(f"{file}: {error}") from None
    return model


# ── LightGBM ──

LIGHTGBM_NAMES = {
    "boosting": "boosting_type",
    "num_iterations": "n_estimators",
    "seed": "random_state",
    "bin_construct_sample_cnt": "subsample_for_bin",
    "min_gain_to_split": "min_split_gain",
    "min_sum_hessian_in_leaf": "min_child_weight",
    "min_data_in_leaf": "min_child_samples",
    "bagging_fraction": "subsample",
    "bagging_freq": "subsample_freq",
    "feature_fraction": "colsample_bytree",
    "lambda_l1": "reg_alpha",
    "lambda_l2": "reg_lambda",
}
"""Names in the file → names in the classifier."""
LIGHTGBM_ALWAYS = ("boosting", "num_iterations", "learning_rate", "num_leaves", "max_depth", *list(LIGHTGBM_NAMES)[2:])
LIGHTGBM_SEEDS = ("bagging_seed", "feature_fraction_seed", "extra_seed", "drop_seed", "data_random_seed")
"""Kept as they are: otherwise LightGBM draws them from the seed."""
LIGHTGBM_OTHERS = {
    "data_sample_strategy": "bagging", "pos_bagging_fraction": "1", "neg_bagging_fraction": "1",
    "feature_fraction_bynode": "1", "extra_trees": "0", "max_delta_step": "0", "linear_tree": "0", "linear_lambda": "0",
    "drop_rate": "0.1", "max_drop": "50", "skip_drop": "0.5", "xgboost_dart_mode": "0", "uniform_drop": "0",
    "top_rate": "0.2", "other_rate": "0.1", "min_data_per_group": "100", "max_cat_threshold": "32", "cat_l2": "10",
    "cat_smooth": "10", "max_cat_to_onehot": "4", "monotone_constraints": "", "monotone_constraints_method": "basic",
    "monotone_penalty": "0", "path_smooth": "0", "interaction_constraints": "", "max_bin": "255",
    "min_data_in_bin": "3", "use_missing": "1", "zero_as_missing": "0", "is_unbalance": "0", "scale_pos_weight": "1",
    "sigmoid": "1", "boost_from_average": "1", "deterministic": "0", "categorical_feature": "", "enable_bundle": "1",
}  # fmt: skip
"""Parameters with LightGBM's defaults; those of the file that differ are used."""
LIGHTGBM_SWITCHES = {
    "extra_trees", "linear_tree", "xgboost_dart_mode", "uniform_drop", "use_missing", "zero_as_missing", "is_unbalance",
    "boost_from_average", "deterministic", "enable_bundle",
}  # fmt: skip
"""Those that are 1 or 0 in the file, and true or false elsewhere."""


def _from_lightgbm(content: bytes, file: Path) -> Any:
    """A classifier with the parameters that the booster was trained with: the same fit on the same rows."""
    try:
        import lightgbm
    except ModuleNotFoundError:
        raise UnreadableModel(f"{file} is a model of LightGBM, which is not installed: pip install lightgbm.") from None
    text = content.decode("utf-8", "replace")
    objective = re.search(r"^objective=(\w+)", text, re.MULTILINE)
    found = dict(re.findall(r"^\[(\w+): (.*)\]$", text.partition("\nparameters:")[2], re.MULTILINE))
    if objective is None or not set(LIGHTGBM_ALWAYS) <= found.keys():
        raise UnreadableModel(f"{file} is damaged: a LightGBM model without its parameters. Save it again.")
    if objective[1] not in ("binary", "multiclass", "multiclassova"):
        raise NotAClassifier(f"{file} is a LightGBM model of the objective {objective[1]}. Psi debugs classifiers.")
    kept = {name: found[name] for name in (*LIGHTGBM_ALWAYS, *LIGHTGBM_SEEDS) if name in found}
    kept |= {name: found[name] for name, usual in LIGHTGBM_OTHERS.items() if found.get(name, usual) != usual}
    parameters: dict[str, Any] = {LIGHTGBM_NAMES.get(name, name): _value(value) for name, value in kept.items()}
    parameters |= {name: found[name] == "1" for name in LIGHTGBM_SWITCHES & kept.keys()}
    if objective[1] == "multiclassova":
        parameters["objective"] = "multiclassova"
    return lightgbm.LGBMClassifier(**parameters, verbose=-1)


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


# ── XGBoost ──


def _from_xgboost(content: bytes, file: Path) -> Any:
    """A classifier with the parameters of the file: XGBoost saves the trees, but not all parameters."""
    try:
        import xgboost
    except ModuleNotFoundError:
        raise UnreadableModel(f"{file} is a model of XGBoost, which is not installed: pip install xgboost.") from None
    try:
        booster = xgboost.Booster()
        booster.load_model(bytearray(content))
        learner = json.loads(bytes(booster.save_raw("json")))["learner"]
        parameters = _xgboost_parameters(learner)
    except NotAClassifier as error:
        raise NotAClassifier(f"{file}: {error}") from None
    except Exception as error:  # a file that is no model may fail in any way
        raise UnreadableModel(f"{file} is damaged, or no XGBoost model: {_first_line(error)}. Save it again.") from None
    warnings.warn(
        f"{file.name} lacks some training parameters (learning rate, penalties, subsampling): Psi uses their defaults. "
        f"Save the model as skops, fitted or not, to debug the same model.",
        stacklevel=3,
    )
    return xgboost.XGBClassifier(**parameters)


def _xgboost_parameters(learner: Mapping[str, Any]) -> dict[str, Any]:
    objective = learner["objective"]["name"]
    if not objective.startswith(("binary:", "multi:")):
        raise NotAClassifier(f"an XGBoost model of the objective {objective}. Psi debugs classifiers.")
    booster = learner["gradient_booster"]
    parameters: dict[str, Any] = {"booster": booster["name"]}
    if objective.startswith("binary:"):
        parameters["objective"] = objective
        loss = learner["objective"].get("reg_loss_param", {})
        parameters["scale_pos_weight"] = float(loss.get("scale_pos_weight", 1))
    model = booster.get("gbtree", booster).get("model", {})
    if "trees" in model:
        shape, groups = model["gbtree_model_param"], max(int(learner["learner_model_param"]["num_class"]), 1)
        parallel = int(shape["num_parallel_tree"])
        parameters["n_estimators"] = int(shape["num_trees"]) // (parallel * groups)
        parameters["num_parallel_tree"] = parallel
        parameters["max_depth"] = max(1, *map(_depth, model["trees"]))
    return parameters


def _depth(tree: Mapping[str, Any]) -> int:
    """The longest path from the root of a tree to a leaf; parents come before their children."""
    depths = [0] * len(tree["left_children"])
    for node, children in enumerate(zip(tree["left_children"], tree["right_children"], strict=True)):
        for child in children:
            if child >= 0:
                depths[child] = depths[node] + 1
    return max(depths)


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{text[0][:200] if text else 'no reason given'} ({type(error).__name__})"
