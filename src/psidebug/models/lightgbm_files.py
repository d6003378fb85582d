"""LightGBM's text file: the classifier with the parameters that its booster was trained with."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

from psidebug.errors import NotAClassifier, UnreadableModel
from psidebug.models.lightgbm_options import check_stays_here

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


def from_lightgbm(content: bytes, file: Path) -> Any:
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
    made = lightgbm.LGBMClassifier(**parameters, verbose=-1)
    check_stays_here(made, str(file))
    return made


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
