"""What an adapter is given: the fitted estimator, and the rows and labels it was fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psidebug.errors import UnsupportedLearner
from psidebug.graybox.protocol import Floats
from psidebug.graybox.trees.weighting import Weighting
from psidebug.task.labels import Codes
from psidebug.task.tables import Table


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted tree ensemble with its data, features as the estimator itself sees them (after a Pipeline's steps)."""

    model: Any
    train: Table
    test: Table
    codes: Codes
    """Training labels in the order of the model's own classes."""
    classes: int
    sample_weight: Floats | None

    @property
    def name(self) -> str:
        """The estimator's class, for messages."""
        return type(self.model).__name__

    @property
    def rows(self) -> Floats:
        """Sample weights, 1 where none were given."""
        if self.sample_weight is None:
            return np.ones(len(self.codes))
        return np.asarray(self.sample_weight, dtype=np.float64)

    def refuse(self, *, setting: str, instead: str) -> UnsupportedLearner:
        """The error for a setting under which leaf values do not follow the labels in a way Psi knows."""
        return UnsupportedLearner(
            f"{self.name} with {setting} has no tree gray box. Use {instead}, or graybox='retrain', which takes any "
            f"classifier."
        )

    def weighting(self, class_weight: Any, *, rows: Floats | None = None) -> Weighting:
        """Weights under scikit-learn's ``class_weight``: None, "balanced", or a number by class label."""
        s = self.rows if rows is None else rows
        if class_weight is None:
            return Weighting(s, np.ones(self.classes))
        if isinstance(class_weight, str) and class_weight == "balanced":
            counts = np.bincount(self.codes, minlength=self.classes)
            return Weighting(s, len(self.codes) / (self.classes * np.maximum(counts, 1e-12)), balanced=True)
        if not isinstance(class_weight, dict):
            raise self.refuse(setting=f"class_weight={class_weight!r}", instead="class_weight='balanced' or a dict")
        labels = np.asarray(self.model.classes_).tolist()
        return Weighting(s, np.array([float(class_weight.get(label, 1.0)) for label in labels]))
