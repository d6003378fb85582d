"""Whom a review may ask to train: a diagnosis, or anything that answers as it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from psidebug.findings import Verification


class Session(Protocol):
    """Who can train with the labels that people have settled, and be kept as a run."""

    @property
    def verdict(self) -> str:
        """The result in words."""
        ...

    def save(self, path: Path) -> None:
        """Write it as a run."""
        ...

    def retrain(self, labels: Mapping[int, Any]) -> Verification:
        """The learner trained with these labels, by position, in the place of the given ones."""
        ...

    def diagnose_again(
        self, known: Mapping[Any, Any], *, progress: Callable[[str, int, int], None] | None = None
    ) -> Session:
        """A new diagnosis of the same rows, in which these labels, by row id, are facts."""
        ...


OpenSession = Callable[[Path], Session]
"""Makes the session of the run at a place, when it is first needed."""
