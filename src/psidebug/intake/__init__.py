"""From files to a task: tables of any format, what their columns are, and a learner for them."""

from __future__ import annotations

from psidebug.intake.inputs import Inputs, inputs_from
from psidebug.intake.learners import LEARNERS, learner_for
from psidebug.intake.mixed import MixedColumns
from psidebug.intake.parts import Roles
from psidebug.intake.plan import Plan, plan_for
from psidebug.intake.read import read_table

__all__ = [
    "LEARNERS",
    "Inputs",
    "MixedColumns",
    "Plan",
    "Roles",
    "inputs_from",
    "learner_for",
    "plan_for",
    "read_table",
]
