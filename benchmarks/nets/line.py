"""What ``psi bench nets`` writes down."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One figure."""

    task: str
    errors: str
    seed: int
    measure: str
    """"fidelity" after a sort of change, or "average precision"."""
    method: str
    value: float
    processor_seconds: float
