"""One file per library, found by the name of the model's class and imported only when such a model arrives.

An adapter has ``profile(fitted) -> Profile`` and ``TAKES``, what its models take beyond dense numbers and two classes:
some of "many classes", "sparse", "missing", "weights", "categories". The conformance suite goes through every line of
the registry and tests what is said there. ``docs/recipes/new_adapter.md`` has a skeleton.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np

from psidebug.errors import LearnerMismatch, UnsupportedLearner
from psidebug.graybox.trees.profile import Fitted, Profile
from psidebug.task import learner as learners
from psidebug.task.task import Task

REGISTRY: dict[str, str] = {
    "sklearn.ensemble._gb.GradientBoostingClassifier": "sklearn_boosting",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier": "sklearn_histogram",
    "lightgbm.sklearn.LGBMClassifier": "lightgbm",
    "xgboost.sklearn.XGBClassifier": "xgboost",
    "catboost.core.CatBoostClassifier": "catboost",
    "sklearn.tree._classes.DecisionTreeClassifier": "sklearn_forest",
    "sklearn.ensemble._forest.RandomForestClassifier": "sklearn_forest",
    "sklearn.ensemble._forest.ExtraTreesClassifier": "sklearn_forest",
}
"""Qualified class name → adapter module; a name of this package, or a full one for an adapter that lives elsewhere."""


def adapter_of(model: Any) -> str | None:
    """Module of the adapter for this model, by the names of its class and of those it inherits from."""
    for kind in type(model).__mro__:
        module = REGISTRY.get(f"{kind.__module__}.{kind.__qualname__}")
        if module is not None:
            return module if "." in module else f"{__name__}.{module}"
    return None


def profile_of(task: Task) -> Profile:
    """What the adapter for the task's learner reads from it; raises ``UnsupportedLearner`` or ``LearnerMismatch``."""
    model = learners.final_step(task.learner)
    module = adapter_of(model)
    name = type(model).__name__
    if module is None:
        raise UnsupportedLearner(
            f"{name} is not a tree ensemble that Psi can read: "
            f"{', '.join(sorted(key.rsplit('.', 1)[1] for key in REGISTRY))}. Use graybox='retrain', which takes any "
            f"classifier, or see docs/recipes/new_adapter.md."
        )
    known = [task.encoding.native_codes.get(value) for value in np.asarray(model.classes_).tolist()]
    if known != list(range(task.encoding.size)):
        raise LearnerMismatch(
            f"this {name} knows the classes {np.asarray(model.classes_).tolist()[:6]}, the labels have "
            f"{list(task.encoding.classes)[:6]}. Give the labels it was fitted on, or an unfitted model."
        )
    seen = task.seen
    fitted = Fitted(
        model=model,
        train=seen.train,
        test=seen.test,
        codes=task.train.codes,
        classes=task.encoding.size,
        sample_weight=task.data.sample_weight,
    )
    profile: Profile = importlib.import_module(module).profile(fitted)
    return replace(profile, notes=seen.notes)
