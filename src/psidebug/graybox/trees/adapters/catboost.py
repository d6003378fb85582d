"""CatBoost's ``CatBoostClassifier`` for two classes: s = -ρ Σ_steps Σg / (Σh + λ w̄), w̄ the mean weight of the rows.

The library samples rows only to choose splits: leaf values are of all rows, in one Newton step or several. With
several classes its Newton step couples them, and categorical features are coded by the labels themselves: both are
refused, since the regions would not stay when labels move.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.loss import Sigmoid
from psidebug.graybox.trees.profile import Fitted, Profile, Tree, checked
from psidebug.graybox.trees.weighting import Weighting, recognised

TAKES = frozenset({"sparse", "missing", "weights"})


def profile(fitted: Fitted) -> Profile:
    """Regions from ``calc_leaf_indexes``, values from ``get_leaf_values``, settings as the library resolved them."""
    model, settings = fitted.model, fitted.model.get_all_params()
    _check_supported(fitted, settings)
    counts = np.asarray(model.get_tree_leaf_counts())
    train, test = fitted.leaves(model.calc_leaf_indexes, largest=int(counts.max()))
    scale, bias = model.get_scale_and_bias()
    values = np.split(scale * np.asarray(model.get_leaf_values(), dtype=np.float64), np.cumsum(counts)[:-1])
    weighting = Weighting(fitted.rows, np.asarray(settings.get("class_weights", [1.0, 1.0]), dtype=np.float64))
    mean_weight = float((weighting.rows * weighting.classes[fitted.codes]).mean())
    rounds = tuple(
        (
            Tree(
                train[n],
                test[n],
                values[n],
                0,
                float(settings["learning_rate"]),
                l2=np.full(len(values[n]), float(settings["l2_leaf_reg"]) * mean_weight),
                steps=int(settings["leaf_estimation_iterations"]),
            ),
        )
        for n in range(len(counts))
    )
    first: Floats = np.atleast_1d(np.asarray(bias, dtype=np.float64))
    start = recognised(("log_odds",), first, fitted.totals(weighting))
    made = Profile(rounds, start, Sigmoid(), weighting, 1, fitted.codes, fitted.classes)
    return checked(made, lambda table: model.predict(table, prediction_type="RawFormulaVal"), fitted)


def _check_supported(fitted: Fitted, settings: dict[str, Any]) -> None:
    if settings.get("loss_function") in ("MultiClass", "MultiClassOneVsAll"):
        raise fitted.refuse(
            setting=f"loss_function={settings['loss_function']!r}",
            instead="another library for several classes, 'Logloss' for two",
        )
    wanted = {
        "loss_function": "Logloss",
        "leaf_estimation_method": "Newton",
        "auto_class_weights": "None",
        "task_type": "CPU",
        "model_shrink_rate": 0,
        "posterior_sampling": False,
    }
    fitted.refuse_other(settings, wanted)
    if fitted.model.get_cat_feature_indices() or fitted.model.get_text_feature_indices():
        raise fitted.refuse(setting="categorical or text features", instead="one-hot columns")
    if settings.get("monotone_constraints"):
        raise fitted.refuse(setting="monotone_constraints", instead="a model without them")
