"""The learner when no model is given: a plain classifier behind :class:`MixedColumns`, chosen by name."""

from __future__ import annotations

import importlib.util
from typing import Any

from psidebug.errors import UnknownOption
from psidebug.intake.mixed import MixedColumns
from psidebug.intake.plan import Plan

LEARNERS = ("logistic", "boosting", "lightgbm", "xgboost", "forest")
NAMES = {
    "logistic": "logistic regression",
    "boosting": "boosted trees of scikit-learn",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "forest": "a random forest",
}
MOST_WORDS = 1000
"""Words for boosted trees of scikit-learn, which take no sparse matrix."""


def learner_for(name: str, plan: Plan, *, seed: int = 0) -> Any:
    """An unfitted Pipeline of the encoder for these columns and the learner of this name; chance has this seed."""
    if name not in LEARNERS:
        raise UnknownOption(f"learner={name!r} is not one of {', '.join(LEARNERS)}.")
    from sklearn.pipeline import Pipeline

    columns = MixedColumns(
        numbers=list(plan.numbers),
        dates=list(plan.dates),
        categories=list(plan.categories),
        texts=list(plan.texts),
        for_trees=name != "logistic",
        most_words=MOST_WORDS if name == "boosting" else None,
    )
    return Pipeline([("columns", columns), (name, _classifier(name, seed))])


def _classifier(name: str, seed: int) -> Any:
    if name in ("lightgbm", "xgboost") and importlib.util.find_spec(name) is None:
        raise UnknownOption(
            f"the learner {name} needs {NAMES[name]}, which is not installed. Run: pip install 'psidebug[{name}]'."
        )
    match name:
        case "boosting":
            from sklearn.ensemble import HistGradientBoostingClassifier

            return HistGradientBoostingClassifier(early_stopping=False, max_leaf_nodes=15, random_state=seed)
        case "lightgbm":
            from lightgbm import LGBMClassifier

            return LGBMClassifier(num_leaves=15, random_state=seed, n_jobs=1, deterministic=True, verbose=-1)
        case "xgboost":
            from xgboost import XGBClassifier

            return XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1, random_state=seed, n_jobs=1)
        case "forest":
            from sklearn.ensemble import RandomForestClassifier

            return RandomForestClassifier(200, min_samples_leaf=3, random_state=seed)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)
