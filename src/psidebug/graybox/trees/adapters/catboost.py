"""CatBoost's ``CatBoostClassifier``: s = -ρ Σ_steps Σg / (Σh + λ w̄), w̄ the mean weight of the rows.

With several classes every tree has a value for each, and its Newton step couples them. The library samples rows only to
choose splits: leaf values are of all rows, in one Newton step or several. Categories of few values are split one
against the others, as numbers are; those of more than ``one_hot_max_size`` values are coded by the labels themselves,
each row by those before it in a random order. They are refused, since the regions would not stay when labels move.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.loss import CoupledSoftmax, Sigmoid
from psidebug.graybox.trees.profile import Fitted, Profile, Tree, checked
from psidebug.graybox.trees.weighting import Weighting, recognised
from psidebug.task.columns import Column
from psidebug.task.columns import columns as columns_of

TAKES = frozenset({"many classes", "sparse", "missing", "weights", "categories"})


def profile(fitted: Fitted) -> Profile:
    """Regions from ``calc_leaf_indexes``, values from ``get_leaf_values``, settings as the library resolved them."""
    model, settings = fitted.model, fitted.model.get_all_params()
    _check_supported(fitted, settings)
    counts, columns = np.asarray(model.get_tree_leaf_counts()), 1 if fitted.classes == 2 else fitted.classes
    train, test = fitted.leaves(model.calc_leaf_indexes, largest=int(counts.max()))
    scale, bias = model.get_scale_and_bias()
    given = scale * np.asarray(model.get_leaf_values(), dtype=np.float64)
    values = [each.reshape(-1, columns) for each in np.split(given, columns * np.cumsum(counts)[:-1])]
    weighting = Weighting(fitted.rows, np.asarray(settings.get("class_weights", [1.0] * fitted.classes), np.float64))
    mean_weight = float((weighting.rows * weighting.classes[fitted.codes]).mean())
    rounds = tuple(
        tuple(
            Tree(
                train[n],
                test[n],
                np.ascontiguousarray(values[n][:, column]),
                column,
                float(settings["learning_rate"]),
                l2=np.full(len(values[n]), float(settings["l2_leaf_reg"]) * mean_weight),
                steps=int(settings["leaf_estimation_iterations"]),
            )
            for column in range(columns)
        )
        for n in range(len(counts))
    )
    first: Floats = np.atleast_1d(np.asarray(bias, dtype=np.float64))
    start = recognised(("log_odds",) if columns == 1 else ("constant",), first, fitted.totals(weighting))
    loss = Sigmoid() if columns == 1 else CoupledSoftmax()
    made = Profile(rounds, start, loss, weighting, columns, fitted.codes, fitted.classes)
    return checked(made, lambda table: model.predict(table, prediction_type="RawFormulaVal"), fitted)


def _check_supported(fitted: Fitted, settings: dict[str, Any]) -> None:
    wanted = {
        "loss_function": "Logloss" if fitted.classes == 2 else "MultiClass",
        "leaf_estimation_method": "Newton",
        "auto_class_weights": "None",
        "task_type": "CPU",
        "model_shrink_rate": 0,
        "posterior_sampling": False,
    }
    fitted.refuse_other(settings, wanted)
    if fitted.model.get_text_feature_indices():
        raise fitted.refuse(setting="text features", instead="columns of word counts")
    for column in _categories(fitted):
        count, most = len(set(column.values.tolist())), int(settings.get("one_hot_max_size") or 0)
        if count > most:
            raise fitted.refuse(
                setting=f"a category of {count} values ({column.name}), which it codes by the labels",
                instead=f"one_hot_max_size={count}",
            )
    if settings.get("monotone_constraints"):
        raise fitted.refuse(setting="monotone_constraints", instead="a model without them")


def _categories(fitted: Fitted) -> list[Column]:
    """The training columns that the model takes for categories."""
    indices = set(fitted.model.get_cat_feature_indices())
    return [column for index, column in enumerate(columns_of(fitted.train)) if index in indices] if indices else []
