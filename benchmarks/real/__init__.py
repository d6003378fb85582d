"""Psi on label errors that nobody planted: annotators' answers and labelling rules, beside a few rivals."""

from __future__ import annotations

from benchmarks.real.tasks import TASKS, RealTask, load

__all__ = ["TASKS", "RealTask", "load"]
