"""From files to a task: tables of any format, what their columns are, and a learner for them."""

from __future__ import annotations

from psidebug.intake.inputs import Inputs, inputs_from
from psidebug.intake.mixed import LEARNERS, MixedColumns, learner_for
from psidebug.intake.plan import plan_for
from psidebug.intake.read import read_table
from psidebug.intake.splits import Roles

__all__ = ["LEARNERS", "Inputs", "MixedColumns", "Roles", "inputs_from", "learner_for", "plan_for", "read_table"]
