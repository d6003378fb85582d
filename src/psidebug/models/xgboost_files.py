"""XGBoost's JSON and UBJSON files: a classifier with the parameters that they hold.

Only parameters are needed, so the file is read here as plain data, not by XGBoost: its reader crashes on forged files.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from psidebug.errors import NotAClassifier, UnreadableModel, first_line
from psidebug.models.ubjson import read_ubjson


def from_xgboost(content: bytes, file: Path) -> Any:
    """A classifier with the parameters of the file: XGBoost saves the trees, but not all parameters."""
    try:
        import xgboost
    except ModuleNotFoundError:
        raise UnreadableModel(f"{file} is a model of XGBoost, which is not installed: pip install xgboost.") from None
    try:
        model = read_ubjson(content) if content.startswith(b"{L") else json.loads(content)
        parameters = _parameters(model["learner"])
    except NotAClassifier as error:
        raise NotAClassifier(f"{file}: {error}") from None
    except Exception as error:  # a file that is no model may fail in any way
        raise UnreadableModel(f"{file} is damaged, or no XGBoost model: {first_line(error)}. Save it again.") from None
    warnings.warn(
        f"{file.name} lacks some training parameters (learning rate, penalties, subsampling): Psi uses their defaults. "
        f"Save the model as skops, fitted or not, to debug the same model.",
        stacklevel=3,
    )
    return xgboost.XGBClassifier(**parameters)


def _parameters(learner: Mapping[str, Any]) -> dict[str, Any]:
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
