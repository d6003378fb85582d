"""A slice: training rows that meet a condition on the user's own columns and carry the same given label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from psidebug.slices.atoms import Ints
from psidebug.slices.conditions import Condition, Mask
from psidebug.task.tables import Table
from psidebug.task.task import Task


@dataclass(frozen=True, eq=False)
class Slice:
    """Training rows that meet one to three conditions and carry the same given label."""

    conditions: tuple[Condition, ...]
    given: int
    members: Ints
    z: float
    """How far its rows stand out among all rows with this label, in standard errors."""
    log_p_value: float = 0.0
    """Logarithm of the probability that chance gives such a z somewhere among all that were looked at; at most 0."""
    looked: int = 1
    """How many conditions × labels it was chosen from."""

    @classmethod
    def of(cls, conditions: tuple[Condition, ...], given: int, members: Ints, z: float, looked: int) -> Slice:
        """With its p-value: P(Z > z) × the number looked at."""
        return cls(conditions, given, members, z, min(0.0, float(norm.logsf(z) + np.log(looked))), looked)

    @property
    def condition(self) -> str:
        """The conditions in words."""
        return " and ".join(map(str, self.conditions))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all conditions."""
        return tuple(condition.column for condition in self.conditions)

    @property
    def p_value(self) -> float:
        """exp(log_p_value): 0 where that is too small for a number."""
        return float(np.exp(self.log_p_value))

    def holds(self, features: Table) -> Mask | None:
        """Where the conditions hold among other rows, whatever their label; None if they are about training rows only.

        That is: about metadata or row ids, which other rows do not have.
        """
        if any(condition.home != "features" for condition in self.conditions):
            return None
        return np.asarray(np.logical_and.reduce([condition.holds(features) for condition in self.conditions]))

    def everyone(self, task: Task) -> Mask:
        """The training rows that meet the conditions, whatever their label."""
        homes = {"features": task.train.features, "metadata": task.metadata, "rows": task.rows}
        held = [condition.holds(homes[condition.home]) for condition in self.conditions]
        return np.asarray(np.logical_and.reduce(held))
